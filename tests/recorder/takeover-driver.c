/* SPDX-License-Identifier: MIT */
/*
 * A recorder with a state directory that can be killed at any call.
 *
 *	takeover-driver SOCKET PLACE OUTPUT FORMAT COMPRESS ROTATE CHANNEL...
 *
 * FORMAT is 1 or 2, ROTATE the size of chunks (0: none), a channel NAME:MODE:SIZE. It prints
 * "ready", and then executes lines from standard input: flush, keep, finish. Messages are lines
 * that begin with "! ".
 *
 * The environment variable PLACE_KEEP is the number of chunks to keep. With PLACE_KILL_AT=N, it
 * kills itself at the Nth call that changes a file: before the call, after it, or, with
 * PLACE_KILL_TORN, after half of the data has been written.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/core/live.h"
#include "recorder/core/session.h"

#define CHANNELS_MAX 8

/* ---- calls that change files ---- */

static atomic_ulong calls;
static unsigned long kill_at;
static bool kill_torn;

static void die(void)
{
	syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	for (;;)
		pause();
}

/* Returns true if this is the call at which to write half of the data. */
static bool count_call(void)
{
	unsigned long call;

	if (!kill_at)
		return false;
	call = atomic_fetch_add(&calls, 1) + 1;
	if (call == kill_at && !kill_torn)
		die();
	return call == kill_at;
}

static ssize_t write_half(int fd, const void *bytes, size_t size, off_t at)
{
	syscall(SYS_pwrite64, fd, bytes, size / 2, at);
	die();
	return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	if (count_call())
		/* A note is written in one piece: see journal.c. */
		return size > 64 ? write_half(fd, bytes, size, at) : write_half(fd, bytes, 0, at);
	return syscall(SYS_pwrite64, fd, bytes, size, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int nr, off_t at)
{
	ssize_t done = 0;
	int i;

	for (i = 0; i < nr; i++) {
		ssize_t got;

		if (count_call())
			return write_half(fd, parts[i].iov_base, parts[i].iov_len, at + done);
		got = syscall(SYS_pwrite64, fd, parts[i].iov_base, parts[i].iov_len, at + done);
		if (got < 0)
			return done ? done : got;
		done += got;
		if ((size_t)got < parts[i].iov_len)
			break;
	}
	return done;
}

ssize_t writev(int fd, const struct iovec *parts, int nr)
{
	if (count_call()) {
		syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2);
		die();
	}
	return syscall(SYS_writev, fd, parts, nr);
}

#define CHANGING(name, declaration, number, ...)            \
	int name declaration                                \
	{                                                   \
		if (count_call())                           \
			die();                              \
		return (int)syscall(number, ##__VA_ARGS__); \
	}

CHANGING(ftruncate, (int fd, off_t size), SYS_ftruncate, fd, size)
CHANGING(unlinkat, (int folder, const char *name, int flags), SYS_unlinkat, folder, name, flags)
CHANGING(renameat, (int from, const char *name, int to, const char *other), SYS_renameat, from,
		name, to, other)
CHANGING(mkdirat, (int folder, const char *name, mode_t mode), SYS_mkdirat, folder, name, mode)
CHANGING(mkdir, (const char *name, mode_t mode), SYS_mkdirat, AT_FDCWD, name, mode)
CHANGING(rename, (const char *name, const char *other), SYS_renameat, AT_FDCWD, name, AT_FDCWD,
		other)

/* ---- the recorder ---- */

static struct session *session;

static int fail(const struct error *error)
{
	printf("failed %d %s\n", (int)error->kind, error->text);
	return 1;
}

static void print_messages(void)
{
	struct session_message message;

	while (session_take_message(session, &message)) {
		printf("%c %s\n", message.is_error ? '!' : '-', message.text);
		free(message.text);
	}
	fflush(stdout);
}

static enum session_channel_mode mode_of(const char *name)
{
	return !strcmp(name, "block")                ? SESSION_BLOCK
			: !strcmp(name, "overwrite") ? SESSION_OVERWRITE
						     : SESSION_DISCARD;
}

static size_t take_channels(
		char **texts, struct session_channel *channels, const struct session_rule *all)
{
	size_t nr;

	for (nr = 0; nr < CHANNELS_MAX && texts[nr]; nr++) {
		channels[nr].name = strsep(&texts[nr], ":");
		channels[nr].mode = mode_of(strsep(&texts[nr], ":"));
		channels[nr].ring_size = strtoull(texts[nr], NULL, 0);
		channels[nr].rules = all;
		channels[nr].nr_rules = 1;
	}
	return nr;
}

/* Prints the statistics of all processes and of each channel. */
static void print_statistics(void)
{
	struct session_status status;

	if (session_status(session, &status))
		return;
	printf("figures {\"seen\": %" PRIu64 ", \"recorded\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"bytes\": %" PRIu64 ", \"snapshots\": %" PRIu64 ", \"channels\": {",
			status.nr_seen, status.recorded, status.lost, status.bytes,
			status.snapshot_recorded);
	for (size_t i = 0; i < status.nr_channels; i++)
		printf("%s\"%s\": [%" PRIu64 ", %" PRIu64 "]", i ? ", " : "",
				status.channels[i].name, status.channels[i].recorded,
				status.channels[i].lost);
	puts("}}");
	fflush(stdout);
	session_status_free(&status);
}

/* Executes a line. 0: continue; 1: the end. */
static int obey(struct error *error)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	char line[64];

	if (poll(&input, 1, 0) <= 0)
		return 0;
	if (!fgets(line, sizeof(line), stdin) || !strcmp(line, "keep\n")) {
		session_close(session, false, error);
		return 1;
	}
	if (!strcmp(line, "finish\n")) {
		session_finish(session);
		print_statistics();
		session_close(session, true, error);
		return 1;
	}
	if (!strcmp(line, "figures\n"))
		print_statistics();
	if (!strcmp(line, "flush\n")) {
		printf("flushed %d\n", session_flush(session, 60000));
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *text = getenv("PLACE_KILL_AT"), *keep;
	struct session_rule all = {0};
	struct session_channel channels[CHANNELS_MAX] = {{0}};
	struct session_options options = {.mode = SESSION_RECORD, .channels = channels};
	struct session_live live = {.active = true};
	struct error error;

	if (argc < 8)
		return 2;
	kill_torn = getenv("PLACE_KILL_TORN") != NULL;
	kill_at = text ? strtoul(text, NULL, 10) : 0;
	live.socket = argv[1];
	live.state_dir = argv[2];
	options.output = argv[3];
	options.force = true;
	options.format = *argv[4] == '2' ? SESSION_FORMAT_CTF2 : SESSION_FORMAT_CTF1;
	options.compress = atoi(argv[5]);
	options.rotation.size = strtoull(argv[6], NULL, 0);
	keep = getenv("PLACE_KEEP");
	options.retention.count = keep ? (uint32_t)strtoul(keep, NULL, 10) : 0;
	options.nr_channels = take_channels(argv + 7, channels, &all);
	if (session_open(&options, &live, &session, &error))
		return fail(&error);
	print_messages();
	puts("ready");
	fflush(stdout);
	while (!obey(&error)) {
		if (session_turn(session, 20, &error))
			return fail(&error);
		print_messages();
	}
	if (error.kind != ERROR_NONE)
		return fail(&error);
	puts("done");
	return 0;
}
