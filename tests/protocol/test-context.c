/* SPDX-License-Identifier: MIT */
/*
 * Names of contexts: tables of their meanings and of refused texts with the column of the error;
 * arbitrary text does no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <linux/perf_event.h>

#include "../resources.h"
#include "fuzz-context.h"

static void names(void **state)
{
	static const struct {
		const char *text, *name, *field;
		enum context_kind kind;
		enum context_type type;
	} rows[] = {
			{"vpid", "vpid", "vpid", CONTEXT_VPID, CONTEXT_S32},
			{"vtid", "vtid", "vtid", CONTEXT_VTID, CONTEXT_S32},
			{"tid", "tid", "tid", CONTEXT_TID, CONTEXT_S32},
			{"procname", "procname", "procname", CONTEXT_PROCNAME, CONTEXT_STRING},
			{"thread_name", "thread_name", "thread_name", CONTEXT_THREAD_NAME,
					CONTEXT_STRING},
			{"cpu_id", "cpu_id", "cpu_id", CONTEXT_CPU_ID, CONTEXT_U32},
			{"ip", "ip", "ip", CONTEXT_IP, CONTEXT_POINTER},
			{"uid", "uid", "uid", CONTEXT_UID, CONTEXT_U32},
			{"vuid", "uid", "uid", CONTEXT_UID, CONTEXT_U32},
			{"euid", "euid", "euid", CONTEXT_EUID, CONTEXT_U32},
			{"veuid", "euid", "euid", CONTEXT_EUID, CONTEXT_U32},
			{"suid", "suid", "suid", CONTEXT_SUID, CONTEXT_U32},
			{"vsuid", "suid", "suid", CONTEXT_SUID, CONTEXT_U32},
			{"gid", "gid", "gid", CONTEXT_GID, CONTEXT_U32},
			{"vgid", "gid", "gid", CONTEXT_GID, CONTEXT_U32},
			{"egid", "egid", "egid", CONTEXT_EGID, CONTEXT_U32},
			{"vegid", "egid", "egid", CONTEXT_EGID, CONTEXT_U32},
			{"sgid", "sgid", "sgid", CONTEXT_SGID, CONTEXT_U32},
			{"vsgid", "sgid", "sgid", CONTEXT_SGID, CONTEXT_U32},
			{"cgroup_ns", "cgroup_ns", "cgroup_ns", CONTEXT_CGROUP_NS, CONTEXT_U64},
			{"ipc_ns", "ipc_ns", "ipc_ns", CONTEXT_IPC_NS, CONTEXT_U64},
			{"mnt_ns", "mnt_ns", "mnt_ns", CONTEXT_MNT_NS, CONTEXT_U64},
			{"net_ns", "net_ns", "net_ns", CONTEXT_NET_NS, CONTEXT_U64},
			{"pid_ns", "pid_ns", "pid_ns", CONTEXT_PID_NS, CONTEXT_U64},
			{"time_ns", "time_ns", "time_ns", CONTEXT_TIME_NS, CONTEXT_U64},
			{"user_ns", "user_ns", "user_ns", CONTEXT_USER_NS, CONTEXT_U64},
			{"uts_ns", "uts_ns", "uts_ns", CONTEXT_UTS_NS, CONTEXT_U64},
			{"cgroup", "cgroup", "cgroup", CONTEXT_CGROUP, CONTEXT_STRING},
			{"backtrace", "backtrace", "backtrace", CONTEXT_BACKTRACE,
					CONTEXT_ADDRESSES},
			{"backtrace:1", "backtrace:1", "backtrace", CONTEXT_BACKTRACE,
					CONTEXT_ADDRESSES},
			{"backtrace:0128", "backtrace:128", "backtrace", CONTEXT_BACKTRACE,
					CONTEXT_ADDRESSES},
			{"perf:thread:cpu-cycles", "perf:thread:cpu-cycles",
					"perf_thread_cpu_cycles", CONTEXT_PERF, CONTEXT_U64},
			{"perf:thread:L1-dcache-load-misses", "perf:thread:L1-dcache-load-misses",
					"perf_thread_L1_dcache_load_misses", CONTEXT_PERF,
					CONTEXT_U64},
			{"perf:thread:raw:r01c2:uops", "perf:thread:raw:r01c2:uops",
					"perf_thread_raw_r01c2_uops", CONTEXT_PERF, CONTEXT_U64},
			{"$app.shop:request", "$app.shop:request", "app_shop_request", CONTEXT_APP,
					CONTEXT_APPLICATION},
			{"app:my.shop:the-request", "$app.my.shop:the-request",
					"app_my_shop_the_request", CONTEXT_APP,
					CONTEXT_APPLICATION},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct context_spec spec;
		struct context_error error = {0};

		if (context_parse(rows[i].text, &spec, &error))
			fail_msg("\"%s\": column %u: %s", rows[i].text, error.column, error.text);
		assert_string_equal(spec.name, rows[i].name);
		assert_string_equal(spec.field, rows[i].field);
		assert_int_equal(spec.kind, rows[i].kind);
		assert_int_equal(spec.type, rows[i].type);
	}
}

/* The numbers are those of the kernel's perf_event.h, which do not change. */
static void counters(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
		bool hardware;
	} rows[] = {
			{"perf:thread:cpu-cycles", 0, 0, true},
			{"perf:thread:cycles", 0, 0, true},
			{"perf:thread:instructions", 0, 1, true},
			{"perf:thread:cache-references", 0, 2, true},
			{"perf:thread:cache-misses", 0, 3, true},
			{"perf:thread:branches", 0, 4, true},
			{"perf:thread:branch-misses", 0, 5, true},
			{"perf:thread:ref-cycles", 0, 9, true},
			{"perf:thread:task-clock", 1, 1, false},
			{"perf:thread:page-faults", 1, 2, false},
			{"perf:thread:context-switches", 1, 3, false},
			{"perf:thread:minor-faults", 1, 5, false},
			{"perf:thread:major-faults", 1, 6, false},
			{"perf:thread:L1-dcache-loads", 3, 0, true},
			{"perf:thread:LLC-store-misses", 3, 0x10102, true},
			{"perf:thread:iTLB-load-misses", 3, 0x10004, true},
			{"perf:thread:raw:rFf", 4, 0xff, true},
			{"perf:thread:raw:rffffffffffffffff", 4, UINT64_MAX, true},
	};
	struct context_spec spec;
	struct context_error error;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(context_parse(rows[i].name, &spec, &error), 0);
		assert_int_equal(spec.perf_type, rows[i].type);
		assert_true(spec.perf_config == rows[i].config);
		assert_int_equal(context_perf_is_hardware(&spec), rows[i].hardware);
	}
	for (i = 0; context_perf_name(i); i++) {
		char name[100];

		snprintf(name, sizeof(name), "perf:thread:%s", context_perf_name(i));
		assert_int_equal(context_parse(name, &spec, &error), 0);
	}
	assert_true(i > 30);
}

