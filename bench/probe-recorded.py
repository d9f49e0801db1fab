# SPDX-License-Identifier: MIT
"""What a recorded hit of a probe costs:  bench/probe-recorded.py BUILD.  The best call with a probe less the best one without, in a
program that a session records into rings which overwrite (so nothing waits for a disk)."""
import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
TARGET, RECORD = BUILD + '/bench/bench-probe-recorded', BUILD + '/tests/probe/agent/probe-record'
HEX, BACKTRACE = 3, 8
TWO = [('a', HEX, 8, 0, '2 0 5 0'), ('b', HEX, 8, 0, '2 0 4 0')]
ALL = [(f'r{i}', HEX, 8, 0, f'2 0 {i} 0') for i in range(16)]
KINDS = [
    ('entry, no field', [], None, 0, 1000),
    ('entry, two integers', TWO, None, 0, 1000),
    ('entry, all general registers', ALL, None, 1, 500),
    ('entry, backtrace of 10', [('calls', BACKTRACE, 8, 10, '10 0 0 0')], None, 0, 500),
    ('entry and exit', [], [('duration', HEX, 8, 0, '8 0 0 0')], 0, 500),
    ('entry, by a breakpoint', [], None, 2, 20),
]


def wishes(fields, exits, flags):
    lines = ['event bench hit'] + ['field %s %d %d %d' % field[:4] for field in fields]
    if exits is not None:
        lines += ['event bench left'] + ['field %s %d %d %d' % field[:4] for field in exits]
    lines.append(f'probe {TARGET} probe_hit_target 0 {1 if exits is not None else -1} {flags}')
    lines += ['fetch entry ' + field[4] for field in fields]
    lines += ['fetch exit ' + field[4] for field in exits or []]
    return '\n'.join(lines) + '\n'


def plain(calls):
    return min(float(subprocess.check_output([TARGET, '2000', str(calls)])) for _ in range(2))


def probed(kind):
    _, fields, exits, flags, calls = kind
    with tempfile.TemporaryDirectory() as out:
        environment = dict(os.environ, SIDE_LIB_DIR=f'{BUILD}/src/agent:{BUILD}/src/libside')
        said = subprocess.run([RECORD, '-w', out + '/out', TARGET, '2000', str(calls)], input=wishes(fields, exits, flags),
                              stdout=subprocess.PIPE, text=True, env=environment, check=True).stdout
    return float(said.split('\n')[0])


if not os.path.exists(RECORD):
    sys.exit('no probes in this build')
without = plain(1000)
print('%-34s %8.1f ns' % ('the call without a probe', without))
for kind in KINDS:
    print('%-34s %8.1f ns a recorded hit' % (kind[0], probed(kind) - without))
