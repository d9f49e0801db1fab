/* SPDX-License-Identifier: MIT */
/*
 * Connections whose peer does not read: the limits for one connection and for one user, the events
 * that the recorder waits for, and when it closes the connection. The file is included; the clock
 * is the test's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/protocol.h"
#include "recorder/storage/instance-free.h"

static uint64_t now_ns = 1000000000;

static uint64_t played_deadline(unsigned int timeout_ms)
{
	return now_ns + (uint64_t)timeout_ms * 1000000;
}

#define wire_deadline played_deadline
#include "recorder/connection.c"
#undef wire_deadline

#include "../check.h"

#define MIB (1u << 20)

static struct session session;
static char megabyte[MIB];

/* Opens a connection on a socket of the test. Returns the other end. */
static int begin(struct connection *connection, uid_t uid)
{
	int ends[2];

	*connection = (struct connection){.process = {.fd = -1},
			.uid = uid,
			.next = session.connections.list,
			.deadline = UINT64_MAX,
			.hello_deadline = UINT64_MAX};
	session.connections.list = connection;
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
	connection->watch.fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 50);
	CHECK(connection->watch.fd >= 50 && !close(ends[0]));
	CHECK(!watch_add(&session, &connection->watch));
	return ends[1];
}

static void end(struct connection *connection, int peer)
{
	struct connection **at = &session.connections.list;

	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	outbox_free(&connection->outbox);
	CHECK(!close(connection->watch.fd) && !close(peer));
}

/* Returns the events that the kernel reports for it now; 0: none. */
static uint32_t reported(const struct connection *connection)
{
	struct epoll_event event = {0};

	if (epoll_wait(event_loop_fd(&session.loop.events), &event, 1, 0) <= 0)
		return 0;
	CHECK(event.data.ptr == &connection->watch.source);
	return event.events;
}

/* Queues one message for a full socket. Returns how many messages the socket took before. */
static unsigned int fill(struct connection *connection)
{
	unsigned int taken = 0;

	while (outbox_is_empty(&connection->outbox)) {
		CHECK(!connection_send(&session, connection, megabyte, 1000, -1));
		taken++;
	}
	return taken - 1;
}

static void test_limits(void)
{
	struct connection one, two, other;
	int peers[3] = {begin(&one, 7), begin(&two, 7), begin(&other, 8)};

	CHECK(unread_limit(&session, &one) == 8 * MIB);
	/*
	 * Messages of this connection and of other users do not count. Those of the same user count
	 * above half of 16 MiB.
	 */
	one.outbox.size = 8 * MIB;
	other.outbox.size = 16 * MIB;
	CHECK(unread_limit(&session, &one) == 8 * MIB && unread_limit(&session, &two) == 8 * MIB);
	one.outbox.size = 8 * MIB + 1;
	CHECK(unread_limit(&session, &two) == 8 * MIB - 1);
	one.outbox.size = 16 * MIB;
	CHECK(unread_limit(&session, &two) == 0);
	one.outbox.size = 16 * MIB + 1;
	CHECK(unread_limit(&session, &two) == 0);
	one.outbox.size = other.outbox.size = 0;
	end(&one, peers[0]);
	end(&two, peers[1]);
	end(&other, peers[2]);
}

/* 8 MiB wait for a connection, and not one byte more. */
static void test_full(void)
{
	struct connection connection;
	int peer = begin(&connection, 7);

	(void)fill(&connection);
	for (int i = 0; i < 7; i++)
		CHECK(!connection_send(&session, &connection, megabyte, MIB, -1));
	CHECK(!connection_send(&session, &connection, megabyte, MIB - 1000, -1) &&
			connection.outbox.size == 8 * MIB);
	CHECK(connection_send(&session, &connection, megabyte, 1, -1) == -ENOBUFS);
	end(&connection, peer);
}

/*
 * While messages are queued, the session only waits for space in the socket. Then it reads messages
 * again.
 */
