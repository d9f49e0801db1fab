/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDED_OBJECTS_H
#define PROGRAMS_SIDED_OBJECTS_H

/*
 * Objects of the daemon, and the references that keep them in memory.
 *
 *   object         its owner                     closed by
 *   client         daemon->clients               client_close()
 *   operation      itself: it ends exactly once  operation_free()
 *   query          itself: it ends exactly once  query_less()
 *   status_query   the call that it belongs to   the end of that call
 *   session_entry  daemon->sessions              session_remove(), sessions_close()
 *   sided_worker   its session_entry             worker_close()
 *   resolution     daemon->resolutions           pending_remove()
 *   sided_agent    itself, until it hangs up     agent_close()
 *   sided_program  daemon->programs              program_close()
 *   rendezvous     daemon->rendezvous_list       sided_rendezvous_remove_rendezvous(),
 *                                                rendezvous_close_all()
 *
 * An object begins with one reference, which its owner holds. Any other pointer to it that is kept
 * after the function has returned is a reference, too: ref_set() makes, changes and ends it, and no
 * other code writes to such a pointer. The loop has a reference to the owner of each watch and each
 * timer that is set. Lists of the owner (daemon->clients and the others) are not counted: closing
 * removes the object from them.
 *
 * An object ends in two steps:
 *
 *   closed   At once, and only once. Its descriptors are closed, its timers are cancelled, it is in
 *            no list, and other objects see `is_closed`. The loop calls none of its callbacks any
 *            more.
 *   freed    At the end of a round of the loop, in objects_free_unused() and nowhere else, when
 *            there is no reference to it. So each function of a round can use each object that it
 *            has, even if a function that it called has closed the object.
 */

#include <stdbool.h>
#include <stddef.h>

struct daemon;

struct sided_object {
	unsigned int nr_refs;
	bool is_closed;
	bool is_unused; /* in daemon_objects.unused */
	struct sided_object *next_unused;
	/* Ends its references to other objects, and frees it. */
	void (*destroy)(struct daemon *daemon, struct sided_object *object);
};

/* The first member of struct daemon, so that this file needs to know no other. */
struct daemon_objects {
	struct sided_object *unused; /* objects to free at the end of the round */
};

/*
 * Initializes an object with its owner's reference. End it with object_close(), never with free(),
 * even if no other object has used it.
 */
void object_init(struct sided_object *object,
		void (*destroy)(struct daemon *, struct sided_object *));
void object_get(struct sided_object *object);
void object_put(struct daemon *daemon, struct sided_object *object);
/* Closes the object and ends the owner's reference. */
void object_close(struct daemon *daemon, struct sided_object *object);
void objects_free_unused(struct daemon *daemon);
/* Returns the number of objects that have not been freed. */
unsigned int objects_left(void);

/* For ref_set(): either can be NULL. */
void object_exchange(struct daemon *daemon, struct sided_object *former, struct sided_object *next);

/*
 * Makes `slot` refer to `to`, which can be NULL. Both are pointers to a structure whose first
 * member is `object`.
 */
#define ref_set(daemon, slot, to)                                                           \
	do {                                                                                \
		_Static_assert(!offsetof(__typeof__(*(slot)), object), "the first member"); \
		__typeof__(slot) ref_to = (to), ref_former = (slot);                        \
		(slot) = ref_to;                                                            \
		object_exchange(daemon, (struct sided_object *)(void *)ref_former,          \
				(struct sided_object *)(void *)ref_to);                     \
	} while (0)

#endif
