/* SPDX-License-Identifier: MIT */
/*
 * Makes tables of probes for libraries while the traced programs load them.
 *
 * A separate process with one thread waits for requests from the recorder. It starts a child for
 * each library, because the library that reads debug information can crash on a damaged file. It
 * ends when the recorder closes the socket or is killed.
 */
#include "trace-loaded.h"

#include "programs/common/message.h"

#include "base/descriptors.h"
#include "base/error.h"
#include "base/process-root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Programs wait one second for probes. A file that takes longer than this is damaged. */
#define RESOLVE_SECONDS 60

_Static_assert(PROBE_SPECS_MAX <= 64, "one bit for each spec");

struct loaded_request {
	pid_t pid;
	uint64_t specs; /* bits */
	char path[PATH_MAX];
};

/* An answer has a table for a spec, or none: the library is done. */
struct loaded_answer {
	uint64_t spec;
};

/* ---- the process that resolves ---- */

/* Returns the table, or -1. */
static int loaded_resolve_spec(const struct trace_loaded *loaded, struct resolve *resolve,
		size_t number, const char *path)
{
	struct error error;
	int table = -1;

	if (!probe_make_table(resolve, &loaded->specs[number].spec, &table, &error))
		return table;
	/* A glob may name libraries that do not have the function. */
	if (loaded->libraries[number] && strpbrk(loaded->libraries[number], "*?["))
		message_detail("%.256s: %s", path, error.text);
	else
		message_note_hint(error.hint, "no probes in %.256s: %s", path, error.text);
	return -1;
}

/* All tables at once, because the recorder must not wait for the next one. */
static void loaded_send(const struct trace_loaded *loaded, const int *tables)
{
	for (size_t i = 0; i < loaded->nr_specs; i++) {
		const struct loaded_answer answer = {.spec = i};

		if (tables[i] >= 0)
			(void)descriptors_send(
					loaded->socket, &answer, sizeof(answer), &tables[i], 1, 0);
	}
}

__attribute__((noreturn)) static void loaded_child_main(
		const struct trace_loaded *loaded, const struct loaded_request *request)
{
	const struct probe_loaded loaded_file = {.pid = request->pid, .path = request->path};
	struct resolve *resolve = resolve_new();
	int tables[PROBE_SPECS_MAX];
	struct error error;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(RESOLVE_SECONDS);
	error_set_no_memory(&error);
	if (!resolve || probe_open_loaded(resolve, &loaded_file, &error)) {
		message_detail("no probes in %.256s: %s", request->path, error.text);
		_exit(0);
	}
	for (size_t i = 0; i < loaded->nr_specs; i++) {
		tables[i] = request->specs & UINT64_C(1) << i
				? loaded_resolve_spec(loaded, resolve, i, request->path)
				: -1;
	}
	fflush(NULL);
	loaded_send(loaded, tables);
	_exit(0);
}

/* Waits until the child has ended, or the recorder, which then needs no answer. */
static void loaded_await_child(const struct trace_loaded *loaded, pid_t child)
{
	struct pollfd watched[2] = {
			{.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN},
			{.fd = loaded->socket}};

	while (watched[0].fd >= 0 && !watched[0].revents && !watched[1].revents) {
		if (poll(watched, 2, -1) < 0 && errno != EINTR)
			break;
	}
	if (watched[1].revents)
		(void)kill(child, SIGKILL);
	if (watched[0].fd >= 0)
		close(watched[0].fd);
	(void)waitpid(child, NULL, 0);
}

