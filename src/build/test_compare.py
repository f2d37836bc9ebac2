#!/usr/bin/env python3
"""Tests of compare.py: python3 -B -m unittest discover -s src/build"""

import os
import tempfile
import unittest

import compare

GLOBAL = """
public class nccl extends org.metrale.presets.nccl {
public static final int A = 1;
public static final String TEXT = "a, b; (c";
/** enum e */
public static final int
    ONE = 1, // first
    TWO = ONE + 1,
    BIG = (1 << 2);
public static native @MemberGetter int FROM_C();
public static final int FROM_C = FROM_C();
public static native @Cast("ncclResult_t") int ncclOne(@Cast("void(*)(int)") Pointer a,
    int b);
public static native void ncclTwo();
public static native void pncclTwo();
public static native int metrale_own(int a);
%s}
"""
STRUCTURE = """
public class ncclThing extends Pointer {
    public ncclThing(Pointer p) { super(p); }
    private native void allocate();
    public native int first(); public native ncclThing first(int setter);
    %s
    public native @Cast("const char*") BytePointer name(); public native ncclThing name(BytePointer setter);
    public native byte uuid(int i); public native ncclThing uuid(int i, byte setter);
    @MemberGetter public native @Cast("char*") BytePointer uuid();
    @Name("u.x") public native int u_x(); public native ncclThing u_x(int setter);
    @Name({"list", ".y"}) public native int list_y(int i); public native ncclThing list_y(int i, int setter);
}
"""


class ReadingTest(unittest.TestCase):
    def test_functions(self):
        self.assertEqual({"ncclOne", "ncclTwo", "pncclTwo"}, set(compare.functions_of(GLOBAL % "")))

    def test_constants(self):
        self.assertEqual(
            {"A": "1", "TEXT": '"a, b; (c"', "ONE": "1", "TWO": "ONE + 1", "BIG": "(1 << 2)", "FROM_C": None},
            compare.constants_of(compare.without_comments(GLOBAL % "")),
        )

    def test_fields_in_order_with_what_c_calls_them(self):
        structure = compare.structure_of(STRUCTURE % "")
        self.assertEqual(["first", "name", "uuid", "u_x", "list_y"], list(structure.fields))
        self.assertEqual("byte[]", structure.fields["uuid"])
        self.assertEqual("u.x", structure.expressions["u_x"])
        self.assertEqual("list[0].y", structure.expressions["list_y"])


class ReportTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def generated(self, folder, text, structure, names):
        self.write(folder + "/java/org/metrale/global/nccl.java", text)
        self.write(folder + "/java/org/metrale/nccl/ncclThing.java", structure)
        table = "".join("METRALE_FUNCTION(%d, %s)\n" % pair for pair in enumerate(names))
        self.write(folder + "/include/metrale_nccl_functions.h", table)
        return os.path.join(self.root, folder)

    def test_equal_folders_make_no_line(self):
        old = self.generated("old", GLOBAL % "", STRUCTURE % "", ["ncclOne"])
        new = self.generated("new", GLOBAL % "", STRUCTURE % "", ["ncclOne"])
        self.assertEqual([], compare.report(old, new))

    def test_says_what_changed_and_whom_it_touches(self):
        old = self.generated("old", GLOBAL % "", STRUCTURE % "", ["ncclOne", "ncclTwo", "pncclTwo"])
        text = GLOBAL.replace("ONE = 1", "ONE = 5").replace("int b", "long b") % (
            "public static native int ncclThree(int a);\n"
        )
        text = "\n".join(line for line in text.splitlines() if "ncclTwo" not in line)
        inserted = "public native int inserted(); public native ncclThing inserted(int setter);"
        new = self.generated("new", text, STRUCTURE % inserted, ["ncclOne", "ncclThree"])
        ledger = self.write("coverage.txt", "nccl.h: 3 of 3\n  ncclOne\n  ncclTwo\n  pncclTwo\n")
        self.write("gpu/nccl/NcclCalls.java", "class NcclCalls { int a = nccl.metrale_ncclTwo(); } // ncclOne\n")
        self.write("gpu/nccl/Other.java", "/** ncclTwo */ class Other {}\n")
        lines = compare.report(old, new, checked=os.path.join(self.root, "gpu"), ledger=ledger)
        for line in (
            "  functions: 1 added, 2 removed, 1 changed",
            "    + ncclThree",
            "    - ncclTwo (and pncclTwo)",
            "    ~ ncclOne",
            "        + int inserted",
            "    ~ ONE = 5, was 1",
            "checked classes that mention something removed or changed: 1",
            "  nccl/NcclCalls.java: ncclTwo",
            "  + ncclThree is not in it",
            "  - ncclTwo is in it, and in the header no longer",
        ):
            self.assertIn(line, lines)

    def test_fields_that_move(self):
        old, new = {"a": "int", "b": "int"}, {"a": "int", "x": "long", "b": "int"}
        before = {("S", None): 8, ("S", "a"): 0, ("S", "b"): 4}
        after = {("S", None): 24, ("S", "a"): 0, ("S", "x"): 8, ("S", "b"): 16}
        self.assertEqual(
            ["+ long x at 8", "~ b moved at 16, was at 4", "~ size 24, was 8"],
            compare.field_lines("S", old, new, before, after),
        )

    def test_names_functions_without_a_method(self):
        folder = self.generated("new", GLOBAL % "", STRUCTURE % "", ["ncclOne", "ncclLost"])
        self.assertEqual([("nccl", "ncclLost")], compare.unmapped(folder, ["nccl"]))

    def test_explains_messages_of_javac(self):
        text = "class nccl {\npublic static final int\n  GOOD = 1,\n  STRANGE = INT_MAX;\n}\n"
        folder = self.generated("new", text, STRUCTURE % "", [])
        path = os.path.join(folder, "java/org/metrale/global/nccl.java")
        messages = path + ":4: error: cannot find symbol\n  STRANGE = INT_MAX;\n   ^\n  symbol:   variable INT_MAX\n"
        self.assertEqual(
            [
                "nccl.h: STRANGE cannot be mapped: cannot find symbol variable INT_MAX"
                " (org/metrale/global/nccl.java:4): add an Info to presets/nccl.java"
            ],
            compare.explain(messages, folder, "presets"),
        )


if __name__ == "__main__":
    unittest.main()
