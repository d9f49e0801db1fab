# SPDX-License-Identifier: MIT
"""Backtraces of hits in programs without frame pointers equal gdb's at the same locations."""
import itertools
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from test_probes import BACKTRACE, CALLS, Recording, op

PROGRAM, HERE = os.environ['CALLS_PROGRAM'], os.path.dirname(os.path.abspath(__file__))
MOST = 48


def by_gdb(function, command):
    """For each stop: the callers, as module+offset."""
    done = subprocess.run(['gdb', '-nx', '-batch', '-x', HERE + '/gdb-calls.py', '--args', *command], capture_output=True,
                          text=True, timeout=250, env={**os.environ, 'FUNCTION': function}, stdin=subprocess.DEVNULL)
    seen = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith('CALLS ')]
    if not seen and 'ptrace' in done.stderr:
        raise unittest.SkipTest('gdb may not run programs here')
    if not seen:
        raise AssertionError(done.stdout + done.stderr)
    # At the start of a stack that the program allocates, gdb takes arbitrary words for calls.
    return [list(itertools.takewhile(lambda frame: '+' in frame, frames[1:])) for frames in seen]


def requests(path, function, exits=None):
    """A backtrace at each start of `function`; `exits`: another one whose return is watched, too."""
    lines = ['event probe place', f'field calls {BACKTRACE} 8 {MOST}']
    if exits:
        lines += ['event probe other', 'event probe other_return', f'field calls {BACKTRACE} 8 {MOST}']
    lines += [f'probe {path} {function} 0 -1 0', 'fetch entry ' + op(CALLS)]
    if exits:
        lines += [f'probe {path} {exits} 1 2 0', 'fetch exit ' + op(CALLS)]
    return lines


def in_modules(recording, name='probe:place'):
    """The same from a recording, with its addresses of libraries."""
    bases = []
    for line in recording.lines:
        found = re.search(r'library_load: .*path = "([^"]+)", base = (0x[0-9A-Fa-f]+), size = (\d+|0x[0-9A-Fa-f]+)', line)
        if found:
            bases.append((int(found.group(2), 0), int(found.group(3), 0), os.path.basename(found.group(1))))
    assert bases, recording.lines[:20]
    for event in recording.events(name):
        calls = [int(address, 16) for address in re.findall(r'= (0x[0-9A-F]+)', event['calls'])]
        yield [next((f'{path}+{pc - base:#x}' for base, size, path in bases if base <= pc < base + size), hex(pc))
               for pc in calls]


@unittest.skipUnless(shutil.which('gdb'), 'there is no gdb')
class Calls(unittest.TestCase):
    def compare(self, command, path, function, exits=None, least=1, environment=None):
        right = by_gdb(function, command)
        recording = Recording(requests(path, function, exits), command=command, environment=environment, libraries=True)
        ours = list(in_modules(recording))
        self.assertEqual(len(ours), len(right))
        for mine, other in zip(ours, right):
            self.assertEqual(mine, other[:MOST], '\n' + '\n'.join(f'{a:40} {b}' for a, b in zip(mine, other)))
        self.assertGreaterEqual(max(len(mine) for mine in ours), least)
        return recording

    def test_program_and_library(self):
        self.compare([PROGRAM], PROGRAM, 'place', least=15)

    def test_while_returns_are_seen(self):
        """A function in between has a replaced return address on the stack, and at its exit the backtrace is that of its caller."""
        recording = self.compare([PROGRAM], PROGRAM, 'place', exits='between', least=15)
        exits = {tuple(calls) for calls in in_modules(recording, 'probe:other_return')}
        # The backtrace of place(); the next frame is the return address of between().
        entries = {tuple(calls[1:]) for calls in in_modules(recording)}
        self.assertTrue(exits and exits <= entries, exits - entries)

    def test_programs_of_the_system(self):
        libc = os.path.realpath('/lib/x86_64-linux-gnu/libc.so.6')
        if not os.path.exists(libc) or not os.path.exists('/usr/bin/sort'):
            self.skipTest('no Debian')
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + '/lines', 'w') as lines:
                lines.write('b\na\nc\n')
            command = ['/usr/bin/sort', '--parallel=1', '-o', folder + '/out', folder + '/lines']
            self.compare(command, libc, 'write', least=5)
            with open(folder + '/out') as sorted_lines:
                self.assertEqual(sorted_lines.read(), 'a\nb\nc\n')


if __name__ == '__main__':
    unittest.main()
