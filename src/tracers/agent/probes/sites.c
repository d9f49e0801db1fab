/* SPDX-License-Identifier: MIT */
/*
 * Where probes are: modules of a table as they are mapped here, places, and what is set there.
 *
 * A place stays as long as there is any table, and as something is set. Whoever hits it walks its hooks without a lock: a hook is published
 * whole, and one that was taken away is given back when nobody can be in it (patch_settle(), patch_remove()).
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "tracers/agent/core/mappings.h"
#include "tracers/agent/probes/probes.h"
#include "protocol/raw.h"

#include <sys/mman.h>

#define BUCKETS 4096
#define MAPS_MAX 4 /* of one module */

static struct probes_place **places; /* NULL: there are none */
static uint32_t nr_places;
static struct agent_memory places_memory;

static struct probes_place **probes_site_hash_bucket(uint64_t address)
{
	return &places[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
}

#define each_place(bucket, place)                                    \
	for ((bucket) = 0; places && (bucket) < BUCKETS; (bucket)++) \
		for ((place) = places[bucket]; (place); (place) = (place)->next)

static struct probes_place *place_at(const struct probe_site *site)
{
	struct probes_place **bucket, *place;

	if (!places)
		places = agent_memory_take(&places_memory, BUCKETS * sizeof(struct probes_place *));
	if (!places)
		return NULL;
	bucket = probes_site_hash_bucket(site->runtime);
	for (place = *bucket; place; place = place->next)
		if (place->address == site->runtime)
			break;
	if (!place) {
		place = agent_memory_take(&places_memory, sizeof(*place));
		if (!place)
			return NULL;
		place->address = site->runtime;
		place->next = *bucket;
		*bucket = place;
		nr_places++;
	}
	/* What stood there for another file is of no interest any more. */
	if (!place->probe)
		place->site = *site;
	return place;
}

/* ---- modules ---- */

struct found {
	uint64_t bias[MAPS_MAX];
	bool other[MAPS_MAX]; /* a file beside that of the table, with the same build id */
	uint32_t nr;
};

struct search {
	const struct probes_table *table;
	struct found *found; /* for each module */
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
	const struct search *search = user;
	struct base_identity identity;
	uint64_t bias;
	uint32_t i;

