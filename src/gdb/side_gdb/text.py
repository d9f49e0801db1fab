# SPDX-License-Identifier: MIT
"""Values and how they are written."""
import json

import gdb


class Shown:
    """A value with its own way to be shown; conditions see the number."""

    def __init__(self, value, text):
        self.value, self.text = value, text


def clean(text):
    """Text of the program, in quotes, without what a terminal would obey."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if not 0x7f <= ord(c) < 0xa0 else f"\\u{ord(c):04x}" for c in quoted)


def name_text(text):
    return clean(text)[1:-1]


def show(value):
    if isinstance(value, Shown):
        return value.text
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return "[ " + ", ".join(map(show, value)) + " ]" if value else "[ ]"
    if isinstance(value, dict):
        inside = ", ".join(f"{name_text(k)} = {show(v)}" for k, v in value.items())
        return "{ " + inside + " }" if inside else "{ }"
    return str(value)


def say(line):
    charset = gdb.host_charset() if hasattr(gdb, "host_charset") else "ascii"
    gdb.write(line.encode(charset, "backslashreplace").decode(charset) + "\n")
