/* SPDX-License-Identifier: MIT */
/* What each call of an allocator changes: blocks, stacks, double and unknown frees. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks.h"

/*
 * A realloc() that moves a block frees it before its own event. Another thread can get the address
 * meanwhile, and its event can come first. For this time after the second allocation, a realloc()
 * of the address frees the first block.
 */
#define LEAKS_MOVE_NS UINT64_C(100000000)

/* ---- images ---- */

static int64_t leaks_image_parent(const struct ctf_trace *trace)
{
	for (uint32_t i = 0; i < trace->environment_count; i++)
		if (strcmp(trace->environment[i].key, "forked_from") == 0 &&
				!trace->environment[i].text)
			return trace->environment[i].number;
	return -1;
}

static uint32_t leaks_image_add(
		struct leaks *leaks, const struct ctf_trace *trace, uint32_t process)
{
	uint32_t key[2] = {trace->index, process}, count = leaks->image_keys.count, image;

	if (process == KEYS_NONE)
		return KEYS_NONE;
	leaks->image_keys.limit = LEAKS_IMAGES_MAX;
	leaks->images = keys_add_item(&leaks->image_keys, leaks->images, sizeof(*leaks->images),
			key, sizeof(key), &image);
	if (image == count && image != KEYS_NONE) {
		leaks->images[image].process = process;
		leaks->images[image].parent = leaks_image_parent(trace);
		leaks->images[image].first_ns = INT64_MAX;
		leaks->images[image].last_ns = INT64_MIN;
	}
	return image;
}

/* NULL: there are too many, or out of memory. */
static struct leaks_image *leaks_image_of(
		struct leaks *leaks, struct leaks_class *class, const struct ctf_item *item)
{
	struct leaks_image *image;

	if (!class->is_fixed) {
		uint32_t process = identity_process(&leaks->identity, &class->identity, item);

		class->image = leaks_image_add(leaks, item->trace, process);
		class->is_fixed = class->identity.fixed && class->image != KEYS_NONE;
	}
	if (class->image == KEYS_NONE)
		return NULL;
	image = &leaks->images[class->image];
	if (item->ns < image->first_ns)
		image->first_ns = item->ns;
	if (item->ns > image->last_ns)
		image->last_ns = item->ns;
	return image;
}

/* ---- stacks and sites ---- */

uint32_t leaks_stack_add(
		struct leaks *leaks, const struct leaks_class *class, const struct ctf_item *item)
{
	struct stack stack;
	uint32_t number;

	if (!event_stack_read(&class->stack, item, &stack))
		return LEAKS_STACK_OTHERS;
	stack.symbols = leaks->symbols;
	number = stacks_add(&leaks->stacks, &stack);
	return number == STACK_NONE ? LEAKS_STACK_OTHERS : number + 1;
}

/* NULL: out of memory. */
static struct leaks_site *leaks_site_of(struct leaks *leaks, uint32_t stack)
{
	uint32_t capacity = leaks->site_capacity ? leaks->site_capacity : 256;
	struct leaks_site *sites;

	while (capacity <= stack)
		capacity *= 2;
	if (capacity == leaks->site_capacity)
		return &leaks->sites[stack];
	sites = realloc(leaks->sites, capacity * sizeof(*sites));
	if (!sites)
		return NULL;
	memset(sites + leaks->site_capacity, 0, (capacity - leaks->site_capacity) * sizeof(*sites));
	leaks->sites = sites;
	leaks->site_capacity = capacity;
	return &sites[stack];
}

/* ---- frees ---- */

static void leaks_free_note(struct leaks *leaks, const struct leaks_call *call, uint32_t freed_by,
		uint32_t allocated_by)
{
	uint32_t key[4] = {call->image, call->stack, freed_by, allocated_by}, number;

	leaks->free_keys.limit = LEAKS_FREES_MAX;
	leaks->frees = keys_add_item(&leaks->free_keys, leaks->frees, sizeof(*leaks->frees), key,
			sizeof(key), &number);
	if (number == KEYS_NONE)
		return; /* The table is full. The total counts it. */
	leaks->frees[number].image = call->image;
	leaks->frees[number].stack = call->stack;
	leaks->frees[number].freed_by = freed_by;
	leaks->frees[number].allocated_by = allocated_by;
	leaks->frees[number].count++;
}

