/* SPDX-License-Identifier: MIT */
/*
 * A connection to a relay daemon, with simulated connections and a simulated clock: how it opens
 * and closes, its names, and its waits.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "../failing-calls.h"
#include "relay/follow.h"
#include "relay/identity.h"
#include "relay/sink.h"

/* ---- replaced calls ---- */

static int connections[4];
static unsigned int next_connection;
static unsigned char written[8192];
static size_t written_size;
static unsigned int nr_written, failing_write; /* the write with this number fails */
static const unsigned char *answers;
static int read_error;
static const char *own_name = "the-host";
static int name_result, recv_result, recv_error;

static int played_connect(const char *host, const char *port, const struct timeout *timeout,
		struct error *error)
{
	CHECK(timeout && error);
	note("connect %s %s;", host, port);
	return connections[next_connection++];
}

static int played_write(
		int fd, const void *bytes, size_t size, bool shared, const struct timeout *timeout)
{
	CHECK(!shared && timeout && written_size + size <= sizeof(written));
	note("write %d %zu;", fd, size);
	if (++nr_written == failing_write)
		return -EPIPE;
	memcpy(written + written_size, bytes, size);
	written_size += size;
	return 0;
}

static int played_read(
		int fd, void *bytes, size_t size, int timeout_ms, const struct timeout *timeout)
{
	CHECK(timeout_ms == 30000 && timeout);
	note("read %d %zu;", fd, size);
	if (read_error)
		return read_error;
	memcpy(bytes, answers, size);
	answers += size;
	return 0;
}

static int played_close(int fd)
{
	note("close %d;", fd);
	return 0;
}

static int played_sleep(const struct timespec *moment, struct timespec *left)
{
	CHECK(!left);
	note("sleep %ld.%09ld;", (long)moment->tv_sec, moment->tv_nsec);
	return 0;
}

static int played_name(char *name, size_t size)
{
	CHECK(size == 64);
	strncpy(name, own_name, size);
	return name_result;
}

static ssize_t played_recv(int fd, void *to, size_t size, int flags)
{
	CHECK(to && size == 1 && flags == (MSG_DONTWAIT | MSG_PEEK));
	note("peek %d;", fd);
	errno = recv_error;
	return recv_result;
}

static time_t played_time(time_t *now)
{
	CHECK(!now);
	return 86400 * 365;
}

#define line_connect(host, port, timeout, error) played_connect(host, port, timeout, error)
#define line_write(fd, bytes, size, shared, timeout) played_write(fd, bytes, size, shared, timeout)
#define line_read(fd, bytes, size, timeout_ms, timeout) \
	played_read(fd, bytes, size, timeout_ms, timeout)
#define close(fd) played_close(fd)
#define nanosleep(moment, left) played_sleep(moment, left)
#define gethostname(name, size) played_name(name, size)
#define recv(fd, to, size, flags) played_recv(fd, to, size, flags)
#define time(now) played_time(now)
#include "relay/relay.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */

/* The daemon's answers to VERSION and to CREATE_SESSION. */
static struct {
	uint32_t level[2];
	struct handle_answer session;
} __attribute__((packed)) answered;

static struct relay *begin(void)
{
	struct sink *sink = relay_create();

	CHECK(sink && sink->watch_fd == -1 && relay_of(sink)->control == -1 &&
			relay_of(sink)->data == -1);
	strcpy(sink->url.host, "there");
	strcpy(sink->url.port, "11");
	strcpy(sink->url.data_port, "22");
	sink->session = "web";
	connections[0] = 0;
	connections[1] = 7;
	next_connection = nr_written = failing_write = 0;
	written_size = 0;
	read_error = 0;
	answered.level[0] = htobe32(2);
	answered.level[1] = htobe32(4);
	answered.session = (struct handle_answer){htobe64(99), htobe32(10)};
	answers = (const unsigned char *)&answered;
	*log_text = '\0';
	return relay_of(sink);
}

static bool opens(struct relay *relay, int code, const char *text)
{
	struct error error = {.text = ""};
	int ret = relay_open(&relay->sink, &error);

	if (ret != code || strcmp(error.text, text) != 0)
		fprintf(stderr, "%d %s\n", ret, error.text);
	return ret == code && !strcmp(error.text, text);
}

#define OPENED "connect there 11;connect there 22;write 0 32;read 0 8;write 0 351;read 0 12;"

