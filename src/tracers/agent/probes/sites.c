/* SPDX-License-Identifier: MIT */
/*
 * Find the locations of a table's probes in the modules that are mapped here, and set and remove
 * the patch at each.
 *
 * A location stays as long as any table exists or any patch is set. A thread that hits it walks its
 * specs without a lock: a spec is published whole, and the memory of a removed spec is given back
 * when no thread can be in it (patch_settle(), patch_remove()).
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "protocol/protocol.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/library-files.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/probes/probes.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

#define BUCKETS 4096
#define MAPS_MAX 4 /* mappings of one module */

static struct probes_location **locations; /* hash table; NULL: no location */
static uint32_t nr_locations;
static struct agent_memory locations_memory;

static struct probes_location **probes_site_hash_bucket(uint64_t address)
{
	return &locations[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

#define each_location(bucket, location)                                 \
	for ((bucket) = 0; locations && (bucket) < BUCKETS; (bucket)++) \
		for ((location) = locations[bucket]; (location); (location) = (location)->next)

static struct probes_location *probes_site_location_at(const struct probe_site *site)
{
	struct probes_location **bucket, *location;

	if (!locations)
		locations = agent_memory_take(
				&locations_memory, BUCKETS * sizeof(struct probes_location *));
	if (!locations)
		return NULL;
	bucket = probes_site_hash_bucket(site->runtime);
	for (location = *bucket; location; location = location->next)
		if (location->address == site->runtime)
			break;
	if (!location) {
		location = agent_memory_take(&locations_memory, sizeof(*location));
		if (!location)
			return NULL;
		location->address = site->runtime;
		location->next = *bucket;
		*bucket = location;
		nr_locations++;
	}
	/* Another file may have been mapped there before. */
	if (!location->patch)
		location->site = *site;
	return location;
}

/* ---- modules ---- */

struct mapped_modules {
	uint64_t bias[MAPS_MAX];
	bool other[MAPS_MAX]; /* another file than the table's, with the same build id */
	uint32_t nr;
	bool is_replaced; /* the table's path is mapped, but it is that of another file now */
};

struct site_search {
	const struct probes_table *table;
	struct mapped_modules *found; /* for each module */
};

static bool has_path(const struct probe_table_module *module, const struct base_library *library)
{
	return strlen(module->path) == library->path_size &&
			!memcmp(module->path, library->path, library->path_size);
}

static bool is_module(const struct probe_table_module *module, const struct base_library *library,
		const struct base_identity *identity)
{
	if (module->build_id_size)
		return module->build_id_size == identity->build_id_size &&
				!memcmp(module->build_id, identity->build_id,
						module->build_id_size);
	return has_path(module, library);
}

static void probes_site_check_library(void *user, const struct base_library *library)
{
	const struct site_search *search = user;
	struct base_identity identity;
	uint64_t bias;
	uint32_t i;

	if (!base_find(library, &identity, &bias))
		return;
	for (i = 0; i < probe_table_nr_modules(&search->table->table); i++) {
		struct mapped_modules *found = &search->found[i];
		struct probe_table_module module;

		probe_table_module(&search->table->table, i, &module);
		if (!is_module(&module, library, &identity)) {
			found->is_replaced |= has_path(&module, library);
			continue;
		}
		if (found->nr == MAPS_MAX)
			continue;
		found->other[found->nr] = !has_path(&module, library);
		found->bias[found->nr++] = bias;
	}
}

bool probes_locations_know(const struct probes_table *tables, const struct base_library *library)
{
	const struct probes_table *table;
	struct base_identity identity;
	uint64_t bias;
	uint32_t i;

	if (!base_find(library, &identity, &bias))
		return false;
	for (table = tables; table; table = table->next) {
		for (i = 0; !table->error && i < probe_table_nr_modules(&table->table); i++) {
			struct probe_table_module module;

			probe_table_module(&table->table, i, &module);
			if (is_module(&module, library, &identity))
				return true;
		}
	}
	return false;
}

/* ---- specs ---- */

/* Change the number of tracers that the program sees. */
static void change_semaphore(struct probes_spec_details *details, bool raise)
{
	if (!details->semaphore || details->raised == raise)
		return;
	/* If it could not be raised, it is not lowered later. */
	details->raised = probe_semaphore_change(details->semaphore, raise) && raise;
}

uint8_t probes_mark_take(struct probes_location *location)
{
	uint16_t taken = __atomic_load_n(&location->marks, __ATOMIC_RELAXED);
	uint8_t mark;

	do {
		mark = (uint8_t)__builtin_ctz(~(uint32_t)taken | 1u << PATCH_MARKS);
		if (mark == PATCH_MARKS)
			return mark;
		/*
		 * Relaxed, as in probes_marks_give(): a bit orders nothing, it only records its
		 * owner.
		 */
	} while (!__atomic_compare_exchange_n(&location->marks, &taken,
			(uint16_t)(taken | 1u << mark), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return mark;
}

void probes_marks_give(struct probes_location *location, uint32_t marks)
{
	__atomic_fetch_and(&location->marks, (uint16_t)~marks, __ATOMIC_RELAXED);
}

/*
 * Give back all bits that hits have taken at this spec, which is no longer at its location. One
 * operation gives back all of them, because another spec may take a bit as soon as it is free. A
 * hit that takes a bit meanwhile either stores it before the exchange, or finds the result of the
 * exchange and gives its bit back.
 */
static void give_marks(struct probes_spec_details *details)
{
	uint32_t marks = 1u << details->spec->mark;

	for (unsigned int i = 0; i < WIRE_CHANNELS_MAX; i++) {
		uint8_t number = __atomic_exchange_n(
				&details->marks[i], PROBES_MARKS_RETURNED, __ATOMIC_RELAXED);

		if (number && number != PROBES_MARKS_RETURNED)
			marks |= 1u << (number - 1);
	}
	probes_marks_give(details->location, marks);
}

static void unlink_spec(struct probes_spec_details *details)
{
	struct probes_location *location = details->location;
	struct probes_spec **at = &location->specs, *spec = details->spec;

	while (*at != spec)
		at = &(*at)->next;
	/*
	 * Release: pairs with the acquire in probes_next_spec(). The removed spec keeps its own
	 * pointer, because a hit may still use it.
	 */
	__atomic_store_n(at, spec->next, __ATOMIC_RELEASE);
	if (at == &location->specs && location->patch)
		patch_change_user(location->patch, spec->next);
	location->specs_removed = true;
	give_marks(details);
	change_semaphore(details, false);
}

/* Allocate a spec, and copy the name of its function in whole words. */
static struct probes_spec *take_spec(
		struct probes_table *table, struct probes_spec_details *details)
{
	uint32_t name = details->function_bytes <= PROBES_NAME_MAX ? details->function_bytes : 0;
	size_t size = offsetof(struct probes_spec, name) + (name + 7u) / 8 * 8 +
			sizeof(struct probes_spec_details *);
	size_t lines = (size + AGENT_LINE - 1) / AGENT_LINE;
	struct probes_spec *spec = agent_memory_take(&table->lines, lines * AGENT_LINE);

	if (!spec)
		return NULL;
	spec->lines = (uint8_t)lines;
	*probes_details_of(spec) = details;
	spec->name_bytes = (uint16_t)name;
	memcpy(spec->name, details->function, name);
	return spec;
}

/* `other`: the module is mapped from another file than the one that the kernel watches. */
static struct probes_spec_details *probes_site_take_details(struct probes_table *table,
		const struct probe_table_probe *probe, uint64_t bias, bool other)
{
	struct probes_spec_details *details = agent_memory_take(&table->memory, sizeof(*details));

	if (!details)
		return NULL;
	details->bias = bias;
	details->function = probe->function;
	details->function_bytes = (uint32_t)strlen(probe->function) + 1;
	details->wants_all = probe->flags & PROBE_ENTRY_ALL;
	details->wants_trap = probe->flags & PROBE_ENTRY_TRAP;
	details->ever_kernel = probe->flags & PROBE_ENTRY_KERNEL;
	details->kernel = details->ever_kernel && !table->inherited && !other &&
			!(probe->flags & PROBE_ENTRY_ELSEWHERE);
	details->semaphore = probe->semaphore ? probe->semaphore + bias : 0;
	if (probe->entry != PROBE_TABLE_NONE)
		details->entry_fetches = table->fetches + probe->first_entry_fetch;
	if (probe->exit != PROBE_TABLE_NONE)
		details->exit_fetches = table->fetches + probe->first_exit_fetch;
	return details;
}

static int add_spec(struct probes_table *table, uint32_t index, uint64_t bias, bool other)
{
	struct probe_table_probe probe;
	struct probes_spec_details *details;
	struct probes_spec *spec;

	probe_table_probe(&table->table, index, &probe);
	details = probes_site_take_details(table, &probe, bias, other);
	spec = details ? take_spec(table, details) : NULL;
	if (!spec)
		return -ENOMEM;
	if (details->entry_fetches)
		spec->entry = probes_steps_make(table, &table->events[probe.entry], details, false);
	if (details->exit_fetches)
		spec->exit = probes_steps_make(table, &table->events[probe.exit], details, true);
	probe.site.runtime = probe.site.address + bias;
	details->location = probes_site_location_at(&probe.site);
	if (!details->location || (details->entry_fetches && !spec->entry) ||
			(details->exit_fetches && !spec->exit))
		return -ENOMEM;
	spec->mark = probes_mark_take(details->location);
	details->spec = spec;
	details->next_same = table->details[index];
	table->details[index] = details;
	spec->next = details->location->specs;
	details->location->specs = spec;
	if (details->location->patch)
		patch_change_user(details->location->patch, spec);
	table->reported = false;
	return 0;
}

static bool is_found(const struct mapped_modules *found, uint64_t bias)
{
	uint32_t i;

	for (i = 0; i < found->nr; i++)
		if (found->bias[i] == bias)
			return true;
	return false;
}

static bool has_spec(const struct probes_spec_details *details, uint64_t bias)
{
	while (details && details->bias != bias)
		details = details->next_same;
	return details != NULL;
}

static void update_specs(
		struct probes_table *table, uint32_t index, const struct mapped_modules *found)
{
	struct probes_spec_details **at = &table->details[index];
	int error = !found->nr && found->is_replaced ? -ENOTUNIQ : 0;
	uint32_t i;

	if ((error != 0) != (table->errors[index] == -ENOTUNIQ))
		table->reported = false;
	while (*at) {
		if (is_found(found, (*at)->bias)) {
			at = &(*at)->next_same;
			continue;
		}
		/* The memory belongs to the table, and is freed with it. */
		unlink_spec(*at);
		*at = (*at)->next_same;
		table->reported = false;
	}
	table->errors[index] = error;
	for (i = 0; i < found->nr; i++)
		if (!has_spec(table->details[index], found->bias[i]))
			table->errors[index] =
					add_spec(table, index, found->bias[i], found->other[i]);
}

int probes_locations_find(struct probes_table *table)
{
	struct agent_memory memory = {0};
	struct site_search search = {.table = table};
	uint32_t i;
	int ret;

	search.found = agent_memory_take(&memory,
			(probe_table_nr_modules(&table->table) + 1) * sizeof(*search.found));
	ret = search.found ? base_each(probes_site_check_library, &search) : -ENOMEM;
	for (i = 0; !ret && i < probe_table_nr_probes(&table->table); i++) {
		struct probe_table_probe probe;

		probe_table_probe(&table->table, i, &probe);
		update_specs(table, i, &search.found[probe.module]);
	}
	agent_memory_free(&memory);
	return ret;
}

void probes_locations_drop(struct probes_table *table)
{
	uint32_t i;

	for (i = 0; table->details && i < probe_table_nr_probes(&table->table); i++) {
		struct probes_spec_details *details;

		for (details = table->details[i]; details; details = details->next_same)
			unlink_spec(details);
		table->details[i] = NULL;
	}
}

/* ---- patches ---- */

static bool probes_site_is_enabled(const struct probes_layout *layout)
{
	return layout && __atomic_load_n(layout->event->enabled, __ATOMIC_RELAXED);
}

#define UNWANTED UINT32_MAX

bool probes_locations_forked(struct probes_table *table)
{
	bool some = false;
	uint32_t i;

	table->inherited = true;
	for (i = 0; table->details && i < probe_table_nr_probes(&table->table); i++) {
		struct probes_spec_details *details;

		for (details = table->details[i]; details; details = details->next_same) {
			some |= details->kernel;
			details->kernel = false;
		}
	}
	return some;
}

/*
 * Returns the flags that the location's patch needs for all enabled specs, or UNWANTED. If the
 * kernel watches all of them, the patch is not set. If it is set for one spec, it serves all,
 * because the kernel then finds its breakpoint replaced.
 */
static uint32_t wanted_flags(struct probes_location *location)
{
	struct probes_spec *spec;
	uint32_t flags = UNWANTED;
	bool own = location->patch;

	location->ever_kernel = false;
	for (spec = location->specs; spec; spec = spec->next) {
		struct probes_spec_details *details = *probes_details_of(spec);
		bool entry = probes_site_is_enabled(spec->entry),
		     leave = probes_site_is_enabled(spec->exit);

		change_semaphore(details, entry || leave);
		/*
		 * The kernel may have begun before any event was enabled, or may not have ended
		 * yet.
		 */
		location->ever_kernel |= details->ever_kernel;
		if (!entry && !leave)
			continue;
		flags = flags == UNWANTED ? 0 : flags;
		own |= !details->kernel;
		flags |= (details->wants_all ? (uint32_t)PATCH_ALL : 0) |
				(leave ? (uint32_t)PATCH_EXIT : 0) |
				(details->wants_trap ? (uint32_t)PATCH_TRAP : 0);
	}
	location->watched = flags != UNWANTED && !own;
	return flags;
}

/* The most restricted sandbox of all threads. */
static enum context_hits allowed;

static bool frozen; /* A thread is in such a sandbox: code must not change. */

/* Whether a hit at that location would end the program. */
static bool is_fatal(const struct probes_location *location)
{
	return allowed == CONTEXT_HITS_NONE ||
			(allowed == CONTEXT_HITS_WITHOUT_SIGNALS &&
					location->method == PROBE_BREAKPOINT);
}

/* The patches of one call of probes_locations_apply(), in memory of its own. */
struct round {
	struct patch **removed, **settled;
	struct patch_setup *setups;
	struct probes_location **requested;
	size_t nr_removed, nr_settled, nr_setups;
};

/* Whether a hit of the location may read a retired snapshot. */
static bool may_read_retired(const struct probes_location *location)
{
	const struct probes_spec *spec = location->specs;

	while (spec && !(spec->entry && spec->entry->event->wants_calls) &&
			!(spec->exit && spec->exit->event->wants_calls))
		spec = spec->next;
	return spec && probe_calls_has_retired();
}

/*
 * How many bytes a probe at that location changes, executes elsewhere or uses in the displacement
 * of its jump.
 */
static unsigned int site_bytes(const struct probe_site *site)
{
	unsigned int patched = site->method == PROBE_PUNNED ? PROBE_JUMP_BYTES : site->patched;

	return site->displaced > patched ? site->displaced : patched;
}

static bool is_wanted_at(uint64_t address)
{
	const struct probes_location *location = *probes_site_hash_bucket(address);

	while (location && location->address != address)
		location = location->next;
	return location && location->wanted != UNWANTED;
}

/*
 * Whether another probe is wanted within the bytes that a jump would need, as with adjacent
 * markers. A breakpoint then leaves the other probe's instruction unchanged.
 */
static bool is_crowded(const struct probes_location *location)
{
	unsigned int bytes = site_bytes(&location->site);

	for (unsigned int i = location->site.pieces[0].length; i < bytes; i++)
		if (i && is_wanted_at(location->address + i))
			return true;
	return false;
}

static void plan_patch(struct round *round, struct probes_location *location)
{
	uint32_t flags = location->wanted;

	/* Changing code needs traps, too: set nothing more. */
	if (flags != UNWANTED && allowed != CONTEXT_HITS_ALL &&
			(location->patch ? is_fatal(location) : !location->watched)) {
		location->error = -ECANCELED;
		flags = UNWANTED;
	}
	if (flags != UNWANTED && is_crowded(location))
		flags |= PATCH_TRAP;

	location->is_replaced = location->patch && flags != UNWANTED;
	if (location->patch && flags != location->flags && !frozen) {
		/* The removal waits for its hits, and may release the patch. */
		round->removed[round->nr_removed++] = location->patch;
		location->patch = NULL;
	} else if (location->patch && (location->specs_removed || may_read_retired(location))) {
		round->settled[round->nr_settled++] = location->patch;
	}
	location->specs_removed = false;
	if (location->patch || flags == UNWANTED || frozen ||
			(location->watched && location->ready))
		return;
	location->flags = flags;
	round->requested[round->nr_setups++] = location;
}

/* Do not try to patch bytes that are not mapped. */
static bool probes_site_is_mapped(const struct probe_site *site)
{
	uint8_t bytes[PROBE_BYTES_MAX];
	struct iovec local = {.iov_base = bytes, .iov_len = site->nr_bytes};
	struct iovec remote = {
			.iov_base = (void *)(uintptr_t)site->runtime, .iov_len = site->nr_bytes};

	return raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &local, 1L, &remote, 1L, 0L) ==
			(long)site->nr_bytes;
}

/* Restore the heap from `at` downwards: a parent has a higher address than its children. */
static void sort_sift(struct probes_location **heap, size_t at, size_t count)
{
	struct probes_location *location = heap[at];

	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		child += child + 1 < count && heap[child]->address < heap[child + 1]->address;
		if (heap[child]->address <= location->address)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = location;
}

/*
 * Sort by address, in place, without the program's heap. The memory of adjacent functions' patches
 * is then adjacent, and each page of code is changed once.
 */
static void probes_site_sort(struct probes_location **requested, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sort_sift(requested, i, count);
	for (size_t i = count; i-- > 1;) {
		struct probes_location *last = requested[0];

		requested[0] = requested[i];
		requested[i] = last;
		sort_sift(requested, 0, i);
	}
}

/*
 * Flags that do not cause a new patch when they change, unlike those of the location. A forked
 * child sets the patches that the kernel watches (PATCH_PREPARE).
 */
static uint32_t extra_flags(const struct probes_location *location)
{
	return (location->ever_kernel ? (uint32_t)PATCH_OVER : 0) |
			(location->watched ? (uint32_t)PATCH_PREPARE : 0) |
			(location->is_replaced ? (uint32_t)PATCH_GOES_ON : 0);
}

static void set_requested(struct round *round)
{
	size_t i;

	for (i = 0; i < round->nr_setups;) {
		struct probes_location *location = round->requested[i];

		location->error = probes_site_is_mapped(&location->site) ? 0 : -EFAULT;
		if (location->error)
			round->requested[i] = round->requested[--round->nr_setups];
		else
			i++;
	}
	probes_site_sort(round->requested, round->nr_setups);
	for (i = 0; i < round->nr_setups; i++) {
		const struct probes_location *location = round->requested[i];

		round->setups[i] = (struct patch_setup){
				.site = &location->site,
				.entry = probe_hit_entry,
				.exit = location->flags & PATCH_EXIT ? probe_hit_exit : NULL,
				.user = location->specs,
				.flags = location->flags | extra_flags(location),
		};
	}
	if (round->nr_setups)
		(void)patch_set(round->setups, round->nr_setups);
	for (i = 0; i < round->nr_setups; i++) {
		struct probes_location *location = round->requested[i];

		if (round->setups[i].flags & PATCH_PREPARE) {
			location->ready = round->setups[i].error == -EALREADY;
			continue;
		}
		location->patch = round->setups[i].patch;
		location->method = round->setups[i].method;
		location->error = round->setups[i].error;
	}
}

void probes_locations_apply(void)
{
	size_t bytes = nr_locations *
			(2 * sizeof(struct patch *) + sizeof(struct patch_setup) +
					sizeof(struct probes_location *));
	struct probes_location *location;
	struct round round = {0};
	unsigned int bucket;
	char *memory;

	if (!nr_locations)
		return;
	memory = raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!memory)
		return;
	round.setups = (struct patch_setup *)(void *)memory;
	round.requested = (struct probes_location **)(void *)(round.setups + nr_locations);
	round.removed = (struct patch **)(void *)(round.requested + nr_locations);
	round.settled = round.removed + nr_locations;
	each_location(bucket, location)
		location->wanted = wanted_flags(location);
	each_location(bucket, location)
		plan_patch(&round, location);
	/* A patch that cannot be removed has no specs from now on, because they may be freed. */
	for (size_t i = 0; i < round.nr_removed; i++)
		patch_change_user(round.removed[i], NULL);
	if (round.nr_removed && patch_remove(round.removed, round.nr_removed))
		patch_settle(round.removed, round.nr_removed);
	if (round.nr_settled)
		patch_settle(round.settled, round.nr_settled);
	set_requested(&round);
	raw_munmap(memory, bytes);
}

void probes_locations_limit(enum context_hits hits)
{
	allowed = hits;
	frozen = false;
	probes_locations_apply();
	frozen = hits != CONTEXT_HITS_ALL;
}

bool probes_locations_any(void)
{
	return __atomic_load_n(&nr_locations, __ATOMIC_RELAXED) != 0;
}

static bool spec_reads_memory(const struct probes_spec *spec)
{
	return (spec->entry && spec->entry->event->wants_reads) ||
			(spec->exit && spec->exit->event->wants_reads);
}

bool probes_locations_read(void)
{
	const struct probes_location *location;
	const struct probes_spec *spec;
	unsigned int bucket;

	each_location(bucket, location) {
		spec = location->patch ? location->specs : NULL;
		while (spec && !spec_reads_memory(spec))
			spec = spec->next;
		if (spec)
			return true;
	}
	return false;
}

void probes_locations_quiesce(void)
{
	locations = NULL;
	nr_locations = 0;
	agent_memory_free(&locations_memory);
}
