/* SPDX-License-Identifier: MIT */
/* Writes a table: collects one buffer for each part, and joins them at the end. */
#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct table_buffer {
	char *bytes;
	size_t size, capacity;
	uint32_t count;
};

/* The fetches of one event, as the last probe has them. */
struct last_fetches {
	uint32_t first, nr;
};

struct probe_table_writer {
	struct table_buffer parts[TABLE_NR_PARTS];
	struct last_fetches last;
};

struct probe_table_writer *probe_table_writer_new(void)
{
	return calloc(1, sizeof(struct probe_table_writer));
}

void probe_table_writer_free(struct probe_table_writer *writer)
{
	if (!writer)
		return;
	for (unsigned int i = 0; i < TABLE_NR_PARTS; i++)
		free(writer->parts[i].bytes);
	free(writer);
}

/* ---- appending, with roll back ---- */

/* The sizes of all parts, to which the writer returns if a record does not fit. */
struct table_mark {
	size_t size[TABLE_NR_PARTS];
	uint32_t count[TABLE_NR_PARTS];
};

static struct table_mark table_write_get_mark(const struct probe_table_writer *writer)
{
	struct table_mark mark;

	for (unsigned int i = 0; i < TABLE_NR_PARTS; i++) {
		mark.size[i] = writer->parts[i].size;
		mark.count[i] = writer->parts[i].count;
	}
	return mark;
}

static int64_t table_write_roll_back(
		struct probe_table_writer *writer, const struct table_mark *mark, int error)
{
	for (unsigned int i = 0; i < TABLE_NR_PARTS; i++) {
		writer->parts[i].size = mark->size[i];
		writer->parts[i].count = mark->count[i];
	}
	return error;
}

static int table_write_append_record(struct probe_table_writer *writer, enum table_part kind,
		const void *records, size_t count)
{
	struct table_buffer *part = &writer->parts[kind];
	size_t size = count * table_strides[kind];

	if (size > PROBE_TABLE_MAX || part->size + size > PROBE_TABLE_MAX)
		return -E2BIG;
	if (part->size + size > part->capacity) {
		size_t capacity = (part->size + size) * 2;
		char *bytes = realloc(part->bytes, capacity);

		if (!bytes)
			return -ENOMEM;
		part->bytes = bytes;
		part->capacity = capacity;
	}
	if (size)
		memcpy(part->bytes + part->size, records, size);
	part->size += size;
	part->count += (uint32_t)count;
	return 0;
}

static int table_write_add_string(
		struct probe_table_writer *writer, const char *string, uint32_t *ret_offset)
{
	size_t size = strlen(string) + 1;

	*ret_offset = (uint32_t)writer->parts[TABLE_STRINGS].size;
	return size > PROBE_TABLE_STRING_MAX + 1
			? -E2BIG
			: table_write_append_record(writer, TABLE_STRINGS, string, size);
}

int64_t probe_table_add_module(
		struct probe_table_writer *writer, const struct probe_table_module *module)
{
	struct table_mark mark = table_write_get_mark(writer);
	struct table_module record = {
			.flags = module->flags, .build_id_size = module->build_id_size};
	int ret;

	if (module->build_id_size > PROBE_TABLE_BUILD_ID_MAX ||
			(module->flags & ~(uint32_t)PROBE_MODULE_EXECUTABLE))
		return -EINVAL;
	if (mark.count[TABLE_MODULES] >= PROBE_TABLE_MODULES_MAX)
		return -E2BIG;
	memcpy(record.build_id, module->build_id, module->build_id_size);
	ret = table_write_add_string(writer, module->path, &record.path);
	if (!ret)
		ret = table_write_add_string(writer, module->name, &record.name);
	if (!ret)
		ret = table_write_append_record(writer, TABLE_MODULES, &record, 1);
	return ret ? table_write_roll_back(writer, &mark, ret) : (int64_t)mark.count[TABLE_MODULES];
}

/* ---- events ---- */

static int table_write_add_field(
		struct probe_table_writer *writer, const struct probe_table_field *field)
{
	struct table_field record = {
			.type = (uint8_t)(field->type | (field->guarded ? TABLE_FIELD_GUARDED : 0)),
			.size = field->size,
			.limit = field->limit};
	int ret = table_write_add_string(writer, field->name, &record.name);

	if (!ret)
		ret = table_write_add_string(
				writer, field->labels ? field->labels : "", &record.labels);
	return ret ? ret : table_write_append_record(writer, TABLE_FIELDS, &record, 1);
}

