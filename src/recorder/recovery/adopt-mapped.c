/* SPDX-License-Identifier: MIT */
/*
 * Finds rings of a running process that are in no reachable state directory: the process began when
 * no directory was writable, or something was mounted over the directory since, or the process has
 * another root directory. The process has mapped them, and its record for core dumps
 * (protocol/recovery.h) contains their addresses and content. With CAP_SYS_ADMIN or
 * CAP_CHECKPOINT_RESTORE, the recorder can open mapped files through /proc/PID/map_files. So it
 * drains them like other rings: records that are read leave the ring.
 *
 * Such a process has no journal. If a recorder is killed between writing a packet and releasing it,
 * the next one writes this packet again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctf/ctf.h"
#include "protocol/boot.h"
#include "recorder/core/channels.h"
#include "recorder/core/instance.h"
#include "recorder/core/memory.h"
#include "recorder/core/service.h"
#include "recorder/recovery/adopt-instance.h"
#include "recorder/recovery/adopt-mapped.h"
#include "recorder/recovery/core-dump.h"
#include "recorder/recovery/recovered.h"
#include "recorder/session-state.h"
#include "ring/ring.h"

#define LIMIT_MAPPINGS 65536
#define LIMIT_SCAN (UINT64_C(256) << 20) /* bytes of one mapping that are scanned */

/* A writable shared mapping of a file. */
struct adopted_mapping {
	uint64_t begin, end;
};

struct mapped {
	pid_t pid;
	struct adopted_mapping *mappings;
	size_t nr_mappings;
	bool likely; /* there may be rings among them */
	unsigned int taken;
};

/* ---- the process's memory ---- */

/*
 * True for a memfd of such a process, or a file of rings that cannot be opened by its name any
 * more.
 */
static bool is_ring_name(const char *name, bool wanted)
{
	static const char memory[] = "/memfd:" BOOT_MEMORY;
	char path[BOOT_STATE_DIR_MAX];
	size_t size = strcspn(name, "\n");

	if (!strncmp(name, memory, sizeof(memory) - 1))
		return true;
	if (size > 10 && !strncmp(name + size - 10, " (deleted)", 10))
		size -= 10;
	if (size <= 6 || size >= sizeof(path) || strncmp(name + size - 6, ".rings", 6) != 0)
		return false;
	memcpy(path, name, size);
	path[size] = 0;
	/*
	 * A named process was requested explicitly, so its rings are used even if the file is
	 * reachable.
	 */
	return wanted || access(path, F_OK) != 0;
}

static bool adopt_mapped_add_segment(struct core *core, uint64_t begin, uint64_t end)
{
	struct segment *more;

	if (core->nr_segments >= LIMIT_MAPPINGS)
		return true;
	more = realloc(core->segments, (core->nr_segments + 1) * sizeof(*more));
	if (!more)
		return false;
	core->segments = more;
	more[core->nr_segments++] = (struct segment){
			.address = begin,
			/* In /proc/PID/mem, the offset of a byte is its address. */
			.offset = begin,
			.size = end - begin < LIMIT_SCAN ? end - begin : LIMIT_SCAN,
			.writable = true,
	};
	return true;
}

static bool adopt_mapped_add_mapping(struct mapped *mapped, uint64_t begin, uint64_t end)
{
	struct adopted_mapping *more;

	if (mapped->nr_mappings >= LIMIT_MAPPINGS)
		return true;
	more = realloc(mapped->mappings, (mapped->nr_mappings + 1) * sizeof(*more));
	if (!more)
		return false;
	mapped->mappings = more;
	more[mapped->nr_mappings++] = (struct adopted_mapping){begin, end};
	return true;
}

static bool adopt_mapped_parse_line(struct core *core, struct mapped *mapped, const char *line)
{
	unsigned long long begin, end, inode;
	char permissions[8] = "";
	int name = 0;

	if (sscanf(line, "%llx-%llx %7s %*x %*x:%*x %llu %n", &begin, &end, permissions, &inode,
			    &name) < 4 ||
			begin >= end || !name)
		return true;
	if (!strcmp(permissions, "rw-p") && !inode && (line[name] == '\n' || !line[name]))
		return adopt_mapped_add_segment(core, begin, end);
	if (strcmp(permissions, "rw-s") != 0 ||
			!is_ring_name(line + name, core->session->service->only != 0))
		return true;
	mapped->likely = true;
	return adopt_mapped_add_mapping(mapped, begin, end);
}

static int read_maps(struct core *core, struct mapped *mapped)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	bool good = true;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)mapped->pid);
	maps = fopen(path, "re");
	if (!maps)
		return -errno;
	while (good && getline(&line, &capacity, maps) > 0)
		good = adopt_mapped_parse_line(core, mapped, line);
	fclose(maps);
	free(line);
	return good ? 0 : -ENOMEM;
}

/* ---- its rings ---- */

