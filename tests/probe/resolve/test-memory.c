/* SPDX-License-Identifier: MIT */
/*
 * A probe spec becomes a table while each allocation, and each read of a file, fails once: the
 * error must be reported, and a table that is written must be valid. The probed program is this
 * test.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../check.h"
#include "../../failing-calls.h"
#include "../../resources.h"
#include "probe/spec/resolve.h"

struct pair {
	int one;
	const char *other;
};

__attribute__((noinline, used)) int probed_one(int number, const struct pair *pair);
__attribute__((noinline, used)) int probed_two(int number, const struct pair *pair);

int probed_one(int number, const struct pair *pair)
{
	__asm__ volatile("" ::: "memory");
	return number + pair->one;
}

int probed_two(int number, const struct pair *pair)
{
	__asm__ volatile("" ::: "memory");
	return number - pair->one;
}

static bool is_memory_reported;

/* Notes locations and functions that were refused. */
static void refused(void *user, const struct resolve_refusal *refusal)
{
	(void)user;
	CHECK(*refusal->reason);
	is_memory_reported |= !strcmp(
			refusal->reason, "out of memory: its instructions were not examined");
}

/* On success, the caller frees *ret_table. */
static int make_table(bool separate, void **ret_table, size_t *ret_size, struct error *error)
{
	static const char *const arguments[] = {"$params"}, *const contexts[] = {"s64:n:*(%rsp+8)"};
	const struct probe_spec request = {.kind = RESOLVE_FUNCTION,
			.name = separate ? NULL : "p:both",
			.location_text = "probed_*",
			.exits = true,
			.separate = separate,
			.arguments = arguments,
			.nr_arguments = 1,
			.contexts = contexts,
			.nr_contexts = 1};
	struct resolve *resolve = resolve_new();
	struct probe_table_writer *writer = resolve ? probe_table_writer_new() : NULL;
	int ret = writer ? resolve_add_file(resolve, "/proc/self/exe", error) : -ENOMEM;

	if (!ret)
		ret = resolve_spec(resolve, &request, writer, refused, NULL, error);
	if (!ret)
		ret = probe_table_bytes(writer, ret_table, ret_size);
	probe_table_writer_free(writer);
	resolve_free(resolve);
	return ret;
}

static bool has(const struct error *error, const char *text)
{
	return strstr(error->text, text);
}

static void check_error(int ret, const char *name, const struct error *error)
{
	const bool is_read = !strcmp(name, "pread") || !strcmp(name, "fstat");
	bool is_right = false;

	/* A failed allocation of the test itself has no sentence. */
	if (ret == -ENOMEM)
		is_right = !is_read &&
				(!*error->text || has(error, "out of memory") ||
						has(error, "Cannot allocate memory"));
	else if (ret == -EIO)
		is_right = is_read && has(error, "Input/output error");
	if (!is_right)
		fprintf(stderr, "%s: %d %s\n", name, ret, error->text);
	CHECK(is_right);
}

/* Returns the number of errors. */
static unsigned int fail_each(bool separate)
{
	struct probe_table opened;
	const char *reason, *name;
	void *whole, *table;
	size_t whole_size, size;
	unsigned int nr_errors = 0, before;
	struct error error;

	error = (struct error){.text = ""};
	if (make_table(separate, &whole, &whole_size, &error)) {
		fprintf(stderr, "%s\n", error.text);
		abort();
	}
	before = resources_descriptors();
	for (unsigned int number = 1;; number++) {
		int ret;

		error = (struct error){.text = ""};
		is_memory_reported = false;
		failing_arm(number);
		ret = make_table(separate, &table, &size, &error);
		name = failing_name;
		CHECK(resources_descriptors() == before);
		if (!failing_has_failed()) {
			CHECK(!ret && size == whole_size && !memcmp(table, whole, size));
			free(table);
			break;
		}
		if (ret) {
			check_error(ret, name, &error);
			nr_errors++;
			continue;
		}
		CHECK(!probe_table_open(&opened, table, size, &reason));
		/* The table is the same, unless the exit was omitted, which is reported. */
		CHECK((size == whole_size && !memcmp(table, whole, size)) != is_memory_reported);
		free(table);
	}
	free(whole);
	return nr_errors;
}

/* A marker that the program does not have is reported as such, unless memory is missing. */
static void fail_each_of_marker(void)
{
	const struct probe_spec request = {.kind = RESOLVE_MARKER, .location_text = "none:none"};
	struct probe_table_writer *writer = probe_table_writer_new();
	struct resolve *resolve = resolve_new();
	struct error error = {.text = ""};

	CHECK(writer && resolve && !resolve_add_file(resolve, "/proc/self/exe", &error));
	CHECK(resolve_spec(resolve, &request, writer, refused, NULL, &error) == -ENOENT);
	for (unsigned int number = 1;; number++) {
		int ret;

		error = (struct error){.text = ""};
		failing_arm(number);
		ret = resolve_spec(resolve, &request, writer, refused, NULL, &error);
		if (!failing_has_failed())
			break;
		if (ret != -ENOENT)
			check_error(ret, failing_name, &error);
	}
	CHECK(has(&error, "have no marker"));
	probe_table_writer_free(writer);
	resolve_free(resolve);
}

int main(void)
{
	fail_each_of_marker();

	/* Some allocations are for names and notes only. */
	CHECK(fail_each(false) > 50 && fail_each(true) > 50);
	return 0;
}