int64_t probe_table_add_event(
		struct probe_table_writer *writer, const struct probe_table_event *event)
{
	struct table_mark mark = table_write_get_mark(writer);
	struct table_event record = {.loglevel = event->loglevel,
			.first_field = mark.count[TABLE_FIELDS],
			.nr_fields = event->nr_fields};
	int ret;

	if (table_check_event(event->provider, event->name) ||
			table_check_fields(event->fields, event->nr_fields))
		return -EINVAL;
	if (mark.count[TABLE_EVENTS] >= PROBE_TABLE_EVENTS_MAX)
		return -E2BIG;
	ret = table_write_add_string(writer, event->provider, &record.provider);
	if (!ret)
		ret = table_write_add_string(writer, event->name, &record.name);
	for (uint32_t i = 0; !ret && i < event->nr_fields; i++)
		ret = table_write_add_field(writer, &event->fields[i]);
	if (!ret)
		ret = table_write_append_record(writer, TABLE_EVENTS, &record, 1);
	return ret ? table_write_roll_back(writer, &mark, ret) : (int64_t)mark.count[TABLE_EVENTS];
}

/* ---- probes ---- */

static bool table_write_are_same_ops(const struct probe_table_writer *writer, uint32_t fetch,
		const struct probe_fetch *other)
{
	struct table_fetch record;

	memcpy(&record, writer->parts[TABLE_FETCHES].bytes + fetch * sizeof(record),
			sizeof(record));
	return record.nr_ops == other->nr_ops &&
			(!other->nr_ops ||
					!memcmp(writer->parts[TABLE_OPS].bytes +
									record.first_op *
											sizeof(struct probe_fetch_op),
							other->ops,
							other->nr_ops * sizeof(*other->ops)));
}

/* Most probes of a table have the same fetches as the one before them: those are written once. */
static bool table_write_are_last(const struct probe_table_writer *writer,
		const struct probe_fetch *fetches, uint32_t nr)
{
	if (!nr || nr != writer->last.nr)
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (!table_write_are_same_ops(writer, writer->last.first + i, &fetches[i]))
			return false;
	return true;
}

static int table_write_add_fetch(struct probe_table_writer *writer, const struct probe_fetch *fetch)
{
	struct table_fetch record = {
			.first_op = writer->parts[TABLE_OPS].count, .nr_ops = fetch->nr_ops};
	unsigned int aside = 0;
	int ret;

	if (fetch->nr_ops > PROBE_TABLE_OPS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < fetch->nr_ops; i++)
		if (table_check_op(&fetch->ops[i]) || table_check_aside(&fetch->ops[i], &aside))
			return -EINVAL;
	ret = table_write_append_record(writer, TABLE_OPS, fetch->ops, fetch->nr_ops);
	return ret ? ret : table_write_append_record(writer, TABLE_FETCHES, &record, 1);
}

/* Adds one fetch for each field of the event. */
static int table_write_add_fetches(struct probe_table_writer *writer, uint32_t event,
		const struct probe_fetch *fetches, uint32_t *ret_first)
{
	struct table_event record;
	int ret = 0;

	*ret_first = 0;
	if (event == PROBE_TABLE_NONE)
		return 0;
	if (event >= writer->parts[TABLE_EVENTS].count)
		return -EINVAL;
	memcpy(&record, writer->parts[TABLE_EVENTS].bytes + event * sizeof(record), sizeof(record));
	if (!record.nr_fields)
		return 0;
	if (!fetches)
		return -EINVAL;
	*ret_first = writer->parts[TABLE_FETCHES].count;
	if (table_write_are_last(writer, fetches, record.nr_fields)) {
		*ret_first = writer->last.first;
		return 0;
	}
	for (uint32_t i = 0; !ret && i < record.nr_fields; i++)
		ret = table_write_add_fetch(writer, &fetches[i]);
	return ret;
}

static void table_write_copy_site(struct table_probe *record, const struct probe_site *site)
{
	record->address = site->address;
	record->offset = site->offset;
	record->springboard = site->springboard;
	record->method = (uint8_t)site->method;
	record->displaced = site->displaced;
	record->patched = site->patched;
	record->ends = site->ends;
	record->nr_pieces = site->nr_pieces;
	record->nr_bytes = site->nr_bytes;
	record->has_reason = site->reason != NULL;
	memcpy(record->bytes, site->bytes, sizeof(record->bytes));
	memcpy(record->springboard_bytes, site->springboard_bytes,
			sizeof(record->springboard_bytes));
}