static const struct adopted_mapping *find_mapping(const struct mapped *mapped, uint64_t address)
{
	size_t i;

	for (i = 0; i < mapped->nr_mappings; i++)
		if (mapped->mappings[i].begin == address)
			return &mapped->mappings[i];
	return NULL;
}

static int open_mapping(const struct mapped *mapped, const struct adopted_mapping *mapping)
{
	char path[128];
	int fd, again;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)mapped->pid,
			(unsigned long long)mapping->begin, (unsigned long long)mapping->end);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0 || errno != EACCES)
		return fd < 0 ? -errno : fd;
	/* Files of rings have no write permission (ring.h). */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	again = adopt_open_writable(fd);
	close(fd);
	return again;
}

static int map_rings(struct core *core, struct instance *instance, uint32_t index,
		const struct recovery_channel *from, struct error *error)
{
	struct channel *own = &instance->own_channels[index];
	const struct adopted_mapping *mapping = find_mapping(core->user, from->rings);
	int fd = mapping ? open_mapping(core->user, mapping) : -ENOENT, ret;

	if (fd >= 0) {
		ret = recover_map(&instance->channels[index], own, fd);
		close(fd);
		if (!ret)
			return 0;
		fd = ret;
	}
	return error_set(error, fd, NULL, "the rings of its channel %s: %s", own->name,
			fd == -EPERM || fd == -EACCES
					? "only root may open another process's mappings"
					: strerror(-fd));
}

/* ---- the instance ---- */

static bool adopt_mapped_has_instance(
		const struct session *session, const struct recovery_head *head, pid_t pid)
{
	const struct instance *instance;

	for (instance = session->instances.list; instance; instance = instance->next)
		if (instance->token == head->token ||
				(instance->state == INSTANCE_LIVE && instance->peer == pid))
			return true;
	return false;
}

/*
 * True if the recording was begun by a static configuration, and for this session unless one
 * process was requested.
 */
static bool adopt_mapped_is_candidate(struct core *core, const struct recovery_head *head)
{
	const struct service *service = core->session->service;
	const struct mapped *mapped = core->user;
	const char *end = memchr(head->session, 0, sizeof(head->session));
	size_t size = end ? (size_t)(end - head->session) : 0;
	static const char tail[] = "/" BOOT_SOCKET;

	if (size < sizeof(tail) || memcmp(end - (sizeof(tail) - 1), tail, sizeof(tail) - 1) != 0)
		return false;
	if (!service->only && strcmp(head->session, service->socket) != 0)
		return false;
	return !adopt_mapped_has_instance(core->session, head, mapped->pid);
}

static int adopt_mapped_instance(struct core *core, struct instance *instance,
		const struct recovery_head *head, struct error *error)
{
	struct mapped *mapped = core->user;
	struct pollfd ended = {.events = POLLIN};
	uint32_t i;

	for (i = 0; i < instance->nr_channels; i++)
		instance->channels[i].memory = ring_memory_size(&instance->channels[i].geometry);
	instance->peer = mapped->pid;
	instance->token = head->token;
	instance->begin_ticks = ring_clock_now((enum ring_clock)head->clock);
	if (adopt_clock_of(core->session, instance, (enum ring_clock)head->clock))
		return -ENOMEM;
	if (!memory_take_found(core->session, instance))
		return error_set(error, -ENOSPC, NULL,
				"its rings are larger than the session's memory");
	ended.fd = (int)syscall(SYS_pidfd_open, mapped->pid, 0);
	/* The pidfd must not be of another process that has the id by now. */
	if (ended.fd >= 0 && poll(&ended, 1, 0) != 0) {
		close(ended.fd);
		ended.fd = -1;
	}
	adopt_add(core->session, instance, ended.fd);
	mapped->taken++;
	return 0;
}

/* ---- processes ---- */

int adopt_mapped(struct session *session, pid_t pid)
{
	struct mapped mapped = {.pid = pid};
	char name[64], path[64];
	struct core core = {
			.session = session,
			.path = name,
			.fd = -1,
			.wants = adopt_mapped_is_candidate,
			.take_rings = map_rings,
			.take = adopt_mapped_instance,
			.user = &mapped,
	};
	int ret = read_maps(&core, &mapped);

	snprintf(name, sizeof(name), "process %d", (int)pid);
	if (!ret && mapped.likely) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
		core.fd = open(path, O_RDONLY | O_CLOEXEC);
		ret = core.fd < 0 ? -errno : core_scan(&core);
	}
	if (core.fd >= 0)
		close(core.fd);
	free(core.segments);
	free(mapped.mappings);
	return ret ? ret : (int)mapped.taken;
}

void adopt_mapped_all(struct session *session)
{
	struct dirent *entry;
	DIR *processes;

	if (session->service->only) {
		(void)adopt_mapped(session, session->service->only);
		return;
	}
	processes = opendir("/proc");
	while (processes && (entry = readdir(processes))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		/* Skip processes that the recorder may not read. */
		if (pid > 0 && pid != getpid())
			(void)adopt_mapped(session, pid);
	}
	if (processes)
		closedir(processes);
}
