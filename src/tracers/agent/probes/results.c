/* SPDX-License-Identifier: MIT */
/*
 * Report the state of a table's probes to the session that sent it, as runs of probes with the same
 * state.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracers/agent/probes/probes.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

static uint16_t probes_result_probe_state(const struct probes_location *location)
{
	if (location->patch)
		return (uint16_t)location->method;
	if (location->watched)
		return WIRE_PROBE_UPROBE;
	return location->error ? WIRE_PROBE_REFUSED : WIRE_PROBE_RESTS;
}

/* Returns the worst state of a probe among its locations. */
static struct wire_probe_run probes_result_worst_run(
		const struct probes_table *table, uint32_t index)
{
	struct wire_probe_run run = {.first = index, .count = 1};
	const struct probes_spec_details *details;

	if (table->errors[index]) {
		run.state = WIRE_PROBE_REFUSED;
		run.error = (uint16_t)-table->errors[index];
		return run;
	}
	for (details = table->details[index]; details; details = details->next_same) {
		uint16_t state = probes_result_probe_state(details->location);

		run.maps++;
		if (state < run.state)
			continue;
		run.state = state;
		run.error = state == WIRE_PROBE_REFUSED ? (uint16_t)-details->location->error : 0;
	}
	return run;
}

static bool are_alike(const struct wire_probe_run *one, const struct wire_probe_run *other)
{
	return one->state == other->state && one->error == other->error && one->maps == other->maps;
}

/* Collect as many runs as one message holds, from probe `*at` on; advances `*at`. */
static uint32_t probes_result_collect(const struct probes_table *table, uint32_t nr_probes,
		uint32_t *at, struct wire_probe_run *runs)
{
	uint32_t nr = 0;

	for (; *at < nr_probes; (*at)++) {
		struct wire_probe_run run = probes_result_worst_run(table, *at);

		if (nr && are_alike(&runs[nr - 1], &run)) {
			runs[nr - 1].count++;
			continue;
		}
		if (nr == WIRE_PROBED_RUNS_MAX)
			break;
		runs[nr++] = run;
	}
	return nr;
}

static void probes_result_read_statistics(struct wire_probed *probed)
{
	struct patch_stats stats;

	patch_stats(&stats);
	probed->cut = stats.cut;
	probed->lost = stats.lost + __atomic_load_n(&probe_hit_lost, __ATOMIC_RELAXED);
	probed->unseen = stats.unseen;
	probed->abandoned = stats.abandoned;
	probed->traps = stats.traps;
	probed->code_bytes = stats.bytes;
}

static int send_all(int socket, const struct agent_session *session,
		const struct probes_table *table, struct wire_probe_run *runs, void *message,
		uint64_t deadline)
{
	struct wire_probed probed = {.token = session->token,
			.table = table->number,
			.error = (uint32_t)-table->error,
			.nr_probes = table->error ? 0 : probe_table_nr_probes(&table->table),
			.runs = runs};
	uint32_t at = 0;

	probes_result_read_statistics(&probed);
	do {
		ssize_t size;
		int ret;

		probed.nr_runs = probes_result_collect(table, probed.nr_probes, &at, runs);
		probed.last = at == probed.nr_probes;
		size = wire_encode_probed(message, WIRE_MESSAGE_MAX, &probed);
		ret = size < 0 ? (int)size
			       : wire_send(socket, message, (size_t)size, NULL, 0, deadline);
		if (ret)
			return ret;
		probed.sequence++;
	} while (!probed.last);
	return 0;
}

int probes_answer(struct agent_session *session, const struct probes_table *table)
{
	uint64_t deadline = agent_deadline(AGENT_EVENTS_TIMEOUT_MS);
	size_t bytes = WIRE_MESSAGE_MAX + WIRE_PROBED_RUNS_MAX * sizeof(struct wire_probe_run);
	char *memory = raw_mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int socket, ret;

	if (!memory)
		return -ENOMEM;
	socket = agent_session_connect(session, deadline);
	ret = socket < 0 ? socket
			 : send_all(socket, session, table,
					   (struct wire_probe_run *)(void *)(memory +
							   WIRE_MESSAGE_MAX),
					   memory, deadline);
	wire_close(socket);
	raw_munmap(memory, bytes);
	return ret;
}