static void refusals(void **state)
{
	static const struct {
		const char *text;
		unsigned int column;
		const char *contains;
		const char *hint; /* NULL: no hint */
	} rows[] = {
			{"", 1, "not the name of a context", NULL},
			{"vpdi", 1, "unknown context", "did you mean `vpid`?"},
			{"Procname", 1, "unknown context", "did you mean `procname`?"},
			{"proc-name", 1, "unknown context", "did you mean `procname`?"},
			{"thread-name", 1, "unknown context", "did you mean `thread_name`?"},
			{"netns", 1, "unknown context", "did you mean `net_ns`?"},
			{"something-else", 1, "unknown context", NULL},
			{"page-faults", 1, "unknown context",
					"did you mean `perf:thread:page-faults`?"},
			{"perf:cpu:cycles", 1, "only counters of the thread",
					"did you mean `perf:thread:cycles`?"},
			{"perf:cycles", 6, "perf:thread:NAME", NULL},
			{"perf:thread:", 13, "missing counter", NULL},
			{"perf:thread:cpu-cylces", 13, "unknown counter",
					"did you mean `perf:thread:cpu-cycles`?"},
			{"perf:thread:nothing-like-it", 13, "unknown counter", NULL},
			{"perf:thread:raw:", 17, "raw:r", NULL},
			{"perf:thread:raw:12", 17, "raw:r", NULL},
			{"perf:thread:raw:r", 18, "missing number", NULL},
			{"perf:thread:raw:r1g", 19, "hexadecimal", NULL},
			{"perf:thread:raw:r10000000000000000", 34, "64 bits", NULL},
			{"perf:thread:raw:r1:", 20, "missing label", NULL},
			{"perf:thread:raw:r1:a b", 21, "may have only letters", NULL},
			{"backtrce", 1, "unknown context", "did you mean `backtrace`?"},
			{"backtrace:", 11, "\"\" is not a number of addresses", NULL},
			{"backtrace:0", 11, "a backtrace has 1 to 128", NULL},
			{"backtrace:129", 11, "\"129\" is not a number of addresses", NULL},
			{"backtrace:4294967297", 11, "a backtrace has 1 to 128", NULL},
			{"backtrace:3x", 12, "not a number of addresses", NULL},
			{"backtrace:-1", 11, "not a number of addresses", NULL},
			{"$app.", 6, "$app.PROVIDER:NAME", NULL},
			{"$app.shop", 10, "$app.PROVIDER:NAME", NULL},
			{"$app.shop:", 11, "missing name after", NULL},
			{"$app.:request", 6, "missing provider", NULL},
			{"$app.shop:re quest", 13, "only letters", NULL},
			{"$app.shop:a:b", 12, "only letters", NULL},
			{"app:shop", 9, "$app.PROVIDER:NAME", NULL},
			{"vpid,vtdi", 6, "unknown context", "did you mean `vtid`?"},
			{"vpid,,vtid", 6, "not the name of a context", NULL},
			{"vpid,", 6, "not the name of a context", NULL},
			{"vpid , perf:thread:cycle", 20, "unknown counter",
					"did you mean `perf:thread:cycles`?"},
			{"\x1b[2J", 1, "\"?[2J\"", NULL},
	};
	char long_name[200];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct context_spec specs[8];
		struct context_error error = {0};

		assert_int_equal(context_parse_list(rows[i].text, specs, 8, &error), -EINVAL);
		if (error.column != rows[i].column || !strstr(error.text, rows[i].contains))
			fail_msg("\"%s\": column %u: %s", rows[i].text, error.column, error.text);
		assert_string_equal(error.hint, rows[i].hint ? rows[i].hint : "");
	}
	/* 73 bytes of both names, and not one more. */
	for (i = 73; i <= 74; i++) {
		struct context_spec spec;
		struct context_error error;

		memcpy(long_name, "$app.", 5);
		memset(long_name + 5, 'x', i + 1);
		long_name[5 + 20] = ':';
		long_name[5 + i + 1] = 0;
		assert_int_equal(context_parse(long_name, &spec, &error), i == 73 ? 0 : -EINVAL);
	}
}

