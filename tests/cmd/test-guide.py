#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every command of docs/how-to/reports.md, and compares the output with the page.

usage: test-guide.py GUIDE [--fill TEMPLATE]

With --fill the outputs are put into a template, in which a line `@` stands for the output, `@3` for
its first 3 lines, `@+4` for it without its first 4, `@2-5` for those lines; `@-` for the last part.
"""
guide = __import__("sys").argv.pop(1)
template = None
if __import__("sys").argv[1:2] == ["--fill"]:
    template = __import__("sys").argv[2]
    del __import__("sys").argv[1:3]

from harness import *
import synthetic

work = tempfile.TemporaryDirectory()
synthetic.make(os.path.join(work.name, "requests"))
os.mkdir(os.path.join(work.name, "bin"))
os.symlink(os.path.abspath(SIDE), os.path.join(work.name, "bin", "side"))
ENVIRONMENT = environment(TZ="UTC", LANG="C.UTF-8", LC_ALL=None, LC_CTYPE=None,
                          PATH=os.path.join(work.name, "bin") + os.pathsep + os.environ["PATH"])


def run(command):
    done = subprocess.run(["bash", "-c", command], cwd=work.name, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120, check=False)
    # A title line of a table ends with CR LF, which the page does not have.
    return done.returncode, done.stdout.decode().replace("\r\n", "\n"), done.stderr.decode()


def commands(text):
    """Returns (command, lines that follow it) of all indented blocks."""
    found, inside, empty = [], False, 0
    for line in text.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
            inside, empty = True, 0
        elif line.startswith("    ") and inside:
            found[-1][1].extend([""] * empty + [line[4:]])
            empty = 0
        elif not line and inside:
            empty += 1  # Part of the block if it continues.
        else:
            inside = False
    return found


def matches(lines, wanted):
    """`...` stands for any lines."""
    if not wanted:
        return not lines
    if wanted[0] == "...":
        return any(matches(lines[i:], wanted[1:]) for i in range(len(lines) + 1))
    return bool(lines) and lines[0] == wanted[0] and matches(lines[1:], wanted[1:])


def test_commands():
    with open(guide, encoding="utf-8") as file:
        found = commands(file.read())
    true(len(found) > 15, f"{len(found)} commands in {guide}")
    for command, wanted in found:
        if "side record" in command and os.environ.get("SANITIZED", "none") != "none":
            continue  # Programs are not recorded with the runtime of a sanitizer.
        if " calls" in command and not os.path.exists(os.path.join(work.name, "calls")):
            continue
        status, out, err = run(command)
        if "side record" in command:
            out = ""
        equal((status, err), (0, ""), command)
        lines = [line.rstrip() for line in out.splitlines()]
        true(matches(lines, wanted), f"{command}\nprints\n" + "\n".join(lines[:60]) + "\nnot\n" + "\n".join(wanted))


def fill():
    with open(template, encoding="utf-8") as file:
        text = file.read()
    result, last = [], None
    for line in text.splitlines():
        if line.startswith("    $ "):
            last = [l.rstrip() for l in run(line[6:])[1].splitlines()]
        if not line.startswith("@"):
            result.append(line)
            continue
        first, end = 0, len(last)
        if line[1:2] == "+":
            first = int(line[2:])
        elif line == "@-":
            first = next(i for i, l in enumerate(last) if l.startswith("The slowest"))
        elif "-" in line:
            first, end = int(line[1:].split("-")[0]), int(line.split("-")[1])
        elif line[1:]:
            end = int(line[1:])
        kept = (["..."] if first else []) + last[first:end] + (["..."] if end < len(last) else [])
        result += ["    " + l if l else "" for l in kept]
    with open(guide, "w", encoding="utf-8") as file:
        file.write("\n".join(result) + "\n")


if template:
    fill()
else:
    run_tests(globals())
