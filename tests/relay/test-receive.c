/* SPDX-License-Identifier: MIT */
/*
 * A receiver of frames that the test makes: the bytes of each file, each number of the summary, and
 * each refusal.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "../resources.h"
#include "ctf/ctf.h"
#include "relay/frame.h"
#include "relay/receive.h"

#define SENDER UINT64_C(0x1122334455667788)
#define SMALL 80
#define LARGE 84

static char output[] = "/tmp/side-receive-XXXXXX";
static char reported[1024];
static unsigned int nr_reported;
static struct receive *receive;
static struct receive_source *source;
static struct receive_summary summary;
static uint64_t sender, sequence;
static unsigned char out[FRAME_HEAD + FRAME_PAYLOAD_MAX + FRAME_TAIL];

static const unsigned char uuid[16] = {
		1, 20, 130, 4, 50, 160, 0x47, 8, 0x99, 10, 110, 210, 3, 44, 255, 6};

/* ---- frames ---- */

static struct frame_writer begin(void)
{
	return (struct frame_writer){out + FRAME_HEAD, out + sizeof(out) - FRAME_TAIL, false};
}

static size_t close_frame(const struct frame_writer *writer, uint8_t type)
{
	size_t size = (size_t)(writer->at - out) - FRAME_HEAD;
	struct frame_writer tail = {writer->at, out + sizeof(out), false};

	assert_false(writer->full);
	framing_put_u32(&tail, framing_crc(0, out + FRAME_HEAD, size));
	framing_head(out, type, sender, sequence++, (uint32_t)size);
	return FRAME_HEAD + size + FRAME_TAIL;
}

static int failure; /* of receive_bytes(), after a call has failed */

static void deliver(const struct frame_writer *writer, uint8_t type)
{
	size_t size = close_frame(writer, type);
	int ret = receive_bytes(source, out, size);

	if (failing_name)
		failure = failure ? failure : ret;
	else
		assert_int_equal(ret, 0);
}

static void put_hello(uint32_t flags)
{
	struct frame_writer writer = begin();

	framing_put_u32(&writer, FRAME_VERSION);
	framing_put_u32(&writer, flags);
	framing_put_name(&writer, "host");
	framing_put_name(&writer, "session");
	deliver(&writer, FRAME_HELLO);
}

static struct frame_file file_of(uint8_t kind, uint32_t generation, uint64_t total, uint64_t offset,
		const char *text)
{
	struct frame_file file = {.trace = 2,
			.kind = kind,
			.generation = generation,
			.total = total,
			.offset = offset,
			.name = "t",
			.bytes = (const unsigned char *)text,
			.size = strlen(text)};

	return file;
}

static void put_file(uint8_t kind, uint32_t generation, uint64_t total, uint64_t offset,
		const char *text)
{
	struct frame_file file = file_of(kind, generation, total, offset, text);
	struct frame_writer writer = begin();

	framing_put_file(&writer, &file);
	deliver(&writer, FRAME_FILE);
}

static struct frame_packet packet_of(
		uint64_t number, uint64_t before, uint64_t dropped, uint64_t events, size_t size)
{
	static unsigned char bytes[4096];
	struct ctf_packet packet = {.bytes = bytes,
			.class_id = 5,
			.instance = 3,
			.begin = 1000 + number,
			.end = 1500 + number,
			.sequence = 70 + number,
			.discarded = 9};
	struct frame_packet frame = {.trace = 2,
			.stream = 1,
			.number = number,
			.events_before = before,
			.dropped_before = dropped,
			.events = events,
			.header_size = LARGE,
			.total = size,
			.trace_name = "t",
			.stream_name = "ring_3",
			.bytes = bytes,
			.size = size};

	memcpy(packet.uuid, uuid, sizeof(uuid));
	ctf_packet_make_empty(&packet, size);
	return frame;
}

static void put_frame(const struct frame_packet *frame)
{
	struct frame_writer writer = begin();

	framing_put_packet(&writer, frame);
	deliver(&writer, FRAME_PACKET);
}

static void put_packet(
		uint64_t number, uint64_t before, uint64_t dropped, uint64_t events, size_t size)
{
	struct frame_packet frame = packet_of(number, before, dropped, events, size);

	put_frame(&frame);
}

/* One stream, whose last packet ended at 2000 and had 9 discarded events. */
static void put_trace_end(uint64_t packets, uint64_t events, uint64_t dropped, uint8_t header_size)
{
	struct frame_writer writer = begin();

	framing_put_u32(&writer, 2);
	framing_put_name(&writer, "t");
	framing_put_u32(&writer, 1);
	framing_put_name(&writer, "ring_3");
	framing_put_u64(&writer, packets);
	framing_put_u64(&writer, events);
	framing_put_u64(&writer, dropped);
	framing_put_u32(&writer, 5);
	framing_put_u64(&writer, 3);
	framing_put_u64(&writer, 900);
	framing_put_u64(&writer, 2000);
	framing_put_u64(&writer, 9 + dropped);
	framing_put(&writer, uuid, sizeof(uuid));
	framing_put_u8(&writer, header_size);
	deliver(&writer, FRAME_TRACE_END);
}

