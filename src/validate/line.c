/* SPDX-License-Identifier: MIT */
/*
 * Reads .debug_line (DWARF 2 to 5) as it stands: each unit's program is run until a row covers the address, and only then
 * are the names of its files looked at. Nothing of the file is believed.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "validate/bytes.h"
#include "validate/line.h"
#include "validate/memory.h"

/* More than this is read nobody waits for; tables of larger programs are told as FILE+OFFSET. */
#define TABLE_MAX (256u << 20)

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
	uint64_t offset, size;
};

struct table {
	int fd;
	struct section lines, texts; /* .debug_line, .debug_line_str */
};

/* The header of a unit. */
struct unit {
	unsigned int version, offset_size, address_size;
	uint64_t end;
	unsigned int least_length, per_instruction;
	int line_base;
	unsigned int line_range, opcode_base;
	unsigned char lengths[256];
	uint64_t names; /* where the tables of folders and files begin */
};

/* A row of the table, and the one before it. */
struct row {
	uint64_t address;
	uint64_t file, line;
	bool is_there; /* in a sequence of which a row was seen */
};

/* ---- names ---- */

/* The name is to be kept (to is not NULL) or passed over. */
static void read_form(const struct table *table, struct bytes *bytes, const struct unit *unit,
		uint64_t form, char *to, uint64_t *number)
{
	struct bytes texts;
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
			bytes_open(&texts, table->fd, table->texts.offset + value,
					table->texts.size - value);
			(void)bytes_text(&texts, to, VALIDATE_LINE_MAX / 2);
		}
		break;
	default: bytes->failed = true;
	}
	if (number)
		*number = value;
}

/* A table of version 5; the entry that is wanted. It ends behind the table. */
static void read_entries(const struct table *table, struct bytes *bytes, const struct unit *unit,
		uint64_t wanted, char *name, uint64_t *directory)
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
			read_form(table, bytes, unit, formats[f][1],
					i == wanted && formats[f][0] == LNCT_PATH ? name : NULL,
					i == wanted && formats[f][0] == LNCT_DIRECTORY ? directory
										       : NULL);
	}
}

/* A list of version 2 to 4, which ends with an empty name; its first entry is 1. */
static void read_list(struct bytes *bytes, bool is_files, uint64_t wanted, char *name,
		uint64_t *directory)
{
	char first[2];
	uint64_t i, value, begin;

	for (i = 1;; i++) {
		begin = bytes->at;
		if (!bytes_text(bytes, first, sizeof(first)))
			return;
		if (i == wanted) {
			bytes_open(bytes, bytes->fd, begin, bytes->end - begin);
			(void)bytes_text(bytes, name, VALIDATE_LINE_MAX / 2);
		}
		if (!is_files)
			continue;
		value = bytes_leb128(bytes);
		if (i == wanted)
			*directory = value;
		(void)bytes_leb128(bytes);
		(void)bytes_leb128(bytes);
	}
}

static bool write_place(const struct table *table, struct bytes *bytes, const struct unit *unit,
		const struct row *row, char to[VALIDATE_LINE_MAX])
{
	char name[VALIDATE_LINE_MAX / 2] = "", folder[VALIDATE_LINE_MAX / 2] = "";
	uint64_t directory = 0, ignored = 0, folders = unit->names;

	/* The file says which folder; the folders stand before it. */
	bytes_open(bytes, table->fd, folders, unit->end - folders);
	if (unit->version >= 5) {
		read_entries(table, bytes, unit, UINT64_MAX, NULL, NULL);
		read_entries(table, bytes, unit, row->file, name, &directory);
	} else {
		read_list(bytes, false, 0, NULL, NULL);
		read_list(bytes, true, row->file, name, &directory);
	}
	if (!name[0])
		return false;
	/* Folder 0 is where the compiler ran. */
	if (directory && name[0] != '/') {
		bytes_open(bytes, table->fd, folders, unit->end - folders);
		if (unit->version >= 5)
			read_entries(table, bytes, unit, directory, folder, &ignored);
		else
			read_list(bytes, false, directory, folder, NULL);
	}
	(void)snprintf(to, VALIDATE_LINE_MAX, "%s%s%s:%llu", folder, folder[0] ? "/" : "", name,
			(unsigned long long)row->line);
	return true;
}

