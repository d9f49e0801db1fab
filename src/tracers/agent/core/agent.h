/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_AGENT_H
#define SIDE_TRACERS_AGENT_CORE_AGENT_H

/*
 * The recorder inside the traced program. It is preloaded, asks the consumers named by
 * SIDE_AGENT_SOCKET for rings, and records every event that their rules name:
 *
 *	start.c     when the library is loaded, before main()
 *	vfork.c     children of vfork() mark themselves
 *	process.c   this process as an instance of each session: connecting, forks, the end
 *	exchange.c  talking with a consumer
 *	rules.c     what a consumer wants: channels, patterns, filters, contexts
 *	batch.c     events that appear and disappear: memory, ids, callbacks
 *	renew.c     all events of a session, when it begins and when its rules change
 *	select.c    one event of one channel: filters, contexts, the function that records it
 *	spare.c     ids of events that are gone, for when they come back
 *	memory.c    what lives as long as a session
 *	leases.c    ring memory that a recorder takes back
 *	recovery.c  what a core dump must hold
 *	probe*.c    probes that a session wants of this program (probes.h)
 *	update.c    sessions that come, change and go while the program runs
 *	attach.c    what `side attach` asks of a program that runs
 *	missed.c    the program is not recorded, and the recorder hears why
 *	late.c      events passed before a session was joined, and its recorder reports that
 *	libside.h   what is needed of libside
 *	door.c      where the daemon is, for a program that does not see its directory
 *	boot*.c     sessions of a static configuration, which nobody serves yet
 *	base*.c     where the executable and its libraries stand, as events of our own
 *	record.c    an event happens: arguments -> bytes -> ring
 *	context*.c  the contexts' values
 *
 * A session is one consumer. It has channels (rings and rules), and a channel has events: one
 * struct agent_event with a callback of its own for each session, channel and event. Sessions know
 * nothing of each other, and what goes wrong with one leaves the others alone.
 *
 * The agent prints nothing unless SIDE_DEBUG is set, waits for nothing without a bound, and stops quietly
 * when anything fails. Its memory is mapped pages, never malloc(), because the program's malloc() may be
 * what is being traced. All work but record.c happens under libside's event lock (in notifications and
 * updates) or when there is only one thread (in a forked child), so it needs no lock of its own.
 *
 * This header is private to the room and its tests.
 */

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/trace.h>

#include "tracers/agent/context/context.h"
#include "tracers/agent/plan/plan.h"
#include "filter/filter.h"
#include "ring/ring.h"
#include "abi/visit.h"
#include "protocol/pattern.h"
#include "protocol/recovery.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

#define AGENT_CONNECT_TIMEOUT_MS 1000 /* connection, HELLO, CONFIG and what follows it together */
#define AGENT_EVENTS_TIMEOUT_MS 1000  /* descriptions and their acknowledgement */
#define AGENT_WAIT_MS 1000            /* all waits of one occasion together (wait.c) */
#define AGENT_RULES_MAX (64u << 20)   /* bytes of one session's rules in our memory */
#define AGENT_SESSIONS_MAX WIRE_WELCOME_MAX
#define AGENT_BOOT_FOLDER_SIZE 112
#define AGENT_BOOT_TRIES 10 /* of descriptions, while recorders come and go */

/*
 * What our loss reasons mean, beside the ring's own. RING_LOST_NESTED of an event: in the child of a
 * vfork(). The last slot of the ring's counters belongs to no event: there RING_LOST_OTHER counts
 * kinds of events that stayed disabled because the consumer did not answer, and RING_LOST_NESTED
 * records that a forked child could not place before it had rings of its own. RING_LOST_OTHER of an
 * event, and RING_LOST_BUSY in the last slot: agent_count_lost().
 */
#define AGENT_LOST_SLOT UINT32_MAX

/* What was said about an event, in short. */
struct agent_hash {
	uint64_t low, high;
};

/* Memory that is given back all at once. */
#define AGENT_LINE \
	64 /* of the cache; memory of which only multiples of this are taken begins with one each time */

