# SPDX-License-Identifier: MIT
"""The tables of docs/spec/ agree with the headers, according to the compiler, and are complete.

usage: test-spec.py SOURCE-DIRECTORY BUILD-DIRECTORY

Each table of a structure or an enumeration, and each row of the table of types, becomes a line of a
C program.  It is compiled with the headers as they are installed, by each installed compiler, for
64 bits and, if possible, for 32.  The test also reports what a table lacks: members and enumerators
that only the headers have, symbols that only the library's map has.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import structures

root = os.path.abspath(sys.argv[1])
SPEC = os.path.join(root, "docs/spec")
ABI = ("abi/type-value.h", "abi/attribute.h", "abi/type-description.h", "abi/event-description.h",
       "abi/type-argument.h", "abi/visitor.h", "trace.h", "tracer-extensions.h", "debugger.h", "context.h",
       "kernel.h")
NUMBER = r"(-?\d+)(?: \(32-bit: (-?\d+)\))?"
# Only if compiler and C library have the type.
OPTIONAL = {"side_u128": "defined(__SIZEOF_INT128__)", "side_s128": "defined(__SIZEOF_INT128__)",
            "side_float_binary16": "SIDE_HAVE_FLOAT16", "side_float_binary128": "SIDE_HAVE_FLOAT128"}


class Page:
    """One page: its tables, each with the heading above it."""

    def __init__(self, name):
        self.tables = []
        with open(os.path.join(SPEC, name), encoding="utf-8") as text:
            heading, table = "", None
            for line in text:
                if line.startswith("#"):
                    heading, table = line.lstrip("#").strip(), None
                elif line.startswith("|"):
                    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                    if table is None:
                        table = []
                        self.tables.append((heading, table))
                    table.append(cells)
                else:
                    table = None


def both(text):
    found = re.fullmatch(NUMBER, text)
    if not found:
        sys.exit(f"docs/spec: {text!r} is not a number, or two of them as in `8 (32-bit: 4)`")
    return found.group(1), found.group(2) or found.group(1)


def bare(cell):
    return cell.strip("`")


def structure_checks(kind, size, rows, bits):
    which = 0 if bits == 64 else 1
    yield None, f"sizeof({kind}) == {both(size)[which]}"
    for row in rows:
        member, offset, length = bare(row[0]), both(row[2])[which], both(row[3])[which]
        yield (OPTIONAL.get(member.split(".")[-1]),
               f"offsetof({kind}, {member}) == {offset} && "
               f"sizeof((({kind} *) 0)->{member}) == {length}")


def collect():
    """Returns the tables of all pages, by their subject."""
    found = {"structures": {}, "enums": {}, "types": [], "symbols": [], "bytes": []}
    for name in sorted(os.listdir(SPEC)):
        if not name.endswith(".md"):
            continue
        for heading, table in Page(name).tables:
            about = re.match(r"`((?:struct|union) \w+)`: (.*) bytes$", heading)
            if about and table[0][:1] == ["member"]:
                found["structures"][about.group(1)] = (about.group(2), table[2:])
            elif table[0][:2] == ["constant", "value"]:
                enum = re.search(r"`(enum \w+)`", heading)
                for row in table[2:]:
                    found["enums"].setdefault(enum.group(1) if enum else "enum", []).append(row)
            elif table[0][:2] == ["label", "number"]:
                found["types"] += table[2:]
            elif table[0] == ["argument", "bytes"]:
                found["bytes"] += table[2:]
            elif table[0][:1] == ["symbol"]:
                found["symbols"] += [bare(row[0]).rstrip("()") for row in table[2:]]
    return found


def program(found, bits):
    """Returns every statement of the tables as an assertion."""
    lines = ["#include <stddef.h>"]
    lines += [f"#include <side/{header}>" for header in ABI]

    def check(statement, condition=None):
        if condition:
            lines.append(f"#if {condition}")
        lines.append(f'_Static_assert({statement}, "docs/spec: " "' + statement.replace('"', "'") + '");')
        if condition:
            lines.append("#endif")

    for kind, (size, rows) in found["structures"].items():
        for condition, statement in structure_checks(kind, size, rows, bits):
            check(statement, condition)
    for rows in found["enums"].values():
        for row in rows:
            little = re.fullmatch(r"(\d+) \(big endian: (\d+)\)", row[1])
            if little:
                check(f"{bare(row[0])} == (SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN ? {little.group(1)} : "
                      f"{little.group(2)})")
            else:
                check(f"{bare(row[0])} == {row[1]}")
    for row in found["types"]:
        check(f"SIDE_TYPE_{bare(row[0])} == {row[1]}")
        for kind, cell in (("struct side_type", row[2]), ("struct side_arg", row[3])):
            for member in re.findall(r"`(u\.[\w.]+)`", cell):
                check(f"sizeof((({kind} *) 0)->{member}) > 0")
    # A constant that is in an enumeration but not in its table is an error of -Wswitch-enum.
    for number, (enum, rows) in enumerate(found["enums"].items()):
        if enum == "enum":
            continue
        cases = {row[1]: f"case {bare(row[0])}:" for row in rows}
        lines.append(f"int which_{number}({enum} value);")
        lines.append(f"int which_{number}({enum} value) {{ switch (value) {{ {' '.join(cases.values())} "
                     "return 1; } return 0; }")
    return "\n".join(lines) + "\n"


def left_out(found, include):
    """Returns what only the headers or the library's map have, or only the pages."""
    missing = []
    for header in ABI:
        with open(os.path.join(include, "side", header), encoding="utf-8") as source:
            text = source.read()
        for kind, listed in structures.structures(text).items():
            if kind not in found["structures"]:
                missing.append(f"{kind} of {header} has no table")
                continue
            in_page = {bare(row[0]) for row in found["structures"][kind][1]}
            missing += [f"{kind}: no row for {member}" for member, _ in listed if member not in in_page]
        for enum, names in structures.enumerations(text).items():
            in_page = {bare(row[0]) for row in found["enums"].get(enum, [])}
            missing += [f"{enum}: no row for {name}" for name in names if name not in in_page]
    with open(os.path.join(root, "src/libside/libside.map"), encoding="utf-8") as text:
        exported = re.findall(r"^\t(side_\w+);", text.read(), re.M)
    missing += [f"no row for the symbol {name}" for name in exported if name not in found["symbols"]]
    missing += [f"the symbol {name} is not exported" for name in found["symbols"] if name not in exported]
    return missing


