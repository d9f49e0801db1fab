/* SPDX-License-Identifier: MIT */
/*
 * Files of a process that records before there is a recorder. They are as a killed recorder would
 * have left them in the state directory of the session (docs/spec/recording.md, sections 12 and
 * 13), so the next recorder continues in the same way.
 *
 *	DIRECTORY/boot.conf			the configuration
 *	DIRECTORY/SESSION/.new-TOKEN/		an incomplete folder; it stays after a kill, and
 *						recorders ignore it
 *	DIRECTORY/SESSION/<procname>-<pid>-<n>/	the complete folder, after a rename
 *
 * No descriptor stays open. A process locks `events` while it appends, and a recorder locks it as
 * long as it exists: a process that finds it locked sends its descriptions to the recorder.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "tracers/agent/core/boot-directory.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/session.h"
#include "base/inside/raw-io.h"
#include "base/inside/raw.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define FACTS_SIZE ((size_t)256 << 10)
#define NAME_TRIES 1000
#define STATE_DIR_TRIES 5
#define CONFIG_NAME "boot.conf"
/* As many as the rings of a recorder have. */
#define EVENT_SLOTS 4096

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

/* ---- directories ---- */

static int agent_boot_directory_make(const char *path, unsigned int mode)
{
	int ret = (int)raw_call(SYS_mkdirat, AT_FDCWD, path, mode);

	return ret == -EEXIST ? 0 : ret;
}

/* With all its parents, which everybody may look into. */
static int agent_boot_directory_make_path(const char *path)
{
	char part[BOOT_STATE_DIR_MAX];
	char *slash = part;
	size_t size = strlen(path);
	int ret = 0;

	if (size >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, size + 1);
	while (slash && !ret) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = 0;
		ret = agent_boot_directory_make(part, 0755);
		/* An existing part of the path may be on a read-only file system. */
		if (ret == -EROFS && slash)
			ret = 0;
		if (slash)
			*slash = '/';
	}
	return ret;
}

/* Refuse a directory in which other users may write: rings in it could be theirs. */
static int agent_boot_directory_check(int fd)
{
	struct statx status;
	int ret = (int)raw_call(SYS_statx, fd, "", AT_EMPTY_PATH,
			STATX_TYPE | STATX_MODE | STATX_UID, &status);

	if (ret)
		return ret;
	if (!S_ISDIR(status.stx_mode))
		return -ENOTDIR;
	if (status.stx_uid != (uint32_t)raw_call(SYS_geteuid))
		return -EPERM;
	return status.stx_mode & (S_IWGRP | S_IWOTH) ? -EPERM : 0;
}

