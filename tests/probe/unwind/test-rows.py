# SPDX-License-Identifier: MIT
"""The rows of programs and libraries of this machine equal readelf's output for the same files, address by address."""
import bisect
import os
import re
import subprocess
import unittest

ROWS = os.environ['ROWS']
UNKNOWN, STACK, FRAME, SAVED, SLOT, SIGNAL, LAST = range(7)
SAME, ITSELF, LOST = 0, 254, 255
FILES = ['/usr/lib/x86_64-linux-gnu/libc.so.6', '/usr/lib/x86_64-linux-gnu/libstdc++.so.6', '/usr/bin/bash',
         '/usr/bin/perl', os.environ['AGENT']]


def rows_of(path):
    lines = subprocess.check_output([ROWS, path], text=True).splitlines()
    rows = [line.split() for line in lines]
    return [(int(at, 16), (int(kind), int(distance), int(frame))) for at, kind, distance, frame in rows]


def frame_of(output):
    if output in ('u', 's', None):
        return {SAME}
    if re.fullmatch(r'c-\d+', output) and int(output[2:]) % 8 == 0 and int(output[2:]) <= 253 * 8:
        return {int(output[2:]) // 8}
    return {ITSELF, LOST} if output == 'exp' else {LOST}


def wanted(begin, returns, frame, signal):
    """The rows that are correct for one line of readelf: (kind, distance or None, frames or None)."""
    if signal:
        return [(SIGNAL, 0, {0})]
    if returns == 'u':
        return [(LAST, 0, {0})]
    if begin == 'exp':
        # readelf does not print expressions: another test checks their forms.
        return [(UNKNOWN, 0, {0}), (SAVED, None, None), (SLOT, None, None)]
    register, offset = re.fullmatch(r'(\w+)\+(\d+)', begin).groups()
    if returns != 'c-8' or int(offset) % 8 or register not in ('rsp', 'rbp') or int(offset) // 8 > 32767:
        return [(UNKNOWN, 0, {0})]
    return [(STACK if register == 'rsp' else FRAME, int(offset) // 8, frame_of(frame))]


def rows_of_readelf(path):
    """(address, correct rows) for each line of each function, and the ends of functions."""
    text = subprocess.check_output(['readelf', '--debug-dump=frames-interp,no-follow-links', path], text=True,
                                   stderr=subprocess.DEVNULL)
    signals, columns, signal, end = set(), None, False, None
    for line in text.splitlines():
        cie = re.match(r'([0-9a-f]{8}) [0-9a-f]+ [0-9a-f]+ CIE "(\w*)"', line)
        entry = re.match(r'[0-9a-f]{8} [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)', line)
        if cie:
            end = None
            if 'S' in cie.group(2):
                signals.add(cie.group(1))
        elif entry:
            signal, end = entry.group(1) in signals, int(entry.group(3), 16)
            # One without rules of its own has no lines.
            yield int(entry.group(2), 16), end, None
        elif line.strip().startswith('LOC'):
            columns = line.split()
        elif end is not None and re.match(r'[0-9a-f]{16} ', line):
            # "r10 (r10)": in a register.
            values = dict(zip(columns, re.sub(r' \(\w+\)', '', line).split()))
            yield int(values['LOC'], 16), end, wanted(values['CFA'], values['ra'], values.get('rbp'), signal)


def fits(row, right):
    return any(row[0] == kind and (distance is None or row[1] == distance) and (frames is None or row[2] in frames)
               for kind, distance, frames in right)


class Rows(unittest.TestCase):
    def test_files(self):
        seen = 0
        for path in FILES:
            if not os.path.exists(path):
                continue
            rows, wrong, compared, kinds = rows_of(path), [], 0, set()
            addresses = [at for at, _ in rows]
            self.assertEqual(addresses, sorted(set(addresses)), path)
            lines = list(rows_of_readelf(path))
            begins = {at for at, _, _ in lines}
            for at, end, right in lines:
                if at >= end or not right:
                    continue
                row = rows[bisect.bisect_right(addresses, at) - 1][1]
                kinds.add(row[0])
                compared += 1
                if not fits(row, right):
                    wrong.append((hex(at), row, right))
                # After a function that no other one follows, nothing is known.
                if end not in begins and bisect.bisect_right(addresses, end):
                    behind = rows[bisect.bisect_right(addresses, end) - 1][1]
                    if behind[0] != UNKNOWN:
                        wrong.append((hex(end), behind, 'the end'))
            self.assertEqual(wrong[:5], [], f'{path}: {len(wrong)} of {compared} rows')
            self.assertGreater(compared, 100, path)
            if 'libc.so' in path:
                self.assertGreaterEqual(kinds, {STACK, FRAME, SIGNAL, LAST, SLOT})
            print(f'{path}: {compared} rows of readelf, {len(rows)} of ours, {len(rows) * 8 // 1024} KiB')
            seen += 1
        self.assertGreater(seen, 1)

    def test_damage(self):
        """Files with changed bytes yield other rows, and cause no other effect."""
        import random
        import tempfile
        random.seed(5)
        with open(os.environ['AGENT'], 'rb') as file:
            good = file.read()
        found = subprocess.check_output(['readelf', '-SW', os.environ['AGENT']], text=True)
        locations = [(int(m.group(2), 16), int(m.group(3), 16)) for m in re.finditer(
            r'(\.eh_frame(?:_hdr)?) +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)', found)]
        self.assertEqual(len(locations), 2)
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(40):
                bad = bytearray(good)
                for _ in range(200):
                    offset, size = random.choice(locations)
                    bad[offset + random.randrange(size)] = random.randrange(256)
                with open(folder + '/bad', 'wb') as file:
                    file.write(bad)
                addresses = [at for at, _ in rows_of(folder + '/bad')]
                self.assertEqual(addresses, sorted(set(addresses)))


if __name__ == '__main__':
    unittest.main()
