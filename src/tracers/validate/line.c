/* SPDX-License-Identifier: MIT */
/*
 * Finds source lines in .debug_line (DWARF 2 to 5).
 *
 * The program of each unit is executed until a row covers the address; only then are the names of
 * its files read. Nothing in the file is trusted.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/inside/own-table.h"
#include "tracers/validate/bytes.h"
#include "tracers/validate/debug-file.h"
#include "tracers/validate/inflate.h"
#include "tracers/validate/line.h"
#include "tracers/validate/memory.h"

/*
 * Reading a larger table would take too long; addresses in such programs are printed as
 * FILE+OFFSET.
 */
#define TABLE_MAX (256u << 20)
/* Decompression allocates this much memory of the program for a moment. */
#define UNPACKED_MAX (64u << 20)
/* The best compression ratio of deflate: a larger claimed size is wrong. */
#define DEFLATE_MOST 1032u

/* DWARF 5, 6.2.4 and 7.5.6 */
enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2 };
enum {
	FORM_DATA2 = 0x05,
	FORM_DATA4 = 0x06,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_BLOCK = 0x09,
	FORM_DATA1 = 0x0b,
	FORM_UDATA = 0x0f,
	FORM_DATA16 = 0x1e,
	FORM_LINE_STRP = 0x1f
};

struct section {
	struct bytes_source source;
	uint64_t offset, size; /* in the source */
};

struct line_table {
	struct section lines, texts; /* .debug_line, .debug_line_str */
};

/* The header of a unit. */
struct line_unit {
	unsigned int version, offset_size, address_size;
	uint64_t end;
	unsigned int least_length, per_instruction;
	int line_base;
	unsigned int line_range, opcode_base;
	unsigned char lengths[256];
	uint64_t names; /* offset of the tables of directories and files */
};

/* A row of the line table. */
struct line_row {
	uint64_t address;
	uint64_t file, line;
	bool is_there; /* in a sequence that already has a row */
	/* in a sequence of code that the linker has removed; its address is 0 or the highest one */
	bool is_dead;
};

/* ---- names ---- */

/* Read a value: store the string if `to` is not NULL, otherwise skip it. */
static void validate_line_read_form(const struct line_table *table, struct byte_reader *bytes,
		const struct line_unit *unit, uint64_t form, char *to, uint64_t *ret_number)
{
	struct byte_reader texts;
	uint64_t value = 0;

	switch (form) {
	case FORM_DATA1: value = bytes_number(bytes, 1); break;
	case FORM_DATA2: value = bytes_number(bytes, 2); break;
	case FORM_DATA4: value = bytes_number(bytes, 4); break;
	case FORM_DATA8: value = bytes_number(bytes, 8); break;
	case FORM_DATA16: bytes_skip(bytes, 16); break;
	case FORM_UDATA: value = bytes_leb128(bytes); break;
	case FORM_BLOCK: bytes_skip(bytes, bytes_leb128(bytes)); break;
	case FORM_STRING: (void)bytes_text(bytes, to, VALIDATE_LINE_MAX / 2); break;
	case FORM_LINE_STRP:
		value = bytes_number(bytes, unit->offset_size);
		if (to && value < table->texts.size) {
			bytes_open(&texts, &table->texts.source, table->texts.offset + value,
					table->texts.size - value);
			(void)bytes_text(&texts, to, VALIDATE_LINE_MAX / 2);
		}
		break;
	default: bytes->failed = true;
	}
	if (ret_number)
		*ret_number = value;
}

/* Read the requested entry of a table of version 5. Reading ends after the table. */
static void validate_line_read_entries(const struct line_table *table, struct byte_reader *bytes,
		const struct line_unit *unit, uint64_t wanted, char *name, uint64_t *ret_directory)
{
	uint64_t formats[8][2] = {{0}}, nr, i;
	unsigned int nr_formats = (unsigned int)bytes_number(bytes, 1), f;

	if (nr_formats > sizeof(formats) / sizeof(formats[0]))
		bytes->failed = true;
	for (f = 0; !bytes->failed && f < nr_formats; f++) {
		formats[f][0] = bytes_leb128(bytes);
		formats[f][1] = bytes_leb128(bytes);
	}
	nr = bytes_leb128(bytes);
	for (i = 0; nr_formats && !bytes->failed && i < nr; i++) {
		for (f = 0; f < nr_formats; f++)
			validate_line_read_form(table, bytes, unit, formats[f][1],
					i == wanted && formats[f][0] == LNCT_PATH ? name : NULL,
					i == wanted && formats[f][0] == LNCT_DIRECTORY
							? ret_directory
							: NULL);
	}
}

/*
 * Read the requested entry of a list of version 2 to 4, whose entries count from 1 and end with an
 * empty name.
 */
