/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDED_SIDED_H
#define PROGRAMS_SIDED_SIDED_H

/*
 * programs/sided is the daemon. It stores the definitions of sessions, and a list of the programs
 * that can be traced. Records do not pass through it.
 *
 *     main.c            options, start in the background, exit
 *     loop.c            the event loop: descriptors, timers and their owners
 *     objects.c         reference counts of objects (objects.h)
 *     runtime.c         directory, lock and sockets; systemd
 *     wanted.c          the list of programs that sessions have probes for
 *     clients.c         connections of the command line
 *     verbs.c           requests of the command line
 *     operations.c      requests that take time: the recorder first, then the programs
 *     handover.c        descriptors that clients send
 *     sessions.c        sessions and their state files
 *     tables.c          probe tables, stored beside the state files
 *     pending.c         probes of files that did not exist when they were requested
 *     exec-attach.c     attach on exec: the files to watch, and the results
 *     exec-supervisor.c the process that starts the helper for that
 *     boot.c            sessions in which programs recorded before the daemon started
 *     workers.c         session processes: start, requests, restart
 *     agents.c          connections of programs
 *     rendezvous.c      rendezvous sockets for programs that cannot open the daemon's directory
 *     acceptor.c        accepts connections on a socket that another process has created
 *     push.c            update messages to programs
 *     programs.c        the programs, and which ones have switched to new rules
 *     saved-programs.c  programs that do not reconnect by themselves, for the next daemon
 *     status.c          status, list, top
 *     session-process.c, session-probes.c, session-status.c   the session process, which records
 *     sender.c          the process that sends the trace of a session
 *     isolate.c         the privileges that each process drops
 *
 * One thread runs the loop, and never waits. Every socket is non-blocking. Every answer that is due
 * later is an operation with a deadline. The thread of thread_defer() does work that must wait for
 * another thread; the first message with descriptors starts it. Each rendezvous socket that another
 * process has created has an acceptor thread. Other threads receive or close descriptors, and exit.
 *
 * The daemon can be killed at any point: state files stay complete, because a rename replaces them.
 * Session processes then exit at once. The next daemon starts them again from the state files, and
 * they adopt their state directories.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/container-of.h"
#include "base/error.h"
#include "base/event-loop.h"
#include "sessions/definition.h"
#include "sessions/frame.h"
#include "sessions/json.h"
#include "objects.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/shares.h"

/* Limits for clients and programs. */
#define LIMIT_CLIENTS 256        /* connections of the command line */
#define LIMIT_CLIENTS_OF_USER 64 /* of one user */
#define LIMIT_CLIENT_FLOORS \
	16 /* users with a floor; the floors are half of all connections (shares.h) */
#define LIMIT_UNIDENTIFIED 512 /* connections of programs that have not identified themselves */
#define LIMIT_UNIDENTIFIED_OF_USER 256
#define LIMIT_UNIDENTIFIED_MS 3000 /* timeout of their identification */
#define LIMIT_HOLD_MS 1500     /* maximum delay of a new program while a session's process starts */
#define LIMIT_RESOLUTIONS 16   /* processes that resolve pending probes, and their failures */
#define LIMIT_LOADED 256       /* the same for libraries that programs load */
#define LIMIT_LOADED_MS 10000  /* a library without the location is not read again, in --system */
#define LIMIT_RESOLVE_MS 60000 /* maximum time of such a process */
#define LIMIT_PROGRAMS_OF_USER 16384
#define LIMIT_PROGRAM_FLOORS 16
#define LIMIT_SESSIONS 256
#define LIMIT_SESSIONS_OF_USER 64     /* of one member of the group */
#define LIMIT_SESSIONS_OF_MEMBERS 192 /* of all members together: the remainder is for root */
#define LIMIT_TABLES_OF_MEMBERS \
	(256u << 20)         /* bytes of the probe tables in the sessions of all members together */
#define LIMIT_TABLE_FLOORS 4 /* users with a floor of these bytes: shares.h */
#define LIMIT_RENDEZVOUS 1024
#define LIMIT_RENDEZVOUS_FLOORS 16
#define LIMIT_QUEUED \
	(256u << 10) /* bytes of queued messages that pass connections to a session's process */
#define LIMIT_WAITING (16u << 20) /* queued bytes of a client */
#define LIMIT_WAITING_MS 30000    /* timeout of a client that does not read them */
/*
 * Lines of the log within a minute (recorder/core/log-limits.h), in addition to those about
 * programs:
 */
