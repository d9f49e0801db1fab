/* SPDX-License-Identifier: MIT */
/* List the markers of a file or process, after its functions or alone. */
#include "list.h"

#include "programs/common/command.h"
#include "spec-options.h"
#include "programs/common/message.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct marker_listing {
	const char *glob; /* NULL: all */
	uint64_t count;
	bool alone; /* with --sdt */
	bool files; /* several files are listed */
	bool begun; /* the table's header was printed */
};

/* Print the types of the operands, in their order. */
static void print_json_types(const char *arguments)
{
	char type[RESOLVE_TYPE_SIZE];
	size_t count = 0;

	fputs(",\"types\":[", stdout);
	while (resolve_operand_type(&arguments, type))
		printf("%s\"%s\"", count++ ? "," : "", type);
	putchar(']');
}

/* Print "(arg1 u64, arg2 s32)" if there are operands. */
static void print_types(const char *arguments)
{
	char type[RESOLVE_TYPE_SIZE];
	size_t count = 0;

	while (resolve_operand_type(&arguments, type)) {
		count++;
		printf("%sarg%zu %s", count == 1 ? "  (" : ", ", count, type);
	}
	fputs(count ? ")" : "", stdout);
}

static void probe_markers_print_json(const struct resolve_marker *marker)
{
	printf("{\"schema\":%d,\"type\":\"probe_marker\",\"module\":", OUTPUT_JSON_SCHEMA);
	print_json_string(stdout, marker->module);
	fputs(",\"provider\":", stdout);
	print_json_string(stdout, marker->provider);
	fputs(",\"name\":", stdout);
	print_json_string(stdout, marker->name);
	fputs(",\"arguments\":", stdout);
	print_json_string(stdout, marker->arguments);
	print_json_types(marker->arguments);
	printf(",\"address\":%" PRIu64 ",\"semaphore\":%" PRIu64 ",\"method\":\"%s\"",
			marker->address, marker->semaphore,
			probe_method_name(marker->site ? marker->site->method : PROBE_NONE));
	if (marker->loaded)
		printf(",\"runtime\":%" PRIu64, marker->runtime);
	if (marker->listeners >= 0)
		printf(",\"listeners\":%d", marker->listeners);
	puts("}");
}

/* Print the end of a line: name, arguments, and why the marker cannot be probed well. */
static void print_named(const struct resolve_marker *marker)
{
	char provider[256], name[256], arguments[1024];

	printf("%s:%s  %s", format_printable(marker->provider, provider, sizeof(provider)),
			format_printable(marker->name, name, sizeof(name)),
			format_printable(marker->arguments, arguments, sizeof(arguments)));
	print_types(marker->arguments);
	if (marker->site && marker->site->reason)
		printf("  (%s)", marker->site->reason);
	putchar('\n');
}

static void print_alone(const struct marker_listing *listing, const struct resolve_marker *marker)
{
	char file[256];
	const char *slash = strrchr(marker->module, '/');

	if (!listing->begun && listing->count == 1)
		printf("%-10s %-18s %-18s %9s %s%s  ARGUMENTS\n", "METHOD", "ADDRESS", "SEMAPHORE",
				"LISTENERS", listing->files ? "FILE  " : "", "MARKER");
	printf("%-10s 0x%-16" PRIx64 " ",
			probe_method_name(marker->site ? marker->site->method : PROBE_NONE),
			marker->runtime);
	if (marker->semaphore)
		printf("0x%-16" PRIx64 " ", marker->semaphore + marker->runtime - marker->address);
	else
		printf("%-18s ", "-");
	if (marker->listeners >= 0)
		printf("%9d ", marker->listeners);
	else
		printf("%9s ", "-");
	if (listing->files)
		printf("%s  ",
				format_printable(slash ? slash + 1 : marker->module, file,
						sizeof(file)));
	print_named(marker);
}