__attribute__((noreturn)) static void loaded_server_main(const struct trace_loaded *loaded)
{
	static const struct loaded_answer done = {.spec = UINT64_MAX};
	struct loaded_request request;

	/* Ctrl-C is for the recorder: the program may still load libraries until it ends. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	while (recv(loaded->socket, &request, sizeof(request), 0) == sizeof(request)) {
		pid_t child = fork();

		if (!child)
			loaded_child_main(loaded, &request);
		if (child > 0)
			loaded_await_child(loaded, child);
		(void)descriptors_send(loaded->socket, &done, sizeof(done), NULL, 0, 0);
	}
	_exit(0);
}

/*
 * The process is not a child of this one: with `--wait`, the recording lasts as long as this
 * process has children.
 */
static int loaded_start_server(struct trace_loaded *loaded)
{
	int pair[2];
	pid_t child;

	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return message_error(
				COMMAND_FAILED, NULL, "cannot make a socket: %s", strerror(errno));
	child = fork();
	if (!child) {
		close(pair[0]);
		loaded->socket = pair[1];
		if (!fork())
			loaded_server_main(loaded);
		_exit(0);
	}
	close(pair[1]);
	if (child < 0) {
		close(pair[0]);
		return message_error(COMMAND_FAILED, NULL, "cannot start a process: %s",
				strerror(errno));
	}
	(void)waitpid(child, NULL, 0);
	loaded->socket = pair[0];
	return COMMAND_DONE;
}

/* ---- libraries that are loaded ---- */

/* Whether the file is new. Then it is kept. */
static bool loaded_keep_file(struct trace_loaded *loaded, const struct stat *status)
{
	for (size_t i = 0; i < loaded->nr_files; i++) {
		const struct trace_loaded_file *file = &loaded->files[i];

		if (file->device == status->st_dev && file->inode == status->st_ino &&
				file->changed.tv_sec == status->st_mtim.tv_sec &&
				file->changed.tv_nsec == status->st_mtim.tv_nsec)
			return false;
	}
	if (loaded->nr_files == TRACE_LOADED_FILES_MAX)
		return false;
	loaded->files[loaded->nr_files++] = (struct trace_loaded_file){.device = status->st_dev,
			.inode = status->st_ino,
			.changed = status->st_mtim};
	return true;
}

static int loaded_begin_library(void *user, pid_t pid, const char *path, int *ret_fd)
{
	struct trace_loaded *loaded = user;
	struct loaded_request request = {.pid = pid};
	const struct probe_loaded library = {.pid = pid, .path = request.path};
	struct stat status;

	if (strlen(path) >= sizeof(request.path) || *path != '/' || loaded->socket < 0)
		return 0;
	strcpy(request.path, path);
	if (process_root_stat(pid, path, &status) || !S_ISREG(status.st_mode))
		return 0;
	for (size_t i = 0; i < loaded->nr_specs; i++) {
		if (loaded->libraries[i] &&
				probe_loaded_is_named(&library, &status, loaded->libraries[i]))
			request.specs |= UINT64_C(1) << i;
	}
	if (!request.specs || !loaded_keep_file(loaded, &status) ||
			send(loaded->socket, &request, sizeof(request), MSG_NOSIGNAL) < 0)
		return 0;
	*ret_fd = loaded->socket;
	return 1;
}

static size_t loaded_add_table(
		struct trace_loaded *loaded, size_t spec, int fd, struct session_table *ret_table)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (loaded->nr_tables == SESSION_PROBES_MAX || own < 0) {
		if (own >= 0)
			close(own);
		close(fd);
		return 0;
	}
	loaded->tables[loaded->nr_tables++] = (struct trace_loaded_table){.fd = own, .spec = spec};
	*ret_table = (struct session_table){
			.number = loaded->nr_given + (uint32_t)loaded->nr_tables,
			.fd = fd,
			.target = loaded->target};
	return 1;
}

/* The server has sent the first answer, and the others with it: it resolves all specs first. */
static size_t loaded_finish_library(void *user, struct session_table *ret_tables, size_t capacity)
{
	struct trace_loaded *loaded = user;
	struct descriptors_received received;
	struct loaded_answer answer;
	size_t nr = 0;

	while (capacity &&
			descriptors_receive(loaded->socket, &answer, sizeof(answer), 0,
					&received) == sizeof(answer)) {
		if (received.nr == 1 && answer.spec < loaded->nr_specs && nr < capacity)
			nr += loaded_add_table(
					loaded, answer.spec, received.fds[0], &ret_tables[nr]);
		else
			descriptors_close(&received);
		if (answer.spec == UINT64_MAX)
			return nr;
	}
	/* Not needed, or the process was killed. */
	close(loaded->socket);
	loaded->socket = -1;
	return nr;
}

/* ---- begin and end ---- */

int trace_loaded_begin(struct trace_loaded *loaded, const struct spec_options *specs,
		size_t nr_specs, const struct session_table *given, size_t nr_given)
{
	bool has_library = false;

	loaded->specs = specs;
	loaded->nr_specs = nr_specs;
	loaded->nr_given = (uint32_t)nr_given;
	loaded->target = given->target;
	loaded->socket = -1;
	for (size_t i = 0; i < nr_specs; i++) {
		loaded->libraries[i] = resolve_library(&specs[i].spec);
		has_library |= loaded->libraries[i] != NULL;
	}
	if (!has_library)
		return COMMAND_DONE;
	loaded->loads = (struct session_loads){.begin = loaded_begin_library,
			.finish = loaded_finish_library,
			.user = loaded};
	return loaded_start_server(loaded);
}

const struct session_loads *trace_loaded_loads(const struct trace_loaded *loaded)
{
	return loaded->loads.begin ? &loaded->loads : NULL;
}

void trace_loaded_end(struct trace_loaded *loaded)
{
	if (!loaded->loads.begin)
		return;
	if (loaded->socket >= 0)
		close(loaded->socket);
	for (size_t i = 0; i < loaded->nr_tables; i++)
		close(loaded->tables[i].fd);
	for (size_t i = 0; i < loaded->nr_specs; i++)
		free(loaded->libraries[i]);
	loaded->loads.begin = NULL;
}

const struct trace_loaded_table *trace_loaded_find(
		const struct trace_loaded *loaded, uint32_t number)
{
	return number > loaded->nr_given && number - loaded->nr_given <= loaded->nr_tables
			? &loaded->tables[number - loaded->nr_given - 1]
			: NULL;
}
