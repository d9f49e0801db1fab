/* SPDX-License-Identifier: MIT */
/*
 * Find where a variable is at one location, from DW_AT_location.
 *
 * A variable is in one register or memory location, in pieces at several of them, or nowhere if the
 * compiler knows its value. expression.c converts the expression of each single one.
 */
#include "locate.h"

#include "expression.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

struct location_reader {
	const struct locate_frame *location;
	Dwarf_Attribute *attribute;
	const char *name;
	struct located *located;
	struct error *error;
};

static int locate_fail_not_kept(const struct location_reader *reader)
{
	return error_set(reader->error, -ENOENT,
			"probe another location, or compile with -O0 or -Og",
			"the compiler has optimized `%.128s` out at this location", reader->name);
}

static int locate_fail(const struct location_reader *reader, const struct expression_answer *answer)
{
	if (answer->entry_value)
		return error_set(reader->error, -ENOENT,
				"record it at the entry: `--function` instead of `--probe`",
				"the compiler has optimized `%.128s` out at this location; its value is only known from %s at the entry of the function",
				reader->name, answer->entry_value);
	if (answer->thread_local)
		return error_set(reader->error, -ENOTSUP,
				"record an argument or local variable that was computed from it",
				"`%.128s` is thread-local, and its file does not contain its location",
				reader->name);
	return error_set(reader->error, -ENOTSUP, "write it as TYPE:NAME:ADDR",
			"a probe cannot compute the address of `%.128s` at this location%s%s",
			reader->name, answer->reason ? ": " : "",
			answer->reason ? answer->reason : "");
}

int locate_piece(struct located *located, enum located_kind kind, uint64_t size,
		const struct fetch *fetch)
{
	struct located_piece *last =
			located->nr_pieces ? &located->pieces[located->nr_pieces - 1] : NULL;
	uint64_t offset = last ? (uint64_t)last->offset + last->size : 0;

	if (located->nr_pieces == LOCATED_PIECES_MAX || offset + size > INT32_MAX)
		return -E2BIG;
	located->kind = LOCATED_PIECES;
	located->pieces[located->nr_pieces++] = (struct located_piece){.kind = kind,
			.offset = (uint32_t)offset,
			.size = (uint32_t)size,
			.fetch = *fetch};
	return 0;
}

/* Constant bytes from debug information. */
static int locate_bytes(struct located *ret_located, const unsigned char *bytes, size_t size)
{
	int ret = 0;

	*ret_located = (struct located){.kind = LOCATED_PIECES};
	for (size_t at = 0; at < size && !ret; at += 8) {
		struct fetch fetch = {.nr_ops = 0};
		size_t length = size - at < 8 ? size - at : 8;
		int64_t value = 0;

		memcpy(&value, bytes + at, length);
		ret = fetch_op(&fetch, PROBE_FETCH_CONSTANT, 0, 0, value);
		if (!ret)
			ret = locate_piece(ret_located, LOCATED_VALUE, length, &fetch);
	}
	if (!ret && ret_located->nr_pieces == 1) {
		ret_located->kind = LOCATED_VALUE;
		ret_located->fetch = ret_located->pieces[0].fetch;
	}
	return ret ? ret : ret_located->nr_pieces ? 0 : -ENOENT;
}

/* A variable with a constant value and no location. */
static int locate_constant(Dwarf_Die *variable, struct located *ret_located)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword number;
	Dwarf_Block block;

	if (!dwarf_attr_integrate(variable, DW_AT_const_value, &attribute))
		return -ENOENT;
	if (!dwarf_formblock(&attribute, &block))
		return locate_bytes(ret_located, block.data, block.length);
	if (dwarf_formsdata(&attribute, &number))
		return -ENOENT;
	*ret_located = (struct located){.kind = LOCATED_VALUE};
	return fetch_op(&ret_located->fetch, PROBE_FETCH_CONSTANT, 0, 0, number);
}

static bool is_piece(const Dwarf_Op *op)
{
	return op->atom == DW_OP_piece || op->atom == DW_OP_bit_piece;
}

