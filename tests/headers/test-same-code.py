# SPDX-License-Identifier: MIT
"""The compile-time checks leave no code: each section has the same bytes and relocations with and
without them, at -O0 and -O2, with gcc and clang, in C and C++.
"""
import glob
import os
import subprocess
import sys
import tempfile

import compilers as c

SOURCES = [os.path.join(c.HERE, 'codegen.c')] + sorted(glob.glob(os.path.join(c.HERE, 'examples', '*.c')))
if not c.LONG:
    SOURCES = SOURCES[:2]


def dump(directory, compiler, language, source, *flags):
    obj = os.path.join(directory, 'same.o')
    subprocess.run([compiler, '-x', language, '-I', c.INCLUDE, *flags, '-c', source, '-o', obj], check=True)
    text = subprocess.run(['objdump', '-s', '-r', '-d', obj], capture_output=True, text=True, check=True).stdout
    return text.split('\n', 3)[3]


def same(compiler, language, source, level):
    def run():
        with tempfile.TemporaryDirectory() as d:
            checked = dump(d, compiler, language, source, level)
            unchecked = dump(d, compiler, language, source, level, '-DSIDE_STATIC_CHECK_DISABLE')
        if checked != unchecked:
            return 'the objects differ'
        return None if '<' in checked else 'nothing was compiled'
    return run


jobs = []
for compiler, language in ((c.GCC, 'c'), (c.GXX, 'c++'), (c.CLANG, 'c'), (c.CLANGXX, 'c++')):
    for source in SOURCES:
        for level in ('-O0', '-O2'):
            if compiler and not (language == 'c++' and 'visitor' in source):
                jobs.append(('%s %s %s' % (compiler, os.path.basename(source), level),
                             same(compiler, language, source, level)))
if not jobs:
    sys.exit(77)
c.run_all(jobs)
