/* SPDX-License-Identifier: MIT */
/*
 * The verb `receive`: writes traces from a byte stream: a file, a FIFO, a serial line, standard
 * input, a TCP connection, or accepted connections.
 */
#include "base/clock.h"
#include "programs/common/command.h"
#include "programs/side/cli/confine.h"
#include "programs/common/message.h"

#include "ctf/ctf.h"
#include "relay/receive.h"
#include "relay/send.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <netinet/in.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
/* Connections of one address, so that other addresses can still connect. */
#define CONNECTIONS_OF_PEER_MAX 32
#define SILENT_S 10         /* a connection without a session is closed after this time */
#define ACCEPT_PAUSE_MS 100 /* after a failure of accept4() */
#define LISTENERS_MAX 4
#define READ_SIZE (256u << 10)
#define LOSSES_SHOWN 10

struct receive_connection {
	int fd;
	bool answers; /* a socket, on which answers are sent */
	bool endless; /* the end of the sessions ends it, not the end of file */
	struct receive_source *receive;
	time_t since; /* CLOCK_MONOTONIC, for accepted connections; 0: another source */
	struct sockaddr_storage peer;
};

struct reception {
	struct receive *receive;
	int signals;
	int listeners[LISTENERS_MAX];
	unsigned int nr_listeners;
	struct receive_connection sources[CONNECTIONS_MAX];
	unsigned int nr_sources;
	int64_t accept_again_ms; /* no connection is accepted earlier */
	bool keep;
	bool interrupted;
	bool failed;
	unsigned char *bytes; /* size READ_SIZE */
};

static void receive_print_message(void *user, bool is_error, const char *sentence)
{
	(void)user;
	if (is_error)
		message_error(COMMAND_FAILED, NULL, "%s", sentence);
	else
		message_note("%s", sentence);
}

/* ---- the output ---- */

static bool receive_is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = true;

	while (dir && empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	return empty;
}

static int receive_make_output(const char *path, bool force)
{
	if (!mkdir(path, CTF_DIRECTORY_MODE))
		return 0;
	if (errno != EEXIST || access(path, W_OK | X_OK))
		return message_error(errno == EACCES ? COMMAND_NOT_PERMITTED : COMMAND_FAILED, NULL,
				"cannot write to %s: %s", path, strerror(errno));
	if (!force && !receive_is_empty(path))
		return message_error(COMMAND_FAILED,
				"`-o DIRECTORY` names another one\n`--force` adds to it",
				"%s is not empty", path);
	return 0;
}

static void receive_default_output(char *path, size_t size)
{
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	strftime(path, size, "side-%Y%m%d-%H%M%S", &local);
}

/* ---- sources ---- */

static bool receive_add_source(struct reception *reception, int fd, bool answers)
{
	struct receive_connection *source = &reception->sources[reception->nr_sources];

	if (reception->nr_sources == CONNECTIONS_MAX)
		return false;
	*source = (struct receive_connection){.fd = fd,
			.answers = answers,
			.endless = answers || isatty(fd),
			.receive = receive_source_open(reception->receive, answers)};
	if (!source->receive)
		return false;
	reception->nr_sources++;
	return true;
}

static void receive_end_source(struct reception *reception, struct receive_connection *source)
{
	receive_source_close(source->receive);
	close(source->fd);
	*source = reception->sources[--reception->nr_sources];
}

static int receive_open_source(struct reception *reception, const char *text, uint32_t speed)
{
	struct error error = {.hint = ""};
	bool answers;
	int fd = send_source(text, speed, reception->signals, &answers, &error);

	/* Also of connect(): an address without the interface that it belongs to. */
	if (fd == -EINVAL)
		return message_error(COMMAND_USAGE, error.hint, "%s", error.text);
	if (fd < 0)
		return message_library_error(&error);
	if (!receive_add_source(reception, fd, answers)) {
		close(fd);
		return message_error(
				COMMAND_FAILED, NULL, "cannot read %s: %s", text, strerror(ENOMEM));
	}
	return 0;
}

