/* SPDX-License-Identifier: MIT */
/*
 * The bytes that the shim sends, and their receiver. The test includes the file, and this process
 * is the recorder to which the shim reports.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../resources.h"
#include "tracers/preload/shim.c"
#include "protocol/protocol.h"

#include "../check.h"

static char folder[] = "/tmp/side-shim-XXXXXX";

/* A recorder: accepts one connection, keeps the received bytes, and closes it. */
struct recorder {
	struct sockaddr_un address;
	int socket;
	pthread_t thread;
	char bytes[8192];
	ssize_t size;
	uint32_t pid;
};

static void *receive(void *data)
{
	struct recorder *recorder = data;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	int connection = accept(recorder->socket, NULL, NULL);

	CHECK(connection >= 0 && !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size));
	recorder->pid = (uint32_t)peer.pid;
	recorder->size = recv(connection, recorder->bytes, sizeof(recorder->bytes), 0);
	close(connection);
	return NULL;
}

/* `length`: of its path. */
static void begin(struct recorder *recorder, size_t length)
{
	*recorder = (struct recorder){.address = {.sun_family = AF_UNIX}};
	memset(recorder->address.sun_path, 'x', length);
	memcpy(recorder->address.sun_path, folder, strlen(folder));
	recorder->address.sun_path[strlen(folder)] = '/';
	recorder->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	CHECK(recorder->socket >= 0 &&
			!bind(recorder->socket, (struct sockaddr *)&recorder->address,
					sizeof(recorder->address)));
	CHECK(!listen(recorder->socket, 4) &&
			!pthread_create(&recorder->thread, NULL, receive, recorder));
}

static void end(struct recorder *recorder)
{
	CHECK(!pthread_join(recorder->thread, NULL));
	close(recorder->socket);
	CHECK(!unlink(recorder->address.sun_path));
}

static void check_message(const struct recorder *recorder, uint32_t reason)
{
	const struct shim_message *message = (const void *)recorder->bytes;
	char name[4096] = "";
	ssize_t size = readlink("/proc/self/exe", name, sizeof(name) - 1);

	CHECK(size > 0 && recorder->size == 32 + size + 1);
	CHECK(message->magic == WIRE_MAGIC && message->version == WIRE_PROTOCOL_VERSION &&
			message->type == WIRE_UNRECORDED);
	CHECK(message->size == (uint32_t)recorder->size && !message->reserved &&
			!message->body_reserved && !message->elapsed_ms);
	CHECK(message->reason == reason && message->name_size == (uint32_t)size + 1 &&
			!strcmp(message->name, name));
}

static void test_send(void)
{
	static const struct shim_message message = {.size = 40, .reason = 7};
	struct sockaddr_un whole = {.sun_family = AF_UNIX};
	struct recorder recorder;
	char longer[120];
	size_t most = sizeof(recorder.address.sun_path) - 1;
	int unmet = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* The longest path, without what follows it. */
	begin(&recorder, most);
	memset(longer, 'y', sizeof(longer));
	memcpy(longer, recorder.address.sun_path, most);
	/* A path without space for its NUL: nothing is sent there. */
	memcpy(whole.sun_path, longer, sizeof(whole.sun_path));
	CHECK(unmet >= 0 && !bind(unmet, (struct sockaddr *)&whole, sizeof(whole)) &&
			!listen(unmet, 4));
	shim_send(longer, 0, &message);
	shim_send(longer, most + 1, &message);
	CHECK(accept(unmet, NULL, NULL) == -1 && errno == EAGAIN);
	close(unmet);
	longer[most + 1] = '\0';
	CHECK(!unlink(longer));
	shim_send("/nowhere", 8, &message);
	shim_send(longer, most, &message);
	end(&recorder);
	CHECK(recorder.size == 40 && !memcmp(recorder.bytes, &message, 40) &&
			recorder.pid == (uint32_t)getpid());
}

static void test_all(void)
{
	struct recorder recorders[3];
	char paths[512];

	for (size_t i = 0; i < 3; i++)
		begin(&recorders[i], 40 + i);
	snprintf(paths, sizeof(paths), ":%s:%s:/nowhere::%s", recorders[0].address.sun_path,
			recorders[1].address.sun_path, recorders[2].address.sun_path);
	setenv(SHIM_VARIABLE, paths, 1);
	shim_loaded();
	unsetenv(SHIM_VARIABLE);
	for (size_t i = 0; i < 3; i++) {
		end(&recorders[i]);
		check_message(&recorders[i], WIRE_UNRECORDED_LOADER);
	}
	/* No recorder is named for a report. */
	shim_loaded();
}

/* The limit belongs to the child only. */
static void test_reason(void)
{
	struct recorder recorder;
	int status;
	pid_t child;

	CHECK(shim_reason() == WIRE_UNRECORDED_LOADER);
	begin(&recorder, 50);
	child = fork();
	if (!child) {
		struct rlimit limit = {(rlim_t)1 << 40, (rlim_t)1 << 40};

		if (setrlimit(RLIMIT_AS, &limit) || shim_reason() != WIRE_UNRECORDED_MEMORY)
			_exit(1);
		setenv(SHIM_VARIABLE, recorder.address.sun_path, 1);
		shim_loaded();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	end(&recorder);
	check_message(&recorder, WIRE_UNRECORDED_MEMORY);
	CHECK(recorder.pid == (uint32_t)child);
}

int main(void)
{
	struct resources before = {0};

	CHECK(mkdtemp(folder));
	for (int round = 0; round < 3; round++) {
		test_send();
		test_all();
		test_reason();
		if (round == 1)
			before = resources_now();
	}
	CHECK(resources_are_same(before, resources_now()));
	CHECK(!rmdir(folder));
	return 0;
}
