# SPDX-License-Identifier: MIT
"""Random argument vectors and descriptions: the programs end with 0, and the validator has reported
errors. SIDE_TEST_LONG=1 uses 200 seeds instead of 3.

usage: test-fuzz.py LIBRARY FUZZ-CALLS FUZZ-DESCRIPTIONS
"""
import os
import subprocess
import sys

library, calls, descriptions = (os.path.abspath(a) for a in sys.argv[1:4])
seeds = 200 if os.environ.get('SIDE_TEST_LONG') == '1' else 3
env = dict(os.environ, SIDE_LIB_DIR=os.path.dirname(library), SIDE_CONTROL='off', SIDE_VALIDATE='1')
for seed in range(seeds):
    for program, number, reported in ((calls, '5000', b'side: wrong call'), (descriptions, '300', b'side: wrong description')):
        r = subprocess.run([program, str(seed), number], env=env, capture_output=True, timeout=600)
        if r.returncode or reported not in r.stderr:
            sys.exit('%s, seed %d: status %d\n%s' % (program, seed, r.returncode,
                                                    r.stderr[-2000:].decode(errors='replace')))
print('%d seeds' % seeds)
