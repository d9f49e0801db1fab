/* SPDX-License-Identifier: MIT */
/*
 * Sessions of a static configuration (protocol/boot.h): of a first process, and of all processes
 * that inherit its environment, from their first constructor on.
 *
 * They differ from other sessions only in where their rings come from. If a recorder listens on the
 * session's socket, the process asks the recorder. Otherwise it creates the rings itself: as files
 * in the state directory, as a killed recorder would have left them; or, if that directory is not
 * writable yet, as private memory. A privileged recorder finds such memory by the record for core
 * dumps (protocol/recovery.h). No thread is started, and no descriptor stays open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/boot.h"
#include "filter/filter.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/boot-directory.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "base/environment/environment.h"
#include "base/inside/raw-io.h"
#include "base/inside/raw.h"
#include "protocol/runtime.h"

#include <sys/mman.h>

#define MAX_EVENTS 262144
#define MAX_DESCRIPTION (1u << 20)

static struct boot_config *config;
/* The unchanged text of the configuration. */
static const char *config_text;
static size_t config_size;

/* ---- the file ---- */

static void *agent_boot_map_rings(size_t size)
{
	return raw_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/*
 * Read at most one byte more than the limit, so that the parser refuses a file that is too large.
 * Returns the size or a negative errno.
 */
static long agent_boot_read_file(const char *path, char *text)
{
	int fd = (int)raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	long size = fd;

	if (fd >= 0)
		size = raw_io_read(fd, text, (size_t)BOOT_SIZE_MAX + 1);
	wire_close(fd);
	return size;
}

const struct boot_config *agent_boot_read(const char *path)
{
	/* The text, an unchanged copy of it, and the parsed configuration. They are never freed. */
	size_t text_size = (size_t)BOOT_SIZE_MAX + 2, mapped;
	char *text = agent_boot_map_rings(2 * text_size), sentence[600];
	struct boot_error error;
	void *space = NULL;
	long size;

	if (!text)
		return NULL;
	size = agent_boot_read_file(path, text);
	if (size < 0) {
		agent_debug("%s: it cannot be read (error %ld); SIDE_BOOT names the file", path,
				-size);
		raw_munmap(text, 2 * text_size);
		return NULL;
	}
	memcpy(text + text_size, text, (size_t)size);
	mapped = boot_buffer_size((size_t)size);
	space = agent_boot_map_rings(mapped);
	if (space && !boot_parse(text, (size_t)size, space, &config, &error)) {
		config_text = text + text_size;
		config_size = (size_t)size;
		return config;
	}
	if (space) {
		boot_error_text(sentence, sizeof(sentence), path, &error);
		agent_debug("%s", sentence);
		raw_munmap(space, mapped);
	}
	raw_munmap(text, 2 * text_size);
	return NULL;
}

/* ---- rings ---- */

/* Only in this process: a recorder that adopts the rings finds them in its memory. */
static int make_in_memory(struct agent_session *session, int *ret_ring_fds)
{
	const struct boot_channel *channel = session->boot->channels;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < session->nr_channels && !ret; i++, channel = channel->next) {
		struct ring_geometry geometry = boot_geometry(channel, session->config.clock);

		ret = ring_memory_create_named(&geometry, BOOT_MEMORY, &ret_ring_fds[i]);
		session->channels[i].ring_memory = ring_memory_size(&geometry);
	}
	session->boot_folder[0] = 0;
	return ret;
}

/* Does the error only mean that the directory is not writable yet? */
static bool is_too_early(int error)
{
	return error == -ENOENT || error == -EROFS || error == -ENOTDIR || error == -ENOSPC ||
			error == -EOPNOTSUPP;
}

