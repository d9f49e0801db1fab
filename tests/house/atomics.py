# SPDX-License-Identifier: MIT
"""Reads the atomic accesses of C files, and the comments beside them.

A comment states the order of the accesses that follow it in the same function, one clause for each:

    /* Release: the record. Pairs with the acquire in ring_consumer_peek(). */

A clause begins with the order (ORDERS) and a colon, and ends with the next clause or the comment. It names the partner:
the functions after "Pairs with", or another party ("the kernel", see PARTIES). "As in f()"
refers to the clause of the same order in that function. "Acquire, both:" stands for two accesses, "Acquire, all 3:" for three.

A relaxed access needs a comment with the reason if other accesses of the same member in the same room have an order.
"""
import dataclasses
import difflib
import pathlib
import re

import visible

# The words of a comment, and the order of the code. Longer ones first: they begin with others.
ORDERS = {
    "Acquire and release, acquire if it fails": "acq_rel/acquire", "Acquire and release": "acq_rel",
    "Sequentially consistent, also if it fails": "seq_cst/seq_cst", "Sequentially consistent": "seq_cst",
    "Acquire": "acquire", "Release": "release",
    "Compiler fence, acquire": "compiler acquire", "Compiler fence, release": "compiler release",
    "Compiler fence": "compiler seq_cst", "Full fence": "seq_cst",
}
# Functions that contain only a full fence. Their calls are fences, and the callers name the partners.
FENCES = ("ring_doorbell_fence", "full_fence")
PARTIES = ("the kernel", "a debugger", "a reader of the memory", "another process", "compiled code", "a call from there")
ACQUIRES = ("acquire", "acq_rel", "acq_rel/acquire", "seq_cst", "seq_cst/seq_cst")
RELEASES = ("release", "acq_rel", "acq_rel/acquire", "seq_cst", "seq_cst/seq_cst")
STRONGEST = ("seq_cst", "seq_cst/seq_cst")
COMMENT_LINES = 8  # the largest distance of a comment above a relaxed access
CALLS_DEEP = 2  # a partner may make its access through functions that it calls

CLAUSE = re.compile(r"(?:(?<=/\*)|(?<=[.:;*)]))\s*(" + "|".join(sorted(ORDERS, key=len, reverse=True)) + r")(?:, (both|all (\d+)))?:")
ACCESS = re.compile(r"\b(__atomic_\w+|atomic_\w+|__sync_\w+|" + "|".join(FENCES) + r")\s*\(")
WORD = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "do", "else", "__attribute__", "__asm__", "defined", "_Static_assert"}


@dataclasses.dataclass
class Access:
    line: int
    position: int
    operation: str
    order: str
    target: str     # the last member or variable of the address; "" if the address is a pointer of the function, or a fence

    @property
    def is_fence(self):
        return self.operation.endswith("fence")


@dataclasses.dataclass
class Clause:
    line: int
    order: str
    text: str
    partners: list
    parties: list
    alike: str      # the function after "As in"
    count: int      # number of accesses with this clause


@dataclasses.dataclass
class Function:
    path: str
    name: str
    line: int
    accesses: list
    clauses: list
    calls: set
    comments: list  # (first line, last line)

    @property
    def strong(self):
        return [access for access in self.accesses if access.order != "relaxed"]


