/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_CONTROL_H
#define SIDE_TRACERS_AGENT_CORE_CONTROL_H

/*
 * How the daemon reaches this process after its arrival. Private to the control*.c files.
 *
 *	OFF     nobody asks, nobody is told
 *	SYNC    at the arrival, and again in a forked child; between only when `side attach` makes it look
 *	THREAD  after the arrival the process is armed: its next event asks the daemon and has a thread started, which keeps one
 *	        connection and does what the daemon says on it
 *	SIGNAL  the daemon sends a signal, whose handler asks what there is; for probes, which a handler cannot set,
 *	        the next event asks, or `side attach`
 *
 * One thing at a time: whoever talks with the daemon, or changes what sessions the process is in,
 * holds control.turn. Who cannot have it leaves a note there, and who gives it back looks. It is taken
 * before libside's event lock, and by fork() before that one, too, so that a child finds no half of a
 * change.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/protocol.h"

#define CONTROL_DAEMONS_MAX 2 /* the user's own, and the system's */
#define CONTROL_PATH_SIZE 108
#define CONTROL_SUSPICIONS_MAX \
	64 /* events in handlers, and none outside: no thread is started any more */
#define CONTROL_HOPELESS_MS 10000 /* after an arrival that timed out: no event and no child waits */

enum control_turn { CONTROL_FREE, CONTROL_TAKEN, CONTROL_TAKEN_AND_NOTED };

struct control {
	uint32_t mode; /* enum wire_control; OFF also when no daemon was there */
	uint32_t signal;
	uint32_t turn;            /* enum control_turn */
	uint64_t *hopeless_until; /* shared with all children: control_is_hopeless(); 0: it answers */
	int32_t pid; /* whose all this is: a child that runs in our memory, or of a bare clone(), is not */
	uint32_t nr_daemons;
	char daemons[CONTROL_DAEMONS_MAX][CONTROL_PATH_SIZE]; /* sockets, the own one first */
	uint64_t token, parent_token;
	uint64_t mask;  /* of the thread that armed: blocked signals, as the kernel has them */
	uint64_t grace; /* of the last change that was not waited for */
	bool forked;
	bool attached;       /* by `side attach` */
	bool forked_in_turn; /* the forking thread has it */
	uint32_t suspicions; /* events where a thread could not be started, since the process was armed */
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

/* Wait until the word differs from `value`, or until a spurious wakeup. False: `until` has passed. */
bool control_wait(const uint32_t *word, uint32_t value, int operation, uint64_t until);

bool control_take_turn(unsigned int timeout_ms);
bool control_note(void); /* False: no thread has the turn, so the caller must take it */
void control_give_turn(void);

/* Returns 0 if only this user and root can change the directory of the socket, else a negative errno. */
int control_check_path(const char *socket);
/* The following functions need the turn. control_connect() returns a socket or a negative errno. */
int control_connect(uint64_t deadline);
int control_send_arrival(int socket, struct control_memory *memory, enum wire_control mode,
		uint64_t deadline);
/* `size` bytes of room->message are a WELCOME: do what it says, and answer. */
int control_welcomed(int socket, struct control_memory *memory, size_t size, bool may_wait,
		uint64_t deadline);
/* The same without an answer, and without waiting for any lock: the message stays for control_welcomed(). */
void control_try(const struct control_memory *memory, size_t size);
/* All of it on a connection of its own. */
int control_refresh(enum wire_control mode, bool may_wait, unsigned int timeout_ms);

/* Of a daemon that is there and does not answer; and has it not for so long that nobody waits for it? */
void control_count_failure(int error);
bool control_is_hopeless(void);

/*
 * control-changes.c. With the turn: before the question, and when its answer has been applied; false: not all of it, or there was none.
 */
void control_changes_asked(void);
void control_changes_applied(bool all);
/* In any context: has a session changed since the last question whose answer was applied? */
enum control_changes { CONTROL_CHANGES_UNKNOWN, CONTROL_UNCHANGED, CONTROL_CHANGED };
enum control_changes control_changes(void);

/*
 * control-thread.c. First of all, in the arrival and in each thread that attaches: what needs the loader. A forked child never asks it,
 * because another thread of its parent's may have held its lock.
 */
void control_thread_prepare(void);
bool control_thread_is_prepared(void);
void control_arm(void);
/* Mode signal, with the event lock: the next event outside of handlers asks the daemon where it may wait. */
void control_arm_once(void);
/* What is blocked outside of handlers, by the thread that arrives. */
void control_remember_mask(void);
void control_thread_forked(void);
/*
 * Wait until the thread that an event has had started sleeps, 100 ms at most. Before a fork: while it is created, the allocator's lock
 * may be held, and would stay locked in the child. Before a sandbox: its system calls would end the program.
 */
void control_thread_settle(void);
/* Without the turn, in a thread that may make threads: now, without an event. Its end, when the mode says so. */
int control_thread_start(void);
/* Likewise in an armed process, which then waits for no event; where the thread is there already nothing happens. */
void control_thread_wake(void);
void control_thread_end(void);
bool control_thread_is_connected(void);
/* How often it has come to a daemon. */
uint32_t control_thread_greetings(void);

/* Bytes of whole pages for the thread-local data of all objects that are loaded. Where the loader may be asked. */
size_t control_thread_data(void);

/* control-starter.c: start the thread from any context. Where the loader may be asked: */
void control_starter_prepare(void);
void control_starter_forked(void);
/* Run `work`, which may wait and allocate, in a task beside the caller, which does neither. Returns the task id; -ENOSYS: not possible here. */
int control_starter_run(void (*work)(void));
/* The same for work that calls nothing of the program's, until it has ended. False: it has not, or cannot begin. */
bool control_starter_complete(void (*work)(void), uint64_t until);
/* A futex (not a private one) that is 0 when no such task exists. */
const uint32_t *control_starter_running(void);
/* Call `function` on a stack of its own, before that. */
void control_starter_call(void (*function)(void));

/* control-signal.c. False: the signal is the program's. */
bool control_signal_install(uint32_t signal);
uint32_t control_signal_number(const char *name); /* 0: none */
/* Do now what the handler could not; called when the turn, or libside's lock, is given back. */
void control_signal_again(void);

#endif
