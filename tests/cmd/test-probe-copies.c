/* SPDX-License-Identifier: MIT */
/*
 * Copies of a probe table: only the chosen probes, or all probes with a mark on the chosen ones.
 * Every value is kept.
 */
#include "programs/side/probe/kernel.h"

#include "probe/table/table.h"

#include "../failing-calls.h"
#include "../check.h"
#include "../resources.h"

#include <sys/mman.h>

#define NR_PROBES 3

static const struct probe_table_field entry_fields[] = {
		{.name = "first", .type = PROBE_FIELD_SIGNED, .size = 4, .labels = "A=3,B=5"},
		{.name = "second",
				.type = PROBE_FIELD_STRING,
				.size = 1,
				.limit = 77,
				.labels = "",
				.guarded = true}};
static const struct probe_table_field exit_fields[] = {
		{.name = "third", .type = PROBE_FIELD_HEX, .size = 8, .labels = ""}};
static const struct probe_fetch_op ops[] = {{.code = PROBE_FETCH_REGISTER, .reg = 5},
		{.code = PROBE_FETCH_ADD, .value = 24}, {.code = PROBE_FETCH_REGISTER, .reg = 2},
		{.code = PROBE_FETCH_CONSTANT, .value = 31}};
static const struct probe_fetch entry_fetches[NR_PROBES][2] = {
		{{ops, 2}, {ops + 2, 1}}, {{ops + 2, 1}, {ops, 1}}, {{ops + 3, 1}, {ops, 2}}};
static const struct probe_fetch exit_fetches[NR_PROBES][1] = {
		{{ops + 3, 1}}, {{ops, 2}}, {{ops, 1}}};

struct made {
	struct probe_table table;
	void *bytes;
	size_t size;
};

/* Three probes: of the entry, of entry and exit, and of the exit. */
static void make(struct made *made)
{
	static const struct probe_table_module modules[] = {
			{.path = "/bin/one", .name = "one", .flags = PROBE_MODULE_EXECUTABLE},
			{.path = "/lib/two.so",
					.name = "two.so",
					.build_id_size = 2,
					.build_id = {7, 8}}};
	const struct probe_table_event events[] = {{.provider = "p",
								   .name = "in",
								   .loglevel = 6,
								   .nr_fields = 2,
								   .fields = entry_fields},
			{.provider = "p",
					.name = "out",
					.loglevel = 4,
					.nr_fields = 1,
					.fields = exit_fields}};
	struct probe_table_writer *writer = probe_table_writer_new();
	const char *reason = "";

	CHECK(writer);
	for (size_t i = 0; i < 2; i++) {
		CHECK(probe_table_add_module(writer, &modules[i]) == (int64_t)i);
		CHECK(probe_table_add_event(writer, &events[i]) == (int64_t)i);
	}
	for (uint32_t i = 0; i < NR_PROBES; i++) {
		struct probe_table_probe probe = {.module = i % 2,
				.entry = i < 2 ? 0 : PROBE_TABLE_NONE,
				.exit = i > 0 ? 1 : PROBE_TABLE_NONE,
				.flags = i == 1 ? PROBE_ENTRY_ALL : PROBE_ENTRY_TRAP,
				.semaphore = i == 0 ? 4096 : 0,
				.function = i == 2 ? "last" : "any",
				.entry_fetches = entry_fetches[i],
				.exit_fetches = exit_fetches[i]};

		probe.site = (struct probe_site){.address = 0x1000 + 16 * i,
				.offset = 0x2000 + i,
				.method = PROBE_SHORT,
				.reason = "",
				.displaced = 7,
				.patched = 2,
				.ends = true,
				.begins = true,
				.nr_pieces = 2,
				.pieces = {{.at = 0, .length = 3, .detail = 6, .target = 0x44 + i},
						{.at = 3,
								.length = 4,
								.kind = PROBE_CALL_INDIRECT,
								.detail = 3,
								.target = 0x55667788}},
				.nr_bytes = 9,
				.bytes = {1, 2, 3, 4, 5, 6, 7, 8, (uint8_t)(9 + i)},
				.springboard = 0x66778899,
				.springboard_bytes = {21, 22, 23, 24, 25}};
		CHECK(probe_table_add_probe(writer, &probe) == (int64_t)i);
	}
	CHECK(!probe_table_bytes(writer, &made->bytes, &made->size));
	CHECK(!probe_table_open(&made->table, made->bytes, made->size, &reason));
	probe_table_writer_free(writer);
}

static void same_fetches(const struct probe_table *one, uint32_t first,
		const struct probe_table *other, uint32_t first_other, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct probe_fetch was, is;

		probe_table_fetch(one, first, i, &was);
		probe_table_fetch(other, first_other, i, &is);
		CHECK(was.nr_ops == is.nr_ops);
		CHECK(!memcmp(was.ops, is.ops, was.nr_ops * sizeof(*was.ops)));
	}
}

