/* SPDX-License-Identifier: MIT */
/*
 * Contexts of the application: names, kinds, and the guarantees of registration and unregistration,
 * in threads, in signal handlers, in callbacks and across a fork.
 */
#include "event.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/context.h>

static struct test_event event;

static struct side_context_value read_now(const struct side_context_place *place)
{
	struct side_context_value value = {.kind = 77};

	side_context_read(place, &value);
	return value;
}

static void get_number(struct side_context_value *value, void *priv)
{
	side_context_set_int64(value, *(const int64_t *)priv);
	errno = EDOM;
}

/* ---- names ---- */

static void names(void)
{
	static const char *const bad[] = {"", "a b", "a:b", "a/b", "\xc3\xa9", "$app.a"};
	struct side_context_handle *handle, *other = (struct side_context_handle *)&event;
	int64_t number = 5;
	char longest[74];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_EQUAL(side_context_register(bad[i], "x", get_number, &number, &handle),
				SIDE_ERROR_INVAL);
		CHECK_EQUAL(side_context_register("x", bad[i], get_number, &number, &handle),
				SIDE_ERROR_INVAL);
		CHECK(!side_context_find(bad[i], "x") && !side_context_find("x", bad[i]));
	}
	CHECK_EQUAL(side_context_register(NULL, "x", get_number, NULL, NULL), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_context_register("x", NULL, get_number, NULL, NULL), SIDE_ERROR_INVAL);
	CHECK_EQUAL(side_context_register("x", "x", NULL, NULL, NULL), SIDE_ERROR_INVAL);

	memset(longest, 'l', 73);
	longest[73] = 0;
	CHECK(!side_context_find("p", longest));
	longest[72] = 0;
	CHECK(side_context_find("p", longest));

	CHECK_EQUAL(side_context_register("shop", "n", get_number, &number, &handle), 0);
	CHECK_EQUAL(side_context_register("shop", "n", get_number, &number, &other),
			SIDE_ERROR_EXIST);
	CHECK(!other);
	/* "sho" "pn" is another pair. */
	CHECK(side_context_find("sho", "pn") != side_context_find("shop", "n"));
	CHECK(side_context_find("shop", "n") == side_context_find("shop", "n"));
	side_context_unregister(handle);
	side_context_unregister(NULL);
	CHECK_EQUAL(side_context_register("shop", "n", get_number, &number, &handle), 0);
	side_context_unregister(handle);
}

/* ---- kinds ---- */

static void get_kind(struct side_context_value *value, void *priv)
{
	switch (*(const int *)priv) {
	case 0: break;
	case 1: side_context_set_int64(value, INT64_MIN); break;
	case 2: side_context_set_uint64(value, UINT64_MAX); break;
	case 3: side_context_set_double(value, -0.5); break;
	case 4: side_context_set_string(value, "text"); break;
	case 5: side_context_set_bool(value, 42); break;
	case 6: side_context_set_string(value, NULL); break;
	case 7:
		side_context_set_int64(value, 1);
		side_context_set_none(value);
		break;
	}
}

static void ignore(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
}

static void kinds(void)
{
	/* Found before a provider registers it, and the same afterwards. */
	const struct side_context_place *place = side_context_find("kinds", "any");
	struct side_context_handle *handle;
	struct side_context_value value;
	int kind = 0;

	/* Values are for tracers: without tracers, no value is read. */
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, ignore, NULL, 0), 0);
	CHECK(place);
	CHECK_EQUAL(read_now(place).kind, SIDE_CONTEXT_NONE);
	CHECK_EQUAL(side_context_register("kinds", "any", get_kind, &kind, &handle), 0);
	CHECK(place == side_context_find("kinds", "any"));
	CHECK_EQUAL(read_now(place).kind, SIDE_CONTEXT_NONE);
	kind = 1;
	value = read_now(place);
	CHECK(value.kind == SIDE_CONTEXT_INT64 && value.content.int64 == INT64_MIN);
	kind = 2;
	value = read_now(place);
	CHECK(value.kind == SIDE_CONTEXT_UINT64 && value.content.uint64 == UINT64_MAX);
	kind = 3;
	value = read_now(place);
	CHECK(value.kind == SIDE_CONTEXT_DOUBLE && value.content.float64 == -0.5);
	kind = 4;
	value = read_now(place);
	CHECK(value.kind == SIDE_CONTEXT_STRING && !strcmp(value.content.string, "text"));
	kind = 5;
	value = read_now(place);
	CHECK(value.kind == SIDE_CONTEXT_BOOL && value.content.boolean == 1);
	kind = 6;
	CHECK_EQUAL(read_now(place).kind, SIDE_CONTEXT_NONE);
	kind = 7;
	CHECK_EQUAL(read_now(place).kind, SIDE_CONTEXT_NONE);
	side_context_unregister(handle);
	kind = 1;
	CHECK_EQUAL(read_now(place).kind, SIDE_CONTEXT_NONE);
	CHECK_EQUAL(read_now(NULL).kind, SIDE_CONTEXT_NONE);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, ignore, NULL, 0), 0);
}

/* ---- inside an event ---- */

static const struct side_context_place *number_place;
static struct side_context_handle *number_handle;
static int calls;

static void read_arguments(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	struct side_context_value value;

	(void)desc;
	(void)args;
	(void)caller;
	errno = 4711;
	value = read_now(number_place);
	CHECK_EQUAL(errno, 4711);
	CHECK_EQUAL(value.kind, SIDE_CONTEXT_INT64);
	CHECK_EQUAL(value.content.int64, *(const int64_t *)priv);
	calls++;
}