static void lists(void **state)
{
	struct context_spec specs[3];
	struct context_error error;

	(void)state;
	assert_int_equal(context_parse_list("vpid, vtid\t,procname", specs, 3, &error), 3);
	assert_int_equal(specs[0].kind, CONTEXT_VPID);
	assert_int_equal(specs[1].kind, CONTEXT_VTID);
	assert_int_equal(specs[2].kind, CONTEXT_PROCNAME);
	/* Names with the same meaning are there once. */
	assert_int_equal(context_parse_list("uid,vuid,vpid,uid", specs, 3, &error), 2);
	assert_int_equal(context_parse_list("app:a:b,$app.a:b,app:a:c", specs, 3, &error), 2);
	assert_int_equal(context_parse_list("perf:thread:cycles,perf:thread:cpu-cycles", specs, 3,
					 &error),
			1);
	assert_int_equal(context_parse_list("vpid,vtid,procname,ip", specs, 3, &error), -EINVAL);
	assert_int_equal(error.column, 20);
	assert_non_null(strstr(error.text, "more than 3"));
}

static void help(void **state)
{
	unsigned int seen = 0;
	size_t i;

	(void)state;
	for (i = 0; context_name(i); i++) {
		struct context_spec spec;
		struct context_error error;

		assert_non_null(context_description(i));
		/* The last two are prefixes. */
		if (!strcmp(context_name(i), "perf:thread:"))
			seen |= 1u << CONTEXT_PERF;
		else if (!strcmp(context_name(i), "$app.PROVIDER:NAME"))
			seen |= 1u << CONTEXT_APP;
		else if (!context_parse(context_name(i), &spec, &error))
			seen |= 1u << spec.kind;
		else
			fail_msg("%s: %s", context_name(i), error.text);
	}
	assert_null(context_description(i));
	assert_int_equal(seen, (1u << CONTEXT_KINDS) - 1);
}