static void put_end(uint64_t frames, uint64_t packets, uint64_t events)
{
	struct frame_writer writer = begin();

	framing_put_u64(&writer, frames);
	framing_put_u64(&writer, packets);
	framing_put_u64(&writer, events);
	framing_put_u64(&writer, 0);
	framing_put_u64(&writer, 0);
	framing_put_u32(&writer, 1);
	deliver(&writer, FRAME_END);
}

/* ---- receivers ---- */

static void report(void *user, bool is_error, const char *text)
{
	assert_ptr_equal(user, &summary);
	assert_true(is_error);
	(void)snprintf(reported, sizeof(reported), "%s", text);
	nr_reported++;
}

static void remove_output(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", output);
	assert_int_equal(system(command), 0);
}

static void open_receiver(bool answers)
{
	const struct receive_options options = {
			.output = output, .log_message = report, .user = &summary};

	remove_output();
	assert_int_equal(mkdir(output, 0700), 0);
	assert_int_equal(receive_create(&options, &receive), 0);
	source = receive_source_open(receive, answers);
	assert_non_null(source);
	*reported = '\0';
	nr_reported = 0;
	sender = SENDER;
	sequence = 0;
}

static char losses[200];

static void note_loss(void *user, const char *trace, const char *stream, uint64_t packets,
		uint64_t events, uint64_t dropped)
{
	size_t used = strlen(losses);

	assert_ptr_equal(user, losses);
	(void)snprintf(losses + used, sizeof(losses) - used, "%s/%s %d %d %d;", trace, stream,
			(int)packets, (int)events, (int)dropped);
}

/* Compares the summary as text, without members that are 0. */
static void close_receiver(const char *expected, const char *expected_losses)
{
	const struct {
		const char *name;
		uint64_t value;
	} * field,
			fields[] = {
					{"sessions", 0},
					{"unended", 0},
					{"frames", 0},
					{"lost_frames", 0},
					{"repeated", 0},
					{"garbage", 0},
					{"traces", 0},
					{"packets", 0},
					{"lost_packets", 0},
					{"events", 0},
					{"lost_events", 0},
					{"unplaced", 0},
					{"earlier_packets", 0},
					{"earlier_events", 0},
					{"dropped", 0},
					{"incomplete", 0},
					{"failed", 0},
					{"out_of_memory", 0},
			};
	char text[500] = "";
	size_t used = 0;

	receive_source_close(source);
	receive_finish(receive, &summary);
	*losses = '\0';
	receive_each_loss(receive, note_loss, losses);
	receive_destroy(receive);
	field = fields;
	for (const uint64_t *value = &summary.sessions; value <= &summary.incomplete;
			value++, field++)
		if (*value)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %d ",
					field->name, (int)*value);
	if (summary.failed)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "failed ");
	if (summary.out_of_memory)
		(void)snprintf(text + used, sizeof(text) - used, "out_of_memory ");
	assert_string_equal(text, expected);
	assert_string_equal(losses, expected_losses);
}

static size_t read_output(const char *name, unsigned char *bytes, size_t size)
{
	char path[300];
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", output, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return (size_t)-errno;
	got = read(fd, bytes, size);
	close(fd);
	return (size_t)got;
}

static void check_text(const char *name, const char *expected)
{
	unsigned char bytes[500];
	size_t size = read_output(name, bytes, sizeof(bytes));

	assert_int_equal(size, strlen(expected));
	assert_memory_equal(bytes, expected, size);
}

/* One line for each packet: size, sequence, discarded, begin, end; `!` if it has another UUID. */
static void check_stream(const char *name, const char *expected)
{
	char path[300], text[400] = "";
	struct ctf_packet packet = {0};
	size_t used = 0;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", output, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	while (ctf_packet_read(fd, name, packet.next, &packet) > 0) {
		assert_int_equal(packet.class_id, 5);
		assert_int_equal(packet.instance, 3);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d %d %d %d %d%s;",
				(int)packet.size, (int)packet.sequence, (int)packet.discarded,
				(int)packet.begin, (int)packet.end,
				memcmp(packet.uuid, uuid, sizeof(uuid)) ? "!" : "");
	}
	assert_int_equal(packet.next, lseek(fd, 0, SEEK_END));
	close(fd);
	ctf_packet_free(&packet);
	assert_string_equal(text, expected);
}

/* ---- received packets ---- */

#define METADATA "/* CTF 1.8 */\nuuid = \"01148204-32a0-4708-990a-6ed2032cff06\";\n"

