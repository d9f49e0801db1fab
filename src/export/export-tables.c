/* SPDX-License-Identifier: MIT */
/*
 * One table for each event, with a column for each field.
 *
 * A structure becomes a column for each member (`a.b`). An enumeration becomes one for its value
 * and one for its labels (`state.label`). A value without a fixed shape becomes a column with JSON:
 * arrays, variants with more than a scalar, dynamic values.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/export-csv.h"

#define TABLE_BUFFER (16u << 10)

/* ---- columns ---- */

struct export_row {
	struct view_out *out;
	struct view_out *scratch;
	struct view_sink sink; /* JSON into `scratch` */
};

static void put_title(
		struct export_row *row, const char *prefix, const char *name, const char *suffix)
{
	char *title;
	int size = asprintf(&title, "%s%s%s", prefix, name, suffix);

	if (size < 0) {
		row->out->failed = true;
		return;
	}
	view_out_char(row->out, ',');
	csv_put_text(row->out, row->scratch, title, (size_t)size);
	free(title);
}

static char *longer_prefix(struct export_row *row, const char *prefix, const char *name)
{
	char *longer;

	if (asprintf(&longer, "%s%s.", prefix, name) >= 0)
		return longer;
	row->out->failed = true;
	return NULL;
}

static void show_titles(struct export_row *row, const char *prefix, const struct view_show *show)
{
	for (uint32_t i = 0; i < show->part_count; i++) {
		const struct view_show *part = show->parts[i];
		char copy[1100], *longer;

		if (!part)
			continue;
		snprintf(copy, sizeof(copy), part->copy > 1 ? "%.1024s#%u" : "%.1024s", part->name,
				part->copy);
		if (part->kind == VIEW_SHOW_STRUCT) {
			longer = longer_prefix(row, prefix, copy);
			if (longer)
				show_titles(row, longer, part);
			free(longer);
			continue;
		}
		put_title(row, prefix, copy, "");
		if (part->kind == VIEW_SHOW_ENUM || part->kind == VIEW_SHOW_BITMAP)
			put_title(row, prefix, copy, ".label");
	}
}

static bool is_enum(const struct ctf_type *type)
{
	return (type->kind == CTF_ENUM && !type->boolean) || (type->bitmap && type->label_count);
}

static void type_titles(struct export_row *row, const char *prefix, const struct ctf_type *type)
{
	for (uint32_t i = 0; i < type->member_count; i++) {
		const struct ctf_member *member = &type->members[i];
		const char *name = member->name + (*member->name == '_');
		char *longer;

		if (view_is_tag(type, i))
			continue;
		if (member->type->kind == CTF_STRUCT) {
			longer = longer_prefix(row, prefix, name);
			if (longer)
				type_titles(row, longer, member->type);
			free(longer);
			continue;
		}
		put_title(row, prefix, name, "");
		if (is_enum(member->type))
			put_title(row, prefix, name, ".label");
	}
}

static void put_titles(
		struct export_row *row, const struct walk_class *class, const struct ctf_item *item)
{
	const struct view_event *event = class->view;

	view_out_text(row->out, csv_first_columns);
	if (item->common_context)
		type_titles(row, "ctx.", item->common_context->type);
	if (item->context)
		type_titles(row, "ctx.", item->context->type);
	if (event && event->fields) {
		show_titles(row, "", event->fields);
		if (event->variadic)
			put_title(row, "", "(variadic)", "");
	} else if (item->fields) {
		type_titles(row, "", item->fields->type);
	}
	view_out_text(row->out, "\r\n");
}

/* ---- rows ---- */

static void add_label(struct export_row *row, size_t begin, const char *label, size_t size)
{
	if (view_out_size(row->scratch) > begin)
		view_out_char(row->scratch, '|');
	export_put_utf8(row->scratch, label, size);
}

static void export_tables_show_labels(
		struct export_row *row, const struct view_show *show, const struct ctf_value *value)
{
	size_t begin = view_out_size(row->scratch);

	view_out_char(row->out, ',');
	if (show->wrapped) {
		value++;
		value += value->span;
	}
	for (uint32_t i = 0; i < show->label_count; i++) {
		if (view_label_matches(show, value, &show->labels[i]))
			add_label(row, begin, show->labels[i].text, strlen(show->labels[i].text));
	}
	csv_put_from(row->out, row->scratch, begin);
}

static void plain_labels(struct export_row *row, const struct ctf_value *value)
{
	size_t begin = view_out_size(row->scratch);
	const char *label;
	uint32_t at = 0;

	view_out_char(row->out, ',');
	while ((label = ctf_value_label(value, &at)))
		add_label(row, begin, label, strlen(label));
	csv_put_from(row->out, row->scratch, begin);
}

static void export_tables_put_address(
		struct export_row *row, uint64_t number, enum address_kind kind)
{
	size_t begin = view_out_size(row->scratch);

	view_address_text(&row->sink, row->scratch, number, kind);
	csv_put_from(row->out, row->scratch, begin);
}