static int receive_listen_one(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			address->ai_protocol);
	const int yes = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (address->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, 26 /* IPV6_V6ONLY */, &yes, sizeof(yes));
	if (bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, 16)) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	return fd;
}

/* Listens on loopback if no host is given: receiving from other machines must be requested. */
static int receive_start_listening(struct reception *reception, const char *text)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *addresses = NULL;
	char host[256], port[16];
	int ret;

	if (url_parse_host_port(text, host, sizeof(host), port, sizeof(port)))
		return message_error(COMMAND_USAGE, "write PORT or ADDRESS:PORT",
				"`--listen %s` is not a port", text);
	ret = getaddrinfo(*host ? host : "localhost", port, &hints, &addresses);
	if (ret)
		return message_error(COMMAND_FAILED, NULL, "cannot listen on %s: %s", text,
				gai_strerror(ret));
	for (const struct addrinfo *each = addresses; each; each = each->ai_next) {
		int fd = reception->nr_listeners < LISTENERS_MAX ? receive_listen_one(each)
								 : -EMFILE;

		if (fd >= 0)
			reception->listeners[reception->nr_listeners++] = fd;
		else
			ret = fd;
	}
	freeaddrinfo(addresses);
	if (!reception->nr_listeners)
		return message_error(ret == -EACCES ? COMMAND_NOT_PERMITTED : COMMAND_FAILED, NULL,
				"cannot listen on %s: %s", text, strerror(-ret));
	message_note("listening on %s", text);
	return 0;
}

/* ---- the loop ---- */

static void receive_send_answer(const struct receive_connection *source)
{
	unsigned char bytes[RECEIVE_ANSWER_MAX];
	size_t size = source->answers ? receive_answer(source->receive, bytes) : 0;

	/* If the socket has no space now, the next answer includes this one. */
	if (size)
		(void)!send(source->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * Reports the error, unless it is a normal end: ECONNRESET, or EIO of a terminal
 * whose other end was closed.
 */
static void receive_fail_source(
		struct reception *reception, const struct receive_connection *source, int error)
{
	struct stat status;

	if (error == ECONNRESET ||
			(error == EIO && !fstat(source->fd, &status) && S_ISCHR(status.st_mode)))
		return;
	message_error(COMMAND_FAILED, NULL, "cannot receive: %s", strerror(error));
	reception->failed = true;
}

/* False if the source has ended. */
static bool receive_read_source(
		struct reception *reception, const struct receive_connection *source)
{
	ssize_t got = read(source->fd, reception->bytes, READ_SIZE);

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (got < 0)
		receive_fail_source(reception, source, errno);
	if (got <= 0)
		return false;
	if (receive_bytes(source->receive, reception->bytes, (size_t)got)) {
		reception->failed = true;
		return false;
	}
	receive_send_answer(source);
	return true;
}

static bool receive_is_same_peer(
		const struct sockaddr_storage *one, const struct sockaddr_storage *other)
{
	if (one->ss_family != other->ss_family)
		return false;
	if (one->ss_family == AF_INET)
		return ((const struct sockaddr_in *)one)->sin_addr.s_addr ==
				((const struct sockaddr_in *)other)->sin_addr.s_addr;
	return one->ss_family == AF_INET6 &&
			!memcmp(&((const struct sockaddr_in6 *)one)->sin6_addr,
					&((const struct sockaddr_in6 *)other)->sin6_addr,
					sizeof(struct in6_addr));
}

static bool receive_has_too_many(
		const struct reception *reception, const struct sockaddr_storage *peer)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < reception->nr_sources; i++)
		count += reception->sources[i].since &&
				receive_is_same_peer(&reception->sources[i].peer, peer);
	return count >= CONNECTIONS_OF_PEER_MAX;
}

