# SPDX-License-Identifier: MIT
"""Build the library and some of its tests for 32-bit x86, and run them."""
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


def can_build(folder):
    source = os.path.join(folder, 'empty.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('#include <stdlib.h>\nint main(void) { return 0; }\n')
    program = os.path.join(folder, 'empty')
    if subprocess.run(['gcc', '-m32', source, '-o', program], check=False).returncode:
        return False
    return subprocess.run([program], check=False).returncode == 0


with tempfile.TemporaryDirectory() as folder:
    if sys.platform != 'linux' or not can_build(folder):
        print('this system builds no 32-bit programs')
        sys.exit(77)
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
        subprocess.run([program], check=True, timeout=60)
        print(f'{test}: ok')
