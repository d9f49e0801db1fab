# SPDX-License-Identifier: MIT
"""
What the static checker costs while a program compiles: 1,000 and 2,000 events of two fields with a call
each, and one event of 128 fields. Seconds of the processor, the best of three.

usage: compile.py [-O0 | -O2]
"""
import os
import resource
import shutil
import subprocess
import sys
import tempfile

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'include')


def many(number):
    text = '#include <side/trace.h>\n'
    for i in range(number):
        text += ('side_static_event(ev%d, "p", "e%d", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("count"), '
                 'side_field_string("name")));\nvoid f%d(unsigned a, const char *s);\n'
                 'void f%d(unsigned a, const char *s) { side_event(ev%d, side_arg_list(side_arg_u32(a), '
                 'side_arg_string(s))); }\n' % (i, i, i, i, i))
    return text


def wide(number):
    fields = ', '.join('side_field_u32("field%d")' % i for i in range(number))
    args = ', '.join('side_arg_u32(a + %d)' % i for i in range(number))
    return ('#include <side/trace.h>\nside_static_event(ev, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list(%s));\n'
            'void f(unsigned a);\nvoid f(unsigned a) { side_event(ev, side_arg_list(%s)); }\n' % (fields, args))


def seconds(compiler, language, text, *flags):
    best = None
    with tempfile.TemporaryDirectory() as d:
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([compiler, '-x', language, '-I', INCLUDE, *flags, '-c', '-', '-o', os.path.join(d, 'o')],
                           input=text, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            time = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best = time if best is None else min(best, time)
    return best


level = sys.argv[1] if len(sys.argv) > 1 else '-O2'
print('%-34s %10s %10s %6s' % ('compile time, ' + level, 'checked', 'without', 'ratio'))
for compiler, language in (('gcc', 'c'), ('g++', 'c++'), ('clang', 'c'), ('clang++', 'c++')):
    if not shutil.which(compiler):
        continue
    for name, text in (('1,000 events', many(1000)), ('2,000 events', many(2000)), ('128 fields', wide(128))):
        checked = seconds(compiler, language, text, level)
        without = seconds(compiler, language, text, level, '-DSIDE_STATIC_CHECK_DISABLE')
        print('%-34s %8.2f s %8.2f s %6.2f' % ('%s, %s' % (compiler, name), checked, without, checked / without))
