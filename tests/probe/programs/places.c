/* SPDX-License-Identifier: MIT */
/* Finds the functions of all files that are mapped into this process. */
#include "everything.h"

#include "probe/code/code.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 512

struct probed_location *locations;
size_t nr_places;
static size_t capacity;

static struct module {
	char path[512];
	uint64_t bias;
} modules[MODULES_MAX];
static size_t nr_modules, nr_read;

/* The files of the engine itself, and mappings without a file. */
static const char *const left_out[] = {"libprobe-everything", "libZydis", "liblzma", "linux-vdso"};

static int note(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";

	(void)size;
	(void)unused;
	for (size_t i = 0; i < nr_modules; i++) {
		if (modules[i].bias == info->dlpi_addr && !strcmp(modules[i].path, path))
			return 0;
	}
	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
		if (strstr(path, left_out[i]))
			return 0;
	}
	if (nr_modules < MODULES_MAX) {
		snprintf(modules[nr_modules].path, sizeof(modules[0].path), "%s", path);
		modules[nr_modules++].bias = info->dlpi_addr;
	}
	return 0;
}

static int add_location(struct report *report, const struct probe_site *site, const char *name,
		uint32_t module)
{
	struct probed_location *location;

	if (nr_places == PLACES_MAX)
		return -1;
	if (nr_places == capacity) {
		struct probed_location *more = reallocarray(
				locations, capacity ? capacity * 2 : 8192, sizeof(*more));

		if (!more)
			return -1;
		locations = more;
		capacity = capacity ? capacity * 2 : 8192;
	}
	location = &locations[nr_places];
	*location = (struct probed_location){.site = *site, .at = nr_places};
	location->report = &report->locations[nr_places];
	location->report->offset = site->offset;
	location->report->module = module;
	location->report->method = UINT8_MAX;
	location->report->can_exit = !site->no_exit;
	snprintf(location->report->name, NAME_BYTES, "%s", name ? name : "");
	nr_places++;
	return 0;
}

static int read_module(struct report *report, uint32_t index)
{
	const struct code_function *functions;
	struct error error;
	struct code_file *file;
	size_t count;
	int ret = 0;

	if (code_open(modules[index].path, &file, &error))
		return 0;
	count = code_functions(file, &functions);
	for (size_t i = 0; !ret && i < count; i++) {
		struct probe_site site;

		if (code_entry(file, &functions[i], &site) || site.method == PROBE_NONE)
			continue;
		site.runtime = site.address + modules[index].bias;
		ret = add_location(report, &site, code_name(file, &functions[i], 0), index);
	}
	code_close(file);
	return ret;
}

int places_read(struct report *report, const char *modules_path)
{
	FILE *list;
	int ret = 0;

	dl_iterate_phdr(note, NULL);
	if (nr_read == nr_modules)
		return 0;
	for (; !ret && nr_read < nr_modules; nr_read++)
		ret = read_module(report, (uint32_t)nr_read);
	list = fopen(modules_path, "we");
	for (size_t i = 0; list && i < nr_modules; i++)
		fprintf(list, "%s\n", modules[i].path);
	if (list)
		fclose(list);
	/* Relaxed: read after all writes. */
	__atomic_store_n(&report->nr_places, nr_places, __ATOMIC_RELAXED);
	return ret;
}
