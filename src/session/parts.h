/* SPDX-License-Identifier: MIT */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

/*
 * What the parts of a session share. Private to the room.
 *
 *	session.c     options, life and summary
 *	report.c      messages and losses
 *	output.c      the output directory
 *	libraries.c   where the agent and the wrappers are
 *	spawn.c       starting the command
 *	command.c     why a command may never meet the agent
 *	runtime.c     the directory of the socket
 *	listener.c    the socket that agents find
 *	connection.c  what an agent says, and the answers
 *	instance.c    a process image and its memory
 *	trace.c       an instance's bytes on disk
 *	drain.c       the thread that moves records from rings to traces
 *	run.c         the loop: agents, deaths, signals
 *
 * Two threads. The main one (run.c and all that it calls) talks to agents and never touches the disk,
 * so that a program does not wait for it. The drain thread owns everything about writing: traces,
 * rings, losses. They meet in `lock`:
 *
 *	main writes, drain reads	the list of instances, instance.state up to ENDED, instance.kinds
 *	drain writes, main reads	instance.state CLOSED, memory given back
 *	both write			messages, losses, failure
 *
 * An instance is LIVE, then ENDED (its process is gone, or became another image, or the session
 * stops), then CLOSED (all it published is written, its rings are freed).
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "ctf/ctf.h"
#include "ring/ring.h"
#include "session/session.h"
#include "visit/visit.h"
#include "wire/pattern.h"
#include "wire/wire.h"

/* Limits on what other processes may ask of us. */
#define LIMIT_CONNECTIONS 256
#define LIMIT_HELLO_MS 3000          /* from accept to HELLO */
#define LIMIT_CONNECTION_MS 10000    /* a connection's whole life */
#define LIMIT_INSTANCES 1000000      /* in a session */
#define LIMIT_EVENTS 262144          /* kinds of events of an instance */
#define LIMIT_DESCRIPTION (1u << 20) /* bytes of one encoded description */
#define LIMIT_INSTANCE_DESCRIPTIONS (64ull << 20)
#define LIMIT_SESSION_DESCRIPTIONS (256ull << 20)
#define LIMIT_MESSAGES 200
#define LIMIT_OPEN_WRITERS 128 /* of instances that have ended */

/* Ids below this have loss counters of their own. The last slot counts for nobody (agent.h). */
#define EVENT_SLOTS 4096

/* A kind of event that an instance described. */
struct event_kind {
	uint32_t id;
	struct visit_owned *owned;
};

enum instance_state { INSTANCE_LIVE, INSTANCE_ENDED, INSTANCE_CLOSED };

/* What epoll hands back. */
enum watch_kind { WATCH_LISTENER, WATCH_SIGNALS, WATCH_COMMAND, WATCH_CONNECTION, WATCH_INSTANCE };

struct watch {
	enum watch_kind kind;
	int fd;
};

struct instance {
	struct watch watch; /* the pidfd */
	struct instance *next;
	struct instance *next_live; /* the main thread's list */
	uint32_t number;
	enum instance_state state;

	/* From HELLO and the kernel. */
	pid_t peer;           /* in our pid namespace */
	uint32_t pid, parent; /* in its own */
	uint64_t token;
	char *procname;
	char *exe;

	/* Kinds of events, in the order of their arrival; `by_id` has holes. */
	struct event_kind *kinds;
	uint32_t nr_kinds, room_kinds;
	uint32_t *by_id; /* index into kinds + 1 */
	uint32_t room_ids;
	uint64_t description_bytes;
	bool listed; /* has said goodbye */

	struct ring_geometry geometry;
	uint64_t memory;
	uint64_t begin_ticks;

	/* The drain thread's, once the instance is in the list. */
	struct instance *next_active;
	struct ring_consumer *rings;
	struct ctf_writer *writer;
	struct ctf_stream **streams; /* by CPU */
	uint64_t *discarded;         /* by CPU: the counter in its last packet */
	uint64_t *unwritten;         /* by CPU: bytes that found no place on the disk */
	bool *damaged;               /* by CPU: said so */
	int unwritten_code;          /* why, an errno value */
	uint32_t nr_described;       /* of kinds, in the metadata */
	uint64_t bytes;
	uint64_t lost;
	char *directory; /* below the output directory, or NULL */
};

struct connection {
	struct watch watch;
	struct connection *next;
	pid_t peer;
	uint64_t hello_deadline;
	uint64_t deadline;
	struct instance *instance; /* once it has spoken */

	/* The batch of descriptions that is arriving. */
	uint32_t sequence;
	uint32_t accepted;
	unsigned char *part; /* an incomplete description, with its head */
	size_t part_size, part_room;
	uint64_t skip; /* bytes of a description that is too large */
	struct wire_refused *refused;
	uint32_t nr_refused, room_refused;
};

