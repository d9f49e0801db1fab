/* SPDX-License-Identifier: MIT */
/* Implements `side probe list`: each function, and how it can be probed. */
#include "symbolize/demangle.h"
#include "base/nearest/nearest.h"
#include "kernel.h"
#include "list.h"
#include "attach/inject.h"
#include "probe/spec/debug-package.h"

#include "programs/common/command.h"
#include "spec-options.h"
#include "programs/common/message.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char changed[] =
		"the code of the process differs from its file: another tool has changed it";

static const char chooses[] =
		"it is a resolver (IFUNC): it selects another function when the program is loaded";

struct probe_listing {
	const char *library;                      /* glob of files; NULL: all */
	char prefix[128];                         /* "LIBRARY:", or "" */
	char *function;                           /* NULL: all */
	struct nearest nearest;                   /* names that are similar to `function` */
	pid_t process;                            /* 0: a file */
	struct resolve *resolve;                  /* of the process; NULL: not opened yet */
	uint64_t nr_rows;                         /* that were printed */
	uint64_t count, by_method[PROBE_METHODS]; /* of functions, without parts */
	bool plt;           /* only PLT entries, which call functions of the name `function` */
	bool has_wildcards; /* `function` selects by a pattern: neither parts nor inlined code */
	char *stripped;     /* the first of the selected files that has no debug file; NULL: none */
	struct code_debug_file debug;
	bool is_first_known; /* the first file was read */
};

/* Only the name of the function itself lists its parts, which `--function` does not probe. */
enum probe_list_part { LIST_WHOLE, LIST_PIECE, LIST_COLD };

/* A line of output: a function, by one of its names, and how it can be probed. */
struct probe_list_row {
	const struct code_function *function;
	const char *name; /* NULL: it has no name */
	struct probe_site site;
	/* the indirect function (IFUNC) that selects it; NULL: none */
	const struct code_function *chooser;
	bool chosen; /* the process has selected it */
	enum probe_list_part part;
};

static const char *list_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Like `--function`, select copies that compilers made of a function (NAME.constprop.0). */
static bool fits_copy(const char *glob, const char *name)
{
	char *original = names_without_copy(name);
	size_t length;
	bool fits = original && names_copy(name, &length) == NAMES_COPY &&
			(!fnmatch(glob, original, 0) || names_readable_fits(original, glob, true));

	free(original);
	return fits;
}

/* Whether the symbol is of a part of the function: NAME.part.0, NAME.cold. */
static enum probe_list_part list_part(const struct probe_listing *listing, const char *name)
{
	bool is_cold = names_is_cold(name);
	char *whole = is_cold ? strndup(name, (size_t)(strstr(name, ".cold") - name))
			      : strdup(name);
	char *original = whole ? names_without_copy(whole) : NULL;
	size_t length;
	enum probe_list_part part = LIST_WHOLE;

	if (original && !listing->has_wildcards &&
			(is_cold || names_copy(name, &length) == NAMES_PIECE) &&
			(!fnmatch(listing->function, original, 0) ||
					names_readable_fits(original, listing->function, true)))
		part = is_cold ? LIST_COLD : LIST_PIECE;
	free(original);
	free(whole);
	return part;
}

/*
 * Returns the name that the glob selects, or the best one; NULL: no name. `*ret_selected`: whether
 * the glob selects one.
 */
static const char *select_name(struct probe_listing *listing, const struct code_file *code,
		const struct code_function *function, bool *ret_selected,
		enum probe_list_part *ret_part)
{
	*ret_selected = true;
	*ret_part = LIST_WHOLE;
	if (!listing->function)
		return code_name(code, function, 0);
	for (size_t i = 0; i < function->nr_names; i++) {
		const char *name = code_name(code, function, i);

		/* First: the readable name of a part is that of the function, with a suffix. */
		*ret_part = list_part(listing, name);
		if (*ret_part != LIST_WHOLE || !fnmatch(listing->function, name, 0) ||
				names_readable_fits(name, listing->function, true) ||
				fits_copy(listing->function, name))
			return name;
		nearest_offer_function(&listing->nearest, name);
	}
	*ret_selected = !function->nr_names && !strcmp(listing->function, "*");
	return NULL;
}

