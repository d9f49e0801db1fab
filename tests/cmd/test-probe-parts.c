/* SPDX-License-Identifier: MIT */
/*
 * The process that reads files for a probe, the table that it sends, the start time of a process,
 * and class data that a view drops: each failing call. The files are included, and the test plays
 * the calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"

#include "programs/common/command.h"
#include "programs/side/probe/list.h"
#include "programs/side/probe/spec-options.h"
#include "programs/common/message.h"
#include "analysis/view-line.h"
#include "analysis/view.h"
#include "analysis/where.h"
#include "recorder/core/session.h"

/* ---- what is printed ---- */

static int printed_file, saved;

static void begin_output(void)
{
	const struct common_options common = {.color = COLOR_NEVER};

	output_start(&common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	saved = fcntl(2, F_DUPFD_CLOEXEC, 10);
	assert_int_equal(dup2(printed_file, 2), 2);
}

static void assert_output(const char *expected)
{
	static char text[4096];
	ssize_t size;

	fflush(NULL);
	assert_int_equal(dup2(saved, 2), 2);
	close(saved);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

/* ---- the process that reads files ---- */

static int pair_error, fork_error, receive_error, map_error, end_status;
static unsigned int nr_interrupted;
static bool sends_nothing, sends_another, has_other_level;
static unsigned int nr_tables = 1, nr_sent, sent_max = UINT32_MAX;
static ssize_t message_size = 1;

static int played_pair(int domain, int type, int protocol, int pair[2])
{
	assert_int_equal(type, SOCK_SEQPACKET | SOCK_CLOEXEC);
	errno = pair_error;
	return pair_error ? -1 : socketpair(domain, type, protocol, pair);
}

static pid_t played_fork(void)
{
	called("fork;");
	errno = fork_error;
	return fork_error ? -1 : 4711;
}

static ssize_t played_receive(int socket, struct msghdr *header, int flags)
{
	struct cmsghdr *attached = CMSG_FIRSTHDR(header);

	called("receive;");
	assert_true(fcntl(socket, F_GETFD) == FD_CLOEXEC);
	assert_int_equal(flags, MSG_CMSG_CLOEXEC);
	if (nr_interrupted) {
		nr_interrupted--;
		errno = EINTR;
		return -1;
	}
	errno = receive_error;
	if (receive_error)
		return -1;
	if (sends_nothing || nr_sent == sent_max) {
		header->msg_controllen = 0;
		return 0;
	}
	nr_sent++;
	assert_true(header->msg_controllen >= CMSG_SPACE(nr_tables * sizeof(int)));
	header->msg_controllen = CMSG_SPACE(nr_tables * sizeof(int));
	attached->cmsg_level = SOL_SOCKET + has_other_level;
	attached->cmsg_type = sends_another ? SCM_CREDENTIALS : SCM_RIGHTS;
	attached->cmsg_len = CMSG_LEN(nr_tables * sizeof(int));
	for (unsigned int i = 0; i < nr_tables; i++) {
		int fd = memfd_create("table", MFD_CLOEXEC);

		memcpy(CMSG_DATA(attached) + i * sizeof(fd), &fd, sizeof(fd));
		if (sends_another || has_other_level)
			close(fd);
	}
	return message_size;
}

static ssize_t played_send(int socket, const struct msghdr *header, int flags)
{
	called("send;");
	assert_int_equal(flags, MSG_NOSIGNAL);
	if (nr_interrupted) {
		nr_interrupted--;
		errno = EINTR;
		return -1;
	}
	return sendmsg(socket, header, flags);
}

static pid_t played_wait(pid_t child, int *status, int options)
{
	called("wait %d;", child);
	assert_int_equal(options, 0);
	if (nr_interrupted) {
		nr_interrupted--;
		errno = EINTR;
		return -1;
	}
	*status = end_status;
	return child;
}

static void *played_map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	errno = map_error;
	return map_error ? MAP_FAILED : mmap(at, size, protection, flags, fd, offset);
}

#define socketpair played_pair
#define fork played_fork
#define recvmsg played_receive
#define sendmsg played_send
#define waitpid played_wait
#define mmap played_map
#include "base/descriptors.c"
#include "programs/side/probe/resolve.c"
#undef socketpair
#undef fork
#undef recvmsg
#undef sendmsg
#undef waitpid
#undef mmap

static void check_resolve(int status, const char *all, const char *printed)
{
	const struct probe_target target = {.exe = "/none"};
	const struct probe_spec request = {.kind = RESOLVE_FUNCTION};
	unsigned int before = resources_descriptors();
	int table = 77;

	begin_output();
	assert_int_equal(probe_resolve(&target, &request, &table), status);
	assert_output(printed);
	assert_called(all);
	if (table >= 0) {
		assert_int_equal(status, COMMAND_DONE);
		assert_int_equal(close(table), 0);
	} else {
		assert_int_equal(table, -1);
	}
	assert_int_equal(resources_descriptors(), before);
}

#define ALL "fork;receive;wait 4711;"
#define NO_TABLE "side: cannot receive the probe table: Protocol error\n"
#define DAMAGED \
	"side: cannot read the files of the program: the process that reads them crashed, because a file is damaged or memory is short\nhint: give an address and no `--arg`: side then reads less of the file\n"

static void test_resolve(void **unused)
{
	(void)unused;
	check_resolve(COMMAND_DONE, ALL, "");
	nr_interrupted = 2;
	check_resolve(COMMAND_DONE, "fork;receive;receive;receive;wait 4711;", "");
	pair_error = EMFILE;
	check_resolve(COMMAND_FAILED, "", "side: cannot make a socket: Too many open files\n");
	pair_error = 0;
	fork_error = EAGAIN;
	check_resolve(COMMAND_FAILED, "fork;",
			"side: cannot start a process that reads files: Resource temporarily unavailable\n");
	fork_error = 0;
	receive_error = ENOBUFS;
	check_resolve(COMMAND_FAILED, ALL,
			"side: cannot receive the probe table: No buffer space available\n");
	receive_error = 0;
	/* It printed the reason and sent no table. */
	sends_nothing = true;
	end_status = 5 << 8;
	check_resolve(5, ALL, "");
	end_status = SIGSEGV;
	check_resolve(COMMAND_FAILED, ALL, DAMAGED);
	sends_nothing = false;
	sends_another = true;
	check_resolve(COMMAND_FAILED, ALL, DAMAGED);
	end_status = 0;
	check_resolve(COMMAND_FAILED, ALL, NO_TABLE);
	sends_another = false;
	has_other_level = true;
	check_resolve(COMMAND_FAILED, ALL, NO_TABLE);
	has_other_level = false;
	/* More than one table, and messages of other sizes. */
	nr_tables = 2;
	check_resolve(COMMAND_FAILED, ALL, NO_TABLE);
	nr_tables = 1;
	message_size = 0;
	check_resolve(COMMAND_FAILED, ALL, NO_TABLE);
	message_size = 1;
	sends_nothing = true;
	check_resolve(COMMAND_FAILED, ALL, NO_TABLE);
	sends_nothing = false;
}

/* One process makes the tables of all specs, or of the first ones. */
static void test_resolve_several(void **unused)
{
	const struct probe_target target = {.exe = "/none"};
	const struct probe_spec request = {.kind = RESOLVE_FUNCTION};
	const struct probe_spec *const requests[] = {&request, &request, &request};
	unsigned int before = resources_descriptors();
	int tables[3];
	size_t count;

	(void)unused;
	assert_int_equal(probe_resolve_all(&target, requests, 3, tables, &count), COMMAND_DONE);
	assert_called("fork;receive;receive;receive;wait 4711;");
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(close(tables[i]), 0);
	nr_sent = 0;
	sent_max = 2;
	end_status = 5 << 8;
	assert_int_equal(probe_resolve_all(&target, requests, 3, tables, &count), 5);
	assert_called("fork;receive;receive;receive;wait 4711;");
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(close(tables[i]), 0);
	sent_max = UINT32_MAX;
	end_status = 0;
	assert_int_equal(resources_descriptors(), before);
}

static void test_send(void **unused)
{
	int pair[2], table = memfd_create("table", MFD_CLOEXEC);
	char byte;

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	nr_interrupted = 2;
	assert_int_equal(probe_resolve_send(pair[0], table, true), 0);
	assert_called("send;send;send;");
	assert_int_equal(recv(pair[1], &byte, 1, MSG_DONTWAIT), 1);
	assert_int_equal(byte, 1);
	close(pair[1]);
	assert_int_equal(probe_resolve_send(pair[0], table, false), -EPIPE);
	assert_called("send;");
	close(pair[0]);
	close(table);
}

static void check_see(int fd, const char *printed)
{
	struct resources before = resources_now();
	struct probe_table_view seen;

	begin_output();
	assert_int_equal(probe_table_view_open(fd, &seen), COMMAND_FAILED);
	assert_output(printed);
	assert_true(resources_are_same(before, resources_now()));
}

static void test_see(void **unused)
{
	int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)unused;
	check_see(-1, "side: cannot use the probe table: Bad file descriptor\n");
	check_see(fd, "side: cannot use the probe table: it is not sealed\n");
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK), 0);
	map_error = ENOMEM;
	check_see(fd, "side: cannot use the probe table: Cannot allocate memory\n");
	map_error = 0;
	check_see(fd, "side: cannot use the probe table: it is not a probe table\n");
	close(fd);
}

