# SPDX-License-Identifier: MIT
"""Probes in a program without events of its own; the test reads the trace with babeltrace2 and compares it with the calls of the program."""
import os
import re
import subprocess
import tempfile
import unittest

PROGRAM, RECORD, SIGNALS = os.environ['PROGRAM'], os.environ['RECORD'], os.environ['SIGNALS']
FAULTS = os.environ.get('FAULTS')  # of this test only, not of tests that import from it
UNSIGNED, SIGNED, HEX, BOOL, FLOAT, STRING, BYTES, BACKTRACE = range(1, 9)
(CONSTANT, REGISTER, VECTOR, MODULE, SITE, FUNCTION, CALL, DURATION, RETURN, CALLS,
 UNREADABLE) = range(1, 12)
ADD, ADD_REGISTER, LOAD, SHIFT, ZERO, SIGN = range(32, 38)
RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP = range(8)
ALL, TRAP = 1, 2


def op(code, size=0, reg=0, value=0):
    return f'{code} {size} {reg} {value}'


def reg(number):
    return op(REGISTER, reg=number)


class Recording:
    """The table, the state of each probe, and the events."""
    OPTIONS = []

    def __init__(self, lines, count=10, twice=False, environment=None, command=None, libraries=False):
        with tempfile.TemporaryDirectory() as scratch:
            out = os.path.join(scratch, 'out')
            done = subprocess.run([RECORD] + self.OPTIONS + ['-2'] * twice + ['-l'] * libraries + [out] +
                                  (command or [PROGRAM, str(count)]),
                                  input='\n'.join(lines) + '\n', capture_output=True, text=True, timeout=200,
                                  env={**os.environ, 'SIDE_TIMEOUT_FACTOR': '20', **(environment or {})})
            self.said, self.complaints = done.stdout, done.stderr
            if done.returncode:
                raise AssertionError(done.stdout + done.stderr)
            shown = subprocess.run(['babeltrace2', '--no-delta', out], capture_output=True, text=True, timeout=200)
            if shown.returncode:
                raise AssertionError(shown.stderr)
        self.lines = shown.stdout.splitlines()

    def events(self, name):
        """Payloads of these events as dictionaries of strings."""
        found = []
        for line in self.lines:
            if f' {name}: ' not in line:
                continue
            payload = line[line.rindex('{ ') + 2:].rstrip(' }')
            found.append(dict(re.findall(r'(\w+) = ("[^"]*"|\[ (?:\[\d+\] = 0x[0-9A-F]+,? )*\]|-?[\w.+]+)', payload)))
        return found


def table(*parts):
    lines = []
    for part in parts:
        lines += part if isinstance(part, list) else [part]
    return lines


def entry_of(function, event, fields, flags=0, provider='probe'):
    """One event at the entry of one function; fields: (name, type, size, limit, operations)."""
    lines = [f'event {provider} {event}']
    lines += [f'field {name} {kind} {size} {limit}' for name, kind, size, limit, _ in fields]
    lines.append(f'probe {PROGRAM} {function} 0 -1 {flags}')
    lines += ['fetch entry ' + ' '.join(ops) for *_, ops in fields]
    return lines


def call_of(function, fields, exit_fields):
    lines = ['event probe call'] + [f'field {name} {kind} {size} {limit}' for name, kind, size, limit, _ in fields]
    lines += ['event probe call_return']
    lines += [f'field {name} {kind} {size} {limit}' for name, kind, size, limit, _ in exit_fields]
    lines.append(f'probe {PROGRAM} {function} 0 1 0')
    lines += ['fetch entry ' + ' '.join(ops) for *_, ops in fields]
    lines += ['fetch exit ' + ' '.join(ops) for *_, ops in exit_fields]
    return lines


ADD_FIELDS = [('a', SIGNED, 4, 0, [reg(RDI)]), ('b', SIGNED, 8, 0, [reg(RSI)])]


def additions(count):
    """The arguments of add(): in main, around the vectors, in four threads, in a child."""
    wanted = [(i, -i) for i in range(count)] + [(7, 8)] + [(1, i) for i in range(count)] * 4 + [(1000, 1)]
    return sorted(wanted)