static void receive_accept(struct reception *reception, int listener)
{
	struct sockaddr_storage peer = {0};
	socklen_t size = sizeof(peer);
	const int yes = 1;
	int fd = accept4(listener, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		/*
		 * The connection stays in the queue (no descriptor, no memory), so without a pause
		 * poll() would return at once.
		 */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			reception->accept_again_ms =
					(int64_t)clock_monotonic_ms() + ACCEPT_PAUSE_MS;
		return;
	}
	/* Detect a peer that has disappeared without closing its connection. */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	if (receive_has_too_many(reception, &peer) || !receive_add_source(reception, fd, true)) {
		close(fd);
		return;
	}
	reception->sources[reception->nr_sources - 1].since =
			(time_t)(clock_monotonic_ms() / CLOCK_MS_PER_S);
	reception->sources[reception->nr_sources - 1].peer = peer;
}

/*
 * Closes connections that delivered no session. Returns the timeout of the next
 * poll(); -1: none.
 */
static int receive_end_silent(struct reception *reception)
{
	int64_t now = (int64_t)clock_monotonic_ms(), wait = -1;

	for (unsigned int i = reception->nr_sources; i-- > 0;) {
		const struct receive_connection *source = &reception->sources[i];
		int64_t left = ((int64_t)source->since + SILENT_S + 1) * 1000 - now;

		if (!source->since || receive_source_is_known(source->receive))
			continue;
		if (left <= 0)
			receive_end_source(reception, &reception->sources[i]);
		else if (wait < 0 || left < wait)
			wait = left;
	}
	if (reception->accept_again_ms > now &&
			(wait < 0 || reception->accept_again_ms - now < wait))
		wait = reception->accept_again_ms - now;
	return (int)wait;
}

static bool receive_has_ended(const struct reception *reception)
{
	if (reception->interrupted || reception->failed)
		return true;
	if (!reception->nr_listeners) {
		bool endless = true;

		for (unsigned int i = 0; i < reception->nr_sources; i++)
			endless &= reception->sources[i].endless;
		return !reception->nr_sources || (endless && receive_is_over(reception->receive));
	}
	return !reception->keep && !reception->nr_sources && receive_is_over(reception->receive);
}

static void receive_serve(struct reception *reception)
{
	struct pollfd polls[1 + LISTENERS_MAX + CONNECTIONS_MAX];
	int wait = receive_end_silent(reception);
	unsigned int listeners = reception->nr_listeners, sources = reception->nr_sources;
	bool accepts = reception->accept_again_ms <= (int64_t)clock_monotonic_ms();

	polls[0] = (struct pollfd){.fd = reception->signals, .events = POLLIN};
	for (unsigned int i = 0; i < listeners; i++)
		polls[1 + i] = (struct pollfd){
				.fd = accepts ? reception->listeners[i] : -1, .events = POLLIN};
	for (unsigned int i = 0; i < sources; i++)
		polls[1 + listeners + i] =
				(struct pollfd){.fd = reception->sources[i].fd, .events = POLLIN};
	if (poll(polls, 1 + listeners + sources, wait) < 0)
		return;
	reception->interrupted = polls[0].revents != 0;
	/* Backwards, because the last source replaces one that ends. */
	for (unsigned int i = sources; i-- > 0;)
		if (polls[1 + listeners + i].revents &&
				!receive_read_source(reception, &reception->sources[i]))
			receive_end_source(reception, &reception->sources[i]);
	for (unsigned int i = 0; i < listeners; i++)
		if (polls[1 + i].revents)
			receive_accept(reception, reception->listeners[i]);
}

/* ---- the summary ---- */

struct receive_losses {
	unsigned int shown;
	unsigned int remainder;
};

static void receive_print_loss(void *user, const char *trace, const char *stream, uint64_t packets,
		uint64_t events, uint64_t dropped)
{
	char packets_text[FORMAT_NUMBER_MAX], events_text[FORMAT_NUMBER_MAX],
			dropped_text[FORMAT_NUMBER_MAX];
	struct receive_losses *losses = user;

	if (losses->shown == LOSSES_SHOWN) {
		losses->remainder++;
		return;
	}
	losses->shown++;
	fprintf(stderr, "  %s/%s  %s packets with %s events lost in transit, %s dropped by the sender\n",
			trace, stream, format_number(packets, packets_text),
			format_number(events, events_text), format_number(dropped, dropped_text));
}