#define LIMIT_LINES_OF_SESSION 60 /* from a session's process about itself */
/* from the daemon about root's sessions, or about the user's own */
#define LIMIT_LINES_OF_ROOT 240
#define LIMIT_LINES_OF_MEMBER 24 /* from the daemon about sessions of a member of the group */
#define ACCEPTS_AT_ONCE 32
#define FOREIGN_RELEASES 64

struct daemon;
struct session_entry;
struct client;
struct sided_program;
struct rendezvous;
struct operation;
struct session;

/* ---- loop.c ---- */

/* A watch or a timer inside an object must name the object as its owner before its first use. */
struct sided_watch {
	int fd; /* -1: closed, no callback is called any more */
	uint32_t events;
	struct sided_object *owner; /* or NULL: part of struct daemon */
	struct event_source source;
	void (*ready)(struct daemon *daemon, struct sided_watch *watch, uint32_t events);
};

struct timer {
	struct event_timer base;
	struct sided_object *owner;
	void (*expired)(struct daemon *daemon, struct timer *timer);
};

uint64_t loop_now(void);
int loop_open(struct daemon *daemon);
void loop_close(struct daemon *daemon);
/* Runs until daemon->stop. Returns 0 or a negative errno. */
int loop_run(struct daemon *daemon);
int loop_watch(struct daemon *daemon, struct sided_watch *watch, int fd, uint32_t events,
		void (*ready)(struct daemon *, struct sided_watch *, uint32_t));
void loop_change(struct daemon *daemon, struct sided_watch *watch, uint32_t events);
/* Closes the descriptor, too. */
void loop_unwatch(struct daemon *daemon, struct sided_watch *watch);
/* The same, but returns the descriptor instead of closing it. */
int loop_release(struct daemon *daemon, struct sided_watch *watch);
void loop_timer(struct daemon *daemon, struct timer *timer, uint64_t in_ms,
		void (*expired)(struct daemon *, struct timer *));
void loop_cancel(struct daemon *daemon, struct timer *timer);
/*
 * Call if no descriptor is free: closes a connection, or stops listening for PAUSE_MS (agents.c).
 */
void loop_pause_listening(struct daemon *daemon);

/* ---- the daemon ---- */

#define PROGRAM_BUCKETS 1024

struct daemon {
	struct daemon_objects objects; /* the first member: objects.c */
	bool system;                   /* the daemon of the system: started by root with --system */
	bool any_user; /* accept programs of every user: root's daemon, independent of its group */
	bool stop;
	bool quiet;
	uid_t uid;
	gid_t group; /* its members may control the system's daemon; (gid_t)-1: no group */
	char runtime[80];
	char *output; /* base directory of traces, or NULL */
	int lock_fd;
	bool control_is_ours, agents_is_ours; /* created by the daemon, not by systemd */

	struct event_loop loop;

	struct sided_watch signals;
	struct sided_watch control_listener, agents_listener;
	bool agents_refuse_fds; /* result of peer_refuse_fds() */
	struct timer relisten;

	struct handover *handovers;
	struct client *clients;
	struct shares client_shares;
	/* connections that have not identified themselves; the oldest one is last */
	struct sided_agent *unidentified;
	unsigned int nr_unidentified;
	struct shares unidentified_shares; /* counts these agents for each user; has no floors */

	struct rendezvous *rendezvous_list;
	struct closed_rendezvous *closed_list;
	struct shares rendezvous_shares;

	struct sided_program *programs[PROGRAM_BUCKETS];
	size_t max_programs;
	struct shares program_shares;
	uint64_t serial;   /* of the last change that programs were notified of */
	char *wanted;      /* the text of the published list, or NULL */
	uint64_t identity; /* random: no other daemon publishes the same serial with it */

	struct session_entry *sessions;
	size_t nr_sessions;
	struct resolution *resolutions; /* pending.c */
	unsigned int nr_resolutions;
	unsigned int nr_loaded; /* those of libraries, which nr_resolutions does not count */
	struct exec_attach *exec_attach; /* exec-attach.c */
	struct operation *waiting;       /* operations that wait for programs */

	/* The last programs that had the agent of another release. */
	struct foreign_release {
		pid_t pid;
		uint64_t started;
	} foreign[FOREIGN_RELEASES];
	size_t nr_foreign;

	struct log_line_budget lines; /* limits of the log */
	struct timer suppressed;
};
_Static_assert(!offsetof(struct daemon, objects), "the first member");