/* Convert the operations of the whole variable, or those before the next piece. */
static int read_simple(const struct location_reader *reader, Dwarf_Op *ops, size_t count,
		enum located_kind *ret_kind, struct fetch *ret_fetch)
{
	struct expression_answer answer = {.reason = NULL};
	int ret;

	*ret_kind = LOCATED_NOWHERE;
	if (!count)
		return 0;
	ret = expression_convert(
			reader->location, reader->attribute, ops, count, ret_fetch, &answer);
	if (ret)
		return locate_fail(reader, &answer);
	*ret_kind = answer.is_value ? LOCATED_VALUE : LOCATED_MEMORY;
	return 0;
}

static int spec_locate_read_block(const struct location_reader *reader, Dwarf_Op *op)
{
	Dwarf_Block block;

	if (dwarf_getlocation_implicit_value(reader->attribute, op, &block) ||
			locate_bytes(reader->located, block.data, block.length))
		return error_set(reader->error, -ENOTSUP, "",
				"`%.128s` is a constant that is too large for a probe",
				reader->name);
	return 0;
}

/*
 * The bytes of the section from the attribute's location list on. False: there is no such section.
 */
static bool list_bytes(Dwarf_Attribute *attribute, Dwarf_Half version, const uint8_t **ret_bytes,
		size_t *ret_size)
{
	const char *wanted = version < 5 ? ".debug_loc" : ".debug_loclists";
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(attribute->cu));
	Elf_Scn *section = NULL;
	Dwarf_Word begin;
	size_t names;

	if (dwarf_formudata(attribute, &begin) || elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
				? elf_strptr(elf, names, header.sh_name)
				: NULL;
		size_t length = name && !strncmp(name, wanted, strlen(wanted)) ? strlen(wanted) : 0;
		Elf_Data *data;

		if (!length || (name[length] && strcmp(name + length, ".dwo") != 0))
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || begin >= data->d_size)
			return false;
		*ret_bytes = (const uint8_t *)data->d_buf + begin;
		*ret_size = data->d_size - begin;
		return true;
	}
	return false;
}

/*
 * Decode the LEB128 number at `bytes`, as unsigned and as signed. False: it does not end within
 * `size` bytes.
 */
static bool read_leb128(const uint8_t *bytes, size_t size, uint64_t *ret_without_sign,
		int64_t *ret_with_sign)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	for (size_t i = 0; i < size && shift < 64; i++, shift += 7) {
		value |= (uint64_t)(bytes[i] & 0x7f) << shift;
		if (bytes[i] & 0x80)
			continue;
		*ret_without_sign = value;
		*ret_with_sign = (int64_t)(bytes[i] & 0x40 && shift + 7 < 64
						? value | UINT64_MAX << (shift + 7)
						: value);
		return true;
	}
	return false;
}

/*
 * The offset of a removed pointer is signed, but libdw (elfutils 0.188) reads it as unsigned:
 * decode the operation's bytes again.
 */
static int64_t pointer_offset(const struct location_reader *reader, const Dwarf_Op *op)
{
	const uint8_t *bytes;
	uint8_t width; /* of the target */
	Dwarf_Half version;
	Dwarf_Block block;
	uint64_t number;
	int64_t offset;
	size_t size;

	if (dwarf_cu_info(reader->attribute->cu, &version, NULL, NULL, NULL, NULL, NULL, &width))
		return (int64_t)op->number2;
	if (!dwarf_formblock(reader->attribute, &block)) {
		bytes = block.data;
		size = block.length;
	} else if (!list_bytes(reader->attribute, version, &bytes, &size)) {
		return (int64_t)op->number2;
	}
	for (size_t i = 0; i + 1 + width < size; i++) {
		if (bytes[i] == op->atom && !memcmp(bytes + i + 1, &op->number, width) &&
				read_leb128(bytes + i + 1 + width, size - i - 1 - width, &number,
						&offset) &&
				number == op->number2)
			return offset;
	}
	return (int64_t)op->number2;
}

