/* SPDX-License-Identifier: MIT */
/*
 * Files that change while they are read: the reader reports messages, gets no signal, and shows all
 * complete events. Also many files, with few descriptors.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "numbers.h"

/*
 * Two such packets follow the empty one; a packet is much larger than the part that is loaded at
 * once.
 */
#define PACKET_EVENTS 60000u
#define FIRST_PACKET 84u
#define PACKET_SIZE (84u + PACKET_EVENTS * 17u)

static struct ctf_reader *begin(struct fixture *f, struct found *found, uint32_t events)
{
	struct ctf_reader *reader;
	struct ctf_item item;

	memset(found, 0, sizeof(*found));
	if (ctf_reader_open(f->dir, &reader, &f->error))
		fail_msg("%s", f->error.text);
	while (found->events < events && ctf_reader_next(reader, &item) > 0)
		take(found, &item);
	assert_int_equal(found->events, events);
	return reader;
}

static void finish(struct ctf_reader *reader, struct found *found)
{
	struct ctf_item item;
	int ret;

	while ((ret = ctf_reader_next(reader, &item)) > 0)
		take(found, &item);
	assert_int_equal(ret, 0);
	ctf_reader_close(reader);
}

static void stream_path(const struct fixture *f, char path[128])
{
	snprintf(path, 128, "%s/ring_2", f->dir);
}

static void write_packets(struct fixture *f)
{
	assert_int_equal(append(f, TICK0 + 10, 0, PACKET_EVENTS, 0), 0);
	assert_int_equal(append(f, TICK0 + PACKET_EVENTS + 10, PACKET_EVENTS, PACKET_EVENTS, 0), 0);
	close_writer(f);
}

/*
 * Truncates the stream to `left` bytes after `shown` events were read; at least `least` events are
 * shown.
 */
static void cut_while_reading(
		struct fixture *f, uint32_t shown, off_t left, uint32_t least, const char *message)
{
	struct ctf_reader *reader;
	struct found found;
	unsigned char *bytes;
	char path[128];
	size_t size;

	stream_path(f, path);
	bytes = scratch_read(f->dir, "ring_2", &size);
	assert_int_equal(size, FIRST_PACKET + 2 * PACKET_SIZE);
	reader = begin(f, &found, shown);
	assert_int_equal(truncate(path, left), 0);
	finish(reader, &found);
	assert_in_range(found.events, least, 2 * PACKET_EVENTS - 1);
	assert_int_equal(found.damages, 1);
	if (!strstr(found.damage, message) || !strstr(found.damage, path))
		fail_msg("%s", found.damage);
	assert_int_equal(found.notes, 0);
	scratch_write(f->dir, "ring_2", bytes, size);
	free(bytes);
}

static void test_shrinks(void **state)
{
	const off_t second = FIRST_PACKET + PACKET_SIZE;
	struct fixture *f = *state;

	write_packets(f);
	cut_while_reading(f, 10, 0, 10, "shorter while it was read");
	cut_while_reading(f, 10, second - 1, PACKET_EVENTS - 1, "shorter while it was read");
	cut_while_reading(f, 10, second, PACKET_EVENTS, "has become shorter");
	cut_while_reading(f, 10, second + 1, PACKET_EVENTS, "shorter while it was read");
	cut_while_reading(f, 10, second + 83, PACKET_EVENTS, "shorter while it was read");
	cut_while_reading(f, 10, second + 84, PACKET_EVENTS, "shorter while it was read");
	cut_while_reading(f, 10, second + 84 + 40000 * 17 + 3, PACKET_EVENTS + 40000,
			"shorter while it was read");
	cut_while_reading(f, PACKET_EVENTS + 1, 5, PACKET_EVENTS + 1, "shorter while it was read");
}

static void test_vanishes(void **state)
{
	struct fixture *f = *state;
	struct ctf_reader *reader;
	struct found found;
	char path[128], moved[160];

	write_packets(f);
	stream_path(f, path);
	snprintf(moved, sizeof(moved), "%s/.moved", f->scratch);
	reader = begin(f, &found, 10);
	assert_int_equal(rename(path, moved), 0);
	finish(reader, &found);
	assert_in_range(found.events, 10, PACKET_EVENTS);
	assert_int_equal(found.damages, 1);
	assert_non_null(strstr(found.damage, "No such file"));

	assert_int_equal(rename(moved, path), 0);
	reader = begin(f, &found, 10);
	scratch_write(f->scratch, ".moved", "something else", 14);
	assert_int_equal(rename(moved, path), 0);
	finish(reader, &found);
	assert_in_range(found.events, 10, PACKET_EVENTS);
	assert_int_equal(found.damages, 1);
	assert_non_null(strstr(found.damage, "another file"));
}

/*
 * Events that were there at first are shown; later ones are not, even if they belong to a new event
 * class.
 */