/* A free of a block that the trace does not contain; a second free of it is a double free. */
static int leaks_release_unknown(struct leaks *leaks, const struct leaks_call *call, int64_t ns)
{
	struct leaks_image *image = &leaks->images[call->image];
	struct leaks_block *block;

	image->unknown_frees++;
	if (image->parent < 0) {
		leaks->unknown_frees++;
		leaks_free_note(leaks, call, LEAKS_STACK_NONE, LEAKS_STACK_NONE);
	}
	block = leaks_blocks_add(&leaks->blocks, call->image, call->freed);
	if (!block)
		return leaks->blocks.no_memory ? -ENOMEM : 0;
	block->stack = LEAKS_STACK_NONE;
	leaks_blocks_release(&leaks->blocks, block, call->stack, ns);
	return 0;
}

static void leaks_release_alive(struct leaks *leaks, const struct leaks_call *call,
		struct leaks_block *block, int64_t ns)
{
	struct leaks_image *image = &leaks->images[call->image];

	image->blocks--;
	image->bytes -= block->size;
	leaks->live_bytes -= block->size;
	leaks_blocks_release(&leaks->blocks, block, call->stack, ns);
}

/* Frees the previous block at the address, which has been counted as freed. */
static void leaks_release_previous(struct leaks *leaks, struct leaks_block *block)
{
	block->reused--;
	leaks->reused--;
}

static int leaks_release(struct leaks *leaks, const struct leaks_call *call, bool moves, int64_t ns)
{
	struct leaks_block *block = leaks_blocks_find(&leaks->blocks, call->image, call->freed);

	/* The allocator itself has freed it during the same call. */
	if (block && block->state == LEAKS_BLOCK_FREED && moves && block->ns >= call->ns)
		return 0;
	leaks->nr_frees++;
	if (!block)
		return leaks_release_unknown(leaks, call, ns);
	if (block->state == LEAKS_BLOCK_ALIVE) {
		if (moves && block->reused && (uint64_t)ns - (uint64_t)block->ns < LEAKS_MOVE_NS)
			leaks_release_previous(leaks, block);
		else
			leaks_release_alive(leaks, call, block, ns);
		return 0;
	}
	leaks->double_frees++;
	leaks_free_note(leaks, call, block->freed_by, block->stack);
	leaks_blocks_release(&leaks->blocks, block, call->stack, ns);
	return 0;
}

/* ---- allocations ---- */

/* The address is in use: its free is missing, or this call allocated it by an inner call. */
static void leaks_replace(
		struct leaks *leaks, const struct leaks_call *call, struct leaks_block *block)
{
	struct leaks_image *image = &leaks->images[call->image];

	image->blocks--;
	image->bytes -= block->size;
	leaks->live_bytes -= block->size;
	if (block->ns < call->ns) {
		leaks->reused++;
		block->reused += block->reused < 63;
		return;
	}
	image->allocations--;
	image->allocated_bytes -= block->size;
	leaks->allocations--;
	leaks->allocated_bytes -= block->size;
	if (block->stack < leaks->site_capacity) {
		leaks->sites[block->stack].allocations--;
		leaks->sites[block->stack].allocated_bytes -= block->size;
	}
}

int leaks_count_allocation(struct leaks *leaks, const struct leaks_call *call)
{
	struct leaks_image *image = &leaks->images[call->image];
	struct leaks_site *site = leaks_site_of(leaks, call->stack);

	if (!site)
		return -ENOMEM;
	site->allocations++;
	site->allocated_bytes += call->size;
	image->allocations++;
	image->allocated_bytes += call->size;
	image->blocks++;
	image->bytes += call->size;
	leaks->allocations++;
	leaks->allocated_bytes += call->size;
	leaks->live_bytes += call->size;
	if (leaks->live_bytes > leaks->peak_bytes)
		leaks->peak_bytes = leaks->live_bytes;
	return 0;
}

