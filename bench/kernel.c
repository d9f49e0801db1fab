/* SPDX-License-Identifier: MIT */
/*
 * Measures what a call of an event costs with and without listeners, and compares it with the
 * cheapest system call and with a function for probes: bench-kernel CALLS. Waits for a byte first,
 * so that a tracer can start to listen. Prints at the end how often it called each of them, which
 * is the number of events that a listener must have received.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(event_call, "bench", "call", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number"), side_field_string("text")));

#define ROUNDS 5

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void call_event(uint32_t i)
{
	side_event(event_call, side_arg_list(side_arg_u32(i), side_arg_string("twelve bytes")));
}

static void call_kernel(uint32_t i)
{
	(void)i;
	(void)syscall(SYS_getppid);
}

/*
 * For probes: the assembler uses its operands, so the compiler has no reason to copy the function
 * for one caller.
 */
__attribute__((noinline)) void bench_probed(uint32_t number, const char *text);

void bench_probed(uint32_t number, const char *text)
{
	/*
	 * Makes the function as long as one that does some work. It begins with instructions that
	 * the kernel can emulate.
	 */
	__asm__ volatile("nop; nop; nop; nop; nop; nop" ::"r"(number), "r"(text) : "memory");
}

static void call_probed(uint32_t i)
{
	bench_probed(i, "twelve bytes");
}

/* Nanoseconds per call: the best of a few rounds. */
static double measure(void (*call)(uint32_t), uint32_t calls)
{
	double best = 0;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		double begin = now(), each;
		uint32_t i;

		for (i = 0; i < calls; i++)
			call(i);
		each = (now() - begin) / calls;
		if (!round || each < best)
			best = each;
	}
	return best;
}

int main(int argc, char **argv)
{
	uint32_t calls = argc > 1 ? (uint32_t)atol(argv[1]) : 0;
	char byte;

	if (!calls)
		return 2;
	puts("ready");
	(void)fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	printf("%.3f %.3f %.3f %llu\n", measure(call_event, calls), measure(call_kernel, calls),
			measure(call_probed, calls), (unsigned long long)calls * ROUNDS);
	return 0;
}
