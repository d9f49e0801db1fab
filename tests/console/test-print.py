#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program with the console tracer, and compares its event lines with the comments that begin
with an equals sign in its source, and its messages on standard error with those that begin with an
exclamation mark: /*! problem | step of the path | step */. A colon begins a line that must be in a
notification. <XX> in a comment is the byte XX.

usage: test-print.py TRACER PROGRAM SOURCE
"""
import os
import re
import subprocess
import sys

DASHES = b'-' * 58


def event_lines(output):
    """Returns event lines and notification blocks."""
    lines, blocks, block = [], [], None
    for line in output.split(b'\n')[:-1]:
        if line == DASHES:
            if block is None:
                block = []
            else:
                blocks.append(block)
                block = None
        elif block is None:
            lines.append(line)
        else:
            block.append(line)
    assert block is None, 'a block does not end'
    assert output.endswith(b'\n')
    return lines, blocks


def balanced(line):
    """Whether braces, brackets and quotes of a description line are balanced."""
    stack, pairs, quoted = [], {'}': '{', ']': '['}, False
    for char in line:
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in '{[':
            stack.append(char)
        elif char in '}]' and (not stack or stack.pop() != pairs[char]):
            return False
    return not stack and not quoted


def main():
    tracer, program, source = sys.argv[1:4]
    with open(source, encoding='utf-8') as file:
        text = file.read()
    expected = [re.sub(rb'<([0-9A-F]{2})>', lambda m: bytes([int(m[1], 16)]), line.encode())
                for line in re.findall(r'/\*= (.*?) \*/', text)]
    assert expected, 'nothing is expected'
    # The library of AddressSanitizer should come first, but need not.
    environ = dict(os.environ, LD_PRELOAD=tracer,
                   ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0')
    done = subprocess.run([program], env=environ, capture_output=True, timeout=60)
    messages = ''.join(f'{DASHES.decode()}\nERROR: {what}\n{DASHES.decode()}\n' for what in (
        message.replace(' | ', '\n\t') for message in re.findall(r'/\*! (.*?) \*/', text)))
    if done.returncode or done.stderr.decode(errors='replace') != messages:
        sys.exit(f'status {done.returncode}, stderr: {done.stderr.decode(errors="replace")}\n'
                 f'expected: {messages}')
    lines, blocks = event_lines(done.stdout)
    for got, want in zip(lines, expected):
        if got != want:
            sys.exit(f'printed:  {got}\nexpected: {want}')
    if len(lines) != len(expected):
        sys.exit(f'{len(lines)} lines printed, {len(expected)} expected')
    inserted = [b for b in blocks if b[0] == b'Tracer notified of events inserted']
    removed = [b for b in blocks if b[0] == b'Tracer notified of events removed']
    assert len(inserted) == len(removed) and len(inserted) + len(removed) == len(blocks)
    names = lambda bs: sorted(l for b in bs for l in b[1:] if l.startswith(b'provider: '))
    assert names(inserted) == names(removed), 'not everything was removed'
    # First the library's own events, then the tracer itself, which has none.
    assert names(inserted[:1]) == [b'provider: side, event: statedump_begin',
                                   b'provider: side, event: statedump_end'], inserted[0]
    assert len(inserted[1]) == 1 and len(inserted) == 3, inserted
    for block in inserted:
        for line in block[1:]:
            assert line.startswith((b'provider: ', b'event description: provider: ')), line
            assert balanced(line.decode()), f'unbalanced: {line}'
            assert b', ,' not in line and b'{ ,' not in line, f'stray comma: {line}'
    for want in re.findall(r'/\*: (.*?) \*/', text):
        assert any(want.encode() in block for block in inserted), f'not described: {want}'


main()
