/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_LIVE_H
#define SIDE_RECORDER_CORE_LIVE_H

/*
 * A live session: a recording without a command. Programs connect to its socket at any time, and
 * the definition can change at any time.
 *
 *     session_open() -> { wait for session_fd(), session_turn(), ... }* -> session_close()
 *
 * The definition is struct session_options, as for session_create(). Number, names, modes, sizes
 * and contexts of the channels are constant; rules can change. Each change increments the session's
 * *generation*. The daemon notifies the programs of it; each program connects, sends the generation
 * that it has, and gets the rules of the newest one. A session never uses a generation twice.
 *
 * A session that is not active accepts programs, but records no events. When it becomes active, it
 * asks every program for its state, as session_statedump() does.
 *
 * One thread calls all functions. They never change signal handling, never use the terminal, and do
 * not write files in the calling thread: the drain thread writes. Functions that wait for the drain
 * thread continue to answer programs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/session.h"

enum session_track_kind {
	/* `number`: process id in the recorder's pid namespace; does not include children */
	SESSION_TRACK_PID,
	SESSION_TRACK_UID,    /* `number`: user id when the process connected */
	SESSION_TRACK_GID,    /* `number`: group id when it connected */
	SESSION_TRACK_NAME,   /* `text`: glob over the process's name */
	SESSION_TRACK_CGROUP, /* glob over the whole path of any of its control groups */
	/*
	 * glob over the container's id or name in that path, or at least 12 leading digits of the
	 * id
	 */
	SESSION_TRACK_CONTAINER,
	SESSION_TRACK_KINDS
};

/*
 * Selects the processes to record. For each kind in the list (without `exclude`), at least one
 * entry of this kind must match. No entry with `exclude` may match. An empty list selects all
 * processes.
 *
 * Numbers come from the kernel, never from the process. A glob is like that of a shell, but "*" and
 * "?" also match "/".
 */
struct session_track {
	enum session_track_kind kind;
	bool exclude;
	const char *text;
	uint64_t number;
};

#define SESSION_TRACK_MAX 1024
#define SESSION_TRACK_TEXT_MAX 255

struct session_live {
	/* path of the socket for programs; replaces the socket of a dead recorder */
	const char *socket;
	/* state directory for the rings, created with mode 0700; NULL: rings are in no file */
	const char *state_dir;
	/*
	 * programs create folders in the state directory themselves, and the session scans for them
	 * (protocol/boot.h)
	 */
	bool boot;
	bool leave; /* session_close() completes the traces only if no program runs any more */
	pid_t only; /* with `boot`: only this process, found by its mappings; 0: all */
	/*
	 * Called when state directory, socket and locks are open, and before anything else is read
	 * or written. The function can switch the process to another user (NULL: it does not). The
	 * state directory then belongs to `owner`, and only programs of this user are accepted.
	 * Returns 0 or a negative errno.
	 */
	int (*settled)(void *user);
	void *user;
	uid_t owner;
	bool any_user;       /* accept programs of every user; else only of the own user and root */
	bool active;         /* start as active */
	uint64_t generation; /* the first generation; 0: 1 */
	const struct session_track *track;
	size_t nr_track;
};

/*
 * Opens a live session. Copies options and texts. `mode` must be SESSION_RECORD; wrappers and
 * environment are ignored. Returns 0, or a negative errno with *error filled in.
 */
int session_open(const struct session_options *options, const struct session_live *live,
		struct session **ret_session, struct error *error);

/*
 * Returns a descriptor that is readable when session_turn() has work. Call session_turn() at least
 * twice a second in any case.
 */
int session_fd(const struct session *session);

/*
 * Waits up to `timeout_ms` and handles all events. Returns a negative errno only if the session
 * cannot continue.
 */
int session_turn(struct session *session, int timeout_ms, struct error *error);

/*
 * Passes a connection that was not made at the session's socket. The session owns `fd` from now on.
 */
void session_take_connection(struct session *session, int fd);

/*
 * Changes rules, tracking and state: all of it, or nothing on an error. `channels` lists channels
 * of the session in any order; channels that are not listed keep their rules. A listed channel
 * without rules (nr_rules 0) records nothing. Applies the probes of the last session_set_probes(),
 * if there was one. `*ret_generation` is the new generation.
 */
int session_change(struct session *session, const struct session_channel *channels, size_t nr,
		bool active, const struct session_track *track, size_t nr_track,
		uint64_t *ret_generation, struct error *error);

/*
 * Writes the messages that the session would send now to any program that asks for changes
 * (protocol/protocol.h: REFRESH). Returns their size. Returns 0 if they exceed `capacity` or differ
 * between programs: then each program must ask.
 */
size_t session_take_messages(struct session *session, void *bytes, size_t capacity);

/* Asks every program for a state dump. Returns the new generation. */
uint64_t session_statedump(struct session *session);

uint64_t session_generation(const struct session *session);
bool session_is_active(const struct session *session);

/*
 * Waits until every record that was published before the call is in the files, except records in
 * overwrite rings. Returns 0, -ETIMEDOUT if this takes longer, or -ENOSPC or -EDQUOT if records
 * wait for space on the disk.
 */
int session_flush(struct session *session, unsigned int timeout_ms);