def closing(code, begin):
    """Returns the position after the parenthesis that closes the one before `begin`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(code[begin], 0)
        begin += 1
    return begin


def split_arguments(text):
    depth, begin, found = 0, 0, []
    for i, character in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            found.append(text[begin:i])
            begin = i + 1
    return [" ".join(part.split()) for part in [*found, text[begin:]]]


def order_of(operation, arguments):
    """Returns the order, as in ORDERS. A compare-and-exchange whose failure is relaxed has the order of its success."""
    # Use only arguments that are an order, because nested accesses have orders of their own.
    orders = [found[1].lower() for found in (re.fullmatch(r"(?:__ATOMIC_|memory_order_)(\w+)", each) for each in arguments) if found]
    if operation.endswith("init"):
        return "relaxed"  # no other thread knows the object yet
    if not orders:
        return "seq_cst"
    if "signal_fence" in operation:
        return "compiler " + orders[0]
    if len(orders) == 2 and orders[1] != "relaxed":
        return "/".join(orders)
    return orders[0]


def target_of(address):
    """&ring->control[i].head -> head; word -> ""."""
    address = re.sub(r"^\([^()]*\**\)", "", address.strip())
    while re.search(r"\[[^\[\]]*\]", address):
        address = re.sub(r"\[[^\[\]]*\]", "", address)
    members = re.findall(r"(?:->|\.)\s*(\w+)", address)
    if members:
        return members[-1]
    variable = re.fullmatch(r"&\s*(\w+)", address)
    return variable[1] if variable else ""


def accesses_of(code, begin, end):
    found = []
    for match in ACCESS.finditer(code, begin, end):
        arguments = split_arguments(code[match.end():closing(code, match.end()) - 1])
        operation = match[1].removesuffix("_n").removesuffix("_explicit")
        fence = operation.endswith("fence")
        found.append(Access(code.count("\n", 0, match.start()) + 1, match.start(), operation, order_of(operation, arguments),
                            "" if fence else target_of(arguments[0])))
    return found


def clauses_of(text, first_line):
    """Returns the clauses of one comment."""
    text = re.sub(r"(?m)^[ \t]*\*(?!/)", lambda found: " " * len(found.group()), text)
    found = list(CLAUSE.finditer(text))
    clauses = []
    for i, match in enumerate(found):
        end = found[i + 1].start() if i + 1 < len(found) else len(text)
        words = " ".join(text[match.end():end].removesuffix("*/").split())
        pairs = [part for part in re.split(r"(?<=[.;])\s", words) if re.search(r"\bpairs? with\b", part, re.I)]
        pairs = [part[re.search(r"\bpairs? with\b", part, re.I).start():] for part in pairs]
        alike = re.search(r"\b[Aa]s in (\w+)\(\)", words)
        count = 2 if match[2] == "both" else int(match[3] or 1)
        clause = Clause(first_line + text.count("\n", 0, match.start(1)), ORDERS[match[1]], words,
                        [name for part in pairs for name in re.findall(r"(\w+)\(\)", part)],
                        [party for party in PARTIES if any(party in part for part in pairs)], alike[1] if alike else None, count)
        clauses += [clause] * count
    return clauses


def bodies(code):
    """Returns (begin of the head, position of the name, name, begin of the body, end) of each function
    of blanked code.
    """
    depth, head, begin = 0, 0, None
    for found in re.finditer(r"[{};]|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", code, re.M):
        character = found.group()
        if character.lstrip().startswith("#"):
            if depth == 0:
                head = found.end()
            continue
        if character == "{":
            before = code[head:found.start()]
            if depth == 0 and re.search(r"\bextern\s*$", before):
                head = found.end()
                continue
            if depth == 0:
                begin = found.start()
                names = [name for name in WORD.finditer(before) if name[1] not in KEYWORDS]
                # A function has a list of parameters before its body, and no assignment.
                name = names[0] if names and "=" not in before and before.rstrip().endswith(")") else None
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                if name:
                    yield head, head + name.start(1), name[1], begin, found.end()
                head = found.end()
            depth = max(depth, 0)
        elif depth == 0:
            head = found.end()


def functions_of(path, text):
    code = visible.code(text)
    functions, covered = [], []
    if not ACCESS.search(code) and not CLAUSE.search(text):
        # Reads only the names of the functions and their calls.
        return [Function(path, name, 0, [], [], {found[1] for found in WORD.finditer(code, begin, end)} - KEYWORDS, [])
                for _, _, name, begin, end in bodies(code)], []
    comments = [(found.start(), found.end(), found.group()) for found in visible.matches_of_comments(text)]
    for head, _, name, begin, end in bodies(code):
        clauses, lines = [], []
        # A comment after the last statement, on the same line, belongs to the function.
        for first, last, comment in comments:
            if head <= first < end:
                line = text.count("\n", 0, first) + 1
                clauses += clauses_of(comment, line)
                lines.append((line, line + comment.count("\n")))
        functions.append(Function(path, name, text.count("\n", 0, begin) + 1, accesses_of(code, begin, end), clauses,
                                  {found[1] for found in WORD.finditer(code, begin, end)} - KEYWORDS, lines))
        covered.append((begin, end))
    for found in re.finditer(r"(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)(?:[^\n]*\\\n)*[^\n]*", code):
        accesses = accesses_of(code, found.start(), found.end())
        line = text.count("\n", 0, found.start()) + 1
        if accesses:
            clauses = [clause for first, _, comment in comments if found.start() <= first < found.end()
                       for clause in clauses_of(comment, text.count("\n", 0, first) + 1)]
            functions.append(Function(path, found[1], line, accesses, clauses, set(), []))
            covered.append((found.start(), found.end()))
    outside = [access for access in accesses_of(code, 0, len(code))
               if access.operation not in FENCES and not any(b <= access.position < e for b, e in covered)]
    return functions, outside


class Tree:
    """All functions of the C files of directories, and the labels of their assembly."""

    def __init__(self, root, under=""):
        self.root, self.functions, self.outside, self.labels, self.by_name = pathlib.Path(root), [], [], set(), {}
        self.ordered = set()
        self.waiting = [path for directory in ("src", "programs", "include") for path in sorted((self.root / directory).rglob("*"))
                        if path.suffix in (".c", ".h", ".S")]
        self.load(under)

    def load(self, under=""):
        """Reads those files below a directory that were not read before."""
        for path in [path for path in self.waiting if str(path.relative_to(self.root)).startswith(under)]:
            self.waiting.remove(path)
            self.add(str(path.relative_to(self.root)), path.read_text())

    def add(self, name, text):
        if name.endswith(".S"):
            self.labels |= set(re.findall(r"(?m)^(?:FUNCTION\()?(\w+)[:)]", text))
            return
        functions, outside = functions_of(name, text)
        self.functions += functions
        self.outside += [(name, access) for access in outside]
        for function in functions:
            self.by_name.setdefault(function.name, []).append(function)

    def find(self, name, beside):
        """Returns the functions with a name, seen from a file: its own, otherwise those of its
        directory, otherwise all.
        """
        all_of = self.by_name.get(name, [])
        own = [each for each in all_of if each.path == beside.path]
        near = [each for each in all_of if pathlib.PurePath(each.path).parent == pathlib.PurePath(beside.path).parent]
        return own or near or all_of

    def reached(self, name, beside, deep=CALLS_DEEP):
        """Returns the accesses of a function and of those that it calls."""
        found = []
        for function in self.find(name, beside):
            found += function.strong
            if deep:
                for call in function.calls:
                    found += self.reached(call, function, deep - 1) if call in self.by_name else []
        return found

    def pairs_of(self, function):
        """Returns [(access or None, clause or None)]: each strong access with the clause that states its order."""
        accesses, clauses = function.strong, function.clauses
        matcher = difflib.SequenceMatcher(None, [a.order for a in accesses], [c.order for c in clauses], autojunk=False)
        pairs = []
        for operation, a, b, c, d in matcher.get_opcodes():
            if operation == "equal" or operation == "replace" and b - a == d - c:
                pairs += zip(accesses[a:b], clauses[c:d])
            else:
                pairs += [(access, None) for access in accesses[a:b]] + [(None, clause) for clause in clauses[c:d]]
        return pairs

    def partners_of(self, clause, function, seen=()):
        """Returns the names and parties of a clause, with those of the function that it refers to by "As in"."""
        names, parties = list(clause.partners), list(clause.parties)
        if clause.alike and clause.alike not in seen:
            for other in self.find(clause.alike, function):
                for like in other.clauses:
                    if like.order == clause.order and like is not clause:
                        more = self.partners_of(like, other, (*seen, clause.alike))
                        names += more[0]
                        parties += more[1]
        return list(dict.fromkeys(names)), list(dict.fromkeys(parties))

    def has_match(self, access, name, function):
        """Whether a function has an access that pairs with this one: of the other order, of the same member, or a fence."""
        for other in self.reached(name, function):
            if other.order.startswith("compiler") or other is access and not (access.order in ACQUIRES and access.order in RELEASES):
                continue
            same = access.is_fence or other.is_fence or not access.target or not other.target or access.target == other.target
            if same and (access.order in ACQUIRES and other.order in RELEASES or access.order in RELEASES and other.order in ACQUIRES):
                if access.order not in STRONGEST or other.order in STRONGEST:
                    return True
        return False

    def errors_of(self, function):
        pairs = self.pairs_of(function)
        for access, clause in pairs:
            if clause is None:
                yield access.line, f"{access.operation} is {access.order}, but no comment states this order and its partner"
            elif access is None:
                yield clause.line, f"the comment states {clause.order}, but {function.name}() has no such access for it"
            elif access.order != clause.order:
                yield access.line, f"{access.operation} is {access.order}, but the comment states {clause.order}"
            elif not access.order.startswith("compiler") and function.name not in FENCES:
                group = [a for a, c in pairs if c is clause and a is not None]
                yield from self.errors_of_partners(function, access, clause, group)

    def errors_of_relaxed(self, function):
        """If other accesses of a member have an order, a relaxed access needs a comment with the reason."""
        module = pathlib.PurePath(function.path).parent
        for access in function.accesses:
            if access.order == "relaxed" and (module, access.target) in self.ordered and not any(
                    first <= access.line <= last + COMMENT_LINES for first, last in function.comments):
                yield access.line, f"{access.operation} of {access.target} is relaxed, others are not, and no comment gives the reason"

    def errors_of_partners(self, function, access, clause, group):
        """`group`: the accesses of the clause. Each needs a partner, and each partner needs one of them."""
        names, parties = self.partners_of(clause, function)
        known = [name for name in names if name not in self.labels]
        if not names and not parties:
            yield clause.line, f"the comment does not name the partner of {access.operation}"
        for name in known:
            if name not in self.by_name:
                yield clause.line, f"the partner {name}() does not exist"
            elif not any(self.has_match(each, name, function) for each in group):
                yield clause.line, (f"the partner {name}() has no access that pairs with {access.operation} ({access.order}) "
                                    f"of {access.target or 'memory'}")
        if len(group) > 1 and known and not parties and not any(self.has_match(access, name, function) for name in known):
            yield access.line, f"no partner has an access that pairs with {access.operation} ({access.order}) of {access.target or 'memory'}"

    def errors(self, under=""):
        """Returns all errors in the files below a directory. Partners can be in other directories."""
        self.ordered = {(pathlib.PurePath(function.path).parent, access.target) for function in self.functions
                        for access in function.strong if access.target}
        found = [f"{function.path}:{line}: {text}" for function in self.functions if function.path.startswith(under)
                 for line, text in [*self.errors_of(function), *self.errors_of_relaxed(function)]]
        found += [f"{path}:{access.line}: {access.operation} outside of a function" for path, access in self.outside
                  if path.startswith(under)]
        if found and self.waiting:
            self.load()
            return self.errors(under)
        return found

    def rows(self):
        """Returns (path, function, operation, order, what, partners, purpose) of each access that orders others."""
        for function in self.functions:
            for access, clause in self.pairs_of(function):
                if access is None:
                    continue
                names, parties = self.partners_of(clause, function) if clause else ([], [])
                yield (function.path, function.name, access.operation.removeprefix("__"), access.order,
                       access.target, [f"{name}()" for name in names] + parties, re.split(r"(?<=[.;])\s", clause.text)[0] if clause else "")