static int leaks_allocate(
		struct leaks *leaks, const struct leaks_call *call, uint64_t address, int64_t ns)
{
	struct leaks_block *block = leaks_blocks_find(&leaks->blocks, call->image, address);

	if (!block)
		block = leaks_blocks_add(&leaks->blocks, call->image, address);
	else if (block->state == LEAKS_BLOCK_FREED)
		leaks_blocks_revive(&leaks->blocks, block);
	else
		leaks_replace(leaks, call, block);
	if (!block) {
		leaks->untracked++;
		leaks->allocations++;
		leaks->allocated_bytes += call->size;
		return leaks->blocks.no_memory ? -ENOMEM : 0;
	}
	block->size = call->size;
	block->ns = ns;
	block->stack = call->stack;
	return leaks_count_allocation(leaks, call);
}

/* ---- events ---- */

/* The call has returned `address`, or 0. */
static int leaks_end_call(struct leaks *leaks, const struct leaks_class *class,
		const struct leaks_call *call, uint64_t address, int64_t ns)
{
	int ret = 0;

	leaks->events++;
	if (class->form.hides_block) {
		leaks->hidden++;
		return 0;
	}
	if (class->form.allocates && !address && (call->size || !call->freed)) {
		leaks->failed += call->size != 0;
		return 0; /* A realloc() that fails does not free the block. */
	}
	if (call->freed)
		ret = leaks_release(leaks, call, class->form.allocates, ns);
	return ret || !address ? ret : leaks_allocate(leaks, call, address, ns);
}

static int leaks_take_call(struct leaks *leaks, const struct leaks_class *class,
		const struct ctf_item *item, uint32_t image)
{
	struct leaks_call call = {.image = image,
			.ns = item->ns,
			.number = leaks_member_number(&class->form.call, item)};
	uint64_t address = leaks_member_number(&class->form.block, item);

	if (class->form.form == LEAKS_FORM_RETURN) {
		if (!leaks_calls_return(&leaks->calls, image, call.number, &call)) {
			leaks->unbegun++;
			return 0;
		}
		return leaks_end_call(leaks, class, &call, address, item->ns);
	}
	leaks->images[image].wrapped |=
			class->form.form == LEAKS_FORM_WHOLE && class->form.allocates;
	call.size = leaks_form_size(&class->form, item);
	call.freed = leaks_member_number(&class->form.freed, item);
	call.stack = leaks_stack_add(leaks, class, item);
	if (leaks->stacks.no_memory)
		return -ENOMEM;
	if (class->form.form == LEAKS_FORM_BEGIN)
		return leaks_calls_begin(&leaks->calls, &call);
	if (leaks_member_number(&class->form.status, item))
		address = 0;
	return leaks_end_call(leaks, class, &call, address, item->ns);
}

int leaks_take(struct leaks *leaks, struct leaks_class *class, const struct ctf_item *item)
{
	if (item->timed) {
		if (!leaks->first_ns)
			leaks->first_ns = item->ns;
		leaks->last_ns = item->ns;
	}
	if (!leaks_image_of(leaks, class, item))
		return leaks->image_keys.no_memory || leaks->identity.keys.no_memory ? -ENOMEM : 0;
	if (class->mapping.form != LEAKS_MAPS_NOTHING && leaks->options->mmap)
		return leaks_mapping_take(leaks, class, item);
	if (class->form.form == LEAKS_FORM_NONE)
		return 0;
	return leaks_take_call(leaks, class, item, class->image);
}

int leaks_take_loss(
		struct leaks *leaks, const struct ctf_item *item, const struct walk_class *class)
{
	uint32_t process = identity_of_trace(&leaks->identity, item->trace);
	uint32_t image = leaks_image_add(leaks, item->trace, process);

