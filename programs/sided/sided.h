/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDED_SIDED_H
#define PROGRAMS_SIDED_SIDED_H

/*
 * programs/sided: the daemon. It keeps the definitions of sessions, and a list of the programs that can be traced. Records do
 * not pass through it.
 *
 *	main.c       options, start in the background, exit
 *	loop.c       the event loop: descriptors, timers and their owners
 *	objects.c    reference counts of objects (objects.h)
 *	runtime.c    directory, lock and sockets; systemd
 *	clients.c    connections of the command line
 *	verbs.c      requests of the command line
 *	operations.c requests that take time: the recorder first, then the programs
 *	sessions.c   sessions and their state files
 *	tables.c     probe tables, stored beside the state files
 *	boot.c       sessions in which programs recorded before the daemon started
 *	workers.c    session processes: start, requests, restart
 *	agents.c     connections of programs
 *	doors.c      rendezvous sockets for programs that cannot open the daemon's directory
 *	push.c       update messages to programs
 *	programs.c   the programs, and which ones have switched to new rules
 *	remember.c   programs that do not reconnect by themselves, for the next daemon
 *	status.c     status, list, top
 *	session-process.c, session-probes.c, session-status.c   the session process, which records
 *	sender.c     the process that sends the trace of a session
 *	isolate.c    the privileges that each process drops
 *
 * One thread runs the loop, and never waits. Every socket is non-blocking. Every answer that is due later is an operation with
 * a deadline. The thread of thread_defer() does work that must wait for another thread; the first message with descriptors
 * starts it. Each rendezvous socket has an acceptor thread. Other threads receive or close descriptors, and exit.
 *
 * The daemon can be killed at any point: state files stay complete, because a rename replaces them. Session processes then end
 * without an orderly end. The next daemon starts them again from the state files, and they adopt their state directories.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/event-loop.h"
#include "sessions/definition.h"
#include "sessions/error.h"
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
#define LIMIT_STRANGERS 512 /* connections of programs that have not identified themselves */
#define LIMIT_STRANGERS_OF_USER 256
#define LIMIT_STRANGER_MS 3000 /* until then */
#define LIMIT_HOLD_MS 1500     /* that a program which comes waits for a session's process */
#define LIMIT_PROGRAMS_OF_USER 16384
#define LIMIT_PROGRAM_FLOORS 16
#define LIMIT_SESSIONS 256
#define LIMIT_SESSIONS_OF_USER 64     /* of one member of the group */
#define LIMIT_SESSIONS_OF_MEMBERS 192 /* of all of them: the others are root's */
#define LIMIT_TABLES_OF_MEMBERS \
	(256u << 20)         /* bytes of probe tables of all members' sessions, ... */
#define LIMIT_TABLE_FLOORS 4 /* ... of which so many users have a floor: shares.h */
#define LIMIT_RENDEZVOUS 1024
#define LIMIT_RENDEZVOUS_FLOORS 16
#define LIMIT_QUEUED \
	(256u << 10) /* bytes of messages that bring a session connections which it has not taken */
#define LIMIT_WAITING (16u << 20) /* bytes that a client has not read */
#define LIMIT_WAITING_MS 30000    /* and for how long */
/* Lines of the log within a minute (recorder/core/log-limits.h) beside those about programs: */
#define LIMIT_LINES_OF_SESSION 60 /* of a session's process about itself */
#define LIMIT_LINES_OF_ROOT 240   /* of the daemon about root's sessions, or the user's own, ... */
#define LIMIT_LINES_OF_MEMBER 24  /* ... and about those of a member of the group */
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

