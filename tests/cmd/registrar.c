/* SPDX-License-Identifier: MIT */
/*
 * A program that registers events at run time, for `side list PID`. It prints its process ID and
 * waits for the end of its standard input. Each field has the name of its event, so that a
 * description assembled from two events is detected.
 *
 *	stable:0 .. stable:99	registered all the time, by builders; a tracer listens to stable:7
 *	gone:0 .. gone:9	unregistered again
 *	hand:one, hand:two	a batch with NULLs and with one of them twice; hand:one also alone
 *	churn:N			with the argument "busy": threads register and unregister them all
 *				the time
 */
#include <side/builder.h>
#include <side/trace.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NR_STABLE 100
#define NR_GONE 10

/* In a table and registered, by the constructor that the header defines. */
side_static_event(table_event, "table", "event", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u8("event")));

static atomic_bool end;

static struct side_builder *make(const char *provider, const char *name)
{
	struct side_builder *b = side_builder_create(provider, name, SIDE_LOGLEVEL_INFO, 0);

	side_builder_add_field(
			b, NULL, name, side_builder_integer(b, 4, 0, SIDE_TYPE_BYTE_ORDER_HOST));
	return b;
}

static struct side_builder *add(const char *provider, int number)
{
	struct side_builder *b;
	char name[16];

	snprintf(name, sizeof(name), "%d", number);
	b = make(provider, name);
	if (side_builder_register(b) != SIDE_ERROR_OK)
		abort();
	return b;
}

static void listen(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	(void)description;
	(void)arguments;
	(void)priv;
	(void)caller;
}

static void add_by_hand(void)
{
	static struct side_event_description *batch[5], *alone[1];
	struct side_builder *one = make("hand", "one"), *two = make("hand", "two");

	if (side_builder_finish(one) || side_builder_finish(two))
		abort();
	batch[1] = side_builder_description(one);
	batch[3] = batch[4] = side_builder_description(two);
	alone[0] = batch[1];
	if (!side_events_register(batch, 5) || !side_events_register(alone, 1))
		abort();
}

/* Creates and frees events, which waits for readers each time. */
static void *build(void *argument)
{
	for (int i = *(int *)argument; !end; i += 10)
		side_builder_destroy(add("churn", i));
	return NULL;
}

/* Reuses the same memory for another event each time, with invalid content in between. */
static void *reuse(void *argument)
{
	static const char digits[] = "0123456789";
	static struct {
		struct side_builder *builder;
		struct side_event_field field;
		char event_name[8], field_name[8];
	} events[4];
	int number = *(int *)argument % 4;
	struct side_event_description *desc, *batch[1];
	struct side_event_field field;

	events[number].builder = make("churn", "x");
	if (side_builder_finish(events[number].builder))
		abort();
	desc = batch[0] = side_builder_description(events[number].builder);
	field = *side_array_at(&desc->fields, 0);
	side_ptr_set(field.field_name, events[number].field_name);
	side_ptr_set(desc->event_name, events[number].event_name);
	side_ptr_set(desc->fields.elements, &events[number].field);
	for (unsigned int i = 0; !end; i++) {
		struct side_events_register_handle *handle;

		events[number].field = field;
		for (int k = 0; k < 6; k++)
			events[number].event_name[k] = events[number].field_name[k] =
					digits[i % 10];
		events[number].event_name[6] = events[number].field_name[6] = '\0';
		handle = side_events_register(batch, 1);
		/*
		 * Long enough that readers often find the event, short enough that they seldom read
		 * all of it.
		 */
		for (volatile unsigned int k = 0; k < i % 8 * 1024; k++)
			;
		side_events_unregister(handle);
		memset(&events[number].field, 0xa5, sizeof(events[number].field));
		memset(events[number].event_name, '?', sizeof(events[number].event_name) - 1);
		memset(events[number].field_name, '!', sizeof(events[number].field_name) - 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static int numbers[4] = {1, 2, 3, 4};
	struct side_builder *gone[NR_GONE], *stable = NULL;
	pthread_t threads[4];
	bool busy = argc > 1 && !strcmp(argv[1], "busy");
	char byte;

	for (int i = 0; i < NR_GONE; i++)
		gone[i] = add("gone", i);
	for (int i = 0; i < NR_STABLE; i++) {
		struct side_builder *b = add("stable", i);

		if (i == 7)
			stable = b;
	}
	add_by_hand();
	for (int i = 0; i < NR_GONE; i++)
		side_builder_destroy(gone[i]);
	if (side_tracer_callback_register(side_builder_description(stable), listen, NULL, 0))
		return 1;
	for (int i = 0; busy && i < 4; i++) {
		if (pthread_create(&threads[i], NULL, i % 2 ? build : reuse, &numbers[i]))
			return 1;
	}
	side_event(table_event, side_arg_list(side_arg_u8(1)));
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	end = true;
	for (int i = 0; busy && i < 4; i++)
		pthread_join(threads[i], NULL);
	/* The events stay registered until the end: exit before the leak checker runs. */
	_exit(0);
}
