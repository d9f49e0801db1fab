# SPDX-License-Identifier: MIT
"""Compiles many changes at once, each behind a switch, so that one build serves a whole sample.

Each change has a copy of its function. The function itself calls the copy whose number is in the environment variable
SIDE_CHANGE, if any. Programs that run without the environment of the test do not change, so a change that no test
detects this way must be tried alone, too.
"""
import collections
import re
import shlex
import subprocess

import operators
from clang.cindex import CursorKind, TypeKind

VARIABLE = "SIDE_CHANGE"
# The lines of copy N have the numbers from N * LINES, so that the compiler's errors show which copy
# does not compile.
LINES = 100000
# A copy has another frame, and its labels in assembler would exist twice.
BOUND_TO_FRAME = re.compile(r"__builtin_(return|frame)_address|WRAP_CALLER|\bsetjmp\b|\balloca\b|\bcallback_caller\b|\basm\b|__asm__")
READ = """#line {line}
extern char *getenv(const char *);
static int {name};
static __attribute__((constructor(101))) void {name}_read(void)
{{
	const char *at = getenv("{variable}");

	while (at && *at)
		{name} = {name} * 10 + (*at++ - '0');
}}
"""


def is_switchable(change):
    """Tests of memory orders compare the text of the source. Public headers are compiled as C++, too."""
    return change.kind != operators.ORDER and change.path.startswith("src/")


def body_of(function, source):
    """Returns where the body begins, or None if the function cannot have a copy."""
    begin, end, name = function.extent.start.offset, function.extent.end.offset, function.location.offset
    body = next((child for child in function.get_children() if child.kind == CursorKind.COMPOUND_STMT), None)
    # A function can be declared with a typedef of its type.
    type_of = function.type.get_canonical()
    if body is None or function.spelling == "main" or (type_of.kind == TypeKind.FUNCTIONPROTO and type_of.is_function_variadic()):
        return None
    at = body.extent.start.offset
    if not (begin <= name < at < end) or source.bytes[at:at + 1] != b"{" or source.bytes[end - 1:end] != b"}":
        return None
    if source.bytes[name:name + len(function.spelling)] != function.spelling.encode():
        return None
    if not all(argument.spelling for argument in function.get_arguments()) or BOUND_TO_FRAME.search(source.text(begin, end)):
        return None
    return at


def copy_of(source, function, change, number):
    """Returns the text of the function with the change, under another name and local to the file."""
    begin, end, name = function.extent.start.offset, function.extent.end.offset, function.location.offset
    after = name + len(function.spelling)
    text = (source.text(begin, after) + f"__{number}" + source.text(after, change.begin) + change.new + source.text(change.end, end))
    prefix = "" if re.search(r"\bstatic\b", source.text(begin, name)) else "static "
    return f"#line {number * LINES}\n{prefix}{text}\n"


def with_switches(source, changes):
    """Returns the text of the file with all changes {number: change}, and the numbers that have a copy."""
    name = "side_change_" + re.sub(r"\W", "_", source.path)
    out, at, used, is_first = [], 0, set(), True
    for function in sorted(source.functions, key=lambda one: one.extent.start.offset):
        begin, end = function.extent.start.offset, function.extent.end.offset
        body = body_of(function, source)
        mine = {number: change for number, change in changes.items() if body is not None and body < change.begin and change.end < end}
        if not mine or begin < at:
            continue
        line = source.bytes.count(b"\n", 0, begin) + 1
        out.append(source.text(at, begin) + "\n")
        if is_first:
            out.append(READ.format(line=line, name=name, variable=VARIABLE))
            is_first = False
        out.append(f"#line {line}\n{source.text(begin, body).rstrip()};\n")
        out += [copy_of(source, function, change, number) for number, change in mine.items()]
        arguments = ", ".join(argument.spelling for argument in function.get_arguments())
        is_void = function.result_type.get_canonical().spelling == "void"
        cases = "".join(f" case {number}: " + (f"{function.spelling}__{number}({arguments}); return;" if is_void else
                                               f"return {function.spelling}__{number}({arguments});") for number in mine)
        out.append(f"#line {line}\n{source.text(begin, body)}{{ switch ({name}) {{{cases} default: break; }}")
        used |= set(mine)
        at = body + 1
    return "".join(out) + source.text(at, len(source.bytes)), used


def errors_of(command, directory):
    """Returns the numbers of the copies that do not compile, or None if something else does not."""
    done = subprocess.run([*command, "-w", "-fsyntax-only", "-fdiagnostics-color=never"], cwd=directory, check=False, capture_output=True, text=True)
    if done.returncode == 0:
        return set()
    lines = [int(found[1]) for found in re.finditer(r"^[^\s:]+:(\d+)(?::\d+)?: (?:fatal )?error: ", done.stderr, re.MULTILINE)]
    return {line // LINES for line in lines} if lines and min(lines) >= LINES else None


def compiler(command):
    """Returns the command without its output files."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in ("-o", "-MF", "-MQ", "-MT"):
            next(words)
        elif word not in ("-MD", "-c", "ccache"):
            kept.append(word)
    return kept


def switch_file(source, changes, command, directory):
    """Writes the file with all changes that compile. Returns their numbers. Without any, the file does not change."""
    path = source.name
    changes = dict(changes)
    while changes:
        text, used = with_switches(source, changes)
        if not used:
            break
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        # A header is compiled with the file that includes it.
        failed = set() if path.endswith(".h") else errors_of(compiler(command), directory)
        if failed == set():
            return used
        if failed is None or not failed & used:
            break
        changes = {number: change for number, change in changes.items() if number in used - failed}
    with open(path, "wb") as file:
        file.write(source.bytes)
    return set()


def switch(root, commands, raw, changes, originals):
    """Writes all files with their changes {number: change}. Adds the original text of each to
    `originals`, a dictionary by path, before the file is written. Returns the numbers that have a
    switch.
    """
    by_path = collections.defaultdict(dict)
    for number, change in changes.items():
        if is_switchable(change):
            by_path[change.path][number] = change
    used = set()
    for path, mine in by_path.items():
        source = operators.Source(root, path, *commands[path])
        originals[root / path] = source.bytes
        used |= switch_file(source, mine, *raw.get(path, (None, None)))
    return used
