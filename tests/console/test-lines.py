#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines of several threads and of signal handlers are written completely.

usage: test-lines.py TRACER PROGRAM
"""
import os
import re
import subprocess
import sys

LONG = re.compile(rb'provider: lines, event: long, fields: { thread: { value: (\d+) }, '
                  rb'number: { value: (\d+) }, text: { value: "(([a-z])\4*|)" } }')


def run(tracer, program, *args):
    environ = dict(os.environ, LD_PRELOAD=tracer,
                   ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0')
    done = subprocess.run([program, *args], env=environ, stdout=subprocess.PIPE, timeout=120)
    assert done.returncode == 0, done.returncode
    return done.stdout


def threads(output, nr_children):
    seen, children = {}, 0
    for line in output.split(b'\n'):
        if not line.startswith(b'provider: lines, event: ') or b'event: signal' in line:
            continue
        if line == b'provider: lines, event: child':
            children += 1
            continue
        match = LONG.fullmatch(line)
        if not match:
            # Notifications contain the names of events, too.
            assert line in (b'provider: lines, event: long',), f'damaged: {line[:200]}'
            continue
        thread, number, text = int(match[1]), int(match[2]), match[3]
        assert text == bytes([ord('a') + thread]) * (number * 2 if number % 3 or nr_children else 15000 + number)
        assert seen.get(thread, -1) + 1 == number, 'a line is missing'
        seen[thread] = number
    assert seen == {0: 119, 1: 119, 2: 119}, seen
    # Two of them are the names in the notifications.
    assert children == nr_children + 2, children


def signals(output):
    # A handler may write inside a long line of its own thread, but not inside those of others.
    whole = output.count(b'provider: lines, event: signal\n')
    assert whole >= 20, whole
    rest = output.replace(b'provider: lines, event: signal\n', b'')
    numbers = [int(match[2]) for match in map(LONG.fullmatch, rest.split(b'\n')) if match]
    assert numbers == list(range(120)), numbers


threads(run(*sys.argv[1:3], 'threads'), 0)
threads(run(*sys.argv[1:3], 'forks'), 10)
signals(run(*sys.argv[1:3], 'signals'))
