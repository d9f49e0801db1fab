/* SPDX-License-Identifier: MIT */
/*
 * Which memory a plan reads, and when: it never reads beyond a string or a value, even if the next
 * page is not mapped, and a record is complete even if another thread changes the source.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

/* Returns the end of memory that is directly before an inaccessible page. */
static char *guarded_end(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(
			NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		exit(77);
	mprotect(pages, page, PROT_NONE);
	mprotect(pages + 2 * page, page, PROT_NONE);
	return pages + 2 * page;
}

static void free_guarded(char *end)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	munmap(end - 2 * page, 3 * page);
}

static void test_page_ends(void)
{
	char *end = guarded_end(), *begin = end - sysconf(_SC_PAGESIZE);
	char *out_end = guarded_end();
	struct side_type types[2] = {make_string(1, HOST), make_plain(8, false)};
	struct side_type gathered = gather_array(gather_byte(0, DIRECT), 5, 0, DIRECT);
	struct plan *plan = expect_plan(make_event(1, types, NULL, 0), __LINE__);
	struct plan *copy = expect_plan(make_event(1, &gathered, NULL, 0), __LINE__);
	size_t length, capacity;
	int line = __LINE__;

	for (length = 0; length < 40; length++) {
		struct side_arg arg = arg_pointer(SIDE_TYPE_STRING_UTF8, end - length - 1);
		struct side_arg_vec vector = {.sav = SIDE_PTR_INIT(&arg), .len = 1};

		memset(end - length - 1, 'x', length);
		end[-1] = '\0';
		for (capacity = 0; capacity < 60; capacity++) {
			ssize_t size = plan_serialize(
					plan, &vector, NULL, out_end - capacity, capacity);

			EXPECT(size == (length < capacity ? (ssize_t)length + 1 : -E2BIG), "%zd",
					size);
			EXPECT(size < 0 ||
							!memcmp(out_end - capacity,
									end - length - 1,
									length + 1),
					"%zu %zu", length, capacity);
		}
		/* The same at the begin of a page after an inaccessible one. */
		side_ptr_set(arg.u.side_static.string_value, begin + length);
		memset(begin, 'y', 64);
		begin[length + 3] = '\0';
		EXPECT(plan_serialize(plan, &vector, NULL, out_end - 64, 64) == 4, "%zu", length);
	}
	for (length = 0; length < 16; length++) {
		struct side_arg arg = arg_pointer(SIDE_TYPE_GATHER_ARRAY, end - 5 - length);
		struct side_arg_vec vector = {.sav = SIDE_PTR_INIT(&arg), .len = 1};

		EXPECT(plan_serialize(copy, &vector, NULL, out_end - 5, 5) == 5, "%zu", length);
	}
	plan_free(plan);
	plan_free(copy);
	free_guarded(end);
	free_guarded(out_end);
}

/*
 * The vector of arguments ends with the page: the plan may read only the bytes of the last
 * argument.
 */
static void test_last_argument(void)
{
	char *end = guarded_end();
	struct side_arg *arg = (struct side_arg *)end - 1;
	struct side_arg_vec vector = {.sav = SIDE_PTR_INIT(arg), .len = 1};
	unsigned int size;
	int line = __LINE__;

	for (size = 1; size <= 16; size *= 2) {
		struct side_type type = make_plain(size, false);
		struct plan *plan = expect_plan(make_event(1, &type, NULL, 0), __LINE__);
		uint8_t buffer[16];

		*arg = arg_value(type.type.v, "0123456789abcdef", size);
		EXPECT(plan_serialize(plan, &vector, NULL, buffer, size) == (ssize_t)size, "%u",
				size);
		plan_free(plan);
	}
	free_guarded(end);
}

/* ---- a source that changes ---- */

static char changing[64] __attribute__((aligned(64)));
static int stop;

static void store(char *at, char value)
{
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static void *change(void *unused)
{
	unsigned int seed = 1, i;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		seed = seed * 1103515245 + 12345;
		i = (seed >> 16) % 40;
		/* The last NUL stays; the other bytes change between 'a' and NUL. */
		store(&changing[i], (seed >> 8) & 3 ? 'a' : '\0');
	}
	return unused;
}

static void test_changes(void)
{
	struct side_type types[2] = {make_string(1, HOST), make_plain(4, false)};
	struct side_type deep[2] = {make_array(make_string(1, HOST), 1), make_plain(4, false)};
	struct plan *plans[2] = {expect_plan(make_event(2, types, NULL, 0), __LINE__),
			expect_plan(make_event(2, deep, NULL, 0), __LINE__)};
	struct side_arg args[2] = {arg_pointer(SIDE_TYPE_STRING_UTF8, changing + 1),
			ARG(SIDE_TYPE_U32, uint32_t, 0x11223344)};
	struct side_arg deep_args[2] = {arg_vector(SIDE_TYPE_ARRAY, 1, args), args[1]};
	struct side_arg_vec *vectors[2] = {make_vector(2, args), make_vector(2, deep_args)};
	int rounds = getenv("SIDE_TEST_LONG") ? 20000000 : 300000, i, line = __LINE__;
	pthread_t thread;

	memset(changing, 'a', 40);
	if (pthread_create(&thread, NULL, change, NULL))
		exit(77);
	for (i = 0; i < rounds; i++) {
		uint8_t buffer[80];
		ssize_t size = plan_serialize(
				plans[i & 1], vectors[i & 1], NULL, buffer, sizeof(buffer));
		size_t text;
		uint32_t number;

		/*
		 * One NUL, directly before the number: no reader of the record loses its position.
		 */
		EXPECT(size >= 5 && size <= 44, "%zd", size);
		text = strnlen((char *)buffer, sizeof(buffer));
		EXPECT(text == (size_t)size - 5, "%zu of %zd", text, size);
		memcpy(&number, buffer + size - 4, 4);
		EXPECT(number == 0x11223344, "%x", number);
		if (expect_failures)
			break;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	plan_free(plans[0]);
	plan_free(plans[1]);
}

int main(void)
{
	test_page_ends();
	test_last_argument();
	test_changes();
	return expect_end();
}
