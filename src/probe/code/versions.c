/* SPDX-License-Identifier: MIT */
/*
 * Finds the versions of names in .dynsym: NAME@VERSION, which only .symtab has as a part of the
 * name.
 */
#include "parts.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define VERSION_HIDDEN 0x8000u
#define VERSIONED_NAME_MAX 512u

/* Returns a string of a string table, or NULL if it does not end within the table. */
static const char *code_version_get_text(
		const struct code_file *file, const struct code_section *section, uint64_t offset)
{
	size_t size = 0;
	const uint8_t *bytes = code_section_bytes(file, section, &size);

	return bytes && offset < size && memchr(bytes + offset, '\0', size - offset)
			? (const char *)bytes + offset
			: NULL;
}

static const struct code_section *linked_section(
		const struct code_file *file, const struct code_section *section)
{
	return section->link < file->nr_sections ? &file->sections[section->link] : NULL;
}

/* Returns the name of a version that this file defines, or NULL. */
static const char *version_name(const struct code_file *file, const struct code_section *section,
		unsigned int index)
{
	const struct code_section *names = linked_section(file, section);
	size_t size = 0, at = 0;
	const uint8_t *bytes = code_section_bytes(file, section, &size);

	while (bytes && names && at <= size && size - at >= sizeof(Elf64_Verdef)) {
		Elf64_Verdef definition;
		Elf64_Verdaux name;

		memcpy(&definition, bytes + at, sizeof(definition));
		if (definition.vd_ndx == index && definition.vd_aux <= size - at &&
				size - at - definition.vd_aux >= sizeof(name)) {
			memcpy(&name, bytes + at + definition.vd_aux, sizeof(name));
			return code_version_get_text(file, names, name.vda_name);
		}
		if (!definition.vd_next || definition.vd_next > size - at)
			break;
		at += definition.vd_next;
	}
	return NULL;
}

static const struct code_section *section_of_type(const struct code_file *file, uint32_t type)
{
	for (size_t i = 0; i < file->nr_sections; i++) {
		if (file->sections[i].type == type)
			return &file->sections[i];
	}
	return NULL;
}

bool code_name_version(const struct code_file *file, const struct code_function *function,
		size_t index, bool (*fits)(const void *user, const char *name), const void *user)
{
	const struct code_section *versions = section_of_type(file, SHT_GNU_versym),
				  *definitions = section_of_type(file, SHT_GNU_verdef),
				  *table = versions ? linked_section(file, versions) : NULL,
				  *names = table ? linked_section(file, table) : NULL;
	const char *name = code_name(file, function, index);
	size_t size = 0, count = 0;
	const uint8_t *symbols = table ? code_section_bytes(file, table, &size) : NULL;
	const uint8_t *numbers = versions ? code_section_bytes(file, versions, &count) : NULL;

	if (!name || !definitions || !names || !symbols || !numbers)
		return false;
	for (size_t i = 0; i < size / sizeof(Elf64_Sym) && i < count / sizeof(uint16_t); i++) {
		char whole[VERSIONED_NAME_MAX];
		const char *text, *version;
		Elf64_Sym symbol;
		uint16_t number;

		memcpy(&symbol, symbols + i * sizeof(symbol), sizeof(symbol));
		if (symbol.st_value != function->address || symbol.st_shndx == SHN_UNDEF)
			continue;
		text = code_version_get_text(file, names, symbol.st_name);
		memcpy(&number, numbers + i * sizeof(number), sizeof(number));
		version = text && !strcmp(text, name)
				? version_name(file, definitions, number & ~VERSION_HIDDEN)
				: NULL;
		if (!version)
			continue;
		if ((size_t)snprintf(whole, sizeof(whole), "%s%s%s", name,
				    number & VERSION_HIDDEN ? "@" : "@@",
				    version) < sizeof(whole) &&
				fits(user, whole))
			return true;
	}
	return false;
}
