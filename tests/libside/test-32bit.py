# SPDX-License-Identifier: MIT
"""Builds the library and some of its tests for 32-bit x86, and runs them if the kernel runs such programs."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..'))
import compiler32

ROOT = sys.argv[1]
SOURCES = sys.argv[2:]
TESTS = ['callbacks', 'registry', 'reentrant', 'statedump', 'waiting', 'fork', 'shown']

COMPILE = ['gcc', '-m32', '-std=gnu17', '-O2', '-g', '-Wall', '-Wextra', '-Werror', '-D_GNU_SOURCE',
           '-fvisibility=hidden', '-fno-strict-aliasing', '-I', os.path.join(ROOT, 'include'),
           '-I', os.path.join(ROOT, 'src')]


def build_empty(folder):
    """Builds an empty program."""
    source = os.path.join(folder, 'empty.c')
    with open(source, 'w', encoding='ascii') as file:
        file.write('int main(void) { return 0; }\n')
    program = os.path.join(folder, 'empty')
    subprocess.run(['gcc', '-m32', source, '-o', program], check=True)
    return program


def can_run(program):
    """Kernels may be built without support for them (CONFIG_IA32_EMULATION)."""
    try:
        return subprocess.run([program], check=False).returncode == 0
    except OSError:
        return False


with tempfile.TemporaryDirectory() as folder:
    reason = compiler32.reason(['gcc'])
    if reason:
        print(reason)
        sys.exit(77)
    runs = can_run(build_empty(folder))
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
