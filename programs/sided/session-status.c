/* SPDX-License-Identifier: MIT */
/* Converts a session's status to JSON, for `side status` and `side top`. */
#include <stdlib.h>
#include <string.h>

#include "recorder/core/live.h"
#include "sided.h"
#include "protocol/protocol.h"

static const char *session_status_control_name(uint32_t control)
{
	static const char *const names[WIRE_NR_CONTROLS] = {"off", "sync", "thread", "signal"};

	return names[control < WIRE_NR_CONTROLS ? control : 0];
}

/* "": an agent of an earlier release, or a program that was found after its recorder was killed. */
static const char *session_status_loader_name(uint32_t loader)
{
	static const char *const names[WIRE_NR_LOADERS] = {"", "libside", "preload", "attach"};

	return names[loader < WIRE_NR_LOADERS ? loader : 0];
}

/* Names come from programs. JSON must be UTF-8, so invalid bytes are replaced. */
static bool session_status_add_name(
		struct json_object *object, const char *member, const char *name)
{
	char clean[4096];
	size_t size;

	snprintf(clean, sizeof(clean), "%s", name ? name : "");
	for (size = 0; clean[size]; size++)
		if ((unsigned char)clean[size] < ' ' || (unsigned char)clean[size] >= 0x7f)
			clean[size] = '?';
	return json_put_text(object, member, clean);
}

static bool session_status_append_item(
		struct json_object *list, struct json_object *element, bool whole)
{
	if (whole && list && !json_object_array_add(list, element))
		return true;
	json_object_put(element);
	return false;
}

static bool put_loss(struct json_object *list, const struct session_status_process *process,
		const struct session_status_loss *loss)
{
	struct json_object *object = json_object_new_object();
	char ring[96] = "";

	if (loss->ring < process->nr_rings)
		snprintf(ring, sizeof(ring), "%s_%u", process->rings[loss->ring].channel,
				process->rings[loss->ring].number);
	return session_status_append_item(list, object,
			json_put_number(object, "pid", (uint64_t)process->peer) &&
					session_status_add_name(
							object, "process", process->directory) &&
					json_put_text(object, "ring", ring) &&
					session_status_add_name(object, "event", loss->event) &&
					json_put_text(object, "reason",
							loss->reason ? loss->reason : "") &&
					json_put_number(object, "count", loss->count));
}

static bool session_status_add_process(
		struct json_object *list, const struct session_status_process *process)
{
	struct json_object *object = json_object_new_object();

	return session_status_append_item(list, object,
			json_put_number(object, "pid", (uint64_t)process->peer) &&
					json_put_number(object, "vpid", process->pid) &&
					json_put_number(object, "uid", process->uid) &&
					session_status_add_name(
							object, "name", process->procname) &&
					session_status_add_name(object, "exe", process->exe) &&
					session_status_add_name(
							object, "directory", process->directory) &&
					json_put_text(object, "control",
							session_status_control_name(
									process->control)) &&
					(!process->loader ||
							json_put_text(object, "joined-by",
									session_status_loader_name(
											process->loader))) &&
					json_put_number(object, "generation",
							process->generation) &&
					json_put_flag(object, "live", !process->ended) &&
					json_put_number(object, "events", process->events) &&
					json_put_number(object, "recorded", process->recorded) &&
					json_put_number(object, "bytes", process->bytes) &&
					json_put_number(object, "lost", process->lost) &&
					json_put_number(object, "unwritten", process->unwritten) &&
					json_put_number(object, "overwritten",
							process->overwritten) &&
					json_put_number(object, "memory", process->memory));
}

static bool session_status_add_totals(
		struct json_object *object, const struct session_status *status)
{
	return json_put_number(object, "recorded", status->recorded) &&
			json_put_number(object, "bytes", status->bytes) &&
			json_put_number(object, "lost", status->lost) &&
			json_put_number(object, "unwritten", status->unwritten) &&
			json_put_number(object, "overwritten", status->overwritten) &&
			json_put_number(object, "snapshots", status->snapshots) &&
			json_put_number(object, "snapshot-recorded", status->snapshot_recorded) &&
			json_put_number(object, "memory", status->memory) &&
			json_put_number(object, "memory-peak", status->memory_peak) &&
			json_put_number(object, "memory-limit", status->memory_limit) &&
			json_put_number(object, "seen", status->nr_seen) &&
			json_put_number(object, "refused", status->nr_refused) &&
			json_put_number(object, "idle", status->nr_idle) &&
			json_put_number(object, "untracked", status->nr_untracked);
}

