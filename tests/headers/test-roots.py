#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tests of headers with compilers that this system does not have: those of Debian 13 (GCC 13 and
14, clang 19) and the GCC 15 of Debian's unstable release, each in a root directory that debootstrap
makes.  Only with SIDE_TEST_LONG=1, as root.

usage: test-roots.py DIRECTORY (for the root directories, which are kept for the next run)
"""
import os
import shutil
import subprocess
import sys

import compilers as c

ROOTS = {'trixie': ('gcc-13', 'g++-13', 'gcc-14', 'g++-14', 'clang-19', 'clang++-19'), 'sid': ('gcc-15', 'g++-15')}


def make(root, suite, names):
    if os.path.exists(os.path.join(root, 'usr', 'bin', names[0])):
        return
    packages = sorted({n.replace('clang++', 'clang') for n in names} | {'python3', 'libc6-dev'})
    subprocess.run(['debootstrap', '--variant=minbase', '--include=' + ','.join(packages), suite, root], check=True,
                   stdout=subprocess.DEVNULL)


def copy(root):
    tree = os.path.join(root, 'side')
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(c.INCLUDE, os.path.join(tree, 'include'))
    shutil.copytree(c.HERE, os.path.join(tree, 'tests', 'headers'), ignore=shutil.ignore_patterns('__pycache__'))


def run(root, compiler, test):
    """In a mount namespace of its own, for the /proc that sanitizers need."""
    inside = 'mount -t proc proc "%s/proc" && exec chroot "%s" python3 /side/tests/headers/test-%s.py %s' % (
        root, root, test, compiler)
    done = subprocess.run(['unshare', '-m', 'sh', '-c', inside], capture_output=True, text=True,
                          env={'PATH': os.environ['PATH'], 'SIDE_TEST_LONG': '0'})
    print('%s %s: %s' % (compiler, test, done.stdout.strip().split('\n')[-1]))
    return done.returncode == 0 or print(done.stdout[-4000:] + done.stderr[-1000:])


if not c.LONG or os.getuid() or not shutil.which('debootstrap'):
    sys.exit(77)
failed = 0
for suite, names in ROOTS.items():
    root = os.path.join(os.path.abspath(sys.argv[1]), suite)
    make(root, suite, names)
    copy(root)
    for name in names:
        for test in ('compile', 'checker'):
            failed += not run(root, name, test)
sys.exit(1 if failed else 0)