/* Writes one sentence to standard error: to the journal, the terminal, or nowhere. */
void log_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same about something that this user has caused, within the user's limit. */
void log_about(struct daemon *daemon, uid_t uid, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

/* ---- runtime.c ---- */

int runtime_open(struct daemon *daemon, const char *directory, struct error *error);
int runtime_listen(struct daemon *daemon, struct error *error);
/*
 * Publishes daemon->serial. Call it after each change, before programs are notified and before the
 * client is answered.
 */
void runtime_publish(struct daemon *daemon);
void runtime_close(struct daemon *daemon);
/* Makes a path below the runtime directory. Returns false if it is too long. */
bool runtime_path(const struct daemon *daemon, char *path, size_t capacity, const char *format, ...)
		__attribute__((format(printf, 4, 5)));
/*
 * Gets the peer of a socket. Returns 0 or a negative errno. pid 0: the process is in a pid
 * namespace that the daemon does not see.
 */
struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};
int runtime_peer(int fd, struct peer *ret_peer);
/* True if this group is the peer's primary group or one of its supplementary groups. */
bool runtime_peer_in_group(int fd, const struct peer *peer, gid_t group);
/* Sends a message to systemd, if the daemon was started by it. */
void notify(const char *text);
void notify_store(int fd, const char *name);

/* ---- wanted.c ---- */

/* Publishes the list of programs for which sessions have probes, if it has changed. */
void wanted_publish(struct daemon *daemon);
/* Removes it at the end of the daemon. */
void wanted_close(struct daemon *daemon);

/* ---- clients.c ---- */

int clients_open(struct daemon *daemon);
void clients_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events);
/*
 * Answers the oldest request of the client, and puts `answer` (NULL: out of memory). Returns 0,
 * also if the client is closed; or a negative errno if the client gets an error instead.
 */
int client_answer(struct daemon *daemon, struct client *client, struct json_object *answer);
void client_fail(struct daemon *daemon, struct client *client, const struct error *error);
/*
 * Sends an update of a subscription. If out of memory (also if `message` is NULL), drops it,
 * because another update follows. Returns false if the client was closed.
 */
bool client_send(struct daemon *daemon, struct client *client, struct json_object *message);
void client_close(struct daemon *daemon, struct client *client);
void clients_close(struct daemon *daemon);

struct client {
	struct sided_object object;
	struct sided_watch watch;
	struct sided_watch handover; /* receives a message with descriptors from a thread */
	struct client *next;
	struct peer peer;
	struct frame_in in;
	struct frame_out out;
	struct timer timer; /* runs while queued messages wait */
	bool busy;          /* a request is being handled */
	bool last;          /* close it when everything is sent */
	uint64_t heard;     /* time of its last request, or of its connection */
	/* A subscription (top). */
	struct timer interval_timer;
	uint64_t interval_ms;
	char *top_session; /* NULL: all sessions */
	bool subscribed;
	bool is_asking; /* a query of the subscription has no answer yet */
};

/* ---- verbs.c ---- */

void verb_take(struct daemon *daemon, struct client *client, struct json_object *request);

/* ---- sessions.c ---- */

enum session_state {
	SESSION_DEFINED,  /* never started */
	SESSION_STARTING, /* starting for the first time; on failure it becomes DEFINED again */
	SESSION_LIVE,     /* has a process, or will soon have one again */
};

/* push.c: the step to the current generation */
struct push {
	uint64_t reported;
	/* NULL: there are no messages. */
	uint64_t base, since;
	unsigned char *bytes;
	size_t size;
};

struct session_entry {
	struct sided_object object;
	struct session_entry *next;
	struct definition *definition;
	enum session_state state;
	bool active;
	uint64_t generation;
	struct push push;
	uid_t uid; /* user who created it and owns its traces */
	gid_t gid;
	char *output;
	char *state_dir;
	/* from a static configuration: programs create folders in the state directory themselves */
	bool boot;
	char *error; /* why its process could not start again, or NULL */
	/* since when it has no recorder, in ticks since boot as in /proc/PID/stat; 0: it has one */
	uint64_t absent;
	uint64_t nr_foreign; /* programs with the agent of another release */
	/* programs that started while it had no recorder, and were not recorded at first */
	uint64_t nr_unrecorded;
	struct sided_worker *worker;
	struct operation *operation; /* the current one (a reference) */
	struct operation *queue;
};

