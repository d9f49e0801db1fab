/* SPDX-License-Identifier: MIT */
/* `side probe list`: the markers of a file or process, below its functions. */
#include "probe-list.h"

#include "command.h"
#include "probe-wish.h"
#include "say.h"

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
};

static void print_json(const struct resolve_marker *marker)
{
	printf("{\"schema\":%d,\"type\":\"probe_marker\",\"module\":", SAY_JSON_SCHEMA);
	say_json_string(stdout, marker->module);
	fputs(",\"provider\":", stdout);
	say_json_string(stdout, marker->provider);
	fputs(",\"name\":", stdout);
	say_json_string(stdout, marker->name);
	fputs(",\"arguments\":", stdout);
	say_json_string(stdout, marker->arguments);
	printf(",\"address\":%" PRIu64 ",\"semaphore\":%" PRIu64 ",\"method\":\"%s\"}\n",
			marker->address, marker->semaphore,
			probe_method_name(marker->site ? marker->site->method : PROBE_NONE));
}

static void print_text(const struct marker_listing *listing, const struct resolve_marker *marker)
{
	char provider[256], name[256], arguments[1024];

	if (listing->count == 1)
		printf("%-10s %-18s %5s %s\n", "METHOD", "ADDRESS", "BYTES", "MARKER");
	printf("%-10s 0x%-16" PRIx64 " ",
			probe_method_name(marker->site ? marker->site->method : PROBE_NONE),
			marker->address);
	if (marker->site && marker->site->method != PROBE_NONE)
		printf("%5u ", marker->site->displaced);
	else
		fputs("    - ", stdout);
	printf("%s:%s  %s", say_printable(marker->provider, provider, sizeof(provider)),
			say_printable(marker->name, name, sizeof(name)),
			say_printable(marker->arguments, arguments, sizeof(arguments)));
	if (marker->site && marker->site->reason)
		printf("  (%s)", marker->site->reason);
	putchar('\n');
}

static int print_marker(void *user, const struct resolve_marker *marker)
{
	struct marker_listing *listing = user;
	char full[512];

	snprintf(full, sizeof(full), "%.250s:%.250s", marker->provider, marker->name);
	if (listing->glob && fnmatch(listing->glob, full, 0) != 0)
		return 0;
	listing->count++;
	if (say_is_json())
		print_json(marker);
	else
		print_text(listing, marker);
	return 0;
}

static int work(const struct probe_target *target, struct marker_listing *listing)
{
	struct resolve *resolve = resolve_new();
	struct resolve_error error;

	if (resolve &&
			!(target->pid ? resolve_add_process(resolve, target->pid, &error)
				      : resolve_add_file(resolve, target->exe, &error)))
		(void)resolve_markers(resolve, print_marker, listing);
	resolve_free(resolve);
	return listing->count ? 0 : 1;
}

/* By another process, as all that reads notes and the like. What is wrong with the file was said of its functions. */
bool probe_list_markers(const struct probe_target *target, const char *glob)
{
	struct marker_listing listing = {.glob = glob};
	int status = 1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		status = work(target, &listing);
		fflush(NULL);
		_exit(status);
	}
	if (child < 0)
		return false;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}