/* The depth, and that a list has one backtrace. */
static void backtraces(void **state)
{
	struct context_spec specs[4];
	struct context_error error;

	(void)state;
	assert_int_equal(context_parse_list("backtrace,vpid,backtrace:7", specs, 4, &error), 2);
	assert_int_equal(specs[0].depth, CONTEXT_BACKTRACE_DEFAULT);
	assert_int_equal(specs[1].depth, 0);
	assert_int_equal(context_parse_list("backtrace:7", specs, 4, &error), 1);
	assert_int_equal(specs[0].depth, 7);
}

static void what_a_machine_has(void **state)
{
	struct context_spec spec;
	struct context_error error;
	struct stat status;
	int reason;

	(void)state;
	assert_int_equal(context_parse("vpid", &spec, &error), 0);
	assert_true(context_check(&spec, &error));
	assert_int_equal(context_parse("net_ns", &spec, &error), 0);
	assert_int_equal(context_check(&spec, &error), !stat("/proc/self/ns/net", &status));
	assert_int_equal(context_parse("time_ns", &spec, &error), 0);
	assert_int_equal(context_check(&spec, &error), !stat("/proc/self/ns/time", &status));
	assert_int_equal(context_parse("perf:thread:task-clock", &spec, &error), 0);
	assert_true(context_check(&spec, &error));
	/* No processor has this counter. */
	assert_int_equal(context_parse("perf:thread:raw:rffffffffffffffff", &spec, &error), 0);
	assert_null(context_perf_map(spec.perf_type, spec.perf_config, &reason));
	assert_true(reason < 0);
	assert_false(context_check(&spec, &error));
	assert_non_null(strstr(error.text, "perf:thread:raw:rffffffffffffffff cannot be recorded"));
	assert_null(strchr(error.text, ';'));
}

/*
 * Texts made of pieces of valid ones: they are refused, or their specs have the meaning of the
 * text.
 */
static void any_text(void **state)
{
	static const char *const pieces[] = {"vpid", "procname", "perf:thread:", "cycles", "raw:r",
			"$app.", "app:", ":", ",", " ", "f00", "\xff", "x", "_ns", "cgroup", "-",
			"."};
	uint64_t random = 88172645463325252u;
	const char *is_long = getenv("SIDE_TEST_LONG");
	unsigned int rounds = is_long && !strcmp(is_long, "1") ? 5000000 : 100000;
	unsigned int good = 0;

	(void)state;
	while (rounds--) {
		char text[128];
		size_t size = 0;

		do {
			const char *piece;

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			piece = pieces[random % (sizeof(pieces) / sizeof(pieces[0]))];
			if (size + strlen(piece) >= sizeof(text))
				break;
			memcpy(text + size, piece, strlen(piece));
			size += strlen(piece);
		} while (random >> 61);
		good += fuzz_context((const uint8_t *)text, size);
	}
	assert_true(good > 1000);
}

/*
 * A software counter of the kernel cannot be read without a system call. The check for this
 * releases its descriptors and mappings.
 */
static void refused_counters_are_released(void **state)
{
	struct resources before = resources_now();
	int error = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_null(context_perf_map(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, &error));
		assert_true(error < 0);
	}
	if (error != -EOPNOTSUPP)
		print_message("counters cannot be opened here: %s\n", strerror(-error));
	assert_true(resources_are_same(before, resources_now()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(names),
			cmocka_unit_test(counters),
			cmocka_unit_test(refusals),
			cmocka_unit_test(lists),
			cmocka_unit_test(help),
			cmocka_unit_test(backtraces),
			cmocka_unit_test(what_a_machine_has),
			cmocka_unit_test(any_text),
			cmocka_unit_test(refused_counters_are_released),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