static void test_turns(void)
{
	struct connection connection;
	int peer = begin(&connection, 7);
	unsigned int taken = fill(&connection), received = 0;
	ssize_t size;

	CHECK(connection.outbox.size == 1000 && connection.send_deadline == now_ns + 3000000000u);
	/* The peer's message is not read; the socket has no space. */
	CHECK(send(peer, "x", 1, 0) == 1 && reported(&connection) == 0);
	now_ns += 5;
	CHECK(!connection_send(&session, &connection, megabyte, 500, -1) &&
			connection.outbox.size == 1500);
	/* The time of the first one counts. */
	CHECK(connection.send_deadline == now_ns - 5 + 3000000000u);
	CHECK(!connection_flush(&session, &connection) && connection.outbox.size == 1500 &&
			connection.send_deadline == now_ns - 5 + 3000000000u);
	connection.is_introducing = true;
	while ((size = recv(peer, megabyte, sizeof(megabyte), 0)) > 0) {
		CHECK(size == 1000);
		received++;
	}
	CHECK(received == taken && reported(&connection) == EPOLLOUT);
	CHECK(!connection_flush(&session, &connection) && connection.outbox.size == 0 &&
			connection.send_deadline == now_ns + 3000000000u &&
			!connection.is_introducing);
	CHECK(recv(peer, megabyte, sizeof(megabyte), 0) == 1000 &&
			recv(peer, megabyte, sizeof(megabyte), 0) == 500);
	CHECK(reported(&connection) == EPOLLIN);
	end(&connection, peer);
}

/* A peer that reads a part gets a new deadline, and its introduction is still pending. */
static void test_slow_peer(void)
{
	struct connection connection;
	int peer = begin(&connection, 7);
	unsigned int taken = fill(&connection);

	for (unsigned int i = 0; i < taken; i++)
		CHECK(!connection_send(&session, &connection, megabyte, 1000, -1));
	CHECK(connection.outbox.size == (taken + 1) * 1000);
	connection.is_introducing = true;
	now_ns += 1000;
	for (unsigned int i = 0; i < taken / 2 + 1; i++)
		CHECK(recv(peer, megabyte, sizeof(megabyte), 0) == 1000);
	CHECK(!connection_flush(&session, &connection) && !outbox_is_empty(&connection.outbox) &&
			connection.outbox.size < (taken + 1) * 1000 && connection.is_introducing);
	CHECK(connection.send_deadline == now_ns + 3000000000u);
	connection.is_introducing = false;
	CHECK(recv(peer, megabyte, sizeof(megabyte), 0) == 1000);
	CHECK(!connection_flush(&session, &connection) && !outbox_is_empty(&connection.outbox) &&
			!connection.is_introducing);
	end(&connection, peer);
}

/*
 * Its own deadline, and that of the first message, which does not apply to an introduced process.
 */
static void test_deadlines(void)
{
	struct connection one, two, three;
	struct instance *known = (struct instance *)(void *)megabyte;
	int peers[3] = {begin(&one, 7), begin(&two, 7), begin(&three, 7)};

	one.deadline = two.hello_deadline = three.hello_deadline = now_ns;
	three.instance = known;
	connections_expire(&session);
	CHECK(one.watch.fd >= 0 && two.watch.fd >= 0 && three.watch.fd >= 0);
	now_ns++;
	connections_expire(&session);
	CHECK(one.watch.fd == -1 && two.watch.fd == -1 && three.watch.fd >= 0 &&
			session.connections.list == &three);
	session.connections.closed = NULL;
	end(&three, peers[2]);
	CHECK(!close(peers[0]) && !close(peers[1]));
}

