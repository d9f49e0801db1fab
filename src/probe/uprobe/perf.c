/* SPDX-License-Identifier: MIT */
/*
 * Reads the hits of definitions in tracefs through perf's buffers: one for each CPU, into which all
 * events of that CPU write. The filter is applied here, on values of the kernel's sample; the user
 * of a process is read from /proc.
 */
#include "base/clock.h"
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_CGROUP (1u << 21)
#define BUFFER_SIZE (1u << 20) /* for one CPU */
#define CPUS_MAX 4096
#define RAW_MAX 65536

/* The position of an argument in a record. */
struct perf_argument {
	uint32_t at, size;
};

#define FORMAT_LOST (1u << 4) /* a flag of read_format, from Linux 6.0 on */

struct uprobe_event_definition {
	uint32_t id; /* of the event, in records */
	struct perf_argument stack, name;
	struct perf_argument *fields;
};

struct uprobe_perf_buffer {
	struct perf_event_mmap_page *page;
	int fd; /* the event that the buffer belongs to; -1: the CPU is offline */
};

struct uprobe_perf {
	int tracefs, epoll;
	char group[80];
	struct uprobe_event_definition *definitions; /* by side */
	uint32_t nr_defined;
	struct uprobe_perf_buffer *buffers;
	uint32_t nr_buffers;
	int *events;
	uint32_t nr_events;
	uint64_t lost, lost_before; /* lost_before: until the present events were opened */
	/*
	 * Events of CPUs are enabled and disabled one after the other, and threads migrate between
	 * CPUs: hits have no gaps only while all events are enabled.
	 */
	uint64_t from, until;
	/* hits of processes that had exited before their user was known */
	uint64_t nr_unknown_users;
	unsigned char *record, *raw;
};

/* ---- definitions ---- */

static bool perf_find_argument(
		const char *format, const char *name, struct perf_argument *ret_argument)
{
	char wanted[64];
	const char *at;

	(void)snprintf(wanted, sizeof(wanted), " %s;", name);
	at = strstr(format, wanted);
	if (!at) {
		(void)snprintf(wanted, sizeof(wanted), " %s[", name);
		at = strstr(format, wanted);
	}
	at = at ? strstr(at, "offset:") : NULL;
	return at &&
			sscanf(at, "offset:%" SCNu32 "; size:%" SCNu32, &ret_argument->at,
					&ret_argument->size) == 2;
}

static int uprobe_perf_read_format(
		struct uprobe_perf *perf, const struct global_side *side, struct error *error)
{
	struct uprobe_event_definition *definition = &perf->definitions[side->number];
	char path[200], *format = malloc(RAW_MAX), name[32];
	bool found;

	definition->fields = calloc(side->nr_fields + 1u, sizeof(*definition->fields));
	if (!format || !definition->fields) {
		free(format);
		return error_set_no_memory(error);
	}
	(void)snprintf(path, sizeof(path), "events/%s/e%" PRIu32 "/format", perf->group,
			side->number);
	found = !global_tracefs_read(perf->tracefs, path, format, RAW_MAX) &&
			perf_find_argument(format, "stack", &definition->stack) &&
			perf_find_argument(format, "name", &definition->name);
	for (uint32_t i = 0; i < side->nr_fields && found; i++) {
		if (side->fields[i].source != GLOBAL_FETCHED)
			continue;
		(void)snprintf(name, sizeof(name), "f%" PRIu32, i);
		found = perf_find_argument(format, name, &definition->fields[i]);
	}
	(void)snprintf(path, sizeof(path), "events/%s/e%" PRIu32 "/id", perf->group, side->number);
	if (found && !global_tracefs_read(perf->tracefs, path, format, RAW_MAX))
		definition->id = (uint32_t)strtoul(format, NULL, 10);
	free(format);
	return definition->id
			? 0
			: error_set(error, -EPROTO, "",
					  "cannot parse the kernel's description of a definition");
}

static int uprobe_perf_write_definition(
		struct uprobe_perf *perf, const struct global_side *side, struct error *error)
{
	char arguments[8192], reference[32] = "", *text = NULL;
	int ret = text_arguments(side, arguments, sizeof(arguments), error);

