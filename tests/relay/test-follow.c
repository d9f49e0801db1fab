/* SPDX-License-Identifier: MIT */
/*
 * Finds and removes traces of a directory. A sender frees the disk space of delivered data, and
 * leaves no file open.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "../resources.h"
#include "relay/follow.h"
#include "relay/sink.h"

#define ROUNDS 20
#define BLOCK 4096

static void test_given_back(void **unused)
{
	char folder[] = "/tmp/side-follow-XXXXXX", path[64], content[(ROUNDS + 2) * BLOCK];
	struct follow_stream stream = {.name = (char[]){"ring_0"}};
	struct follow_trace trace = {.path = folder, .streams = &stream};
	struct follow follow = {.traces = &trace};
	struct resources before;
	FILE *file;

	(void)unused;
	memset(content, 'x', sizeof(content));
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/ring_0", folder);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(content, 1, sizeof(content), file), sizeof(content));
	assert_int_equal(fclose(file), 0);
	stream.trace = &trace;
	stream.there = sizeof(content);
	stream.delivered.offset = BLOCK;
	follow_free(&follow, 0);
	before = resources_now();
	for (unsigned int round = 0; round < ROUNDS; round++) {
		stream.delivered.offset += BLOCK;
		follow_free(&follow, 0);
	}
	assert_int_equal(resources_now().descriptors, before.descriptors);
	unlink(path);
	rmdir(folder);
}

/* ---- traces of a directory ---- */

static char root[] = "/tmp/side-follow-XXXXXX";

/* Runs a command, in which $P is the path of that name. */
static void command(const char *text, const char *name)
{
	char path[200];

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(setenv("P", path, 1), 0);
	assert_int_equal(system(text), 0);
}

static void check_trace(const struct follow *follow, uint32_t number, const char *name,
		uint64_t there, uint64_t size)
{
	const struct follow_trace *trace = follow->traces;

	while (trace && trace->number != number)
		trace = trace->next;
	assert_non_null(trace);
	assert_string_equal(trace->name, name);
	assert_false(trace->removed);
	assert_true(trace->ended);
	assert_int_equal(trace->metadata_size, 4);
	assert_int_equal(trace->nr_streams, 2);
	for (const struct follow_stream *stream = trace->streams; stream; stream = stream->next) {
		assert_string_equal(stream->plain, stream->name[4] == '0' ? "ring0" : "ring1");
		assert_int_equal(stream->there, stream->name[4] == '0' ? there : 7);
		assert_int_equal(stream->size, stream->name[4] == '0' ? size : 7);
	}
}

/* Two streams. Names with a dot first, empty files, links and directories are no streams. */
static void make_trace(const char *name)
{
	command("mkdir -p $P && cd $P && printf meta > metadata && printf 12345 > ring0 && printf 1234567 > ring1.zst && printf x > .user && "
		"touch ring2 && ln -s ring0 ring3 && mkdir index && printf 123 > .maps",
			name);
}

static void test_directory(void **unused)
{
	char deep[200] = "d";
	struct resources before;
	struct follow follow;

	(void)unused;
	assert_non_null(mkdtemp(root));
	assert_int_equal(follow_open("/nowhere/at-all", &follow), 0);
	assert_int_equal(follow_scan(&follow, true), 0);
	assert_null(follow.traces);
	follow_close(&follow);
	before = resources_now();
	make_trace("a");
	command("mkdir $P/.hidden && printf meta > $P/.hidden/metadata", "");
	/* The deepest trace that is found, and one below it, which is not. */
	for (int depth = 2; depth < 16; depth++)
		strcat(deep, "/d");
	assert_int_equal(follow_open(root, &follow), 0);
	assert_int_equal(follow_scan(&follow, true), 0);
	assert_int_equal(follow.nr_traces, 1);
	check_trace(&follow, 0, "a", 5, 5);
	assert_int_equal(follow.traces->maps_size, 3);
	assert_int_equal(follow_bytes(&follow), 12);
	assert_int_equal(follow_pending(&follow), 12);
	assert_false(follow_is_unsettled(&follow));
	strcat(deep, "/d");
	make_trace(deep);
	assert_int_equal(follow_scan(&follow, true), 0);
	assert_int_equal(follow.nr_traces, 2);
	check_trace(&follow, 1, deep, 5, 5);
	strcat(deep, "e/e");
	make_trace(deep);
	assert_int_equal(follow_scan(&follow, true), 0);
	assert_int_equal(follow.nr_traces, 2);
	/* Bytes that were appended may be truncated again, until they are settled. */
	follow.staged = true;
	command("printf 67 >> $P/ring0", "a");
	assert_int_equal(follow_scan(&follow, true), 0);
	check_trace(&follow, 0, "a", 7, 5);
	assert_true(follow_is_unsettled(&follow));
	follow_settle(&follow);
	check_trace(&follow, 0, "a", 7, 7);
	assert_false(follow_is_unsettled(&follow));
	/* A moved trace is the same trace. With a removed trace, its undelivered data are lost. */
	command("mv $P $P-moved", "a");
	assert_int_equal(follow_scan(&follow, true), 0);
	check_trace(&follow, 0, "a", 7, 7);
	assert_int_equal(follow.vanished, 0);
	follow.traces->streams->delivered.offset = 2;
	follow.traces->streams->at.offset = 3;
	command("rm -r $P-moved", "a");
	assert_int_equal(follow_scan(&follow, true), 0);
	assert_true(follow.traces->removed);
	assert_int_equal(follow.vanished, 12);
	assert_string_equal(follow.gone, "a");
	assert_int_equal(follow.traces->streams->there, 3);
	assert_int_equal(follow.traces->streams->delivered.offset, 3);
	assert_int_equal(follow_bytes(&follow), 12);
	/* A removed trace is no loss if all of it was delivered. */
	for (struct follow_stream *stream = follow.traces->next->streams; stream;
			stream = stream->next)
		stream->delivered.offset = stream->there;
	command("rm -r $P", "d");
	assert_int_equal(follow_scan(&follow, true), 0);
	assert_true(follow.traces->next->removed);
	assert_int_equal(follow.vanished, 12);
	assert_string_equal(follow.gone, "a");
	follow_close(&follow);
	assert_int_equal(resources_now().descriptors, before.descriptors);
	command("rm -r $P", "");
}

