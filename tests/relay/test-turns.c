/* SPDX-License-Identifier: MIT */
/*
 * The steps of a sender, one by one, with values that all differ: what it reserves, sends, drops
 * and reports. The test includes the file, and replaces the sink, the clock, the directory and the
 * marks.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "../failing-calls.h"
#include "ctf/ctf.h"
#include "relay/follow.h"

/* ---- replaced functions ---- */

static int64_t played_ms = 50000, played_ns = 7;
static int head_result, mark_result, peek_result, text_result, scan_result, reconcile_result;
static const char *played_content;
static uint64_t played_pending, played_bytes;
static bool is_unsettled;

static int played_clock(clockid_t id, struct timespec *now)
{
	/* The clocks differ by 1000 s. */
	int64_t ms = played_ms + (id == CLOCK_REALTIME ? 1000000 : 0);

	*now = (struct timespec){ms / 1000, ms % 1000 * 1000000 + played_ns};
	return 0;
}

static int played_write_head(struct marks *marks)
{
	note("head %lu %lu %lu;", (unsigned long)marks->head.sequence,
			(unsigned long)marks->head.connections,
			(unsigned long)marks->head.past.packets);
	return head_result;
}

static int played_mark(struct follow *follow)
{
	(void)follow;
	note("mark;");
	return mark_result;
}

static int played_mark_trace(struct follow *follow, struct follow_trace *trace)
{
	(void)follow;
	note("mark %s;", trace->name);
	return mark_result;
}

static int played_mark_stream(struct follow *follow, struct follow_stream *stream)
{
	(void)follow;
	note("mark %s;", stream->name);
	return mark_result;
}

/* Packets of 100 bytes. */
static int played_peek(struct follow_stream *stream, struct ctf_packet *packet)
{
	if (peek_result <= 0)
		return peek_result;
	if (stream->at.offset >= stream->size)
		return 0;
	packet->next = stream->at.offset + 100;
	packet->begin = stream->begin + stream->at.offset;
	packet->discarded = 3;
	return 1;
}

static int played_text(struct follow_trace *trace, const char *name, uint64_t offset, char **text,
		size_t *size)
{
	note("read %s/%s %lu;", trace->name, name, (unsigned long)offset);
	*text = NULL;
	*size = 0;
	if (text_result)
		return text_result;
	*text = strdup(played_content + offset);
	*size = strlen(played_content + offset);
	return 0;
}

static uint64_t played_count(struct follow_trace *trace, const struct ctf_packet *packet)
{
	(void)trace;
	(void)packet;
	return 6;
}

static int played_scan(struct follow *follow, bool over)
{
	(void)follow;
	note("look %d;", over);
	return scan_result;
}

static bool played_is_unsettled(const struct follow *follow)
{
	(void)follow;
	return is_unsettled;
}

static void played_settle(struct follow *follow)
{
	(void)follow;
	note("settle;");
	is_unsettled = false;
}

static int played_reconcile(struct follow *follow)
{
	(void)follow;
	note("reconcile;");
	return reconcile_result;
}

static uint64_t played_follow_pending(const struct follow *follow)
{
	(void)follow;
	return played_pending;
}

static uint64_t played_follow_bytes(const struct follow *follow)
{
	(void)follow;
	return played_bytes;
}

static void played_free(struct follow *follow, uint64_t bytes)
{
	(void)follow;
	note("free %lu;", (unsigned long)bytes);
}

static int played_forget(struct follow *follow)
{
	(void)follow;
	note("forget;");
	return 0;
}

static uint64_t played_packets(struct follow *follow, struct ctf_packet *packet, unsigned int most)
{
	(void)follow;
	CHECK(packet && most == 1000);
	return 77;
}

static void played_set_discarded(struct ctf_packet *packet, uint64_t discarded)
{
	(void)packet;
	note("discarded %lu;", (unsigned long)discarded);
}

static int played_timeout, poll_result;
static struct pollfd played_polls[3];

static int played_poll(struct pollfd *polls, nfds_t nr, int timeout)
{
	CHECK(nr == 3);
	memcpy(played_polls, polls, sizeof(played_polls));
	played_timeout = timeout;
	polls[0].revents = poll_result ? POLLIN : 0;
	return poll_result;
}

static struct marks_head found_head;
static bool is_found, is_of_url;
static int open_result;

static int played_open_marks(const char *path, const char *url, struct marks *marks, bool *found)
{
	CHECK(!strcmp(path, "/dir/.sending") && !strcmp(url, "tcp://there"));
	if (open_result)
		return open_result;
	marks->head = found_head;
	*found = is_found;
	return 0;
}

static bool played_are_of(const char *path, const char *url)
{
	CHECK(!is_of_url || (!strcmp(path, "/dir/.sending") && !strcmp(url, "tcp://there")));
	return is_of_url;
}

static struct timespec waited_until;
static unsigned int nr_waits;

static int played_wait(pthread_cond_t *changed, pthread_mutex_t *lock, clockid_t id,
		const struct timespec *until)
{
	CHECK(changed && lock && id == CLOCK_MONOTONIC);
	waited_until = *until;
	nr_waits++;
	return nr_waits == 1 ? 0 : ETIMEDOUT;
}

static int thread_result;

static int played_thread(pthread_t *thread, const pthread_attr_t *attributes,
		void *(*function)(void *), void *user)
{
	(void)thread;
	CHECK(!attributes && function && user);
	return thread_result;
}

#define pthread_create played_thread
#define clock_gettime played_clock
#define marks_open played_open_marks
#define marks_are_of played_are_of
#define pthread_cond_clockwait played_wait
#define marks_write_head played_write_head
#define follow_mark played_mark
#define follow_mark_trace played_mark_trace
#define follow_mark_stream played_mark_stream
#define follow_peek played_peek
#define follow_text played_text
#define follow_count played_count
#define follow_scan played_scan
#define follow_is_unsettled played_is_unsettled
#define follow_settle played_settle
#define follow_reconcile played_reconcile
#define follow_pending played_follow_pending
#define follow_bytes played_follow_bytes
#define follow_free played_free
#define follow_forget played_forget
#define follow_pending_packets played_packets
#define ctf_packet_set_discarded played_set_discarded
#define poll(polls, nr, timeout) played_poll(polls, nr, timeout)
#include "relay/send.c"
#undef poll