/* ---- rows ---- */

static bool read_header(const struct table *table, struct bytes *bytes, struct unit *unit)
{
	uint64_t length = bytes_number(bytes, 4), program;
	unsigned int i;

	unit->offset_size = 4;
	if (length == UINT32_MAX) {
		unit->offset_size = 8;
		length = bytes_number(bytes, 8);
	}
	if (bytes->failed || length > table->lines.offset + table->lines.size - bytes->at)
		return false;
	unit->end = bytes->at + length;
	unit->version = (unsigned int)bytes_number(bytes, 2);
	unit->address_size = sizeof(void *);
	if (unit->version < 2 || unit->version > 5) {
		unit->version = 0;
		return true;
	}
	if (unit->version >= 5) {
		unit->address_size = (unsigned int)bytes_number(bytes, 1);
		bytes_skip(bytes, 1);
	}
	length = bytes_number(bytes, unit->offset_size);
	if (bytes->failed || bytes->at > unit->end || length > unit->end - bytes->at)
		return false;
	program = bytes->at + length;
	unit->least_length = (unsigned int)bytes_number(bytes, 1);
	unit->per_instruction = unit->version >= 4 ? (unsigned int)bytes_number(bytes, 1) : 1;
	bytes_skip(bytes, 1);
	unit->line_base = (int)(int8_t)bytes_number(bytes, 1);
	unit->line_range = (unsigned int)bytes_number(bytes, 1);
	unit->opcode_base = (unsigned int)bytes_number(bytes, 1);
	for (i = 1; i < unit->opcode_base; i++)
		unit->lengths[i] = (unsigned char)bytes_number(bytes, 1);
	unit->names = bytes->at;
	/* More operations in an instruction are of machines that nobody has. */
	if (!unit->line_range || !unit->opcode_base || unit->per_instruction != 1 ||
			unit->address_size != sizeof(void *) || unit->names > program) {
		unit->version = 0;
		return !bytes->failed;
	}
	bytes_skip(bytes, program - bytes->at);
	return !bytes->failed;
}

/* A new row: whether the one before it covers the address. */
static bool covers(const struct row *last, const struct row *row, uint64_t address)
{
	return last->is_there && last->address && last->address <= address &&
			address < row->address;
}

static void reset(struct row *row)
{
	memset(row, 0, sizeof(*row));
	row->file = 1;
	row->line = 1;
}

/* Everything that begins with a 0: true when a row was made, which ends the sequence. */
static bool extended(struct bytes *bytes, const struct unit *unit, struct row *row)
{
	uint64_t length = bytes_leb128(bytes), begin = bytes->at;
	unsigned int opcode;

	if (!length || length > unit->end - begin) {
		bytes->failed = true;
		return false;
	}
	opcode = (unsigned int)bytes_number(bytes, 1);
	if (opcode == 2 && length == 1 + unit->address_size)
		row->address = bytes_number(bytes, unit->address_size);
	else
		bytes_skip(bytes, length - 1);
	return opcode == 1;
}

/* Standard opcodes but DW_LNS_copy. */
static void standard(
		struct bytes *bytes, const struct unit *unit, unsigned int opcode, struct row *row)
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

/* Whether a row of the unit covers the address; that row. */
static bool run_unit(
		struct bytes *bytes, const struct unit *unit, uint64_t address, struct row *last)
{
	struct row row;
	unsigned int opcode;
	bool ends;

