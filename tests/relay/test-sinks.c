/* SPDX-License-Identifier: MIT */
/*
 * Sinks, each function on its own: the frames in a file or on a connection, what an answer
 * delivers, and each command to a relay daemon.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "relay/frame.h"
#include "relay/sink.h"

#define MANY 200
#define PACKET_HEAD \
	(4 + 4 + 4 * 8 + 1 + 2 * 8 + 2 + 3 + 2 + 6) /* size of a packet's payload with its names */

static char root[] = "/tmp/side-sinks-XXXXXX";
static int64_t seconds_added;

/* The time passes as the test sets it. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int ret = (int)syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += clock == CLOCK_MONOTONIC ? seconds_added : 0;
	return ret;
}

static char *path_of(const char *name)
{
	static char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void remove_all(void)
{
	char command[100];

	(void)snprintf(command, sizeof(command), "rm -rf %s/*", root);
	assert_int_equal(system(command), 0);
}

/* ---- frames that were written ---- */

static unsigned char written[4 << 20];
static struct relay_frame frames[MANY];
static unsigned int nr_frames;

static void parse_frames(size_t size)
{
	size_t at = 0, used;

	nr_frames = 0;
	while (at < size) {
		assert_true(nr_frames < MANY);
		assert_int_equal(framing_find(written + at, size - at, &used, &frames[nr_frames++]),
				FRAME_WHOLE);
		at += used;
	}
}

/* Reads all frames of a file since the last call. */
static void read_frames(int fd)
{
	size_t used = 0;
	ssize_t got;

	while ((got = read(fd, written + used, sizeof(written) - used)) > 0)
		used += (size_t)got;
	parse_frames(used);
}

static struct frame_reader reader_of(unsigned int index, uint8_t type)
{
	assert_true(index < nr_frames);
	assert_int_equal(frames[index].type, type);
	return (struct frame_reader){
			frames[index].payload, frames[index].payload + frames[index].size, false};
}

static void check_hello(unsigned int index, uint32_t flags, uint64_t sequence)
{
	struct frame_reader reader = reader_of(index, FRAME_HELLO);
	char name[300], host[256] = "";

	gethostname(host, sizeof(host) - 1);
	assert_int_equal(frames[index].sequence, sequence);
	assert_int_equal(frames[index].session, 77);
	assert_int_equal(framing_get_u32(&reader), FRAME_VERSION);
	assert_int_equal(framing_get_u32(&reader), flags);
	framing_get_name(&reader, name, sizeof(name));
	assert_string_equal(name, host);
	framing_get_name(&reader, name, sizeof(name));
	assert_string_equal(name, "web");
	assert_false(reader.bad);
	assert_ptr_equal(reader.at, reader.end);
}

static void check_file(
		unsigned int index, uint8_t kind, uint64_t total, uint64_t offset, size_t size)
{
	static struct frame_file file;

	(void)reader_of(index, FRAME_FILE);
	assert_int_equal(framing_get_file(&frames[index], &file), 0);
	assert_int_equal(file.trace, 6);
	assert_int_equal(file.kind, kind);
	assert_int_equal(file.generation, 3);
	assert_int_equal(file.total, total);
	assert_int_equal(file.offset, offset);
	assert_int_equal(file.size, size);
	assert_string_equal(file.name, "a/b");
	assert_int_equal(*file.bytes, 'a' + offset % 23);
	assert_int_equal(file.bytes[size - 1], 'a' + (offset + size - 1) % 23);
}

/* A terminal passes bytes on in pieces. */
static void read_exactly(int fd, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read(fd, written + used, size - used);

		assert_true(got > 0);
		used += (size_t)got;
	}
	parse_frames(size);
}

/* ---- a trace to send ---- */

static struct follow follow;
static struct follow_trace trace;
static struct follow_stream streams[2];
static struct sink *sink;
static struct error send_error;