static void receive_print_json_loss(void *user, const char *trace, const char *stream,
		uint64_t packets, uint64_t events, uint64_t dropped)
{
	(void)user;
	fprintf(stderr, "{\"schema\":%d,\"type\":\"gap\",\"trace\":", OUTPUT_JSON_SCHEMA);
	print_json_string(stderr, trace);
	fputs(",\"stream\":", stderr);
	print_json_string(stderr, stream);
	fprintf(stderr,
			",\"lost_packets\":%" PRIu64 ",\"lost_events\":%" PRIu64
			",\"dropped_events\":%" PRIu64 "}\n",
			packets, events, dropped);
}

static void receive_json_summary(const struct receive_summary *s, const char *output)
{
	fprintf(stderr, "{\"schema\":%d,\"type\":\"received\",\"output\":", OUTPUT_JSON_SCHEMA);
	print_json_string(stderr, output);
	fprintf(stderr,
			",\"sessions\":%" PRIu64 ",\"unended\":%" PRIu64 ",\"traces\":%" PRIu64
			",\"incomplete\":%" PRIu64 ",\"frames\":%" PRIu64
			",\"lost_frames\":%" PRIu64 ",\"repeated_frames\":%" PRIu64
			",\"garbage\":%" PRIu64 ",\"packets\":%" PRIu64 ",\"lost_packets\":%" PRIu64
			",\"events\":%" PRIu64 ",\"lost_events\":%" PRIu64
			",\"unplaced_events\":%" PRIu64 ",\"dropped_events\":%" PRIu64
			",\"earlier_packets\":%" PRIu64 ",\"earlier_events\":%" PRIu64 "}\n",
			s->sessions, s->unended, s->traces, s->incomplete, s->frames,
			s->lost_frames, s->repeated_frames, s->garbage, s->packets, s->lost_packets,
			s->events, s->lost_events, s->unplaced_events, s->dropped_events,
			s->earlier_packets, s->earlier_events);
}

static bool receive_has_losses(const struct receive_summary *summary)
{
	return summary->lost_frames || summary->lost_packets || summary->lost_events ||
			summary->dropped_events || summary->unended || summary->incomplete;
}

static void receive_report_losses(
		const struct reception *reception, const struct receive_summary *summary)
{
	char frames[FORMAT_NUMBER_MAX], packets[FORMAT_NUMBER_MAX], events[FORMAT_NUMBER_MAX];
	char dropped[FORMAT_NUMBER_MAX];
	struct receive_losses losses = {0};

	if (summary->lost_frames || summary->lost_packets || summary->lost_events)
		fprintf(stderr, "%s lost in transit: %s frames, in them %s packets with %s events\n",
				message_label(true), format_number(summary->lost_frames, frames),
				format_number(summary->lost_packets, packets),
				format_number(summary->lost_events, events));
	if (summary->dropped_events)
		fprintf(stderr, "%s dropped by the sender: %s events\n", message_label(true),
				format_number(summary->dropped_events, dropped));
	receive_each_loss(reception->receive, receive_print_loss, &losses);
	if (losses.remainder)
		fprintf(stderr, "  and %u more streams\n", losses.remainder);
	if (summary->incomplete)
		fprintf(stderr, "%s the metadata of %" PRIu64 " trace%s is incomplete\n",
				message_label(true), summary->incomplete,
				summary->incomplete == 1 ? "" : "s");
	if (summary->unended)
		fprintf(stderr, "%s the sender did not report its end: the last data may be missing\n",
				message_label(true));
}

static void receive_print_earlier(const struct receive_summary *summary)
{
	char packets[FORMAT_NUMBER_MAX], events[FORMAT_NUMBER_MAX];

	if (summary->earlier_packets)
		message_note("an earlier receiver has acknowledged %s packet%s with %s: these traces do not contain them",
				format_number(summary->earlier_packets, packets),
				summary->earlier_packets == 1 ? "" : "s",
				format_events(summary->earlier_events, events));
}