static int sink_result;
static bool may_go = true;

static int sink_text(struct sink *sink, struct follow_trace *trace, bool is_maps, const char *text,
		size_t size)
{
	(void)sink;
	note("text %s %d %.*s;", trace->name, is_maps, (int)size, text);
	return sink_result;
}

static int sink_packet(struct sink *sink, struct follow_stream *stream,
		const struct ctf_packet *packet, uint64_t events)
{
	note("packet %s %lu %lu;", stream->name, (unsigned long)packet->next,
			(unsigned long)events);
	CHECK(((struct send *)sink->timeout.user)->in_packet);
	return sink_result;
}

static void sink_advanced(struct sink *sink, struct follow_stream *stream)
{
	(void)sink;
	note("passed %s;", stream->name);
}

static int sink_end_trace(struct sink *sink, struct follow_trace *trace)
{
	(void)sink;
	note("end %s;", trace->name);
	return sink_result;
}

static int sink_meet(struct sink *sink, struct follow_stream *stream)
{
	(void)sink;
	note("meet %s;", stream->name);
	return sink_result;
}

static int sink_remind(struct sink *sink, struct follow *follow)
{
	(void)sink;
	(void)follow;
	note("remind;");
	return 0;
}

static bool sink_may_go(
		struct sink *sink, struct follow_stream *stream, const struct ctf_packet *packet)
{
	(void)sink;
	(void)stream;
	(void)packet;
	return may_go;
}

static int sink_flush(struct sink *sink, struct follow *follow, bool wait)
{
	(void)sink;
	(void)follow;
	note("flush %d;", wait);
	return sink_result;
}

static int sink_beat(struct sink *sink, struct follow *follow)
{
	(void)sink;
	(void)follow;
	note("beat;");
	return 0;
}

static int sink_end(struct sink *sink, struct follow *follow)
{
	(void)sink;
	(void)follow;
	note("end;");
	return sink_result;
}

static void sink_close(struct sink *sink)
{
	(void)sink;
	note("close;");
}

static void kernel_filter_print_text(void *user, bool is_error, const char *text)
{
	CHECK(!user);
	note("%c%s;", is_error ? '!' : '.', text);
}

static struct sink_ops ops;
static struct sink sink;
static struct send sender;
static struct follow_trace trace;
static struct follow_stream streams[2];
static struct marks marks;

/* Starts with a trace of two streams with three packets each. */
static struct send *begin(void)
{
	static char name[] = "t", names[2][3] = {"s0", "s1"}, dir[] = "/dir";

	ops = (struct sink_ops){.text = sink_text,
			.packet = sink_packet,
			.on_advanced = sink_advanced,
			.end_trace = sink_end_trace,
			.flush = sink_flush,
			.end = sink_end,
			.close = sink_close};
	sink = (struct sink){.ops = &ops, .watch_fd = 17, .timeout.user = &sender};
	memset(&sender, 0, sizeof(sender));
	trace = (struct follow_trace){.name = name, .path = dir, .streams = &streams[0], .slot = 1};
	for (int i = 0; i < 2; i++)
		streams[i] = (struct follow_stream){.trace = &trace,
				.name = names[i],
				.size = 300,
				.there = 300,
				.slot = 2,
				.handle = 3};
	streams[0].next = &streams[1];
	marks = (struct marks){.head.connections = 0};
	sender.sink = &sink;
	sender.follow.traces = &trace;
	sender.follow.dir = dir;
	sender.follow.inotify = 16;
	sender.options = (struct send_options){
			.dir = dir, .url = "tcp://there", .log_message = kernel_filter_print_text};
	sender.wake_fd = 15;
	sender.backoff_ms = 100;
	pthread_mutex_init(&sender.lock, NULL);
	pthread_cond_init(&sender.changed, NULL);
	peek_result = 1;
	may_go = true;
	sink_result = head_result = mark_result = text_result = scan_result = 0;
	played_pending = played_bytes = 0;
	played_ms = 50000;
	is_unsettled = false;
	*log_text = '\0';
	return &sender;
}

static void test_publish(void)
{
	struct send *send = begin();
	struct send_status status;

	sink.connections = 12;
	send->follow.past = (struct marks_sums){.packets = 100,
			.bytes = 2000,
			.events = 30000,
			.dropped_packets = 400000,
			.dropped_events = 5000000};
	streams[0].delivered = (struct marks_position){50, 1, 3};
	streams[1].delivered = (struct marks_position){60, 2, 4};
	streams[0].dropped_packets = 5;
	streams[1].dropped_packets = 6;
	streams[0].dropped_events = 7;
	streams[1].dropped_events = 9;
	streams[0].dropped_bytes = 10;
	streams[1].dropped_bytes = 11;
	strcpy(send->away.text, "why");
	send->delivered_bytes = 2110;
	relay_send_publish_statistics(send);
	send_status(send, &status);
	CHECK(status.packets == 103 && status.bytes == 2089 && status.events == 30007);
	CHECK(status.dropped_packets == 400011 && status.dropped_events == 5000016 &&
			status.dropped_bytes == 21 && status.connections == 12);
	CHECK(!status.pending && !status.pending_packets && !strcmp(status.why, "why"));
	CHECK(!send->progress && send->delivered_bytes == 2110);
	streams[0].delivered.offset++;
	played_pending = 1;
	send->own.connected = true;
	relay_send_publish_statistics(send);
	send_status(send, &status);
	CHECK(status.pending == 1 && status.pending_packets == 77 && !*status.why);
	CHECK(send->progress == 50000 && send->delivered_bytes == 2111);
}