/* A watch or a timer that is part of an object names it as its owner before it is used for the first time. */
struct sided_watch {
	int fd; /* -1: closed, and nothing is called any more */
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

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

uint64_t loop_now(void);
int loop_open(struct daemon *daemon);
void loop_close(struct daemon *daemon);
/* Until daemon->stop. 0 or a negative errno. */
int loop_run(struct daemon *daemon);
int loop_watch(struct daemon *daemon, struct sided_watch *watch, int fd, uint32_t events,
		void (*ready)(struct daemon *, struct sided_watch *, uint32_t));
void loop_change(struct daemon *daemon, struct sided_watch *watch, uint32_t events);
/* Closes the descriptor. */
void loop_unwatch(struct daemon *daemon, struct sided_watch *watch);
/* The same without closing the descriptor, which is returned. */
int loop_release(struct daemon *daemon, struct sided_watch *watch);
void loop_timer(struct daemon *daemon, struct timer *timer, uint64_t in_ms,
		void (*expired)(struct daemon *, struct timer *));
void loop_cancel(struct daemon *daemon, struct timer *timer);
/* There are no descriptors left (agents.c). */
void loop_pause_listening(struct daemon *daemon);

/* ---- the daemon ---- */

#define PROGRAM_BUCKETS 1024

struct daemon {
	bool system;   /* everybody's: started by root with --system */
	bool any_user; /* programs of every user may come: to root's, whoever controls it */
	bool stop;
	bool quiet;
	uid_t uid;
	gid_t group; /* of those who may control the system's daemon; (gid_t)-1: there is none */
	char runtime[80];
	char *output; /* base directory of traces, or NULL */
	int lock_fd;
	bool control_is_ours, agents_is_ours; /* and not systemd's */

	struct event_loop loop;
	struct sided_object *unused; /* to be freed at the end of the round */

	struct sided_watch signals;
	struct sided_watch control_listener, agents_listener;
	bool agents_refuse_fds; /* peer_refuse_fds() */
	struct timer relisten;

	struct handover *handovers;
	struct client *clients;
	struct shares client_shares;
	struct sided_agent
			*agents; /* that have not identified themselves; the oldest one is last */
	unsigned int nr_strangers;
	struct shares stranger_shares; /* counts these agents for each user; has no floors */

	struct rendezvous *rendezvous_list;
	struct closed_rendezvous *closed_list;
	struct shares rendezvous_shares;

	struct sided_program *programs[PROGRAM_BUCKETS];
	size_t max_programs;
	struct shares program_shares;
	uint64_t serial;   /* of the last change that programs were told */
	uint64_t identity; /* random: no other daemon publishes the same serial */

	struct session_entry *sessions;
	size_t nr_sessions;
	struct operation *waiting; /* for programs */

	/* The last programs with the agent of another release. */
	struct foreign_release {
		pid_t pid;
		uint64_t started;
	} foreign[FOREIGN_RELEASES];
	size_t nr_foreign;

	struct log_line_budget lines; /* of the log */
	struct timer suppressed;
};

/* To standard error: the journal, the terminal, or nothing. One sentence. */
void log_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same about something that this user has caused, who has a share of the log. */
void log_about(struct daemon *daemon, uid_t uid, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

/* ---- runtime.c ---- */

int runtime_open(struct daemon *daemon, const char *directory, struct control_error *error);
int runtime_listen(struct daemon *daemon, struct control_error *error);
/* daemon->serial has changed: before programs are told, and before the client is answered. */
void runtime_publish(struct daemon *daemon);
void runtime_close(struct daemon *daemon);
/* A path below the runtime directory. False: too long. */
bool runtime_path(const struct daemon *daemon, char *path, size_t capacity, const char *format, ...)
		__attribute__((format(printf, 4, 5)));
/* Who is at the other end? 0 or a negative errno. pid 0: in no namespace of ours. */
struct peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};
int runtime_peer(int fd, struct peer *peer);
/* Is the peer in this group, by its first or a supplementary one? */
bool runtime_peer_in_group(int fd, const struct peer *peer, gid_t group);
/* Tell systemd, when it listens. */
void notify(const char *text);
void notify_store(int fd, const char *name);

/* ---- clients.c ---- */

int clients_open(struct daemon *daemon);
void clients_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events);
/*
 * Answer the oldest request of the client, and put `answer` (NULL: out of memory). Returns 0, also if the client is closed; or a negative
 * errno: the client gets an error instead.
 */
int client_answer(struct daemon *daemon, struct client *client, struct json_object *answer);
void client_fail(struct daemon *daemon, struct client *client, const struct control_error *error);
/* Send an update of a subscription. Out of memory (also NULL): drop it, because another update follows. False: the client is gone. */
bool client_send(struct daemon *daemon, struct client *client, struct json_object *message);
void client_close(struct daemon *daemon, struct client *client);
void clients_close(struct daemon *daemon);

