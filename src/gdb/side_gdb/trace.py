# SPDX-License-Identifier: MIT
"""What the rings of the program hold: 'side recover' takes it out of a core dump, 'side view' shows it."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import gdb

from side_gdb.memory import Rubbish

LAST = 20


def command():
    found = shutil.which("side")
    if not found:
        raise Rubbish("the command 'side', which reads the rings, is not in PATH\n"
                      "hint: `python os.environ[\"PATH\"] += \":DIR\"` adds its directory")
    return found


def core(place):
    """The core dump that gdb has open; of a program that runs one is made, which needs as much room as its memory."""
    found = re.search(r"^Local core dump file:\s+`(.*)', file type", gdb.execute("info files", to_string=True), re.M)
    if found:
        return found[1]
    if not gdb.selected_inferior().pid:
        raise Rubbish("the program does not run: start it, attach to it, or load its core dump first")
    path = os.path.join(place, "core")
    gdb.execute(f"generate-core-file {path}", to_string=True)
    return path


def run(*words):
    """Its output's lines, and its messages'."""
    done = subprocess.run([command(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="backslashreplace", check=False)
    messages = [line.removeprefix("side: ") for line in done.stderr.splitlines()]
    if done.returncode and not done.stdout:
        # The last problem, and its hints.
        last = max((i for i, line in enumerate(messages) if not line.startswith("hint: ")), default=0)
        raise Rubbish("\n".join(messages[last:]) if messages else f"'side {words[0]}' ends with {done.returncode}")
    return done.stdout.splitlines(), messages


def options(argument):
    """How many events, None for all, and the options for 'side view'."""
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise Rubbish(f"'{argument}' cannot be read: {error}") from None
    if words and words[0] == "all":
        return None, words[1:]
    if words and words[0].isascii() and words[0].isdigit():
        return int(words[0]), words[1:]
    return LAST, words


def held(argument):
    """Lines to be shown: the last events, those of all threads in one order."""
    number, words = options(argument)
    with tempfile.TemporaryDirectory(prefix="side-gdb-") as place:
        trace = os.path.join(place, "trace")
        _, said = run("recover", "--quiet", "-o", trace, core(place))
        if not any("metadata" in files for _, _, files in os.walk(trace)):
            raise Rubbish("\n".join(said) or "the rings hold no event that is not in the recorder's trace already")
        lines, more = run("view", "--quiet", "--color=never", *words, trace)
    hidden = 0 if number is None else max(0, len(lines) - number)
    notes = [line if line.startswith("hint: ") else f"side: {line}" for line in said + more]
    if hidden:
        notes.append(f"{hidden} event{'s' * (hidden != 1)} before these: 'side trace all' shows them")
    return notes + lines[hidden:]
