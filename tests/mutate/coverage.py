# SPDX-License-Identifier: MIT
"""The coverage of each module by all tests, and the functions of src that no test enters.

    coverage.py BUILD OUTPUT

Reads BUILD/coverage/all.profdata, which entered.py writes. Writes OUTPUT/coverage.json, OUTPUT/coverage.md and OUTPUT/html (llvm-cov show).

Counters miss code that is copied to other processes, code that runs before their runtime starts, and processes that cannot write files.
unentered.json lists such functions with the reason: "src/a.c" {"name": "reason"}, or {"*": "reason"} for all functions of a file.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

COV = shutil.which("llvm-cov") or shutil.which("llvm-cov-14") or "llvm-cov"
COLUMNS = ("functions", "lines", "regions", "branches")
REASONS = pathlib.Path(__file__).resolve().parent / "unentered.json"


def including_tests():
    """Returns the names of C files of tests that include a C file of src: their objects have its functions, too."""
    tests = pathlib.Path(__file__).resolve().parents[1]
    return {path.name for path in tests.rglob("*.c") if re.search(r'^#include "[^"]+\.c"', path.read_text(errors="replace"), re.MULTILINE)}


def call(kind, build, *options):
    """Runs llvm-cov on all objects of src, because some objects are not part of any program, and on
    tests that include files of src.
    """
    objects = sorted(str(path) for top in ("src", "programs") for path in pathlib.Path(build, top).rglob("*.c.o"))
    names = including_tests()
    objects += sorted(str(path) for path in pathlib.Path(build, "tests").rglob("*.c.o") if path.name[:-len(".o")] in names)
    words = [COV, kind, "-instr-profile", str(pathlib.Path(build, "coverage/all.profdata")), objects[0]]
    for path in objects[1:]:
        words += ["-object", path]
    return subprocess.run([*words, *options], check=True, stdout=subprocess.PIPE, text=True).stdout


def in_source(name, root):
    """Returns the path from the root, if the file is below src or programs."""
    path = os.path.relpath(os.path.realpath(name), root)
    return path if path.startswith(("src/", "programs/")) else None


def module_table(data, root):
    """{module: {column: [covered, count]}}, from the summaries of files."""
    table = collections.defaultdict(lambda: {column: [0, 0] for column in COLUMNS})
    for file in data["files"]:
        path = in_source(file["filename"], root)
        for column in COLUMNS if path else ():
            for name in (os.path.dirname(path).removeprefix("src/"), "total"):
                table[name][column][0] += file["summary"][column]["covered"]
                table[name][column][1] += file["summary"][column]["count"]
    return dict(sorted(table.items(), key=lambda item: (item[0] == "total", item[0])))


class SourceText:
    """The names in a file, and which lines belong to the definition of a macro."""
    def __init__(self, path):
        text = path.read_text(errors="replace")
        self.names = set(re.findall(r"\w+", text))
        self.macro_lines, is_macro = set(), False
        for number, line in enumerate(text.split("\n"), 1):
            is_macro = is_macro or re.match(r"\s*#\s*define\b", line)
            if is_macro:
                self.macro_lines.add(number)
            is_macro = is_macro and line.endswith("\\")


def unentered_functions(data, root):
    """{file: {name: line of the first brace}} of functions that have no counter above zero in any object that contains them.

    A test that includes a C file of src can rename its functions with macros. The function then counts under the name in the file.
    """
    texts, entered, names = {}, {}, {}
    for function in data["functions"]:
        # A function begins with its first region: line, column, end, end, count, number of the file.
        first = function["regions"][0]
        path = in_source(function["filenames"][first[5]], root)
        if path:
            if path not in texts:
                texts[path] = SourceText(pathlib.Path(root, path))
            key = path, function["name"].rsplit(":", 1)[-1], first[0], first[1]
            entered[key] = entered.get(key, False) or any(region[4] for region in function["regions"])
            # All functions of a macro begin at the same position.
            if key[1] in texts[path].names and first[0] not in texts[path].macro_lines:
                names[path, first[0], first[1]] = key[1]
    counted = {}
    for (path, name, line, column), is_entered in entered.items():
        key = path, names.get((path, line, column), name), line
        counted[key] = counted.get(key, False) or is_entered
    found = collections.defaultdict(dict)
    for (path, name, line), is_entered in sorted(counted.items()):
        if not is_entered:
            found[path][name] = line
    return dict(found)


def explain(found, reasons):
    """Splits functions into unexplained and explained ones, and lists reasons whose functions are
    entered or do not exist.
    """
    unexplained, explained, stale = [], [], []
    for path, functions in found.items():
        listed = reasons.get(path, {})
        for name, line in functions.items():
            reason = listed.get(name) or listed.get("*")
            (explained if reason else unexplained).append({"file": path, "line": line, "function": name, "reason": reason})
    for path, listed in reasons.items():
        stale += [f"{path} {name}" for name in listed if name not in found.get(path, {}) and not (name == "*" and path in found)]
    return unexplained, explained, stale


def percent(covered, count):
    return f"{100 * covered / count:.1f}" if count else "-"


def markdown(result):
    lines = ["# Coverage", "", "The percentage of each module that all tests together enter.", "", "| module | " + " | ".join(COLUMNS) + " |",
             "| --- |" + " ---: |" * len(COLUMNS)]
    for name, row in result["modules"].items():
        lines.append(f"| {name} | " + " | ".join(percent(*row[column]) for column in COLUMNS) + " |")
    for title, key in (("Functions that no test enters", "unentered"), ("Functions without counters", "explained")):
        lines += ["", f"## {title}", ""]
        lines += [f"- `{one['file']}:{one['line']}` `{one['function']}()`" + (f": {one['reason']}" if one["reason"] else "")
                  for one in result[key]] or ["None."]
    if result["stale"]:
        lines += ["", "## Entries of unentered.json to remove", ""] + [f"- `{one}`" for one in result["stale"]]
    return "\n".join(lines) + "\n"


def main(build, output):
    root = os.path.realpath(pathlib.Path(__file__).resolve().parents[2])
    folder = pathlib.Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    data = json.loads(call("export", build))["data"][0]
    unexplained, explained, stale = explain(unentered_functions(data, root), json.loads(REASONS.read_text()))
    result = {"modules": module_table(data, root), "unentered": unexplained, "explained": explained, "stale": stale}
    (folder / "coverage.json").write_text(json.dumps(result, indent=1) + "\n")
    (folder / "coverage.md").write_text(markdown(result))
    call("show", build, "-format=html", f"-output-dir={folder / 'html'}", os.path.join(root, "src"), os.path.join(root, "programs"))
    total = result["modules"]["total"]
    print(", ".join(f"{column} {percent(*total[column])} %" for column in COLUMNS)
          + f"; {len(unexplained)} functions that no test enters, {len(explained)} without counters: {folder / 'coverage.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