struct agent_memory {
	struct agent_memory_chunk *chunks;
	size_t used;
};

struct agent_recycled_ids {
	struct agent_recycled_id *table;
	size_t capacity; /* a power of two, or 0 */
	size_t nr_used;
};

/* In the environment of the program that says the kernel's events, and of no other. */
#define AGENT_KERNEL_ENV "SIDE_AGENT_KERNEL"

/* In that of a program whose events are one session's alone: its name; "": of whoever has started the program, and of no daemon's. */
#define AGENT_SESSION_ENV "SIDE_AGENT_SESSION"

struct agent_rule {
	struct agent_rule *next;
	struct pattern *patterns;
	uint32_t nr_patterns;
	bool nothing; /* it means events of another kind than ours */
	uint32_t nr_contexts;
	const struct context_spec *contexts; /* of its events, beside the channel's */
	const void *filter;                  /* a verified program, or NULL */
	size_t filter_size;
	const struct context_spec *filter_specs; /* the contexts that it names */
	uint32_t nr_filter_specs;
	struct filter_contexts filter_contexts; /* and their values: user is a context_set */
	struct filter_contexts hit_contexts;    /* the same for events of probes, with memory */
};

struct agent_channel {
	struct agent_session *session;
	struct ring_producer *producer; /* NULL: nothing is recorded */
	uint32_t index;
	uint32_t next_id;
	const struct agent_rule *rules; /* of the session's generation */
	uint32_t nr_contexts;
	const struct context_spec *contexts;
	const struct context_set *context_set; /* NULL: none */
	uint64_t ring_memory;
	struct agent_recycled_ids spares;
	char name[WIRE_CHANNEL_NAME_MAX + 1];
};

/*
 * What a session wants of its channels until it says something else. It stands in its own memory, and
 * when it is over it takes with it what used it, as soon as nobody can be in a call of it any more.
 */
struct agent_generation {
	struct agent_memory memory;
	struct agent_hash hash;        /* of all the rules, as they were said */
	struct agent_generation *next; /* of those that are over */
	uint64_t grace;                /* for side_tracer_grace_passed() */
	struct agent_batch *batches;   /* that are over with it */
	struct agent_session *left;    /* the session, if that is over, too */
	struct agent_rule *rules[WIRE_CHANNELS_MAX], **ends[WIRE_CHANNELS_MAX];
};

/* One filter of one event. */
struct agent_filter {
	const struct filter *filter;
	const struct filter_contexts *contexts;
	bool selects_calls; /* it is of the event at the begin of a call, and selects the return, too */
};

/*
 * One event of one channel that is or was offered to the consumer; the private pointer of its
 * callback. What a record needs is in the first cache line, but for filters.
 */
struct agent_event {
	/*
	 * Where records go; NULL: nowhere (the consumer does not know the id, or a forked child has no
	 * rings). Changes only before the callback exists and after a fork.
	 */
	struct ring_producer *producer;
	struct plan *plan;
	const struct context_set *contexts; /* NULL: none */
	uint32_t id;
	uint16_t scalar_label; /* of the plan */
	uint8_t scalar_size;
	bool large;         /* a record of it did not fit the stack (atomic) */
	bool of_probe;      /* happens in hits alone */
	uint8_t nr_filters; /* 0: every event is recorded */
	bool straight; /* contexts and fields are all there is to it, and nothing of the application's runs */
	uint8_t timed_size; /* bytes */
	bool selects_calls; /* one of its filters does */
	bool of_calls;      /* it is the return of calls that a filter selects */
	bool always;        /* its filters only select calls: every event is recorded */
	/* Of the producer, for records of that size, when the time is known; NULL: this event has others, or contexts, or filters. */
	ring_publish_timed *publish_timed;
	/* Of the producer, for one scalar. */
	union {
		ring_publish_scalar *publish_scalar;
		ring_publish_prefixed *publish_prefixed; /* behind contexts; NULL: not here */
	};
	/* What records it when a filter has matched, and what libside calls. */
	union {
		side_tracer_callback_func record;
		side_tracer_callback_variadic_func record_variadic;
	};
	union {
		side_tracer_callback_func callback;
		side_tracer_callback_variadic_func callback_variadic;
	};
	const struct agent_filter *filters;

