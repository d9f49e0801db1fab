/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_INSTANCE_H
#define SIDE_RECORDER_CORE_INSTANCE_H

/*
 * A process image: what is known of it, and how it ends. instance-create.h and storage/instance-free.h create and free it.
 *
 * The main thread creates, links and ends instances and frees those that are finished. The drain thread reads the list from the moment an
 * instance is linked. Under the session's lock: the list, `state`, `finished`, and the members with "(lock)".
 *
 * An instance is LIVE, then ENDED (its process has exited, or became another image, or the session stops), then CLOSED (all that it
 * published is written, its rings are freed), and `finished` when the drain thread has forgotten it. A live session frees those, others
 * keep them for the summary.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/channels.h"
#include "recorder/core/maps.h"
#include "recorder/core/shares.h"
#include "recorder/core/watch.h"
#include "ring/ring.h"

struct ctf_clock;
struct ctf_stream;
struct ctf_writer;
struct event_class;
struct journal;
struct installed_table;
struct session;
struct reported_loss;
struct wire_hello;

#define LIMIT_INSTANCES 1000000 /* in a session */

/* The drain thread's view of a ring. */
struct instance_ring {
	struct ctf_stream *stream;
	uint64_t discarded;        /* the counter with its last packet, from the ring's beginning */
	uint64_t discarded_before; /* the same, of the last packet in the chunk before this one */
	bool known;                /* has a stream in the trace, or had one in an earlier chunk */
	bool held;                 /* its records wait since the disk is full */
	bool window_written;       /* at the end, of a ring that overwrites */
	bool unnoted;              /* the journal does not take it: was reported */
	uint64_t begin;            /* where its stream begins; 0: with the process */
	/* Shown by statistics.c meanwhile: */
	_Atomic uint64_t written;     /* bytes of records */
	_Atomic uint64_t unwritten;   /* bytes that found no space on the disk */
	_Atomic uint64_t overwritten; /* bytes before the window that was written */
	_Atomic uint64_t
			recorded; /* records: in files for good, with those of the recorders before */
	bool damaged;             /* was reported */
};

struct instance_channel {
	const struct channel *channel;
	struct ring_geometry geometry;
	uint64_t memory;
	int ring_fd;      /* of leased rings (leases.c), or -1 */
	uint64_t revoked; /* bytes of `memory` that are taken back, and not charged (lock) */
	bool unmatched;   /* that was because the program had described no event (lock) */
	bool refuses;     /* it has used what was taken back, and keeps all for ever (lock) */
	uint64_t activity,
			active_ns; /* the drain thread's: the last change of ring_lease_activity() */

	/* Event classes by id: index into instance.kinds + 1, with holes. */
	uint32_t *by_id;
	uint32_t ids_capacity;

	/* The drain thread's, once the instance is in the list. */
	struct ring_consumer *rings;
	struct instance_ring *each;
	/* Of its rings together, shown by statistics.c: */
	_Atomic uint64_t written;
	_Atomic uint64_t recorded;
	uint64_t lost; /* once they are freed (lock) */
};

enum instance_state { INSTANCE_LIVE, INSTANCE_ENDED, INSTANCE_CLOSED };

struct instance {
	struct recorder_watch watch; /* the pidfd */
	struct instance *next;
	struct instance *next_live; /* the main thread's list */
	uint32_t number;
	enum instance_state state;
	int crash;           /* the signal that it died of, if that was a fault (lock) */
	bool crash_pictured; /* in a snapshot (lock) */

	/* From HELLO and the kernel. */
	pid_t peer;           /* in our pid namespace */
	uint32_t pid, parent; /* in its own */
	uint64_t token;
	uid_t uid; /* when it connected last */
	gid_t gid;
	uid_t account;                    /* its first user, whose share it uses */
	uint32_t control, control_signal; /* enum wire_control */
	uint64_t generation;              /* of the rules that it was sent last */
	char *procname;
	char *exe;

	/* Probes, the main thread's. */
	bool takes_probes;
	bool is_command;  /* what the command executes first */
	uint64_t started; /* session_process_start(); 0: not read yet */
	uint32_t family; /* the process that it was forked from, when that was one that probes are for */
	uint64_t family_started;
	struct installed_table *installed;
	size_t nr_installed;

