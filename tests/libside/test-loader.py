# SPDX-License-Identifier: MIT
"""
The path of the agent below SIDE_LIB_DIR. libside loads the agent from a path of the maximal length. If the path is one byte longer, it
loads nothing, in particular no file whose path is that path cut off.

usage: test-loader.py LIBSIDE INCLUDE COMPILER...
"""
import os
import subprocess
import sys
import tempfile

libside, include, compiler = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
PATH_MAX = 4096  # including its terminator
AGENT = 'libside-agent.so'
PROGRAM = '''
#include <side/trace.h>
side_static_event(event, "p", "e", SIDE_LOGLEVEL_INFO, side_field_list());
int main(void) { side_event(event, side_arg_list()); return 0; }
'''
LIBRARY = '''
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) { (void)!write(1, NAME, sizeof(NAME) - 1); }
'''
failures = []


def padded(folder, size):
    """Returns another path of the folder, with a length of `size`."""
    path = folder + '/.' * ((size - len(folder)) // 2)
    return path + '/' * (size - len(path))


with tempfile.TemporaryDirectory() as folder:
    folder = os.path.realpath(folder)

    def compile_text(text, name, *options):
        source = os.path.join(folder, 'source.c')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(text)
        subprocess.run([*compiler, source, '-o', os.path.join(folder, name), *options], check=True)
        return os.path.join(folder, name)

    program = compile_text(PROGRAM, 'program', '-w', '-I' + include, libside)
    compile_text(LIBRARY, AGENT, '-shared', '-fPIC', '-DNAME="whole"')
    compile_text(LIBRARY, AGENT[:-1], '-shared', '-fPIC', '-DNAME="begin"')
    # A program loads the agent if a daemon has a socket in its runtime directory.
    open(os.path.join(folder, 'agents.sock'), 'w', encoding='utf-8').close()
    for size, expected in ((len(folder) + 1 + len(AGENT), 'whole'), (PATH_MAX - 2, 'whole'), (PATH_MAX - 1, 'whole'), (PATH_MAX, ''),
                           (PATH_MAX + 1, '')):
        environment = {'PATH': os.environ['PATH'], 'LD_LIBRARY_PATH': os.path.dirname(libside), 'SIDE_RUNTIME': folder,
                       'SIDE_LIB_DIR': padded(folder, size - 1 - len(AGENT))}
        run = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
        if (run.returncode, run.stdout) != (0, expected):
            failures.append(f'a path of {size} bytes: {run.returncode}, {run.stdout!r} {run.stderr!r}, expected {expected!r}')
print('\n'.join(failures) or 'as long as possible, and longer')
sys.exit(1 if failures else 0)
