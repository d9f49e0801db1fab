/* SPDX-License-Identifier: MIT */
/* `side list` with files, libraries, processes, a command and a daemon that the test plays. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../called.h"
#include "../counted-json.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "printed.h"

#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "programs/side/processes/descriptions.h"
#include "programs/side/cli/path-search.h"
#include "programs/side/processes/process.h"
#include "programs/side/processes/running.h"
#include "programs/side/session/trace-of-session.h"
#include "programs/side/session/status.h"
#include "elf/image.h"
#include "elf/libraries.h"
#include "elf/objects.h"
#include "recorder/core/session.h"

/* ---- files ---- */

/* The image of a file, or of a member of an archive. */
static struct played {
	const char *file, *member; /* the last part of the path */
	size_t nr_tables, nr_found;
	bool has_sections, is_broken, is_foreign;
	const char *needed[4];
	int error; /* returned after the last needed library */
} images[8];

static int played_objects(int fd, const char *path, const struct objects_ops *ops)
{
	const char *name = strrchr(path, '/') + 1;

	assert_true(fd >= 0);
	called("read %s;", name);
	for (int i = 0; i < 8 && images[i].file; i++) {
		struct error error = {.code = images[i].is_foreign ? -ENOEXEC : -EINVAL,
				.text = "it is broken"};
		int ret;

		if (strcmp(images[i].file, name) != 0)
			continue;
		ret = images[i].is_broken
				? ops->broken(ops->priv, &error, images[i].member)
				: ops->image(ops->priv, (struct image *)(void *)&images[i],
						  images[i].member);
		assert_int_equal(ret, 0);
	}
	return 0;
}

static const struct image_table *played_tables(const struct image *image, size_t *count)
{
	*count = ((const struct played *)(const void *)image)->nr_tables;
	return NULL;
}

static const uint64_t *played_found(const struct image *image, size_t *count)
{
	*count = ((const struct played *)(const void *)image)->nr_found;
	return NULL;
}

static bool played_has_sections(const struct image *image)
{
	return ((const struct played *)(const void *)image)->has_sections;
}

static bool played_text(struct image *image, int64_t tag, size_t index, const char **text)
{
	const struct played *played = (struct played *)(void *)image;

	assert_int_equal(tag, DT_NEEDED);
	assert_int_equal(errno, 0);
	*text = played->needed[index];
	errno = *text ? 0 : played->error;
	return *text;
}

/* Of libraries: "lib" in the folder of the test, if it exists. */
static char folder[] = "/tmp/side-test-list-XXXXXX";
static int anything, search_error;
static bool no_search;
static unsigned int nr_searches;

static struct library_search *played_search(void)
{
	if (no_search)
		return NULL;
	nr_searches++;
	return (struct library_search *)(void *)&anything;
}

static void played_search_close(struct library_search *search)
{
	nr_searches -= search != NULL;
}

static int played_search_error(const struct library_search *search)
{
	assert_ptr_equal(search, &anything);
	return search_error;
}

static char *played_find(struct library_search *search, const struct image *image, const char *path,
		const char *name)
{
	char *found = __real_malloc(200);

	assert_ptr_equal(search, &anything);
	(void)image;
	called("find %s of %s;", name, strrchr(path, '/') + 1);
	snprintf(found, 200, "%s/%s", folder, name);
	if (!access(found, F_OK))
		return found;
	free(found);
	return NULL;
}

/* ---- the list ---- */

static int nr_unfreed;
static int source_error, tables_error, add_error, listing_error;
static size_t nr_events, nr_failures, nr_seen;
static const char *others[] = {"p:event"};

static int played_source(struct listing *listing, const char *path)
{
	const char *slash = strrchr(path, '/');

	called("source %s;", slash ? slash + 1 : path);
	listing->nr_events = nr_events;
	listing->nr_failures = nr_failures;
	listing->nr_seen = nr_seen;
	return source_error;
}

static int played_add_tables(struct listing *listing, const struct image *image,
		const struct listing_memory *from, uint64_t bias)
{
	(void)listing;
	assert_true(from->memory.read == image_read && from->memory.priv == image && !from->live &&
			!bias && from->pointer_size == 8 && from->memory.byte_order == 1);
	called("tables;");
	return tables_error;
}

