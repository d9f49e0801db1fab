/* SPDX-License-Identifier: MIT */
/*
 * Accepts notifications of programs that have registered user_events and wait until these are
 * enabled (protocol/kernel-notice.h).
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "kernel-events/parts.h"
#include "protocol/kernel-notice.h"

/*
 * Listen on the first free address. If there is none, the periodic scan finds the events, as it
 * does for programs that send no notification.
 */
void kernel_notice_open(struct kernel_record *record)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), i;
	struct sockaddr_un address;

	for (i = 0; fd >= 0 && i < KERNEL_NOTICE_MAX; i++) {
		socklen_t size = kernel_notice_address(&address, i);

		if (!bind(fd, (struct sockaddr *)&address, size)) {
			if (listen(fd, 64))
				break;
			record->notice = fd;
			return;
		}
	}
	if (fd >= 0)
		close(fd);
}

bool kernel_notice_take(struct kernel_record *record)
{
	int fd;

	while (record->nr_waiting < KERNEL_WAITING_MAX && record->notice >= 0 &&
			(fd = accept4(record->notice, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		record->waiting[record->nr_waiting++] = fd;
	return record->nr_waiting;
}

void kernel_notice_answer(struct kernel_record *record)
{
	while (record->nr_waiting)
		close(record->waiting[--record->nr_waiting]);
}

void kernel_notice_close(struct kernel_record *record)
{
	kernel_notice_answer(record);
	if (record->notice >= 0)
		close(record->notice);
	record->notice = -1;
}
