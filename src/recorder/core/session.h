/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_SESSION_H
#define SIDE_RECORDER_CORE_SESSION_H

/*
 * A recording session: starts a command under the agent, gives each of its processes memory to
 * record into, drains that into CTF traces, and says at the end what was recorded and what was not.
 * recover.h: what is left when that could not be done. probes.h: probes in its programs.
 *
 *   session_create() -> session_spawn() -> session_run() -> session_summary() -> session_destroy()
 *
 * Each process image (a program start, a fork, an exec) is an *instance*: one directory
 * OUT/<procname>-<pid>-<n>/ holding one trace. Everything an instance says or writes into its rings
 * is checked; a liar loses its own trace only.
 *
 * A session has *channels*. In each process a channel is a set of rings of one mode, size and
 * placement, with the contexts of its records and the rules that say which events go into it. An
 * event may go into several. What a ring that overwrites holds is written when its process or the
 * session ends, and, as a trace of its own in OUT/snapshot-<n>/, whenever SIGUSR1 arrives.
 *
 * A full disk makes records wait in their rings; when those are full, too, records are lost, and
 * counted. Once a second it is tried again.
 *
 * One thread calls all functions. While session_run() runs it blocks SIGINT, SIGTERM, SIGHUP,
 * SIGQUIT, SIGUSR1 and SIGCHLD in the calling thread and restores the mask afterwards; the command starts
 * with the mask and the dispositions that were there before. From session_create() on SIGUSR1 stays
 * ignored when nobody waits for it: a request for a snapshot that comes late must not end us.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct session;
struct session_probe;
struct side_event_description;

/* Defaults, all documented in the manual page of `side record`. */
#define SESSION_MEMORY_DEFAULT (512ull << 20)  /* all rings of a session together */
#define SESSION_RING_MAX_DEFAULT (4ull << 20)  /* one ring at most */
#define SESSION_RING_SUM_DEFAULT (64ull << 20) /* one channel's rings in one process together */
#define SESSION_RING_MIN (64ull << 10)
#define SESSION_THREADS_DEFAULT 64
#define SESSION_THREADS_MAX 4096
#define SESSION_BLOCK_DEFAULT_US 1000000
#define SESSION_BLOCK_MAX_US 3600000000u
#define SESSION_CHANNELS_MAX 32
#define SESSION_CHANNEL_NAME "ring" /* of the channel that needs no name */
#define SESSION_CHANNEL_NAME_MAX 32
#define SESSION_KERNEL_PROGRAM \
	"side-kernel" /* whose events are those of the kernel (programs/side-kernel) */
#define SESSION_UPROBES_PROGRAM \
	"side-uprobes" /* and those of its global probes (programs/side-uprobes) */
/* Reasons of losses; the others are the rings' own (ring_loss_name()). */
#define SESSION_LOST_FULL "ring full"
#define SESSION_LOST_TOO_BIG "too big"
#define SESSION_LOST_PROCESS "process not recorded, each counts once"
#define SESSION_LOST_RETURN_FULL "return not watched, too many calls were open"
#define SESSION_LOST_RETURN_CALLER \
	"return not watched, called by code that may know its return addresses"
#define SESSION_LOST_RETURN_COPIED "return not watched, the program copies its stack"
#define SESSION_LOST_IMPLAUSIBLE "implausible counter, each counts once"
#define SESSION_LOST_IN_KERNEL "buffer of the kernel full"
#define SESSION_LOST_IN_VFORK "in the child of a vfork(), before it ran a program"
#define SESSION_LOST_IN_CHILD "forked child without rings yet"
#define SESSION_LOST_BY_KIND "event class not enabled, the recorder did not answer in time"
#define SESSION_COMPRESS_DEFAULT 3
#define SESSION_SNAPSHOTS_DEFAULT 100 /* that make themselves */
#define SESSION_COMPRESS_MAX 19

enum session_error_kind {
	SESSION_ERROR_NONE = 0,
	SESSION_ERROR_FAILED,         /* exit status 1 */
	SESSION_ERROR_USAGE,          /* exit status 2: an option's value makes no sense */
	SESSION_ERROR_PERMISSION,     /* exit status 3: the text names the permission */
	SESSION_ERROR_NOT_FOUND,      /* the command does not exist: exit status 127 */
	SESSION_ERROR_NOT_EXECUTABLE, /* the command cannot be run: exit status 126 */
};

