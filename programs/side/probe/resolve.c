/* SPDX-License-Identifier: MIT */
/* Resolve specs into tables in a child process, which reads each file once, and sends the tables. */
#include "spec-options.h"

#include "base/descriptors.h"
#include "base/error.h"
#include "base/process-root.h"
#include "probe/code/code.h"
#include "programs/common/message.h"
#include "symbolize/debuginfod.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REASONS_MAX 12

/* Refusals by reason: equal reasons are printed once, with the first location. */
struct refusals {
	struct resolve_refusal_reason {
		char text[ERROR_TEXT_SIZE], location[320], hint[ERROR_HINT_SIZE];
		uint64_t count;
		enum resolve_refused what;
	} reasons[REASONS_MAX];
	size_t count;
	uint64_t others;
};

static void probe_resolve_add_refusal(void *user, const struct resolve_refusal *refusal)
{
	struct refusals *refusals = user;
	struct resolve_refusal_reason *reason = refusals->reasons;
	char name[160];

	while (reason < refusals->reasons + refusals->count &&
			(strcmp(reason->text, refusal->reason) != 0 ||
					reason->what != refusal->what))
		reason++;
	if (reason == refusals->reasons + REASONS_MAX) {
		refusals->others++;
		return;
	}
	if (!reason->count++) {
		refusals->count++;
		reason->what = refusal->what;
		snprintf(reason->text, sizeof(reason->text), "%s", refusal->reason);
		snprintf(reason->hint, sizeof(reason->hint), "%s",
				refusal->hint ? refusal->hint : "");
		snprintf(reason->location, sizeof(reason->location), "%s%s%.128s, at 0x%" PRIx64,
				format_printable(refusal->function, name, sizeof(name)),
				*refusal->function ? " of " : "", refusal->module,
				refusal->address);
	}
}

static void probe_resolve_report_refusals(const struct refusals *refusals)
{
	for (size_t i = 0; i < refusals->count; i++) {
		const struct resolve_refusal_reason *reason = &refusals->reasons[i];
		const char *what = reason->what == RESOLVE_NO_RETURN ? "returns not recorded:"
								     : "left out:";

		if (reason->what == RESOLVE_NOTE)
			message_note_hint(reason->hint, "%s", reason->text);
		else if (reason->count == 1)
			message_note_hint(reason->hint, "%s %s: %s", what, reason->location,
					reason->text);
		else
			message_note_hint(reason->hint, "%s %" PRIu64 " locations, such as %s: %s",
					what, reason->count, reason->location, reason->text);
	}
	if (refusals->others)
		message_note("left out for other reasons: %" PRIu64 " locations", refusals->others);
}

/* ---- a library that was loaded ---- */

/* LIB is a path that leads to the file by links, or from the current directory. */
static int probe_loaded_find_path(
		void *user, struct resolve *resolve, const char *library, struct error *error)
{
	const struct probe_loaded *loaded = user;

	(void)library;
	return resolve_add_later(resolve, loaded->path,
			process_root_open(loaded->pid, loaded->path, O_RDONLY | O_NONBLOCK), error);
}

int probe_open_loaded(
		struct resolve *resolve, const struct probe_loaded *loaded, struct error *error)
{
	int ret = resolve_add_mapped(resolve, loaded->pid, loaded->path, error);

	resolve_set_later(resolve, probe_loaded_find_path, (void *)(uintptr_t)loaded);
	return ret;
}

bool probe_loaded_is_named(
		const struct probe_loaded *loaded, const struct stat *file, const char *library)
{
	struct stat other;
	int ret;

	if (!strchr(library, '/'))
		return resolve_is_library(strrchr(loaded->path, '/') + 1, library);
	if (!fnmatch(library, loaded->path, 0))
		return true;
	ret = *library == '/' ? process_root_stat(loaded->pid, library, &other)
			      : stat(library, &other);
	return !ret && other.st_dev == file->st_dev && other.st_ino == file->st_ino;
}

/* ---- tables ---- */

static bool probe_resolve_has_ended(pid_t pid)
{
	char link[32], byte;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	return readlink(link, &byte, 1) < 0 && (errno == ENOENT || errno == ESRCH);
}

