/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_SESSION_H
#define SIDE_RECORDER_CORE_SESSION_H

/*
 * A recording session starts a command with the agent, and gives each of its processes memory to
 * record into. It drains this memory into CTF traces, and reports at the end what was recorded and
 * what was lost. recover.h recovers traces after a recorder was killed; probes.h adds probes to
 * programs.
 *
 *   session_create() -> session_spawn() -> session_run() -> session_summary() -> session_destroy()
 *
 * Each process image (a program start, a fork, an exec) is an *instance*: one directory
 * OUT/<procname>-<pid>-<n>/ with one trace. The recorder checks everything that an instance sends
 * or writes into its rings; a hostile process spoils only its own trace.
 *
 * A session has *channels*. In each process a channel is a set of rings of one mode, size and
 * placement, with the contexts of its records and the rules that select its events. Several
 * channels can record the same event. The content of an overwrite ring is written when its process
 * or the session ends, and also, as a separate trace in OUT/snapshot-<n>/, whenever SIGUSR1
 * arrives.
 *
 * When the disk is full, records wait in their rings; when the rings are full, too, records are
 * lost and counted. The recorder retries once a second.
 *
 * One thread calls all functions. session_run() blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1
 * and SIGCHLD in the calling thread and restores the mask when it returns; the command starts with
 * the original mask and dispositions. From session_create() on, SIGUSR1 stays ignored when no
 * session waits for it: a late request for a snapshot must not kill the process.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct session;
struct session_table;
struct side_event_description;

/* Defaults, all documented in the manual page of `side record`. */
#define SESSION_MEMORY_DEFAULT (512ull << 20)  /* all rings of a session */
#define SESSION_RING_MAX_DEFAULT (4ull << 20)  /* maximum of one ring */
#define SESSION_RING_SUM_DEFAULT (64ull << 20) /* maximum of one channel's rings in one process */
#define SESSION_RING_MIN (64ull << 10)
#define SESSION_THREADS_DEFAULT 64
#define SESSION_THREADS_MAX 4096
#define SESSION_BLOCK_DEFAULT_US 1000000
#define SESSION_BLOCK_MAX_US 3600000000u
#define SESSION_CHANNELS_MAX 32
#define SESSION_CHANNEL_NAME "ring" /* name of the channel if only one is used */
#define SESSION_CHANNEL_NAME_MAX 32
#define SESSION_KERNEL_PROGRAM \
	"side-kernel" /* emits the events of the kernel (programs/side-kernel) */
#define SESSION_UPROBES_PROGRAM \
	"side-uprobes" /* emits the events of global probes (programs/side-uprobes) */
/* Reasons of losses; ring_loss_name() returns the others. */
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
#define SESSION_SNAPSHOTS_DEFAULT 100 /* snapshots that triggers make */
#define SESSION_COMPRESS_MAX 19

enum session_mode {
	SESSION_RECORD,
	SESSION_LIST, /* collect the descriptions of COMMAND's start; COMMAND's main() never runs */
};

enum session_channel_mode {
	SESSION_DISCARD,   /* a full ring discards new records until the consumer reads */
	SESSION_OVERWRITE, /* a flight recorder: the newest records overwrite the oldest */
	SESSION_BLOCK,     /* a full ring blocks its program for a limited time */
};

enum session_format { SESSION_FORMAT_CTF1, SESSION_FORMAT_CTF2 };

/* Selects some events of a channel, with a filter and contexts. */
struct session_rule {
	const char *const *patterns; /* "provider:event" globs, see protocol/pattern.h; none: all */
	size_t nr_patterns;
	const char *filter;          /* see filter/filter.h; NULL: none */
	const char *const *contexts; /* for these events, in addition to the channel's */
	size_t nr_contexts;
};

/*
 * The rule that --symbols adds: the agent emits the addresses of executable and libraries only for
 * rules that name these events.
 */
extern const struct session_rule session_symbols_rule;

struct session_channel {
	const char *name; /* used in names of files; letters, digits, "_" and "-" */
	enum session_channel_mode mode;
	bool per_thread; /* one ring for each thread instead of each CPU */
	/* per_thread: maximum number of rings; 0: SESSION_THREADS_DEFAULT */
	uint32_t threads_max;
	uint64_t ring_size;        /* bytes of a ring; 0: min(4 MiB, 64 MiB / rings) */
	uint32_t block_timeout_us; /* SESSION_BLOCK; 0: SESSION_BLOCK_DEFAULT_US */
	const char *const *contexts;
	size_t nr_contexts;
	const struct session_rule *rules; /* none: all events */
	size_t nr_rules;
};

