/* SPDX-License-Identifier: MIT */
/* References to objects, and the one function that frees them (objects.h). */
#include <stdlib.h>

#include "objects.h"

static unsigned int nr_objects;

static struct daemon_objects *objects_of(struct daemon *daemon)
{
	return (struct daemon_objects *)(void *)daemon;
}

void object_init(struct sided_object *object,
		void (*destroy)(struct daemon *, struct sided_object *))
{
	*object = (struct sided_object){.nr_refs = 1, .destroy = destroy};
	nr_objects++;
}

void object_get(struct sided_object *object)
{
	object->nr_refs++;
}

void object_put(struct daemon *daemon, struct sided_object *object)
{
	struct daemon_objects *objects = objects_of(daemon);

	/* A reference that was never made: continuing would use freed memory. */
	if (!object->nr_refs)
		abort();
	if (--object->nr_refs || object->is_unused)
		return;
	object->is_unused = true;
	object->next_unused = objects->unused;
	objects->unused = object;
}

void object_exchange(struct daemon *daemon, struct sided_object *former, struct sided_object *next)
{
	if (next)
		object_get(next);
	if (former)
		object_put(daemon, former);
}

void object_close(struct daemon *daemon, struct sided_object *object)
{
	if (object->is_closed)
		return;
	object->is_closed = true;
	object_put(daemon, object);
}

/* Freeing an object can end the last reference to another one. */
void objects_free_unused(struct daemon *daemon)
{
	struct daemon_objects *objects = objects_of(daemon);

	while (objects->unused) {
		struct sided_object *object = objects->unused;

		objects->unused = object->next_unused;
		object->is_unused = false;
		/* A function of this round has made a new reference. */
		if (object->nr_refs)
			continue;
		nr_objects--;
		object->destroy(daemon, object);
	}
}

unsigned int objects_left(void)
{
	return nr_objects;
}