	struct agent_channel *channel;
	struct side_event_description *description;
	struct agent_hash hash;
	const struct context_spec *extra; /* its own contexts, beside the channel's */
	uint32_t nr_extra;
	uint32_t position; /* in its batch: events in the order of the batch, of each the channels */
	bool recorded;     /* the consumer knows the id */
	bool is_new;       /* it was told of it just now */
	bool refused;      /* it has said that it does not want to */
	bool registered;   /* our callback is on it */
	struct agent_event *before; /* while rules change: the same event of the same channel */
} __attribute__((aligned(64)));

/* The events of one notification that a session wants, in one mapping with all they need. */
struct agent_batch {
	struct agent_batch *next;
	struct side_event_description **key; /* the array that names the batch in notifications */
	size_t mapped;
	uint64_t free_at;
	uint32_t nr_events;
	struct agent_event events[];
};

enum agent_session_state {
	AGENT_SESSION_FREE,
	AGENT_SESSION_IN,
	AGENT_SESSION_LEFT, /* its rings stay until nobody can be writing to them */
};

struct agent_session {
	enum agent_session_state state;
	bool is_explicit; /* by SIDE_AGENT_SOCKET, or attached: no daemon takes it away */
	bool attached;    /* by `side attach` */
	bool gone;        /* the consumer does not answer any more */
	bool incomplete;  /* it has not heard of all its events */
	bool orphaned;    /* this process was forked, and is no instance of it */
	bool list_only;
	bool bases_recorded;    /* it has been told of all libraries */
	int socket;             /* the first connection while it is open, else -1 */
	bool socket_is_private; /* it is not in the program's table of descriptors */
	uint64_t key;
	uint64_t token;
	uint64_t dumped;           /* the last state dump that libside was asked for */
	struct wire_config config; /* the reason does not stay */
	struct agent_memory memory;
	struct agent_pushed *pushed; /* what is heard in place of the socket, or NULL */
	struct agent_channel *channels;
	uint32_t nr_channels;
	struct agent_generation *generation;
	struct agent_batch *batches;
	struct probes_table *tables;
	bool probes_due; /* it has tables for us that were told of where nothing may be waited for */
	struct recovery_head *recovery;
	struct recovery_chunk *last_chunk;
	const struct boot_session *boot;          /* of a static configuration, or NULL */
	char boot_folder[AGENT_BOOT_FOLDER_SIZE]; /* of this process in its place; "": there is none */
	char path[WIRE_SESSION_PATH_MAX + 1];
};

/*
 * A session that does not record this process until its generation changes, or whose share of this user is used up. The agent
 * asks the latter again at `due`.
 */
struct agent_declined {
	uint64_t generation;
	uint64_t due;     /* time of wire_deadline(); 0: never */
	uint64_t pause_s; /* the pause that ends then */
	char path[WIRE_SESSION_PATH_MAX + 1];
};

struct agent {
	struct agent_session
			sessions[AGENT_SESSIONS_MAX]; /* those that accepted us, in any place */
	uint64_t keys[AGENT_SESSIONS_MAX];            /* libside's names for their callbacks */
	uint32_t nr_sessions;
	uint32_t nr_declined;
	struct agent_declined declined[WIRE_WELCOME_MAX];
	struct agent_generation *over, **over_end;
	atomic_bool exiting; /* destructors run: other threads may still be in callbacks */
	int seccomp;         /* mode at the start */
	uint32_t control;    /* enum wire_control, as consumers are told */
	uint32_t control_signal;
	/* The thread that somebody has made here by ptrace, as long as it does what he wants; 0: none. */
	atomic_int borrowed;
	atomic_bool stopped; /* a thread may not read clocks any more: nothing is recorded */
	bool kernel; /* our events are the kernel's: only rules that say so mean them (AGENT_KERNEL_ENV) */
	bool reserved; /* ... or those of `only` (AGENT_SESSION_ENV) */
	char only[WIRE_SESSION_NAME_MAX + 1];
	unsigned int timeout_factor; /* how many times as long to wait for answers (SIDE_TIMEOUT_FACTOR); 0: once */
	bool debug;
	bool prepared;
	struct side_tracer_handle *tracer;
};

