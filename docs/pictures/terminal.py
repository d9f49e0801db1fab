#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
A picture of a terminal session, made of what the commands print: SVG.

usage: terminal.py SESSION.txt OUTPUT.svg [DIRECTORY]

SESSION.txt is a shell session: a line `$ COMMAND` is run and shown, a line `! COMMAND` is run and not shown. Commands run one after
another, in DIRECTORY (default: a new one), with `side` from PATH. Lines longer than COLUMNS go on in the next one, as in a terminal.
"""
import html
import os
import pty
import re
import subprocess
import sys
import tempfile
import termios

COLUMNS = 142
ADVANCE, LINE, MARGIN = 6.62, 16, 16  # of a character, of a line, around the text: pixels
BACKGROUND, TEXT, PROMPT = "#16181d", "#d6dae1", "#7ec699"
# What the command line uses of ANSI's colours (SGR).
COLOURS = {"1": "#ffffff", "2": "#8b929e", "31": "#e58a8a", "32": "#7ec699", "33": "#e3c078", "34": "#82aaff", "35": "#c39ae0", "36": "#7fc9d6"}


def pieces(line):
    """(colour, text) of each part of a line with escape sequences."""
    colour = TEXT
    for text, codes in re.findall(r"([^\x1b]*)(?:\x1b\[([\d;]*)m)?", line):
        if text:
            yield colour, text
        if codes or codes == "0":
            found = [COLOURS[code] for code in codes.split(";") if code in COLOURS]
            colour = found[-1] if found else TEXT
        elif not text:
            colour = TEXT


def wrapped(parts):
    """The parts of a line in lines of COLUMNS characters."""
    lines, width = [[]], 0
    for colour, text in parts:
        while text:
            if width == COLUMNS:
                lines.append([])
                width = 0
            head, text = text[:COLUMNS - width], text[COLUMNS - width:]
            lines[-1].append((colour, head))
            width += len(head)
    return lines


def on_terminal(command, directory):
    """Status and output of a shell command whose standard streams are a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, COLUMNS)) if hasattr(termios, "tcsetwinsize") else None
    child = subprocess.Popen(["sh", "-c", command], cwd=directory, stdin=theirs, stdout=theirs, stderr=theirs,
                             env=dict(os.environ, TERM="xterm-256color", COLUMNS=str(COLUMNS)))
    os.close(theirs)
    output = b""
    while True:
        try:
            output += os.read(ours, 65536)
        except OSError:  # EIO: the last process has closed the terminal
            break
    os.close(ours)
    return child.wait(), output.decode().replace("\r\n", "\n")


def session(path, directory):
    """The lines of the terminal, each a list of (colour, text)."""
    shown = []
    with open(path, encoding="utf-8") as script:
        steps = [line.rstrip("\n") for line in script if line[:2] in ("$ ", "! ")]
    for step in steps:
        status, output = on_terminal(step[2:], directory)
        if status:
            sys.exit(f"{step}: status {status}\n{output}")
        if step[0] == "$":
            shown += wrapped([(PROMPT, "$ "), ("#ffffff", step[2:])])
            for line in output.splitlines():
                shown += wrapped(pieces(line))
            shown.append([])
    return shown[:-1]


def svg(lines):
    width, height = round(COLUMNS * ADVANCE + 2 * MARGIN), len(lines) * LINE + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
           f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
           '<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11" xml:space="preserve">']
    for number, line in enumerate(lines):
        column = 0
        for colour, text in line:
            x, y = MARGIN + column * ADVANCE, MARGIN + number * LINE + 11
            # textLength keeps the columns, whichever font the reader has.
            out.append(f'<text x="{x:.2f}" y="{y}" fill="{colour}" textLength="{len(text) * ADVANCE:.2f}">{html.escape(text)}</text>')
            column += len(text)
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    with tempfile.TemporaryDirectory() as new:
        lines = session(sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else new)
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(svg(lines))


if __name__ == "__main__":
    main()