	/* Event classes, in the order of their arrival. */
	struct event_class *classes;
	uint32_t nr_classes, classes_capacity;
	uint64_t description_bytes;
	bool listed; /* has sent BYE */

	struct instance_channel *channels;
	uint32_t nr_channels;     /* that are in the trace */
	uint32_t nr_all_channels; /* with those of triggers */
	uint64_t memory;          /* that the session is charged with for all of them (lock) */
	bool trimmed;             /* that is what they hold, for the process has ended */
	bool takes_leases;        /* WIRE_FEATURE_LEASE */
	const char *denied;       /* why it asked for ring memory in vain, or NULL (lock) */
	bool counted_denied;      /* in nr_denied (lock) */
	uint64_t refused; /* processes that it has forked, atomically: not recorded; or it itself */
	uint64_t begin_ticks;

	/* With --buffers: its folder below that directory, and the descriptions in it. */
	char *folder;
	int described_fd;
	struct journal *journal; /* with a state directory (storage/state-directory.h) */
	struct ctf_clock *
			own_clock; /* of the boot that it was recorded in, or NULL: the session's */

	/* The drain thread's, once the instance is in the list. */
	struct instance *next_active;
	struct ctf_writer *writer;
	struct instance *next_writer, **writer_at; /* the session's list, while there is a writer */
	uint64_t writer_bytes;          /* of what the writer has written, in `bytes` already */
	uint32_t nr_streams;            /* open files of the writer, beside its own, at most */
	struct reported_loss *reported; /* losses that earlier chunks contain: losses.c */
	size_t nr_reported;
	int unwritten_code;    /* why something found no space on the disk, an errno value */
	uint32_t nr_described; /* of kinds, in the metadata */
	uint32_t nr_names;     /* different events among the kinds */
	uint64_t last_ticks;   /* of what was written */
	uint64_t bytes;
	uint64_t lost;
	uint64_t overwritten;
	_Atomic uint64_t written;  /* bytes of records, of all rings */
	_Atomic uint64_t recorded; /* records, likewise */
	uint64_t unwritten;        /* likewise, once it is CLOSED */
	char *directory;           /* below the output directory, or NULL; changes under the lock */
	bool finished;             /* under the lock */

	struct instance_maps maps; /* of its code; under the session's lock */

	struct channel *own_channels; /* of a recovery: no other instance has them */
};

struct session_instances {
	struct instance *list;  /* (lock) */
	struct instance **end;  /* (lock) */
	struct instance *fresh; /* that the drain thread has not taken yet, by next_active (lock) */
	struct instance *live;  /* the main thread's */
	uint32_t nr;            /* that ever existed: numbers count on */
	uint32_t nr_freed;      /* of them */
	atomic_uint nr_finished; /* that are still in the list */
	uint32_t nr_live;        /* (lock) */
	uint32_t max_live;
	struct shares shares; /* processes that live (lock) */
};

struct instance *instance_allocate(const char *procname, const char *exe,
		const struct channel *channels, uint32_t nr_channels);
char *instance_clean_name(const char *name);
/* Main thread: its own list, no lock. */
struct instance *instance_find(struct session *session, uint64_t token, pid_t peer);
/* The process that forked it, if it is known and runs. Main thread: its own list, no lock. */
struct instance *instance_find_parent(
		const struct session *session, const struct wire_hello *hello);
/* Then another process can have its process id. */
bool instance_has_exited(const struct instance *instance);
/* A program speaks under this pid for the first time: what was known there has ended. Main thread, without the lock. */
void instance_end_predecessor(struct session *session, pid_t peer);
/* Into the lists; false: it cannot be watched. Main thread; takes the lock. */
bool instance_link(struct session *session, struct instance *instance);
/* Main thread; takes the lock. */
void instance_end(struct session *session, struct instance *instance);
/* Count a process that is not recorded as a loss of the process that created it, if that is known. Main thread. */
void instance_count_refused(const struct session *session, const struct wire_hello *hello);
/* Remove finished instances from the list, for instance_free(). Main thread; takes the lock. */
struct instance *instances_take_finished(struct session *session);

#endif