static void make_sink(enum url_kind kind, const char *path)
{
	sink = bytes_create();
	assert_non_null(sink);
	assert_int_equal(sink->watch_fd, -1);
	sink->id = 77;
	sink->session = "web";
	sink->timeout.stop_fd = -1;
	sink->url.kind = kind;
	(void)snprintf(sink->url.path, sizeof(sink->url.path), "%s", path);
	memset(&send_error, 0, sizeof(send_error));
	memset(&follow, 0, sizeof(follow));
	memset(&trace, 0, sizeof(trace));
	memset(streams, 0, sizeof(streams));
	trace.number = 6;
	trace.generation = 3;
	trace.name = (char *)(uintptr_t) "a/b";
	trace.path = root;
	trace.streams = &streams[0];
	trace.nr_streams = 2;
	streams[0].next = &streams[1];
	for (uint32_t i = 0; i < 2; i++) {
		streams[i].trace = &trace;
		streams[i].number = 10 + i;
		streams[i].plain = (char *)(uintptr_t)(i ? "ring_1" : "ring_0");
		streams[i].at = (struct marks_position){1000 + i, 20 + i, 300 + i};
		streams[i].dropped_events = 40 + i;
		streams[i].dropped_packets = 5 + i;
		streams[i].header_size = 84 - 4 * i;
		streams[i].begin = 600 + i;
		streams[i].last = (struct ctf_packet){.class_id = 7 + i,
				.instance = 80 + i,
				.end = 900 + i,
				.discarded = 110 + i,
				.uuid = {1, 2, 3, (unsigned char)(4 + i)}};
	}
	follow.traces = &trace;
	follow.nr_traces = 9;
	follow.past = (struct marks_sums){.packets = 1000,
			.events = 20000,
			.dropped_packets = 300,
			.dropped_events = 4000};
}

static char *make_text(size_t size)
{
	static char text[200000];

	assert_true(size <= sizeof(text));
	for (size_t i = 0; i < size; i++)
		text[i] = (char)('a' + i % 23);
	return text;
}

static int open_sink(void)
{
	return sink->ops->open(sink, &send_error);
}

static void check_trace_end(unsigned int index)
{
	struct frame_reader reader = reader_of(index, FRAME_TRACE_END);
	char name[300];

	assert_int_equal(framing_get_u32(&reader), 6);
	framing_get_name(&reader, name, sizeof(name));
	assert_string_equal(name, "a/b");
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(framing_get_u32(&reader), 10 + i);
		framing_get_name(&reader, name, sizeof(name));
		assert_string_equal(name, i ? "ring_1" : "ring_0");
		assert_int_equal(framing_get_u64(&reader), 20 + i);
		assert_int_equal(framing_get_u64(&reader), 300 + i);
		assert_int_equal(framing_get_u64(&reader), 40 + i);
		assert_int_equal(framing_get_u32(&reader), 7 + i);
		assert_int_equal(framing_get_u64(&reader), 80 + i);
		assert_int_equal(framing_get_u64(&reader), 600 + i);
		assert_int_equal(framing_get_u64(&reader), 900 + i);
		assert_int_equal(framing_get_u64(&reader), 150 + 2 * i);
		assert_memory_equal(framing_get(&reader, 16), streams[i].last.uuid, 16);
		assert_int_equal(framing_get_u8(&reader), 84 - 4 * i);
	}
	assert_false(reader.bad);
	assert_ptr_equal(reader.at, reader.end);
}

static void check_end(unsigned int index, uint64_t total)
{
	struct frame_reader reader = reader_of(index, FRAME_END);

	assert_int_equal(framing_get_u64(&reader), total);
	assert_int_equal(framing_get_u64(&reader), 1000 + 41);
	assert_int_equal(framing_get_u64(&reader), 20000 + 601);
	assert_int_equal(framing_get_u64(&reader), 300 + 11);
	assert_int_equal(framing_get_u64(&reader), 4000 + 81);
	assert_int_equal(framing_get_u32(&reader), 9);
	assert_false(reader.bad);
	assert_ptr_equal(reader.at, reader.end);
}

