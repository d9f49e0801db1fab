/* SPDX-License-Identifier: MIT */
/* Parses a jitdump file. */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/inside/hash.h"
#include "base/inside/utf8.h"
#include "recorder/storage/jit-dump.h"

#define JIT_DUMP_MAGIC 0x4A695444u
#define JIT_DUMP_VERSION 1u
#define JIT_DUMP_ARCH_TIMESTAMP 1u
#define JIT_DUMP_SLOTS (1u << 18) /* more than twice JIT_DUMP_FUNCTIONS_MAX */
/*
 * V8 adds the size of an ELF header to all addresses of lines, because perf makes an ELF file of
 * each function.
 */
#define JIT_DUMP_V8_BIAS 0x40u
#define JIT_DUMP_SAME_FILE "\xff" /* the file of the entry before */

enum jit_dump_id { JIT_DUMP_LOAD, JIT_DUMP_MOVE, JIT_DUMP_DEBUG_INFO };

/* Structures of the file: numbers of this machine, without padding. */
struct jit_dump_header {
	uint32_t magic, version, total_size, machine, padding, pid;
	uint64_t timestamp, flags;
};

struct jit_dump_record {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct jit_dump_load {
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};

struct jit_dump_move {
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};

struct jit_dump_debug_info {
	uint64_t code_addr, nr_entry;
};

struct jit_dump_entry {
	uint64_t code_addr;
	uint32_t line, discriminator;
};

_Static_assert(sizeof(struct jit_dump_header) == 40, "as in the specification");
_Static_assert(sizeof(struct jit_dump_record) == 16, "as in the specification");
_Static_assert(sizeof(struct jit_dump_load) == 40, "as in the specification");
_Static_assert(sizeof(struct jit_dump_move) == 48, "as in the specification");
_Static_assert(sizeof(struct jit_dump_debug_info) == 16, "as in the specification");
_Static_assert(sizeof(struct jit_dump_entry) == 16, "as in the specification");

struct jit_dump_parser {
	struct jit_dump *dump;
	FILE *file;
	uint64_t left; /* bytes of the record that are not read */
	/* The lines of the next function in the file. */
	uint64_t pending_address;
	uint32_t pending_first, pending_count;
	/* Whether any line is below, or exactly at, the bias of V8. */
	bool is_below_bias, is_at_bias;
	bool no_memory;
};

/* ---- bytes ---- */

/* False: the record or the file ends before. */
static bool jit_dump_take(struct jit_dump_parser *parser, void *bytes, size_t size)
{
	if (parser->left < size)
		return false;
	parser->left -= size;
	return fread(bytes, size, 1, parser->file) == 1;
}

/* Reads a text with its NUL. `ret_size` is the size without NUL. -E2BIG: the text is too long. */
static int jit_dump_take_text(
		struct jit_dump_parser *parser, char text[JIT_DUMP_NAME_MAX + 1], size_t *ret_size)
{
	size_t size = 0;

