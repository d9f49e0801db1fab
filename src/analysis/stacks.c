/* SPDX-License-Identifier: MIT */
/* Tables of stacks and of their frames. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/json-line.h"
#include "analysis/stacks.h"
#include "analysis/trace-symbols.h"
#include "analysis/view-out.h"
#include "analysis/view-sink.h"
#include "symbolize/symbols.h"

/* The key of a stack, before its addresses. */
struct stack_head {
	uint32_t source, trace;
	uint32_t is_exact;
	uint32_t generation; /* symbols_generation() */
};
struct stack_key {
	struct stack_head head;
	uint64_t addresses[STACK_ADDRESSES_MAX];
};

/* The frames of one address: the inlined functions, and the function that contains them. */
struct stack_expansion {
	uint32_t count;
	uint32_t frames[SYMBOLS_INLINED_MAX + 1];
};

void stacks_free(struct stacks *stacks)
{
	keys_free(&stacks->keys);
	free(stacks->times);
	free(stacks->named);
	keys_free(&stacks->frame_keys);
	free(stacks->frames);
	keys_free(&stacks->functions);
	keys_free(&stacks->expansions);
	free(stacks->expanded);
	keys_free(&stacks->lists);
	*stacks = (struct stacks){.limit = stacks->limit};
}

/* ---- addresses ---- */

/* False: too many. */
static bool stacks_find_source(struct stacks *stacks, struct symbols *symbols, uint32_t *ret_source)
{
	uint32_t i = 0;

	while (i < stacks->nr_sources && stacks->sources[i] != symbols)
		i++;
	*ret_source = i;
	if (i == STACKS_SOURCES_MAX)
		return false;
	if (i == stacks->nr_sources)
		stacks->sources[stacks->nr_sources++] = symbols;
	return true;
}

static size_t stacks_make_key(const struct stack *stack, uint32_t source, struct stack_key *ret_key)
{
	uint32_t count = stack->count < STACK_ADDRESSES_MAX ? stack->count : STACK_ADDRESSES_MAX;

	ret_key->head = (struct stack_head){source, stack->trace, stack->is_exact, 0};
	if (stack->symbols)
		ret_key->head.generation = symbols_generation(
				stack->symbols, stack->trace, stack->ns, stack->addresses, count);
	memcpy(ret_key->addresses, stack->addresses, count * sizeof(stack->addresses[0]));
	return sizeof(ret_key->head) + count * sizeof(stack->addresses[0]);
}

uint32_t stacks_add(struct stacks *stacks, const struct stack *stack)
{
	uint32_t number, source, before = stacks->keys.count;
	struct stack_key key;
	size_t size;

	if (!stack->count)
		return STACK_NONE;
	if (!stacks_find_source(stacks, stack->symbols, &source)) {
		stacks->refused++;
		return STACK_NONE;
	}
	size = stacks_make_key(stack, source, &key);
	stacks->keys.limit = stacks->limit ? stacks->limit : STACKS_MAX;
	/* With this limit, only stacks that are known get their numbers. */
	if (stacks->bytes + size > STACKS_BYTES_MAX)
		stacks->keys.limit = before ? before : 1;
	stacks->times = keys_add_item(
			&stacks->keys, stacks->times, sizeof(*stacks->times), &key, size, &number);
	stacks->no_memory |= stacks->keys.no_memory;
	if (number == KEYS_NONE) {
		stacks->refused++;
	} else if (number == before) {
		stacks->times[number] = stack->ns;
		stacks->bytes += size;
	}
	return number;
}

/* ---- frames ---- */

/* Adds a text with its NUL, so that two texts have one form only. */
static void stacks_put_text(struct view_out *key, const char *text)
{
	if (text)
		view_out_put(key, text, strlen(text));
	view_out_char(key, '\0');
}

static uint32_t stacks_number_function(
		struct stacks *stacks, const struct stack_frame *frame, struct view_out *key)
{
	uint64_t address = frame->module ? frame->offset : frame->address;

	key->at = key->begin;
	stacks_put_text(key, frame->module);
	stacks_put_text(key, frame->function);
	if (!frame->function)
		view_out_put(key, (const char *)&address, sizeof(address));
	if (key->failed)
		return KEYS_NONE;
	return keys_add(&stacks->functions, key->begin, view_out_size(key));
}

/* The number of a frame, or KEYS_NONE. */
static uint32_t stacks_add_frame(
		struct stacks *stacks, struct stack_frame *frame, struct view_out *key)
{
	uint32_t number = KEYS_NONE, before = stacks->frame_keys.count;