struct session_entry *session_find(struct daemon *daemon, const char *name);
/* True for a session of the system's daemon that a member of the group has created. */
static inline bool session_is_of_member(
		const struct daemon *daemon, const struct session_entry *entry)
{
	return daemon->system && entry->uid;
}
/*
 * The user whose programs the session records and its owner sees, or all users. A member of the
 * group records only programs of its own, as without the daemon: a blocking channel would stop
 * those of other users.
 */
#define SCOPE_ALL ((uid_t)-1)
static inline uid_t session_scope(const struct daemon *daemon, const struct session_entry *entry)
{
	return session_is_of_member(daemon, entry) ? entry->uid : SCOPE_ALL;
}
static inline uid_t peer_scope(const struct daemon *daemon, const struct peer *peer)
{
	return daemon->system && peer->uid ? peer->uid : SCOPE_ALL;
}
static inline bool is_in_scope(uid_t scope, uid_t uid)
{
	return scope == SCOPE_ALL || scope == uid;
}
/*
 * True if this user may see and change the session. Root may; a member of the group may for its own
 * sessions only.
 */
static inline bool session_permits(const struct daemon *daemon, const struct peer *peer,
		const struct session_entry *entry)
{
	return !daemon->system || !peer->uid || peer->uid == entry->uid;
}
/* Makes a default name: side-DATE-TIME, with a number if this name exists. */
#define SESSION_DATED_NAME_SIZE 48
void session_dated_name(struct daemon *daemon, char name[SESSION_DATED_NAME_SIZE]);
int session_add(struct daemon *daemon, struct definition *definition,
		struct session_entry **ret_entry, struct error *error);
void session_remove(struct daemon *daemon, struct session_entry *entry);
/* Chooses output directory and state directory. */
int session_settle(struct daemon *daemon, struct session_entry *entry, struct error *error);
/* Writes its state file. Logs errors. */
void session_save(struct daemon *daemon, struct session_entry *entry);
/* Makes the first request to its process. Returns NULL if out of memory. */
struct json_object *session_opening(struct daemon *daemon, struct session_entry *entry);
/*
 * True if WELCOME messages contain the session. They do so even while its process is restarted;
 * else programs would leave it.
 */
static inline bool session_is_present(const struct session_entry *entry)
{
	return entry->state == SESSION_LIVE;
}
/* Makes the path of its socket for programs. Returns false if it is too long. */
bool session_socket(const struct daemon *daemon, const struct session_entry *entry, char *path,
		size_t capacity);
const char *session_state_word(const struct session_entry *entry);
int sessions_restore(struct daemon *daemon);
/*
 * state_write() writes a whole file; returns 0 or a negative errno. state_read() reads one object;
 * returns NULL with *error filled in on failure.
 */
int state_write(const char *path, const char *text, size_t size);
struct json_object *state_read(const char *path, size_t max, struct error *error);
/*
 * Calls `take` for each state file whose name is the prefix and a number from 1 to INT32_MAX;
 * removes other files with the prefix.
 */
typedef void state_restore(struct daemon *daemon, uint32_t number, const char *path);
void state_each(struct daemon *daemon, const char *prefix, state_restore *take);
void sessions_close(struct daemon *daemon);

/* ---- tables.c ---- */

/* Makes the path of the directory of a session's probe tables. Returns false if it is too long. */
bool tables_path(const struct daemon *daemon, const struct session_entry *entry, char *path,
		size_t capacity);
/*
 * Stores a copy of the table in this descriptor. Returns 0, or a negative errno with *error filled
 * in.
 */
int table_store(const struct daemon *daemon, const struct session_entry *entry, uint32_t number,
		int table, struct error *error);
/*
 * tables_prune() removes tables that the definition no longer contains, tables_remove() all tables
 * of the session.
 */
void tables_prune(const struct daemon *daemon, const struct session_entry *entry);
void tables_remove(const struct daemon *daemon, struct session_entry *entry);

/* ---- boot.c ---- */

/* Adopts the sessions of this configuration, or of the system's (NULL). Logs errors. */
void boot_adopt(struct daemon *daemon, const char *file);
/* Call when such a session is destroyed: programs that start later no longer begin to record. */
void boot_end(const struct session_entry *entry);

/* ---- workers.c ---- */

/*
 * Sends a request to a session's process, and starts it if there is none. `done` is called once,
 * later, with its answer (owned by the worker), or with NULL and an error, unless `user` is closed
 * by then. If the process dies, it is restarted and gets the request again.
 */
typedef void worker_done(struct daemon *daemon, struct session_entry *entry,
		struct sided_object *user, struct json_object *answer, const struct error *error);
