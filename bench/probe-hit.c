/* SPDX-License-Identifier: MIT */
/*
 * Measures what a hit of a probe costs: the call of a small function with probes of each kind,
 * minus the call without one. Also measures costs that no probe can avoid on this machine: reading
 * the time stamp once for the entry and once for the return of a call, and a breakpoint with an
 * empty handler.
 */
#include "probe-call.h"
#include "probe/code/code.h"
#include "probe/patch/patch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HANDLER __attribute__((target("general-regs-only"), noinline))

static HANDLER void on_hit(const struct patch_hit *hit)
{
	__asm__ volatile("" ::"r"(hit) : "memory");
}

static struct probe_site find_site(void)
{
	const struct code_function *functions;
	struct error error;
	struct code_file *file;
	struct probe_site site;
	size_t count;

	if (code_open("/proc/self/exe", &file, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	count = code_functions(file, &functions);
	for (size_t i = 0; i < count; i++) {
		const char *name = code_name(file, &functions[i], 0);

		if (name && !strcmp(name, "probe_hit_target") &&
				!code_entry(file, &functions[i], &site)) {
			site.runtime = (uint64_t)(uintptr_t)&probe_hit_target +
					(site.address - functions[i].address);
			code_close(file);
			return site;
		}
	}
	fprintf(stderr, "this program has no symbols\n");
	exit(1);
}

__attribute__((noinline)) static uint64_t read_clock(uint64_t a, uint64_t b)
{
	return __builtin_ia32_rdtsc() + a + b;
}

__attribute__((noinline)) static uint64_t meet_breakpoint(uint64_t a, uint64_t b)
{
	__asm__ volatile("int3" ::: "memory");
	return a + b;
}

static void on_breakpoint(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
}

static double measure_breakpoint(void)
{
	struct sigaction action = {.sa_sigaction = on_breakpoint,
					 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART |
							 SA_NODEFER},
			 before;
	double each;

	sigaction(SIGTRAP, &action, &before);
	each = probe_call_measure(meet_breakpoint, PROBE_CALL_ROUNDS, 20);
	sigaction(SIGTRAP, &before, NULL);
	return each;
}

int main(void)
{
	static const struct {
		const char *name;
		unsigned int flags, calls;
	} kinds[] = {
			{"entry, what a callee may change", 0, 1000},
			{"entry, all general registers", PATCH_ALL, 1000},
			{"entry and exit", PATCH_EXIT, 1000},
			{"entry, by a breakpoint", PATCH_TRAP, 20},
	};
	struct probe_site site = find_site();
	double plain, breakpoint = measure_breakpoint();

	if (patch_start(false)) {
		fprintf(stderr, "this kernel has no barrier for code\n");
		return 1;
	}
	plain = probe_call_measure(probe_hit_target, PROBE_CALL_ROUNDS, 1000);
	printf("%-34s %8.1f ns\n", "the call without a probe", plain);
	printf("%-34s %8.1f ns\n", "reading the time stamp",
			probe_call_measure(read_clock, PROBE_CALL_ROUNDS, 1000));
	printf("%-34s %8.1f ns\n", "a breakpoint, its handler empty", breakpoint);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct patch_setup setup = {.site = &site,
				.entry = on_hit,
				.exit = kinds[i].flags & PATCH_EXIT ? on_hit : NULL,
				.flags = kinds[i].flags};

		if (patch_set(&setup, 1)) {
			fprintf(stderr, "no probe can be set: %s\n", strerror(-setup.error));
			return 1;
		}
		printf("%-34s %8.1f ns a hit\n", kinds[i].name,
				probe_call_measure(probe_hit_target, PROBE_CALL_ROUNDS,
						kinds[i].calls) -
						plain);
		patch_remove(&setup.patch, 1);
	}
	return 0;
}