	frame->function_number = stacks_number_function(stacks, frame, key);
	if (frame->function_number == KEYS_NONE)
		return KEYS_NONE;
	/* The key of the function is the beginning of the frame's. */
	view_out_char(key, frame->is_inlined ? 'i' : 'f');
	stacks_put_text(key, frame->file);
	view_out_put(key, (const char *)&frame->line, sizeof(frame->line));
	/* Without a line, only the address tells the calls of one function apart. */
	if (!frame->file)
		view_out_put(key, (const char *)&frame->inside, sizeof(frame->inside));
	if (key->failed)
		return KEYS_NONE;
	stacks->frame_keys.limit = STACKS_FRAMES_MAX;
	stacks->frames = keys_add_item(&stacks->frame_keys, stacks->frames, sizeof(*stacks->frames),
			key->begin, view_out_size(key), &number);
	if (number != KEYS_NONE && number == before)
		stacks->frames[number] = *frame;
	return number;
}

/* The frame of an inlined function, or (`level` nr_inlined) of the function that has them. */
static struct stack_frame stacks_make_frame(
		const struct symbol *symbol, uint64_t address, size_t level)
{
	const struct symbol_inlined *inner = level ? &symbol->inlined[level - 1] : NULL;
	bool is_inlined = level < symbol->nr_inlined;

	return (struct stack_frame){
			.module = symbol->module,
			.function = is_inlined ? symbol->inlined[level].function : symbol->function,
			.file = inner ? inner->file : symbol->file,
			.line = inner ? inner->line : symbol->line,
			.is_inlined = is_inlined,
			.address = address,
			.offset = symbol->offset,
			.inside = is_inlined ? 0 : symbol->inside,
	};
}

static const struct stack_expansion *stacks_expand(
		struct stacks *stacks, const struct symbol *symbol, uint64_t address)
{
	struct {
		const struct symbol *symbol;
		uint64_t address;
	} id = {symbol, symbol->module ? 0 : address};
	uint32_t number, before = stacks->expansions.count;
	struct stack_expansion *expansion;
	struct view_out key = {.begin = NULL};

	stacks->expansions.limit = STACKS_CODE_MAX;
	stacks->expanded = keys_add_item(&stacks->expansions, stacks->expanded,
			sizeof(*stacks->expanded), &id, sizeof(id), &number);
	if (number == KEYS_NONE)
		return NULL;
	expansion = &stacks->expanded[number];
	if (number < before)
		return expansion;
	for (size_t i = 0; i <= symbol->nr_inlined; i++) {
		struct stack_frame frame = stacks_make_frame(symbol, address, i);

		number = stacks_add_frame(stacks, &frame, &key);
		if (number == KEYS_NONE) {
			expansion->count = 0;
			break;
		}
		expansion->frames[expansion->count++] = number;
	}
	view_out_free(&key);
	return expansion;
}

static const struct symbol *stacks_find_symbol(const struct stacks *stacks,
		const struct stack_head *head, int64_t ns, uint64_t address, bool call)
{
	static const struct symbol unknown;
	struct symbols *symbols = stacks->sources[head->source];

	return symbols ? symbols_find(symbols, head->trace, ns, address, call) : &unknown;
}

/* ---- resolving ---- */

static uint32_t stacks_resolve(struct stacks *stacks, uint32_t stack)
{
	const struct keys_entry *entry = &stacks->keys.entries[stack];
	size_t count = (entry->size - sizeof(struct stack_head)) / sizeof(uint64_t);
	uint32_t frames[STACK_FRAMES_MAX], nr_frames = 0;
	struct stack_key key;

	memcpy(&key, entry->bytes, entry->size);
	for (size_t i = 0; i < count; i++) {
		bool call = i || !key.head.is_exact;
		const struct symbol *symbol = stacks_find_symbol(
				stacks, &key.head, stacks->times[stack], key.addresses[i], call);
		const struct stack_expansion *expansion =
				stacks_expand(stacks, symbol, key.addresses[i]);

		/* An incomplete stack could be equal to another one. */
		if (!expansion || !expansion->count) {
			stacks->unresolved++;
			return STACK_NONE;
		}
		for (uint32_t k = 0; k < expansion->count; k++)
			if (nr_frames < STACK_FRAMES_MAX)
				frames[nr_frames++] = expansion->frames[k];
	}
	return keys_add(&stacks->lists, frames, nr_frames * sizeof(*frames));
}

uint32_t stacks_named(struct stacks *stacks, uint32_t stack)
{
	uint32_t count = stacks->keys.count, *grown, named;

	if (stack >= count)
		return STACK_NONE;
	if (stacks->nr_named < count) {
		/* Twice as many, because a caller may resolve each stack when it adds it. */
		count *= 2;
		grown = reallocarray(stacks->named, count, sizeof(*grown));
		if (!grown) {
			stacks->no_memory = true;
			return STACK_NONE;
		}
		memset(grown + stacks->nr_named, 0, (count - stacks->nr_named) * sizeof(*grown));
		stacks->named = grown;
		stacks->nr_named = count;
	}
	if (stacks->named[stack])
		return stacks->named[stack] - 1;
	named = stacks_resolve(stacks, stack);
	if (named != STACK_NONE)
		stacks->named[stack] = named + 1;
	stacks->no_memory |= stacks->frame_keys.no_memory || stacks->functions.no_memory ||
			stacks->expansions.no_memory || stacks->lists.no_memory;
	return named;
}

