/* SPDX-License-Identifier: MIT */
/* `side adopt_all_sessions` with a configuration and sessions that the test plays. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "printed.h"

#include "programs/common/command.h"
#include "sessions/boot.h"
#include "recorder/core/live.h"

/* ---- the configuration ---- */

static struct boot_session boots[3] = {{.name = "one"}, {.name = "two"}, {.name = "three"}};
static struct boot_config config;
static int source_status, boot_status, options_status;
static unsigned int nr_definitions, nr_views, nr_sources;

static int played_read(const char *path, struct boot_source *source, struct error *error)
{
	static char name[BOOT_STATE_DIR_MAX];

	called("read %s;", path);
	snprintf(name, sizeof(name), "%s", path);
	*source = (struct boot_source){.path = name, .config = &config};
	nr_sources++;
	if (source_status)
		*error = (struct error){.kind = ERROR_PERMISSION, .text = "no source"};
	return source_status;
}

static void played_source_free(struct boot_source *source)
{
	(void)source;
	nr_sources--;
}

static int played_definition(const struct boot_source *source, const struct boot_session *session,
		struct definition **definition, struct error *error)
{
	static char memory;

	assert_ptr_equal(source->config, &config);
	called("definition %s;", session->name);
	if (boot_status) {
		*error = (struct error){.kind = ERROR_FAILED, .text = "no definition"};
		return boot_status;
	}
	*definition = (struct definition *)(void *)&memory;
	nr_definitions++;
	return 0;
}

static void played_definition_free(struct definition *definition)
{
	nr_definitions -= definition != NULL;
}

static int played_options(const struct definition *definition, struct definition_view *view,
		struct error *error)
{
	assert_non_null(definition);
	if (options_status) {
		*error = (struct error){.kind = ERROR_USAGE, .text = "no options"};
		return options_status;
	}
	view->options.output = "/of/definition";
	nr_views++;
	return 0;
}

static void played_view_free(struct definition_view *view)
{
	(void)view;
	nr_views--;
}

/* ---- sessions ---- */

/* The directory of a process. */
static char made_directory[100];
static bool no_directory;

static char *played_mkdtemp(char *directory)
{
	if (no_directory) {
		errno = EROFS;
		return NULL;
	}
	directory = mkdtemp(directory);
	assert_non_null(directory);
	snprintf(made_directory, sizeof(made_directory), "%s", directory);
	return directory;
}