static void test_marks(void)
{
	struct send *send = begin();

	CHECK(!relay_send_reserve_sequence(send, 1 << 20) && !send->reserved);
	note_connection(send);
	close_marks(send);
	CHECK(has_noted(""));
	send->follow.marks = &marks;
	sink.sequence = 1000;
	CHECK(!relay_send_reserve_sequence(send, 4095) && has_noted("head 17449 0 0;") &&
			send->reserved == 17449);
	CHECK(!relay_send_reserve_sequence(send, (17449 - 1000 - 64) * 2048ul) && has_noted(""));
	head_result = -EIO;
	CHECK(relay_send_reserve_sequence(send, (17450 - 1000 - 64) * 2048ul) == -EIO &&
			has_noted("head 33834 0 0;"));
	sink.connections = 4;
	note_connection(send);
	CHECK(has_noted("head 33834 5 0;!/dir/.sending cannot be written: Input/output error; until it can, data may be sent twice if the sender is killed;"));
	/* Once, until it succeeded. */
	relay_send_save_marks(send, -EIO);
	CHECK(has_noted(""));
	relay_send_save_marks(send, 0);
	relay_send_save_marks(send, -ENOSPC);
	CHECK(!strncmp(log_text, "!/dir/.sending cannot be written: No space", 41));
	*log_text = '\0';
	send->follow.past.packets = 8;
	close_marks(send);
	CHECK(has_noted("mark;head 1000 5 8;"));
}

static void test_blocks(void)
{
	static const char text[] = "a {\n};\n\nb {\n};\n\nc {\n};\nd";
	const size_t size = sizeof(text) - 1;

	CHECK(skip_blocks(text, size, 0) == 0 && skip_blocks(text, size, 1) == 8 &&
			skip_blocks(text, size, 2) == 16 && skip_blocks(text, size, 3) == 23 &&
			skip_blocks(text, size, 4) == 0);
	CHECK(skip_blocks("\n};\n", 4, 1) == 4 && skip_blocks("\n};\n\n", 4, 1) == 4);
	CHECK(skip_blocks("\n};\n\n", 5, 1) == 5);
	CHECK(count_blocks(text, size) == 3 && count_blocks(text, 22) == 2 &&
			count_blocks("\n};\n};\n", 7) == 2);
}

static void test_texts(void)
{
	struct send *send = begin();

	played_content = "a {\n};\n\nb {\n};\n\n";
	trace.examined = true;
	trace.metadata_size = 16;
	trace.maps_size = 3;
	CHECK(!send_texts(send, &trace));
	CHECK(has_noted("read t/metadata 0;text t 0 a {\n};\n\nb {\n};\n\n;read t/.maps 0;text t 1 a {\n};\n\nb {\n};\n\n;"));
	CHECK(trace.sent_metadata == 16 && trace.sent_blocks == 2 && trace.sent_maps == 16);
	CHECK(!send_texts(send, &trace) && has_noted(""));
	/* Renewed: after the blocks that were sent, or as a whole. */
	trace.sent_blocks = 1;
	trace.metadata_inode = 5;
	CHECK(!send_texts(send, &trace) && trace.sent_inode == 5);
	CHECK(has_noted("read t/metadata 0;read t/metadata 8;text t 0 b {\n};\n\n;"));
	CHECK(trace.sent_blocks == 2 && trace.sent_metadata == 16 && !trace.generation);
	trace.metadata_inode = 6;
	text_result = -ENOMEM;
	CHECK(send_texts(send, &trace) == -ENOMEM && has_noted("read t/metadata 0;"));
	text_result = -EIO;
	trace.metadata_inode = 7;
	CHECK(!relay_send_renew_metadata(send, &trace) && trace.sent_metadata == 16);
	text_result = 0;
	*log_text = '\0';
	trace.sent_metadata = 0;
	CHECK(!relay_send_renew_metadata(send, &trace) && has_noted(""));
	trace.sent_metadata = 16;
	ops.replaces = true;
	trace.metadata_inode = 8;
	CHECK(!relay_send_renew_metadata(send, &trace) && trace.sent_inode == 8 &&
			has_noted("mark t;"));
	CHECK(trace.generation == 1 && !trace.sent_metadata);
	/* What cannot be sent now is sent later. */
	sink_result = -EAGAIN;
	CHECK(!send_text(send, &trace, false) && !trace.sent_metadata && trace.sent_blocks == 2);
	sink_result = -EPIPE;
	CHECK(send_text(send, &trace, false) == -EPIPE && !trace.sent_metadata);
	text_result = -EIO;
	CHECK(!send_text(send, &trace, false));
	text_result = -ENOMEM;
	CHECK(send_text(send, &trace, false) == -ENOMEM);
	*log_text = '\0';
	trace.refused = true;
	text_result = sink_result = 0;
	CHECK(!send_text(send, &trace, false) && has_noted("read t/metadata 0;") &&
			!trace.sent_metadata);
	/* Numbers of frames for texts, and for each stream. */
	send = begin();
	trace.metadata_size = 4096;
	trace.sent_metadata = trace.sent_maps = 8000;
	trace.maps_size = 2048;
	trace.nr_streams = 5;
	send->follow.marks = &marks;
	CHECK(!send_texts(send, &trace) && has_noted("head 16461 0 0;"));
	head_result = -EIO;
	trace.nr_streams = 40000;
	CHECK(send_texts(send, &trace) == -EIO);
	*log_text = '\0';
}

static void test_header_size(void)
{
	unsigned char bytes[100] = "";
	struct ctf_packet packet = {.bytes = bytes, .size = 83, .instance = 9};

	CHECK(header_size(&packet) == 80);
	packet.size = 84;
	CHECK(header_size(&packet) == 84);
	packet.size = 85;
	CHECK(header_size(&packet) == 80);
	bytes[80] = 9;
	CHECK(header_size(&packet) == 84);
}

