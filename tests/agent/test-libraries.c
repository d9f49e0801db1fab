/* SPDX-License-Identifier: MIT */
/*
 * Which libraries the agent reports as loaded and unloaded, to which session, and with which
 * arguments. The test includes the files. It provides the text of /proc/self/maps, and replaces the
 * sessions and the functions of libside.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "../called.h"
#include "../resources.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/batch.h"
#include "tracers/agent/core/library-events.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/context/sources.h"
#include "base/inside/raw.h"

/* ---- what mappings.c calls ---- */

static struct {
	const char *text;  /* of /proc/self/maps */
	unsigned int full; /* this many reads fill the whole buffer */
	long result;       /* of a read, if not 0 */
	bool is_empty, no_memory, is_wanted, is_sandboxed, cannot_register;
} played;

static long play_file(const char *path, char *to, size_t size)
{
	assert_string_equal(path, "/proc/self/maps");
	called("read %zu\n", size);
	if (played.result || played.is_empty)
		return played.result;
	if (played.full) {
		played.full--;
		return (long)size;
	}
	assert_true(strlen(played.text) < size);
	strcpy(to, played.text);
	return (long)strlen(played.text);
}

static void *play_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	assert_true(!at && fd == -1 && protection == (PROT_READ | PROT_WRITE));
	return played.no_memory ? NULL : raw_mmap(at, size, protection, flags, fd);
}

static bool play_sandboxed(void)
{
	return played.is_sandboxed;
}

static struct agent_session sessions[4];
static unsigned int nr_sessions;

static struct agent_session *play_session_after(const struct agent_session *session)
{
	ptrdiff_t next = session ? session - sessions + 1 : 0;

	return next < (ptrdiff_t)nr_sessions ? &sessions[next] : NULL;
}

static int play_statedump(const char *name, void (*dump)(void *key), uint64_t key)
{
	called("dump %s %d\n", name, (int)key);
	dump(&sessions[key - 70].key);
	return 0;
}

static void play_load(const struct base_library *library, uint64_t *key)
{
	called("load %.*s %x-%x", (int)library->path_size, library->path,
			(unsigned int)library->base, (unsigned int)library->end);
	called(key ? " for %d\n" : "\n", key ? (int)*key : 0);
}

static void play_unload(const struct base_library *library)
{
	called("unload %.*s %x-%x\n", (int)library->path_size, library->path,
			(unsigned int)library->base, (unsigned int)library->end);
}

static bool play_wanted(void)
{
	return played.is_wanted;
}

static struct side_event_description load, unrelated;

static bool play_is_event(const struct side_event_description *event)
{
	return event == &load;
}

static bool play_register(void)
{
	called("register\n");
	return !played.cannot_register;
}

#define context_sources_file play_file
#define raw_mmap play_mmap
#define agent_is_sandboxed play_sandboxed
#define agent_session_after play_session_after
#define side_tracer_statedump_run(name, dump, key) (void)play_statedump(name, dump, key)
#define base_record_load play_load
#define base_record_unload play_unload
#define base_wanted play_wanted
#define base_is_event play_is_event
#define base_events_register play_register
#include "tracers/agent/core/mappings.c"

#undef base_record_load
#undef base_record_unload
#undef base_wanted
#undef base_is_event
#undef base_events_register

/* ---- what library-events.c calls ---- */

static struct base_identity identity_of_file;
static struct side_events_register_handle *registered;

static void play_identify(const struct base_library *library, const char *path,
		struct base_identity *identity)
{
	called("identify %x %s\n", (unsigned int)library->base, strlen(path) < 100 ? path : "long");
	*identity = identity_of_file;
}

static struct side_events_register_handle *play_events_register(
		struct side_event_description **events, uint32_t nr)
{
	called("register %u\n", nr);
	for (uint32_t i = 0; i < nr; i++)
		called("%s:%s\n", (const char *)side_ptr_get(events[i]->provider_name),
				(const char *)side_ptr_get(events[i]->event_name));
	return registered;
}

