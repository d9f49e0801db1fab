# SPDX-License-Identifier: MIT
"""
`side record --validate`: what the command does wrong is told, the recording ends as without it, and without the
option nothing is told.

usage: test-record.py SIDE AGENT VALIDATOR WRONG-CALLS
"""
import os
import subprocess
import sys
import tempfile

side, agent, validator, program = (os.path.abspath(a) for a in sys.argv[1:5])
with tempfile.TemporaryDirectory() as d:
    lib = os.path.join(d, 'lib')
    os.mkdir(lib)
    os.symlink(agent, os.path.join(lib, 'libside-agent.so'))
    os.symlink(validator, os.path.join(lib, 'libside-validate.so.0'))
    env = dict(os.environ, SIDE_LIB_DIR=lib, SIDE_RUNTIME=os.path.join(d, 'none'))
    env.pop('SIDE_VALIDATE', None)
    for options, told in ((['--validate'], True), ([], False)):
        r = subprocess.run([side, 'record', *options, '-o', os.path.join(d, 'trace%d' % told), '--', program, 'label',
                            'u32'], env=env, capture_output=True, text=True, timeout=120)
        if r.returncode or ('side: wrong call in wrong-calls' in r.stderr) != told:
            sys.exit('with %s: status %d\n%s' % (options, r.returncode, r.stderr))
        if told and r.stderr.count('side: wrong call') != 1:
            sys.exit('not told once:\n' + r.stderr)
print('told once, and only when asked')
