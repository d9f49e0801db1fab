/* SPDX-License-Identifier: MIT */
/*
 * Where the agent cannot work: it tells each recorder once, and leaves the program alone.
 */
#include <errno.h>
#include <string.h>

#include <side/builder.h>
#include <side/context.h>
#include <side/tracer-extensions.h>

#include "agent/agent.h"
#include "agent/libside.h"
#include "wire/raw.h"
#include "wire/wire.h"

#include <sys/mman.h>

#define MISSED_WAIT_MS 100

#define MISSED_LACKS(name) || !&name

bool agent_libside_is_whole(void)
{
	return !(false AGENT_LIBSIDE_EACH(MISSED_LACKS));
}

/* It closes the connection when it has read that. */
static void missed_send(const char *path, const void *message, size_t size)
{
	uint64_t deadline = wire_deadline(MISSED_WAIT_MS);
	int socket = wire_connect(path, deadline);
	char unused;

	if (socket < 0)
		return;
	if (!wire_send(socket, message, size, NULL, 0, deadline))
		(void)wire_receive(socket, &unused, sizeof(unused), NULL, NULL, deadline);
	wire_close(socket);
}

void agent_missed(const char *paths, uint32_t reason)
{
	struct room {
		char message[WIRE_MESSAGE_MAX], procname[AGENT_NAME_SIZE], exe[AGENT_NAME_SIZE];
	} *room = raw_mmap(NULL, sizeof(*room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1);
	char path[WIRE_SESSION_PATH_MAX + 1];
	ssize_t size;

	if (!room)
		return;
	agent_process_names(room->procname, room->exe);
	size = wire_encode_missed(room->message, sizeof(room->message),
			&(struct wire_missed){.reason = reason, .name = room->exe});
	while (size > 0 && *paths) {
		size_t length = strcspn(paths, ":");

		if (length && length < sizeof(path)) {
			memcpy(path, paths, length);
			path[length] = 0;
			missed_send(path, room->message, (size_t)size);
		}
		paths += length + (paths[length] == ':');
	}
	raw_munmap(room, sizeof(*room));
}
