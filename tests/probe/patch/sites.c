/* SPDX-License-Identifier: MIT */
/* Finds the sites of this program's own functions. */
#include "probed.h"

#include "probe/code/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct code_file *file;
static uint64_t bias;

static void fail(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

static void open_self(void)
{
	struct error error;
	const struct code_function *functions;
	size_t count;

	if (file)
		return;
	if (code_open("/proc/self/exe", &file, &error))
		fail(error.text);
	count = code_functions(file, &functions);
	for (size_t i = 0; i < count; i++) {
		if (functions[i].nr_names &&
				!strcmp(code_name(file, &functions[i], 0), "probed_one"))
			bias = (uint64_t)(uintptr_t)&probed_one - functions[i].address;
	}
}

static const struct code_function *function_of(const char *name)
{
	const struct code_function *functions;
	size_t count;

	open_self();
	count = code_functions(file, &functions);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < functions[i].nr_names; k++) {
			if (!strcmp(code_name(file, &functions[i], k), name))
				return &functions[i];
		}
	}
	fail(name);
	return NULL;
}

struct probe_site site_of(const char *name)
{
	const struct code_function *function = function_of(name);
	struct probe_site site;

	if (code_entry(file, function, &site))
		fail(name);
	site.runtime = site.address + bias;
	return site;
}

struct probe_site site_at(const char *name, unsigned int offset)
{
	const struct code_function *function = function_of(name);
	struct probe_site site;

	if (code_site(file, function->address + offset, &site))
		memset(&site, 0, sizeof(site));
	site.runtime = site.address + bias;
	return site;
}
