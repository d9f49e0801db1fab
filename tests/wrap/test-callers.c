/* SPDX-License-Identifier: MIT */
/*
 * The callers of three functions for threads, and what these functions pass on. The test includes
 * the file, so its own calls are wrapped.
 */
#include <dlfcn.h>
#include <string.h>

#define WRAP_OWN test_own
#include "tracers/wrap/pthread.c"

#include "../check.h"

__thread int wrap_depth __attribute__((tls_model("initial-exec")));
static const void *tracer;

void *wrap_next(const char *name, const char *version)
{
	return version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
}

void wrap_start(void) {}

bool wrap_is_own_thread(void)
{
	return false;
}

bool wrap_is_tracer(const void *address)
{
	return address && address == tracer;
}

static struct {
	unsigned int nr;
	const void *caller, *first; /* first: the first argument */
} seen;

static void see(const struct side_event_description *event, const struct side_arg_vec *args,
		void *data, void *caller)
{
	const struct side_arg *fields = side_ptr_get(args->sav);

	(void)event;
	(void)data;
	(void)caller;
	seen.nr++;
	seen.first = (const void *)fields[0].u.side_static.integer_value.side_uptr;
	seen.caller = (const void *)fields[args->len - 1].u.side_static.integer_value.side_uptr;
}

#define PLACE 64
#define PLACED __attribute__((noinline, aligned(PLACE)))

/* Each is in a section of its own. */
static PLACED int name_thread(const char *name)
{
	int result = pthread_setname_np(pthread_self(), name);

	__asm__ volatile("" : "+r"(result));
	return result;
}

static PLACED void end_thread(void *value)
{
	pthread_exit(value);
	__asm__ volatile("");
}

static bool is_in(const void *address, const void *function)
{
	return (uintptr_t)address - (uintptr_t)function < PLACE;
}

static PLACED void test_names(void)
{
	char name[16] = "";
	int outside;

	CHECK(side_tracer_callback_register(&event_pthread_setname_np, see, NULL, 0) ==
			SIDE_ERROR_OK);
	CHECK(name_thread("one") == 0 && seen.nr == 1 && is_in(seen.caller, (void *)name_thread));
	CHECK(seen.first == (const void *)pthread_self());
	/* The agent passes the caller of the program. */
	CHECK(!side_wrap_pass_pthread(&outside));
	CHECK(name_thread("two") == 0 && seen.nr == 2 && seen.caller == &outside);
	tracer = &outside;
	CHECK(name_thread("three") == 0 && seen.nr == 2);
	tracer = NULL;
	CHECK(side_wrap_pass_pthread(name) == &outside);
	CHECK(side_wrap_pass_pthread(NULL) == name && !side_wrap_pass_pthread(NULL));
	CHECK(name_thread("a name that is too long") == ERANGE && seen.nr == 3 &&
			is_in(seen.caller, (void *)name_thread));
	CHECK(!pthread_getname_np(pthread_self(), name, sizeof(name)) && !strcmp(name, "three"));
	CHECK(side_tracer_callback_unregister(&event_pthread_setname_np, see, NULL, 0) ==
			SIDE_ERROR_OK);
}

static PLACED void *thread_main(void *data)
{
	end_thread(data);
	return NULL;
}

static void test_end(void)
{
	int value;
	pthread_t thread;
	void *result = NULL;

	CHECK(side_tracer_callback_register(&event_pthread_exit, see, NULL, 0) == SIDE_ERROR_OK);
	seen.nr = 0;
	CHECK(!pthread_create(&thread, NULL, thread_main, &value) &&
			!pthread_join(thread, &result));
	CHECK(result == &value && seen.nr == 1 && seen.first == &value &&
			is_in(seen.caller, (void *)end_thread));
	CHECK(side_tracer_callback_unregister(&event_pthread_exit, see, NULL, 0) == SIDE_ERROR_OK);
}

int main(void)
{
	test_names();
	test_end();
	return 0;
}