struct client {
	struct sided_object object;
	struct sided_watch watch;
	struct sided_watch handover; /* of a message with descriptors that a thread receives */
	struct client *next;
	struct peer peer;
	struct frame_in in;
	struct frame_out out;
	struct timer timer; /* while something waits to be read */
	bool busy;          /* a request of it is being dealt with */
	bool last;          /* to be closed when everything is sent */
	uint64_t heard;     /* when it last asked for something, or came */
	/* A subscription (top). */
	struct timer interval_timer;
	uint64_t interval_ms;
	char *top_session; /* NULL: all */
	bool subscribed;
	bool is_asking; /* a query of the subscription has no answer yet */
};

/* ---- verbs.c ---- */

void verb_take(struct daemon *daemon, struct client *client, struct json_object *request);

/* ---- sessions.c ---- */

enum session_state {
	SESSION_DEFINED,  /* never started */
	SESSION_STARTING, /* for the first time: it may yet fail, and is defined again */
	SESSION_LIVE,     /* there is a process for it, or there will soon be one again */
};

/* push.c: of the step to the present generation */
struct push {
	uint64_t reported;
	/* NULL bytes: there are none. */
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
	uid_t uid; /* of the user who created it, and who owns its traces */
	gid_t gid;
	char *output;
	char *state_dir;
	bool boot; /* of a static configuration: programs make folders in the place by themselves */
	char *error; /* why its process could not begin again, or NULL */
	uint64_t absent; /* since when there is no recorder, in ticks since boot as in /proc/PID/stat; 0: there is one */
	uint64_t nr_foreign; /* programs with the agent of another release */
	uint64_t nr_unrecorded; /* programs that have started meanwhile, and were not recorded at first */
	struct sided_worker *worker;
	struct operation *operation; /* a reference: one at a time */
	struct operation *queue;
};

struct session_entry *session_find(struct daemon *daemon, const char *name);
/* A session of the system's daemon that a member of the group has created. */
static inline bool session_is_of_member(
		const struct daemon *daemon, const struct session_entry *entry)
{
	return daemon->system && entry->uid;
}
/*
 * The user whose programs the session records and its owner sees, or all users. A member of the group records its own
 * programs only, as without the daemon: a blocking channel would stop those of others.
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
/* May this user see and change the session? Root may; a member of the group has its own sessions only. */
static inline bool session_permits(const struct daemon *daemon, const struct peer *peer,
		const struct session_entry *entry)
{
	return !daemon->system || !peer->uid || peer->uid == entry->uid;
}
/* For who gives none: side-DATE-TIME, and a number behind it when that is there. */
#define SESSION_DATED_NAME_SIZE 48
void session_dated_name(struct daemon *daemon, char name[SESSION_DATED_NAME_SIZE]);
int session_add(struct daemon *daemon, struct definition *definition, struct session_entry **entry,
		struct control_error *error);
void session_remove(struct daemon *daemon, struct session_entry *entry);
/* Choose output directory and place. */
int session_settle(struct daemon *daemon, struct session_entry *entry, struct control_error *error);
/* Write its state file. What goes wrong is said. */
void session_save(struct daemon *daemon, struct session_entry *entry);
/* What its process is to begin with. NULL: no memory. */
struct json_object *session_opening(struct daemon *daemon, struct session_entry *entry);
/* Programs are told of it: also while its process is away, or they would leave. */
static inline bool session_is_present(const struct session_entry *entry)
{
	return entry->state == SESSION_LIVE;
}
/* Its socket for programs. False: too long. */
bool session_socket(const struct daemon *daemon, const struct session_entry *entry, char *path,
		size_t capacity);
const char *session_state_word(const struct session_entry *entry);
int sessions_restore(struct daemon *daemon);
/* Files of the state: the whole text, 0 or a negative errno; one object, or NULL with *error filled in. */
int state_write(const char *path, const char *text, size_t size);
struct json_object *state_read(const char *path, size_t max, struct control_error *error);
/* Those whose names are the prefix and a number, from 1 to INT32_MAX; others with it are removed. */
typedef void state_restore(struct daemon *daemon, uint32_t number, const char *path);
void state_each(struct daemon *daemon, const char *prefix, state_restore *take);
void sessions_close(struct daemon *daemon);

/* ---- tables.c ---- */

/* The directory of a session's probe tables. False: too long. */
bool tables_path(const struct daemon *daemon, const struct session_entry *entry, char *path,
		size_t capacity);
/* Keep a copy of this descriptor's table. 0 or a negative errno with *error filled in. */
int table_store(const struct daemon *daemon, const struct session_entry *entry, uint32_t number,
		int table, struct control_error *error);
