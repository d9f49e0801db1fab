/* SPDX-License-Identifier: MIT */
/* Function calls as a tree: indented by depth, with the duration of each call. */
#include "analysis/view-tree.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/event-member.h"
#include "analysis/report-keys.h"
#include "analysis/view-colours.h"

/* Bytes that were shown are dropped from the front of the buffer when they are so many. */
#define TREE_DROP_SIZE ((size_t)256 << 10)
/* The width of the time in brackets and the space behind it. */
#define TREE_TIME_WIDTH 21
#define TREE_ORIGIN_WIDTH 64

struct tree_frame {
	uint64_t call;
	uint32_t name; /* KEYS_NONE: too many names */
};

struct tree_thread {
	struct tree_frame *frames; /* the open calls, the outermost first */
	uint32_t depth, capacity;
	bool pending;    /* the last event is an entry whose line is held … */
	uint64_t line;   /* … with this number */
	int64_t last_ns; /* the time of the last event */
	uint32_t origin_size;
	char origin[TREE_ORIGIN_WIDTH + 32];
};

/* A line that is held. Offsets are those in the buffer `bytes`. */
struct tree_line {
	size_t offset, size;
	size_t tail, tail_size;   /* the part behind it … */
	size_t notes, notes_size; /* … which contains these values of the entry */
	bool pending;
	uint32_t thread;
};

struct view_tree {
	struct view_out *out;
	bool colour;
	struct view_out bytes;
	struct tree_line *lines; /* a ring of VIEW_TREE_HELD_MAX + 1 */
	uint64_t first, next;    /* numbers of lines */
	size_t begin;            /* offset of the line that is being written */
	struct keys thread_keys;
	struct tree_thread *threads;
	struct keys names;
	uint64_t open;
	unsigned int width; /* of the column with the process */
	bool failed;
};

/* ---- held lines ---- */

static struct tree_line *tree_line_at(const struct view_tree *tree, uint64_t number)
{
	return &tree->lines[number % (VIEW_TREE_HELD_MAX + 1)];
}

static void tree_drop_shown(struct view_tree *tree, size_t shown)
{
	size_t left = view_out_size(&tree->bytes) - shown;

	memmove(tree->bytes.begin, tree->bytes.begin + shown, left);
	tree->bytes.at = tree->bytes.begin + left;
	for (uint64_t number = tree->first; number != tree->next; number++) {
		struct tree_line *line = tree_line_at(tree, number);

		line->offset -= shown;
		line->tail -= shown;
		line->notes -= shown;
	}
}

/* Writes the lines up to the first one that is pending. */
static void tree_flow(struct view_tree *tree)
{
	while (tree->first != tree->next) {
		const struct tree_line *line = tree_line_at(tree, tree->first);

		if (line->pending)
			break;
		view_out_put(tree->out, tree->bytes.begin + line->offset, line->size);
		view_out_put(tree->out, tree->bytes.begin + line->tail, line->tail_size);
		tree->first++;
	}
	if (tree->first == tree->next)
		tree->bytes.at = tree->bytes.begin;
	else if (tree_line_at(tree, tree->first)->offset > TREE_DROP_SIZE)
		tree_drop_shown(tree, tree_line_at(tree, tree->first)->offset);
}

/* The entry is shown without its return. */
static void tree_open_line(struct view_tree *tree, struct tree_line *line)
{
	line->pending = false;
	tree->threads[line->thread].pending = false;
}

static void tree_open_pending(struct view_tree *tree, struct tree_thread *thread)
{
	if (thread->pending)
		tree_open_line(tree, tree_line_at(tree, thread->line));
}

/* Keeps the number and the bytes of held lines within their limits. */
static void tree_limit_held(struct view_tree *tree)
{
	while (tree->first != tree->next) {
		struct tree_line *line = tree_line_at(tree, tree->first);

		if (tree->next - tree->first < VIEW_TREE_HELD_MAX &&
				view_out_size(&tree->bytes) - line->offset <
						VIEW_TREE_HELD_SIZE_MAX)
			break;
		if (line->pending)
			tree_open_line(tree, line);
		tree_flow(tree);
	}
}

struct view_out *view_tree_begin_line(struct view_tree *tree)
{
	tree->begin = view_out_size(&tree->bytes);
	return &tree->bytes;
}

static struct tree_line *tree_add_line(struct view_tree *tree)
{
	struct tree_line *line = tree_line_at(tree, tree->next++);

	*line = (struct tree_line){.offset = tree->begin,
			.size = view_out_size(&tree->bytes) - tree->begin,
			.tail = tree->begin,
			.notes = tree->begin};
	tree->begin += line->size;
	return line;
}

void view_tree_end_line(struct view_tree *tree)
{
	(void)tree_add_line(tree);
	tree_limit_held(tree);
	tree_flow(tree);
}