static void check_packet(unsigned int index, uint64_t total, uint64_t offset, size_t size)
{
	static struct frame_packet packet;

	(void)reader_of(index, FRAME_PACKET);
	assert_int_equal(framing_get_packet(&frames[index], &packet), 0);
	assert_int_equal(packet.trace, 6);
	assert_int_equal(packet.stream, 11);
	assert_int_equal(packet.number, 21);
	assert_int_equal(packet.events_before, 301);
	assert_int_equal(packet.dropped_before, 41);
	assert_int_equal(packet.events, 12);
	assert_int_equal(packet.header_size, 80);
	assert_int_equal(packet.total, total);
	assert_int_equal(packet.offset, offset);
	assert_int_equal(packet.size, size);
	assert_string_equal(packet.trace_name, "a/b");
	assert_string_equal(packet.stream_name, "ring_1");
	assert_int_equal(*packet.bytes, 'a' + offset % 23);
}

static void put_packet(size_t size)
{
	const struct ctf_packet packet = {.bytes = (unsigned char *)make_text(size), .size = size};

	assert_int_equal(sink->ops->packet(sink, &streams[1], &packet, 12), 0);
}

static void test_file(void **unused)
{
	char metadata[100000];
	FILE *file;
	int fd;

	(void)unused;
	make_sink(URL_PATH, path_of("out"));
	assert_int_equal(open_sink(), 0);
	assert_int_equal(sink->watch_fd, -1);
	fd = open(path_of("out"), O_RDONLY | O_CLOEXEC);
	read_frames(fd);
	assert_int_equal(nr_frames, 1);
	check_hello(0, 0, 0);
	assert_int_equal(sink->sequence, 1);
	/* New text after the sent one, in two pieces; maps in one; none. */
	trace.sent_metadata = 500;
	trace.sent_maps = 300;
	assert_int_equal(sink->ops->text(sink, &trace, false,
					 make_text(FRAME_PIECE + 500 + 30) + 500, FRAME_PIECE + 30),
			0);
	assert_int_equal(sink->ops->text(sink, &trace, true, make_text(340) + 300, 40), 0);
	assert_int_equal(sink->ops->text(sink, &trace, true, "", 0), 0);
	read_frames(fd);
	assert_int_equal(nr_frames, 3);
	check_file(0, FRAME_METADATA, FRAME_PIECE + 530, 500, FRAME_PIECE);
	check_file(1, FRAME_METADATA, FRAME_PIECE + 530, FRAME_PIECE + 500, 30);
	check_file(2, FRAME_MAPS, 340, 300, 40);
	/* Packets: of one piece, and with one byte more. */
	put_packet(FRAME_PIECE);
	put_packet(FRAME_PIECE + 1);
	assert_int_equal(trace.since_repeat, 2 * FRAME_PIECE + 1);
	read_frames(fd);
	assert_int_equal(nr_frames, 3);
	check_packet(0, FRAME_PIECE, 0, FRAME_PIECE);
	check_packet(1, FRAME_PIECE + 1, 0, FRAME_PIECE);
	check_packet(2, FRAME_PIECE + 1, FRAME_PIECE, 1);
	/* Delivered at once. Metadata is repeated after 256 KiB, or 16 times its size. */
	trace.since_repeat = (256 << 10) - 1;
	trace.sent_metadata = 10000;
	sink->ops->on_advanced(sink, &streams[1]);
	assert_memory_equal(&streams[1].delivered, &streams[1].at, sizeof(streams[1].at));
	assert_int_equal(trace.sent_metadata, 10000);
	assert_int_equal(trace.since_repeat, (256 << 10) - 1);
	trace.since_repeat++;
	sink->ops->on_advanced(sink, &streams[1]);
	assert_int_equal(trace.sent_metadata, 0);
	assert_int_equal(trace.sent_maps, 0);
	assert_int_equal(trace.since_repeat, 0);
	trace.sent_metadata = 20000;
	trace.sent_maps = 30;
	trace.since_repeat = 16 * 20000 - 1;
	sink->ops->on_advanced(sink, &streams[1]);
	assert_int_equal(trace.sent_metadata, 20000);
	trace.since_repeat++;
	sink->ops->on_advanced(sink, &streams[1]);
	assert_int_equal(trace.sent_metadata, 0);
	assert_int_equal(trace.sent_maps, 0);
	/* Or after 5 seconds, if packets were sent. */
	trace.sent_metadata = 20000;
	trace.sent_maps = 30;
	trace.since_repeat = 1;
	seconds_added += 4;
	assert_int_equal(sink->ops->flush(sink, &follow, false), 0);
	assert_int_equal(trace.sent_metadata, 20000);
	seconds_added += 2;
	trace.done = true;
	assert_int_equal(sink->ops->flush(sink, &follow, false), 0);
	assert_int_equal(trace.sent_metadata, 20000);
	trace.done = false;
	assert_int_equal(sink->ops->flush(sink, &follow, false), 0);
	assert_int_equal(trace.sent_metadata, 20000);
	seconds_added += 5;
	trace.since_repeat = 0;
	assert_int_equal(sink->ops->flush(sink, &follow, false), 0);
	assert_int_equal(trace.sent_metadata, 20000);
	seconds_added += 5;
	trace.since_repeat = 1;
	assert_int_equal(sink->ops->flush(sink, &follow, false), 0);
	assert_int_equal(trace.sent_metadata, 0);
	assert_int_equal(trace.sent_maps, 0);
	assert_int_equal(trace.since_repeat, 0);
	/* The end of a trace: its metadata once more, and two copies. */
	file = fopen(path_of("metadata"), "we");
	assert_non_null(file);
	memcpy(metadata, make_text(900), 900);
	assert_int_equal(fwrite(metadata, 1, 900, file), 900);
	assert_int_equal(fclose(file), 0);
	trace.ended = true;
	trace.sent_metadata = 333;
	assert_int_equal(sink->ops->end_trace(sink, &trace), 0);
	assert_int_equal(trace.sent_metadata, 333);
	read_frames(fd);
	assert_int_equal(nr_frames, 3);
	check_file(0, FRAME_METADATA, 900, 0, 900);
	check_trace_end(1);
	check_trace_end(2);
	/* Metadata that cannot be read is an error. */
	assert_int_equal(unlink(path_of("metadata")), 0);
	assert_int_equal(sink->ops->end_trace(sink, &trace), -ENOENT);
	read_frames(fd);
	assert_int_equal(nr_frames, 0);
	assert_int_equal(sink->ops->end(sink, &follow), 0);
	read_frames(fd);
	assert_int_equal(nr_frames, 2);
	check_end(0, sink->sequence);
	check_end(1, sink->sequence);
	assert_int_equal(frames[1].sequence, sink->sequence - 1);
	sink->ops->close(sink);
	/* Another connection continues after it. */
	sink->connections = 1;
	assert_int_equal(open_sink(), 0);
	sink->ops->close(sink);
	sink->delivered = true;
	assert_int_equal(open_sink(), 0);
	read_frames(fd);
	assert_int_equal(nr_frames, 2);
	check_hello(0, FRAME_HELLO_RESUMED, sink->sequence - 2);
	check_hello(1, FRAME_HELLO_RESUMED | FRAME_HELLO_ACKNOWLEDGED, sink->sequence - 1);
	sink->connections = 0;
	sink->ops->close(sink);
	assert_int_equal(open_sink(), 0);
	read_frames(fd);
	check_hello(0, FRAME_HELLO_ACKNOWLEDGED, sink->sequence - 1);
	sink->ops->free(sink);
	close(fd);
	remove_all();
}

