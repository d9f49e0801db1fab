/* SPDX-License-Identifier: MIT */
/* Read markers (SDT, USDT) of a file: notes in sections that are not loaded. */
#include "parts.h"

#include <string.h>
#include <unistd.h>

#define MARKER_NOTE 3
#define MARKER_TEXT_MAX 4096

/* Returns a text that ends inside the note, and skips it. NULL: it does not end. */
static const char *spec_marker_read_text(const char **at, const char *end)
{
	const char *text = *at, *stop = memchr(text, 0, (size_t)(end - text));

	if (!stop || stop - text > MARKER_TEXT_MAX)
		return NULL;
	*at = stop + 1;
	return text;
}

static uint64_t spec_marker_read_word(const char *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static bool read_marker(
		const char *bytes, size_t size, uint64_t base, struct resolve_marker *ret_marker)
{
	const char *at = bytes + 24, *end = bytes + size;
	uint64_t moved;

	if (size < 24 + 3)
		return false;
	/*
	 * prelink moves code, but not addresses in notes. The note has the address of
	 * .stapsdt.base, which moves too; the difference corrects it.
	 */
	moved = base ? base - spec_marker_read_word(bytes + 8) : 0;
	ret_marker->address = spec_marker_read_word(bytes) + moved;
	ret_marker->semaphore = spec_marker_read_word(bytes + 16)
			? spec_marker_read_word(bytes + 16) + moved
			: 0;
	ret_marker->provider = spec_marker_read_text(&at, end);
	ret_marker->name = ret_marker->provider ? spec_marker_read_text(&at, end) : NULL;
	ret_marker->arguments = ret_marker->name ? spec_marker_read_text(&at, end) : NULL;
	return ret_marker->arguments;
}

static int walk_notes(Elf_Data *data, uint64_t base, struct resolve_marker *marker,
		int (*each)(void *user, const struct resolve_marker *marker), void *user)
{
	size_t at = 0, name, content;
	GElf_Nhdr note;
	int ret = 0;

	while (!ret && data && (at = gelf_getnote(data, at, &note, &name, &content)) > 0) {
		if (note.n_type != MARKER_NOTE || note.n_namesz != 8 ||
				memcmp((char *)data->d_buf + name, "stapsdt", 8) != 0 ||
				!read_marker((char *)data->d_buf + content, note.n_descsz, base,
						marker))
			continue;
		ret = each(user, marker);
	}
	return ret;
}

int module_markers(struct resolve_module *module,
		int (*each)(void *user, const struct resolve_marker *marker), void *user)
{
	struct resolve_marker marker = {.module = module->path};
	Elf *elf = module_elf(module);
	Elf_Scn *section = NULL, *notes = NULL;
	uint64_t base = 0;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
				? elf_strptr(elf, names, header.sh_name)
				: NULL;

		if (name && !strcmp(name, ".stapsdt.base"))
			base = header.sh_addr;
		if (name && !strcmp(name, ".note.stapsdt") && header.sh_type == SHT_NOTE)
			notes = section;
	}
	return notes ? walk_notes(elf_getdata(notes, NULL), base, &marker, each, user) : 0;
}

/* ---- list markers ---- */

struct marker_walk {
	struct resolve_module *module;
	int memory; /* of the process; -1: none */
	int (*each)(void *user, const struct resolve_marker *marker);
	void *user;
};

static int count_listeners(const struct marker_walk *walk, const struct resolve_marker *marker)
{
	uint16_t count;

	if (!marker->semaphore || walk->memory < 0 ||
			pread(walk->memory, &count, sizeof(count),
					(off_t)(marker->semaphore + walk->module->bias)) !=
					sizeof(count))
		return -1;
	return count;
}

static int add_site(void *user, const struct resolve_marker *found)
{
	struct marker_walk *walk = user;
	struct resolve_marker marker = *found;
	struct error ignored;
	struct probe_site site;

	if (!walk->module->refused && !module_code(walk->module, &ignored) &&
			!code_site(walk->module->code, marker.address, &site))
		marker.site = &site;
	marker.loaded = walk->module->loaded;
	marker.runtime = marker.address + walk->module->bias;
	marker.listeners = marker.loaded ? count_listeners(walk, &marker) : -1;
	return walk->each(walk->user, &marker);
}

int resolve_markers(struct resolve *resolve,
		int (*each)(void *user, const struct resolve_marker *marker), void *user)
{
	int ret = 0;

	for (size_t i = 0; i < resolve->nr_modules && !ret; i++) {
		struct marker_walk walk = {.module = &resolve->modules[i],
				.memory = resolve->memory,
				.each = each,
				.user = user};

		ret = module_markers(&resolve->modules[i], add_site, &walk);
	}
	return ret;
}