/*
 * A channel for the events of session_symbols_rule alone. Analysis then finds them without reading
 * all other events, and they are not lost if the other channels lose events.
 */
extern const struct session_channel session_symbols_channel;

/*
 * When a chunk of the recording is finished. A chunk is OUT/chunk-NNNN-YYYYmmdd-HHMMSS, with the
 * local time of its beginning. It contains a trace of each process that recorded something
 * meanwhile. Its name begins with a dot until all its traces are closed. Each record is in exactly
 * one chunk. If all members are zero, there are no chunks, and the traces are in OUT.
 */
struct session_rotation {
	uint64_t size; /* maximum size, unless one packet is larger; at least 64 KiB; 0: no limit */
	uint64_t period_ns; /* maximum duration, at least a second; 0: no limit */
	bool on_request;    /* by session_rotate(); in a session with a command, by SIGUSR2 */
};

/* Limits of finished chunks: the oldest ones are removed. 0: no limit. */
struct session_retention {
	uint64_t size;   /* of all chunks, including the one being written */
	uint64_t age_ns; /* since the chunk was finished */
	uint32_t count;  /* number of finished chunks */
};

/*
 * Progress of the writer, for a reader of the growing files; both members are atomic.
 *
 * If the recorder is killed, its successor can truncate what the files contained when a reader
 * loaded `begun`, until `begun` has been incremented once more. All records before `ticks` (in the
 * clock of the traces) are in the files when it is stored (0: not known yet), except records in
 * overwrite rings.
 */
struct session_rounds {
	uint64_t begun;
	uint64_t ticks;
};

/*
 * A helper that observes the command from outside and sends its events as a program of the session.
 * The command's process waits before it executes the command until the helper is ready. The
 * recording ends when the helper has finished.
 */
struct session_helper {
	/*
	 * Starts the helper for this process, at the socket of the session. Returns 0, or a
	 * negative errno with *error filled in: the command is not run.
	 */
	int (*begin)(void *user, pid_t pid, const char *socket, struct error *error);
	/* Returns 1 if the command can continue, 0 if it must wait, or an error as above. */
	int (*is_ready)(void *user, struct error *error);
	/*
	 * True if the helper has finished. Called when the command has ended, or with `now` when
	 * the recording must end.
	 */
	bool (*is_over)(void *user, bool now);
	void *user;
};

/*
 * Makes tables of probes for libraries while programs load them. The main loop calls it; a program
 * waits meanwhile, for a limited time. One library is handled at a time.
 */
struct session_loads {
	/*
	 * Begins to make tables for a library that process `pid` reports to have mapped. The path is
	 * untrusted. Returns 1 and a descriptor, which is readable when finish() can be called; 0: the
	 * library needs no tables, or has them.
	 */
	int (*begin)(void *user, pid_t pid, const char *path, int *ret_fd);
	/*
	 * Called once after each begin() that has returned 1, and closes its descriptor. Gets the
	 * tables, `capacity` at most; the caller closes theirs. Capacity 0: they are no longer needed.
	 */
	size_t (*finish)(void *user, struct session_table *ret_tables, size_t capacity);
	void *user;
	/* Whether any probe is for libraries that are loaded later. NULL: always. */
	bool (*are_wanted)(void *user);
};