static void test_whole(void **unused)
{
	struct frame_packet frame;

	(void)unused;
	open_receiver(false);
	assert_false(receive_is_over(receive));
	assert_false(receive_source_is_known(source));
	put_hello(0);
	assert_true(receive_source_is_known(source));
	assert_false(receive_is_over(receive));
	put_file(FRAME_METADATA, 1, strlen(METADATA), 0, METADATA);
	put_file(FRAME_MAPS, 1, 3, 0, "abc");
	put_packet(0, 0, 0, 10, 100);
	/* In two pieces, the second one alone, and a piece of another packet between them. */
	frame = packet_of(1, 10, 0, 7, 120);
	frame.size = 50;
	put_frame(&frame);
	frame.bytes += 50;
	frame.offset = 50;
	frame.size = 70;
	put_frame(&frame);
	put_trace_end(2, 17, 0, LARGE);
	put_end(8, 2, 17);
	assert_true(receive_is_over(receive));
	close_receiver("sessions 1 frames 8 traces 1 packets 2 events 17 ", "");
	check_text("t/metadata", METADATA);
	check_text("t/.maps", "abc");
	check_stream("t/ring_3", "100 70 9 1000 1500;120 71 9 1001 1501;");
	assert_int_equal(nr_reported, 0);
}

/* A packet between two others does not arrive; then the last two do not. */
static void test_gaps(void **unused)
{
	(void)unused;
	open_receiver(false);
	put_hello(0);
	put_file(FRAME_METADATA, 1, 4, 0, "meta");
	put_packet(0, 0, 0, 10, 100);
	sequence++;
	put_packet(2, 13, 2, 5, 104);
	/* It was received already. */
	put_packet(2, 13, 2, 5, 104);
	put_packet(1, 10, 0, 3, 104);
	put_trace_end(5, 40, 6, LARGE);
	put_end(11, 7, 51);
	close_receiver("sessions 1 frames 8 lost_frames 3 traces 1 packets 2 lost_packets 5 events 15 lost_events 36 "
		       "unplaced 11 dropped 6 ",
			"t/ring_3 3 25 6;");
	check_stream("t/ring_3", "100 70 9 1000 1500;104 72 12 1002 1502;84 73 40 2000 2000;");
}

/* The first packets are lost: an empty packet begins the stream, so that readers see the loss. */
static void test_late_stream(void **unused)
{
	(void)unused;
	open_receiver(false);
	put_hello(0);
	put_file(FRAME_METADATA, 1, 4, 0, "meta");
	put_packet(3, 11, 0, 4, 90);
	put_end(4, 4, 15);
	close_receiver("sessions 1 frames 4 traces 1 packets 1 lost_packets 3 events 4 lost_events 11 ",
			"t/ring_3 3 11 0;");
	check_stream("t/ring_3", "84 0 0 1003 1003;90 73 20 1003 1503;");
	/* Nothing was lost, but the sender dropped the first packets. */
	open_receiver(false);
	put_hello(0);
	put_file(FRAME_METADATA, 1, 4, 0, "meta");
	put_packet(0, 0, 8, 4, 90);
	put_end(4, 1, 4);
	close_receiver("sessions 1 frames 4 traces 1 packets 1 events 4 dropped 8 ",
			"t/ring_3 0 0 8;");
	check_stream("t/ring_3", "84 0 0 1000 1000;90 70 9 1000 1500;");
	/* Of the stream, only its end arrives. */
	open_receiver(false);
	put_hello(0);
	put_file(FRAME_METADATA, 1, 4, 0, "meta");
	put_trace_end(4, 21, 0, SMALL);
	put_end(4, 4, 21);
	close_receiver("sessions 1 frames 4 traces 1 lost_packets 4 lost_events 21 ",
			"t/ring_3 4 21 0;");
	check_stream("t/ring_3", "80 0 0 900 900;80 1 30 2000 2000;");
}

/* ---- receivers after others ---- */

static void test_joined(void **unused)
{
	(void)unused;
	/* An earlier receiver acknowledged packets 0 to 2. */
	open_receiver(true);
	sequence = 40;
	put_hello(FRAME_HELLO_RESUMED | FRAME_HELLO_ACKNOWLEDGED);
	put_file(FRAME_METADATA, 1, strlen(METADATA), 0, METADATA);
	put_packet(3, 30, 0, 4, 90);
	put_packet(5, 36, 0, 1, 96);
	put_trace_end(6, 37, 0, LARGE);
	put_end(46, 8, 45);
	close_receiver("sessions 1 frames 6 traces 1 packets 2 lost_packets 1 events 5 lost_events 2 earlier_packets 5 "
		       "earlier_events 38 ",
			"t/ring_3 1 2 0;");
	/*
	 * Its own UUID, in both files. The first packet has discarded events, which an empty packet
	 * before it shows.
	 */
	check_stream("t/ring_3", "84 72 0 1003 1003!;90 73 9 1003 1503!;96 75 11 1005 1505!;");
	/* An earlier receiver has all of the stream: it gets no file. */
	open_receiver(true);
	sequence = 40;
	put_hello(FRAME_HELLO_RESUMED | FRAME_HELLO_ACKNOWLEDGED);
	put_file(FRAME_METADATA, 1, 4, 0, "meta");
	put_trace_end(6, 37, 0, LARGE);
	close_receiver("sessions 1 unended 1 frames 3 traces 1 earlier_packets 6 earlier_events 37 ",
			"");
	assert_int_equal(access("/tmp", F_OK), 0);
	/* The same without acknowledgements: the frames before are not a loss, the packets are. */
	open_receiver(false);
	sequence = 40;
	put_hello(FRAME_HELLO_RESUMED | FRAME_HELLO_ACKNOWLEDGED);
	put_file(FRAME_METADATA, 1, 4, 0, "meta");
	put_packet(3, 30, 0, 4, 90);
	close_receiver("sessions 1 unended 1 frames 3 traces 1 packets 1 lost_packets 3 events 4 lost_events 30 ",
			"t/ring_3 3 30 0;");
	check_stream("t/ring_3", "84 0 0 1003 1003!;90 73 39 1003 1503!;");
	/* Not acknowledged: everything arrives again, and the UUID stays. */
	open_receiver(true);
	sequence = 40;
	put_hello(FRAME_HELLO_RESUMED);
	put_packet(0, 0, 0, 4, 90);
	close_receiver("sessions 1 unended 1 frames 2 traces 1 packets 1 events 4 incomplete 1 ",
			"");
	check_stream("t/ring_3", "90 70 9 1000 1500;");
	/* Without a first frame of the sender. */
	open_receiver(true);
	sequence = 3;
	put_packet(0, 0, 0, 4, 90);
	put_end(5, 1, 4);
	close_receiver("sessions 1 frames 2 lost_frames 3 traces 1 packets 1 events 4 incomplete 1 ",
			"");
	check_stream("t/ring_3", "90 70 9 1000 1500!;");
}

