/* SPDX-License-Identifier: MIT */
/*
 * Records the kernel's events with perf_event_open().
 *
 * Each CPU has one buffer for all of its events. A second buffer has the names of threads, so that
 * a full event buffer loses only events.
 *
 * Time. If the clock is the TSC, perf's time is converted back to ticks with the parameters that
 * the kernel publishes (cap_user_time_zero). Otherwise perf uses CLOCK_MONOTONIC, which needs no
 * conversion.
 *
 * Losses. PERF_RECORD_LOST reports them once the buffer has space again. The losses at the end, and
 * losses by event, are read from each event (PERF_FORMAT_LOST, Linux 6.0).
 *
 * Recording a command: the events are opened on the recorder's own thread and inherited by the
 * processes that it starts; the kernel enables them at exec. An event that is registered later is
 * opened on each known thread.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel-events/kernel-events.h"
#include "kernel-events/parts.h"

#define NAMES_SIZE ((size_t)256 << 10)
#define BUFFER_MIN ((uint64_t)16 << 10)

/* A perf event: an event class on a CPU, of all threads or of one. */
struct counter {
	struct counter *next;
	const struct kernel_event_class *event_class;
	uint32_t cpu;
	int fd;
};

struct kernel_perf_buffer {
	int fd;
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t size; /* a power of two; 0: not mapped */
};

struct kernel_perf_sample {
	uint64_t time;
	uint64_t at; /* offset in `flat` */
};

struct kernel_perf {
	struct counter *counters;
	struct kernel_perf_buffer *events, *names; /* by CPU */
	struct pollfd *polls;
	struct byte_buffer flat; /* the new bytes of one buffer, contiguous */
	struct kernel_perf_sample *samples;
	size_t capacity;
	uint64_t *heads; /* of the current round, by CPU */
	uint64_t size;   /* of each buffer */
	int *gone;       /* disabled events that wait for closing */
	size_t nr_gone, gone_capacity;
	bool started;
	/*
	 * When recording the whole machine, in ticks: CPUs are enabled and disabled one after the
	 * other and threads migrate, so only the time in which all CPUs were enabled has no gaps.
	 */
	uint64_t from, until;
	struct ring_clock_conversion conversion; /* from perf's time to ticks */
	bool counts_lost;                        /* the kernel counts losses by event (Linux 6.0) */
	char name[80];
};