static void print_arguments(const struct side_arg_vec *arguments)
{
	for (uint32_t i = 0; i < arguments->len; i++) {
		const struct side_arg *argument = &side_ptr_get(arguments->sav)[i];

		switch (argument->type.v) {
		case SIDE_TYPE_STRING_UTF8:
			called(" \"%s\"",
					(const char *)side_ptr_get(
							argument->u.side_static.string_value));
			break;
		case SIDE_TYPE_POINTER:
			called(" at %x",
					(unsigned int)argument->u.side_static.integer_value
							.side_uptr);
			break;
		case SIDE_TYPE_U64:
			called(" %x", (unsigned int)argument->u.side_static.integer_value.side_u64);
			break;
		case SIDE_TYPE_U8:
			called(" %u", argument->u.side_static.integer_value.side_u8);
			break;
		case SIDE_TYPE_VLA:
			called(" [");
			print_arguments(side_ptr_get(argument->u.side_static.side_vla));
			called(" ]");
			break;
		default: fail();
		}
	}
}

static void play_call(const struct side_event_state *state, const struct side_arg_vec *arguments,
		void *key);

#define base_identify play_identify
#define side_events_register play_events_register
#define side_call(state, arguments) play_call(state, arguments, NULL)
#define side_statedump_call play_call
#include "tracers/agent/core/library-events.c"

static void play_call(const struct side_event_state *state, const struct side_arg_vec *arguments,
		void *key)
{
	called(state == &load_state.parent                              ? "loaded"
					: state == &unload_state.parent ? "unloaded"
									: "?");
	print_arguments(arguments);
	called(key ? " for %d\n" : "\n", key ? (int)*(uint64_t *)key : 0);
}

/* The number of mappings is not compared: the kernel joins adjacent ones. */
static void assert_same_memory(struct resources before)
{
	struct resources now = resources_now();

	assert_int_equal(now.bytes, before.bytes);
	assert_int_equal(now.descriptors, before.descriptors);
}

/* ---- the list ---- */

#define LINE(range, inode, path) range " r-xp 00000000 fe:01 " inode " " path "\n"
#define A LINE("1000-2000", "11", "/a")
#define B LINE("3000-4000", "12", "/b")
#define C LINE("5000-7000", "13", "/c")

static void reset(void)
{
	agent_mappings_free_snapshot();
	memset(&played, 0, sizeof(played));
	memset(sessions, 0, sizeof(sessions));
	for (unsigned int i = 0; i < 4; i++)
		sessions[i].key = 70 + i;
	nr_sessions = 0;
	played.text = A B;
	played.is_wanted = true;
	*calls = '\0';
}

static void see(void *user, const struct base_library *library)
{
	assert_ptr_equal(user, &played);
	play_load(library, NULL);
}

static void test_each(void **unused)
{
	struct resources before = resources_now();

	(void)unused;
	reset();
	assert_int_equal(base_each(see, &played), 0);
	assert_called("read 65536\nload /a 1000-2000\nload /b 3000-4000\n");
	/* Four times the memory after each text that fills it, up to 16 MiB. */
	played.full = 4;
	assert_int_equal(base_each(see, &played), 0);
	assert_called("read 65536\nread 262144\nread 1048576\nread 4194304\nread 16777216\n"
		      "load /a 1000-2000\nload /b 3000-4000\n");
	played.full = 5;
	assert_int_equal(base_each(see, &played), -ENOMEM);
	assert_called("read 65536\nread 262144\nread 1048576\nread 4194304\nread 16777216\n");
	played.full = 0;
	played.is_empty = true;
	assert_int_equal(base_each(see, &played), -ENOMEM);
	assert_called("read 65536\n");
	played.result = -ENOENT;
	assert_int_equal(base_each(see, &played), -ENOMEM);
	assert_called("read 65536\n");
	played.result = 0;
	played.no_memory = true;
	assert_int_equal(base_each(see, &played), -ENOMEM);
	assert_called("");
	assert_same_memory(before);
}