/* A directory of the same name exists already. */
static void test_renamed(void **unused)
{
	char path[100];
	unsigned char bytes[200];

	(void)unused;
	open_receiver(false);
	(void)snprintf(path, sizeof(path), "%s/t", output);
	assert_int_equal(mkdir(path, 0700), 0);
	put_hello(0);
	put_file(FRAME_METADATA, 1, strlen(METADATA), 0, METADATA);
	put_packet(0, 0, 0, 4, 90);
	close_receiver("sessions 1 unended 1 frames 3 traces 1 packets 1 events 4 ", "");
	check_stream("t-2/ring_3", "90 70 9 1000 1500!;");
	assert_int_equal(read_output("t-2/metadata", bytes, sizeof(bytes)), strlen(METADATA));
	assert_memory_not_equal(bytes, METADATA, strlen(METADATA));
	assert_memory_equal(bytes, METADATA, 22);
}

/* ---- frames ---- */

static void check_answer(uint64_t next)
{
	unsigned char answer[RECEIVE_ANSWER_MAX];
	struct frame_reader reader;
	struct relay_frame frame;
	size_t used;

	assert_int_equal(receive_answer(source, answer), FRAME_HEAD + 8 + FRAME_TAIL);
	assert_int_equal(framing_find(answer, FRAME_HEAD + 8 + FRAME_TAIL, &used, &frame),
			FRAME_WHOLE);
	assert_int_equal(frame.type, FRAME_ACK);
	assert_int_equal(frame.session, sender);
	assert_int_equal(frame.sequence, next);
	assert_int_equal(frame.size, 8);
	reader = (struct frame_reader){frame.payload, frame.payload + frame.size, false};
	assert_int_equal(framing_get_u64(&reader), next);
	assert_int_equal(receive_answer(source, answer), 0);
}

static void test_answers(void **unused)
{
	unsigned char answer[RECEIVE_ANSWER_MAX];
	struct frame_writer writer;

	(void)unused;
	open_receiver(true);
	assert_int_equal(receive_answer(source, answer), 0);
	put_hello(0);
	check_answer(1);
	put_hello(0);
	put_hello(0);
	check_answer(3);
	/* Two frames are lost. */
	sequence = 5;
	put_hello(0);
	check_answer(6);
	/* A repeated frame is acknowledged again, and changes nothing. */
	sequence = 5;
	put_hello(0);
	check_answer(6);
	/* Answers of other receivers are not acknowledged. */
	writer = begin();
	framing_put_u64(&writer, 12);
	deliver(&writer, FRAME_ACK);
	assert_int_equal(receive_answer(source, answer), 0);
	/* An unknown type is counted. */
	sequence = 6;
	writer = begin();
	deliver(&writer, 99);
	check_answer(7);
	/* An end without its numbers is ignored. */
	writer = begin();
	framing_put_u32(&writer, 1);
	deliver(&writer, FRAME_END);
	assert_false(receive_is_over(receive));
	sender = 4;
	sequence = 0;
	put_end(2, 0, 0);
	check_answer(1);
	assert_false(receive_is_over(receive));
	sender = SENDER;
	sequence = 8;
	put_end(11, 0, 0);
	assert_true(receive_is_over(receive));
	close_receiver("sessions 2 frames 8 lost_frames 5 repeated 1 ", "");
}

