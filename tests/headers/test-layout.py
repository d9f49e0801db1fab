# SPDX-License-Identifier: MIT
"""Every offset, size and constant of layout.tsv, by each compiler, 64-bit and 32-bit, C and C++."""
import os
import sys

import compilers as c


def source(bits):
    lines = ['#include <stddef.h>', '#include <side/trace.h>']
    rows = 0
    with open(os.path.join(c.HERE, 'layout.tsv')) as f:
        for line in f:
            if line.startswith('#'):
                continue
            cells = line.rstrip('\n').split('\t')
            rows += 1
            if len(cells) == 2:
                text = '(long) %s == %s' % tuple(cells)
            else:
                kind, member, off64, size64, off32, size32 = cells
                off, size = (off64, size64) if bits == 64 else (off32, size32)
                if member == '-':
                    text = 'sizeof(%s) == %s' % (kind, size)
                else:
                    text = 'offsetof(%s, %s) == %s && sizeof(((%s *) 0)->%s) == %s' % (
                        kind, member, off, kind, member, size)
            lines.append('side_static_assert(%s, "%s", x);' % (text, ' '.join(cells)))
    lines.append('side_static_assert(%d > 380, "the table is not complete", x);' % rows)
    return '\n'.join(lines) + '\n'


def job(compiler, language, mode, bits):
    def run():
        flags = ['-m32'] if bits == 32 else []
        r = c.compile_text(compiler, language, source(bits), '-fsyntax-only', '-std=' + mode, *flags)
        return r.stderr[:2000] if r.returncode else None
    return run


def detects():
    """A wrong table must not compile."""
    r = c.compile_text(c.GCC, 'c', source(64).replace('== 112', '== 113'), '-fsyntax-only')
    return None if r.returncode else 'a wrong size was accepted'


jobs = [('detects', detects)]
for compiler, language, mode in ((c.GCC, 'c', 'c11'), (c.GXX, 'c++', 'c++11'),
                                 (c.CLANG, 'c', 'c11'), (c.CLANGXX, 'c++', 'c++11')):
    for bits in (64, 32):
        if compiler and (bits == 64 or c.works(compiler, '-m32', language=language)):
            jobs.append(('%s %d' % (compiler, bits), job(compiler, language, mode, bits)))
if sys.maxsize < 2 ** 32:
    sys.exit(77)
c.run_all(jobs)
