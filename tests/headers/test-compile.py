# SPDX-License-Identifier: MIT
"""Compiles uses.c, which uses every macro, in all language modes with all compilers, with and without
the compile-time checks, with warnings as errors; every header alone; the examples; the list of
names.  By default the oldest and the newest modes; all of them with SIDE_TEST_LONG=1.

usage: test-compile.py gcc | g++ | clang | clang++, or one of them with a version (clang-19)
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import compilers as c

kind, compiler = c.chosen(sys.argv[1])
if not compiler:
    sys.exit(77)
cxx = kind.endswith('++')
language = 'c++' if cxx else 'c'
modes = c.CXX_MODES if cxx else c.C_MODES
if not c.LONG:
    modes = [modes[0], modes[-1]] if cxx else ['c99', 'gnu2x']
warnings = c.WARNINGS + ([] if cxx else c.WARNINGS_C)
words = ['']
if kind == 'gcc' and c.works(compiler, '-m32'):
    words.append('-m32')


def job(text, *flags, really=False):
    def run():
        r = c.compile_text(compiler, language, text, *(['-c', '-o', '/dev/null'] if really else ['-fsyntax-only']), *flags)
        return r.stderr[:3000] if r.returncode else None
    return run


jobs = []
for n, mode in enumerate(modes):
    for off in (False, True):
        # In the short run each mode has one of the two; the other is in the run-time tests.
        if not c.LONG and off != bool(n % 2):
            continue
        flags = ['-std=' + mode] + (['-DSIDE_STATIC_CHECK_DISABLE'] if off else [])
        jobs.append(('uses %s off=%s' % (mode, off), job('#include "uses.c"\n', *warnings, *flags)))
if '-m32' in words:
    jobs.append(('uses -m32', job('#include "uses.c"\n', *warnings, '-m32', '-std=gnu11')))

if cxx:
    for mode in modes:
        jobs.append(('scopes ' + mode, job('#include "scopes.cpp"\n', *warnings, '-std=' + mode)))

# Markers are assembly: these are compiled completely.
marked = [(modes[0], '-O0', '-fPIC'), (modes[0], '-O2', '-fPIC', '-DSIDE_STATIC_CHECK_DISABLE'), (modes[-1], '-O2', '-fno-pie')]
if c.LONG:
    marked = [(mode, level, code, off) for mode in modes for level in ('-O0', '-O1', '-O2', '-O3', '-Os')
              for code in ('-fPIC', '-fPIE', '-fno-pie', '-masm=intel', '-mcmodel=large')
              for off in ('-DSIDE_STATIC_CHECK_DISABLE', '-USIDE_STATIC_CHECK_DISABLE')]
for mode, *flags in marked:
    jobs.append(('uses with markers %s %s' % (mode, flags),
                 job('#include "uses.c"\n', *warnings, '-DSIDE_SDT', '-std=' + mode, *flags, really=True)))

for path in sorted(glob.glob(os.path.join(c.INCLUDE, 'side', '**', '*.h'), recursive=True)):
    name = os.path.relpath(path, c.INCLUDE)
    jobs.append((name, job('#include <%s>\n#include <%s>\nextern int unused;\n' % (name, name),
                           *warnings, '-std=' + modes[0])))

for path in sorted(glob.glob(os.path.join(c.HERE, 'examples', '*.c'))):
    jobs.append((os.path.basename(path), job('#include "%s"\n' % path, '-Wall', '-Wextra', '-Wpedantic',
                                             '-Werror', '-std=' + modes[-1])))

# Warnings that programs turn on, except for those that cannot be satisfied: features that C++98,
# C99 and C17 lack, structures with gaps, memory on the stack that dynamic attributes need in C++,
# and "unused" for what only some calls use.
wide = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wsign-conversion', '-Wundef', '-Wcast-qual', '-Wcast-align',
        '-Wredundant-decls', '-Wfloat-equal', '-Wnull-dereference', '-Wvla', '-Werror']
if cxx:
    wide += ['-Wold-style-cast', '-Wzero-as-null-pointer-constant', '-Wextra-semi', '-Wmissing-declarations']
if 'clang' in kind:
    wide += ['-Weverything', '-Wno-padded', '-Wno-used-but-marked-unused', '-Wno-declaration-after-statement']
    wide += ['-Wno-c++98-compat', '-Wno-c++98-compat-pedantic', '-Wno-alloca'] if cxx else ['-Wno-pre-c11-compat', '-Wno-pre-c23-compat', '-Wno-unknown-warning-option']
elif cxx:
    wide += ['-Wuseless-cast']
else:
    wide += ['-Wnested-externs', '-Wbad-function-cast', '-Wjump-misses-init', '-Wlogical-op', '-Wduplicated-cond']
for mode in modes:
    for off in ('-DSIDE_STATIC_CHECK_DISABLE', '-USIDE_STATIC_CHECK_DISABLE'):
        jobs.append(('no warnings %s %s' % (mode, off), job('#include "no-warnings.c"\n', *wide, '-std=' + mode, off)))


def right_values(*flags):
    """Built with options that change code, types or layout, the calls have the right values."""
    def run():
        with tempfile.TemporaryDirectory() as d:
            program = os.path.join(d, 'uses')
            r = c.compile_text(compiler, language, '#include "test-uses.%s"\n' % ('cpp' if cxx else 'c'), *flags, '-o', program)
            if r.returncode:
                return r.stderr[:3000]
            done = subprocess.run([program], capture_output=True, text=True)
            return done.stdout + done.stderr + 'ends with %d' % done.returncode if done.returncode else None
    return run


SANITIZED = ('-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=all')
ways = {'gcc': [('-O3', '-flto'), SANITIZED], 'g++': [('-Os', '-fshort-enums')],
        'clang': [('-O2', '-fshort-enums', '-funsigned-char')], 'clang++': [('-O2', '-fno-plt', '-fPIC')]}[kind]
if c.LONG:
    ways = [(level, *way) for level in ('-O0', '-O2', '-O3', '-Os')
            for way in (('-flto',), ('-fshort-enums', '-funsigned-char'), ('-fno-plt', '-fPIC'), ('-static-pie', '-fPIE'), SANITIZED[1:])]
for way in ways:
    if c.works(compiler, *way):
        jobs.append(('right values %s' % ' '.join(way), right_values(*way)))

# The user's macros must not interfere, and a strict mode must find the byte order.
jobs.append(('user macros', job(
    '#define u8 1\n#define s32 1\n#define BOOL 1\n#define POINTER 1\n#define BYTE 1\n#define U32 1\n'
    '#define MANY 1\n#include <side/trace.h>\n'
    'side_static_event(ev, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list(side_field_int("a"), '
    'side_field_u8("b"), side_field_pointer("c"), side_field_bool("d"), side_field_byte("e"), '
    'side_field_gather_bool("f", 0, 1, 0, 0, SIDE_TYPE_GATHER_ACCESS_DIRECT)));\n',
    '-std=' + modes[0])))
jobs.append(('byte order', job(
    '#include <side/endian.h>\n#if SIDE_BYTE_ORDER != __BYTE_ORDER__ || '
    'SIDE_LITTLE_ENDIAN == SIDE_BIG_ENDIAN\n#error\n#endif\n', '-std=' + modes[0])))
for level in ('1', '11'):
    def run(level=level):
        r = c.compile_text(compiler, language, '#include <side/api.h>\n', '-fsyntax-only',
                           '-DSIDE_STATIC_CHECK_MAX_EVAL_LEVEL=' + level)
        return None if r.returncode else 'level %s is accepted' % level
    jobs.append(('level ' + level, run))


def names():
    with open(os.path.join(c.HERE, 'uses.h')) as f:
        used = set(re.findall(r'\w+', f.read()))
    with open(os.path.join(c.HERE, 'names.txt')) as f:
        wanted = [line.strip() for line in f if not line.startswith('#')]
    missing = [n for n in wanted if n not in used]
    if missing or len(wanted) < 460:
        return 'not used: %s (%d names)' % (missing, len(wanted))


jobs.append(('names', names))


def long_list(count, off):
    fields = ','.join('side_field_u8("f%d")' % i for i in range(count))
    args = ','.join('side_arg_u8(%d)' % (i & 127) for i in range(count))
    return ('#include <side/trace.h>\nside_static_event(ev, "p", "e", SIDE_LOGLEVEL_INFO, '
            'side_field_list(%s));\nside_static_assert(SIDE_ARRAY_SIZE(side_event_fields__ev) == %d, "", x);'
            '\nvoid f(void);\nvoid f(void) { side_event(ev, side_arg_list(%s)); }\n'
            % (fields, count, args))


jobs.append(('365 fields', job(long_list(365, False))))


def twice():
    r = c.compile_text(compiler, language, long_list(300, False).replace('"f299"', '"f7"'), '-fsyntax-only')
    first = next((line for line in r.stderr.split('\n') if 'error:' in line), 'accepted')
    return None if re.search(r'Duplicated field names .*two fields of ev have the same name: f7\b', first) else first


jobs.append(('one name twice among 300', twice))
jobs.append(('1000 fields, no checker', job(long_list(1000, True), '-DSIDE_STATIC_CHECK_DISABLE')))
c.run_all(jobs)