static void test_opened(void)
{
	struct relay *relay = begin();
	const unsigned char *payload = written + 32 + 24;
	uint32_t number;

	setenv("TZ", "UTC", 1);
	CHECK(opens(relay, 0, "") && has_noted(OPENED));
	CHECK(relay->control == 0 && relay->data == 7 && relay->sink.watch_fd == 0);
	CHECK(!strcmp(relay->base, "the-host/web-19710101-000000/ust/pid"));
	/* The payload of CREATE_SESSION: the name, the host, how long a viewer waits. */
	CHECK(!strcmp((const char *)payload, "web") &&
			!strcmp((const char *)payload + 255, "the-host"));
	memcpy(&number, payload + 255 + 64, 4);
	CHECK(be32toh(number) == 1000000);
	relay_close(&relay->sink);
	CHECK(has_noted("close 0;close 7;") && relay->control == -1 && relay->data == -1 &&
			relay->sink.watch_fd == -1);
	relay_close(&relay->sink);
	CHECK(has_noted(""));
	/* A later connection has another directory. */
	answers = (const unsigned char *)&answered;
	next_connection = 0;
	connections[0] = 7;
	connections[1] = 0;
	relay->sink.connections = 2;
	CHECK(opens(relay, 0, "") && relay->data == 0);
	CHECK(!strcmp(relay->base, "the-host/web-19710101-000000-3/ust/pid"));
	*log_text = '\0';
	relay_free(&relay->sink);
	CHECK(has_noted("close 7;close 0;"));
}

static void test_refused(void)
{
	static const char sentence[] =
			"the relay daemon at there, port 11, does not create a session: the peer speaks another protocol";
	struct relay *relay = begin();

	connections[0] = -ECONNREFUSED;
	CHECK(opens(relay, -ECONNREFUSED, "") && has_noted("connect there 11;"));
	CHECK(relay->control < 0 && relay->data < 0);
	relay->control = -1;
	relay_free(&relay->sink);
	relay = begin();
	connections[1] = -ETIMEDOUT;
	CHECK(opens(relay, -ETIMEDOUT, "") && has_noted("connect there 11;connect there 22;"));
	relay_free(&relay->sink);
	for (unsigned int i = 0; i < 4; i++) {
		relay = begin();
		if (i == 0)
			answered.level[0] = htobe32(3);
		else if (i == 1)
			answered.session.code = htobe32(11);
		else if (i == 2)
			read_error = -EPROTO;
		else
			failing_write = 2;
		if (i < 3)
			CHECK(opens(relay, -EPROTO, sentence));
		else
			CHECK(opens(relay, -EPIPE,
					"the relay daemon at there, port 11, does not create a session: the last reader has closed it"));
		CHECK(relay->sink.watch_fd == -1 && relay->control == 0);
		CHECK(!strstr(log_text, "351") == (i == 0 || i == 2));
		relay_free(&relay->sink);
	}
}

static void test_names(void)
{
	static char name[300];
	struct relay *relay;

	/* The longest host that a session can have, which ends with a NUL. */
	memset(name, 'n', sizeof(name) - 1);
	own_name = name;
	relay = begin();
	CHECK(strlen(relay->host) == 64);
	relay->sink.session = name;
	CHECK(opens(relay, 0, ""));
	CHECK(strlen((const char *)written + 56) == 254);
	CHECK(strlen((const char *)written + 56 + 255) == 63);
	relay_free(&relay->sink);
	own_name = "";
	relay = begin();
	CHECK(!strcmp(relay->host, "localhost"));
	relay_free(&relay->sink);
	own_name = "x";
	name_result = -1;
	relay = begin();
	CHECK(!strcmp(relay->host, "localhost"));
	relay_free(&relay->sink);
	name_result = 0;
	own_name = "the-host";
	failing_arm(1);
	CHECK(!relay_create() && failing_has_failed());
}

