# SPDX-License-Identifier: MIT
"""The small changes that can be made to a C function, found with clang's syntax tree.

Each operator yields Change objects. A change replaces bytes of one file. Text that comes from a
macro is not changed, because it has no bytes of its own in the function.
"""
import collections
import dataclasses
import hashlib
import json
import pathlib
import re
import shlex

from clang.cindex import CursorKind, Index, TokenKind

# The kinds of the table in README.md.
ORDINARY, LIMIT, CHECK, LEAK, FAILURE, ORDER = "ordinary", "limit", "check", "leak", "failure", "order"
KINDS = (ORDINARY, LIMIT, CHECK, LEAK, FAILURE, ORDER)

BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
CONDITION = {"==": "!=", "!=": "==", "&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"}
ASSIGNMENT = {"+=": "-=", "-=": "+=", "|=": "=", "&=": "=", "<<=": ">>=", ">>=": "<<=", "*=": "+="}
WEAKER = {
    "__ATOMIC_SEQ_CST": "__ATOMIC_RELAXED", "__ATOMIC_ACQ_REL": "__ATOMIC_RELAXED",
    "__ATOMIC_ACQUIRE": "__ATOMIC_RELAXED", "__ATOMIC_RELEASE": "__ATOMIC_RELAXED",
    "memory_order_seq_cst": "memory_order_relaxed", "memory_order_acq_rel": "memory_order_relaxed",
    "memory_order_acquire": "memory_order_relaxed", "memory_order_release": "memory_order_relaxed",
}
RELEASES = re.compile(r"(^|_)(f?close|closedir|free|munmap|unlock|unlink|unlinkat|put|release|unref|destroy|end|retire|forget|give|"
                      r"give_back|return_turn|stop|detach)(_|$)")
ACQUIRES = re.compile(r"(^|_)(open|openat|mmap|m?alloc|calloc|realloc|read|pread|write|pwrite|recv|recvmsg|send|sendmsg|fstat|stat|"
                      r"ioctl|dup|fcntl|socket|connect|accept4?|fork|pipe2?|take|load|create|add|init|begin)(_|$)")
# The order of the arguments does not matter, unless the function returns the result to a caller that sorts.
SYMMETRIC = {"strcmp", "strncmp", "strcasecmp", "memcmp", "calloc"}
LEAVES = (CursorKind.RETURN_STMT, CursorKind.GOTO_STMT, CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT)


@dataclasses.dataclass(frozen=True)
class Change:
    """Replaces the bytes from `begin` to `end` of `path`, which is relative to the source directory."""
    path: str
    function: str
    line: int
    operator: str
    kind: str
    begin: int
    end: int
    old: str
    new: str
    earlier: int = 0  # equal changes before this one in the function

    def key(self):
        """Stays the same if lines are added elsewhere in the file: names the change in equivalent.json."""
        text = f"{self.path}\0{self.function}\0{self.operator}\0{self.old}\0{self.new}"
        if self.earlier:
            text += f"\0{self.earlier}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def apply(self, source):
        if source[self.begin:self.end].decode() != self.old:
            raise ValueError(f"{self.path}:{self.line}: the file has changed since it was parsed")
        return source[:self.begin] + self.new.encode() + source[self.end:]

    def __str__(self):
        def short(text):
            text = " ".join(text.split()) or "nothing"
            return text if len(text) <= 60 else text[:57] + "..."
        return f"{self.path}:{self.line} {self.function}(): {self.operator}: {short(self.old)} -> {short(self.new)}"


class Source:
    """One C file, parsed with the options of its build."""

    def __init__(self, root, path, arguments, directory):
        self.path = path
        self.name = str(root / path)
        self.bytes = (root / path).read_bytes()
        unit = Index.create().parse(self.name, args=[*arguments, f"-I{directory}", "-w", "-Qunused-arguments"])
        self.errors = [str(d) for d in unit.diagnostics if d.severity >= 3]
        self.functions = [cursor for cursor in unit.cursor.get_children()
                          if cursor.kind == CursorKind.FUNCTION_DECL and cursor.is_definition() and self.owns(cursor)]

    def owns(self, cursor):
        begin, end = cursor.extent.start, cursor.extent.end
        return begin.file and end.file and begin.file.name == self.name and end.file.name == self.name

    def text(self, begin, end):
        return self.bytes[begin:end].decode(errors="replace")

    def of(self, cursor):
        return self.text(cursor.extent.start.offset, cursor.extent.end.offset)

    def spelled(self, cursor):
        """Whether the compiler reads the bytes of the cursor directly, and not from a macro."""
        if not self.owns(cursor):
            return False
        first = next(iter(cursor.get_tokens()), None)
        if first is None:
            return False
        macros = re.compile(r"^[A-Z][A-Z0-9_]+$")
        return first.extent.start.offset == cursor.extent.start.offset and not macros.match(first.spelling)