static void test_packets(void)
{
	struct send *send = begin();
	bool more = false;

	streams[0].dropped_events = 5;
	streams[0].held = 4;
	ops.counts = true;
	ops.may_go = sink_may_go;
	CHECK(send_packet(send, &streams[0]) == 1);
	CHECK(has_noted("discarded 8;packet s0 100 6;passed s0;") && !send->in_packet);
	CHECK(streams[0].at.offset == 100 && streams[0].at.events == 6 && !streams[0].held &&
			streams[0].last.discarded == 3 && streams[0].header_size == 80);
	ops.counts = false;
	streams[0].dropped_events = 0;
	sink_result = -EPIPE;
	CHECK(send_packet(send, &streams[0]) == -EPIPE && has_noted("packet s0 200 0;"));
	CHECK(streams[0].at.offset == 100 && !send->in_packet);
	sink_result = 0;
	may_go = false;
	CHECK(!send_packet(send, &streams[0]) && has_noted("") && streams[0].held == 50000);
	may_go = true;
	/* Without a mark it waits. */
	streams[0].slot = 0;
	mark_result = -EIO;
	CHECK(!send_packet(send, &streams[0]) && streams[0].at.offset == 100 &&
			send->has_reported_marks);
	mark_result = 0;
	*log_text = '\0';
	CHECK(send_packet(send, &streams[0]) == 1 &&
			has_noted("mark s0;packet s0 200 0;passed s0;"));
	peek_result = -EBADMSG;
	CHECK(!send_packet(send, &streams[0]) && send->own.failed);
	CHECK(has_noted("!cannot send the remainder of t/s0: no complete packet at byte 200;"));
	peek_result = -EIO;
	CHECK(send_packet(send, &streams[0]) == -EIO);
	peek_result = 1;
	send->follow.marks = &marks;
	head_result = -EIO;
	CHECK(send_packet(send, &streams[0]) == -EIO && streams[0].at.offset == 200);
	*log_text = '\0';
	/*
	 * A turn of a stream ends after 4 MiB, if files were read in between, and if the sender is
	 * stopped.
	 */
	send = begin();
	CHECK(!relay_send_stream(send, &streams[0], &more) && !more && streams[0].at.offset == 300);
	CHECK(!relay_send_stream(send, &streams[0], &more) && !more);
	streams[1].size = UINT64_MAX;
	streams[1].at.offset = 50;
	CHECK(!relay_send_stream(send, &streams[1], &more) && more);
	CHECK(streams[1].at.offset == 50 + (4194304 / 100 + 1) * 100);
	more = false;
	send->stale = true;
	streams[0].at.offset = 0;
	*log_text = '\0';
	CHECK(!relay_send_stream(send, &streams[0], &more) && more && !streams[0].at.offset);
	send->stopped = true;
	CHECK(relay_send_stream(send, &streams[0], &more) == -ECANCELED && has_noted(""));
}

static void test_ends(void)
{
	struct send *send = begin();

	CHECK(!relay_send_trace_is_delivered(&trace));
	streams[0].delivered.offset = 300;
	CHECK(!relay_send_trace_is_delivered(&trace));
	streams[1].damaged = true;
	CHECK(relay_send_trace_is_delivered(&trace));
	streams[1].damaged = false;
	streams[1].delivered.offset = 299;
	CHECK(!relay_send_trace_is_delivered(&trace));
	streams[1].delivered.offset = 300;
	CHECK(relay_send_trace_is_delivered(&trace));
	sink_result = -EIO;
	CHECK(end_trace(send, &trace) == -EIO && !trace.done && has_noted("end t;"));
	sink_result = 0;
	trace.counter = ctf_counter_create();
	CHECK(!end_trace(send, &trace) && trace.done && has_noted("end t;mark t;") &&
			!trace.counter);
	trace.done = false;
	trace.removed = true;
	CHECK(!end_trace(send, &trace) && trace.done && has_noted("mark t;"));
	trace.removed = trace.done = false;
	trace.refused = true;
	CHECK(!end_trace(send, &trace) && trace.done && has_noted("mark t;"));
	CHECK(all_done(send));
	trace.refused = false;
	CHECK(all_done(send));
	trace.done = false;
	CHECK(!all_done(send));
	trace.refused = true;
	CHECK(all_done(send));
	CHECK(has_mark(send, &trace) && has_noted(""));
	trace.slot = 0;
	CHECK(has_mark(send, &trace) && has_noted("mark t;"));
	mark_result = -EIO;
	CHECK(!has_mark(send, &trace) && send->has_reported_marks);
	*log_text = '\0';
}

static void test_meet(void)
{
	struct send *send = begin();

	CHECK(!meet_all(send) && has_noted(""));
	ops.meet = sink_meet;
	ops.remind = sink_remind;
	CHECK(!meet_all(send) && has_noted(""));
	trace.examined = true;
	streams[1].handle = 0;
	CHECK(!meet_all(send) && has_noted("meet s1;remind;"));
	sink_result = -EIO;
	CHECK(meet_all(send) == -EIO && has_noted("meet s1;"));
	sink_result = 0;
	peek_result = -EBADMSG;
	CHECK(!meet_all(send) && send->own.failed);
	CHECK(has_noted("!cannot send the remainder of t/s1: no complete packet at byte 0;"));
	peek_result = 0;
	CHECK(!meet_all(send) && has_noted(""));
	peek_result = -EIO;
	CHECK(meet_all(send) == -EIO && has_noted(""));
	peek_result = 1;
	for (int i = 0; i < 4; i++) {
		trace.done = i == 0;
		trace.refused = i == 1;
		trace.removed = i == 2;
		trace.examined = i != 3;
		CHECK(!meet_all(send) && has_noted(""));
	}
	/* Texts before and after. */
	trace.examined = true;
	trace.metadata_size = 1;
	played_content = "x";
	CHECK(!meet_all(send) && has_noted("read t/metadata 0;text t 0 x;meet s1;remind;"));
}