/* The files that a recorder leaves there. */
static void leave_files(void)
{
	static const char *const names[] = {"place/session", "socket"};
	char path[200];

	snprintf(path, sizeof(path), "%s/place", made_directory);
	assert_int_equal(mkdir(path, 0700), 0);
	for (int i = 0; i < 2; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", made_directory, names[i]);
		fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC | O_WRONLY, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
}

struct played {
	struct session_summary summary;
	uint64_t seen, recorded, bytes, lost;
	int turns_to_end; /* until the process ends; -1: it does not end */
	int turn_error, flush_error, close_error;
	bool is_open, no_status;
};

static struct played sessions[3];
static unsigned int nr_opened, nr_statuses;
static int open_error;

static int set_error(struct error *error, enum error_kind kind, const char *text)
{
	*error = (struct error){.kind = kind};
	snprintf(error->text, sizeof(error->text), "%s", text);
	return -1;
}

static int played_open(const struct session_options *options, const struct session_live *live,
		struct session **session, struct error *error)
{
	struct played *played = &sessions[nr_opened];

	assert_true(options->mode == SESSION_RECORD);
	called("open %s at %s, %s%s%s%s pid %d, output %s%s, format %d, compress %d;",
			live->state_dir, live->socket, live->boot ? "boot " : "",
			live->leave ? "leave " : "", live->active ? "active" : "",
			live->any_user ? "any" : "", (int)live->only,
			options->output ? options->output : "-", options->force ? " force" : "",
			(int)options->format, options->compress);
	if (open_error)
		return set_error(error, ERROR_PERMISSION, "not opened");
	nr_opened++;
	played->is_open = true;
	if (live->only)
		leave_files();
	*session = (struct session *)(void *)played;
	error->kind = ERROR_FAILED; /* set although the call succeeds */
	return 0;
}

static int played_turn(struct session *session, int timeout_ms, struct error *error)
{
	struct played *played = (struct played *)(void *)session;

	assert_true(played->is_open);
	called("turn %d %d;", (int)(played - sessions), timeout_ms);
	if (played->turns_to_end > 0)
		played->turns_to_end--;
	if (played->turn_error)
		return set_error(error, ERROR_FAILED, "no turn");
	return 0;
}

static int played_status(struct session *session, struct session_status *status)
{
	struct played *played = (struct played *)(void *)session;
	static struct session_status_process processes[3][2];
	static char name[] = "na\"me", directory[] = "dir", none[] = "";
	struct session_status_process *process = processes[played - sessions];

	assert_true(played->is_open);
	if (played->no_status)
		return -ENOMEM;
	nr_statuses++;
	process[0] = (struct session_status_process){.procname = name,
			.directory = directory,
			.recorded = 31,
			.bytes = 32,
			.lost = 33,
			.ended = !played->turns_to_end};
	process[1] = (struct session_status_process){.procname = none,
			.directory = none,
			.recorded = 41,
			.bytes = 42,
			.lost = 43,
			.ended = true};
	*status = (struct session_status){.nr_seen = played->seen,
			.recorded = played->recorded,
			.bytes = played->bytes,
			.lost = played->lost,
			.processes = process,
			.nr_processes = played->seen > 1 ? 2 : (size_t)played->seen};
	return 0;
}

static void played_status_free(struct session_status *status)
{
	(void)status;
	nr_statuses--;
}

static const struct session_summary *played_summary(struct session *session)
{
	return &((struct played *)(void *)session)->summary;
}

static int played_flush(struct session *session, unsigned int timeout_ms)
{
	struct played *played = (struct played *)(void *)session;

	called("flush %d %u;", (int)(played - sessions), timeout_ms);
	return played->flush_error;
}

static void played_close_session(struct session *session, bool finish, struct error *error)
{
	struct played *played = (struct played *)(void *)session;

	called("close %d%s;", (int)(played - sessions), finish ? " finish" : "");
	assert_true(played->is_open);
	played->is_open = false;
	error->kind = ERROR_NONE;
	if (played->close_error)
		set_error(error, ERROR_USAGE, "not closed");
}

static void played_messages(struct session *session)
{
	called("messages %d;", (int)((struct played *)(void *)session - sessions));
}

/* ---- signals ---- */

static bool no_mask, no_signals;
static unsigned int polls_to_signal, nr_signals;
static char signal_text[100];

static int played_mask(int how, const sigset_t *set, sigset_t *old)
{
	assert_true(how == SIG_BLOCK && !old);
	*signal_text = '\0';
	for (int i = 1; i < 65; i++)
		if (sigismember(set, i) == 1)
			snprintf(signal_text + strlen(signal_text),
					sizeof(signal_text) - strlen(signal_text), "%d ", i);
	return no_mask ? EINVAL : 0;
}

static int played_signalfd(int fd, const sigset_t *set, int flags)
{
	assert_true(fd == -1 && set && flags == (SFD_CLOEXEC | SFD_NONBLOCK));
	if (no_signals) {
		errno = EMFILE;
		return -1;
	}
	nr_signals++;
	return 0; /* descriptor 0 is one, too */
}

static int played_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	assert_true(count == 1 && !fds->fd && fds->events == POLLIN && !timeout_ms);
	assert_true(polls_to_signal > 0);
	errno = EINTR;
	return --polls_to_signal ? (polls_to_signal % 2 ? -1 : 0) : 1;
}

static int played_close(int fd)
{
	assert_int_equal(fd, 0);
	nr_signals--;
	return 0;
}

#define mkdtemp played_mkdtemp
#define boot_source_read played_read
#define boot_source_free played_source_free
#define definition_of_boot played_definition
#define definition_free played_definition_free
#define definition_options played_options
#define definition_view_free played_view_free
#define session_open played_open
#define session_turn played_turn
#define session_status(...) played_status(__VA_ARGS__)
#define session_status_free played_status_free
#define session_summary(...) played_summary(__VA_ARGS__)
#define session_flush played_flush
#define session_close played_close_session
#define command_live_messages played_messages
#define pthread_sigmask played_mask
#define signalfd played_signalfd
#define poll(...) played_poll(__VA_ARGS__)
#define close played_close
#include "programs/side/record/adopt.c"
#undef signalfd
#undef poll
#undef close
#undef mkdtemp