/* Those that the definition does not have any more go; or all of them. */
void tables_prune(const struct daemon *daemon, const struct session_entry *entry);
void tables_remove(const struct daemon *daemon, struct session_entry *entry);

/* ---- boot.c ---- */

/* Sessions of this configuration, or of that of the machine. What goes wrong is said. */
void boot_adopt(struct daemon *daemon, const char *file);
/* Such a session is destroyed: programs that start begin no more. */
void boot_end(const struct session_entry *entry);

/* ---- workers.c ---- */

/*
 * Ask a session's process; it is started when there is none. `done` is called once, later, with its
 * answer (which stays the worker's) or NULL with an error, unless `user` is closed by then. A process that dies is
 * started again and asked again.
 */
typedef void worker_done(struct daemon *daemon, struct session_entry *entry,
		struct sided_object *user, struct json_object *answer,
		const struct control_error *error);
void worker_ask(struct daemon *daemon, struct session_entry *entry, struct json_object *request,
		unsigned int timeout_ms, worker_done *done, struct sided_object *user);
/* Begin, when nobody asks: after a restart. */
void worker_start(struct daemon *daemon, struct session_entry *entry);
/* Without an orderly end. */
void worker_close(struct daemon *daemon, struct session_entry *entry);
bool worker_is_ready(const struct session_entry *entry);
/* A program's connection is for the session; the descriptor stays the caller's. False: it cannot take it now. */
bool worker_pass(struct daemon *daemon, struct session_entry *entry, int fd);
unsigned int worker_restarts(const struct session_entry *entry);
pid_t worker_pid(const struct session_entry *entry);
/* A program has started. Sessions that should record it and have no recorder count it. */
void workers_miss(struct daemon *daemon, struct sided_program *program);
void workers_reap(struct daemon *daemon);

/* ---- operations.c ---- */

/* A request that changes what is recorded. The client gets its answer when it is so. */
void operation_begin(struct daemon *daemon, struct client *client, struct session_entry *entry,
		const char *verb, struct json_object *request);
/* A program has switched over, or is gone: those that wait for it have one less to wait for. */
void operations_switched(struct daemon *daemon, const struct sided_program *program, uint64_t after,
		uint64_t until);
/* The session goes: those that wait for their turn are refused. */
void operations_refuse(struct daemon *daemon, struct session_entry *entry);
void operations_close(struct daemon *daemon);

/* ---- programs.c ---- */

struct sided_program {
	struct sided_object object;
	struct sided_program *next;
	struct sided_watch watch;      /* its pidfd; fd -1: there is none */
	struct sided_agent *agent;     /* its connection, or NULL (a reference) */
	struct rendezvous *rendezvous; /* that it came through, or NULL (a reference) */
	struct timer again;            /* SIGNAL: ask again */
	unsigned int agains;
	pid_t pid; /* as we see it */
	uid_t uid;
	uint64_t token;
	uint32_t control;
	uint32_t control_signal;
	uint64_t since; /* serial of its first WELCOME: later changes wait for it */
	uint64_t done;
	/*
	 * Serial of the newest change when a command had waited for it in vain; 0: it has answered since. Later changes wait for it
	 * a moment only, or a program that never answers would hold up each command.
	 */
	uint64_t late;
	uint64_t known; /* the last WELCOME all of which it has done */
	char *name;
	char *exe;
	bool remembered;    /* in a state file */
	bool is_unrecorded; /* counted by workers_miss(): it comes more than once */
};

/* A connection of a program. */
struct sided_agent {
	struct sided_object object;
	struct sided_watch watch;
	struct sided_watch
			process; /* its pidfd, until a program has one; fd -1: of a process that we do not see */
	bool refuses_fds;               /* peer_refuse_fds() */
	struct sided_agent *next, **at; /* of strangers */
	struct peer peer;
	struct timer timer;            /* until ARRIVE; then until its first WELCOME */
	struct sided_program *program; /* NULL until ARRIVE (a reference) */
	struct rendezvous *rendezvous; /* or NULL (a reference) */
	bool due;                      /* WELCOME could not be sent yet */
	bool held;                     /* its first WELCOME waits for a recorder */
};

void agents_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events);
void agent_close(struct daemon *daemon, struct sided_agent *agent);
void agents_close(struct daemon *daemon);
/* A WELCOME with the newest serial, now or as soon as the socket takes it. */
void agent_welcome(struct daemon *daemon, struct sided_agent *agent);

