/* SPDX-License-Identifier: MIT */
/*
 * Handles a call: builds a record in a buffer of a pool and writes it to the kernel with one system
 * call.
 *
 * Runs in any thread and in signal handlers: it takes no lock, allocates nothing and preserves
 * errno. A thread claims a buffer by setting its bit. A thread that dies meanwhile keeps the
 * buffer; if no buffer is free, the record is counted as lost.
 *
 * The system call is pwritev() at offset 0. The kernel's file accepts it, but pipes, sockets and
 * terminals do not. If the program closes the descriptor and gets its number for one of those after
 * all (tracefs.c), no record is written there.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracers/user-events/user-events.h"

#define BUFFERS 64

struct user_event_buffer {
	unsigned char payload[KERNEL_RECORD_MAX];
	unsigned char metadata[KERNEL_RECORD_MAX];
};

static struct user_event_buffer buffers[BUFFERS];
static uint64_t taken;

/* True once the descriptor no longer refers to the kernel's file. */
static bool gone;

void kernel_after_fork_in_child(void)
{
	/*
	 * The threads that held buffers do not exist in the child. Relaxed: the child has one
	 * thread.
	 */
	__atomic_store_n(&taken, 0, __ATOMIC_RELAXED);
}

static int user_events_write_take_buffer(void)
{
	/* Relaxed: the exchange below checks the value again. */
	uint64_t seen = __atomic_load_n(&taken, __ATOMIC_RELAXED);

	while (~seen) {
		int index = __builtin_ctzll(~seen);

		/*
		 * Acquire: the previous owner's accesses come before this owner's. Pairs with
		 * user_events_write_release_buffer().
		 */
		if (__atomic_compare_exchange_n(&taken, &seen, seen | (uint64_t)1 << index, true,
				    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return index;
	}
	return -1;
}

static void user_events_write_release_buffer(int index)
{
	/*
	 * Release: this owner's accesses come before the next owner's. Pairs with
	 * user_events_write_take_buffer().
	 */
	(void)__atomic_and_fetch(&taken, ~((uint64_t)1 << index), __ATOMIC_RELEASE);
}

static void user_events_write_count_event(uint64_t *counter)
{
	/* Relaxed: the counter orders no other accesses. */
	(void)__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* ---- the system call ---- */

/* True if a failed write means that the descriptor no longer refers to the kernel's file. */
static bool user_events_write_is_gone(int fd, int error)
{
	if (error == ESPIPE)
		return true;
	/* EBADF also means that no tool records the event any more: check the descriptor. */
	return error == EBADF && syscall(SYS_fcntl, fd, F_GETFD) < 0;
}

static void user_events_write_event(
		struct user_event *event, const struct iovec *parts, int nr, bool cut)
{
	size_t size = 0;
	long written;
	int fd = events_descriptor(), i;

	for (i = 0; i < nr; i++)
		size += parts[i].iov_len;
	/* A direct system call: pwritev() is a cancellation point. */
	written = syscall(SYS_pwritev, fd, parts, nr, 0L, 0L);
	if (written == (long)size) {
		user_events_write_count_event(&event->shown.written);
		if (cut)
			user_events_write_count_event(&event->shown.cut);
		return;
	}
	if (written < 0 && user_events_write_is_gone(fd, errno))
		__atomic_store_n(&gone, true, __ATOMIC_RELAXED);
	else if (written < 0 && errno == EBADF)
		return; /* the last tool has just stopped recording the event */
	user_events_write_count_event(&event->shown.lost);
}

/* ---- records ---- */

struct eventheader_header {
	uint8_t flags, version;
	uint16_t id, tag;
	uint8_t opcode, level;
	uint16_t extension_size, extension_kind;
} __attribute__((packed));

enum {
	HEADER_FLAGS = (sizeof(void *) == 8 ? 1 : 0) |
			(SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN ? 2 : 0) | 4,
	EXTENSION_METADATA = 1,
	TAG_CUT = 1, /* a string or array of the record was shortened */
};

static bool user_events_write_plain(const struct kernel_call *call, struct user_event *event,
		struct user_event_record *record)
{
	struct iovec parts[2] = {
			{.iov_base = &event->index, .iov_len = sizeof(event->index)},
			{.iov_base = record->bytes.at},
	};

	if (!quick_record(call, &record->bytes) && native_record(call, record))
		return false;
	if (record->bytes.size > record->bytes.capacity)
		return false;
	parts[1].iov_len = record->bytes.size;
	user_events_write_event(event, parts, 2, record->cut);
	return true;
}

static bool user_events_write_eventheader(const struct kernel_call *call, struct user_event *event,
		struct user_event_record *record, struct user_event_bytes metadata)
{
	struct eventheader_header header = {
			.flags = HEADER_FLAGS,
			.level = event->level,
			.extension_kind = EXTENSION_METADATA,
	};
	struct iovec parts[4] = {
			{.iov_base = &event->index, .iov_len = sizeof(event->index)},
			{.iov_base = &header, .iov_len = sizeof(header)},
			{.iov_base = event->is_static ? event->metadata.at : metadata.at},
			{.iov_base = record->bytes.at},
	};

	if (header_record(call, record, &metadata))
		return false;
	parts[2].iov_len = event->is_static ? event->metadata.size : metadata.size;
	parts[3].iov_len = record->bytes.size;
	if (record->bytes.size > record->bytes.capacity || metadata.size > metadata.capacity ||
			sizeof(header) + parts[2].iov_len + parts[3].iov_len > KERNEL_RECORD_MAX)
		return false;
	header.extension_size = (uint16_t)parts[2].iov_len;
	header.tag = record->cut ? TAG_CUT : 0;
	user_events_write_event(event, parts, 4, record->cut);
	return true;
}

/* Build and write the record; if it is too long, retry with shorter strings and arrays. */
static void user_events_write_call(const struct kernel_call *call, struct user_event *event,
		struct user_event_buffer *buffer)
{
	static const uint16_t limits[] = {UINT16_MAX, 3500, 1750, 800, 350, 150, 50, 16, 4, 0};
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct user_event_record record = {
				.bytes = {.at = buffer->payload,
						.capacity = sizeof(buffer->payload)},
				.limit = limits[i],
		};
		struct user_event_bytes metadata = {
				.at = buffer->metadata, .capacity = sizeof(buffer->metadata)};
		bool done = event->encoding == KERNEL_NATIVE
				? user_events_write_plain(call, event, &record)
				: user_events_write_eventheader(call, event, &record, metadata);

		if (done)
			return;
	}
	user_events_write_count_event(&event->shown.lost);
}

void kernel_write(const struct side_event_state_0 *state, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *variadic, void *caller)
{
	struct user_event *event = events_find(state);
	struct kernel_call call = {.event = event, .args = args, .variadic = variadic};
	int saved_errno = errno, index;

	(void)caller;
	if (!event || __atomic_load_n(&gone, __ATOMIC_RELAXED)) {
		if (event)
			user_events_write_count_event(&event->shown.lost);
		return;
	}
	index = user_events_write_take_buffer();
	if (index < 0) {
		user_events_write_count_event(&event->shown.lost);
		return;
	}
	user_events_write_call(&call, event, &buffers[index]);
	user_events_write_release_buffer(index);
	errno = saved_errno;
}
