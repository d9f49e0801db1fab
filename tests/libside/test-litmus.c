/* SPDX-License-Identifier: MIT */
/*
 * A grace period at the same time as the beginning of a section. If the writer finds no reader in a
 * section, the reader must find the writer's earlier stores. SIDE_RCU=fence tests the fences of
 * readers instead of membarrier().
 */
#include <stdlib.h>

#include "libside/rcu.h"

#include "litmus.h"

static uint32_t published __attribute__((aligned(64))), is_new __attribute__((aligned(64)));
static uint32_t nr_passed __attribute__((aligned(64)));
static bool quiescence_has_quiesced;

static void grace_reset(void)
{
	__atomic_store_n(&published, 0, __ATOMIC_RELAXED);
}

static void grace_touch(void)
{
	(void)__atomic_load_n(&published, __ATOMIC_RELAXED);
}

static void grace_write(void)
{
	__atomic_store_n(&published, 1, __ATOMIC_RELEASE);
	quiescence_has_quiesced = rcu_has_elapsed(rcu_begin_grace_period());
	__atomic_store_n(&nr_passed, litmus_round + 1, __ATOMIC_RELEASE);
}

/* Stays in the section until the writer has checked. */
static void grace_read(void)
{
	struct rcu_reader *reader = rcu_self;
	uint32_t round = litmus_round;
	bool leave = true;
	unsigned int spins = 0;

	if (!rcu_enter(reader))
		reader = rcu_enter_slow(&leave);
	if (!reader || !leave)
		abort();
	is_new = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
	while (__atomic_load_n(&nr_passed, __ATOMIC_ACQUIRE) != round + 1)
		litmus_pause(&spins);
	rcu_leave(reader);
}

static bool grace_is_short(void)
{
	return quiescence_has_quiesced && !is_new;
}

static const struct litmus test = {"grace period: begin, enter", grace_reset, grace_touch,
		grace_write, grace_read, grace_is_short, false};

int main(void)
{
	setlinebuf(stdout);
	rcu_start();
	litmus_run(&litmus_plain);
	return litmus_run(&test) != 0;
}