void worker_ask(struct daemon *daemon, struct session_entry *entry, struct json_object *request,
		unsigned int timeout_ms, worker_done *done, struct sided_object *user);
/* Starts the process without a request: after a restart of the daemon. */
void worker_start(struct daemon *daemon, struct session_entry *entry);
/* Closes the worker; its process exits at once and finishes nothing. */
void worker_close(struct daemon *daemon, struct session_entry *entry);
bool worker_is_ready(const struct session_entry *entry);
/*
 * Passes a program's connection to the session; the caller keeps the descriptor. Returns false if
 * the session cannot accept it now.
 */
bool worker_pass(struct daemon *daemon, struct session_entry *entry, int fd);
/* The probes of a library are set or have failed: the program that loads it can continue. */
void worker_continue_load(struct daemon *daemon, struct session_entry *entry, uint64_t serial);
unsigned int worker_restarts(const struct session_entry *entry);
pid_t worker_pid(const struct session_entry *entry);
/*
 * Call when a program has started: sessions that should record it, but have no recorder, count it.
 */
void workers_count_unrecorded(struct daemon *daemon, struct sided_program *program);
void workers_reap(struct daemon *daemon);

/* ---- operations.c ---- */

/*
 * Starts a request that changes what is recorded. The client gets its answer when the change is
 * complete.
 */
void operation_begin(struct daemon *daemon, struct client *client, struct session_entry *entry,
		const char *verb, struct json_object *request);
/* Asks the programs of a session for a state dump, and then the recorder to finish its snapshot. */
void operation_begin_state(struct daemon *daemon, struct session_entry *entry);
/*
 * Call when a program has switched to new rules, or has exited: operations no longer wait for it.
 */
void operations_switched(struct daemon *daemon, const struct sided_program *program, uint64_t after,
		uint64_t until);
/* Call when the helper watches the files of the changes until this serial, or never will. */
void operations_exec_ready(struct daemon *daemon, uint64_t serial);
/* Call before a session is removed: refuses the operations in its queue. */
void operations_refuse(struct daemon *daemon, struct session_entry *entry);
void operations_close(struct daemon *daemon);

/* ---- programs.c ---- */

struct sided_program {
	struct sided_object object;
	struct sided_program *next;
	struct sided_watch watch;      /* its pidfd; fd -1: none */
	struct sided_agent *agent;     /* its connection, or NULL (a reference) */
	struct rendezvous *rendezvous; /* the socket of its connection, or NULL (a reference) */
	struct timer again;            /* SIGNAL: timer for another request */
	unsigned int agains;
	pid_t pid; /* in the daemon's pid namespace */
	uid_t uid;
	uint64_t token;
	uint32_t control;
	uint32_t control_signal;
	uint64_t since; /* serial of its first WELCOME: it must confirm later changes */
	uint64_t done;
	/*
	 * Serial of the newest change when a command had waited for it until the timeout; 0: it has
	 * answered since. Later changes wait for it only briefly; else a program that never answers
	 * would delay each command.
	 */
	uint64_t late;
	uint64_t known; /* the last WELCOME of which it has confirmed everything */
	char *name;
	char *exe;
	bool remembered; /* saved in a state file */
	/* workers_count_unrecorded() has counted it: a program can connect several times */
	bool is_unrecorded;
};

/* A connection of a program. */
struct sided_agent {
	struct sided_object object;
	struct sided_watch watch;
	/* its pidfd, until a program has one; fd -1: the daemon does not see the process */
	struct sided_watch process;
	bool refuses_fds;               /* result of peer_refuse_fds() */
	struct sided_agent *next, **at; /* list of daemon->unidentified */
	struct peer peer;
	struct timer timer;            /* until ARRIVE; then until its first WELCOME */
	struct sided_program *program; /* NULL until ARRIVE (a reference) */
	struct rendezvous *rendezvous; /* or NULL (a reference) */
	bool welcome_is_pending;       /* a WELCOME must be sent when the socket accepts it */
	bool is_delayed; /* its first WELCOME waits for a recorder or for pending probes */
};

void agents_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events);
/* Sends the first WELCOME to the programs that need not wait any more. */
void agents_continue(struct daemon *daemon);
void agent_close(struct daemon *daemon, struct sided_agent *agent);
void agents_close(struct daemon *daemon);
/* Sends a WELCOME with the newest serial, now or as soon as the socket accepts it. */
void agent_welcome(struct daemon *daemon, struct sided_agent *agent);

