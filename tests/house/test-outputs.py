# SPDX-License-Identifier: MIT
"""Output parameters in src and programs are called ret_NAME: a pointer to a number or to a pointer whose first
use in the function is the assignment of a value.

usage: test-outputs.py SOURCE-DIRECTORY
"""
import re
import sys

import visible

DEFINITION = re.compile(r"^\w[^\n;={}]*?\b(\w+)\(([^;{}()]*)\)\n\{\n(.*?)^\}", re.M | re.S)
NUMBER = r"(?:_?[Bb]ool|int|unsigned int|long|double|s?size_t|pid_t|off_t|u?int(?:16|32|64)_t|enum \w+)"
# A pointer to a number, or to a pointer. A pointer to bytes is a buffer.
PARAMETER = re.compile(rf"(?:{NUMBER} \*|(?:const )?(?:struct |enum |unsigned )?\w+ (?:\*|\*const )\*+)(\w+)")
# FUNCTION(PARAMETER): why it is no output of the function or has another name. The list only shrinks.
KEPT = {
    "patch_hit_close_special(stack_slot)": "the stack of the traced program",
    "patch_hit_leave(stack_slot)": "the stack of the traced program",
    "posix_memalign(ptr)": "the name in the prototype of the C library",
}


def is_assigned_first(name, body):
    """True if the first use in the body is `*NAME = VALUE;`, after `if (NAME)` or not, without NAME in VALUE."""
    body = re.sub(rf"\bif \({name}\)\s", " ", body)
    use = re.search(rf"\b{name}\b", body)
    return bool(use and re.search(r"(?:^|[;{})]|\belse)\s*\*$", body[: use.start()])
                and re.match(rf"{name} = (?:(?!\b{name}\b)[^;])*;", body[use.start() :]))


def outputs(text):
    """Returns "FUNCTION(PARAMETER)" of each output parameter that is not called ret_NAME."""
    found = []
    for function, parameters, body in DEFINITION.findall(visible.code(text)):
        for parameter in parameters.split(","):
            name = PARAMETER.fullmatch(" ".join(parameter.split()))
            if name and not name.group(1).startswith("ret_") and is_assigned_first(name.group(1), body):
                found.append(f"{function}({name.group(1)})")
    return found


def main():
    root = sys.argv[1]
    head = "static int take(struct list *list, size_t *size)\n{\n"
    assert outputs(head + "\t*size = list->nr;\n\treturn 0;\n}\n") == ["take(size)"]
    assert outputs(head + "\tif (size)\n\t\t*size = list->nr;\n\treturn 0;\n}\n") == ["take(size)"]
    assert not outputs(head + "\t*size = *size + list->nr;\n\treturn 0;\n}\n")
    assert not outputs(head + "\tif (*size)\n\t\t*size = 1;\n\treturn 0;\n}\n")
    assert not outputs(head.replace("size_t *size", "size_t *ret_size") + "\t*ret_size = list->nr;\n\treturn 0;\n}\n")
    files = {path: visible.read(root, path) for path in visible.sources(root)}
    found = {name: path for path, text in files.items() for name in outputs(text)}
    failures = [f"{path}: {name} is an output: call it ret_{name[name.index('(') + 1:-1]}, or what the value is: ret_NAME"
                for name, path in sorted(found.items()) if name not in KEPT]
    if len(files) >= 500:
        failures += [f"tests/house/test-outputs.py: KEPT names {name}, which is no longer found" for name in KEPT if name not in found]
    print("\n".join(failures))
    print(f"{len(files)} files, {len(failures)} output parameters that are not called ret_NAME")
    return 1 if failures or not files else 0


sys.exit(main())
