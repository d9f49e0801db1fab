/* SPDX-License-Identifier: MIT */
/* Limits of frames, of a receiver, and of the file in which a sender stores what has arrived. */
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "relay/frame.h"
#include "relay/marks.h"
#include "relay/receive.h"

static unsigned char frame_bytes[FRAME_HEAD + FRAME_PAYLOAD_MAX + 1 + FRAME_TAIL];
static size_t frame_size;
static uint64_t sequence;

static struct frame_writer begin(void)
{
	return (struct frame_writer){frame_bytes + FRAME_HEAD,
			frame_bytes + sizeof(frame_bytes) - FRAME_TAIL, false};
}

static void end(uint8_t type, uint64_t session, const struct frame_writer *writer)
{
	size_t size = (size_t)(writer->at - frame_bytes) - FRAME_HEAD;
	struct frame_writer tail = {writer->at, frame_bytes + sizeof(frame_bytes), false};

	assert_false(writer->full);
	framing_put_u32(&tail, framing_crc(0, frame_bytes + FRAME_HEAD, size));
	framing_head(frame_bytes, type, session, sequence++, (uint32_t)size);
	frame_size = FRAME_HEAD + size + FRAME_TAIL;
}

/* ---- frames ---- */

static int payload(uint64_t count)
{
	struct frame_writer writer = begin();
	enum frame_found found;
	struct relay_frame frame;
	size_t used;

	framing_put(&writer, limit_text('p', count), count);
	end(FRAME_FILE, 1, &writer);
	found = framing_find(frame_bytes, frame_size, &used, &frame);
	if (found != FRAME_WHOLE)
		return -(int)found;
	assert_int_equal(frame.size, count);
	assert_int_equal(used, frame_size);
	return 0;
}

static int file_name(uint64_t count)
{
	static struct frame_file file;
	struct frame_writer writer = begin();
	struct relay_frame frame;
	int ret;

	for (int i = 0; i < 4 + 1 + 4 + 8 + 8; i++)
		framing_put_u8(&writer, 1);
	framing_put_name(&writer, limit_text('n', count));
	frame = (struct relay_frame){.payload = frame_bytes + FRAME_HEAD,
			.size = (uint32_t)(writer.at - frame_bytes - FRAME_HEAD)};
	ret = framing_get_file(&frame, &file);
	if (!ret)
		assert_int_equal(strlen(file.name), count);
	return ret;
}

static int packet_names(size_t trace, size_t stream)
{
	static struct frame_packet packet;
	struct frame_writer writer = begin();
	struct relay_frame frame;
	int ret;

	for (int i = 0; i < 2 * 4 + 4 * 8 + 1 + 2 * 8; i++)
		framing_put_u8(&writer, 1);
	framing_put_name(&writer, limit_text('t', trace));
	framing_put_name(&writer, limit_text('s', stream));
	frame = (struct relay_frame){.payload = frame_bytes + FRAME_HEAD,
			.size = (uint32_t)(writer.at - frame_bytes - FRAME_HEAD)};
	ret = framing_get_packet(&frame, &packet);
	if (!ret) {
		assert_int_equal(strlen(packet.trace_name), trace);
		assert_int_equal(strlen(packet.stream_name), stream);
	}
	return ret;
}

static int packet_trace_name(uint64_t count)
{
	return packet_names(count, 1);
}

static int packet_stream_name(uint64_t count)
{
	return packet_names(1, count);
}

