/* SPDX-License-Identifier: MIT */
/*
 * Which libraries are mapped, and which changed since the last check.
 *
 * The list comes from /proc/self/maps and not from dl_iterate_phdr(): that takes a lock of the
 * loader, which a program may hold while it waits for libside's (an event within its own
 * dl_iterate_phdr()), and which stays locked in a child that is forked meanwhile. Reading a file
 * takes no lock, so it may be done in notifications under the loader's lock, in signal handlers
 * and in forked children.
 *
 * It is read only if a session wants the events: whenever libside notifies the agent of a batch (so
 * the library of a batch is known before its first event), whenever a session asks for a state
 * dump, begins or changes its rules, and in a forked child. A library without events is noticed
 * with the next of these.
 *
 * All of it runs under the event lock, but in a forked child, which has one thread.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <side/tracer-extensions.h>

#include "tracers/agent/core/mappings.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/library-events.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/context/sources.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

#define STATE_NAME "side:libraries"
#define TEXT_SIZE ((size_t)64 << 10) /* at first */
#define TEXT_SIZE_MAX ((size_t)16 << 20)
#define LIBRARIES_MAX 4096

/* One mapping: the text that libraries' paths point into, and the libraries. */
struct mappings_snapshot {
	size_t mapped;
	uint32_t count;
	char *text;
	struct base_library libraries[LIBRARIES_MAX];
};

static struct mappings_snapshot *picture;

static void picture_free(struct mappings_snapshot *old)
{
	if (old)
		raw_munmap(old, old->mapped);
}

/* ---- reading ---- */

/* "begin-end rwxp offset device:minor inode   /path" */
struct line {
	uint64_t begin, end, offset, device, inode;
	bool executable;
	const char *path;
	uint32_t path_size;
};

static uint64_t agent_mappings_parse_number(const char **at, unsigned int base)
{
	uint64_t number = 0;

	for (;; (*at)++) {
		unsigned int c = (unsigned char)**at;
		unsigned int digit = c >= '0' && c <= '9' ? c - '0'
				: c >= 'a'                ? c - 'a' + 10
							  : base;

		if (digit >= base)
			return number;
		number = number * base + digit;
	}
}

/* False: it maps no file. `at` is behind it afterwards. */
static bool agent_mappings_parse_line(const char **at, struct line *ret_line)
{
	const char *end = strchr(*at, '\n'), *next;

	if (!end) /* Each line ends; the text ends with NUL. */
		end = *at + strlen(*at);
	next = *end ? end + 1 : end;
	ret_line->begin = agent_mappings_parse_number(at, 16);
	*at += **at == '-';
	ret_line->end = agent_mappings_parse_number(at, 16);
	ret_line->executable = end - *at > 5 && (*at)[3] == 'x';
	*at += end - *at > 5 ? 6 : 0;
	ret_line->offset = agent_mappings_parse_number(at, 16);
	*at += **at == ' ';
	ret_line->device = agent_mappings_parse_number(at, 16) << 32;
	*at += **at == ':';
	ret_line->device |= agent_mappings_parse_number(at, 16);
	*at += **at == ' ';
	ret_line->inode = agent_mappings_parse_number(at, 10);
	while (**at == ' ')
		(*at)++;
	ret_line->path = *at;
	ret_line->path_size = end > *at ? (uint32_t)(end - *at) : 0;
	*at = next;
	return ret_line->path_size && ret_line->path[0] == '/' && ret_line->begin < ret_line->end;
}

/*
 * Whether the mapping continues the library. lld does not align segments in the file, so the code
 * of a small file is in its first page, which is mapped again. If no code precedes it, this mapping
 * is not a second copy of the library.
 */
static bool belongs(const struct base_library *library, bool has_code, const struct line *line)
{
	bool follows = line->offset ? library->end <= line->begin
				    : library->end == line->begin && !has_code;

	return follows && library->device == line->device && library->inode == line->inode;
}

static void drop_suffix(struct base_library *library)
{
	static const char suffix[] = " (deleted)";
	uint32_t size = sizeof(suffix) - 1;

	if (library->path_size <= size ||
			memcmp(library->path + library->path_size - size, suffix, size) != 0)
		return;
	library->path_size -= size;
	library->deleted = true;
}

/*
 * A program may have moved its code to other pages, such as huge ones: the address stays, but the
 * mapping has no file.
 */
static bool agent_mappings_is_moved_code(
		const struct base_library *library, const struct line *line)
{
	static const char huge[] = "/anon_hugepage";

	return line->executable && line->begin == library->end &&
			(!line->path_size ||
					(line->path_size >= sizeof(huge) - 1 &&
							!memcmp(line->path, huge,
									sizeof(huge) - 1)));
}

/*
 * A file that is mapped from its beginning begins a library; its other mappings follow. Those of
 * which nothing can be executed are no libraries, or not mapped as such.
 */
