/* SPDX-License-Identifier: MIT */
/*
 * If the agent cannot work in a program: report that once to each recorder, and do not touch the
 * program.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/builder.h>
#include <side/context.h>
#include <side/tracer-extensions.h>

#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/rendezvous.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/libside.h"
#include "base/environment/environment.h"
#include "base/inside/raw.h"
#include "protocol/protocol.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define UNSUPPORTED_WAIT_MS 100
#define UNSUPPORTED_FILES 64 /* a process with a lower limit has probably used it up */

#define EXPORT __attribute__((visibility("default")))

/* For the wrapper of the C library's allocator, which is not called. */
EXPORT void side_agent_note_allocator(void);

AGENT_LIBSIDE_EACH(AGENT_LIBSIDE_DECLARE_WEAK)

#define UNSUPPORTED_LACKS(name) || !&name

bool agent_libside_is_whole(void)
{
	return !(false AGENT_LIBSIDE_EACH(UNSUPPORTED_LACKS));
}

/* The recorder closes the connection when it has read the message. */
static void unrecorded_send(int socket, const void *message, size_t size, uint64_t deadline)
{
	char unused;

	if (socket < 0)
		return;
	if (!wire_send(socket, message, size, NULL, 0, deadline))
		(void)wire_receive(socket, &unused, sizeof(unused), NULL, NULL, deadline);
	wire_close(socket);
}

/* Neither on the stack nor mapped: memory may be exhausted. One thread at a time runs here. */
static struct {
	char procname[AGENT_NAME_SIZE], exe[AGENT_NAME_SIZE], message[AGENT_NAME_SIZE + 64];
} buffer;

/* Sends the same message to each recorder. */
static void unrecorded_send_each(const char *paths, const void *message, ssize_t size)
{
	char path[WIRE_SESSION_PATH_MAX + 1];
	uint64_t deadline;

	while (size > 0 && *paths) {
		size_t length = strcspn(paths, ":");

		if (length && length < sizeof(path)) {
			memcpy(path, paths, length);
			path[length] = 0;
			deadline = wire_deadline(UNSUPPORTED_WAIT_MS);
			unrecorded_send(wire_connect(path, deadline), message, (size_t)size,
					deadline);
		}
		paths += length + (paths[length] == ':');
	}
}

/* About the file in buffer.exe. */
static void unrecorded_send_all(const char *paths, uint32_t reason)
{
	ssize_t size = wire_encode_unrecorded(buffer.message, sizeof(buffer.message),
			&(struct wire_unrecorded){.reason = reason, .name = buffer.exe});

	unrecorded_send_each(paths, buffer.message, size);
}

void agent_report_started(const char *paths, uint32_t reason, const char *file)
{
	const size_t mapped = AGENT_NAME_SIZE + 64;
	void *message;
	ssize_t size;

	if (!paths)
		return;
	/* The stack may be a small one of a thread or a signal handler. */
	message = raw_mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!message)
		return;
	size = wire_encode_unrecorded(
			message, mapped, &(struct wire_unrecorded){.reason = reason, .name = file});
	unrecorded_send_each(paths, message, size);
	raw_munmap(message, mapped);
}

void agent_report_unrecorded(const char *paths, uint32_t reason)
{
	agent_process_names(buffer.procname, buffer.exe);
	unrecorded_send_all(paths, reason);
}

/* The process tries again at each event that asks the daemon; one report is enough. */
static bool unrecorded_is_reported(const struct agent_session *session)
{
	static char path[WIRE_SESSION_PATH_MAX + 1];
	static int process;
	int now = (int)raw_call(SYS_getpid);

	if (process == now && !strcmp(path, session->path))
		return true;
	process = now;
	memcpy(path, session->path, sizeof(path));
	return false;
}

void agent_report_limit(const struct agent_session *session, int error)
{
	struct rlimit files = {0};
	uint32_t reason;

	if (session->boot || session->list_only)
		return;
	if (error == -ENOMEM)
		reason = WIRE_UNRECORDED_MEMORY;
	/*
	 * The kernel delivers a message without its descriptors if the process has no free
	 * descriptor.
	 */
	else if (error == -EMFILE ||
			(error == -EPROTO && !getrlimit(RLIMIT_NOFILE, &files) &&
					files.rlim_cur < UNSUPPORTED_FILES))
		reason = WIRE_UNRECORDED_FILES;
	else if (error == -EIO || error == -EPERM || error == -ENOSYS)
		reason = WIRE_UNRECORDED_ERROR;
	else
		return;
	if (!unrecorded_is_reported(session))
		agent_report_unrecorded(session->path, reason);
}

void agent_report_late_start(
		const struct agent_session *session, uint32_t reason, uint32_t elapsed_ms)
{
	struct wire_unrecorded unrecorded = {
			.reason = reason, .elapsed_ms = elapsed_ms, .name = buffer.procname};
	uint64_t deadline = wire_deadline(UNSUPPORTED_WAIT_MS);
	ssize_t size;

	agent_process_names(buffer.procname, buffer.exe);
	size = wire_encode_unrecorded(buffer.message, sizeof(buffer.message), &unrecorded);
	if (size > 0)
		unrecorded_send(agent_session_connect(session, deadline), buffer.message,
				(size_t)size, deadline);
}

EXPORT void side_agent_note_allocator(void)
{
	const char *paths = environment_get(WIRE_SOCKET_ENV);
	int saved_errno = errno;

	if (paths && agent_libside_is_whole() && !agent_is_sandboxed()) {
		side_tracer_lock();
		agent_report_unrecorded(paths, WIRE_UNRECORDED_ALLOCATOR);
		side_tracer_unlock();
	}
	errno = saved_errno;
}

void agent_report_copy(const char *library)
{
	const struct agent_session *session;

	if (strlen(library) >= sizeof(buffer.exe))
		return;
	side_tracer_lock();
	strcpy(buffer.exe, library);
	agent_each_session(session)
		if (!session->boot && !session->list_only)
			unrecorded_send_all(session->path, WIRE_UNRECORDED_COPY);
	side_tracer_unlock();
}