static int played_add(struct listing *listing, const struct side_event_description *description,
		struct visit_owned *owned, enum listing_origin origin,
		const struct listing_state *state)
{
	(void)listing;
	assert_true(!owned && origin == LISTING_UNKNOWN && !state);
	called("add %d;", (int)((const char *)(const void *)description - (const char *)&anything));
	return add_error;
}

static int played_list_print(
		const struct listing *listing, FILE *out, enum listing_form form, bool color)
{
	nr_unfreed++;
	assert_ptr_equal(out, stdout);
	assert_int_equal(listing->nr_patterns, listing->patterns ? 1 : 0);
	called("print %d%s;", (int)form, color ? " color" : "");
	return listing_error;
}

static void played_free(struct listing *listing)
{
	(void)listing;
	nr_unfreed--;
}

/* ---- processes ---- */

static int process_status[4], running_error;
static size_t nr_processes, nr_running;
static bool has_recorder[4];

static int played_process(struct listing *listing, pid_t pid, bool may_have_ended)
{
	called("process %d %d in %d;", (int)pid, may_have_ended, (int)listing->pid);
	return process_status[nr_processes++];
}

static int played_running(pid_t **pids, size_t *count)
{
	if (running_error)
		*pids = NULL;
	else
		*pids = malloc(4 * sizeof(**pids));
	*count = running_error ? 0 : nr_running;
	for (size_t i = 0; i < *count; i++)
		(*pids)[i] = 51 + (pid_t)i;
	return running_error;
}

static bool played_has_recorder(pid_t pid)
{
	return has_recorder[pid - 51];
}

static const char *played_running_name(pid_t pid, char name[RUNNING_NAME_MAX])
{
	snprintf(name, RUNNING_NAME_MAX, "n%d", (int)pid);
	return name;
}

/* ---- a command ---- */

static int session_kinds[3]; /* create, spawn, run */
static struct session_summary stats;
static size_t nr_session_events;
static unsigned int nr_sessions;

static int session_step(int step, struct error *error)
{
	*error = (struct error){.kind = (enum error_kind)session_kinds[step]};
	snprintf(error->text, sizeof(error->text), "step %d", step);
	return session_kinds[step] ? -1 : 0;
}

static int played_create(const struct session_options *options, struct session **session,
		struct error *error)
{
	called("create %d %zu;", options->mode == SESSION_LIST, options->nr_wrappers);
	assert_ptr_equal(options->wrappers, options->nr_wrappers ? (const void *)others : NULL);
	if (session_step(0, error))
		return -1;
	nr_sessions++;
	*session = (struct session *)(void *)&anything;
	return 0;
}

static int played_spawn(struct session *session, char *const *args, struct error *error)
{
	assert_ptr_equal(session, &anything);
	called("spawn %s;", args[0]);
	return session_step(1, error);
}

static int played_run(struct session *session, struct error *error)
{
	assert_ptr_equal(session, &anything);
	return session_step(2, error);
}

static const struct session_summary *played_summary(struct session *session)
{
	assert_ptr_equal(session, &anything);
	return &stats;
}

static size_t played_nr_events(const struct session *session, size_t process)
{
	assert_ptr_equal(session, &anything);
	assert_int_equal(process, 0);
	return nr_session_events;
}

static const struct side_event_description *played_event(
		const struct session *session, size_t process, size_t event)
{
	assert_ptr_equal(session, &anything);
	assert_int_equal(process, 0);
	return (const void *)((const char *)&anything + event);
}

static void played_destroy(struct session *session)
{
	nr_sessions -= session != NULL;
}

static bool has_program;

static bool played_has_program(const char *name)
{
	called("program %s;", name);
	return has_program;
}

/* ---- the daemon ---- */

static int connect_kind = ERROR_NOT_FOUND, call_status, show_status;
static const char *kept_names;

static int played_silently(struct ask *ask, bool system, struct error *error)
{
	called("silently %d;", system);
	*ask = (struct ask){.system = system};
	if (connect_kind)
		*error = (struct error){
				.kind = (enum error_kind)connect_kind, .text = "not connected"};
	return connect_kind ? -1 : 0;
}

static bool played_kept(bool system, char *names, size_t size)
{
	called("kept %d;", system);
	snprintf(names, size, "%s", kept_names ? kept_names : "");
	return kept_names;
}

