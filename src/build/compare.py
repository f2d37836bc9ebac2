#!/usr/bin/env python3
"""Says for a person what a new header changes.

compare.py differences OLD NEW [--include OLD NEW] [--compiler CC] [--ours FOLDER]
                               [--checked FOLDER] [--ledger FILE]
    prints what differs between two folders with generated sources, each with java/ and include/; ends
    with 1 if anything does. With headers and a compiler it says where fields lie; with the folder of
    the checked layer which classes mention what changed; with the ledger what it lacks.
compare.py unmapped NEW
    prints the functions in the lists of NEW for which there is no Java method
compare.py explain NEW RECIPES
    reads the messages of javac about the sources of NEW from standard input and prints for each the
    declaration that it is about
"""

import argparse
import collections
import filecmp
import os
import re
import subprocess
import sys
import tempfile

# Library: its header, and what the compiler must know to read it as the recipe does.
HEADERS = {
    "nccl": ("nccl.h", ["-DNCCL_OS_LINUX"]),
    "nvml": ("nvml.h", ["-DNVML_NO_UNVERSIONED_FUNC_DEFS"]),
    "cufile": ("cufile.h", []),
    "cuda": ("cuda.h", []),
    "nvtx": ("nvtx3/nvToolsExt.h", []),
    "verbs": (None, []),
}
LEDGER_PREFIX = {"nccl": "p?nccl", "nvml": "nvml", "cufile": "cuFile|cufileop"}

STRING = r'"(?:\\.|[^"\\])*"'
ANNOTATION = r"@\w+(?:\((?:[^()\"]|\"[^\"]*\")*\))?"
TYPE = r"(?P<type>(?:(?:" + ANNOTATION + r"|[\w.<>\[\]]+)\s+)*?)"
FUNCTION = re.compile(r"^[ \t]*public static native " + TYPE + r"(?P<name>\w+)\((?P<rest>[^;]*)\)[^;)]*;", re.MULTILINE)
CONSTANTS = re.compile(r"public static final \w+\s+(?P<list>(?:" + STRING + r"|[^;\"])*);")
FIELD = re.compile(
    r"(?P<marks>(?:" + ANNOTATION + r"\s+)*)public native " + TYPE + r"(?P<name>\w+)\((?P<index>[^()]*)\);"
)

Library = collections.namedtuple("Library", "functions constants structures")
# A structure's fields in order: name -> type; expressions: name -> what C calls it.
Structure = collections.namedtuple("Structure", "fields expressions")


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def without_comments(text):
    def keep(match):
        return " " if match.group(0).startswith("/") else match.group(0)

    return re.sub(STRING + r"|/\*.*?\*/|//[^\n]*", keep, text, flags=re.DOTALL)


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def functions_of(text):
    """Name -> its Java forms; constants of the header that only C can compute are left out."""
    out = {}
    for found in FUNCTION.finditer(text):
        if "@MemberGetter" in found.group("type") or found.group("name").startswith("metrale_"):
            continue
        form = "%s (%s)" % (squeeze(found.group("type")), squeeze(found.group("rest")))
        out.setdefault(found.group("name"), set()).add(form)
    return out


def split_list(text):
    """The parts of a list of constants: commas in texts and parentheses separate nothing."""
    parts = [""]
    depth = 0
    for token in re.findall(STRING + r"|'(?:\\.|[^'])*'|.", text, flags=re.DOTALL):
        if token == "," and depth == 0:
            parts.append("")
            continue
        depth += {"(": 1, ")": -1}.get(token, 0)
        parts[-1] += token
    return parts


def constants_of(text):
    """Name -> value as Java has it, None where only C knows it."""
    out = {}
    for found in CONSTANTS.finditer(text):
        for part in split_list(found.group("list")):
            name, equals, value = part.partition("=")
            name = name.strip()
            if equals and re.fullmatch(r"\w+", name):
                out[name] = None if squeeze(value) == name + "()" else squeeze(value)
    return out


def structure_of(text):
    """The fields of a generated class, or None for one that is no structure."""
    if "FunctionPointer {" in text:
        return Structure({"call": squeeze(" ".join(re.findall(r"public native [^;]*call\([^;]*;", text)))}, {})
    if "@Opaque" in text:
        return Structure({}, {})
    fields = {}
    expressions = {}
    for found in FIELD.finditer(text):
        name, index = found.group("name"), squeeze(found.group("index"))
        if index and not re.fullmatch(r"int \w(, int \w)*", index):
            continue
        array = "[]" * len([part for part in index.split(",") if part])
        if name not in fields or array:
            fields[name] = squeeze(found.group("type")) + array
        called = re.search(r"@Name\(\{?\s*([^)}]*)\}?\)", found.group("marks"))
        if called:
            parts = re.findall(r'"([^"]*)"', called.group(1))
            expressions[name] = parts[0] + "".join("[0]" + part for part in parts[1:])
        else:
            expressions[name] = name
    return Structure(fields, expressions)


