/* SPDX-License-Identifier: MIT */
/*
 * Connections of the command line. A client has one request at a time; further requests stay in its
 * socket. Answers that it does not read are queued, up to a limit; then the connection is closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "base/error.h"
#include "recorder/core/peer.h"
#include "sided.h"
#include "protocol/runtime.h"

/*
 * Space for answers in the socket, so that a client can still read them after the daemon has closed
 * the connection.
 */
#define SEND_BUFFER_MAX (1 << 20)

static void client_events(struct daemon *daemon, struct client *client)
{
	uint32_t events = 0;

	if (!client->busy && !client->last)
		events |= EPOLLIN;
	if (client->out.first)
		events |= EPOLLOUT;
	loop_change(daemon, &client->watch, events);
}

static void client_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct client *client = container_of(object, struct client, object);

	(void)daemon;
	free(client->top_session);
	free(client);
}

void client_close(struct daemon *daemon, struct client *client)
{
	struct client **at;

	if (client->object.is_closed)
		return;
	for (at = &daemon->clients; *at != client;)
		at = &(*at)->next;
	*at = client->next;
	shares_give_back(&daemon->client_shares, client->peer.uid, 1);
	peer_close(loop_release(daemon, &client->handover), false);
	/*
	 * Drain the queue: unread data would turn the end of the connection into an error before
	 * the client reads the last answer.
	 */
	peer_close(loop_release(daemon, &client->watch), false);
	loop_cancel(daemon, &client->timer);
	loop_cancel(daemon, &client->interval_timer);
	handover_close(frame_take_fd(&client->in));
	frame_in_free(&client->in);
	frame_out_free(&client->out);
	object_close(daemon, &client->object);
}

static void client_is_slow(struct daemon *daemon, struct timer *timer)
{
	struct client *client = container_of(timer, struct client, timer);

	log_about(daemon, client->peer.uid,
			"process %d does not read its answers: the connection is closed",
			client->peer.pid);
	client_close(daemon, client);
}

/* Returns false if the client was closed. */
static bool client_flush(struct daemon *daemon, struct client *client)
{
	size_t before = client->out.size;
	int ret = frame_send(&client->out, client->watch.fd);

	if (!ret && client->last) {
		client_close(daemon, client);
		return false;
	}
	if (!ret) {
		loop_cancel(daemon, &client->timer);
	} else if (ret != -EAGAIN || client->out.size > LIMIT_WAITING) {
		client_close(daemon, client);
		return false;
	} else if (!client->timer.base.is_set || client->out.size < before) {
		loop_timer(daemon, &client->timer, LIMIT_WAITING_MS, client_is_slow);
	}
	client_events(daemon, client);
	return true;
}

bool client_send(struct daemon *daemon, struct client *client, struct json_object *message)
{
	int ret;

	if (client->object.is_closed)
		return false;
	ret = message ? frame_put(&client->out, message) : -ENOMEM;
	if (ret && ret != -ENOMEM) {
		client_close(daemon, client);
		return false;
	}
	return client_flush(daemon, client);
}

/*
 * Queues an answer; if this fails, queues an error instead. Returns 0, or the negative errno in
 * that error.
 */
static int put_answer(struct client *client, struct json_object *answer)
{
	int ret = answer ? frame_put(&client->out, answer) : -ENOMEM;
	struct error error;
	struct json_object *instead;

	if (!ret)
		return 0;
	if (ret == -ENOMEM)
		error_set_no_memory(&error);
	else
		error_set_kind(&error, ERROR_FAILED, ret, NULL, "cannot send the answer: %s",
				strerror(-ret));
	instead = json_error(&error);
	/* No answer can be sent: close the connection, so that the client does not wait for one. */
	if (!instead || frame_put(&client->out, instead))
		client->last = true;
	json_object_put(instead);
	return ret;
}

int client_answer(struct daemon *daemon, struct client *client, struct json_object *answer)
{
	int ret = 0;

	client->busy = false;
	if (!client->object.is_closed) {
		ret = put_answer(client, answer);
		client_flush(daemon, client);
	}
	json_object_put(answer);
	return ret;
}

void client_fail(struct daemon *daemon, struct client *client, const struct error *error)
{
	client_answer(daemon, client, json_error(error));
}

