# SPDX-License-Identifier: MIT
"""What the compile-time checks cost while a program compiles: 1,000 and 2,000 events of two fields
with a call each, and one event of 64, 128 and 256 fields. Seconds of the processor, the median of
interleaved runs; with --instructions also the instructions of the compiler proper, counted by
valgrind and independent of other load, with 100 and 200 events instead of ten times as many.

usage: compile.py [-O0 | -O2]... [--runs N] [--instructions] [--compilers NAME,...] [--only TEXT]
"""
import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'include')
LANGUAGES = {'gcc': 'c', 'g++': 'c++', 'clang': 'c', 'clang++': 'c++'}


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


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def instructions(command):
    """Returns millions; clang compiles in its own process, gcc prints the command that it would start."""
    if 'clang' not in os.path.basename(command[0]):
        printed = subprocess.run([*command, '-###'], capture_output=True, text=True, check=True).stderr
        proper = next(line for line in printed.split('\n') if re.match(r' \S*/cc1(plus)? ', line))
        command = [re.sub(r'^"(.*)"$', r'\1', word) for word in proper.split()]
        command[command.index('-o') + 1 if '-o' in command else len(command):] = ['/dev/null']
    out = subprocess.run(['valgrind', '--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null', *command],
                         capture_output=True, text=True, check=True).stderr
    return int(re.search(r'I\s+refs:\s+([\d,]+)', out).group(1).replace(',', '')) / 1e6


def compare(name, checked, without, unit):
    print('%-26s %9.2f %s %9.2f %s %6.2f' % (name, checked, unit, without, unit, checked / without), flush=True)


parser = argparse.ArgumentParser()
for option in ('-O0', '-O2'):
    parser.add_argument(option, action='append_const', dest='levels', const=option)
parser.add_argument('--runs', type=int, default=3)
parser.add_argument('--instructions', action='store_true')
parser.add_argument('--compilers', default=','.join(LANGUAGES))
parser.add_argument('--only', default='', help='what a row must have in its name: "1,000 events", "fields"')
options = parser.parse_args()
SHAPES = (('1,000 events', many(1000)), ('2,000 events', many(2000)), ('64 fields', wide(64)), ('128 fields', wide(128)),
          ('256 fields', wide(256)))
# Valgrind needs fifty times as long.
COUNTED = (('100 events', many(100)), ('200 events', many(200)), *SHAPES[2:])
for level in options.levels or ['-O0', '-O2']:
    print('%-26s %11s %11s %6s' % ('compile time, ' + level, 'checked', 'without', 'ratio'))
    for compiler in options.compilers.split(','):
        if not shutil.which(compiler):
            continue
        with tempfile.TemporaryDirectory() as d:
            source = os.path.join(d, 'events.c' if LANGUAGES[compiler] == 'c' else 'events.cpp')
            # A result from a compiler cache is not a compilation.
            checked = [os.path.realpath(shutil.which(compiler, path='/usr/bin:/usr/local/bin:' + os.environ['PATH'])),
                       '-I', INCLUDE, level, '-c', source, '-o', '/dev/null']
            if compiler == 'clang++':
                checked.insert(1, '--driver-mode=g++')
            without = [*checked, '-DSIDE_STATIC_CHECK_DISABLE']
            for name, text in (shape for shape in SHAPES if options.only in shape[0]):
                with open(source, 'w') as f:
                    f.write(text)
                times = [(seconds(checked), seconds(without)) for _ in range(options.runs)]
                compare('%s, %s' % (compiler, name), *map(statistics.median, zip(*times)), 's')
            if options.instructions and shutil.which('valgrind'):
                for name, text in (shape for shape in COUNTED if options.only in shape[0]):
                    with open(source, 'w') as f:
                        f.write(text)
                    compare('%s, %s' % (compiler, name), instructions(checked), instructions(without), 'M')
