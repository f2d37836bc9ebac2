#!/usr/bin/env python3
"""Makes what the machine boots from an unpacked kernel package.

kernel.py PACKAGE VMLINUX                      the kernel, uncompressed
kernel.py PACKAGE INITRD INIT MODULE...        busybox, the init script and kernel modules
"""

import gzip
import io
import lzma
import os
import pathlib
import re
import subprocess
import sys


def uncompressed(package):
    """The ELF file inside a compressed kernel: xz until Linux 6.1, zstd later."""
    image = next(pathlib.Path(package, "boot").glob("vmlinuz-*")).read_bytes()
    start = image.find(b"\xfd7zXZ\x00")
    if start >= 0:
        return lzma.LZMADecompressor().decompress(image[start:])
    start = image.index(b"\x28\xb5\x2f\xfd")
    # It complains of what follows the kernel in the image.
    unpacked = subprocess.run(
        ["zstd", "-dcq"], input=image[start:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout
    if not unpacked.startswith(b"\x7fELF"):
        raise SystemExit("kernel.py: no kernel in " + package)
    return unpacked


def content_of(module):
    content = module.read_bytes()
    return lzma.decompress(content) if module.suffix == ".xz" else content


def in_order(package, wanted):
    """The files of modules, each after those that it depends on; what is built in is left out."""
    found = {
        file.name.split(".")[0].replace("-", "_"): file
        for file in pathlib.Path(package, "lib/modules").rglob("*.ko*")
    }
    order = {}

    def add(name):
        name = name.replace("-", "_")
        if name in order or name not in found:
            return
        needs = re.search(rb"\x00depends=([^\x00]*)\x00", content_of(found[name]))
        for other in needs.group(1).decode().split(",") if needs else []:
            add(other)
        order[name] = found[name]

    for name in wanted:
        add(name)
    return list(order.values())


def stripped(module):
    target = pathlib.Path("/tmp/module-%d.ko" % os.getpid())
    target.write_bytes(content_of(module))
    subprocess.run(["strip", "--strip-debug", target], check=True)
    content = target.read_bytes()
    target.unlink()
    return content


class Archive:
    """A cpio archive in the format that the kernel unpacks."""

    def __init__(self):
        self.out = io.BytesIO()
        self.count = 0

    def add(self, name, mode, content=b""):
        self.count += 1
        fields = [self.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        self.out.write(b"070701" + b"".join(b"%08X" % field for field in fields))
        self.out.write(name.encode() + b"\0")
        self.pad()
        self.out.write(content)
        self.pad()

    def pad(self):
        self.out.write(b"\0" * (-self.out.tell() % 4))


def initial_disk(package, init, modules):
    archive = Archive()
    for folder in ("bin", "modules", "dev", "proc", "sys", "root", "lower", "upper"):
        archive.add(folder, 0o040755)
    archive.add("bin/busybox", 0o100755, pathlib.Path("/bin/busybox").read_bytes())
    archive.add("init", 0o100755, pathlib.Path(init).read_bytes())
    for position, module in enumerate(in_order(package, modules)):
        archive.add("modules/%02d-%s.ko" % (position, module.name.split(".")[0]), 0o100644, stripped(module))
    archive.add("TRAILER!!!", 0)
    return gzip.compress(archive.out.getvalue(), 1)


def main(package, target, *rest):
    content = initial_disk(package, rest[0], rest[1:]) if rest else uncompressed(package)
    pathlib.Path(target).write_bytes(content)


if __name__ == "__main__":
    main(*sys.argv[1:])
