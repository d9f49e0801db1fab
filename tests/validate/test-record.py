# SPDX-License-Identifier: MIT
"""`side record --validate`: errors of the command are reported, the recording ends as without it, and
without the option nothing is reported. Calls and descriptions that would crash the recorder do not
reach it.

usage: test-record.py SIDE AGENT VALIDATOR WRONG-CALLS WRONG-DESCRIPTIONS
"""
import os
import subprocess
import sys
import tempfile

side, agent, validator, program, descriptions = (os.path.abspath(a) for a in sys.argv[1:6])
with tempfile.TemporaryDirectory() as d:
    lib = os.path.join(d, 'lib')
    os.mkdir(lib)
    os.symlink(agent, os.path.join(lib, 'libside-agent.so'))
    os.symlink(validator, os.path.join(lib, 'libside-validate.so.0'))
    env = dict(os.environ, SIDE_LIB_DIR=lib, SIDE_RUNTIME=os.path.join(d, 'none'))
    env.pop('SIDE_VALIDATE', None)
    for options, reported in ((['--validate'], True), ([], False)):
        r = subprocess.run([side, 'record', *options, '-o', os.path.join(d, 'trace%d' % reported), '--', program, 'label',
                            'u32'], env=env, capture_output=True, text=True, timeout=120)
        if r.returncode or ('side: wrong call in wrong-calls' in r.stderr) != reported:
            sys.exit('with %s: status %d\n%s' % (options, r.returncode, r.stderr))
        if reported and r.stderr.count('side: wrong call') != 1:
            sys.exit('not reported once:\n' + r.stderr)
    for subject, arguments, reported, dropped in (
            (program, ['pointer'], 20, 'side: 40 calls of wrong-calls ('), (program, ['list'], 37, 'side: 74 calls of wrong-calls ('),
            (program, ['number'], 37, 'side: 74 calls of wrong-calls ('), (program, ['label', 'struct_'], None, ''),
            (descriptions, [], None, '# end\n')):
        r = subprocess.run([side, 'record', '--validate', '-o', os.path.join(d, 'trace-' + '-'.join([os.path.basename(subject), *arguments])),
                            '--', subject, *arguments], env=env, capture_output=True, text=True, timeout=120)
        if r.returncode or dropped not in r.stderr or reported not in (None, r.stderr.count('side: wrong call')):
            sys.exit('%s %s: status %d, not %s\n%s' % (subject, arguments, r.returncode, (reported, dropped), r.stderr))
        if 'killed by signal' in r.stderr:
            sys.exit('%s %s did not live:\n%s' % (subject, arguments, r.stderr))
print('reported once, and only on request')
