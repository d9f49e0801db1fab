/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_SESSION_STATE_H
#define SIDE_RECORDER_SESSION_STATE_H

/*
 * struct session composes the structs of all parts of a session; this comment states what its two
 * threads share.
 *
 * The main thread (run.c and all that it calls) exchanges messages with agents and never waits for
 * the disk, so that no program waits for it. The drain thread (drain.c) owns traces, rings and
 * losses. `lock` protects what they share:
 *
 *   main writes, drain reads    the list of instances, instance.state up to ENDED, instance.classes
 *   drain writes, main reads    instance.state CLOSED and `finished`, returned memory, freed rings
 *   both write                  messages, losses, failure
 *
 * Channels never change. Their rules belong to the main thread: in a live session they can change.
 * Statistics that the drain thread counts and the main thread reads are atomic. The header of each
 * part states which thread calls it, and whether with the lock.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder/core/clock.h"
#include "recorder/connection.h"
#include "recorder/drain.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/listener.h"
#include "recorder/loading.h"
#include "recorder/core/memory.h"
#include "recorder/core/probes.h"
#include "recorder/refusals.h"
#include "recorder/unrecorded-files.h"
#include "recorder/core/report.h"
#include "recorder/run-turn.h"
#include "recorder/session-life.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/spawn.h"
#include "recorder/core/totals.h"
#include "recorder/rotation/retain.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/snapshot.h"
#include "recorder/rotation/trigger.h"
#include "recorder/storage/buffers.h"
#include "recorder/storage/disk-full.h"
#include "recorder/storage/output.h"

struct channel;
struct state_directory;
struct service;
struct trace_hooks;

struct session {
	enum session_mode mode;
	bool wait_all;
	bool recovers;           /* recovery, without command and agents: recover.c */
	struct service *service; /* a live session, without a command: live.c; else NULL */
	char hostname[65];
	struct state_directory *state_dir; /* NULL: none, or only the directory of --buffers */
	struct channel *channels; /* in a listing one without rings; has the maximum capacity */
	uint32_t nr_channels;     /* channels in traces */
	uint32_t nr_all_channels; /* channels in traces and of triggers */

	struct session_tables tables, next_tables; /* tables in use, and from the next change on */
	struct traced_command command;

	struct session_output output;
	const struct trace_hooks *trace_hooks; /* storage/trace.h; constant */
	struct session_memory memory;
	struct session_leases leases;
	struct session_buffers buffers;
	struct session_spawn spawn;
	struct session_listener listener;
	struct session_connections connections;
	struct session_loading loading;
	struct session_clock clock;
	struct session_loop loop;
	struct session_files files;
	struct session_refusals refusals;
	struct session_unrecorded_files unrecorded_files;
	struct session_drain drain;
	struct session_snapshots snapshots;
	struct session_totals totals;
	struct session_instances instances;
	struct session_reports reports;
	struct rotation rotation;
	struct retention retention;
	struct full full;
	struct triggers triggers;

	pthread_mutex_t lock;
	struct shares description_shares; /* bytes of descriptions (lock) */

	struct session_process *processes; /* created for the summary */
	struct session_summary summary;
};

#endif
