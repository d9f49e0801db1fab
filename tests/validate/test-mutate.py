# SPDX-License-Identifier: MIT
"""Random descriptions, called with random valid arguments: the validator reports nothing. With one
change, it reports that location, once, with a complete report. The program ends with 0, whatever
the method of the calls is. SIDE_TEST_LONG=1 uses 60 seeds for each method instead of 2.

usage: test-mutate.py LIBRARY FUZZ-MUTATE [SEED...]
"""
import collections
import os
import re
import subprocess
import sys

library, program = (os.path.abspath(a) for a in sys.argv[1:3])
# The number of reports is limited, so each process has fewer rounds.
ROUNDS = '800'
seeds = [int(a) for a in sys.argv[3:]] or range(60 if os.environ.get('SIDE_TEST_LONG') == '1' else 2)
env = dict(os.environ, SIDE_LIB_DIR=os.path.dirname(library), SIDE_CONTROL='off', SIDE_VALIDATE='1')
failures = []
kinds = collections.Counter()


def reports(text):
    """Returns the lines of each report, by the name of the event."""
    found = collections.defaultdict(list)
    for report in re.split('^(?=side: )', text, flags=re.M):
        event = re.search(r'^  event:    mutate:(\S+)$', report, flags=re.M)
        if event and report.startswith('side: wrong call'):
            found[event.group(1)].append(report)
        # Random enumerations have no labels, or the same one twice.
        elif report and not re.match('side: (wrong|doubtful) description|  ', report):
            failures.append('not a report: ' + report)
    return found


def compare(how, seed, line, reported):
    event, path, what, goes_on = line.split('\t')
    kinds[what] += 1
    place = '%s, seed %d, %s (%s): ' % (how, seed, event, what)
    if len(reported) != 1:
        failures.append(place + 'reported %d times, expected once at %s\n%s' % (len(reported), path or 'the event', ''.join(reported)))
        return
    field = re.search(r'^  field:    (.*)$', reported[0], flags=re.M)
    field = field.group(1) if field else ''
    cut = field.endswith(', ...')
    is_right = path.startswith(field[:-5]) if cut else field.startswith(path) if goes_on == '1' else field == path
    if goes_on == '1' and cut:
        is_right = path.startswith(field[:-5]) or field.startswith(path)
    if not is_right:
        failures.append(place + 'expected at %s\n%s' % (path, reported[0]))
    for word in ('side: wrong call in fuzz-mutate (', '  event:    ', '  caller:   ', '  hint:     '):
        if word not in reported[0]:
            failures.append(place + 'no "%s" in\n%s' % (word, reported[0]))


for seed in seeds:
    for how in ('plain', 'gone', 'threads', 'signal', 'fork'):
        r = subprocess.run([program, str(seed), ROUNDS, how], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)
        reported = reports(r.stderr.decode(errors='replace'))
        lines = r.stdout.decode().splitlines()
        if r.returncode or len(lines) < 200:
            failures.append('%s, seed %d: status %d, %d rounds\n%s' % (how, seed, r.returncode, len(lines),
                                                                      r.stderr[-1500:].decode(errors='replace')))
            continue
        for line in lines:
            compare(how, seed, line, reported.pop(line.split('\t')[0], []))
        for event, extra in reported.items():
            failures.append('%s, seed %d: not expected\n%s' % (how, seed, extra[0]))
print('\n'.join(failures[:12]) or '%d changes of %d kinds' % (sum(kinds.values()), len(kinds)))
if failures:
    print('%d failures' % len(failures))
sys.exit(1 if failures else 0)