extern struct agent agent __attribute__((visibility("hidden")));

/*
 * Per thread: whether this is the child of a vfork(), which runs in its parent's memory but without
 * its parent's restartable sequences (1), a task of ours, whose calls are not the program's (AGENT_OUR_TASK),
 * or a thread that a process shares its thread-local memory with (CONTEXT_SHARES_MEMORY).
 */
#define AGENT_OUR_TASK 2
extern __thread unsigned int agent_vforked
		__attribute__((tls_model("initial-exec"), visibility("hidden")));

#define agent_debug(...)                          \
	do {                                      \
		if (agent.debug)                  \
			agent_print(__VA_ARGS__); \
	} while (0)
void agent_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * update.c. Make it so that the program is in the sessions that are wanted, as they want it: joins those
 * that are new, asks those whose generation is another what they want now, leaves those that are
 * missing (but not those that SIDE_AGENT_SOCKET named). A session that has refused is asked again when
 * its generation has changed.
 *
 * Without libside's event lock. With may_wait, returns when no thread is in a call of what was before.
 * Without it (in a signal handler; where the loader's lock may be held) it waits for no lock and no
 * reader: -EBUSY when the lock is not free, -EAGAIN when only a state dump could not be asked for, and
 * *grace is for side_tracer_grace_passed().
 *
 * 0, or the first error; what could be done is done nevertheless.
 */
enum agent_ask { AGENT_ASK_NOTHING, AGENT_ASK_HELLO, AGENT_ASK_REFRESH };

struct agent_wanted {
	const char *path; /* of the session's socket */
	uint64_t generation;
	const void *push; /* its rules, for who has the generation `base` (wire.h); NULL: it is asked */
	uint32_t push_size;
	uint64_t base;
	/* ask.c: the question sent on `socket`, whose answer has arrived unless `error` is set. Zero: no question. */
	enum agent_ask asked;
	int socket;
	int error;
	uint64_t token;
	uint64_t known; /* the generation that REFRESH names */
	bool retries;   /* the session refused this process before, because a share was used up */
};
/* True if a session whose share was used up must be asked again. The control thread calls it in its turn. */
bool agent_declined_due(void);
int agent_sessions_update(struct agent_wanted *wanted, uint32_t nr, bool may_wait, uint64_t *grace);

/* leases.c, without the event lock: give back ring memory that recorders have recalled. Waits for the calls of now. */
void agent_leases_check(void);

/*
 * ask.c, without the event lock: send each session the question in `asked` with the token, and wait for the first answers. `is_explicit`: no rendezvous
 * socket is between. Setting `asked` to AGENT_ASK_NOTHING takes a connection; agent_ask_drop() closes the others.
 */
void agent_ask(struct agent_wanted *wanted, uint32_t nr, bool is_explicit, uint64_t deadline);
void agent_ask_drop(struct agent_wanted *wanted, uint32_t nr);

/*
 * wait.c. Deadlines of a wait that begins now: at the start or with the event lock, and without the lock. An occasion with the lock ends
 * at `deadline`, or (0) some time after its first wait begins, which needs no clock. False: it is part of another occasion.
 */
uint64_t agent_deadline(unsigned int timeout_ms);
uint64_t agent_deadline_unlocked(unsigned int timeout_ms);
void agent_waits_forked(void);
void agent_start_begins(void);
void agent_start_ends(void);
bool agent_occasion_begins(uint64_t deadline);
void agent_occasion_ends(bool begun);
/* With the event lock: a session has not answered in time, so nothing waits for it for some seconds. */
void agent_stalled_note(const char *path);
void agent_stalled_forget(const char *path);
bool agent_is_stalled(const char *path);
/* The same, also if it has answered since then. */
bool agent_was_stalled(const char *path);
/* The control thread calls it without any lock: true if a stalled session answers again. */
bool agent_stalled_check(void);

/*
 * Is to be called before each update that may wait, and after it, when whoever asked for it has not been answered yet: for programs that
 * record what has happened elsewhere, and have some of that still to say. No lock is held.
 */
void agent_on_change(void (*notify)(bool after));

/*
 * For the same programs: so many records of this event were lost on that CPU before anybody here had them. They are losses of each
 * channel that records it. Not named: the event only says whose channels those are. With no lock.
 */
void agent_count_lost(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count);

/*
 * One session more, or less, by somebody's asking (attach.c). NULL: all that were asked for. 0, -ENOENT when there
 * is none, or another error. Both wait for readers.
 */
int agent_session_attach(const char *path);
int agent_session_detach(const char *path);

/* Before the first update, where malloc() may be called: what all sessions need. May be repeated. */
int agent_prepare(void);

/*
 * objects.c: dl_iterate_phdr() where the loader may be asked. No child is forked meanwhile, so none finds the loader's lock held. The
 * others are for pthread_atfork().
 */
struct dl_phdr_info;
int agent_objects_each(
		int (*callback)(struct dl_phdr_info *object, size_t size, void *user), void *user);
void agent_objects_fork(void);
void agent_objects_fork_done(void);
void agent_objects_forked(void);

/*
 * control.c: the daemon. agent_control_arrive() in the constructor; agent_control_forked() in a forked
 * child, after its sessions are its own. agent_control_forked_whole(): was no update under way in another
 * thread? Otherwise nothing of the sessions can be trusted.
 */
int agent_control_arrive(void);
void agent_control_forked(void);
bool agent_control_forked_whole(void);
void agent_control_stop(void);
/* True if the caller is the control thread, or the task that creates it, and has a private table of descriptors. */
bool agent_control_has_table(void);
/*
 * With the turn (control.h). Go to this daemon, and keep a thread for it: 0, -EALREADY when the program is in touch with one, -EISCONN when
 * that is another one than is meant.
 * Leave the daemon that we were asked to go to: `nothing` (-ENOENT or 0) when there is none.
 */
enum agent_attach_method {
	AGENT_BY_DIRECTORY,  /* of the daemon's, with its socket */
	AGENT_BY_RENDEZVOUS, /* door.c */
	AGENT_BY_SAME_RENDEZVOUS, /* of a daemon that says that it is the one that we are in touch with */
};
int agent_control_attach(const char *socket, enum agent_attach_method method);
int agent_control_detach(int nothing);

/* missed.c: does the program's libside have all that the agent needs? Report to recorders why the program is not recorded (enum wire_missed_reason). */
bool agent_libside_is_whole(void);
void agent_report_unrecorded(const char *paths, uint32_t reason);
/* It cannot join this session; is a limit of the process the reason? */
void agent_report_limit(const struct agent_session *session, int error);
/* This process is recorded, but for its events of that time. With the event lock. */
void agent_report_late_start(
		const struct agent_session *session, uint32_t reason, uint32_t elapsed_ms);

/*
 * late.c. In any context: an event, or the start of the process, ended its wait, which began at this time. `is_certain`: a session has
 * changed; otherwise that is not known. Does nothing if an exchange has applied all sessions since then.
 */
void agent_late_pass(uint64_t begun, bool is_certain);
/* The daemon has answered; the sessions of the answer are applied, or some of them; no daemon exists. */
void agent_late_answered(void);
void agent_late_applied(bool all);
void agent_late_no_daemon(void);
void agent_late_forked(void);
/* With the event lock: this session has been joined, or has other rules. Report events that it may have missed. */
void agent_late_report(const struct agent_session *session);

/* interpose.c: the program's calls of what we watch come to us, also when we were not preloaded. */
void agent_interpose(void);

/* The sessions that we are in. The body may leave the one it is at. */
#define agent_each_session(session)                                    \
	for ((session) = agent_session_after(NULL); (session) != NULL; \
			(session) = agent_session_after(session))
struct agent_session *agent_session_after(const struct agent_session *session);

/*
 * process.c: 0 or a negative errno, when nothing is recorded. agent_session_join(): with the event lock;
 * when it fails it leaves no trace.
 */
int agent_start(const char *paths);
void agent_stop(void); /* for tests: the program is as before, rings unmapped */
bool agent_list_only(void);
int agent_session_join(struct agent_wanted *wanted, bool is_explicit, bool may_wait);
uint64_t agent_new_token(void);
int agent_session_join_boot(const struct boot_session *boot);
void agent_session_drop(struct agent_session *session);

/*
 * boot.c: sessions of the file that SIDE_BOOT names. agent_boot_start(), in the constructor: 0, or a negative
 * errno when there is none. agent_boot_hello(): as agent_hello(), by whoever is there, or by ourselves.
 * agent_boot_describe(): 0: the descriptions stand where a later recorder finds them; -EAGAIN: there is a recorder,
 * and it is to be told.
 */
struct boot_session;
int agent_boot_start(void);
int agent_boot_hello(struct agent_session *session, uint64_t parent_token, int *ring_fds);
int agent_boot_describe(struct agent_session *session, const void *stream, size_t size);
/* Is it an error of who has found nobody any more? */
bool agent_boot_has_gone(int error);
/* The socket of its recorder. False: it does not fit. */
bool agent_boot_path(const struct boot_session *session, char *path, size_t capacity);

/*
 * exchange.c. agent_hello() leaves the rings' descriptors, one for each channel, in ring_fds; -1
 * for all others. In a forked child (parent_token) channels and rules are those we have.
 */
int agent_hello(struct agent_session *session, uint64_t parent_token, int *ring_fds);
/* `names` has twice AGENT_NAME_SIZE bytes. */
ssize_t agent_build_hello(
		uint64_t token, void *message, char *names, uint64_t parent_token, bool retries);
/* True if descriptors for the rings of so many channels are free; 0: the number is unknown. */
bool agent_has_descriptors(int socket, uint32_t nr_channels);
/*
 * What has changed since the generation that we have? 0: everything may have, and *generation is what the
 * session wants now, by what was pushed, or by its answer: then the connection stays open. -EALREADY: nothing.
 * -ECONNREFUSED, -ENOENT, -ETIMEDOUT and so on: nobody answers. -EACCES: it does not want us any more.
 */
int agent_refresh(struct agent_session *session, struct agent_wanted *wanted,
		struct agent_generation **generation);
uint64_t agent_known_generation(const struct agent_session *session);
bool agent_may_take_push(const struct agent_session *session, const struct agent_wanted *wanted);
int agent_send_events(struct agent_session *session, const void *stream, size_t size,
		void (*refused)(void *user, const struct wire_refused *one), void *user);
int agent_bye(struct agent_session *session);

/* door.c. NULL: there is none. */
#define AGENT_RENDEZVOUS_SIZE 108
const char *agent_rendezvous(void);
int agent_rendezvous_set(const char *path);
/* A connection to the daemon behind it (NULL) or to one of its sessions, or a negative errno. */
int agent_rendezvous_connect(const char *session, uint64_t deadline);
/* The same for a session of ours, however it is reached. */
bool agent_session_by_rendezvous(const struct agent_session *session);
int agent_session_connect(const struct agent_session *session, uint64_t deadline);

/* Memory that exchanges keep: what is in it goes; all of it. */
void agent_exchanges_trim(void);
void agent_exchanges_stop(void);
/* In a forked child: close the connection of an exchange that the fork cut off. */
void agent_exchanges_forked(void);
void agent_hang_up(struct agent_session *session);
unsigned int agent_patient(unsigned int timeout_ms);
bool agent_is_sandboxed(void);
/* Of this process; each has AGENT_NAME_SIZE bytes. */
#define AGENT_NAME_SIZE 4096
void agent_process_names(char *procname, char *exe);

/*
 * rules.c: 0, or a negative errno for what no honest consumer sends. A generation is made empty,
 * filled, and then applied: the channels' rules are its own from then on.
 */
int agent_take_channel(struct agent_session *session, const struct wire_channel *channel);
struct agent_generation *agent_generation_begin(void);
int agent_take_rule(struct agent_generation *generation, const struct wire_rule *rule);
void agent_generation_apply(struct agent_session *session, struct agent_generation *generation);
void agent_generation_free(struct agent_generation *generation);
/* It is over once the next grace period has passed. agent_over_free() frees those that are over. */
void agent_generation_over(struct agent_generation *generation);
uint64_t agent_over_begin(void);
void agent_over_free(void);

/*
 * renew.c: with the event lock. All events of a session by the rules of a generation, which takes the place
 * of the session's own. (For a session that begins it is its own.) When it cannot be had nothing has changed:
 * then the session's generation is not the one that was given. After other errors events are missing.
 */
int agent_batches_renew(struct agent_session *session, struct agent_generation *generation);
/* No event is recorded any more; the session is over together with its generation. */
void agent_batches_leave(struct agent_session *session);

/* batch.c */
void agent_batches_changed(enum side_tracer_notification notification,
		struct side_event_description **events, uint32_t nr_events, void *priv);
int agent_batches_send_again(struct agent_session *session);
/* A forked child: records of all events go here from now on, or nowhere. */
void agent_batches_redirect(struct agent_session *session);
/* Then, with the event lock: the batch of a notification that another thread of the parent's was in, if there is one. */
bool agent_batches_are_cut_off(void);
void agent_batches_forked(void);
void agent_batches_forget(void);
void agent_batches_trim(void); /* what is kept for the next change goes */

/*
 * select.c. agent_wants(): does any rule name the event? agent_select(): everything about one event of
 * one channel that memory holds. With memory NULL: how many
 * bytes that takes, or 0 when the channel does not want the event; *event is written to and of no use. Else it
 * fills in *event (plan, description and channel are set, the rest is 0) and returns the same, or 0.
 */
bool agent_wants(const struct agent_channel *channel, const struct side_event_description *event);
size_t agent_select(const struct agent_channel *channel, struct side_event_description *description,
		struct agent_event *event, char *memory);

/* memory.c: zeroed, 16-byte aligned, NULL when there is none or a session has too much. */
void *agent_memory_take(struct agent_memory *memory, size_t size);
void agent_memory_free(struct agent_memory *memory);
/* Zeroed pages, to be given back with the size that they were taken with. With the event lock. */
void *agent_pages_take(size_t size);
void agent_pages_give(void *pages, size_t size);
void agent_memory_trim(void); /* what is kept for the next change goes, too */

/* spare.c */
struct agent_hash agent_hash(const void *bytes, size_t size);
void agent_recycled_ids_put(struct agent_recycled_ids *spares, struct agent_hash hash, uint32_t id);
bool agent_recycled_ids_take(
		struct agent_recycled_ids *spares, struct agent_hash hash, uint32_t *id);
void agent_recycled_ids_forget(struct agent_recycled_ids *spares);

/*
 * probes.c, with the event lock; where there are no probes all of it does nothing. What an exchange brings is received
 * (the descriptor is ours then), told to be complete, and then made to hold by agent_probes_update(); agent_probes_apply(), which
 * waits for hits, sets and removes what is to be and answers. Where nothing may be waited for both leave it, and agent_probes_due()
 * says that there is something to be done. agent_probes_is_for(): may this session record the event?
 */
/* Without the event lock, where the loader may be asked: nobody asks it with that lock. */
void agent_probes_rescan(void);
/* Where the loader may be asked: libside's variables count as kept memory. */
void agent_probes_count_libside(void);
void agent_probes_begin(void);
int agent_probes_receive(uint64_t number, uint64_t size, int fd);
void agent_probes_received(void);
void agent_probes_update(struct agent_session *session, bool may_wait);
void agent_probes_leave(struct agent_session *session);
void agent_probes_apply(void);
void agent_probes_answer(void);
bool agent_probes_due(void);
/* Without the lock, from time to time: what the program may have done to traps. */
void agent_probes_check(void);
/* Write hits that are known to be lost, but are not counted in a ring yet, to the rings. Called with the tracers' lock. */
void agent_probes_count(void);
void agent_probes_forked(void);
/* Is it of a session's table? */
bool agent_probes_has(const struct side_event_description *event);
/* In such an event: AGENT_PROBES_BUFFER bytes that are the thread's until it is over; NULL: there are none. */
#define AGENT_PROBES_BUFFER 512
char *agent_probes_buffer(void);
/* The same memory for the values of a filter, which is done before the record begins. */
void *agent_probes_filter_memory(void);
/*
 * In an event at the begin of a call: a filter selects the call. If there is nothing to keep that in, because too many probes are at the
 * location, the return counts as a loss.
 */
void agent_probes_mark_call(const struct agent_channel *channel);
/* In an event at the end of a call: whether that was so, by a filter of that channel. */
bool agent_probes_is_marked(const struct agent_channel *channel);
/* The event at the other end of a probe's calls; NULL: there is none. `leaves`: `event` is at the exit. */
const struct side_event_description *agent_probes_other(const struct agent_session *session,
		const struct side_event_description *event, bool leaves);
bool agent_probes_is_for(
		const struct agent_session *session, const struct side_event_description *event);
extern const bool agent_has_probes;

/*
 * probes-own.c. Between begin and end the calling thread of the program runs code of side, whose calls no probe records. Its signals are
 * blocked meanwhile. In a sandbox neither is called.
 */
struct agent_own {
	void *before;
	uint64_t mask;
	bool blocks;
};
void agent_own_begin(struct agent_own *own);
/* The same with its signals as they are: before main(), where the agent notes which ones the program blocks. */
void agent_own_begin_start(struct agent_own *own);
void agent_own_end(const struct agent_own *own);
/*
 * agent_own_control(): the address at which pthread_create() stores the number of the control thread. agent_own_control_begins(): the
 * control thread calls this first.
 */
unsigned long *agent_own_control(void);
void agent_own_control_begins(void);
/*
 * A task of control-starter.c calls this when it starts; the effect lasts until the task ends. It keeps the number of the control thread:
 * if that thread has not begun yet, side recognizes its first calls by the number alone.
 */
void agent_own_task_begins(void);

/*
 * base.c. agent_bases_start(), before agent_prepare(): from then on there are the events. All others with the
 * event lock: agent_bases_changed() says what was mapped and unmapped since the last time, agent_bases_dump()
 * says all to the sessions that have not heard it, agent_bases_forked() to all of them.
 */
void agent_bases_start(void);
void agent_bases_changed(void);
void agent_bases_dump(void);
void agent_bases_forked(void);

/*
 * recovery.c: what a core dump must hold. It is the best we can do: without memory for it the
 * recording goes on without.
 */
void agent_recovery_begin(struct agent_session *session);
void agent_recovery_add(struct agent_session *session, const void *stream, size_t size);
void agent_recovery_void(struct agent_session *session); /* in a child, until it begins anew */
void agent_recovery_end(struct agent_session *session);

/* record.c: sets the functions of an event by its plan, contexts and filters. */
void agent_record_choose(struct agent_event *event);
/* Where the callbacks are that need no registers but the general ones. */
void agent_record_functions(uintptr_t *begin, uintptr_t *end);
/* Whether the callback belongs to this recorder; its private pointer is then its event. */
bool agent_record_is_callback(side_tracer_callback_func call);
int agent_pool_create(void);
void agent_pool_reset(void);
void agent_pool_destroy(void);

#endif