static int played_call(struct control_client *client, struct json_object *request, int timeout_ms,
		struct json_object **answer, struct error *error)
{
	(void)client;
	(void)error;
	assert_int_equal(timeout_ms, ASK_TIMEOUT_MS);
	called("ask %s %s;", ask_text(request, "verb"), ask_text(request, "session"));
	if (!call_status)
		*answer = json_tokener_parse("{}");
	return call_status;
}

static int played_show(struct ask *ask, const char *name, bool json, bool color)
{
	(void)ask;
	called("show %s %d %d;", name ? name : "-", json, color);
	return show_status;
}

static void played_offer(struct nearest *nearest, bool system);

#define objects_read played_objects
#define image_tables played_tables
#define image_found played_found
#define image_has_sections played_has_sections
#define image_dynamic_text played_text
#define image_byte_order(image) 1
#define image_pointer_size(image) 8
#define library_search_open played_search
#define library_search_close played_search_close
#define library_search_error played_search_error
#define library_find played_find
#define listing_source(listing, path) played_source(listing, path)
#define listing_add_tables played_add_tables
#define listing_add played_add
#define listing_sort(listing) called("sort;")
#define listing_print played_list_print
#define listing_free played_free
#define process_list played_process
#define running_find played_running
#define running_has_recorder played_has_recorder
#define running_name played_running_name
#define session_create played_create
#define session_spawn played_spawn
#define session_run played_run
#define session_summary(...) played_summary(__VA_ARGS__)
#define session_nr_events played_nr_events
#define session_event played_event
#define session_destroy played_destroy
#define session_offer_names played_offer
#define path_has_program played_has_program
#define ask_connect_silently played_silently
#define ask_kept_sessions played_kept
#define ask_close(ask) called("close;")
#define control_call played_call
#define status_show played_show
#define command_list_kernel(parsed) 77
#include "programs/side/list/list.c"

static void played_offer(struct nearest *nearest, bool system)
{
	called("offer %d;", system);
	nearest_offer(nearest, "websession");
}

/* ---- command lines ---- */

static struct list_options options;

static int run_words(bool dashes, const char *first, const char *second)
{
	char args[2][300], *operands[3] = {NULL, NULL, NULL};
	struct parsed parsed = {.options.list = options,
			.common = printed_options,
			.operands = operands,
			.dashes = dashes};
	unsigned int descriptors = resources_descriptors();
	int status;

	if (first)
		operands[parsed.operand_count++] = args[0];
	if (second)
		operands[parsed.operand_count++] = args[1];
	snprintf(args[0], sizeof(args[0]), "%s", first ? first : "");
	snprintf(args[1], sizeof(args[1]), "%s", second ? second : "");
	nr_processes = 0;
	status = cmd_list(&parsed);
	assert_int_equal(resources_descriptors(), descriptors);
	assert_int_equal(nr_searches, 0);
	assert_int_equal(nr_sessions, 0);
	assert_int_equal(nr_unfreed, 0);
	return status;
}

static const char *in_folder(const char *name)
{
	static char paths[4][200];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void reset(void)
{
	memset(images, 0, sizeof(images));
	memset(process_status, 0, sizeof(process_status));
	memset(session_kinds, 0, sizeof(session_kinds));
	memset(has_recorder, 0, sizeof(has_recorder));
	options = (struct list_options){.libraries = false};
	printed_options = (struct common_options){.color = COLOR_NEVER};
	source_error = tables_error = add_error = listing_error = running_error = search_error = 0;
	nr_events = 1;
	nr_failures = nr_seen = nr_running = nr_session_events = 0;
	no_search = has_program = false;
	connect_kind = ERROR_NOT_FOUND;
	call_status = show_status = 0;
	kept_names = NULL;
	stats = (struct session_summary){.nr_processes = 1};
	*calls = '\0';
}

static void assert_run(const char *first, const char *second, int status, const char *expected,
		const char *printed)
{
	begin_output();
	assert_int_equal(run_words(false, first, second), status);
	assert_output(printed);
	assert_called(expected);
}

/* Replaces each "%s" by the name of the folder. */
static const char *text_of(const char *format)
{
	static char text[1000];
	size_t used = 0;

	for (; *format; format++) {
		if (!strncmp(format, "%s", 2)) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", folder);
			format++;
		} else {
			text[used++] = *format;
		}
	}
	text[used] = '\0';
	return text;
}