struct wire_arrive;
struct wire_done;
/* Returns NULL with a reason, which is sent to the program. */
struct sided_program *program_arrive(struct daemon *daemon, struct sided_agent *agent,
		const struct wire_arrive *arrive, const char **ret_reason);
void program_done(
		struct daemon *daemon, struct sided_program *program, const struct wire_done *done);
/* Call when the connection is closed. */
void program_disconnected(struct daemon *daemon, struct sided_agent *agent);
int programs_open(struct daemon *daemon);
void programs_close(struct daemon *daemon);
/*
 * Restores a program that an earlier daemon knew. Takes ownership of the descriptor and the names,
 * unless it returns a negative errno.
 */
int program_restore(struct daemon *daemon, const struct sided_program *facts, int pidfd);
/*
 * Notifies all programs of daemon->serial. Returns the number of programs that must confirm it;
 * *late: how many of them are late.
 */
size_t programs_poke(struct daemon *daemon, uid_t scope, size_t *late);
/*
 * Call when the timeout of the change with this serial has expired: programs that have not switched
 * are late from now on.
 */
void programs_be_late(struct daemon *daemon, uint64_t serial, uid_t scope);
bool program_is_late(const struct sided_program *program, uint64_t serial);
/*
 * programs_pending() lists programs that have not switched to this serial, with the reason.
 * programs_unchanged() lists those that read rules only at their start.
 */
struct json_object *programs_pending(struct daemon *daemon, uint64_t serial, uid_t scope);
struct json_object *programs_unchanged(struct daemon *daemon, uid_t scope);
struct json_object *programs_json(struct daemon *daemon, uid_t scope);
size_t programs_count(struct daemon *daemon, uid_t scope);
/* True if this process is notified of changes, or asks before its next event. */
bool program_is_reachable(struct daemon *daemon, pid_t pid);

/* ---- pending.c: probes of files that did not exist ---- */

/*
 * Call when a program arrives. Returns true if its pending probes are being resolved: then the
 * program must wait for agents_continue().
 */
bool pending_begin(struct daemon *daemon, const struct sided_program *program);
/* True while side-more resolves pending probes of the program. */
bool pending_delays(const struct daemon *daemon, const struct sided_program *program);
/* Returns why the pending probes of this file could not be resolved, or NULL. */
const char *pending_failure(
		const struct daemon *daemon, const struct session_entry *entry, const char *exe);
/*
 * The session process reports that a process is loading a library, which waits. Answers with
 * worker_continue_load(), maybe at once.
 */
void pending_begin_load(
		struct daemon *daemon, struct session_entry *entry, struct json_object *report);
/* Returns why the probe could not be resolved in the library that was loaded last, or NULL. */
const char *pending_load_failure(const struct daemon *daemon, const struct session_entry *entry,
		const struct definition_probe *probe);
void pending_close(struct daemon *daemon);
/* Executes side-more. Returns only if it cannot, with errno. */
void sided_execute_more(char **args);

/* ---- exec-attach.c: attach to programs when they execute a file ---- */

/* Call before the daemon drops its capabilities, which the helper needs. */
void exec_attach_open(struct daemon *daemon);
void exec_attach_close(struct daemon *daemon);
/*
 * Call after each change of a session. Returns true if operations_exec_ready() will be called when
 * the change is in effect.
 */
bool exec_attach_update(struct daemon *daemon);
/*
 * Returns the state of a file for a session: whether programs are attached to when they execute it,
 * the reason if not, and the results. NULL: out of memory.
 */
struct json_object *exec_attach_json(
		struct daemon *daemon, const struct session_entry *entry, const char *exe);

/* ---- exec-supervisor.c ---- */

/*
 * Returns the daemon's socket, or -1 with the reason why this daemon cannot attach on exec. After
 * EXEC_WATCH_AFTER (sessions/exec-watch.h), the reason is why it is not EXEC_WATCH_ON.
 */
int exec_supervisor_start(const char **ret_method, char *ret_reason, size_t capacity);

/* ---- handover.c: descriptors that clients send ---- */

/* True if the next message of this socket has descriptors. */
bool handover_is_due(int client);
/*
 * Lets a thread receive the message. Returns a socket from which the loop receives it with a probe
 * table, a rendezvous socket or no descriptor; or a negative errno.
 */