def compile_text(compiler, include, text, bits):
    flags = ["-std=gnu11", "-Wall", "-Wswitch-enum", "-Werror", "-fsyntax-only", "-I", include]
    return subprocess.run([compiler, "-x", "c", f"-m{bits}"] + flags + ["-"], input=text, capture_output=True,
                          text=True, check=False)


def installed(build, directory):
    """Returns a directory with exactly the headers that `meson install` installs."""
    done = subprocess.run(["meson", "introspect", "--installed", build], capture_output=True, text=True,
                          check=True)
    for source, target in json.loads(done.stdout).items():
        found = re.search(r"/include/(side/.*\.h)$", target)
        if found:
            os.makedirs(os.path.dirname(os.path.join(directory, found.group(1))), exist_ok=True)
            shutil.copy(source, os.path.join(directory, found.group(1)))
    return directory


def wrong_bytes(found, include, compiler, work):
    """Returns the rows of the table of bytes that differ from the code that the compiler makes for such arguments."""
    members = {"S16": "integer_value.side_s16", "BOOL": "bool_value.side_bool8", "U32": "integer_value.side_u32",
               "POINTER": "integer_value.side_uptr", "FLOAT_BINARY64": "float_value.side_float_binary64"}
    lines = ["#include <stdio.h>", "#include <stdbool.h>", "#include <side/abi/type-argument.h>",
             "int main(void) {"]
    for what, listed in found["bytes"]:
        label, value = re.match(r"`(\w+)`, (.*)", what).groups()
        lines.append(f"{{ struct side_arg a = {{.type = SIDE_ENUM_INIT(SIDE_TYPE_{label}), "
                     f".u.side_static.{members[label]} = {value}}};")
        lines.append(f'for (int i = 0; i < {len(bare(listed).split())}; i++) '
                     'printf("%s%02x", i ? " " : "", ((unsigned char *) &a)[i]); puts(""); }')
    run = os.path.join(work, "bytes")
    subprocess.run([compiler, "-x", "c", "-I", include, "-o", run, "-"], input="\n".join(lines + ["}"]), text=True,
                   check=True)
    made = subprocess.run([run], capture_output=True, text=True, check=True).stdout.splitlines()
    return [f"{row[0]} is {got} by {compiler}, not {row[1]}" for row, got in zip(found["bytes"], made)
            if got != bare(row[1])]


def notices(found, include, compiler):
    """Whether the compiler refuses a table that is wrong by one; otherwise this test would check nothing."""
    size, rows = found["structures"]["struct side_event_description"]
    wrong = dict(found, structures={"struct side_event_description": (str(int(size) + 1), rows)})
    fewer = dict(found, enums={"enum side_error": found["enums"]["enum side_error"][1:]})
    for what, bad in (("a wrong size", wrong), ("an enumeration without its first constant", fewer)):
        if not compile_text(compiler, include, program(bad, 64), 64).returncode:
            sys.exit(f"{compiler} has not noticed {what}")


def main():
    found = collect()
    counts = {what: len(table) for what, table in found.items()}
    members = sum(len(rows) for _, rows in found["structures"].values())
    constants = sum(len(rows) for rows in found["enums"].values())
    if counts["structures"] < 60 or members < 265 or constants < 110 or counts["types"] != 51 or \
            counts["bytes"] < 5:
        sys.exit(f"the tables of docs/spec are not all found: {counts}, {members} members, "
                 f"{constants} constants")
    with tempfile.TemporaryDirectory(prefix="side-spec-") as work:
        include = installed(os.path.abspath(sys.argv[2]), work)
        failures = left_out(found, include)
        done = []
        for compiler in filter(shutil.which, ("gcc", "clang")):
            for bits in (64, 32):
                if compile_text(compiler, include, "#include <stdlib.h>\n", bits).returncode:
                    continue
                result = compile_text(compiler, include, program(found, bits), bits)
                failures += [f"{compiler} -m{bits}: {line}" for line in result.stderr.splitlines()
                             if "error" in line]
                if result.returncode and not result.stderr:
                    failures.append(f"{compiler} -m{bits}: status {result.returncode}")
                done.append(f"{compiler} -m{bits}")
            notices(found, include, compiler)
            if sys.byteorder == "little" and sys.maxsize > 2 ** 32:
                failures += wrong_bytes(found, include, compiler, work)
    print("\n".join(failures))
    print(f"{counts['structures']} structures, {members} members, {constants} constants, {counts['types']} "
          f"types, {counts['symbols']} symbols by {', '.join(done)}: {len(failures)} complaints")
    sys.exit(1 if failures or not done else 0)


main()