static void client_receive(struct daemon *daemon, struct client *client, int socket)
{
	struct error error;
	struct json_object *request;
	int ret = frame_receive(&client->in, socket, FRAME_REQUEST_MAX, &request, &error);

	if (!ret || ret == -EAGAIN)
		return;
	if (ret == 1) {
		client->heard = loop_now();
		client->busy = true;
		client_events(daemon, client);
		verb_take(daemon, client, request);
		json_object_put(request);
		/* The request did not need the descriptor. */
		handover_close(frame_take_fd(&client->in));
	} else if (ret == -EPIPE || ret == -ECONNRESET) {
		client_close(daemon, client);
	} else {
		/* A client that violates the protocol gets one error. */
		client->last = true;
		client_fail(daemon, client, &error);
	}
}

/*
 * Called when the thread has received a message with descriptors and passes it on, or has no
 * message for the loop.
 */
static void client_handed_over(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct client *client = container_of(watch, struct client, handover);
	int socket = loop_release(daemon, watch);

	(void)events;
	client->busy = false;
	client->in.takes_fd = true;
	client_receive(daemon, client, socket);
	client->in.takes_fd = false;
	peer_close(socket, false);
	if (!client->object.is_closed)
		client_events(daemon, client);
}

static void client_read(struct daemon *daemon, struct client *client)
{
	int socket;

	if (!handover_is_due(client->watch.fd)) {
		client_receive(daemon, client, client->watch.fd);
		return;
	}
	socket = handover_begin(daemon, client->watch.fd, client->peer.uid);
	if (socket < 0 ||
			loop_watch(daemon, &client->handover, socket, EPOLLIN,
					client_handed_over)) {
		peer_close(socket, false);
		client_close(daemon, client);
		return;
	}
	client->busy = true;
	client_events(daemon, client);
}

static void client_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct client *client = container_of(watch, struct client, watch);

	if (events & EPOLLOUT && !client_flush(daemon, client))
		return;
	if (events & EPOLLIN && !client->busy)
		client_read(daemon, client);
	/* The client closed the connection while the daemon handled its request. */
	else if (events & (EPOLLHUP | EPOLLERR))
		client_close(daemon, client);
}

/* ---- permissions and shares ---- */

/* True if the client has sent a request that the daemon has not read yet. */
static bool has_unread_request(const struct client *client)
{
	int size = 0;

	return !ioctl(client->watch.fd, SIOCINQ, &size) && size > 0;
}

/* True if the client has sent no request, waits for no answer, and has received everything. */
static bool is_idle(const struct client *client)
{
	return !client->busy && !client->subscribed && !client->last && !client->out.first &&
			!has_unread_request(client);
}

/* Returns the idle connection of this user that has been silent for the longest time. */
static struct client *oldest_idle(const struct daemon *daemon, uid_t uid)
{
	struct client *client, *oldest = NULL;

	for (client = daemon->clients; client; client = client->next)
		if (client->peer.uid == uid && (!oldest || client->heard <= oldest->heard) &&
				is_idle(client))
			oldest = client;
	return oldest;
}

/*
 * Returns an idle connection of the user with most connections. That user has more than a floor,
 * and at least as many as this user: no user loses a connection to a user who has more.
 */
static struct client *oldest_idle_of_largest_user(const struct daemon *daemon, uid_t uid)
{
	const struct shares *shares = &daemon->client_shares;
	uint64_t most = shares_used(shares, uid);
	struct client *client, *found = NULL;

	if (most <= shares->floor)
		most = shares->floor + 1;
	for (client = daemon->clients; client; client = client->next) {
		uint64_t used = shares_used(shares, client->peer.uid);

		if (used < most || (found && used == most) || !is_idle(client))
			continue;
		most = used;
		found = client;
	}
	return found ? oldest_idle(daemon, found->peer.uid) : NULL;
}

/*
 * Takes a connection from the user's share; closes an idle one if necessary. Returns false if the
 * user can have no further connection.
 */
