/* SPDX-License-Identifier: MIT */
/* Resolve a spec into a table in a child process, which sends the table and exits. */
#include "spec-options.h"

#include "base/descriptors.h"
#include "base/error.h"
#include "programs/common/message.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
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

struct probe_resolve_work {
	struct probe_table_writer *writer;
	struct resolve *resolve;
	struct refusals refusals;
};

static int make_table(struct probe_resolve_work *work, const struct probe_target *target,
		const struct probe_spec *spec, int *ret_table)
{
	struct error error;
	int ret;

	error_set_no_memory(&error);
	work->writer = probe_table_writer_new();
	work->resolve = resolve_new();
	ret = work->writer && work->resolve ? probe_add_files(target, work->resolve, &error)
					    : -ENOMEM;
	if (!ret)
		ret = resolve_spec(work->resolve, spec, work->writer, probe_resolve_add_refusal,
				&work->refusals, &error);
	if (ret)
		return message_library_error(&error);
	*ret_table = probe_table_memfd(work->writer);
	if (*ret_table < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot create the probe table: %s",
				strerror(-*ret_table));
	probe_resolve_report_refusals(&work->refusals);
	return COMMAND_DONE;
}

/* Send the table with a message of one byte. Returns 0 or a negative errno. */
static int probe_resolve_send(int socket, int table)
{
	ssize_t sent = descriptors_send(socket, "", 1, &table, 1, 0);

	return sent < 0 ? (int)sent : 0;
}

/*
 * Returns the table, or a negative errno: -EPROTO if the process has ended without one, or has sent
 * something else.
 */
static int probe_resolve_receive(int socket)
{
	struct descriptors_received received;
	char byte;
	ssize_t size = descriptors_receive(socket, &byte, 1, 0, &received);

	if (size == 1 && received.nr == 1 && !(received.flags & (MSG_TRUNC | MSG_CTRUNC)))
		return received.fds[0];
	descriptors_close(&received);
	return size < 0 ? (int)size : -EPROTO;
}

__attribute__((noreturn)) static void resolve_child_main(
		int socket, const struct probe_target *target, const struct probe_spec *spec)
{
	struct probe_resolve_work *work = calloc(1, sizeof(*work));
	int table = -1, status, ret = 0;

	/* libdwfl must not ask a server for debug information unless the user requests it. */
	unsetenv("DEBUGINFOD_URLS");
	status = work ? make_table(work, target, spec, &table)
		      : message_error(COMMAND_FAILED, NULL, "out of memory");
	if (!status)
		ret = probe_resolve_send(socket, table);
	if (ret)
		status = message_error(COMMAND_FAILED, NULL, "cannot send the probe table: %s",
				strerror(-ret));
	fflush(NULL);
	_exit(status);
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

int probe_resolve(const struct probe_target *target, const struct probe_spec *spec, int *ret_table)
{
	int pair[2], status = 0, code = 0, received = -1;
	pid_t child;

	*ret_table = -1;
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
		resolve_child_main(pair[1], target, spec);
	}
	close(pair[1]);
	if (child > 0) {
		received = probe_resolve_receive(pair[0]);
		*ret_table = received < 0 ? -1 : received;
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(pair[0]);
	if (child < 0)
		return message_error(COMMAND_FAILED, NULL,
				"cannot start a process that reads files: %s", strerror(code));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	if (WIFEXITED(status) && *ret_table < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot receive the probe table: %s",
				strerror(-received));
	if (!WIFEXITED(status))
		return message_error(COMMAND_FAILED,
				"give an address and no `--arg`: side then reads less of the file",
				"cannot read the files of the program: the process that reads them crashed, so one of them is damaged");
	return COMMAND_DONE;
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