	for (; parser->left; parser->left--) {
		int c = getc(parser->file);

		if (c == EOF)
			return -ENODATA;
		if (size <= JIT_DUMP_NAME_MAX)
			text[size] = (char)c;
		if (!c) {
			parser->left--;
			*ret_size = size;
			return size <= JIT_DUMP_NAME_MAX ? 0 : -E2BIG;
		}
		size++;
	}
	return -ENODATA;
}

/* Makes space for one more element. Grows at 0, 1, 2, 4, … */
static bool jit_dump_grow(void **items, size_t count, size_t size)
{
	void *grown;

	if (count & (count - 1))
		return *items != NULL;
	grown = reallocarray(*items, count ? count * 2 : 1, size);
	if (grown)
		*items = grown;
	return grown;
}

/* Control characters would change the lines of `.maps`. */
static bool jit_dump_is_printable(const char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		unsigned int length = utf8_length((const unsigned char *)text + i, size - i);

		if (!length || (unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
		i += length;
	}
	return size;
}

static bool jit_dump_grow_text(struct jit_dump *dump, size_t size)
{
	size_t capacity = dump->text_capacity ? dump->text_capacity : 4096;
	char *grown;

	while (capacity - dump->text_size < size)
		capacity *= 2;
	if (capacity == dump->text_capacity)
		return true;
	grown = realloc(dump->text, capacity);
	if (!grown)
		return false;
	dump->text = grown;
	dump->text_capacity = capacity;
	return true;
}

/* Adds a text with its NUL. False: the memory for texts is full, or out of memory. */
static bool jit_dump_add_text(
		struct jit_dump_parser *parser, const char *text, size_t size, uint32_t *ret_begin)
{
	struct jit_dump *dump = parser->dump;

	if (JIT_DUMP_TEXT_MAX - dump->text_size <= size)
		return false;
	if (!jit_dump_grow_text(dump, size + 1)) {
		parser->no_memory = true;
		return false;
	}
	*ret_begin = (uint32_t)dump->text_size;
	memcpy(dump->text + dump->text_size, text, size);
	dump->text[dump->text_size + size] = '\0';
	dump->text_size += size + 1;
	return true;
}

/* ---- functions ---- */

static uint32_t *jit_dump_slot(const struct jit_dump *dump, uint64_t index)
{
	uint32_t at = (uint32_t)hash_fold_64(index * 0x9e3779b97f4a7c15u) & (JIT_DUMP_SLOTS - 1);

	while (dump->table[at] && dump->functions[dump->table[at] - 1].index != index)
		at = (at + 1) & (JIT_DUMP_SLOTS - 1);
	return &dump->table[at];
}

static void jit_dump_add_function(
		struct jit_dump_parser *parser, const struct jit_dump_function *function)
{
	struct jit_dump *dump = parser->dump;
	void *functions = dump->functions;

	if (dump->nr_functions == JIT_DUMP_FUNCTIONS_MAX)
		return;
	if (!dump->table)
		dump->table = calloc(JIT_DUMP_SLOTS, sizeof(*dump->table));
	if (!dump->table ||
			!jit_dump_grow(&functions, dump->nr_functions, sizeof(*dump->functions))) {
		parser->no_memory = true;
		return;
	}
	dump->functions = functions;
	dump->functions[dump->nr_functions] = *function;
	*jit_dump_slot(dump, function->index) = (uint32_t)++dump->nr_functions;
}

/* False: an address of a line is outside of the function. */
static bool jit_dump_are_inside(
		const struct jit_dump_parser *parser, const struct jit_dump_load *load)
{
	for (uint32_t i = 0; i < parser->pending_count; i++) {
		const struct jit_dump_line *line = &parser->dump->lines[parser->pending_first + i];

		if (line->offset > load->code_size + JIT_DUMP_V8_BIAS)
			return false;
	}
	return true;
}

/* Gives the function the lines of the record before it. */
static void jit_dump_attach_lines(struct jit_dump_parser *parser, const struct jit_dump_load *load,
		struct jit_dump_function *function)
{
	const struct jit_dump_line *lines = parser->dump->lines;

	if (parser->pending_address != load->code_addr || !jit_dump_are_inside(parser, load))
		return;
	function->first_line = parser->pending_first;
	function->nr_lines = parser->pending_count;
	for (uint32_t i = 0; i < function->nr_lines; i++) {
		uint64_t offset = lines[function->first_line + i].offset;

		parser->is_below_bias |= offset < JIT_DUMP_V8_BIAS;
		parser->is_at_bias |= offset == JIT_DUMP_V8_BIAS;
	}
}

static void jit_dump_read_load(struct jit_dump_parser *parser, uint64_t timestamp)
{
	char name[JIT_DUMP_NAME_MAX + 1];
	struct jit_dump_function function = {.timestamp = timestamp};
	struct jit_dump_load load;
	size_t size;

	if (!jit_dump_take(parser, &load, sizeof(load)) ||
			jit_dump_take_text(parser, name, &size) || !load.code_size ||
			load.code_addr + load.code_size <= load.code_addr ||
			!jit_dump_is_printable(name, size) ||
			!jit_dump_add_text(parser, name, size, &function.name)) {
		parser->pending_count = 0;
		return;
	}
	function.begin = load.code_addr;
	function.size = load.code_size;
	function.index = load.code_index;
	jit_dump_attach_lines(parser, &load, &function);
	jit_dump_add_function(parser, &function);
	parser->pending_count = 0;
}

static void jit_dump_read_move(struct jit_dump_parser *parser, uint64_t timestamp)
{
	const struct jit_dump *dump = parser->dump;
	struct jit_dump_function function;
	struct jit_dump_move move;
	uint32_t number;

	if (!jit_dump_take(parser, &move, sizeof(move)) || !dump->table || !move.code_size ||
			move.new_code_addr + move.code_size <= move.new_code_addr)
		return;
	number = *jit_dump_slot(dump, move.code_index);
	if (!number)
		return;
	function = dump->functions[number - 1];
	function.begin = move.new_code_addr;
	function.size = move.code_size;
	function.timestamp = timestamp;
	jit_dump_add_function(parser, &function);
}

/* ---- lines ---- */

/* Adds a line. False: the lines of this function are unusable. */
static bool jit_dump_add_line(struct jit_dump_parser *parser, const struct jit_dump_entry *entry,
		const char *name, size_t size)
{
	struct jit_dump *dump = parser->dump;
	struct jit_dump_line line = {
			.offset = entry->code_addr - parser->pending_address, .line = entry->line};
	const struct jit_dump_line *before =
			parser->pending_count ? &dump->lines[dump->nr_lines - 1] : NULL;
	bool is_same = before &&
			(!strcmp(name, JIT_DUMP_SAME_FILE) ||
					!strcmp(name, dump->text + before->file));
	void *lines = dump->lines;

	if (is_same)
		line.file = before->file;
	else if (!jit_dump_is_printable(name, size) ||
			!jit_dump_add_text(parser, name, size, &line.file))
		return false;
	if (dump->nr_lines == JIT_DUMP_LINES_MAX)
		return false;
	if (!jit_dump_grow(&lines, dump->nr_lines, sizeof(*dump->lines))) {
		parser->no_memory = true;
		return false;
	}
	dump->lines = lines;
	dump->lines[dump->nr_lines++] = line;
	parser->pending_count++;
	return true;
}

static void jit_dump_read_lines(struct jit_dump_parser *parser)
{
	struct jit_dump *dump = parser->dump;
	struct jit_dump_debug_info info;
	char name[JIT_DUMP_NAME_MAX + 1];
	size_t text_size = dump->text_size, size;
	bool is_usable = jit_dump_take(parser, &info, sizeof(info));

	if (!is_usable)
		return;
	parser->pending_address = info.code_addr;
	parser->pending_first = (uint32_t)dump->nr_lines;
	parser->pending_count = 0;
	for (uint64_t i = 0; is_usable && i < info.nr_entry; i++) {
		struct jit_dump_entry entry;

		is_usable = jit_dump_take(parser, &entry, sizeof(entry)) &&
				!jit_dump_take_text(parser, name, &size) &&
				jit_dump_add_line(parser, &entry, name, size);
	}
	/* Drop all lines of the function: a part of them would be wrong for other addresses. */
	if (!is_usable) {
		dump->nr_lines = parser->pending_first;
		dump->text_size = text_size;
		parser->pending_count = 0;
	}
}

/* ---- the file ---- */

static bool jit_dump_read_header(FILE *file)
{
	struct jit_dump_header header;

	if (fread(&header, sizeof(header), 1, file) != 1 || header.magic != JIT_DUMP_MAGIC ||
			header.version != JIT_DUMP_VERSION || header.machine != EM_X86_64 ||
			header.flags & JIT_DUMP_ARCH_TIMESTAMP ||
			header.total_size < sizeof(header))
		return false;
	return !fseeko(file, (off_t)header.total_size, SEEK_SET);
}

/* False: the end of the complete records. */
static bool jit_dump_read_record(struct jit_dump_parser *parser)
{
	struct jit_dump_record record;

	parser->left = sizeof(record);
	if (!jit_dump_take(parser, &record, sizeof(record)) || record.total_size < sizeof(record))
		return false;
	parser->left = record.total_size - sizeof(record);
	if (record.id == JIT_DUMP_LOAD)
		jit_dump_read_load(parser, record.timestamp);
	else if (record.id == JIT_DUMP_MOVE)
		jit_dump_read_move(parser, record.timestamp);
	else if (record.id == JIT_DUMP_DEBUG_INFO)
		jit_dump_read_lines(parser);
	return !feof(parser->file) && !parser->no_memory &&
			!fseeko(parser->file, (off_t)parser->left, SEEK_CUR);
}

static void jit_dump_remove_bias(struct jit_dump *dump)
{
	for (size_t i = 0; i < dump->nr_lines; i++)
		dump->lines[i].offset -= JIT_DUMP_V8_BIAS;
}

int jit_dump_parse(FILE *file, struct jit_dump *ret_dump)
{
	struct jit_dump_parser parser = {.dump = ret_dump, .file = file};

	*ret_dump = (struct jit_dump){.nr_functions = 0};
	if (!jit_dump_read_header(file))
		return -EBADMSG;
	for (uint32_t i = 0; i < JIT_DUMP_RECORDS_MAX && jit_dump_read_record(&parser);)
		i++;
	if (parser.no_memory)
		return -ENOMEM;
	/* Without the bias, generators have lines for the first bytes of a function. */
	if (parser.is_at_bias && !parser.is_below_bias)
		jit_dump_remove_bias(ret_dump);
	return 0;
}

void jit_dump_free(struct jit_dump *dump)
{
	free(dump->functions);
	free(dump->lines);
	free(dump->text);
	free(dump->table);
	*dump = (struct jit_dump){.nr_functions = 0};
}