/* The directory itself is a trace: its name is the same for each form of the path. */
static void check_name(const char *path, const char *name)
{
	struct follow follow;

	assert_int_equal(follow_open(path, &follow), 0);
	assert_int_equal(follow_scan(&follow, false), 0);
	assert_non_null(follow.traces);
	assert_string_equal(follow.traces->name, name);
	follow_close(&follow);
}

static void test_names(void **unused)
{
	char path[80];

	(void)unused;
	memcpy(root + strlen(root) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(root));
	command("mkdir $P/one $P/.dot && printf x > $P/one/metadata && printf x > $P/.dot/metadata",
			"");
	for (int slashes = 0; slashes < 3; slashes++) {
		(void)snprintf(path, sizeof(path), "%s/one%.*s", root, slashes, "//");
		check_name(path, "one");
	}
	(void)snprintf(path, sizeof(path), "%s/one/.", root);
	check_name(path, "trace");
	(void)snprintf(path, sizeof(path), "%s/.dot", root);
	check_name(path, "trace");
	assert_int_equal(chdir(root), 0);
	check_name("one", "one");
	check_name("one/", "one");
	check_name("./one", "one");
	assert_int_equal(chdir("/"), 0);
	command("rm -r $P", "");
}

/* A text up to the end of its last whole block, from an offset. */
static void check_part(const char *name, const char *content, uint64_t offset, const char *expected)
{
	struct follow_trace trace = {.path = root};
	char path[200], *text;
	size_t size;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(follow_text(&trace, name, offset, &text, &size), 0);
	assert_int_equal(size, strlen(expected));
	if (size)
		assert_memory_equal(text, expected, size);
	free(text);
}

static void test_texts(void **unused)
{
	char folder[sizeof(root)] = "/tmp/side-follow-XXXXXX";

	(void)unused;
	memcpy(root, folder, sizeof(root));
	assert_non_null(mkdtemp(root));
	check_part("metadata", "a {\n};\n\nb {\n};\n\nc {\n}", 0, "a {\n};\n\nb {\n};\n\n");
	check_part("metadata", "a {\n};\n\nb {\n};\n\n", 8, "b {\n};\n\n");
	check_part("metadata", "a {\n};\n", 0, "");
	check_part("metadata", "};\n\n", 0, "};\n\n");
	check_part("metadata", "};\n\n", 4, "");
	check_part("metadata", "\x1e{\"a\":1}\n\x1e{\"b\":{\n}\n,", 0, "\x1e{\"a\":1}\n");
	check_part("metadata", "\x1e{\"a\":1}\n\x1e{\"b\":2}\n", 0,
			"\x1e{\"a\":1}\n\x1e{\"b\":2}\n");
	check_part("metadata", "\x1e{\"a\":{\n}\n,", 0, "");
	check_part(".maps", "1\n22\n333", 0, "1\n22\n");
	check_part(".maps", "1\n22\n333", 2, "22\n");
	check_part(".maps", "1", 0, "");
	command("rm -r $P", "");
}

/*
 * Each allocation fails in turn: this is reported, or all traces and streams are found. Nothing is
 * leaked.
 */
static void test_failing_calls(void **unused)
{
	char folder[sizeof(root)] = "/tmp/side-follow-XXXXXX";
	struct resources before = {0};
	unsigned int failures = 0;
	bool has_failed = true;

	(void)unused;
	memcpy(root, folder, sizeof(root));
	assert_non_null(mkdtemp(root));
	make_trace("a");
	make_trace("b/c");
	for (unsigned int call = 1; has_failed; call++) {
		struct follow follow;
		int ret;

		failing_arm(call);
		ret = follow_open(root, &follow);
		if (!ret) {
			ret = follow_scan(&follow, true);
			has_failed = failing_has_failed();
			/* After a failed read, the same bytes are read again. */
			if (follow.error)
				assert_int_equal(follow_scan(&follow, true), 0);
			if (!ret) {
				/* Without memory for the check, a trace counts as not ended. */
				assert_int_equal(follow.nr_traces, 2);
				assert_int_equal(follow.traces->nr_streams, 2);
				assert_int_equal(follow.traces->next->nr_streams, 2);
				assert_int_equal(follow_bytes(&follow), 24);
			}
			follow_close(&follow);
		} else {
			has_failed = failing_has_failed();
		}
		assert_true(!ret || (has_failed && ret == -ENOMEM));
		failures += has_failed;
		if (call == 1) {
			assert_int_equal(ret, -ENOMEM);
			before = resources_now();
		}
	}
	assert_int_equal(resources_now().descriptors, before.descriptors);
	assert_true(failures >= 12);
	command("rm -r $P", "");
	failing_arm(1);
	assert_null(bytes_create());
	assert_true(failing_has_failed());
	failing_arm(1);
	assert_null(relay_create());
	assert_true(failing_has_failed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_given_back),
			cmocka_unit_test(test_directory), cmocka_unit_test(test_names),
			cmocka_unit_test(test_texts), cmocka_unit_test(test_failing_calls)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
