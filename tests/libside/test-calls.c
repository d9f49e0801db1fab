/* SPDX-License-Identifier: MIT */
/*
 * Calls by a tracer that permits only its own callbacks, sections that end after each call, and the
 * report of each wrong call. Linked with the objects of the library, except for the reports, which
 * the test counts.
 */
#include <pthread.h>

#include "event.h"

#include "libside/kernel.h"
#include "libside/rcu.h"
#include "libside/report.h"

static unsigned int nr_reports[REPORT_NR];

void report_init(void) {}

void report_once(enum report_reason report)
{
	nr_reports[report]++;
}

static void reports_are(unsigned int arguments, unsigned int variadic, unsigned int versions)
{
	CHECK_EQUAL(nr_reports[REPORT_NULL_ARGUMENT], arguments);
	CHECK_EQUAL(nr_reports[REPORT_VARIADIC], variadic);
	CHECK_EQUAL(nr_reports[REPORT_STATE_VERSION], versions);
	memset(nr_reports, 0, sizeof(nr_reports));
}

#define SHIFT (sizeof(uintptr_t) * 8 - 8)
#define USER_EVENTS ((uintptr_t)0x80 << SHIFT)
#define PTRACE ((uintptr_t)0x40 << SHIFT)

static unsigned int nr_writes;

void side_kernel_write(const struct side_event_state_0 *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *caller)
{
	CHECK(state && args && caller);
	(void)var;
	nr_writes++;
}

static unsigned int nr_hooks; /* calls that a debugger would see */

void side_ptrace_hook(const struct side_event_state *state, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *var, void *caller)
{
	CHECK(state && arguments && caller);
	(void)var;
	nr_hooks++;
}

static unsigned int nr_own, nr_other;
static void *seen_caller;
static struct side_arg_vec args = {.len = 0};

static void own(const struct side_event_description *desc, const struct side_arg_vec *arguments,
		void *priv, void *caller)
{
	CHECK(desc && arguments == &args && priv == &nr_own && rcu_inside());
	seen_caller = caller;
	nr_own++;
}

static void other(const struct side_event_description *desc, const struct side_arg_vec *arguments,
		void *priv, void *caller)
{
	CHECK(desc && arguments && caller && rcu_inside());
	(*(unsigned int *)priv)++;
}

static void own_variadic(const struct side_event_description *desc,
		const struct side_arg_vec *arguments, const struct side_arg_dynamic_struct *var,
		void *priv, void *caller)
{
	CHECK(var && rcu_inside());
	own(desc, arguments, priv, caller);
}

static void called(unsigned int of_own, unsigned int of_other, unsigned int writes)
{
	CHECK_EQUAL(nr_own, of_own);
	CHECK_EQUAL(nr_other, of_other);
	CHECK_EQUAL(nr_writes, writes);
	nr_own = nr_other = nr_writes = 0;
	/* The section has ended. */
	CHECK(!rcu_inside());
	CHECK_EQUAL(side_tracer_synchronize(), SIDE_ERROR_OK);
}

