/* SPDX-License-Identifier: MIT */
/*
 * Limits how long the program waits for daemons and recorders.
 *
 * A wait belongs to an occasion: the start of the program, a change of sessions, a library with
 * events, a fork. All waits of one occasion together take AGENT_WAIT_MS at most, for any number of
 * daemons and sessions. A session that has not answered is stalled: no thread waits for it again
 * within STALLED_MS. The control thread detects its answer (agent_stalled_check()), and then joins
 * it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/wait.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/rendezvous.h"
#include "base/inside/raw.h"

#define STALLED_MS 2000
/* timeout of the control thread's question; no application thread waits for it */
#define ANSWER_MS 5000
#define STALLED_MAX 8
#define WAITS_LATER UINT64_MAX /* the deadline is set when the first wait begins */

static struct {
	/* end of the waits of the start, and of a forked child's; 0: there is no such occasion */
	uint64_t start;
	uint64_t locked; /* of the occasion that has the event lock (of libside) */
	struct {
		uint64_t until;
		char path[WIRE_SESSION_PATH_MAX + 1];
	} stalled[STALLED_MAX];
} waits;

/*
 * Relaxed, here and below: a wait that is too long or too short by a race is bounded by its own
 * timeout.
 */
static uint64_t wait_earlier(uint64_t deadline, const uint64_t *occasion)
{
	uint64_t end = __atomic_load_n(occasion, __ATOMIC_RELAXED);

	return end && end < deadline ? end : deadline;
}

unsigned int agent_scale_timeout(unsigned int timeout_ms)
{
	return timeout_ms * (agent.wait.timeout_factor ? agent.wait.timeout_factor : 1);
}

uint64_t agent_deadline(unsigned int timeout_ms)
{
	uint64_t deadline = wire_deadline(agent_scale_timeout(timeout_ms));

	if (waits.locked == WAITS_LATER)
		__atomic_store_n(&waits.locked, wire_deadline(agent_scale_timeout(AGENT_WAIT_MS)),
				__ATOMIC_RELAXED);
	return wait_earlier(wait_earlier(deadline, &waits.start), &waits.locked);
}

uint64_t agent_deadline_unlocked(unsigned int timeout_ms)
{
	return wait_earlier(wire_deadline(agent_scale_timeout(timeout_ms)), &waits.start);
}

void agent_waits_forked(void)
{
	waits.start = waits.locked = 0;
}

void agent_start_begins(void)
{
	__atomic_store_n(&waits.start, wire_deadline(agent_scale_timeout(AGENT_WAIT_MS)),
			__ATOMIC_RELAXED);
}

void agent_start_ends(void)
{
	__atomic_store_n(&waits.start, 0, __ATOMIC_RELAXED);
}

bool agent_occasion_begins(uint64_t deadline)
{
	if (waits.locked)
		return false;
	__atomic_store_n(&waits.locked, deadline ? deadline : WAITS_LATER, __ATOMIC_RELAXED);
	return true;
}

void agent_occasion_ends(bool begun)
{
	if (begun)
		__atomic_store_n(&waits.locked, 0, __ATOMIC_RELAXED);
}

/* ---- sessions that do not answer ---- */

/* Returns the deadline of a stalled session; NULL if the session is not stalled. */
static uint64_t *wait_find_stalled(const char *path)
{
	size_t i;

	for (i = 0; i < STALLED_MAX; i++)
		if (waits.stalled[i].until && !strcmp(waits.stalled[i].path, path))
			return &waits.stalled[i].until;
	return NULL;
}

void agent_stalled_note(const char *path)
{
	uint64_t *until = wait_find_stalled(path);
	size_t i, oldest = 0;

	for (i = 1; i < STALLED_MAX; i++)
		if (waits.stalled[i].until < waits.stalled[oldest].until)
			oldest = i;
	if (!until) {
		if (strlen(path) >= sizeof(waits.stalled[oldest].path))
			return;
		strcpy(waits.stalled[oldest].path, path);
		until = &waits.stalled[oldest].until;
	}
	*until = wire_deadline(STALLED_MS);
}

bool agent_is_stalled(const char *path)
{
	const uint64_t *until = wait_find_stalled(path);

	return until && wire_deadline(0) < *until;
}

bool agent_was_stalled(const char *path)
{
	size_t i;

	for (i = 0; i < STALLED_MAX; i++)
		if (!strcmp(waits.stalled[i].path, path))
			return true;
	return false;
}

void agent_stalled_forget(const char *path)
{
	uint64_t *until = wait_find_stalled(path);

	if (until)
		*until = 0;
}

/* Asks a question without effect: the recorder answers that it does not know this process. */
static bool wait_session_answers(const char *path)
{
	const struct wire_refresh refresh = {.token = 1};
	uint64_t deadline = wire_deadline(ANSWER_MS);
	char message[512];
	ssize_t size = wire_encode_refresh(message, sizeof(message), &refresh);
	int socket = agent_rendezvous() ? agent_rendezvous_connect(path, deadline)
					: wire_connect(path, deadline);
	int ret = socket < 0 ? socket : wire_send(socket, message, (size_t)size, NULL, 0, deadline);

	if (!ret &&
			wire_receive(socket, message, sizeof(message), NULL, NULL, deadline) ==
					-ETIMEDOUT)
		ret = -ETIMEDOUT;
	wire_close(socket);
	/*
	 * If the socket is gone, no thread will wait for the session, so it need not stay in the
	 * list.
	 */
	return ret != -ETIMEDOUT;
}

/* Copies the path of a stalled session. Takes the event lock for a moment. */
static bool wait_copy_stalled(size_t i, char path[WIRE_SESSION_PATH_MAX + 1])
{
	bool is_stalled;

	side_tracer_lock();
	is_stalled = waits.stalled[i].until != 0;
	memcpy(path, waits.stalled[i].path, WIRE_SESSION_PATH_MAX + 1);
	side_tracer_unlock();
	return is_stalled;
}

bool agent_stalled_check(void)
{
	char path[WIRE_SESSION_PATH_MAX + 1];
	size_t i;

	for (i = 0; i < STALLED_MAX; i++) {
		if (!wait_copy_stalled(i, path) || !wait_session_answers(path))
			continue;
		side_tracer_lock();
		agent_stalled_forget(path);
		side_tracer_unlock();
		return true;
	}
	return false;
}
