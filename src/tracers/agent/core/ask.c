/* SPDX-License-Identifier: MIT */
/*
 * Ask sessions without a lock: send HELLO or REFRESH to each session that must be asked, then wait
 * for the first answers of all at once. The exchange that follows with the event lock finds its
 * data in the queue, or soon. So a stopped recorder keeps no thread of the program from loading a
 * library.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/core/ask.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/rendezvous.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

static ssize_t ask_message(const struct agent_wanted *wanted, char *message)
{
	const struct wire_refresh refresh = {.token = wanted->token, .generation = wanted->known};

	return wanted->asked == AGENT_ASK_HELLO
			? agent_build_hello(wanted->token, message, message + WIRE_MESSAGE_MAX, 0,
					  wanted->retries)
			: wire_encode_refresh(message, WIRE_MESSAGE_MAX, &refresh);
}

static int agent_ask_query_session(
		struct agent_wanted *wanted, char *message, bool is_explicit, uint64_t deadline)
{
	ssize_t size = ask_message(wanted, message);

	if (size < 0)
		return (int)size;
	wanted->socket = agent_rendezvous() && !is_explicit
			? agent_rendezvous_connect(wanted->path, deadline)
			: wire_connect(wanted->path, deadline);
	if (wanted->socket < 0)
		return wanted->socket;
	if (wanted->asked == AGENT_ASK_HELLO && !agent_has_descriptors(wanted->socket, 0))
		return -EMFILE;
	return wire_send(wanted->socket, message, (size_t)size, NULL, 0, deadline);
}

static void ask_fails(struct agent_wanted *wanted, int error)
{
	wire_close(wanted->socket);
	wanted->socket = -1;
	wanted->error = error;
}

/*
 * Wait until each has answered or hung up. Waiting for one after the other takes no longer: they
 * share a deadline.
 */
static void ask_wait(struct agent_wanted *wanted, uint32_t nr, uint64_t deadline)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		int ret;

		if (!wanted[i].asked || wanted[i].error)
			continue;
		ret = wire_wait(wanted[i].socket, deadline);
		if (ret)
			ask_fails(&wanted[i], ret);
	}
}

void agent_ask(struct agent_wanted *wanted, uint32_t nr, bool is_explicit, uint64_t deadline)
{
	size_t mapped = WIRE_MESSAGE_MAX + (size_t)2 * AGENT_NAME_SIZE;
	char *message = NULL;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		int ret = -ENOMEM;

		if (!wanted[i].asked || wanted[i].error)
			continue;
		wanted[i].socket = -1;
		if (!message)
			message = raw_mmap(NULL, mapped, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1);
		if (message)
			ret = agent_ask_query_session(&wanted[i], message, is_explicit, deadline);
		if (ret)
			ask_fails(&wanted[i], ret);
	}
	if (message)
		raw_munmap(message, mapped);
	ask_wait(wanted, nr, deadline);
}

void agent_ask_drop(struct agent_wanted *wanted, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (wanted[i].asked && !wanted[i].error)
			wire_close(wanted[i].socket);
		wanted[i].asked = AGENT_ASK_NOTHING;
	}
}