static int kernel_perf_open_event(struct perf_event_attr *attributes, pid_t pid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* ---- time ---- */

static bool kernel_perf_read_conversion(struct ring_clock_conversion *ret_conversion)
{
	return ring_clock_kernel_conversion(ret_conversion) && ret_conversion->has_zero;
}

bool kernel_record_knows_tsc(void)
{
	struct ring_clock_conversion conversion;

	return kernel_perf_read_conversion(&conversion);
}

static uint64_t kernel_perf_ticks(const struct kernel_record *record, uint64_t time)
{
	const struct kernel_perf *perf = record->backend_state;
	const struct ring_clock_conversion *conversion = &perf->conversion;
	unsigned __int128 since = 0;

	if (record->options.clock != RING_CLOCK_TSC)
		return time;
	if (time > conversion->zero)
		since = (unsigned __int128)(time - conversion->zero) << conversion->shift;
	return (uint64_t)(since / conversion->multiplier);
}

/* ---- opening ---- */

static struct perf_event_attr kernel_perf_attributes(const struct kernel_record *record)
{
	struct perf_event_attr attributes = {
			.size = sizeof(attributes),
			.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
			.disabled = 1,
			.inherit = !record->options.machine,
			.watermark = 1,
	};

	if (record->options.clock != RING_CLOCK_TSC) {
		attributes.use_clockid = 1;
		attributes.clockid = CLOCK_MONOTONIC;
	}
	return attributes;
}

static void kernel_perf_unmap_ring(struct kernel_perf_buffer *buffer)
{
	if (buffer->page)
		munmap(buffer->page, (size_t)buffer->size + (size_t)sysconf(_SC_PAGESIZE));
	buffer->page = NULL;
	buffer->size = 0;
}

static int kernel_perf_map_ring(struct kernel_perf_buffer *buffer, uint64_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, (size_t)size + page, PROT_READ | PROT_WRITE, MAP_SHARED,
			buffer->fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	buffer->page = memory;
	buffer->data = (uint8_t *)memory + page;
	buffer->size = size;
	return 0;
}

/*
 * A buffer belongs to a dummy event that never occurs, because the events that write to it come and
 * go.
 */
static int kernel_perf_open_buffer(const struct kernel_record *record,
		struct kernel_perf_buffer *buffer, int cpu, uint64_t size, bool names)
{
	struct perf_event_attr attributes = kernel_perf_attributes(record);
	int ret;

	attributes.type = PERF_TYPE_SOFTWARE;
	attributes.config = PERF_COUNT_SW_DUMMY;
	attributes.sample_id_all = 1;
	attributes.wakeup_watermark = (uint32_t)(size / 4);
	if (names) {
		attributes.comm = 1;
		attributes.comm_exec = 1;
		attributes.task = 1;
		attributes.disabled = 0;
	}
	buffer->fd = kernel_perf_open_event(&attributes, record->options.machine ? -1 : 0, cpu);
	if (buffer->fd < 0)
		return buffer->fd;
	ret = kernel_perf_map_ring(buffer, size);
	if (ret) {
		close(buffer->fd);
		buffer->fd = -1;
	}
	return ret;
}

/*
 * Open the buffers of a CPU, as large as permitted: without CAP_IPC_LOCK,
 * kernel.perf_event_mlock_kb is the limit.
 */
static int kernel_perf_open_cpu(
		struct kernel_record *record, struct kernel_perf *perf, uint32_t cpu)
{
	int ret;

	for (;;) {
		ret = kernel_perf_open_buffer(
				record, &perf->events[cpu], (int)cpu, perf->size, false);
		if ((ret != -EPERM && ret != -ENOMEM) || perf->size <= BUFFER_MIN || cpu)
			break;
		perf->size /= 2;
	}
	/* If the buffer for names fails, names are read from /proc. */
	if (!ret)
		(void)kernel_perf_open_buffer(record, &perf->names[cpu], (int)cpu,
				perf->size < NAMES_SIZE ? perf->size : NAMES_SIZE, true);
	return ret;
}

/* Set the error of a refused perf_event_open(), with the value of perf_event_paranoid. */
static void kernel_perf_set_denied(struct error *error, int code)
{
	char *level = NULL;

	if (tracefs_read("/proc/sys/kernel/perf_event_paranoid", &level) > 0)
		level[strcspn(level, "\n")] = '\0';
	if (code == -ENOSYS)
		error_set(error, code, "", "the kernel has no perf_event_open()");
	else
		error_set(error, code, "run it as root, or give it CAP_PERFMON",
				"perf_event_open() is not permitted (kernel.perf_event_paranoid is %s)",
				level ? level : "unknown");
	free(level);
}

/* Each event needs a descriptor for each CPU. */
static void kernel_perf_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int kernel_perf_open(struct kernel_record *record, struct error *error)
{
	struct kernel_perf *perf = calloc(1, sizeof(*perf));
	uint32_t i, opened = 0;
	int ret = 0;

	record->backend_state = perf;
	if (!perf)
		return error_set_no_memory(error);
	perf->events = calloc(record->nr_cpus, sizeof(*perf->events));
	perf->names = calloc(record->nr_cpus, sizeof(*perf->names));
	perf->polls = calloc(record->nr_cpus + 3, sizeof(*perf->polls));
	perf->heads = calloc(record->nr_cpus, sizeof(*perf->heads));
	perf->counts_lost = true;
	perf->size = record->options.buffer_size;
	if (!perf->heads || !perf->events || !perf->names || !perf->polls)
		return error_set_no_memory(error);
	for (i = 0; i < record->nr_cpus; i++)
		perf->events[i].fd = perf->names[i].fd = perf->polls[i].fd = -1;
	if (record->options.clock == RING_CLOCK_TSC &&
			!kernel_perf_read_conversion(&perf->conversion))
		return error_set(error, -ENOTSUP, "",
				"perf cannot convert its times to those of the programs' traces");
	kernel_perf_raise_file_limit();
	for (i = 0; i < record->nr_cpus && (!ret || ret == -ENODEV); i++) {
		ret = kernel_perf_open_cpu(record, perf, i);
		opened += !ret;
		perf->polls[i] = (struct pollfd){.fd = perf->events[i].fd, .events = POLLIN};
	}
	if (opened && (!ret || ret == -ENODEV)) { /* -ENODEV: the CPU is offline */
		(void)snprintf(perf->name, sizeof(perf->name), "perf buffers of %llu KiB a CPU",
				(unsigned long long)perf->size >> 10);
		return 0;
	}
	if (ret == -EACCES || ret == -EPERM || ret == -ENOSYS)
		kernel_perf_set_denied(error, ret);
	else
		error_set(error, ret, "", "perf_event_open() fails: %s", strerror(-ret));
	return ret;
}

/* ---- events ---- */

static int kernel_perf_open_counter(struct kernel_record *record,
		const struct kernel_event_class *event_class, const char *filter, pid_t pid,
		uint32_t cpu, struct error *error)
{
	struct perf_event_attr attributes = kernel_perf_attributes(record);
	struct kernel_perf *perf = record->backend_state;
	struct counter *counter = calloc(1, sizeof(*counter));
	int fd, ret = 0;

	if (!counter)
		return error_set_no_memory(error);
	attributes.type = PERF_TYPE_TRACEPOINT;
	attributes.config = event_class->id;
	attributes.sample_period = 1;
	/*
	 * With PERF_SAMPLE_PERIOD each record is one sample, even if the event has a count of its
	 * own, such as nanoseconds.
	 */
	attributes.sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW;
	attributes.read_format = perf->counts_lost ? PERF_FORMAT_LOST : 0;
	attributes.enable_on_exec = !record->options.machine && !perf->started;
	fd = kernel_perf_open_event(&attributes, pid, (int)cpu);
	if (fd == -EINVAL && perf->counts_lost) {
		attributes.read_format = 0;
		fd = kernel_perf_open_event(&attributes, pid, (int)cpu);
		perf->counts_lost = fd < 0;
	}
	if (fd < 0) {
		ret = fd;
	} else if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter)) {
		ret = -errno;
		close(fd);
		free(counter);
		return error_set(error, ret,
				"`cat /sys/kernel/tracing/events/SYSTEM/EVENT/format` shows the fields",
				"the kernel refuses the filter `%s` for %s:%s: %s", filter,
				event_class->system, event_class->name, strerror(-ret));
	} else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, perf->events[cpu].fd) ||
			(perf->started && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))) {
		ret = -errno;
		close(fd);
	}
	if (ret) {
		free(counter);
		return error_set(error, ret,
				ret == -EMFILE ? "raise `ulimit -n`, or choose fewer events"
						: ret == -EPERM || ret == -EACCES
						? "run it as root, or set kernel.perf_event_paranoid to -1"
						: NULL,
				"cannot record %s:%s: %s", event_class->system, event_class->name,
				strerror(-ret));
	}
	*counter = (struct counter){
			.next = perf->counters, .event_class = event_class, .cpu = cpu, .fd = fd};
	perf->counters = counter;
	return 0;
}

