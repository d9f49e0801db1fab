# SPDX-License-Identifier: MIT
"""The wrong descriptions of ../readside/wrong.py, registered by a program that runs with
SIDE_VALIDATE=1: each report equals that of readside, with the hint, and the program runs on.

usage: test-wrong.py VALIDATOR LIBSIDE INCLUDE
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'readside'))
from wrong import CASES, WHOLE, Remark, source

validator, libside, include = (os.path.abspath(a) for a in sys.argv[1:4])
failures = []

# For a wrong event: changes bytes of the description or the state before anything is registered.
PUT = r'''
#include <string.h>
int main(void);
int main(void) { fprintf(stderr, "# end\n"); return 0; }
'''


def reports(text):
    """Returns, by event, (severity, message, field or None, hint) of each report."""
    found = {}
    for block in re.split(r'^(?=side: )', text, flags=re.M):
        head = re.match(r'side: (wrong|doubtful) description in \S+ \(\d+\): (.*)\n', block)
        if not head:
            continue
        lines = dict(re.findall(r'^  (\w+): +(.*)$', block, flags=re.M))
        severity = 'error' if head.group(1) == 'wrong' else 'warning'
        found.setdefault(lines['event'], []).append((severity, head.group(2), lines.get('field'), lines['hint']))
    return found


def run(name, text):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, name)
        with open(path + '.c', 'w') as stream:
            stream.write(text)
        subprocess.run(['gcc', '-g', '-w', '-I' + include, path + '.c', '-o', path, libside,
                        '-Wl,-rpath,' + os.path.dirname(libside)], check=True)
        env = dict(os.environ, SIDE_LIB_DIR=os.path.dirname(validator), SIDE_CONTROL='off', SIDE_VALIDATE='1')
        r = subprocess.run([path], env=env, capture_output=True, text=True, errors='replace', timeout=120)
        if r.returncode or not r.stderr.endswith('# end\n'):
            failures.append('%s ended with %d: %s' % (name, r.returncode, r.stderr[-500:]))
        return reports(r.stderr)


found = run('cases', source() + PUT)
for name, (_, _, _, wanted) in CASES.items():
    mine = found.pop('case:' + name, [])
    wanted = [one for one in wanted if not isinstance(one[0], Remark)]
    if len(mine) != len(wanted):
        failures.append('%s: %d reports, not %d: %s' % (name, len(mine), len(wanted), mine))
    for severity, place, begin, end in wanted:
        if not any(s == severity and what.startswith(begin) and end in ('', hint) and
                   # For readside its last step is a separate type.
                   (not place or field and field.startswith('"' + re.sub(r'\W.*', '', place) + '"'))
                   for s, what, field, hint in mine):
            failures.append('%s: %s is not in %s' % (name, (severity, place, begin, end), mine))
if found:
    failures.append('also reported: %s' % found)

# Members of the event itself, and of its state.
lines = ['#include <side/trace.h>', '#include <string.h>']
for name in WHOLE:
    lines.append('side_hidden_event(%s, "whole", "%s", SIDE_LOGLEVEL_INFO, side_field_list(side_field_null("n", '
                 'side_attr_list(side_attr("k", side_attr_u8(1))))));' % (name, name))
lines.append('__attribute__((constructor(100))) static void put(void) {')
for name, (symbol, offset, form, value, _, _) in WHOLE.items():
    lines.append('{ uint64_t value = %dU; memcpy((char *) &%s + %d, &value, %d); }' % (
        value, symbol.format(id=name), offset, {'<Q': 8, '<I': 4, '<H': 2}[form]))
lines.append('}')
found = run('whole', '\n'.join(lines) + PUT)
SENTENCES = {
    'no_state': 'the state is missing, misaligned or unreadable', 'lost_state': 'the state is missing, misaligned or unreadable',
    'foreign_state': 'the state is that of another description, at 0x1234', 'state_version': 'the state has version 7, only 0 is known',
}
for name, (_, _, _, _, severity, sentence) in WHOLE.items():
    mine = found.pop('whole:' + name, [])
    if name == 'enabled':
        # In a running program another tracer may have enabled it.
        if mine:
            failures.append('enabled: %s' % mine)
        continue
    if name in ('no_provider', 'no_name', 'lost_name'):
        mine = [report for event, reports in found.items() for report in reports
                if event in ('?:' + name, 'whole:?') and report[1].startswith(sentence)]
    sentence, _, end = SENTENCES.get(name, sentence or '').partition('; ')
    if len(mine) != 1 or mine[0][0] != severity or not mine[0][1].startswith(sentence) or end not in ('', mine[0][3]):
        failures.append('%s: %s, not %s' % (name, mine, (severity, sentence, end)))

print('\n'.join(failures) or '%d wrong descriptions reported' % (len(CASES) + len(WHOLE)))
sys.exit(1 if failures else 0)