/* Bytes that are not a frame, and an incomplete frame followed by another one. */
static void test_garbage(void **unused)
{
	unsigned char bytes[200];
	struct frame_writer writer = begin();
	size_t size;

	(void)unused;
	open_receiver(false);
	assert_int_equal(receive_bytes(source, "0123456", 7), 0);
	framing_put_u32(&writer, 1);
	size = close_frame(&writer, 50);
	memcpy(bytes, out, size);
	/* The checksum of the payload is wrong. */
	bytes[size - 1] ^= 1;
	assert_int_equal(receive_bytes(source, bytes, size), 0);
	bytes[size - 1] ^= 1;
	/* One byte after the other. */
	for (size_t i = 0; i < size; i++)
		assert_int_equal(receive_bytes(source, bytes + i, 1), 0);
	/* A head that announces more, and a whole frame. */
	framing_head(out, 50, SENDER, 1, 1000);
	assert_int_equal(receive_bytes(source, out, FRAME_HEAD), 0);
	sequence = 1;
	writer = begin();
	size = close_frame(&writer, 50);
	assert_int_equal(receive_bytes(source, out, size), 0);
	close_receiver("sessions 1 unended 1 frames 2 garbage 79 ", "");
}

/* ---- metadata and maps ---- */

static void test_metadata(void **unused)
{
	char path[100];

	(void)unused;
	open_receiver(false);
	put_hello(0);
	/*
	 * The first piece, once more with one more byte, one after a hole, a known one, the
	 * remainder.
	 */
	put_file(FRAME_METADATA, 1, 10, 0, "abcd");
	check_text("t/.metadata.new", "abcd");
	put_file(FRAME_METADATA, 1, 10, 2, "cde");
	check_text("t/.metadata.new", "abcde");
	put_file(FRAME_METADATA, 1, 10, 6, "ghij");
	check_text("t/.metadata.new", "abcde");
	put_file(FRAME_METADATA, 1, 10, 1, "bcde");
	check_text("t/.metadata.new", "abcde");
	put_file(FRAME_METADATA, 1, 10, 5, "fghij");
	check_text("t/metadata", "abcdefghij");
	/* It grows. */
	put_file(FRAME_METADATA, 1, 14, 11, "lm");
	check_text("t/metadata", "abcdefghij");
	put_file(FRAME_METADATA, 1, 14, 8, "ijkl");
	check_text("t/metadata", "abcdefghijkl");
	put_file(FRAME_METADATA, 1, 14, 8, "ijkl");
	check_text("t/metadata", "abcdefghijkl");
	put_file(FRAME_METADATA, 1, 14, 12, "mn");
	check_text("t/metadata", "abcdefghijklmn");
	/*
	 * A new one: without its beginning it is dropped, and replaces the old one when it is
	 * complete.
	 */
	put_file(FRAME_METADATA, 2, 6, 3, "DEF");
	put_file(FRAME_METADATA, 2, 6, 0, "ABC");
	check_text("t/metadata", "abcdefghijklmn");
	check_text("t/.metadata.new", "ABC");
	put_file(FRAME_METADATA, 2, 6, 3, "DEF");
	check_text("t/metadata", "ABCDEF");
	/* An old one is dropped from now on. */
	put_file(FRAME_METADATA, 1, 15, 14, "o");
	check_text("t/metadata", "ABCDEF");
	put_file(FRAME_METADATA, 2, 7, 6, "G");
	check_text("t/metadata", "ABCDEFG");
	/* Maps: overlapping pieces, a piece after a hole, known pieces. */
	put_file(FRAME_MAPS, 1, 8, 0, "1234");
	put_file(FRAME_MAPS, 1, 8, 5, "678");
	put_file(FRAME_MAPS, 1, 8, 1, "234");
	check_text("t/.maps", "1234");
	put_file(FRAME_MAPS, 1, 8, 3, "456");
	check_text("t/.maps", "123456");
	put_file(FRAME_MAPS, 1, 8, 6, "78");
	check_text("t/.maps", "12345678");
	/* A file of another kind is refused. */
	put_file(2, 1, 8, 0, "x");
	/* A generation that never becomes complete: it is removed at the end. */
	put_file(FRAME_METADATA, 3, 6, 0, "new");
	check_text("t/.metadata.new", "new");
	close_receiver("sessions 1 unended 1 frames 22 traces 1 incomplete 1 ", "");
	(void)snprintf(path, sizeof(path), "%s/t/.metadata.new", output);
	assert_int_equal(access(path, F_OK), -1);
	check_text("t/metadata", "ABCDEFG");
}

/* Announced, but incomplete. */
static void test_incomplete(void **unused)
{
	(void)unused;
	open_receiver(false);
	put_hello(0);
	put_file(FRAME_METADATA, 1, 4, 0, "abcd");
	put_file(FRAME_METADATA, 1, 6, 4, "e");
	close_receiver("sessions 1 unended 1 frames 3 traces 1 incomplete 1 ", "");
	open_receiver(false);
	put_hello(0);
	put_file(FRAME_METADATA, 1, 4, 0, "abcd");
	put_file(FRAME_METADATA, 1, 6, 4, "ef");
	close_receiver("sessions 1 unended 1 frames 3 traces 1 ", "");
	/* A newer, smaller one has been announced. */
	open_receiver(false);
	put_hello(0);
	put_file(FRAME_METADATA, 1, 8, 0, "abcdefgh");
	put_file(FRAME_METADATA, 2, 2, 0, "ab");
	check_text("t/metadata", "ab");
	close_receiver("sessions 1 unended 1 frames 3 traces 1 ", "");
}

/* ---- refusals ---- */

