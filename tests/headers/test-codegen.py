# SPDX-License-Identifier: MIT
"""The code of call sites on x86-64 at -O2: argument scalars are not cleared, an argument needs two
stores, a disabled event is a load, a test and a branch, and the frame of the instrumented function
is small; the sections of events, and that lld with --gc-sections keeps them.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import compilers as c

if platform.machine() != 'x86_64' or not shutil.which('objdump'):
    sys.exit(77)


def build(directory, compiler, language):
    obj = os.path.join(directory, 'codegen.o')
    subprocess.run([compiler, '-x', language, '-O2', '-fPIC', '-fno-stack-protector', '-fstack-usage',
                    '-fno-plt', '-fvisibility=hidden', '-fcf-protection=none',
                    '-I', c.INCLUDE, '-c', os.path.join(c.HERE, 'codegen.c'), '-o', obj], check=True)
    return obj


def functions(obj):
    """Returns name -> list of instructions."""
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', obj], capture_output=True, text=True,
                          check=True).stdout
    result, current = {}, None
    for line in text.split('\n'):
        m = re.match(r'[0-9a-f]+ <(.*)>:$', line)
        if m:
            current = result.setdefault(m.group(1), [])
        elif current is not None and '\t' in line:
            current.append(line.split('\t', 1)[1].strip())
    return result


def frames(directory):
    with open(os.path.join(directory, 'codegen.su')) as f:
        sizes = {}
        for line in f:
            name, size, _ = line.rstrip('\n').rsplit('\t', 2)
            for known in ('site_none', 'site_two', 'site_eight', 'call_eight'):
                if known in name and 'emit' not in name:
                    sizes[known] = int(size)
    return sizes


def check(compiler, language, limits):
    with tempfile.TemporaryDirectory() as d:
        obj = build(d, compiler, language)
        code = functions(obj)
        for name, body in code.items():
            # A site may move two values at once to the stack of the call; arguments are never
            # moved.
            pattern = r'rep |.*\bmemset\b|.*\bmemcpy\b|v?p?xorp?s? .*xmm'
            if 'site_' not in name or 'emit' in name:
                pattern += r'|v?mov[au]ps|v?movdq'
            bad = [i for i in body if re.match(pattern, i)]
            if bad:
                return '%s: argument cells are cleared or copied: %s' % (name, bad)

        # All stores of the call: 2 for each of the 8 arguments, and at most 4 for the vector.
        stores = [i for i in code['call_eight'] if re.match(r'mov[lqw]? .*,-?(0x)?[0-9a-f]*\(%r[sb]p\)', i)]
        if not 16 <= len(stores) <= 20:
            return 'call_eight stores %d times: %s' % (len(stores), stores)

        # Disabled: up to the first branch, only saved registers are stored, and there is one
        # conditional branch.
        for name in ('site_two', 'site_eight'):
            body = code[name]
            branch = next(n for n, i in enumerate(body) if re.match(r'jn?e', i))
            if not body[branch].startswith('jne'):
                return '%s: the enabled path is not behind a taken branch: %s' % (name, body[branch])
            before = [i for i in body[:branch] if not re.match(r'push|sub .*%rsp|nop|endbr', i)]
            if any(re.match(r'mov.*,.*\(', i) or i.startswith('call') for i in before) or len(before) > 4:
                return '%s: too much before the branch: %s' % (name, before)
            end = next(n for n, i in enumerate(body) if i.startswith('ret'))
            if any(re.match(r'call|j(?!mp)', i) for i in body[branch + 1:end]):
                return '%s: too much on the disabled path: %s' % (name, body[:end])
        # Out of line, the hot function does not build arguments.
        sizes = frames(d)
        for name, limit in limits.items():
            if sizes[name] > limit:
                return 'the frame of %s is %d bytes, more than %d' % (name, sizes[name], limit)

        sections = subprocess.run(['readelf', '-SW', obj], capture_output=True, text=True, check=True).stdout
        for name in ('side_event_description', 'side_event_state', 'side_event_description_ptr'):
            if not re.search(r'\s%s\s+PROGBITS\s.*\sWAR?\s' % name, sections):
                return 'section %s is missing or of another kind\n%s' % (name, sections)
        symbols = subprocess.run(['nm', obj], capture_output=True, text=True, check=True).stdout
        for name in ('ev_two', 'side_event_state__ev_two', 'side_event_ptr__ev_two'):
            if language == 'c' and not re.search(r' d %s$' % name, symbols, re.M):
                return '%s is not a local object\n%s' % (name, symbols)
        if 'side_event_args__' in symbols:
            return 'the checker leaves symbols'
    return None


def garbage_collection(compiler):
    """--gc-sections with lld: the section of pointers and what it points to stay."""
    with tempfile.TemporaryDirectory() as d:
        exe = os.path.join(d, 'a')
        with open(os.path.join(d, 'a.c'), 'w') as f:
            f.write('#define SIDE_STATIC_CHECK_DISABLE\n#include "stub.h"\nside_static_event(ev, "p", "e", '
                    'SIDE_LOGLEVEL_INFO, side_field_list(side_field_u8("a")));\n'
                    'int main(void) { return stub_nr_events == 1 && stub_events[0] == &ev ? 0 : 1; }\n')
        subprocess.run([compiler, '-O2', '-ffunction-sections', '-fdata-sections', '-I', c.INCLUDE, '-I',
                        c.HERE, os.path.join(d, 'a.c'), '-fuse-ld=lld', '-Wl,--gc-sections', '-o', exe],
                       check=True)
        return None if subprocess.run([exe]).returncode == 0 else 'the event is gone'


jobs = []
# Greatest number of bytes of the frame; without an event 8 with GCC, 0 with clang.  clang in C
# cannot move the code out of line.
LIMITS = {c.GCC: ('c', 32, 64), c.GXX: ('c++', 32, 64), c.CLANGXX: ('c++', 32, 64), c.CLANG: ('c', 184, 568)}
for compiler, (language, two, eight) in LIMITS.items():
    if compiler:
        jobs.append((compiler, lambda a=compiler, b=language, t=two, e=eight: check(
            a, b, {'site_two': t, 'site_eight': e})))
if shutil.which('ld.lld') or shutil.which('ld.lld-14'):
    for compiler in (c.GCC, c.CLANG):
        if compiler and c.works(compiler, '-fuse-ld=lld'):
            jobs.append(('--gc-sections ' + compiler, lambda a=compiler: garbage_collection(a)))
c.run_all(jobs)
