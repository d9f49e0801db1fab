/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_H

/*
 * The daemon: how it reaches this process. The modes:
 *
 *	OFF     the agent asks no daemon
 *	SYNC    the process asks at its start, and again in a forked child; otherwise only when `side attach` makes it ask
 *	THREAD  after the start the process is armed: its next event asks the daemon and starts a thread, which keeps one
 *	        connection and does what the daemon requests on it
 *	SIGNAL  the daemon sends a signal, whose handler asks. A handler cannot set probes: for them the next event asks,
 *	        or `side attach`
 *
 * The turn serializes all of it: a thread that exchanges messages with the daemon, or changes the
 * sessions of the process, holds control.turn. A thread that cannot have the turn leaves a note in
 * it, and the thread that returns the turn acts on the note. Take the turn before libside's event
 * lock. fork() takes it first, too, so that a child finds no half of a change.
 *
 * Callers: the control-*.c files, attach.c; for the last part of this header, all of core.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/protocol.h"
#include "protocol/runtime.h"

#define CONTROL_DAEMONS_MAX 2 /* the user's own, and the system's */
#define CONTROL_PATH_SIZE 108
#define CONTROL_SUSPICIONS_MAX \
	64 /* events in handlers, and none outside: no thread is started any more */
#define CONTROL_HOPELESS_MS 10000 /* after an arrival that timed out: no event and no child waits */

enum control_turn { CONTROL_FREE, CONTROL_TAKEN, CONTROL_TAKEN_AND_NOTED };

struct control {
	uint32_t mode; /* enum wire_control; OFF also when no daemon was there */
	uint32_t signal;
	uint32_t turn; /* enum control_turn */
	/* shared with all children: control_is_hopeless(); 0: it answers */
	uint64_t *hopeless_until;
	/* whose all this is: a child that runs in our memory, or of a bare clone(), is not */
	int32_t pid;
	uint32_t nr_daemons;
	char daemons[CONTROL_DAEMONS_MAX][CONTROL_PATH_SIZE]; /* sockets, the own one first */
	uint64_t token, parent_token;
	uint64_t mask;  /* of the thread that armed: blocked signals, as the kernel has them */
	uint64_t grace; /* of the last change that was not waited for */
	bool forked;
	bool attached;       /* by `side attach` */
	bool forked_in_turn; /* the forking thread has it */
	/* events where a thread could not be started, since the process was armed */
	uint32_t suspicions;
};

extern struct control control __attribute__((visibility("hidden")));

/* Messages and names of one exchange. */
struct control_memory {
	char message[WIRE_MESSAGE_MAX];
	char names[2][4096];
};
struct control_memory *control_memory_map(void);
void control_memory_unmap(struct control_memory *memory);
void control_memory_trim(struct control_memory *memory);

/*
 * Wait until the word differs from `value`, or until a spurious wakeup. False: `until` has passed.
 */
bool control_wait(const uint32_t *word, uint32_t value, int operation, uint64_t until);

bool control_take_turn(unsigned int timeout_ms);
bool control_note(void); /* False: no thread has the turn, so the caller must take it */
void control_give_turn(void);

/*
 * Returns 0 if only this user and root can change the directory of the socket, else a negative
 * errno.
 */
int control_check_path(const char *socket);
/* The following functions need the turn. control_connect() returns a socket or a negative errno. */
int control_connect(uint64_t deadline);
int control_send_arrival(int socket, struct control_memory *memory, enum wire_control mode,
		uint64_t deadline);
/* `size` bytes of room->message are a WELCOME: do what it says, and answer. */
int control_welcomed(int socket, struct control_memory *memory, size_t size, bool may_wait,
		uint64_t deadline);
/*
 * The same without an answer, and without waiting for any lock: the message stays for
 * control_welcomed().
 */
void control_try(const struct control_memory *memory, size_t size);
/* All of it on a connection of its own. */
int control_refresh(enum wire_control mode, bool may_wait, unsigned int timeout_ms);

/*
 * Count a daemon that exists and does not answer; and has it failed for so long that events and
 * children do not wait for it?
 */
void control_count_failure(int error);
bool control_is_hopeless(void);

/*
 * What consumers and the daemon learn from this process about its control, and which sessions it
 * may join.
 */
struct agent_control {
	uint32_t mode; /* enum wire_control */
	uint32_t signal;
	bool is_reserved; /* only the session `only` may record the process (AGENT_SESSION_ENV) */
	char only[WIRE_SESSION_NAME_MAX + 1];
};

/* ---- for the other parts of core ---- */

/* In the constructor, without a lock. 0 or a negative errno. */
int agent_control_arrive(void);
/* In a forked child, after its sessions are its own. */
void agent_control_forked(void);
/*
 * In a forked child: was no update under way in another thread? Otherwise no data of the sessions
 * can be trusted.
 */
bool agent_control_forked_whole(void);
/* For tests. */
void agent_control_stop(void);

enum agent_attach_method {
	AGENT_BY_DIRECTORY,  /* of the daemon, with its socket */
	AGENT_BY_RENDEZVOUS, /* by the rendezvous socket (rendezvous.h) */
	/* the same: that daemon reports that this process is in contact with it */
	AGENT_BY_SAME_RENDEZVOUS,
};
/*
 * With the turn, in the thread of `side attach`. Connect to this daemon, and keep a thread for it:
 * 0, -EALREADY when the program is in contact with it, -EISCONN when it is in contact with another
 * one.
 */
int agent_control_attach(const char *socket, enum agent_attach_method method);
/*
 * Leave the daemon that the process was attached to. Returns `nothing` (-ENOENT or 0) when there is
 * none.
 */
int agent_control_detach(int nothing);

#endif