def library_of(folder, name):
    path = os.path.join(folder, "java/org/metrale/global", name + ".java")
    if not os.path.exists(path):
        return Library({}, {}, {})
    text = without_comments(read(path))
    structures = {}
    classes = os.path.join(folder, "java/org/metrale", name)
    for file in sorted(os.listdir(classes)) if os.path.isdir(classes) else []:
        structure = structure_of(without_comments(read(os.path.join(classes, file))))
        if structure is not None:
            structures[file[: -len(".java")]] = structure
    return Library(functions_of(text), constants_of(text), structures)


def measure(name, library, include, ours, compiler):
    """What the compiler says: offsets and sizes by structure and field, values of constants that only
    C knows. What it does not accept (a bit field, a name that the recipe made) is left out."""
    header, options = HEADERS[name]
    if header is None or not include or not compiler:
        return {}
    questions = []
    for structure, content in library.structures.items():
        if content.expressions:
            questions.append(((structure, None), "sizeof(%s)" % structure))
        for field, expression in content.expressions.items():
            questions.append(((structure, field), "offsetof(%s, %s)" % (structure, expression)))
    for constant, value in library.constants.items():
        if value is None:
            questions.append(((None, constant), constant))
    with tempfile.TemporaryDirectory() as scratch:
        source = os.path.join(scratch, "measure.c")
        program = os.path.join(scratch, "measure")
        command = [compiler, "-x", "c", "-std=gnu11", "-w", "-ferror-limit=0", "-I" + include] + options
        for _ in range(3):
            lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <%s>" % header, "int main(void) {"]
            first = len(lines) + 1
            lines += ['printf("%%lld\\n", (long long)(%s));' % expression for _, expression in questions]
            lines += ["return 0; }", ""]
            with open(source, "w", encoding="utf-8") as out:
                out.write("\n".join(lines))
            made = subprocess.run(command + [source, "-o", program], capture_output=True, text=True, check=False)
            if made.returncode == 0:
                answer = subprocess.run([program], capture_output=True, text=True, check=False)
                numbers = answer.stdout.split()
                return dict(zip((key for key, _ in questions), map(int, numbers)))
            wrong = {int(line) - first for line in re.findall(r"measure\.c:(\d+):\d+: error", made.stderr)}
            if not wrong:
                break
            questions = [question for index, question in enumerate(questions) if index not in wrong]
    return {}


def text_of_forms(forms):
    return " | ".join(sorted(forms))


def compare_names(old, new):
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    changed = [name for name in new if name in old and old[name] != new[name]]
    return added, removed, changed


def folded(names):
    """NCCL declares every function again with a p before it: named once."""
    plain = set(names)
    out = []
    for name in names:
        if name.startswith("pnccl") and name[1:] in plain:
            continue
        out.append((name, " (and p%s)" % name if "p" + name in plain else ""))
    return out


def function_lines(old, new):
    added, removed, changed = compare_names(old, new)
    lines = ["+ %s%s" % pair for pair in folded(added)] + ["- %s%s" % pair for pair in folded(removed)]
    for name, note in folded(changed):
        lines.append("~ %s%s" % (name, note))
        lines += ["    was " + form for form in sorted(old[name] - new[name])]
        lines += ["    now " + form for form in sorted(new[name] - old[name])]
    return lines, (added, removed, changed)


def at(offsets, structure, field):
    offset = offsets.get((structure, field))
    return "" if offset is None else " at %d" % offset


def field_lines(structure, old, new, old_offsets, new_offsets):
    lines = []
    added, removed, _ = compare_names(old, new)
    for field in removed:
        lines.append("- %s %s%s" % (old[field], field, at(old_offsets, structure, field)))
    for field in new:
        now = at(new_offsets, structure, field)
        if field in added:
            lines.append("+ %s %s%s" % (new[field], field, now))
            continue
        was = at(old_offsets, structure, field)
        moved = was and now and was != now
        if old[field] != new[field]:
            lines.append("~ %s: %s%s, was %s%s" % (field, new[field], now, old[field], was))
        elif moved:
            lines.append("~ %s moved%s, was%s" % (field, now, was))
    order = [field for field in old if field in new]
    if order != [field for field in new if field in old]:
        lines.append("~ the order of the fields")
    before, after = old_offsets.get((structure, None)), new_offsets.get((structure, None))
    if before is not None and after is not None and before != after:
        lines.append("~ size %d, was %d" % (after, before))
    return lines


def structure_lines(old, new, old_offsets, new_offsets):
    lines = []
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    changed = []
    for name in added:
        size = new_offsets.get((name, None))
        lines.append("+ %s%s" % (name, "" if size is None else ", %d bytes" % size))
        for field, kind in new[name].fields.items():
            lines.append("    + %s %s%s" % (kind, field, at(new_offsets, name, field)))
    lines += ["- " + name for name in removed]
    for name in new:
        if name in old:
            inner = field_lines(name, old[name].fields, new[name].fields, old_offsets, new_offsets)
            if inner:
                changed.append(name)
                lines.append("~ " + name)
                lines += ["    " + line for line in inner]
    return lines, (added, removed, changed)


def constant_lines(old, new, old_values, new_values):
    def full(constants, values):
        return {
            name: str(values.get((None, name), "known to C alone")) if value is None else value
            for name, value in constants.items()
        }

    old, new = full(old, old_values), full(new, new_values)
    unknown = "known to C alone"
    added, removed, changed = compare_names(old, new)
    changed = [name for name in changed if unknown not in (old[name], new[name])]
    lines = ["+ %s = %s" % (name, new[name]) for name in added]
    lines += ["- %s, was %s" % (name, old[name]) for name in removed]
    lines += ["~ %s = %s, was %s" % (name, new[name], old[name]) for name in changed]
    return lines, (added, removed, changed)


def section(title, lines, names):
    if not lines:
        return []
    head = "  %s: %d added, %d removed, %d changed" % ((title,) + tuple(len(part) for part in names))
    return [head] + ["    " + line for line in lines]


def files_that_differ(old, new):
    """Relative names of files that are in one folder only or hold other bytes."""

    def names(root):
        found = set()
        for folder, _, files in os.walk(root):
            found.update(os.path.relpath(os.path.join(folder, file), root) for file in files)
        return found

    out = []
    for part in ("java", "include"):
        left, right = os.path.join(old, part), os.path.join(new, part)
        for name in sorted(names(left) | names(right)):
            one, two = os.path.join(left, name), os.path.join(right, name)
            if not (os.path.exists(one) and os.path.exists(two) and filecmp.cmp(one, two, shallow=False)):
                out.append(part + "/" + name)
    return out


def mentions(checked, touched):
    """The handwritten classes that mention a name, with the names."""
    out = []
    for folder, _, files in sorted(os.walk(checked)):
        for file in sorted(files):
            if file.endswith(".java"):
                words = set(re.findall(r"\w+", without_comments(read(os.path.join(folder, file)))))
                # A flat call of ours carries the name of the function that it stands for.
                words |= {word[len("metrale_") :] for word in words if word.startswith("metrale_")}
                names = [name for name in touched if name in words]
                if names:
                    out.append("%s: %s" % (os.path.relpath(os.path.join(folder, file), checked), ", ".join(names)))
    return out


def listed(folder, library):
    path = os.path.join(folder, "include/metrale_%s_functions.h" % library)
    if not os.path.exists(path):
        return []
    return re.findall(r"METRALE_FUNCTION\(\d+, (\w+)\)", read(path))


def unmapped(folder, libraries=tuple(LEDGER_PREFIX)):
    """Functions of the lists that no Java method calls, as (library, name)."""
    out = []
    for library in libraries:
        path = os.path.join(folder, "java/org/metrale/global", library + ".java")
        methods = functions_of(without_comments(read(path))) if os.path.exists(path) else {}
        names = listed(folder, library)
        for name in names:
            # Where a macro gives a plain name to the second form, the first has a method with _v1.
            short = re.sub(r"_v\d+$", "", name)
            renamed = short in methods and (short not in names or short + "_v1" in methods)
            if name not in methods and not renamed:
                out.append((library, name))
    return out


def ledger_lines(ledger, old, new):
    """What the ledger of bound functions lacks, and what it has that is gone."""
    entries = {}
    library = None
    for line in read(ledger).splitlines():
        head = re.match(r"(\w+)\.h: ", line)
        if head:
            library = head.group(1)
        elif library:
            entries.setdefault(library, set()).add(line[2:].strip())
    lines = []
    for library, prefix in LEDGER_PREFIX.items():
        names = [name for name in listed(new, library) if re.match(prefix, name)]
        written = entries.get(library, set())
        # A function that a macro renames has another name in the ledger: known already.
        known = written | set(listed(old, library))
        lines += ["+ %s is not in it" % name for name in names if name not in known]
        path = os.path.join(new, "java/org/metrale/global", library + ".java")
        methods = functions_of(without_comments(read(path))) if os.path.exists(path) else {}
        gone = sorted(name for name in written if name not in names and name not in methods)
        lines += ["- %s is in it, and in the header no longer" % name for name in gone]
    return lines


def report(old, new, include=None, compiler=None, ours=None, checked=None, ledger=None):
    """The report's lines; none if the folders are equal."""
    files = files_that_differ(old, new)
    if not files:
        return []
    lines = []
    touched = []
    offsets = False
    for name in HEADERS:
        if not any(re.search(r"/%s[./]|metrale_%s_" % (name, name), file) for file in files):
            continue
        before, after = library_of(old, name), library_of(new, name)
        old_offsets = measure(name, before, include[0], ours, compiler) if include else {}
        new_offsets = measure(name, after, include[1], ours, compiler) if include else {}
        offsets = offsets or bool(old_offsets and new_offsets)
        functions = function_lines(before.functions, after.functions)
        structures = structure_lines(before.structures, after.structures, old_offsets, new_offsets)
        constants = constant_lines(before.constants, after.constants, old_offsets, new_offsets)
        part = section("functions", *functions)
        part += section("structures", *structures)
        part += section("constants", *constants)
        lines += [name] + (part or ["  nothing but the text of generated files"])
        for _, (_, removed, changed) in (functions, structures, constants):
            touched += removed + changed
    if include and not offsets:
        lines.append("the compiler could not say where fields lie: moves inside a structure are not shown")
    if checked:
        found = mentions(checked, touched)
        lines.append("checked classes that mention something removed or changed: %s" % (len(found) or "none"))
        lines += ["  " + line for line in found]
    if ledger and os.path.exists(ledger):
        found = ledger_lines(ledger, old, new)
        lines.append("%s: %s" % (os.path.basename(ledger), "lacks nothing" if not found else "to be brought up to date"))
        lines += ["  " + line for line in found]
    lines.append("%d generated files differ" % len(files))
    return lines


def declaration_at(path, number):
    """The name that a generated file declares in a line or in the nearest one before it."""
    lines = read(path).splitlines()
    for line in reversed(lines[:number]):
        found = re.search(r"\b(\w+)\([^()]*\)?[^;]*\)?;|\bclass (\w+)|final \w+\s+(\w+)|^\s*(\w+)\s*=", line)
        native = re.search(r"\bnative\b[^(;]*?(\w+)\(", line)
        if native:
            return native.group(1)
        constant = re.search(r"\bfinal \w+\s+(\w+)\s*=|^\s*(\w+)\s*=", line)
        if constant:
            return constant.group(1) or constant.group(2)
        if found and found.group(2):
            return found.group(2)
    return os.path.basename(path)[: -len(".java")]


def explain(messages, new, recipes):
    """For each message of javac the declaration, the file, and where to add what is missing."""
    out = []
    for path, number, message in re.findall(r"^(\S+\.java):(\d+): error: (.*)$", messages, re.MULTILINE):
        relative = os.path.relpath(path, os.path.join(new, "java"))
        parts = relative.split(os.sep)
        library = parts[-1][: -len(".java")] if "global" in parts else parts[-2]
        name = declaration_at(path, int(number))
        symbol = re.search(re.escape(message) + r"\n(?:.*\n){1,3}?\s*symbol:\s*(.*)", messages)
        detail = message + (" " + squeeze(symbol.group(1)) if symbol and "cannot find symbol" in message else "")
        header = HEADERS.get(library, (library + ".h", []))[0] or library
        line = "%s: %s cannot be mapped: %s (%s:%s): add an Info to %s/%s.java" % (
            header, name, detail, relative, number, recipes, library,
        )
        if line not in out:
            out.append(line)
    return out


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    differences = commands.add_parser("differences")
    differences.add_argument("old")
    differences.add_argument("new")
    differences.add_argument("--include", nargs=2)
    for option in ("--compiler", "--ours", "--checked", "--ledger"):
        differences.add_argument(option)
    missing = commands.add_parser("unmapped")
    missing.add_argument("new")
    explained = commands.add_parser("explain")
    explained.add_argument("new")
    explained.add_argument("recipes")
    chosen = parser.parse_args(arguments)
    if chosen.command == "differences":
        lines = report(
            chosen.old, chosen.new, chosen.include, chosen.compiler, chosen.ours, chosen.checked, chosen.ledger
        )
        print("\n".join(lines) if lines else "no difference")
        return 1 if lines else 0
    if chosen.command == "unmapped":
        for library, name in unmapped(chosen.new):
            print(library, name)
        return 0
    print("\n".join(explain(sys.stdin.read(), chosen.new, chosen.recipes)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
