/* SPDX-License-Identifier: MIT */
/*
 * Connections of the command line: which are accepted, the requests that a client waits for, and
 * when a connection ends. The test includes clients.c, and plays the loop, the messages and the
 * threads that receive descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "played-loop.h"
#include "recorder/core/peer.h"

#define UID 47
#define PID 1234

static struct daemon daemon_of_test;
static struct peer next_peer;
static int accepts[48], put_errors[4], send_result, receive_result, peer_error, begin_result;
static unsigned int nr_accepts, nr_puts;
static size_t size_after; /* the queue after a message was sent in part */
static bool has_no_memory, has_group, is_due, has_no_error;
static uint64_t now = 100;
static int received_fd = -1;

static const char *loop_name(const struct sided_watch *watch)
{
	const struct client *client = (const struct client *)(const void *)watch->owner;

	return watch == &client->watch ? "socket" : "handover";
}

static int new_descriptor(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	assert_true(fd >= 0);
	return fd;
}

/* ---- Neighbours ---- */

uint64_t loop_now(void)
{
	return now;
}

void loop_pause_listening(struct daemon *daemon)
{
	(void)daemon;
	called("pause ");
}

int runtime_peer(int fd, struct peer *peer)
{
	assert_true(fd >= 0);
	*peer = next_peer;
	return peer_error;
}

bool runtime_peer_in_group(int fd, const struct peer *peer, gid_t group)
{
	assert_true(fd >= 0 && peer->uid == next_peer.uid);
	assert_int_equal(group, 4711);
	called("group ");
	return has_group;
}

void log_about(struct daemon *daemon, uid_t uid, const char *format, ...)
{
	char text[200];
	va_list arguments;

	(void)daemon;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("say(%u,%s) ", (unsigned int)uid, text);
}

void verb_take(struct daemon *daemon, struct client *client, struct json_object *request)
{
	(void)daemon;
	assert_true(client->busy);
	called("verb(%s) ", json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN));
}

bool handover_is_due(int client)
{
	assert_true(client >= 0);
	return is_due;
}

int handover_begin(struct daemon *daemon, int client, uid_t uid)
{
	(void)daemon;
	called("begin(%d,%u) ", client >= 0, (unsigned int)uid);
	return begin_result ? begin_result : new_descriptor();
}

void handover_close(int fd)
{
	called("fd(%d) ", fd);
}

/* ---- Calls of clients.c ---- */

static int played_accept(int flags)
{
	int fd = accepts[nr_accepts++];

	assert_int_equal(flags, SOCK_CLOEXEC | SOCK_NONBLOCK);
	errno = fd < 0 ? -fd : 0;
	return fd < 0 ? -1 : fd;
}

static void played_close(int fd, bool refuses)
{
	assert_false(refuses);
	called("close(%d) ", fd >= 0);
	if (fd >= 0)
		close(fd);
}