class Finder:
    """All changes of one function."""

    def __init__(self, source, function):
        self.source = source
        self.function = function
        self.changes = []

    def add(self, operator, kind, begin, end, new):
        old = self.source.text(begin, end)
        line = self.source.bytes.count(b"\n", 0, begin) + 1
        if old != new and "\n#" not in old:
            self.changes.append(Change(self.source.path, self.function.spelling, line, operator, kind, begin, end, old, new))

    def add_cursor(self, operator, kind, cursor, new):
        self.add(operator, kind, cursor.extent.start.offset, cursor.extent.end.offset, new)

    def find(self):
        self.visit(self.function, None)
        self.weaken()
        return self.changes

    def visit(self, cursor, parent):
        for child in cursor.get_children():
            # The operand of sizeof is not evaluated: all elements of an array have one size.
            if not self.source.owns(child) or child.kind == CursorKind.CXX_UNARY_EXPR:
                continue
            method = getattr(self, "on_" + child.kind.name.lower(), None)
            if method:
                method(child)
            if cursor.kind == CursorKind.COMPOUND_STMT and child.kind in (
                    CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR,
                    CursorKind.UNARY_OPERATOR):
                self.on_statement(child)
            self.visit(child, cursor)

    def on_binary_operator(self, cursor):
        operands = list(cursor.get_children())
        if len(operands) != 2 or not all(self.source.owns(o) for o in operands):
            return
        begin, end = operands[0].extent.end.offset, operands[1].extent.start.offset
        text = self.source.text(begin, end)
        token = text.strip()
        begin += len(text) - len(text.lstrip())
        end = begin + len(token)
        pointers = any("*" in o.type.spelling or "[" in o.type.spelling for o in operands)
        for table, operator, kind in ((BOUNDARY, "boundary", LIMIT), (CONDITION, "condition", ORDINARY),
                                      (ARITHMETIC, "arithmetic", ORDINARY)):
            if token in table and not (table is ARITHMETIC and pointers):
                self.add(operator, kind, begin, end, table[token])

    def on_compound_assignment_operator(self, cursor):
        operands = list(cursor.get_children())
        if len(operands) != 2:
            return
        begin, end = operands[0].extent.end.offset, operands[1].extent.start.offset
        text = self.source.text(begin, end)
        token = text.strip()
        if token in ASSIGNMENT:
            begin += len(text) - len(text.lstrip())
            self.add("arithmetic", ORDINARY, begin, begin + len(token), ASSIGNMENT[token])

    def on_integer_literal(self, cursor):
        text = self.source.of(cursor)
        found = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)", text)
        if not found:
            return
        value = int(found[1], 16 if found[1][:2] in ("0x", "0X") else (8 if re.fullmatch("0[0-7]+", found[1]) else 10))
        kind = LIMIT if value > 1 else ORDINARY
        self.add_cursor("constant", kind, cursor, f"{value + 1}{found[2]}")

    def on_if_stmt(self, cursor):
        parts = list(cursor.get_children())
        if len(parts) < 2 or not self.source.owns(parts[0]):
            return
        condition, then = parts[0], parts[1]
        kind = self.kind_of_check(condition)
        if self.source.spelled(condition):
            self.add_cursor("negation", ORDINARY, condition, f"!({self.source.of(condition)})")
        if len(parts) == 2 and self.only_leaves(then):
            self.add_cursor("removed check", kind, cursor, f"{{ (void)({self.source.of(condition)}); }}"
                            + ("" if self.source.of(cursor).rstrip().endswith("}") else ""))

    def kind_of_check(self, condition):
        calls = [c for c in condition.walk_preorder() if c.kind == CursorKind.CALL_EXPR]
        text = self.source.of(condition)
        if any(ACQUIRES.search(c.spelling) for c in calls) or re.search(r"\b(ret|fd|got|err|error|status)\b", text):
            return FAILURE
        return CHECK

    def only_leaves(self, then):
        statements = list(then.get_children()) if then.kind == CursorKind.COMPOUND_STMT else [then]
        return bool(statements) and statements[-1].kind in LEAVES

    def on_statement(self, cursor):
        end = cursor.extent.end.offset
        if not self.source.spelled(cursor) or self.source.text(end, end + 1) != ";":
            return
        releases = cursor.kind == CursorKind.CALL_EXPR and RELEASES.search(cursor.spelling)
        self.add("removed release" if releases else "removed statement", LEAK if releases else ORDINARY,
                 cursor.extent.start.offset, end, "")

    def is_symmetric(self, cursor):
        before = self.source.text(max(0, cursor.extent.start.offset - 16), cursor.extent.start.offset)
        if cursor.spelling == "calloc":
            return True
        return cursor.spelling in SYMMETRIC and not re.search(r"(\breturn|[=:]) *$", before)

    def on_call_expr(self, cursor):
        arguments = list(cursor.get_arguments())
        if self.is_symmetric(cursor):
            arguments = arguments[1:]
        for left, right in zip(arguments, arguments[1:]):
            if (left.type.get_canonical().spelling == right.type.get_canonical().spelling and
                    self.source.owns(left) and self.source.owns(right) and
                    left.extent.end.offset < right.extent.start.offset):
                between = self.source.text(left.extent.end.offset, right.extent.start.offset)
                if between.strip() == ",":
                    self.add("swapped arguments", ORDINARY, left.extent.start.offset, right.extent.end.offset,
                             self.source.of(right) + between + self.source.of(left))

    def weaken(self):
        for token in self.function.get_tokens():
            if token.kind == TokenKind.IDENTIFIER and token.spelling in WEAKER:
                begin = token.extent.start.offset
                self.add("weaker order", ORDER, begin, begin + len(token.spelling), WEAKER[token.spelling])