/* 3 seconds until HELLO, and 10 seconds for each exchange. */
static void test_deadlines_of_new_connections(void)
{
	static unsigned char message[WIRE_MESSAGE_MAX];
	const struct wire_events events = {.token = 5, .last = true, .bytes = message};
	struct instance instance = {.token = 5};
	struct connection *connection;
	int ends[2];
	ssize_t size;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
	shares_init(&session.connections.shares, LIMIT_CONNECTIONS, 0, 0);
	connection_add(&session, ends[0], false);
	connection = session.connections.list;
	CHECK(connection && !connection->next && connection->watch.fd == ends[0]);
	CHECK(connection->hello_deadline == now_ns + UINT64_C(3000000000));
	CHECK(connection->deadline == now_ns + UINT64_C(10000000000));
	/* The next batch has a deadline of its own. */
	now_ns += 7;
	session.connections.message = message;
	connection->instance = &instance;
	size = wire_encode_events(message, sizeof(message), &events);
	CHECK(size > 0 && !handle_events(&session, connection, (size_t)size));
	CHECK(connection->deadline == now_ns + UINT64_C(10000000000));
	CHECK(recv(ends[1], message, sizeof(message), 0) > 0);
	session.connections.message = NULL;
	connection->instance = NULL;
	now_ns = connection->hello_deadline;
	connections_expire(&session);
	CHECK(connection->watch.fd >= 0);
	/* The connection ends after its last message, or at once. */
	now_ns++;
	connections_expire(&session);
	CHECK(connection->watch.fd == -1 && !session.connections.list);
	free(connection);
	session.connections.closed = NULL;
	shares_free(&session.connections.shares);
	CHECK(!close(ends[1]));
}

/* The connection is closed after the deadline, and only if a message is queued. */
static void test_expiry(void)
{
	struct connection connection;
	int peer = begin(&connection, 7);

	connection.send_deadline = now_ns;
	now_ns++;
	connections_expire(&session);
	CHECK(connection.watch.fd >= 0);
	(void)fill(&connection);
	now_ns = connection.send_deadline;
	connections_expire(&session);
	CHECK(connection.watch.fd >= 0 && session.connections.list == &connection);
	/* An end of the socket at the other side is an error of the next message. */
	CHECK(!close(peer) && connection_flush(&session, &connection) == -ECONNRESET);
	now_ns++;
	connections_expire(&session);
	CHECK(connection.watch.fd == -1 && !session.connections.list &&
			session.connections.closed == &connection &&
			outbox_is_empty(&connection.outbox));
	session.connections.closed = NULL;
}

/*
 * An instance that ends while a connection of its process has a copy of its descriptor: epoll must
 * not report it later.
 */
static void test_ended_instance(void)
{
	struct instance *instance = instance_allocate("name", "/exe", session.channels, 0);
	const int epoll = event_loop_fd(&session.loop.events);
	struct epoll_event event = {0};
	int ends[2];

	CHECK(instance && !pipe2(ends, O_CLOEXEC));
	session.instances.end = &session.instances.list;
	instance->state = INSTANCE_LIVE;
	instance->watch.fd = fcntl(ends[0], F_DUPFD_CLOEXEC, 50);
	CHECK(instance->watch.fd >= 50 && instance_link(&session, instance));
	CHECK(write(ends[1], "x", 1) == 1);
	CHECK(epoll_wait(epoll, &event, 1, 0) == 1 && event.data.ptr == &instance->watch.source);
	instance_end(&session, instance);
	CHECK(instance->watch.fd == -1 && instance->state == INSTANCE_ENDED &&
			!session.instances.live);
	CHECK(epoll_wait(epoll, &event, 1, 0) == 0);
	session.instances.list = NULL;
	instance_free(&session, instance);
	CHECK(!close(ends[0]) && !close(ends[1]));
}

int main(void)
{
	int first;

	CHECK(!event_loop_open(&session.loop.events));
	/* A number that is no operation of epoll_ctl(). */
	first = session.loop.events.epoll;
	session.loop.events.epoll = fcntl(first, F_DUPFD_CLOEXEC, 50);
	CHECK(session.loop.events.epoll >= 50 && !close(first));
	test_limits();
	test_full();
	test_turns();
	test_slow_peer();
	test_deadlines();
	test_expiry();
	test_deadlines_of_new_connections();
	test_ended_instance();
	event_loop_close(&session.loop.events);
	return 0;
}