/* So many streams that their end needs two frames. */
static void test_many_streams(void **unused)
{
	static struct follow_stream many[900];
	struct frame_reader reader;
	unsigned int first = 0;
	char name[300];
	int fd;

	(void)unused;
	make_sink(URL_PATH, path_of("out"));
	assert_int_equal(open_sink(), 0);
	for (uint32_t i = 0; i < 900; i++) {
		many[i] = streams[0];
		many[i].number = i;
		many[i].next = i < 899 ? &many[i + 1] : NULL;
	}
	trace.streams = many;
	assert_int_equal(close(creat(path_of("metadata"), 0600)), 0);
	assert_int_equal(sink->ops->end_trace(sink, &trace), 0);
	fd = open(path_of("out"), O_RDONLY | O_CLOEXEC);
	read_frames(fd);
	close(fd);
	assert_int_equal(nr_frames, 1 + 2 * 2);
	for (unsigned int i = 1; i < 3; i++) {
		reader = reader_of(i, FRAME_TRACE_END);
		(void)framing_get_u32(&reader);
		framing_get_name(&reader, name, sizeof(name));
		for (; reader.at < reader.end; first++) {
			assert_int_equal(framing_get_u32(&reader), first);
			framing_get_name(&reader, name, sizeof(name));
			assert_non_null(framing_get(&reader, 3 * 8 + 4 + 5 * 8 - 8 + 16 + 1));
		}
		assert_false(reader.bad);
		/* The first frame is full. */
		if (i == 1)
			assert_in_range(frames[i].size + FRAME_HEAD, FRAME_PIECE, FRAME_PIECE + 99);
	}
	assert_int_equal(first, 900);
	/* A name that no frame can hold. */
	trace.name = make_text(199999);
	trace.name[199999] = '\0';
	assert_int_equal(sink->ops->end_trace(sink, &trace), -ENAMETOOLONG);
	sink->ops->free(sink);
	remove_all();
}

