# SPDX-License-Identifier: MIT
"""Runs the examples of docs/reference/misuse.md, and compares their output with the page.

usage: test-guide.py GUIDE INCLUDE LIBRARY WRONG-CALLS WRONG-DESCRIPTIONS
"""
import os
import re
import shutil
import subprocess
import sys

guide, include, library, *programs = (os.path.abspath(a) for a in sys.argv[1:])
programs = {os.path.basename(program): program for program in programs}
with open(guide, encoding='utf-8') as f:
    text = f.read()
examples = re.findall(r'<!-- compile: (\S+) -->\n```c\n(.*?)```\n(.*?)\n    (.*?)\n\n', text, flags=re.S)
failures = [] if len(examples) == 6 else ['%d examples' % len(examples)]
compilers = [c for c in ('gcc', 'g++', 'clang', 'clang++') if shutil.which(c)]
if os.environ.get('SIDE_TEST_LONG') != '1':
    compilers = compilers[:2]
for name, code, _, sentence in examples:
    for compiler in compilers:
        r = subprocess.run([compiler, '-x', 'c++' if '++' in compiler else 'c', '-I', include, '-fsyntax-only', '-'],
                           input=code, capture_output=True, text=True)
        first = next((line for line in r.stderr.split('\n') if 'error:' in line), 'no error')
        if sentence not in first:
            failures.append('%s with %s: %s' % (name, compiler, first))

env = dict(os.environ, SIDE_LIB_DIR=os.path.dirname(library), SIDE_CONTROL='off', SIDE_VALIDATE='1')


def plain(lines):
    """Returns the lines without the parts that differ between runs."""
    lines = re.sub(r'\(\d+\): ', '(PID): ', lines)
    lines = re.sub(r'address:  0x[0-9a-f]+', 'address:  ADDRESS', lines)
    return re.sub(r'caller:   \S+ \(\S*wrong-calls.c:\d+\)', 'caller:   PLACE', lines).strip()


def printed_reports(name, arguments):
    """Returns the reports after the line with which the program announces its action."""
    r = subprocess.run([programs[name], *arguments], env=env, capture_output=True, text=True)
    return re.search(r'^# .*\b%s\b.*\n((?:[^#].*\n)*)' % arguments[-1], r.stderr, flags=re.M).group(1)


reports = re.findall(r'<!-- run: (.*?) -->\n\n((?:    .*\n)+)', text)
if {command.split()[0] for command, _ in reports} != set(programs):
    failures.append('reports of %r' % reports)
for command, report in reports:
    name, *arguments = command.split()
    now = printed_reports(name, arguments)
    if plain(now) != plain(re.sub('^    ', '', report, flags=re.M)):
        failures.append('%s says now\n%s' % (command, now))
print('\n'.join(failures) or 'the guide is right')
sys.exit(1 if failures else 0)
