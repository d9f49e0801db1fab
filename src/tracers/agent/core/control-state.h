/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_STATE_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_STATE_H

/*
 * The state of control (control.h), and the turn that serializes it.
 *
 * A thread that exchanges messages with the daemon, or changes the sessions of the process, holds
 * control.turn. A thread that cannot have the turn leaves a note in it, and the thread that returns
 * the turn acts on the note. Take the turn before libside's event lock. fork() takes it first, too,
 * so that a child finds no half of a change.
 *
 * Callers: the control*.c files and attach.c; agent_control_has_table(): exchange.c and join.c.
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
	/* The control thread, and the task that creates it; 0: none. */
	int thread;
	int maker;
	bool shares_table; /* they have no descriptor table of their own */
	/*
	 * control_give_turn() calls it if there is a note: control_signal_again(), set before the
	 * signal is installed whose handler leaves notes.
	 */
	void (*noted)(void);
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
/*
 * Any context: is the caller the control thread, or the task that creates it, with a descriptor
 * table of its own?
 */
bool agent_control_has_table(void);

/*
 * What consumers and the daemon learn from this process about its control, and which sessions it
 * may join.
 */
struct agent_control {
	uint32_t mode; /* enum wire_control */
	uint32_t signal;
	uint32_t loader;  /* enum wire_loader */
	bool is_reserved; /* only the session `only` may record the process (AGENT_SESSION_ENV) */
	char only[WIRE_SESSION_NAME_MAX + 1];
};

#endif
