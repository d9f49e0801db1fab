/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDED_OBJECTS_H
#define PROGRAMS_SIDED_OBJECTS_H

/*
 * Objects of the daemon, and the references that keep them in memory.
 *
 *	object         its owner                        closed by
 *	client         daemon->clients                  client_close()
 *	operation      itself: it ends exactly once     operation_free()
 *	query          itself: it ends exactly once     query_less()
 *	question       the call that asks for it        the end of that call
 *	session_entry  daemon->sessions                 session_remove(), sessions_close()
 *	worker         its session_entry                worker_close()
 *	agent          itself, until it hangs up        agent_close()
 *	program        daemon->programs                 program_close()
 *	door           daemon->doors                    sided_rendezvous_remove_rendezvous(), rendezvous_close_all()
 *
 * An object begins with one reference, which is its owner's. Any other pointer to it that is kept after the
 * function has returned is a reference, too: ref_set() makes, changes and ends it, and nothing else writes to
 * such a pointer. The loop has a reference to the owner of each watch and each timer that is set.
 * Lists of the owner (daemon->clients and the others) are not counted: closing takes the object out of them.
 *
 * An object ends in two steps:
 *
 *	closed   At once, and once only. Its descriptors are closed, its timers are cancelled, it is in no list, and
 *		 others find `is_closed`. The loop calls none of its callbacks any more.
 *	freed    At the end of a round of the loop, in objects_free_unused() and nowhere else, when there is no
 *		 reference to it. So each function of a round may use each object that it has, even if a function that
 *		 it called has closed the object.
 */

#include <stdbool.h>
#include <stddef.h>

struct daemon;

struct sided_object {
	unsigned int nr_refs;
	bool is_closed;
	bool is_unused; /* in daemon->unused */
	struct sided_object *next_unused;
	/* Ends its references to others, and frees it. */
	void (*destroy)(struct daemon *daemon, struct sided_object *object);
};

/* An object that was never used by others ends by object_close(), too, and not by free(). */
void object_init(struct sided_object *object,
		void (*destroy)(struct daemon *, struct sided_object *));
void object_get(struct sided_object *object);
void object_put(struct daemon *daemon, struct sided_object *object);
/* Ends the owner's reference. */
void object_close(struct daemon *daemon, struct sided_object *object);
void objects_free_unused(struct daemon *daemon);
/* How many have not been freed. */
unsigned int objects_left(void);

/* For ref_set(): either may be NULL. */
void object_exchange(struct daemon *daemon, struct sided_object *former, struct sided_object *next);

/* Points `slot` to `to`, which may be NULL: both are pointers to a structure whose first member is `object`. */
#define ref_set(daemon, slot, to)                                                           \
	do {                                                                                \
		_Static_assert(!offsetof(__typeof__(*(slot)), object), "the first member"); \
		__typeof__(slot) ref_to = (to), ref_former = (slot);                        \
		(slot) = ref_to;                                                            \
		object_exchange(daemon, (struct sided_object *)(void *)ref_former,          \
				(struct sided_object *)(void *)ref_to);                     \
	} while (0)

#endif