static void agent_mappings_parse_all(struct mappings_snapshot *new)
{
	struct base_library *library = NULL;
	const char *at = new->text;
	bool executable = false;
	struct line line;

	while (*at) {
		bool of_file = agent_mappings_parse_line(&at, &line);

		if (library && !executable && agent_mappings_is_moved_code(library, &line)) {
			library->end = line.end;
			executable = true;
			continue;
		}
		if (!of_file)
			continue;
		if (!library || !belongs(library, executable, &line)) {
			new->count += library &&executable;
			library = NULL;
			executable = false;
			if (line.offset || new->count == LIBRARIES_MAX)
				continue;
			library = &new->libraries[new->count];
			*library = (struct base_library){
					.path = line.path,
					.path_size = line.path_size,
					.base = line.begin,
					.device = line.device,
					.inode = line.inode,
			};
			drop_suffix(library);
		}
		library->end = line.end;
		executable |= line.executable;
	}
	new->count += library &&executable;
}

/* Pages that are not written to cost nothing. */
static struct mappings_snapshot *picture_take(void)
{
	size_t size;

	for (size = TEXT_SIZE; size <= TEXT_SIZE_MAX; size *= 4) {
		size_t mapped = sizeof(struct mappings_snapshot) + size;
		struct mappings_snapshot *new = raw_mmap(NULL, mapped, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);
		long got;

		if (!new)
			return NULL;
		new->mapped = mapped;
		new->text = (char *)(new + 1);
		got = context_sources_file("/proc/self/maps", new->text, size);
		if (got > 0 && (size_t)got < size) {
			agent_mappings_parse_all(new);
			return new;
		}
		picture_free(new);
		if (got <= 0)
			return NULL;
	}
	return NULL;
}

int base_each(void (*each)(void *user, const struct base_library *library), void *user)
{
	struct mappings_snapshot *now = picture_take();
	uint32_t i;

	if (!now)
		return -ENOMEM;
	for (i = 0; i < now->count; i++)
		each(user, &now->libraries[i]);
	picture_free(now);
	return 0;
}

/* ---- what has changed ---- */

static bool agent_mappings_is_same_file(
		const struct base_library *one, const struct base_library *other)
{
	return one->base == other->base && one->end == other->end && one->inode == other->inode &&
			one->path_size == other->path_size &&
			!memcmp(one->path, other->path, one->path_size);
}

/* Both are in the order of addresses. Of one that is replaced the old end comes first. */
static void agent_mappings_record_difference(
		const struct mappings_snapshot *old, const struct mappings_snapshot *new)
{
	uint32_t i, k = 0;

	for (i = 0; i < old->count; i++) {
		while (k < new->count &&new->libraries[k].base < old->libraries[i].base)
			k++;
		if (k == new->count ||
				!agent_mappings_is_same_file(
						&old->libraries[i], &new->libraries[k]))
			base_record_unload(&old->libraries[i]);
	}
	for (i = k = 0; i < new->count; i++) {
		while (k < old->count && old->libraries[k].base < new->libraries[i].base)
			k++;
		if (k == old->count ||
				!agent_mappings_is_same_file(
						&new->libraries[i], &old->libraries[k]))
			base_record_load(&new->libraries[i], NULL);
	}
}

static bool may_scan(void)
{
	return !agent_is_sandboxed() &&
			!atomic_load_explicit(&agent.process.is_exiting, memory_order_relaxed);
}

void agent_bases_changed(void)
{
	struct mappings_snapshot *old = picture, *new;

	/* Before anybody has wanted them nothing is known, and nothing has changed. */
	if (!old || !base_wanted() || !may_scan())
		return;
	new = picture_take();
	if (!new)
		return;
	picture = new;
	agent_mappings_record_difference(old, new);
	picture_free(old);
}

/* ---- all of it ---- */

static void dump(void *key)
{
	uint32_t i;

	for (i = 0; i < picture->count; i++)
		base_record_load(&picture->libraries[i], key);
}

static bool agent_mappings_is_needed(const struct agent_session *session)
{
	const struct agent_batch *batch;
	uint32_t i;

	for (batch = session->batches; batch; batch = batch->next)
		for (i = 0; i < batch->nr_events; i++)
			if (batch->events[i].registered &&
					base_is_event(batch->events[i].description))
				return true;
	return false;
}

/* The last list is of no use if no session wanted the changes since then. */
static void agent_mappings_free_snapshot(void)
{
	picture_free(picture);
	picture = NULL;
}

static bool agent_mappings_ensure_snapshot(void)
{
	if (!picture && may_scan())
		picture = picture_take();
	return picture != NULL;
}

void agent_bases_dump(void)
{
	struct agent_session *session;
	bool anybody = false;

	agent_each_session(session) {
		bool wanted = !session->list_only && agent_mappings_is_needed(session);

		anybody |= wanted;
		session->bases_recorded &= wanted;
		if (!wanted || session->bases_recorded || !agent_mappings_ensure_snapshot())
			continue;
		session->bases_recorded = true;
		side_tracer_statedump_run(STATE_NAME, dump, session->key);
	}
	if (!anybody)
		agent_mappings_free_snapshot();
}

void agent_bases_forked(void)
{
	struct agent_session *session;

	agent_each_session(session)
		session->bases_recorded = false;
	/* Changes since the parent's last check are no changes of the child. */
	if (!agent_is_sandboxed())
		agent_mappings_free_snapshot();
	agent_bases_dump();
}

void agent_bases_start(void)
{
	static bool registered;

	if (!registered)
		registered = base_events_register();
}
