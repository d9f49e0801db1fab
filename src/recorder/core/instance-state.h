/* SPDX-License-Identifier: MIT */
/*
 * The state of an instance, which the parts of the recorder share. instance.h says which thread
 * uses it, and under which lock.
 */
#ifndef SIDE_RECORDER_CORE_INSTANCE_STATE_H
#define SIDE_RECORDER_CORE_INSTANCE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/shares.h"
#include "recorder/core/watch.h"
#include "ring/ring.h"

struct channel;
struct ctf_clock;
struct ctf_stream;
struct ctf_writer;
struct event_class;
struct journal;
struct installed_table;
struct reported_loss;

#define LIMIT_INSTANCES 1000000 /* in a session */

/* State of one ring that only the drain thread uses. */
struct instance_ring {
	struct ctf_stream *stream;
	/* loss counter at its last packet, counted from the creation of the ring */
	uint64_t discarded;
	uint64_t discarded_before; /* the same, at the last packet of the previous chunk */
	bool known;                /* has a stream in the trace, or had one in an earlier chunk */
	bool held;                 /* its records wait because the disk is full */
	bool window_written;       /* at the end, of a ring in overwrite mode */
	bool unnoted;              /* the journal cannot contain this ring: reported */
	uint64_t begin;            /* start time of its stream; 0: start of the process */
	/* Read concurrently by statistics.c: */
	_Atomic uint64_t written;     /* bytes of records */
	_Atomic uint64_t unwritten;   /* bytes that could not be written: no space on the disk */
	_Atomic uint64_t overwritten; /* bytes overwritten before the window that was written */
	/* records in files that will not be rewritten, including those of earlier recorders */
	_Atomic uint64_t recorded;
	bool damaged; /* corruption was reported */
};

struct instance_channel {
	const struct channel *channel;
	struct ring_geometry geometry;
	uint64_t memory;
	int ring_fd;      /* of leased rings (leases.c), or -1 */
	uint64_t revoked; /* bytes of `memory` that are revoked, and not charged (lock) */
	/* they were revoked because the program had described no matching event (lock) */
	bool unmatched;
	/* the program used revoked memory: nothing is revoked from it again (lock) */
	bool refuses;
	/* last change of ring_lease_activity(), and its time (drain thread) */
	uint64_t activity, active_ns;

	/* Event classes by id: index into instance.classes + 1; 0 for unused ids. */
	uint32_t *by_id;
	uint32_t ids_capacity;

	/* Drain thread only, once the instance is in the list. */
	struct ring_consumer *rings;
	struct instance_ring *each;
	/* Sums over its rings, read concurrently by statistics.c: */
	_Atomic uint64_t written;
	_Atomic uint64_t recorded;
	uint64_t lost; /* records lost, set when the rings are freed (lock) */
};

enum instance_state { INSTANCE_LIVE, INSTANCE_ENDED, INSTANCE_CLOSED };

/* Lines of /proc/PID/maps, without duplicates. */
struct instance_maps {
	char *text;
	size_t size, capacity;
	uint32_t *table; /* hash table of the lines */
	size_t slots, lines;
	bool is_new;      /* has lines that are not written yet */
	uint64_t started; /* session_process_start(); 0: not known */
	char *directory;  /* current directory of the process (lock); NULL: not known */
};

struct instance {
	struct recorder_watch watch; /* watches the pidfd */
	struct instance *next;
	struct instance *next_live; /* list of live instances (main thread) */
	uint32_t number;
	enum instance_state state;
	int crash;           /* signal, if the process died of a fault (lock) */
	bool crash_pictured; /* a snapshot contains the crash (lock) */

