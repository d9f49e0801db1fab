#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Code that runs inside traced programs calls no function of the C library, and uses vector registers
only to compute floats (where they are saved).

usage: test-inside.py LIBRARY
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import output


failures = []
inside, outside = set(), set()
for line in output('nm', sys.argv[1]).splitlines():
    match = re.search(r'([A-Za-z]) (\w+)$', line)
    if match:
        (outside if match.group(1) in 'Uw' else inside).add(match.group(2))
allowed = {'_GLOBAL_OFFSET_TABLE_', 'visit_utf8_encode', 'visit_label_is_gather', 'visit_label_is_integer'}
for name in sorted(outside - inside - allowed):
    failures.append('%s is called' % name)
if 'filter_matches' not in inside and 'filter_link' not in inside:
    failures.append('this is not the library')

function = ''
for line in output('objdump', '-d', '--no-show-raw-insn', sys.argv[1]).splitlines():
    match = re.match(r'[0-9a-f]+ <(\S+)>:', line)
    if match:
        function = match.group(1)
    elif re.search(r'%[xyz]mm\d', line) and not function.startswith('filter_double_calculate'):
        failures.append('%s uses vector registers: %s' % (function, line.strip()))
print('\n'.join(failures[:20]))
sys.exit(bool(failures))