static bool put_channels(struct json_object *object, const struct session_status *status)
{
	struct json_object *list = json_object_new_array();
	bool fits = list;
	size_t i;

	for (i = 0; i < status->nr_channels && fits; i++) {
		const struct session_status_channel *channel = &status->channels[i];
		struct json_object *stats = json_object_new_object();

		fits = session_status_append_item(list, stats,
				json_put_text(stats, "channel", channel->name) &&
						json_put_number(stats, "recorded",
								channel->recorded) &&
						json_put_number(stats, "lost", channel->lost) &&
						json_put_number(stats, "bytes", channel->bytes));
	}
	return json_put(object, "channels", list) && fits;
}

/* When a session is over, only its summary contains the losses. */
static bool put_last_losses(struct json_object *list, const struct session_summary *summary)
{
	bool fits = true;
	size_t i;

	for (i = 0; i < summary->nr_losses && fits; i++) {
		const struct session_loss *loss = &summary->losses[i];
		struct json_object *object = json_object_new_object();

		fits = session_status_append_item(list, object,
				session_status_add_name(object, "process", loss->process) &&
						json_put_text(object, "ring", loss->ring) &&
						session_status_add_name(
								object, "event", loss->event) &&
						json_put_text(object, "reason", loss->reason) &&
						json_put_number(object, "count", loss->count) &&
						json_put_flag(object, "in_bytes", loss->in_bytes));
	}
	return fits;
}

/* Lists programs that wait for a share of this session. */
static bool put_refused(struct json_object *object, const struct session_status *status)
{
	struct json_object *list = json_object_new_array();
	bool fits = list;
	size_t i;

	for (i = 0; i < status->nr_waiting && fits; i++) {
		const struct session_status_refused *refused = &status->refused[i];
		struct json_object *one = json_object_new_object();

		fits = session_status_append_item(list, one,
				json_put_number(one, "pid", (uint64_t)refused->peer) &&
						json_put_number(one, "uid", refused->uid) &&
						session_status_add_name(
								one, "name", refused->procname) &&
						json_put_text(one, "reason", refused->reason));
	}
	return json_put(object, "waiting", list) && fits;
}

bool session_sums(struct session *session, struct json_object *object)
{
	struct session_status status;
	bool fits = !session_status(session, &status);

	if (fits) {
		fits = session_status_add_totals(object, &status) && put_channels(object, &status);
		session_status_free(&status);
	}
	return fits;
}

struct json_object *session_stats(struct session *session, bool over)
{
	struct json_object *object = json_object_new_object();
	struct json_object *processes = json_object_new_array();
	struct json_object *losses = json_object_new_array();
	struct session_status status;
	bool fits = object && processes && losses && !session_status(session, &status);
	size_t i, k;

	if (!fits) {
		json_object_put(object);
		json_object_put(processes);
		json_object_put(losses);
		return NULL;
	}
	for (i = 0; i < status.nr_processes && fits; i++) {
		fits = session_status_add_process(processes, &status.processes[i]);
		for (k = 0; k < status.processes[i].nr_losses && fits; k++)
			fits = put_loss(losses, &status.processes[i],
					&status.processes[i].losses[k]);
	}
	if (over && fits)
		fits = put_last_losses(losses, session_summary(session));
	fits = fits && session_status_add_totals(object, &status) &&
			put_channels(object, &status) && put_refused(object, &status);
	session_status_free(&status);
	fits = json_put(object, "processes", processes) && fits;
	fits = json_put(object, "losses", losses) && fits;
	if (fits)
		return object;
	json_object_put(object);
	return NULL;
}