static void test_turns(void)
{
	struct send *send = begin();
	bool more = false;

	streams[0].size = streams[1].size = 100;
	CHECK(!send_turn(send, &more) &&
			has_noted("packet s0 100 0;passed s0;packet s1 100 0;passed s1;"));
	trace.ended = true;
	CHECK(!send_turn(send, &more) && has_noted("") && !trace.done);
	streams[0].delivered.offset = streams[1].delivered.offset = 300;
	trace.metadata_size = 1;
	played_content = "x";
	trace.examined = true;
	CHECK(!send_turn(send, &more) && has_noted("read t/metadata 0;text t 0 x;end t;mark t;"));
	CHECK(trace.done && !send_turn(send, &more) && has_noted(""));
	trace.done = false;
	trace.removed = true;
	trace.sent_metadata = 0;
	CHECK(!send_turn(send, &more) && has_noted("mark t;") && trace.done);
	trace.done = false;
	trace.refused = true;
	CHECK(!send_turn(send, &more) && has_noted(""));
	/* Serving: the horizon of the turn, and the end. */
	send = begin();
	streams[0].size = streams[1].size = 0;
	ops.beat = sink_beat;
	sink.before = 7;
	CHECK(!relay_send_serve(send, false, 4000000000, &more) && has_noted("flush 0;beat;"));
	CHECK(sink.horizon == 1000000000 && sink.before == 1000000000 && send->next_beat == 51000);
	CHECK(!relay_send_serve(send, false, 4000000000, &more) && has_noted("flush 0;"));
	played_ms = 51000;
	more = true;
	CHECK(!relay_send_serve(send, false, 4000000000, &more) && has_noted("flush 0;"));
	more = false;
	CHECK(!relay_send_serve(send, false, 3000000000, &more) && has_noted("flush 0;beat;"));
	CHECK(sink.horizon == 1000000000 && send->next_beat == 52000);
	CHECK(!relay_send_serve(send, true, 1, &more) && has_noted("flush 1;"));
	CHECK(sink.horizon == INT64_MAX);
	trace.done = true;
	more = true;
	CHECK(!relay_send_serve(send, true, 1, &more) && has_noted("flush 0;"));
	more = false;
	CHECK(!relay_send_serve(send, false, 1, &more) && has_noted("flush 0;"));
	CHECK(relay_send_serve(send, true, 1, &more) == 1 && has_noted("flush 1;end;"));
	sink_result = -EPIPE;
	CHECK(relay_send_serve(send, true, 1, &more) == -EPIPE && has_noted("flush 1;"));
	sink_result = 0;
	/* At half of the spool, everything is sent. */
	send->options.spool = 100;
	sink.before = 0;
	played_pending = 50;
	CHECK(horizon(send, false, 9000000000) == 6000000000);
	played_pending = 51;
	CHECK(horizon(send, false, 9000000000) == INT64_MAX);
	send->options.spool = 0;
	CHECK(horizon(send, false, 9000000000) == 6000000000);
	sink.in_ticks = true;
	send->settled = 12;
	sink.before = 11;
	CHECK(horizon(send, false, 9000000000) == 12);
	sink.before = 13;
	CHECK(horizon(send, false, 9000000000) == 13);
}

static void test_scan(void)
{
	struct send_rounds recorder = {.begun = 4, .ticks = 40};
	struct send *send = begin();

	CHECK(!relay_send_scan(send, false) && has_noted("look 0;reconcile;") && send->has_scanned);
	CHECK(!relay_send_scan(send, true) && has_noted("look 1;settle;"));
	CHECK(!send->seen && !send->round);
	send->has_scanned = false;
	scan_result = -ENOMEM;
	CHECK(relay_send_scan(send, false) == -ENOMEM && has_noted("look 0;") && send->has_scanned);
	scan_result = 0;
	send->options.rounds = &recorder;
	is_unsettled = true;
	send->round = 4;
	send->settled = 1;
	CHECK(!relay_send_scan(send, false) && has_noted("") && is_unsettled);
	send->round = 3;
	send->seen = 30;
	CHECK(!relay_send_scan(send, false) && has_noted("settle;look 0;"));
	CHECK(send->settled == 40 && send->seen == 40 && send->round == 4);
	recorder.begun = 6;
	recorder.ticks = (uint64_t)INT64_MAX;
	CHECK(!relay_send_scan(send, false) && send->seen == 0 && send->round == 6);
	recorder.ticks = (uint64_t)INT64_MAX - 1;
	CHECK(!relay_send_scan(send, false) && send->seen == INT64_MAX - 1);
	*log_text = '\0';
	is_unsettled = true;
	CHECK(!relay_send_scan(send, true) && has_noted("look 1;settle;"));
	/* During a wait for the connection. */
	send = begin();
	CHECK(!tick(send) && has_noted("") && !send->stale);
	send->options.spool = 10;
	send->has_scanned = true;
	played_pending = 11;
	send->progress = 45000;
	CHECK(!tick(send) && has_noted("look 0;") && send->stale);
	send->progress = 44999;
	CHECK(tick(send) == -ETIMEDOUT);
	played_pending = 10;
	CHECK(!tick(send));
	scan_result = -ENOMEM;
	CHECK(tick(send) == -ENOMEM);
	scan_result = -EIO;
	CHECK(!tick(send));
	/* The timeout after the end. */
	send->options.timeout_ms = 5000;
	CHECK(!tick(send));
	send->over = true;
	CHECK(tick(send) == -ETIMEDOUT);
	send->progress = 45000;
	CHECK(!tick(send) && !relay_send_timeout_expired(send));
	send->progress--;
	CHECK(relay_send_timeout_expired(send));
	send->options.timeout_ms = 0;
	CHECK(!relay_send_timeout_expired(send));
	*log_text = '\0';
}

