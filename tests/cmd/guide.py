# SPDX-License-Identifier: MIT
"""Functions that the tests of guide pages share: the commands of a page, and the output below them.

In a line of the page `...` stands for any text, alone for any lines.
"""
import re
import subprocess


def commands(text):
    """Returns (command, lines that follow it) of all blocks that begin with a prompt."""
    found, inside = [], False
    for line in text.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
            inside = True
        elif line.startswith("    ") and inside:
            found[-1][1].append(line[4:])
        else:
            inside = False
    return found


def fits(line, wanted):
    return re.fullmatch(".*".join(re.escape(part) for part in wanted.split("...")), line) is not None


def matches(lines, wanted):
    if not wanted:
        return not lines
    if wanted[0].strip() == "...":
        return any(matches(lines[i:], wanted[1:]) for i in range(len(lines) + 1))
    return bool(lines) and fits(lines[0], wanted[0]) and matches(lines[1:], wanted[1:])


def run_command(command, wanted, folder, env):
    """Runs a command of the page there; raises an exception that describes a difference."""
    run = subprocess.run(["bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    if run.returncode:
        raise AssertionError(f"{command}\nends with {run.returncode} and says\n{run.stdout}")
    lines = [line.rstrip() for line in run.stdout.splitlines() if line.strip()]
    if not matches(lines, [line for line in wanted if line.strip()]):
        raise AssertionError(f"{command}\nprints\n{run.stdout}\nnot\n" + "\n".join(wanted))