static void make_file(const char *name)
{
	int fd = open(in_folder(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

#define LISTED "sort;print 0;"

static void test_files(void **unused)
{
	const char *patterns[] = {"p:*"};
	size_t before = 0;

	(void)unused;
	reset();
	images[0] = (struct played){.file = "one", .nr_tables = 1, .has_sections = true};
	make_file("one");
	assert_run(in_folder("one"), NULL, 0, "read one;source one;tables;" LISTED, "");
	/* The same file under another name is read once. */
	assert_int_equal(link(in_folder("one"), in_folder("same")), 0);
	assert_run(in_folder("one"), in_folder("same"), 0, "read one;source one;tables;" LISTED,
			"");
	make_file("two");
	images[1] = (struct played){.file = "two", .nr_found = 1};
	assert_run(in_folder("one"), in_folder("two"), 0,
			"read one;source one;tables;read two;source two;tables;" LISTED, "");
	assert_int_equal(unlink(in_folder("same")), 0);
	/* Without events. */
	nr_events = 0;
	images[0].nr_tables = 0;
	assert_run(in_folder("one"), NULL, 0, "read one;" LISTED, "side: found no events\n");
	images[0].has_sections = false;
	assert_run(in_folder("one"), NULL, 0, "read one;" LISTED,
			text_of("side: found no events in %s/one: it has no section headers\nhint: `side list -- %s/one` starts it and lists the events that it registers\nside: found no events\n"));
	images[0].nr_tables = 1;
	nr_failures = 1;
	assert_run(in_folder("one"), NULL, COMMAND_FAILED, "read one;source one;tables;" LISTED,
			"");
	nr_failures = 0;
	tables_error = -E2BIG;
	assert_run(in_folder("one"), NULL, COMMAND_FAILED, "read one;source one;tables;" LISTED,
			text_of("side: cannot list the events of %s/one: there are too many, or too many that are not readable\n"));
	source_error = -ENOMEM;
	assert_run(in_folder("one"), NULL, COMMAND_FAILED, "read one;source one;" LISTED,
			text_of("side: cannot list the events of %s/one: Cannot allocate memory\n"));
	source_error = tables_error = 0;
	/* Members of an archive, and files that are broken. */
	nr_events = 1;
	images[0].member = "a.o";
	images[1] = (struct played){.file = "one", .member = "b.o", .is_broken = true};
	images[2] = (struct played){.file = "one", .member = "c.o", .nr_tables = 1};
	assert_run(in_folder("one"), NULL, COMMAND_FAILED,
			"read one;source one(a.o);tables;source one(c.o);tables;" LISTED,
			text_of("side: cannot list the events of %s/one(b.o): it is broken\n"));
	images[1] = (struct played){.file = "one", .is_broken = true, .is_foreign = true};
	assert_run(in_folder("one"), NULL, COMMAND_FAILED,
			"read one;source one(a.o);tables;source one(c.o);tables;" LISTED,
			text_of("side: cannot list the events of %s/one: it is broken\nhint: to list what it runs, write `side list -- COMMAND`\n"));
	/* Memory is freed, including that of patterns. */
	options.patterns = (struct text_list){(void *)patterns, 1};
	images[1].member = "b.o";
	begin_output();
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		assert_int_equal(run_words(false, in_folder("one"), NULL), COMMAND_FAILED);
		*calls = '\0';
	}
	assert_int_equal(resources_memory(), before);
	(void)end_output();
	options.patterns.count = 0;
	/* Operands that are not files. */
	assert_run(folder, NULL, COMMAND_FAILED, LISTED,
			text_of("side: cannot list the events of %s: it is a directory\n"));
}

static void test_no_files(void **unused)
{
	(void)unused;
	reset();
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	assert_run(in_folder("fifo"), NULL, COMMAND_FAILED, LISTED,
			text_of("side: cannot list the events of %s/fifo: it is not a file\n"));
	assert_int_equal(unlink(in_folder("fifo")), 0);
	assert_run(in_folder("none"), NULL, COMMAND_FAILED, LISTED,
			text_of("side: cannot list the events of %s/none: No such file or directory\n"));
	/* The worst status of several; what fails is printed. */
	assert_run(in_folder("none"), in_folder("one"), COMMAND_FAILED, "read one;" LISTED,
			text_of("side: cannot list the events of %s/none: No such file or directory\n"));
	assert_run("no-such-a", "no-such-b", COMMAND_USAGE, LISTED,
			"side: there is no file `no-such-a`\nhint: write `--` before a command that has arguments\nside: there is no file `no-such-b`\nhint: write `--` before a command that has arguments\n");
	listing_error = -ENOSPC;
	nr_running = 0;
	options.userspace = true;
	assert_run(NULL, NULL, COMMAND_FAILED, LISTED,
			"side: no running program that you may inspect uses libside\nside: cannot list the events of this: No space left on device\n");
}

static void test_libraries(void **unused)
{
	size_t before = 0;

	(void)unused;
	reset();
	make_file("liba");
	make_file("libb");
	images[0] = (struct played){.file = "one", .nr_tables = 1, .needed = {"liba", "none"}};
	images[1] = (struct played){.file = "liba", .nr_tables = 1, .needed = {"libb", "liba"}};
	images[2] = (struct played){.file = "libb", .needed = {"liba", "none"}};
	nr_events = 0;
	/* Not looked into. */
	assert_run(in_folder("one"), NULL, 0, "read one;source one;tables;" LISTED,
			"side: the file has no events\nhint: `--libraries` includes the libraries that it needs\n");
	options.libraries = true;
	nr_events = 1;
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		assert_run(in_folder("one"), NULL, 0,
				"read one;source one;tables;find liba of one;find none of one;read liba;source liba;tables;find libb of liba;read libb;" LISTED,
				text_of("side: the library none, which %s/one needs, was not found\n"));
	}
	assert_int_equal(resources_memory(), before);
	/* Each file has its own. */
	make_file("two");
	images[3] = (struct played){.file = "two", .nr_tables = 1, .needed = {"none"}};
	images[1].is_broken = true;
	assert_run(in_folder("one"), in_folder("two"), COMMAND_FAILED,
			"read one;source one;tables;find liba of one;find none of one;read liba;read two;source two;tables;find none of two;" LISTED,
			text_of("side: the library none, which %s/one needs, was not found\nside: cannot list the events of %s/liba: it is broken\nside: the library none, which %s/two needs, was not found\n"));
	images[1].is_broken = false;
	/* A search that fails. */
	search_error = -EMFILE;
	assert_run(in_folder("one"), NULL, COMMAND_FAILED,
			"read one;source one;tables;find liba of one;read liba;source liba;tables;find libb of liba;read libb;find none of libb;" LISTED,
			text_of("side: cannot list the events of %s/one: Too many open files\nside: cannot list the events of %s/liba: Too many open files\nside: cannot list the events of %s/libb: Too many open files\n"));
	search_error = 0;
	no_search = true;
	images[1].needed[0] = images[2].needed[1] = NULL;
	assert_run(in_folder("one"), NULL, COMMAND_FAILED, "read one;source one;tables;" LISTED,
			text_of("side: cannot list the events of %s/one: Cannot allocate memory\n"));
	no_search = false;
	/* What libelf reports behind the last one. */
	for (int i = 0; i < 3; i++) {
		static const int errors[] = {ENOMEM, EIO, EINVAL};
		static const char *const printed[] = {
				"side: cannot list the events of %s/two: Cannot allocate memory\n",
				"side: cannot list the events of %s/two: Input/output error\n", ""};

		images[3].needed[0] = NULL;
		images[3].error = errors[i];
		assert_run(in_folder("two"), NULL, i < 2 ? COMMAND_FAILED : 0,
				"read two;source two;tables;" LISTED, text_of(printed[i]));
	}
	images[3].error = 0;
	images[3].needed[0] = "libb";
	images[2].needed[0] = NULL;
	/* Each allocation fails. */
	for (unsigned int i = 1; i < 20; i++) {
		int status;
		bool failed;

		begin_output();
		failing_arm(i);
		status = run_words(false, in_folder("two"), NULL);
		failed = failing_has_failed();
		assert_int_equal(status == COMMAND_FAILED,
				strstr(end_output(), "Cannot allocate memory") != NULL);
		*calls = '\0';
		if (!failed) {
			assert_int_equal(status, COMMAND_DONE);
			assert_true(i > 3);
			break;
		}
	}
	assert_int_equal(unlink(in_folder("two")), 0);
	assert_int_equal(unlink(in_folder("liba")), 0);
	assert_int_equal(unlink(in_folder("libb")), 0);
	assert_int_equal(unlink(in_folder("one")), 0);
}

/* ---- patterns ---- */

static void test_unmatched(void **unused)
{
	const char *patterns[] = {"p:evnt"};
	struct listing_source sources[] = {{.path = folder}, {.path = folder}};
	struct list list = {.options = &options,
			.listing = {.nr_seen = 1,
					.sources = sources,
					.nr_sources = 1,
					.others = (char **)(uintptr_t)others,
					.nr_others = 1}};
	char expected[400];

	(void)unused;
	reset();
	options.patterns = (struct text_list){(void *)patterns, 1};
	begin_output();
	list_print_nothing(&list);
	snprintf(expected, sizeof(expected), "side: no event matched `-e p:evnt`: %s has 1 event",
			strrchr(folder, '/') + 1);
	assert_int_equal(strncmp(end_output(), expected, strlen(expected)), 0);
	list.listing.nr_sources = 2;
	begin_output();
	list_print_nothing(&list);
	snprintf(expected, sizeof(expected),
			"side: no event matched `-e p:evnt`: the list has 1 event");
	assert_int_equal(strncmp(end_output(), expected, strlen(expected)), 0);
	list.listing.nr_seen = 0;
	begin_output();
	list_print_nothing(&list);
	assert_output("side: found no events\n");
	options.userspace = true;
	assert_run(NULL, NULL, 0, LISTED,
			"side: no running program that you may inspect uses libside\nside: found no events\n");
	options.names = true;
	options.patterns.count = 0;
	assert_run(NULL, NULL, 0, "sort;print 1;",
			"side: no running program that you may inspect uses libside\nside: found no events\n");
	printed_options.json = true;
	printed_options.color = COLOR_ALWAYS;
	assert_run(NULL, NULL, 0, "sort;print 2;",
			"{\"schema\":1,\"type\":\"note\",\"message\":\"no running program that you may inspect uses libside\"}\n{\"schema\":1,\"type\":\"note\",\"message\":\"found no events\"}\n");
	printed_options.json = false;
	begin_output();
	(void)run_words(false, NULL, NULL);
	(void)end_output();
	assert_called("sort;print 1 color;");
	options.kernel = true;
	assert_run(NULL, NULL, 77, "", "");
}

/* ---- processes ---- */

static void test_processes(void **unused)
{
	const char *pids[] = {"12", "2147483647"};
	size_t before = 0;

	(void)unused;
	reset();
	nr_processes = 0;
	assert_run("11", NULL, 0, "process 11 0 in 0;" LISTED, "side: found no events\n");
	assert_run("0", NULL, COMMAND_FAILED, LISTED,
			"side: cannot list the events of process 0: there is no such process\nhint: `ps -e` lists those that are running\n");
	assert_run("2147483648", NULL, COMMAND_FAILED, LISTED,
			"side: cannot list the events of process 2147483648: there is no such process\nhint: `ps -e` lists those that are running\n");
	assert_run("99999999999999999999", NULL, COMMAND_FAILED, LISTED,
			"side: cannot list the events of process 99999999999999999999: there is no such process\nhint: `ps -e` lists those that are running\n");
	options.pids = (struct text_list){(void *)pids, 2};
	process_status[0] = 3;
	process_status[1] = 2;
	assert_run("13", NULL, 3,
			"process 12 0 in 0;process 2147483647 0 in 0;process 13 0 in 0;" LISTED,
			"");
	process_status[0] = 0;
	assert_run(NULL, NULL, 2, "process 12 0 in 0;process 2147483647 0 in 0;" LISTED, "");
	/* All that run. */
	options.pids.count = 0;
	options.userspace = true;
	running_error = -ENOMEM;
	assert_run(NULL, NULL, COMMAND_FAILED, LISTED,
			"side: cannot find the programs that run: out of memory\n");
	running_error = -EACCES;
	assert_run(NULL, NULL, COMMAND_FAILED, LISTED,
			"side: cannot find the programs that run: Permission denied\n");
	running_error = 0;
	process_status[0] = 2;
	process_status[1] = 3;
	nr_running = 3;
	for (int i = 0; i < 4; i++) {
		static const char *const printed[] = {
				"side: n51 (process 51) and 2 more have no agent\nhint: `side attach -p PID` adds it\n",
				"side: n52 (process 52) and 1 more have no agent\nhint: `side attach -p PID` adds it\n",
				"side: n53 (process 53) has no agent\nhint: `side attach -p 53` adds it\n",
				""};

		assert_run("14", NULL, 3,
				"process 51 1 in 51;process 52 1 in 52;process 53 1 in 53;process 14 0 in 0;" LISTED,
				printed[i]);
		has_recorder[i] = true;
	}
	for (int i = 0; i < 20; i++) {
		before = i == 12 ? resources_memory() : before;
		assert_run(NULL, NULL, 3,
				"process 51 1 in 51;process 52 1 in 52;process 53 1 in 53;" LISTED,
				"");
	}
	assert_int_equal(resources_memory(), before);
	has_recorder[0] = has_recorder[2] = false;
	assert_run(NULL, NULL, 3,
			"process 51 1 in 51;process 52 1 in 52;process 53 1 in 53;" LISTED,
			"side: n51 (process 51) and 1 more have no agent\nhint: `side attach -p PID` adds it\n");
}

/* ---- a command ---- */

#define COMMAND "create 1 0;spawn cmd;source cmd;"

static void assert_command(int status, const char *expected, const char *printed)
{
	begin_output();
	assert_int_equal(run_words(true, "cmd", "argument"), status);
	assert_output(printed);
	assert_called(expected);
}

static void test_command(void **unused)
{
	struct session_message messages[] = {{.text = strdup("note"), .hint = "n"},
			{.text = strdup("error"), .hint = "e", .is_error = true}};

	(void)unused;
	reset();
	begin_output();
	assert_int_equal(run_words(true, NULL, NULL), COMMAND_USAGE);
	assert_output("side: missing operand: a program, file, process or session to list\nhint: write `side list -- COMMAND`\n");
	assert_called(LISTED);
	nr_session_events = 2;
	assert_command(0, COMMAND "add 0;add 1;" LISTED, "");
	options.wrappers = (struct text_list){(void *)others, 1};
	add_error = -ENOMEM;
	assert_command(COMMAND_FAILED, "create 1 1;spawn cmd;source cmd;add 0;" LISTED,
			"side: cannot list the events of cmd: Cannot allocate memory\n");
	options.wrappers = (struct text_list){NULL, 0};
	add_error = 0;
	source_error = -ENOMEM;
	assert_command(COMMAND_FAILED, COMMAND LISTED,
			"side: cannot list the events of cmd: Cannot allocate memory\n");
	source_error = 0;
	for (int i = 0; i < 3; i++) {
		static const char *const printed[] = {
				"side: step 0\n", "side: step 1\n", "side: step 2\n"};

		session_kinds[i] = ERROR_NOT_FOUND;
		assert_command(COMMAND_NOT_FOUND,
				i ? "create 1 0;spawn cmd;" LISTED : "create 1 0;" LISTED,
				printed[i]);
		session_kinds[i] = 0;
	}
	stats.messages = messages;
	stats.nr_messages = 1;
	assert_command(0, COMMAND "add 0;add 1;" LISTED, "side: note\nhint: n\n");
	stats.nr_messages = 2;
	assert_command(COMMAND_FAILED, COMMAND "add 0;add 1;" LISTED,
			"side: note\nhint: n\nside: error\nhint: e\n");
	stats.nr_messages = 0;
	stats.status = 11;
	assert_command(COMMAND_FAILED, COMMAND "add 0;add 1;" LISTED,
			"side: cmd was killed by signal 11 (Segmentation fault) before its main function\n");
	stats.status = 1 << 8;
	assert_command(0, COMMAND "add 0;add 1;" LISTED, "");
	stats.nr_processes = 0;
	assert_command(COMMAND_FAILED, "create 1 0;spawn cmd;" LISTED,
			"side: cannot list the events of cmd: it does not load preloaded libraries (it is linked statically, or gains privileges when it starts)\nhint: give its file to list the events in it, as in `side list ./FILE`\n");
	free(messages[0].text);
	free(messages[1].text);
}

/* ---- sessions ---- */

#define SILENTLY "silently 0;"

static void test_sessions(void **unused)
{
	(void)unused;
	reset();
	assert_run(NULL, NULL, 0, SILENTLY "kept 0;",
			"side: there are no sessions: no daemon runs\nhint: `side create` starts one\n");
	kept_names = "a, b\t";
	options.system = true;
	assert_run(NULL, NULL, 0, "silently 1;kept 1;",
			"side: no daemon runs; its sessions are saved (a, b\\x09), and continue when it starts\nhint: `side daemon` starts it\n");
	options.system = false;
	connect_kind = ERROR_PERMISSION;
	assert_run(NULL, NULL, COMMAND_NOT_PERMITTED, SILENTLY, "side: not connected\n");
	connect_kind = 0;
	assert_run(NULL, NULL, 0, SILENTLY "show - 0 0;close;", "");
	assert_run("web", NULL, 0, SILENTLY "ask status web;show web 0 0;close;", "");
	show_status = 19;
	assert_run("web", NULL, 19, SILENTLY "ask status web;show web 0 0;close;", "");
	show_status = 0;
	printed_options.color = COLOR_ALWAYS;
	assert_run("web", NULL, 0, SILENTLY "ask status web;show web 0 1;close;", "");
	printed_options.json = true;
	assert_run("web", NULL, 0, SILENTLY "ask status web;show web 1 0;close;", "");
	printed_options = (struct common_options){.color = COLOR_NEVER};
	/* No session: a command, or nothing. */
	call_status = -1;
	has_program = true;
	assert_run("web", NULL, 0,
			SILENTLY
			"ask status web;close;program web;create 1 0;spawn web;source web;" LISTED,
			"");
	has_program = false;
	assert_run("web", NULL, COMMAND_NOT_FOUND,
			SILENTLY "ask status web;close;program web;offer 0;" LISTED,
			"side: cannot list web: there is no file, session or command of that name\nhint: did you mean `websession`?\n");
	connect_kind = ERROR_PERMISSION;
	options.system = true;
	assert_run("zzz", NULL, COMMAND_NOT_FOUND, "silently 1;program zzz;offer 1;" LISTED,
			"side: cannot list zzz: there is no file, session or command of that name\nhint: `side list -u` lists the events of running programs\n");
	/* What is no name of a session is not asked for. */
	assert_run("a b", NULL, COMMAND_NOT_FOUND, "program a b;offer 1;" LISTED,
			"side: cannot list a b: there is no file, session or command of that name\nhint: `side list -u` lists the events of running programs\n");
	make_file("tezt");
	assert_int_equal(chdir(folder), 0);
	assert_run("test", NULL, COMMAND_NOT_FOUND, "silently 1;program test;offer 1;" LISTED,
			"side: cannot list test: there is no file, session or command of that name\nhint: did you mean `tezt`?\n");
	assert_int_equal(unlink("tezt"), 0);
	/* What is printed does not arrive. */
	connect_kind = call_status = 0;
	begin_output();
	assert_non_null(freopen("/dev/full", "we", stdout));
	fputc('x', stdout);
	assert_int_equal(run_words(false, "web", NULL), COMMAND_FAILED);
	clearerr(stdout);
	fputc('x', stdout);
	assert_int_equal(run_words(true, "web", NULL), COMMAND_FAILED);
	clearerr(stdout);
	assert_output("side: cannot write to standard output: No space left on device\nside: cannot write to standard output: No space left on device\n");
	*calls = '\0';
}

static int is_over(void **unused)
{
	(void)show_output(unused);
	return nr_objects;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_files, is_over),
			cmocka_unit_test_teardown(test_no_files, is_over),
			cmocka_unit_test_teardown(test_libraries, is_over),
			cmocka_unit_test_teardown(test_unmatched, is_over),
			cmocka_unit_test_teardown(test_processes, is_over),
			cmocka_unit_test_teardown(test_command, is_over),
			cmocka_unit_test_teardown(test_sessions, is_over),
	};
	int ret;

	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(folder);
	return ret;
}