class Entry(unittest.TestCase):
    def check_additions(self, recording, name, count, times=1):
        seen = sorted((int(e['a']), int(e['b'])) for e in recording.events(name))
        self.assertEqual(seen, sorted(additions(count) * times))

    def test_integers(self):
        recording = Recording(entry_of('add', 'adds', ADD_FIELDS), 100)
        self.check_additions(recording, 'probe:adds', 100)
        self.assertIn('table 1 places 1 error 0 jump 1', recording.said)

    def test_breakpoint(self):
        recording = Recording(entry_of('add', 'adds', ADD_FIELDS, TRAP), 30)
        self.check_additions(recording, 'probe:adds', 30)
        self.assertIn('breakpoint 1', recording.said)

    def test_breakpoint_and_signals(self):
        """A program with its own handlers and masks for the signals of traps."""
        count = 20
        recording = Recording([line.replace(PROGRAM, SIGNALS) for line in entry_of('add', 'adds', ADD_FIELDS, TRAP)],
                              command=[SIGNALS, str(count)])
        self.assertIn('breakpoint 1', recording.said)
        self.assertEqual([int(e['a']) for e in recording.events('probe:adds')], list(range(6 * count + 1)))

    def test_memory_and_faults(self):
        """A program that uses the signals of faults in all ways behaves as without probes, and its probes record correct values."""
        count = 40 if os.environ.get('SIDE_TEST_LONG') else 2
        fields = [('value', UNSIGNED, 8, 0, [reg(RDI), op(LOAD, 8)]), ('name', STRING, 1, 32, [reg(RSI)]),
                  ('mark', HEX, 8, 0, [op(UNREADABLE)])]
        with tempfile.TemporaryDirectory() as scratch:
            alone, probed = os.path.join(scratch, 'alone'), os.path.join(scratch, 'probed')
            subprocess.run([FAULTS, str(count), alone], check=True, timeout=200)
            recording = Recording([line.replace(PROGRAM, FAULTS) for line in entry_of('read_thing', 'reads', fields)],
                                  command=[FAULTS, str(count), probed])
            with open(alone, encoding='ascii') as one, open(probed, encoding='ascii') as other:
                self.assertEqual(one.read().splitlines(), other.read().splitlines())
        events = recording.events('probe:reads')
        self.assertGreater(len(events), 10000)
        # (babeltrace2 shows the string before in place of an empty one.)
        seen = {(int(e['value']), None if int(e['mark'], 0) & 2 else e['name'], int(e['mark'], 0)) for e in events}
        good = (4711, '"sixteen letters."', 0)
        self.assertIn(good, seen)
        # The page that faults, a page that is completely unmapped, and null.
        self.assertEqual(seen, {good, (0, None, 3), (4711, None, 2)})

    def test_two_tables_at_one_place(self):
        recording = Recording(entry_of('add', 'adds', ADD_FIELDS), 50, twice=True)
        self.check_additions(recording, 'probe:adds', 50, times=2)

    def test_memory(self):
        fields = [('name', STRING, 1, 64, [reg(RDI)]),
                  ('short', STRING, 1, 3, [reg(RDI)]),
                  ('number', SIGNED, 8, 0, [reg(RSI), op(LOAD, 8)]),
                  ('inner', STRING, 1, 64, [reg(RSI), op(ADD, value=8), op(LOAD, 8)]),
                  ('bytes', BYTES, 1, 8, [reg(RSI), op(ADD, value=16)]),
                  ('where', STRING, 1, 64, [op(FUNCTION)]),
                  ('unreadable', HEX, 8, 0, [op(UNREADABLE)])]
        events = Recording(entry_of('greet', 'greets', fields)).events('probe:greets')
        self.assertEqual(len(events), 1)
        event = events[0]
        self.assertEqual((event['name'], event['short'], event['number'], event['inner'], event['where']),
                         ('"world"', '"wor"', '42', '"inner"', '"greet"'))
        self.assertEqual([int(x, 16) for x in re.findall(r'= (0x[0-9A-F]+)', event['bytes'])], list(range(1, 9)))
        self.assertEqual(int(event['unreadable'], 0), 0)

    def test_memory_that_is_not_there(self):
        fields = [('text', STRING, 1, 64, [reg(RDI)]),
                  ('number', UNSIGNED, 8, 0, [reg(RDI), op(LOAD, 8)]),
                  ('deep', UNSIGNED, 8, 0, [reg(RDI), op(LOAD, 8), op(LOAD, 8)]),
                  ('bytes', BYTES, 1, 8, [reg(RDI)]),
                  ('good', UNSIGNED, 8, 0, [reg(RDI)]),
                  ('unreadable', UNSIGNED, 8, 0, [op(UNREADABLE)])]
        events = Recording(entry_of('careless', 'reads', fields)).events('probe:reads')
        self.assertEqual([e['good'] for e in events], ['16', '0'])
        for event in events:
            self.assertEqual((event['text'], event['number'], event['unreadable']), ('""', '0', '15'))

    def test_vectors(self):
        fields = [('a', FLOAT, 8, 0, [op(VECTOR, reg=0)]), ('b', FLOAT, 4, 0, [op(VECTOR, reg=1)])]
        events = Recording(entry_of('mean', 'means', fields)).events('probe:means')
        self.assertEqual([(float(e['a']), float(e['b'])) for e in events], [(1.5, 2.5)])

    def test_operations(self):
        fields = [('low', UNSIGNED, 1, 0, [reg(RSI), op(ZERO, 4)]),
                  ('signed', SIGNED, 2, 0, [reg(RSI), op(SIGN, 4)]),
                  ('shifted', UNSIGNED, 8, 0, [reg(RSI), op(SHIFT, 2)]),
                  ('indexed', UNSIGNED, 8, 0, [op(CONSTANT, value=100), op(ADD_REGISTER, 3, RDI)])]
        events = Recording(entry_of('add', 'adds', fields), 0).events('probe:adds')
        by_vectors = [e for e in events if e['indexed'] == '156']
        self.assertEqual([(e['low'], e['signed'], e['shifted']) for e in by_vectors], [('8', '-8', '2')])


