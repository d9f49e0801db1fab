/* SPDX-License-Identifier: MIT */
/* Sets of any shape, contexts of applications, values for filters; also in signal handlers. */
#include "test-context.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- sets of any shape ---- */

/*
 * Written one by one, contexts must give the same bytes as together, in any buffer that is large
 * enough.
 */
void shapes(void **state)
{
	static const char *const rows[] = {
			"vpid",
			"ip",
			"vpid,vtid,procname",
			"ip,vpid,ip",
			"procname,ip,thread_name,vtid",
			"uid,euid,suid,gid,egid,sgid,vpid,vtid,tid",
			"vpid,vtid,tid,procname,thread_name,uid,gid,net_ns,mnt_ns,user_ns,uts_ns,"
			"ip",
			"cgroup,vpid,cgroup",
			"app:shape:text,vpid,app:shape:number,procname,app:shape:nothing,ip",
			"app:shape:text,app:shape:number,app:shape:truth,app:shape:half,ip,cgroup,"
			"app:shape:nothing,app:a:a,app:a:b,app:a:c,app:a:d,vpid",
			"perf:thread:instructions,vpid",
	};
	size_t i, buffer;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct context_spec specs[CONTEXT_SET_MAX];
		struct context_error error;
		uint8_t together[6000], again[6000], expected[6000];
		const struct context_set *set = build(rows[i]);
		size_t size = 0, written;
		int nr = context_parse_list(rows[i], specs, CONTEXT_SET_MAX, &error);
		int k;

		for (k = 0; k < nr; k++)
			size += write_set(build(specs[k].name), expected + size,
					sizeof(expected) - size);
		/* Twice: the second time uses the kept values. */
		assert_int_equal(write_set(set, together, sizeof(together)), size);
		assert_memory_equal(together, expected, size);
		assert_int_equal(write_set(set, again, sizeof(again)), size);
		assert_memory_equal(again, expected, size);
		for (buffer = 0; buffer < size + 500; buffer++) {
			uint8_t *behind;

			memset(again, 0xee, sizeof(again));
			behind = context_write(set, again, again + buffer, caller);
			if (buffer < size) {
				assert_null(behind);
			} else {
				written = (size_t)(behind - again);
				assert_int_equal(written, size);
				assert_memory_equal(again, expected, size);
			}
			assert_int_equal(again[buffer], 0xee);
			assert_int_equal(again[buffer + 1], 0xee);
		}
	}
}

void empty_set(void **state)
{
	uint8_t bytes[200];
	struct context_set *set;
	uint64_t memory[16];

	(void)state;
	assert_int_equal(context_set_build(NULL, 0, memory, sizeof(memory), &set), 0);
	assert_ptr_equal(context_write(set, bytes, bytes + sizeof(bytes), caller), bytes);
	assert_ptr_equal(context_write(set, bytes, bytes + sizeof(bytes), caller), bytes);
	assert_ptr_equal(context_write(set, bytes, bytes, caller), bytes);
}

void bad_specs(void **state)
{
	static struct context_spec specs[CONTEXT_SET_MAX + 1];
	struct context_error error;
	struct context_set *set;
	uint64_t memory[16];
	size_t i;

	(void)state;
	for (i = 0; i <= CONTEXT_SET_MAX; i++)
		assert_int_equal(context_parse("vpid", &specs[i], &error), 0);
	assert_int_equal(context_set_size(specs, CONTEXT_SET_MAX + 1), -E2BIG);
	assert_int_equal(context_set_build(specs, 1, memory, 8, &set), -ENOSPC);
	specs[0].kind = CONTEXT_KINDS;
	assert_int_equal(context_set_size(specs, 1), -EINVAL);
	assert_int_equal(context_parse("app:a:b", &specs[0], &error), 0);
	specs[0].label_at = 200;
	assert_int_equal(context_set_build(specs, 1, memory, sizeof(memory), &set), -EINVAL);
}

/* ---- contexts of applications ---- */

void get_shape(struct side_context_value *value, void *priv)
{
	const char *name = priv;

	errno = EDOM;
	if (!strcmp(name, "text"))
		side_context_set_string(value, "some text");
	else if (!strcmp(name, "number"))
		side_context_set_int64(value, -7);
	else if (!strcmp(name, "big"))
		side_context_set_uint64(value, UINT64_MAX);
	else if (!strcmp(name, "half"))
		side_context_set_double(value, 0.5);
	else if (!strcmp(name, "truth"))
		side_context_set_bool(value, 1);
}

static void expect_application(const char *name, const void *bytes, size_t size)
{
	uint8_t written[200];
	char full[64];

	snprintf(full, sizeof(full), "app:shape:%s", name);
	assert_int_equal(write_set(build(full), written, sizeof(written)), size);
	assert_memory_equal(written, bytes, size);
}