static bool is_scalar(const struct view_show *show)
{
	switch (show->kind) {
	case VIEW_SHOW_NULL:
	case VIEW_SHOW_BOOL:
	case VIEW_SHOW_INTEGER:
	case VIEW_SHOW_INT128:
	case VIEW_SHOW_FLOAT:
	case VIEW_SHOW_FLOAT128: return true;
	default: return false;
	}
}

static void export_tables_show_field(struct export_row *row, const struct view_show *show,
		const struct ctf_value *value, const struct ctf_value *related)
{
	const struct view_show *part;
	const struct ctf_value *inner = value;

	if (show->wrapped) {
		inner = value + 1;
		inner += inner->span;
	}
	switch (show->kind) {
	case VIEW_SHOW_OPTIONAL:
	case VIEW_SHOW_VARIANT:
		part = show->parts[inner[1].member - inner->type->members];
		if (part) {
			export_tables_show_field(row, part, inner + 1, NULL);
			return;
		}
		if (show->kind == VIEW_SHOW_OPTIONAL)
			return;
		break;
	case VIEW_SHOW_STRING:
		csv_put_text(row->out, row->scratch, inner->text, (size_t)inner->size);
		return;
	case VIEW_SHOW_INTEGER:
		if (!show->is_pointer)
			break;
		export_tables_put_address(row, inner->u, show->address);
		return;
	case VIEW_SHOW_ENUM:
	case VIEW_SHOW_BITMAP: show = show->element; break;
	default: break;
	}
	view_side_value(&row->sink, show, value, related);
	csv_put_json(row->out, row->scratch, is_scalar(show));
}

static void export_tables_show_fields(
		struct export_row *row, const struct view_show *show, const struct ctf_value *value)
{
	const struct ctf_value *member, *before = NULL;
	struct ctf_cursor cursor;

	ctf_cursor_start(&cursor, value);
	for (uint32_t i = 0; i < show->part_count && (member = ctf_cursor_next(&cursor)); i++) {
		const struct view_show *part = show->parts[i];

		if (part && part->kind == VIEW_SHOW_STRUCT) {
			export_tables_show_fields(row, part, member);
		} else if (part) {
			view_out_char(row->out, ',');
			export_tables_show_field(row, part, member, before);
			if (part->kind == VIEW_SHOW_ENUM || part->kind == VIEW_SHOW_BITMAP)
				export_tables_show_labels(row, part, member);
		}
		before = member;
	}
}

static void export_tables_put_plain(
		struct export_row *row, const struct ctf_value *member, const char *name)
{
	enum ctf_kind of = member->type->kind;
	enum address_kind kind;

	if (view_plain_is_address(&row->sink, member, name, &kind)) {
		export_tables_put_address(row, member->u, kind);
		return;
	}
	view_plain_member(&row->sink, member, name);
	csv_put_json(row->out, row->scratch, of == CTF_INTEGER || of == CTF_FLOAT);
}

static void export_tables_plain_fields(struct export_row *row, const struct ctf_value *structure)
{
	const struct ctf_value *member;
	struct ctf_cursor cursor;
	uint32_t index = 0;

	ctf_cursor_start(&cursor, structure);
	while ((member = ctf_cursor_next(&cursor))) {
		const char *name = member->member->name + (*member->member->name == '_');
		bool inside = member->type->kind == CTF_VARIANT, nothing = false;

		if (view_is_tag(structure->type, index++))
			continue;
		while (member->type->kind == CTF_VARIANT) {
			member++;
			nothing = member->type->kind == CTF_STRUCT && !member->type->member_count &&
					strcmp(member->member->name, "none") == 0;
		}
		if (member->type->kind == CTF_STRUCT && !inside) {
			export_tables_plain_fields(row, member);
			continue;
		}
		view_out_char(row->out, ',');
		if (nothing)
			continue;
		if (member->is_text) {
			csv_put_text(row->out, row->scratch, member->text, (size_t)member->size);
		} else if (is_enum(member->type) && !inside) {
			if (member->type->is_signed)
				view_out_signed(row->out, member->s);
			else
				view_out_unsigned(row->out, member->u);
			plain_labels(row, member);
		} else {
			export_tables_put_plain(row, member, name);
		}
	}
}

static void export_tables_write_row(
		struct export_row *row, const struct walk_class *class, const struct ctf_item *item)
{
	const struct view_event *event = class->view;

	if (item->common_context)
		export_tables_plain_fields(row, item->common_context);
	if (item->context)
		export_tables_plain_fields(row, item->context);
	if (event && event->fields) {
		export_tables_show_fields(row, event->fields, item->fields);
		if (event->variadic) {
			view_out_char(row->out, ',');
			view_dynamic_value(&row->sink,
					walk_member_at(item->fields, event->variadic_index));
			csv_put_json(row->out, row->scratch, false);
		}
	} else if (item->fields) {
		export_tables_plain_fields(row, item->fields);
	}
	view_out_text(row->out, "\r\n");
}

/* ---- a file for each event ---- */

struct csv_file {
	char *path;
	bool there;
	struct view_out out;
};

