#!/usr/bin/env python3
"""Prints what the tests of a soak did, from their JUnit reports: soak.py FOLDER"""

import pathlib
import re
import sys
import xml.etree.ElementTree as tree


def main(folder):
    print("| test | result | seconds | what it did |")
    print("| --- | --- | ---: | --- |")
    for report in sorted(pathlib.Path(folder).glob("TEST-*.xml")):
        for case in tree.parse(report).getroot().iter("testcase"):
            failed = case.find("failure") is not None or case.find("error") is not None
            said = " ".join(out.text or "" for out in case.iter("system-out"))
            entries = re.findall(r"^\s*- ([a-z ]+): (.*)$", said, re.MULTILINE)
            did = "; ".join("%s %s" % entry for entry in entries)
            name = case.get("name").split("(")[0]
            print("| %s | %s | %.0f | %s |" % (name, "FAILED" if failed else "passed", float(case.get("time").replace(",", "")), did))


if __name__ == "__main__":
    main(*sys.argv[1:])