static void print_chooser(const struct probe_module *module, const struct probe_list_row *row)
{
	const char *own = code_name(module->code, row->function, 0);
	char text[512];

	if (!row->chooser)
		return;
	printf("  (%s by the resolver at 0x%" PRIx64,
			row->chosen ? "selected for this processor" : "one that can be selected",
			row->chooser->address + (module->memory >= 0 ? module->bias : 0));
	if (own && strcmp(own, row->name) != 0)
		printf(": %s", format_printable(own, text, sizeof(text)));
	putchar(')');
}

static void print_part(const struct probe_list_row *row)
{
	char text[512];

	if (row->part == LIST_COLD)
		fputs("  (seldom-used part of the function: no call begins there)", stdout);
	if (row->part == LIST_PIECE)
		printf("  (a piece, whose beginning is inlined in callers: `--function '%s'` probes it)",
				format_printable(row->name, text, sizeof(text)));
}

/*
 * The method that would be used now: sites that require the kernel, which this user may not use,
 * have none.
 */
static enum probe_method method_of(const struct probe_site *site)
{
	if (probe_kernel_would_watch(site))
		return PROBE_KERNEL;
	return site->method == PROBE_KERNEL ? PROBE_NONE : site->method;
}

static const char *method_name(const struct probe_site *site)
{
	return probe_method_name(method_of(site));
}

/* Print why the method is not a jump, and, if the user may use uprobes, why it is not a uprobe. */
static void probe_list_print_reason(const struct probe_site *site)
{
	bool steps = site->method == PROBE_BREAKPOINT && !probe_kernel_can_watch(site) &&
			probe_kernel_is_permitted();

	if (site->reason || steps)
		printf("  (%s%s%s)", site->reason ? site->reason : "",
				site->reason && steps ? "; " : "",
				steps ? "no uprobe: the kernel would single-step its instruction"
				      : "");
}

/* Returns why `--exit` records only the entry. */
static const char *no_exit(const struct probe_site *site)
{
	return method_of(site) == PROBE_NONE ? NULL : site->no_exit;
}

static void probe_list_print_text(const struct probe_listing *listing,
		const struct probe_module *module, const struct probe_list_row *row)
{
	const struct probe_site *site = &row->site;
	const char *name = row->name;
	char *readable = name ? names_readable(name) : NULL;
	char text[512], unnamed[32];

	if (readable)
		name = readable;
	snprintf(unnamed, sizeof(unnamed), "0x%" PRIx64, site->address);
	printf("%-10s 0x%-16" PRIx64 " ", method_name(site),
			site->runtime ? site->runtime : site->address);
	if (site->method == PROBE_NONE)
		fputs("    - ", stdout);
	else
		printf("%5u ", site->displaced);
	if (listing->process)
		printf("%s:", format_printable(list_base_name(module->path), text, sizeof(text)));
	fputs(format_printable(name ? name : unnamed, text, sizeof(text)), stdout);
	print_chooser(module, row);
	print_part(row);
	probe_list_print_reason(site);
	if (no_exit(site))
		printf("  (returns not recorded: %s)", no_exit(site));
	putchar('\n');
	free(readable);
}

static size_t print_json_names(
		const struct code_file *code, const struct code_function *function, size_t before)
{
	for (size_t i = 0; i < function->nr_names; i++) {
		fputs(before++ ? "," : "", stdout);
		print_json_string(stdout, code_name(code, function, i));
	}
	return before;
}

static void print_json_lists(const struct code_file *code, const struct probe_list_row *row)
{
	const struct probe_site *site = &row->site;

	fputs(",\"names\":[", stdout);
	(void)print_json_names(code, row->function,
			row->chooser ? print_json_names(code, row->chooser, 0) : 0);
	fputs("],\"boundaries\":[", stdout);
	for (unsigned int i = 1; i < site->nr_pieces; i++)
		printf("%s%u", i > 1 ? "," : "", site->pieces[i].at);
	fputs("],\"bytes\":\"", stdout);
	for (unsigned int i = 0; i < site->nr_bytes; i++)
		printf("%02x", site->bytes[i]);
	fputs("\"", stdout);
}

