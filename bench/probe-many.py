#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A call trace of a whole program with many functions:  bench/probe-many.py BUILD [TURNS].

A probe that was hit recently costs a fraction of one that is no longer in the processor's caches.
So a program of 20,000 functions calls some of them at random: from a few, which stay in the caches,
up to all of them, the worst case. Each call is recorded with the name of its function (`side trace
--function 'PROGRAM:*'`), at its entry, and at entry and exit; and by uftrace, for which the program
is compiled with -pg. The result is the time of a call less that of one that is not traced: of the
thread's processor time, on one processor, with a high priority if that is permitted; the best of
five rounds, the median of the turns.

Also a real program, the C compiler, which calls 100 million functions in two seconds: its user
time.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

BUILD, TURNS = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
SIDE = BUILD + '/programs/side/side'
FUNCTIONS, CALLS, ROUNDS = 20000, 200000, 5
HOT = (10, 100, 1000, 5000, 20000)

FUNCTION = '''__attribute__((noinline)) uint64_t step_number_{0}(uint64_t a, uint64_t b)
{{ uint64_t r = a * {1}u + b; if (r % 7 == {2}) r += a >> 3; else r ^= b << 2; return r; }}
'''
MAIN = '''
static double now(void)
{ struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv)
{
	unsigned hot = atoi(argv[1]), calls = atoi(argv[2]), rounds = atoi(argv[3]);
	uint64_t sum = 1, random = 88172645463325252u;
	struct sched_param first = {20};
	double best = 1e18;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &one);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setscheduler(0, SCHED_FIFO, &first);
	for (unsigned r = 0; r < rounds; r++) {
		double took = now();
		for (unsigned i = 0; i < calls; i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			sum = all[random % hot](sum, i);
		}
		took = (now() - took) / calls;
		best = took < best ? took : best;
	}
	fprintf(stderr, "ns %.2f %d\\n", best, (int)(sum & 1));
	return 0;
}
'''


def write_program(path):
    with open(path, 'w', encoding='utf-8') as file:
        file.write('#define _GNU_SOURCE\n' + ''.join(f'#include <{name}.h>\n' for name in (
            'sched', 'stdint', 'stdio', 'stdlib', 'time', 'unistd')))
        file.writelines(FUNCTION.format(i, 2 * i + 1, i % 7) for i in range(FUNCTIONS))
        file.write('static uint64_t (*const all[])(uint64_t, uint64_t) = {\n')
        file.write(',\n'.join(f'step_number_{i}' for i in range(FUNCTIONS)) + '\n};\n' + MAIN)


def printed_line(command):
    """Returns the program's line in the output; None: the tracer could not run."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r'^ns ([0-9.]+)', result.stderr, re.M)
    return float(found.group(1)) if found else None


def traced(folder, words, command):
    out = folder + '/trace'
    try:
        return [SIDE, 'trace', '-o', out, '--buffer-size', '16M', *words, '-c', ' '.join(command)]
    finally:
        shutil.rmtree(out, True)


def measure_many(folder):
    write_program(folder + '/many.c')
    for name, option in (('many', '-O1'), ('many-pg', '-pg')):
        subprocess.run(['gcc', '-O1', option, '-w', '-o', f'{folder}/{name}', folder + '/many.c'], check=True)
    seen = {}
    for _ in range(TURNS):
        for hot in HOT:
            words = [str(hot), str(CALLS), str(ROUNDS)]
            program = [folder + '/many', *words]
            ways = {'alone': program, 'entry': traced(folder, ['--function', 'many:*'], program)}
            for name, command in ways.items():
                seen.setdefault((hot, name), []).append(printed_line(command))
            seen.setdefault((hot, 'entry and exit'), []).append(printed_line(traced(folder, ['--function', 'many:*', '--exit'], program)))
            if shutil.which('uftrace'):
                shutil.rmtree(folder + '/uftrace', True)
                seen.setdefault((hot, 'uftrace'), []).append(
                    printed_line(['uftrace', 'record', '-d', folder + '/uftrace', folder + '/many-pg', *words]))
    print(f'A call of one of so many functions, chosen at random, with a probe on each of {FUNCTIONS}; ns more than without\n')
    print(f'{"functions":>10} {"a call alone":>13} {"entry":>8} {"entry and exit":>15} {"uftrace":>8} {"times below":>12}')
    for hot in HOT:
        of = {name: statistics.median(values) for (which, name), values in seen.items() if which == hot and None not in values}
        alone = of['alone']
        both, other = of['entry and exit'] - alone, of.get('uftrace', 0) - alone
        print(f'{hot:>10,} {alone:>13.1f} {of["entry"] - alone:>8.1f} {both:>15.1f} ' +
              (f'{other:>8.1f} {other / both:>12.2f}' if other > 0 else f'{"-":>8} {"-":>12}'))


def user_time(command):
    before = os.times().children_user
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return os.times().children_user - before


def measure_compiler(folder):
    """All calls counted, recorded or lost: the number of recorded ones depends on the disk."""
    source = folder + '/compiled.c'
    with open(source, 'w', encoding='utf-8') as file:
        file.write('#include <stdlib.h>\nstatic int order(const void *a, const void *b) { return *(int *)a - *(int *)b; }\n')
        for i in range(150):
            file.write(f'int f{i}(int a, int b) {{ int v[64]; for (int i = 0; i < 64; i++) v[i] = (a * i + b) % {i + 7};'
                       f' qsort(v, 64, sizeof(*v), order); switch (a % {5 + i % 7}) {{ case 0: return v[3]; case 1: return v[4] * b;'
                       f' case 2: return v[a % 64]; default: return v[b % 64] + {i}; }} }}\n')
    compiler = subprocess.check_output(['gcc', '-print-prog-name=cc1'], text=True).strip()
    command = [compiler, '-quiet', '-O1', source, '-o', folder + '/compiled.s']
    alone = statistics.median(user_time(command) for _ in range(TURNS))
    print(f'\nThe C compiler, {alone:.2f} s alone')
    for name, words in (('entry', []), ('entry and exit', ['--exit'])):
        values, counted = [], 0
        for _ in range(TURNS):
            shutil.rmtree(folder + '/trace', True)
            before = os.times().children_user
            result = subprocess.run([SIDE, 'trace', '-o', folder + '/trace', '--buffer-size', '16M', '--function', 'cc1:*', *words,
                                     '-c', ' '.join(command)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
            values.append(os.times().children_user - before)
            counted = sum(int(n.replace(',', '')) for n in re.findall(r'([0-9,]+) events(?:,| were lost)', result.stderr))
        took = statistics.median(values) - alone
        print(f'{name:>16}: {counted:,} events, {took * 1e9 / counted:.1f} ns of user time for each, the recorder\'s included')


with tempfile.TemporaryDirectory() as scratch:
    measure_many(scratch)
    measure_compiler(scratch)