static int agent_boot_make_rings(struct agent_session *session, int *ring_fds)
{
	char procname[BOOT_PROCNAME_MAX + 1];
	char *names = agent_boot_map_rings((size_t)2 * AGENT_NAME_SIZE);
	struct boot_facts facts = {
			.session = session,
			.procname = procname,
			.begin = ring_clock_now((enum ring_clock)session->config.clock),
	};
	uint32_t i;
	int ret;

	if (!names)
		return -ENOMEM;
	agent_process_names(names, names + AGENT_NAME_SIZE);
	boot_clean_name(procname, names);
	facts.exe = names + AGENT_NAME_SIZE;
	ret = boot_state_dir_make(session, config, &facts, ring_fds);
	raw_munmap(names, (size_t)2 * AGENT_NAME_SIZE);
	if (!ret)
		boot_state_dir_store_config(config, config_text, config_size);
	if (is_too_early(ret)) {
		agent_debug("the state directory %s cannot hold the rings (error %d): they are in the memory of the process; `side adopt %ld` finds them there",
				config->state_dir, -ret, raw_call(SYS_getpid));
		for (i = 0; i < session->nr_channels; i++) {
			wire_close(ring_fds[i]);
			ring_fds[i] = -1;
		}
		ret = make_in_memory(session, ring_fds);
	}
	return ret;
}

/* ---- channels and rules ---- */

static int agent_boot_calibrate_clock(struct agent_session *session)
{
	struct ring_clock_calibration calibration = {.frequency = 1000000000};
	enum ring_clock clock = ring_clock_choose();
	struct ring_clock_sample begin;
	int ret = ring_clock_sample(clock, &begin);

	if (!ret)
		ret = ring_clock_calibrate(clock, &begin, NULL, &calibration);
	session->config.clock = clock;
	session->config.frequency = calibration.frequency;
	session->config.offset_s = calibration.offset_s;
	session->config.offset = calibration.offset;
	return ret;
}

static int agent_boot_add_rule(
		struct agent_session *session, uint32_t channel, const struct boot_rule *from)
{
	struct wire_rule rule = {
			.channel = channel,
			.nr_patterns = from->patterns.nr,
			.nr_contexts = from->contexts.nr,
			.patterns = from->patterns.texts,
			.contexts = from->contexts.nr ? from->contexts.texts : "",
	};
	struct filter_error error;
	void *program = NULL;
	size_t size = 0;
	int ret = 0;

	if (from->filter)
		ret = filter_parse(from->filter, &program, &size, &error);
	if (ret) {
		agent_debug("line %u of the configuration: the filter, column %u: %s; `side help filters` describes them",
				from->filter_line, error.column, error.text);
		return ret;
	}
	rule.filter = program;
	rule.filter_size = (uint32_t)size;
	ret = agent_take_rule(session->generation, &rule);
	free(program);
	return ret;
}

static int agent_boot_adopt_channel(
		struct agent_session *session, uint32_t index, const struct boot_channel *from)
{
	struct wire_channel channel = {
			.index = index,
			.nr_rules = from->nr_rules,
			.nr_contexts = from->contexts.nr,
			.name = from->name,
			.contexts = from->contexts.nr ? from->contexts.texts : "",
	};
	const struct boot_rule *rule;
	int ret = agent_take_channel(session, &channel);

	for (rule = from->rules; rule && !ret; rule = rule->next)
		ret = agent_boot_add_rule(session, index, rule);
	return ret;
}

static int agent_boot_adopt_channels(struct agent_session *session)
{
	const struct boot_session *boot = session->boot;
	const struct boot_channel *channel;
	uint32_t i = 0;
	int ret;

	session->channels = agent_memory_take(
			&session->memory, boot->nr_channels * sizeof(*session->channels));
	session->generation = agent_generation_begin();
	if (!session->channels || !session->generation)
		return -ENOMEM;
	session->nr_channels = boot->nr_channels;
	session->config = (struct wire_config){
			.accepted = true,
			.max_events = MAX_EVENTS,
			.max_description = MAX_DESCRIPTION,
			.max_payload = RING_PAYLOAD_MAX,
			.nr_channels = boot->nr_channels,
	};
	ret = agent_boot_calibrate_clock(session);
	for (channel = boot->channels; channel && !ret; channel = channel->next) {
		size_t max = ring_payload_max(channel->ring_size);

		if (max < session->config.max_payload)
			session->config.max_payload = (uint32_t)max;
		ret = agent_boot_adopt_channel(session, i++, channel);
	}
	if (!ret)
		agent_generation_apply(session, session->generation);
	return ret;
}

/* A forked child has what its parent has, which a recorder may have said. */
static bool has_our_channels(const struct agent_session *session)
{
	const struct boot_channel *channel = session->boot->channels;
	uint32_t i;

	for (i = 0; i < session->nr_channels && channel; i++, channel = channel->next)
		if (strcmp(session->channels[i].name, channel->name) != 0)
			return false;
	return i == session->nr_channels && !channel;
}

