/* SPDX-License-Identifier: MIT */
/*
 * A receiver of hostile input. The test makes a stream of two traces; unchanged, the receiver gets
 * all of it. Then the test changes bytes, in the same way in each run: in frames, with corrected
 * checksums, so that the receiver reads their content, and in the raw stream. The worst permitted
 * result is a wrong number in the summary, and no file outside of the output. With -DFUZZ_TARGET
 * the frames are libFuzzer's.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "ctf/ctf.h"
#include "relay/frame.h"
#include "relay/receive.h"

#define FRAME_MAX (FRAME_HEAD + 4096 + FRAME_TAIL)
#define FRAMES_MAX 64
#define SESSION UINT64_C(0x1122334455667788)

static char work[] = "/tmp/side-receive-XXXXXX";
static char output[sizeof(work) + 8];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

static void remove_output(void)
{
	CHECK(!nftw(output, remove_one, 16, FTW_DEPTH | FTW_PHYS));
}

static void prepare(void)
{
	CHECK(mkdtemp(work));
	snprintf(output, sizeof(output), "%s/out", work);
}

/* Receives the bytes in pieces, as a connection delivers them. */
static struct receive_summary receive_all(const unsigned char *bytes, size_t size, size_t piece)
{
	const struct receive_options options = {.output = output};
	unsigned char answer[RECEIVE_ANSWER_MAX];
	struct receive_summary summary;
	struct receive_source *source;
	struct receive *receive;

	CHECK(!mkdir(output, 0700));
	CHECK(!receive_create(&options, &receive));
	source = receive_source_open(receive, piece % 2);
	CHECK(source);
	while (size) {
		size_t now = piece < size ? piece : size;

		CHECK(!receive_bytes(source, bytes, now));
		CHECK(receive_answer(source, answer) <= sizeof(answer));
		bytes += now;
		size -= now;
	}
	receive_source_close(source);
	receive_finish(receive, &summary);
	receive_destroy(receive);
	remove_output();
	return summary;
}

/* Puts head and checksum around a payload; returns the total size. */
static size_t wrap(unsigned char *frame, uint8_t type, uint64_t sequence, size_t size)
{
	struct frame_writer tail = {
			frame + FRAME_HEAD + size, frame + FRAME_HEAD + size + FRAME_TAIL, false};

	framing_put_u32(&tail, framing_crc(0, frame + FRAME_HEAD, size));
	framing_head(frame, type, SESSION, sequence, (uint32_t)size);
	return FRAME_HEAD + size + FRAME_TAIL;
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* The input, for each frame: its type, its size in two bytes, its payload. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static unsigned char bytes[1 << 20];
	size_t used = 0;
	uint64_t sequence = 0;

	if (!*output)
		prepare();
	while (size >= 3 && sizeof(bytes) - used > FRAME_HEAD + 0xffff + FRAME_TAIL) {
		size_t payload = data[1] + ((size_t)data[2] << 8);

		payload = payload < size - 3 ? payload : size - 3;
		memcpy(bytes + used + FRAME_HEAD, data + 3, payload);
		used += wrap(bytes + used, data[0], sequence++, payload);
		data += 3 + payload;
		size -= 3 + payload;
	}
	receive_all(bytes, used, 1 << 16);
	return 0;
}

#else

/* ---- a stream ---- */

static struct {
	unsigned char bytes[FRAME_MAX];
	size_t payload;
	uint8_t type;
} frames[FRAMES_MAX];
static uint32_t nr_frames;

static struct frame_writer begin(void)
{
	unsigned char *bytes = frames[nr_frames].bytes;

	CHECK(nr_frames < FRAMES_MAX);
	return (struct frame_writer){bytes + FRAME_HEAD, bytes + FRAME_MAX - FRAME_TAIL, false};
}

static void end(const struct frame_writer *writer, uint8_t type)
{
	CHECK(!writer->full);
	frames[nr_frames].type = type;
	frames[nr_frames].payload = (size_t)(writer->at - frames[nr_frames].bytes) - FRAME_HEAD;
	nr_frames++;
}

static const char metadata[] = "/* CTF 1.8 */\n\ntypealias integer { size = 8; } := u8;\n";

static void add_file(uint32_t trace, const char *name, uint8_t kind)
{
	struct frame_writer writer = begin();
	struct frame_file file = {
			.trace = trace,
			.kind = kind,
			.total = sizeof(metadata) - 1,
			.bytes = (const unsigned char *)metadata,
			.size = sizeof(metadata) - 1,
	};

	snprintf(file.name, sizeof(file.name), "%s", name);
	framing_put_file(&writer, &file);
	end(&writer, FRAME_FILE);
}

/* Adds a packet in this many pieces. */
static void add_packet(uint32_t trace, const char *name, uint64_t number, uint32_t pieces)
{
	static struct frame_packet head;
	unsigned char bytes[84];
	struct ctf_packet packet = {
			.bytes = bytes,
			.capacity = sizeof(bytes),
			.instance = 1,
			.begin = number,
			.end = number,
			.sequence = number,
	};
	uint32_t i;

	ctf_packet_make_empty(&packet, sizeof(bytes));
	for (i = 0; i < pieces; i++) {
		struct frame_writer writer = begin();
		size_t piece = sizeof(bytes) / pieces;

		head.trace = trace;
		head.number = number;
		head.events_before = number * 10;
		head.events = 10;
		head.header_size = sizeof(bytes);
		head.total = sizeof(bytes);
		head.offset = i * piece;
		head.bytes = bytes + head.offset;
		head.size = i + 1 < pieces ? piece : sizeof(bytes) - i * piece;
		snprintf(head.trace_name, sizeof(head.trace_name), "%s", name);
		snprintf(head.stream_name, sizeof(head.stream_name), "ring_1");
		framing_put_packet(&writer, &head);
		end(&writer, FRAME_PACKET);
	}
}

