/* SPDX-License-Identifier: MIT */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

/*
 * What the parts of a session share. Private to the room.
 *
 *	session.c     options, life and summary
 *	channels.c    channels, rules, filters and contexts, as every process gets them
 *	report.c      messages and losses
 *	output.c      the output directory
 *	libraries.c   where the agent and the wrappers are
 *	spawn.c       starting the command
 *	companion.c   what watches the command from outside, and comes with it
 *	program.c     which program a command is, behind scripts
 *	command.c     why a command may never meet the agent
 *	runtime.c     the directory of the socket
 *	listener.c    the socket that agents find
 *	connection.c  what an agent says, and the answers
 *	instance.c    a process image
 *	memory.c      its rings, and the session's limit on all of them
 *	leases.c      rings whose memory is taken back while they are not used
 *	refusals.c    programs that are not recorded, and ask again
 *	shares.c      what each user can take of such limits (shares.h)
 *	kinds.c       the events that it described
 *	probes.c      tables of probes, whom they are given to, and what programs say of them (probes.h)
 *	buffers.c     rings in files, and what is needed to understand them later
 *	found.c       reading it
 *	place.c       a directory for a session that several recorders serve, one after the other (place.h)
 *	journal.c     what of its rings is in which file
 *	adopt.c       going on where another recorder was killed
 *	trace.c       an instance's bytes on disk
 *	losses.c      what is missing among them
 *	snapshot.c    what rings that overwrite hold
 *	drain.c       the thread that moves records from rings to traces
 *	run.c         the loop: agents, deaths, signals
 *	live.c        sessions without a command: their life, changes and requests (live.h)
 *	track.c       whom they record
 *	statistics.c  what is going on in them
 *	totals.c      what those have recorded that have ended
 *	rotate.c      chunks of a recording, whole in themselves
 *	retain.c      which of them are kept
 *	full.c        a full disk
 *	trigger.c     what makes snapshots of itself
 *	crash.c       of what a process died
 *	recover.c     traces of what a dead recorder or a dead program left (recover.h)
 *	core.c        core dumps
 *
 * Two threads. The main one (run.c and all that it calls) talks to agents and never touches the disk,
 * so that a program does not wait for it. The drain thread owns everything about writing: traces,
 * rings, losses. They meet in `lock`:
 *
 *	main writes, drain reads	the list of instances, instance.state up to ENDED, instance.kinds
 *	drain writes, main reads	instance.state CLOSED and `finished`, memory given back, rings that go
 *	both write			messages, losses, failure
 *
 * Channels never change. Their rules are the main thread's: a live session gets others. Figures that
 * the drain thread counts and the main thread shows are atomic.
 *
 * An instance is LIVE, then ENDED (its process is gone, or became another image, or the session
 * stops), then CLOSED (all it published is written, its rings are freed), and `finished` when the
 * drain thread has forgotten it. A live session frees those, others keep them for the summary.
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
#include "filter/filter.h"
#include "ring/ring.h"
#include "recorder/core/live.h"
#include "recorder/core/outbox.h"
#include "recorder/core/log-limits.h"
#include "recorder/core/probes.h"
#include "recorder/recovery/recover.h"
#include "recorder/core/session.h"
#include "recorder/core/shares.h"
#include "abi/visit.h"
#include "protocol/context.h"
#include "protocol/pattern.h"
#include "protocol/protocol.h"

/* Limits on what other processes may ask of us. */
#define LIMIT_CONNECTIONS 512
#define LIMIT_FLOORS 16 /* users that have a floor of each share: shares.h */
#define LIMIT_LINES \
	640 /* messages about programs within a minute (lines.h) if they are all of one user; else: */
#define LIMIT_LINES_OF_OWNER 60
#define LIMIT_LINES_OF_USER 24
#define LIMIT_LINES_OF_PROCESS 12
#define REFUSALS_OF_USER 32              /* programs of one user that wait and are named */
#define LIMIT_HELLO_MS 3000              /* from accept to HELLO */
#define LIMIT_CONNECTION_MS 10000        /* a connection's whole life */
#define LIMIT_UNREAD_MS 3000             /* a peer that reads nothing of what waits for it */
#define LIMIT_UNREAD (8u << 20)          /* bytes that wait for one connection, ... */
#define LIMIT_UNREAD_OF_USER (16u << 20) /* ... and for all of one user */
#define LIMIT_INSTANCES 1000000          /* in a session */
#define LIMIT_EVENTS 262144              /* kinds of events of an instance */
#define LIMIT_DESCRIPTION (1u << 20)     /* bytes of one encoded description */
#define LIMIT_INSTANCE_DESCRIPTIONS (64ull << 20)
#define LIMIT_SESSION_DESCRIPTIONS (256ull << 20)
#define LIMIT_MESSAGES 200
#define LIMIT_LOSSES 16384 /* told apart of one instance, by ring, event and reason */
#define LIMIT_SESSION_LOSSES 65536
#define LIMIT_CLOCK_ERROR_NS \
	100000 /* by which a conversion of the clock may be off until it is replaced */