struct session_options {
	enum session_mode mode;
	/* output directory; NULL: "side-YYYYmmdd-HHMMSS" in the current directory */
	const char *output;
	bool force; /* allow an output directory that is not empty */
	/* maximum bytes of rings of all channels; 0: SESSION_MEMORY_DEFAULT */
	uint64_t memory_limit;
	const struct session_channel *channels; /* none: one channel that records all events */
	size_t nr_channels;
	enum session_format format;
	int compress;        /* level of zstd; 0: none */
	bool huge_pages;     /* use huge pages if the machine has them; else print a message */
	bool prefault;       /* allocate all memory before the program begins */
	const char *buffers; /* directory for the rings' memory; NULL: rings are in no file */
	const char *const *wrappers; /* "libc" loads libside-wrap-libc.so */
	size_t nr_wrappers;
	const char *const *environment; /* "NAME=VALUE" added to COMMAND's environment */
	size_t nr_environment;
	bool wait_all; /* continue until all processes that the command left behind have exited */
	struct session_rotation rotation;
	struct session_retention retention;
	/*
	 * Triggers of snapshots, in addition to requests: "event:PATTERN", "event:PATTERN where
	 * FILTER", "rate:PATTERN>N/s" (also with a filter), "crash", "signal:USR1" (always
	 * enabled). At most one snapshot a second and snapshot_max in all; 0:
	 * SESSION_SNAPSHOTS_DEFAULT.
	 */
	const char *const *snapshot_on;
	size_t nr_snapshot_on;
	uint32_t snapshot_max;
	const struct session_table *probes; /* see probes.h */
	size_t nr_probes;
	/* forward SIGINT or SIGQUIT from another process to the command, which ends by it */
	bool pass_on;
	const struct session_helper *helper; /* the caller keeps ownership; NULL: none */
	const struct session_loads *loads;   /* likewise */
	bool monotonic;                      /* use CLOCK_MONOTONIC even if the TSC is faster */
	struct session_rounds *rounds; /* updated while the session writes; NULL: not needed */
};

/*
 * Finds the program that runs when a command of this name is executed: the file that execvp()
 * finds, or the interpreter after "#!" of a script (program.c). Returns 1 for an interpreter, 0 for
 * the command itself, or a negative errno. With an empty *path, there is no such command (-ENOENT)
 * or a call failed. With -EACCES, *path is not executable; with other errors, *path is an
 * interpreter that does not exist.
 */
int session_program(const char *name, char path[PATH_MAX]);

/*
 * Returns a sentence why the loader cannot load the agent into this program; the caller frees it.
 * NULL: it can be loaded, or this is unknown.
 */
char *session_never_meets(const char *name);
/* What follows the path of the program in two of these sentences. */
extern const char session_rights_reason[], session_static_reason[];
/*
 * True if the agent never works in this program: for the reasons of session_never_meets(), or
 * because of another C library or processor.
 */
bool session_is_foreign(const char *name);

/*
 * Returns the absolute path of a library of this project, found in SIDE_LIB_DIR or beside this
 * program; the caller frees it. NULL: not found.
 */
char *session_library(const char *name);

/*
 * Creates a session. Like all functions with `error`, returns 0, or a negative errno with `*error`
 * filled in. ERROR_USAGE is an invalid option; the position is in the text of a filter or of
 * contexts. A message of ERROR_PERMISSION names the missing permission.
 */
int session_create(const struct session_options *options, struct session **ret_session,
		struct error *error);

/*
 * Gets the clock of all traces of the session, for a writer of further traces: enum ring_clock,
 * struct ctf_clock. After session_run() it is the final conversion of the traces.
 */
struct ctf_clock;
int session_clock(const struct session *session, struct ctf_clock *ret_clock);

/*
 * Starts the command (found through PATH). ERROR_NOT_FOUND: the command does not exist.
 * ERROR_NOT_EXECUTABLE: it cannot be run.
 */
int session_spawn(struct session *session, char *const argv[], struct error *error);

/*
 * Records until the command has ended and all published records of its processes are on disk. A
 * second SIGINT ends the recording at once, with all records published until then. Returns an error
 * only if recording cannot continue; a trace that could not be written is a loss in the summary.
 */
int session_run(struct session *session, struct error *error);

/*
 * Requests the end of the chunk, with all records published until now. Returns the number of the
 * request, for session_rotated(). The first request makes the traces of a live session without
 * chunks (live.h) its first chunk.
 */
uint32_t session_rotate(struct session *session);
/*
 * Requests to remove all records published until now from the traces, except finished chunks. Call
 * it only while no other request is pending. Overwrite rings keep their content.
 */
uint32_t session_clear(struct session *session);
/*
 * True if the request is done. Then `name` is that of the newest finished chunk, or "" if there is
 * none because nothing was recorded.
 */
bool session_rotated(struct session *session, uint32_t request, char *name, size_t capacity);