/*
 * Copies the overwrite rings for a snapshot, and requests a state dump with the new generation. When
 * the programs have it, session_snapshot() adds the state. Returns as session_snapshot().
 */
int session_begin_snapshot(
		struct session *session, unsigned int timeout_ms, uint64_t *ret_generation);
/*
 * Writes a snapshot of the overwrite rings to OUT/snapshot-<n>/, or finishes the one that was begun.
 * Returns -EINVAL if there is no
 * such ring, or -ETIMEDOUT if it will be written later. Output: `*ret_number` of snapshots now, and
 * `name` and number of records of the last one.
 */
int session_snapshot(struct session *session, unsigned int timeout_ms, uint32_t *ret_number,
		char name[SESSION_SNAPSHOT_NAME_MAX], uint64_t *ret_recorded);
/*
 * True once after a trigger has begun a snapshot: session_statedump() must follow, and, when the
 * programs have the state, session_finish_snapshot(). Without them, it is finished after a minute.
 */
bool session_wants_state(struct session *session);
int session_finish_snapshot(struct session *session, unsigned int timeout_ms);
/*
 * Returns 0 if the last snapshot was written or none was requested, else the negative errno of its
 * failure.
 */
int session_snapshot_error(struct session *session);

/* ---- status ---- */

struct session_status_loss {
	uint32_t ring; /* index into the process's rings */
	char *event;   /* "provider:event", or "" if unknown */
	const char *reason;
	uint64_t count;
};

struct session_status_ring {
	const char *channel;
	uint32_t number;
	uint64_t size;
	uint64_t bytes;       /* of records, written out */
	uint64_t recorded;    /* records, written out */
	uint64_t lost;        /* records */
	uint64_t unwritten;   /* bytes that could not be written: no space on the disk */
	uint64_t overwritten; /* bytes, known after a snapshot or at the end */
};

struct session_status_process {
	uint32_t number; /* of the instance, in its directory's name */
	int32_t peer;    /* process id in the recorder's pid namespace */
	uint32_t pid;    /* process id in its own namespace */
	uint32_t parent;
	uint32_t uid, gid;
	uint32_t control; /* enum wire_control: how it is notified of changes */
	uint32_t control_signal;
	uint32_t loader; /* enum wire_loader: how it got the agent */
	uint64_t token;
	uint64_t generation; /* of the rules that it was sent last */
	bool ended;          /* its trace is complete, or will be soon */
	char *procname;
	char *exe;
	char *directory;   /* below the output directory; "": nothing was recorded yet */
	uint64_t events;   /* event classes described */
	uint64_t bytes;    /* of records, written out: the sum over the rings */
	uint64_t recorded; /* records, likewise */
	uint64_t lost;     /* likewise */
	uint64_t unwritten;
	uint64_t overwritten;
	uint64_t memory; /* of its rings */
	/* only rings with records or losses, or that have memory */
	struct session_status_ring *rings;
	size_t nr_rings;
	struct session_status_loss *losses; /* of living processes, by ring, event and reason */
	size_t nr_losses;
};

struct session_status_channel {
	const char *name;
	uint64_t recorded, lost, bytes;
};

/* A running program that is not recorded, because its user's share is exhausted. It asks again. */
struct session_status_refused {
	pid_t peer;
	uid_t uid;
	char *procname;
	const char *reason;
};

struct session_status {
	bool active;
	uint64_t generation;
	uint64_t statedump; /* generation of the last request; 0: none */
	uint32_t snapshots;
	uint64_t snapshot_recorded;                 /* records in all of them */
	uint64_t memory, memory_peak, memory_limit; /* of rings */
	/*
	 * Since the session began: sums over all processes, including those that are not listed any
	 * more. With a state directory, these include the records of earlier recorders.
	 */
	uint64_t nr_seen;
	/* processes that could not be recorded; excludes processes that are not tracked */
	uint64_t nr_refused;
	uint64_t nr_untracked; /* times that a process was refused because it is not tracked */
	uint64_t bytes;
	uint64_t recorded;
	uint64_t lost;
	uint64_t unwritten;
	uint64_t overwritten;
	struct session_status_channel *channels; /* channels of the session */
	size_t nr_channels;
	/* All live processes, and some that ended recently. */
	struct session_status_process *processes;
	size_t nr_processes;
	struct session_status_refused *refused;
	size_t nr_waiting; /* entries of `refused` */
	uint64_t nr_idle;  /* processes without ring memory until their next event */
};

/* Fills in a copy of the status; free it with session_status_free(). Returns 0 or -ENOMEM. */
int session_status(struct session *session, struct session_status *ret_status);
void session_status_free(struct session_status *status);

/* Removes the oldest message. The caller frees its text. Returns false if there is none. */
bool session_take_message(struct session *session, struct session_message *ret_message);

/*
 * Writes all records of all processes to the traces, as session_close() does. After it, only
 * session_status(), session_summary(), session_take_message() and session_close() may be called;
 * their numbers are final.
 */
void session_finish(struct session *session);

/*
 * Closes and frees the session, also on an error. With `finish`, it completes all traces and
 * removes the state directory. Else the state directory remains for the next session_open(). Waits
 * for the disk. *error reports what could not be written.
 */
void session_close(struct session *session, bool finish, struct error *error);

#endif