#define LIMIT_OPEN_WRITERS 128 /* of instances that have ended */
#define LIMIT_RULE_TEXT 32768  /* bytes of a rule's patterns, and of its contexts */

/* Ids below this have loss counters of their own. The last slot counts for nobody (agent.h). */
#define EVENT_SLOTS 4096

/* Contexts: their names in a row, as the wire has them, and what they mean. */
struct context_list {
	char *names;
	size_t size; /* of the names */
	struct context_spec *specs;
	uint32_t nr;
};

/* Some events of a channel. */
struct rule {
	char *patterns; /* strings in a row; none: all events */
	struct pattern *parsed;
	uint32_t nr_patterns, nr_parsed; /* some texts are several patterns */
	struct context_list contexts;
	char *filter; /* as the user wrote it, or NULL */
	void *program;
	size_t program_size;
	/* Of the events that the patterns want: */
	bool met;      /* the filter fits one of them */
	char *missing; /* why it does not fit another one */
};

struct channel {
	char *name;
	enum ring_mode mode;
	enum ring_placement placement;
	uint32_t rings;
	uint64_t ring_size;
	uint32_t block_timeout_us;
	struct context_list contexts;
	struct rule *rules;
	uint32_t nr_rules;
	bool counts; /* nothing but its events, for a trigger; behind all that do not */
};

/* A kind of event that an instance described. */
struct event_kind {
	uint32_t channel;
	uint32_t id;
	struct visit_owned *owned;
	struct context_list contexts; /* its own, beside the channel's */
};

/* The drain thread's view of a ring. */
struct instance_ring {
	struct ctf_stream *stream;
	uint64_t discarded;        /* the counter with its last packet, from the ring's beginning */
	uint64_t discarded_before; /* the same, of the last packet in the chunk before this one */
	bool known;                /* has a stream in the trace, or had one in an earlier chunk */
	bool held;                 /* its records wait since the disk is full */
	bool window_written;       /* at the end, of a ring that overwrites */
	bool unnoted;              /* the journal does not take it: said so */
	uint64_t begin;            /* where its stream begins; 0: with the process */
	/* Shown by statistics.c meanwhile: */
	_Atomic uint64_t written;     /* bytes of records */
	_Atomic uint64_t unwritten;   /* bytes that found no place on the disk */
	_Atomic uint64_t overwritten; /* bytes before the window that was written */
	_Atomic uint64_t
			recorded; /* records: in files for good, with those of the recorders before */
	bool damaged;             /* said so */
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

	/* Kinds by id: index into instance.kinds + 1, with holes. */
	uint32_t *by_id;
	uint32_t room_ids;

	/* The drain thread's, once the instance is in the list. */
	struct ring_consumer *rings;
	struct instance_ring *each;
	/* Of its rings together, shown by statistics.c: */
	_Atomic uint64_t written;
	_Atomic uint64_t recorded;
	uint64_t lost; /* once they have gone (lock) */
};

/* access.c: may a user with these capabilities probe the process? */
struct access {
	uid_t uid;
	bool has_gid;
	gid_t gid;
	uint64_t capabilities;
};
uint64_t access_own_capabilities(void);
bool access_is_allowed(const struct access *of, pid_t pid);

/* A table of probes that is offered. */
struct probe_offer {
	uint32_t number;
	int table, others; /* others: -1, or for all but the command's process (probes.h) */
	uint64_t size, size_of_others;
	uint32_t pid; /* 0: see exe */
	uint64_t started;
	char *exe;    /* NULL: all, unless there is a pid */
	bool of_user; /* only of processes that this user may probe: */
	struct access access;
};

struct probe_offers {
	struct probe_offer *list;
	size_t nr;
	bool set;
};

/* One that an instance was given last, and what it said of it. */
struct probe_given {
	struct session_probe_answer said; /* without a name */
	uint32_t sequence;                /* of the answer that is arriving */
	uint32_t next;                    /* place that it tells of next */
};

enum instance_state { INSTANCE_LIVE, INSTANCE_ENDED, INSTANCE_CLOSED };

/* What epoll hands back. */
enum watch_kind {
	WATCH_LISTENER,
	WATCH_SIGNALS,
	WATCH_COMMAND,
	WATCH_CONNECTION,
	WATCH_PEER,
	WATCH_INSTANCE
};

struct watch {
	enum watch_kind kind;
	int fd;
};

/* Lines of /proc/PID/maps, each once: maps.c. */
struct instance_maps {
	char *text;
	size_t size, capacity;
	uint32_t *table; /* of hashed lines */
	size_t slots, lines;
	bool is_new; /* since the lines were written out */
};

struct instance {
	struct watch watch; /* the pidfd */
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
	uid_t uid; /* when it came last */
	gid_t gid;
	uid_t account;                    /* its first user, whose share it uses */
	uint32_t control, control_signal; /* enum wire_control */
	uint64_t generation;              /* of the rules that it was given last */
	char *procname;
	char *exe;