static int read_pointer(const struct location_reader *reader, Dwarf_Op *op)
{
	reader->located->kind = LOCATED_POINTER;
	reader->located->target_offset = pointer_offset(reader, op);
	return dwarf_getlocation_die(reader->attribute, op, &reader->located->target)
			? locate_fail_not_kept(reader)
			: 0;
}

static bool spec_locate_is_pointer(const Dwarf_Op *op)
{
	return op->atom == DW_OP_implicit_pointer || op->atom == DW_OP_GNU_implicit_pointer;
}

static int read_piece(const struct location_reader *reader, Dwarf_Op *ops, size_t count,
		const Dwarf_Op *piece)
{
	uint64_t bits = piece->atom == DW_OP_piece ? 8 * piece->number : piece->number;
	struct fetch fetch = {.nr_ops = 0};
	enum located_kind kind = LOCATED_NOWHERE;
	int ret = 0;

	if (bits % 8 || (piece->atom == DW_OP_bit_piece && piece->number2))
		return error_set(reader->error, -ENOTSUP, "request its members",
				"parts of `%.128s` are in different locations, and do not consist of whole bytes",
				reader->name);
	/*
	 * A constant in a piece, or a removed pointer, causes an error only if the user requests
	 * this piece.
	 */
	if (count && ops[0].atom == DW_OP_implicit_value) {
		Dwarf_Block block;

		if (!dwarf_getlocation_implicit_value(reader->attribute, &ops[0], &block) &&
				block.length <= 8) {
			int64_t value = 0;

			memcpy(&value, block.data, block.length);
			ret = fetch_op(&fetch, PROBE_FETCH_CONSTANT, 0, 0, value);
			kind = LOCATED_VALUE;
		}
	} else if (count && !spec_locate_is_pointer(&ops[0]) &&
			read_simple(reader, ops, count, &kind, &fetch)) {
		kind = LOCATED_NOWHERE;
	}
	if (!ret)
		ret = locate_piece(reader->located, kind, bits / 8, &fetch);
	return ret ? error_set(reader->error, ret, "probe another location",
				     "`%.128s` is in too many pieces", reader->name)
		   : 0;
}

static int spec_locate_read_pieces(
		const struct location_reader *reader, Dwarf_Op *ops, size_t count)
{
	size_t begin = 0;
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++) {
		if (!is_piece(&ops[i]))
			continue;
		ret = read_piece(reader, ops + begin, i - begin, &ops[i]);
		begin = i + 1;
	}
	return ret;
}

static int read_location(const struct location_reader *reader, Dwarf_Op *ops, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_piece(&ops[i]))
			return spec_locate_read_pieces(reader, ops, count);
	}
	if (ops[0].atom == DW_OP_implicit_value)
		return spec_locate_read_block(reader, &ops[0]);
	if (spec_locate_is_pointer(&ops[0]))
		return read_pointer(reader, &ops[0]);
	return read_simple(reader, ops, count, &reader->located->kind, &reader->located->fetch);
}

int locate_variable(const struct locate_frame *location, Dwarf_Die *variable,
		struct located *ret_located, struct error *error)
{
	const char *name = dwarf_diename(variable);
	Dwarf_Attribute attribute;
	struct location_reader reader = {.location = location,
			.attribute = &attribute,
			.name = name ? name : "it",
			.located = ret_located,
			.error = error};
	Dwarf_Op *ops = NULL;
	size_t count = 0;

	*ret_located = (struct located){.kind = LOCATED_MEMORY};
	if (!locate_constant(variable, ret_located))
		return 0;
	*ret_located = (struct located){.kind = LOCATED_MEMORY};
	if (!dwarf_attr_integrate(variable, DW_AT_location, &attribute) ||
			dwarf_getlocation_addr(&attribute, location->address, &ops, &count, 1) !=
					1 ||
			!count)
		return locate_fail_not_kept(&reader);
	return read_location(&reader, ops, count);
}
