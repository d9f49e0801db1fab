/* SPDX-License-Identifier: MIT */
/*
 * Report libraries to sessions before their constructors run, and get the tables of probes that a
 * session makes for them.
 *
 * It runs where libraries_changed() and updates run, with the event lock, and often with the
 * loader's lock. The session answers within AGENT_LOADED_TIMEOUT_MS, or the program runs on
 * without the probes. The session never waits for this program meanwhile.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protocol/protocol.h"
#include "tracers/agent/core/debug.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/probes/probes.h"

#define PATHS_BYTES 32768 /* of one LOADED */

/* The mappings that a session knows. Another file at the same address is another library. */
struct probes_loaded {
	size_t bytes; /* of this memory */
	uint32_t nr, capacity;
	struct probes_loaded_library {
		uint64_t base, device, inode;
	} libraries[];
};

struct loaded_scan {
	const struct agent_session *session;
	struct probes_loaded *now;
	char *paths;
	uint32_t nr_paths, size;
	bool is_full; /* not all libraries fit this LOADED */
};

static bool loaded_is_known(const struct probes_loaded *loaded, const struct base_library *library)
{
	uint32_t i;

	for (i = 0; loaded && i < loaded->nr; i++)
		if (loaded->libraries[i].base == library->base &&
				loaded->libraries[i].device == library->device &&
				loaded->libraries[i].inode == library->inode)
			return true;
	return false;
}

/* Returns false if the path does not fit this message. */
static bool loaded_add_path(struct loaded_scan *scan, const struct base_library *library)
{
	if (library->deleted || !library->path_size || *library->path != '/' ||
			library->path_size > WIRE_LOADED_PATH_MAX)
		return true;
	if (scan->nr_paths == WIRE_LOADED_MAX ||
			scan->size + library->path_size + 1 > PATHS_BYTES) {
		scan->is_full = true;
		return false;
	}
	memcpy(scan->paths + scan->size, library->path, library->path_size);
	scan->size += library->path_size;
	scan->paths[scan->size++] = '\0';
	scan->nr_paths++;
	return true;
}

static void loaded_check_library(void *user, const struct base_library *library)
{
	struct loaded_scan *scan = user;
	struct probes_loaded *now = scan->now;

	if (now->nr == now->capacity)
		return;
	if (!loaded_is_known(scan->session->loaded, library) &&
			!probes_locations_know(scan->session->tables, library) &&
			!loaded_add_path(scan, library))
		return;
	now->libraries[now->nr++] = (struct probes_loaded_library){
			.base = library->base, .device = library->device, .inode = library->inode};
}

static void loaded_count(void *user, const struct base_library *library)
{
	uint32_t *nr = user;

	(void)library;
	++*nr;
}

void agent_probes_forget_loaded(struct agent_session *session)
{
	if (session->loaded)
		agent_pages_give(session->loaded, session->loaded->bytes);
	session->loaded = NULL;
}

static struct probes_loaded *loaded_new(void)
{
	struct probes_loaded *loaded;
	uint32_t nr = 0;
	size_t bytes;

	if (base_each(loaded_count, &nr))
		return NULL;
	bytes = sizeof(*loaded) + nr * sizeof(loaded->libraries[0]);
	loaded = agent_pages_take(bytes);
	if (!loaded)
		return NULL;
	loaded->bytes = bytes;
	loaded->capacity = nr;
	return loaded;
}

/* Reports as many new libraries as one message holds. Returns as agent_exchange_loaded(). */
static int loaded_report_part(struct agent_session *session, char *paths, bool *ret_is_full)
{
	struct loaded_scan scan = {.session = session, .paths = paths, .now = loaded_new()};
	int ret;

	*ret_is_full = false;
	if (!scan.now)
		return -ENOMEM;
	ret = base_each(loaded_check_library, &scan);
	if (ret) {
		agent_pages_give(scan.now, scan.now->bytes);
		return ret;
	}
	agent_probes_forget_loaded(session);
	session->loaded = scan.now;
	*ret_is_full = scan.is_full;
	return scan.nr_paths ? agent_exchange_loaded(session, scan.paths, scan.nr_paths, scan.size)
			     : -EALREADY;
}

bool probes_loaded_report(struct agent_session *session)
{
	bool is_full = true, has_new = false;
	char *paths;

	if (!(session->config.flags & WIRE_CONFIG_LOADS) || session->gone ||
			agent_is_stalled(session->path))
		return false;
	paths = agent_pages_take(PATHS_BYTES);
	while (paths && is_full) {
		int ret = loaded_report_part(session, paths, &is_full);

		if (!ret) {
			has_new = true;
			agent_probes_update(session, true);
		} else if (ret != -EALREADY) {
			agent_debug("%s: no probes for libraries that were loaded: error %d",
					session->path, -ret);
			is_full = false;
		}
	}
	if (paths)
		agent_pages_give(paths, PATHS_BYTES);
	return has_new;
}
