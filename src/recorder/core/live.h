/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_LIVE_H
#define SIDE_RECORDER_CORE_LIVE_H

/*
 * A recording without a command: programs come to its socket, stay and go, and what is recorded of
 * them may change at any time.
 *
 *   session_open() -> { wait for session_fd(), session_turn(), ... }* -> session_close()
 *
 * The definition is struct session_options, as for session_create(); of the channels, number, names,
 * modes, sizes and contexts stay what they are, rules may change. Each change counts up the session's
 * *generation*. Somebody else tells the programs of it (the broker); each comes, says which
 * generation it has, and gets the rules of the newest. Generations of a session never repeat.
 *
 * A session that is not active takes programs in and records nothing of them. Beginning to record
 * asks every program for its state, as session_statedump() does.
 *
 * One thread calls all functions. None of them touches signals, the terminal or the disk in the
 * calling thread: the session's own thread writes. Those that wait for it go on answering programs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/core/session.h"

enum session_track_kind {
	SESSION_TRACK_PID,       /* `number`, as this process sees it; children are others */
	SESSION_TRACK_UID,       /* `number`: who it was when it came */
	SESSION_TRACK_GID,       /* likewise */
	SESSION_TRACK_NAME,      /* `text`: glob over the process's name */
	SESSION_TRACK_CGROUP,    /* glob over the whole path of its control group, any of them */
	SESSION_TRACK_CONTAINER, /* glob over the container's id or name in that path; or 12 or more
				    of the id's first digits */
	SESSION_TRACK_KINDS
};

/*
 * Which processes are recorded. For each kind that is there (without `exclude`), one of this kind
 * must fit, and none with `exclude` may fit. None at all: everybody.
 *
 * Numbers come from the kernel, never from what the process says. A glob is that of a shell, where
 * "*" and "?" match a "/", too.
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
	const char *socket;    /* path of the socket for programs; a dead one in its place goes */
	const char *state_dir; /* directory of the rings, made 0700 when missing; NULL: in no file */
	bool boot; /* programs make folders in the place by themselves: they are looked for (protocol/boot.h) */
	bool leave; /* session_close() finishes only when no program lives any more */
	pid_t only; /* of `boot`: this process alone, by what it has mapped; 0: all */
	/*
	 * When directory, socket and locks are open, and before anything else is read or written: the process may become that
	 * of another user there (NULL: it does not). The place belongs to `owner` then, and only
	 * this user's programs are heard. 0 or a negative errno.
	 */
	int (*settled)(void *user);
	void *user;
	uid_t owner;
	bool any_user;       /* hear programs of every user; else our own and root's */
	bool active;         /* record from the beginning */
	uint64_t generation; /* the first one; 0: 1 */
	const struct session_track *track;
	size_t nr_track;
};

/* Options and texts are copied. `mode` must be SESSION_RECORD; wrappers and environment are nobody's. */
int session_open(const struct session_options *options, const struct session_live *live,
		struct session **session, struct session_error *error);

/* Readable when session_turn() has something to do. It must be called twice a second anyway. */
int session_fd(const struct session *session);

/* Deal with what is there, after waiting for it so long. Fails only when nothing can go on. */
int session_turn(struct session *session, int timeout_ms, struct session_error *error);

/* A connection that was not made at the session's socket, but is as good as that. It is the session's from now on. */
void session_take_connection(struct session *session, int fd);

/*
 * New rules, tracking and state, all of it or (with an error) nothing. The channels are those of the
 * session, in any order; a channel that is not among them keeps its rules. Rules of a channel: none
 * (nr_rules 0) is none, not all. Probes are those of session_set_probes() from now on, if that was
 * called. `*generation` is the new one.
 */
int session_change(struct session *session, const struct session_channel *channels, size_t nr,
		bool active, const struct session_track *track, size_t nr_track,
		uint64_t *generation, struct session_error *error);

/*
 * What the session would answer now to any of its programs that asks for what is new (wire.h: REFRESH), into
 * `capacity` bytes; how many it is. 0: it does not fit, or is not the same for all, and they have to ask.
 */
size_t session_take_messages(struct session *session, void *bytes, size_t capacity);

/* Ask every program for its state (again). The new generation. */
uint64_t session_statedump(struct session *session);

uint64_t session_generation(const struct session *session);
bool session_is_active(const struct session *session);