	/* Probes, the main thread's. */
	bool takes_probes;
	bool is_command;  /* what the command executes first */
	uint64_t started; /* session_process_start(); 0: not asked for yet */
	uint32_t family; /* the process that it was forked from, when that was one that probes are for */
	uint64_t family_started;
	struct probe_given *given;
	size_t nr_given;

	/* Kinds of events, in the order of their arrival. */
	struct event_kind *kinds;
	uint32_t nr_kinds, room_kinds;
	uint64_t description_bytes;
	bool listed; /* has said goodbye */

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
	struct journal *journal; /* with a place: place.h */
	struct ctf_clock *
			own_clock; /* of the boot that it was recorded in, or NULL: the session's */

	/* The drain thread's, once the instance is in the list. */
	struct instance *next_active;
	struct ctf_writer *writer;
	struct instance *next_writer, **writer_at; /* the session's list, while there is a writer */
	uint64_t writer_bytes;  /* of what the writer has written, in `bytes` already */
	uint32_t nr_streams;    /* open files of the writer, beside its own, at most */
	struct told_loss *told; /* losses that earlier chunks tell: losses.c */
	size_t nr_told;
	int unwritten_code;    /* why something found no place on the disk, an errno value */
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

	struct channel *own_channels; /* of a recovery: nobody else has them */
};

/* Descriptions in the form of EVENTS, which arrive in pieces cut anywhere. */
struct kind_stream {
	unsigned char *part; /* an incomplete entry, with its head */
	size_t size, room;
	uint64_t skip; /* bytes of an entry that is too large */
};

struct connection {
	struct watch watch;
	struct watch process; /* the pidfd of the peer; -1: it had exited before we accepted */
	struct connection *next;
	bool refuses_fds; /* peer_refuse_fds() */
	struct outbox outbox;
	uint64_t send_deadline; /* while messages wait there */
	bool is_introducing;    /* the answer to its HELLO is among them */
	pid_t peer;
	uid_t uid;
	gid_t gid;
	uint64_t hello_deadline;
	uint64_t deadline;
	struct instance *instance; /* once it has spoken */

	/* The batch of descriptions that is arriving. */
	uint32_t sequence;
	uint32_t accepted;
	struct kind_stream stream;
	struct wire_refused *refused;
	uint32_t nr_refused, room_refused;
};

/* A program that is not recorded, and asks again: refusals.c. */
struct refusal {
	pid_t peer;
	uint64_t started; /* session_process_start() */
	uid_t uid;
	char *procname;
	const char *reason;
};

struct command {
	struct watch watch; /* the pidfd */
	pid_t pid;
	int status; /* -1 while it runs */
	char *name;
	char *never_meets; /* why no agent can be loaded, as from session_never_meets() */
	bool came;         /* the agent of the probed program has connected */
	const struct session_companion *companion; /* what comes beside it, or NULL */
};

/* Sums of what is not there any more: totals.c. */
struct totals {
	uint64_t processes;
	uint64_t recorded, lost, bytes, unwritten, overwritten;
	struct {
		uint64_t recorded, lost, bytes;
	} channels[SESSION_CHANNELS_MAX];
};

/* What a session without a command has beside the others. All of it is the main thread's. */
struct service {
	char *socket; /* while it is there */
	dev_t socket_device;
	ino_t socket_inode;
	bool any_user;
	bool is_owned; /* by a user other than that of the process (live.h: settled) */
	uid_t owner;
	bool active;
	bool boot;  /* programs make folders in the place by themselves */
	pid_t only; /* the only process that is looked at, by what it has mapped; 0: all */
	bool leave; /* to programs that live, what they have */
	uint64_t next_look;
	char **useless; /* folders that cannot be taken over: said once */
	size_t nr_useless;
	atomic_bool keep; /* the end is none: everything stays in the place (set before `stop`) */
	uint64_t generation;
	uint64_t statedump; /* generation of the last request */
	struct session_track *track;
	uint32_t nr_track;
	uint64_t nr_untracked;
	bool over; /* session_finish() (lock) */
};

/* rotate.c: the drain thread's; `done` and what is in it of struct retention under the lock. */
struct rotation {
	uint64_t size, period_ns; /* 0: no matter */
	bool on_request;
	bool chunks;         /* traces go into chunks */
	bool looked;         /* at numbers that are taken */
	char *path;          /* of the chunk that is being written, or NULL */
	unsigned int number; /* of the last one */
	uint64_t bytes;      /* of it */
	uint64_t next;       /* when it ends, 0: no matter */
	uint32_t done;       /* requests */
	char **flat;         /* traces that are in no chunk */
	size_t nr_flat;
};

/* retain.c */
struct retention {
	uint64_t size, age_ns;
	uint32_t count;
	struct chunk *chunks, *newest_chunk; /* finished and kept, oldest first */
	uint32_t nr;
	uint64_t bytes; /* of them */
	/* Under the lock: */
	uint32_t made, removed;
	uint64_t removed_bytes;
	char newest[64]; /* name */
};