/* ---- differences ---- */

static struct agent_batch *make_batch(uint32_t nr_events)
{
	struct agent_batch *batch = aligned_alloc(
			64, (sizeof(*batch) + nr_events * sizeof(batch->events[0]) + 63) / 64 * 64);

	assert_non_null(batch);
	memset(batch, 0, sizeof(*batch) + nr_events * sizeof(batch->events[0]));
	batch->nr_events = nr_events;
	for (uint32_t i = 0; i < nr_events; i++)
		batch->events[i].description = &unrelated;
	return batch;
}

/* One session that wants the events, and has them. */
static struct agent_batch *begin_session(void)
{
	struct agent_batch *batch = make_batch(1);

	reset();
	batch->events[0].description = &load;
	batch->events[0].registered = true;
	sessions[0].batches = batch;
	nr_sessions = 1;
	agent_bases_dump();
	assert_called("read 65536\ndump side:libraries 70\n"
		      "load /a 1000-2000 for 70\nload /b 3000-4000 for 70\n");
	assert_true(sessions[0].bases_recorded);
	return batch;
}

static void change(const char *text, const char *wanted)
{
	played.text = text;
	agent_bases_changed();
	assert_called(wanted);
}

#define READ "read 65536\n"

static void test_differences(void **unused)
{
	struct agent_batch *batch = begin_session();
	struct resources before = resources_now();

	(void)unused;
	change(A B, READ);
	change(A B C, READ "load /c 5000-7000\n");
	change(A C, READ "unload /b 3000-4000\n");
	change(LINE("800-900", "9", "/z") A B,
			READ "unload /c 5000-7000\nload /z 800-900\nload /b 3000-4000\n");
	/* Another file at the same address, another end, another name. */
	change(A LINE("3000-4000", "77", "/b") C,
			READ
			"unload /z 800-900\nunload /b 3000-4000\nload /b 3000-4000\nload /c 5000-7000\n");
	change(LINE("1000-1800", "11", "/a") LINE("3000-4000", "77", "/B") C,
			READ
			"unload /a 1000-2000\nunload /b 3000-4000\nload /a 1000-1800\nload /B 3000-4000\n");
	change("", READ); /* the text cannot be read */
	change("1-2 r-xp 0 0:0 0\n",
			READ "unload /a 1000-1800\nunload /B 3000-4000\nunload /c 5000-7000\n");
	change(A, READ "load /a 1000-2000\n");
	played.is_wanted = false;
	change(A B, "");
	played.is_wanted = true;
	played.is_sandboxed = true;
	change(A B, "");
	played.is_sandboxed = false;
	atomic_store(&agent.process.is_exiting, true);
	change(A B, "");
	atomic_store(&agent.process.is_exiting, false);
	played.no_memory = true;
	change(A B, "");
	played.no_memory = false;
	change(A B, READ "load /b 3000-4000\n");
	assert_same_memory(before);
	/* Nothing is known. */
	reset();
	change(A B, "");
	free(batch);
}

/* ---- sessions that get all libraries ---- */

