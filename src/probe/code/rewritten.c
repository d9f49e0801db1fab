/* SPDX-License-Identifier: MIT */
/*
 * Keeps code that the loader relocates, that the program rewrites itself (sleds of XRay, static
 * keys), and that it executes in a copy (the embedded builtins of V8).
 */
#include "parts.h"
#include "x86-64.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define XRAY_ENTRY_BYTES 32
#define XRAY_SLED_BYTES 11
#define XRAY_EVENT_BYTES 2 /* the jump over the call of a custom event */
#define XRAY_CUSTOM_EVENT 4
#define XRAY_FUNCTION_ENTRY 0
#define XRAY_LOG_ARGUMENTS 3
#define XRAY_KIND_AT 16
#define XRAY_VERSION_AT 18
#define XRAY_RELATIVE_VERSION 2
#define KEY_LONG 5 /* bytes of a jump, and of the nop that replaces it */
#define KEY_SHORT 2

static const char relocated[] = "the loader changes its bytes (a text relocation)";
static const char sled[] = "the program changes its bytes itself (a sled of XRay)";
static const char key[] = "the program changes its bytes itself (a static key)";
static const char embedded[] =
		"V8 copies this code to other memory when it starts, and a jump in a copy leads nowhere";

/* ---- sleds of XRay ---- */

static int add_sled(struct code_file *file, const uint8_t *entry, uint64_t at)
{
	uint64_t address = code_read(entry, 8);
	uint8_t kind = entry[XRAY_KIND_AT];
	unsigned int size = kind >= XRAY_CUSTOM_EVENT ? XRAY_EVENT_BYTES : XRAY_SLED_BYTES;
	size_t before = file->nr_kept;
	int ret;

	if (entry[XRAY_VERSION_AT] >= XRAY_RELATIVE_VERSION)
		address += at;
	ret = code_keep(file, address, address + size, sled);
	if (!ret && file->nr_kept > before)
		file->kept[before].is_prologue =
				kind == XRAY_FUNCTION_ENTRY || kind == XRAY_LOG_ARGUMENTS;
	return ret;
}

static int read_sleds(struct code_file *file)
{
	const struct code_section *section = code_section_named(file, "xray_instr_map");
	size_t size;
	const uint8_t *bytes = code_section_bytes(file, section, &size);
	int ret = 0;

	for (size_t i = 0; bytes && !ret && i + XRAY_ENTRY_BYTES <= size; i += XRAY_ENTRY_BYTES)
		ret = add_sled(file, bytes + i, section->address + i);
	return ret;
}

/* ---- static keys ---- */

