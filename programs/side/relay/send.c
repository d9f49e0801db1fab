/* SPDX-License-Identifier: MIT */
/* The verb `send`: sends a finished or running trace to a receiver. */
#include "base/clock.h"
#include "programs/common/command.h"
#include "programs/side/cli/confine.h"
#include "programs/common/message.h"
#include "sending.h"

#include "ctf/ctf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void send_print_message(void *user, bool is_error, const char *sentence)
{
	(void)user;
	if (is_error)
		message_error(COMMAND_FAILED, NULL, "%s", sentence);
	else
		message_note("%s", sentence);
}

struct send_options sending_options(
		const char *dir, const char *url, uint64_t spool, uint64_t timeout_ns)
{
	const uint64_t timeout = timeout_ns ? timeout_ns : SENDING_TIMEOUT_NS;

	return (struct send_options){
			.dir = dir,
			.url = url,
			.spool = spool,
			.timeout_ms = timeout / 1000000 ? timeout / 1000000 : 1,
			.log_message = send_print_message,
	};
}

void sending_wait(struct send *send, unsigned int wanted)
{
	const struct timespec moment = {0, 100000000};
	unsigned int interrupts = 0;
	uint64_t end = DEADLINE_NEVER;
	struct send_status status;
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	while (!send_wait(send, 0) && !deadline_is_over(end)) {
		if (sigtimedwait(&signals, NULL, &moment) < 0)
			continue;
		if (++interrupts == wanted)
			break;
		send_status(send, &status);
		end = deadline_after_ns(status.connected ? SENDING_END_NS : SENDING_AWAY_NS);
		send_finish(send);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void send_print_delivered(const struct send_status *status, const char *url)
{
	char bytes[FORMAT_NUMBER_MAX], packets[FORMAT_NUMBER_MAX], events[FORMAT_NUMBER_MAX],
			destination[1024];
	struct stat file;
	bool is_file = !strstr(url, "://") && !stat(url, &file) && S_ISREG(file.st_mode);

	if (output_is_json()) {
		fprintf(stderr, "{\"schema\":%d,\"type\":\"sent\",\"to\":", OUTPUT_JSON_SCHEMA);
		print_json_string(stderr, url);
		fprintf(stderr,
				",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"events\":%" PRIu64
				",\"pending\":%" PRIu64 ",\"dropped_packets\":%" PRIu64
				",\"dropped_events\":%" PRIu64 ",\"connections\":%" PRIu64 "}\n",
				status->packets, status->bytes, status->events, status->pending,
				status->dropped_packets, status->dropped_events,
				status->connections);
		return;
	}
	/* Events for a relay daemon are not counted. */
	message_note("%s %s packet%s, %s%s%s%s, to %s%s", is_file ? "wrote" : "delivered",
			format_number(status->packets, packets), status->packets == 1 ? "" : "s",
			format_size(status->bytes, bytes), status->events ? ", " : "",
			status->events ? format_number(status->events, events) : "",
			status->events > 1               ? " events"
					: status->events ? " event"
							 : "",
			is_file ? "the file " : "",
			format_printable(url, destination, sizeof(destination)));
}

static int send_print_remainder(const struct send_status *status, const char *url, const char *dir)
{
	char bytes[FORMAT_NUMBER_MAX], destination[1024], hint[2200], target[1024];

	format_printable(dir, destination, sizeof(destination));
	snprintf(hint, sizeof(hint),
			"`side send %s %s` sends it again (`side receive` accepts each packet once)",
			destination, format_printable(url, target, sizeof(target)));
	if (!status->pending)
		return message_error(COMMAND_FAILED, hint,
				"not everything was delivered: the recorded data is in %s",
				destination);
	return message_error(COMMAND_FAILED, hint,
			"not everything was delivered: %s remain, and the recorded data is in %s",
			format_size(status->pending, bytes), destination);
}

int sending_end(const struct send_status *status, const char *url, const char *dir)
{
	char events[FORMAT_NUMBER_MAX], packets[FORMAT_NUMBER_MAX];

	if (!output_is_silent() || status->dropped_packets)
		send_print_delivered(status, url);
	if (status->dropped_packets)
		message_error(COMMAND_LOST, NULL,
				"lost %s event%s in %s packet%s: the receiver did not answer, and the spool was full",
				format_number(status->dropped_events, events),
				status->dropped_events == 1 ? "" : "s",
				format_number(status->dropped_packets, packets),
				status->dropped_packets == 1 ? "" : "s");
	if (status->failed || status->pending)
		return send_print_remainder(status, url, dir);
	return status->dropped_packets ? COMMAND_LOST : COMMAND_DONE;
}

/* True if there is something to send, now or soon. */
static bool send_has_traces(const char *dir)
{
	struct ctf_reader *reader;
	struct error error;
	int ret;

	if (ctf_is_recorded(dir))
		return true;
	ret = ctf_reader_open(dir, &reader, &error);
	if (!ret)
		ctf_reader_close(reader);
	/* A trace that cannot be parsed is sent unchanged. */
	return ret != -ENOENT;
}

/* Creates the output file, because it must exist before the process is confined to it. */
static void send_make_file(const char *dir, const char *url)
{
	int fd;

	if (strstr(url, "://") || !strcmp(url, "-") || !strncmp(url, "/dev/", 5) ||
			access(dir, X_OK))
		return;
	fd = open(url, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
}

int sending_confine(const char *dir, const char *url, bool has_spool, int *ret_resolver,
		struct error *error)
{
	char *marks;
	int ret = send_resolver(url, ret_resolver);

	if (ret)
		return error_set(error, ret, NULL,
				"cannot start the process that resolves %.300s: %s", url,
				strerror(-ret));
	if (asprintf(&marks, "%s/" SEND_MARKS, dir) < 0) {
		if (*ret_resolver >= 0)
			close(*ret_resolver);
		return error_set_no_memory(error);
	}
	send_make_file(dir, url);
	confine_sender(dir, has_spool ? dir : marks, url);
	free(marks);
	return 0;
}

static int send_traces(const struct send_options *options)
{
	/* Check before the sender starts: with --spool it removes what it has delivered. */
	bool has_trace = send_has_traces(options->dir);
	struct send_status status;
	struct error error;
	struct send *send;
	int ret = send_start(options, &send, &error);

	if (ret)
		return message_error(ret == -EACCES ? COMMAND_NOT_PERMITTED : COMMAND_FAILED, NULL,
				"%s", error.text);
	if (!has_trace) {
		send_stop(send, NULL);
		return message_error(COMMAND_FAILED, "`side record -o DIR` makes one",
				"there is no trace in %s", options->dir);
	}
	sending_wait(send, 2);
	send_stop(send, &status);
	return sending_end(&status, options->url, options->dir);
}

int cmd_send(const struct parsed *parsed)
{
	const struct send_arguments *arguments = &parsed->options.send;
	const char *dir = parsed->operands[0], *url = parsed->operands[1];
	struct send_options options =
			sending_options(dir, url, arguments->spool, arguments->timeout);
	struct error error;
	sigset_t signals;
	int ret, resolver;

	if (url_check(url, NULL, &error))
		return message_library_error(&error);
	if (arguments->speed > UINT32_MAX)
		return message_error(
				COMMAND_USAGE, NULL, "this speed is not possible on a serial line");
	options.session = arguments->session;
	options.speed = (uint32_t)arguments->speed;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (sending_confine(dir, url, options.spool, &resolver, &error))
		return message_error(COMMAND_FAILED, NULL, "%s", error.text);
	options.resolver = &resolver;
	ret = send_traces(&options);
	if (resolver >= 0)
		close(resolver);
	return ret;
}
