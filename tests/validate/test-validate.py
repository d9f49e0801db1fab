# SPDX-License-Identifier: MIT
"""Wrong calls and descriptions with SIDE_VALIDATE=1: each is reported once, with event, field,
expected, found and hint; the program runs on.

usage: test-validate.py LIBRARY WRONG-CALLS WRONG-DESCRIPTIONS RIGHT-CALLS
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, finish

library, wrong_calls, wrong_descriptions, right_calls = (os.path.abspath(a) for a in sys.argv[1:5])


def reports_of(*command, validate='1'):
    env = dict(os.environ, SIDE_LIB_DIR=os.path.dirname(library), SIDE_CONTROL='off')
    env.pop('SIDE_VALIDATE', None)
    if validate is not None:
        env['SIDE_VALIDATE'] = validate
    r = subprocess.run(command, env=env, capture_output=True, text=True, errors='replace', timeout=120)
    expect(not r.returncode, '%s ended with %d: %s' % (' '.join(command), r.returncode, r.stderr[-500:]))
    return r.stderr


def blocks(text):
    """Returns (action, event, label, report) of each "# ..." line."""
    for part in re.split(r'^# ', text, flags=re.M)[1:]:
        head, _, report = part.partition('\n')
        yield (*head.split(), report)


def expect_in(condition, what, report):
    expect(condition, '%s:\n%s' % (what, report))


def expected(what, event, label):
    """Returns lines that the report must have."""
    lines = ['  event:    w:' + event]
    if what in ('label', 'unknown'):
        found = 'S128' if what == 'label' else '?'
        lines += ['  field:    "x"', '  expected: ' + label, '  found:    ' + found]
    elif what == 'number':
        lines += ['  expected: 1 argument', '  found:    2']
    elif what == 'none':
        lines += ['  expected: 1 argument', '  found:    0']
    elif what == 'list':
        lines += ['  expected: memory that can be read', '  found:    0x10 (64 bytes)']
    else:
        lines += ['  field:    "x"']
    return lines


for what in ('label', 'unknown', 'number', 'none', 'list', 'pointer'):
    seen = set()
    nr = 0
    for kind, event, label, report in blocks(reports_of(wrong_calls, what)):
        nr += 1
        if event in seen or (what == 'pointer' and not report and event in (
                'null', 'bool_', 'u8', 'u16', 'u32', 'u64', 's8', 's16', 's32', 's64', 'byte', 'pointer',
                'float32', 'float64', 'enum_', 'bitmap', 'dynamic')):
            expect_in(report == '', 'reported twice: %s %s' % (what, event), report)
            continue
        seen.add(event)
        expect_in(report.startswith('side: wrong call in wrong-calls ('), '%s %s' % (what, event), report)
        have = [re.sub(r'^(  field:    "x").*', r'\1', line) for line in report.split('\n')]
        for line in expected(what, event, label):
            expect_in(line in have, '%s %s has no line "%s"' % (what, event, line), report)
        expect_in('  caller:   ' in report and 'wrong-calls+0x' in report and '  hint:     ' in report,
              '%s %s: caller and hint' % (what, event), report)
    expect_in(nr == 74, 'calls of ' + what, '%d' % nr)

# The complete text of one report.
report = next(blocks(reports_of(wrong_calls, 'label', 'u32')))[3]
shape = re.sub(r'\(\d+\)', '(PID)', report, count=1)
shape = re.sub(r'caller:   .*', 'caller:   CALLER', shape)
expect_in(shape == '''side: wrong call in wrong-calls (PID): the description has the type U32 (4), the argument has S128 (11)
  event:    w:u32
  field:    "x"
  caller:   CALLER
  expected: U32
  found:    S128
  hint:     pass side_arg_u32(), or change the type of the field
''', 'the report', report)
# The report has the line of the call, which the address belongs to.
module, offset, place = re.search(r'(\S+)\+(0x[0-9a-f]+) \(\S*(wrong-calls\.c:\d+)\)\n', report).groups()
line = subprocess.run(['addr2line', '-e', module, offset], capture_output=True, text=True).stdout
expect_in(re.search('/' + re.escape(place) + r'\b', line), 'addr2line', line + report)

# If it is disabled, nothing is loaded and nothing is reported.
for off in (None, '', '0'):
    expect_in('side:' not in reports_of(wrong_calls, 'number', validate=off), 'off', '')
# Valid calls cause no report, except for an attribute that the test makes odd on purpose.
text = reports_of(right_calls)
expect_in(re.findall('^side: .*', text, flags=re.M) == re.findall('^side: doubtful .*: its attribute std.integer.base is 3, .*', text,
                                                             flags=re.M) and text.count('\n') == 5, 'right calls', text)

text = reports_of(wrong_descriptions)
TOLD = {'cycle': 'types are nested more than 128 deep', 'label': 'the type label 777',
        'unreadable': 'the memory at 0x1000 (80 bytes) cannot be read', 'length': 'cannot be read',
        'size': 'an integer cannot have 3 bytes', 'function': 'the function of a VLA visitor is NULL'}
report_by_name = dict(re.findall(r'^# (\w+)\n(.*)$', text, flags=re.M))
for name, sentence in TOLD.items():
    expect_in(sentence in report_by_name.get(name, ''), 'a wrong description: ' + name, text)
    expect_in('  event:    d:%s\n' % name in text, 'the event of ' + name, text)
expect_in('is NULL\n  event:    d:function\n  field:    "n"\n' in text, 'which visitor has no function', text)
expect_in('several fields are called "same"' in text, 'what readers put up with', text)
expect_in(text.endswith('# end\n'), 'the program went on', text)

# No process reads the reports: a program that prints nothing itself runs on nevertheless.
reader, writer = os.pipe()
os.close(reader)
r = subprocess.run([right_calls], env=dict(os.environ, SIDE_LIB_DIR=os.path.dirname(library), SIDE_CONTROL='off', SIDE_VALIDATE='1'),
                   stderr=writer, timeout=120)
os.close(writer)
expect_in(r.returncode == 0, 'no process reads the reports', 'status %d' % r.returncode)

finish()
