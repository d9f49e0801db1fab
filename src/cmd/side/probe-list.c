/* SPDX-License-Identifier: MIT */
/* `side probe list`: each function, and how it can be probed. */
#include "names/names.h"
#include "probe-list.h"

#include "command.h"
#include "probe-wish.h"
#include "say.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char changed[] =
		"the process has other bytes there than its file: something has changed its code";

struct listing {
	char *library; /* glob of files; NULL: all */
	const char *function;
	bool process;
	uint64_t count, by_method[PROBE_METHODS];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool fits_readable(const char *glob, const char *name)
{
	char *readable = names_readable(name);
	bool fits = readable && !fnmatch(glob, readable, 0);

	free(readable);
	return fits;
}

/* The name by which it was selected, or its best one; NULL: it has none. `*selected` is whether it was. */
static const char *select_name(const struct listing *listing, const struct code_file *code,
		const struct code_function *function, bool *selected)
{
	*selected = true;
	if (!listing->function)
		return code_name(code, function, 0);
	for (size_t i = 0; i < function->nr_names; i++) {
		const char *name = code_name(code, function, i);

		if (!fnmatch(listing->function, name, 0) || fits_readable(listing->function, name))
			return name;
	}
	*selected = !function->nr_names && !strcmp(listing->function, "*");
	return NULL;
}

static void print_text(const struct listing *listing, const struct probe_module *module,
		const char *name, const struct probe_site *site)
{
	char *readable = name ? names_readable(name) : NULL;
	char text[512], unnamed[32];

	if (readable)
		name = readable;
	snprintf(unnamed, sizeof(unnamed), "0x%" PRIx64, site->address);
	printf("%-10s 0x%-16" PRIx64 " ", probe_method_name(site->method),
			site->runtime ? site->runtime : site->address);
	if (site->method == PROBE_NONE)
		fputs("    - ", stdout);
	else
		printf("%5u ", site->displaced);
	if (listing->process)
		printf("%s:", say_printable(base_name(module->path), text, sizeof(text)));
	fputs(say_printable(name ? name : unnamed, text, sizeof(text)), stdout);
	if (site->reason)
		printf("  (%s)", site->reason);
	putchar('\n');
	free(readable);
}

static void print_json_lists(const struct code_file *code, const struct code_function *function,
		const struct probe_site *site)
{
	fputs(",\"names\":[", stdout);
	for (size_t i = 0; i < function->nr_names; i++) {
		fputs(i ? "," : "", stdout);
		say_json_string(stdout, code_name(code, function, i));
	}
	fputs("],\"boundaries\":[", stdout);
	for (unsigned int i = 1; i < site->nr_pieces; i++)
		printf("%s%u", i > 1 ? "," : "", site->pieces[i].at);
	fputs("],\"bytes\":\"", stdout);
	for (unsigned int i = 0; i < site->nr_bytes; i++)
		printf("%02x", site->bytes[i]);
	fputs("\"", stdout);
}

static void print_json(const struct probe_module *module, const struct code_function *function,
		const char *name, const struct probe_site *site)
{
	char *readable = name ? names_readable(name) : NULL;

	printf("{\"schema\":%d,\"type\":\"probe_site\",\"module\":", SAY_JSON_SCHEMA);
	say_json_string(stdout, module->path);
	fputs(",\"function\":", stdout);
	if (name)
		say_json_string(stdout, name);
	else
		fputs("null", stdout);
	if (readable) {
		fputs(",\"readable\":", stdout);
		say_json_string(stdout, readable);
	}
	free(readable);
	printf(",\"address\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"size\":%" PRIu64
	       ",\"method\":\"%s\",\"displaced\":%u,\"patched\":%u",
			site->address, site->offset, function->size,
			probe_method_name(site->method), site->displaced, site->patched);
	if (site->runtime)
		printf(",\"runtime\":%" PRIu64, site->runtime);
	if (site->method == PROBE_SHORT)
		printf(",\"pad\":%" PRIu64, site->pad);
	print_json_lists(module->code, function, site);
	if (site->reason) {
		fputs(",\"reason\":", stdout);
		say_json_string(stdout, site->reason);
	}
	puts("}");
}

static void compare_memory(const struct probe_module *module, struct probe_site *site)
{
	uint8_t bytes[PROBE_BYTES_MAX];

	site->runtime = site->address + module->bias;
	if (pread(module->memory, bytes, site->nr_bytes, (off_t)site->runtime) == site->nr_bytes &&
			!memcmp(bytes, site->bytes, site->nr_bytes))
		return;
	site->method = PROBE_NONE;
	site->reason = changed;
}

static int list_module(void *user, const struct probe_module *module)
{
	struct listing *listing = user;
	const struct code_function *functions;
	size_t count = code_functions(module->code, &functions);

	if (listing->library && fnmatch(listing->library, base_name(module->path), 0) != 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		struct probe_site site;
		bool selected;
		const char *name = select_name(listing, module->code, &functions[i], &selected);
		int ret;

		if (!selected)
			continue;
		ret = code_entry(module->code, &functions[i], &site);
		if (ret)
			return say_error(COMMAND_FAILED, NULL, "cannot read the code of %s: %s",
					module->path, strerror(-ret));
		if (module->memory >= 0)
			compare_memory(module, &site);
		if (!listing->count++ && !say_is_json())
			printf("%-10s %-18s %5s %s\n", "METHOD", "ADDRESS", "BYTES", "FUNCTION");
		listing->by_method[site.method]++;
		if (say_is_json())
			print_json(module, &functions[i], name, &site);
		else
			print_text(listing, module, name, &site);
	}
	return 0;
}

static int list_file(struct listing *listing, const char *path)
{
	struct probe_module module = {.path = path, .memory = -1};
	struct code_error error;
	int ret = code_open(path, &module.code, &error);

	if (ret)
		return say_error(ret == -EACCES || ret == -EPERM ? COMMAND_NOT_PERMITTED
								 : COMMAND_FAILED,
				NULL, "%s", error.text);
	ret = list_module(listing, &module);
	code_close(module.code);
	return ret;
}

static int conclude(const struct listing *listing, bool markers, const char *what, const char *glob)
{
	const uint64_t *by = listing->by_method;

	if (!listing->count && markers)
		return say_flush(stdout);
	if (!listing->count)
		return say_error(COMMAND_FAILED,
				glob ? "`side probe list` without a GLOB lists all" : NULL,
				glob ? "%s has no function that matches `%.128s`"
				     : "no function was found in %s",
				what, glob);
	say_note("%" PRIu64 " functions: %" PRIu64 " jump, %" PRIu64 " padding, %" PRIu64
		 " short, %" PRIu64 " punned, %" PRIu64 " breakpoint, %" PRIu64 " none",
			listing->count, by[PROBE_JUMP], by[PROBE_PADDING], by[PROBE_SHORT],
			by[PROBE_PUNNED], by[PROBE_BREAKPOINT], by[PROBE_NONE]);
	return say_flush(stdout);
}

/* Behind the name of a library: "libc:malloc", and not "net::read". */
static const char *find_colon(const char *glob)
{
	const char *colon = strchr(glob, ':');

	while (colon && colon[1] == ':')
		colon = strchr(colon + 2, ':');
	return colon;
}

int probe_list(const char *what, const char *glob)
{
	struct listing listing = {.function = glob};
	const char *colon = glob ? find_colon(glob) : NULL;
	struct probe_target target;
	char *end;
	long pid = strtol(what, &end, 10);
	int ret;

	listing.process = *what && !*end && pid > 0 && pid <= INT32_MAX;
	target = (struct probe_target){.pid = listing.process ? (pid_t)pid : 0, .exe = what};
	if (colon) {
		listing.library = strndup(glob, (size_t)(colon - glob));
		listing.function = colon + 1;
		if (!listing.library)
			return say_error(COMMAND_FAILED, NULL, "there is no memory");
	}
	ret = listing.process ? probe_process((pid_t)pid, list_module, &listing)
			      : list_file(&listing, what);
	if (!ret)
		ret = conclude(&listing, probe_list_markers(&target, glob), what, glob);
	free(listing.library);
	return ret;
}