static void test_dump(void **unused)
{
	struct agent_batch *wanted = begin_session(), *more = make_batch(3), *none = make_batch(3);
	struct resources before = resources_now();

	(void)unused;
	/* Once for each session. The last event of the last batch is enough. */
	agent_bases_dump();
	assert_called("");
	assert_non_null(picture);
	more->events[2].description = &load;
	none->next = more;
	sessions[1].batches = none;
	nr_sessions = 2;
	agent_bases_dump();
	assert_called("");
	assert_false(sessions[1].bases_recorded);
	more->events[2].registered = true;
	none->events[2].registered = true;
	agent_bases_dump();
	assert_called("dump side:libraries 71\nload /a 1000-2000 for 71\nload /b 3000-4000 for 71\n");
	assert_true(sessions[0].bases_recorded && sessions[1].bases_recorded);
	/*
	 * A session that only lists wants none. A session that stops wanting them gets all again
	 * later.
	 */
	sessions[1].list_only = true;
	agent_bases_dump();
	assert_true(sessions[0].bases_recorded && !sessions[1].bases_recorded);
	assert_called("");
	wanted->events[0].registered = false;
	assert_non_null(picture);
	agent_bases_dump();
	assert_null(picture);
	assert_called("");
	/* The text cannot be read. */
	wanted->events[0].registered = true;
	sessions[1].list_only = false;
	played.no_memory = true;
	agent_bases_dump();
	assert_false(sessions[0].bases_recorded || sessions[1].bases_recorded);
	assert_called("");
	played.no_memory = false;
	played.is_sandboxed = true;
	agent_bases_dump();
	assert_false(sessions[0].bases_recorded || sessions[1].bases_recorded || picture);
	assert_called("");
	/* A child reads the text again, and reports all libraries to all sessions. */
	played.is_sandboxed = false;
	agent_bases_dump();
	assert_called("read 65536\ndump side:libraries 70\nload /a 1000-2000 for 70\nload /b 3000-4000 for 70\n"
		      "dump side:libraries 71\nload /a 1000-2000 for 71\nload /b 3000-4000 for 71\n");
	played.text = C;
	agent_bases_forked();
	assert_called("read 65536\ndump side:libraries 70\nload /c 5000-7000 for 70\n"
		      "dump side:libraries 71\nload /c 5000-7000 for 71\n");
	played.is_sandboxed = true;
	played.text = A;
	agent_bases_forked();
	assert_called("dump side:libraries 70\nload /c 5000-7000 for 70\n"
		      "dump side:libraries 71\nload /c 5000-7000 for 71\n");
	assert_same_memory(before);
	reset();
	free(wanted);
	free(more);
	free(none);
}

static void test_start(void **unused)
{
	(void)unused;
	reset();
	played.cannot_register = true;
	agent_bases_start();
	assert_called("register\n");
	played.cannot_register = false;
	agent_bases_start();
	assert_called("register\n");
	agent_bases_start();
	assert_called("");
}

/* ---- lines that end early ---- */

static struct mappings_snapshot parsed;

static void assert_libraries(const char *text, const char *wanted)
{
	char line[256];

	strcpy(line, text);
	parsed.text = line;
	parsed.count = 0;
	agent_mappings_parse_all(&parsed);
	for (uint32_t i = 0; i < parsed.count; i++)
		play_load(&parsed.libraries[i], NULL);
	assert_called(wanted);
}

static void test_short_lines(void **unused)
{
	(void)unused;
	reset();
	/* " r-xp" is not followed by a complete permission. */
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2000-9000 r-xp\n", "");
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2000-9000 r-xp \n", "load /l 1000-9000\n");
	assert_libraries("1000-2000 r-xp 0 fe:01 7 /l\n2000\n", "load /l 1000-2000\n");
	assert_libraries("1000-2000 r-xp 0 fe:01 7 /l\n-", "load /l 1000-2000\n");
	assert_libraries("1000-2000 r-xp 0 fe:01 7 /l\n2000-3000 r--p 1000 fe:01 7 ",
			"load /l 1000-2000\n");
	/* Hexadecimal digits, and the characters beside them. */
	assert_libraries("9f0a-af19 r-xp 0 fe:01 7 /l\n", "load /l 9f0a-af19\n");
	assert_libraries("1000g2000 r-xp 0 fe:01 7 /l\n", "");
	assert_libraries("1000-2000 r-xp 0 fe:01 9/l\n", "load /l 1000-2000\n");
	/* Huge pages, whole and cut. */
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2000-3000 r-xp 0 00:0e 9 /anon_hugepage\n",
			"load /l 1000-3000\n");
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2000-3000 r-xp 0 00:0e 9 /anon_hugepag\n",
			"load /anon_hugepag 2000-3000\n");
	assert_libraries("1000-2000 r-xp 0 fe:01 7  (deleted)\n", "");
	assert_libraries("1000-2000 r-xp 0 fe:01 7 / (deleted)\n", "load / 1000-2000\n");
	assert_true(parsed.libraries[0].deleted);
}