/* ---- when a process was started ---- */

static uint64_t started;
static int start_error;

static uint64_t played_start(pid_t pid)
{
	assert_int_equal(pid, 4711);
	errno = start_error;
	return started;
}

#define session_process_start played_start
#include "programs/side/probe/process-files.c"
#undef session_process_start

static void check_started(uint64_t ticks, int error, int status, const char *printed)
{
	uint64_t found = 1;

	started = ticks;
	start_error = error;
	begin_output();
	assert_int_equal(probe_started(4711, &found), status);
	assert_output(printed);
	assert_int_equal(found, ticks);
}

static void test_started(void **unused)
{
	(void)unused;
	check_started(123456, EIO, COMMAND_DONE, "");
	/* The next step reports that there is no such process. */
	check_started(0, ENOENT, COMMAND_DONE, "");
	check_started(0, ESRCH, COMMAND_DONE, "");
	check_started(0, EMFILE, COMMAND_FAILED,
			"side: cannot read when process 4711 was started: Too many open files\n");
}

/* ---- classes that a view drops ---- */

static void played_event(struct view_event *event)
{
	called("event %zu;", (size_t)(uintptr_t)event);
}

static void played_where(struct where_bound *where)
{
	called("where %zu;", (size_t)(uintptr_t)where);
}

static void played_out(struct view_out *out)
{
	called("out %zu;", (size_t)(uintptr_t)out->at);
}

static void played_free(void *class)
{
	called("free;");
	free(class);
}

#define view_event_free played_event
#define where_bound_free played_where
#define view_out_free played_out
#define free played_free
#include "analysis/view-line.c"
#undef view_event_free
#undef where_bound_free
#undef view_out_free
#undef free

static void test_forget(void **unused)
{
	struct view_class *class = calloc(1, sizeof(*class));

	(void)unused;
	assert_non_null(class);
	class->event = (struct view_event *)(uintptr_t)11;
	class->where = (struct where_bound *)(uintptr_t)22;
	class->head.at = (char *)(uintptr_t)33;
	view_lines_forget(NULL);
	assert_called("");
	view_lines_forget(class);
	assert_called("event 11;where 22;out 33;free;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_resolve),
			cmocka_unit_test(test_resolve_several), cmocka_unit_test(test_send),
			cmocka_unit_test(test_see), cmocka_unit_test(test_started),
			cmocka_unit_test(test_forget)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