static void test_frames(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(payload, FRAME_PAYLOAD_MAX, -(int)FRAME_GARBAGE, ""),
			LIMIT_CASE(file_name, FRAME_NAME_MAX, -EBADMSG, ""),
			LIMIT_CASE(packet_trace_name, FRAME_NAME_MAX, -EBADMSG, ""),
			LIMIT_CASE(packet_stream_name, 255, -EBADMSG, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- a receiver ---- */

static char output[] = "/tmp/side-limits-XXXXXX";
static char reported[1024];
static struct receive *receive;
static struct receive_source *source;

static void log_message(void *user, bool is_error, const char *text)
{
	(void)user;
	assert_true(is_error);
	snprintf(reported, sizeof(reported), "%s", text);
}

static void remove_output(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", output);
	assert_int_equal(system(command), 0);
}

static void open_receiver(void)
{
	const struct receive_options options = {.output = output, .log_message = log_message};

	*reported = '\0';
	remove_output();
	assert_int_equal(mkdir(output, 0700), 0);
	assert_int_equal(receive_create(&options, &receive), 0);
	source = receive_source_open(receive, false);
	assert_non_null(source);
	sequence = 0;
}

static struct receive_summary close_receiver(void)
{
	struct receive_summary summary;

	receive_source_close(source);
	receive_finish(receive, &summary);
	receive_destroy(receive);
	if (*reported)
		limit_problem = reported;
	return summary;
}

static void send_hello(uint64_t session)
{
	struct frame_writer writer = begin();

	sequence = 0;
	framing_put_u32(&writer, FRAME_VERSION);
	framing_put_u32(&writer, 0);
	framing_put_name(&writer, "host");
	framing_put_name(&writer, "session");
	end(FRAME_HELLO, session, &writer);
	assert_int_equal(receive_bytes(source, frame_bytes, frame_size), 0);
}

static int senders(uint64_t count)
{
	struct receive_summary summary;

	open_receiver();
	for (uint64_t i = 1; i <= count; i++)
		send_hello(i);
	summary = close_receiver();
	assert_int_equal(summary.sessions, count < 64 ? count : 64);
	return summary.failed ? -EIO : 0;
}

/* Sends one piece of the maps of a trace, and checks whether the file exists. */
static int send_file(uint32_t trace, uint64_t total, const char *name)
{
	static struct frame_file file;
	struct frame_writer writer;
	struct receive_summary summary;
	char *path;
	int ret;

	open_receiver();
	send_hello(7);
	file = (struct frame_file){.trace = trace,
			.kind = FRAME_MAPS,
			.generation = 1,
			.total = total,
			.bytes = (const unsigned char *)"maps",
			.size = 4};
	strcpy(file.name, name);
	writer = begin();
	framing_put_file(&writer, &file);
	end(FRAME_FILE, 7, &writer);
	assert_int_equal(receive_bytes(source, frame_bytes, frame_size), 0);
	summary = close_receiver();
	assert_int_equal(summary.frames, 2);
	assert_true(asprintf(&path, "%s/%s/.maps", output, name) > 0);
	ret = access(path, F_OK) ? -errno : 0;
	assert_int_equal(summary.failed, *reported != '\0');
	free(path);
	return ret == -ENAMETOOLONG ? -ENOENT : ret;
}

static int trace_number(uint64_t count)
{
	return send_file((uint32_t)count, 4, "t");
}

static int file_total(uint64_t count)
{
	return send_file(0, count, "t");
}

/* Its bytes are within the announced size. */
static int file_total_least(uint64_t count)
{
	return send_file(0, count, "t");
}

static int name_component(uint64_t count)
{
	return send_file(0, 4, limit_text('n', count));
}

static int name_depth(uint64_t count)
{
	char *name = limit_text('d', 2 * count - 1);

	for (uint64_t i = 1; i < count; i++)
		name[2 * i - 1] = '/';
	return send_file(0, 4, name);
}

#define NO_PATH "a trace is ignored: its name is not a path below the output"

static void test_receiver(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(senders, 64, -EIO,
					"too many traces and streams: further ones are lost"),
			LIMIT_CASE(trace_number, 100000 - 1, -ENOENT, ""),
			LIMIT_CASE(file_total, 1 << 30, -ENOENT, ""),
			LEAST_CASE(file_total_least, 4, -ENOENT, ""),
			LIMIT_CASE(name_component, 200, -ENOENT, NO_PATH),
			LIMIT_CASE(name_depth, 16, -ENOENT, NO_PATH),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
}

/* ---- the file of marks ---- */

static unsigned char blocks[2 * MARKS_BLOCK];

/* The sum over a block, as the parser compares it. */
static void seal(unsigned char *block)
{
	struct frame_writer sum = {block + MARKS_BLOCK - 4, block + MARKS_BLOCK, false};

	framing_put_u32(&sum, framing_crc(0, block, MARKS_BLOCK - 4));
}

static int parse(const struct marks_head *head, const struct marks_entry *entry)
{
	struct marks marks = {.fd = -1};
	int ret;

	memset(blocks, 0, sizeof(blocks));
	marks_put_head(head, blocks);
	if (entry)
		marks_put_block(entry, blocks + MARKS_BLOCK);
	ret = marks_parse(blocks, entry ? sizeof(blocks) : MARKS_BLOCK, &marks);
	if (!ret && marks.bad)
		ret = -EILSEQ;
	else if (!ret && entry)
		assert_int_equal(marks.entries[1].kind, entry->kind);
	free(marks.entries);
	return ret;
}

static int head_traces(uint64_t count)
{
	return parse(&(struct marks_head){.nr_traces = (uint32_t)count}, NULL);
}

static int head_sequence(uint64_t count)
{
	return parse(&(struct marks_head){.sequence = count}, NULL);
}

static int head_connections(uint64_t count)
{
	return parse(&(struct marks_head){.connections = count}, NULL);
}

/* The length of a name is in the two bytes before it. */
static int longer_name(unsigned char *block, size_t at, uint64_t count)
{
	struct marks marks = {.fd = -1};
	int ret;

	block[at] = (unsigned char)count;
	block[at + 1] = (unsigned char)(count >> 8);
	memset(block + at + 2, 'n', count);
	seal(block);
	ret = marks_parse(blocks, block == blocks ? MARKS_BLOCK : sizeof(blocks), &marks);
	if (!ret && marks.bad)
		ret = -EILSEQ;
	free(marks.entries);
	return ret;
}

static int head_url(uint64_t count)
{
	assert_int_equal(parse(&(struct marks_head){.id = 1}, NULL), 0);
	return longer_name(blocks, 4 * 8 + 4 + 6 * 8, count);
}

static struct marks_entry a_trace(void)
{
	struct marks_entry entry = {.kind = MARKS_TRACE};

	strcpy(entry.trace.name, "t");
	return entry;
}

static struct marks_entry a_stream(void)
{
	struct marks_entry entry = {.kind = MARKS_STREAM};

	strcpy(entry.stream.name, "s");
	return entry;
}

static int trace_mark_number(uint64_t count)
{
	struct marks_entry entry = a_trace();

	entry.trace.number = (uint32_t)count;
	return parse(&(struct marks_head){.id = 1}, &entry);
}

static int trace_mark_generation(uint64_t count)
{
	struct marks_entry entry = a_trace();

	entry.trace.generation = (uint32_t)count;
	return parse(&(struct marks_head){.id = 1}, &entry);
}

static int trace_mark_name(uint64_t count)
{
	struct marks_entry entry = a_trace();

	assert_int_equal(parse(&(struct marks_head){.id = 1}, &entry), 0);
	return longer_name(blocks + MARKS_BLOCK, 1 + 4 + 4 + 8 + 1, count);
}

static int stream_mark_name(uint64_t count)
{
	struct marks_entry entry = a_stream();
	const unsigned char *found;

	strcpy(entry.stream.name, "stream");
	assert_int_equal(parse(&(struct marks_head){.id = 1}, &entry), 0);
	found = memmem(blocks + MARKS_BLOCK, MARKS_BLOCK, "stream", 6);
	assert_non_null(found);
	return longer_name(blocks + MARKS_BLOCK, (size_t)(found - blocks) - MARKS_BLOCK - 2, count);
}

static int stream_mark_trace(uint64_t count)
{
	struct marks_entry entry = a_stream();

	entry.stream.trace = (uint32_t)count;
	return parse(&(struct marks_head){.id = 1}, &entry);
}

static int stream_mark_number(uint64_t count)
{
	struct marks_entry entry = a_stream();

	entry.stream.number = (uint32_t)count;
	return parse(&(struct marks_head){.id = 1}, &entry);
}

static int stream_mark_offset(uint64_t count)
{
	struct marks_entry entry = a_stream();

	entry.stream.delivered.offset = count;
	return parse(&(struct marks_head){.id = 1}, &entry);
}

static int stream_mark_freed(uint64_t count)
{
	struct marks_entry entry = a_stream();

	entry.stream.delivered.offset = 1000;
	entry.stream.freed = count;
	return parse(&(struct marks_head){.id = 1}, &entry);
}

static int stream_mark_dropped(uint64_t count)
{
	struct marks_entry entry = a_stream();

	entry.stream.delivered.offset = 1000;
	entry.stream.dropped_bytes = count;
	return parse(&(struct marks_head){.id = 1}, &entry);
}

static int marks_url(uint64_t count)
{
	struct marks marks;
	char path[64];
	bool found;
	int ret;

	remove_output();
	assert_int_equal(mkdir(output, 0700), 0);
	snprintf(path, sizeof(path), "%s/marks", output);
	ret = marks_open(path, limit_text('u', count), &marks, &found);
	if (!ret) {
		assert_int_equal(strlen(marks.head.url), count);
		marks_close(&marks);
	}
	return ret;
}

/* The slot after the last one is refused before memory is allocated. */
static int marks_blocks(void)
{
	struct marks marks = {.fd = -1, .next_free = MARKS_BLOCKS_MAX};
	struct marks_entry entry = a_trace();
	uint32_t slot = 0;

	return marks_write(&marks, &slot, &entry);
}

static void test_marks(void **state)
{
	static const struct limit_case cases[] = {
			LIMIT_CASE(head_traces, MARKS_NUMBER_MAX, -EBADMSG, ""),
			LIMIT_CASE(head_sequence, INT64_MAX, -EBADMSG, ""),
			LIMIT_CASE(head_connections, INT64_MAX, -EBADMSG, ""),
			LIMIT_CASE(head_url, MARKS_URL_MAX, -EBADMSG, ""),
			LIMIT_CASE(trace_mark_number, MARKS_NUMBER_MAX - 1, -EILSEQ, ""),
			LIMIT_CASE(trace_mark_generation, UINT32_MAX - 1, -EILSEQ, ""),
			LIMIT_CASE(trace_mark_name, MARKS_NAME_MAX, -EILSEQ, ""),
			LIMIT_CASE(stream_mark_name, MARKS_STREAM_MAX, -EILSEQ, ""),
			LIMIT_CASE(stream_mark_trace, MARKS_NUMBER_MAX - 1, -EILSEQ, ""),
			LIMIT_CASE(stream_mark_number, MARKS_NUMBER_MAX - 1, -EILSEQ, ""),
			LIMIT_CASE(stream_mark_offset, INT64_MAX, -EILSEQ, ""),
			LIMIT_CASE(stream_mark_freed, 1000, -EILSEQ, ""),
			LIMIT_CASE(stream_mark_dropped, 1000, -EILSEQ, ""),
			LIMIT_CASE(marks_url, MARKS_URL_MAX, -ENAMETOOLONG, ""),
	};

	(void)state;
	limits_try(cases, sizeof(cases) / sizeof(*cases));
	assert_int_equal(marks_blocks(), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_frames),
			cmocka_unit_test(test_receiver),
			cmocka_unit_test(test_marks),
	};
	int ret;

	if (!mkdtemp(output))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	remove_output();
	return ret;
}