/* ---- tests ---- */

static char folder[] = "/tmp/side-test-adopt-XXXXXX";

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
	memset(sessions, 0, sizeof(sessions));
	sessions[0] = (struct played){.summary.output = "/out/a b",
			.seen = 2,
			.recorded = 1234,
			.bytes = 2048,
			.lost = 5};
	sessions[1] = (struct played){.summary.output = "/out/two", .seen = 1, .recorded = 1};
	sessions[2] = (struct played){.summary.output = "/out/three"};
	config = (struct boot_config){.state_dir = folder, .sessions = &boots[0], .nr_sessions = 1};
	for (int i = 0; i < 3; i++)
		boots[i].next = NULL;
	nr_opened = 0;
	polls_to_signal = 0;
	open_error = source_status = boot_status = options_status = 0;
	no_mask = no_signals = false;
	printed_options = (struct common_options){.color = COLOR_NEVER};
}

/* Three sessions: one, two, three. */
static void link_all(void)
{
	boots[0].next = &boots[1];
	boots[1].next = &boots[2];
	config.nr_sessions = 3;
}

static int run(struct adopt_options options, const char *operand)
{
	char word[300], *operands[] = {word, NULL};
	struct parsed parsed = {.options.adopt = options,
			.common = printed_options,
			.operands = operand ? operands : operands + 1,
			.operand_count = operand != NULL};
	int status;

	if (operand)
		snprintf(word, sizeof(word), "%s", operand);
	nr_opened = 0;
	status = cmd_adopt(&parsed);
	assert_int_not_equal(access(made_directory, F_OK), 0);
	assert_int_not_equal(access("/side-mine", F_OK), 0);
	assert_int_equal(nr_signals, 0);
	assert_int_equal(nr_statuses, 0);
	assert_int_equal(nr_definitions, 0);
	assert_int_equal(nr_views, 0);
	assert_int_equal(nr_sources, 0);
	for (int i = 0; i < 3; i++)
		assert_false(sessions[i].is_open);
	return status;
}

/* The source of the configuration. */
static void test_source(void **unused)
{
	struct adopt_options check = {.check = true};
	char expected[300];
	FILE *file;

	(void)unused;
	reset();
	unsetenv("SIDE_BOOT");
	begin_output();
	assert_int_equal(run(check, NULL), COMMAND_DONE);
	snprintf(expected, sizeof(expected), "/etc/side/boot.conf: 1 session, in %s\n", folder);
	assert_output(expected);
	assert_called("read /etc/side/boot.conf;");
	config.nr_sessions = 2;
	setenv("SIDE_BOOT", "/x/env", 1);
	begin_output();
	assert_int_equal(run(check, NULL), COMMAND_DONE);
	snprintf(expected, sizeof(expected), "/x/env: 2 sessions, in %s\n", folder);
	assert_output(expected);
	assert_called("read /x/env;");
	/* No file in the state directory, a directory, and a file. */
	config.state_dir = "/not/used";
	for (int i = 0; i < 4; i++) {
		if (i == 1)
			assert_int_equal(mkdir(in_folder("boot.conf"), 0700), 0);
		if (i == 2) {
			assert_int_equal(rmdir(in_folder("boot.conf")), 0);
			file = fopen(in_folder("boot.conf"), "we");
			assert_non_null(file);
			(void)fclose(file);
		}
		check.boot = i == 3 ? "/x/given" : NULL;
		begin_output();
		assert_int_equal(run(check, folder), COMMAND_DONE);
		snprintf(expected, sizeof(expected), "%s%s: 2 sessions, in %s\n",
				i < 2                    ? "/x/env"
						: i == 2 ? folder
							 : "/x/given",
				i == 2 ? "/boot.conf" : "", folder);
		assert_output(expected);
		*calls = '\0';
	}
	assert_int_equal(unlink(in_folder("boot.conf")), 0);
	unsetenv("SIDE_BOOT");
	printed_options.quiet = true;
	begin_output();
	assert_int_equal(run(check, folder), COMMAND_DONE);
	assert_output("");
	/* Standard output cannot be written. */
	printed_options.quiet = false;
	begin_output();
	assert_int_equal(freopen("/dev/full", "we", stdout) != NULL, 1);
	assert_int_equal(run(check, folder), COMMAND_FAILED);
	clearerr(stdout);
	assert_output("side: cannot write to standard output: No space left on device\n");
	source_status = -EPERM;
	begin_output();
	assert_int_equal(run(check, folder), COMMAND_NOT_PERMITTED);
	assert_output("side: no source\n");
	*calls = '\0';
}