static void add_trace_end(uint32_t trace, const char *name, uint64_t packets)
{
	const unsigned char uuid[16] = {0};
	struct frame_writer writer = begin();

	framing_put_u32(&writer, trace);
	framing_put_name(&writer, name);
	framing_put_u32(&writer, 0);
	framing_put_name(&writer, "ring_1");
	framing_put_u64(&writer, packets);
	framing_put_u64(&writer, packets * 10);
	framing_put_u64(&writer, 0);
	framing_put_u32(&writer, 0);
	framing_put_u64(&writer, 1);
	framing_put_u64(&writer, 0);
	framing_put_u64(&writer, packets);
	framing_put_u64(&writer, 0);
	framing_put(&writer, uuid, sizeof(uuid));
	framing_put_u8(&writer, 84);
	end(&writer, FRAME_TRACE_END);
}

static void make_stream(void)
{
	static const char *const names[] = {"one", "two/below"};
	struct frame_writer writer = begin();
	uint32_t trace, number;

	framing_put_u32(&writer, FRAME_VERSION);
	framing_put_u32(&writer, 0);
	framing_put_name(&writer, "host");
	framing_put_name(&writer, "session");
	end(&writer, FRAME_HELLO);
	for (trace = 0; trace < 2; trace++) {
		add_file(trace, names[trace], FRAME_METADATA);
		add_file(trace, names[trace], FRAME_MAPS);
		for (number = 0; number < 4; number++)
			add_packet(trace, names[trace], number, number + 1);
		add_trace_end(trace, names[trace], 4);
	}
	writer = begin();
	framing_put_u64(&writer, nr_frames + 1);
	framing_put_u64(&writer, 8);
	framing_put_u64(&writer, 80);
	framing_put_u64(&writer, 0);
	framing_put_u64(&writer, 0);
	framing_put_u32(&writer, 2);
	end(&writer, FRAME_END);
}

/* ---- mutation ---- */

static uint32_t random_number(size_t limit)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state % limit);
}

static void mutate(unsigned char *bytes, size_t size)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, '/', '.'};
	uint32_t changes = 1 + random_number(3);

	while (size && changes--)
		bytes[random_number(size)] = random_number(2)
				? values[random_number(sizeof(values))]
				: (unsigned char)random_number(256);
}

static unsigned char stream[FRAMES_MAX * FRAME_MAX];

/* Writes the stream; of this many frames, some are changed, left out or repeated. */
static size_t write_stream(uint32_t bad)
{
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < nr_frames; i++) {
		unsigned char *at = stream + used;
		bool is_bad = bad && random_number(nr_frames) < bad;
		uint8_t type = frames[i].type;

		if (is_bad && !random_number(8))
			continue;
		memcpy(at, frames[i].bytes, FRAME_HEAD + frames[i].payload);
		if (is_bad)
			mutate(at + FRAME_HEAD, frames[i].payload);
		if (is_bad && !random_number(16))
			type = (uint8_t)random_number(8);
		used += wrap(at, type, i,
				is_bad && !random_number(8) ? random_number(frames[i].payload + 1)
							    : frames[i].payload);
	}
	return used;
}

static void check_whole(void)
{
	size_t size = write_stream(0);
	struct receive_summary summary;
	size_t piece;

	for (piece = 1; piece <= size; piece *= 7) {
		summary = receive_all(stream, size, piece);
		CHECK(summary.sessions == 1 && !summary.unended && summary.traces == 2);
		CHECK(summary.frames == nr_frames && !summary.lost_frames && !summary.garbage);
		CHECK(summary.packets == 8 && summary.events == 80 && !summary.failed);
		CHECK(!summary.lost_packets && !summary.lost_events);
	}
}

/* No file was created outside of the output. */
static void check_outside(void)
{
	char command[sizeof(work) + 64];

	snprintf(command, sizeof(command), "test -z \"$(ls -A %s)\"", work);
	CHECK(!system(command));
}

/* Writes a seed for libFuzzer. */
static void write_seed(const char *path)
{
	FILE *seed = fopen(path, "w");
	uint32_t i;

	CHECK(seed);
	for (i = 0; i < nr_frames; i++) {
		const unsigned char head[3] = {frames[i].type, (unsigned char)frames[i].payload,
				(unsigned char)(frames[i].payload >> 8)};

		CHECK(fwrite(head, sizeof(head), 1, seed) == 1);
		CHECK(fwrite(frames[i].bytes + FRAME_HEAD, 1, frames[i].payload, seed) ==
				frames[i].payload);
	}
	CHECK(!fclose(seed));
}

int main(int argc, char **argv)
{
	uint32_t rounds = getenv("SIDE_TEST_LONG") ? 50000 : 400;

	make_stream();
	if (argc > 1) {
		write_seed(argv[1]);
		return 0;
	}
	prepare();
	check_whole();
	while (rounds--) {
		size_t size = write_stream(1 + random_number(4));

		if (!random_number(4))
			mutate(stream, size);
		receive_all(stream, random_number(8) ? size : random_number(size + 1),
				1 + random_number(size + 1));
		if (rounds % 50 == 0)
			check_outside();
	}
	CHECK(!rmdir(work));
	return 0;
}

#endif
