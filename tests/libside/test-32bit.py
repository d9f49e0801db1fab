# SPDX-License-Identifier: MIT
"""Build the library and some of its tests for 32-bit x86, and run them where the kernel runs such programs."""
import os
import subprocess
import sys
import tempfile

ROOT = sys.argv[1]
SOURCES = sys.argv[2:]
TESTS = ['callbacks', 'registry', 'reentrant', 'statedump', 'waiting', 'fork', 'shown']

COMPILE = ['gcc', '-m32', '-std=gnu17', '-O2', '-g', '-Wall', '-Wextra', '-Werror', '-D_GNU_SOURCE',
           '-fvisibility=hidden', '-fno-strict-aliasing', '-I', os.path.join(ROOT, 'include'),
           '-I', os.path.join(ROOT, 'src')]


def build_empty(folder):
    """A program that does nothing, or None without a 32-bit C library and its headers (<asm/errno.h> is in gcc-multilib)."""
    source = os.path.join(folder, 'empty.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('#include <errno.h>\n#include <linux/types.h>\n#include <stdlib.h>\nint main(void) { return errno; }\n')
    program = os.path.join(folder, 'empty')
    failed = subprocess.run(['gcc', '-m32', source, '-o', program], check=False).returncode
    return None if failed else program


def can_run(program):
    """Kernels may be built without what runs them (CONFIG_IA32_EMULATION)."""
    try:
        return subprocess.run([program], check=False).returncode == 0
    except OSError:
        return False


with tempfile.TemporaryDirectory() as folder:
    empty = build_empty(folder)
    if not empty:
        print('this system builds no 32-bit programs')
        sys.exit(77)
    runs = can_run(empty)
    library = os.path.join(folder, 'libside.so.0')
    subprocess.run([*COMPILE, '-fPIC', '-shared', '-mtls-dialect=gnu2', '-pthread',
                    '-Wl,--version-script=' + os.path.join(ROOT, 'src/libside/libside.map'),
                    '-Wl,-z,nodelete', '-Wl,-soname,libside.so.0', *SOURCES, '-o', library],
                   check=True)
    for test in TESTS:
        program = os.path.join(folder, test)
        subprocess.run([*COMPILE, '-pthread',
                        os.path.join(ROOT, f'tests/libside/test-{test}.c'), library,
                        '-Wl,-rpath,' + folder, '-o', program], check=True)
        if runs:
            subprocess.run([program], check=True, timeout=60)
        print(f'{test}: {"ok" if runs else "built"}')
    if not runs:
        print('this kernel runs no 32-bit programs: they were built only')
        sys.exit(77)