struct wire_arrive;
struct wire_done;
/* NULL with a reason for the program. */
struct sided_program *program_arrive(struct daemon *daemon, struct sided_agent *agent,
		const struct wire_arrive *arrive, const char **reason);
void program_done(
		struct daemon *daemon, struct sided_program *program, const struct wire_done *done);
/* This connection is closed. */
void program_disconnected(struct daemon *daemon, struct sided_agent *agent);
int programs_open(struct daemon *daemon);
void programs_close(struct daemon *daemon);
/* One that a former daemon knew; takes the descriptor and the names. Negative: neither. */
int program_restore(struct daemon *daemon, const struct sided_program *facts, int pidfd);
/* Tell all; how many there are to wait for until they have daemon->serial. */
size_t programs_poke(struct daemon *daemon, uid_t scope, size_t *late);
/* The wait for the change with this serial has ended: programs that have not switched are late from now on. */
void programs_be_late(struct daemon *daemon, uint64_t serial, uid_t scope);
bool program_is_late(const struct sided_program *program, uint64_t serial);
/* Those that have not switched to this serial, with the reason; those that look only when they start. */
struct json_object *programs_pending(struct daemon *daemon, uint64_t serial, uid_t scope);
struct json_object *programs_unchanged(struct daemon *daemon, uid_t scope);
struct json_object *programs_json(struct daemon *daemon, uid_t scope);
size_t programs_count(struct daemon *daemon, uid_t scope);
/* Does this process hear of changes, or ask before its next event? */
bool program_is_reachable(struct daemon *daemon, pid_t pid);

/* ---- handover.c: descriptors that clients hand in ---- */

/* Does the next message of this socket have descriptors? */
bool handover_is_due(int client);
/* Let a thread receive it. Returns a socket for the message, with a probe table, a rendezvous socket or no descriptor; or a negative errno. */
int handover_begin(struct daemon *daemon, int client, uid_t uid);
/* Close a descriptor that was received so. */
void handover_close(int fd);
/* At the end of the daemon: free the structures that no thread uses. */
void handovers_close(struct daemon *daemon);

/* ---- acceptor.c: connections of a socket that another process shares ---- */

struct acceptor;

/* Takes ownership of the socket, unless it fails. */
int acceptor_start(int listener, struct acceptor **ret_acceptor);
/* acceptor_fd() is readable while acceptor_take() has a connection. acceptor_take() returns -1 and EAGAIN if there is none. */
int acceptor_fd(const struct acceptor *acceptor);
int acceptor_take(struct acceptor *acceptor);
/* End the acceptor. Does not wait: the thread of thread_defer() closes the socket later. */
void acceptor_stop(struct acceptor *acceptor);

/* ---- doors.c ---- */

/* What programs of this process's view call the one that they have, or "". */
const char *rendezvous_of_process(const struct daemon *daemon, pid_t pid);
/* Listen to this descriptor, which was made where that process sees it, and which is ours in any case. 0 or a negative errno. */
int rendezvous_add(struct daemon *daemon, uid_t uid, pid_t pid, uint64_t started, const char *path,
		int fd);
/* The one whose listener it is, or NULL. */
struct rendezvous *rendezvous_of_watch(
		const struct daemon *daemon, const struct sided_watch *watch);
/* Accept a connection of a rendezvous socket, or of the daemon's own (NULL); -1 with errno: none. */
int rendezvous_accept(const struct rendezvous *rendezvous, const struct sided_watch *watch);
/* A connection was made through it, or such a connection is closed. The socket stays while it has connections. */
void rendezvous_connected(
		struct daemon *daemon, struct sided_agent *agent, struct rendezvous *rendezvous);
void rendezvous_disconnected(struct daemon *daemon, struct sided_agent *agent);
/* A program has come through it (or through none: NULL); it is gone. */
void rendezvous_entered(struct daemon *daemon, struct sided_program *program,
		struct rendezvous *rendezvous);
void rendezvous_left(struct daemon *daemon, struct sided_program *program);
void rendezvous_listen_all(struct daemon *daemon, bool listen);
int rendezvous_open_all(struct daemon *daemon);
void rendezvous_restore_all(struct daemon *daemon);
/* Those that could not be opened again, while somebody misses them. */
struct json_object *rendezvous_closed_json(struct daemon *daemon);
void rendezvous_close_all(struct daemon *daemon);