static int played_put(struct frame_out *out, struct json_object *object)
{
	int ret = put_errors[nr_puts++ % 4];

	called("put(%s) ", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	if (ret)
		return ret;
	out->first = (struct frame_message *)(void *)out;
	out->size += 10;
	return 0;
}

static int played_send(struct frame_out *out)
{
	called("send ");
	out->size = send_result ? size_after : 0;
	if (!send_result)
		out->first = NULL;
	return send_result;
}

static int played_receive(
		struct frame_in *in, size_t max, struct json_object **request, struct error *error)
{
	assert_int_equal(max, FRAME_REQUEST_MAX);
	called("receive(%d) ", in->takes_fd);
	*request = NULL;
	if (receive_result == 1)
		*request = json_object_new_int(12);
	else if (receive_result < 0)
		error_set_kind(error, ERROR_USAGE, receive_result, NULL, "it is wrong");
	return receive_result;
}

static int played_take(void)
{
	int fd = received_fd;

	received_fd = -1;
	return fd;
}

#define accept4(fd, address, size, flags) \
	((fd) == 61 && !(address) && !(size) ? played_accept(flags) : (abort(), -1))
#define calloc(count, size) (has_no_memory ? NULL : calloc(count, size))
#define peer_close(fd, refuses) played_close(fd, refuses)
#define frame_put(out, object) played_put(out, object)
#define frame_send(out, fd) ((fd) >= 0 ? played_send(out) : -EBADF)
#define frame_receive(in, fd, max, request, error) \
	((fd) >= 0 ? played_receive(in, max, request, error) : -EBADF)
#define frame_take_fd(in) ((void)(in), played_take())
#define frame_out_free(out) (called("free "), (out)->first = NULL)
#define json_error(error) (has_no_error ? NULL : json_error(error))
#include "programs/sided/clients.c"
#undef accept4
#undef calloc
#undef peer_close
#undef frame_put
#undef frame_send
#undef frame_receive
#undef frame_take_fd
#undef frame_out_free
#undef json_error

static void begin(void)
{
	daemon_of_test = (struct daemon){.uid = UID, .group = 4711};
	next_peer = (struct peer){.pid = PID, .uid = UID};
	has_group = false;
	assert_int_equal(clients_open(&daemon_of_test), 0);
	*calls = '\0';
}

static void finish(void)
{
	clients_close(&daemon_of_test);
	assert_null(daemon_of_test.client_shares.users);
	objects_free_unused(&daemon_of_test);
	assert_int_equal(objects_left(), 0);
	*calls = '\0';
}

/* Accepts one connection, whose socket is one of a pair; *ret_end is the other end. */
static struct client *come_with(int *ret_end)
{
	struct sided_watch listener = {.fd = 61};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	nr_accepts = nr_puts = 0;
	accepts[0] = pair[0];
	accepts[1] = -EAGAIN;
	*ret_end = pair[1];
	clients_ready(&daemon_of_test, &listener, EPOLLIN);
	assert_int_equal(nr_accepts, 2);
	return daemon_of_test.clients;
}

static struct client *come(void)
{
	struct client *client;
	int end;

	client = come_with(&end);
	close(end);
	return client;
}

static struct client *come_quietly(void)
{
	struct client *client = come();

	*calls = '\0';
	return client;
}

/* The calls at the end of a connection. */
#define GONE "release(socket) close(1) fd(-1) free "

static const char *gone(void)
{
	return "close(0) " GONE;
}

static const char *after(const char *first)
{
	static char texts[4][600];
	static unsigned int next;
	char *text = texts[next++ % 4];

	(void)snprintf(text, 600, "%s%s", first, gone());
	return text;
}

/* ---- Accepting ---- */

static void test_accept(void **state)
{
	static const char busy[] =
			"too many connections to the daemon: at most 256, and 64 of one user";
	struct resources before = resources_now();
	struct client *client;
	socklen_t size = sizeof(int);
	int capacity = 0, small = 0, end, other;

	(void)state;
	other = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(getsockopt(other, SOL_SOCKET, SO_SNDBUF, &small, &size), 0);
	close(other);
	begin();
	now = 321;
	client = come_with(&end);
	close(end);
	assert_called("watch(socket,1) ");
	assert_true(client->heard == 321 && client->peer.pid == PID && client->handover.fd == -1 &&
			!client->busy && !client->last && !client->next);
	assert_int_equal(getsockopt(client->watch.fd, SOL_SOCKET, SO_SNDBUF, &capacity, &size), 0);
	assert_true(capacity > small || small >= 1 << 20);
	assert_int_equal(shares_used(&daemon_of_test.client_shares, UID), 1);
	client_close(&daemon_of_test, client);
	assert_called(gone());
	client_close(&daemon_of_test, client);
	assert_called("");
	assert_int_equal(shares_used(&daemon_of_test.client_shares, UID), 0);
	/* Each failure is reported to the client. */
	has_no_memory = true;
	assert_null(come());
	assert_non_null(strstr(calls, "out of memory"));
	assert_non_null(strstr(calls, " send free close(1) "));
	*calls = '\0';
	has_no_memory = false;
	peer_error = -ENOTCONN;
	assert_null(come());
	assert_non_null(strstr(calls,
			"cannot accept the connection: Transport endpoint is not connected"));
	assert_non_null(strstr(calls, " send free close(1) "));
	*calls = '\0';
	peer_error = 0;
	failing_watch = "socket";
	assert_null(come());
	assert_memory_equal(calls, "watch(socket,1) put(", 20);
	assert_non_null(strstr(calls, "cannot accept the connection: No space left on device"));
	assert_int_equal(shares_used(&daemon_of_test.client_shares, UID), 0);
	failing_watch = NULL;
	*calls = '\0';
	/* The reason cannot be sent, or there is none. */
	peer_error = -ENOTCONN;
	put_errors[0] = -ENOMEM;
	assert_null(come());
	assert_null(strstr(calls, "send"));
	assert_non_null(strstr(calls, "free close(1) "));
	put_errors[0] = 0;
	has_no_error = true;
	*calls = '\0';
	assert_null(come());
	assert_called("free close(1) ");
	has_no_error = false;
	peer_error = 0;
	/* Another user; root; a member of the group of the system daemon. */
	next_peer.uid = UID + 1;
	assert_null(come());
	assert_non_null(strstr(calls, "user 48 may not control the daemon of another user"));
	assert_non_null(strstr(calls, "start a daemon of your own: sided"));
	assert_null(strstr(calls, "group "));
	daemon_of_test.system = true;
	*calls = '\0';
	assert_null(come());
	assert_non_null(strstr(calls, "user 48 may not control the daemon of the system"));
	assert_non_null(strstr(calls, "be root, or a member of the group " WIRE_RUNTIME_GROUP));
	*calls = '\0';
	has_group = true;
	assert_non_null(come());
	assert_called("group watch(socket,1) ");
	next_peer.uid = 0;
	has_group = false;
	assert_non_null(come());
	assert_called("watch(socket,1) ");
	daemon_of_test.system = false;
	assert_int_equal(shares_used(&daemon_of_test.client_shares, 0), 1);
	/* The last connection of a user without idle connections. */
	next_peer.uid = UID;
	for (int i = 0; i < LIMIT_CLIENTS_OF_USER; i++)
		come_quietly()->subscribed = true;
	client = daemon_of_test.clients;
	assert_ptr_equal(come(), client);
	assert_non_null(strstr(calls, busy));
	finish();
	objects_free_unused(&daemon_of_test);
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

static void test_accept_errors(void **state)
{
	static const int errors[] = {
			EINTR, ECONNABORTED, EAGAIN, EINVAL, EMFILE, ENFILE, ENOBUFS, ENOMEM};
	struct sided_watch listener = {.fd = 61};

	(void)state;
	begin();
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		for (size_t j = 0; j < sizeof(accepts) / sizeof(accepts[0]); j++)
			accepts[j] = -errors[i];
		nr_accepts = 0;
		clients_ready(&daemon_of_test, &listener, EPOLLIN);
		assert_int_equal(nr_accepts, i < 2 ? ACCEPTS_AT_ONCE : 1);
		assert_called(i < 4 ? "" : "pause ");
	}
	finish();
}

/* ---- Idle connections ---- */

static void test_idle(void **state)
{
	struct client *clients[7];
	struct shares *shares = &daemon_of_test.client_shares;
	int ends[2];

	(void)state;
	begin();
	daemon_of_test.system = has_group = true;
	for (unsigned int i = 0; i < 7; i++) {
		now = 1000 - i;
		next_peer.uid = i < 4 ? 5 : i < 6 ? 6 : 7;
		clients[i] = come_quietly();
	}
	assert_true(is_idle(clients[0]));
	clients[0]->busy = true;
	assert_false(is_idle(clients[0]));
	clients[0]->busy = false;
	clients[0]->subscribed = true;
	assert_false(is_idle(clients[0]));
	clients[0]->subscribed = false;
	clients[0]->last = true;
	assert_false(is_idle(clients[0]));
	clients[0]->last = false;
	clients[0]->out.first = (struct frame_message *)(void *)&now;
	assert_false(is_idle(clients[0]));
	clients[0]->out.first = NULL;
	assert_true(is_idle(clients[0]));
	assert_ptr_equal(oldest_idle(&daemon_of_test, 5), clients[3]);
	assert_ptr_equal(oldest_idle(&daemon_of_test, 6), clients[5]);
	assert_null(oldest_idle(&daemon_of_test, 8));
	clients[3]->busy = true;
	assert_ptr_equal(oldest_idle(&daemon_of_test, 5), clients[2]);
	/* Two connections of the same time: the one later in the list. */
	clients[1]->heard = clients[2]->heard;
	assert_ptr_equal(oldest_idle(&daemon_of_test, 5), clients[1]);
	/* A request that was not read yet. */
	now = 1;
	next_peer.uid = 7;
	assert_non_null(come_with(ends));
	*calls = '\0';
	assert_ptr_equal(oldest_idle(&daemon_of_test, 7), daemon_of_test.clients);
	assert_int_equal(send(ends[0], "x", 1, 0), 1);
	assert_true(has_unread_request(daemon_of_test.clients));
	assert_ptr_equal(oldest_idle(&daemon_of_test, 7), clients[6]);
	close(ends[0]);
	/* 5 has four, 6 two, 7 two. A user loses one only to a user who has not more. */
	shares->floor = 1;
	assert_ptr_equal(oldest_idle_of_largest_user(&daemon_of_test, 6), clients[1]);
	assert_ptr_equal(oldest_idle_of_largest_user(&daemon_of_test, 5), clients[1]);
	shares->floor = 3;
	assert_ptr_equal(oldest_idle_of_largest_user(&daemon_of_test, 8), clients[1]);
	shares->floor = 4;
	assert_null(oldest_idle_of_largest_user(&daemon_of_test, 8));
	shares->floor = 1;
	for (int i = 0; i < 3; i++)
		clients[i]->busy = true;
	/*
	 * The largest user has no idle connection: the newest connection of two users with the same
	 * number.
	 */
	assert_ptr_equal(oldest_idle_of_largest_user(&daemon_of_test, 8), clients[6]);
	clients[6]->busy = true;
	assert_ptr_equal(oldest_idle_of_largest_user(&daemon_of_test, 6), clients[5]);
	assert_null(oldest_idle_of_largest_user(&daemon_of_test, 5));
	/* A share. */
	shares_charge(shares, 6, LIMIT_CLIENTS_OF_USER - 3);
	assert_true(sided_client_claim_quota(&daemon_of_test, 6));
	assert_called("");
	assert_int_equal(shares_used(shares, 6), LIMIT_CLIENTS_OF_USER);
	clients[4]->busy = true;
	assert_true(sided_client_claim_quota(&daemon_of_test, 6));
	assert_called(gone());
	assert_true(clients[5]->object.is_closed);
	assert_int_equal(shares_used(shares, 6), LIMIT_CLIENTS_OF_USER);
	assert_false(sided_client_claim_quota(&daemon_of_test, 6));
	assert_called("");
	clients[4]->busy = false;
	/* No share is free: the largest user loses a connection. */
	shares->floor = 8;
	shares->nr_floors = shares->nr_floors_assigned;
	shares_charge(shares, 9, shares_left(shares, 10));
	assert_int_equal(shares_left(shares, 10), 0);
	shares_charge(shares, 6, 1000);
	assert_false(sided_client_claim_quota(&daemon_of_test, 10));
	assert_true(clients[4]->object.is_closed);
	*calls = '\0';
	shares_give_back(shares, 6, 1000 + LIMIT_CLIENTS_OF_USER - 1);
	finish();
}

/* ---- Answers ---- */

static struct json_object *number(int value)
{
	struct json_object *object = json_object_new_int(value);

	assert_non_null(object);
	return object;
}

static void test_send(void **state)
{
	struct json_object *object = number(7);
	struct client *client;

	(void)state;
	begin();
	client = come_quietly();
	client->last = false;
	assert_true(client_send(&daemon_of_test, client, object));
	assert_called("put(7) send ");
	assert_int_equal(client->watch.events, EPOLLIN);
	/* Out of memory: another attempt will follow. */
	nr_puts = 0;
	put_errors[0] = -ENOMEM;
	assert_true(client_send(&daemon_of_test, client, object));
	assert_called("put(7) send ");
	assert_true(client_send(&daemon_of_test, client, NULL));
	assert_called("send ");
	/* The socket is full: a timeout, which restarts after each successful send. */
	put_errors[0] = 0;
	send_result = -EAGAIN;
	size_after = 500;
	assert_true(client_send(&daemon_of_test, client, object));
	assert_called("put(7) send timer(30000) change(socket,5) ");
	size_after = 510;
	assert_true(client_send(&daemon_of_test, client, object));
	assert_called("put(7) send ");
	assert_true(client_send(&daemon_of_test, client, NULL));
	assert_called("send ");
	size_after = 509;
	assert_true(client_send(&daemon_of_test, client, NULL));
	assert_called("send timer(30000) ");
	client->busy = true;
	assert_true(client_send(&daemon_of_test, client, NULL));
	assert_called("send change(socket,4) ");
	client->busy = false;
	send_result = 0;
	assert_true(client_send(&daemon_of_test, client, NULL));
	assert_called("send cancel change(socket,1) ");
	/* The largest permitted queue. */
	send_result = -EAGAIN;
	size_after = LIMIT_WAITING;
	assert_true(client_send(&daemon_of_test, client, object));
	assert_called("put(7) send timer(30000) change(socket,5) ");
	size_after++;
	assert_false(client_send(&daemon_of_test, client, NULL));
	assert_called("send close(0) release(socket) close(1) cancel fd(-1) free ");
	assert_false(client_send(&daemon_of_test, client, object));
	assert_called("");
	/* Errors of the socket, and of the message. */
	client = come_quietly();
	send_result = -EPIPE;
	assert_false(client_send(&daemon_of_test, client, object));
	assert_called(after("put(7) send "));
	send_result = 0;
	client = come_quietly();
	put_errors[0] = -E2BIG;
	assert_false(client_send(&daemon_of_test, client, object));
	assert_called(after("put(7) "));
	put_errors[0] = 0;
	json_object_put(object);
	finish();
}

static void test_slow(void **state)
{
	struct client *client;

	(void)state;
	begin();
	client = come_quietly();
	size_after = 20;
	send_result = -EAGAIN;
	assert_true(client_send(&daemon_of_test, client, NULL));
	*calls = '\0';
	loop_expire(&daemon_of_test, &client->timer);
	assert_called(after(
			"say(47,process 1234 does not read its answers: the connection is closed) "));
	send_result = 0;
	/* The timers of a subscription end with its connection. */
	client = come_quietly();
	client->top_session = strdup("one");
	client->in.text = strdup("piece");
	loop_timer(&daemon_of_test, &client->interval_timer, 5, client_is_slow);
	*calls = '\0';
	received_fd = 1234;
	client_close(&daemon_of_test, client);
	assert_called("close(0) release(socket) close(1) cancel fd(1234) free ");
	finish();
}

static void test_answer(void **state)
{
	struct error error;
	struct client *client;

	(void)state;
	begin();
	client = come_quietly();
	client->busy = true;
	assert_int_equal(client_answer(&daemon_of_test, client, number(8)), 0);
	assert_called("put(8) send ");
	assert_false(client->busy);
	/* An answer that cannot be queued is replaced by an error. */
	nr_puts = 0;
	put_errors[0] = -E2BIG;
	assert_int_equal(client_answer(&daemon_of_test, client, number(8)), -E2BIG);
	assert_memory_equal(calls, "put(8) put({", 12);
	assert_non_null(strstr(calls, "cannot send the answer: Argument list too long"));
	assert_false(client->last);
	*calls = '\0';
	nr_puts = 1;
	assert_int_equal(client_answer(&daemon_of_test, client, NULL), -ENOMEM);
	assert_non_null(strstr(calls, "out of memory"));
	assert_false(client->last || client->object.is_closed);
	*calls = '\0';
	nr_puts = 0;
	put_errors[0] = -ENOMEM;
	assert_int_equal(client_answer(&daemon_of_test, client, number(8)), -ENOMEM);
	assert_non_null(strstr(calls, "out of memory"));
	*calls = '\0';
	/* The error cannot be queued either: the connection ends. */
	nr_puts = 0;
	put_errors[1] = -ENOMEM;
	assert_int_equal(client_answer(&daemon_of_test, client, number(8)), -ENOMEM);
	assert_true(client->object.is_closed);
	*calls = '\0';
	put_errors[1] = 0;
	assert_int_equal(client_answer(&daemon_of_test, client, number(8)), 0);
	assert_called("");
	client = come_quietly();
	nr_puts = 1;
	has_no_error = true;
	assert_int_equal(client_answer(&daemon_of_test, client, NULL), -ENOMEM);
	assert_called(after("send "));
	has_no_error = false;
	put_errors[0] = 0;
	client = come_quietly();
	error_set_kind(&error, ERROR_BUSY, -EBUSY, NULL, "it is busy");
	client->busy = true;
	client_fail(&daemon_of_test, client, &error);
	assert_non_null(strstr(calls, "it is busy"));
	assert_false(client->busy);
	/* The last answer: the connection is closed after it is sent. */
	client->last = true;
	*calls = '\0';
	send_result = -EAGAIN;
	size_after = 9;
	client_answer(&daemon_of_test, client, number(1));
	assert_called("put(1) send timer(30000) change(socket,4) ");
	send_result = 0;
	client->watch.ready(&daemon_of_test, &client->watch, EPOLLOUT | EPOLLIN);
	assert_called("send close(0) release(socket) close(1) cancel fd(-1) free ");
	finish();
}

/* ---- Requests ---- */

static void ready(struct client *client, uint32_t events)
{
	client->watch.ready(&daemon_of_test, &client->watch, events);
}

static void test_requests(void **state)
{
	struct client *client;

	(void)state;
	begin();
	client = come_quietly();
	now = 777;
	receive_result = 0;
	ready(client, EPOLLIN);
	assert_called("receive(0) ");
	receive_result = -EAGAIN;
	ready(client, EPOLLIN);
	assert_called("receive(0) ");
	assert_int_not_equal(client->heard, 777);
	receive_result = 1;
	received_fd = 55;
	ready(client, EPOLLIN);
	assert_called("receive(0) change(socket,0) verb(12) fd(55) ");
	assert_int_equal(client->heard, 777);
	/* One request at a time. */
	ready(client, EPOLLIN);
	assert_called("");
	ready(client, EPOLLIN | EPOLLHUP);
	assert_called(gone());
	for (int i = 0; i < 4; i++) {
		client = come_quietly();
		if (i < 2) {
			client->busy = i;
			ready(client, i ? EPOLLERR : EPOLLHUP);
			assert_called(gone());
		} else {
			receive_result = i == 2 ? -EPIPE : -ECONNRESET;
			ready(client, EPOLLIN);
			assert_called(after("receive(0) "));
		}
	}
	/* An invalid request is reported once. */
	client = come_quietly();
	receive_result = -EPROTO;
	ready(client, EPOLLIN);
	assert_memory_equal(calls, "receive(0) put(", 15);
	assert_non_null(strstr(calls, "it is wrong"));
	assert_true(client->object.is_closed);
	/* Queued messages are sent first. */
	*calls = '\0';
	client = come_quietly();
	receive_result = 0;
	ready(client, EPOLLIN | EPOLLOUT);
	assert_called("send receive(0) ");
	ready(client, EPOLLOUT);
	assert_called("send ");
	finish();
}

static void test_handovers(void **state)
{
	struct resources before = resources_now();
	struct client *client;

	(void)state;
	begin();
	is_due = true;
	client = come_quietly();
	ready(client, EPOLLIN);
	assert_called("begin(1,47) watch(handover,1) change(socket,0) ");
	assert_true(client->busy);
	receive_result = 0;
	client->handover.ready(&daemon_of_test, &client->handover, EPOLLIN);
	assert_called("release(handover) receive(1) close(1) change(socket,1) ");
	assert_false(client->busy || client->in.takes_fd);
	/* The message is a request. */
	ready(client, EPOLLIN);
	*calls = '\0';
	receive_result = 1;
	client->handover.ready(&daemon_of_test, &client->handover, EPOLLIN);
	assert_called("release(handover) receive(1) verb(12) fd(-1) close(1) ");
	assert_true(client->busy);
	client->busy = false;
	ready(client, EPOLLIN);
	*calls = '\0';
	/* The thread received no message. */
	receive_result = -EPIPE;
	client->handover.ready(&daemon_of_test, &client->handover, EPOLLIN);
	assert_called("release(handover) receive(1) close(0) release(socket) close(1) fd(-1) free close(1) ");
	/* Calls that fail. */
	client = come_quietly();
	begin_result = -EBUSY;
	ready(client, EPOLLIN);
	assert_called(after("begin(1,47) close(0) "));
	begin_result = 0;
	client = come_quietly();
	failing_watch = "handover";
	ready(client, EPOLLIN);
	assert_called(after("begin(1,47) watch(handover,1) close(1) "));
	failing_watch = NULL;
	/* The client disconnects meanwhile. */
	client = come_quietly();
	ready(client, EPOLLIN);
	*calls = '\0';
	client_close(&daemon_of_test, client);
	assert_called("release(handover) close(1) release(socket) close(1) fd(-1) free ");
	is_due = false;
	finish();
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

/* The C library keeps some of the first blocks that are freed, so the first rounds do not count. */
static void test_memory(void **state)
{
	size_t memory = 0;

	for (int i = 0; i < 24; i++) {
		if (i == 12)
			memory = resources_memory();
		test_accept(state);
		test_slow(state);
		test_answer(state);
		test_requests(state);
	}
	assert_int_equal(resources_memory(), memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_accept),
			cmocka_unit_test(test_accept_errors),
			cmocka_unit_test(test_idle),
			cmocka_unit_test(test_send),
			cmocka_unit_test(test_slow),
			cmocka_unit_test(test_answer),
			cmocka_unit_test(test_requests),
			cmocka_unit_test(test_handovers),
			cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
