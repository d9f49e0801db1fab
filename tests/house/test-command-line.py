#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
The option table of `side`: one name for each thing, one meaning for each letter, and the same forms of patterns and contexts
in all verbs. Reads `side help --json`, which prints the table.

usage: test-command-line.py SIDE
"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, finish

SIDE = sys.argv[1]

# The argument of an option may differ between verbs, for a reason.
ARGUMENTS = {
    "--to": "an URL where traces are sent while they are recorded, a time where they are read",
    "--output": "a file where one file is written, a directory for traces",
    "--pid": "`track` and `untrack` take several processes",
    "--uid": "`track` and `untrack` take several users",
    "--cgroup": "`track` takes globs of names, a probe of the kernel needs the directory",
    "--channel": "`record` creates a channel, session verbs use one",
    "--session": "of `send`: the name of a session in another program, the relay daemon",
    "--sdt": "`probe list` has it as a flag, and lists markers",
    "--kernel": "`record` takes the pattern with the option, session verbs and `list` as operands",
    "--syscall": "the same",
    "--exclude": "`track` excludes the processes that its other options select",
    "--by": "`report` groups by an expression, probes of the kernel are set by a method",
}
# Verbs that select events by an expression.
FILTERING = {"record", "attach", "trace", "view", "report", "explore", "export", "enable-event"}


def side(*args):
    return subprocess.run([SIDE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


verbs = {}
for line in side("help", "--json").stdout.splitlines():
    verb = json.loads(line)
    verbs[verb["name"]] = verb["options"]
expect(len(verbs) > 30, f"the table has {len(verbs)} verbs only")

letters, arguments = collections.defaultdict(set), collections.defaultdict(set)
for verb, options in verbs.items():
    names = [option["name"] for option in options]
    expect(len(names) == len(set(names)), f"{verb}: an option is there twice")
    used = [option["letter"] for option in options if "letter" in option]
    expect(len(used) == len(set(used)), f"{verb}: a letter is there twice")
    for option in options:
        if "letter" in option:
            letters[option["letter"]].add(option["name"])
        arguments[option["name"]].add(option.get("argument", ""))
        # An earlier form may not replace a documented one.
        if "former_letter" in option:
            expect(option["former_letter"] not in used, f"{verb}: {option['former_letter']} has two meanings")
        if "former_name" in option:
            expect(option["former_name"] not in names, f"{verb}: {option['former_name']} has two meanings")
    former = [option[key] for option in options for key in ("former_letter", "former_name") if key in option]
    expect(len(former) == len(set(former)), f"{verb}: an earlier form is there twice")
    expect("--where" not in names, f"{verb}: an expression that selects events is --filter, not --where")
    expect(("--filter" in names) == (verb in FILTERING), f"{verb}: --filter")
    # `slow`, `flame` and `explore` only measure functions: they record no values.
    if "--function" in names and verb not in ("slow", "flame", "explore"):
        for needed in ("--exit", "--arg", "--args", "--ret"):
            expect(needed in names, f"{verb}: records functions, but has no {needed}")
for letter, names in sorted(letters.items()):
    expect(len(names) == 1, f"{letter} means {' and '.join(sorted(names))}")
for name, forms in sorted(arguments.items()):
    expect((len(forms) == 1) == (name not in ARGUMENTS), f"{name} takes {' or '.join(sorted(repr(form) for form in forms))}")

# Each --event takes comma lists, and can be given several times: the mistake is in the second pattern of the second one.
BEFORE = {"attach": ["-p", "1"], "top": ["--no-daemon"], "add-context": ["--no-daemon", "vpid"], "enable-event": ["--no-daemon", "x"]}
OPERANDS = {"record": ["true"], "list": ["/bin/true"], "view": ["/"], "report": ["/"], "flame": ["/"], "diff": ["/", "/"], "export": ["/"], "enable-channel": ["x", "--no-daemon"],
            "trace": ["-c", "true", "--function", "main"]}
for verb, options in verbs.items():
    names = [option["name"] for option in options]
    around = [*BEFORE.get(verb, []), *OPERANDS.get(verb, [])]
    if "--context" in names:
        done = side(verb, "--context", "vpid", "--context", "vtid,nothing*", *around)
        expect(done.returncode == 2 and "no context matches `nothing*`" in done.stderr, f"{verb} --context vtid,nothing*: {done.stderr}")
    if "--event" in names and verb not in ("add-context",):
        done = side(verb, "--event", "a:b", "--event", "c:[,],d:[e", *around)
        expect(done.returncode == 2 and '"d:[e"' in done.stderr, f"{verb} --event c:[,],d:[e: {done.stderr}")
done = side("add-context", "--no-daemon", "vpid", "nothing*")
expect(done.returncode == 2 and "no context matches `nothing*`" in done.stderr, f"add-context: {done.stderr}")

finish(f"{len(verbs)} verbs, {len(arguments)} options, letters: "
       + " ".join(f"{letter} {min(names)[2:]}" for letter, names in sorted(letters.items())))
