# SPDX-License-Identifier: MIT
"""The compilers for the tests of headers, and how they are called."""
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..'))
import compiler32

INCLUDE = os.path.join(HERE, '..', '..', 'include')
LONG = os.environ.get('SIDE_TEST_LONG') == '1'

C_MODES = ['c99', 'gnu99', 'c11', 'gnu11', 'c17', 'gnu17', 'c2x', 'gnu2x']
CXX_MODES = ['c++11', 'gnu++11', 'c++14', 'gnu++14', 'c++17', 'gnu++17', 'c++20', 'gnu++20',
             'c++2b', 'gnu++2b']
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror', '-Wshadow', '-Wconversion', '-Wundef']
WARNINGS_C = ['-Wstrict-prototypes', '-Wmissing-prototypes', '-Wpointer-arith', '-Wwrite-strings']


def find(*names):
    """Returns the first of the names that is installed, or None."""
    return next((n for n in names if shutil.which(n)), None)


GCC, GXX = find('gcc-12', 'gcc'), find('g++-12', 'g++')
CLANG, CLANGXX = find('clang-14', 'clang'), find('clang++-14', 'clang++')


def chosen(name):
    """Returns the family of a compiler's name ("gcc" of "gcc-14") and the command, or None if it is not installed."""
    family, _, version = name.partition('-')
    if version:
        return family, find(name)
    return family, {'gcc': GCC, 'g++': GXX, 'clang': CLANG, 'clang++': CLANGXX}[family]


def works(compiler, *flags, language='c'):
    """Whether this compiler can make programs with these flags."""
    if not compiler:
        return False
    if '-m32' in flags:
        return not compiler32.reason([compiler, *(flag for flag in flags if flag != '-m32')], language)
    with tempfile.TemporaryDirectory() as d:
        src = os.path.join(d, 'a.c')
        with open(src, 'w') as f:
            f.write('int main(void) { return 0; }\n')
        return subprocess.run([compiler, *flags, '-x', language, src, '-o', os.path.join(d, 'a')],
                              capture_output=True).returncode == 0


def compile_text(compiler, language, text, *flags):
    """Compiles a text; the result has returncode and stderr."""
    return subprocess.run([compiler, '-x', language, '-I', INCLUDE, '-I', HERE, *flags, '-'],
                          input=text, capture_output=True, text=True)


def run_all(jobs):
    """Runs jobs, each of which is (name, function); the function returns an error text or nothing."""
    failed = 0
    with ThreadPoolExecutor(max_workers=2) as pool:
        for name, error in pool.map(lambda job: (job[0], job[1]()), jobs):
            if error:
                failed += 1
                print('FAIL %s\n%s' % (name, error))
    print('%d of %d passed' % (len(jobs) - failed, len(jobs)))
    sys.exit(1 if failed or not jobs else 0)
