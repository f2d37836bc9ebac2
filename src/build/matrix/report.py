#!/usr/bin/env python3
"""Keeps what `metrale matrix` found, and writes it for people.

report.py collect FOLDER RESULTS MACHINE   takes the rows' files of FOLDER into the file RESULTS; a row that
                                           was not tried this time keeps what was found before
report.py render RESULTS                   prints RESULTS as the text of COMPATIBILITY.md
"""

import datetime
import glob
import json
import os
import sys

TITLES = {
    "nccl": "NCCL",
    "cufile": "cuFile",
    "nvml": "NVML, by driver branch",
    "cuda": "CUDA driver",
    "javacpp": "JavaCPP and org.bytedeco:cuda at run time",
    "javacpp-older": "JavaCPP that is too old",
    "java": "Java",
    "system": "Old systems",
    "header": "Headers",
}

# What stands behind a row of each kind.
LEVELS = {
    "nccl": "Real libraries, machine without a GPU; functions against `nm -D`, sizes against the header of the same package.",
    "cufile": "Real libraries, machine without a GPU; functions against `nm -D`, sizes against the header of the same package.",
    "nvml": "Real libraries from Debian's packages, machine without a driver; functions against `nm -D`.",
    "cuda": "Real libraries from Debian's packages, machine without a driver; functions against `nm -D`.",
    "javacpp": "Tests of the checked layers over the software GPU host (EMULATED), with that JavaCPP instead of the one of the build.",
    "javacpp-older": "Works means here: refused before anything is loaded, with a message that says which versions work.",
    "java": "Tests of the checked layers over the software GPU host (EMULATED); the loader on both paths over fake libraries.",
    "system": "The release's own C library and Java in a root folder of its own; the loader over fake libraries, then tests; on arm64, in qemu, only that every type loads.",
    "header": "What `metrale regenerate` makes of the header of a package, the Java and the JNI glue, by the compilers of the build; then every function called over fake libraries of that header: absent each, and of an older and a newer version. RCCL's header is an experiment, and works means there that what is lacking is named.",
}


def key(row):
    return (row["kind"], row["name"], row["version"], row["from"])


def read(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def order(rows, table):
    """In the order of the table; rows that it no longer has are dropped."""
    wanted = []
    with open(table, encoding="utf-8") as lines:
        for line in lines:
            parts = line.split()
            if len(parts) == 5 and not line.startswith("#"):
                wanted.append(tuple(parts[:4]))
    return [rows[one] for one in wanted if one in rows]


def collect(folder, results, machine):
    rows = {}
    if os.path.exists(results):
        rows = {key(row): row for row in read(results)["rows"]}
    today = datetime.date.today().isoformat()
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        row = read(path)
        row["tried"] = today
        row["machine"] = machine
        rows[key(row)] = row
    table = os.path.join(os.path.dirname(os.path.abspath(__file__)), "versions.txt")
    with open(results, "w", encoding="utf-8") as out:
        json.dump({"rows": order(rows, table)}, out, indent=1, ensure_ascii=True)
        out.write("\n")
    return [row for row in rows.values() if row["problem"]]


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def name_of(row):
    parts = [row["name"]]
    if row["version"] != "-":
        parts.append(row["version"])
    if row["version"] == "-" and row["from"] != "host":
        parts.append("(Debian " + row["from"] + ")")
    return " ".join(parts)


def render(results):
    rows = read(results)["rows"]
    out = ["# Compatibility", ""]
    out += [
        "Written by `./metrale matrix` from `reports/compatibility.json`; not to be edited. A row that fails says so.",
        "",
    ]
    machines = sorted({(row["tried"], row["machine"]) for row in rows})
    out += ["Tried on %s: %s." % pair for pair in machines] + [""]
    failed = sum(1 for row in rows if row["problem"])
    out += ["%d rows work, %d do not." % (len(rows) - failed, failed), ""]
    for kind, title in TITLES.items():
        mine = [row for row in rows if row["kind"] == kind]
        if not mine:
            continue
        columns = []
        for row in mine:
            columns += [name for name in row["facts"] if name not in columns]
        out += ["## " + title, "", LEVELS[kind], ""]
        out.append("| " + " | ".join([kind, "result"] + columns) + " |")
        out.append("|" + " --- |" * (len(columns) + 2))
        for row in mine:
            result = "works" if not row["problem"] else "**fails**: " + cell(row["problem"])[:300]
            cells = [name_of(row), result] + [cell(row["facts"].get(name, "")) for name in columns]
            out.append("| " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "collect":
        bad = collect(*arguments[1:])
        for row in bad:
            sys.stderr.write("does not work: %s\n" % " ".join(key(row)))
        return 1 if bad else 0
    if len(arguments) == 2 and arguments[0] == "render":
        sys.stdout.write(render(arguments[1]))
        return 0
    sys.stderr.write(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