/* A command of two parts, and its answer. Each error ends the command. */
static void test_commands(void)
{
	struct relay *relay = begin();
	uint32_t answer = 0;

	relay->control = 5;
	answers = (const unsigned char *)"abcd";
	CHECK(!command(relay, SEND_INDEX, "12", 2, "345", 3, &answer, 4));
	CHECK(has_noted("write 5 26;write 5 3;read 5 4;") && !memcmp(&answer, "abcd", 4));
	CHECK(written_size == 29 && !memcmp(written + 24, "12345", 5));
	CHECK(written[15] == 5 && written[19] == SEND_INDEX && !written[23] && !written[7]);
	CHECK(!command(relay, SEND_INDEX, NULL, 0, NULL, 0, NULL, 0) && has_noted("write 5 24;"));
	nr_written = 0;
	failing_write = 1;
	CHECK(command(relay, SEND_INDEX, "12", 2, "345", 3, &answer, 4) == -EPIPE);
	CHECK(has_noted("write 5 26;"));
	nr_written = 0;
	failing_write = 2;
	CHECK(command(relay, SEND_INDEX, "12", 2, "345", 3, &answer, 4) == -EPIPE);
	CHECK(has_noted("write 5 26;write 5 3;"));
	/* Commands that are answered with a code. */
	answer = htobe32(10);
	answers = (const unsigned char *)&answer;
	CHECK(!simple(relay, STREAMS_SENT, NULL, 0));
	answer = htobe32(9);
	answers = (const unsigned char *)&answer;
	CHECK(simple(relay, STREAMS_SENT, NULL, 0) == -EPROTO);
	read_error = -ECONNRESET;
	CHECK(simple(relay, STREAMS_SENT, NULL, 0) == -ECONNRESET);
	*log_text = '\0';
	relay->control = -1;
	relay_free(&relay->sink);
}

static void test_waits(void)
{
	struct follow_stream streams[2];
	struct follow_trace trace = {.streams = &streams[0]};
	struct follow follow = {.traces = &trace};
	struct relay *relay = begin();
	uint32_t answer[2] = {0, 1};

	/* The end waits one second for viewers if anything was sent. */
	CHECK(!relay_end(&relay->sink, &follow) && has_noted(""));
	relay->sink.before = 5;
	CHECK(!relay_end(&relay->sink, &follow) && has_noted("sleep 1.000000000;"));
	/* The daemon is asked about data that has not been delivered yet. */
	memset(streams, 0, sizeof(streams));
	streams[0].next = &streams[1];
	relay->control = 5;
	recv_result = -1;
	recv_error = EAGAIN;
	CHECK(!relay_flush(&relay->sink, &follow, true) && has_noted("peek 5;"));
	streams[0].sent = streams[1].sent = 1;
	streams[0].at.offset = streams[1].at.offset = 50;
	streams[1].at.packets = 3;
	answers = (const unsigned char *)answer;
	CHECK(!relay_flush(&relay->sink, &follow, true));
	CHECK(has_noted("write 5 40;read 5 4;write 5 40;read 5 4;sleep 0.002000000;peek 5;"));
	CHECK(streams[0].delivered.offset == 50 && !streams[1].delivered.offset);
	answers = (const unsigned char *)&answer[1];
	CHECK(!relay_flush(&relay->sink, &follow, false));
	CHECK(has_noted("write 5 40;read 5 4;peek 5;"));
	answers = (const unsigned char *)answer;
	CHECK(!relay_flush(&relay->sink, &follow, true) && streams[1].delivered.packets == 3);
	CHECK(has_noted("write 5 40;read 5 4;peek 5;"));
	/* The daemon has closed the connection, sent a byte, or does not answer. */
	recv_result = 0;
	CHECK(relay_flush(&relay->sink, &follow, true) == -ECONNRESET);
	recv_result = 1;
	CHECK(!relay_flush(&relay->sink, &follow, true));
	*log_text = '\0';
	streams[0].delivered.offset = streams[1].delivered.offset = 0;
	read_error = -ETIMEDOUT;
	CHECK(relay_flush(&relay->sink, &follow, true) == -ETIMEDOUT);
	CHECK(has_noted("write 5 40;read 5 4;"));
	trace.done = true;
	CHECK(!relay_flush(&relay->sink, &follow, true) && has_noted("peek 5;"));
	relay->control = -1;
	relay_free(&relay->sink);
}

static void test_ticks(void)
{
	struct relay *relay = begin();
	struct follow_trace trace = {.counter = NULL};
	uint64_t ticks = 1;

	CHECK(!ticks_at(&relay->sink, &trace, 5, &ticks) && ticks == 1);
	relay_on_advanced(&relay->sink, NULL);
	relay_free(&relay->sink);
}

int main(void)
{
	test_opened();
	test_refused();
	test_names();
	test_commands();
	test_waits();
	test_ticks();
	return 0;
}