static void refuse_path(const char *name, bool no_files, int code, const char *before,
		const char *reason, bool is_final)
{
	char expected[500];

	make_sink(URL_PATH, *name == '/' ? name : path_of(name));
	(void)snprintf(expected, sizeof(expected), "%s%.300s%s", before, sink->url.path, reason);
	sink->no_files = no_files;
	sink->speed = 7;
	assert_int_equal(open_sink(), code);
	assert_string_equal(send_error.text, expected);
	assert_int_equal(sink->final_error, is_final);
	assert_int_equal(sink->sequence, 0);
	sink->ops->free(sink);
}

static void test_paths_refused(void **unused)
{
	struct resources before;
	char terminal[100] = "";
	int reader, master;

	(void)unused;
	assert_int_equal(close(creat(path_of("file"), 0600)), 0);
	assert_int_equal(mkdir(path_of("folder"), 0700), 0);
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_int_equal(symlink("file", path_of("link")), 0);
	assert_int_equal(symlink("nothing", path_of("dangling")), 0);
	assert_int_equal(symlink("pipe", path_of("pipelink")), 0);
	master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(master >= 0 && !grantpt(master) && !unlockpt(master) &&
			!ptsname_r(master, terminal, sizeof(terminal)));
	before = resources_now();
	for (int round = 0; round < 3; round++) {
		refuse_path("file", true, -EPERM, "",
				" is a file: a daemon of the system sends to devices and pipes only",
				true);
		refuse_path("link", true, -ELOOP, "cannot write to ",
				": it is a symbolic link to a file", true);
		refuse_path("link", false, -ELOOP, "cannot write to ",
				": it is a symbolic link to a file", true);
		refuse_path("dangling", true, -ENOENT, "", " does not exist", false);
		refuse_path("dangling", false, -ENOENT, "cannot write to ",
				": No such file or directory", true);
		refuse_path("none", true, -ENOENT, "", " does not exist", false);
		refuse_path("no/file", false, -ENOENT, "cannot write to ",
				": No such file or directory", true);
		refuse_path("/dev/side-none", false, -ENOENT, "", " does not exist", false);
		refuse_path("folder", false, -EISDIR, "cannot write to ", ": Is a directory", true);
		refuse_path("pipe", false, -ENXIO, "cannot write to ", ": no process reads from it",
				false);
		refuse_path("pipelink", true, -ENXIO, "cannot write to ",
				": no process reads from it", false);
		refuse_path(terminal, false, -EINVAL, "cannot write to ",
				": this speed is not possible on a serial line", true);
	}
	assert_int_equal(access(path_of("nothing"), F_OK), -1);
	assert_int_equal(access(path_of("none"), F_OK), -1);
	assert_int_equal(resources_now().descriptors, before.descriptors);
	/* A link to a pipe is followed. */
	reader = open(path_of("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	make_sink(URL_PATH, path_of("pipelink"));
	sink->no_files = true;
	assert_int_equal(open_sink(), 0);
	read_frames(reader);
	assert_int_equal(nr_frames, 1);
	check_hello(0, 0, 0);
	sink->ops->close(sink);
	assert_int_equal(read(reader, written, 1), 0);
	sink->ops->free(sink);
	close(reader);
	/* A serial line has small pieces, and metadata is repeated after 16 KiB. */
	make_sink(URL_PATH, terminal);
	sink->speed = 9600;
	assert_int_equal(open_sink(), 0);
	read_exactly(master, FRAME_HEAD + frames[0].size + FRAME_TAIL);
	check_hello(0, 0, 0);
	put_packet(FRAME_PIECE_SERIAL + 1);
	read_exactly(master, 2 * (FRAME_HEAD + PACKET_HEAD + FRAME_TAIL) + FRAME_PIECE_SERIAL + 1);
	assert_int_equal(nr_frames, 2);
	check_packet(0, FRAME_PIECE_SERIAL + 1, 0, FRAME_PIECE_SERIAL);
	check_packet(1, FRAME_PIECE_SERIAL + 1, FRAME_PIECE_SERIAL, 1);
	trace.since_repeat = (16 << 10) - 1;
	trace.sent_metadata = 1024;
	sink->ops->on_advanced(sink, &streams[1]);
	assert_int_equal(trace.sent_metadata, 1024);
	trace.since_repeat++;
	sink->ops->on_advanced(sink, &streams[1]);
	assert_int_equal(trace.sent_metadata, 0);
	sink->ops->free(sink);
	close(master);
	assert_int_equal(resources_now().descriptors, before.descriptors - 1);
	remove_all();
}

/* ---- the disk is full, the reader has exited ---- */

static void test_failed_writes(void **unused)
{
	int saved, ends[2];

	(void)unused;
	make_sink(URL_PATH, "/dev/full");
	assert_int_equal(open_sink(), -ENOSPC);
	assert_string_equal(send_error.text, "cannot write: No space left on device");
	/* The first frame is the first one again. */
	assert_int_equal(sink->sequence, 0);
	sink->ops->close(sink);
	sink->sequence = 8;
	assert_int_equal(open_sink(), -ENOSPC);
	assert_int_equal(sink->sequence, 9);
	assert_int_equal(sink->ops->text(sink, &trace, false, "abc", 3), -ENOSPC);
	assert_int_equal(sink->ops->packet(sink, &streams[1],
					 &(struct ctf_packet){
							 .bytes = (unsigned char *)make_text(90),
							 .size = 90},
					 12),
			-ENOSPC);
	assert_int_equal(trace.since_repeat, 0);
	assert_int_equal(sink->ops->end(sink, &follow), -ENOSPC);
	assert_int_equal(close(creat(path_of("metadata"), 0600)), 0);
	assert_int_equal(sink->ops->end_trace(sink, &trace), -ENOSPC);
	sink->ops->free(sink);
	/* Standard output stays open. */
	assert_int_equal(pipe(ends), 0);
	(void)fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	make_sink(URL_STANDARD, "");
	assert_int_equal(open_sink(), 0);
	assert_int_equal(sink->watch_fd, -1);
	sink->ops->free(sink);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	close(saved);
	close(ends[1]);
	read_frames(ends[0]);
	close(ends[0]);
	assert_int_equal(nr_frames, 1);
	check_hello(0, 0, 0);
	remove_all();
}

/* ---- over TCP ---- */

static int listener, peer;

static void listen_at(char port[16])
{
	struct sockaddr_in address = {
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 5), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	(void)snprintf(port, 16, "%d", ntohs(address.sin_port));
}

static void open_tcp(void)
{
	make_sink(URL_TCP, "");
	strcpy(sink->url.host, "127.0.0.1");
	listen_at(sink->url.port);
	assert_int_equal(open_sink(), 0);
	assert_true(sink->watch_fd >= 0);
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(peer >= 0);
	close(listener);
}

static void acknowledge(uint8_t type, uint64_t session, uint64_t sequence, size_t size)
{
	unsigned char frame[FRAME_HEAD + 8 + FRAME_TAIL];
	struct frame_writer writer = {frame + FRAME_HEAD, frame + sizeof(frame), false};

	framing_put_u64(&writer, sequence);
	writer.at = frame + FRAME_HEAD + size;
	framing_put_u32(&writer, framing_crc(0, frame + FRAME_HEAD, size));
	framing_head(frame, type, session, sequence, (uint32_t)size);
	assert_int_equal(write(peer, frame, FRAME_HEAD + size + FRAME_TAIL),
			FRAME_HEAD + size + FRAME_TAIL);
}

static int flush_sink(bool wait)
{
	return sink->ops->flush(sink, &follow, wait);
}

static int nr_waits;

static int end_wait(void *user)
{
	nr_waits++;
	return *(int *)user;
}

/* Packet `number` was sent with the frame `sequence`, and extends to byte `offset`. */
static void pass_packet(uint64_t sequence, uint64_t offset)
{
	sink->sequence = sequence + 1;
	streams[1].at = (struct marks_position){offset, sequence, offset * 2};
	sink->ops->on_advanced(sink, &streams[1]);
}

static void test_answers(void **unused)
{
	int ticked = -ETIMEDOUT, closed_at;

	(void)unused;
	open_tcp();
	pass_packet(1, 100);
	pass_packet(2, 200);
	pass_packet(4, 300);
	assert_int_equal(flush_sink(false), 0);
	assert_int_equal(streams[1].delivered.offset, 0);
	/* Of another session; not an acknowledgement; too short; of frames below 2. */
	acknowledge(FRAME_ACK, 78, 5, 8);
	acknowledge(FRAME_HELLO, 77, 5, 8);
	acknowledge(FRAME_ACK, 77, 5, 7);
	acknowledge(FRAME_ACK, 77, 2, 8);
	while (!streams[1].delivered.offset)
		assert_int_equal(flush_sink(false), 0);
	assert_int_equal(streams[1].delivered.offset, 100);
	assert_int_equal(streams[1].delivered.packets, 1);
	assert_int_equal(streams[1].delivered.events, 200);
	/* An older one changes nothing, and delivered data stays delivered. */
	streams[1].delivered.offset = 250;
	acknowledge(FRAME_ACK, 77, 1, 8);
	acknowledge(FRAME_ACK, 77, 4, 8);
	assert_int_equal(flush_sink(true), 0);
	assert_int_equal(streams[1].delivered.offset, 250);
	/* Each byte of an answer on its own. */
	acknowledge(FRAME_ACK, 77, 5, 8);
	assert_int_equal(flush_sink(true), 0);
	assert_int_equal(streams[1].delivered.offset, 300);
	assert_int_equal(streams[1].delivered.packets, 4);
	/* Without packets in flight, the sink waits for nothing. */
	sink->timeout.tick = end_wait;
	sink->timeout.user = &ticked;
	assert_int_equal(flush_sink(true), 0);
	assert_int_equal(nr_waits, 0);
	/*
	 * The receiver does not answer in time, but has answered before: the sink waits for it
	 * again.
	 */
	pass_packet(6, 400);
	assert_int_equal(flush_sink(false), 0);
	assert_int_equal(nr_waits, 0);
	assert_int_equal(flush_sink(true), 0);
	assert_int_equal(nr_waits, 1);
	assert_int_equal(flush_sink(true), 0);
	assert_int_equal(nr_waits, 2);
	/* Another error is returned. */
	ticked = -ECANCELED;
	assert_int_equal(flush_sink(true), -ECANCELED);
	assert_int_equal(nr_waits, 3);
	/* Bytes that are not an answer do not fill the memory. */
	memset(written, 0xf5, 10000);
	memcpy(written, (unsigned char[]){0xf5, 'S', 'd', 0xe1}, 4);
	assert_int_equal(write(peer, written, 10000), 10000);
	assert_int_equal(flush_sink(false), 0);
	acknowledge(FRAME_ACK, 77, 7, 8);
	while (streams[1].delivered.offset != 400)
		assert_int_equal(flush_sink(false), 0);
	/* Packets that were acknowledged before the peer closed are delivered. */
	pass_packet(8, 500);
	pass_packet(9, 600);
	acknowledge(FRAME_ACK, 77, 9, 8);
	close(peer);
	sink->ops->close(sink);
	assert_int_equal(streams[1].delivered.offset, 500);
	assert_int_equal(sink->watch_fd, -1);
	closed_at = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sink->ops->close(sink);
	assert_int_equal(fcntl(closed_at, F_GETFD), FD_CLOEXEC);
	close(closed_at);
	sink->ops->free(sink);
	/* A peer that never answers is not waited for twice. */
	open_tcp();
	sink->timeout.tick = end_wait;
	ticked = -ETIMEDOUT;
	nr_waits = 0;
	sink->timeout.user = &ticked;
	pass_packet(1, 100);
	assert_int_equal(flush_sink(true), 0);
	assert_int_equal(flush_sink(true), 0);
	assert_int_equal(nr_waits, 1);
	close(peer);
	assert_int_equal(flush_sink(true), -ECONNRESET);
	assert_int_equal(streams[1].delivered.offset, 0);
	sink->ops->free(sink);
}

/* At most 1,024 packets are in flight; from 513 on, the sink waits for an answer. */
static void test_window(void **unused)
{
	int ticked = -ETIMEDOUT;

	(void)unused;
	open_tcp();
	sink->timeout.tick = end_wait;
	sink->timeout.user = &ticked;
	nr_waits = 0;
	for (uint64_t i = 1; i <= 512; i++)
		pass_packet(i, 10 * i);
	assert_int_equal(flush_sink(false), 0);
	assert_int_equal(nr_waits, 0);
	pass_packet(513, 5130);
	assert_int_equal(flush_sink(false), 0);
	assert_int_equal(nr_waits, 1);
	for (uint64_t i = 514; i <= 1024; i++)
		pass_packet(i, 10 * i);
	assert_int_equal(streams[1].delivered.offset, 0);
	pass_packet(1025, 10250);
	assert_int_equal(streams[1].delivered.offset, 10);
	acknowledge(FRAME_ACK, 77, 600, 8);
	while (streams[1].delivered.offset == 10)
		assert_int_equal(flush_sink(false), 0);
	assert_int_equal(streams[1].delivered.offset, 5990);
	acknowledge(FRAME_ACK, 77, 1026, 8);
	while (streams[1].delivered.offset == 5990)
		assert_int_equal(flush_sink(false), 0);
	assert_int_equal(streams[1].delivered.offset, 10250);
	close(peer);
	sink->ops->free(sink);
}

static void test_ends(void **unused)
{
	uint64_t sequence;

	(void)unused;
	/* The end is acknowledged: nothing is shut down before that. */
	open_tcp();
	pass_packet(3, 50);
	acknowledge(FRAME_ACK, 77, 4, 8);
	while (streams[1].delivered.offset != 50)
		assert_int_equal(flush_sink(false), 0);
	pass_packet(4, 100);
	assert_int_equal(sink->ops->end_trace(sink, &trace), 0);
	sequence = sink->sequence;
	acknowledge(FRAME_ACK, 77, sequence + 1, 8);
	streams[1].at = (struct marks_position){1001, 21, 301};
	assert_int_equal(sink->ops->end(sink, &follow), 0);
	assert_int_equal(sink->sequence, sequence + 1);
	assert_int_equal(streams[1].delivered.offset, 100);
	parse_frames((size_t)recv(peer, written, sizeof(written), 0));
	assert_int_equal(nr_frames, 3);
	(void)reader_of(1, FRAME_TRACE_END);
	check_end(2, sequence + 1);
	assert_int_equal(recv(peer, written, 1, MSG_DONTWAIT), -1);
	/* A receiver that has answered and closes before the end has not received everything. */
	close(peer);
	assert_int_equal(sink->ops->end(sink, &follow), -ECONNRESET);
	sink->ops->free(sink);
	/*
	 * A receiver that never answers closes in the same way as at the end: everything counts as
	 * delivered.
	 */
	open_tcp();
	pass_packet(1, 100);
	pass_packet(2, 200);
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	assert_int_equal(sink->ops->end(sink, &follow), 0);
	assert_int_equal(streams[1].delivered.offset, 200);
	while (recv(peer, written, sizeof(written), 0) > 0)
		;
	close(peer);
	sink->ops->free(sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_file),
			cmocka_unit_test(test_many_streams),
			cmocka_unit_test(test_paths_refused),
			cmocka_unit_test(test_failed_writes),
			cmocka_unit_test(test_answers),
			cmocka_unit_test(test_window),
			cmocka_unit_test(test_ends),
	};
	int failed;

	if (!mkdtemp(root))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove_all();
	rmdir(root);
	return failed;
}