static void validate_line_read_list(struct byte_reader *bytes, bool is_files, uint64_t wanted,
		char *name, uint64_t *ret_directory)
{
	char first[2];
	uint64_t i, value, begin;

	for (i = 1;; i++) {
		begin = bytes->at;
		if (!bytes_text(bytes, first, sizeof(first)))
			return;
		if (i == wanted) {
			bytes_open(bytes, &bytes->source, begin, bytes->end - begin);
			(void)bytes_text(bytes, name, VALIDATE_LINE_MAX / 2);
		}
		if (!is_files)
			continue;
		value = bytes_leb128(bytes);
		if (i == wanted)
			*ret_directory = value;
		(void)bytes_leb128(bytes);
		(void)bytes_leb128(bytes);
	}
}

static bool validate_line_write_location(const struct line_table *table, struct byte_reader *bytes,
		const struct line_unit *unit, const struct line_row *row,
		char to[VALIDATE_LINE_MAX])
{
	char name[VALIDATE_LINE_MAX / 2] = "", folder[VALIDATE_LINE_MAX / 2] = "";
	uint64_t directory = 0, ignored = 0, folders = unit->names;

	/* The entry of the file has the directory's index; the directories precede the files. */
	bytes_open(bytes, &table->lines.source, folders, unit->end - folders);
	if (unit->version >= 5) {
		validate_line_read_entries(table, bytes, unit, UINT64_MAX, NULL, NULL);
		validate_line_read_entries(table, bytes, unit, row->file, name, &directory);
	} else {
		validate_line_read_list(bytes, false, 0, NULL, NULL);
		validate_line_read_list(bytes, true, row->file, name, &directory);
	}
	if (!name[0])
		return false;
	/* Directory 0 is the compilation directory. */
	if (directory && name[0] != '/') {
		bytes_open(bytes, &table->lines.source, folders, unit->end - folders);
		if (unit->version >= 5)
			validate_line_read_entries(table, bytes, unit, directory, folder, &ignored);
		else
			validate_line_read_list(bytes, false, directory, folder, NULL);
	}
	(void)snprintf(to, VALIDATE_LINE_MAX, "%s%s%s:%llu", folder, folder[0] ? "/" : "", name,
			(unsigned long long)row->line);
	return true;
}

/* ---- rows ---- */

static bool validate_line_read_header(const struct line_table *table, struct byte_reader *bytes,
		struct line_unit *ret_unit)
{
	uint64_t length = bytes_number(bytes, 4), program;
	unsigned int i;

	ret_unit->offset_size = 4;
	if (length == UINT32_MAX) {
		ret_unit->offset_size = 8;
		length = bytes_number(bytes, 8);
	}
	if (bytes->failed || length > table->lines.offset + table->lines.size - bytes->at)
		return false;
	ret_unit->end = bytes->at + length;
	ret_unit->version = (unsigned int)bytes_number(bytes, 2);
	ret_unit->address_size = sizeof(void *);
	if (ret_unit->version < 2 || ret_unit->version > 5) {
		ret_unit->version = 0;
		return true;
	}
	if (ret_unit->version >= 5) {
		ret_unit->address_size = (unsigned int)bytes_number(bytes, 1);
		bytes_skip(bytes, 1);
	}
	length = bytes_number(bytes, ret_unit->offset_size);
	if (bytes->failed || bytes->at > ret_unit->end || length > ret_unit->end - bytes->at)
		return false;
	program = bytes->at + length;
	ret_unit->least_length = (unsigned int)bytes_number(bytes, 1);
	ret_unit->per_instruction =
			ret_unit->version >= 4 ? (unsigned int)bytes_number(bytes, 1) : 1;
	bytes_skip(bytes, 1);
	ret_unit->line_base = (int)(int8_t)bytes_number(bytes, 1);
	ret_unit->line_range = (unsigned int)bytes_number(bytes, 1);
	ret_unit->opcode_base = (unsigned int)bytes_number(bytes, 1);
	for (i = 1; i < ret_unit->opcode_base; i++)
		ret_unit->lengths[i] = (unsigned char)bytes_number(bytes, 1);
	ret_unit->names = bytes->at;
	/* More operations in an instruction exist only for VLIW machines. */
	if (!ret_unit->line_range || !ret_unit->opcode_base || ret_unit->per_instruction != 1 ||
			ret_unit->address_size != sizeof(void *) || ret_unit->names > program) {
		ret_unit->version = 0;
		return !bytes->failed;
	}
	bytes_skip(bytes, program - bytes->at);
	return !bytes->failed;
}

/* True if the new row `row` ends the range of `last`, and that range covers the address. */
static bool validate_line_covers(
		const struct line_row *last, const struct line_row *row, uint64_t address)
{
	return last->is_there && !last->is_dead && last->address && last->address <= address &&
			address < row->address;
}

