# SPDX-License-Identifier: MIT
"""Parts of the code and the circles of their uses. A part is X.c (or X.S) with X.h; it uses a part whose header it includes.

A header without a C file is a part that uses only what it includes: a call of a function that it declares is not seen as a use of the file
that defines the function.
"""
import os
import re

import visible

FOLDERS = ("src", "programs")
# Headers that compose the structs of all parts of a module: the C files of the parts include them, so that use counts for no order.
COMPOSED = ("src/recorder/session-state.h", "src/tracers/agent/core/agent-state.h")


def part_of(path):
    return os.path.splitext(path)[0]


def header_of(path, name, known):
    """Returns the header that the file `path` includes as `name`, or None if it is not one of `known`."""
    places = (os.path.normpath(os.path.join(os.path.dirname(path), name)), "src/" + name, name)
    return next((place for place in places if place in known), None)


def uses(root, composed=COMPOSED):
    """{part: {part that it uses: a file and the header that it includes}}"""
    paths = [path for folder in FOLDERS for path in visible.files(root, folder, (".c", ".h", ".S"))]
    known, found = set(paths), {part_of(path): {} for path in paths}
    for path in paths:
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', visible.read(root, path), re.M):
            header = header_of(path, name, known)
            if header is None or part_of(header) == part_of(path) or header in composed and not path.endswith(".h"):
                continue
            found[part_of(path)].setdefault(part_of(header), f"{path} includes {name}")
    return found


def circles(graph):
    """Sets of parts that use each other, or themselves (strongly connected components, by Tarjan's algorithm), each sorted."""
    order, low, stack, found = {}, {}, [], []
    for start in sorted(graph):
        if start in order:
            continue
        work = [(start, iter(sorted(graph[start])))]
        order[start] = low[start] = len(order)
        stack.append(start)
        while work:
            part, rest = work[-1]
            for used in rest:
                if used not in order:
                    order[used] = low[used] = len(order)
                    stack.append(used)
                    work.append((used, iter(sorted(graph[used]))))
                    break
                if used in stack:
                    low[part] = min(low[part], order[used])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[part])
                if low[part] == order[part]:
                    members = stack[stack.index(part):]
                    del stack[stack.index(part):]
                    if len(members) > 1 or part in graph[part]:
                        found.append(sorted(members))
    return sorted(found)
