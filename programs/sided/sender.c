/* SPDX-License-Identifier: MIT */
/*
 * The process that sends the trace of a session: a child of the session's process, created before
 * that one drops privileges. They exchange orders and reports over a socket pair, and share two
 * counters in memory with the recorder's progress. If one of them exits, the other exits, too. Then
 * the daemon starts both again, the recorder adopts its state directory, and the sender continues
 * from its marks.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "isolate/isolate.h"
#include "relay/send.h"
#include "recorder/core/session.h"
#include "sided.h"

#define REPORT_MS 200

_Static_assert(sizeof(struct send_rounds) == sizeof(struct session_rounds) &&
				offsetof(struct send_rounds, begun) ==
						offsetof(struct session_rounds, begun) &&
				offsetof(struct send_rounds, ticks) ==
						offsetof(struct session_rounds, ticks),
		"the recorder's words are the sender's");

enum order { ORDER_GO = 1, ORDER_FINISH };

enum message_kind { MESSAGE_STATUS = 1, MESSAGE_SENTENCE };

struct sender_message {
	enum message_kind kind;
	struct send_status status;
	char text[ERROR_TEXT_SIZE];
};

struct sender {
	int fd;
	pid_t pid;
	struct session_rounds *rounds;
	struct send_status status;
	char to[4200];
};

/* ---- the sending process ---- */

struct sender_state {
	int fd;
	const struct definition *definition;
	const char *output;
	struct send_options options;
	struct send *send;
	struct send_status reported;
	int resolver; /* socket of the process that resolves host names; -1: none is needed */
};

