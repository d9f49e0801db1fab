/* SPDX-License-Identifier: MIT */
/* The writer: what it refuses, what a kill or a full disk leaves behind, losses, clocks. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

#include "numbers.h"

static void test_plain(void **state)
{
	struct fixture *f = *state;
	struct found found;

	assert_int_equal(append(f, TICK0 + 10, 0, 3, 0), 0);
	/* The trace can be read while it is written. */
	found = read_all(f);
	assert_int_equal(found.events, 3);
	assert_int_equal(append(f, TICK0 + 20, 3, 2, 0), 0);
	assert_true(ctf_writer_bytes(f->writer) > 3 * 84 + 5 * 17);
	close_writer(f);
	found = read_all(f);
	assert_int_equal(found.events, 5);
	assert_int_equal(found.damages, 0);
	assert_int_equal(found.discarded, 0);
	assert_int_equal(found.first_ns, INT64_C(1005000000010));
	assert_int_equal(found.last_ns, INT64_C(1005000000021));
}

static void test_refusals(void **state)
{
	struct fixture *f = *state;
	struct ctf_writer *first = f->writer;
	struct ctf_clock clock = {.frequency = 1};

	assert_int_equal(ctf_writer_add_event(f->writer, 0, 7, &number_event, NULL, 0, &f->error),
			-EEXIST);
	assert_non_null(strstr(f->error.text, "7"));
	assert_int_equal(ctf_writer_add_event(f->writer, 0, 3, &number_event, NULL, 0, &f->error),
			0);
	assert_int_equal(ctf_writer_add_event(f->writer, 0, 3, &number_event, NULL, 0, &f->error),
			-EEXIST);
	assert_int_equal(create(f, clock), -EEXIST);
	assert_non_null(strstr(f->error.text, f->dir));
	f->writer = first;
	snprintf(f->dir, sizeof(f->dir), "%s/not/there", f->scratch);
	assert_int_equal(create(f, clock), -ENOENT);
	f->writer = first;
}

static void test_discarded(void **state)
{
	struct fixture *f = *state;
	struct found found;

	/*
	 * Losses before the first real packet are shown, because an empty packet comes before it.
	 */
	assert_int_equal(append(f, TICK0 + 10, 0, 2, 4), 0);
	assert_int_equal(append(f, TICK0 + 20, 2, 2, 4), 0);
	assert_int_equal(append(f, TICK0 + 30, 4, 0, 9), 0);
	found = read_all(f);
	assert_int_equal(found.events, 4);
	assert_int_equal(found.discarded, 9);
	assert_int_equal(found.discarded_items, 2);
	assert_int_equal(found.discarded_after, 2);
}

static void test_lost(void **state)
{
	struct fixture *f = *state;
	const struct ctf_lost lost[] = {
			{"ring_2", "test:number", "the ring was full", 5},
			{"ring_2", "", "a string was not readable", 1},
	};
	struct found found;

	assert_int_equal(ctf_writer_lost(f->writer, TICK0 + 5, lost, 2, &f->error), 0);
	assert_int_equal(ctf_writer_lost(f->writer, TICK0 + 1, lost, 1, &f->error), 0);
	close_writer(f);
	found = read_all(f);
	assert_int_equal(found.lost_records, 3);
	assert_int_equal(found.lost, 11);
	assert_int_equal(found.damages, 0);
}

/*
 * If times go backwards between packets, the writer corrects them: otherwise readers would refuse
 * the whole stream.
 */
static void test_backward(void **state)
{
	struct fixture *f = *state;
	size_t size;
	unsigned char *bytes;
	uint64_t begin;

	assert_int_equal(append(f, TICK0 + 100, 0, 3, 0), 0);
	assert_int_equal(append(f, TICK0 + 50, 3, 1, 0), 0);
	close_writer(f);
	bytes = scratch_read(f->dir, "ring_2", &size);
	assert_int_equal(size, 3 * 84 + 4 * 17);
	memcpy(&begin, bytes + 2 * 84 + 3 * 17 + 32, sizeof(begin));
	assert_int_equal(begin, TICK0 + 102);
	free(bytes);
}