/* ---- push.c ---- */

/* In the session's process: with the answer to a change. */
void push_put(struct session *session, struct json_object *answer);
/* In the daemon: take it out of that answer, when there was another generation `before`; before it is told. */
void push_take(const struct daemon *daemon, struct session_entry *entry, uint64_t before,
		struct json_object *answer);
/* Programs have to ask what the present generation is. */
void push_forget(const struct daemon *daemon, struct session_entry *entry);
/* Behind a WELCOME that has the session as number `index`: so many bytes, 0 if it is not for this program. */
size_t push_add(const struct session_entry *entry, const struct sided_program *program,
		uint32_t index, char *message, size_t capacity);

/* ---- remember.c ---- */

/* Keep it for the next daemon. A program that is only freed, as at our end, stays kept. */
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
 * session-status.c: the session's figures, `over`: after session_finish(); NULL: no memory. And only what there is of
 * all its processes together. False: no memory.
 */
struct json_object *session_stats(struct session *session, bool over);
bool session_sums(struct session *session, struct json_object *object);

/* ---- session-probes.c: probes in the process that records ---- */

struct probes;
struct session_probe;
struct session_error;
/* With those of the definition, whose tables are read from this directory. */
int probes_open(const char *tables, const struct definition *definition, struct probes **probes,
		struct control_error *error);
/* NULL is permitted. The session must have been closed. */
void probes_close(struct probes *probes);
/* As the session library wants them; they belong to *probes. */
const struct session_probe *probes_list(const struct probes *probes, size_t *nr);
/* Those of another definition become the session's with its next change; then: has there been one? */
int probes_prepare(struct probes *probes, struct session *session,
		const struct definition *definition, struct session_error *error);
void probes_settle(struct probes *probes, bool changed);
bool probes_any(const struct probes *probes);
/* What there is to say of all of them (number 0) or of one. NULL: no memory. */
struct json_object *probes_json(
		const struct probes *probes, struct session *session, uint32_t number);

/* ---- isolate.c ---- */

void isolate_daemon(struct daemon *daemon);
/* The user who owns what a process writes. */
struct session_owner {
	uid_t uid;
	gid_t gid;
};
/*
 * Confine a session process: it may write below these paths (NULL at the end), and execute nothing. A process that searches processes by
 * their mapped files (boot.c) keeps access to files. With an owner (else NULL) the process keeps the capabilities that isolate_as() takes
 * from it. 0, or a negative errno: it cannot write below one of the paths.
 */
int isolate_session(
		const char *const *writable, bool sees_others, const struct session_owner *owner);
/* From now on all accesses to files are the owner's, with the owner's permissions. 0 or a negative errno. */
int isolate_as(const struct session_owner *owner);
/* After that: do something with root's files, in a thread that has root's permissions. False: there is no thread. */
bool isolate_as_root(void *(*function)(void *argument), void *argument);
/*
 * Drop all capabilities in the process that sends the trace of a session. If owner is not NULL, the whole process changes to that user. 0
 * or a negative errno.
 */
int isolate_sender(const struct session_owner *owner);

/* ---- sender.c ---- */

/* The sending process of a session. */
struct sender;
/*
 * Made before the session is, and before anything is given up; it begins with sender_go(). `closing`
 * are descriptors that it has no use for; `no_files`: it writes to no file, since not only its own user says where to.
 * 0 or a negative errno.
 */
struct session_owner;
int sender_make(const struct definition *definition, const char *output, bool no_files,
		const struct session_owner *owner, const int *closing, size_t nr_closing,
		struct sender **sender);
/* Where the recorder says how far it is. */
struct session_rounds *sender_rounds(struct sender *sender);
/* Readable: sender_hear() has something to do. */
int sender_fd(const struct sender *sender);
void sender_go(struct sender *sender);
/* Each sentence that it says is given to `reported`. False: it has ended, and with it this process has to. */
bool sender_hear(struct sender *sender, void (*reported)(void *user, const char *text), void *user);
/* The recording is over: wait until it has sent everything, or gives up. */
void sender_finish(
		struct sender *sender, void (*reported)(void *user, const char *text), void *user);
/* What there is to say of it. NULL: no memory. */
struct json_object *sender_json(const struct sender *sender);
/* After sender_finish(). NULL is permitted. The sending process ends when its connection closes. */
void sender_free(struct sender *sender);

#endif
