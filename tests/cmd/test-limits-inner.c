/* SPDX-License-Identifier: MIT */
/*
 * Limits inside the commands: the last permitted value, and one more. The files are included;
 * programs, traces, connections and addresses are played.
 */
#include <errno.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <side/trace.h>

#include "../check.h"
#include "../resources.h"
#include "programs/common/command.h"
#include "programs/side/processes/descriptions.h"
#include "programs/side/processes/process.h"
#include "programs/side/processes/registry.h"
#include "analysis/report-walk.h"
#include "base/error.h"
#include "programs/common/ask.h"
#include "programs/side/probe/request-check.h"
#include "ctf/ctf.h"
#include "elf/image.h"
#include "probe/table/table.h"
#include "relay/receive.h"
#include "abi/visit.h"

side_hidden_event(limits_event, "limits", "event", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("a")));

/* ---- played functions ---- */

static unsigned int nr_calls;

static int played_list(struct listing *listing, pid_t pid, bool json)
{
	(void)listing;
	(void)json;
	CHECK(pid == (pid_t)(100 + nr_calls));
	nr_calls++;
	return COMMAND_DONE;
}

static struct visit_owned the_owned;

static int played_event(const struct visit_memory *memory, uint64_t address,
		struct visit_owned **ret_owned, uint64_t *bytes, struct visit_error *error)
{
	(void)memory;
	(void)address;
	(void)bytes;
	(void)error;
	nr_calls++;
	the_owned.desc = &limits_event;
	*ret_owned = &the_owned;
	return 0;
}

static void played_free(struct visit_owned *freed)
{
	CHECK(freed == &the_owned);
}

static bool played_symbol(
		struct image *image, const char *name, bool all, struct image_symbol *symbol)
{
	(void)image;
	(void)name;
	(void)all;
	symbol->address = 0x1000 * ++nr_calls;
	return true;
}

static unsigned int played_pointer_size(const struct image *image)
{
	(void)image;
	return 8;
}

static uint8_t played_byte_order(const struct image *image)
{
	(void)image;
	return SIDE_TYPE_BYTE_ORDER_HOST;
}

static const struct image_table *played_tables(const struct image *image, size_t *nr)
{
	(void)image;
	*nr = 0;
	return NULL;
}

static ssize_t played_readlink(const char *path, char *to, size_t size)
{
	CHECK(size > 32 && strstr(path, "/root/nothing"));
	nr_calls++;
	strcpy(to, nr_calls == 39 ? "/" : "/nothing");
	return (ssize_t)strlen(to);
}

static struct receive_source *played_source(struct receive *receive, bool answers)
{
	(void)receive;
	(void)answers;
	nr_calls++;
	return (struct receive_source *)(uintptr_t)0x1000;
}

static unsigned int nr_addresses;

static int played_addresses(const char *host, const char *port, const struct addrinfo *hints,
		struct addrinfo **ret_addresses)
{
	static struct addrinfo addresses[5];
	static struct sockaddr_in loopback;

	CHECK(host && port && hints->ai_socktype == SOCK_STREAM);
	loopback.sin_family = AF_INET;
	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (unsigned int i = 0; i < nr_addresses; i++)
		addresses[i] = (struct addrinfo){.ai_family = AF_INET,
				.ai_socktype = SOCK_STREAM,
				.ai_addr = (struct sockaddr *)&loopback,
				.ai_addrlen = sizeof(loopback),
				.ai_next = i + 1 < nr_addresses ? &addresses[i + 1] : NULL};
	*ret_addresses = addresses;
	return 0;
}

static void played_free_addresses(struct addrinfo *addresses)
{
	CHECK(addresses);
}

static uint32_t nr_classes; /* of the second of two traces; the first one has 4000 */

static uint32_t played_trace_count(const struct ctf_reader *reader)
{
	(void)reader;
	return 2;
}

static const struct ctf_trace *played_trace(const struct ctf_reader *reader, uint32_t number)
{
	static const struct ctf_trace traces[2];

	(void)reader;
	return &traces[number];
}

static uint32_t played_event_count(const struct ctf_trace *trace)
{
	return trace == played_trace(NULL, 0) ? 4000 : nr_classes;
}

