/* SPDX-License-Identifier: MIT */
/*
 * Appends an event class to the file with the descriptions of an instance, which `--buffers` and
 * state directories have.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include "protocol/protocol.h"
#include "recorder/core/description-file.h"
#include "recorder/core/instance-state.h"

int buffers_note_class(
		struct instance *instance, const struct wire_event_head *head, const void *bytes)
{
	struct iovec parts[] = {
			{.iov_base = (void *)(uintptr_t)head, .iov_len = sizeof(*head)},
			{.iov_base = (void *)(uintptr_t)bytes,
					.iov_len = (size_t)head->contexts_size + head->size},
	};
	ssize_t wanted = (ssize_t)(parts[0].iov_len + parts[1].iov_len), written;
	off_t end;

	if (instance->described_fd < 0)
		return 0;
	end = lseek(instance->described_fd, 0, SEEK_END);
	written = writev(instance->described_fd, parts, 2);
	if (written == wanted)
		return 0;
	/* Remove a partial entry: it would make the following entries unreadable. */
	if (end >= 0 && ftruncate(instance->described_fd, end))
		return -EIO;
	return written < 0 ? -errno : -ENOSPC;
}
