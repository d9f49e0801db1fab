/* SPDX-License-Identifier: MIT */
#ifndef RECORDER_SESSION_STATE_H
#define RECORDER_SESSION_STATE_H

/*
 * struct session: the structs of all its parts, and the order of the two threads.
 *
 * The main thread (run.c and all that it calls) talks to agents and never touches the disk, so that a program does not wait for it. The
 * drain thread (drain.c) owns everything about writing: traces, rings, losses. They meet in `lock`:
 *
 *	main writes, drain reads	the list of instances, instance.state up to ENDED, instance.kinds
 *	drain writes, main reads	instance.state CLOSED and `finished`, memory given back, rings that are freed
 *	both write			messages, losses, failure
 *
 * Channels never change. Their rules are the main thread's: a live session gets others. Figures that the drain thread counts and the
 * main thread shows are atomic. The header of each part states which thread calls it, and whether with the lock.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "ctf/ctf.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/probe-offers.h"
#include "recorder/core/run.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "recorder/core/totals.h"
#include "recorder/core/watch.h"
#include "recorder/rotation/retain.h"
#include "recorder/rotation/rotate.h"
#include "recorder/rotation/trigger.h"
#include "recorder/storage/disk-full.h"
#include "ring/ring.h"

struct channel;
struct connection;
struct instance;
struct place;
struct refusal;
struct service;

struct session {
	/* Options, checked. */
	enum session_mode mode;
	bool wait_all;
	bool recovers;           /* no command and no agents: recover.c */
	struct service *service; /* no command, but agents: live.c */
	uint64_t memory_limit;
	char *output;
	int output_lock;          /* held while we record: `side view --follow` asks */
	struct channel *channels; /* in a listing one without rings; room for the most */
	uint32_t nr_channels;     /* that are in traces */
	uint32_t nr_all_channels; /* with those of triggers */
	bool huge_pages;          /* until there are none left (lock) */
	bool prefault;
	enum ctf_format format;
	int compress;
	char *buffers; /* directory of rings in files, or NULL */
	int buffers_fd;
	bool buffers_ours; /* made by us */
	struct place *place; /* state-directory.h, or NULL: `buffers` is none, or what the user named */
	char *preload;       /* value of LD_PRELOAD */
	char *sockets;       /* value of SIDE_AGENT_SOCKET */
	char **environment; /* "NAME=VALUE" */
	size_t nr_environment;

	struct probe_offers probes, next_probes; /* now, and from the next change on */

	/* The socket. */
	char runtime[96];
	int runtime_fd; /* its lock */
	char socket_path[104];
	bool socket_is_secret; /* whoever knows its name is one of ours, whatever its user */
	struct watch listener;
	bool listener_refuses_fds; /* peer_refuse_fds() */
	struct connection *connections;
	struct connection *closed_connections; /* to be freed at the end of the turn */
	struct shares connection_shares;
	unsigned char *message; /* WIRE_MESSAGE_MAX */

	/* The clock, one for all traces. */
	enum ring_clock clock;
	struct ring_clock_sample begin;
	struct ctf_clock ctf_clock;
	struct ctf_clock corrected_clock; /* in place of ctf_clock; of the drain thread */
	bool is_clock_corrected;
	struct ctf_clock final_clock; /* that traces were closed with at the end */
	bool has_final_clock;
	bool monotonic; /* asked for */
	bool pass_on;   /* interrupts, to the command */
	uint64_t begin_ticks;
	char hostname[65];

	struct ring_bells *bells; /* of all rings that are drained */
	struct command command;
	bool begun; /* run_begin() */
	int epoll;
	struct watch signals;
	sigset_t old_mask;
	bool mask_is_ours;
	struct sigaction old_child;
	struct sigaction old_user, old_user2; /* of SIGUSR1 and SIGUSR2, for the command */
	struct rlimit old_files, old_file_size;
	struct sigaction old_size_signal; /* of SIGXFSZ */
	uint32_t max_ended_files;         /* that ended instances keep open */
	unsigned int interrupts;
	unsigned int turns_of_words; /* in which deaths have waited */
	bool interrupted;
	size_t nr_refused;        /* processes */
	char *refused;            /* the message about the first one */
	struct refusal *refusals; /* of those that still run; the main thread's */
	size_t nr_refusals;

	pthread_t drainer;
	bool drainer_runs;
	atomic_bool stop; /* drain everything a last time and end */
	struct rotation rotation;
	struct retention retention;
	struct full full;
	struct triggers triggers;
	struct instance *writers; /* instances that have one */
	atomic_uint rotations_wanted;
	atomic_bool clear_wanted; /* by the last of them */
	atomic_uint snapshots_wanted;
	uint32_t nr_snapshots; /* made (lock) */
	int snapshot_error;    /* of the last attempt: 0 or a negative errno (lock) */
	/* Names of the first and the last of them, "": none (lock). */
	char snapshot_first[SESSION_SNAPSHOT_NAME_MAX];
	char snapshot_last[SESSION_SNAPSHOT_NAME_MAX];
	/* Rounds of the drain thread that somebody waits for, and the last of them that is done (lock). */
	struct session_rounds *rounds; /* for somebody else, or NULL */
	atomic_uint rounds_wanted;
	uint32_t rounds_done;
	pthread_cond_t round_done;
	void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost);
	void *progress_user;
	_Atomic uint64_t written; /* running totals for progress */
	_Atomic uint64_t lost;
	_Atomic uint64_t snapshot_recorded; /* in all snapshots; an event can be in several */
	uint64_t snapshot_first_recorded, snapshot_last_recorded; /* in one */
	/* totals.c, the drain thread's: instances that are CLOSED (lock); with one that will be; as the place has it. */
	struct totals ended, ended_next, ended_before;
	char *ended_last;
	bool totals_unnoted; /* said so */

	pthread_mutex_t lock;
	struct instance *instances, **instances_end;
	struct instance *fresh;  /* that the drain thread has not taken yet, by next_active */
	struct instance *live;   /* the main thread's */
	uint32_t nr_instances;   /* that ever were: numbers count on */
	uint32_t nr_freed;       /* of them */
	atomic_uint nr_finished; /* that are still in the list */
	uint32_t nr_live;
	uint32_t max_live;
	struct shares live_shares;        /* processes that live (lock), */
	struct shares memory_shares;      /* memory of rings, */
	struct shares description_shares; /* bytes of descriptions, */
	struct lines lines;               /* messages about programs (lock) */
	uint64_t memory_used, memory_peak;
	uint64_t memory_ended; /* of instances that have ended: will be given back soon */
	size_t nr_denied;      /* processes whose events found no ring memory */
	uint64_t leases_next;  /* the drain thread's: next search for idle rings */
	pthread_cond_t memory_back;

	struct session_message *messages;
	size_t nr_messages, room_messages;
	struct session_loss *losses;
	size_t nr_losses, room_losses;
	uint64_t losses_rest; /* records lost beyond the limit on what is told apart */
	enum session_error_kind failure;

	struct session_process *processes; /* made for the summary */
	struct session_summary summary;
};

#endif