	if (ret)
		return ret;
	if (strpbrk(side->path, " \t\n"))
		return error_set(error, -EINVAL, "",
				"a definition of tracefs cannot name the file `%.256s`",
				side->path);
	if (side->reference)
		(void)snprintf(reference, sizeof(reference), "(0x%" PRIx64 ")", side->reference);
	if (asprintf(&text, "%c:%s/e%" PRIu32 " %s:0x%" PRIx64 "%s%s\n", side->exit ? 'r' : 'p',
			    perf->group, side->number, side->path, side->offset, reference,
			    arguments) < 0)
		return error_set_no_memory(error);
	ret = global_tracefs_define(perf->tracefs, text, error);
	free(text);
	return ret ? ret : uprobe_perf_read_format(perf, side, error);
}

/* ---- buffers ---- */

static uint32_t perf_count_cpus(void)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);

	return count < 1 || count > CPUS_MAX ? 1 : (uint32_t)count;
}

/* CPUs that are offline have no events. */
static uint32_t perf_count_online(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count < 1 || count > CPUS_MAX ? 1 : (uint32_t)count;
}

static int uprobe_perf_open_event(const struct global *global,
		const struct uprobe_event_definition *definition, uint32_t cpu)
{
	struct perf_event_attr attributes = {
			.type = PERF_TYPE_TRACEPOINT,
			.size = sizeof(attributes),
			.config = definition->id,
			.sample_period = 1,
			.read_format = FORMAT_LOST,
			.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
					PERF_SAMPLE_RAW |
					(global->filter.nr_cgroups ? SAMPLE_CGROUP : 0),
			.disabled = 1,
			.use_clockid = 1,
			.clockid = CLOCK_MONOTONIC,
			.watermark = 1,
			.wakeup_watermark = BUFFER_SIZE / 8,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	/* Kernels before Linux 6.0 do not count the last lost samples. */
	if (fd < 0 && errno == EINVAL) {
		attributes.read_format = 0;
		fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1,
				PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

/* The first event of a CPU owns the buffer; all others write into it. */
static int uprobe_perf_add_event(struct uprobe_perf *perf, uint32_t cpu, int fd)
{
	struct uprobe_perf_buffer *buffer = &perf->buffers[cpu];
	struct epoll_event interest = {.events = EPOLLIN};

	perf->events[perf->nr_events++] = fd;
	if (buffer->fd >= 0)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, buffer->fd) ? -errno : 0;
	buffer->page = mmap(NULL, BUFFER_SIZE + (size_t)sysconf(_SC_PAGESIZE),
			PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (buffer->page == MAP_FAILED) {
		buffer->page = NULL;
		return -errno;
	}
	buffer->fd = fd;
	return epoll_ctl(perf->epoll, EPOLL_CTL_ADD, fd, &interest) ? -errno : 0;
}

static void perf_close_events(struct uprobe_perf *perf)
{
	for (uint32_t i = 0; i < perf->nr_buffers; i++) {
		if (perf->buffers[i].page)
			munmap(perf->buffers[i].page, BUFFER_SIZE + (size_t)sysconf(_SC_PAGESIZE));
		perf->buffers[i] = (struct uprobe_perf_buffer){.fd = -1};
	}
	while (perf->nr_events)
		close(perf->events[--perf->nr_events]);
}

static int uprobe_perf_set_error(struct error *error, int code)
{
	if (code == -EPERM || code == -EACCES)
		return error_set(error, code,
				"run as root, or with CAP_PERFMON, or run `sudo sysctl kernel.perf_event_paranoid=-1`",
				"the kernel does not permit reading events of all processes");
	if (code == -EMFILE)
		return error_set(error, code,
				"probe fewer locations, or raise the limit of open files",
				"each location needs a descriptor for each CPU, and the limit of open files is too low");
	return error_set(error, code, "", "the kernel refuses a perf event: %s", strerror(-code));
}

static int perf_open_events(struct global *global, struct error *error)
{
	struct uprobe_perf *perf = global->perf;

	for (uint32_t i = 0; i < global->nr_sides; i++) {
		for (uint32_t cpu = 0; cpu < perf->nr_buffers; cpu++) {
			int fd = uprobe_perf_open_event(global, &perf->definitions[i], cpu), ret;

			/* The CPU is offline. */
			if (fd == -ENODEV)
				continue;
			ret = fd < 0 ? fd : uprobe_perf_add_event(perf, cpu, fd);
			if (ret)
				return uprobe_perf_set_error(error, ret);
		}
	}
	for (uint32_t i = 0; i < perf->nr_events; i++)
		if (ioctl(perf->events[i], PERF_EVENT_IOC_ENABLE, 0))
			return uprobe_perf_set_error(error, -errno);
	return 0;
}

/*
 * A buffer reports its losses when it has space again, which may be never; each event counts its
 * own. Kernels without that counter return one number only.
 */
static void perf_count_lost(struct uprobe_perf *perf)
{
	uint64_t value[2], sum = 0; /* count, lost */

	for (uint32_t i = 0; i < perf->nr_events; i++)
		if (read(perf->events[i], value, sizeof(value)) == sizeof(value))
			sum += value[1];
	if (perf->lost < perf->lost_before + sum)
		perf->lost = perf->lost_before + sum;
	perf->lost_before = perf->lost;
}

int perf_watch(struct global *global, bool on, struct error *error)
{
	int ret;

	/* Closing the events discards the samples in the buffers: read them first. */
	if (global->on) {
		global->perf->until = clock_monotonic_ns();
		for (uint32_t i = 0; i < global->perf->nr_events; i++)
			(void)ioctl(global->perf->events[i], PERF_EVENT_IOC_DISABLE, 0);
		perf_read(global->perf, global);
		perf_count_lost(global->perf);
	}
	perf_close_events(global->perf);
	if (!on)
		return 0;
	global->perf->from = global->perf->until = UINT64_MAX;
	ret = perf_open_events(global, error);
	if (ret)
		perf_close_events(global->perf);
	else
		global->perf->from = clock_monotonic_ns();
	return ret;
}

/* ---- life ---- */

static int uprobe_perf_allocate(struct uprobe_perf *perf, const struct global *global)
{
	perf->nr_buffers = perf_count_cpus();
	perf->definitions = calloc(global->nr_sides + 1, sizeof(*perf->definitions));
	perf->buffers = calloc(perf->nr_buffers, sizeof(*perf->buffers));
	perf->events = calloc(
			(size_t)perf->nr_buffers * global->nr_sides + 1, sizeof(*perf->events));
	perf->record = malloc(sizeof(struct hit_record) + PROBE_TABLE_PAYLOAD_MAX + RAW_MAX);
	perf->raw = malloc(RAW_MAX);
	perf->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (uint32_t i = 0; perf->buffers && i < perf->nr_buffers; i++)
		perf->buffers[i].fd = -1;
	return perf->definitions && perf->buffers && perf->events && perf->record && perf->raw &&
					perf->epoll >= 0
			? 0
			: -ENOMEM;
}

int perf_open(struct global *global, struct error *error)
{
	struct uprobe_perf *perf = calloc(1, sizeof(*perf));
	int ret;

	if (!perf)
		return error_set_no_memory(error);
	perf->epoll = perf->tracefs = -1;
	global_tracefs_group(perf->group, sizeof(perf->group));
	ret = uprobe_perf_allocate(perf, global) ? error_set_no_memory(error) : 0;
	if (!ret) {
		perf->tracefs = global_tracefs_open(error);
		ret = perf->tracefs < 0 ? perf->tracefs : 0;
	}
	if (!ret)
		ret = global_descriptors((uint64_t)global->nr_sides * perf_count_online(),
				perf->epoll, error);
	for (uint32_t i = 0; i < global->nr_sides && !ret; i++) {
		perf->nr_defined++;
		ret = uprobe_perf_write_definition(perf, &global->sides[i], error);
	}
	if (ret)
		perf_close(perf);
	else
		global->perf = perf;
	return ret;
}

void perf_close(struct uprobe_perf *perf)
{
	if (!perf)
		return;
	if (perf->buffers && perf->events)
		perf_close_events(perf);
	if (perf->tracefs >= 0) {
		(void)global_tracefs_remove(perf->tracefs, perf->group);
		close(perf->tracefs);
	}
	for (uint32_t i = 0; i < perf->nr_defined; i++)
		free(perf->definitions[i].fields);
	if (perf->epoll >= 0)
		close(perf->epoll);
	free(perf->definitions);
	free(perf->buffers);
	free(perf->events);
	free(perf->record);
	free(perf->raw);
	free(perf);
}

int perf_fd(const struct uprobe_perf *perf)
{
	return perf->epoll;
}

uint64_t perf_lost(const struct uprobe_perf *perf)
{
	return perf->lost + perf->nr_unknown_users;
}

/* ---- samples ---- */

struct uprobe_sample {
	uint32_t pid, tid, cpu;
	uint64_t time, cgroup;
	const unsigned char *raw;
	uint32_t size;
};

static uint64_t uprobe_perf_read_number(
		const struct uprobe_sample *sample, const struct perf_argument *argument)
{
	uint64_t value = 0;

	if (argument->size <= sizeof(value) && argument->at + argument->size <= sample->size)
		memcpy(&value, sample->raw + argument->at, argument->size);
	return value;
}

/* Returns the bytes of a string; NULL: it could not be read. */
static const char *uprobe_perf_read_text(const struct uprobe_sample *sample,
		const struct perf_argument *argument, uint32_t *ret_length)
{
	uint32_t location = (uint32_t)uprobe_perf_read_number(sample, argument),
		 at = location & 0xffff;
	const char *text = (const char *)sample->raw + at;

	*ret_length = location >> 16;
	if (!*ret_length || at + *ret_length > sample->size ||
			(*ret_length == sizeof("(fault)") &&
					!memcmp(text, "(fault)", sizeof("(fault)"))))
		return NULL;
	return text;
}

static void uprobe_perf_read_value(struct hit_record *record, const struct uprobe_sample *sample,
		const struct perf_argument *argument, const struct global_field *field,
		uint32_t index)
{
	unsigned char *to = (unsigned char *)(record + 1) + field->at;
	uint64_t value;
	uint32_t length = 0;

	if (!field->capacity) {
		value = uprobe_fetch_finish(&field->fetch, text_nr_executed(&field->fetch),
				uprobe_perf_read_number(sample, argument));
		memcpy(to, &value, sizeof(value));
		return;
	}
	if (field->field.type == PROBE_FIELD_STRING) {
		const char *text = uprobe_perf_read_text(sample, argument, &length);

		if (length > field->capacity)
			length = field->capacity;
		if (text) {
			memcpy(to + 8, text, length);
			to[8 + length - 1] = 0;
		} else {
			length = 0;
		}
	} else if (argument->at + (size_t)field->field.size * field->field.limit <= sample->size) {
		length = field->field.limit;
		memcpy(to + 8, sample->raw + argument->at, (size_t)field->field.size * length);
	}
	value = length ? length : UINT64_MAX;
	memcpy(to, &value, sizeof(value));
	if (!length)
		record->unreadable |= UINT64_C(1) << index;
}

/*
 * Checks the user in /proc. If the process has exited, the hit counts as lost, because it may
 * belong to the user.
 */
static bool perf_is_of_user(
		struct uprobe_perf *perf, const struct global_filter *filter, uint32_t pid)
{
	char path[64], text[4096];
	const char *at;
	uint32_t uid;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	if (global_tracefs_read(AT_FDCWD, path, text, sizeof(text))) {
		perf->nr_unknown_users++;
		return false;
	}
	at = strstr(text, "\nUid:");
	if (!at || sscanf(at, "\nUid: %" SCNu32, &uid) != 1)
		return false;
	for (uint32_t i = 0; i < filter->nr_uids; i++)
		if (filter->uids[i] == uid)
			return true;
	return false;
}

static bool uprobe_perf_accepts_sample(struct uprobe_perf *perf, const struct global_filter *filter,
		const struct uprobe_sample *sample, const struct hit_record *record)
{
	bool found = !filter->nr_pids;

	for (uint32_t i = 0; i < filter->nr_pids; i++)
		found |= filter->pids[i] == sample->pid;
	if (!found)
		return false;
	found = !filter->nr_cgroups;
	for (uint32_t i = 0; i < filter->nr_cgroups; i++)
		found |= filter->cgroups[i] == sample->cgroup;
	if (!found)
		return false;
	found = !filter->nr_comms;
	for (uint32_t i = 0; i < filter->nr_comms; i++)
		found |= !memcmp(filter->comms[i], record->comm, sizeof(record->comm));
	return found && (!filter->nr_uids || perf_is_of_user(perf, filter, sample->pid));
}

static const struct global_side *perf_find_side(const struct global *global, uint32_t id)
{
	/* Ids are consecutive, except where other tools define events at the same time. */
	for (uint32_t i = 0; i < global->nr_sides; i++)
		if (global->perf->definitions[i].id == id)
			return &global->sides[i];
	return NULL;
}

static void perf_add_sample(struct global *global, const struct uprobe_sample *sample)
{
	struct uprobe_perf *perf = global->perf;
	struct hit_record *record = (struct hit_record *)(void *)perf->record;
	const struct uprobe_event_definition *definition;
	const struct global_side *side;
	const char *name;
	uint16_t id = 0;
	uint32_t length;

	if (sample->time < perf->from || sample->time > perf->until)
		return;
	if (sample->size >= sizeof(id))
		memcpy(&id, sample->raw, sizeof(id));
	side = perf_find_side(global, id);
	if (!side)
		return;
	definition = &perf->definitions[side->number];
	*record = (struct hit_record){.time = sample->time,
			.side = side->number,
			.cpu = sample->cpu,
			.pid_tgid = (uint64_t)sample->pid << 32 | sample->tid,
			.sp = uprobe_perf_read_number(sample, &definition->stack)};
	name = uprobe_perf_read_text(sample, &definition->name, &length);
	if (name)
		memcpy(record->comm, name, length < 16 ? length : 15);
	for (uint32_t i = 0; i < side->nr_fields; i++)
		if (side->fields[i].source == GLOBAL_FETCHED)
			uprobe_perf_read_value(record, sample, &definition->fields[i],
					&side->fields[i], i);
	if (uprobe_perf_accepts_sample(perf, &global->filter, sample, record))
		hits_add(&global->hits, record, sizeof(*record) + side->size);
}

/* Parses a sample in the kernel's order of its members. */
static bool perf_parse_sample(const unsigned char *bytes, size_t size, bool cgroup,
		struct uprobe_sample *ret_sample)
{
	size_t at = 8 + 8 + 8;

	if (size < at + 4)
		return false;
	memcpy(&ret_sample->pid, bytes, 4);
	memcpy(&ret_sample->tid, bytes + 4, 4);
	memcpy(&ret_sample->time, bytes + 8, 8);
	memcpy(&ret_sample->cpu, bytes + 16, 4);
	memcpy(&ret_sample->size, bytes + at, 4);
	at += 4;
	if (ret_sample->size > size - at)
		return false;
	ret_sample->raw = bytes + at;
	at += ret_sample->size;
	if (cgroup && at + 8 <= size)
		memcpy(&ret_sample->cgroup, bytes + at, 8);
	return true;
}

static void perf_copy(const struct perf_event_mmap_page *page, uint64_t at, void *to, size_t size)
{
	const unsigned char *data = (const unsigned char *)page + sysconf(_SC_PAGESIZE);
	size_t begin = at & (BUFFER_SIZE - 1), first = BUFFER_SIZE - begin;

	first = first < size ? first : size;
	memcpy(to, data + begin, first);
	memcpy((unsigned char *)to + first, data, size - first);
}

static void perf_read_buffer(struct global *global, struct perf_event_mmap_page *page)
{
	struct uprobe_perf *perf = global->perf;
	uint64_t at = page->data_tail;
	/*
	 * Acquire: records before the head. Pairs with the kernel's barrier before it writes the
	 * head.
	 */
	uint64_t end = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

	while (at < end) {
		struct perf_event_header head;
		struct uprobe_sample sample = {.pid = 0};

		perf_copy(page, at, &head, sizeof(head));
		if (head.size < sizeof(head) || head.size > end - at)
			break;
		perf_copy(page, at + sizeof(head), perf->raw, head.size - sizeof(head));
		if (head.type == PERF_RECORD_SAMPLE &&
				perf_parse_sample(perf->raw, head.size - sizeof(head),
						global->filter.nr_cgroups, &sample)) {
			perf_add_sample(global, &sample);
		} else if (head.type == PERF_RECORD_LOST) {
			uint64_t lost;

			memcpy(&lost, perf->raw + 8, sizeof(lost));
			perf->lost += lost;
		}
		at += head.size;
	}
	/*
	 * Release: the records have been copied. Pairs with the kernel's read before it writes
	 * there again.
	 */
	__atomic_store_n(&page->data_tail, end, __ATOMIC_RELEASE);
}

void perf_read(struct uprobe_perf *perf, struct global *global)
{
	for (uint32_t i = 0; i < perf->nr_buffers; i++)
		if (perf->buffers[i].page)
			perf_read_buffer(global, perf->buffers[i].page);
}