static void test_files_refused(void **unused)
{
	struct frame_file file;
	struct frame_writer writer;

	(void)unused;
	open_receiver(false);
	put_hello(0);
	/* No generation; before the begin, after the end. */
	put_file(FRAME_METADATA, 0, 4, 0, "abcd");
	put_file(FRAME_METADATA, 1, 3, 0, "abcd");
	put_file(FRAME_METADATA, 1, 4, 5, "");
	put_file(FRAME_METADATA, 1, 4, 1, "abcd");
	close_receiver("sessions 1 unended 1 frames 5 ", "");
	assert_int_equal(nr_reported, 0);
	/* Names that are not paths below the output: each is reported. */
	for (const char *const *name = (const char *const[]){"../t", "/t", "t/", "", "-t", ".t",
			     "a//b", "a b", "a/../b", "t\n", NULL};
			*name; name++) {
		open_receiver(false);
		put_hello(0);
		file = file_of(FRAME_METADATA, 1, 4, 0, "abcd");
		(void)snprintf(file.name, sizeof(file.name), "%s", *name);
		for (int i = 0; i < 2; i++) {
			writer = begin();
			framing_put_file(&writer, &file);
			deliver(&writer, FRAME_FILE);
		}
		assert_int_equal(nr_reported, 1);
		assert_string_equal(reported,
				"a trace is ignored: its name is not a path below the output");
		close_receiver("sessions 1 unended 1 frames 3 failed ", "");
	}
	/*
	 * Each character that a name can have, with parent directories that exist for two of them.
	 */
	open_receiver(false);
	put_hello(0);
	file = file_of(FRAME_MAPS, 1, 4, 0, "abcd");
	(void)snprintf(file.name, sizeof(file.name), "%s",
			"above/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-@=,:");
	for (uint32_t i = 0; i < 2; i++) {
		file.trace = i;
		writer = begin();
		framing_put_file(&writer, &file);
		deliver(&writer, FRAME_FILE);
	}
	close_receiver("sessions 1 unended 1 frames 3 traces 2 incomplete 2 ", "");
	check_text("above/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-@=,:/.maps",
			"abcd");
	check_text("above/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-@=,:-2/.maps",
			"abcd");
	assert_int_equal(nr_reported, 0);
}

/* The file to write is a directory, or cannot be made. */
static void test_not_written(void **unused)
{
	char path[100], expected[200];

	(void)unused;
	open_receiver(false);
	put_hello(0);
	put_file(FRAME_MAPS, 1, 4, 0, "abcd");
	(void)snprintf(path, sizeof(path), "%s/t/ring_3", output);
	assert_int_equal(mkdir(path, 0700), 0);
	put_packet(0, 0, 0, 4, 90);
	(void)snprintf(expected, sizeof(expected), "cannot write to %s: Is a directory", path);
	assert_string_equal(reported, expected);
	/* A link is not followed; the first failure is reported. */
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	put_packet(0, 0, 0, 4, 90);
	assert_int_equal(nr_reported, 1);
	assert_int_equal(unlink(path), 0);
	/* A packet that could not be written is lost as if it had not arrived. */
	put_packet(1, 4, 0, 3, 90);
	close_receiver("sessions 1 unended 1 frames 5 traces 1 packets 1 lost_packets 1 events 3 lost_events 4 "
		       "incomplete 1 failed ",
			"t/ring_3 1 4 0;");
	check_stream("t/ring_3", "84 0 0 1001 1001;90 71 13 1001 1501;");
	open_receiver(false);
	put_hello(0);
	remove_output();
	put_file(FRAME_MAPS, 1, 4, 0, "abcd");
	put_file(FRAME_MAPS, 1, 4, 0, "abcd");
	(void)snprintf(expected, sizeof(expected),
			"cannot write to %s/t: No such file or directory", output);
	assert_string_equal(reported, expected);
	assert_int_equal(nr_reported, 1);
	close_receiver("sessions 1 unended 1 frames 3 failed ", "");
}

static void change_and_put(
		size_t offset_of_field, uint64_t value, size_t size, struct frame_packet frame)
{
	memcpy((char *)&frame + offset_of_field, &value, size);
	put_frame(&frame);
}

#define PUT_CHANGED(_member, _value)                                    \
	change_and_put(offsetof(struct frame_packet, _member), _value,  \
			sizeof(((struct frame_packet *)NULL)->_member), \
			packet_of(0, 0, 0, 4, 100))

