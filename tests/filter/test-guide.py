#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every line of the blocks "filter" in docs/reference/filters.md on the event that the page
describes.

usage: test-guide.py GUIDE PROGRAM
"""
import re
import subprocess
import sys

page = open(sys.argv[1], encoding='utf-8').read()
lines = [line for block in re.findall(r'^```filter\n(.*?)^```', page, re.S | re.M) for line in block.splitlines()]
cases = []
for line in lines:
    match = re.fullmatch(r'(.*?) {2,}(yes|no|never: .*|column \d+: .*)', line)
    if not match:
        sys.exit('what is meant by: ' + line)
    cases.append(match.groups())
if len(cases) < 60:
    sys.exit('only %d examples were found' % len(cases))
# One process for all lines, without the page's arguments; errors of the text have one line.
done = subprocess.run([sys.argv[2]], input='\n'.join(text for text, _ in cases) + '\n', stdout=subprocess.PIPE,
                      universal_newlines=True, check=True)
answers = iter(done.stdout.split('\n'))
failures = 0
for text, expected in cases:
    answer = next(answers)
    plain = '' if answer.startswith('column') else next(answers)
    # For an event without variadic fields it is known at once that there is no such field.
    if answer == 'no' and expected.startswith('never: the event has no field'):
        answer = 'never: ' + plain
    if answer != expected:
        print('%s\n  the guide says %s\n  the program    %s' % (text, expected, answer))
        failures += 1
sys.exit(failures != 0)