static void test_clock(void **state)
{
	struct fixture *f = *state;
	/* 2.5 GHz; the offset is more than a second and must be carried. */
	struct ctf_clock clock = {.frequency = 2500000000, .offset_s = -5, .offset = 5000000003};
	size_t size;
	char *metadata;
	struct found found;

	assert_int_equal(append(f, TICK0 + 7, 0, 1, 0), 0);
	assert_int_equal(ctf_writer_set_clock(f->writer, &clock, &f->error), 0);
	/* The metadata still grows after it was replaced. */
	assert_int_equal(ctf_writer_add_event(f->writer, 0, 8, &number_event, NULL, 0, &f->error),
			0);
	close_writer(f);
	found = read_all(f);
	assert_int_equal(found.events, 1);
	/*
	 * -5 s + 5000000003 ticks + 5000000007 ticks of 0.4 ns: both are rounded down, as
	 * babeltrace2 does it.
	 */
	assert_int_equal(found.first_ns, INT64_C(-3000000000) + 1 + 2000000002);
	metadata = (char *)scratch_read(f->dir, "metadata", &size);
	assert_non_null(strstr(metadata, "offset_s = -3;"));
	assert_non_null(strstr(metadata, "offset = 3;"));
	assert_non_null(strstr(metadata, "procname = \"name\\\"\\\\\\n\xc3\xbf\";"));
	assert_int_equal(memcmp(metadata, "/* CTF 1.8 */", 13), 0);
	free(metadata);
}

/*
 * A full disk, simulated by a limit on the size of files: the packet is removed, the remainder is
 * complete.
 */