/* A message for the user: a sentence. Messages are in chronological order. */
struct session_message {
	bool is_error;         /* a part of the recording failed (disk full, refused process) */
	bool is_about_program; /* and this user owns it: */
	uid_t uid;
	char *text;       /* free() it */
	const char *hint; /* the hint, within the memory of `text`; NULL: none */
};

/*
 * Maximum size of one event with its contexts, and at most half a ring; larger events are lost as
 * "too big".
 */
#define SESSION_EVENT_BYTES 65536u

struct session_loss {
	const char *process; /* directory name of the instance */
	/* "ring_3" (channel and number), or "" if the loss is not of one ring */
	const char *ring;
	const char *event;  /* "provider:event", or "" if unknown */
	const char *reason; /* "ring full", "too big", ..., or the error of the disk if in_bytes */
	uint64_t count;
	bool in_bytes; /* records could not be written: `count` is bytes, not records */
};

struct session_process {
	const char *directory; /* below the output directory, or in each chunk; "" if it has none */
	const char *procname;
	const char *exe;
	uint32_t pid; /* in the process's own namespace */
	uint32_t parent;
	uint64_t events;   /* event classes described */
	uint64_t bytes;    /* written to this trace, including metadata */
	uint64_t recorded; /* records of all chunks */
	uint64_t lost;
	uint64_t overwritten; /* bytes of older records overwritten in overwrite rings */
	uint64_t ring_size;   /* of the largest ring */
	uint32_t rings;       /* rings with records in the trace */
};

/* "snapshot-3-server-4711-SIGSEGV" */
#define SESSION_SNAPSHOT_NAME_MAX 160

struct session_summary {
	const char *output; /* path of the output directory */
	int status;         /* of the command, as from waitpid(); -1 while it runs */
	bool interrupted;   /* the recording ended before the command */
	uint32_t survivors; /* processes of the command that still run although it has ended */
	size_t nr_refused;  /* processes that were not recorded; messages name them */
	uint64_t bytes;     /* in all traces */
	uint64_t recorded;  /* records in all traces, without those of snapshots */
	uint64_t lost;      /* records lost: sum of the losses that are not in_bytes */
	/* bytes of records that could not be written: sum of the losses in_bytes */
	uint64_t unwritten;
	/* bytes of older records overwritten in overwrite rings: no loss */
	uint64_t overwritten;
	uint32_t snapshots;         /* number of snapshot directories in OUT */
	const char *snapshot_first; /* names of the first and the last snapshot */
	const char *snapshot_last;
	uint64_t snapshot_recorded; /* records in all snapshots: an event can be in several */
	/* records of the first and the last snapshot */
	uint64_t snapshot_first_recorded, snapshot_last_recorded;
	uint32_t chunks; /* chunks finished */
	uint32_t chunks_removed;
	uint64_t chunks_removed_bytes;
	uint32_t disk_full;   /* times that records had to wait for space on the disk */
	uint64_t memory_peak; /* maximum of ring memory in use at one time */
	const struct session_process *processes;
	size_t nr_processes;
	const struct session_loss *losses;
	size_t nr_losses;
	const struct session_message *messages;
	size_t nr_messages;
	enum error_kind failure; /* the worst error while recording */
};

/* Returns the summary, valid until session_destroy(). */
const struct session_summary *session_summary(struct session *session);

/*
 * With SESSION_LIST: the events of process number `process` (0: the command itself), in the order
 * of their registration.
 */
size_t session_nr_events(const struct session *session, size_t process);
const struct side_event_description *session_event(
		const struct session *session, size_t process, size_t event);

/*
 * Sets a function for a progress line, before session_run(), which calls it about four times a
 * second. `bytes` and `processes` are running totals.
 */
void session_on_progress(struct session *session,
		void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost),
		void *user);

/* Ends the command's recording if it still runs, and frees the session. Accepts NULL. */
void session_destroy(struct session *session);

/*
 * Returns 1 if the process has mapped the file, 0 if not, -1 if its mappings cannot be read. Files
 * match by device and inode. With `path`, a mapping of this name also matches by inode alone, on
 * any device.
 */
struct stat;
int session_has_mapped(pid_t pid, const struct stat *file, const char *path);

/*
 * Returns the start time of the process (field 22 of its stat) in clock ticks since boot. Returns 0
 * with errno set if it does not exist or cannot be read.
 */
uint64_t session_process_start(pid_t pid);

#endif
