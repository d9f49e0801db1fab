/* SPDX-License-Identifier: MIT */
/*
 * Reads a table from another process: checks all of it once, then returns its parts without further
 * checks. Each record is copied because it may be unaligned.
 */
#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int probe_table_check_memfd(int fd, size_t *ret_size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat status;

	if (seals < 0)
		return -errno;
	if ((seals & SEALS) != SEALS)
		return -EPERM;
	if (fstat(fd, &status))
		return -errno;
	if (status.st_size <= 0 || status.st_size > (off_t)PROBE_TABLE_MAX)
		return -EFBIG;
	*ret_size = (size_t)status.st_size;
	return 0;
}

/* ---- records ---- */

static const char *table_read_get_record(
		const struct probe_table *table, enum table_part part, uint32_t index)
{
	return table->parts[part].records + (size_t)index * table->parts[part].stride;
}

#define COPY(table, part, index, record) \
	memcpy((record), table_read_get_record((table), (part), (index)), sizeof(*(record)))

static const char *string_at(const struct probe_table *table, uint32_t offset)
{
	return table->parts[TABLE_STRINGS].records + offset;
}

uint32_t probe_table_nr_modules(const struct probe_table *table)
{
	return table->parts[TABLE_MODULES].count;
}

uint32_t probe_table_nr_events(const struct probe_table *table)
{
	return table->parts[TABLE_EVENTS].count;
}

uint32_t probe_table_nr_probes(const struct probe_table *table)
{
	return table->parts[TABLE_PROBES].count;
}

uint32_t probe_table_nr_fetches(const struct probe_table *table)
{
	return table->parts[TABLE_FETCHES].count;
}

void probe_table_module(const struct probe_table *table, uint32_t index,
		struct probe_table_module *ret_module)
{
	struct table_module record;

	COPY(table, TABLE_MODULES, index, &record);
	*ret_module = (struct probe_table_module){.path = string_at(table, record.path),
			.name = string_at(table, record.name),
			.flags = record.flags,
			.build_id_size = record.build_id_size};
	memcpy(ret_module->build_id, record.build_id, sizeof(ret_module->build_id));
}

void probe_table_event(const struct probe_table *table, uint32_t index,
		struct probe_table_event *ret_event)
{
	struct table_event record;

	COPY(table, TABLE_EVENTS, index, &record);
	*ret_event = (struct probe_table_event){.provider = string_at(table, record.provider),
			.name = string_at(table, record.name),
			.loglevel = record.loglevel,
			.nr_fields = record.nr_fields,
			.first_field = record.first_field};
}

/* Records of older writers have no labels: the result then refers to an empty string. */
static void read_field(
		const struct probe_table *table, uint32_t index, struct table_field *ret_record)
{
	bool labels = table->parts[TABLE_FIELDS].stride >= sizeof(*ret_record);

	memcpy(ret_record, table_read_get_record(table, TABLE_FIELDS, index),
			labels ? sizeof(*ret_record) : TABLE_FIELD_LEAST);
	if (!labels)
		ret_record->labels = table->parts[TABLE_STRINGS].count - 1;
}

void probe_table_field(const struct probe_table *table, const struct probe_table_event *event,
		uint32_t index, struct probe_table_field *ret_field)
{
	struct table_field record;

	read_field(table, event->first_field + index, &record);
	*ret_field = (struct probe_table_field){.name = string_at(table, record.name),
			.type = record.type & (uint8_t)~TABLE_FIELD_GUARDED,
			.guarded = record.type & TABLE_FIELD_GUARDED,
			.size = record.size,
			.limit = record.limit,
			.labels = string_at(table, record.labels)};
}

void probe_table_fetch(const struct probe_table *table, uint32_t first, uint32_t index,
		struct probe_fetch *ret_fetch)
{
	struct table_fetch record;

	COPY(table, TABLE_FETCHES, first + index, &record);
	ret_fetch->nr_ops = record.nr_ops;
	/* Aligned: check_part() has checked that. */
	ret_fetch->ops = (const void *)table_read_get_record(table, TABLE_OPS, record.first_op);
}

static void table_read_pieces(
		const struct probe_table *table, uint32_t first, struct probe_site *ret_site)
{
	for (unsigned int i = 0; i < ret_site->nr_pieces; i++) {
		struct table_piece record;

		COPY(table, TABLE_PIECES, first + i, &record);
		ret_site->begins |= !i && record.begins;
		ret_site->pieces[i] = (struct probe_piece){.at = record.at,
				.length = record.length,
				.kind = record.kind,
				.field = record.field,
				.detail = record.detail,
				.target = record.target};
	}
}