static uintptr_t address_of(void (*function)(
		const struct side_event_description *, const struct side_arg_vec *, void *, void *))
{
	uintptr_t address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

static void put(struct test_event *event,
		void (*function)(const struct side_event_description *, const struct side_arg_vec *,
				void *, void *),
		unsigned int *counter)
{
	CHECK_EQUAL(side_tracer_callback_register(&event->desc, function, counter, 0),
			SIDE_ERROR_OK);
}

static void take(struct test_event *event,
		void (*function)(const struct side_event_description *, const struct side_arg_vec *,
				void *, void *),
		unsigned int *counter)
{
	CHECK_EQUAL(side_tracer_callback_unregister(&event->desc, function, counter, 0),
			SIDE_ERROR_OK);
}

static bool call(struct test_event *event, uintptr_t begin, uintptr_t end)
{
	const struct side_tracer_functions only = {begin, end};

	return side_tracer_call(&event->state.parent, &args, &nr_writes, &only);
}

static void test_only(void)
{
	const uintptr_t at = address_of(own), otherwise = address_of(other);
	struct test_event event;

	test_event_init(&event, "only", 0);
	put(&event, own, &nr_own);
	CHECK(call(&event, at, at + 1) && seen_caller == &nr_writes);
	called(1, 0, 0);
	CHECK(call(&event, at - 7, at + 1));
	called(1, 0, 0);
	CHECK(!call(&event, at - 7, at));
	called(0, 0, 0);
	CHECK(!call(&event, at + 1, at + 9));
	called(0, 0, 0);
	CHECK(!call(&event, otherwise, otherwise + 1) && !call(&event, at, at));
	called(0, 0, 0);
	/* The kernel tracer is enabled, too. */
	event.state.enabled |= USER_EVENTS;
	CHECK(!call(&event, at, at + 1));
	called(0, 0, 0);
	CHECK(side_tracer_call(&event.state.parent, &args, &nr_writes, NULL));
	called(1, 0, 1);
	event.state.enabled ^= USER_EVENTS | PTRACE;
	CHECK(!call(&event, at, at + 1));
	called(0, 0, 0);
	event.state.enabled ^= PTRACE;
	/* Two callbacks. */
	put(&event, other, &nr_other);
	CHECK(!call(&event, at, at + 1));
	called(0, 0, 0);
	CHECK(side_tracer_call(&event.state.parent, &args, &nr_writes, NULL));
	called(1, 1, 0);
	CHECK(call(&event, at < otherwise ? at : otherwise, (at > otherwise ? at : otherwise) + 1));
	called(1, 1, 0);
	take(&event, own, &nr_own);
	CHECK(!call(&event, at, at + 1) && call(&event, otherwise, otherwise + 1));
	called(0, 1, 0);
	take(&event, other, &nr_other);
	/* None. */
	CHECK(call(&event, at, at + 1) && call(&event, at, at));
	CHECK(side_tracer_call(&event.state.parent, &args, &nr_writes, NULL));
	called(0, 0, 0);
	event.state.enabled = USER_EVENTS;
	CHECK(!call(&event, at, at) && !call(&event, at, at + 1));
	called(0, 0, 0);
	CHECK(side_tracer_call(&event.state.parent, &args, &nr_writes, NULL));
	called(0, 0, 1);
}

/* In a section already: within another event, and in a thread without a reader. */
static struct test_event inner;

static void call_inner(const struct side_event_description *desc,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	(void)desc;
	(void)arguments;
	(void)priv;
	(void)caller;
	CHECK(call(&inner, address_of(own), address_of(own) + 1));
	CHECK(!call(&inner, address_of(other), address_of(other) + 1));
	CHECK(side_tracer_call(&inner.state.parent, &args, &nr_writes, NULL));
	side_call(&inner.state.parent, &args);
	/* The outer section is still open. */
	CHECK(rcu_inside());
}

static void *call_in_thread(void *unused)
{
	(void)unused;
	CHECK(call(&inner, address_of(own), address_of(own) + 1) && !rcu_inside());
	CHECK(!call(&inner, address_of(other), address_of(other) + 1) && !rcu_inside());
	return NULL;
}

static void test_inside(void)
{
	struct test_event event;
	pthread_t thread;

	test_event_init(&event, "outer", 0);
	test_event_init(&inner, "inner", 0);
	put(&event, call_inner, NULL);
	put(&inner, own, &nr_own);
	side_call(&event.state.parent, &args);
	called(3, 0, 0);
	CHECK(!pthread_create(&thread, NULL, call_in_thread, NULL) && !pthread_join(thread, NULL));
	called(1, 0, 0);
	take(&inner, own, &nr_own);
	take(&event, call_inner, NULL);
}

static void test_sections(void)
{
	struct side_arg_dynamic_struct var = {.len = 0};
	struct test_event event;
	uint64_t key = 0;

	test_event_init(&event, "variadic", SIDE_EVENT_FLAG_VARIADIC);
	CHECK_EQUAL(side_tracer_callback_variadic_register(&event.desc, own_variadic, &nr_own, 0),
			SIDE_ERROR_OK);
	side_call_variadic(&event.state.parent, &args, &var);
	called(1, 0, 0);
	side_statedump_call_variadic(&event.state.parent, &args, &var, &key);
	called(1, 0, 0);
	side_call(&event.state.parent, &args);
	side_statedump_call(&event.state.parent, &args, &key);
	called(0, 0, 0);
	CHECK_EQUAL(side_tracer_callback_variadic_unregister(&event.desc, own_variadic, &nr_own, 0),
			SIDE_ERROR_OK);
	test_event_init(&event, "plain", 0);
	put(&event, own, &nr_own);
	side_call(&event.state.parent, &args);
	side_statedump_call(&event.state.parent, &args, &key);
	called(2, 0, 0);
	side_call_variadic(&event.state.parent, &args, &var);
	called(0, 0, 0);
	take(&event, own, &nr_own);
#if defined(__x86_64__) && defined(__LP64__)
	CHECK(side_tracer_sections(SECTIONS_VERSION) == &rcu_shared);
#endif
	CHECK(!side_tracer_sections(SECTIONS_VERSION + 1) && !side_tracer_sections(0));
}

static void test_reports(void)
{
	struct side_arg_dynamic_struct var = {.len = 0};
	struct test_event event;
	uint64_t key = 0;

	test_event_init(&event, "wrong", 0);
	put(&event, own, &nr_own);
	memset(nr_reports, 0, sizeof(nr_reports));
	side_call(NULL, &args);
	reports_are(1, 0, 0);
	side_call(&event.state.parent, NULL);
	reports_are(1, 0, 0);
	side_call_variadic(NULL, &args, &var);
	side_call_variadic(&event.state.parent, NULL, &var);
	side_call_variadic(&event.state.parent, &args, NULL);
	reports_are(3, 0, 0);
	side_statedump_call(NULL, &args, &key);
	side_statedump_call(&event.state.parent, NULL, &key);
	side_statedump_call(&event.state.parent, &args, NULL);
	reports_are(3, 0, 0);
	side_statedump_call_variadic(NULL, &args, &var, &key);
	side_statedump_call_variadic(&event.state.parent, NULL, &var, &key);
	side_statedump_call_variadic(&event.state.parent, &args, NULL, &key);
	side_statedump_call_variadic(&event.state.parent, &args, &var, NULL);
	reports_are(4, 0, 0);
	side_call_variadic(&event.state.parent, &args, &var);
	reports_are(0, 1, 0);
	event.state.parent.version = 1;
	side_call(&event.state.parent, &args);
	reports_are(0, 0, 1);
	event.state.parent.version = 0;
	called(0, 0, 0);
	take(&event, own, &nr_own);
}

/* The kernel and a debugger are called for their own keys, and for key 0. */
static void test_shared(void)
{
	struct side_arg_dynamic_struct var = {.len = 0};
	struct test_event event;

	test_event_init(&event, "shared", 0);
	for (uint64_t key = 0; key < 12; key++) {
		nr_hooks = 0;
		event.state.enabled = PTRACE;
		side_statedump_call(&event.state.parent, &args, &key);
		CHECK_EQUAL(nr_hooks, key == 0 || key == 2);
		called(0, 0, 0);
		event.state.enabled = USER_EVENTS;
		side_statedump_call(&event.state.parent, &args, &key);
		CHECK_EQUAL(nr_hooks, key == 0 || key == 2);
		called(0, 0, key == 0 || key == 1);
		event.state.enabled = USER_EVENTS | PTRACE;
		side_statedump_call(&event.state.parent, &args, &key);
		CHECK_EQUAL(nr_hooks, 2 * (key == 0 || key == 2));
		called(0, 0, key == 0 || key == 1);
	}
	nr_hooks = 0;
	memset(nr_reports, 0, sizeof(nr_reports));
	/* The wrong kind of call. */
	side_call_variadic(&event.state.parent, &args, &var);
	reports_are(0, 1, 0);
	called(0, 0, 0);
	CHECK_EQUAL(nr_hooks, 0);
	event.state.enabled = 1;
	side_call(&event.state.parent, &args);
	CHECK_EQUAL(nr_hooks, 0);
	called(0, 0, 0);
}

/* After the end of the library, nothing is called. The last test. */
static void test_end(void)
{
	struct test_event event;

	test_event_init(&event, "end", 0);
	put(&event, own, &nr_own);
	side_exit();
	nr_hooks = 0;
	event.state.enabled |= USER_EVENTS | PTRACE;
	side_call(&event.state.parent, &args);
	CHECK(nr_hooks == 0 && nr_writes == 0);
	event.state.enabled = 1;
	CHECK(call(&event, address_of(own), address_of(own) + 1));
	CHECK(side_tracer_call(&event.state.parent, &args, &nr_writes, NULL));
	side_call(&event.state.parent, &args);
	CHECK(nr_own == 0 && !rcu_inside());
}

int main(void)
{
	test_only();
	test_inside();
	test_sections();
	test_reports();
	test_shared();
	test_end();
	return 0;
}
