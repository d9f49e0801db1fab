#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
The command lines of `side` in the blocks of code of all pages are accepted: with `--help` before
the verb, `side` parses all of a line and does nothing. For `readside` and `sided`, each option is in
the help.

usage: test-guide.py SOURCE SIDE READSIDE SIDED
"""
import glob
import os
import re
import shlex
import subprocess
import sys

source = os.path.abspath(sys.argv[1])
programs = {os.path.basename(path): path for path in sys.argv[2:]}
sys.path.insert(0, os.path.join(source, 'tests'))
from checks import expect, finish

# What the reader replaces in a line.
VALUES = {'PID': '1'}
OPERATOR = re.compile(r'[|;<>&()]+')
# Lines after the prompt of gdb are commands of gdb.
LINE = re.compile(r'(?:    )?(?:\$ |# )?(?!\(gdb\) )(?=\S)(.*\b(?:side|readside|sided) .*)')


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)


def code_lines(text):
    """Returns the lines of blocks of code: those with four spaces, and those between ```."""
    fenced = False
    for line in text.replace('\\\n', ' ').splitlines():
        if line.startswith('```'):
            fenced = not fenced
        elif fenced or line.startswith('    '):
            yield line


def commands(line):
    """Returns the words of each command of a shell's line. A comment may follow three spaces."""
    line = re.sub(r'\$\([^()]*\)|`[^`]*`|\$\w+', '1', re.split(r' {3,}', line)[0])
    lexer = shlex.shlex(line, posix=True, punctuation_chars='|;<>&()')
    lexer.whitespace_split, lexer.commenters = True, '#'
    words = []
    try:
        for word in lexer:
            if OPERATOR.fullmatch(word):
                yield words
                words = []
            else:
                words.append(VALUES.get(word, word))
    except ValueError:
        return  # A quoted text that is continued on the next line, or no shell.
    yield words


def command_of(words):
    """Returns (program, arguments) if the command starts one of the programs."""
    while words and (words[0] == 'sudo' or re.match(r'\w+=', words[0])):
        words = words[1:]
    name = words[0] if words else ''
    return (name, words[1:]) if name in programs else (None, [])


pages = sorted(glob.glob('*.md', root_dir=source) + glob.glob('docs/**/*.md', root_dir=source, recursive=True))
checked = dict.fromkeys(programs, 0)
helps = {name: run(path, '--help').stdout for name, path in programs.items()}
for page in pages:
    with open(os.path.join(source, page), encoding='utf-8') as stream:
        lines = list(code_lines(stream.read()))
    for line in lines:
        match = LINE.fullmatch(line)
        for words in commands(match[1]) if match else ():
            name, arguments = command_of(words)
            # Another word than a verb or option is prose, as in `side NAME`, or output of side.
            if not arguments or not re.fullmatch(r'-{0,2}[a-z][a-z-]*', arguments[0]) or arguments[0] == 'help':
                continue
            checked[name] += 1
            if name == 'side':
                result = run(programs[name], '--help', *arguments)
                expect(not result.returncode, '%s: `%s`: %s' % (page, line.strip(), result.stdout))
            else:
                for option in (word.split('=')[0] for word in arguments if word.startswith('--')):
                    expect(re.search(r'%s\b' % re.escape(option), helps[name]), '%s: `%s`: %s has no %s' % (page, line.strip(), name, option))
expect(checked['side'] > 250 and checked['readside'] > 5, 'few command lines were found: %s' % checked)
finish('%d pages; command lines: %s' % (len(pages), checked))