/* A glob may name libraries that do not have the location, and the process may have ended. */
static int probe_resolve_fail(const struct probe_target *target, const struct error *error)
{
	if (!target->loaded)
		return message_library_error(error);
	if (!target->is_glob && !probe_resolve_has_ended(target->pid))
		return message_error(COMMAND_FAILED, error->hint, "no probes in %.256s: %s",
				target->loaded, error->text);
	message_detail("no probes in %.256s: %s", target->loaded, error->text);
	return COMMAND_FAILED;
}

/* Opens the files of the target. */
static int probe_resolve_open(const struct probe_target *target, const struct probe_loaded *loaded,
		struct resolve **ret_resolve)
{
	struct error error;
	int ret = -ENOMEM;

	error_set_no_memory(&error);
	*ret_resolve = resolve_new();
	if (*ret_resolve && target->loaded) {
		ret = probe_open_loaded(*ret_resolve, loaded, &error);
	} else if (*ret_resolve) {
		ret = probe_add_files(target, *ret_resolve, &error);
		resolve_set_later(*ret_resolve, probe_find_later, (void *)(uintptr_t)target);
		if (target->pending != PROBE_PENDING_NEVER)
			resolve_set_pending(
					*ret_resolve, target->pending == PROBE_PENDING_ACCEPTED);
	}
	return ret ? probe_resolve_fail(target, &error) : COMMAND_DONE;
}

int probe_make_table(struct resolve *resolve, const struct probe_spec *spec, int *ret_table,
		struct error *error)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	struct refusals *refusals = calloc(1, sizeof(*refusals));
	int ret = -ENOMEM;

	error_set_no_memory(error);
	if (refusals && writer)
		ret = resolve_spec(
				resolve, spec, writer, probe_resolve_add_refusal, refusals, error);
	if (!ret) {
		*ret_table = probe_table_memfd(writer);
		if (*ret_table >= 0)
			probe_resolve_report_refusals(refusals);
		else
			ret = error_set(error, *ret_table, NULL,
					"cannot create the probe table: %s", strerror(-*ret_table));
	}
	free(refusals);
	probe_table_writer_free(writer);
	return ret;
}

/* The message has one byte: whether a library is pending. Returns 0 or a negative errno. */
static int probe_resolve_send(int socket, int table, bool is_pending)
{
	const char byte = (char)is_pending;
	ssize_t sent = descriptors_send(socket, &byte, 1, &table, 1, 0);

	return sent < 0 ? (int)sent : 0;
}

/*
 * Returns the table, or a negative errno: -EPROTO if the process has ended without one, or has sent
 * something else.
 */
static int probe_resolve_receive(int socket, bool *ret_is_pending)
{
	struct descriptors_received received;
	char byte = 0;
	ssize_t size = descriptors_receive(socket, &byte, 1, 0, &received);

	*ret_is_pending = byte;
	if (size == 1 && received.nr == 1 && !(received.flags & (MSG_TRUNC | MSG_CTRUNC)))
		return received.fds[0];
	descriptors_close(&received);
	return size < 0 ? (int)size : -EPROTO;
}

static int probe_resolve_one(int socket, const struct probe_target *target, struct resolve *resolve,
		const struct probe_spec *spec)
{
	struct error error;
	int table = -1, ret;

	if (probe_make_table(resolve, spec, &table, &error))
		return probe_resolve_fail(target, &error);
	ret = probe_resolve_send(socket, table, resolve_is_pending(resolve));
	close(table);
	return ret ? message_error(COMMAND_FAILED, NULL, "cannot send the probe table: %s",
				     strerror(-ret))
		   : COMMAND_DONE;
}

__attribute__((noreturn)) static void resolve_child_main(int socket,
		const struct probe_target *target, const struct probe_spec *const *specs,
		size_t count)
{
	const struct probe_loaded loaded = {.pid = target->pid, .path = target->loaded};
	struct resolve *resolve;
	int status;

	/* libdwfl must not ask a server for debug information unless the user requests it. */
	if (target->debuginfod)
		code_use_server(fetch_debug_file);
	else
		unsetenv("DEBUGINFOD_URLS");
	status = probe_resolve_open(target, &loaded, &resolve);
	for (size_t i = 0; i < count && !status; i++)
		status = probe_resolve_one(socket, target, resolve, specs[i]);
	fflush(NULL);
	_exit(status);
}