/* If the message cannot be sent now, a later one contains the same information. */
static void sender_send_message(
		const struct sender_state *sending, const struct sender_message *message)
{
	(void)!send(sending->fd, message, sizeof(*message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void sender_send_sentence(void *user, bool is_error, const char *sentence)
{
	struct sender_message message = {.kind = MESSAGE_SENTENCE};

	(void)is_error;
	snprintf(message.text, sizeof(message.text), "%s", sentence);
	sender_send_message(user, &message);
}

static int sender_remove_entry(
		const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	if (where->level)
		(void)!remove(path);
	return 0;
}

/*
 * Removes the traces that are sent, if they existed only for that. The daemon removes the directory
 * itself.
 */
static void remove_sent(const struct sender_state *sending)
{
	nftw(sending->output, sender_remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void sender_send_status_message(
		struct sender_state *sending, const struct send_status *status)
{
	struct sender_message message = {.kind = MESSAGE_STATUS, .status = *status};

	if (!memcmp(&sending->reported, status, sizeof(*status)))
		return;
	sending->reported = *status;
	if (status->over && !status->failed && !status->pending &&
			definition_is_spooled(sending->definition))
		remove_sent(sending);
	sender_send_message(sending, &message);
}

static bool take_order(struct sender_state *sending)
{
	enum order order = 0;
	ssize_t got = recv(sending->fd, &order, sizeof(order), 0);

	if (got < 0 && errno == EINTR)
		return false;
	if (got <= 0)
		_exit(EXIT_SUCCESS);
	if (order == ORDER_FINISH && sending->send)
		send_finish(sending->send);
	return order == ORDER_GO;
}

static void sender_start_send(struct sender_state *sending)
{
	struct send_status failed = {.over = true, .failed = true};
	struct error error;

	if (!send_start(&sending->options, &sending->send, &error))
		return;
	sender_send_sentence(sending, true, error.text);
	snprintf(failed.why, sizeof(failed.why), "%.250s", error.text);
	sender_send_status_message(sending, &failed);
}

static void sender_serve(struct sender_state *sending)
{
	struct pollfd socket = {.fd = sending->fd, .events = POLLIN};
	struct send_status status;

	while (!take_order(sending))
		;
	sender_start_send(sending);
	for (;;) {
		if (poll(&socket, 1, REPORT_MS) > 0)
			take_order(sending);
		if (!sending->send)
			continue;
		send_status(sending->send, &status);
		sender_send_status_message(sending, &status);
	}
}

static void set_options(
		struct sender_state *sending, bool no_files, const struct send_rounds *rounds)
{
	const struct definition *definition = sending->definition;
	uint64_t timeout = definition->send_timeout_ns ? definition->send_timeout_ns
						       : DEFINITION_SEND_TIMEOUT_STANDARD_NS;
	uint64_t spool = definition->spool                  ? definition->spool
			: definition_is_spooled(definition) ? DEFINITION_SPOOL_STANDARD
							    : 0;

	sending->options = (struct send_options){
			.dir = sending->output,
			.url = definition->to,
			.fallback = definition->name,
			.spool = spool,
			.timeout_ms = timeout / 1000000 ? timeout / 1000000 : 1,
			.speed = definition->speed,
			.live = true,
			.no_files = no_files,
			.marks = true,
			.rounds = rounds,
			.resolver = &sending->resolver,
			.log_message = sender_send_sentence,
			.user = sending,
	};
}

/* A file must exist before the process is restricted to it; a device in /dev can appear later. */
static int isolate(struct sender_state *sending, bool no_files, const struct session_owner *owner)
{
	const char *to = sending->definition->to, *writable[2] = {sending->output};
	struct isolate_limits limits = {.writable = writable,
			.nr_writable = 1,
			.connects = true,
			.terminals = true};
	int fd, ret;

	ret = isolate_sender(owner);
	if (!ret)
		ret = send_resolver(to, &sending->resolver);
	if (ret)
		return ret;
	if (!strstr(to, "://")) {
		fd = strncmp(to, "/dev/", 5) != 0 && !no_files
				? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)
				: -1;
		if (fd >= 0)
			close(fd);
		writable[limits.nr_writable++] = access(to, F_OK) ? "/dev" : to;
	}
	if (!isolate_parser(&limits))
		log_message("cannot install a filter of system calls in the sending process");
	return 0;
}

static void sender_run(const struct definition *definition, const char *output, bool no_files,
		const struct session_owner *owner, const struct session_rounds *rounds, int fd)
{
	struct sender_state sending = {.fd = fd, .definition = definition, .output = output};

	prctl(PR_SET_NAME, "sided-send");
	/*
	 * The session writes the two counters that the sender reads; src/recorder and src/relay
	 * each declare them.
	 */
	set_options(&sending, no_files, (const struct send_rounds *)(const void *)rounds);
	if (isolate(&sending, no_files, owner)) {
		log_message("cannot start the sending process for %s", definition->to);
		return;
	}
	sender_serve(&sending);
}

/* ---- in the session process ---- */

static int fork_sender(const struct definition *definition, const char *output, bool no_files,
		const struct session_owner *owner, const int *closing, size_t nr_closing,
		struct sender *sender)
{
	pid_t parent = getpid(), child;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_SUCCESS);
		close(ends[0]);
		while (nr_closing--)
			close(closing[nr_closing]);
		sender_run(definition, output, no_files, owner, sender->rounds, ends[1]);
		_exit(EXIT_SUCCESS);
	}
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	sender->fd = ends[0];
	sender->pid = child;
	return 0;
}

int sender_make(const struct definition *definition, const char *output, bool no_files,
		const struct session_owner *owner, const int *closing, size_t nr_closing,
		struct sender **ret_sender)
{
	struct sender *sender = calloc(1, sizeof(*sender));
	void *shared;
	int ret;

	if (!sender)
		return -ENOMEM;
	shared = mmap(NULL, sizeof(*sender->rounds), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		free(sender);
		return -ENOMEM;
	}
	sender->rounds = shared;
	snprintf(sender->to, sizeof(sender->to), "%s", definition->to);
	ret = fork_sender(definition, output, no_files, owner, closing, nr_closing, sender);
	if (ret) {
		munmap(shared, sizeof(*sender->rounds));
		free(sender);
		return ret;
	}
	*ret_sender = sender;
	return 0;
}

struct session_rounds *sender_rounds(struct sender *sender)
{
	return sender ? sender->rounds : NULL;
}

int sender_fd(const struct sender *sender)
{
	return sender->fd;
}

static void order(struct sender *sender, enum order order)
{
	(void)!send(sender->fd, &order, sizeof(order), MSG_NOSIGNAL);
}

void sender_go(struct sender *sender)
{
	order(sender, ORDER_GO);
}

/* Returns 1 if it received a message, 0 if there is none, -1 if the process has exited. */
static int sender_receive(struct sender *sender, int flags,
		void (*reported)(void *user, const char *text), void *user)
{
	struct sender_message message;
	ssize_t got = recv(sender->fd, &message, sizeof(message), flags);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (got != sizeof(message))
		return -1;
	message.text[sizeof(message.text) - 1] = 0;
	message.status.why[sizeof(message.status.why) - 1] = 0;
	if (message.kind == MESSAGE_STATUS)
		sender->status = message.status;
	else
		reported(user, message.text);
	return 1;
}

bool sender_hear(struct sender *sender, void (*reported)(void *user, const char *text), void *user)
{
	int ret;

	do
		ret = sender_receive(sender, MSG_DONTWAIT, reported, user);
	while (ret > 0);
	return !ret;
}

void sender_finish(
		struct sender *sender, void (*reported)(void *user, const char *text), void *user)
{
	/* Sequentially consistent: the files are complete. Pairs with the load in rounds(). */
	__atomic_store_n(&sender->rounds->begun, UINT64_MAX, __ATOMIC_SEQ_CST);
	order(sender, ORDER_FINISH);
	while (!sender->status.over && sender_receive(sender, 0, reported, user) >= 0)
		;
	if (!sender->status.over)
		sender->status.failed = true;
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	close(sender->fd);
	munmap(sender->rounds, sizeof(*sender->rounds));
	free(sender);
}

static bool put_dropped_users(struct json_object *json, const struct send_status *status)
{
	struct json_object *list = json_object_new_array();
	bool fits = list;
	uint32_t i;

	for (i = 0; i < SEND_SPOOL_USERS && fits; i++) {
		const struct send_dropped *dropped = &status->dropped_users[i];
		struct json_object *user;

		if (!dropped->packets)
			continue;
		user = json_object_new_object();
		fits = (i == SEND_SPOOL_USERS - 1 || json_put_number(user, "uid", dropped->uid)) &&
				json_put_number(user, "packets", dropped->packets) &&
				json_put_number(user, "events", dropped->events) &&
				json_put_number(user, "bytes", dropped->bytes) &&
				!json_object_array_add(list, user);
		if (!fits)
			json_object_put(user);
	}
	return json_put(json, "dropped-users", list) && fits;
}

struct json_object *sender_json(const struct sender *sender)
{
	const struct send_status *status = &sender->status;
	struct json_object *json = json_object_new_object();

	if (json_put_text(json, "to", sender->to) &&
			json_put_number(json, "pid", (uint64_t)sender->pid) &&
			json_put_flag(json, "connected", status->connected) &&
			(!status->since ||
					json_put_number(json, "since", (uint64_t)status->since)) &&
			(!*status->why || json_put_text(json, "why", status->why)) &&
			json_put_number(json, "packets", status->packets) &&
			json_put_number(json, "bytes", status->bytes) &&
			(!status->events || json_put_number(json, "events", status->events)) &&
			json_put_number(json, "pending", status->pending) &&
			json_put_number(json, "pending-packets", status->pending_packets) &&
			json_put_number(json, "dropped-packets", status->dropped_packets) &&
			json_put_number(json, "dropped-events", status->dropped_events) &&
			json_put_number(json, "dropped-bytes", status->dropped_bytes) &&
			put_dropped_users(json, status) &&
			json_put_number(json, "connections", status->connections) &&
			json_put_flag(json, "over", status->over) &&
			json_put_flag(json, "failed", status->failed))
		return json;
	json_object_put(json);
	return NULL;
}
