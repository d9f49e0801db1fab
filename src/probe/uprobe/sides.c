/* SPDX-License-Identifier: MIT */
/* Converts tables of probes to sides, with the offsets in files that the kernel requires. */
#include "parts.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SEGMENTS_MAX 256
#define ROUND(size) (((size) + 7u) & ~7u)

/* Returns 0, -ENXIO if the file ends before the end of the part, or the error of the call. */
static int uprobe_side_read_part(int fd, void *part, size_t size, uint64_t at)
{
	ssize_t got = pread(fd, part, size, (off_t)at);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -ENXIO;
}

static int uprobe_side_find_segment(int fd, uint64_t address, uint64_t *ret_offset)
{
	Elf64_Ehdr head;
	int ret = uprobe_side_read_part(fd, &head, sizeof(head), 0);

	if (ret)
		return ret;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(Elf64_Phdr))
		return -ENXIO;
	for (unsigned int i = 0; i < head.e_phnum && i < SEGMENTS_MAX; i++) {
		Elf64_Phdr segment;

		ret = uprobe_side_read_part(
				fd, &segment, sizeof(segment), head.e_phoff + i * sizeof(segment));
		if (ret)
			return ret;
		if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
				address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*ret_offset = address - segment.p_vaddr + segment.p_offset;
		return 0;
	}
	return -ENXIO;
}

int uprobe_file_offset(const char *path, uint64_t address, uint64_t *ret_offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	if (fd < 0)
		return -errno;
	ret = uprobe_side_find_segment(fd, address, ret_offset);
	close(fd);
	return ret;
}

uint64_t uprobe_fetch_finish(const struct probe_fetch *fetch, uint32_t first, uint64_t value)
{
	for (uint32_t i = first; i < fetch->nr_ops; i++) {
		const struct probe_fetch_op *op = &fetch->ops[i];
		unsigned int remainder = op->size && op->size <= 64 ? 64u - op->size : 0;

		switch (op->code) {
		case PROBE_FETCH_CONSTANT: value = (uint64_t)op->value; break;
		case PROBE_FETCH_ADD: value += (uint64_t)op->value; break;
		case PROBE_FETCH_SHIFT_RIGHT: value >>= op->size & 63; break;
		case PROBE_FETCH_ZERO_EXTEND: value = value << remainder >> remainder; break;
		case PROBE_FETCH_SIGN_EXTEND:
			value = (uint64_t)((int64_t)(value << remainder) >> remainder);
			break;
		default: break;
		}
	}
	return value;
}

/* ---- fields ---- */

static bool uprobe_side_is_constant(const struct probe_fetch *fetch)
{
	for (uint32_t i = 0; i < fetch->nr_ops; i++) {
		switch (fetch->ops[i].code) {
		case PROBE_FETCH_CONSTANT:
		case PROBE_FETCH_ADD:
		case PROBE_FETCH_SHIFT_RIGHT:
		case PROBE_FETCH_ZERO_EXTEND:
		case PROBE_FETCH_SIGN_EXTEND: break;
		default: return false;
		}
	}
	return true;
}

static enum global_source side_get_source(const struct global_field *field)
{
	const struct probe_fetch *fetch = &field->fetch;

	if (!field->field.limit && uprobe_side_is_constant(fetch))
		return GLOBAL_CONSTANT;
	if (fetch->nr_ops != 1)
		return GLOBAL_FETCHED;
	switch (fetch->ops[0].code) {
	case PROBE_FETCH_FUNCTION: return GLOBAL_FUNCTION;
	case PROBE_FETCH_CALL: return GLOBAL_CALL;
	case PROBE_FETCH_DURATION: return GLOBAL_DURATION;
	case PROBE_FETCH_UNREADABLE: return GLOBAL_UNREADABLE;
	default: return GLOBAL_FETCHED;
	}
}

static void uprobe_side_make_field(struct global_side *side, struct global_field *field)
{
	field->source = side_get_source(field);
	/* The runtime address differs between processes: record the address in the file. */
	if (side->exit && field->fetch.nr_ops == 1 &&
			field->fetch.ops[0].code == PROBE_FETCH_SITE) {
		field->source = GLOBAL_CONSTANT;
		field->constant = side->address;
		return;
	}
	if (field->source == GLOBAL_CONSTANT)
		field->constant = uprobe_fetch_finish(&field->fetch, 0, 0);
	if (field->source != GLOBAL_FETCHED)
		return;
	field->at = side->size;
	side->size += 8;
	if (field->field.type == PROBE_FIELD_STRING)
		field->capacity = ROUND(field->field.limit + 1u);
	else if (probe_field_is_array(&field->field) && field->field.type != PROBE_FIELD_BACKTRACE)
		field->capacity = ROUND((uint32_t)field->field.size * field->field.limit);
	side->size += field->capacity;
}

/* ---- sides ---- */

/*
 * A marker beside an event is a nop and a long nop of five bytes (side/sdt.h). From Linux 6.18 on
 * the kernel replaces the long nop by a call, which costs less than the trap that it writes over
 * the short one.
 */
static bool side_kernel_takes_call(void)
{
	struct utsname system;
	unsigned int major, minor;

	return !uname(&system) && sscanf(system.release, "%u.%u", &major, &minor) == 2 &&
			(major > 6 || (major == 6 && minor >= 18));
}

static bool side_has_long_nop_after(const char *path, uint64_t offset)
{
	static const unsigned char both[] = {0x90, 0x0f, 0x1f, 0x44, 0x00, 0x00};
	unsigned char there[sizeof(both)];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool found = fd >= 0 && pread(fd, there, sizeof(there), (off_t)offset) == sizeof(there) &&
			!memcmp(there, both, sizeof(both));

	if (fd >= 0)
		close(fd);
	return found;
}