static void table_read_site(const struct probe_table *table, const struct table_probe *record,
		struct probe_site *ret_site)
{
	ret_site->address = record->address;
	ret_site->offset = record->offset;
	ret_site->springboard = record->springboard;
	ret_site->method = record->method;
	ret_site->reason = record->has_reason ? "" : NULL;
	ret_site->displaced = record->displaced;
	ret_site->patched = record->patched;
	ret_site->ends = record->ends != 0;
	ret_site->nr_pieces = record->nr_pieces;
	ret_site->nr_bytes = record->nr_bytes;
	memcpy(ret_site->bytes, record->bytes, sizeof(ret_site->bytes));
	memcpy(ret_site->springboard_bytes, record->springboard_bytes,
			sizeof(ret_site->springboard_bytes));
	table_read_pieces(table, record->first_piece, ret_site);
}

void probe_table_probe(const struct probe_table *table, uint32_t index,
		struct probe_table_probe *ret_probe)
{
	struct table_probe record;

	COPY(table, TABLE_PROBES, index, &record);
	*ret_probe = (struct probe_table_probe){.module = record.module,
			.entry = record.entry,
			.exit = record.exit,
			.flags = record.flags,
			.semaphore = record.semaphore,
			.function = string_at(table, record.function),
			.first_entry_fetch = record.first_entry_fetch,
			.first_exit_fetch = record.first_exit_fetch};
	table_read_site(table, &record, &ret_probe->site);
}

/* ---- checks ---- */

static bool is_string(const struct probe_table *table, uint32_t offset)
{
	const struct probe_table_part *strings = &table->parts[TABLE_STRINGS];
	size_t capacity;

	if (offset >= strings->count)
		return false;
	capacity = strings->count - offset;
	if (capacity > PROBE_TABLE_STRING_MAX + 1)
		capacity = PROBE_TABLE_STRING_MAX + 1;
	return memchr(strings->records + offset, 0, capacity) != NULL;
}

static bool is_range(const struct probe_table *table, enum table_part part, uint32_t first,
		uint32_t count)
{
	return !count ||
			(first < table->parts[part].count &&
					count <= table->parts[part].count - first);
}

static const char *check_part(const struct probe_table *table, const struct table_part_head *head,
		enum table_part part)
{
	/* Records of fields have grown: older writers have shorter ones. */
	uint32_t smallest = part == TABLE_FIELDS ? TABLE_FIELD_LEAST : table_strides[part];

	if (head->reserved || head->stride < smallest || head->stride > TABLE_STRIDE_MAX ||
			(part == TABLE_STRINGS && head->stride != 1) ||
			/* The operations are returned as an array. */
			(part == TABLE_OPS && head->stride != smallest))
		return "its records have a size that they cannot have";
	if (head->offset > table->size ||
			(uint64_t)head->count * head->stride > table->size - head->offset)
		return "a part of it is out of range";
	if (part == TABLE_OPS && head->offset % 8 && head->count)
		return "its operations are not where they can be read";
	return NULL;
}

static const char *check_parts(struct probe_table *table)
{
	struct table_head head;
	const struct probe_table_part *strings = &table->parts[TABLE_STRINGS];

	memcpy(&head, table->bytes, sizeof(head));
	if (head.size != table->size || head.reserved || head.nr_parts < TABLE_NR_PARTS ||
			table->size < sizeof(head) + head.nr_parts * sizeof(struct table_part_head))
		return "its head is damaged";
	for (unsigned int i = 0; i < TABLE_NR_PARTS; i++) {
		struct table_part_head part;
		const char *reason;

		memcpy(&part, table->bytes + sizeof(head) + i * sizeof(part), sizeof(part));
		reason = check_part(table, &part, i);
		if (reason)
			return reason;
		table->parts[i] = (struct probe_table_part){
				table->bytes + part.offset, part.count, part.stride};
	}
	if (probe_table_nr_modules(table) > PROBE_TABLE_MODULES_MAX ||
			probe_table_nr_events(table) > PROBE_TABLE_EVENTS_MAX ||
			probe_table_nr_probes(table) > PROBE_TABLE_PROBES_MAX)
		return "it has too many modules, events or probes";
	if (strings->count && strings->records[strings->count - 1])
		return "its last string has no end";
	return NULL;
}

static const char *check_modules(const struct probe_table *table)
{
	for (uint32_t i = 0; i < probe_table_nr_modules(table); i++) {
		struct table_module record;

		COPY(table, TABLE_MODULES, i, &record);
		if (!is_string(table, record.path) || !is_string(table, record.name))
			return "the name of a module has no end";
		if (record.build_id_size > PROBE_TABLE_BUILD_ID_MAX ||
				(record.flags & ~(uint32_t)PROBE_MODULE_EXECUTABLE))
			return "a module has unknown flags, or a build id that is too long";
	}
	return NULL;
}

static const char *table_read_check_fields(
		const struct probe_table *table, const struct probe_table_event *event)
{
	struct probe_table_field fields[PROBE_TABLE_FIELDS_MAX];

	for (uint32_t i = 0; i < event->nr_fields; i++) {
		struct table_field record;

		read_field(table, event->first_field + i, &record);
		if (!is_string(table, record.name) || !is_string(table, record.labels))
			return "the name of a field has no end";
		probe_table_field(table, event, i, &fields[i]);
	}
	return table_check_fields(fields, event->nr_fields);
}