int handover_begin(struct daemon *daemon, int client, uid_t uid);
/* Closes a descriptor that was received in this way, without blocking. */
void handover_close(int fd);
/* Call at the end of the daemon: frees the structures that no thread uses. */
void handovers_close(struct daemon *daemon);

/* ---- acceptor.c: connections of a socket that another process shares ---- */

struct acceptor;

/* Takes ownership of the socket, unless it fails. Returns 0 or a negative errno. */
int acceptor_start(int listener, struct acceptor **ret_acceptor);
/*
 * acceptor_fd() is readable while acceptor_take() has a connection. acceptor_take() returns -1 with
 * errno EAGAIN if there is none.
 */
int acceptor_fd(const struct acceptor *acceptor);
int acceptor_take(struct acceptor *acceptor);
/* Ends the acceptor. Does not wait: the thread of thread_defer() closes the socket later. */
void acceptor_stop(struct acceptor *acceptor);

/* ---- rendezvous.c ---- */

/* Returns the path of the rendezvous socket in the view of this process, or "" if there is none. */
const char *rendezvous_of_process(const struct daemon *daemon, pid_t pid);
/*
 * Listens on this descriptor, which was created where that process sees it. Takes ownership of it
 * in any case. Returns 0 or a negative errno.
 */
int rendezvous_add(struct daemon *daemon, uid_t uid, pid_t pid, uint64_t started, const char *path,
		int fd);
/* Returns the rendezvous socket with this watch, or NULL. */
struct rendezvous *rendezvous_of_watch(
		const struct daemon *daemon, const struct sided_watch *watch);
/*
 * Accepts a connection of a rendezvous socket, or of the daemon's own (NULL). Returns -1 with errno
 * if there is none.
 */
int rendezvous_accept(const struct rendezvous *rendezvous, const struct sided_watch *watch);
/*
 * Call when a connection was made through the socket, and when it is closed. The socket stays while
 * it has connections.
 */
void rendezvous_connected(
		struct daemon *daemon, struct sided_agent *agent, struct rendezvous *rendezvous);
void rendezvous_disconnected(struct daemon *daemon, struct sided_agent *agent);
/*
 * Call when a program has connected through it (NULL: through none), and when the program has
 * exited.
 */
void rendezvous_entered(struct daemon *daemon, struct sided_program *program,
		struct rendezvous *rendezvous);
void rendezvous_left(struct daemon *daemon, struct sided_program *program);
void rendezvous_listen_all(struct daemon *daemon, bool listen);
int rendezvous_open_all(struct daemon *daemon);
void rendezvous_restore_all(struct daemon *daemon);
/* Lists sockets that could not be reopened, while programs still need them. */
struct json_object *rendezvous_closed_json(struct daemon *daemon);
void rendezvous_close_all(struct daemon *daemon);

/* ---- push.c ---- */

/* In the session's process: adds the messages to the answer to a change. */
void push_put(struct session *session, struct json_object *answer);
/*
 * In the daemon: moves the messages from that answer to the entry. `before` is the previous
 * generation. Call it before programs are notified.
 */
void push_take(const struct daemon *daemon, struct session_entry *entry, uint64_t before,
		struct json_object *answer);
/* Call if programs must ask for the rules of the current generation. */
void push_forget(const struct daemon *daemon, struct session_entry *entry);
/*
 * Appends the messages to a WELCOME that has the session as number `index`. Returns their size, or
 * 0 if the program must ask.
 */
size_t push_add(const struct session_entry *entry, const struct sided_program *program,
		uint32_t index, char *message, size_t capacity);

/* ---- saved-programs.c ---- */

/*
 * Saves the program for the next daemon. program_forget() removes the file; a program that is only
 * freed, as at the daemon's end, stays saved.
 */
void program_remember(const struct daemon *daemon, struct sided_program *program);
void program_forget(const struct daemon *daemon, struct sided_program *program);
void programs_restore(struct daemon *daemon);

/* ---- status.c ---- */

void status_begin(struct daemon *daemon, struct client *client, const char *session);
void status_list(struct daemon *daemon, struct client *client, const char *session);
void status_top(struct daemon *daemon, struct client *client, const char *session,
		uint64_t interval_ns);

/* ---- session-process.c ---- */

int session_process(void);

/*
 * session-status.c: makes the session's statistics. `over`: after session_finish(). Returns NULL if
 * out of memory. session_sums() adds only the sums over all processes. Returns false if out of
 * memory.
 */
struct json_object *session_stats(struct session *session, bool over);
bool session_sums(struct session *session, struct json_object *object);