static void test_grows(void **state)
{
	struct fixture *f = *state;
	struct ctf_reader *reader;
	struct found found;

	assert_int_equal(append(f, TICK0 + 10, 0, PACKET_EVENTS, 0), 0);
	reader = begin(f, &found, 10);
	assert_int_equal(append(f, TICK0 + PACKET_EVENTS + 10, PACKET_EVENTS, 5, 0), 0);
	finish(reader, &found);
	assert_int_equal(found.events, PACKET_EVENTS);
	assert_int_equal(found.damages, 0);
	assert_int_equal(found.notes, 1);
	assert_non_null(strstr(found.note, "ring_2 has grown"));

	found = read_all(f);
	assert_int_equal(found.events, PACKET_EVENTS + 5);
	assert_int_equal(found.notes, 0);
}

/* The last packet was being written when the reader first saw it; another one follows it. */
static void test_completed(void **state)
{
	const size_t cuts[] = {1, 50, 83, 84, 85, 84 + 17, PACKET_SIZE / 2, PACKET_SIZE - 1};
	struct fixture *f = *state;
	struct ctf_reader *reader;
	struct found found;
	unsigned char *bytes;
	size_t size;

	write_packets(f);
	bytes = scratch_read(f->dir, "ring_2", &size);
	bytes = realloc(bytes, size + PACKET_SIZE);
	memcpy(bytes + size, bytes + size - PACKET_SIZE, PACKET_SIZE);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		scratch_write(f->dir, "ring_2", bytes, FIRST_PACKET + PACKET_SIZE + cuts[i]);
		reader = begin(f, &found, 10);
		scratch_write(f->dir, "ring_2", bytes, size + PACKET_SIZE);
		finish(reader, &found);
		assert_int_equal(found.events, 2 * PACKET_EVENTS);
		assert_int_equal(found.damages, 0);
		assert_int_equal(found.notes, 1);
	}
	free(bytes);
}

/* The repair does not change a trace whose writer runs, and finds all traces below a directory. */
static void test_mending(void **state)
{
	struct fixture *f = *state;
	struct ctf_clock clock = {.frequency = 1000000000, .offset_s = 2000};
	unsigned int repaired;
	struct found found;
	char path[128];

	assert_int_equal(append(f, TICK0 + 10, 0, 5, 0), 0);
	stream_path(f, path);
	assert_int_equal(truncate(path, 2 * 84 + 3 * 17 + 1), 0);
	assert_int_equal(ctf_repair(f->scratch, &repaired, &f->error), -EBUSY);
	assert_non_null(strstr(f->error.text, "being recorded"));
	assert_int_equal(repaired, 0);
	assert_int_equal(ctf_writer_set_clock(f->writer, &clock, &f->error), 0);
	assert_int_equal(ctf_repair(f->scratch, &repaired, &f->error), -EBUSY);
	close_writer(f);
	found = read_all(f);
	assert_int_equal(found.events, 3);
	assert_int_equal(found.damages, 1);
	assert_int_equal(ctf_repair(f->scratch, &repaired, &f->error), 0);
	assert_int_equal(repaired, 1);
	found = read_all(f);
	assert_int_equal(found.events, 3);
	assert_int_equal(found.damages, 0);
	assert_int_equal(ctf_repair(f->scratch, &repaired, &f->error), 0);
	assert_int_equal(repaired, 0);
	snprintf(path, sizeof(path), "%s/none", f->scratch);
	assert_int_equal(ctf_repair(path, &repaired, &f->error), -ENOENT);
}

#define MANY 200u

/* Each trace has every MANYth number. */
static void test_many(void **state)
{
	struct fixture *f = *state, other = {.writer = NULL};
	struct rlimit limit, before;
	struct ctf_reader *reader;
	struct ctf_item item;
	uint64_t next = 0;

	close_writer(f);
	for (uint32_t i = 0; i < MANY; i++) {
		struct ctf_clock clock = {.frequency = 1000000000, .offset_s = 1000};

		snprintf(other.dir, sizeof(other.dir), "%s/many-%u", f->scratch, i * 7 % MANY);
		assert_int_equal(create(&other, clock), 0);
		assert_int_equal(ctf_writer_add_event(other.writer, 0, 7, &number_event, NULL, 0,
						 &f->error),
				0);
		assert_int_equal(ctf_writer_open_stream(
						 other.writer, 0, 2, 0, &other.stream, &f->error),
				0);
		for (uint32_t packet = 0; packet < 5; packet++) {
			uint32_t number = packet * MANY + i;

			assert_int_equal(append(&other, TICK0 + number, number, 1, 0), 0);
		}
		close_writer(&other);
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 12;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(ctf_reader_open(f->scratch, &reader, &f->error), 0);
	while (ctf_reader_next(reader, &item) > 0) {
		assert_int_equal(item.kind, CTF_ITEM_EVENT);
		assert_int_equal(ctf_value_member(item.fields, "_n")->u, next);
		next++;
	}
	assert_int_equal(next, 5 * MANY);
	ctf_reader_close(reader);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_shrinks, setup, teardown),
			cmocka_unit_test_setup_teardown(test_vanishes, setup, teardown),
			cmocka_unit_test_setup_teardown(test_grows, setup, teardown),
			cmocka_unit_test_setup_teardown(test_completed, setup, teardown),
			cmocka_unit_test_setup_teardown(test_mending, setup, teardown),
			cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