struct csv_files {
	struct keys keys; /* Name and line of titles: events that differ have separate files. */
	struct keys names;
	struct csv_file *files;
	uint32_t count;
};

static int start_many(struct export *export)
{
	export->state = calloc(1, sizeof(struct csv_files));
	return export->state ? 0 : -ENOMEM;
}

static int flush_file(struct export *export, struct csv_file *file)
{
	int fd = open(file->path,
			O_WRONLY | O_APPEND | O_CLOEXEC | (file->there ? 0 : O_CREAT | O_EXCL),
			0666);
	struct view_out own = export->out;
	int error;

	if (fd < 0) {
		export->write_error = -errno;
		export->path = file->path;
		return export->write_error;
	}
	file->there = true;
	export->fd = fd;
	export->out = file->out;
	error = export_flush(export);
	file->out = export->out;
	export->out = own;
	export->fd = -1;
	if (close(fd) && !error)
		error = export->write_error = -errno;
	if (error)
		export->path = file->path;
	return error;
}

/* "provider:name.csv", with a number if another event has this name. */
static char *file_path(struct export *export, const char *event)
{
	struct csv_files *files = export->state;
	const char *dir = export->options->output;
	bool slash = dir[strlen(dir) - 1] == '/';
	char name[224], *path;
	size_t size = 0;

	for (; event[size] && size < 200; size++) {
		char c = event[size];
		bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
				strchr(":_+-", c) || (c == '.' && size);

		name[size] = (char)(plain ? c : '_');
	}
	name[size] = '\0';
	for (unsigned int i = 2;; i++) {
		uint32_t known = files->names.count, number;

		number = keys_add(&files->names, name, strlen(name));
		if (number == KEYS_NONE)
			return NULL;
		if (number == known)
			break;
		snprintf(name + size, sizeof(name) - size, "-%u", i);
	}
	return asprintf(&path, "%s%s%s.csv", dir, slash ? "" : "/", name) < 0 ? NULL : path;
}

/* The file of an event class: its index + 1, stored as a pointer. */
static int export_tables_find_file(struct export *export, const struct ctf_item *item,
		struct walk_class *class, uint32_t *ret_number)
{
	struct csv_files *files = export->state;
	uint32_t known = files->keys.count;
	struct view_out key = {0};
	struct export_row titles = {.out = &key, .scratch = &export->walk.scratch};
	struct csv_file *grown;
	size_t name = strlen(item->event->name) + 1;

	view_out_put(&key, item->event->name, name);
	put_titles(&titles, class, item);
	*ret_number = key.failed ? KEYS_NONE
				 : keys_add(&files->keys, key.begin, view_out_size(&key));
	if (*ret_number == known) {
		grown = realloc(files->files, ((size_t)known + 1) * sizeof(*grown));
		if (grown) {
			files->files = grown;
			files->count++;
			grown[known] = (struct csv_file){
					.path = file_path(export, item->event->name)};
			view_out_put(&grown[known].out, key.begin + name,
					view_out_size(&key) - name);
		}
		if (!grown || !grown[known].path)
			*ret_number = KEYS_NONE;
	}
	view_out_free(&key);
	return *ret_number == KEYS_NONE ? -ENOMEM : 0;
}

static int event_in_many(struct export *export, const struct ctf_item *item,
		struct walk_class *class, const struct export_slice *slice)
{
	struct csv_files *files = export->state;
	struct export_class *own = class->user_data;
	struct csv_file *file;
	struct export_row row;
	uint32_t number;
	int ret;

	(void)slice;
	if (!own->format) {
		ret = export_tables_find_file(export, item, class, &number);
		if (ret)
			return ret;
		own->format = malloc(sizeof(number));
		if (!own->format)
			return -ENOMEM;
		memcpy(own->format, &number, sizeof(number));
	}
	memcpy(&number, own->format, sizeof(number));
	file = &files->files[number];
	row = (struct export_row){
			.out = &file->out,
			.scratch = &export->walk.scratch,
			.sink = export_sink(export, &export->walk.scratch, class, item),
	};
	csv_put_first(export, row.out, item, own);
	export_tables_write_row(&row, class, item);
	if (row.out->failed || row.scratch->failed)
		return -ENOMEM;
	return view_out_size(&file->out) >= TABLE_BUFFER ? flush_file(export, file) : 0;
}

static int finish_many(struct export *export)
{
	struct csv_files *files = export->state;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < files->count; i++)
		ret = flush_file(export, &files->files[i]);
	return ret;
}

static void free_many(struct export *export)
{
	struct csv_files *files = export->state;

	for (uint32_t i = 0; files && i < files->count; i++) {
		free(files->files[i].path);
		view_out_free(&files->files[i].out);
	}
	if (files) {
		free(files->files);
		keys_free(&files->keys);
		keys_free(&files->names);
	}
	free(files);
}

const struct export_ops export_tables = {
		.start = start_many,
		.event = event_in_many,
		.finish = finish_many,
		.free = free_many,
		.free_class = free,
};
