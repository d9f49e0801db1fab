/* SPDX-License-Identifier: MIT */
/* List the locations where the compiler inlined a function, for `side probe list FILE NAME`. */
#include "list.h"

#include "programs/common/command.h"
#include "programs/common/message.h"
#include "spec-options.h"
#include "symbolize/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct inlined_listing {
	const struct probe_target *target;
	const char *library; /* glob of files; NULL: all */
	const char *name;
	bool has_header; /* the table's header was printed */
	bool has_functions; /* functions of that name were listed, which `--function` selects instead */
	uint64_t count;
};

static const char *inlined_method(const struct resolve_inlined *inlined)
{
	return probe_method_name(inlined->site ? inlined->site->method : PROBE_NONE);
}

static void inlined_print_json(
		const struct inlined_listing *listing, const struct resolve_inlined *inlined)
{
	printf("{\"schema\":%d,\"type\":\"probe_inlined\",\"module\":", OUTPUT_JSON_SCHEMA);
	print_json_string(stdout, inlined->module);
	fputs(",\"function\":", stdout);
	print_json_string(stdout, listing->name);
	fputs(",\"inside\":", stdout);
	print_json_string(stdout, inlined->inside);
	printf(",\"address\":%" PRIu64 ",\"method\":\"%s\"", inlined->address,
			inlined_method(inlined));
	if (inlined->loaded)
		printf(",\"runtime\":%" PRIu64, inlined->runtime);
	if (inlined->file) {
		fputs(",\"file\":", stdout);
		print_json_string(stdout, inlined->file);
		printf(",\"line\":%" PRIu64, inlined->line);
	}
	puts("}");
}

static void inlined_print_text(
		const struct inlined_listing *listing, const struct resolve_inlined *inlined)
{
	const char *slash = inlined->file ? strrchr(inlined->file, '/') : NULL;
	const char *module = strrchr(inlined->module, '/');
	const struct probe_site *site = inlined->site;
	char *readable = names_readable(inlined->inside), text[512];

	if (listing->count == 1 && !listing->has_header)
		printf("%-10s %-18s %5s %s\n", "METHOD", "ADDRESS", "BYTES", "FUNCTION");
	printf("%-10s 0x%-16" PRIx64 " ", inlined_method(inlined),
			inlined->loaded ? inlined->runtime : inlined->address);
	if (site && site->method != PROBE_NONE)
		printf("%5u ", site->displaced);
	else
		fputs("    - ", stdout);
	if (inlined->loaded)
		printf("%s:",
				format_printable(module ? module + 1 : inlined->module, text,
						sizeof(text)));
	printf("%s  (inlined", format_printable(listing->name, text, sizeof(text)));
	if (*inlined->inside)
		printf(" in %s",
				format_printable(readable ? readable : inlined->inside, text,
						sizeof(text)));
	if (inlined->file)
		printf(", %s:%" PRIu64,
				format_printable(slash ? slash + 1 : inlined->file, text,
						sizeof(text)),
				inlined->line);
	fputs(")\n", stdout);
	free(readable);
}

static int inlined_print(void *user, const struct resolve_inlined *inlined)
{
	struct inlined_listing *listing = user;

	listing->count++;
	if (output_is_json())
		inlined_print_json(listing, inlined);
	else
		inlined_print_text(listing, inlined);
	return 0;
}

/* Returns whether it has listed a location. */
static bool inlined_list_target(struct inlined_listing *listing)
{
	const struct probe_target *target = listing->target;
	struct resolve *resolve = resolve_new();
	struct error ignored;

	/* Errors in the files were reported when their functions were listed. */
	if (resolve &&
			!(target->pid ? resolve_add_process(resolve, target->pid, &ignored)
				      : resolve_add_file(resolve, target->exe, &ignored)))
		(void)resolve_inlined(
				resolve, listing->library, listing->name, inlined_print, listing);
	resolve_free(resolve);
	fflush(stdout);
	if (listing->count && listing->has_functions)
		message_note("inlined at %" PRIu64
			     " location%s, where `--function` does not record it",
				listing->count, listing->count == 1 ? "" : "s");
	else if (listing->count)
		message_note("inlined at %" PRIu64 " location%s, where `--function` records it",
				listing->count, listing->count == 1 ? "" : "s");
	return listing->count;
}

bool probe_list_inlined(const struct probe_target *target, const char *library, const char *name,
		bool has_header, bool has_functions)
{
	struct inlined_listing listing = {.target = target,
			.library = library,
			.name = name,
			.has_header = has_header,
			.has_functions = has_functions};
	int status = 0;
	pid_t child;

	/* A child process reads debug information, because a damaged file can crash the reader. */
	fflush(NULL);
	child = fork();
	if (!child) {
		bool has_listed = inlined_list_target(&listing);

		fflush(NULL);
		_exit(has_listed);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}