/* The code of a small file is in its first page, which is mapped twice. */
static void test_first_page(void **unused)
{

	(void)unused;
	reset();
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2000-3000 r-xp 0 fe:01 7 /l\n",
			"load /l 1000-3000\n");
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2000-3000 r-xp 0 fe:01 7 /l\n"
			 "3000-4000 r--p 0 fe:01 7 /l\n4000-5000 rw-p 0 fe:01 7 /l\n",
			"load /l 1000-3000\n");
	/* Two copies of the library, and another file, or a gap between the mappings. */
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2000-3000 r-xp 0 fe:01 7 /l\n"
			 "3000-4000 r--p 0 fe:01 7 /l\n4000-5000 r-xp 0 fe:01 7 /l\n",
			"load /l 1000-3000\nload /l 3000-5000\n");
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2000-3000 r-xp 0 fe:01 8 /m\n",
			"load /m 2000-3000\n");
	assert_libraries("1000-2000 r--p 0 fe:01 7 /l\n2001-3000 r-xp 0 fe:01 7 /l\n",
			"load /l 2001-3000\n");
}

/* ---- the events ---- */

static void test_events(void **unused)
{
	static const char key_text[] =
			"identify 5000 /cd\nloaded \"/cd\" at 5000 2000 [ 9 8 7 ] \"l.debug\"";
	struct base_library library = {
			.path = "/cdefg", .path_size = 3, .base = 0x5000, .end = 0x7000};
	char wanted[256];
	uint64_t key = 47;

	(void)unused;
	*calls = '\0';
	assert_false(base_events_register());
	assert_called("register 2\nside:library_load\nside:library_unload\n");
	registered = (void *)&library;
	assert_true(base_events_register());
	assert_called("register 2\nside:library_load\nside:library_unload\n");
	assert_true(base_is_event(&load_event) && base_is_event(&unload_event));
	assert_false(base_is_event(&load) || base_is_event(NULL));
	assert_false(base_wanted());
	base_record_load(&library, NULL);
	base_record_unload(&library);
	assert_called("");
	unload_state.enabled = 1;
	assert_true(base_wanted());
	base_record_load(&library, NULL);
	assert_called("");
	base_record_unload(&library);
	assert_called("unloaded \"/cd\" at 5000\n");
	unload_state.enabled = 0;
	load_state.enabled = 1;
	assert_true(base_wanted());
	base_record_unload(&library);
	assert_called("");
	identity_of_file = (struct base_identity){
			.build_id_size = 3, .build_id = {9, 8, 7, 6}, .debug_link = "l.debug"};
	base_record_load(&library, NULL);
	snprintf(wanted, sizeof(wanted), "%s\n", key_text);
	assert_called(wanted);
	base_record_load(&library, &key);
	snprintf(wanted, sizeof(wanted), "%s for 47\n", key_text);
	assert_called(wanted);
	identity_of_file.build_id_size = 0;
	base_record_load(&library, NULL);
	assert_called("identify 5000 /cd\nloaded \"/cd\" at 5000 2000 [ ] \"l.debug\"\n");
	load_state.enabled = 0;
}

/* A path of 4095 bytes is complete; longer ones are truncated. */
static void test_long_paths(void **unused)
{
	static char path[PATH_SIZE + 8];
	struct base_library library = {.path = path};

	(void)unused;
	memset(path, 'p', sizeof(path));
	for (uint32_t size = PATH_SIZE - 2; size < PATH_SIZE + 3; size++) {
		library.path_size = size;
		assert_int_equal(strlen(library_event_get_path(&library)),
				size < 4095 ? size : 4095);
	}
	library.path_size = 0;
	assert_string_equal(library_event_get_path(&library), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_each),
			cmocka_unit_test(test_differences),
			cmocka_unit_test(test_dump),
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_short_lines),
			cmocka_unit_test(test_first_page),
			cmocka_unit_test(test_events),
			cmocka_unit_test(test_long_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