static void validate_line_reset_row(struct line_row *row)
{
	memset(row, 0, sizeof(*row));
	row->file = 1;
	row->line = 1;
}

/*
 * Execute an extended opcode, which begins with a 0. Returns true if it ends the sequence with a
 * row.
 */
static bool validate_line_execute_extended(
		struct byte_reader *bytes, const struct line_unit *unit, struct line_row *row)
{
	uint64_t length = bytes_leb128(bytes), begin = bytes->at;
	unsigned int opcode;

	/* The length itself may extend beyond the end of the unit. */
	if (!length || begin > unit->end || length > unit->end - begin) {
		bytes->failed = true;
		return false;
	}
	opcode = (unsigned int)bytes_number(bytes, 1);
	if (opcode == 2 && length == 1 + unit->address_size) {
		row->address = bytes_number(bytes, unit->address_size);
		row->is_dead = !row->address || row->address >= UINTPTR_MAX - 1;
	} else {
		bytes_skip(bytes, length - 1);
	}
	return opcode == 1;
}

/* Execute a standard opcode other than DW_LNS_copy. */
static void validate_line_execute_standard(struct byte_reader *bytes, const struct line_unit *unit,
		unsigned int opcode, struct line_row *row)
{
	unsigned int i;

	switch (opcode) {
	case 2: row->address += bytes_leb128(bytes) * unit->least_length; return;
	case 3: row->line += (uint64_t)bytes_signed_leb128(bytes); return;
	case 4: row->file = bytes_leb128(bytes); return;
	case 8:
		row->address += (uint64_t)((255 - unit->opcode_base) / unit->line_range) *
				unit->least_length;
		return;
	case 9: row->address += bytes_number(bytes, 2); return;
	default:
		for (i = 0; i < unit->lengths[opcode]; i++)
			(void)bytes_leb128(bytes);
	}
}

/* Execute the unit's program. Returns true with *ret_last set if a row covers the address. */
static bool validate_line_execute_unit(struct byte_reader *bytes, const struct line_unit *unit,
		uint64_t address, struct line_row *ret_last)
{
	struct line_row row;
	unsigned int opcode;
	bool ends;

	validate_line_reset_row(&row);
	validate_line_reset_row(ret_last);
	while (!bytes->failed && bytes->at < unit->end) {
		opcode = (unsigned int)bytes_number(bytes, 1);
		ends = false;
		if (opcode >= unit->opcode_base) {
			opcode -= unit->opcode_base;
			row.address += (uint64_t)(opcode / unit->line_range) * unit->least_length;
			row.line += (uint64_t)(int64_t)(unit->line_base +
					(int)(opcode % unit->line_range));
		} else if (!opcode) {
			ends = validate_line_execute_extended(bytes, unit, &row);
			if (!ends)
				continue;
		} else if (opcode != 1) {
			validate_line_execute_standard(bytes, unit, opcode, &row);
			continue;
		}
		if (validate_line_covers(ret_last, &row, address))
			return true;
		*ret_last = row;
		ret_last->is_there = true;
		if (ends) {
			validate_line_reset_row(&row);
			validate_line_reset_row(ret_last);
		}
	}
	return false;
}

/* ---- the file ---- */

/* True if the file is the mapped one: it may have been replaced since. */
static bool validate_line_is_mapped(int fd, const void *base, ElfW(Ehdr) * header)
{
	ElfW(Ehdr) mapped;

	return pread(fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header) &&
			!memcmp(header->e_ident, ELFMAG, SELFMAG) &&
			!validate_memory_read(NULL, (uintptr_t)base, &mapped, sizeof(mapped)) &&
			!memcmp(&mapped, header, sizeof(mapped));
}

/*
 * Read the header of a compressed section: SHF_COMPRESSED, or the older GNU form with other section
 * names. Both contain the uncompressed size.
 */
static bool validate_line_is_zlib(
		int fd, const ElfW(Shdr) * raw, uint64_t *ret_header, uint64_t *ret_size)
{
	unsigned char old[12];
	ElfW(Chdr) chdr;
	unsigned int i;

	if (raw->sh_flags & SHF_COMPRESSED) {
		*ret_header = sizeof(chdr);
		if (raw->sh_size < sizeof(chdr) ||
				pread(fd, &chdr, sizeof(chdr), (off_t)raw->sh_offset) !=
						(ssize_t)sizeof(chdr) ||
				chdr.ch_type != ELFCOMPRESS_ZLIB)
			return false;
		*ret_size = chdr.ch_size;
		return true;
	}
	*ret_header = sizeof(old);
	if (raw->sh_size < sizeof(old) ||
			pread(fd, old, sizeof(old), (off_t)raw->sh_offset) !=
					(ssize_t)sizeof(old) ||
			memcmp(old, "ZLIB", 4))
		return false;
	for (*ret_size = 0, i = 4; i < sizeof(old); i++)
		*ret_size = *ret_size << 8 | old[i];
	return true;
}