struct session_error {
	enum session_error_kind kind;
	int code;        /* errno value or 0 */
	char text[1024]; /* a sentence, no newline, no program name in front */
	char hint[256];  /* may be empty */
	/* Where in what the user wrote: the text of a filter or of contexts, and a column from 1. */
	const char *where; /* NULL: nowhere; belongs to the options */
	unsigned int column;
};

enum session_mode {
	SESSION_RECORD,
	SESSION_LIST, /* collect the descriptions of COMMAND's start; COMMAND's main() never runs */
};

enum session_channel_mode {
	SESSION_DISCARD,   /* a full ring takes nothing more until it was read */
	SESSION_OVERWRITE, /* a flight recorder: the newest records stay */
	SESSION_BLOCK,     /* a full ring makes its program wait, for a bounded time */
};

enum session_format { SESSION_FORMAT_CTF1, SESSION_FORMAT_CTF2 };

/* Some events of a channel, and what becomes of them. */
struct session_rule {
	const char *const *patterns; /* "provider:event" globs, see protocol/pattern.h; none: all */
	size_t nr_patterns;
	const char *filter;          /* see filter/filter.h; NULL: none */
	const char *const *contexts; /* of these events, beside the channel's */
	size_t nr_contexts;
};

/* What --symbols adds: where executable and libraries stand, which the agent says only when it is named. */
extern const struct session_rule session_symbols_rule;

struct session_channel {
	const char *name; /* of its files; letters, digits, "_" and "-" */
	enum session_channel_mode mode;
	bool per_thread;           /* a ring for each thread, not for each CPU */
	uint32_t threads_max;      /* per_thread: rings; 0: SESSION_THREADS_DEFAULT */
	uint64_t ring_size;        /* bytes of a ring; 0: min(4 MiB, 64 MiB / rings) */
	uint32_t block_timeout_us; /* SESSION_BLOCK; 0: SESSION_BLOCK_DEFAULT_US */
	const char *const *contexts;
	size_t nr_contexts;
	const struct session_rule *rules; /* none: all events */
	size_t nr_rules;
};

/*
 * When a chunk of the recording is finished: OUT/chunk-NNNN-YYYYmmdd-HHMMSS, the local time of its
 * beginning. It has a trace of each process that said something meanwhile, and appears when all of
 * them are closed; until then it has a dot in front. No record is in two chunks, or in none. With all
 * of it zero there are no chunks: traces stand in OUT.
 */
struct session_rotation {
	uint64_t size; /* before it is larger, if one packet is not; from 64 KiB; 0: no matter */
	uint64_t period_ns; /* after this time, from a second; 0: no matter */
	bool on_request;    /* session_rotate(); a command's session: at SIGUSR2 */
};

/* Which chunks stay: the oldest finished ones go. 0: no matter. */
struct session_retention {
	uint64_t size;   /* of all chunks with the one being written */
	uint64_t age_ns; /* since it was finished */
	uint32_t count;  /* of finished ones */
};

/*
 * How far the writing is, for somebody who reads the files meanwhile; both are atomic.
 *
 * What stands in the files when `begun` is read may be cut off by a recorder that follows one which
 * was killed, until `begun` has been counted up once more. All that was recorded before `ticks`, in the
 * clock of the traces, is in the files by then (0: not known yet), but for rings that overwrite.
 */
struct session_rounds {
	uint64_t begun;
	uint64_t ticks;
};

/*
 * Somebody who watches the command from outside, and says what he sees as a program of the session: the command's process is there and
 * waits before it executes anything until that has begun, and the recording ends when that has ended.
 */
struct session_helper {
	/* Of that process, at the socket of the session. 0 or a negative errno with *error: the command is not run. */
	int (*begin)(void *user, pid_t pid, const char *socket, struct session_error *error);
	/* 1: the command may go on; 0: not yet; or as above. */
	int (*is_ready)(void *user, struct session_error *error);
	/* Asked when the command has ended, or when (`now`) the recording is to. */
	bool (*is_over)(void *user, bool now);
	void *user;
};