	if (!base_find(library, &identity, &bias))
		return;
	for (i = 0; i < probe_table_nr_modules(&search->table->table); i++) {
		struct found *found = &search->found[i];
		struct probe_table_module module;

		probe_table_module(&search->table->table, i, &module);
		if (found->nr == MAPS_MAX || !is_module(&module, library, &identity))
			continue;
		found->other[found->nr] = !has_path(&module, library);
		found->bias[found->nr++] = bias;
	}
}

/* ---- hooks ---- */

/* One listener more or less, as the program sees it. */
static void change_semaphore(struct probes_wish *wish, bool raise)
{
	if (!wish->semaphore || wish->raised == raise)
		return;
	/* What could not be raised is not lowered. */
	wish->raised = probe_semaphore_change(wish->semaphore, raise) && raise;
}

uint8_t probes_mark_take(struct probes_place *place)
{
	uint16_t taken = __atomic_load_n(&place->marks, __ATOMIC_RELAXED);
	uint8_t mark;

	do {
		mark = (uint8_t)__builtin_ctz(~(uint32_t)taken | 1u << PATCH_MARKS);
		if (mark == PATCH_MARKS)
			return mark;
		/* Relaxed, as in probes_marks_give(): a bit orders nothing, it only records its owner. */
	} while (!__atomic_compare_exchange_n(&place->marks, &taken, (uint16_t)(taken | 1u << mark),
			false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return mark;
}

void probes_marks_give(struct probes_place *place, uint32_t marks)
{
	__atomic_fetch_and(&place->marks, (uint16_t)~marks, __ATOMIC_RELAXED);
}

/*
 * Give back all bits that hits have taken at this hook, which is no longer at its location. One operation gives back all of them, because
 * another hook may take a bit as soon as it is free. A hit that takes a bit meanwhile either stores it before the exchange, or finds the
 * result of the exchange and gives its bit back.
 */
static void give_marks(struct probes_wish *wish)
{
	uint32_t marks = 1u << wish->hook->mark;

	for (unsigned int i = 0; i < WIRE_CHANNELS_MAX; i++) {
		uint8_t number = __atomic_exchange_n(
				&wish->marks[i], PROBES_MARKS_GIVEN, __ATOMIC_RELAXED);

		if (number && number != PROBES_MARKS_GIVEN)
			marks |= 1u << (number - 1);
	}
	probes_marks_give(wish->place, marks);
}

static void unlink_hook(struct probes_wish *wish)
{
	struct probes_place *place = wish->place;
	struct probes_hook **at = &place->hooks, *hook = wish->hook;

	while (*at != hook)
		at = &(*at)->next;
	/* Release: pairs with the acquire in probes_next_hook(). The removed hook keeps its own pointer, because a hit may still use it. */
	__atomic_store_n(at, hook->next, __ATOMIC_RELEASE);
	if (at == &place->hooks && place->probe)
		patch_change_user(place->probe, hook->next);
	place->left = true;
	give_marks(wish);
	change_semaphore(wish, false);
}

/* With the name of its function, in whole words. */
static struct probes_hook *take_hook(struct probes_table *table, struct probes_wish *wish)
{
	uint32_t name = wish->function_bytes <= PROBES_NAME_MAX ? wish->function_bytes : 0;
	size_t size = offsetof(struct probes_hook, name) + (name + 7u) / 8 * 8 +
			sizeof(struct probes_wish *);
	size_t lines = (size + AGENT_LINE - 1) / AGENT_LINE;
	struct probes_hook *hook = agent_memory_take(&table->lines, lines * AGENT_LINE);

	if (!hook)
		return NULL;
	hook->lines = (uint8_t)lines;
	*probes_wish_of(hook) = wish;
	hook->name_bytes = (uint16_t)name;
	memcpy(hook->name, wish->function, name);
	return hook;
}

/* `other`: it is in another file than the kernel was told of. */
static struct probes_wish *take_wish(struct probes_table *table,
		const struct probe_table_probe *probe, uint64_t bias, bool other)
{
	struct probes_wish *wish = agent_memory_take(&table->memory, sizeof(*wish));

	if (!wish)
		return NULL;
	wish->bias = bias;
	wish->function = probe->function;
	wish->function_bytes = (uint32_t)strlen(probe->function) + 1;
	wish->wants_all = probe->flags & PROBE_ENTRY_ALL;
	wish->wants_trap = probe->flags & PROBE_ENTRY_TRAP;
	wish->over = probe->flags & PROBE_ENTRY_KERNEL;
	wish->kernel = wish->over && !table->inherited && !other &&
			!(probe->flags & PROBE_ENTRY_ELSEWHERE);
	wish->semaphore = probe->semaphore ? probe->semaphore + bias : 0;
	if (probe->entry != PROBE_TABLE_NONE)
		wish->entry_fetches = table->fetches + probe->first_entry_fetch;
	if (probe->exit != PROBE_TABLE_NONE)
		wish->exit_fetches = table->fetches + probe->first_exit_fetch;
	return wish;
}

static int add_hook(struct probes_table *table, uint32_t index, uint64_t bias, bool other)
{
	struct probe_table_probe probe;
	struct probes_wish *wish;
	struct probes_hook *hook;

	probe_table_probe(&table->table, index, &probe);
	wish = take_wish(table, &probe, bias, other);
	hook = wish ? take_hook(table, wish) : NULL;
	if (!hook)
		return -ENOMEM;
	if (wish->entry_fetches)
		hook->entry = probes_steps_make(table, &table->events[probe.entry], wish, false);
	if (wish->exit_fetches)
		hook->exit = probes_steps_make(table, &table->events[probe.exit], wish, true);
	probe.site.runtime = probe.site.address + bias;
	wish->place = place_at(&probe.site);
	if (!wish->place || (wish->entry_fetches && !hook->entry) ||
			(wish->exit_fetches && !hook->exit))
		return -ENOMEM;
	hook->mark = probes_mark_take(wish->place);
	wish->hook = hook;
	wish->next_same = table->wishes[index];
	table->wishes[index] = wish;
	hook->next = wish->place->hooks;
	wish->place->hooks = hook;
	if (wish->place->probe)
		patch_change_user(wish->place->probe, hook);
	table->said = false;
	return 0;
}

static bool is_found(const struct found *found, uint64_t bias)
{
	uint32_t i;

	for (i = 0; i < found->nr; i++)
		if (found->bias[i] == bias)
			return true;
	return false;
}

static bool has_hook(const struct probes_wish *wish, uint64_t bias)
{
	while (wish && wish->bias != bias)
		wish = wish->next_same;
	return wish != NULL;
}

static void update_hooks(struct probes_table *table, uint32_t index, const struct found *found)
{
	struct probes_wish **at = &table->wishes[index];
	uint32_t i;

	while (*at) {
		if (is_found(found, (*at)->bias)) {
			at = &(*at)->next_same;
			continue;
		}
		/* Its memory is the table's, so it stays until that goes. */
		unlink_hook(*at);
		*at = (*at)->next_same;
		table->said = false;
	}
	table->errors[index] = 0;
	for (i = 0; i < found->nr; i++)
		if (!has_hook(table->wishes[index], found->bias[i]))
			table->errors[index] =
					add_hook(table, index, found->bias[i], found->other[i]);
}

int probes_places_find(struct probes_table *table)
{
	struct agent_memory memory = {0};
	struct search search = {.table = table};
	uint32_t i;
	int ret;

	search.found = agent_memory_take(&memory,
			(probe_table_nr_modules(&table->table) + 1) * sizeof(*search.found));
	ret = search.found ? base_each(probes_site_check_library, &search) : -ENOMEM;
	for (i = 0; !ret && i < probe_table_nr_probes(&table->table); i++) {
		struct probe_table_probe probe;

		probe_table_probe(&table->table, i, &probe);
		update_hooks(table, i, &search.found[probe.module]);
	}
	agent_memory_free(&memory);
	return ret;
}

void probes_places_drop(struct probes_table *table)
{
	uint32_t i;

	for (i = 0; table->wishes && i < probe_table_nr_probes(&table->table); i++) {
		struct probes_wish *wish;

		for (wish = table->wishes[i]; wish; wish = wish->next_same)
			unlink_hook(wish);
		table->wishes[i] = NULL;
	}
}

/* ---- what is set ---- */

static bool probes_site_is_enabled(const struct probes_way *way)
{
	return way && __atomic_load_n(way->event->enabled, __ATOMIC_RELAXED);
}

#define UNWANTED UINT32_MAX

bool probes_places_forked(struct probes_table *table)
{
	bool some = false;
	uint32_t i;

	table->inherited = true;
	for (i = 0; table->wishes && i < probe_table_nr_probes(&table->table); i++) {
		struct probes_wish *wish;

		for (wish = table->wishes[i]; wish; wish = wish->next_same) {
			some |= wish->kernel;
			wish->kernel = false;
		}
	}
	return some;
}

/*
 * The flags that a probe must have here for all that is wanted. If the kernel watches for all of them, none is to be set. One that is
 * here for somebody is for all, because the kernel finds nothing then.
 */
static uint32_t wanted_flags(struct probes_place *place)
{
	struct probes_hook *hook;
	uint32_t flags = UNWANTED;
	bool own = place->probe;

	place->over = false;
	for (hook = place->hooks; hook; hook = hook->next) {
		struct probes_wish *wish = *probes_wish_of(hook);
		bool entry = probes_site_is_enabled(hook->entry),
		     leave = probes_site_is_enabled(hook->exit);

		change_semaphore(wish, entry || leave);
		/* What the kernel does for it may have begun before anybody listened, or not have ended yet. */
		place->over |= wish->over;
		if (!entry && !leave)
			continue;
		flags = flags == UNWANTED ? 0 : flags;
		own |= !wish->kernel;
		flags |= (wish->wants_all ? (uint32_t)PATCH_ALL : 0) |
				(leave ? (uint32_t)PATCH_EXIT : 0) |
				(wish->wants_trap ? (uint32_t)PATCH_TRAP : 0);
	}
	place->watched = flags != UNWANTED && !own;
	return flags;
}

/* The state of the sandboxes of all threads. */
static enum context_hits allowed;

static bool frozen; /* A thread is in such a sandbox: code must not change. */

/* Whether a hit at that location would end the program. */
static bool is_fatal(const struct probes_place *place)
{
	return allowed == CONTEXT_HITS_NONE ||
			(allowed == CONTEXT_HITS_WITHOUT_SIGNALS &&
					place->method == PROBE_BREAKPOINT);
}

/* Those of one round, in memory of its own. */
struct round {
	struct patch_probe **removed, **settled;
	struct patch_request *requests;
	struct probes_place **requested;
	size_t nr_removed, nr_settled, nr_requests;
};

/* A hit of it may be at what is to be given back. */
static bool may_read_retired(const struct probes_place *place)
{
	const struct probes_hook *hook = place->hooks;

	while (hook && !(hook->entry && hook->entry->event->wants_calls) &&
			!(hook->exit && hook->exit->event->wants_calls))
		hook = hook->next;
	return hook && probe_calls_has_retired();
}

/* How many bytes a probe at that location changes, executes elsewhere or uses in the displacement of its jump. */
static unsigned int site_bytes(const struct probe_site *site)
{
	unsigned int patched = site->method == PROBE_PUNNED ? PROBE_JUMP_BYTES : site->patched;

	return site->displaced > patched ? site->displaced : patched;
}

static bool is_wanted_at(uint64_t address)
{
	const struct probes_place *place = *probes_site_hash_bucket(address);

	while (place && place->address != address)
		place = place->next;
	return place && place->wanted != UNWANTED;
}

/*
 * Whether another probe is wanted within the bytes that a jump would need, as with adjacent markers. A breakpoint then leaves the
 * other probe's instruction unchanged.
 */
static bool is_crowded(const struct probes_place *place)
{
	unsigned int bytes = site_bytes(&place->site);

	for (unsigned int i = place->site.pieces[0].length; i < bytes; i++)
		if (i && is_wanted_at(place->address + i))
			return true;
	return false;
}

static void consider(struct round *round, struct probes_place *place)
{
	uint32_t flags = place->wanted;

	/* Changing code needs traps, too: set nothing more. */
	if (flags != UNWANTED && allowed != CONTEXT_HITS_ALL &&
			(place->probe ? is_fatal(place) : !place->watched)) {
		place->error = -ECANCELED;
		flags = UNWANTED;
	}
	if (flags != UNWANTED && is_crowded(place))
		flags |= PATCH_TRAP;

	if (place->probe && (place->left || may_read_retired(place)))
		round->settled[round->nr_settled++] = place->probe;
	place->left = false;
	place->goes_on = place->probe && flags != UNWANTED;
	if (place->probe && flags != place->flags && !frozen) {
		round->removed[round->nr_removed++] = place->probe;
		place->probe = NULL;
	}
	if (place->probe || flags == UNWANTED || frozen || (place->watched && place->ready))
		return;
	place->flags = flags;
	round->requested[round->nr_requests++] = place;
}

/* Bytes that are not there would be read in vain. */
static bool probes_site_is_mapped(const struct probe_site *site)
{
	uint8_t bytes[PROBE_BYTES_MAX];
	struct iovec local = {.iov_base = bytes, .iov_len = site->nr_bytes};
	struct iovec remote = {
			.iov_base = (void *)(uintptr_t)site->runtime, .iov_len = site->nr_bytes};

	return raw_call(SYS_process_vm_readv, raw_call(SYS_getpid), &local, 1L, &remote, 1L, 0L) ==
			(long)site->nr_bytes;
}

/* From there on down the larger one of two comes first. */
static void sift(struct probes_place **heap, size_t at, size_t count)
{
	struct probes_place *place = heap[at];

	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		child += child + 1 < count && heap[child]->address < heap[child + 1]->address;
		if (heap[child]->address <= place->address)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = place;
}

/*
 * By their addresses: what belongs to functions that stand beside one another does so, too, and a page of code is written to
 * once. In place, without the program's heap.
 */
static void probes_site_sort(struct probes_place **requested, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift(requested, i, count);
	for (size_t i = count; i-- > 1;) {
		struct probes_place *last = requested[0];

		requested[0] = requested[i];
		requested[i] = last;
		sift(requested, 0, i);
	}
}

/* Not among those of the place: nobody is to be set anew for them. One that the kernel watches a forked child will set. */
static uint32_t extra_flags(const struct probes_place *place)
{
	return (place->over ? (uint32_t)PATCH_OVER : 0) |
			(place->watched ? (uint32_t)PATCH_READY : 0) |
			(place->goes_on ? (uint32_t)PATCH_GOES_ON : 0);
}

static void set_requested(struct round *round)
{
	size_t i;

	for (i = 0; i < round->nr_requests;) {
		struct probes_place *place = round->requested[i];

		place->error = probes_site_is_mapped(&place->site) ? 0 : -EFAULT;
		if (place->error)
			round->requested[i] = round->requested[--round->nr_requests];
		else
			i++;
	}
	probes_site_sort(round->requested, round->nr_requests);
	for (i = 0; i < round->nr_requests; i++) {
		const struct probes_place *place = round->requested[i];

		round->requests[i] = (struct patch_request){
				.site = &place->site,
				.entry = probe_hit_entry,
				.exit = place->flags & PATCH_EXIT ? probe_hit_exit : NULL,
				.user = place->hooks,
				.flags = place->flags | extra_flags(place),
		};
	}
	if (round->nr_requests)
		(void)patch_set(round->requests, round->nr_requests);
	for (i = 0; i < round->nr_requests; i++) {
		struct probes_place *place = round->requested[i];

		if (round->requests[i].flags & PATCH_READY) {
			place->ready = round->requests[i].error == -EALREADY;
			continue;
		}
		place->probe = round->requests[i].probe;
		place->method = round->requests[i].method;
		place->error = round->requests[i].error;
	}
}

void probes_places_apply(void)
{
	size_t bytes = nr_places *
			(2 * sizeof(struct patch_probe *) + sizeof(struct patch_request) +
					sizeof(struct probes_place *));
	struct probes_place *place;
	struct round round = {0};
	unsigned int bucket;
	char *memory;

	if (!nr_places)
		return;
	memory = raw_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!memory)
		return;
	round.requests = (struct patch_request *)(void *)memory;
	round.requested = (struct probes_place **)(void *)(round.requests + nr_places);
	round.removed = (struct patch_probe **)(void *)(round.requested + nr_places);
	round.settled = round.removed + nr_places;
	each_place(bucket, place) place->wanted = wanted_flags(place);
	each_place(bucket, place) consider(&round, place);
	/* Those that cannot be removed have no hooks any more, for these may go away. */
	for (size_t i = 0; i < round.nr_removed; i++)
		patch_change_user(round.removed[i], NULL);
	if (round.nr_removed)
		(void)patch_remove(round.removed, round.nr_removed);
	if (round.nr_settled)
		patch_settle(round.settled, round.nr_settled);
	set_requested(&round);
	raw_munmap(memory, bytes);
}

void probes_places_limit(enum context_hits hits)
{
	allowed = hits;
	frozen = false;
	probes_places_apply();
	frozen = hits != CONTEXT_HITS_ALL;
}

bool probes_places_any(void)
{
	return __atomic_load_n(&nr_places, __ATOMIC_RELAXED) != 0;
}

static bool reads(const struct probes_hook *hook)
{
	return (hook->entry && hook->entry->event->wants_reads) ||
			(hook->exit && hook->exit->event->wants_reads);
}

bool probes_places_read(void)
{
	const struct probes_place *place;
	const struct probes_hook *hook;
	unsigned int bucket;

	each_place(bucket, place)
	{
		hook = place->probe ? place->hooks : NULL;
		while (hook && !reads(hook))
			hook = hook->next;
		if (hook)
			return true;
	}
	return false;
}

void probes_places_rest(void)
{
	places = NULL;
	nr_places = 0;
	agent_memory_free(&places_memory);
}