/* Decompress the section into pages that validate_line_close_section() unmaps. */
static void validate_line_unpack(int fd, const ElfW(Shdr) * raw, struct section *ret_section)
{
	struct bytes_source file = {.fd = fd, .memory = NULL};
	uint64_t header, size;
	struct byte_reader bytes;
	void *pages;

	if (!validate_line_is_zlib(fd, raw, &header, &size) || !size || size > UNPACKED_MAX ||
			size / DEFLATE_MOST > raw->sh_size)
		return;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		return;
	bytes_open(&bytes, &file, raw->sh_offset + header, raw->sh_size - header);
	if (!validate_inflate(&bytes, pages, size)) {
		(void)munmap(pages, size);
		return;
	}
	*ret_section = (struct section){.source = {.fd = -1, .memory = pages}, .size = size};
}

static void validate_line_open_section(int fd, const ElfW(Ehdr) * header, const char *name,
		const char *old, struct section *ret_section)
{
	ElfW(Shdr) raw;

	if (validate_section(fd, header, name, &raw) && !(raw.sh_flags & SHF_COMPRESSED))
		*ret_section = (struct section){.source = {.fd = fd, .memory = NULL},
				.offset = raw.sh_offset,
				.size = raw.sh_size};
	else if (validate_section(fd, header, name, &raw) ||
			validate_section(fd, header, old, &raw))
		validate_line_unpack(fd, &raw, ret_section);
}

static void validate_line_close_section(struct section *section)
{
	if (section->source.memory)
		(void)munmap((void *)(uintptr_t)section->source.memory, section->size);
}

static bool validate_line_lookup(
		const struct line_table *table, uint64_t address, char to[VALIDATE_LINE_MAX])
{
	struct byte_reader bytes;
	struct line_unit unit;
	struct line_row row;

	if (table->lines.size > TABLE_MAX)
		return false;
	bytes_open(&bytes, &table->lines.source, table->lines.offset, table->lines.size);
	while (!bytes.failed && bytes.at < bytes.end) {
		if (!validate_line_read_header(table, &bytes, &unit))
			return false;
		if (unit.version && validate_line_execute_unit(&bytes, &unit, address, &row))
			return validate_line_write_location(table, &bytes, &unit, &row, to);
		/* Continue at the next unit, wherever reading this one ended. */
		bytes_open(&bytes, &table->lines.source, unit.end,
				table->lines.offset + table->lines.size - unit.end);
	}
	return false;
}

/* Returns true if the file has a line table; *ret_found is then true if it covers the address. */
static bool validate_line_search_file(int fd, const ElfW(Ehdr) * header, uint64_t address,
		char to[VALIDATE_LINE_MAX], bool *ret_found)
{
	struct line_table table;

	memset(&table, 0, sizeof(table));
	validate_line_open_section(fd, header, ".debug_line", ".zdebug_line", &table.lines);
	if (table.lines.size) {
		validate_line_open_section(
				fd, header, ".debug_line_str", ".zdebug_line_str", &table.texts);
		*ret_found = validate_line_lookup(&table, address, to);
		validate_line_close_section(&table.texts);
	}
	validate_line_close_section(&table.lines);
	return table.lines.size != 0;
}

struct line_request {
	const char *path;
	const void *base;
	uint64_t address;
	char *to;
	bool is_found;
};

static void validate_line_search(void *argument)
{
	struct line_request *request = argument;
	int fd = open(request->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), other = -1;
	ElfW(Ehdr) header;

	if (fd < 0)
		return;
	if (validate_line_is_mapped(fd, request->base, &header) &&
			!validate_line_search_file(fd, &header, request->address, request->to,
					&request->is_found))
		other = validate_debug_file(fd, request->path, &header);
	if (other >= 0) {
		if (pread(other, &header, sizeof(header), 0) == (ssize_t)sizeof(header))
			(void)validate_line_search_file(other, &header, request->address,
					request->to, &request->is_found);
		(void)close(other);
	}
	(void)close(fd);
}

/* The program may hold POSIX locks on its files. */
bool validate_line_find(
		const char *path, const void *base, uint64_t address, char to[VALIDATE_LINE_MAX])
{
	struct line_request request = {.path = path, .base = base, .address = address, .to = to};

	char *scratch = raw_mmap(NULL, OWN_TABLE_TEXT, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (!scratch)
		return false;
	(void)own_table_run(validate_line_search, &request, scratch);
	raw_munmap(scratch, OWN_TABLE_TEXT);
	return request.is_found;
}