/* True if the section's name marks instructions that a program switches. */
static bool has_key_name(const char *name)
{
	static const char *const parts[] = {"jump_table", "jump_label", "jump_entr", "static_key",
			"static_call", "static_branch", "altinstr", "alternatives", "parainstr",
			"patch_sites"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* True for sections of nops for tracers: the program itself does not change these. */
static bool has_tracer_name(const char *name)
{
	return !strncmp(name, "__patchable_function", 20) || !strcmp(name, "__mcount_loc");
}

static const struct code_section *section_at(const struct code_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		const struct code_section *section = &file->sections[i];

		if (section->address && address >= section->address &&
				address - section->address < section->size)
			return section;
	}
	return NULL;
}

/* Keeps a static key. With `any`, a jump counts as well: a key in its other state. */
static int add_key(struct code_file *file, uint64_t address, bool any)
{
	struct x86_instruction instruction;
	size_t size;
	const uint8_t *bytes =
			code_executable(file, address) ? code_bytes(file, address, &size) : NULL;
	unsigned int length;

	if (!bytes || !x86_decode(bytes, size, address, &instruction))
		return 0;
	length = instruction.piece.length;
	if ((length != KEY_LONG && length != KEY_SHORT) ||
			!(instruction.padding ||
					(any &&
							(instruction.piece.kind == PROBE_BRANCH ||
									instruction.piece.kind ==
											PROBE_CALL))))
		return 0;
	return code_keep(file, address, address + length, key);
}

/*
 * Without a section of keys: only a program that switches a nop inside a function has its address
 * in data.
 */
static int add_key_from_data(struct code_file *file, uint64_t address, uint64_t target)
{
	const struct code_section *section = section_at(file, address);
	const struct code_function *function;

	if (section && has_key_name(section->name))
		return add_key(file, target, true);
	if (section && has_tracer_name(section->name))
		return 0;
	function = code_function_at(file, target);
	return function && function->address != target ? add_key(file, target, false) : 0;
}

/*
 * Reads the words of the section in the file: addresses, or distances of 32 bits from themselves.
 */
static int read_key_section(struct code_file *file, const struct code_section *section)
{
	size_t size;
	const uint8_t *bytes = code_section_bytes(file, section, &size);
	int ret = 0;

	for (size_t i = 0; bytes && !ret && i + 4 <= size; i += 4) {
		uint64_t away = (uint64_t)(int64_t)(int32_t)code_read(bytes + i, 4);

		ret = add_key(file, section->address + i + away, true);
		if (!ret && file->fixed && i + 8 <= size)
			ret = add_key(file, code_read(bytes + i, 8), true);
	}
	return ret;
}

static int read_key_words(struct code_file *file, const struct code_segment *segment)
{
	const uint8_t *bytes = file->bytes + segment->offset;
	int ret = 0;

	for (uint64_t at = -segment->address & 7; !ret && at + 8 <= segment->size; at += 8)
		ret = add_key_from_data(file, segment->address + at, code_read(bytes + at, 8));
	return ret;
}

static int read_keys(struct code_file *file)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < file->nr_sections; i++) {
		const struct code_section *section = &file->sections[i];

		if (section->address && !code_executable(file, section->address) &&
				has_key_name(section->name))
			ret = read_key_section(file, section);
	}
	/* In files without fixed addresses, these addresses are relocations. */
	for (size_t i = 0; file->fixed && !ret && i < file->nr_segments; i++) {
		if (!file->segments[i].executable)
			ret = read_key_words(file, &file->segments[i]);
	}
	return ret;
}

/* ---- text relocations ---- */

static int add_relocation(void *user, const struct code_relocation *relocation)
{
	struct code_file *file = user;
	int ret;

	code_mark_target(file, relocation->target);
	ret = code_keep(file, relocation->address, relocation->address + relocation->bytes,
			relocated);
	if (ret || code_executable(file, relocation->address))
		return ret;
	return add_key_from_data(file, relocation->address, relocation->target);
}

/* ---- embedded builtins of V8 ---- */

static int keep_embedded(struct code_file *file)
{
	uint64_t size = 0, end;
	size_t available;
	const uint8_t *bytes;

	if (!file->embedded_code)
		return 0;
	bytes = code_bytes(file, file->embedded_size, &available);
	if (bytes && available >= 4)
		size = code_read(bytes, 4);
	end = file->embedded_code + size;
	/* Without the size: the end of its functions, which are consecutive. */
	for (size_t i = 0; !size && i < file->nr_functions; i++) {
		const struct code_function *function = &file->functions[i];
		const char *name = code_name(file, function, 0);

		if (name && !strncmp(name, "Builtins_", 9) && function->address >= end)
			end = function->address + function->size;
	}
	return code_keep(file, file->embedded_code, end, embedded);
}

bool code_is_sled_of_entry(struct code_file *file, uint64_t address, uint64_t *ret_end)
{
	const struct code_kept *kept = code_kept_at(file, address, 1);

	if (!kept || !kept->is_prologue || kept->from != address)
		return false;
	*ret_end = kept->to;
	return true;
}

int code_read_rewritten(struct code_file *file)
{
	int ret = read_sleds(file);

	if (!ret)
		ret = read_keys(file);
	if (!ret)
		ret = code_each_relocation(file, add_relocation, file);
	return ret ? ret : keep_embedded(file);
}