static void test_spool(void)
{
	struct send *send = begin();
	struct spool_entry *entry = &send->spool.entries[SEND_SPOOL_USERS - 1];
	uint64_t first = 0;

	trace.entry = SEND_SPOOL_USERS - 1;
	streams[0].begin = 10;
	streams[1].begin = 9;
	CHECK(oldest(send, entry, &first) == &streams[1] && first == 9);
	streams[1].begin = 10;
	CHECK(oldest(send, entry, &first) == &streams[0] && first == 10);
	streams[0].at.offset = 100;
	CHECK(oldest(send, entry, &first) == &streams[1]);
	streams[0].delivered.offset = 100;
	streams[1].begin = 200;
	CHECK(oldest(send, entry, &first) == &streams[0] && first == 110);
	CHECK(!oldest(send, &send->spool.entries[0], &first));
	trace.done = true;
	CHECK(!oldest(send, entry, &first));
	trace.done = false;
	trace.refused = true;
	CHECK(!oldest(send, entry, &first));
	trace.refused = false;
	trace.removed = true;
	CHECK(!oldest(send, entry, &first));
	trace.removed = false;
	/* A dropped packet is counted, and no longer waits. */
	streams[0].at.packets = streams[0].delivered.packets = 8;
	streams[0].counted = (struct marks_position){200, 12, 0};
	drop_packet(send, entry, &streams[0]);
	CHECK(streams[0].at.offset == 200 && streams[0].at.packets == 8 &&
			streams[0].delivered.offset == 200 && streams[0].delivered.packets == 8 &&
			streams[0].counted.packets == 11);
	CHECK(streams[0].dropped_events == 6 && streams[0].dropped_packets == 1 &&
			streams[0].dropped_bytes == 100 && streams[0].header_size == 80 &&
			!streams[0].at.events);
	CHECK(has_noted("!the spool is full: dropping the oldest packets until tcp://there accepts data;"));
	drop_packet(send, entry, &streams[0]);
	CHECK(has_noted("") && streams[0].dropped_bytes == 200 && streams[0].counted.packets == 11);
	drop_packet(send, entry, &streams[0]);
	CHECK(streams[0].dropped_packets == 2);
	CHECK(send->own.dropped_users[SEND_SPOOL_USERS - 1].packets == 2);
	*entry = (struct spool_entry){.is_used = true, .uid = 42};
	relay_send_report_drop(send, entry);
	CHECK(has_noted("!the spool is full: dropping the oldest packets of programs of user 42 until tcp://there accepts data;"));
	/* Nothing while a packet is written, and without a limit. */
	keep_spool(send);
	CHECK(has_noted(""));
	send->options.spool = 1000;
	send->in_packet = true;
	keep_spool(send);
	CHECK(has_noted(""));
	send->in_packet = false;
	played_bytes = 1000;
	keep_spool(send);
	CHECK(has_noted("mark;forget;"));
	played_bytes = 1001;
	keep_spool(send);
	CHECK(has_noted("free 1000;mark;free 1000;forget;"));
}

static void test_connections(void)
{
	struct send *send = begin();

	trace.announced = true;
	trace.handle = trace.sent_metadata = trace.sent_maps = trace.sent_blocks = 5;
	trace.identity.is_own = true;
	streams[1].at.offset = 200;
	streams[1].delivered = (struct marks_position){100, 2, 3};
	streams[1].sent = streams[1].beaten = streams[1].added = 6;
	streams[1].held = 6;
	sink.before = 6;
	send->own.connected = true;
	relay_send_disconnect(send, -EPIPE);
	CHECK(!trace.announced && !trace.handle && !trace.sent_metadata && !trace.sent_maps &&
			!trace.sent_blocks && !trace.identity.is_own);
	CHECK(streams[1].at.offset == 100 && streams[1].at.packets == 2 && !streams[1].handle &&
			!streams[1].sent && !streams[1].beaten && !streams[1].added &&
			!streams[1].held);
	CHECK(!sink.before && !send->own.connected && send->next_try == 50100 &&
			send->has_reported_absence);
	CHECK(send->own.since == 1050000000007);
	CHECK(!strncmp(log_text, "close;.the connection to tcp://there broke: ", 43));
	CHECK(strstr(log_text, "; side sends again what was not delivered;"));
	*log_text = '\0';
	played_ms = 60000;
	send->has_reported_absence = false;
	relay_send_disconnect(send, -EPIPE);
	CHECK(has_noted("close;") && !send->has_reported_absence &&
			send->own.since == 1050000000007);
	send->own.connected = true;
	relay_send_disconnect(send, -ECANCELED);
	CHECK(has_noted("close;") && !send->has_reported_absence &&
			send->own.since == 1060000000007);
}

static void test_waits(void)
{
	struct send *send = begin();
	uint64_t one = 1;

	send->own.connected = true;
	relay_send_wait_for_data(send, false);
	CHECK(played_timeout == 500 && played_polls[0].fd == 15 && played_polls[1].fd == 16 &&
			played_polls[2].fd == 17 && played_polls[0].events == POLLIN &&
			played_polls[1].events == POLLIN && played_polls[2].events == POLLIN);
	relay_send_wait_for_data(send, true);
	CHECK(played_timeout == 0);
	is_unsettled = true;
	relay_send_wait_for_data(send, false);
	CHECK(played_timeout == 500 && played_polls[1].fd == 16);
	send->follow.staged = true;
	relay_send_wait_for_data(send, false);
	CHECK(played_timeout == 20 && played_polls[1].fd == -1 && played_polls[2].fd == 17);
	is_unsettled = send->own.connected = false;
	send->next_try = 50300;
	relay_send_wait_for_data(send, false);
	CHECK(played_timeout == 300 && played_polls[1].fd == -1 && played_polls[2].fd == -1);
	send->next_try = 50600;
	relay_send_wait_for_data(send, false);
	CHECK(played_timeout == 500);
	send->next_try = 49000;
	relay_send_wait_for_data(send, false);
	CHECK(played_timeout == 0);
	is_unsettled = true;
	send->next_try = 50010;
	relay_send_wait_for_data(send, false);
	CHECK(played_timeout == 10);
	/* The wake-up is consumed. */
	send->wake_fd = eventfd(3, EFD_CLOEXEC | EFD_NONBLOCK);
	relay_send_wait_for_data(send, false);
	poll_result = 1;
	relay_send_wait_for_data(send, false);
	poll_result = 0;
	CHECK(read(send->wake_fd, &one, sizeof(one)) == -1 && errno == EAGAIN);
	close(send->wake_fd);
}

