# SPDX-License-Identifier: MIT
"""Code that a probe hit can reach uses general registers only, because a hit saves no others. The test reads the
instructions of the built libraries, from the functions where hits arrive through all direct calls; functions that are
called by pointers are among the starting points.
"""
import os
import re
import subprocess
import sys
import unittest

AGENT, LIBSIDE = os.environ['AGENT'], os.environ['LIBSIDE']
VECTOR = re.compile(r'%[xyz]mm\d|%st\b|%mm\d|%k[1-7]\b')
# They read or save the values from before any other code ran.
MAY = {'probes_fetch_vector_value', 'call_saved'}
# Functions of libc that only make a system call, and mappings of the kernel, which is compiled without vector registers.
HARMLESS = {'syscall', 'getpid', '__errno_location', 'clock_gettime', 'sched_yield', 'sched_getcpu', 'nanosleep', 'mmap',
            'mmap64', 'munmap', 'madvise', 'write', 'close', 'open', 'openat', 'read', 'pread64', 'prctl', 'ioctl', '__tls_get_addr',
            'pthread_sigmask', 'getuid', 'geteuid', 'getgid', 'getegid', '__stack_chk_fail', 'getppid', 'gettid',
            'pthread_self', 'side_tracer_call', 'side_context_read', 'fcntl64', 'fstat', 'fstat64', 'open64', 'openat64',
            'readlink', 'readlinkat', 'dup', 'sysconf'}


class Library:
    def __init__(self, path):
        text = subprocess.check_output(['objdump', '-d', '--no-show-raw-insn', path], text=True)
        self.functions, self.sections, section = {}, {}, None
        for line in text.splitlines():
            if line.startswith('Disassembly of section'):
                section = line.split()[-1].rstrip(':')
            begin = re.match(r'[0-9a-f]+ <(.+)>:$', line)
            if begin:
                name = begin.group(1)
                self.functions.setdefault(name, [])
                self.sections[name] = section
            elif line.startswith(' '):
                self.functions[name].append(line.split('\t', 1)[1] if '\t' in line else '')

    def reached(self, roots):
        """Names of the functions that are reached, each with its caller."""
        found, left = {root: None for root in roots}, list(roots)
        while left:
            name = left.pop()
            for line in self.functions.get(name, []):
                target = re.search(r'(?:call|jmp|j\w+)\s+[0-9a-f]+ <([^>+]+)(?:\+0x[0-9a-f]+)?>', line)
                if target and target.group(1) not in found:
                    found[target.group(1)] = name
                    left.append(target.group(1))
        return found

    def path(self, found, name):
        method = []
        while name:
            method.append(name)
            name = found[name]
        return ' <- '.join(method)


class Registers(unittest.TestCase):
    def check(self, library, roots, foreign):
        found = library.reached(roots)
        wrong = []
        for name in found:
            if name.endswith('@plt'):
                if name[:-4] not in HARMLESS | foreign:
                    wrong.append('outside: ' + library.path(found, name))
                continue
            bad = [line for line in library.functions.get(name, []) if VECTOR.search(line)]
            if bad and name.split('.')[0] not in MAY:
                wrong.append(f'{bad[0].strip()}: ' + library.path(found, name))
        self.assertEqual(wrong, [], '\n'.join(wrong))
        return found

    def test_agent(self):
        library = Library(AGENT)
        roots = ['probe_hit_entry', 'probe_hit_exit', 'patch_enter', 'patch_enter_followed', 'patch_leave']
        roots += [name for name, section in library.sections.items() if section == 'side_gp_only']
        # Called by pointers: methods of rings, operations of plans, filters.
        roots += [name for name in library.functions
                  if re.match(r'(ring_publish|ring_section|ring_timed|ring_scalar|ring_prefixed|serialize_|plan_serialize|filter_matches|ring_portable)', name)]
        found = self.check(library, roots, set())
        for name in ('record_gp_only', 'ring_publish_slow', 'context_write_slow', 'hit_large'):
            self.assertTrue(any(each.split('.')[0] == name for each in found), name)

    def test_libside(self):
        library = Library(LIBSIDE)
        found = self.check(library, ['side_tracer_call'], set())
        self.assertTrue(any(name.startswith('rcu_enter_slow') for name in found), list(found))

    def test_it_would_be_seen(self):
        library = Library('/usr/lib/x86_64-linux-gnu/libc.so.6') if os.path.exists(
            '/usr/lib/x86_64-linux-gnu/libc.so.6') else None
        if not library:
            self.skipTest('there is no libc where it is looked for')
        with self.assertRaises(AssertionError):
            self.check(library, [name for name in library.functions if name.startswith('qsort')] +
                       [name for name in library.functions if 'strtod' in name], set())


if __name__ == '__main__':
    unittest.main()