def raw_commands(build):
    """The command and the directory of each compiled C file below src/ and programs/."""
    root = pathlib.Path(__file__).resolve().parents[2]
    seen = {}
    for command in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        path = (pathlib.Path(command["directory"]) / command["file"]).resolve()
        if path.suffix == ".c" and {root / "src", root / "programs"} & set(path.parents):
            seen.setdefault(str(path.relative_to(root)), (command["command"], command["directory"]))
    return root, seen


def compile_commands(build):
    """The options and the directory of each compiled C file below src/ and programs/, and of each header beside such a file."""
    root, raw = raw_commands(build)
    seen = {path: (absolute(shlex.split(command)[1:], directory), directory) for path, (command, directory) in raw.items()}
    return root, {**seen, **headers(root, seen)}


def headers(root, compiled):
    """Headers with functions, parsed alone with the options of a C file of the same directory. Public headers need none."""
    found = {}
    beside = {str(pathlib.PurePath(path).parent): command for path, command in compiled.items()}
    for path in sorted([*root.glob("src/**/*.h"), *root.glob("programs/**/*.h"), *root.glob("include/**/*.h")]):
        name = path.relative_to(root)
        command = beside.get(str(name.parent)) or (beside.get("src/libside") if name.parts[0] == "include" else None)
        if command and re.search(rb"^static.*\binline\b", path.read_bytes(), re.MULTILINE):
            found[str(name)] = ([*command[0], "-xc"], command[1])
    return found


def absolute(arguments, directory):
    """The options that the parser needs; relative directories are those of the build."""
    kept = []
    for argument in arguments:
        found = re.match(r"-(I|isystem|iquote)(.+)", argument)
        if found:
            kept.append(f"-{found[1]}{pathlib.Path(directory) / found[2]}")
        elif argument.startswith(("-D", "-U", "-std=")) or argument in ("-pthread",):
            kept.append(argument)
    return kept


def find_changes(root, path, arguments, directory):
    source = Source(root, path, arguments, directory)
    changes = {}
    for function in source.functions:
        for change in Finder(source, function).find():
            changes.setdefault((change.begin, change.end, change.new), change)
    counts = collections.Counter()
    counted = []
    for change in sorted(changes.values(), key=lambda change: (change.begin, change.end, change.new)):
        equal = change.function, change.operator, change.old, change.new
        counted.append(dataclasses.replace(change, earlier=counts[equal]))
        counts[equal] += 1
    return source, counted