static void test_place(void **unused)
{
	struct adopt_options options = {.follow = false};
	char expected[500];
	FILE *file;

	(void)unused;
	reset();
	begin_output();
	assert_int_equal(run(options, "a/b"), COMMAND_USAGE);
	assert_output("side: the state directory a/b is not an absolute path\nhint: begin it with a \"/\"\n");
	options.follow = true;
	begin_output();
	assert_int_equal(run(options, "a/b"), COMMAND_USAGE);
	assert_output("side: the state directory a/b is not an absolute path\nhint: begin it with a \"/\"\n");
	options.follow = false;
	file = fopen(in_folder("file"), "we");
	assert_non_null(file);
	(void)fclose(file);
	for (int i = 0; i < 2; i++) {
		const char *state_dir = in_folder(i ? "file" : "none");

		begin_output();
		assert_int_equal(run(options, state_dir), COMMAND_FAILED);
		snprintf(expected, sizeof(expected),
				"side: cannot adopt: %s is not a directory\nhint: programs create it when they start with SIDE_BOOT in their environment\nhint: `side doctor boot` shows what is missing\n",
				state_dir);
		assert_output(expected);
	}
	assert_int_equal(unlink(in_folder("file")), 0);
	/* The configuration exists, but none of its sessions. */
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_DONE);
	snprintf(expected, sizeof(expected), "side: no program has recorded in %s yet\n", folder);
	assert_output(expected);
	assert_string_equal(signal_text, "1 2 15 ");
	*calls = '\0';
	/* Failing calls. */
	no_mask = true;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_FAILED);
	assert_output("side: cannot wait for signals\n");
	no_mask = false;
	no_signals = true;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_FAILED);
	assert_output("side: cannot wait for signals: Too many open files\n");
	*calls = '\0';
}

#define AT_ONE "open %s/one at %s/one/socket, boot leave active pid 0, "
#define CLOSED(i, finish) "flush " i " 60000;turn " i " 0;messages " i ";close " i finish ";"

static void assert_called_in(const char *format)
{
	char text[2000];
	size_t used = 0;

	for (; *format; format++) {
		if (format[0] == '%' && format[1] == 's') {
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", folder);
			format++;
		} else {
			text[used++] = *format;
		}
	}
	text[used] = '\0';
	assert_called(text);
}

/* The output in messages is always the one that the session reports. */
#define ADOPTED "side: adopted 1,234 events from 2 processes of session one, 2.0 KiB, in /out/a b\n"
#define LOST \
	"side: 5 events were lost for reasons that only the traces contain\nhint: `side report --losses` shows them\n"
#define SEE "side: see it with: side view '/out/a b'\n"
#define GO_ON "side: programs continue to record in one: run `side adopt` again for later events\n"
#define READ "read /etc/side/boot.conf;"