class Calls(unittest.TestCase):
    FIELDS = [('n', UNSIGNED, 4, 0, [reg(RDI)]), ('call', HEX, 8, 0, [op(CALL)])]
    EXITS = [('result', UNSIGNED, 4, 0, [reg(RAX)]), ('call', HEX, 8, 0, [op(CALL)]),
             ('duration', UNSIGNED, 8, 0, [op(DURATION)])]

    def test_returns(self):
        recording = Recording(call_of('down', self.FIELDS, self.EXITS))
        begun, ended = recording.events('probe:call'), recording.events('probe:call_return')
        self.assertEqual([int(e['n']) for e in begun], list(range(20, -1, -1)) + [3, 2, 1, 0])
        self.assertEqual([int(e['result']) for e in ended], list(range(1, 22)) + [1, 2, 3, 4])
        # The same call at its entry and exit; an outer call takes longer than an inner one.
        pairs = {e['call']: int(e['n']) for e in begun}
        self.assertEqual(len(pairs), 25)
        self.assertEqual([pairs[e['call']] + 1 for e in ended], [int(e['result']) for e in ended])
        durations = [int(e['duration']) for e in ended[:21]]
        self.assertEqual(durations, sorted(durations))
        self.assertTrue(0 < durations[-1] < 60 * 10**9, durations)

    def test_leaps(self):
        recording = Recording(call_of('leap', self.FIELDS, self.EXITS))
        self.assertEqual([e['n'] for e in recording.events('probe:call')], ['0', '1', '2'])
        self.assertEqual(recording.events('probe:call_return'), [])


class Contexts(unittest.TestCase):
    def test_registers(self):
        fields = [(f'r{i}', HEX, 8, 0, [reg(i)]) for i in range(17)] + [('flags', HEX, 8, 0, [reg(49)])]
        events = Recording(entry_of('add', 'adds', fields, ALL), 0).events('probe:adds')
        event = next(e for e in events if int(e['r5'], 0) == 7 and int(e['r4'], 0) == 8)
        # The registers after keeps_vectors().
        stack, kept = int(event['r7'], 0), int(event['r12'], 0)
        self.assertEqual(stack % 16, 8)
        self.assertTrue(0 < kept - stack <= 256 + 24, (hex(stack), hex(kept)))

    def test_backtrace(self):
        fields = [('n', UNSIGNED, 4, 0, [reg(RDI)]), ('calls', BACKTRACE, 8, 8, [op(CALLS)])]
        events = Recording(entry_of('down', 'downs', fields)).events('probe:downs')
        deep = re.findall(r'= (0x[0-9A-F]+)', events[20]['calls'])
        self.assertEqual(len(deep), 8)
        # It calls itself from one location.
        self.assertEqual(len(set(deep[:7])), 1)


class Filtered:
    """With a filter, records are made of arguments instead of directly in the hit: with the same values."""

    def setUp(self):
        Recording.OPTIONS = ['-f', '1 == 1']

    def tearDown(self):
        Recording.OPTIONS = []


class EntryFiltered(Filtered, Entry):
    pass


class CallsFiltered(Filtered, Calls):
    pass


class ContextsFiltered(Filtered, Contexts):
    pass


class Libraries(unittest.TestCase):
    def test_loaded_and_unloaded(self):
        """Each time from the first call on, which its constructor makes."""
        library, loading = os.environ['LIBRARY'], os.environ['LOADING']
        wishes = [line.replace(PROGRAM, library) for line in entry_of('library_work', 'works', [ADD_FIELDS[0]])]
        recording = Recording(wishes, command=[loading, library, '20'])
        seen = [int(e['a']) for e in recording.events('probe:works')]
        self.assertEqual(seen, [number for i in range(20) for number in (1000, i)])


class Listeners(unittest.TestCase):
    def test_console_tracer(self):
        """The tracer uses all registers; the program must not notice that."""
        library = os.path.join(os.path.dirname(os.environ['SIDE_LIB_DIR'].split(':')[0]), 'console',
                               'libside-console-tracer.so.0')
        if not os.path.exists(library):
            self.skipTest('there is no console tracer')
        recording = Recording(entry_of('add', 'adds', ADD_FIELDS), 5, environment={'LD_PRELOAD': library})
        seen = sorted((int(e['a']), int(e['b'])) for e in recording.events('probe:adds'))
        self.assertEqual(seen, additions(5))
        said = recording.said + recording.complaints
        # The tracer prints descriptions, too.
        self.assertGreaterEqual(len(re.findall(r'provider: probe, event: adds', said)), len(seen), said[:500])


if __name__ == '__main__':
    unittest.main()
