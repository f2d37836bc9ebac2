#!/usr/bin/env python3
"""Writes in which version of a library a function first appeared, from the symbols of the libraries.

first_versions.py LIBRARY FUNCTIONS SONAME VERSION=FILE...   oldest version first

FUNCTIONS is the library's list under src/gen/include; FILE is a library or a wheel that holds SONAME.
Prints LIBRARY.FUNCTION=VERSION for every function that the oldest library lacks and a later one has:
of the others no library at hand tells since when they exist.
"""

import re
import struct
import sys
import zipfile


def dynamic_symbols(image):
    """The names that a 64-bit little-endian ELF image defines in its dynamic symbol table."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (sections_at,) = struct.unpack_from("<Q", image, 40)
    entry_bytes, count = struct.unpack_from("<HH", image, 58)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", image, sections_at + index * entry_bytes)
        for index in range(count)
    ]
    names = set()
    for section in sections:
        if section[1] != 11:  # SHT_DYNSYM
            continue
        strings_at = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], 24):
            name, _, _, defined_in = struct.unpack_from("<IBBH", image, at)
            if defined_in != 0:
                start = strings_at + name
                names.add(image[start : image.index(b"\0", start)].decode())
    return names


def image_of(path, soname):
    if not path.endswith(".whl"):
        with open(path, "rb") as library:
            return library.read()
    with zipfile.ZipFile(path) as wheel:
        inside = [name for name in wheel.namelist() if name.endswith("/" + soname)]
        return wheel.read(inside[0])


def main(arguments):
    if len(arguments) < 4:
        sys.stderr.write(__doc__)
        return 2
    library, functions, soname = arguments[:3]
    with open(functions, encoding="utf-8") as text:
        wanted = re.findall(r"METRALE_FUNCTION\(\d+, (\w+)\)", text.read())
    first = {}
    for position, pair in enumerate(arguments[3:]):
        version, path = pair.split("=", 1)
        present = dynamic_symbols(image_of(path, soname))
        for name in wanted:
            if name in present:
                first.setdefault(name, version if position else None)
    for name in wanted:
        if first.get(name):
            print("%s.%s=%s" % (library, name, first[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
