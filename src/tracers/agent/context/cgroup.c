/* SPDX-License-Identifier: MIT */
/*
 * The path of the process's control group. Other processes may move this one to another group, so
 * an event checks the path again after a second.
 *
 * There are two buffers. One holds the path. If the path has changed, the thread that sets
 * `writing` fills the other one. A reader copies the path and then checks whether it changed
 * meanwhile. So a reader never waits for the writer, which may be the code that it interrupted.
 */
#include "tracers/agent/context/text.h"
#include "tracers/agent/context/values.h"

#include <time.h>

#include "tracers/agent/context/sources.h"

#define PATH_BYTES 4096 /* no longer one exists in the kernel; a multiple of 8 */
#define LINES_BYTES 16384
#define CHECK_EVERY_NS 1000000000u

static union {
	char text[PATH_BYTES];
	uint64_t words[PATH_BYTES / 8];
} paths[2];
static uint32_t version; /* its low bit says which buffer holds the path */
static uint32_t writing;
static uint64_t next_check; /* time of the next check; 0: at once */

static char lines[LINES_BYTES]; /* the thread that has set `writing` uses it */

void context_cgroup_changed(void)
{
	__atomic_store_n(&next_check, 0, __ATOMIC_RELAXED);
}

/* Another thread of the parent may have been writing. It does not exist in the child. */
void context_cgroup_forked(void)
{
	__atomic_store_n(&writing, 0, __ATOMIC_RELAXED);
	context_cgroup_changed();
}

static bool line_begins(const char *line, const char *end, const char *text)
{
	size_t size = text_size(text, SIZE_MAX);

	return (size_t)(end - line) >= size && text_is(line, text, size);
}

/*
 * "0::/path" is the unified hierarchy. Without it (version 1) that of systemd, which has every
 * process in its place, or else the first one. What ":" separates is number, controllers, path.
 */
static const char *context_cgroup_find_path(const char *text, const char *end, size_t *ret_size)
{
	const char *found = NULL;
	int rank = 0;

	while (text < end) {
		const char *line_end = text_find(text, end, '\n');
		const char *colon;
		int this_rank = 1;

		if (!line_end)
			break; /* cut off */
		colon = text_find(text, line_end, ':');
		if (line_begins(text, line_end, "0::"))
			this_rank = 3;
		else if (colon && line_begins(colon, line_end, ":name=systemd:"))
			this_rank = 2;
		colon = colon ? text_find(colon + 1, line_end, ':') : NULL;
		if (colon && this_rank > rank) {
			rank = this_rank;
			found = colon + 1;
			*ret_size = (size_t)(line_end - found);
		}
		text = line_end + 1;
	}
	return found;
}

/* With `writing` set. */
static void context_cgroup_refresh(void)
{
	uint32_t now = __atomic_load_n(&version, __ATOMIC_RELAXED);
	char *next = paths[~now & 1].text;
	const char *path;
	size_t size = 0;
	size_t i;
	long got = context_sources_file("/proc/self/cgroup", lines, sizeof(lines));

	if (got < 0)
		return; /* no /proc: the path that we had */
	path = context_cgroup_find_path(lines, lines + got, &size);
	if (!path || size >= PATH_BYTES) {
		path = "";
		size = 0;
	}
	if (text_size(paths[now & 1].text, PATH_BYTES) == size &&
			text_is(paths[now & 1].text, path, size))
		return;
	/*
	 * Release: the version that made this buffer the old one before the bytes in it. Pairs with
	 * copy_path(): who sees one of them sees that version when it looks again.
	 */
	for (i = 0; i < PATH_BYTES; i++)
		__atomic_store_n(&next[i], i < size ? path[i] : 0, __ATOMIC_RELEASE);
	/* Release: the path before the version. Pairs with copy_path(). */
	__atomic_store_n(&version, now + 1, __ATOMIC_RELEASE);
}

static void context_cgroup_check_if_due(void)
{
	uint64_t due = __atomic_load_n(&next_check, __ATOMIC_RELAXED);
	struct timespec now;
	uint64_t now_ns;

	if (!context_may_ask())
		return;
	/* Answered by the vDSO, from memory. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (__builtin_expect(now_ns < due, 1) || context_is_foreign())
		return;
	/*
	 * Acquire: the last writer's stores. Pairs with the release in
	 * context_cgroup_check_if_due().
	 */
	if (__atomic_exchange_n(&writing, 1, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&next_check, now_ns + CHECK_EVERY_NS, __ATOMIC_RELAXED);
	context_cgroup_refresh();
	/*
	 * Release: our stores before the next writer's. Pairs with the acquire in
	 * context_cgroup_check_if_due().
	 */
	__atomic_store_n(&writing, 0, __ATOMIC_RELEASE);
}

const char *context_cgroup_poll(void)
{
	context_cgroup_check_if_due();
	/* Acquire: the path of that version. Pairs with the release in context_cgroup_refresh(). */
	return paths[__atomic_load_n(&version, __ATOMIC_ACQUIRE) & 1].text;
}

/* NULL: no room. */
static uint8_t *copy_path(const char *path, uint8_t *to, const uint8_t *end)
{
	for (; to < end; path++) {
		/*
		 * Acquire: before the second look at the version. Pairs with the release in
		 * context_cgroup_refresh().
		 */
		char byte = __atomic_load_n(path, __ATOMIC_ACQUIRE);

		*to++ = (uint8_t)byte;
		if (!byte)
			return to;
	}
	return NULL;
}

uint8_t *context_cgroup_write(uint8_t *to, const uint8_t *end)
{
	unsigned int tries;
	uint8_t *behind;

	context_cgroup_check_if_due();
	for (tries = 0;; tries++) {
		/* Acquire: the path. Pairs with the release in context_cgroup_refresh(). */
		uint32_t before = __atomic_load_n(&version, __ATOMIC_ACQUIRE);

		behind = copy_path(paths[before & 1].text, to, end);
		if (before == __atomic_load_n(&version, __ATOMIC_RELAXED) || tries == 100)
			return behind;
	}
}
