# SPDX-License-Identifier: MIT
"""Checks the model of read-copy-update with spin: correct when it is complete, wrong without any one of its parts."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = sys.argv[1]

# Definitions, and the expected result: 0 errors, or a violated assertion.
CASES = [
    ('', True),
    ('-DSIGNALS', True),
    ('-DBUG_NO_MEMBARRIER', False),
    ('-DBUG_NO_WAIT', False),
    ('-DBUG_STAMP', False),
    ('-DSIGNALS -DBUG_INNER_LEAVES', False),
]
OPTIMISE = []  # compiling takes longer than searching
if os.environ.get('SIDE_TEST_LONG') == '1':
    OPTIMISE = ['-O2']
    CASES.append(('-DDEEP', True))


def check(definitions):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(MODEL, os.path.join(folder, 'rcu.pml'))
        subprocess.run(['spin', *definitions.split(), '-a', 'rcu.pml'], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(['cc', *OPTIMISE, '-w', '-DSAFETY', '-o', 'pan', 'pan.c'],
                       cwd=folder, check=True)
        out = subprocess.run(['./pan', '-m100000', '-w20'], cwd=folder, check=True, text=True,
                             capture_output=True).stdout
    errors = int(re.search(r'errors: (\d+)', out).group(1))
    states = int(re.search(r'(\d+) states, stored', out).group(1))
    if 'max search depth too small' in out or 'Search not completed' in out and errors == 0:
        sys.exit(f'{definitions}: the search is not complete\n{out}')
    return errors, states, 'assertion violated' in out


if not shutil.which('spin'):
    print('spin is not installed')
    sys.exit(77)

failed = False
for definitions, right in CASES:
    errors, states, violated = check(definitions)
    good = errors == 0 if right else violated
    failed |= not good
    print(f'{"ok" if good else "FAILED"}: [{definitions}] {states} states, {errors} errors, '
          f'expected {"none" if right else "a violated assertion"}')
sys.exit(1 if failed else 0)