static const char *check_events(const struct probe_table *table)
{
	for (uint32_t i = 0; i < probe_table_nr_events(table); i++) {
		struct table_event record;
		struct probe_table_event event;
		const char *reason;

		COPY(table, TABLE_EVENTS, i, &record);
		if (!is_string(table, record.provider) || !is_string(table, record.name))
			return "the name of an event has no end";
		if (record.nr_fields > PROBE_TABLE_FIELDS_MAX ||
				!is_range(table, TABLE_FIELDS, record.first_field,
						record.nr_fields))
			return "the fields of an event are out of range";
		probe_table_event(table, i, &event);
		reason = table_check_event(event.provider, event.name);
		if (!reason)
			reason = table_read_check_fields(table, &event);
		if (reason)
			return reason;
	}
	return NULL;
}

/* Each operation is valid in itself: check that the fetch saves as many values as it uses. */
static const char *check_aside(const struct probe_table *table, const struct table_fetch *fetch)
{
	unsigned int nr_aside = 0;
	const char *reason = NULL;

	for (uint32_t i = 0; i < fetch->nr_ops && !reason; i++) {
		struct probe_fetch_op op;

		COPY(table, TABLE_OPS, fetch->first_op + i, &op);
		reason = table_check_aside(&op, &nr_aside);
	}
	return reason;
}

static const char *check_fetches(const struct probe_table *table)
{
	for (uint32_t i = 0; i < table->parts[TABLE_FETCHES].count; i++) {
		struct table_fetch record;
		const char *reason;

		COPY(table, TABLE_FETCHES, i, &record);
		if (record.nr_ops > PROBE_TABLE_OPS_MAX ||
				!is_range(table, TABLE_OPS, record.first_op, record.nr_ops))
			return "the operations of a fetch are out of range";
		reason = check_aside(table, &record);
		if (reason)
			return reason;
	}
	for (uint32_t i = 0; i < table->parts[TABLE_OPS].count; i++) {
		struct probe_fetch_op op;
		const char *reason;

		COPY(table, TABLE_OPS, i, &op);
		reason = table_check_op(&op);
		if (reason)
			return reason;
	}
	return NULL;
}

static bool has_fetches(const struct probe_table *table, uint32_t event, uint32_t first)
{
	struct probe_table_event known;

	if (event == PROBE_TABLE_NONE)
		return true;
	if (event >= probe_table_nr_events(table))
		return false;
	probe_table_event(table, event, &known);
	return is_range(table, TABLE_FETCHES, first, known.nr_fields);
}

static const char *check_probe(const struct probe_table *table, const struct table_probe *record)
{
	struct probe_site site = {.address = 0};

	if (record->module >= probe_table_nr_modules(table))
		return "the module of a probe is out of range";
	if ((record->entry == PROBE_TABLE_NONE && record->exit == PROBE_TABLE_NONE) ||
			!has_fetches(table, record->entry, record->first_entry_fetch) ||
			!has_fetches(table, record->exit, record->first_exit_fetch))
		return "the event of a probe is out of range";
	if (record->flags & ~(uint32_t)PROBE_ENTRY_FLAGS)
		return "a probe has unknown flags";
	if (!is_string(table, record->function))
		return "the name of a function has no end";
	if (record->nr_pieces > PROBE_PIECES_MAX || record->ends > 1 || record->has_reason > 1 ||
			!is_range(table, TABLE_PIECES, record->first_piece, record->nr_pieces))
		return "the instructions of a location are not in the table";
	table_read_site(table, record, &site);
	return table_check_site(&site);
}

static const char *check_probes(const struct probe_table *table)
{
	for (uint32_t i = 0; i < probe_table_nr_probes(table); i++) {
		struct table_probe record;
		const char *reason;

		COPY(table, TABLE_PROBES, i, &record);
		reason = check_probe(table, &record);
		if (reason)
			return reason;
	}
	return NULL;
}

int probe_table_open(
		struct probe_table *table, const void *bytes, size_t size, const char **ret_reason)
{
	static const char *(*const checks[])(const struct probe_table *) = {
			check_modules, check_events, check_fetches, check_probes};
	struct table_head head;

	*table = (struct probe_table){.bytes = bytes, .size = size};
	*ret_reason = "it is not a probe table";
	if (size < sizeof(head) || size > PROBE_TABLE_MAX)
		return -EPROTO;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != TABLE_MAGIC)
		return -EPROTO;
	*ret_reason = "it has another version";
	if (head.version != PROBE_TABLE_VERSION)
		return -EPROTONOSUPPORT;
	*ret_reason = check_parts(table);
	for (unsigned int i = 0; !*ret_reason && i < sizeof(checks) / sizeof(checks[0]); i++)
		*ret_reason = checks[i](table);
	return *ret_reason ? -EPROTO : 0;
}