static const struct ctf_event_class *played_class(const struct ctf_trace *trace, uint32_t number)
{
	static struct ctf_event_class class;

	CHECK(number < played_event_count(trace));
	class.name = "name";
	return &class;
}

static int played_again(
		struct report_walk *walk, const struct report_walk *first, struct error *error)
{
	(void)error;
	CHECK(walk && !strcmp(first->options.verb, "view"));
	return 0;
}

static void played_close(struct report_walk *walk)
{
	CHECK(walk);
}

static int played_next(struct report_walk *walk, struct ctf_item *item, struct walk_class **class)
{
	(void)walk;
	(void)item;
	(void)class;
	nr_calls++;
	return 1;
}

static unsigned int nr_names; /* number of directories that exist */

static int played_access(const char *path, int mode)
{
	CHECK(mode == F_OK && !strncmp(path, "/out/", 5));
	return nr_calls++ < nr_names ? 0 : -1;
}

static uint32_t played_probes(const struct probe_table *table)
{
	(void)table;
	return 1000;
}

static void played_probe(
		const struct probe_table *table, uint32_t number, struct probe_table_probe *probe)
{
	(void)table;
	*probe = (struct probe_table_probe){.function = "f", .site.address = 0x1000 + number};
}

static void played_module(
		const struct probe_table *table, uint32_t number, struct probe_table_module *module)
{
	(void)table;
	CHECK(!number);
	*module = (struct probe_table_module){.name = "lib"};
}

#define probe_table_nr_probes played_probes
#define probe_table_probe(table, number, probe) played_probe(table, number, probe)
#define probe_table_module(table, number, module) played_module(table, number, module)
#include "programs/side/probe/results.c"
#undef probe_table_module
#undef probe_table_probe
#undef probe_table_nr_probes
#undef REFUSALS_SHOWN
#include "analysis/missing.c"
#define access played_access
#include "programs/side/record/kernel.c"
#undef access
#include "programs/side/probe/files.c"
#undef FILES_MAX
#define image_read_event played_event
#define visit_owned_free played_free
#include "programs/side/record/no-events.c"
#undef visit_owned_free
#undef image_read_event
#undef EVENTS_MAX
#define process_list played_list
#include "programs/side/session/unmatched-rules.c"
#undef process_list
#include "programs/side/attach/attach-directory.c"
#define image_find_symbol played_symbol
#define image_tables played_tables
#define image_pointer_size played_pointer_size
#define image_byte_order played_byte_order
#include "programs/side/processes/process.c"
#undef image_byte_order
#undef image_pointer_size
#undef image_tables
#undef image_find_symbol
#define readlink played_readlink
#include "programs/side/probe/executable.c"
#undef readlink
#define receive_source_open played_source
#define getaddrinfo played_addresses
#define freeaddrinfo played_free_addresses
#include "programs/side/relay/receive.c"
#undef freeaddrinfo
#undef getaddrinfo
#undef receive_source_open
#include "programs/side/watch/top.c"
#define ctf_reader_trace_count played_trace_count
#define ctf_reader_trace played_trace
#define ctf_trace_event_count played_event_count
#define ctf_trace_event played_class
#define walk_next played_next
#define walk_open_again played_again
#define walk_close played_close
#include "programs/side/analysis/select.c"
#undef walk_close
#undef walk_open_again
#undef walk_next
#undef ctf_trace_event
#undef ctf_trace_event_count
#undef ctf_reader_trace
#undef ctf_reader_trace_count
#undef NAMES_MAX
#include "export/export-values.c"
#include "analysis/report-calls.c"
#include "analysis/report-identity.c"
#include "analysis/view-show.c"
#include "analysis/report.c"
#include "programs/side/analysis/report-notes.c"
#define probe_table_view_open(fd, seen) (nr_calls++, (fd) != 77)
#define probe_table_view_close(seen) (void)(seen)
#define probe_table_nr_probes played_probes
#define probe_table_probe(table, number, probe) played_probe(table, number, probe)
#include "programs/side/probe/trace.c"
#undef probe_table_probe
#undef probe_table_nr_probes
#undef probe_table_view_close
#undef probe_table_view_open

/* ---- standard error ---- */

static char printed[4096];