struct command {
	struct watch watch; /* the pidfd */
	pid_t pid;
	int status; /* -1 while it runs */
	char *name;
	char *never_meets; /* why no agent will come, a sentence, or NULL */
};

struct session {
	/* Options, checked. */
	enum session_mode mode;
	bool wait_all;
	uint64_t ring_size;
	uint64_t memory_limit;
	char *output;
	char *preload;      /* value of LD_PRELOAD */
	char **environment; /* "NAME=VALUE" */
	size_t nr_environment;
	char *patterns; /* strings in a row, as CONFIG wants them */
	uint32_t nr_patterns;
	struct pattern *listed; /* the same, parsed */

	/* The socket. */
	char runtime[96];
	int runtime_fd; /* its lock */
	char socket_path[104];
	struct watch listener;
	struct connection *connections;
	unsigned int nr_connections;
	unsigned char *message; /* WIRE_MESSAGE_MAX */

	/* The clock, one for all traces. */
	enum ring_clock clock;
	struct ring_clock_sample begin;
	struct ctf_clock ctf_clock;
	uint64_t begin_ticks;
	char hostname[65];

	int doorbell_fd;
	struct ring_doorbell *doorbell;
	struct command command;
	int epoll;
	struct watch signals;
	sigset_t old_mask;
	bool mask_is_ours;
	struct sigaction old_child;
	struct rlimit old_files;
	unsigned int interrupts;
	bool interrupted;

	pthread_t drainer;
	bool drainer_runs;
	atomic_bool stop; /* drain everything a last time and end */
	void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost);
	void *progress_user;
	_Atomic uint64_t written; /* running totals for progress */
	_Atomic uint64_t lost;

	pthread_mutex_t lock;
	struct instance *instances, **instances_end;
	struct instance *live; /* the main thread's */
	uint32_t nr_instances;
	uint32_t nr_live;
	uint32_t max_live;
	uint64_t memory_used, memory_peak;
	uint64_t memory_ended; /* of instances that have ended: will be given back soon */
	pthread_cond_t memory_back;
	uint64_t description_bytes;

	struct session_message *messages;
	size_t nr_messages, room_messages;
	struct session_loss *losses;
	size_t nr_losses, room_losses;
	enum session_error_kind failure;

	struct session_process *processes; /* made for the summary */
	struct session_summary summary;
};

/* report.c: may be called by both threads. Sentences without a newline. */
void report(struct session *session, bool is_error, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
/* The error's kind decides the exit status: permissions have their own. */
void report_failure(struct session *session, int code);
void report_loss(struct session *session, const struct instance *instance, const char *ring,
		const char *event, const char *reason, uint64_t count, bool in_bytes);
void reports_free(struct session *session);
int session_fail(struct session_error *error, enum session_error_kind kind, int code,
		const char *format, ...) __attribute__((format(printf, 4, 5)));
/* FAILED or, for EACCES, EPERM and EROFS, PERMISSION. */
enum session_error_kind session_error_kind_of(int code);

/* output.c */
int output_create(struct session *session, const struct session_options *options,
		struct session_error *error);

/* libraries.c */
int libraries_find(struct session *session, const struct session_options *options,
		struct session_error *error);

/* command.c: a sentence, allocated, or NULL when it should meet the agent. */
char *command_never_meets(const char *name);

/* spawn.c */
sigset_t session_signals(void);

/* runtime.c */
int runtime_make(struct session *session);
void runtime_remove(struct session *session);

/* listener.c */
int listener_open(struct session *session, struct session_error *error);
void listener_close(struct session *session);

/* connection.c */
void connection_accept(struct session *session);
void connection_readable(struct session *session, struct connection *connection);
void connections_expire(struct session *session);
void connections_close(struct session *session);

/*
 * instance.c, by the main thread. instance_create() takes over the pidfd; it returns NULL with the
 * reason for the other side, else the rings' descriptor (-1 in a listing), which the caller closes.
 */
struct instance *instance_create(struct session *session, const struct wire_hello *hello,
		pid_t peer, int pidfd, int *ring_fd, const char **reason);
char *instance_clean_name(const char *name);
struct instance *instance_find(struct session *session, uint64_t token, pid_t peer);
enum wire_refusal instance_add_kind(struct session *session, struct instance *instance, uint32_t id,
		const void *bytes, size_t size);
void instance_end(struct session *session, struct instance *instance);
void instance_forget_kinds(struct session *session, struct instance *instance);
void instance_free(struct session *session, struct instance *instance);

/* trace.c, by the drain thread: move what is there (false: nothing was), and the last of it. */
bool trace_drain(struct session *session, struct instance *instance);
void trace_end(struct session *session, struct instance *instance);
/* By whoever is alone with the instance. */
void trace_close(struct session *session, struct instance *instance, const struct ctf_clock *clock);

/* drain.c */
int drain_start(struct session *session);
void drain_stop(struct session *session);

/* session.c */
int session_refined_clock(const struct session *session, struct ctf_clock *clock);

#endif