static void test_reports(void)
{
	struct send *send = begin();

	relay_send_report_vanished(send);
	CHECK(has_noted("") && !send->own.failed);
	send->follow.vanished = 30;
	send->reported_vanished = 10;
	relay_send_report_vanished(send);
	CHECK(has_noted("!20 bytes of a trace were removed before they were delivered;"));
	CHECK(send->own.failed && send->reported_vanished == 30);
	send->follow.vanished = 31;
	send->follow.gone = trace.name;
	relay_send_report_vanished(send);
	CHECK(has_noted("!1 bytes of t were removed before they were delivered;"));
	played_pending = 9;
	send->own.failed = false;
	relay_send_abort(send, -ENOMEM);
	CHECK(has_noted("!9 bytes were not delivered to tcp://there: out of memory;"));
	CHECK(send->own.failed);
	relay_send_abort(send, -ETIMEDOUT);
	CHECK(has_noted("!9 bytes were not delivered to tcp://there;"));
	strcpy(send->away.text, "no route");
	relay_send_abort(send, -ETIMEDOUT);
	CHECK(has_noted("!9 bytes were not delivered to tcp://there: no route;"));
	send->own.connected = true;
	relay_send_abort(send, -ETIMEDOUT);
	CHECK(has_noted("!9 bytes were not delivered to tcp://there;"));
	send->options.log_message = NULL;
	relay_send_abort(send, -ETIMEDOUT);
	CHECK(has_noted(""));
}

static void test_whole_turns(void)
{
	struct send *send = begin();
	bool more = true;

	send->options.live = true;
	send->own.connected = true;
	streams[0].size = streams[1].size = 0;
	send->stale = true;
	CHECK(!relay_send_run_once(send, &more) && !more && !send->stale && !send->over);
	CHECK(has_noted("look 0;reconcile;flush 0;mark;"));
	/* The end of the recording starts the timeout. */
	send->finished = true;
	send->follow.error = EACCES;
	CHECK(!relay_send_run_once(send, &more) && send->over && send->own.failed &&
			send->progress == 50000);
	CHECK(has_noted("look 1;settle;!cannot read /dir: Permission denied;flush 1;mark;"));
	send->follow.error = 0;
	send->options.timeout_ms = 100;
	played_ms = 50101;
	CHECK(relay_send_run_once(send, &more) == -ETIMEDOUT && send->progress == 50000);
	send->options.timeout_ms = 0;
	*log_text = '\0';
	sink_result = -EPIPE;
	CHECK(!relay_send_run_once(send, &more) && !send->own.connected && send->next_try == 50201);
	sink_result = 0;
	*log_text = '\0';
	/* Not connected, and too early. */
	CHECK(!relay_send_run_once(send, &more) && has_noted("look 1;settle;mark;"));
	scan_result = -ENOMEM;
	CHECK(relay_send_run_once(send, &more) == -ENOMEM && has_noted("look 1;settle;"));
	scan_result = 0;
	trace.done = true;
	send->own.connected = true;
	CHECK(relay_send_run_once(send, &more) == 1 &&
			has_noted("look 1;settle;flush 1;end;mark;"));
}

static bool is_session(const char *dir, const char *expected)
{
	char *name = default_session(dir);
	bool same = name && !strcmp(name, expected);

	free(name);
	return same;
}

/* The marks of an earlier sender: each value at its position. */
static void test_open_marks(void)
{
	struct send *send = begin();
	char dir[4300];

	CHECK(!open_marks(send) && !send->follow.marks);
	found_head = (struct marks_head){.id = 21,
			.sequence = 22,
			.connections = 23,
			.nr_traces = 24,
			.past.bytes = 25};
	is_of_url = is_found = true;
	open_result = -EBUSY;
	CHECK(open_marks(send) == -EBUSY && !send->follow.marks);
	open_result = 0;
	CHECK(!open_marks(send) && send->follow.marks && has_noted(""));
	CHECK(sink.id == 21 && sink.sequence == 22 && send->reserved == 22 &&
			sink.connections == 23 && send->follow.nr_traces == 24 &&
			send->follow.past.bytes == 25);
	free(send->follow.marks);
	send = begin();
	is_of_url = is_found = false;
	send->options.marks = true;
	sink.id = 31;
	head_result = -EIO;
	CHECK(open_marks(send) == -EIO && send->follow.marks->head.id == 31);
	CHECK(has_noted("head 22 23 0;") && !send->reserved && !send->follow.nr_traces);
	free(send->follow.marks);
	/* A path that is too long only matters if marks are wanted. */
	send = begin();
	memset(dir, '/', sizeof(dir));
	dir[4200 - strlen("/.sending")] = '\0';
	send->options.dir = dir;
	CHECK(!open_marks(send));
	send->options.marks = true;
	CHECK(open_marks(send) == -ENAMETOOLONG && !send->follow.marks);
}

static void test_waited(void)
{
	struct send *send = begin();

	played_ms = 50600;
	nr_waits = 0;
	CHECK(!send_wait(send, 2345) && nr_waits == 2);
	CHECK(waited_until.tv_sec == 52 && waited_until.tv_nsec == 945000007);
	CHECK(!send_wait(send, 2456) && waited_until.tv_sec == 53 &&
			waited_until.tv_nsec == 56000007);
	played_ns = 0;
	CHECK(!send_wait(send, 400) && waited_until.tv_sec == 51 && !waited_until.tv_nsec);
	CHECK(!send_wait(send, 0) && waited_until.tv_sec == 50 &&
			waited_until.tv_nsec == 600000000 && nr_waits == 5);
	played_ns = 7;
	send->status.over = true;
	CHECK(send_wait(send, 0) && send_wait(send, -1) && nr_waits == 5);
}