static int begin_printed(void)
{
	int old = dup(STDERR_FILENO), fd = memfd_create("stderr", MFD_CLOEXEC);

	CHECK(old >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	close(fd);
	return old;
}

static void end_printed(int old)
{
	ssize_t size = pread(STDERR_FILENO, printed, sizeof(printed) - 1, 0);

	CHECK(size >= 0 && dup2(old, STDERR_FILENO) == STDERR_FILENO);
	printed[size] = 0;
	close(old);
}

/* ---- files ---- */

static char *numbered(unsigned int number)
{
	char *text;

	CHECK(asprintf(&text, "/%u", number) > 0);
	return text;
}

static void test_files(void)
{
	static struct probe_file_list files;
	static struct no_events_search events;

	for (unsigned int i = 1; i <= 1025; i++) {
		probe_files_add_path(&files, numbered(i));
		probe_files_add_path(&files, numbered(i));
		CHECK(files.count == (i <= 1024 ? i : 1024));
	}
	CHECK(!strcmp(files.paths[1023], "/1024"));
	for (unsigned int i = 1; i <= 513; i++) {
		no_events_add_file(&events, numbered(i));
		no_events_add_file(&events, numbered(i));
		CHECK(events.nr_files == (i <= 512 ? i : 512));
	}
	CHECK(!strcmp(events.files[511], "/512"));
	nr_calls = 0;
	for (unsigned int i = 1; i <= 4097; i++) {
		CHECK(!no_events_add_event(&events, i));
		CHECK(events.nr_names == (i <= 4096 ? i : 4096) && nr_calls == events.nr_names);
	}
	CHECK(!strcmp(events.names[4095], "limits:event"));
	for (unsigned int i = 0; i < 1024; i++)
		free(files.paths[i]);
	for (unsigned int i = 0; i < 512; i++)
		free(events.files[i]);
	for (unsigned int i = 0; i < 4096; i++)
		free(events.names[i]);
}

static void test_links(void)
{
	struct stat file;
	char path[PATH_MAX];

	CHECK(LINKS_MAX == 40 && !stat("/", &file));
	/* The 39th link, or a later one, points there; the code detects that at the 40th path. */
	nr_calls = 0;
	CHECK(exe_through_root(getpid(), "/nothing", &file, path) && nr_calls == 39);
	CHECK(strstr(path, "/root/") && path[strlen(path) - 1] == '/');
	nr_calls = 39;
	CHECK(!exe_through_root(getpid(), "/nothing", &file, path) && nr_calls == 39 + 40);
}

/* A directory whose path has 39 bytes is used, one of 40 is not. */
static void test_directory(void)
{
	char path[64] = "/tmp/side-limits-XXXXXX";
	struct attached attached = {
			.pid = getpid(), .dir = {.parent = -1, .own = -1, .network = -1}};
	size_t size = strlen(path);

	CHECK(DIRECTORY_MAX == 40 && mkdtemp(path));
	memset(path + size, '/', 40 - size);
	for (unsigned int i = 39; i <= 40; i++) {
		struct stat made, parent;

		path[i] = 0;
		CHECK(!setenv("TMPDIR", path, 1) && !stat(path, &parent));
		CHECK(attach_dir_find(&attached, "limits-", false) == COMMAND_DONE);
		CHECK(attached.dir.parent >= 0 && !fstat(attached.dir.parent, &made));
		CHECK((made.st_ino == parent.st_ino && made.st_dev == parent.st_dev) == (i == 39));
		attach_dir_remove(&attached);
		path[i] = '/';
	}
	path[size] = 0;
	CHECK(!rmdir(path) && !unsetenv("TMPDIR"));
}

/* ---- programs ---- */

static void test_programs(void)
{
	for (unsigned int nr = 31; nr <= 33; nr++) {
		bool is_matched = false;
		struct unmatched_search search = {.nr_parsed = 1, .is_matched = &is_matched};
		struct json_object *processes = json_object_new_array();

		CHECK(PROGRAMS_MAX == 32 && processes);
		for (unsigned int i = 0; i < nr; i++) {
			struct json_object *process = json_object_new_object();

			json_object_object_add(process, "pid", json_object_new_int(100 + (int)i));
			json_object_array_add(processes, process);
		}
		nr_calls = 0;
		unmatched_search_programs(&search, processes);
		CHECK(nr_calls == (nr <= 32 ? nr : 32) && search.nr_programs == nr_calls);
		json_object_put(processes);
	}
}

static void test_reads(void)
{
	struct traced_process process = {.pid = getpid(), .reads = (1 << 24) - 1};
	uint64_t from = 77, to = 0;

	CHECK(!process_read_memory(&process, (uintptr_t)&from, &to, 8) && to == 77);
	CHECK(process_read_memory(&process, (uintptr_t)&from, &to, 8) == -E2BIG);
	process.reads = 0;
	process.read_bytes = (UINT64_C(1) << 31) - 8;
	to = 0;
	CHECK(!process_read_memory(&process, (uintptr_t)&from, &to, 8) && to == 77);
	process.read_bytes = (UINT64_C(1) << 31) - 7;
	CHECK(process_read_memory(&process, (uintptr_t)&from, &to, 8) == -E2BIG);
}

static void test_registries(void)
{
	static struct traced_process process;

	nr_calls = 0;
	for (unsigned int i = 1; i <= 17; i++) {
		process_find_registry(&process, NULL, 7);
		CHECK(process.nr_registries == (i <= 16 ? i : 16));
	}
	CHECK(process.registries[15].address == 0x10007 && !process.nr_mappings &&
			!process.has_libside_without_registry);
}

/* ---- connections ---- */

static void test_connections(void)
{
	static struct reception reception;
	struct sockaddr_storage peer = {.ss_family = AF_INET}, other = {.ss_family = AF_INET6};
	int old, ret;

	nr_calls = 0;
	for (unsigned int i = 1; i <= 65; i++) {
		CHECK(receive_add_source(&reception, -1, true) == (i <= 64));
		CHECK(reception.nr_sources == (i <= 64 ? i : 64) &&
				nr_calls == reception.nr_sources);
	}
	/* Sources that were not accepted do not count, nor do those of another address. */
	for (unsigned int i = 0; i < 32; i++) {
		reception.sources[i].peer = peer;
		reception.sources[i].since = i ? 1 : 0;
		reception.sources[32 + i].peer = other;
		reception.sources[32 + i].since = 1;
	}
	CHECK(!receive_has_too_many(&reception, &peer) && receive_has_too_many(&reception, &other));
	reception.sources[0].since = 1;
	CHECK(receive_has_too_many(&reception, &peer));
	for (nr_addresses = 3; nr_addresses <= 5; nr_addresses++) {
		reception.nr_listeners = 0;
		old = begin_printed();
		ret = receive_start_listening(&reception, "127.0.0.1:7777");
		end_printed(old);
		CHECK(!ret && strstr(printed, "listening on 127.0.0.1:7777"));
		CHECK(reception.nr_listeners == (nr_addresses <= 4 ? nr_addresses : 4));
		for (unsigned int i = 0; i < reception.nr_listeners; i++)
			close(reception.listeners[i]);
	}
}

/* Returns the interval in the request to the daemon. */
static int64_t asked_for(uint64_t interval)
{
	const struct top_options options = {.interval = interval};
	struct json_object *request = top_make_request(&options, "s"), *member;
	int64_t asked;

	CHECK(request && json_object_object_get_ex(request, "interval", &member));
	asked = json_object_get_int64(member);
	json_object_put(request);
	return asked;
}

static void test_intervals(void)
{
	CHECK(asked_for(0) == 1000000000 && asked_for(100000001) == 100000001);
	CHECK(asked_for(100000000) == 100000000 && asked_for(99999999) == 100000000);
	CHECK(asked_for(INT64_MAX) == INT64_MAX && asked_for(UINT64_MAX) == INT64_MAX);
}

/* ---- traces ---- */

static void test_names_of_traces(void)
{
	static struct trace_names names;

	for (nr_classes = 95; nr_classes <= 97; nr_classes++) {
		names.count = 0;
		select_read_names(NULL, &names);
		CHECK(names.count == (nr_classes <= 96 ? 4000 + nr_classes : 4096));
	}
	CHECK(!strcmp(names.names[4095], "name"));
}

static void test_search(void)
{
	static struct filter_search search;
	const struct report_walk_options options = {.verb = "view"};

	nr_calls = 0;
	select_search_classes(&search, &options);
	CHECK(nr_calls == 1000000 && SEARCH_EVENTS_MAX == 1000000);
	search.missing.is_bound = true;
	select_search_classes(&search, &options);
	CHECK(nr_calls == 1000000);
}

/* Further names are put where they are used, without a number. */
static void test_exported_names(void)
{
	struct export_names names = {.field = 3};
	struct view_out fresh = {.failed = false};
	size_t size = 0;
	char name[16];

	for (unsigned int i = 1; i <= 65537; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		CHECK(export_intern(&names, &fresh, name, strlen(name)) == (i <= 65536 ? i : 0));
		CHECK((view_out_size(&fresh) > size) == (i <= 65536) && !fresh.failed);
		size = view_out_size(&fresh);
	}
	CHECK(export_intern(&names, &fresh, "n7", 2) == 7 && view_out_size(&fresh) == size);
	keys_free(&names.keys);
	view_out_free(&fresh);
}

/* Arrays in an object. */
static struct json_object *read_nested(unsigned int levels)
{
	static char text[4096];
	struct view_event view = {.description = NULL};

	strcpy(text, "{\"a\":");
	memset(text + 5, '[', levels - 1);
	memset(text + 4 + levels, ']', levels - 1);
	strcpy(text + 3 + 2 * levels, "}");
	/* Not out of memory. */
	CHECK(read_description(&view, text));
	return view.description;
}

static void test_descriptions(void)
{
	struct json_object *description = read_nested(1024);

	CHECK(DESCRIPTION_DEPTH_MAX == 1024 && description);
	json_object_put(description);
	CHECK(!read_nested(1025));
}

/* ---- reports ---- */

static void test_branches(void)
{
	static struct report_calls calls;

	for (uint32_t i = 0; i < 200000; i++)
		CHECK(branch_of(&calls, i % 2 ? i - 1 : KEYS_NONE, i) == i);
	CHECK(!calls.branch_keys.refused && calls.branches[199999].depth == 1);
	CHECK(branch_of(&calls, KEYS_NONE, 200000) == KEYS_NONE && calls.branch_keys.refused == 1);
	CHECK(branch_of(&calls, 199998, 199999) == 199999);
	keys_free(&calls.branch_keys);
	free(calls.branches);
}

static void test_names_of_processes(void)
{
	static char name[4098], host[4098];

	memset(name, 'n', 4097);
	memset(host, 'h', 4097);
	for (size_t size = 4095; size <= 4097; size++) {
		struct identity identity = {.processes = NULL};
		const struct ctf_trace trace = {.vpid = 7,
				.procname = name + 4097 - size,
				.hostname = host + 4097 - size};

		CHECK(!identity_of_trace(&identity, &trace));
		CHECK(strlen(identity.processes[0].name) == (size <= 4096 ? size : 4096));
		CHECK(strlen(identity.processes[0].hostname) == (size <= 4096 ? size : 4096));
		identity_free(&identity);
	}
}

static void add_keys(struct keys *keys, uint32_t limit)
{
	for (uint32_t i = 0; i <= limit; i++)
		CHECK(keys_add(keys, &i, sizeof(i)) == (i < limit ? i : KEYS_NONE));
	CHECK(keys->count == limit && keys->refused == 1);
	keys_free(keys);
}

/* The limits of a report are set before its directory is opened. */
static void test_reports(void)
{
	const struct report_options options = {.losses = true};
	const struct analysis_listener listener = {.user = NULL};
	static struct report report;
	struct error error;
	int old, ret = report_prepare(&report, &options, "/nothing", &listener, &error);

	CHECK(ret == -ENOENT && error.kind == ERROR_FAILED);
	CHECK(!strcmp(error.text, "cannot report /nothing: No such file or directory"));
	old = begin_printed();
	report.walk.nr_events = 1;
	report.groups.refused = 1;
	report_notes_print(&report);
	end_printed(old);
	CHECK(strstr(printed,
			"`--by` has more than 10000 different values: all further ones are one group\n"));
	CHECK(!strstr(printed, "callers"));
	old = begin_printed();
	report.groups.refused = 0;
	report.caller_keys.refused = 1;
	report_notes_print(&report);
	end_printed(old);
	CHECK(strstr(printed, "only the first 500000 different callers were counted\n"));
	CHECK(!strstr(printed, "--by"));
	report.caller_keys.refused = 0;
	add_keys(&report.groups, 10000);
	add_keys(&report.caller_keys, 500000);
}

/*
 * The directory of a recording of the kernel, with a number if there are others. The last one is
 * taken in any case.
 */
static void test_directories(void)
{
	static const struct {
		unsigned int there, calls;
		const char *path;
	} cases[] = {{0, 1, ""}, {1, 2, "-1"}, {9999, 10000, "-9999"}, {10000, 10000, "-9999"}};
	static struct kernel_recording recording;

	for (unsigned int i = 0; i < 4; i++) {
		char *path, expected[64];

		nr_calls = 0;
		nr_names = cases[i].there;
		path = record_kernel_choose_directory(&recording, "/out");
		snprintf(expected, sizeof(expected), "/out/" KERNEL_RECORD_DIRECTORY "%s",
				cases[i].path);
		CHECK(path && !strcmp(path, expected) && nr_calls == cases[i].calls);
		CHECK(!strcmp(recording.name, expected + 5));
		free(path);
	}
}

/* ---- what is printed of many ---- */

static void test_losses(void)
{
	struct receive_losses losses = {.shown = 0};
	int old = begin_printed();

	for (unsigned int i = 0; i < 9; i++)
		receive_print_loss(&losses, "t", "s", 1, 2, 3);
	end_printed(old);
	old = begin_printed();
	receive_print_loss(&losses, "trace", "stream", 4, 5, 6);
	receive_print_loss(&losses, "trace", "stream", 7, 8, 9);
	end_printed(old);
	CHECK(!strcmp(printed,
			"  trace/stream  4 packets with 5 events lost in transit, 6 dropped by the sender\n"));
	CHECK(losses.shown == 10 && losses.remainder == 1);
}

static void test_patterns(void)
{
	static const struct option pattern = {.name = "event"}, filter = {.name = "filter"};
	struct option_use items[] = {{.option = &pattern, .text = "a"},
			{.option = &filter, .text = "x"}, {.option = &pattern, .text = "b"},
			{.option = &pattern, .text = "c"}, {.option = &pattern, .text = "d"}};
	struct option_uses uses = {.items = items, .count = 4};
	const char *first = NULL;
	char text[512];

	CHECK(no_events_patterns(&uses, text, &first) == 3 && !strcmp(text, "-e a -e b -e c") &&
			!strcmp(first, "a"));
	uses.count = 5;
	CHECK(no_events_patterns(&uses, text, &first) == 4 && !strcmp(text, "-e a -e b -e c ..."));
	uses.items = &items[1];
	uses.count = 1;
	CHECK(!no_events_patterns(&uses, text, &first) && !*text);
}

/* The notes about a session with so many messages, and as many that were not kept. */
static void print_messages(unsigned int count, unsigned int unkept)
{
	struct json_object *session = json_object_new_object(), *list = json_object_new_array();
	char text[32];
	int old = begin_printed();

	for (unsigned int i = 1; i <= count; i++) {
		snprintf(text, sizeof(text), "text %u.", i);
		json_object_array_add(list, json_object_new_string(text));
	}
	json_object_object_add(session, "messages", list);
	json_object_object_add(session, "messages-unkept", json_object_new_int((int)unkept));
	ask_print_messages(session);
	json_object_put(session);
	end_printed(old);
}

static void test_messages(void)
{
	print_messages(10, 0);
	CHECK(strstr(printed, "text 1.") && strstr(printed, "text 10.") &&
			!strstr(printed, "more"));
	print_messages(11, 0);
	CHECK(strstr(printed, "text 10.") && !strstr(printed, "text 11.") &&
			strstr(printed, " 1 more message\n"));
	print_messages(12, 3);
	CHECK(strstr(printed, " 5 more messages\n"));
	print_messages(10, 1);
	CHECK(strstr(printed, " 1 more message\n"));
}

static void test_fields(void)
{
	struct missing missing = {.name = "x"};
	char name[16], text[MISSING_TEXT_SIZE];

	nearest_begin(&missing.nearest, "x");
	for (unsigned int i = 1; i <= 9; i++) {
		snprintf(name, sizeof(name), "_f%u", i);
		missing_add_field(&missing, "", name);
		/* A field counts once. */
		if (i < 9)
			missing_add_field(&missing, "", name);
		CHECK(missing.nr_fields == i);
		if (i == 8)
			CHECK(!strcmp(missing_text(&missing, text),
					"no event has `x`: there is f1, f2, f3, f4, f5, f6, f7, f8"));
	}
	CHECK(!strcmp(missing_text(&missing, text),
			"no event has `x`: there is f1, f2, f3, f4, f5, f6, f7, f8, ..."));
}

/* The lines about a program with two reasons: 7 refused locations, and `count` locations. */
static unsigned int print_refusals(unsigned int count)
{
	struct json_object *program = json_object_new_object(), *list = json_object_new_array();
	static const struct probe_table_view seen;
	unsigned int nr = 0;
	int old = begin_printed();

	for (unsigned int i = 0; i < 2; i++) {
		struct json_object *refusal = json_object_new_object();

		json_object_object_add(refusal, "first", json_object_new_int(i ? 100 : 0));
		json_object_object_add(refusal, "count", json_object_new_int(i ? (int)count : 7));
		json_object_object_add(refusal, "why", json_object_new_string(i ? "two" : "one"));
		json_object_array_add(list, refusal);
	}
	json_object_object_add(program, "refusals", list);
	json_object_object_add(program, "refused", json_object_new_int(7 + (int)count));
	probe_report_print_refusals(program, &seen);
	json_object_put(program);
	end_printed(old);
	for (const char *at = printed; (at = strstr(at, " of lib, at 0x")); at++)
		nr++;
	return nr;
}

static void test_refusals(void)
{
	CHECK(print_refusals(3) == 10 && strstr(printed, "f of lib, at 0x1006: one\n") &&
			strstr(printed, "f of lib, at 0x1066: two\n") &&
			!strstr(printed, "others"));
	CHECK(print_refusals(4) == 10 && !strstr(printed, "0x1067") &&
			strstr(printed, "not set: 1 others\n"));
}

/* The same while a program is traced. Locations behind the end of the table are not printed. */
static void print_trace_refusals(uint32_t count, uint32_t first)
{
	static struct tracing tracing = {.tables = {{.fd = 77}}, .nr_tables = 1};
	struct session_probe_refusal refusals[] = {{.count = 7, .error = EPERM},
			{.first = first, .count = count, .error = ECANCELED}};
	struct session_probe_answer answer = {.number = 1,
			.refusals = refusals,
			.nr_refusals = 2,
			.states[WIRE_PROBE_REFUSED] = 7 + count};
	int old = begin_printed();

	trace_report_refusals(&tracing, &answer);
	end_printed(old);
}

static void test_trace_refusals(void)
{
	print_trace_refusals(3, 100);
	CHECK(strstr(printed, "not set: f, at 0x1006: ") &&
			strstr(printed, "removed: f, at 0x1066: ") && !strstr(printed, "others"));
	print_trace_refusals(4, 100);
	CHECK(strstr(printed, "at 0x1066: ") && !strstr(printed, "at 0x1067: ") &&
			strstr(printed, "not set: 1 others\n"));
	print_trace_refusals(2, 999);
	CHECK(strstr(printed, "at 0x13e7: ") && !strstr(printed, "at 0x13e8: ") &&
			strstr(printed, "not set: 1 others\n"));
}

int main(void)
{
	struct resources before = resources_now();

	test_files();
	test_links();
	test_directory();
	test_programs();
	test_reads();
	test_registries();
	test_connections();
	test_intervals();
	test_names_of_traces();
	test_search();
	test_exported_names();
	test_descriptions();
	test_branches();
	test_names_of_processes();
	test_reports();
	test_directories();
	test_losses();
	test_patterns();
	test_messages();
	test_fields();
	test_refusals();
	test_trace_refusals();
	CHECK(resources_now().descriptors == before.descriptors);
	return 0;
}