static void test_packets_refused(void **unused)
{
	static const size_t at_content = 48, at_size = 56;
	struct frame_packet frame, remainder;
	struct {
		const char *label;
		const char *name;
	} names[] = {{"directory", "a/b"}, {"hidden", ".ring"}, {"metadata", "metadata"},
			{"empty", ""}, {"option", "-x"}};

	(void)unused;
	open_receiver(false);
	put_hello(0);
	PUT_CHANGED(total, 99);
	PUT_CHANGED(total, 101);
	PUT_CHANGED(total, (1u << 30) + 1);
	PUT_CHANGED(size, 0);
	PUT_CHANGED(offset, 101);
	PUT_CHANGED(header_size, 79);
	PUT_CHANGED(header_size, 81);
	PUT_CHANGED(header_size, 83);
	PUT_CHANGED(header_size, 85);
	/* A header that is not valid. */
	frame = packet_of(0, 0, 0, 4, 100);
	((unsigned char *)(uintptr_t)frame.bytes)[0] ^= 1;
	put_frame(&frame);
	frame = packet_of(0, 0, 0, 4, 100);
	((unsigned char *)(uintptr_t)frame.bytes)[at_size] ^= 1;
	put_frame(&frame);
	frame = packet_of(0, 0, 0, 4, 100);
	((unsigned char *)(uintptr_t)frame.bytes)[at_size] ^= 8;
	((unsigned char *)(uintptr_t)frame.bytes)[at_content] ^= 8;
	put_frame(&frame);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		frame = packet_of(0, 0, 0, 4, 100);
		frame.stream = 7;
		(void)snprintf(frame.stream_name, sizeof(frame.stream_name), "%s", names[i].name);
		put_frame(&frame);
	}
	/* The second piece of another packet, of another size, from another byte, alone. */
	frame = packet_of(0, 0, 0, 4, 100);
	frame.size = 40;
	remainder = frame;
	remainder.bytes += 40;
	remainder.offset = 40;
	remainder.size = 60;
	put_frame(&remainder);
	for (int i = 0; i < 5; i++) {
		struct frame_packet wrong = remainder;

		wrong.trace += i == 0;
		wrong.stream += i == 1;
		wrong.number += i == 2;
		wrong.total += i == 3;
		if (i == 4) {
			wrong.offset++;
			wrong.size--;
		}
		put_frame(&frame);
		put_frame(&wrong);
		put_frame(&remainder);
	}
	close_receiver("sessions 1 unended 1 frames 34 traces 1 incomplete 1 ", "");
	/* A stream has one name, and a name one stream; both headers. */
	open_receiver(false);
	put_hello(0);
	put_packet(0, 0, 0, 4, 100);
	frame = packet_of(0, 0, 0, 4, 100);
	frame.stream = 4;
	put_frame(&frame);
	frame.stream = 1;
	frame.number = 1;
	frame.events_before = 4;
	frame.header_size = SMALL;
	strcpy(frame.stream_name, "other");
	put_frame(&frame);
	put_trace_end(3, 9, 0, 81);
	put_trace_end(3, 9, 0, 83);
	close_receiver("sessions 1 unended 1 frames 6 traces 1 packets 2 events 8 incomplete 1 ",
			"");
	check_stream("t/ring_3", "100 70 9 1000 1500;100 70 9 1000 1500;");
}

/* The end of a stream adds a packet only if it reports more losses than the last one. */
static void test_ends(void **unused)
{
	(void)unused;
	open_receiver(false);
	put_hello(0);
	put_packet(0, 0, 0, 4, 100);
	put_trace_end(1, 4, 0, LARGE);
	check_stream("t/ring_3", "100 70 9 1000 1500;");
	put_trace_end(1, 4, 1, LARGE);
	check_stream("t/ring_3", "100 70 9 1000 1500;84 71 10 2000 2000;");
	put_trace_end(1, 4, 1, LARGE);
	check_stream("t/ring_3", "100 70 9 1000 1500;84 71 10 2000 2000;");
	put_trace_end(1, 5, 1, SMALL);
	check_stream("t/ring_3", "100 70 9 1000 1500;84 71 10 2000 2000;80 72 11 2000 2000;");
	close_receiver("sessions 1 unended 1 frames 6 traces 1 packets 1 events 4 lost_events 1 dropped 1 incomplete 1 ",
			"t/ring_3 0 1 1;");
}

/* ---- limits ---- */

/* Puts a packet of the last stream of a trace that has this number of streams. */
static void put_stream(uint32_t trace, uint32_t streams)
{
	struct frame_packet frame = packet_of(0, 0, 0, 1, 100);

	frame.trace = trace;
	frame.stream = streams - 1;
	(void)snprintf(frame.trace_name, sizeof(frame.trace_name), "t%u", trace);
	(void)snprintf(frame.stream_name, sizeof(frame.stream_name), "ring_%u", streams);
	put_frame(&frame);
}

/* 65,536 streams of a trace, and one more. */
static void test_many_streams(void **unused)
{
	(void)unused;
	open_receiver(false);
	put_hello(0);
	put_stream(0, 65536);
	put_stream(0, 65537);
	assert_int_equal(nr_reported, 0);
	close_receiver("sessions 1 unended 1 frames 3 traces 1 packets 1 events 1 incomplete 1 ",
			"");
}

/* 4 Mi traces and streams of all senders, and one more: 64 entries are reserved for traces. */
static void test_many_entries(void **unused)
{
	(void)unused;
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		char expected[200];

		open_receiver(false);
		put_hello(0);
		for (uint32_t trace = 0; trace < 63; trace++)
			put_stream(trace, 65536);
		put_stream(63, 65536 - 64 + beyond);
		put_stream(62, 65537);
		assert_int_equal(nr_reported, beyond);
		assert_string_equal(reported,
				beyond ? "too many traces and streams: further ones are lost" : "");
		(void)snprintf(expected, sizeof(expected),
				"sessions 1 unended 1 frames 66 traces 64 packets %u events %u incomplete 64 %s",
				64 - beyond, 64 - beyond, beyond ? "failed " : "");
		close_receiver(expected, "");
	}
}

