# SPDX-License-Identifier: MIT
"""What a recorded hit of a probe costs, compared with other tracers:  bench/probe-recorded.py BUILD
[TURNS].

The time of a call with a probe less that of a call without one, in a program that a session records
into rings which overwrite (so nothing waits for a disk). Each method is measured once a turn, in
turn; a measurement is the best of many short rounds, the result the median of the turns. Other
tracers use the same function, or the one with a no-op at its begin, which is their best case.
"""
import os
import statistics
import subprocess
import sys
import tempfile

import probe_peers as peers

BUILD, TURNS = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
TARGET, RECORD = BUILD + '/bench/bench-probe-recorded', BUILD + '/tests/probe/agent/probe-record'
FIXED = BUILD + '/bench/bench-probe-fixed'
HEX, STRING, BACKTRACE = 3, 6, 8
TWO = [('a', HEX, 8, 0, '2 0 5 0'), ('b', HEX, 8, 0, '2 0 4 0')]
ALL = [(f'r{i}', HEX, 8, 0, f'2 0 {i} 0') for i in range(16)]
# The address of a pointer in the program, and its target (table.h: 4 is an address of the module,
# 34 loads).
TEXT, CHAIN = (f'4 0 0 {peers.address_of(TARGET, name)} 34 8 0 0' for name in ('probe_recorded_text', 'probe_recorded_chain'))
# Name, fields at entry and exit, flags, calls of a round, and the goal in nanoseconds.
KINDS = [
    ('entry, no field', [], None, 0, 1000, 25),
    ('entry, two integers', TWO, None, 0, 1000, 30),
    ('entry, all general registers', ALL, None, 1, 500, 40),
    ('entry, a text of 16 bytes', [('text', STRING, 1, 64, TEXT)], None, 0, 500, 80),
    ('entry, a number behind 2 pointers', [('number', HEX, 8, 0, CHAIN + ' 34 8 0 0 34 8 0 0')], None, 0, 500, 80),
    ('entry, backtrace of 10', [('calls', BACKTRACE, 8, 10, '10 0 0 0')], None, 0, 500, 150),
    ('entry and exit', [], [('duration', HEX, 8, 0, '8 0 0 0')], 0, 500, 55),
    ('entry, by a breakpoint', [], None, 2, 20, None),
]


def specs(fields, exits, flags):
    lines = ['event bench hit'] + ['field %s %d %d %d' % field[:4] for field in fields]
    if exits is not None:
        lines += ['event bench left'] + ['field %s %d %d %d' % field[:4] for field in exits]
    lines.append(f'probe {TARGET} probe_hit_target 0 {1 if exits is not None else -1} {flags}')
    lines += ['fetch entry ' + field[4] for field in fields]
    lines += ['fetch exit ' + field[4] for field in exits or []]
    return '\n'.join(lines) + '\n'


def plain(*last):
    return float(subprocess.check_output([TARGET, '2000', '1000', *last]))


def probed(kind):
    _, fields, exits, flags, calls, _ = kind
    with tempfile.TemporaryDirectory() as out:
        environment = dict(os.environ, SIDE_LIB_DIR=f'{BUILD}/src/tracers/agent:{BUILD}/src/libside')
        printed = subprocess.run([RECORD, '-w', out + '/out', TARGET, '2000', str(calls)], input=specs(fields, exits, flags),
                              stdout=subprocess.PIPE, text=True, env=environment, check=True).stdout
    return float(printed.split('\n')[0])


TEXT_OF_PEERS = f'text=+0(@+{peers.offset_of(TARGET, "probe_recorded_text"):#x}):string'
CHAIN_OF_PEERS = f'number=+0(+0(@+{peers.offset_of(TARGET, "probe_recorded_chain"):#x})):u64'
# Name, method, whether it is the function with the no-op.
PEERS = [
    ('kernel uprobe, on a no-op', lambda: peers.uprobe([TARGET, '300', '100', 'nop'], 'probe_hit_nop'), True),
    ('kernel uprobe, a text of 16 bytes', lambda: peers.uprobe([TARGET, '300', '100', 'nop'], 'probe_hit_nop', arguments=TEXT_OF_PEERS), True),
    ('kernel uprobe, behind 2 pointers', lambda: peers.uprobe([TARGET, '300', '100', 'nop'], 'probe_hit_nop', arguments=CHAIN_OF_PEERS), True),
    ('kernel uprobe, single-stepped', lambda: peers.uprobe([TARGET, '300', '10'], 'probe_hit_target'), False),
    ('kernel uprobe, entry and exit', lambda: peers.uprobe([TARGET, '300', '100', 'nop'], 'probe_hit_nop', True), True),
    ('uftrace, entry and exit', lambda: peers.uftrace([TARGET, '500', '500', 'nop'], 'probe_hit_nop'), True),
    ('gdb, fast tracepoint', lambda: peers.gdb([FIXED, '300', '200', 'nop'], 'probe_hit_nop'), True),
]


def measure():
    """Returns medians by name, and the reasons for missing ones."""
    seen, missing = {}, {}
    for _ in range(TURNS):
        without, without_nop = plain(), plain('nop')
        seen.setdefault('the call without a probe', []).append(without)
        for kind in KINDS:
            seen.setdefault(kind[0], []).append(probed(kind) - without)
        for name, how, nop in PEERS:
            if name in missing:
                continue
            try:
                seen.setdefault(name, []).append(how() - (without_nop if nop else without))
            except peers.Missing as reason:
                missing[name] = str(reason)
    return {name: statistics.median(values) for name, values in seen.items() if values}, missing


def ratio(numbers, name, ours, goal):
    if name in numbers:
        print('%-62s %8.1f times   (goal: %s)' % (f'{name} / {ours}', numbers[name] / numbers[ours], goal))


if not os.path.exists(RECORD):
    sys.exit('no probes in this build')
numbers, missing = measure()
print('%-34s %10.1f ns' % ('the call without a probe', numbers['the call without a probe']))
for kind in KINDS:
    print('%-34s %10.1f ns a recorded hit%s' % (kind[0], numbers[kind[0]], f'   (goal: {kind[5]})' if kind[5] else ''))
for name, _, _ in PEERS:
    print('%-34s ' % name + (missing[name] if name in missing else '%10.1f ns' % numbers[name]))
ratio(numbers, 'kernel uprobe, on a no-op', 'entry, no field', 'at least 20')
ratio(numbers, 'kernel uprobe, single-stepped', 'entry, no field', 'at least 300')
ratio(numbers, 'uftrace, entry and exit', 'entry and exit', 'at least 2')