struct session_options {
	enum session_mode mode;
	const char *output;    /* directory; NULL: "side-YYYYmmdd-HHMMSS" in the current one */
	bool force;            /* put the traces into a directory that is not empty */
	uint64_t memory_limit; /* bytes of rings of all channels; 0: SESSION_MEMORY_DEFAULT */
	const struct session_channel *channels; /* none: one that takes everything */
	size_t nr_channels;
	enum session_format format;
	int compress;                /* level of zstd, 0: none */
	bool huge_pages;             /* where the machine has them; else a message says so */
	bool prefault;               /* all memory is there before the program begins */
	const char *buffers;         /* directory for the rings' memory; NULL: none on disk */
	const char *const *wrappers; /* "libc" -> libside-wrap-libc.so */
	size_t nr_wrappers;
	const char *const *environment; /* "NAME=VALUE" added to COMMAND's environment */
	size_t nr_environment;
	bool wait_all; /* go on until every process that COMMAND left behind has ended */
	struct session_rotation rotation;
	struct session_retention retention;
	/*
	 * What makes snapshots, beside requests: "event:PATTERN", "event:PATTERN where FILTER",
	 * "rate:PATTERN>N/s" (also with a filter), "crash", "signal:USR1" (which always does). At
	 * most one a second, and so many in all; 0: SESSION_SNAPSHOTS_DEFAULT.
	 */
	const char *const *snapshot_on;
	size_t nr_snapshot_on;
	uint32_t snapshot_max;
	const struct session_probe *probes; /* probes.h */
	size_t nr_probes;
	bool pass_on; /* a SIGINT or SIGQUIT that a process sends us goes on to COMMAND, which ends by it */
	const struct session_helper *helper; /* it stays the caller's; NULL: none */
	bool monotonic;                      /* CLOCK_MONOTONIC, though the TSC would be faster */
	struct session_rounds
			*rounds; /* told while the session writes; NULL: nobody wants to know */
};

/*
 * The program that runs when a command of that name is executed: where execvp() finds it, or behind the "#!" of a script (program.c).
 * 1: it is a script's; 0: it is the command's own; or a negative errno. If *path is empty then, there is no such command (-ENOENT), or a
 * call failed; -EACCES: *path is it, and may not be executed; else *path is an interpreter that is not there.
 */
int session_program(const char *name, char path[PATH_MAX]);

/*
 * Returns a sentence why the agent cannot be loaded into the program of this name; free() it. NULL: it can be loaded, or this is unknown.
 */
char *session_never_meets(const char *name);

/* Absolute path of one of our libraries, allocated, or NULL: by SIDE_LIB_DIR, or beside this program. */
char *session_library(const char *name);

/* 0 or a negative errno value with `*error` filled in, for all functions that take it. */
int session_create(const struct session_options *options, struct session **session,
		struct session_error *error);

/*
 * The clock of all its traces, for who writes others beside them: enum ring_clock, struct ctf_clock. After session_run() the
 * figures that the traces have got at the end.
 */
struct ctf_clock;
int session_clock(const struct session *session, struct ctf_clock *stats);

/* Starts the command (found through PATH). */
int session_spawn(struct session *session, char *const argv[], struct session_error *error);

/*
 * Records until the command has ended and everything its processes published is on disk. A second
 * SIGINT ends it at once, with all that was published until then. Fails only if recording itself
 * cannot go on; a trace that could not be written is a loss in the summary.
 */
int session_run(struct session *session, struct session_error *error);

/*
 * Finish a chunk soon, with all that was published until now. The number of the request, which
 * session_rotated() takes. Traces of a live session (live.h) without chunks become the first one.
 */
uint32_t session_rotate(struct session *session);
/*
 * Drop what is in the traces, but for finished chunks, with all that was published until now. A request like that, when none
 * of the others is under way. What rings hold that overwrite stays.
 */
uint32_t session_clear(struct session *session);
/* Is it done? Then `name` is the newest finished chunk's, "" when there is none: nothing was said. */
bool session_rotated(struct session *session, uint32_t request, char *name, size_t capacity);