static void probe_list_print_json(
		const struct probe_module *module, const struct probe_list_row *row)
{
	const struct code_function *function = row->function;
	const struct probe_site *site = &row->site;
	const char *name = row->name;
	char *readable = name ? names_readable(name) : NULL;

	printf("{\"schema\":%d,\"type\":\"probe_site\",\"module\":", OUTPUT_JSON_SCHEMA);
	print_json_string(stdout, module->path);
	fputs(",\"function\":", stdout);
	if (name)
		print_json_string(stdout, name);
	else
		fputs("null", stdout);
	if (readable) {
		fputs(",\"readable\":", stdout);
		print_json_string(stdout, readable);
	}
	free(readable);
	printf(",\"address\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"size\":%" PRIu64
	       ",\"method\":\"%s\",\"displaced\":%u,\"patched\":%u",
			site->address, site->offset, function->size, method_name(site),
			site->displaced, site->patched);
	if (site->runtime)
		printf(",\"runtime\":%" PRIu64, site->runtime);
	/* "pad" is the former name, until the next release. */
	if (site->method == PROBE_SHORT)
		printf(",\"springboard\":%" PRIu64 ",\"pad\":%" PRIu64, site->springboard,
				site->springboard);
	print_json_lists(module->code, row);
	if (row->chooser)
		printf(",\"chooser\":%" PRIu64 ",\"chosen\":%s", row->chooser->address,
				row->chosen ? "true" : "false");
	if (row->part != LIST_WHOLE)
		printf(",\"part\":\"%s\"", row->part == LIST_COLD ? "cold" : "piece");
	if (site->reason) {
		fputs(",\"reason\":", stdout);
		print_json_string(stdout, site->reason);
	}
	if (no_exit(site)) {
		fputs(",\"no_exit\":", stdout);
		print_json_string(stdout, no_exit(site));
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

static int print_row(struct probe_listing *listing, const struct probe_module *module,
		struct probe_list_row *row)
{
	int ret = code_entry(module->code, row->function, &row->site);

	if (ret)
		return message_error(COMMAND_FAILED, NULL, "cannot read the code of %s: %s",
				module->path, strerror(-ret));
	if (module->memory >= 0)
		compare_memory(module, &row->site);
	if (row->function->chooses) {
		row->site.method = PROBE_NONE;
		row->site.reason = chooses;
	}
	if (!listing->nr_rows++ && !output_is_json())
		printf("%-10s %-18s %5s %s\n", "METHOD", "ADDRESS", "BYTES", "FUNCTION");
	if (row->part == LIST_WHOLE) {
		listing->count++;
		listing->by_method[method_of(&row->site)]++;
	}
	if (output_is_json())
		probe_list_print_json(module, row);
	else
		probe_list_print_text(listing, module, row);
	return 0;
}

static void find_choices(struct probe_listing *listing, const struct probe_module *module,
		const struct code_function *chooser, struct resolve_choices *ret_choices)
{
	struct error ignored;

	*ret_choices = (struct resolve_choices){.certain = false};
	if (listing->process && !listing->resolve) {
		listing->resolve = resolve_new();
		if (listing->resolve)
			(void)resolve_add_process(listing->resolve, listing->process, &ignored);
	}
	if (!listing->resolve ||
			resolve_choices(listing->resolve, module->path, chooser->address,
					ret_choices))
		ret_choices->count = code_choices(
				module->code, chooser, ret_choices->addresses, RESOLVE_CHOICES_MAX);
}

/* List the functions that an indirect function selects: these are probed instead. */
static int list_choices(struct probe_listing *listing, const struct probe_module *module,
		const struct code_function *chooser, const char *name)
{
	struct resolve_choices choices;
	int ret = 0;

	find_choices(listing, module, chooser, &choices);
	if (!choices.count || choices.outside)
		return print_row(listing, module,
				&(struct probe_list_row){.function = chooser, .name = name});
	for (size_t i = 0; i < choices.count && !ret; i++) {
		struct probe_list_row row = {
				.function = code_function_at(module->code, choices.addresses[i]),
				.name = name,
				.chooser = chooser,
				.chosen = choices.certain};

		if (row.function)
			ret = print_row(listing, module, &row);
	}
	return ret;
}

/* Notes a file whose names are unknown: the program, or a file that LIBRARY: selects. */
static void note_stripped(struct probe_listing *listing, const struct probe_module *module)
{
	bool is_selected = listing->library || !listing->is_first_known;

	listing->is_first_known = true;
	if (is_selected && !listing->stripped &&
			code_lacks_debug_file(module->code, &listing->debug))
		listing->stripped = strdup(module->path);
}

/* Lists the PLT entries that call functions of the name. */
static int list_plt(struct probe_listing *listing, const struct probe_module *module)
{
	const struct code_function *entries;
	size_t count = code_plt(module->code, &entries);
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++) {
		struct probe_list_row row = {.function = &entries[i],
				.name = code_name(module->code, &entries[i], 0)};
		const char *name = code_plt_name(module->code, &entries[i]);

		if (!fnmatch(listing->function, name, 0) ||
				names_readable_fits(name, listing->function, true))
			ret = print_row(listing, module, &row);
		else
			nearest_offer_function(&listing->nearest, name);
	}
	return ret;
}

static int list_module(void *user, const struct probe_module *module)
{
	struct probe_listing *listing = user;
	const struct code_function *functions;
	size_t count = code_functions(module->code, &functions);
	int ret = 0;

	if (listing->library && fnmatch(listing->library, list_base_name(module->path), 0) != 0)
		return 0;
	if (listing->plt)
		return list_plt(listing, module);
	note_stripped(listing, module);
	for (size_t i = 0; i < count && !ret; i++) {
		struct probe_list_row row = {.function = &functions[i]};
		bool selected;

		row.name = select_name(listing, module->code, &functions[i], &selected, &row.part);
		if (!selected)
			continue;
		ret = functions[i].chooses ? list_choices(listing, module, &functions[i], row.name)
					   : print_row(listing, module, &row);
	}
	return ret;
}

static int probe_list_file(struct probe_listing *listing, const char *path)
{
	struct probe_module module = {.path = path, .memory = -1};
	struct error error;
	int ret = code_open(path, &module.code, &error);

	if (ret)
		return message_library_error(&error);
	ret = list_module(listing, &module);
	code_close(module.code);
	return ret;
}

/* Report the traces that former probes have left in the process. */
static void probe_list_print_leftovers(const struct probe_listing *listing)
{
	struct inject_kept kept;
	char springboards[96] = "";

	if (!listing->process || inject_kept(listing->process, &kept) || !kept.bytes)
		return;
	if (kept.springboards)
		snprintf(springboards, sizeof(springboards),
				", %" PRIu64 " jumps in padding that a thread may still reach",
				kept.springboards);
	/* "pads" is the former name of "springboards", until the next release. */
	if (output_is_json())
		printf("{\"schema\":%d,\"type\":\"probe_kept\",\"bytes\":%" PRIu64
		       ",\"signals\":%s,\"springboards\":%" PRIu64 ",\"pads\":%" PRIu64 "}\n",
				OUTPUT_JSON_SCHEMA, kept.bytes, kept.traps ? "true" : "false",
				kept.springboards, kept.springboards);
	else
		message_note("process %d has no probes, and keeps %" PRIu64
			     " KiB of earlier ones for reuse%s%s",
				listing->process, kept.bytes / 1024, springboards,
				kept.traps ? ", and the handlers of SIGTRAP and SIGILL, because one of its threads may still reach them"
					   : "");
}

/* Reports that the glob selects no PLT entry. */
static int list_no_plt(const struct probe_listing *listing, const char *what)
{
	char hint[ERROR_HINT_SIZE], prefix[sizeof(listing->prefix) + 8];

	snprintf(prefix, sizeof(prefix), "%splt:", listing->prefix);
	if (!nearest_text(&listing->nearest, prefix, hint, sizeof(hint)))
		snprintf(hint, sizeof(hint),
				"`side probe list FILE 'plt:*'` lists the PLT entries");
	return message_error(COMMAND_FAILED, hint, "%s has no PLT entry that matches `%.128s`",
			what, listing->function);
}

/* Reports that the glob selects no function, or that no function is known. */
static int list_nothing(const struct probe_listing *listing, const char *what, const char *glob)
{
	char hint[ERROR_HINT_SIZE];
	const char *reason = "";
	bool has_similar;

	if (!glob)
		return message_error(COMMAND_FAILED, "addresses can be probed (--probe 0xADDR)",
				"%s has neither symbols nor .eh_frame, so none of its functions is known",
				what);
	has_similar = nearest_text(&listing->nearest, listing->prefix, hint,
			sizeof(hint) - DEBUG_PACKAGE_HINT_SIZE);
	if (listing->stripped)
		reason = debug_package_hint(listing->stripped, &listing->debug, hint, sizeof(hint));
	else if (!has_similar)
		snprintf(hint, sizeof(hint), "`side probe list` without a GLOB lists all");
	return message_error(COMMAND_FAILED, hint, "%s has no function that matches `%.128s`%s",
			what, glob, reason);
}

static int probe_list_conclude(const struct probe_listing *listing, bool has_others,
		const char *what, const char *glob)
{
	const uint64_t *by = listing->by_method;
	char kernel[40] = "", parts[48] = "";

	if (!listing->nr_rows && has_others)
		return output_flush(stdout);
	if (!listing->nr_rows)
		return listing->plt ? list_no_plt(listing, what)
				    : list_nothing(listing, what, glob);
	probe_list_print_leftovers(listing);
	if (by[PROBE_KERNEL])
		snprintf(kernel, sizeof(kernel), ", %" PRIu64 " " PROBE_UPROBE_NAME,
				by[PROBE_KERNEL]);
	if (listing->nr_rows > listing->count)
		snprintf(parts, sizeof(parts), "; %" PRIu64 " parts of functions",
				listing->nr_rows - listing->count);
	message_note("%" PRIu64 " functions: %" PRIu64 " jump, %" PRIu64 " padding, %" PRIu64
		     " short, %" PRIu64 " punned%s, %" PRIu64 " breakpoint, %" PRIu64 " none%s",
			listing->count, by[PROBE_JUMP], by[PROBE_PADDING], by[PROBE_SHORT],
			by[PROBE_PUNNED], kernel, by[PROBE_BREAKPOINT], by[PROBE_NONE], parts);
	return output_flush(stdout);
}

/* Returns the colon after the name of a library: "libc:malloc", but not "net::read". */
static const char *find_colon(const char *glob)
{
	const char *colon = strchr(glob, ':');

	while (colon && colon[1] == ':')
		colon = strchr(colon + 2, ':');
	return colon;
}

pid_t probe_list_process(const char *what)
{
	char *end;
	long pid = strtol(what, &end, 10);

	return *what && !*end && pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/* Lists markers, and locations of inlined calls. Returns whether there are some. */
static bool list_others(const struct probe_listing *listing, const struct probe_target *target,
		const char *glob)
{
	bool has_inlined = listing->function && !listing->has_wildcards && !listing->plt &&
			probe_list_inlined(target, listing->library, listing->function,
					listing->nr_rows, listing->count);

	return probe_list_markers(target, glob) || has_inlined;
}

/* Not `plt::name`, which is a name in a namespace. */
static bool list_begins_with_plt(const char *text)
{
	return !strncmp(text, "plt:", 4) && text[4] != ':';
}

/* Recognizes plt:NAME and NAME@plt in `function`. */
static void list_take_plt(struct probe_listing *listing)
{
	size_t length, end = strlen(CODE_PLT_SUFFIX);

	if (list_begins_with_plt(listing->function)) {
		listing->plt = true;
		listing->function += strlen("plt:");
	}
	length = strlen(listing->function);
	if (length <= end || strcmp(listing->function + length - end, CODE_PLT_SUFFIX) != 0)
		return;
	listing->plt = true;
	listing->function[length - end] = '\0';
}

/* Splits [LIBRARY:]GLOB, a copy of the user's argument. */
static void list_take_glob(struct probe_listing *listing, char *glob)
{
	const char *colon = find_colon(glob);

	listing->function = glob;
	if (colon && !list_begins_with_plt(glob)) {
		size_t length = (size_t)(colon - glob);

		glob[length] = '\0';
		listing->library = glob;
		listing->function = glob + length + 1;
		snprintf(listing->prefix, sizeof(listing->prefix), "%s:", listing->library);
	}
	list_take_plt(listing);
}

int probe_list(const char *what, const char *glob)
{
	struct probe_listing listing = {.process = probe_list_process(what)};
	const struct probe_target target = {.pid = listing.process, .exe = what};
	char *text = glob ? strdup(glob) : NULL;
	int ret;

	if (glob && !text)
		return message_error(COMMAND_FAILED, NULL, "out of memory");
	if (text)
		list_take_glob(&listing, text);
	listing.has_wildcards = listing.function && strpbrk(listing.function, "*?[");
	nearest_begin(&listing.nearest, listing.function ? listing.function : "");
	ret = listing.process ? probe_process(listing.process, list_module, &listing)
			      : probe_list_file(&listing, what);
	if (!ret)
		ret = probe_list_conclude(
				&listing, list_others(&listing, &target, glob), what, glob);
	resolve_free(listing.resolve);
	free(text);
	free(listing.stripped);
	return ret;
}