static bool sided_client_claim_quota(struct daemon *daemon, uid_t uid)
{
	struct shares *shares = &daemon->client_shares;
	struct client *idle = NULL;

	if (shares_used(shares, uid) >= LIMIT_CLIENTS_OF_USER) {
		idle = oldest_idle(daemon, uid);
	} else if (!shares_left(shares, uid)) {
		idle = oldest_idle_of_largest_user(daemon, uid);
		/* The user may have closed some whose end the daemon has not read yet. */
		if (!idle)
			idle = oldest_idle(daemon, uid);
	}
	if (idle)
		client_close(daemon, idle);
	return shares_used(shares, uid) < LIMIT_CLIENTS_OF_USER && shares_take(shares, uid, 1);
}

static int fail_connection(int code, struct error *error)
{
	return error_set_kind(error, ERROR_FAILED, code, NULL, "cannot accept the connection: %s",
			strerror(-code));
}

/* Gets the peer's user, and checks that it may control the daemon. */
static int check_peer(struct daemon *daemon, int fd, struct peer *ret_peer, struct error *error)
{
	int ret = runtime_peer(fd, ret_peer);

	if (ret)
		return fail_connection(ret, error);
	if (ret_peer->uid != daemon->uid && ret_peer->uid != 0 &&
			!(daemon->system && runtime_peer_in_group(fd, ret_peer, daemon->group)))
		return error_set_kind(error, ERROR_PERMISSION, -EPERM,
				daemon->system ? "be root, or a member of the group " WIRE_RUNTIME_GROUP
					       : "start a daemon of your own: sided",
				"user %u may not control the daemon of %s", ret_peer->uid,
				daemon->system ? "the system" : "another user");
	if (!sided_client_claim_quota(daemon, ret_peer->uid))
		return error_set_kind(error, ERROR_BUSY, -EBUSY, "close some",
				"too many connections to the daemon: at most %d, and %d of one user",
				LIMIT_CLIENTS, LIMIT_CLIENTS_OF_USER);
	return 0;
}

/*
 * Sends the reason in one message, if the socket accepts it, and closes the connection. Does not
 * call close(): with unread data, the client would get an error instead of the end of the
 * connection, and unread data can contain descriptors.
 */
static void turn_away(int fd, const struct error *error)
{
	struct json_object *answer = json_error(error);
	struct frame_out out;

	frame_out_init(&out);
	if (answer && !frame_put(&out, answer))
		frame_send(&out, fd);
	frame_out_free(&out);
	json_object_put(answer);
	peer_close(fd, false);
}

static void client_accept(struct daemon *daemon, int fd)
{
	struct client *client = calloc(1, sizeof(*client));
	struct error error;
	int capacity = SEND_BUFFER_MAX, ret;

	if (!client) {
		error_set_no_memory(&error);
		turn_away(fd, &error);
		return;
	}
	if (check_peer(daemon, fd, &client->peer, &error)) {
		free(client);
		turn_away(fd, &error);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &capacity, sizeof(capacity));
	object_init(&client->object, client_destroy);
	client->watch.owner = client->timer.owner = client->interval_timer.owner = &client->object;
	client->handover = (struct sided_watch){.fd = -1, .owner = &client->object};
	frame_out_init(&client->out);
	ret = loop_watch(daemon, &client->watch, fd, EPOLLIN, client_ready);
	if (ret) {
		shares_give_back(&daemon->client_shares, client->peer.uid, 1);
		object_close(daemon, &client->object);
		fail_connection(ret, &error);
		turn_away(fd, &error);
		return;
	}
	client->heard = loop_now();
	client->next = daemon->clients;
	daemon->clients = client;
}

int clients_open(struct daemon *daemon)
{
	shares_init(&daemon->client_shares, LIMIT_CLIENTS, LIMIT_CLIENT_FLOORS, 0);
	/* The daemon's user keeps a floor even without a connection. */
	return shares_keep(&daemon->client_shares, daemon->uid) ? 0 : -ENOMEM;
}

void clients_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	int i;

	(void)events;
	for (i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			client_accept(daemon, fd);
		else if (errno == ENOBUFS || error_is_lack_of_resources(errno))
			return loop_pause_listening(daemon);
		else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

void clients_close(struct daemon *daemon)
{
	while (daemon->clients)
		client_close(daemon, daemon->clients);
	shares_free(&daemon->client_shares);
}