/* Receives tables until the process has ended or sent all. Returns 0 or a negative errno. */
static int probe_resolve_receive_all(
		int socket, size_t count, int *tables, size_t *ret_count, bool *ret_is_pending)
{
	for (*ret_count = 0; *ret_count < count; (*ret_count)++) {
		bool is_pending;
		int received = probe_resolve_receive(socket, &is_pending);

		if (received < 0)
			return received;
		if (ret_is_pending)
			*ret_is_pending |= is_pending;
		tables[*ret_count] = received;
	}
	return 0;
}

const char *probe_other_processor(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Ehdr head;
	ssize_t size = fd < 0 ? -1 : pread(fd, &head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	if (size != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
			(head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == EM_X86_64))
		return NULL;
	return head.e_ident[EI_CLASS] == ELFCLASS32 ? "32 bits" : "not x86-64";
}

static int check_processor(pid_t pid)
{
	const char *other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	other = probe_other_processor(path);
	if (!other)
		return COMMAND_DONE;
	return message_error(COMMAND_FAILED, NULL,
			"process %d is a program for another processor (%s): only x86-64 can be probed",
			(int)pid, other);
}

int probe_resolve_all(const struct probe_target *target, const struct probe_spec *const *specs,
		size_t count, int *ret_tables, size_t *ret_count)
{
	int pair[2], status = 0, code = 0, received = -1;
	pid_t child;

	*ret_count = 0;
	if (target->pid && check_processor(target->pid))
		return COMMAND_FAILED;
	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return message_error(
				COMMAND_FAILED, NULL, "cannot make a socket: %s", strerror(errno));
	child = fork();
	code = errno;
	if (!child) {
		close(pair[0]);
		resolve_child_main(pair[1], target, specs, count);
	}
	close(pair[1]);
	if (child > 0) {
		received = probe_resolve_receive_all(
				pair[0], count, ret_tables, ret_count, target->ret_is_pending);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(pair[0]);
	if (child < 0)
		return message_error(COMMAND_FAILED, NULL,
				"cannot start a process that reads files: %s", strerror(code));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	if (WIFEXITED(status) && received < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot receive the probe table: %s",
				strerror(-received));
	if (!WIFEXITED(status))
		return message_error(COMMAND_FAILED,
				"give an address and no `--arg`: side then reads less of the file",
				"cannot read the files of the program: the process that reads them crashed, because a file is damaged or memory is short");
	return COMMAND_DONE;
}

int probe_resolve(const struct probe_target *target, const struct probe_spec *spec, int *ret_table)
{
	size_t count;

	*ret_table = -1;
	return probe_resolve_all(target, &spec, 1, ret_table, &count);
}

/* ---- map a table ---- */

int probe_table_view_open(int fd, struct probe_table_view *view)
{
	const char *reason = NULL;
	int ret = probe_table_check_memfd(fd, &view->size);

	view->memory = ret ? MAP_FAILED : mmap(NULL, view->size, PROT_READ, MAP_SHARED, fd, 0);
	if (!ret && view->memory == MAP_FAILED)
		ret = -errno;
	if (!ret)
		ret = probe_table_open(&view->table, view->memory, view->size, &reason);
	if (!ret)
		return COMMAND_DONE;
	probe_table_view_close(view);
	return message_error(COMMAND_FAILED, NULL, "cannot use the probe table: %s",
			reason                          ? reason
					: ret == -EPERM ? "it is not sealed"
							: strerror(-ret));
}

void probe_table_view_close(struct probe_table_view *view)
{
	if (view->memory != MAP_FAILED)
		munmap(view->memory, view->size);
}

const char *probe_method_name(unsigned int method)
{
	static const char *const methods[PROBE_METHODS] = {
			[PROBE_NONE] = "none",
			[PROBE_JUMP] = "jump",
			[PROBE_PADDING] = "padding",
			[PROBE_SHORT] = "short",
			[PROBE_PUNNED] = "punned",
			[PROBE_BREAKPOINT] = "breakpoint",
			[PROBE_KERNEL] = PROBE_UPROBE_NAME,
	};

	return method < PROBE_METHODS ? methods[method] : "none";
}
