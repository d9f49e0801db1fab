/* SPDX-License-Identifier: MIT */
/*
 * Control by a signal: no thread, and no cost until the signal arrives.
 *
 * The handler does the same as the start of the process, but waits for no lock and no reader. If it
 * cannot have a lock, it leaves a note to the owner of the lock, who calls control_signal_again()
 * when it has released it.
 *
 * A handler cannot set or remove probes, as that needs to wait. For them the process is armed, as
 * in mode THREAD: its next event outside of handlers asks again, or `side attach` does so earlier.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/control-signal.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/control-daemon.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/probes-part.h"
#include "base/inside/raw.h"

/* NSIG, which is no signal's, for a text that is no number. */
static uint32_t control_signal_get_number(const char *digits)
{
	uint32_t number = *digits ? 0 : NSIG;

	for (; *digits >= '0' && *digits <= '9' && number < 1000; digits++)
		number = number * 10 + (uint32_t)(*digits - '0');
	return *digits ? NSIG : number;
}

/* One that a program may have a handler for, and that is not the C library's own. */
static bool may_be(uint32_t number)
{
	return number && number < (uint32_t)NSIG && number != SIGKILL && number != SIGSTOP &&
			(number < 32 || number >= (uint32_t)SIGRTMIN);
}

uint32_t control_signal_number(const char *name)
{
	uint32_t number = 0, i;

	if (!strncmp(name, "SIG", 3))
		name += 3;
	if (*name >= '0' && *name <= '9')
		number = control_signal_get_number(name);
	else if (!strncmp(name, "RTMIN+", 6))
		number = (uint32_t)SIGRTMIN + control_signal_get_number(name + 6);
	else if (!strcmp(name, "RTMIN"))
		number = (uint32_t)SIGRTMIN;
	for (i = 1; !number && i < 32; i++) {
		const char *known = sigabbrev_np((int)i);

		if (known && !strcmp(known, name))
			number = i;
	}
	return may_be(number) ? number : 0;
}

/* What there is to be done, if it can be done here and now. */
static void control_signal_refresh(void)
{
	int ret;

	if (control.mode != WIRE_CONTROL_SIGNAL || control.pid != raw_call(SYS_getpid) ||
			atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed))
		return;
	if (!control_take_turn(0)) {
		if (control_note())
			return;
		/* It was given back between the two. */
		if (!control_take_turn(0))
			return;
	}
	if (agent_is_sandboxed()) {
		control.mode = WIRE_CONTROL_OFF;
	} else {
		ret = control_refresh(WIRE_CONTROL_SIGNAL, false, AGENT_CONNECT_TIMEOUT_MS);
		if (ret)
			agent_debug("update by signal: error %d%s", -ret,
					ret == -EBUSY ? ", tried again when the lock is free" : "");
	}
	if (control.mode == WIRE_CONTROL_SIGNAL && side_tracer_trylock()) {
		if (agent_probes_due())
			control_arm_once();
		side_tracer_unlock();
	}
	control_give_turn();
}

void control_signal_again(void)
{
	int saved_errno = errno;

	control_signal_refresh();
	errno = saved_errno;
}

static void handle_signal(int signal)
{
	int saved_errno = errno;

	(void)signal;
	control_signal_refresh();
	errno = saved_errno;
}

bool control_signal_install(uint32_t signal)
{
	struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};
	struct sigaction before;

	if (sigaction((int)signal, NULL, &before))
		return false;
	if (before.sa_flags & SA_SIGINFO || before.sa_handler != SIG_DFL) {
		agent_debug("the program uses signal %u: side does not use it for control", signal);
		return false;
	}
	/* Handlers that may interrupt an exchange may also emit events, so they are blocked. */
	sigfillset(&action.sa_mask);
	/* But a probe may be a breakpoint. */
	sigdelset(&action.sa_mask, SIGTRAP);
	sigdelset(&action.sa_mask, SIGILL);
	control.noted = control_signal_again;
	side_tracer_unlock_hook(control_signal_again);
	return sigaction((int)signal, &action, NULL) == 0;
}