static void test_one(void **unused)
{
	struct adopt_options options = {.follow = false};

	(void)unused;
	reset();
	assert_int_equal(mkdir(in_folder("one"), 0700), 0);
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_DONE);
	assert_output(ADOPTED LOST SEE);
	assert_called_in(
			READ "definition one;" AT_ONE
			     "output /of/definition, format 0, compress 0;" CLOSED("0", " finish"));
	/* Processes live. */
	sessions[0].turns_to_end = -1;
	options = (struct adopt_options){
			.output = "/side-mine", .force = true, .format = 2, .compress = 7};
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_DONE);
	assert_output(ADOPTED LOST GO_ON SEE);
	assert_called_in(READ "definition one;" AT_ONE
			      "output /side-mine force, format 2, compress 7;" CLOSED("0", ""));
	printed_options.quiet = true;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_DONE);
	assert_output(LOST);
	printed_options.quiet = false;
	sessions[0].turns_to_end = 0;
	sessions[0].bytes = sessions[0].lost = 0;
	sessions[0].seen = sessions[0].recorded = 1;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_DONE);
	assert_output("side: adopted 1 event from 1 process of session one, 0 bytes, in /out/a b\n");
	sessions[0].bytes = 1;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_DONE);
	assert_output("side: adopted 1 event from 1 process of session one, 1 byte, in /out/a b\n" SEE);
	*calls = '\0';
	assert_int_equal(rmdir(in_folder("one")), 0);
}

static void test_json(void **unused)
{
	struct adopt_options options = {.follow = false};

	(void)unused;
	reset();
	assert_int_equal(mkdir(in_folder("one"), 0700), 0);
	printed_options.json = true;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_DONE);
	assert_output("{\"schema\":1,\"type\":\"summary\",\"verb\":\"adopt\",\"session\":\"one\",\"output\":\"/out/a b\",\"seen\":2,\"recorded\":1234,\"bytes\":2048,\"lost\":5,\"running\":false,\"processes\":["
		      "{\"name\":\"na\\\"me\",\"directory\":\"dir\",\"recorded\":31,\"bytes\":32,\"lost\":33,\"ended\":true},"
		      "{\"name\":\"\",\"directory\":\"\",\"recorded\":41,\"bytes\":42,\"lost\":43,\"ended\":true}]}\n");
	sessions[0].turns_to_end = -1;
	sessions[0].seen = 1;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_DONE);
	assert_output("{\"schema\":1,\"type\":\"summary\",\"verb\":\"adopt\",\"session\":\"one\",\"output\":\"/out/a b\",\"seen\":1,\"recorded\":1234,\"bytes\":2048,\"lost\":5,\"running\":true,\"processes\":["
		      "{\"name\":\"na\\\"me\",\"directory\":\"dir\",\"recorded\":31,\"bytes\":32,\"lost\":33,\"ended\":false}]}\n");
	*calls = '\0';
	assert_int_equal(rmdir(in_folder("one")), 0);
}

static void test_several(void **unused)
{
	struct adopt_options options = {.output = in_folder("out")};
	char text[300];

	(void)unused;
	reset();
	link_all();
	assert_int_equal(mkdir(in_folder("one"), 0700), 0);
	assert_int_equal(mkdir(in_folder("three"), 0700), 0);
	sessions[0].lost = 0;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_DONE);
	assert_output(ADOPTED SEE
			"side: adopted 1 event from 1 process of session three, 0 bytes, in /out/two\n");
	assert_called_in(READ
			"definition one;" AT_ONE "output %s/out/one, format 0, compress 0;"
			"definition three;open %s/three at %s/three/socket, boot leave active pid 0, output %s/out/three, format 0, compress 0;" CLOSED(
					"0", " finish") CLOSED("1", " finish"));
	assert_int_equal(rmdir(options.output), 0);
	assert_int_equal(rmdir(in_folder("three")), 0);
	/* Without an output, no directory is made. */
	options.output = NULL;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_DONE);
	assert_output(ADOPTED SEE);
	*calls = '\0';
	/* The directory of the output cannot be made; it exists. */
	options.output = in_folder("none/out");
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_FAILED);
	snprintf(text, sizeof(text), "side: cannot make %s: No such file or directory\n",
			options.output);
	assert_output(text);
	assert_called(READ "definition one;");
	options.output = folder;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_DONE);
	assert_output(ADOPTED SEE);
	*calls = '\0';
	assert_int_equal(rmdir(in_folder("one")), 0);
}

