# SPDX-License-Identifier: MIT
"""Checks the memory order of the doorbell: each side's store must be visible before its load of the
other side's store. A weaker order loses wake-ups only rarely. The test therefore examines the
compiled instructions between the store and the load.

usage: test-fence.py SOURCE-DIRECTORY COMPILER...
"""
import os
import platform
import re
import subprocess
import sys
import tempfile

SOURCE = r'''
#include "ring/doorbell.h"
uint64_t head;
void producer(struct ring_doorbell *doorbell)
{
	__atomic_store_n(&head, 1, __ATOMIC_RELEASE);
	ring_doorbell_crossed(doorbell);
}
uint64_t consumer(struct ring_doorbell *doorbell)
{
	ring_doorbell_arm(doorbell);
	return __atomic_load_n(&head, __ATOMIC_ACQUIRE);
}
'''
# Orders a store before a load: mfence, or a locked operation on any memory; xchg with memory is
# always locked.
BARRIER = re.compile(r'\b(mfence|lock|xchg\s.*\()')
sources, compilers = os.path.abspath(sys.argv[1]), sys.argv[2:]
failures = []

if platform.machine() != 'x86_64':
    print('the instructions of x86-64 are examined')
    sys.exit(77)


def functions(path):
    """Returns the instructions of each function, without addresses."""
    text = subprocess.run(['objdump', '-dr', '--no-show-raw-insn', path], capture_output=True, text=True, check=True).stdout
    for part in re.split(r'\n(?=[0-9a-f]+ <)', text):
        found = re.match(r'[0-9a-f]+ <(\w+)>:\n(.*)', part, flags=re.S)
        if found:
            yield found.group(1), [line.strip() for line in found.group(2).split('\n') if line.strip()]


def between(lines, store, load):
    """Returns the lines between the first match of one pattern and the next match of the other."""
    begin = next((i for i, line in enumerate(lines) if re.search(store, line)), None)
    end = next((i for i, line in enumerate(lines) if begin is not None and i > begin and re.search(load, line)), None)
    return None if end is None else lines[begin + 1:end]


with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, 'fence.c')
    for compiler in compilers:
        for level in ('-O1', '-O2', '-O3'):
            # Includes the source of the doorbell, so that all functions are in one file.
            with open(program, 'w', encoding='utf-8') as file:
                file.write('#include "ring/doorbell.c"\n' + SOURCE)
            made = os.path.join(folder, 'fence.o')
            subprocess.run([*compiler.split(), level, '-fPIC', '-std=gnu17', '-D_GNU_SOURCE', '-I' + sources, '-c', program, '-o', made], check=True)
            code = dict(functions(made))
            # The store of a number to a global, and the load of `sleeping`, which is at the beginning.
            for name, store, load in (('producer', r'movq?\s+\$0x1,|mov\s+%r\w+,\(%r\w+\)', r'(mov|cmpl)\s.*\(%r\w+\)'),
                                      ('ring_doorbell_arm', r'movl\s+\$0x1,\(%r\w+\)|movl\s+\$0x1,0x0\(%r\w+\)', r'\bret')):
                found = between(code[name], store, load)
                if found is None:
                    failures.append(f'{compiler} {level}: {name}: no store and load: {code[name]}')
                elif not any(BARRIER.search(line) for line in found):
                    failures.append(f'{compiler} {level}: {name}: no barrier between the store and the load: {code[name]}')
print('\n'.join(failures) or 'each side has its barrier')
sys.exit(1 if failures else 0)
