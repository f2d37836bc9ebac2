#!/usr/bin/env python3
"""Tests of headers.py: python3 -B -m unittest discover -s src/build"""

import os
import tempfile
import unittest

import headers


class StripTest(unittest.TestCase):
    def test_takes_comments_and_leaves_texts(self):
        text = 'int a; // one\n/* two\n three */ char *b = "/* not */ // one"; char c = \'"\'; // "\n'
        self.assertEqual('int a;\n  char *b = "/* not */ // one"; char c = \'"\';\n', headers.strip_comments(text))


class FunctionsTest(unittest.TestCase):
    def test_lists_what_one_header_declares(self):
        preprocessed = "\n".join(
            [
                '# 1 "/usr/include/other.h" 1',
                "int ncclElsewhere(void);",
                '# 1 "/x/nccl.h" 2',
                "int ncclOne(int a) __attribute__((deprecated));",
                "typedef int (*ncclCallback)(void);",
                "static inline int ncclInline(void) { return ncclHidden(1); }",
                "int ncclOne(int a);",
                "int pncclOne(int",
                "  a);",
            ]
        )
        self.assertEqual(["ncclOne", "pncclOne"], headers.functions(preprocessed, "nccl", ["nccl.h"]))


class StageTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.source = os.path.join(scratch.name, "source")
        self.include = os.path.join(scratch.name, "include")
        os.makedirs(os.path.join(self.source, "include"))
        os.makedirs(self.include)

    def write(self, name, text):
        path = os.path.join(self.source, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def test_takes_along_what_lies_beside(self):
        path = self.write("my.h", '#include "part.h"\n// #include "no.h"\n#include "gone.h"\n')
        self.write("part.h", '#include "deep/er.h"\n')
        self.write("deep/er.h", '#include "../my.h"\n')
        self.write("no.h", "")
        self.assertEqual(path, headers.stage("nccl.h", path, self.include))
        self.assertEqual({"nccl.h", "part.h", "deep", "my.h"}, set(os.listdir(self.include)))

    def test_tells_what_is_declared(self):
        text = headers.declares("nvml", ["nvmlInit_v2", "nvmlShutdown"])
        self.assertEqual(
            ["#define METRALE_DECLARES_nvmlInit_v2", "#define METRALE_DECLARES_nvmlShutdown"],
            text.splitlines()[1:],
        )

    def test_never_writes_through_a_link(self):
        staged = self.write("staged/nvtx3/a.h", "old\n")
        os.symlink(os.path.dirname(staged), os.path.join(self.include, "nvtx3"))
        headers.stage("nvtx3/a.h", self.write("a.h", "new\n"), self.include)
        with open(staged, encoding="utf-8") as old:
            self.assertEqual("old\n", old.read())
        with open(os.path.join(self.include, "nvtx3/a.h"), encoding="utf-8") as new:
            self.assertEqual("new\n", new.read())

    def test_finds_the_header_in_a_folder(self):
        path = self.write("include/nccl.h", "int a;\n")
        self.assertEqual(path, headers.stage("nccl.h", self.source, self.include))

    def test_refuses_what_is_no_header(self):
        for name, content in (("empty.h", ""), ("binary.h", "a\0b"), ("library.so", "\x7fELF")):
            with self.assertRaises(headers.NoHeader):
                headers.stage("nccl.h", self.write(name, content), self.include)
        for path in ("none", ""):
            with self.assertRaises(headers.NoHeader):
                headers.stage("cuda.h", os.path.join(self.source, path), self.include)


if __name__ == "__main__":
    unittest.main()