/*
 * When it returns 0, every record that was published before the call is in the files, but for those
 * in rings that overwrite. -ETIMEDOUT: not yet; -ENOSPC, -EDQUOT: they wait for room.
 */
int session_flush(struct session *session, unsigned int timeout_ms);

/*
 * A snapshot of the rings that overwrite, OUT/snapshot-<n>/. -EINVAL: there is no such ring;
 * -ETIMEDOUT: it comes later. `*number` is how many there are then, `name` that of the last one,
 * which has so many events.
 */
int session_snapshot(struct session *session, unsigned int timeout_ms, uint32_t *number,
		char name[SESSION_SNAPSHOT_NAME_MAX], uint64_t *ret_recorded);
/* Why the last snapshot could not be written: a negative errno. 0: it was written, or there was none. */
int session_snapshot_error(struct session *session);

/* ---- what is going on ---- */

struct session_status_loss {
	uint32_t ring; /* index into the process's rings */
	char *event;   /* "provider:event", or "" when it is not known */
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
	uint64_t unwritten;   /* bytes that found no place on the disk */
	uint64_t overwritten; /* bytes, known after a snapshot or the end */
};

struct session_status_process {
	uint32_t number; /* of the instance, in its directory's name */
	int32_t peer;    /* pid as we see it */
	uint32_t pid;    /* in its own namespace */
	uint32_t parent;
	uint32_t uid, gid;
	uint32_t control; /* enum wire_control: how it hears of changes */
	uint32_t control_signal;
	uint64_t token;
	uint64_t generation; /* of the rules that it was last given */
	bool ended;          /* its trace is complete, or soon */
	char *procname;
	char *exe;
	char *directory;   /* below the output directory; "": nothing was recorded yet */
	uint64_t events;   /* kinds of events described */
	uint64_t bytes;    /* of records, written out: the sum over the rings */
	uint64_t recorded; /* records, likewise */
	uint64_t lost;     /* likewise */
	uint64_t unwritten;
	uint64_t overwritten;
	uint64_t memory;                   /* of its rings */
	struct session_status_ring *rings; /* that hold, held or lost something */
	size_t nr_rings;
	struct session_status_loss *losses; /* of living processes, by ring, event and reason */
	size_t nr_losses;
};

struct session_status_channel {
	const char *name;
	uint64_t recorded, lost, bytes;
};

/* A program that runs and is not recorded, because there was no share for it. It asks again. */
struct session_status_refused {
	pid_t peer;
	uid_t uid;
	char *procname;
	const char *reason;
};

struct session_status {
	bool active;
	uint64_t generation;
	uint64_t statedump; /* the generation of the last request, 0: none */
	uint32_t snapshots;
	uint64_t snapshot_recorded;                 /* records in all of them */
	uint64_t memory, memory_peak, memory_limit; /* of rings */
	/*
	 * Since the session began, all processes together, also those that are not listed any more; with a place, also
	 * what recorders before this one have written.
	 */
	uint64_t nr_seen;
	uint64_t nr_refused; /* could not be recorded; processes that are not tracked do not count */
	uint64_t nr_untracked; /* times that a process was told so */
	uint64_t bytes;
	uint64_t recorded;
	uint64_t lost;
	uint64_t unwritten;
	uint64_t overwritten;
	struct session_status_channel *channels; /* those of the session */
	size_t nr_channels;
	/* All that live, and some that ended lately. */
	struct session_status_process *processes;
	size_t nr_processes;
	struct session_status_refused *refused;
	size_t nr_waiting; /* of them */
	uint64_t nr_idle;  /* processes without ring memory: they get it with their next event */
};

/* A copy of everything, to be freed. -ENOMEM. */
int session_status(struct session *session, struct session_status *status);
void session_status_free(struct session_status *status);

/* The oldest message that was not taken yet; its text is the caller's, to be freed. */
bool session_take_message(struct session *session, struct session_message *message);

/*
 * Everything of all processes' recordings into the traces, as session_close() does. After it only session_status(),
 * session_summary(), session_take_message() and session_close() may be called: the figures are the last ones.
 */
void session_finish(struct session *session);

/*
 * The end. `finish`: of all processes' recordings, with everything in the traces, and the place goes.
 * Else everything stays in the place as it is, for the next session_open(). Frees the session in any
 * case; an error says what could not be written. Waits for the disk.
 */
void session_close(struct session *session, bool finish, struct session_error *error);

#endif