	/* From the HELLO message and the kernel. */
	pid_t peer;           /* pid in the recorder's pid namespace */
	uint32_t pid, parent; /* pids in the process's own pid namespace */
	bool is_forked;       /* the image is a copy of its parent's, not a fresh program image */
	uint64_t token;
	uid_t uid; /* user at the last connection */
	gid_t gid;
	uid_t account;                    /* user at the first connection: its share is charged */
	uint32_t control, control_signal; /* enum wire_control */
	uint32_t loader;                  /* enum wire_loader */
	uint64_t generation;              /* of the rules that it was sent last */
	char *procname;
	char *exe;

	/* Probes (main thread). */
	bool takes_probes;
	bool sends_loaded; /* supports WIRE_FEATURE_LOADED */
	bool is_command;   /* the program that the command executes first */
	uint64_t started;  /* session_process_start(); 0: not read yet */
	/*
	 * process id of the forking ancestor that a probe table selects by its id; 0: none; see
	 * family_started
	 */
	uint32_t family;
	uint64_t family_started;
	struct installed_table *installed;
	size_t nr_installed;

	/* Event classes, in the order in which the process described them. */
	struct event_class *classes;
	uint32_t nr_classes, classes_capacity;
	uint64_t description_bytes;
	bool listed; /* the process has sent BYE */

	struct instance_channel *channels;
	uint32_t nr_channels;     /* channels in the trace */
	uint32_t nr_all_channels; /* channels in the trace and channels of triggers */
	uint64_t memory;          /* charged to the session for all its channels (lock) */
	/* `memory` is only the size of the rings' content, because the process has ended */
	bool trimmed;
	bool takes_leases;   /* supports WIRE_FEATURE_LEASE */
	const char *denied;  /* why its request for ring memory was refused, or NULL (lock) */
	bool counted_denied; /* in nr_denied (lock) */
	/* processes that were not recorded: children that it forked, or itself (atomic) */
	uint64_t refused;
	uint64_t begin_ticks;

	/*
	 * With --buffers: its folder in that directory, and the file of descriptions in the folder.
	 */
	char *folder;
	int described_fd;
	/* exists if there is a state directory (storage/state-directory.h) */
	struct journal *journal;
	/* clock of the boot in which it was recorded; NULL: the session's clock */
	struct ctf_clock *own_clock;

	/* Drain thread only, once the instance is in the list. */
	struct instance *next_active;
	struct ctf_writer *writer;
	struct instance *next_writer, **writer_at; /* the session's list of open writers */
	uint64_t writer_bytes; /* bytes of the open writer that `bytes` already contains */
	uint32_t nr_streams;   /* upper bound of open stream files of the writer */
	struct reported_loss *
			reported; /* losses that earlier chunks already contain: reported-losses.c */
	size_t nr_reported;
	int unwritten_code;    /* errno of the last write that failed for lack of space */
	uint32_t nr_described; /* event classes that the metadata contains */
	uint32_t nr_names;     /* different event names among the classes */
	uint64_t last_ticks;   /* time of the last record written */
	uint64_t bytes;
	uint64_t lost;
	uint64_t overwritten;
	_Atomic uint64_t written;  /* bytes of records, of all rings */
	_Atomic uint64_t recorded; /* records of all rings */
	uint64_t unwritten;        /* bytes of records not written, set when CLOSED */
	/* below the output directory, or NULL; changes only with the lock held */
	char *directory;
	bool finished; /* (lock) */

	struct instance_maps maps; /* its mapped code (lock) */

	struct channel *own_channels; /* only in recovery: channels that no other instance uses */
};

struct session_instances {
	struct instance *list; /* (lock) */
	struct instance **end; /* (lock) */
	/* linked by next_active; the drain thread has not seen them yet (lock) */
	struct instance *fresh;
	struct instance *live;   /* (main thread) */
	uint32_t nr;             /* ever created; also the source of `number` */
	uint32_t nr_freed;       /* of those `nr` */
	atomic_uint nr_finished; /* finished, but still in the list */
	uint32_t nr_live;        /* (lock) */
	uint32_t max_live;
	struct shares shares; /* shares of live processes (lock) */
};

#endif /* SIDE_RECORDER_CORE_INSTANCE_STATE_H */