void applications(void **state)
{
	struct filter_value value;
	struct context_set *set;

	(void)state;
	expect_application("number", "\1\371\377\377\377\377\377\377\377", 9);
	expect_application("big", "\2\377\377\377\377\377\377\377\377", 9);
	expect_application("half", "\3\0\0\0\0\0\0\340\77", 9);
	expect_application("text", "\4some text", 11);
	expect_application("truth", "\5\1", 2);
	expect_application("nothing", "\0", 1);
	expect_application("nobody", "\0", 1);

	set = build("app:shape:number,app:shape:big,app:shape:half,app:shape:text,app:shape:truth,"
		    "app:shape:nothing,app:shape:nobody");
	assert_true(context_set_load(set, 0, caller, &value));
	assert_true(value.kind == FILTER_INT && !value.is_unsigned && value.s == -7);
	assert_true(context_set_load(set, 1, caller, &value));
	assert_true(value.kind == FILTER_INT && value.is_unsigned && value.u == UINT64_MAX);
	assert_true(context_set_load(set, 2, caller, &value));
	assert_true(value.kind == FILTER_DOUBLE && value.f == 0.5);
	assert_true(context_set_load(set, 3, caller, &value));
	assert_true(value.kind == FILTER_STRING && value.size == FILTER_TERMINATED);
	assert_string_equal(value.text, "some text");
	assert_true(context_set_load(set, 4, caller, &value));
	assert_true(value.kind == FILTER_INT && value.u == 1);
	assert_false(context_set_load(set, 5, caller, &value));
	assert_false(context_set_load(set, 6, caller, &value));
	assert_false(context_set_load(set, 7, caller, &value));
}

static struct context_set *set_recursive;
static unsigned int recursions;

static void get_recursive(struct side_context_value *value, void *priv)
{
	uint8_t bytes[64];

	(void)priv;
	recursions++;
	/* The function emits an event, which has this context, too. */
	context_write(set_recursive, bytes, bytes + sizeof(bytes), caller);
	side_context_set_int64(value, 5);
}

void recursive(void **state)
{
	struct side_context_handle *handle;
	uint8_t bytes[64];

	(void)state;
	set_recursive = build("app:recursive:number,app:recursive:number2");
	assert_int_equal(side_context_register("recursive", "number", get_recursive, NULL, &handle),
			0);
	recursions = 0;
	write_set(set_recursive, bytes, sizeof(bytes));
	assert_int_equal(bytes[0], CONTEXT_TAG_INT64);
	assert_int_equal(bytes[1], 5);
	assert_int_equal(recursions, 2);
	write_set(set_recursive, bytes, sizeof(bytes));
	assert_int_equal(recursions, 4);
	side_context_unregister(handle);
}

/* ---- values for filters ---- */

void loads(void **state)
{
	static const char *const text[] = {"procname", "thread_name", "cgroup"};
	static const char *const number[] = {
			"vpid", "vtid", "uid", "gid", "net_ns", "ip", "perf:thread:major-faults"};
	struct filter_value value;
	struct context_spec spec;
	struct context_error error;
	size_t i;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "loading"), 0);
	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		assert_int_equal(context_parse(text[i], &spec, &error), 0);
		errno = 4711;
		assert_true(context_load(&spec, caller, &value));
		assert_int_equal(errno, 4711);
		assert_int_equal(value.kind, FILTER_STRING);
		expect_text(build(text[i]), value.text);
	}
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		bool small = i < 4;

		assert_int_equal(context_parse(number[i], &spec, &error), 0);
		assert_true(context_load(&spec, caller, &value));
		assert_int_equal(value.kind, FILTER_INT);
		assert_true(value.u == number_of(build(number[i]), small ? 4 : 8));
	}
}

/* ---- signals, at any instant ---- */

static struct context_set *set_name, *set_mixed;
static volatile sig_atomic_t handled, handler_failed;

/* Whether these bytes are "name-NUMBER", with nothing of another name before or after it. */
static bool name_is_whole(const uint8_t *bytes, const uint8_t *behind)
{
	const char *name = (const char *)bytes;
	size_t size = behind ? (size_t)(behind - bytes) : 0;

	return size > 6 && size <= 16 && strlen(name) + 1 == size && !strncmp(name, "name-", 5) &&
			strspn(name + 5, "0123456789") == size - 6;
}

static bool mixed_is_whole(const uint8_t *bytes, const uint8_t *behind)
{
	int32_t vpid = getpid();
	uint64_t ip = (uintptr_t)caller;
	uint32_t uid = getuid();

	return behind && !memcmp(bytes, &vpid, 4) && !memcmp(bytes + 4, &ip, 8) &&
			name_is_whole(bytes + 12, behind - 4) && !memcmp(behind - 4, &uid, 4);
}

static bool all_is_whole(void)
{
	uint8_t bytes[512];

	if (!name_is_whole(bytes, context_write(set_name, bytes, bytes + sizeof(bytes), caller)))
		return false;
	return mixed_is_whole(
			bytes, context_write(set_mixed, bytes, bytes + sizeof(bytes), caller));
}

static void handler(int signal)
{
	static unsigned int turn;
	int saved_errno = errno;
	char name[16];

	(void)signal;
	handled = handled + 1;
	if (!all_is_whole())
		handler_failed = 1;
	if (turn++ & 1) {
		snprintf(name, sizeof(name), "name-%u",
				turn % 3 ? turn % 10 : 1000000 + turn % 1000);
		prctl(PR_SET_NAME, name);
	}
	if (!all_is_whole())
		handler_failed = 1;
	errno = saved_errno;
}

void in_signal_handlers(void **state)
{
	const char *is_long = getenv("SIDE_TEST_LONG");
	int wanted = is_long && !strcmp(is_long, "1") ? 100000 : 3000;
	struct sigaction action = {.sa_handler = handler};
	struct itimerval timer = {{0, 50}, {0, 50}};
	struct itimerval none = {{0, 0}, {0, 0}};

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "name-0"), 0);
	set_name = build("thread_name");
	set_mixed = build("vpid,ip,thread_name,uid");
	handled = handler_failed = 0;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
	while (handled < wanted && !handler_failed)
		if (!all_is_whole())
			handler_failed = 1;
	assert_int_equal(setitimer(ITIMER_REAL, &none, NULL), 0);
	assert_false(handler_failed);
}