	if (image == KEYS_NONE)
		return -ENOMEM;
	if (!class && item->kind == CTF_ITEM_LOST_PACKETS)
		leaks->lost_packets += item->count;
	else if (!class)
		leaks->images[image].counted += item->count;
	else if (walk_lost_is_bytes(item))
		leaks->lost_bytes += walk_lost_count(item);
	else
		leaks->images[image].lost += walk_lost_count(item);
	return 0;
}

/* ---- the end ---- */

uint64_t leaks_lost(const struct leaks *leaks)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < leaks->image_keys.count; i++) {
		const struct leaks_image *image = &leaks->images[i];

		lost += image->lost > image->counted ? image->lost : image->counted;
	}
	return lost;
}

/* An exec ends an image: the last image of a process is the one whose blocks are reported. */
static int leaks_mark_replaced(struct leaks *leaks)
{
	uint32_t processes = leaks->identity.keys.count;
	uint32_t *last = malloc(((size_t)processes + 1) * sizeof(*last));

	if (!last)
		return -ENOMEM;
	for (uint32_t i = 0; i < processes; i++)
		last[i] = KEYS_NONE;
	for (uint32_t i = 0; i < leaks->image_keys.count; i++) {
		uint32_t *newest = &last[leaks->images[i].process];

		if (*newest == KEYS_NONE ||
				leaks->images[*newest].first_ns < leaks->images[i].first_ns)
			*newest = i;
	}
	for (uint32_t i = 0; i < leaks->image_keys.count; i++)
		leaks->images[i].replaced = last[leaks->images[i].process] != i;
	free(last);
	return 0;
}

static void leaks_count_alive(struct leaks *leaks, const struct leaks_block *block)
{
	const struct leaks_image *image = &leaks->images[block->image];
	struct leaks_site *site = &leaks->sites[block->stack];
	double duration = (double)leaks->last_ns - (double)leaks->first_ns + 1;
	double since = (double)block->ns - (double)leaks->first_ns;
	unsigned int part = since > 0 ? (unsigned int)(since * LEAKS_GROWTH / duration) : 0;

	if (image->replaced) {
		leaks->blocks_replaced++;
		leaks->bytes_replaced += block->size;
		return;
	}
	leaks->blocks_alive++;
	leaks->bytes_alive += block->size;
	if ((uint64_t)image->last_ns - (uint64_t)block->ns < leaks->options->older_ns)
		return;
	leaks->blocks_counted++;
	leaks->bytes_counted += block->size;
	site->blocks++;
	site->bytes += block->size;
	site->image = block->image;
	site->growth[part < LEAKS_GROWTH ? part : LEAKS_GROWTH - 1] += block->size;
	if (!site->oldest_ns || block->ns < site->oldest_ns)
		site->oldest_ns = block->ns;
	if (block->ns > site->newest_ns)
		site->newest_ns = block->ns;
}

static void leaks_count_mapping(struct leaks *leaks, const struct leaks_mapping *mapping)
{
	const struct leaks_block block = {.size = mapping->end - mapping->begin,
			.ns = mapping->ns,
			.stack = mapping->stack,
			.image = mapping->image & LEAKS_IMAGES_MAX};

	leaks->mappings_alive += !leaks->images[mapping->image].replaced;
	leaks_count_alive(leaks, &block);
}

int leaks_finish(struct leaks *leaks)
{
	int ret = leaks_mark_replaced(leaks);

	if (ret)
		return ret;
	for (size_t i = 0; i < leaks->blocks.capacity; i++)
		if (leaks->blocks.slots[i].state == LEAKS_BLOCK_ALIVE)
			leaks_count_alive(leaks, &leaks->blocks.slots[i]);
	for (size_t i = 0; i < leaks->mappings.count; i++)
		leaks_count_mapping(leaks, &leaks->mappings.items[i]);
	return 0;
}
