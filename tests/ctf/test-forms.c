/* SPDX-License-Identifier: MIT */
/*
 * The other forms of a trace: compressed streams, metadata in CTF 2; complete, truncated, damaged.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <zstd.h>

#include "numbers.h"

static int setup_form(void **state, enum ctf_format format, int compression)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct ctf_writer_config config = {
			.dir = f->dir,
			.clock = {.frequency = 1000000000, .offset_s = 1000},
			.format = format,
			.compression = compression,
	};

	scratch_make(f->scratch);
	snprintf(f->dir, sizeof(f->dir), "%s/trace", f->scratch);
	assert_int_equal(ctf_writer_create(&config, &f->writer, &f->error), 0);
	assert_int_equal(ctf_writer_add_event(f->writer, 0, 7, &number_event, NULL, 0, &f->error),
			0);
	assert_int_equal(ctf_writer_open_stream(f->writer, 0, 2, TICK0, &f->stream, &f->error), 0);
	*state = f;
	return 0;
}

static int setup_zstd(void **state)
{
	return setup_form(state, CTF_FORMAT_1, 3);
}

static int setup_ctf2(void **state)
{
	return setup_form(state, CTF_FORMAT_2, 0);
}

/* ---- expanding ---- */

struct reported {
	unsigned int count;
	char last[1024];
};

static void note(void *user, const char *sentence)
{
	struct reported *reported = user;

	reported->count++;
	snprintf(reported->last, sizeof(reported->last), "%s", sentence);
}

static struct ctf_expand_result expand(struct fixture *f, const char *to, struct reported *reported)
{
	struct ctf_expand_result result;
	char out[160];

	*reported = (struct reported){0};
	snprintf(out, sizeof(out), "%s/%s", f->scratch, to);
	scratch_delete(out);
	assert_int_equal(ctf_expand(f->dir, out, NULL, note, reported, &result, &f->error), 0);
	assert_int_equal(result.damaged, reported->count);
	return result;
}

/* Returns what a reader finds in the expanded trace. */
static struct found read_expanded(struct fixture *f, const char *to)
{
	struct fixture other = *f;

	snprintf(other.dir, sizeof(other.dir), "%s/%s", f->scratch, to);
	return read_all(&other);
}

/* Every packet is one frame that states its size, and can be decoded on its own. */
static void test_frames(void **state)
{
	struct fixture *f = *state;
	const size_t sizes[] = {84, 84 + 500 * 17, 84, 84 + 3 * 17};
	unsigned char *bytes, *plain, *expanded;
	struct ctf_expand_result result;
	size_t size, at = 0, used = 0, out_size;
	struct reported reported;
	uint64_t written;

	assert_int_equal(append(f, TICK0 + 10, 0, 500, 0), 0);
	assert_int_equal(append(f, TICK0 + 900, 0, 0, 0), 0);
	assert_int_equal(append(f, TICK0 + 1000, 500, 3, 0), 0);
	written = ctf_writer_bytes(f->writer);
	close_writer(f);
	bytes = scratch_read(f->dir, "ring_2.zst", &size);
	free(scratch_read(f->dir, "metadata", &out_size));
	assert_int_equal(written, size + out_size);
	plain = malloc(1 << 16);
	for (unsigned int i = 0; i < 4; i++) {
		size_t frame = ZSTD_findFrameCompressedSize(bytes + at, size - at);

		assert_false(ZSTD_isError(frame));
		assert_int_equal(ZSTD_getFrameContentSize(bytes + at, size - at), sizes[i]);
		assert_int_equal(ZSTD_decompress(plain + used, (1 << 16) - used, bytes + at, frame),
				sizes[i]);
		at += frame;
		used += sizes[i];
	}
	assert_int_equal(at, size);
	assert_true(size < used / 3);

	result = expand(f, "plain", &reported);
	assert_int_equal(reported.count, 0);
	assert_int_equal(result.expanded, 1);
	assert_int_equal(result.copied, 1);
	snprintf(f->dir, sizeof(f->dir), "%s/plain", f->scratch);
	expanded = scratch_read(f->dir, "ring_2", &out_size);
	assert_int_equal(out_size, used);
	assert_memory_equal(expanded, plain, used);
	assert_int_equal(read_all(f).events, 503);
	free(expanded);
	free(plain);
	free(bytes);
}

/*
 * A frame that does not fit is removed completely, and the next one follows the last complete one.
 */