/* Each failure has its own status, and everything is closed. */
static void test_failures(void **unused)
{
	struct adopt_options options = {.output = "/side-mine"};
	char name[4200];
	size_t length;

	(void)unused;
	reset();
	assert_int_equal(mkdir(in_folder("one"), 0700), 0);
	boot_status = -EINVAL;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_FAILED);
	assert_output("side: no definition\n");
	boot_status = 0;
	options_status = -EINVAL;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_USAGE);
	assert_output("side: no options\n");
	options_status = 0;
	open_error = 1;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_NOT_PERMITTED);
	assert_output("side: not opened\n");
	open_error = 0;
	*calls = '\0';
	options.compress = 20;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_USAGE);
	assert_output("side: cannot compress at level 20: levels are 1 to 19\n");
	assert_called(READ "definition one;");
	options.compress = 19;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_DONE);
	assert_output(ADOPTED LOST SEE);
	*calls = '\0';
	options.compress = 0;
	/* While it is closed. */
	sessions[0].flush_error = -ENOSPC;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_FAILED);
	assert_output("side: not everything could be written: No space left on device\nhint: the remaining events stay in the state directory: run `side adopt` again\n" ADOPTED
					LOST SEE);
	assert_called_in(READ
			"definition one;" AT_ONE
			"output /side-mine, format 0, compress 0;flush 0 60000;messages 0;close 0;");
	sessions[0].flush_error = 0;
	sessions[0].turn_error = 1;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_FAILED);
	assert_output("side: no turn\n" ADOPTED LOST SEE);
	assert_called_in(READ "definition one;" AT_ONE
			      "output /side-mine, format 0, compress 0;" CLOSED("0", ""));
	sessions[0].close_error = 1;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_FAILED);
	assert_output("side: no turn\n" ADOPTED LOST SEE);
	sessions[0].turn_error = 0;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_USAGE);
	assert_output(ADOPTED LOST SEE "side: not closed\n");
	sessions[0].close_error = 0;
	*calls = '\0';
	sessions[0].no_status = true;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_DONE);
	assert_output("");
	assert_called_in(READ "definition one;" AT_ONE
			      "output /side-mine, format 0, compress 0;" CLOSED("0", ""));
	sessions[0].no_status = false;
	/* The first status counts, and both sessions are closed. */
	link_all();
	options.output = NULL;
	assert_int_equal(mkdir(in_folder("two"), 0700), 0);
	sessions[0].close_error = 1;
	sessions[1].flush_error = -EIO;
	printed_options.quiet = true;
	begin_output();
	assert_int_equal(run(options, NULL), COMMAND_USAGE);
	assert_output(LOST
			"side: not closed\nside: not everything could be written: Input/output error\nhint: the remaining events stay in the state directory: run `side adopt` again\n");
	assert_int_equal(rmdir(in_folder("two")), 0);
	assert_int_equal(rmdir(in_folder("one")), 0);
	/* A path with one byte too many. */
	printed_options.quiet = false;
	config.nr_sessions = 1;
	boots[0].next = NULL;
	*calls = '\0';
	for (int i = 0; i < 2; i++) {
		struct adopted adopted = {.output = NULL};
		struct adopt_run adoption = {.options = &options, .state_dir = name};
		static char memory;

		/* "/one/socket" */
		length = BOOT_STATE_DIR_MAX - 1 - 11 + (size_t)i;
		memset(name, 'd', length);
		name[0] = '/';
		name[length] = '\0';
		adoption.source.config = &config;
		nr_opened = 0;
		begin_output();
		assert_int_equal(adopt_open_session(&adoption, &boots[0], &adopted,
						 (struct definition *)(void *)&memory),
				i ? COMMAND_USAGE : COMMAND_DONE);
		if (i) {
			char text[4300];

			snprintf(text, sizeof(text),
					"side: the path of the state directory %s is too long\n",
					name);
			assert_output(text);
			assert_null(adopted.session);
		} else {
			assert_output("");
			sessions[0].is_open = false;
		}
	}
	*calls = '\0';
}