/* A frame of the largest size. */
static void test_largest_frame(void **unused)
{
	static char text[FRAME_PAYLOAD_MAX];
	struct frame_file file = file_of(FRAME_MAPS, 1, 0, 0, "");
	struct frame_writer writer = begin();

	(void)unused;
	framing_put_file(&writer, &file);
	file.size = file.total = FRAME_PAYLOAD_MAX - (size_t)(writer.at - out - FRAME_HEAD);
	file.bytes = (const unsigned char *)text;
	memset(text, 'x', file.size);
	open_receiver(false);
	put_hello(0);
	writer = begin();
	framing_put_file(&writer, &file);
	assert_ptr_equal(writer.at, writer.end);
	deliver(&writer, FRAME_FILE);
	put_file(FRAME_MAPS, 1, file.total + 4, file.total, "more");
	close_receiver("sessions 1 unended 1 frames 3 traces 1 incomplete 1 ", "");
}

/* The end of a trace that is refused ends no stream. */
static void test_end_of_refused(void **unused)
{
	struct frame_writer writer = begin();

	(void)unused;
	open_receiver(false);
	put_hello(0);
	writer = begin();
	framing_put_u32(&writer, 2);
	framing_put_name(&writer, "../t");
	framing_put_u32(&writer, 1);
	framing_put_name(&writer, "ring_3");
	framing_put_u64(&writer, 5);
	framing_put_u64(&writer, 6);
	framing_put_u64(&writer, 0);
	framing_put_u32(&writer, 5);
	framing_put_u64(&writer, 3);
	framing_put_u64(&writer, 900);
	framing_put_u64(&writer, 2000);
	framing_put_u64(&writer, 9);
	framing_put(&writer, uuid, sizeof(uuid));
	framing_put_u8(&writer, LARGE);
	deliver(&writer, FRAME_TRACE_END);
	assert_string_equal(
			reported, "a trace is ignored: its name is not a path below the output");
	close_receiver("sessions 1 unended 1 frames 2 failed ", "");
}

/* ---- failing calls ---- */

/* Each allocation fails in turn: a function reports it, or the summary has it. */
static void test_failing_calls(void **unused)
{
	const struct receive_options options = {
			.output = output, .log_message = report, .user = &summary};
	unsigned int failures = 0;
	bool has_failed;

	(void)unused;
	for (unsigned int call = 1;; call++) {
		int ret;

		open_receiver(true);
		receive_source_close(source);
		receive_destroy(receive);
		source = NULL;
		failure = 0;
		failing_arm(call);
		ret = receive_create(&options, &receive);
		if (!ret)
			source = receive_source_open(receive, true);
		if (source) {
			put_hello(0);
			put_file(FRAME_METADATA, 1, strlen(METADATA), 0, METADATA);
			put_packet(0, 0, 0, 4, 300);
			put_packet(1, 4, 0, 5, 400);
			receive_source_close(source);
		}
		has_failed = failing_has_failed();
		memset(&summary, 0, sizeof(summary));
		if (!ret) {
			receive_finish(receive, &summary);
			receive_destroy(receive);
		}
		if (!has_failed)
			break;
		failures++;
		assert_true(ret == -ENOMEM || (!ret && !source) || failure == -ENOMEM ||
				summary.out_of_memory || summary.failed);
	}
	failing_name = NULL;
	assert_int_equal(summary.packets, 2);
	assert_false(summary.out_of_memory);
	assert_true(failures >= 12);
}

/* Repeated runs of all of it leave no file open. */
static void test_nothing_is_kept(void **unused)
{
	struct resources before = {0};

	(void)unused;
	for (int round = 0; round < 6; round++) {
		test_gaps(NULL);
		test_metadata(NULL);
		test_not_written(NULL);
		if (!round)
			before = resources_now();
	}
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_whole),
			cmocka_unit_test(test_gaps),
			cmocka_unit_test(test_late_stream),
			cmocka_unit_test(test_joined),
			cmocka_unit_test(test_renamed),
			cmocka_unit_test(test_answers),
			cmocka_unit_test(test_garbage),
			cmocka_unit_test(test_metadata),
			cmocka_unit_test(test_incomplete),
			cmocka_unit_test(test_files_refused),
			cmocka_unit_test(test_not_written),
			cmocka_unit_test(test_packets_refused),
			cmocka_unit_test(test_ends),
			cmocka_unit_test(test_largest_frame),
			cmocka_unit_test(test_end_of_refused),
			cmocka_unit_test(test_many_streams),
			cmocka_unit_test(test_many_entries),
			cmocka_unit_test(test_failing_calls),
			cmocka_unit_test(test_nothing_is_kept),
	};
	int failed;

	if (!mkdtemp(output))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove_output();
	return failed;
}
