/* SPDX-License-Identifier: MIT */
/*
 * The sending process of `side record --to`, and the functions by which the recorder uses it.
 *
 * The two exchange whole messages over a socket pair. The process reports the outcome of its start,
 * its status, and messages for the user. A thread of the recorder reads them, and prints the
 * messages between its progress lines. Each side ends when the other one closes its socket.
 */
#include "sending-process.h"

#include "programs/common/command.h"
#include "programs/common/message.h"
#include "sending.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_MS 100

enum sending_order_kind { SENDING_START = 1, SENDING_FINISH };

struct sending_order {
	enum sending_order_kind kind;
	char dir[PATH_MAX];
	/* Name of the session if the directory has none; empty: none. */
	char fallback[NAME_MAX + 1];
};

enum sending_message_kind { SENDING_STARTED = 1, SENDING_STATUS, SENDING_NOTE, SENDING_ERROR };

struct sending_message {
	enum sending_message_kind kind;
	int ret; /* in SENDING_STARTED only */
	struct send_status status;
	char text[ERROR_TEXT_SIZE];
};

struct sending_process {
	int socket;
	bool has_reader;
	pthread_t reader;
	pthread_mutex_t lock;
	struct send_status status; /* the last one received */
};

/* ---- the sending process ---- */

struct sending_child {
	int socket;
	struct send_options options;
	struct send *send;
	struct send_status reported;
};

static void sending_report(const struct sending_child *child, const struct sending_message *message)
{
	if (send(child->socket, message, sizeof(*message), MSG_NOSIGNAL) < 0)
		_exit(EXIT_FAILURE);
}

static void sending_log_message(void *user, bool is_error, const char *sentence)
{
	struct sending_message message = {.kind = is_error ? SENDING_ERROR : SENDING_NOTE};

	snprintf(message.text, sizeof(message.text), "%s", sentence);
	sending_report(user, &message);
}

static void sending_receive(const struct sending_child *child, struct sending_order *ret_order)
{
	ssize_t got;

	do
		got = recv(child->socket, ret_order, sizeof(*ret_order), 0);
	while (got < 0 && errno == EINTR);
	/* The recorder has ended. */
	if (got != (ssize_t)sizeof(*ret_order))
		_exit(EXIT_SUCCESS);
	ret_order->dir[sizeof(ret_order->dir) - 1] = '\0';
	ret_order->fallback[sizeof(ret_order->fallback) - 1] = '\0';
}

static void sending_begin(struct sending_child *child, const struct sending_order *order)
{
	struct sending_message message = {.kind = SENDING_STARTED};
	struct error error = {.code = 0};
	static int resolver;

	child->options.dir = order->dir;
	if (*order->fallback)
		child->options.fallback = order->fallback;
	child->options.resolver = &resolver;
	message.ret = sending_confine(
			order->dir, child->options.url, child->options.spool, &resolver, &error);
	if (!message.ret)
		message.ret = send_start(&child->options, &child->send, &error);
	snprintf(message.text, sizeof(message.text), "%s", error.text);
	sending_report(child, &message);
	if (message.ret)
		_exit(EXIT_FAILURE);
}

static void sending_report_status(struct sending_child *child)
{
	struct sending_message message = {.kind = SENDING_STATUS};

	send_status(child->send, &message.status);
	if (!memcmp(&child->reported, &message.status, sizeof(message.status)))
		return;
	child->reported = message.status;
	sending_report(child, &message);
}

static _Noreturn void sending_work(struct sending_child *child)
{
	static struct sending_order order;
	struct pollfd socket = {.fd = child->socket, .events = POLLIN};

	prctl(PR_SET_NAME, "side-send");
	sending_receive(child, &order);
	sending_begin(child, &order);
	for (;;) {
		if (poll(&socket, 1, STATUS_MS) > 0) {
			struct sending_order next;

			sending_receive(child, &next);
			send_finish(child->send);
		}
		sending_report_status(child);
	}
}

/*
 * Ignores signals from the terminal, which the recorder handles. Keeps only the socket and standard
 * error of the recorder's descriptors.
 */
static _Noreturn void sending_begin_process(const struct send_options *options, int socket)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	struct sending_child child = {.options = *options};
	int null;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	child.socket = STDERR_FILENO + 1;
	if (socket != child.socket)
		dup3(socket, child.socket, O_CLOEXEC);
	close_range((unsigned int)child.socket + 1, ~0u, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
	child.options.log_message = sending_log_message;
	child.options.user = &child;
	sending_work(&child);
}

/* ---- the recorder ---- */

/*
 * Forks twice, so that the sending process is no child of the recorder: with `--wait-all` the
 * recorder waits for its children.
 */