static void same_definitions(const struct probe_table *was, const struct probe_table *is)
{
	CHECK(probe_table_nr_modules(is) == 2 && probe_table_nr_events(is) == 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct probe_table_module one, other;
		struct probe_table_event before, after;

		probe_table_module(was, i, &one);
		probe_table_module(is, i, &other);
		CHECK(!strcmp(one.path, other.path) && !strcmp(one.name, other.name) &&
				one.flags == other.flags &&
				one.build_id_size == other.build_id_size &&
				!memcmp(one.build_id, other.build_id, one.build_id_size));
		probe_table_event(was, i, &before);
		probe_table_event(is, i, &after);
		CHECK(!strcmp(before.name, after.name) &&
				!strcmp(before.provider, after.provider) &&
				before.loglevel == after.loglevel &&
				before.nr_fields == after.nr_fields);
		for (uint32_t k = 0; k < before.nr_fields; k++) {
			struct probe_table_field a, b;

			probe_table_field(was, &before, k, &a);
			probe_table_field(is, &after, k, &b);
			CHECK(!strcmp(a.name, b.name) && a.type == b.type && a.size == b.size &&
					a.limit == b.limit && !strcmp(a.labels, b.labels) &&
					a.guarded == b.guarded);
		}
	}
}

/*
 * Probe `to` of the copy equals probe `from` of the table, except for the flags and the semaphore.
 */
static void same_probe(const struct probe_table *was, uint32_t from, const struct probe_table *is,
		uint32_t to, uint32_t flags, uint64_t semaphore)
{
	struct probe_table_probe one, other;

	probe_table_probe(was, from, &one);
	probe_table_probe(is, to, &other);
	CHECK(one.module == other.module && one.entry == other.entry && one.exit == other.exit &&
			!strcmp(one.function, other.function) &&
			one.site.address == other.site.address &&
			one.site.offset == other.site.offset &&
			one.site.pieces[0].target == other.site.pieces[0].target &&
			one.site.bytes[8] == other.site.bytes[8]);
	CHECK(other.flags == (one.flags | flags) && other.semaphore == semaphore);
	if (one.entry != PROBE_TABLE_NONE)
		same_fetches(was, one.first_entry_fetch, is, other.first_entry_fetch, 2);
	if (one.exit != PROBE_TABLE_NONE)
		same_fetches(was, one.first_exit_fetch, is, other.first_exit_fetch, 1);
}

static struct made copied(
		const struct probe_table *table, const bool *chosen, enum probe_kernel_copy copy)
{
	int fd = probe_kernel_copy(table, chosen, copy);
	struct made made = {.size = 0};
	const char *reason = "";

	CHECK(fd >= 0 && !probe_table_check_memfd(fd, &made.size));
	made.bytes = mmap(NULL, made.size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(made.bytes != MAP_FAILED);
	CHECK(!probe_table_open(&made.table, made.bytes, made.size, &reason));
	close(fd);
	return made;
}

static void test_copies(const struct probe_table *table)
{
	static const bool chosen[NR_PROBES] = {true, false, true};
	struct made made = copied(table, chosen, PROBE_KERNEL_ALONE);

	/* The recorder in the process counts the listeners of semaphores. */
	same_definitions(table, &made.table);
	CHECK(probe_table_nr_probes(&made.table) == 2);
	same_probe(table, 0, &made.table, 0, 0, 0);
	same_probe(table, 2, &made.table, 1, 0, 0);
	CHECK(!munmap(made.bytes, made.size));
	made = copied(table, chosen, PROBE_KERNEL_MARKED);
	same_definitions(table, &made.table);
	CHECK(probe_table_nr_probes(&made.table) == 3);
	same_probe(table, 0, &made.table, 0, PROBE_ENTRY_KERNEL, 4096);
	same_probe(table, 1, &made.table, 1, 0, 0);
	same_probe(table, 2, &made.table, 2, PROBE_ENTRY_KERNEL, 0);
	CHECK(!munmap(made.bytes, made.size));
	made = copied(table, chosen, PROBE_KERNEL_OTHERS);
	CHECK(probe_table_nr_probes(&made.table) == 3);
	same_probe(table, 0, &made.table, 0, PROBE_ENTRY_KERNEL | PROBE_ENTRY_ELSEWHERE, 4096);
	same_probe(table, 1, &made.table, 1, 0, 0);
	same_probe(table, 2, &made.table, 2, PROBE_ENTRY_KERNEL | PROBE_ENTRY_ELSEWHERE, 0);
	CHECK(!munmap(made.bytes, made.size));
}

/* Each allocation fails once. Then there is no copy, and no descriptor is left open. */
static void test_memory(const struct probe_table *table)
{
	static const bool chosen[NR_PROBES] = {false, true, false};
	struct resources before = resources_now();
	unsigned int failures = 0;

	for (unsigned int call = 1;; call++) {
		int fd;

		failing_arm(call);
		fd = probe_kernel_copy(table, chosen, PROBE_KERNEL_MARKED);
		if (!failing_has_failed()) {
			CHECK(fd >= 0 && !close(fd));
			break;
		}
		CHECK(fd < 0);
		failures++;
	}
	CHECK(failures > 3);
	CHECK(resources_now().descriptors == before.descriptors);
}

int main(void)
{
	struct made made;

	make(&made);
	test_copies(&made.table);
	test_memory(&made.table);
	free(made.bytes);
	return 0;
}
