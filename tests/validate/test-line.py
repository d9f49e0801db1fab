# SPDX-License-Identifier: MIT
"""The line in reports: for calls in a file and in included files, with all versions of debug
information that the compilers write, of 32 and 64 bits; only FILE+OFFSET if there is none. With
damaged debug information, programs run on, and reports are still printed.

usage: test-line.py LIBRARY LIBSIDE INCLUDE [ROUNDS]
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

library, libside, include = (os.path.abspath(a) for a in sys.argv[1:4])
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 4000 if os.environ.get('SIDE_TEST_LONG') == '1' else 60
env = dict(os.environ, SIDE_LIB_DIR=os.path.dirname(library), LD_LIBRARY_PATH=os.path.dirname(libside), SIDE_CONTROL='off',
           SIDE_VALIDATE='1')
PROGRAM = r'''
#define SIDE_STATIC_CHECK_DISABLE
#include <side/trace.h>
side_static_event(ev, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x"), side_field_u32("y")));
#include "inner/call.h"
int main(void)
{
	side_event(ev, side_arg_list(side_arg_u32(1), side_arg_u8(2)));
	in_a_header();
	return 0;
}
'''
HEADER = '''

static void in_a_header(void)
{
	side_event(ev, side_arg_list(side_arg_u64(1), side_arg_u32(2)));
}
'''
# In a thread with the smallest possible stack.
SMALL = r'''
#define SIDE_STATIC_CHECK_DISABLE
#include <limits.h>
#include <pthread.h>
#include <side/trace.h>
side_static_event(ev, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x"), side_field_u32("y")));
static void *run(void *unused)
{
	side_event(ev, side_arg_list(side_arg_u32(1), side_arg_u8(2)));
	in_a_header();
	return unused;
}
int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	return pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN) ||
			pthread_create(&thread, &attr, run, NULL) || pthread_join(thread, NULL);
}
'''
# The call is the last instruction of its function.
LAST = r'''
#include <side/trace.h>
#include <stdlib.h>
side_static_event(ev, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x")));
static struct side_arg args[1] = {{.type = SIDE_ENUM_INIT(SIDE_TYPE_U8)}};
static struct side_arg_vec vec = {SIDE_PTR_INIT(args), 1};
__attribute__((noinline)) void last(void) { side_call(&side_event_state__ev.parent, &vec); __builtin_unreachable(); }
__attribute__((noinline)) void behind(void) { exit(0); }
int main(void) { last(); }
'''
# An unused function, larger than the part of a file before the code: its lines have address 0 after
# linking.
LEFT_OUT = 'int left_out(int n);\nint left_out(int n)\n{\n\tvolatile int v = n;\n%s\treturn v;\n}\n' % ''.join(
    '\tv = v * %d + n;\n' % i for i in range(3, 1500))
failures = []
compared = 0


def lines_of_reports(program, cwd):
    """Returns the text in brackets after FILE+OFFSET of each report."""
    run = subprocess.run([program], env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    text = run.stderr.decode(errors='replace')
    found = re.findall(r'^  caller:   .*?\+0x[0-9a-f]+ \((.*)\)$', text, flags=re.M)
    if run.returncode or len(found) != 2 or text.count('  hint:') != 2:
        failures.append('%s ended with %d: %s' % (program, run.returncode, text[-1500:]))
    return found


def damaged(image, names, generator):
    """Returns the file with some changed bytes in some of the sections."""
    out = subprocess.run(['readelf', '-SW', image], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    with open(image, 'rb') as stream:
        data = bytearray(stream.read())
    for name in names:
        found = re.search(r' %s\s+PROGBITS\s+\w+\s+(\w+)\s+(\w+)' % re.escape(name), out)
        begin, size = (int(number, 16) for number in found.groups()) if found else (0, 0)
        # Changes of the header and the names have the most effect.
        for _ in range(generator.randrange(1, 9) if size else 0):
            at = begin + generator.randrange(min(size, generator.choice((12, 64, size))))
            data[at] = generator.choice((0, 1, 0x7f, 0x80, 0xff, generator.randrange(256)))
    return bytes(data)


with tempfile.TemporaryDirectory() as folder:
    os.mkdir(os.path.join(folder, 'inner'))
    for name, text in (('program.c', PROGRAM), ('inner/call.h', HEADER)):
        with open(os.path.join(folder, name), 'w') as stream:
            stream.write(text)
    lines = ['program.c:%d' % (PROGRAM.split('\n').index(next(l for l in PROGRAM.split('\n') if 'u8(2)' in l)) + 1),
             'inner/call.h:%d' % (HEADER.split('\n').index(next(l for l in HEADER.split('\n') if 'u64(1)' in l)) + 1)]
    for compiler in ('gcc', 'clang'):
        if not shutil.which(compiler):
            print('not with %s, which is not here' % compiler)
            continue
        for flags in ('-gdwarf-2', '-gdwarf-3', '-gdwarf-4', '-gdwarf-5', '-gdwarf-5 -gdwarf64 -O2', '-gdwarf-4 -O2 -no-pie', '-g -O1 -gz', '-gdwarf-4 -gz=zlib-gnu',
                      '-gdwarf-5 -gz=zlib -O2', '-gz=zstd -g', '-g0'):
            program = os.path.join(folder, 'program')
            made = subprocess.run([compiler, '-w', *flags.split(), '-I' + include, 'program.c', '-o', program, libside], cwd=folder,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if made.returncode:
                print('not with %s %s: %s' % (compiler, flags, made.stdout.decode(errors='replace').splitlines()[-1]))
                continue
            printed_lines = [place.replace('./', '') for place in lines_of_reports(program, folder)]
            wanted = ['addr2line -e gives the line'] * 2 if 'zstd' in flags or '-g0' in flags else lines
            if printed_lines != wanted:
                failures.append('%s %s: %s, expected %s' % (compiler, flags, printed_lines, wanted))
            compared += 1
    with open(os.path.join(folder, 'left-out.c'), 'w') as stream:
        stream.write(LEFT_OUT)
    for linker in ('bfd', 'gold', 'lld'):
        program = os.path.join(folder, 'program')
        made = subprocess.run(['gcc', '-w', '-g', '-O2', '-ffunction-sections', '-fuse-ld=' + linker, '-Wl,--gc-sections', '-I' + include,
                               'left-out.c', 'program.c', '-o', program, libside], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if made.returncode:
            print('not with %s: %s' % (linker, made.stdout.decode(errors='replace').splitlines()[-1]))
            continue
        printed_lines = [place.replace('./', '') for place in lines_of_reports(program, folder)]
        if printed_lines != lines:
            failures.append('code that is left out, %s: %s, expected %s' % (linker, printed_lines, lines))
        compared += 1
    # Debug information in a separate file: by name, beside the program and in .debug; it is not
    # used if it belongs to another program.
    program = os.path.join(folder, 'program')
    for flags, place in (('-g -Wl,--build-id', 'apart.debug'), ('-g -Wl,--build-id=none', 'apart.debug'),
                         ('-g -gz -Wl,--build-id', '.debug/apart.debug'), ('-g -Wl,--build-id=none', '.debug/apart.debug')):
        apart = os.path.join(folder, place)
        os.makedirs(os.path.dirname(apart), exist_ok=True)
        subprocess.run(['gcc', '-w', *flags.split(), '-I' + include, 'program.c', '-o', program, libside], cwd=folder, check=True)
        subprocess.run(['objcopy', '--only-keep-debug', program, apart], check=True)
        subprocess.run(['objcopy', '--strip-all', '--add-gnu-debuglink=' + apart, program], check=True)
        printed_lines = [where.replace('./', '') for where in lines_of_reports(program, folder)]
        if printed_lines != lines:
            failures.append('apart, %s %s: %s, expected %s' % (flags, place, printed_lines, lines))
        with open(apart, 'r+b') as stream:
            data = stream.read()
            # Another build ID, or, if there is none, another checksum.
            at = data.find(b'GNU\0', data.find(b'\x03\0\0\0GNU\0')) + 4 if 'none' not in flags else len(data) - 1
            stream.seek(at)
            stream.write(bytes([data[at] ^ 1]))
        printed_lines = lines_of_reports(program, folder)
        if printed_lines != ['addr2line -e gives the line'] * 2:
            failures.append('of another program, %s %s: %s' % (flags, place, printed_lines))
        os.unlink(apart)
        compared += 1
    with open(os.path.join(folder, 'last.c'), 'w') as stream:
        stream.write(LAST)
    subprocess.run(['gcc', '-w', '-g', '-O2', '-rdynamic', '-fno-reorder-functions', '-falign-functions=1', '-I' + include, 'last.c', '-o',
                    program, libside], cwd=folder, check=True)
    run = subprocess.run([program], env=env, stderr=subprocess.PIPE, timeout=120)
    if not re.search(rb'caller:   last\(\) in \S+ \(\S*last\.c:\d+\)\n', run.stderr):
        failures.append('the last instruction of a function: %s' % run.stderr.decode(errors='replace'))
    with open(os.path.join(folder, 'small.c'), 'w') as stream:
        stream.write(SMALL.replace('static void *run', HEADER + 'static void *run'))
    apart = os.path.join(folder, 'apart.debug')
    for flags, keeps in (('-g', True), ('-g -gz', True), ('-g -Wl,--build-id=none', True), ('-g -Wl,--build-id=none', False)):
        subprocess.run(['gcc', '-w', *flags.split(), '-I' + include, 'small.c', '-o', program, libside, '-pthread'], cwd=folder, check=True)
        subprocess.run(['objcopy', '--only-keep-debug', program, apart], check=True)
        if 'none' in flags:
            subprocess.run(['objcopy', '--strip-all', '--add-gnu-debuglink=' + apart, program], check=True)
        if not keeps:
            os.unlink(apart)
        printed_lines = lines_of_reports(program, folder)
        if not all(place.startswith('small.c:' if keeps else 'addr2line') for place in printed_lines):
            failures.append('a small stack, %s: %s' % (flags, printed_lines))
        compared += 1
    generator = random.Random(7)
    for version in ('-gdwarf-4', '-gdwarf-5', '-gdwarf-5 -gz', '-gdwarf-4 -gz=zlib-gnu'):
        original = os.path.join(folder, 'program' + version.replace(' ', ''))
        subprocess.run(['gcc', '-w', *version.split(), '-I' + include, 'program.c', '-o', original, libside], cwd=folder, check=True)
        for number in range(rounds // 4):
            victim = os.path.join(folder, 'victim%d' % number)
            with open(victim, 'wb') as stream:
                stream.write(damaged(original, ('.debug_line', '.debug_line_str', '.zdebug_line'), generator))
            os.chmod(victim, 0o755)
            lines_of_reports(victim, folder)
            os.unlink(victim)
print('\n'.join(failures[:8]) or '%d compilations, %d damaged programs' % (compared, rounds))
sys.exit(1 if failures or not compared else 0)
