# SPDX-License-Identifier: MIT
"""A process with the validator and another tracer: calls that would crash a tracer are reported,
counted and not passed on; the program runs on, and the tracer gets the valid calls.

usage: test-guard.py VALIDATOR WRONG-KIND
"""
import os
import re
import subprocess
import sys

validator, program = (os.path.abspath(a) for a in sys.argv[1:3])
env = dict(os.environ, SIDE_LIB_DIR=os.path.dirname(validator), SIDE_CONTROL='off')
REPORT = '''side: wrong call in wrong-kind (PID): {what}
  event:    k:{event}
{field}  caller:   CALLER
  expected: {expected}
  found:    {found}
{tracers}  hint:     {hint}
'''
GIVEN = '  tracers:  do not get this call, which could crash them\n'


def reports_by_name(tracers):
    """Returns the text after each "# " line."""
    return {
        'right': '',
        'static': REPORT.format(
            what='a non-variadic call of a variadic event', event='more', field='', expected='side_event_variadic()',
            found='side_event()', tracers=tracers,
            hint='call side_event_variadic(), or define the event as a non-variadic one'),
        'variadic': REPORT.format(
            what='a variadic call of a non-variadic event', event='plain', field='', expected='side_event()',
            found='side_event_variadic()', tracers=tracers, hint='call side_event(), or define the event as a variadic one'),
        'wild': REPORT.format(
            what='the string at 0x10 cannot be read up to its end', event='plain', field='  field:    "s"\n',
            expected='a string that ends', found='0x10', tracers=tracers,
            hint='the target of a pointer must exist until the call returns'),
    }


for arguments, tracers, end in (([], '', '# end 0 0\n'),
                                (['tracer'], GIVEN, '# end 5 1\n'
                                 'side: 3 calls of wrong-kind (PID) were passed to no tracer: the errors are reported above\n')):
    r = subprocess.run([program, *arguments], env=dict(env, SIDE_VALIDATE='1'), capture_output=True, text=True, timeout=60)
    text = re.sub(r'wrong-kind \(\d+\)', 'wrong-kind (PID)', re.sub(r'caller:   .*', 'caller:   CALLER', r.stderr))
    wanted = ''.join('# %s\n%s' % one for one in reports_by_name(tracers).items()) + end
    if r.returncode or text != wanted:
        sys.exit('status %d\n%s\nand not\n%s' % (r.returncode, text, wanted))
# Without the validator, the tracer would crash.
r = subprocess.run([program, 'tracer'], env=dict(env, SIDE_VALIDATE='0'), capture_output=True, text=True, timeout=60)
if r.returncode >= 0 or not r.stderr.endswith('# wild\n'):
    sys.exit('without the validator the program does not end by a signal: %d\n%s' % (r.returncode, r.stderr))
print('the tracer was given the right calls alone')