void view_tree_flush(struct view_tree *tree)
{
	for (uint64_t number = tree->first; number != tree->next; number++) {
		struct tree_line *line = tree_line_at(tree, number);

		if (line->pending)
			tree_open_line(tree, line);
	}
	tree_flow(tree);
}

/* ---- parts of lines ---- */

static void tree_put_colour(const struct view_tree *tree, struct view_out *out, const char *colour)
{
	if (tree->colour)
		view_out_put(out, colour, strlen(colour));
}

/* The columns of a text, without colours and the later bytes of UTF-8 characters. */
static unsigned int tree_width_of(const char *text, size_t size)
{
	unsigned int width = 0;
	bool colour = false;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\033')
			colour = true;
		width += !colour && ((unsigned char)text[i] & 0xc0) != 0x80;
		colour = colour && text[i] != 'm';
	}
	return width;
}

/* The time, the process, and the indentation of a thread. */
static void tree_put_margin(struct view_tree *tree, const struct tree_thread *thread,
		const char *time, size_t time_size)
{
	struct view_out *out = view_tree_begin_line(tree);
	unsigned int width = tree_width_of(thread->origin, thread->origin_size);
	uint32_t depth = thread->depth;

	view_out_put(out, time, time_size);
	tree_put_colour(tree, out, time_size ? VIEW_COLOUR_END : "");
	if (!time_size)
		view_out_fill(out, ' ', TREE_TIME_WIDTH);
	view_out_put(out, thread->origin, thread->origin_size);
	if (width > tree->width && width <= TREE_ORIGIN_WIDTH)
		tree->width = width;
	if (width < tree->width)
		view_out_fill(out, ' ', tree->width - width);
	view_out_text(out, " | ");
	view_out_fill(out, ' ', 2 * (depth < VIEW_TREE_INDENT_MAX ? depth : VIEW_TREE_INDENT_MAX));
	if (depth > VIEW_TREE_INDENT_MAX) {
		view_out_char(out, '[');
		view_out_unsigned(out, depth);
		view_out_text(out, "] ");
	}
}

/* The parts of an event in the buffer of its line. */
struct tree_parts {
	struct view_tree_record record;
	const char *time, *origin, *name, *text, *value, *duration, *notes;
};

static void tree_find_parts(struct tree_parts *parts, const char *bytes)
{
	const struct view_tree_record *record = &parts->record;

	memcpy(&parts->record, bytes, sizeof(parts->record));
	parts->time = bytes + sizeof(parts->record);
	parts->origin = parts->time + record->time_size;
	parts->name = parts->origin + record->origin_size;
	parts->text = parts->name + record->name_size;
	parts->value = parts->text + record->text_size;
	parts->duration = parts->value + record->value_size;
	parts->notes = parts->duration + record->duration_size;
}

/* Begins a comment, or continues one. */
static void tree_put_comment(const struct view_tree *tree, struct view_out *out, const char *text,
		size_t size, bool *any)
{
	if (!size)
		return;
	if (!*any)
		tree_put_colour(tree, out, VIEW_COLOUR_TIME);
	view_out_put(out, *any ? ", " : " /* ", *any ? 2 : 4);
	view_out_put(out, text, size);
	/* The end of a colour in the text ends that of the comment, too. */
	tree_put_colour(tree, out, VIEW_COLOUR_TIME);
	*any = true;
}

static void tree_end_comment(const struct view_tree *tree, struct view_out *out, bool any)
{
	if (any) {
		view_out_text(out, " */");
		tree_put_colour(tree, out, VIEW_COLOUR_END);
	}
	view_out_char(out, '\n');
}

/* ---- threads ---- */

static uint32_t tree_thread_number(
		struct view_tree *tree, const struct view_entry *entry, uint64_t call, bool add)
{
	struct {
		int64_t thread;
		uint32_t trace, part;
	} key = {entry->thread, entry->trace,
			entry->thread < 0 ? event_call_thread(call) : UINT32_MAX};
	uint32_t number;

	if (!add)
		return keys_find(&tree->thread_keys, &key, sizeof(key));
	tree->threads = keys_add_item(&tree->thread_keys, tree->threads, sizeof(*tree->threads),
			&key, sizeof(key), &number);
	tree->failed |= tree->thread_keys.no_memory;
	return number;
}

static void tree_set_origin(struct tree_thread *thread, const struct tree_parts *parts)
{
	if (parts->record.origin_size > sizeof(thread->origin))
		return;
	thread->origin_size = parts->record.origin_size;
	memcpy(thread->origin, parts->origin, thread->origin_size);
}

static struct tree_thread *tree_thread_of(struct view_tree *tree, const struct view_entry *entry,
		const struct tree_parts *parts)
{
	uint32_t number = tree_thread_number(tree, entry, parts->record.call, true);
	struct tree_thread *thread;

	if (number == KEYS_NONE)
		return NULL;
	thread = &tree->threads[number];
	if (!thread->origin_size)
		tree_set_origin(thread, parts);
	return thread;
}