/* full.c: the drain thread's; all but `retry` and `last` is written under the lock. */
struct full {
	int code;  /* why there is no room, a negative errno value; 0: there is */
	bool last; /* nothing waits any more */
	uint64_t retry, since;
	uint64_t ns; /* in all, without the present time */
	uint32_t times;
	uint64_t lost; /* records, of so many times a ring: */
	uint32_t streams;
};

/* trigger.c: the drain thread's, but `crash`, which stays as it is, and the main thread's `blind`. */
struct triggers {
	struct trigger *list;
	uint32_t nr;
	bool crash; /* one of them is that */
	bool blind; /* it was said that crashes cannot be seen */
	bool exhausted;
	bool holding; /* rings of a process that has ended, until there is a snapshot */
	uint32_t max, made;
	uint64_t looked, next;
};

struct session {
	/* Options, checked. */
	enum session_mode mode;
	bool wait_all;
	bool recovers;           /* no command and no agents: recover.c */
	struct service *service; /* no command, but agents: live.c */
	uint64_t memory_limit;
	char *output;
	int output_lock;          /* held while we record: `side view --follow` asks */
	struct channel *channels; /* in a listing one without rings; room for the most */
	uint32_t nr_channels;     /* that are in traces */
	uint32_t nr_all_channels; /* with those of triggers */
	bool huge_pages;          /* until there are none left (lock) */
	bool prefault;
	enum ctf_format format;
	int compress;
	char *buffers; /* directory of rings in files, or NULL */
	int buffers_fd;
	bool buffers_ours;   /* made by us */
	struct place *place; /* place.h, or NULL: `buffers` is none, or what the user named */
	char *preload;       /* value of LD_PRELOAD */
	char *sockets;       /* value of SIDE_AGENT_SOCKET */
	char **environment;  /* "NAME=VALUE" */
	size_t nr_environment;

	struct probe_offers probes, next_probes; /* now, and from the next change on */

	/* The socket. */
	char runtime[96];
	int runtime_fd; /* its lock */
	char socket_path[104];
	bool socket_is_secret; /* whoever knows its name is one of ours, whatever its user */
	struct watch listener;
	bool listener_refuses_fds; /* peer_refuse_fds() */
	struct connection *connections;
	struct connection *closed_connections; /* to be freed at the end of the turn */
	struct shares connection_shares;
	unsigned char *message; /* WIRE_MESSAGE_MAX */

	/* The clock, one for all traces. */
	enum ring_clock clock;
	struct ring_clock_sample begin;
	struct ctf_clock ctf_clock;
	struct ctf_clock corrected_clock; /* in place of ctf_clock; of the drain thread */
	bool is_clock_corrected;
	struct ctf_clock final_clock; /* that traces were closed with at the end */
	bool has_final_clock;
	bool monotonic; /* asked for */
	bool pass_on;   /* interrupts, to the command */
	uint64_t begin_ticks;
	char hostname[65];

	struct ring_bells *bells; /* of all rings that are drained */
	struct command command;
	bool begun; /* run_begin() */
	int epoll;
	struct watch signals;
	sigset_t old_mask;
	bool mask_is_ours;
	struct sigaction old_child;
	struct sigaction old_user, old_user2; /* of SIGUSR1 and SIGUSR2, for the command */
	struct rlimit old_files, old_file_size;
	struct sigaction old_size_signal; /* of SIGXFSZ */
	uint32_t max_ended_files;         /* that ended instances keep open */
	unsigned int interrupts;
	unsigned int turns_of_words; /* in which deaths have waited */
	bool interrupted;
	size_t nr_refused;        /* processes */
	char *refused;            /* the message about the first one */
	struct refusal *refusals; /* of those that still run; the main thread's */
	size_t nr_refusals;

	pthread_t drainer;
	bool drainer_runs;
	atomic_bool stop; /* drain everything a last time and end */
	struct rotation rotation;
	struct retention retention;
	struct full full;
	struct triggers triggers;
	struct instance *writers; /* instances that have one */
	atomic_uint rotations_wanted;
	atomic_bool clear_wanted; /* by the last of them */
	atomic_uint snapshots_wanted;
	uint32_t nr_snapshots; /* made (lock) */
	int snapshot_error;    /* of the last attempt: 0 or a negative errno (lock) */
	/* Names of the first and the last of them, "": none (lock). */
	char snapshot_first[SESSION_SNAPSHOT_NAME_MAX];
	char snapshot_last[SESSION_SNAPSHOT_NAME_MAX];
	/* Rounds of the drain thread that somebody waits for, and the last of them that is done (lock). */
	struct session_rounds *rounds; /* for somebody else, or NULL */
	atomic_uint rounds_wanted;
	uint32_t rounds_done;
	pthread_cond_t round_done;
	void (*progress)(void *user, uint64_t bytes, size_t processes, uint64_t lost);
	void *progress_user;
	_Atomic uint64_t written; /* running totals for progress */
	_Atomic uint64_t lost;
	_Atomic uint64_t snapshot_recorded; /* in all snapshots; an event can be in several */
	uint64_t snapshot_first_recorded, snapshot_last_recorded; /* in one */
	/* totals.c, the drain thread's: instances that are CLOSED (lock); with one that will be; as the place has it. */
	struct totals ended, ended_next, ended_before;
	char *ended_last;
	bool totals_unnoted; /* said so */

