/* SPDX-License-Identifier: MIT */
/*
 * Pauses between attempts to connect, and the timeout of a stream. The test includes the file, and
 * replaces the clock and the sink.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../check.h"

static int64_t played_ms = 5000;

static int played_clock(clockid_t id, struct timespec *now)
{
	(void)id;
	*now = (struct timespec){played_ms / 1000, played_ms % 1000 * 1000000 + 999999};
	return 0;
}

#define clock_gettime played_clock
#include "relay/send.c"
#undef clock_gettime

static int open_result = -ECONNREFUSED;
static bool may_go;
static unsigned int nr_closed;

static int played_open(struct sink *sink, struct error *error)
{
	(void)sink;
	snprintf(error->text, sizeof(error->text), "refused");
	return open_result;
}

static void played_close(struct sink *sink)
{
	(void)sink;
	nr_closed++;
}

static bool played_may_go(
		struct sink *sink, struct follow_stream *stream, const struct ctf_packet *packet)
{
	(void)sink;
	(void)packet;
	CHECK(stream);
	return may_go;
}

static const struct sink_ops ops = {
		.open = played_open, .close = played_close, .may_go = played_may_go};

static void test_pauses(void)
{
	static const unsigned int pauses[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
	struct sink sink = {.ops = &ops, .watch_fd = -1};
	static struct send send;

	send.sink = &sink;
	send.backoff_ms = BACKOFF_MIN_MS;
	CHECK(BACKOFF_MIN_MS == 100 && BACKOFF_MAX_MS == 5000);
	pthread_mutex_init(&send.lock, NULL);
	pthread_cond_init(&send.changed, NULL);
	for (unsigned int i = 0; i < 8; i++) {
		CHECK(try_connect(&send) == -ECONNREFUSED && nr_closed == i + 1);
		CHECK(send.next_try == 5000 + pauses[i] && !sink.connections);
	}
	CHECK(send.backoff_ms == 5000);
	/* A connection begins with the shortest pause again. */
	open_result = 0;
	CHECK(!try_connect(&send) && send.backoff_ms == 100 && sink.connections == 1 &&
			send.own.connected && send.progress == 5000);
	/* Twice the pause is the longest one, or one more. */
	open_result = -ECONNREFUSED;
	send.backoff_ms = 2500;
	CHECK(try_connect(&send) && send.next_try == 5000 + 2500 && send.backoff_ms == 5000);
	send.backoff_ms = 2499;
	CHECK(try_connect(&send) && send.backoff_ms == 4998);
	pthread_mutex_destroy(&send.lock);
	pthread_cond_destroy(&send.changed);
}

static void test_hold(void)
{
	struct sink sink = {.ops = &ops};
	struct follow_stream stream = {.handle = 3};
	const struct ctf_packet packet = {.size = 1};
	static struct send send;

	send.sink = &sink;
	CHECK(HOLD_MAX_MS == 10000 && relay_send_must_hold_packet(&send, &stream, &packet) &&
			stream.held == 5000);
	played_ms = 14999;
	CHECK(relay_send_must_hold_packet(&send, &stream, &packet) && stream.held == 5000);
	played_ms = 15000;
	CHECK(!relay_send_must_hold_packet(&send, &stream, &packet));
	/* A stream without a handle waits longer. */
	stream.handle = 0;
	CHECK(relay_send_must_hold_packet(&send, &stream, &packet) && stream.held == 5000);
	may_go = true;
	CHECK(!relay_send_must_hold_packet(&send, &stream, &packet) && !stream.held);
}

int main(void)
{
	test_pauses();
	test_hold();
	return 0;
}