struct late_opening {
	struct kernel_record *record;
	const struct kernel_event_class *event_class;
};

static void kernel_perf_open_late(void *user, pid_t tid)
{
	struct late_opening *late = user;
	struct kernel_perf *perf = late->record->backend_state;
	struct error error;
	uint32_t cpu;

	for (cpu = 0; cpu < late->record->nr_cpus; cpu++)
		if (perf->events[cpu].size)
			(void)kernel_perf_open_counter(late->record, late->event_class,
					late->event_class->filter, tid, cpu, &error);
}

/* Queue the event for kernel_perf_close_gone(), which closes many together. */
static void kernel_perf_drop_counter(struct kernel_perf *perf, struct counter *counter)
{
	if (perf->nr_gone == perf->gone_capacity) {
		size_t capacity = perf->gone_capacity * 2 + 64;
		int *gone = realloc(perf->gone, capacity * sizeof(*gone));

		if (gone) {
			perf->gone = gone;
			perf->gone_capacity = capacity;
		}
	}
	(void)ioctl(counter->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (perf->nr_gone < perf->gone_capacity)
		perf->gone[perf->nr_gone++] = counter->fd;
	else
		close(counter->fd);
	free(counter);
}

static void kernel_perf_close_gone(struct kernel_perf *perf)
{
	if (perf->nr_gone)
		kernel_close_many(perf->gone, perf->nr_gone);
	perf->nr_gone = 0;
}

static void kernel_perf_remove_class(
		struct kernel_record *record, struct kernel_event_class *event_class)
{
	struct kernel_perf *perf = record->backend_state;
	struct counter **at = &perf->counters, *counter;

	while ((counter = *at)) {
		if (counter->event_class != event_class) {
			at = &counter->next;
			continue;
		}
		*at = counter->next;
		kernel_perf_drop_counter(perf, counter);
	}
}

static int kernel_perf_add_class(struct kernel_record *record,
		struct kernel_event_class *event_class, struct error *error)
{
	struct kernel_perf *perf = record->backend_state;
	uint32_t cpu;
	int ret = 0;

	if (perf->started && !record->options.machine) {
		struct late_opening late = {record, event_class};

		tasks_each_alive(record->tasks, kernel_perf_open_late, &late);
		return 0;
	}
	for (cpu = 0; cpu < record->nr_cpus && !ret; cpu++)
		if (perf->events[cpu].size)
			ret = kernel_perf_open_counter(record, event_class, event_class->filter,
					record->options.machine ? -1 : 0, cpu, error);
	if (ret) /* the caller frees the event class: nothing may refer to it */
		kernel_perf_remove_class(record, event_class);
	return ret;
}

/*
 * perf cannot change a filter, so open a second event beside the first. The two filters match
 * different records.
 */
static int kernel_perf_widen_filter(struct kernel_record *record,
		struct kernel_event_class *event_class, const char *more, const char *all)
{
	struct kernel_perf *perf = record->backend_state;
	struct error ignored;
	const struct counter *before = perf->counters;
	uint32_t cpu;
	int ret = 0;

	(void)all;
	for (cpu = 0; cpu < record->nr_cpus && !ret; cpu++)
		if (perf->events[cpu].size)
			ret = kernel_perf_open_counter(
					record, event_class, more, -1, cpu, &ignored);
	while (ret && perf->counters != before) {
		struct counter *next = perf->counters->next;

		kernel_perf_drop_counter(perf, perf->counters);
		perf->counters = next;
	}
	return ret;
}

static int kernel_perf_start(struct kernel_record *record)
{
	struct kernel_perf *perf = record->backend_state;
	const struct counter *counter;

	perf->started = true;
	perf->until = UINT64_MAX;
	if (!record->options.machine)
		return 0; /* the kernel enables the events at exec */
	for (counter = perf->counters; counter; counter = counter->next)
		if (ioctl(counter->fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	perf->from = ring_clock_now(record->options.clock);
	return 0;
}

static void kernel_perf_stop(struct kernel_record *record)
{
	struct kernel_perf *perf = record->backend_state;
	const struct counter *counter;

	if (record->options.machine)
		perf->until = ring_clock_now(record->options.clock);
	for (counter = perf->counters; counter; counter = counter->next)
		(void)ioctl(counter->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* ---- draining ---- */

static void kernel_perf_wait(struct kernel_record *record, int timeout_ms)
{
	struct kernel_perf *perf = record->backend_state;

	kernel_perf_close_gone(perf);
	perf->polls[record->nr_cpus] = (struct pollfd){.fd = record->wake, .events = POLLIN};
	perf->polls[record->nr_cpus + 1] =
			(struct pollfd){.fd = record->extra_fd, .events = POLLIN};
	perf->polls[record->nr_cpus + 2] = (struct pollfd){.fd = record->notice, .events = POLLIN};
	(void)poll(perf->polls, record->nr_cpus + 3, timeout_ms);
}

/*
 * Acquire: the records before the head are visible. Pairs with the kernel's barrier before it
 * stores data_head.
 */
static uint64_t kernel_perf_ring_head(const struct kernel_perf_buffer *buffer)
{
	return buffer->size ? __atomic_load_n(&buffer->page->data_head, __ATOMIC_ACQUIRE) : 0;
}

/* Copy the bytes up to the head into `flat`, contiguously. Returns their number, or 0. */
static uint64_t kernel_perf_flatten(
		struct kernel_perf *perf, const struct kernel_perf_buffer *buffer, uint64_t head)
{
	uint64_t tail = buffer->size ? buffer->page->data_tail : 0, size = head - tail, first;
	uint64_t from = buffer->size ? tail & (buffer->size - 1) : 0;

	perf->flat.size = 0;
	if (!size || size > buffer->size || !bytes_grow(&perf->flat, size))
		return 0;
	first = buffer->size - from < size ? buffer->size - from : size;
	memcpy(perf->flat.data, buffer->data + from, first);
	memcpy(perf->flat.data + first, buffer->data, size - first);
	return size;
}

static void kernel_perf_advance_tail(const struct kernel_perf_buffer *buffer, uint64_t head)
{
	/*
	 * Release: the reads of the records come before the kernel reuses their bytes. Pairs with
	 * the kernel's load of data_tail.
	 */
	if (buffer->size)
		__atomic_store_n(&buffer->page->data_tail, head, __ATOMIC_RELEASE);
}

/* Returns the record at this offset, or NULL if it is malformed. */
static const struct perf_event_header *kernel_perf_get_record(
		const struct kernel_perf *perf, uint64_t at, uint64_t size)
{
	const struct perf_event_header *header;

	if (size - at < sizeof(*header))
		return NULL;
	header = (const void *)(perf->flat.data + at);
	return header->size < sizeof(*header) || header->size > size - at ? NULL : header;
}

struct names_record {
	struct perf_event_header header;
	uint32_t pid, second, tid,
			fourth; /* FORK, EXIT: pid, ppid, tid, ptid. COMM: pid, tid, name */
};

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
};

static void kernel_perf_read_name(
		struct kernel_record *record, const struct perf_event_header *header)
{
	const struct names_record *names = (const void *)header;
	const uint8_t *bytes = (const void *)header;
	struct trailer trailer;
	char comm[COMM_SIZE] = "";
	size_t capacity;

	if (header->size < sizeof(*names) + sizeof(trailer))
		return;
	memcpy(&trailer, bytes + header->size - sizeof(trailer), sizeof(trailer));
	switch (header->type) {
	case PERF_RECORD_COMM:
		capacity = header->size - sizeof(*header) - 8 - sizeof(trailer);
		memcpy(comm, bytes + sizeof(*header) + 8,
				capacity < COMM_SIZE - 1 ? capacity : COMM_SIZE - 1);
		tasks_named(record->tasks, (pid_t)names->second, (pid_t)names->pid, trailer.time,
				comm);
		break;
	case PERF_RECORD_FORK:
		tasks_forked(record->tasks, (pid_t)names->fourth, (pid_t)names->tid,
				(pid_t)names->pid, trailer.time);
		break;
	case PERF_RECORD_EXIT: tasks_ended(record->tasks, (pid_t)names->tid, trailer.time); break;
	default: break;
	}
}

static void kernel_perf_drain_names(struct kernel_record *record, uint32_t cpu)
{
	struct kernel_perf *perf = record->backend_state;
	const struct kernel_perf_buffer *buffer = &perf->names[cpu];
	const struct perf_event_header *header;
	uint64_t head = kernel_perf_ring_head(buffer),
		 size = kernel_perf_flatten(perf, buffer, head), at;

	for (at = 0; at < size && (header = kernel_perf_get_record(perf, at, size));
			at += header->size)
		kernel_perf_read_name(record, header);
	kernel_perf_advance_tail(buffer, head);
}

/* The body of a sample, after its header. */
struct sample_body {
	uint32_t pid, tid;
	uint64_t time;
	uint64_t period;
	uint32_t size;
};

#define BODY_SIZE 28
#define COMMON_PID 4 /* offset in the kernel's record */

static void kernel_perf_put_sample(struct kernel_record *record, uint32_t cpu, uint64_t at)
{
	const struct kernel_perf *perf = record->backend_state;
	const struct perf_event_header *header = (const void *)(perf->flat.data + at);
	const uint8_t *bytes = (const void *)header;
	struct sample_body body;
	const char *comm;
	uint64_t ticks;
	pid_t pid, tid;

	memcpy(&body, bytes + sizeof(*header), BODY_SIZE);
	ticks = kernel_perf_ticks(record, body.time);
	if (body.size > header->size - sizeof(*header) - BODY_SIZE || ticks < perf->from ||
			ticks > perf->until)
		return;
	/*
	 * -1: an exiting thread has no number any more. The kernel's record has its thread, and the
	 * table of threads may know its process.
	 */
	tid = (pid_t)body.tid;
	if (tid < 0 && body.size >= FORMAT_COMMON_SIZE)
		memcpy(&tid, bytes + sizeof(*header) + BODY_SIZE + COMMON_PID, sizeof(tid));
	pid = (pid_t)body.pid;
	comm = tasks_comm(record->tasks, tid, body.time, cpu, &pid);
	if ((pid_t)body.pid > 0)
		pid = (pid_t)body.pid;
	kernel_put(record, cpu, ticks, pid, tid, comm, bytes + sizeof(*header) + BODY_SIZE,
			body.size);
}

static bool kernel_perf_add_sample(struct kernel_perf *perf, size_t *nr, uint64_t time, uint64_t at)
{
	size_t i = *nr;

	if (i == perf->capacity) {
		size_t capacity = perf->capacity * 2 + 1024;
		struct kernel_perf_sample *samples =
				realloc(perf->samples, capacity * sizeof(*samples));

		if (!samples)
			return false;
		perf->samples = samples;
		perf->capacity = capacity;
	}
	/*
	 * Insert by time: an interrupted writer has an earlier time, but a later offset than its
	 * interrupter.
	 */
	for (; i && perf->samples[i - 1].time > time; i--)
		perf->samples[i] = perf->samples[i - 1];
	perf->samples[i] = (struct kernel_perf_sample){time, at};
	++*nr;
	return true;
}

static size_t kernel_perf_put_samples(struct kernel_record *record, uint32_t cpu, size_t nr)
{
	const struct kernel_perf *perf = record->backend_state;
	size_t i;

	for (i = 0; i < nr; i++)
		kernel_perf_put_sample(record, cpu, perf->samples[i].at);
	return 0;
}

static bool kernel_perf_drain_events(struct kernel_record *record, uint32_t cpu, uint64_t head)
{
	struct kernel_perf *perf = record->backend_state;
	const struct kernel_perf_buffer *buffer = &perf->events[cpu];
	const struct perf_event_header *header;
	uint64_t size = kernel_perf_flatten(perf, buffer, head), at, time, lost;
	size_t nr = 0;

	for (at = 0; at < size && (header = kernel_perf_get_record(perf, at, size));
			at += header->size) {
		if (header->type == PERF_RECORD_LOST && header->size >= sizeof(*header) + 16) {
			memcpy(&lost, (const uint8_t *)header + sizeof(*header) + 8, sizeof(lost));
			nr = kernel_perf_put_samples(record, cpu, nr);
			record->sink->discard(record, cpu, lost);
		}
		if (header->type != PERF_RECORD_SAMPLE ||
				header->size < sizeof(*header) + BODY_SIZE)
			continue;
		memcpy(&time, (const uint8_t *)header + sizeof(*header) + 8, sizeof(time));
		if (!kernel_perf_add_sample(perf, &nr, time, at))
			kernel_trace_problem(record, "records were lost: out of memory", "");
	}
	kernel_perf_put_samples(record, cpu, nr);
	kernel_perf_advance_tail(buffer, head);
	record->sink->flush(record, cpu);
	return size;
}

/*
 * Read the heads of the event buffers before those of the names: a name that applies to one of
 * these records was written earlier, so it is then visible.
 */
static bool kernel_perf_drain(struct kernel_record *record)
{
	struct kernel_perf *perf = record->backend_state;
	uint64_t *heads = perf->heads;
	bool found = false;
	uint32_t cpu;

	for (cpu = 0; cpu < record->nr_cpus; cpu++)
		heads[cpu] = kernel_perf_ring_head(&perf->events[cpu]);
	for (cpu = 0; cpu < record->nr_cpus; cpu++)
		kernel_perf_drain_names(record, cpu);
	for (cpu = 0; cpu < record->nr_cpus; cpu++)
		found |= kernel_perf_drain_events(record, cpu, heads[cpu]);
	tasks_settle(record->tasks);
	return found;
}

/* ---- the end ---- */

static uint64_t kernel_perf_lost_count(struct kernel_record *record,
		const struct kernel_event_class *event_class, uint32_t cpu)
{
	const struct kernel_perf *perf = record->backend_state;
	const struct counter *counter;
	uint64_t sum = 0, value[2]; /* count, losses */

	for (counter = perf->counters; counter; counter = counter->next)
		if (counter->event_class == event_class && counter->cpu == cpu &&
				read(counter->fd, value, sizeof(value)) == sizeof(value))
			sum += value[1];
	return sum;
}

static void kernel_perf_close(struct kernel_record *record)
{
	struct kernel_perf *perf = record->backend_state;
	uint32_t i;

	if (!perf)
		return;
	while (perf->counters) {
		struct counter *next = perf->counters->next;

		kernel_perf_drop_counter(perf, perf->counters);
		perf->counters = next;
	}
	kernel_perf_close_gone(perf);
	free(perf->gone);
	for (i = 0; perf->events && perf->names && i < record->nr_cpus; i++) {
		kernel_perf_unmap_ring(&perf->events[i]);
		kernel_perf_unmap_ring(&perf->names[i]);
		if (perf->events[i].fd >= 0)
			close(perf->events[i].fd);
		if (perf->names[i].fd >= 0)
			close(perf->names[i].fd);
	}
	free(perf->events);
	free(perf->names);
	free(perf->polls);
	free(perf->heads);
	free(perf->flat.data);
	free(perf->samples);
	free(perf);
	record->backend_state = NULL;
}

static const char *kernel_perf_backend_name(const struct kernel_record *record)
{
	const struct kernel_perf *perf = record->backend_state;

	return perf->name;
}

const struct kernel_backend backend_perf = {
		.open = kernel_perf_open,
		.add = kernel_perf_add_class,
		.widen = kernel_perf_widen_filter,
		.remove = kernel_perf_remove_class,
		.start = kernel_perf_start,
		.wait = kernel_perf_wait,
		.drain = kernel_perf_drain,
		.stop = kernel_perf_stop,
		.lost = kernel_perf_lost_count,
		.close = kernel_perf_close,
		.name = kernel_perf_backend_name,
};