static int agent_boot_directory_open(int at, const char *path)
{
	return (int)raw_call(SYS_openat, at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int agent_boot_directory_open_state_dir(
		const struct agent_session *session, const struct boot_config *config, bool make)
{
	char path[BOOT_STATE_DIR_MAX];
	int fd, ret;

	if (!boot_path(path, sizeof(path), config->state_dir, session->boot->name, NULL))
		return -ENAMETOOLONG;
	ret = make ? agent_boot_directory_make_path(config->state_dir) : 0;
	if (!ret && make)
		ret = agent_boot_directory_make(path, 0700);
	if (ret)
		return ret;
	fd = agent_boot_directory_open(AT_FDCWD, path);
	if (fd < 0)
		return fd;
	ret = agent_boot_directory_check(fd);
	if (!ret && make && !raw_call(SYS_faccessat, fd, BOOT_OVER, F_OK))
		ret = -ESHUTDOWN;
	if (!ret)
		return fd;
	wire_close(fd);
	return ret;
}

/* ---- writing ---- */

static int agent_boot_directory_write_file(
		int folder, const char *name, const char *bytes, size_t size)
{
	int fd = (int)raw_call(SYS_openat, folder, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int ret = fd < 0 ? fd : raw_io_write_all(fd, bytes, size);

	wire_close(fd);
	return ret;
}

/* ---- facts ---- */

struct facts_text {
	char *bytes;
	size_t size;
};

static void agent_boot_directory_append_text(struct facts_text *text, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

static void agent_boot_directory_append_text(struct facts_text *text, const char *format, ...)
{
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text->bytes + text->size, FACTS_SIZE - text->size, format, arguments);
	va_end(arguments);
	if (size > 0 && (size_t)size < FACTS_SIZE - text->size)
		text->size += (size_t)size;
}

static void put_line(struct facts_text *text, const char *word, const char *value)
{
	agent_boot_directory_append_text(text, "%s ", word);
	for (; *value; value++) {
		unsigned char byte = (unsigned char)*value;

		if (byte <= ' ' || byte >= 0x7f || byte == '%')
			agent_boot_directory_append_text(text, "%%%02x", byte);
		else
			agent_boot_directory_append_text(text, "%c", byte);
	}
	agent_boot_directory_append_text(text, "\n");
}

/* The beginning of a small file, up to its first line's end; "" when it cannot be read. */
static void agent_boot_directory_read_line(const char *path, char *line, size_t space)
{
	int fd = (int)raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long got = fd < 0 ? -1 : raw_call(SYS_read, fd, line, space - 1);

	wire_close(fd);
	line[got > 0 ? got : 0] = 0;
	line[strcspn(line, "\n")] = 0;
}

/* When the process began: field 22, behind a name with anything in it. 0: /proc is not there. */
static uint64_t start_time(void)
{
	char line[1024], *at;
	uint64_t time = 0;
	int field;

	agent_boot_directory_read_line("/proc/self/stat", line, sizeof(line));
	at = strrchr(line, ')');
	for (field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	for (at = at ? at + 1 : line + strlen(line); *at >= '0' && *at <= '9'; at++)
		time = time * 10 + (uint64_t)(*at - '0');
	return time;
}

static void agent_boot_directory_append_peer(
		struct facts_text *text, const struct agent_session *session)
{
	char boot[40];

	agent_boot_directory_read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	agent_boot_directory_append_text(text, "peer %s %u %" PRIu64 " %" PRIu64 " %u %u %u %u\n",
			*boot ? boot : "-", (unsigned int)raw_call(SYS_getpid), start_time(),
			session->token, (unsigned int)raw_call(SYS_geteuid),
			(unsigned int)raw_call(SYS_getegid), agent.control.mode,
			agent.control.signal);
}

static void put_facts(struct facts_text *text, const struct boot_facts *facts, uint32_t number)
{
	const struct agent_session *session = facts->session;
	const struct wire_config *config = &session->config;
	struct utsname names;
	uint32_t i, k;

	agent_boot_directory_append_text(text, "side-buffers 1\nmaker agent\n");
	put_line(text, "procname", facts->procname);
	put_line(text, "exe", facts->exe);
	put_line(text, "hostname", raw_call(SYS_uname, &names) ? "unknown" : names.nodename);
	put_line(text, "trace", "");
	agent_boot_directory_append_text(text, "process %u %u %u\n",
			(unsigned int)raw_call(SYS_getpid), (unsigned int)raw_call(SYS_getppid),
			number);
	agent_boot_directory_append_peer(text, session);
	agent_boot_directory_append_text(text, "clock %u %" PRIu64 " %" PRId64 " %" PRIu64 "\n",
			config->clock, config->frequency, config->offset_s, config->offset);
	agent_boot_directory_append_text(text, "begin %" PRIu64 "\n", facts->begin);
	for (i = 0; i < session->nr_channels; i++) {
		const struct agent_channel *channel = &session->channels[i];

		put_line(text, "channel", channel->name);
		for (k = 0; k < channel->nr_contexts; k++)
			put_line(text, "context", channel->contexts[k].name);
	}
	agent_boot_directory_append_text(text, "end\n");
}

static int write_facts(int folder, const struct boot_facts *facts, uint32_t number)
{
	struct facts_text text = {.bytes = raw_mmap(NULL, FACTS_SIZE, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1)};
	int ret;

	if (!text.bytes)
		return -ENOMEM;
	put_facts(&text, facts, number);
	raw_call(SYS_unlinkat, folder, "instance", 0);
	ret = agent_boot_directory_write_file(folder, "instance", text.bytes, text.size);
	raw_munmap(text.bytes, FACTS_SIZE);
	return ret;
}

/* ---- the folder ---- */

struct ring_geometry boot_geometry(const struct boot_channel *channel, uint32_t clock)
{
	static const enum ring_mode modes[] = {
			RING_MODE_DISCARD, RING_MODE_OVERWRITE, RING_MODE_BLOCK};
	struct ring_geometry geometry = {
			.rings = channel->threads_max ? channel->threads_max : ring_possible_cpus(),
			.event_slots = EVENT_SLOTS,
			.size = channel->ring_size,
			.mode = modes[channel->mode],
			.clock = (enum ring_clock)clock,
			.placement = channel->threads_max ? RING_PER_THREAD : RING_PER_CPU,
	};

	if (channel->mode == BOOT_BLOCK)
		geometry.block_timeout_us =
				channel->block_timeout_us ? channel->block_timeout_us : 1000000;
	return geometry;
}

void boot_clean_name(char *to, const char *name)
{
	static const char allowed[] =
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
	size_t i;

	for (i = 0; i < BOOT_PROCNAME_MAX && name[i]; i++)
		to[i] = strchr(allowed, name[i]) && (i || (name[i] != '.' && name[i] != '-'))
				? name[i]
				: '_';
	to[i] = 0;
	if (!i)
		memcpy(to, "unknown", sizeof("unknown"));
}

static void ring_file(char *name, size_t space, const struct agent_channel *channel)
{
	snprintf(name, space, "%s.rings", channel->name);
}

static int agent_boot_directory_make_rings(
		const struct agent_session *session, int folder, int *ret_ring_fds)
{
	const struct boot_channel *channel = session->boot->channels;
	char name[WIRE_CHANNEL_NAME_MAX + 8];
	int ret = 0;
	uint32_t i;

	for (i = 0; i < session->nr_channels && !ret; i++, channel = channel->next) {
		struct ring_geometry geometry = boot_geometry(channel, session->config.clock);

		ring_file(name, sizeof(name), &session->channels[i]);
		ret = ring_memory_create_file(&geometry, folder, name, &ret_ring_fds[i]);
		session->channels[i].ring_memory = ring_memory_size(&geometry);
	}
	return ret;
}

static void remove_folder(
		const struct agent_session *session, int state_dir, const char *name, int folder)
{
	char file[WIRE_CHANNEL_NAME_MAX + 8];
	uint32_t i;

	raw_call(SYS_unlinkat, folder, "instance", 0);
	raw_call(SYS_unlinkat, folder, "events", 0);
	for (i = 0; i < session->nr_channels; i++) {
		ring_file(file, sizeof(file), &session->channels[i]);
		raw_call(SYS_unlinkat, folder, file, 0);
	}
	raw_call(SYS_unlinkat, state_dir, name, AT_REMOVEDIR);
}

/* Rename the folder to an unused name, whose number is in the file `instance`, too. */
static int agent_boot_directory_publish(struct agent_session *session,
		const struct boot_facts *facts, int state_dir, const char *temporary, int folder)
{
	uint32_t number;
	int ret = -EEXIST;

	for (number = 0; number < NAME_TRIES && ret == -EEXIST; number++) {
		snprintf(session->boot_folder, sizeof(session->boot_folder), "%s-%u-%u",
				facts->procname, (unsigned int)raw_call(SYS_getpid), number);
		ret = write_facts(folder, facts, number);
		if (ret)
			break;
		session->config.instance = number;
		ret = (int)raw_call(SYS_renameat2, state_dir, temporary, state_dir,
				session->boot_folder, RENAME_NOREPLACE);
	}
	return ret;
}

static int fill_folder(struct agent_session *session, const struct boot_facts *facts, int state_dir,
		const char *temporary, int *ret_ring_fds)
{
	int folder = agent_boot_directory_open(state_dir, temporary);
	int ret = folder < 0 ? folder
			     : agent_boot_directory_make_rings(session, folder, ret_ring_fds);

	if (!ret)
		ret = agent_boot_directory_write_file(folder, "events", "", 0);
	if (!ret)
		ret = agent_boot_directory_publish(session, facts, state_dir, temporary, folder);
	if (ret && folder >= 0)
		remove_folder(session, state_dir, temporary, folder);
	else if (ret)
		raw_call(SYS_unlinkat, state_dir, temporary, AT_REMOVEDIR);
	wire_close(folder);
	return ret;
}

static int try_make(struct agent_session *session, const struct boot_config *config,
		const struct boot_facts *facts, int *ret_ring_fds)
{
	int state_dir = agent_boot_directory_open_state_dir(session, config, true);
	char temporary[32];
	int ret;

	if (state_dir < 0)
		return state_dir;
	snprintf(temporary, sizeof(temporary), ".new-%016" PRIx64, session->token);
	ret = (int)raw_call(SYS_mkdirat, state_dir, temporary, 0700);
	if (!ret)
		ret = fill_folder(session, facts, state_dir, temporary, ret_ring_fds);
	wire_close(state_dir);
	return ret;
}

/*
 * Retry, because the recorder that adopted the last process may remove the state directory
 * meanwhile.
 */
int boot_state_dir_make(struct agent_session *session, const struct boot_config *config,
		const struct boot_facts *facts, int *ret_ring_fds)
{
	unsigned int try;
	int ret = -ENOENT;
	uint32_t i;

	for (try = 0; try < STATE_DIR_TRIES && ret == -ENOENT; try++) {
		for (i = 0; i < WIRE_CHANNELS_MAX; i++) {
			wire_close(ret_ring_fds[i]);
			ret_ring_fds[i] = -1;
		}
		ret = try_make(session, config, facts, ret_ring_fds);
	}
	return ret;
}

/* ---- descriptions ---- */

static int agent_boot_directory_append_line(int fd, const void *stream, size_t size)
{
	long end = raw_call(SYS_lseek, fd, 0L, SEEK_END);
	int ret = end < 0 ? (int)end : raw_io_write_all(fd, stream, size);

	/* Half an entry would hide those behind it. */
	if (ret && end >= 0)
		raw_call(SYS_ftruncate, fd, end);
	return ret;
}

int boot_state_dir_describe(const struct agent_session *session, const struct boot_config *config,
		const void *stream, size_t size)
{
	int state_dir = agent_boot_directory_open_state_dir(session, config, false);
	int folder = state_dir < 0 ? state_dir
				   : agent_boot_directory_open(state_dir, session->boot_folder);
	int fd = folder < 0 ? folder
			    : (int)raw_call(SYS_openat, folder, "events",
					      O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	int ret = fd < 0 ? fd : (int)raw_call(SYS_flock, fd, LOCK_EX | LOCK_NB);

	if (!ret)
		ret = agent_boot_directory_append_line(fd, stream, size);
	wire_close(fd);
	wire_close(folder);
	wire_close(state_dir);
	return ret;
}

/* ---- what was read ---- */

void boot_state_dir_store_config(const struct boot_config *config, const char *text, size_t size)
{
	char name[48];
	int state_dir;

	if (agent_boot_directory_make_path(config->state_dir))
		return;
	state_dir = agent_boot_directory_open(AT_FDCWD, config->state_dir);
	if (state_dir < 0 || agent_boot_directory_check(state_dir) ||
			!raw_call(SYS_faccessat, state_dir, CONFIG_NAME, F_OK)) {
		wire_close(state_dir);
		return;
	}
	snprintf(name, sizeof(name), "." CONFIG_NAME "-%ld", raw_call(SYS_getpid));
	raw_call(SYS_unlinkat, state_dir, name, 0);
	if (!agent_boot_directory_write_file(state_dir, name, text, size))
		raw_call(SYS_linkat, state_dir, name, state_dir, CONFIG_NAME, 0);
	raw_call(SYS_unlinkat, state_dir, name, 0);
	wire_close(state_dir);
}