/* No memory for the name of the output: nothing is written elsewhere. */
static void test_memory(void **unused)
{
	struct adopt_options options = {.output = in_folder("out")};
	size_t memory = 0;

	(void)unused;
	reset();
	assert_int_equal(mkdir(in_folder("one"), 0700), 0);
	for (int i = 0; i < 4; i++) {
		config.nr_sessions = 1 + (unsigned int)i % 2;
		memory = i == 2 ? resources_memory() : memory;
		begin_output();
		failing_arm(1);
		assert_int_equal(run(options, NULL), COMMAND_FAILED);
		assert_true(failing_has_failed());
		assert_output("side: out of memory\n");
		assert_called(READ "definition one;");
	}
	assert_int_equal(resources_memory(), memory);
	/* The names are freed. */
	for (int i = 0; i < 4; i++) {
		config.nr_sessions = 1 + (unsigned int)i % 2;
		memory = i == 2 ? resources_memory() : memory;
		begin_output();
		assert_int_equal(run(options, NULL), COMMAND_DONE);
		assert_output(ADOPTED LOST SEE);
		*calls = '\0';
	}
	assert_int_equal(resources_memory(), memory);
	assert_int_equal(rmdir(in_folder("one")), 0);
	assert_int_equal(rmdir(in_folder("out")), 0);
}

static void test_follow(void **unused)
{
	struct adopt_options options = {.follow = true};
	char text[500];

	(void)unused;
	reset();
	/*
	 * Directories that do not exist yet are opened, too. Both processes end, one after the
	 * other.
	 */
	link_all();
	boots[1].next = NULL;
	sessions[0].turns_to_end = 1;
	sessions[1].turns_to_end = 3;
	sessions[0].lost = 0;
	polls_to_signal = 9;
	begin_output();
	assert_int_equal(run(options, in_folder("later")), COMMAND_DONE);
	snprintf(text, sizeof(text),
			"side: cannot adopt: %s/later is not a directory\nhint: programs create it when they start with SIDE_BOOT in their environment\nhint: `side doctor boot` shows what is missing\n" ADOPTED
					SEE
			"side: adopted 1 event from 1 process of session two, 0 bytes, in /out/two\n",
			folder);
	assert_output(text);
	assert_int_equal(polls_to_signal, 7);
	assert_non_null(strstr(calls,
			";turn 0 100;messages 0;turn 1 0;messages 1;turn 0 100;messages 0;turn 1 0;messages 1;turn 0 100;messages 0;turn 1 0;messages 1;flush 0 60000;"));
	*calls = '\0';
	/* The other way round: the first one lives longer. */
	sessions[0].turns_to_end = 2;
	polls_to_signal = 9;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_DONE);
	assert_output(ADOPTED SEE
			"side: adopted 1 event from 1 process of session two, 0 bytes, in /out/two\n");
	assert_int_equal(polls_to_signal, 8);
	*calls = '\0';
	/* Wait for a signal: no process has connected. */
	boots[0].next = NULL;
	sessions[0].seen = 0;
	sessions[0].bytes = sessions[0].recorded = 0;
	polls_to_signal = 3;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_DONE);
	assert_output("side: adopted 0 events from 0 processes of session one, 0 bytes, in /out/a b\n");
	assert_int_equal(polls_to_signal, 0);
	*calls = '\0';
	/* A process lives until the signal. */
	sessions[0].seen = 1;
	sessions[0].turns_to_end = -1;
	polls_to_signal = 2;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_DONE);
	assert_output("side: adopted 0 events from 1 process of session one, 0 bytes, in /out/a b\n" GO_ON);
	assert_int_equal(polls_to_signal, 0);
	*calls = '\0';
	/* The wait fails. */
	sessions[0].turn_error = 1;
	polls_to_signal = 2;
	printed_options.quiet = true;
	begin_output();
	assert_int_equal(run(options, folder), COMMAND_FAILED);
	assert_output("side: no turn\nside: no turn\n");
	assert_int_equal(polls_to_signal, 2);
	*calls = '\0';
}

/* ---- a process whose rings are in no directory ---- */