/* Unregisters its own context within an event: it must not wait for itself. */
static void read_and_unregister(const struct side_event_description *desc,
		const struct side_arg_vec *args, void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)priv;
	(void)caller;
	side_context_unregister(number_handle);
	CHECK_EQUAL(read_now(number_place).kind, SIDE_CONTEXT_NONE);
	calls++;
}

static void in_events(void)
{
	static int64_t number = -3;
	int status;
	pid_t child;

	number_place = side_context_find("events", "number");
	CHECK_EQUAL(side_context_register("events", "number", get_number, &number, &number_handle),
			0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, read_arguments, &number, 0), 0);
	test_event_emit(&event);
	number = 12;
	test_event_emit(&event);
	CHECK_EQUAL(calls, 2);

	child = fork();
	CHECK(child >= 0);
	if (!child) {
		number = 13;
		test_event_emit(&event);
		side_context_unregister(number_handle);
		CHECK_EQUAL(read_now(number_place).kind, SIDE_CONTEXT_NONE);
		_exit(calls);
	}
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);

	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, read_arguments, &number, 0), 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, read_and_unregister, NULL, 0), 0);
	test_event_emit(&event);
	CHECK_EQUAL(calls, 3);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, read_and_unregister, NULL, 0), 0);
}

/* ---- coming and going while events fire ---- */

struct provider {
	int alive;
	int64_t number;
};

static int stop;

static void get_alive(struct side_context_value *value, void *priv)
{
	const struct provider *provider = priv;

	CHECK_EQUAL(__atomic_load_n(&provider->alive, __ATOMIC_RELAXED), 1);
	side_context_set_int64(value, provider->number);
}

static void read_any(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	struct side_context_value value = read_now(priv);

	(void)desc;
	(void)args;
	(void)caller;
	if (value.kind != SIDE_CONTEXT_NONE) {
		CHECK_EQUAL(value.kind, SIDE_CONTEXT_INT64);
		CHECK_EQUAL(value.content.int64, 4711);
		__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	}
}

static void *emit(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		test_event_emit(&event);
	return NULL;
}

static void come_and_go(const char *name, int times)
{
	while (times--) {
		struct provider *provider = malloc(sizeof(*provider));
		struct side_context_handle *handle;

		CHECK(provider);
		*provider = (struct provider){1, 4711};
		CHECK_EQUAL(side_context_register("come", name, get_alive, provider, &handle), 0);
		test_event_emit(&event);
		side_context_unregister(handle);
		/* A later call of the function would read this value, or freed memory. */
		__atomic_store_n(&provider->alive, 0, __ATOMIC_RELAXED);
		free(provider);
	}
}

static void *come_and_go_elsewhere(void *times)
{
	come_and_go("other", *(const int *)times);
	return NULL;
}

static void while_events_fire(void)
{
	struct side_context_place *place = side_context_find("come", "go");
	struct side_context_place *other = side_context_find("come", "other");
	int times = test_is_long() ? 200000 : 1500;
	pthread_t emitters[3], second;
	size_t i;

	calls = 0;
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, read_any, place, 0), 0);
	CHECK_EQUAL(side_tracer_callback_register(&event.desc, read_any, other, 0), 0);
	for (i = 0; i < 3; i++)
		CHECK_EQUAL(pthread_create(&emitters[i], NULL, emit, NULL), 0);
	CHECK_EQUAL(pthread_create(&second, NULL, come_and_go_elsewhere, &times), 0);
	come_and_go("go", times);
	CHECK_EQUAL(pthread_join(second, NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		CHECK_EQUAL(pthread_join(emitters[i], NULL), 0);
	CHECK(calls >= 2 * times);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, read_any, place, 0), 0);
	CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, read_any, other, 0), 0);
}

/* ---- many threads want the same new names ---- */

static struct side_context_place *found[4][100];

static void *find_all(void *index)
{
	struct side_context_place **places = found[(uintptr_t)index];
	char name[16];
	int i;

	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		places[i] = side_context_find("many", name);
	}
	return NULL;
}

static void same_places(void)
{
	pthread_t threads[4];
	uintptr_t i;
	int k;

	for (i = 0; i < 4; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, find_all, (void *)i), 0);
	for (i = 0; i < 4; i++)
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
	for (k = 0; k < 100; k++) {
		CHECK(found[0][k]);
		for (i = 1; i < 4; i++)
			CHECK(found[i][k] == found[0][k]);
		CHECK(!k || found[0][k] != found[0][k - 1]);
	}
}

/* The last test, because it uses up the names. */
static void too_many_names(void)
{
	struct side_context_handle *handle;
	int64_t number = 1;
	char name[16];
	int i;

	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		if (!side_context_find("many", name))
			break;
	}
	CHECK(i > 700 && i < 1024);
	CHECK_EQUAL(side_context_register("many", "one-more", get_number, &number, &handle),
			SIDE_ERROR_NOMEM);
	/* Old names still work. */
	CHECK_EQUAL(side_context_register("many", "n7", get_number, &number, &handle), 0);
	CHECK_EQUAL(read_now(found[2][7]).content.int64, 1);
	side_context_unregister(handle);
	side_exit();
	CHECK_EQUAL(side_context_register("many", "n8", get_number, &number, &handle),
			SIDE_ERROR_EXITING);
}

int main(void)
{
	test_event_init(&event, "context", 0);
	names();
	kinds();
	in_events();
	while_events_fire();
	same_places();
	too_many_names();
	return 0;
}