/* Makes space for a call. False: too many calls are open, or out of memory. */
static bool tree_grow_frames(struct view_tree *tree, struct tree_thread *thread)
{
	uint32_t capacity = thread->capacity ? thread->capacity * 2 : 16;
	struct tree_frame *frames;

	if (thread->depth == VIEW_TREE_DEPTH_MAX || tree->open == VIEW_TREE_OPEN_MAX)
		return false;
	if (thread->depth < thread->capacity)
		return true;
	frames = realloc(thread->frames, capacity * sizeof(*frames));
	if (!frames) {
		tree->failed = true;
		return false;
	}
	thread->frames = frames;
	thread->capacity = capacity;
	return true;
}

/* ---- calls ---- */

/* The end of the innermost call, whose return is not recorded. */
static void tree_leave(struct view_tree *tree, struct tree_thread *thread, const char *time,
		size_t time_size)
{
	const struct tree_frame *frame = &thread->frames[--thread->depth];
	struct view_out *out = &tree->bytes;
	bool any = false;

	tree->open--;
	tree_put_margin(tree, thread, time, time_size);
	view_out_char(out, '}');
	if (frame->name != KEYS_NONE)
		tree_put_comment(tree, out, (char *)tree->names.entries[frame->name].bytes,
				tree->names.entries[frame->name].size, &any);
	tree_put_comment(tree, out, "no return", strlen("no return"), &any);
	tree_end_comment(tree, out, any);
	view_tree_end_line(tree);
}

static void tree_enter(
		struct view_tree *tree, struct tree_thread *thread, const struct tree_parts *parts)
{
	const struct view_tree_record *record = &parts->record;
	/* Without a number, the return of the call cannot be recorded. */
	bool open = record->call && tree_grow_frames(tree, thread), any = false;
	struct view_out *out = &tree->bytes;
	struct tree_line *line;
	size_t size;

	tree_put_margin(tree, thread, parts->time, record->time_size);
	view_out_put(out, parts->name, record->name_size + record->text_size);
	size = view_out_size(out);
	view_out_text(out, open ? " {" : ";");
	tree_put_comment(tree, out, parts->notes, record->notes_size, &any);
	tree_end_comment(tree, out, any);
	if (!open) {
		view_tree_end_line(tree);
		return;
	}
	line = tree_add_line(tree);
	/* The tail is replaced if the next event is the return. */
	line->tail = size;
	line->tail_size = line->offset + line->size - size;
	line->size -= line->tail_size;
	line->notes = size + strlen(" { /* ") + (tree->colour ? strlen(VIEW_COLOUR_TIME) : 0);
	line->notes_size = out->failed ? 0 : record->notes_size;
	line->pending = true;
	line->thread = (uint32_t)(thread - tree->threads);
	thread->pending = true;
	thread->line = tree->next - 1;
	thread->frames[thread->depth++] = (struct tree_frame){.call = record->call,
			.name = keys_add(&tree->names, parts->name, record->name_size)};
	tree->open++;
	tree_limit_held(tree);
}

/* What follows the name and arguments, or the brace, of a call that returned. */
static void tree_put_end(const struct view_tree *tree, struct view_out *out,
		const struct tree_parts *parts, const struct tree_line *entry, bool named,
		bool unbegun)
{
	const struct view_tree_record *record = &parts->record;
	bool any = false;

	if (record->value_size) {
		view_out_text(out, " = ");
		view_out_put(out, parts->value, record->value_size);
	}
	view_out_char(out, ';');
	if (named)
		tree_put_comment(tree, out, parts->name, record->name_size, &any);
	tree_put_comment(tree, out, parts->duration, record->duration_size, &any);
	if (unbegun)
		tree_put_comment(tree, out, "no entry", strlen("no entry"), &any);
	/* Reserved at once, because the notes of the entry are in the same buffer. */
	if (entry && view_out_reserve(out, entry->notes_size + 64))
		tree_put_comment(tree, out, tree->bytes.begin + entry->notes, entry->notes_size,
				&any);
	tree_put_comment(tree, out, parts->notes, record->notes_size, &any);
	tree_end_comment(tree, out, any);
}

/* The call and its return in one line. */
static void tree_return_leaf(
		struct view_tree *tree, struct tree_thread *thread, const struct tree_parts *parts)
{
	struct tree_line *line = tree_line_at(tree, thread->line);
	size_t tail = view_out_size(&tree->bytes);

	tree_put_end(tree, &tree->bytes, parts, line, false, false);
	line->tail = tail;
	line->tail_size = view_out_size(&tree->bytes) - tail;
	tree_open_line(tree, line);
	thread->depth--;
	tree->open--;
	tree_flow(tree);
	tree_limit_held(tree);
}