static void test_full(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, limit;
	struct found found;
	size_t size;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(append(f, TICK0 + 10, 0, 10, 0), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 2 * 84 + 10 * 17 + 84 + 50;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(append(f, TICK0 + 100, 10, 100, 0), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_non_null(strstr(f->error.text, "ring_2"));
	assert_non_null(strstr(f->error.text, "ulimit"));
	free(scratch_read(f->dir, "ring_2", &size));
	assert_int_equal(size, 2 * 84 + 10 * 17);
	/* The writer continues when there is space again. */
	assert_int_equal(append(f, TICK0 + 300, 10, 5, 0), 0);
	found = read_all(f);
	assert_int_equal(found.events, 15);
	assert_int_equal(found.damages, 0);
}

/*
 * A recorder that is killed while it writes: the file is truncated at every byte of its last
 * packet.
 */
static void test_torn(void **state)
{
	struct fixture *f = *state;
	size_t size, metadata_size, whole = 2 * 84 + 2 * 17;
	unsigned char *bytes, *metadata;

	assert_int_equal(append(f, TICK0 + 10, 0, 2, 0), 0);
	assert_int_equal(append(f, TICK0 + 20, 2, 6, 3), 0);
	close_writer(f);
	bytes = scratch_read(f->dir, "ring_2", &size);
	metadata = scratch_read(f->dir, "metadata", &metadata_size);
	assert_int_equal(size, whole + 84 + 6 * 17);
	for (size_t cut = whole; cut <= size; cut++) {
		uint32_t kept = cut < whole + 84 ? 0 : (uint32_t)((cut - whole - 84) / 17);
		bool is_whole = cut == whole || cut == size;
		unsigned int repaired;
		struct found found;

		scratch_write(f->dir, "ring_2", bytes, cut);
		found = read_all(f);
		assert_int_equal(found.events, 2 + kept);
		assert_int_equal(found.damages, !is_whole);
		assert_int_equal(ctf_repair(f->dir, &repaired, &f->error), 0);
		assert_int_equal(repaired, !is_whole);
		found = read_all(f);
		assert_int_equal(found.events, 2 + kept);
		assert_int_equal(found.damages, 0);
		assert_int_equal(found.discarded, cut >= whole + 84 ? 3 : 0);
	}
	free(metadata);
	free(bytes);
}

/* The same with the metadata: complete descriptions are read, and half a block is removed. */
static void test_torn_metadata(void **state)
{
	struct fixture *f = *state;
	unsigned char *metadata;
	unsigned int repaired;
	struct found found;
	size_t size, before;

	assert_int_equal(append(f, TICK0 + 10, 0, 2, 0), 0);
	free(scratch_read(f->dir, "metadata", &before));
	assert_int_equal(ctf_writer_add_event(f->writer, 0, 9, &number_event, NULL, 0, &f->error),
			0);
	close_writer(f);
	metadata = scratch_read(f->dir, "metadata", &size);
	for (size_t cut = before + 1; cut < size; cut++) {
		/* After the end of the block there are only newlines. */
		bool is_whole = cut >= size - 2;

		scratch_write(f->dir, "metadata", metadata, cut);
		found = read_all(f);
		assert_int_equal(found.events, 2);
		assert_int_equal(found.damages, !is_whole);
		if (cut % 37 && cut < size - 8)
			continue;
		assert_int_equal(ctf_repair(f->dir, &repaired, &f->error), 0);
		assert_int_equal(repaired, !is_whole);
		found = read_all(f);
		assert_int_equal(found.events, 2);
		assert_int_equal(found.damages, 0);
	}
	/* The repair does not discard what follows damage in the middle. */
	metadata[before - 30] = '{';
	scratch_write(f->dir, "metadata", metadata, size);
	assert_int_not_equal(ctf_repair(f->dir, &repaired, &f->error), 0);
	free(metadata);
}

/* After a damaged packet in the middle, the reader continues at the next one. */
static void test_damaged_packet(void **state)
{
	struct fixture *f = *state;
	unsigned char *bytes;
	struct found found;
	size_t size;

	assert_int_equal(append(f, TICK0 + 10, 0, 2, 0), 0);
	assert_int_equal(append(f, TICK0 + 20, 900, 2, 0), 0);
	assert_int_equal(append(f, TICK0 + 30, 2, 2, 0), 0);
	close_writer(f);
	bytes = scratch_read(f->dir, "ring_2", &size);
	bytes[2 * 84 + 2 * 17] ^= 0xff; /* The magic number of the second of them. */
	scratch_write(f->dir, "ring_2", bytes, size);
	{
		struct ctf_reader *reader;
		struct ctf_item item;
		uint64_t lost_packets = 0;

		memset(&found, 0, sizeof(found));
		assert_int_equal(ctf_reader_open(f->dir, &reader, &f->error), 0);
		while (ctf_reader_next(reader, &item) > 0) {
			if (item.kind == CTF_ITEM_LOST_PACKETS)
				lost_packets += item.count;
			else
				take(&found, &item);
		}
		ctf_reader_close(reader);
		assert_int_equal(lost_packets, 1);
	}
	assert_int_equal(found.events, 4);
	assert_int_equal(found.damages, 1);
	assert_non_null(strstr(found.damage, "ring_2"));
	free(bytes);
}

/* An event id without a description, a file that is not a stream, a directory without traces. */
static void test_strange(void **state)
{
	struct fixture *f = *state;
	struct ctf_reader *reader;
	struct found found;
	unsigned int repaired;

	assert_int_equal(append(f, TICK0 + 10, 0, 2, 0), 0);
	scratch_write(f->dir, "notes.txt", "hello, this is no stream\n", 25);
	scratch_write(f->dir, "empty", "", 0);
	found = read_all(f);
	assert_int_equal(found.events, 2);
	assert_int_equal(found.damages, 1);
	assert_non_null(strstr(found.damage, "notes.txt"));
	scratch_write(f->dir, "metadata", "\x1e{\"type\":\"preamble\",\"version\":2}", 32);
	found = read_all(f);
	assert_int_equal(found.events, 0);
	assert_non_null(strstr(found.damage, "no data stream class"));
	assert_int_equal(ctf_repair(f->dir, &repaired, &f->error), -EINVAL);
	assert_int_equal(ctf_reader_open("/proc/self/fdinfo", &reader, &f->error), -ENOENT);
	assert_non_null(strstr(f->error.text, "no trace"));
	assert_int_equal(ctf_reader_open("/nowhere", &reader, &f->error), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_plain, setup, teardown),
			cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
			cmocka_unit_test_setup_teardown(test_discarded, setup, teardown),
			cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
			cmocka_unit_test_setup_teardown(test_backward, setup, teardown),
			cmocka_unit_test_setup_teardown(test_clock, setup, teardown),
			cmocka_unit_test_setup_teardown(test_full, setup, teardown),
			cmocka_unit_test_setup_teardown(test_torn, setup, teardown),
			cmocka_unit_test_setup_teardown(test_torn_metadata, setup, teardown),
			cmocka_unit_test_setup_teardown(test_damaged_packet, setup, teardown),
			cmocka_unit_test_setup_teardown(test_strange, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
