# SPDX-License-Identifier: MIT
"""The table of limits: reads it, finds constants in the code that are bounds, and gets their values from the compiler.

    table.py SOURCE-DIRECTORY BUILD-DIRECTORY page      writes docs/reference/figures.md from the table
    table.py SOURCE-DIRECTORY BUILD-DIRECTORY values    prints each constant with its value and whether the table has it
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

BOUND = re.compile(r"(^|_)(MAX|MIN|LIMIT|MOST|LEAST|LONGEST|DEEPEST|CAPACITY|DEPTH|BUDGET|SPACE|NR|TRIES|ATTEMPTS|SHOWN)(_|$)")
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Z][A-Z0-9_]*)[ \t]+(\S.*)$")
ENUMERATOR = re.compile(r"^[ \t]*(?:enum[ \t]*\w*[ \t]*\{[ \t]*)?([A-Z][A-Z0-9_]*)[ \t]*=[ \t]*([^,}]+)")
CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|endif)\b")
# A definition that uses these names only has the same value outside of its file.
STANDARD = {"UINT64_C", "INT64_C", "size_t", "ssize_t", "off_t", "int64_t", "uint64_t", "uint32_t", "int32_t", "unsigned", "int",
            "long", "INT32_MAX", "INT64_MAX", "UINT8_MAX", "UINT16_MAX", "UINT32_MAX"}
KEYS = {"area", "name", "file", "value", "unit", "what", "beyond", "tests", "untested"}


class Table:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        path = pathlib.Path(__file__).resolve().parent / "limits.json"
        content = json.loads(path.read_text())
        self.areas, self.limits, self.exceptions = content["areas"], content["limits"], content["exceptions"]

    def keys(self):
        return [(row["file"], row["name"]) for row in self.limits]


def without_comments(text):
    """Replaces comments by line ends, so that lines keep their numbers, and joins definitions of several lines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    return re.sub(r"\\\n", " ", text)


def definitions(path):
    """Returns {name: [(text, whether it is inside a condition of the preprocessor)]} of one file, in
    the order of the file.
    """
    found, depth, guard = {}, 0, 1 if path.suffix == ".h" else 0
    for line in without_comments(path.read_text()).split("\n"):
        condition = CONDITION.match(line)
        if condition:
            depth += -1 if condition[1] == "endif" else 1
        match = DEFINE.match(line) or ENUMERATOR.match(line)
        if match:
            found.setdefault(match[1], []).append((match[2].strip(), depth > guard))
    return found


def bounds(root):
    """Returns {file: {name: definitions}} of all constants whose names mean a bound, without numbers
    of entries of arrays.
    """
    found = {}
    for path in sorted([*root.glob("src/**/*.[ch]"), *root.glob("programs/**/*.[ch]"), *root.glob("include/**/*.h")]):
        names = {name: texts for name, texts in definitions(path).items()
                 if BOUND.search(name) and not re.match(r"\(?sizeof\(\w+\) */ *sizeof", texts[0][0])}
        if names:
            found[str(path.relative_to(root))] = names
    return found


def is_plain(name, known, seen=()):
    """Whether the definition uses only numbers, operators and plain definitions of the same file."""
    texts = known.get(name)
    if not texts or len(texts) > 1 or texts[0][1] or name in seen:
        return False
    words = re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r"\b(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*\b", " ", texts[0][0]))
    return "sizeof" not in words and all(word in STANDARD or is_plain(word, known, (*seen, name)) for word in words)


def definitions_for(names, known):
    """Returns the definitions that `names` need, each once. A definition comes before those that use it."""
    lines = {}

    def add(name):
        if name in lines:
            return
        for word in re.findall(r"\b[A-Z][A-Z0-9_]*\b", known[name][0][0]):
            if word in known and word != name and word not in STANDARD:
                add(word)
        lines[name] = f"#define {name} ({known[name][0][0]})"

    for name in names:
        add(name)
    return lines


def compile_values(compiler, arguments, text, names):
    """Returns the values of `names`, which `text` defines, from the assembly that the compiler writes."""
    probes = "\n".join(f"const unsigned long long side_limit_{i} = (unsigned long long)({name});" for i, name in names.items())
    run = subprocess.run([compiler, *arguments, "-w", "-O0", "-g0", "-S", "-x", "c", "-o", "-", "-"], text=True, capture_output=True,
                         input=text + "\n" + probes + "\n", check=False)
    if run.returncode:
        raise ValueError(run.stderr.strip().split("\n")[0])
    values = {}
    for number, directive, value in re.findall(r"^side_limit_(\d+):\n\s*\.(quad|zero|long|xword|8byte)\s+(-?\w+)", run.stdout, re.M):
        values[int(number)] = 0 if directive == "zero" else int(value, 0) % (1 << 64)
    return values