const uint32_t *stacks_frames(const struct stacks *stacks, uint32_t named, uint32_t *ret_count)
{
	*ret_count = 0;
	if (named >= stacks->lists.count)
		return NULL;
	*ret_count = (uint32_t)(stacks->lists.entries[named].size / sizeof(uint32_t));
	/* keys_add() allocates each key with malloc(): it is aligned. */
	return (const uint32_t *)(const void *)stacks->lists.entries[named].bytes;
}

/* True for functions of the C library that call main() or the function of a thread. */
static bool stacks_is_starter(const struct stack_frame *frame)
{
	static const char *const starters[] = {"_start", "__libc_start_main",
			"__libc_start_main_impl", "__libc_start_call_main", "start_thread",
			"clone3", "__clone3", "__GI___clone3", "clone", "__clone"};

	for (size_t i = 0; frame->function && i < sizeof(starters) / sizeof(*starters); i++)
		if (strcmp(frame->function, starters[i]) == 0)
			return true;
	return false;
}

const uint32_t *stacks_own_frames(const struct stacks *stacks, uint32_t named, uint32_t *ret_count)
{
	const uint32_t *frames = stacks_frames(stacks, named, ret_count);

	while (*ret_count > 1 && stacks_is_starter(stacks_frame(stacks, frames[*ret_count - 1])))
		(*ret_count)--;
	return frames;
}

const struct stack_frame *stacks_frame(const struct stacks *stacks, uint32_t frame)
{
	return &stacks->frames[frame];
}

/* ---- printing ---- */

static void stacks_put_name(struct view_out *out, const char *name, uint64_t inside, bool is_exact)
{
	view_text_plain(out, name, strlen(name));
	if (!is_exact)
		return;
	view_out_char(out, '+');
	view_out_hexadecimal(out, inside);
}

void stacks_frame_name(const struct stack_frame *frame, char *text, size_t size)
{
	const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;

	if (frame->function)
		snprintf(text, size, "%s", frame->function);
	else if (frame->module)
		snprintf(text, size, "%s+0x%" PRIx64, slash ? slash + 1 : frame->module,
				frame->offset);
	else
		snprintf(text, size, "0x%" PRIx64, frame->address);
}

void stacks_print_frame(const struct stack_frame *frame, struct view_out *out)
{
	if (!frame->module) {
		view_out_hexadecimal(out, frame->address);
		return;
	}
	if (frame->function)
		stacks_put_name(out, frame->function, frame->inside, !frame->is_inlined);
	else
		stacks_put_name(out, frame->module, frame->offset, true);
	trace_symbol_location_text(out, frame->file, frame->line);
	if (!frame->file && frame->function) {
		view_out_text(out, " (");
		view_text_plain(out, frame->module, strlen(frame->module));
		view_out_char(out, ')');
	}
	if (frame->is_inlined)
		view_out_text(out, " [inlined]");
}

void stacks_print_text(const struct stacks *stacks, uint32_t named, struct view_out *out,
		const char *indent, uint32_t most)
{
	uint32_t count;
	const uint32_t *frames = stacks_frames(stacks, named, &count);

	for (uint32_t i = 0; i < count && (!most || i < most); i++) {
		view_out_text(out, indent);
		stacks_print_frame(stacks_frame(stacks, frames[i]), out);
		view_out_char(out, '\n');
	}
}

static void stacks_print_frame_json(const struct stack_frame *frame, struct view_out *out)
{
	const struct symbol symbol = {
			.module = frame->module,
			.offset = frame->offset,
			.function = frame->function,
			.inside = frame->inside,
			.file = frame->file,
			.line = frame->line,
	};

	view_out_text(out, "{\"address\":");
	view_out_unsigned(out, frame->address);
	trace_symbol_json_members(out, &symbol, !frame->is_inlined);
	if (frame->is_inlined)
		json_line_bool(out, "inlined", true);
	view_out_char(out, '}');
}

void stacks_print_json(const struct stacks *stacks, uint32_t named, struct view_out *out)
{
	uint32_t count;
	const uint32_t *frames = stacks_frames(stacks, named, &count);

	view_out_char(out, '[');
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			view_out_char(out, ',');
		stacks_print_frame_json(stacks_frame(stacks, frames[i]), out);
	}
	view_out_char(out, ']');
}