	pthread_mutex_t lock;
	struct instance *instances, **instances_end;
	struct instance *fresh;  /* that the drain thread has not taken yet, by next_active */
	struct instance *live;   /* the main thread's */
	uint32_t nr_instances;   /* that ever were: numbers count on */
	uint32_t nr_freed;       /* of them */
	atomic_uint nr_finished; /* that are still in the list */
	uint32_t nr_live;
	uint32_t max_live;
	struct shares live_shares;        /* processes that live (lock), */
	struct shares memory_shares;      /* memory of rings, */
	struct shares description_shares; /* bytes of descriptions, */
	struct lines lines;               /* messages about programs (lock) */
	uint64_t memory_used, memory_peak;
	uint64_t memory_ended; /* of instances that have ended: will be given back soon */
	size_t nr_denied;      /* processes whose events found no ring memory */
	uint64_t leases_next;  /* the drain thread's: next search for idle rings */
	pthread_cond_t memory_back;

	struct session_message *messages;
	size_t nr_messages, room_messages;
	struct session_loss *losses;
	size_t nr_losses, room_losses;
	uint64_t losses_rest; /* records lost beyond the limit on what is told apart */
	enum session_error_kind failure;

	struct session_process *processes; /* made for the summary */
	struct session_summary summary;
};