static void test_number(void **unused)
{
	(void)unused;
	assert_int_equal(adopt_get_process(NULL), 0);
	assert_int_equal(adopt_get_process(""), 0);
	assert_int_equal(adopt_get_process("/1"), 0);
	assert_int_equal(adopt_get_process(":1"), 0);
	assert_int_equal(adopt_get_process("-1"), 0);
	assert_int_equal(adopt_get_process(" 1"), 0);
	assert_int_equal(adopt_get_process("+1"), 0);
	assert_int_equal(adopt_get_process("0"), 0);
	assert_int_equal(adopt_get_process("01"), 1);
	assert_int_equal(adopt_get_process("9"), 9);
	assert_int_equal(adopt_get_process("12x"), 0);
	assert_int_equal(adopt_get_process("2147483647"), 2147483647);
	assert_int_equal(adopt_get_process("2147483648"), 0);
}

static void test_process(void **unused)
{
	struct adopt_options options = {
			.output = "/side-mine", .force = true, .format = 1, .compress = 3};
	char own[20], *at;

	(void)unused;
	reset();
	sessions[0].summary.output = "/side-mine";
	sessions[0].lost = 0;
	snprintf(own, sizeof(own), "%d", (int)getpid());
	begin_output();
	assert_int_equal(run(options, own), COMMAND_DONE);
	assert_output("side: adopted 1,234 events from 2 processes of session boot, 2.0 KiB, in /side-mine\nside: see it with: side view /side-mine\n");
	at = strstr(calls, "/place at ");
	assert_memory_equal(calls, "open /tmp/side-adopt-", 21);
	assert_non_null(at);
	assert_memory_equal(at + 10, calls + 5, (size_t)(at - calls - 5));
	at = strstr(at + 10, "/socket, ");
	assert_non_null(at);
	snprintf(calls, sizeof(calls), "%s", at);
	{
		char text[300];

		snprintf(text, sizeof(text),
				"/socket, boot leave active pid %s, output /side-mine force, format 1, compress 3;" CLOSED(
						"0", " finish"),
				own);
		assert_called(text);
	}
	options.compress = 20;
	begin_output();
	assert_int_equal(run(options, own), COMMAND_USAGE);
	assert_output("side: cannot compress at level 20: levels are 1 to 19\n");
	options.compress = 0;
	open_error = 1;
	begin_output();
	assert_int_equal(run(options, own), COMMAND_NOT_PERMITTED);
	assert_output("side: not opened\n");
	open_error = 0;
	no_signals = true;
	begin_output();
	assert_int_equal(run(options, own), COMMAND_FAILED);
	assert_output("side: cannot wait for signals: Too many open files\n");
	no_signals = false;
	no_directory = true;
	begin_output();
	assert_int_equal(run(options, own), COMMAND_FAILED);
	assert_output("side: cannot make /tmp/side-adopt-XXXXXX: Read-only file system\n");
	no_directory = false;
	/* No line concerns this recorder. */
	*calls = '\0';
	sessions[0].seen = sessions[0].bytes = sessions[0].recorded = 0;
	printed_options.quiet = true;
	begin_output();
	assert_int_equal(run(options, "2147483647"), COMMAND_FAILED);
	assert_output("side: there is no process 2147483647\n");
	assert_non_null(strstr(calls, ";messages 0;flush 0 60000;"));
	begin_output();
	assert_int_equal(run(options, own), geteuid() ? COMMAND_NOT_PERMITTED : COMMAND_FAILED);
	{
		char text[300];

		snprintf(text, sizeof(text),
				"side: cannot adopt process %s: its memory contains no recording by a static configuration\nhint: run as root, or name the state directory instead\n",
				own);
		assert_output(text);
	}
	sessions[0].no_status = true;
	begin_output();
	assert_int_equal(run(options, own), COMMAND_FAILED);
	assert_output("side: out of memory\n");
	*calls = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_teardown(test_source, show_output),
			cmocka_unit_test_teardown(test_place, show_output),
			cmocka_unit_test_teardown(test_one, show_output),
			cmocka_unit_test_teardown(test_json, show_output),
			cmocka_unit_test_teardown(test_several, show_output),
			cmocka_unit_test_teardown(test_failures, show_output),
			cmocka_unit_test_teardown(test_memory, show_output),
			cmocka_unit_test_teardown(test_follow, show_output),
			cmocka_unit_test_teardown(test_number, show_output),
			cmocka_unit_test_teardown(test_process, show_output),
	};
	int ret;

	(void)umask(022);
	if (!mkdtemp(folder))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(folder);
	return ret;
}