/* The entry is not in the trace. */
static void tree_return_unbegun(struct view_tree *tree, struct tree_thread *thread,
		const struct view_entry *entry, const struct tree_parts *parts)
{
	const struct view_tree_record *record = &parts->record;
	/* Without another event since the call began, it is a leaf. */
	bool leaf = record->duration <= INT64_MAX &&
			(!thread->last_ns ||
					entry->ns - (int64_t)record->duration >= thread->last_ns);

	tree_put_margin(tree, thread, parts->time, record->time_size);
	if (leaf) {
		view_out_put(&tree->bytes, parts->name, record->name_size);
		view_out_text(&tree->bytes, "(...)");
	} else {
		view_out_char(&tree->bytes, '}');
	}
	tree_put_end(tree, &tree->bytes, parts, NULL, !leaf, true);
	view_tree_end_line(tree);
}

static void tree_return(struct view_tree *tree, struct tree_thread *thread,
		const struct view_entry *entry, const struct tree_parts *parts)
{
	uint32_t depth = thread->depth;

	while (depth && thread->frames[depth - 1].call != parts->record.call)
		depth--;
	if (thread->pending && depth == thread->depth) {
		tree_return_leaf(tree, thread, parts);
		return;
	}
	tree_open_pending(tree, thread);
	if (!depth) {
		tree_return_unbegun(tree, thread, entry, parts);
		return;
	}
	while (thread->depth > depth)
		tree_leave(tree, thread, parts->time, parts->record.time_size);
	thread->depth--;
	tree->open--;
	tree_put_margin(tree, thread, parts->time, parts->record.time_size);
	view_out_char(&tree->bytes, '}');
	tree_put_end(tree, &tree->bytes, parts, NULL, false, false);
	view_tree_end_line(tree);
}

/* ---- events ---- */

void view_tree_take(struct view_tree *tree, const struct view_entry *entry, const char *bytes)
{
	struct tree_thread none = {.depth = 0}, *thread;
	struct tree_parts parts;

	tree_find_parts(&parts, bytes);
	thread = tree_thread_of(tree, entry, &parts);
	if (!thread) {
		/* Too many threads: the event is shown without those around it. */
		none.last_ns = entry->ns;
		tree_set_origin(&none, &parts);
		thread = &none;
		if (!parts.record.is_return)
			parts.record.call = 0;
	}
	if (parts.record.is_return) {
		tree_return(tree, thread, entry, &parts);
	} else {
		tree_open_pending(tree, thread);
		tree_enter(tree, thread, &parts);
	}
	thread->last_ns = entry->ns;
}

bool view_tree_take_other(struct view_tree *tree, const struct view_entry *entry, const char *bytes)
{
	struct view_out *out = &tree->bytes;
	uint32_t number = entry->thread < 0 || !entry->head
			? KEYS_NONE
			: tree_thread_number(tree, entry, 0, false);
	struct tree_thread *thread;

	if (number == KEYS_NONE)
		return false;
	thread = &tree->threads[number];
	tree_open_pending(tree, thread);
	tree_put_margin(tree, thread, bytes, entry->head);
	view_out_text(out, "/* ");
	/* Without the line feed. */
	view_out_put(out, bytes + entry->body, entry->size - entry->body - 1);
	tree_end_comment(tree, out, true);
	view_tree_end_line(tree);
	thread->last_ns = entry->ns;
	return true;
}

void view_tree_finish(struct view_tree *tree)
{
	view_tree_flush(tree);
	for (uint32_t i = 0; i < tree->thread_keys.count; i++) {
		while (tree->threads[i].depth)
			tree_leave(tree, &tree->threads[i], NULL, 0);
	}
}

bool view_tree_has_failed(const struct view_tree *tree)
{
	return tree->failed || tree->bytes.failed || tree->names.no_memory;
}

struct view_tree *view_tree_create(struct view_out *out, bool colour)
{
	struct view_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->lines = calloc(VIEW_TREE_HELD_MAX + 1, sizeof(*tree->lines));
	if (!tree->lines) {
		free(tree);
		return NULL;
	}
	tree->out = out;
	tree->colour = colour;
	tree->thread_keys.limit = VIEW_TREE_THREADS_MAX;
	tree->names.limit = VIEW_TREE_NAMES_MAX;
	return tree;
}

void view_tree_free(struct view_tree *tree)
{
	if (!tree)
		return;
	for (uint32_t i = 0; i < tree->thread_keys.count; i++)
		free(tree->threads[i].frames);
	free(tree->threads);
	keys_free(&tree->thread_keys);
	keys_free(&tree->names);
	view_out_free(&tree->bytes);
	free(tree->lines);
	free(tree);
}