static int table_write_add_pieces(struct probe_table_writer *writer, const struct probe_site *site)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < site->nr_pieces; i++) {
		const struct probe_piece *piece = &site->pieces[i];
		struct table_piece record = {.at = piece->at,
				.length = piece->length,
				.kind = piece->kind,
				.field = piece->field,
				.begins = !i && site->begins,
				.detail = piece->detail,
				.target = piece->target};

		ret = table_write_append_record(writer, TABLE_PIECES, &record, 1);
	}
	return ret;
}

static void table_write_remember_fetches(struct probe_table_writer *writer,
		const struct probe_table_probe *probe, const struct table_probe *record)
{
	uint32_t event = probe->entry != PROBE_TABLE_NONE ? probe->entry : probe->exit;
	struct table_event known;

	memcpy(&known, writer->parts[TABLE_EVENTS].bytes + event * sizeof(known), sizeof(known));
	writer->last.first = probe->entry != PROBE_TABLE_NONE ? record->first_entry_fetch
							      : record->first_exit_fetch;
	writer->last.nr = known.nr_fields;
}

int64_t probe_table_add_probe(
		struct probe_table_writer *writer, const struct probe_table_probe *probe)
{
	struct table_mark mark = table_write_get_mark(writer);
	struct table_probe record = {.module = probe->module,
			.entry = probe->entry,
			.exit = probe->exit,
			.flags = probe->flags,
			.semaphore = probe->semaphore,
			.first_piece = mark.count[TABLE_PIECES]};
	int ret;

	if (probe->module >= mark.count[TABLE_MODULES] ||
			(probe->flags & ~(uint32_t)PROBE_ENTRY_FLAGS) ||
			(probe->entry == PROBE_TABLE_NONE && probe->exit == PROBE_TABLE_NONE) ||
			table_check_site(&probe->site))
		return -EINVAL;
	if (mark.count[TABLE_PROBES] >= PROBE_TABLE_PROBES_MAX)
		return -E2BIG;
	table_write_copy_site(&record, &probe->site);
	ret = table_write_add_string(
			writer, probe->function ? probe->function : "", &record.function);
	if (!ret)
		ret = table_write_add_fetches(writer, probe->entry, probe->entry_fetches,
				&record.first_entry_fetch);
	if (!ret)
		ret = table_write_add_fetches(
				writer, probe->exit, probe->exit_fetches, &record.first_exit_fetch);
	if (!ret)
		ret = table_write_add_pieces(writer, &probe->site);
	if (!ret)
		ret = table_write_append_record(writer, TABLE_PROBES, &record, 1);
	if (ret)
		return table_write_roll_back(writer, &mark, ret);
	table_write_remember_fetches(writer, probe, &record);
	return (int64_t)mark.count[TABLE_PROBES];
}

/* ---- the complete table ---- */

int probe_table_bytes(struct probe_table_writer *writer, void **ret_bytes, size_t *ret_size)
{
	struct table_part_head parts[TABLE_NR_PARTS] = {0};
	struct table_head head = {.magic = TABLE_MAGIC,
			.version = PROBE_TABLE_VERSION,
			.nr_parts = TABLE_NR_PARTS};
	size_t at = sizeof(head) + sizeof(parts);
	char *all;

	for (unsigned int i = 0; i < TABLE_NR_PARTS; i++) {
		at = (at + 7) & ~(size_t)7;
		parts[i].offset = (uint32_t)at;
		parts[i].count = writer->parts[i].count;
		parts[i].stride = table_strides[i];
		at += writer->parts[i].size;
		if (at > PROBE_TABLE_MAX)
			return -E2BIG;
	}
	all = calloc(1, at);
	if (!all)
		return -ENOMEM;
	head.size = (uint32_t)at;
	memcpy(all, &head, sizeof(head));
	memcpy(all + sizeof(head), parts, sizeof(parts));
	for (unsigned int i = 0; i < TABLE_NR_PARTS; i++)
		if (writer->parts[i].size)
			memcpy(all + parts[i].offset, writer->parts[i].bytes,
					writer->parts[i].size);
	*ret_bytes = all;
	*ret_size = at;
	return 0;
}

int probe_table_memfd(struct probe_table_writer *writer)
{
	void *bytes;
	size_t size;
	int fd, ret = probe_table_bytes(writer, &bytes, &size);

	if (ret)
		return ret;
	fd = memfd_create("side-probes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ret = fd < 0 ? -errno : io_write_all(fd, bytes, size);
	if (!ret && fcntl(fd, F_ADD_SEALS, SEALS))
		ret = -errno;
	free(bytes);
	if (ret && fd >= 0)
		close(fd);
	return ret ? ret : fd;
}