static void test_run(void)
{
	struct send *send = begin();
	struct send_status status;

	send->options.live = send->finished = send->own.connected = trace.done = true;
	send->follow.marks = &marks;
	streams[0].size = streams[1].size = 0;
	played_pending = 7;
	CHECK(!relay_send_run_thread(send));
	CHECK(has_noted("look 1;settle;reconcile;flush 1;end;mark;close;mark;head 0 0 0;"));
	send_status(send, &status);
	CHECK(status.over && !status.connected && !status.failed);
	/* Stopped, with and without waiting packets; and without memory. */
	send->stopped = true;
	CHECK(!relay_send_run_thread(send));
	CHECK(has_noted("!7 bytes were not delivered to tcp://there;close;mark;head 0 0 0;"));
	send->own.failed = false;
	played_pending = 0;
	CHECK(!relay_send_run_thread(send) && has_noted("close;mark;head 0 0 0;") &&
			!send->own.failed);
	send->stopped = false;
	scan_result = -ENOMEM;
	CHECK(!relay_send_run_thread(send) && send->own.failed);
	CHECK(has_noted("look 1;settle;!0 bytes were not delivered to tcp://there: out of memory;close;mark;head 0 0 0;"));
}

static void test_dropped(void)
{
	struct send *send = begin();

	drop_until(send, 600);
	CHECK(!streams[0].dropped_packets && !streams[1].dropped_packets && has_noted(""));
	drop_until(send, 300);
	CHECK(streams[0].dropped_packets + streams[1].dropped_packets == 3);
	CHECK(send->own.dropped_users[SEND_SPOOL_USERS - 1].bytes == 300 &&
			send->own.dropped_users[SEND_SPOOL_USERS - 1].events == 18 &&
			send->own.dropped_users[SEND_SPOOL_USERS - 1].packets == 3);
	/* No packet can be dropped. */
	peek_result = 0;
	drop_until(send, 100);
	CHECK(streams[0].dropped_packets + streams[1].dropped_packets == 3);
	CHECK(send->spool.entries[SEND_SPOOL_USERS - 1].is_tried);
	peek_result = 1;
	drop_until(send, 299);
	CHECK(streams[0].dropped_packets + streams[1].dropped_packets == 4);
	*log_text = '\0';
	send->options.spool = 100;
	keep_spool(send);
	CHECK(streams[0].dropped_packets + streams[1].dropped_packets == 5 &&
			has_noted("mark;forget;"));
}

/* The reasons why no sender starts. Nothing is leaked. */
static void test_refused(void)
{
	struct send_options options = {.dir = "/", .url = "tcp://127.0.0.1:9"};
	struct error error;
	struct send *send = NULL;

	is_of_url = false;
	thread_result = EAGAIN;
	CHECK(send_start(&options, &send, &error) == -EAGAIN && !send);
	CHECK(!strcmp(error.text,
			"cannot start a thread for the sender: Resource temporarily unavailable"));
	thread_result = EPERM;
	CHECK(send_start(&options, &send, &error) == -EPERM && !send);
	CHECK(!strcmp(error.text, "cannot start a sender: Operation not permitted"));
	thread_result = EAGAIN;
	for (unsigned int number = 1;; number++) {
		int ret;

		failing_arm(number);
		ret = send_start(&options, &send, &error);
		CHECK(!send);
		if (!failing_has_failed()) {
			CHECK(ret == -EAGAIN && number > 3);
			break;
		}
		CHECK(ret == -ENOMEM);
		CHECK(!strcmp(error.text,
				number == 1 ? "out of memory for a sender"
					    : "cannot start a sender: Cannot allocate memory"));
	}
	thread_result = EPERM;
	options.dir = "/nowhere";
	CHECK(send_start(&options, &send, &error) == -ENOENT && !send);
	CHECK(!strcmp(error.text, "cannot read /nowhere: No such file or directory"));
	options.dir = "/dev/null";
	CHECK(send_start(&options, &send, &error) == -ENOTDIR && !send);
}

static void test_sessions(void)
{
	struct send_options options = {.dir = "/d/dir", .fallback = "/f/fall", .session = "a b"};
	struct url url = {.session = "url"};
	char name[300], expected[201], *session;

	CHECK(is_session("/a/b", "b") && is_session("/a/b//", "b") && is_session("b", "b"));
	CHECK(is_session("/", "side") && is_session("", "side") && is_session("/a/.b", "_b"));
	CHECK(is_session("-b", "_b") && is_session("b.-", "b.-") && is_session("a b/c+d", "c_d"));
	memset(name, 'n', 200);
	name[200] = '\0';
	memcpy(expected, name, 201);
	CHECK(is_session(name, expected));
	strcat(name, "m");
	CHECK(is_session(name, expected));
	session = name_session(&options, &url);
	CHECK(!strcmp(session, "a_b"));
	free(session);
	options.session = "";
	session = name_session(&options, &url);
	CHECK(!strcmp(session, "url"));
	free(session);
	*url.session = '\0';
	session = name_session(&options, &url);
	CHECK(!strcmp(session, "fall"));
	free(session);
	options.fallback = options.session = NULL;
	session = name_session(&options, &url);
	CHECK(!strcmp(session, "dir"));
	free(session);
}

int main(void)
{
	test_publish();
	test_marks();
	test_blocks();
	test_texts();
	test_header_size();
	test_packets();
	test_ends();
	test_meet();
	test_turns();
	test_scan();
	test_spool();
	test_connections();
	test_waits();
	test_reports();
	test_whole_turns();
	test_open_marks();
	test_waited();
	test_run();
	test_dropped();
	test_refused();
	test_sessions();
	return 0;
}