/* report.c: both threads may call this. The text is a sentence, optionally a newline and a hint. */
void report(struct session *session, bool is_error, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
/* The error's kind decides the exit status: permissions have their own. */
void report_failure(struct session *session, int code);
void report_loss(struct session *session, const struct instance *instance, const char *ring,
		const char *event, const char *reason, uint64_t count, bool in_bytes);
/* The same about a process of this user. Processes and users have shares of the log (lines.h), so none of them fills it alone. */
void report_about(struct session *session, uid_t uid, pid_t pid, bool is_error, const char *format,
		...) __attribute__((format(printf, 5, 6)));
/* About an instance: report_about() with its user and process. */
#define report_instance(session, instance, is_error, ...) \
	report_about((session), (instance)->account, (instance)->peer, (is_error), __VA_ARGS__)
/* Report what was suppressed, if the minute is over or `ends` now. */
void report_suppressed(struct session *session, bool ends);
void reports_free(struct session *session);
int session_fail(struct session_error *error, enum session_error_kind kind, int code,
		const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Add a hint to an error that has its text already. Returns its negative code. */
int session_hint(struct session_error *error, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
/* FAILED or, for EACCES, EPERM and EROFS, PERMISSION. */
enum session_error_kind session_error_kind_of(int code);

/* channels.c */
int channels_take(struct session *session, const struct session_options *options,
		struct session_error *error);
/* Other rules for some of the channels, of which everything else must be as it is; or nothing. */
int channels_change(struct session *session, const struct session_channel *channels, size_t nr,
		struct session_error *error);
int channels_add_counter(struct session *session, const struct session_rule *rule, uint32_t *index,
		struct session_error *error);
void channel_free(struct channel *channel);
bool channel_is_name(const char *name);
int context_list_read(struct context_list *list, const char *names, uint32_t nr, size_t size);
void context_list_free(struct context_list *list);
/* An event that a process described: what have the rules of its channel to do with it? */
void channel_meet(struct channel *channel, const struct side_event_description *event);
/* Does a listing show it? */
bool channel_wants(const struct channel *channel, const struct side_event_description *event);
/* Say which filters could match nothing. */
void channels_report(struct session *session);

/* output.c */
int output_create(struct session *session, const char *output, bool force,
		struct session_error *error);
/* Whoever follows the trace sees by a lock on the directory that more may come. */
void output_lock(struct session *session);

/* libraries.c */
int libraries_find(struct session *session, const struct session_options *options,
		struct session_error *error);

/* spawn.c */
sigset_t session_signals(const struct session *session);
void spawn_ignore_requests(struct session *session);
/* The value of SIDE_AGENT_SOCKET: the recordings that we run in, and ours. */
int spawn_sockets(struct session *session, struct session_error *error);
/* survivors.c: processes of the command, which has ended, that still run. */
unsigned int survivors_count(const struct session *session);

/* companion.c: without one nothing is to be waited for. Until the command may go on. */
int companion_hold(struct session *session, struct session_error *error);
bool companion_is_over(const struct session *session);
/* Waits for that, not for ever. */
void companion_end(struct session *session);

/* runtime.c */
int runtime_make(struct session *session);
void runtime_remove(struct session *session);

/* listener.c */
int listener_open(struct session *session, struct session_error *error);
/* Under a name that others were told. */
int listener_open_at(struct session *session, const char *path, struct session_error *error);
void listener_close(struct session *session);

/* connection.c */
void connection_accept(struct session *session);
void connection_ready(struct session *session, struct connection *connection);
/* The process at the other end has exited, and what it has sent is read. */
void connection_peer_exited(struct session *session, struct watch *process);
/* At the end of each turn: close late connections. */
void connections_expire(struct session *session);
/* Free the connections that this turn has closed. */
void connections_free_closed(struct session *session);
void connections_close(struct session *session);
/* Those of an instance that is freed. */
void connections_forget(struct session *session, const struct instance *instance);

/*
 * instance.c, by the main thread. instance_create() takes over the pidfd; it returns NULL with the
 * reason for the other side, else the descriptors of the channels' rings (none in a listing), which
 * the caller closes.
 */
struct instance *instance_create(struct session *session, const struct wire_hello *hello,
		const struct connection *connection, int pidfd, int *ring_fds, const char **reason);
struct instance *instance_allocate(const char *procname, const char *exe,
		const struct channel *channels, uint32_t nr_channels);
char *instance_clean_name(const char *name);
struct instance *instance_find(struct session *session, uint64_t token, pid_t peer);
/* Then another process can have its process id. */
bool instance_has_exited(const struct instance *instance);
/* Whoever speaks under this pid for the first time: what was known there has ended. */
void instance_end_predecessor(struct session *session, pid_t peer);
/* Into the lists; false: it cannot be watched. */
bool instance_link(struct session *session, struct instance *instance);
void instance_end(struct session *session, struct instance *instance);
/* Count a process that is not recorded as a loss of the process that created it, if that is known. */
struct wire_hello;
void instance_count_refused(const struct session *session, const struct wire_hello *hello);
/* Out of the list, those that nobody needs any more, for instance_free(). */
struct instance *instances_take_finished(struct session *session);
void instance_free(struct session *session, struct instance *instance);

/* memory.c: 0 or a negative errno with the reason for the other side. */
int memory_make_rings(struct session *session, struct instance *instance, int *ring_fds,
		const char **reason);
void memory_give_back(struct session *session, struct instance *instance);
/* For rings that are there already, by the geometries. False: they are more than is left. */
/* Charge the session only with the data in the rings of an ended process: they cannot grow. */
void memory_trim(struct session *session, struct instance *instance);
bool memory_take_found(struct session *session, struct instance *instance);
int memory_check(struct session *session, const struct session_options *options,
		struct session_error *error);
/* Bytes of the smallest rings of one process, and of those that were asked for. */
uint64_t memory_least(const struct session *session);
uint64_t memory_most(const struct session *session);
/* The tables for an instance's rings; false: no memory. */
bool memory_make_tables(struct instance_channel *channel);

/*
 * leases.c. With the lock: take back at least `bytes` of what processes of this user do not use, if there is so much.
 * The bytes of its processes that are taken back now.
 */
void leases_reclaim(struct session *session, uid_t account, uint64_t bytes);
uint64_t leases_revoked(const struct session *session, uid_t account);
/* By the main thread: an event of the channel was described, and no program hits it before this returns. */
void leases_matched(struct session *session, struct instance *instance);
/* By the drain thread, each round: answer programs that have asked, and find idle rings. */
void leases_turn(struct session *session, struct instance *active);
bool leases_has_revoked(const struct instance *instance);
/* Programs that wait for memory, and the number of those that need none. */
int leases_status(struct session *session, struct session_status *status);

/* kinds.c */
enum wire_refusal kinds_add(struct session *session, struct instance *instance,
		const struct wire_event_head *head, const void *bytes);
/* An entry of the stream, or its error. False: out of memory. */
typedef bool kind_visit(void *user, const struct wire_event_head *head, const void *bytes,
		enum wire_refusal refusal);
/* 0 or -ENOMEM. */
int kind_stream_feed(struct kind_stream *stream, const void *bytes, size_t size, kind_visit *visit,
		void *user);
bool kind_stream_is_whole(const struct kind_stream *stream);
void kind_stream_free(struct kind_stream *stream);
void kinds_forget(struct session *session, struct instance *instance);
/* "provider:event" of a slot of loss counters, allocated; "" when it is nobody's. */
char *kinds_name(const struct instance *instance, uint32_t channel, uint32_t slot);

/* probes.c, by the main thread. Of the options; from now on those of session_set_probes(), or never. */
int probes_take(struct session *session, const struct session_options *options,
		struct session_error *error);
void probes_change(struct session *session, bool holds);
void probes_free(struct session *session);
/* One that was forked from this one (NULL: it was not, or from nobody that we know). */
void probes_inherit(
		struct session *session, struct instance *instance, const struct instance *parent);
/* Those that it is to be given, SESSION_PROBES_MAX at most: how many, or -ENOMEM. It is noted that it has them. */
int probes_choose(struct session *session, struct instance *instance, struct probe_offer **offers);
/* Whether there are any for programs of its file. */
bool probes_has_exe(const struct session *session, const struct instance *instance);
/* What it says of one that it has been given. 0 or -EPROTO. */
int probes_hear(struct instance *instance, const struct wire_probed *probed);
void probes_forget(struct instance *instance);

/* buffers.c: by the main thread, 0 or a negative errno. */
int buffers_open(struct session *session, const struct session_options *options,
		struct session_error *error);
int buffers_make(struct session *session, struct instance *instance);
/* The rings are there, too: from now on it is a folder of buffers. */
int buffers_complete(const struct session *session, const struct instance *instance);
int buffers_make_rings(struct session *session, struct instance *instance,
		const struct instance_channel *channel, int *fd);
int buffers_note_kind(
		struct instance *instance, const struct wire_event_head *head, const void *bytes);
/* By the drain thread, when everything is on disk, or could not be written: then its folder may stay. */
bool buffers_stay(const struct instance *instance);
void buffers_remove(struct session *session, struct instance *instance);
void buffers_close(struct session *session);
/* 1: the directory of an instance; 0: another entry, or one that is not readable; or a negative errno. */
int buffers_is_folder(int place, const char *name);
/* A folder as an instance that has ended, or NULL. */
struct instance *buffers_load(
		struct session *session, int place, const char *name, struct ctf_error *error);

/* core.c: the recordings in a core dump, each added by recover_add(). */
int core_load(struct session *session, const char *path, struct ctf_error *error);

/* recover.c: for those who load an instance. Rings from a copy of their memory. */
int recover_map(struct instance_channel *channel, struct channel *own, int fd);
struct recovered {
	struct session *session;
	struct instance *instance;
	unsigned int refused; /* events */
};
/* A kind_visit: `user` is a struct recovered. */
bool recover_kind(void *user, const struct wire_event_head *head, const void *bytes,
		enum wire_refusal refusal);
/* Write its trace. Takes it over. */
void recover_add(struct session *session, struct instance *instance);

/*
 * trace.c, by the drain thread: move what is there (false: nothing was), and the last of it (false:
 * the disk is full, and it must be called again).
 */
bool trace_drain(struct session *session, struct instance *instance);
bool trace_end(struct session *session, struct instance *instance);
/* By whoever is alone with the instance. */
void trace_close(struct session *session, struct instance *instance, const struct ctf_clock *clock);
/* Its parts, for losses and snapshots. */
int trace_create(struct session *session, const struct instance *instance, const char *path,
		struct ctf_writer **writer, struct ctf_error *error);
int trace_describe(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint32_t *nr_described, struct ctf_error *error);
int trace_prepare(struct session *session, struct instance *instance, struct ctf_error *error);

/* maps.c: the first by the main thread while the process waits, the other by the drain thread. */
void maps_read(struct session *session, struct instance *instance);
void maps_write(struct session *session, struct instance *instance);
/* The lines of an earlier recorder. */
void maps_adopt(struct instance *instance, const char *text, size_t size);
void maps_free(struct instance *instance);
int trace_append(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring, const struct ctf_span *span, struct ctf_error *error);
void trace_report_damage(struct session *session, struct instance *instance, uint32_t channel,
		uint32_t ring);
void trace_fail(struct session *session, struct instance *instance, int code,
		const struct ctf_error *error);

/* losses.c: what a counter of such a slot means, for people. */
const char *losses_reason(const struct instance *instance, uint32_t slot, enum ring_loss reason);
/*
 * losses.c: into the trace and the summary at the end (false: the disk is full, not yet); into the
 * trace, when a chunk ends; or into a snapshot, as they are now.
 */
bool losses_end(struct session *session, struct instance *instance);
void losses_note(struct session *session, struct instance *instance);
/* What journal_tell() was given by a recorder before. */
void losses_take_told(struct instance *instance, const void *bytes, size_t size);
int losses_write(struct session *session, struct instance *instance, struct ctf_writer *writer,
		uint64_t ticks, struct ctf_error *error);

/*
 * snapshot.c, by the drain thread: a snapshot of these instances (next_active), its number with
 * something behind it, or "". 0: there is none.
 */
uint32_t snapshot_make(struct session *session, struct instance *active, const char *suffix);
/* At an instance's end: the windows of its rings that overwrite, into its trace. False: as above. */
bool snapshot_end(struct session *session, struct instance *instance);

/* rotate.c. Options; then, by the drain thread: */
int rotate_take(struct session *session, const struct session_options *options,
		struct session_error *error);
/* Where new traces go, once it is there. */
int rotate_prepare(struct session *session, struct ctf_error *error);
const char *rotate_path(const struct session *session);
/* So many bytes come now: into the next chunk, if this one would become too large. */
void rotate_for(struct session *session, uint64_t bytes);
/* Once a round: all of `wanted` was wanted before the round. */
uint32_t rotate_wanted(const struct session *session);
void rotate_turn(struct session *session, uint32_t wanted);
bool rotate_is_called(const struct session *session);
int rotate_timeout(const struct session *session, int timeout_ms);
void rotate_end(struct session *session);
void rotate_free(struct session *session);
/* A trace that is in no chunk, for the time when somebody wants chunks. */
void rotate_note_flat(struct session *session, const char *directory);

/* retain.c */
int retain_take(struct session *session, const struct session_options *options,
		struct session_error *error);
void retain_add(struct session *session, const char *name, uint64_t bytes);
void retain_apply(struct session *session);
void retain_free(struct session *session);
/* 0 or a negative errno. Follows no links. */
int retain_remove_tree(const char *path);

/*
 * totals.c. What a recorder before has left; a folder that is not done, though it may be in the sums; both by the main
 * thread before there is another one. By the drain thread, when everything of an instance is written: `ended_next` are
 * the sums with it. `stays`: its folder will not go.
 */
void totals_read(struct session *session);
void totals_reopen(struct session *session, const struct instance *instance);
void totals_end(struct session *session, struct instance *instance, bool stays);
/* The channels' figures alone, of any instance. */
void totals_add_channels(const struct session *session, const struct instance *instance,
		struct totals *totals);

/* trigger.c. Options; then, by the drain thread: */
int trigger_take(struct session *session, const struct session_options *options,
		struct session_error *error);
void trigger_free(struct session *session);
/* Look, and make a snapshot if there is a reason, before rings are given back. */
void trigger_turn(struct session *session, struct instance *active, bool last);
/* The last look at an instance. */
void trigger_count(struct session *session, struct instance *instance);
/* Shall the rings of a process that has ended stay until there is a snapshot? */
bool trigger_holds(struct session *session, struct instance *instance);

/* crash.c, by the main thread: a process has died; and this is its status. */
void crash_look(struct session *session, struct instance *instance);
void crash_note(struct session *session, pid_t pid, int status);
/* The signal, if it died of a fault, or 0; its name without "SIG". */
int crash_of(int status);
const char *crash_name(int number);

/* full.c: is there nothing to be written now? */
bool full_waits(const struct session *session);
/* Something could not be written: shall it wait? */
bool full_holds(struct session *session, int code);
/* Something could be written. Records that a ring has lost meanwhile. */
void full_over(struct session *session);
void full_count(struct session *session, uint64_t lost);
/* Before and after the last round. */
void full_end(struct session *session);
void full_report(struct session *session);
/* report.c: report the number of processes that are not recorded, in one message. */
void refusals_report(struct session *session);

/* drain.c */
int drain_start(struct session *session);
void drain_stop(struct session *session);
/* By the main thread: soon, by the drain thread. */
void drain_snapshot(struct session *session);
/*
 * A round of the drain thread that begins after this, and makes the snapshots that were asked for
 * before. Wait for it: 0, -ETIMEDOUT, or why records wait for room on the disk.
 */
uint32_t drain_ask(struct session *session);
int drain_wait(struct session *session, uint32_t round, unsigned int timeout_ms);

/*
 * track.c: texts are copied; track_container_fits() is for tests. A process is tracked when this
 * says so of it.
 */
struct track_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	const char *name;
};
int track_take(const struct session_track *track, size_t nr, struct session_track **result,
		struct session_error *error);
void track_free(struct session_track *track, size_t nr);
bool track_wants(const struct session_track *track, size_t nr, const struct track_peer *peer);
bool track_container_fits(const char *text, const char *path);

/*
 * refusals.c, by the main thread. refusals_note(): whether the process is to be counted, that is, was not counted before.
 */
bool refusals_note(struct session *session, const struct connection *connection, const char *name,
		const char *reason, bool again);
void refusals_remove(struct session *session, pid_t peer);
void refusals_free(struct session *session);
int refusals_status(struct session *session, struct session_status *status);

/* live.c */
void service_free(struct session *session);

/* run.c: one turn of the loop. How much there was, or a negative errno. */
int run_turn(struct session *session, int timeout_ms);
/* Of a session with a command, which is there: what the loop needs, once. 0 or a negative errno. */
int run_begin(struct session *session);

/* session.c */
int session_begin_clock(struct session *session, struct session_error *error);
int session_take_format(struct session *session, const struct session_options *options,
		struct session_error *error);
void session_raise_files(struct session *session);
int session_open_bells(struct session *session, struct session_error *error);
/* With channels and limits: what each user can take. */
int session_open_shares(struct session *session, struct session_error *error);
/* The conversion of a trace that is closed now, in the drain thread. -ENODATA: the first one is exact enough. */
int session_refined_clock(struct session *session, struct ctf_clock *clock);
/* NULL with errno, which session_fail_allocation() reports. */
struct session *session_allocate(void);
int session_fail_allocation(struct session_error *error);
void session_fill_clock(struct ctf_clock *clock, const struct ring_clock_calibration *calibration);

static inline bool channel_overwrites(const struct channel *channel)
{
	return channel->mode == RING_MODE_OVERWRITE;
}

#endif