static void test_full(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, limit;
	struct reported reported;
	size_t before, size;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(append(f, TICK0 + 10, 0, 10, 0), 0);
	free(scratch_read(f->dir, "ring_2.zst", &before));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = before + 50;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(append(f, TICK0 + 100, 10, 100, 0), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_non_null(strstr(f->error.text, "ring_2.zst"));
	free(scratch_read(f->dir, "ring_2.zst", &size));
	assert_int_equal(size, before);
	assert_int_equal(append(f, TICK0 + 300, 10, 5, 0), 0);
	close_writer(f);
	expand(f, "plain", &reported);
	assert_int_equal(reported.count, 0);
	assert_int_equal(read_expanded(f, "plain").events, 15);
}

/*
 * Truncated at every byte of the last frame: the expansion has all readable bytes, the repair keeps
 * the complete frames.
 */
static void test_torn(void **state)
{
	struct fixture *f = *state;
	unsigned char *bytes;
	size_t whole, size;

	assert_int_equal(append(f, TICK0 + 10, 0, 2, 0), 0);
	free(scratch_read(f->dir, "ring_2.zst", &whole));
	assert_int_equal(append(f, TICK0 + 20, 2, 6, 3), 0);
	close_writer(f);
	bytes = scratch_read(f->dir, "ring_2.zst", &size);
	for (size_t cut = whole; cut <= size; cut++) {
		bool is_whole = cut == whole || cut == size;
		uint32_t events = cut == size ? 8 : 2;
		unsigned int repaired;
		struct found found;
		struct reported reported;

		scratch_write(f->dir, "ring_2.zst", bytes, cut);
		expand(f, "plain", &reported);
		assert_int_equal(reported.count, !is_whole);
		if (reported.count)
			assert_non_null(strstr(reported.last, "cut off"));
		found = read_expanded(f, "plain");
		assert_true(found.events >= events);
		assert_true(found.damages <= !is_whole);
		assert_int_equal(ctf_repair(f->dir, &repaired, &f->error), 0);
		assert_int_equal(repaired, !is_whole);
		expand(f, "plain", &reported);
		assert_int_equal(reported.count, 0);
		found = read_expanded(f, "plain");
		assert_int_equal(found.events, events);
		assert_int_equal(found.damages, 0);
	}
	free(bytes);
}

/* A frame with wrong bytes is left out and reported, and does not hide those after it. */
static void test_damaged(void **state)
{
	struct fixture *f = *state;
	size_t first, second, size;
	unsigned char *bytes;
	struct reported reported;

	assert_int_equal(append(f, TICK0 + 10, 0, 2, 0), 0);
	free(scratch_read(f->dir, "ring_2.zst", &first));
	assert_int_equal(append(f, TICK0 + 20, 900, 40, 0), 0);
	free(scratch_read(f->dir, "ring_2.zst", &second));
	assert_int_equal(append(f, TICK0 + 300, 2, 3, 0), 0);
	close_writer(f);
	bytes = scratch_read(f->dir, "ring_2.zst", &size);
	bytes[second - 1] ^= 1; /* A byte of its checksum. */
	scratch_write(f->dir, "ring_2.zst", bytes, size);
	expand(f, "plain", &reported);
	assert_int_equal(reported.count, 1);
	assert_non_null(strstr(reported.last, "ring_2.zst"));
	assert_non_null(strstr(reported.last, "left out"));
	free(scratch_read(f->dir, "../plain/ring_2", &size));
	assert_int_equal(size, 3 * 84 + 5 * 17);
	bytes[first] ^= 0xff; /* The frame has no magic number. */
	scratch_write(f->dir, "ring_2.zst", bytes, second);
	expand(f, "plain", &reported);
	assert_int_equal(reported.count, 1);
	assert_non_null(strstr(reported.last, "not expanded"));
	assert_int_equal(read_expanded(f, "plain").events, 2);
	free(bytes);
}

/* Nothing is overwritten, no link is followed, and the new directory may be in the old one. */
static void test_places(void **state)
{
	struct fixture *f = *state;
	struct ctf_expand_result result;
	struct reported reported = {0};
	char path[160];
	size_t size;

	assert_int_equal(append(f, TICK0 + 10, 0, 4, 0), 0);
	close_writer(f);
	assert_int_equal(ctf_expand(f->dir, f->scratch, NULL, note, &reported, &result, &f->error),
			-EEXIST);
	assert_int_equal(
			ctf_expand("/nowhere", "/tmp/x", NULL, note, &reported, &result, &f->error),
			-ENOENT);
	snprintf(path, sizeof(path), "%s/link", f->dir);
	assert_int_equal(symlink("/etc", path), 0);
	snprintf(path, sizeof(path), "%s/passwd.zst", f->dir);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/inside", f->dir);
	assert_int_equal(ctf_expand(f->dir, path, NULL, note, &reported, &result, &f->error), 0);
	assert_int_equal(reported.count, 0);
	assert_int_equal(result.expanded + result.copied, 2);
	free(scratch_read(path, "ring_2", &size));
	assert_int_equal(size, 2 * 84 + 4 * 17);
}

/* A level above zstd's highest one means the highest one; every level gives the same bytes back. */
static void test_levels(void **state)
{
	const int levels[] = {-100000, -5, 1, 19, 100};

	(void)state;
	for (unsigned int i = 0; i < COUNT(levels); i++) {
		struct fixture *f;
		struct reported reported;
		void *made;

		setup_form(&made, CTF_FORMAT_2, levels[i]);
		f = made;
		assert_int_equal(append(f, TICK0 + 10, 0, 300, 0), 0);
		close_writer(f);
		expand(f, "plain", &reported);
		assert_int_equal(read_expanded(f, "plain").events, 300);
		teardown(&made);
	}
}

/* ---- CTF 2 ---- */

static void test_torn_metadata(void **state)
{
	struct fixture *f = *state;
	size_t size, before;
	unsigned char *metadata;
	unsigned int repaired;
	struct found found;

	assert_int_equal(append(f, TICK0 + 10, 0, 2, 0), 0);
	free(scratch_read(f->dir, "metadata", &before));
	assert_int_equal(ctf_writer_add_event(f->writer, 0, 9, &number_event, NULL, 0, &f->error),
			0);
	close_writer(f);
	metadata = scratch_read(f->dir, "metadata", &size);
	for (size_t cut = before + 1; cut < size; cut++) {
		bool is_whole = cut >= size - 1; /* A newline is not a part of it. */

		scratch_write(f->dir, "metadata", metadata, cut);
		found = read_all(f);
		assert_int_equal(found.events, 2);
		assert_int_equal(found.damages, !is_whole);
		/* Some of the sizes, and each one after the end of a line within the fragment. */
		if (cut % 7 && cut < size - 8 && metadata[cut - 1] != '\n')
			continue;
		assert_int_equal(ctf_repair(f->dir, &repaired, &f->error), 0);
		assert_int_equal(repaired, !is_whole);
		found = read_all(f);
		assert_int_equal(found.events, 2);
		assert_int_equal(found.damages, 0);
	}
	metadata[before - 30] = '{';
	scratch_write(f->dir, "metadata", metadata, size);
	assert_int_not_equal(ctf_repair(f->dir, &repaired, &f->error), 0);
	free(metadata);
}

/* The parameters of the clock are replaced; the descriptions stay. */
static void test_clock(void **state)
{
	struct fixture *f = *state;
	struct ctf_clock clock = {.frequency = 2500000000, .offset_s = -5, .offset = 5000000003};
	struct found found;

	assert_int_equal(append(f, TICK0 + 7, 0, 3, 0), 0);
	assert_int_equal(ctf_writer_set_clock(f->writer, &clock, &f->error), 0);
	assert_int_equal(ctf_writer_add_event(f->writer, 0, 8, &number_event, NULL, 0, &f->error),
			0);
	close_writer(f);
	found = read_all(f);
	assert_int_equal(found.events, 3);
	assert_int_equal(found.damages, 0);
	/* Offset and time are each rounded down, as babeltrace2 does it. */
	assert_int_equal(found.first_ns, INT64_C(-3000000000) + 1 + 2000000002);
}

static void test_lost(void **state)
{
	struct fixture *f = *state;
	struct ctf_lost lost = {"ring_2", "test:number", "full", 12};
	struct found found;

	assert_int_equal(append(f, TICK0 + 10, 0, 2, 5), 0);
	assert_int_equal(ctf_writer_lost(f->writer, TICK0 + 50, &lost, 1, &f->error), 0);
	close_writer(f);
	found = read_all(f);
	assert_int_equal(found.lost_records, 1);
	assert_int_equal(found.lost, 12);
	assert_int_equal(found.discarded, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(test_frames, setup_zstd, teardown),
			cmocka_unit_test_setup_teardown(test_full, setup_zstd, teardown),
			cmocka_unit_test_setup_teardown(test_torn, setup_zstd, teardown),
			cmocka_unit_test_setup_teardown(test_damaged, setup_zstd, teardown),
			cmocka_unit_test_setup_teardown(test_places, setup_zstd, teardown),
			cmocka_unit_test(test_levels),
			cmocka_unit_test_setup_teardown(test_torn_metadata, setup_ctf2, teardown),
			cmocka_unit_test_setup_teardown(test_clock, setup_ctf2, teardown),
			cmocka_unit_test_setup_teardown(test_lost, setup_ctf2, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