/* A message for the user: a sentence. Messages are in the order in which they arose. */
struct session_message {
	bool is_error; /* part of the recording could not be made (disk full, refused process) */
	bool is_about_program; /* of this user: */
	uid_t uid;
	char *text;       /* free() it */
	const char *hint; /* the hint, within the memory of `text`; NULL: none */
};

/* What one event can have, contexts included, and no more than half a ring; larger ones are lost as "too big". */
#define SESSION_EVENT_BYTES 65536u

struct session_loss {
	const char *process; /* directory name of the instance */
	const char *ring;    /* "ring_3" (channel and number), or "" when it is not about one */
	const char *event;   /* "provider:event", or "" when it is not known */
	const char *reason;  /* "ring full", "too big", ..., or the disk's reason when in_bytes */
	uint64_t count;
	bool in_bytes; /* records that could not be written: their bytes, not their number */
};

struct session_process {
	const char *directory; /* below the output directory, or in each chunk; "" if it got none */
	const char *procname;
	const char *exe;
	uint32_t pid; /* in the process's own namespace */
	uint32_t parent;
	uint64_t events;   /* kinds of events described */
	uint64_t bytes;    /* written to this trace, metadata included */
	uint64_t recorded; /* events: records of it, in all chunks */
	uint64_t lost;
	uint64_t overwritten; /* bytes of older records in rings that overwrite */
	uint64_t ring_size;   /* of the largest ring */
	uint32_t rings;       /* that hold something in the trace */
};

/* "snapshot-3-server-4711-SIGSEGV" */
#define SESSION_SNAPSHOT_NAME_MAX 160

struct session_summary {
	const char *output; /* path of the output directory */
	int status;         /* of the command, as from waitpid(); -1 while it has not ended */
	bool interrupted;   /* ended before the command did */
	size_t nr_refused;  /* processes that ran without being recorded, as messages say */
	uint64_t bytes;     /* in all traces */
	uint64_t recorded;  /* events: records in all traces, without those of snapshots */
	uint64_t lost;      /* records lost, the sum of those losses that are not in bytes */
	uint64_t unwritten; /* bytes of records that could not be written, the sum of the others */
	uint64_t overwritten;       /* bytes of older records in rings that overwrite: no loss */
	uint32_t snapshots;         /* directories in OUT … */
	const char *snapshot_first; /* … and the names of the first and the last of them */
	const char *snapshot_last;
	uint64_t snapshot_recorded; /* records in all of them: an event can be in several */
	uint64_t snapshot_first_recorded, snapshot_last_recorded; /* events of these two */
	uint32_t chunks;                                          /* that were finished */
	uint32_t chunks_removed;
	uint64_t chunks_removed_bytes;
	uint32_t disk_full;   /* how often records had to wait for room on the disk */
	uint64_t memory_peak; /* most ring memory held at one time */
	const struct session_process *processes;
	size_t nr_processes;
	const struct session_loss *losses;
	size_t nr_losses;
	const struct session_message *messages;
	size_t nr_messages;
	enum session_error_kind failure; /* the worst kind among the errors met while recording */
};

/* Valid until session_destroy(). */
const struct session_summary *session_summary(struct session *session);

/* SESSION_LIST: the events of process `index` (0: COMMAND itself), in the order they registered. */
size_t session_nr_events(const struct session *session, size_t process);
const struct side_event_description *session_event(
		const struct session *session, size_t process, size_t event);

/*
 * May be set before session_run(): called from its loop about four times a second, for a progress
 * line. `bytes` and `processes` are running totals.
 */
void session_on_progress(struct session *session,
		void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost),
		void *user);

/* Ends the command's recording if it still runs, frees everything. NULL is accepted. */
void session_destroy(struct session *session);

/*
 * Whether that process has something of the file in memory: 1, 0, or -1: it cannot be looked at. `path`: what of that name has the same
 * inode is the file on whatever device; NULL: the device counts.
 */
struct stat;
int session_has_mapped(pid_t pid, const struct stat *file, const char *path);

/* When that process began (field 22 of its stat), in clock ticks since the boot. 0 with errno: there is none, or it cannot be read. */
uint64_t session_process_start(pid_t pid);

#endif