/* ---- session-probes.c: probes in the session process ---- */

struct probes;
struct session_table;
/* Opens the probes of the definition, and reads their tables from this directory. */
int probes_open(const char *tables, const struct definition *definition, struct probes **ret_probes,
		struct error *error);
/* Accepts NULL. The session must have been closed. */
void probes_close(struct probes *probes);
/* Returns the tables for the session library; *probes owns them. */
const struct session_table *probes_list(const struct probes *probes, size_t *ret_nr);
/*
 * probes_prepare() prepares the probes of another definition for the session's next change.
 * probes_settle() is called after the change: `changed` is true if it succeeded.
 */
int probes_prepare(struct probes *probes, struct session *session,
		const struct definition *definition, struct error *error);
void probes_settle(struct probes *probes, bool changed);
bool probes_any(const struct probes *probes);
/* True if a probe may be for this library, which a program is loading (NULL: for any). */
bool probes_may_name(const struct probes *probes, const char *path);
/* Returns the state of all probes (number 0) or of those with one table. NULL: out of memory. */
struct json_object *probes_json(
		const struct probes *probes, struct session *session, uint32_t number);

/* ---- session-loads.c: libraries that programs load, in the session process ---- */

struct sided_loads;
/* Reports them to the daemon by `out`. Returns NULL if out of memory or descriptors. */
struct sided_loads *loads_new(struct frame_out *out);
void loads_free(struct sided_loads *loads);
/* `probes`: those of the session. */
const struct session_loads *loads_use(struct sided_loads *loads, const struct probes *probes);
/* Takes the answer of the daemon. */
void loads_continue(struct sided_loads *loads, struct json_object *request);

/* ---- isolate.c ---- */

void isolate_daemon(struct daemon *daemon);
/* Drops the capabilities that the helper process of exec-attach.c does not need. */
void isolate_exec_helper(void);
/* The user who owns the files that a process writes. */
struct session_owner {
	uid_t uid;
	gid_t gid;
};
/*
 * Restricts a session process: it can write only below these paths (terminated by NULL), and
 * execute nothing. Without paths it keeps access to all files, because that restriction also hides
 * other processes from it. `sees_others`: it finds them by their mapped files (boot.c). With an
 * owner (else NULL), the process keeps the capabilities that isolate_as() drops later. Returns 0, or
 * a negative errno if it could not write below one of the paths.
 */
int isolate_session(
		const char *const *writable, bool sees_others, const struct session_owner *owner);
/*
 * From now on, the process accesses all files with the owner's permissions. Returns 0 or a negative
 * errno.
 */
int isolate_as(const struct session_owner *owner);
/*
 * After isolate_as(): calls the function in a thread that has root's permissions for files. Returns
 * false if there is no thread.
 */
bool isolate_as_root(void *(*function)(void *argument), void *argument);
/*
 * Drops all capabilities in the process that sends the trace of a session. With an owner (else
 * NULL), the whole process changes to that user. Returns 0 or a negative errno.
 */
int isolate_sender(const struct session_owner *owner);

/* ---- sender.c ---- */

/* The sending process of a session. */
struct sender;
/*
 * Creates the process before the session, and before privileges are dropped; it begins with
 * sender_go(). It closes the descriptors `closing`, which it does not need. `no_files`: it must not
 * write to a file, because users other than its own can choose the destination. Returns 0 or a
 * negative errno.
 */
struct session_owner;
int sender_make(const struct definition *definition, const char *output, bool no_files,
		const struct session_owner *owner, const int *closing, size_t nr_closing,
		struct sender **ret_sender);
/* Returns the counters in which the recorder stores its progress. */
struct session_rounds *sender_rounds(struct sender *sender);
/* Returns a descriptor that is readable when sender_hear() has work. */
int sender_fd(const struct sender *sender);
void sender_go(struct sender *sender);
/*
 * Receives messages, and calls `reported` for each sentence. Returns false if the process has
 * exited; then the session process must exit, too.
 */
bool sender_hear(struct sender *sender, void (*reported)(void *user, const char *text), void *user);
/*
 * Call when the recording has ended: waits until everything is sent, or until the sender gives up.
 */
void sender_finish(
		struct sender *sender, void (*reported)(void *user, const char *text), void *user);
/* Returns the sender's status. NULL: out of memory. */
struct json_object *sender_json(const struct sender *sender);
/*
 * Call after sender_finish(). Accepts NULL. The sending process exits when its connection closes.
 */
void sender_free(struct sender *sender);

#endif