static int receive_report_summary(struct reception *reception, const char *output)
{
	char bytes[1024], packets[FORMAT_NUMBER_MAX], events[FORMAT_NUMBER_MAX];
	struct receive_summary summary;

	receive_finish(reception->receive, &summary);
	if (output_is_json()) {
		receive_each_loss(reception->receive, receive_print_json_loss, NULL);
		receive_json_summary(&summary, output);
	} else {
		if (!output_is_silent())
			message_note("received %" PRIu64
				     " trace%s, %s packets with %s events, in %s",
					summary.traces, summary.traces == 1 ? "" : "s",
					format_number(summary.packets, packets),
					format_number(summary.events, events),
					format_printable(output, bytes, sizeof(bytes)));
		receive_print_earlier(&summary);
		receive_report_losses(reception, &summary);
	}
	fflush(stderr);
	if (summary.out_of_memory)
		return message_error(COMMAND_FAILED,
				"`side send` sends again what was not received",
				"out of memory while receiving");
	if (summary.failed || reception->failed)
		return COMMAND_FAILED;
	if (!summary.sessions)
		return message_error(COMMAND_FAILED, NULL, "received no data of `side send`");
	return receive_has_losses(&summary) ? COMMAND_LOST : COMMAND_DONE;
}

/* ---- the verb ---- */

static int receive_start(
		struct reception *reception, const struct parsed *parsed, const char *output)
{
	const struct receive_arguments *arguments = &parsed->options.receive;
	const struct receive_options options = {
			.output = output, .log_message = receive_print_message};
	sigset_t signals;
	int ret;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	reception->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (reception->signals < 0)
		return message_error(COMMAND_FAILED, NULL, "cannot wait for signals: %s",
				strerror(errno));
	reception->bytes = malloc(READ_SIZE);
	if (!reception->bytes || receive_create(&options, &reception->receive))
		return message_error(COMMAND_FAILED, NULL, "cannot receive: %s", strerror(ENOMEM));
	ret = receive_make_output(output, arguments->force);
	if (!ret && arguments->listen)
		ret = receive_start_listening(reception, arguments->listen);
	for (int i = 0; !ret && i < parsed->operand_count; i++)
		ret = receive_open_source(
				reception, parsed->operands[i], (uint32_t)arguments->speed);
	return ret;
}

static int receive_check_options(const struct parsed *parsed)
{
	const struct receive_arguments *arguments = &parsed->options.receive;

	if (!arguments->listen && !parsed->operand_count)
		return message_error(COMMAND_USAGE, "name a SOURCE, or a port with `--listen`",
				"missing operand: a source to receive from");
	if (arguments->keep && !arguments->listen)
		return message_error(COMMAND_USAGE, NULL, "cannot use `--keep` without `--listen`");
	if (arguments->speed > UINT32_MAX)
		return message_error(
				COMMAND_USAGE, NULL, "this speed is not possible on a serial line");
	return 0;
}

int cmd_receive(const struct parsed *parsed)
{
	struct reception reception = {.keep = parsed->options.receive.keep, .signals = -1};
	const char *output = parsed->options.receive.output;
	char named[64];
	int ret = receive_check_options(parsed);

	if (ret)
		return ret;
	receive_default_output(named, sizeof(named));
	output = output ? output : named;
	ret = receive_start(&reception, parsed, output);
	if (!ret && !confine_receiver(output))
		message_note("the kernel has no seccomp filters: side parses received data without this protection");
	while (!ret && !receive_has_ended(&reception))
		receive_serve(&reception);
	while (reception.nr_sources)
		receive_end_source(&reception, &reception.sources[0]);
	for (unsigned int i = 0; i < reception.nr_listeners; i++)
		close(reception.listeners[i]);
	if (!ret)
		ret = receive_report_summary(&reception, output);
	else
		rmdir(output);
	receive_destroy(reception.receive);
	free(reception.bytes);
	if (reception.signals >= 0)
		close(reception.signals);
	return ret;
}
