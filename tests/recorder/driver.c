/* SPDX-License-Identifier: MIT */
/*
 * Runs a session with options from the command line, and prints its summary as JSON on stdout.
 *
 *	driver [-l] [-o DIR] [-f] [-e PATTERN]... [-w WRAPPER]... [-E NAME=VALUE]...
 *	       [-r RING] [-m LIMIT] [-W] [-b BUFFERS] [-k PACKET] -- COMMAND...
 *
 * With -k it kills itself directly after that packet has been written to its file.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder/core/session.h"
#include "abi/visit.h"

#define LIST_MAX 64

static atomic_ulong packets;
static unsigned long kill_behind;

/* The function that writes packets. It replaces that of the C library in the whole program. */
ssize_t pwritev(int fd, const struct iovec *parts, int nr, off_t at)
{
	ssize_t done = syscall(SYS_pwritev, fd, parts, nr, at, 0);

	if (kill_behind && atomic_fetch_add(&packets, 1) + 1 == kill_behind) {
		kill(getpid(), SIGKILL);
		for (;;)
			pause();
	}
	return done;
}

static void put_string(const char *text)
{
	struct visit_buffer buffer;

	visit_buffer_heap(&buffer);
	if (!text)
		fputs("null", stdout);
	else if (!visit_json_string(&buffer, text, strlen(text)))
		fwrite(buffer.data, 1, buffer.size, stdout);
	visit_buffer_free(&buffer);
}

static void put_member(const char *name, const char *text)
{
	printf("\"%s\":", name);
	put_string(text);
	putchar(',');
}

static void put_events(struct session *session, size_t process)
{
	size_t nr = session_nr_events(session, process), i;

	printf(",\"descriptions\":[");
	for (i = 0; i < nr; i++) {
		struct visit_buffer buffer;
		struct visit_error error;

		visit_buffer_heap(&buffer);
		if (!visit_description_json(session_event(session, process, i), &buffer, &error))
			printf("%s%.*s", i ? "," : "", (int)buffer.size, buffer.data);
		visit_buffer_free(&buffer);
	}
	putchar(']');
}

static void put_summary(struct session *session)
{
	const struct session_summary *summary = session_summary(session);
	size_t i;

	printf("{\"ok\":true,");
	put_member("output", summary->output);
	printf("\"status\":%d,\"interrupted\":%s,\"bytes\":%llu,\"lost\":%llu,\"unwritten\":%llu,"
	       "\"memory_peak\":%llu,\"failure\":%d,\"processes\":[",
			summary->status, summary->interrupted ? "true" : "false",
			(unsigned long long)summary->bytes, (unsigned long long)summary->lost,
			(unsigned long long)summary->unwritten,
			(unsigned long long)summary->memory_peak, (int)summary->failure);
	for (i = 0; i < summary->nr_processes; i++) {
		const struct session_process *process = &summary->processes[i];

		printf("%s{", i ? "," : "");
		put_member("directory", process->directory);
		put_member("procname", process->procname);
		put_member("exe", process->exe);
		printf("\"pid\":%u,\"parent\":%u,\"events\":%llu,\"bytes\":%llu,\"lost\":%llu,"
		       "\"ring_size\":%llu",
				process->pid, process->parent, (unsigned long long)process->events,
				(unsigned long long)process->bytes,
				(unsigned long long)process->lost,
				(unsigned long long)process->ring_size);
		put_events(session, i);
		putchar('}');
	}
	printf("],\"losses\":[");
	for (i = 0; i < summary->nr_losses; i++) {
		const struct session_loss *loss = &summary->losses[i];

		printf("%s{", i ? "," : "");
		put_member("process", loss->process);
		put_member("ring", loss->ring);
		put_member("event", loss->event);
		put_member("reason", loss->reason);
		printf("\"in_bytes\":%s,\"count\":%llu}", loss->in_bytes ? "true" : "false",
				(unsigned long long)loss->count);
	}
	printf("],\"messages\":[");
	for (i = 0; i < summary->nr_messages; i++) {
		printf("%s{\"is_error\":%s,\"text\":", i ? "," : "",
				summary->messages[i].is_error ? "true" : "false");
		put_string(summary->messages[i].text);
		printf(",\"hint\":");
		put_string(summary->messages[i].hint ? summary->messages[i].hint : "");
		putchar('}');
	}
	printf("]}\n");
}

static int fail(const struct error *error)
{
	printf("{\"ok\":false,\"kind\":%d,\"code\":%d,\"text\":", (int)error->kind, error->code);
	put_string(error->text);
	printf(",\"hint\":");
	put_string(error->hint);
	printf("}\n");
	return 1;
}

static const char *lists[3][LIST_MAX];
static size_t sizes[3];

static void add(int list, const char *value)
{
	if (sizes[list] < LIST_MAX)
		lists[list][sizes[list]++] = value;
}

int main(int argc, char **argv)
{
	struct session_rule rule = {.patterns = lists[0]};
	struct session_channel channel = {
			.name = SESSION_CHANNEL_NAME, .rules = &rule, .nr_rules = 1};
	struct session_options options = {
			.mode = SESSION_RECORD, .channels = &channel, .nr_channels = 1};
	struct error error;
	struct session *session;
	int option, ret;

	while ((option = getopt(argc, argv, "+lo:fe:w:E:r:m:Wb:k:")) != -1)
		switch (option) {
		case 'l': options.mode = SESSION_LIST; break;
		case 'o': options.output = optarg; break;
		case 'f': options.force = true; break;
		case 'e': add(0, optarg); break;
		case 'w': add(1, optarg); break;
		case 'E': add(2, optarg); break;
		case 'r': channel.ring_size = strtoull(optarg, NULL, 0); break;
		case 'm': options.memory_limit = strtoull(optarg, NULL, 0); break;
		case 'W': options.wait_all = true; break;
		case 'b': options.buffers = optarg; break;
		case 'k': kill_behind = strtoul(optarg, NULL, 0); break;
		default: return 2;
		}
	rule.nr_patterns = sizes[0];
	options.wrappers = lists[1];
	options.nr_wrappers = sizes[1];
	options.environment = lists[2];
	options.nr_environment = sizes[2];
	if (session_create(&options, &session, &error))
		return fail(&error);
	ret = session_spawn(session, argv + optind, &error);
	if (!ret)
		ret = session_run(session, &error);
	if (ret)
		ret = fail(&error);
	else
		put_summary(session);
	session_destroy(session);
	return ret;
}