def compile_command(root, build, file):
    """Returns the compiler, and the options of the file (for a header: of a file of its module),
    without those for optimisation.
    """
    commands = json.loads((build / "compile_commands.json").read_text())
    best = None
    for command in commands:
        path = (pathlib.Path(command["directory"]) / command["file"]).resolve()
        if path.suffix == ".c" and root in path.parents:
            name = str(path.relative_to(root))
            near = (name == file, str(pathlib.PurePath(name).parent) == str(pathlib.PurePath(file).parent), name.startswith(("src/", "programs/")))
            if best is None or near > best[0]:
                best = (near, command)
    words = [word for word in shlex.split(best[1]["command"]) if not word.endswith("ccache")]
    arguments = []
    for word in words[1:]:
        found = re.match(r"-(I|isystem|iquote)(.+)", word)
        if found:
            arguments.append(f"-{found[1]}{pathlib.Path(best[1]['directory']) / found[2]}")
        elif word.startswith(("-D", "-U", "-std=")) and "_FORTIFY_SOURCE" not in word:
            arguments.append(word)
    return words[0], [*arguments, "-I", str(root / "src"), "-I", str(root), "-I", str((root / file).parent)]


def read_values(root, build, wanted):
    """Returns {(file, name): value} of the constants `wanted`, {file: names}. One run of the compiler
    reads all plain ones.
    """
    values, text, plain, behind = {}, ["#include <stdint.h>\n#include <stddef.h>\n#include <sys/types.h>"], {}, {}
    for file, names in wanted.items():
        known = definitions(root / file)
        here = [name for name in names if is_plain(name, known)]
        lines = definitions_for(here, known)
        text += [f"#undef {name}\n{line}" for name, line in lines.items()]
        for name in here:
            plain[len(plain)] = (file, name)
            text.append(f"const unsigned long long side_limit_{len(plain) - 1} = (unsigned long long)({name});")
        text += [f"#undef {name}" for name in lines]
        if len(here) < len(names):
            behind[file] = [name for name in names if name not in here]
    compiler = compile_command(root, build, "src/libside/libside.c")[0]
    for number, value in compile_values(compiler, ["-std=gnu17"], "\n".join(text), {}).items():
        values[plain[number]] = value
    for file, names in behind.items():
        compiler, arguments = compile_command(root, build, file)
        for number, value in compile_values(compiler, arguments, f'#include "{root / file}"', dict(enumerate(names))).items():
            values[file, names[number]] = value
    return values


def amount(value, unit):
    """65536 bytes -> 64 KiB; 1048576 events -> 1,048,576 events."""
    if unit == "bytes":
        for name, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
            if value >= size and value % size == 0:
                return f"{value // size} {name}"
    if unit == "ms" and value % 1000 == 0:
        return f"{value // 1000} s"
    if unit == "ns" and value % 1000000 == 0:
        return amount(value // 1000000, "ms")
    return f"{value:,} {unit}".strip()


def page(table):
    lines = ["# Limits in figures", "",
             "Each row names a constant in the code, its value, and what side does with one more. The test `limits-table` compares this page with",
             "[the table](../../tests/limits/limits.json), and the table with the code. [Limits](limits.md) lists what cannot be made safe."]
    for area, title in table.areas.items():
        lines += ["", f"## {title}", "", "| limit | at most | with one more | constant |", "| --- | --- | --- | --- |"]
        for row in table.limits:
            if row["area"] == area:
                least = "at least " if re.search(r"(^|_)(MIN|LEAST)(_|$)", row["name"]) else ""
                lines.append(f"| {row['what']} | {least}{amount(row['value'], row['unit'])} | {row['beyond']} | "
                             f"`{row['name']}` in `{row['file']}` |")
    return "\n".join(lines) + "\n"


def main():
    root, build = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    table = Table(root)
    if sys.argv[3] == "page":
        (root / "docs/reference/figures.md").write_text(page(table))
        return
    found = bounds(root)
    rows = set(table.keys())
    for (file, name), value in sorted(read_values(root, build, found).items()):
        state = "limit" if (file, name) in rows else "exception" if name in table.exceptions.get(file, {}) else "missing"
        print(state, file, name, value)


if __name__ == "__main__":
    main()