static void probe_markers_print_text(
		const struct marker_listing *listing, const struct resolve_marker *marker)
{
	if (listing->count == 1)
		printf("%-10s %-18s %5s %s\n", "METHOD", "ADDRESS", "BYTES", "MARKER");
	printf("%-10s 0x%-16" PRIx64 " ",
			probe_method_name(marker->site ? marker->site->method : PROBE_NONE),
			marker->address);
	if (marker->site && marker->site->method != PROBE_NONE)
		printf("%5u ", marker->site->displaced);
	else
		fputs("    - ", stdout);
	print_named(marker);
}

static int print_marker(void *user, const struct resolve_marker *marker)
{
	struct marker_listing *listing = user;
	char full[512];

	snprintf(full, sizeof(full), "%.250s:%.250s", marker->provider, marker->name);
	if (listing->glob && fnmatch(listing->glob, full, 0) != 0)
		return 0;
	listing->count++;
	if (output_is_json())
		probe_markers_print_json(marker);
	else if (listing->alone)
		print_alone(listing, marker);
	else
		probe_markers_print_text(listing, marker);
	return 0;
}

/* Exit statuses of the process that reads. */
enum { SOME, NONE, WRONG };

static int probe_markers_list_target(const struct probe_target *target,
		struct marker_listing *listing, struct error *error)
{
	struct resolve *resolve = resolve_new();
	int ret = -1;

	error_set_no_memory(error);
	if (resolve)
		ret = target->pid ? resolve_add_process(resolve, target->pid, error)
				  : resolve_add_file(resolve, target->exe, error);
	if (!ret)
		(void)resolve_markers(resolve, print_marker, listing);
	resolve_free(resolve);
	if (ret)
		return WRONG;
	return listing->count ? SOME : NONE;
}

/*
 * Read the file in a child process, as for all reading of notes. If it does not exit with one of
 * the statuses above, the file is damaged.
 */
static int probe_markers_list_file(
		const struct probe_target *target, struct marker_listing *listing, bool quiet)
{
	struct error error;
	int status = NONE;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		status = probe_markers_list_target(target, listing, &error);
		if (status == WRONG && !quiet)
			status = message_library_error(&error) + WRONG;
		fflush(NULL);
		_exit(status);
	}
	if (child < 0)
		return WRONG;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

/* Errors in the file were reported when its functions were listed. */
bool probe_list_markers(const struct probe_target *target, const char *glob)
{
	struct marker_listing listing = {.glob = glob};

	return probe_markers_list_file(target, &listing, true) == SOME;
}

/* ---- only markers ---- */

static int probe_markers_list_process(void *user, const char *path)
{
	struct marker_listing *listing = user;
	struct probe_target target = {.exe = path};

	if (probe_markers_list_file(&target, listing, true) == SOME)
		listing->begun = true;
	return 0;
}

static int probe_markers_list_all_files(void)
{
	struct marker_listing listing = {.alone = true, .files = true};
	unsigned int hidden;
	int ret = probe_running_files(probe_markers_list_process, &listing, &hidden);

	if (hidden && geteuid())
		message_note("cannot inspect %u process%s: run as root to list all markers", hidden,
				hidden == 1 ? "" : "es");
	if (!ret && !listing.begun)
		return message_error(COMMAND_FAILED, NULL, "no running program has a marker (SDT)");
	return ret ? ret : output_flush(stdout);
}

int probe_list_sdt(const char *what, const char *glob)
{
	struct marker_listing listing = {.glob = glob, .alone = true};
	struct probe_target target = {.exe = what};
	int status;

	if (!what)
		return probe_markers_list_all_files();
	target.pid = probe_list_process(what);
	listing.files = target.pid;
	status = probe_markers_list_file(&target, &listing, false);
	if (status == SOME)
		return output_flush(stdout);
	if (status == NONE && glob)
		return message_error(COMMAND_FAILED,
				"`side probe list --sdt` without a GLOB lists all",
				"%s has no marker (SDT) that matches `%.128s`", what, glob);
	if (status == NONE)
		return message_error(COMMAND_FAILED,
				"`side probe list` lists its functions, which can be probed as well",
				"%s has no markers (SDT)", what);
	if (status == WRONG)
		return message_error(
				COMMAND_FAILED, NULL, "the markers of %s cannot be read", what);
	return status - WRONG;
}