	reset(&row);
	reset(last);
	while (!bytes->failed && bytes->at < unit->end) {
		opcode = (unsigned int)bytes_number(bytes, 1);
		ends = false;
		if (opcode >= unit->opcode_base) {
			opcode -= unit->opcode_base;
			row.address += (uint64_t)(opcode / unit->line_range) * unit->least_length;
			row.line += (uint64_t)(int64_t)(unit->line_base +
					(int)(opcode % unit->line_range));
		} else if (!opcode) {
			ends = extended(bytes, unit, &row);
			if (!ends)
				continue;
		} else if (opcode != 1) {
			standard(bytes, unit, opcode, &row);
			continue;
		}
		if (covers(last, &row, address))
			return true;
		*last = row;
		last->is_there = true;
		if (ends) {
			reset(&row);
			reset(last);
		}
	}
	return false;
}

/* ---- the file ---- */

/* Files may have been replaced since they were mapped. */
static bool is_mapped(int fd, const void *base, ElfW(Ehdr) * header)
{
	ElfW(Ehdr) mapped;

	return pread(fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header) &&
			!memcmp(header->e_ident, ELFMAG, SELFMAG) &&
			!validate_memory_read(NULL, (uintptr_t)base, &mapped, sizeof(mapped)) &&
			!memcmp(&mapped, header, sizeof(mapped));
}

static bool read_section(
		int fd, const ElfW(Ehdr) * header, unsigned int index, ElfW(Shdr) * section)
{
	return index < header->e_shnum &&
			pread(fd, section, sizeof(*section),
					(off_t)(header->e_shoff + index * sizeof(*section))) ==
			(ssize_t)sizeof(*section);
}

static void find_sections(struct table *table, const ElfW(Ehdr) * header)
{
	ElfW(Shdr) names, section;
	struct section *wanted;
	unsigned int i;
	char name[sizeof(".debug_line_str")];

	if (header->e_shentsize != sizeof(section) ||
			!read_section(table->fd, header, header->e_shstrndx, &names))
		return;
	for (i = 1; read_section(table->fd, header, i, &section); i++) {
		memset(name, 0, sizeof(name));
		if (section.sh_name >= names.sh_size ||
				pread(table->fd, name, sizeof(name),
						(off_t)(names.sh_offset + section.sh_name)) < 12)
			continue;
		if (!memcmp(name, ".debug_line", sizeof(".debug_line")))
			wanted = &table->lines;
		else if (!memcmp(name, ".debug_line_str", sizeof(".debug_line_str")))
			wanted = &table->texts;
		else
			continue;
		if (section.sh_type == SHT_NOBITS || section.sh_flags & SHF_COMPRESSED)
			continue;
		wanted->offset = section.sh_offset;
		wanted->size = section.sh_size;
	}
}

static bool find_line(const struct table *table, uint64_t address, char to[VALIDATE_LINE_MAX])
{
	struct bytes bytes;
	struct unit unit;
	struct row row;

	if (table->lines.size > TABLE_MAX)
		return false;
	bytes_open(&bytes, table->fd, table->lines.offset, table->lines.size);
	while (!bytes.failed && bytes.at < bytes.end) {
		if (!read_header(table, &bytes, &unit))
			return false;
		if (unit.version && run_unit(&bytes, &unit, address, &row))
			return write_place(table, &bytes, &unit, &row, to);
		/* The next one, wherever this one ended. */
		bytes_open(&bytes, table->fd, unit.end,
				table->lines.offset + table->lines.size - unit.end);
	}
	return false;
}

bool validate_line_find(
		const char *path, const void *base, uint64_t address, char to[VALIDATE_LINE_MAX])
{
	struct table table = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
	ElfW(Ehdr) header;
	bool found = false;

	if (table.fd < 0)
		return false;
	if (is_mapped(table.fd, base, &header)) {
		find_sections(&table, &header);
		found = find_line(&table, address, to);
	}
	(void)close(table.fd);
	return found;
}