/* Sets the offsets of the location and of the semaphore, if the marker has one. */
static int side_find_offsets(struct global_side *side, uint64_t semaphore, struct error *error)
{
	int ret = uprobe_file_offset(side->path, side->address, &side->offset);

	if (ret == -ENXIO)
		return error_set(error, -ENOENT, "",
				"%.256s has no code at 0x%llx that the kernel could watch",
				side->path, (unsigned long long)side->address);
	if (!ret && semaphore)
		ret = uprobe_file_offset(side->path, semaphore, &side->reference);
	if (ret == -ENXIO)
		return error_set(error, -ENOENT, "", "the semaphore of the marker is not in %.256s",
				side->path);
	return ret ? error_set(error, ret, "", "%.256s cannot be read: %s", side->path,
				     strerror(-ret))
		   : 0;
}

static int side_make(struct global *global, uint32_t table_number,
		const struct probe_table_probe *probe, bool exit, struct error *error)
{
	const struct probe_table *table = &global->tables.tables[table_number];
	struct global_side *side = &global->sides[global->nr_sides];
	struct probe_table_module module;
	struct probe_table_event event;
	uint32_t number = exit ? probe->exit : probe->entry;
	int ret;

	probe_table_module(table, probe->module, &module);
	probe_table_event(table, number, &event);
	*side = (struct global_side){.number = global->nr_sides,
			.table = table_number,
			.event = number,
			.exit = exit,
			.paired = probe->entry != PROBE_TABLE_NONE &&
					probe->exit != PROBE_TABLE_NONE,
			.path = module.path,
			.function = probe->function,
			.address = probe->site.address,
			.nr_fields = event.nr_fields,
			.fields = calloc(event.nr_fields + 1u, sizeof(*side->fields))};
	if (!side->fields)
		return error_set_no_memory(error);
	global->nr_sides++;
	ret = side_find_offsets(side, probe->semaphore, error);
	if (ret)
		return ret;
	if (side->reference && !exit && side_kernel_takes_call() &&
			side_has_long_nop_after(side->path, side->offset))
		side->offset++;
	for (uint32_t i = 0; i < side->nr_fields; i++) {
		struct global_field *field = &side->fields[i];

		probe_table_field(table, &event, i, &field->field);
		probe_table_fetch(table, exit ? probe->first_exit_fetch : probe->first_entry_fetch,
				i, &field->fetch);
		uprobe_side_make_field(side, field);
	}
	return 0;
}

static int uprobe_side_open_table(struct uprobe_tables *tables, int fd, struct error *error)
{
	const char *reason = NULL;
	size_t i = tables->nr;
	int ret = probe_table_check_memfd(fd, &tables->sizes[i]);

	tables->memory[i] = ret ? MAP_FAILED
				: mmap(NULL, tables->sizes[i], PROT_READ, MAP_SHARED, fd, 0);
	if (!ret && tables->memory[i] == MAP_FAILED)
		ret = -errno;
	if (ret)
		return error_set(error, ret, "", "cannot use the probe table: %s",
				ret == -EPERM ? "it is not sealed" : strerror(-ret));
	tables->nr++;
	ret = probe_table_open(&tables->tables[i], tables->memory[i], tables->sizes[i], &reason);
	return ret ? error_set(error, ret, "", "cannot use the probe table: %s", reason) : 0;
}

static int side_open_tables(
		struct global *global, const struct global_options *options, struct error *error)
{
	struct uprobe_tables *tables = &global->tables;
	uint64_t sides = 0;
	int ret = 0;

	tables->tables = calloc(options->nr_tables + 1, sizeof(*tables->tables));
	tables->memory = calloc(options->nr_tables + 1, sizeof(*tables->memory));
	tables->sizes = calloc(options->nr_tables + 1, sizeof(*tables->sizes));
	if (!tables->tables || !tables->memory || !tables->sizes)
		return error_set_no_memory(error);
	for (size_t i = 0; i < options->nr_tables && !ret; i++) {
		ret = uprobe_side_open_table(tables, options->tables[i], error);
		if (!ret)
			sides += 2ull * probe_table_nr_probes(&tables->tables[i]);
	}
	if (ret)
		return ret;
	global->sides = calloc(sides + 1, sizeof(*global->sides));
	return global->sides ? 0 : error_set_no_memory(error);
}

int sides_make(struct global *global, const struct global_options *options, struct error *error)
{
	int ret = side_open_tables(global, options, error);

	for (uint32_t i = 0; !ret && i < global->tables.nr; i++) {
		const struct probe_table *table = &global->tables.tables[i];

		for (uint32_t j = 0; !ret && j < probe_table_nr_probes(table); j++) {
			struct probe_table_probe probe;

			probe_table_probe(table, j, &probe);
			if (probe.entry != PROBE_TABLE_NONE)
				ret = side_make(global, i, &probe, false, error);
			if (!ret && probe.exit != PROBE_TABLE_NONE)
				ret = side_make(global, i, &probe, true, error);
		}
	}
	return ret;
}

void sides_free(struct global *global)
{
	struct uprobe_tables *tables = &global->tables;

	for (uint32_t i = 0; i < global->nr_sides; i++)
		free(global->sides[i].fields);
	free(global->sides);
	for (size_t i = 0; i < tables->nr; i++)
		munmap(tables->memory[i], tables->sizes[i]);
	free(tables->tables);
	free(tables->memory);
	free(tables->sizes);
}