static int sending_fork(const struct send_options *options, struct sending_process *process)
{
	int sockets[2], status;
	pid_t between;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	fflush(NULL);
	between = fork();
	if (!between) {
		pid_t child = fork();

		if (!child)
			sending_begin_process(options, sockets[1]);
		_exit(child < 0);
	}
	close(sockets[1]);
	process->socket = sockets[0];
	if (between < 0)
		return -EAGAIN;
	while (waitpid(between, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -EAGAIN : 0;
}

static void sending_free(struct sending_process *process)
{
	if (process->socket >= 0)
		close(process->socket);
	pthread_mutex_destroy(&process->lock);
	free(process);
}

int sending_process_make(const struct send_options *options, struct sending_process **ret_process)
{
	struct sending_process *process = calloc(1, sizeof(*process));
	int ret;

	if (!process)
		return -ENOMEM;
	process->socket = -1;
	pthread_mutex_init(&process->lock, NULL);
	ret = sending_fork(options, process);
	if (ret)
		sending_free(process);
	else
		*ret_process = process;
	return ret;
}

/* Receives one message. False if the process has ended. */
static bool sending_read_message(
		const struct sending_process *process, struct sending_message *ret_message)
{
	ssize_t got;

	do
		got = recv(process->socket, ret_message, sizeof(*ret_message), 0);
	while (got < 0 && errno == EINTR);
	ret_message->text[sizeof(ret_message->text) - 1] = '\0';
	ret_message->status.why[sizeof(ret_message->status.why) - 1] = '\0';
	return got == (ssize_t)sizeof(*ret_message);
}

static void sending_set_status(struct sending_process *process, const struct send_status *status)
{
	pthread_mutex_lock(&process->lock);
	process->status = *status;
	pthread_mutex_unlock(&process->lock);
}

static void sending_handle_message(
		struct sending_process *process, const struct sending_message *message)
{
	if (message->kind == SENDING_STATUS)
		sending_set_status(process, &message->status);
	else if (message->kind == SENDING_NOTE)
		message_note("%s", message->text);
	else if (message->kind == SENDING_ERROR)
		message_error(COMMAND_FAILED, NULL, "%s", message->text);
}

static void *sending_read(void *user)
{
	struct sending_process *process = user;
	struct sending_message message;
	struct send_status status;

	while (sending_read_message(process, &message))
		sending_handle_message(process, &message);
	status = process->status;
	if (!status.over)
		status.over = status.failed = true;
	sending_set_status(process, &status);
	return NULL;
}

int sending_process_start(struct sending_process *process, const char *dir, const char *fallback,
		struct error *error)
{
	struct sending_order order = {.kind = SENDING_START};
	struct sending_message message;
	sigset_t all, before;
	int ret;

	snprintf(order.dir, sizeof(order.dir), "%s", dir);
	snprintf(order.fallback, sizeof(order.fallback), "%.200s", fallback ? fallback : "");
	if (send(process->socket, &order, sizeof(order), MSG_NOSIGNAL) < 0)
		return error_set(error, -errno, NULL, "the sending process has ended");
	/* A thread of that process may send messages before the process reports its start. */
	for (;;) {
		if (!sending_read_message(process, &message))
			return error_set(error, -EPIPE, NULL, "the sending process has ended");
		if (message.kind == SENDING_STARTED)
			break;
		sending_handle_message(process, &message);
	}
	if (message.ret)
		return error_set(error, message.ret, NULL, "%s", message.text);
	/* Block all signals in the new thread: other threads of the recorder handle them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = -pthread_create(&process->reader, NULL, sending_read, process);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	process->has_reader = !ret;
	if (ret)
		error_set(error, ret, NULL, "cannot send: %s", strerror(-ret));
	return ret;
}

void sending_process_finish(struct sending_process *process)
{
	struct sending_order order = {.kind = SENDING_FINISH};

	(void)!send(process->socket, &order, sizeof(order), MSG_NOSIGNAL);
}

bool sending_process_is_over(struct sending_process *process)
{
	bool is_over;

	pthread_mutex_lock(&process->lock);
	is_over = process->status.over;
	pthread_mutex_unlock(&process->lock);
	return is_over;
}

void sending_process_stop(struct sending_process *process, struct send_status *ret_status)
{
	if (!process)
		return;
	/* Closing the socket ends the process, and the thread that reads from it. */
	shutdown(process->socket, SHUT_RDWR);
	if (process->has_reader)
		pthread_join(process->reader, NULL);
	if (ret_status)
		*ret_status = process->status;
	sending_free(process);
}