/* ---- the recorder, once there is one ---- */

static bool agent_boot_state_dir_is_safe(const struct agent_session *session)
{
	char path[BOOT_STATE_DIR_MAX];

	return boot_path(path, sizeof(path), config->state_dir, session->boot->name, NULL) &&
			!wire_runtime_check(path);
}

static bool recorder_is_there(const struct agent_session *session)
{
	int socket;

	if (!agent_boot_state_dir_is_safe(session))
		return false;
	socket = wire_connect(session->path, agent_deadline(AGENT_CONNECT_TIMEOUT_MS));
	wire_close(socket);
	return socket >= 0;
}

/* No recorder answers: it has just exited. */
bool agent_boot_has_gone(int error)
{
	return error == -ECONNREFUSED || error == -ENOENT || error == -ECONNRESET ||
			error == -EPIPE;
}

/* The folder that a recorder has made for us, where descriptions go when that one is gone. */
static void remember_folder(struct agent_session *session)
{
	char procname[BOOT_PROCNAME_MAX + 1];
	char *names = agent_boot_map_rings((size_t)2 * AGENT_NAME_SIZE);

	session->boot_folder[0] = 0;
	if (!names)
		return;
	agent_process_names(names, names + AGENT_NAME_SIZE);
	boot_clean_name(procname, names);
	snprintf(session->boot_folder, sizeof(session->boot_folder), "%s-%ld-%u", procname,
			raw_call(SYS_getpid), session->config.instance);
	raw_munmap(names, (size_t)2 * AGENT_NAME_SIZE);
}

/* Undo the channels of an exchange with a recorder that did not complete. */
static void forget_channels(struct agent_session *session)
{
	if (session->generation)
		agent_generation_free(session->generation);
	agent_memory_free(&session->memory);
	session->generation = NULL;
	session->channels = NULL;
	session->nr_channels = 0;
	session->list_only = false;
}

int agent_boot_hello(struct agent_session *session, uint64_t parent_token, int *ring_fds)
{
	bool forked = session->channels != NULL;
	uint32_t i;
	int ret;

	if (recorder_is_there(session)) {
		ret = agent_hello(session, parent_token, ring_fds);
		if (!ret)
			remember_folder(session);
		/*
		 * A refused process does not join. A recorder that hangs or has exited adopts the
		 * rings that we make.
		 */
		if (!ret || ret == -EACCES || ret == -EUSERS)
			return ret;
		if (!forked)
			forget_channels(session);
		/* It may know us already, with other rings: these belong to another instance. */
		raw_call(SYS_getrandom, &session->token, sizeof(session->token),
				1 /* GRND_NONBLOCK */);
	}
	for (i = 0; i < WIRE_CHANNELS_MAX; i++)
		ring_fds[i] = -1;
	ret = forked ? (has_our_channels(session) ? 0 : -EPROTO)
		     : agent_boot_adopt_channels(session);
	if (!ret)
		ret = agent_boot_make_rings(session, ring_fds);
	/* It has not heard of any rules from a recorder yet. */
	session->config.generation = 0;
	for (i = 0; i < WIRE_CHANNELS_MAX && ret; i++)
		wire_close(ring_fds[i]);
	return ret;
}

int agent_boot_describe(struct agent_session *session, const void *stream, size_t size)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t deadline = agent_deadline(AGENT_EVENTS_TIMEOUT_MS);
	int ret;

	/* In memory: the record for core dumps has them, and nothing else could. */
	if (!*session->boot_folder)
		return recorder_is_there(session) ? -EAGAIN : 0;
	for (;;) {
		if (recorder_is_there(session))
			return -EAGAIN;
		ret = boot_state_dir_describe(session, config, stream, size);
		/* Locked: a recorder is just coming, or going. */
		if (ret != -EAGAIN || wire_deadline(0) >= deadline)
			break;
		raw_call(SYS_nanosleep, &pause, NULL);
	}
	/* The place is hidden behind a mount, or the session is over. */
	return ret == -ENOENT ? 0 : ret == -EAGAIN ? -ETIMEDOUT : ret;
}

bool agent_boot_path(const struct boot_session *session, char *path, size_t capacity)
{
	return boot_path(path, capacity, config->state_dir, session->name, BOOT_SOCKET);
}
