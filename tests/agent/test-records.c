/* SPDX-License-Identifier: MIT */
/*
 * What each callback of an event does, which buffer it uses, and what it counts as lost. The test
 * includes the file. It replaces plans, contexts, filters and rings, and notes the order of the
 * calls.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <side/trace.h>

#include <cmocka.h>

#include "../called.h"
#include "../resources.h"
#include "filter/filter.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/record.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/vfork.h"
#include "tracers/agent/plan/plan.h"
#include "tracers/agent/context/values.h"
#include "base/inside/raw.h"

static struct agent_event traced;
static struct ring_producer *const rings = (struct ring_producer *)(void *)&traced;
static const void *const call_site = &traced;

static struct {
	const char *text;    /* what the plan writes */
	const char *context; /* what the contexts write */
	ssize_t error;       /* of the plan, if not 0 */
	const char *span;
	bool no_memory, no_owner, no_cache, forks, refuses, is_marked;
	char *hit_buffer;
	unsigned int matching; /* a bit for each filter */
} played;

static char *buffer_seen;

static ssize_t play_plan(char *buffer, size_t capacity)
{
	errno = EIO;
	buffer_seen = buffer;
	if (played.forks)
		traced.producer = NULL;
	if (played.error)
		return played.error;
	if (strlen(played.text) > capacity)
		return -E2BIG;
	memcpy(buffer, played.text, strlen(played.text));
	return (ssize_t)strlen(played.text);
}

static ssize_t play_serialize(const struct plan *plan, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity)
{
	assert_ptr_equal(plan, traced.plan);
	assert_non_null(arguments);
	called("serialize%s %zu\n", variadic ? " variadic" : "", capacity);
	return play_plan(buffer, capacity);
}

static ssize_t play_serialize_span(const struct plan *plan, const struct side_arg_vec *arguments,
		void *buffer, size_t capacity, struct plan_span *span)
{
	assert_ptr_equal(plan, traced.plan);
	assert_non_null(arguments);
	called("span %zu\n", capacity);
	*span = (struct plan_span){played.span, strlen(played.span)};
	return play_plan(buffer, capacity);
}

static int play_publish(
		struct ring_producer *producer, uint32_t id, const void *payload, size_t size)
{
	assert_ptr_equal(producer, rings);
	called("publish %u \"%.*s\"\n", id, (int)size, (const char *)payload);
	errno = EIO;
	return 0;
}

static int play_publish_at(struct ring_producer *producer, uint32_t id, const void *payload,
		size_t size, uint64_t ticks)
{
	assert_ptr_equal(producer, rings);
	called("publish %u \"%.*s\" at %u\n", id, (int)size, (const char *)payload,
			(unsigned int)ticks);
	return 0;
}

static int play_publish_two_part(struct ring_producer *producer, uint32_t id, const void *head,
		size_t head_size, const void *body, size_t body_size)
{
	assert_ptr_equal(producer, rings);
	called("publish %u \"%.*s\" + \"%.*s\"\n", id, (int)head_size, (const char *)head,
			(int)body_size, (const char *)body);
	return 0;
}

static void play_count_lost(struct ring_producer *producer, uint32_t id, enum ring_loss reason)
{
	assert_ptr_equal(producer, rings);
	called("lost %u %s\n", id,
			reason == RING_LOST_INVALID                     ? "invalid"
					: reason == RING_LOST_NO_BUFFER ? "no buffer"
					: reason == RING_LOST_TOO_BIG   ? "too big"
					: reason == RING_LOST_NESTED    ? "nested"
									: "?");
}

static void play_count_lost_before(struct ring_producer *producer, uint32_t id,
		enum ring_loss reason, uint32_t cpu, uint64_t count)
{
	assert_ptr_equal(producer, rings);
	assert_true(reason == RING_LOST_SHARED && cpu == UINT32_MAX && count == 1);
	called("lost %u shared\n", id);
}

static uint8_t *play_context_write(
		const struct context_set *set, uint8_t *to, const uint8_t *end, const void *caller)
{
	assert_ptr_equal(set, traced.contexts);
	assert_ptr_equal(caller, call_site);
	called("contexts %zu\n", (size_t)(end - to));
	if (strlen(played.context) > (size_t)(end - to))
		return NULL;
	memcpy(to, played.context, strlen(played.context));
	return to + strlen(played.context);
}

static uint8_t *play_context_cached(const struct context_set *set, uint8_t *to)
{
	assert_ptr_equal(set, traced.contexts);
	called("cached\n");
	if (played.no_cache)
		return NULL;
	memcpy(to, played.context, strlen(played.context));
	return to + strlen(played.context);
}

static void play_renew(const struct context_set *set)
{
	called("renew %s\n", (const char *)(const void *)set);
}

static bool play_is_owner(void)
{
	return !played.no_owner;
}

static struct agent_filter filters[3];

static bool play_matches(const struct filter *filter, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller,
		const struct filter_contexts *contexts)
{
	size_t i = (size_t)((const char *)filter - (const char *)filters);

	assert_ptr_equal(caller, call_site);
	assert_ptr_equal(contexts, filters[i].contexts);
	assert_non_null(arguments);
	called("filter %zu%s\n", i, variadic ? " variadic" : "");
	errno = EIO;
	return played.matching >> i & 1;
}

static char *play_buffer(void)
{
	return played.hit_buffer;
}

static void play_mark(const struct agent_channel *channel)
{
	assert_ptr_equal(channel, traced.channel);
	called("mark\n");
}

static bool play_is_marked(const struct agent_channel *channel)
{
	assert_ptr_equal(channel, traced.channel);
	errno = EIO;
	return played.is_marked;
}

static void *play_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	assert_true(!at && fd == -1 && protection == (PROT_READ | PROT_WRITE));
	called("map\n");
	return played.no_memory ? NULL : raw_mmap(at, size, protection, flags, fd);
}

static int play_munmap(void *at, size_t size)
{
	called("unmap\n");
	return raw_munmap(at, size);
}

#define plan_serialize play_serialize
#define plan_serialize_span play_serialize_span
#define ring_publish play_publish
#define ring_publish_at play_publish_at
#define ring_publish_two_part play_publish_two_part
#define ring_count_lost play_count_lost
#define ring_count_lost_before play_count_lost_before
#define context_write play_context_write
#define context_write_cached play_context_cached
#define context_renew play_renew
#define context_is_owner play_is_owner
#define filter_matches play_matches
#define agent_probes_buffer play_buffer
#define agent_probes_mark_call play_mark
#define agent_probes_is_marked play_is_marked
#define raw_mmap play_mmap
#define raw_munmap play_munmap
#include "tracers/agent/core/record.c"

static struct plan plan;
static struct context_set *contexts;
static struct agent_channel channel;
static struct side_event_description description;
static struct side_arg arguments_list[2];
static struct side_arg_vec arguments = {.len = 1};
static struct side_arg_dynamic_struct variadic_fields;
static struct filter_contexts without_contexts, of_filters[3];
static char large[600], pool_line[64];

static void reset(void)
{
	memset(&traced, 0, sizeof(traced));
	memset(&played, 0, sizeof(played));
	memset(&plan, 0, sizeof(plan));
	memset(&description, 0, sizeof(description));
	memset(contexts, 0, sizeof(*contexts) + 3 * sizeof(contexts->items[0]));
	traced.producer = rings;
	traced.plan = &plan;
	traced.id = 47;
	traced.scalar_label = SIDE_TYPE_U32;
	traced.scalar_size = 4;
	traced.channel = &channel;
	traced.description = &description;
	traced.filters = filters;
	played.text = "abc";
	played.context = "ctx-";
	played.span = "long";
	arguments_list[0].type.v = SIDE_TYPE_U32;
	arguments.len = 1;
	side_ptr_set(arguments.sav, arguments_list);
	for (size_t i = 0; i < 3; i++)
		filters[i] = (struct agent_filter){
				(const struct filter *)(const void *)((const char *)filters + i),
				&without_contexts, false};
	agent_vforked = 0;
	agent_pool_reset();
	*calls = '\0';
}

/* Calls the callback, and compares the calls that it made. errno is unchanged. */
static void assert_record(side_tracer_callback_func callback, const char *wanted)
{
	errno = E2BIG;
	callback(&description, &arguments, &traced, (void *)(uintptr_t)call_site);
	assert_called(wanted);
}

/* For callbacks that record an event. They may change errno by functions that the test replaces. */
static void assert_kept(side_tracer_callback_func callback, const char *wanted)
{
	assert_record(callback, wanted);
	assert_int_equal(errno, E2BIG);
}

/* The text of a record through the pool. */
static const char *pooled(const char *before, const char *after)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s%s%s", before, pool_line, after);
	return text;
}

#define ABC "publish 47 \"abc\"\n"
#define CTX_ABC "publish 47 \"ctx-abc\"\n"

/* ---- the pool ---- */

static void test_pool(void **unused)
{
	struct resources before;
	char *first;

	(void)unused;
	reset();
	before = resources_now();
	played.no_memory = true;
	assert_int_equal(agent_pool_create(), -ENOMEM);
	assert_called("map\n");
	agent_pool_destroy();
	assert_called("");
	played.no_memory = false;
	assert_int_equal(agent_pool_create(), 0);
	assert_called("map\n");
	first = pool;
	assert_int_equal(agent_pool_create(), 0);
	assert_called("");
	assert_ptr_equal(pool, first);
	assert_int_equal(resources_now().bytes - before.bytes,
			(32 * (size_t)RING_PAYLOAD_MAX + 4095) / 4096 * 4096);
	for (int i = 0; i < 32; i++)
		assert_int_equal(pool_get(), i);
	assert_int_equal(pool_get(), -1);
	pool_put(7);
	pool_put(31);
	assert_int_equal(pool_get(), 7);
	assert_int_equal(pool_get(), 31);
	assert_int_equal(pool_get(), -1);
	agent_pool_destroy();
	assert_called("unmap\n");
	assert_int_equal(resources_now().bytes, before.bytes);
	assert_true(!pool && !pool_taken);
	assert_int_equal(agent_pool_create(), 0);
	assert_int_equal(pool_get(), 0);
	agent_pool_reset();
	assert_int_equal(pool_get(), 0);
	agent_pool_reset();
}

/* ---- rare cases ---- */

static void test_slow(void **unused)
{
	(void)unused;
	reset();
	assert_kept(record_odd, pooled("", ABC));
	assert_ptr_equal(buffer_seen, pool);
	assert_int_equal(pool_taken, 0);
	/* Another record uses the first two buffers. */
	pool_taken = 3;
	assert_kept(record_odd, pooled("", ABC));
	assert_ptr_equal(buffer_seen, pool + 2 * (size_t)RING_PAYLOAD_MAX);
	assert_int_equal(pool_taken, 3);
	pool_taken = UINT32_MAX;
	assert_kept(record_odd, "lost 47 no buffer\n");
	assert_int_equal(pool_taken, UINT32_MAX);
	pool_taken = 0;
	played.error = -E2BIG;
	assert_kept(record_odd, pooled("", "lost 47 too big\n"));
	played.error = -EINVAL;
	assert_kept(record_odd, pooled("", "lost 47 invalid\n"));
	assert_int_equal(pool_taken, 0);
	/* A visitor has forked: no rings. */
	played.error = 0;
	played.forks = true;
	assert_kept(record_odd, pooled("", ""));
	assert_kept(record_odd, "");
	reset();
	agent_vforked = 1;
	assert_kept(record_odd, "lost 47 nested\n");
	agent_vforked = AGENT_OUR_TASK;
	assert_kept(record_odd, "");
	agent_vforked = CONTEXT_SHARES_MEMORY;
	assert_kept(record_odd, pooled("", ABC));
	played.no_owner = true;
	assert_kept(record_odd, "lost 47 shared\n");
	traced.producer = NULL;
	assert_kept(record_odd, "");
	agent_vforked = 1;
	played.no_owner = false;
	assert_kept(record_odd, "");
	count_lost(&traced, RING_LOST_NESTED);
	assert_called("");
	/* Contexts come first. */
	reset();
	traced.contexts = contexts;
	snprintf(pool_line, sizeof(pool_line), "contexts %u\nserialize %u\n", RING_PAYLOAD_MAX,
			RING_PAYLOAD_MAX - 4);
	assert_kept(record_odd, pooled("", CTX_ABC));
	snprintf(pool_line, sizeof(pool_line), "serialize %u\n", RING_PAYLOAD_MAX);
}

/* ---- one scalar ---- */

static int note_scalar(
		struct ring_producer *producer, uint32_t id, const void *unused, const void *arg)
{
	assert_ptr_equal(producer, rings);
	assert_true(unused == &traced && arg == &arguments_list[0].u);
	called("cell %u\n", id);
	return 0;
}

static int see_prefixed(struct ring_producer *producer, uint32_t id,
		const struct ring_prefix *prefix, const void *arg, uint64_t stamp)
{
	assert_ptr_equal(producer, rings);
	assert_true(arg == &arguments_list[0].u && stamp == context_stamp(contexts));
	assert_ptr_equal(prefix, &context_blocks[2]);
	called("prefixed %u\n", id);
	return played.refuses ? -EAGAIN : 0;
}

/* For unusual scalars the callback does the same as with any other traced event. */
static void unusual_scalars(
		side_tracer_callback_func callback, const char *odd, const char *vforked)
{
	arguments.len = 2;
	assert_record(callback, odd);
	arguments.len = 0;
	assert_record(callback, odd);
	arguments.len = 1;
	side_ptr_set(arguments.sav, NULL);
	assert_record(callback, odd);
	side_ptr_set(arguments.sav, arguments_list);
	arguments_list[0].type.v = SIDE_TYPE_S32;
	assert_record(callback, odd);
	arguments_list[0].type.v = SIDE_TYPE_U32;
	agent_vforked = 1;
	assert_record(callback, vforked);
	agent_vforked = 0;
	traced.producer = NULL;
	assert_record(callback, "");
}

static void test_scalars(void **unused)
{
	char odd[256];

	(void)unused;
	reset();
	traced.publish_scalar = note_scalar;
	assert_record(record_scalar, "cell 47\n");
	snprintf(odd, sizeof(odd), "%s", pooled("", ABC));
	unusual_scalars(record_scalar, odd, "lost 47 nested\n");
}

static void test_scalars_with_contexts(void **unused)
{
	static const char any[] = "contexts 512\nserialize 508\n" CTX_ABC;

	(void)unused;
	reset();
	traced.contexts = contexts;
	contexts->block_at = 2 * sizeof(struct context_block);
	contexts->id = UINT64_C(5) << 32;
	traced.publish_prefixed = see_prefixed;
	memcpy(&arguments_list[0].u, "wxyz", 4);
	assert_record(record_scalar_contexts, "prefixed 47\n");
	/* The ring refuses the block: the callback uses a buffer. */
	played.refuses = true;
	assert_record(record_scalar_contexts, "prefixed 47\ncached\npublish 47 \"ctx-wxyz\"\n");
	traced.publish_prefixed = NULL;
	assert_record(record_scalar_contexts, "cached\npublish 47 \"ctx-wxyz\"\n");
	traced.scalar_size = 2;
	assert_record(record_scalar_buffered, "cached\npublish 47 \"ctx-wx\"\n");
	played.no_cache = true;
	assert_record(record_scalar_contexts, "cached\ncontexts 512\nserialize 508\n" CTX_ABC);
	played.no_cache = false;
	traced.publish_prefixed = see_prefixed;
	played.refuses = false;
	unusual_scalars(record_scalar_contexts, any, "lost 47 nested\n");
	traced.producer = rings;
	unusual_scalars(record_scalar_buffered, any, "lost 47 nested\n");
	/* An earlier record of the event was large. */
	traced.producer = rings;
	traced.large = true;
	snprintf(pool_line, sizeof(pool_line), "contexts %u\nserialize %u\n", RING_PAYLOAD_MAX,
			RING_PAYLOAD_MAX - 4);
	assert_record(record_scalar_buffered, pooled("", CTX_ABC));
	snprintf(pool_line, sizeof(pool_line), "serialize %u\n", RING_PAYLOAD_MAX);
}

/* ---- payloads on the stack ---- */

static void test_gp_only(void **unused)
{
	(void)unused;
	reset();
	assert_record(record_gp_only, "serialize 512\n" ABC);
	assert_false(traced.large);
	played.text = "";
	assert_record(record_gp_only, "serialize 512\npublish 47 \"\"\n");
	played.error = -EINVAL;
	assert_record(record_gp_only, pooled("serialize 512\n", "lost 47 invalid\n"));
	assert_false(traced.large);
	played.error = -E2BIG;
	assert_record(record_gp_only, pooled("serialize 512\n", "lost 47 too big\n"));
	assert_true(traced.large);
	/* From then on the callback does not try the stack. */
	played.error = 0;
	assert_record(record_gp_only, pooled("", "publish 47 \"\"\n"));
	traced.large = false;
	agent_vforked = 1;
	assert_record(record_gp_only, "lost 47 nested\n");
	agent_vforked = 0;
	traced.producer = NULL;
	assert_record(record_gp_only, "");
}

static void test_contexts(void **unused)
{
	static char hit_buffer[AGENT_PROBES_BUFFER];
	const side_tracer_callback_func callbacks[] = {record_gp_only_contexts, record_any,
			record_hit, record_any_hit, record_hit};
	char whole[700];

	(void)unused;
	for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++) {
		reset();
		played.hit_buffer = i == 4 ? hit_buffer : NULL;
		traced.contexts = contexts;
		assert_record(callbacks[i], "contexts 512\nserialize 508\n" CTX_ABC);
		assert_true(!played.hit_buffer || buffer_seen == hit_buffer + 4);
		traced.contexts = NULL;
		assert_record(callbacks[i], "serialize 512\n" ABC);
		/* As many bytes as fit, and one more. */
		memset(large, 'l', sizeof(large) - 1);
		large[512] = '\0';
		played.text = large;
		snprintf(whole, sizeof(whole), "serialize 512\npublish 47 \"%s\"\n", large);
		assert_record(callbacks[i], whole);
		assert_false(traced.large);
		large[512] = 'l';
		large[513] = '\0';
		snprintf(whole, sizeof(whole), "serialize 512\n%spublish 47 \"%s\"\n", pool_line,
				large);
		assert_record(callbacks[i], whole);
		assert_true(traced.large);
		traced.large = false;
		played.text = "abc";
		played.error = -EINVAL;
		assert_record(callbacks[i], "serialize 512\nlost 47 invalid\n");
		assert_false(traced.large);
		played.error = 0;
		/* No space for the contexts. */
		traced.contexts = contexts;
		memset(large, 'c', 513);
		played.context = large;
		snprintf(whole, sizeof(whole),
				"contexts 512\ncontexts %u\nserialize %u\npublish 47 \"%sabc\"\n",
				RING_PAYLOAD_MAX, RING_PAYLOAD_MAX - 513, large);
		assert_record(callbacks[i], whole);
		assert_true(traced.large);
		traced.large = false;
		agent_vforked = 1;
		assert_record(callbacks[i], "lost 47 nested\n");
		agent_vforked = 0;
		traced.producer = NULL;
		assert_record(callbacks[i], "");
	}
	reset();
	assert_kept(record_any, "serialize 512\n" ABC);
	assert_kept(record_any_hit, "serialize 512\n" ABC);
	errno = E2BIG;
	record_variadic(&description, &arguments, &variadic_fields, &traced,
			(void *)(uintptr_t)call_site);
	assert_int_equal(errno, E2BIG);
	assert_called("serialize variadic 512\n" ABC);
	traced.large = true;
	record_variadic(&description, &arguments, &variadic_fields, &traced,
			(void *)(uintptr_t)call_site);
	snprintf(whole, sizeof(whole), "serialize variadic %u\n" ABC, RING_PAYLOAD_MAX);
	assert_called(whole);
	traced.large = false;
	played.text = large;
	record_variadic(&description, &arguments, &variadic_fields, &traced,
			(void *)(uintptr_t)call_site);
	snprintf(whole, sizeof(whole),
			"serialize variadic 512\nserialize variadic %u\npublish 47 \"%s\"\n",
			RING_PAYLOAD_MAX, large);
	assert_called(whole);
}

static void test_spans(void **unused)
{
	(void)unused;
	reset();
	assert_record(record_span, "span 256\npublish 47 \"abc\" + \"long\"\n");
	traced.contexts = contexts;
	assert_record(record_span, "contexts 256\nspan 252\npublish 47 \"ctx-abc\" + \"long\"\n");
	memset(large, 'c', 257);
	large[257] = '\0';
	played.context = large;
	played.error = -EINVAL;
	traced.contexts = NULL;
	assert_record(record_span, pooled("span 256\n", "lost 47 invalid\n"));
	assert_false(traced.large);
	played.error = -E2BIG;
	assert_record(record_span, pooled("span 256\n", "lost 47 too big\n"));
	assert_true(traced.large);
	played.error = 0;
	played.text = "";
	assert_record(record_span, pooled("", "publish 47 \"\"\n"));
	traced.large = false;
	assert_record(record_span, "span 256\npublish 47 \"\" + \"long\"\n");
	played.forks = true;
	assert_record(record_span, "span 256\n");
	/* No space for the contexts. */
	traced.producer = rings;
	played.forks = false;
	traced.contexts = contexts;
	played.error = -EINVAL;
	snprintf(pool_line, sizeof(pool_line), "contexts %u\nserialize %u\n", RING_PAYLOAD_MAX,
			RING_PAYLOAD_MAX - 257);
	assert_record(record_span, pooled("contexts 256\n", "lost 47 invalid\n"));
	snprintf(pool_line, sizeof(pool_line), "serialize %u\n", RING_PAYLOAD_MAX);
	assert_true(traced.large);
}

/* ---- filters ---- */

static void see_record(const struct side_event_description *of,
		const struct side_arg_vec *with_timestamp, void *priv, void *caller)
{
	assert_true(of == &description && with_timestamp == &arguments && priv == &traced &&
			caller == call_site);
	called("record\n");
}

static void see_record_variadic(const struct side_event_description *of,
		const struct side_arg_vec *with_timestamp,
		const struct side_arg_dynamic_struct *fields, void *priv, void *caller)
{
	assert_ptr_equal(fields, &variadic_fields);
	see_record(of, with_timestamp, priv, caller);
}

static void begin_filters(uint8_t nr, unsigned int matching)
{
	reset();
	traced.record = see_record;
	traced.nr_filters = nr;
	played.matching = matching;
}

static void test_filters(void **unused)
{
	const side_tracer_callback_func callbacks[] = {
			record_filter_gp_only, filter_hit, filter_any};

	(void)unused;
	for (size_t i = 0; i < 3; i++) {
		begin_filters(2, 4);
		assert_record(callbacks[i], "filter 0\nfilter 1\n");
		played.matching = 2;
		assert_record(callbacks[i], "filter 0\nfilter 1\nrecord\n");
		played.matching = 3;
		assert_record(callbacks[i], "filter 0\nrecord\n");
		traced.nr_filters = 1;
		played.matching = 2;
		assert_record(callbacks[i], "filter 0\n");
	}
	begin_filters(1, 1);
	assert_kept(filter_any, "filter 0\nrecord\n");
	traced.record_variadic = see_record_variadic;
	filter_variadic(&description, &arguments, &variadic_fields, &traced,
			(void *)(uintptr_t)call_site);
	assert_called("filter 0 variadic\nrecord\n");
	assert_int_equal(errno, E2BIG);
	played.matching = 0;
	filter_variadic(&description, &arguments, &variadic_fields, &traced,
			(void *)(uintptr_t)call_site);
	assert_called("filter 0 variadic\n");
	assert_int_equal(errno, E2BIG);
}

static char names[3][2] = {"a", "b", "c"};

/* The last filter has no contexts. */
static void give_contexts(void)
{
	for (size_t i = 0; i < 2; i++) {
		of_filters[i].user = names[i];
		filters[i].contexts = &of_filters[i];
	}
}

static void test_renewed_contexts(void **unused)
{
	(void)unused;
	begin_filters(3, 4);
	give_contexts();
	assert_record(filter_hit, "renew a\nrenew b\nfilter 0\nfilter 1\nfilter 2\nrecord\n");
	assert_record(filter_call, "renew a\nrenew b\nfilter 0\nfilter 1\nfilter 2\nrecord\n");
	traced.of_calls = true;
	traced.nr_filters = 1;
	played.matching = 1;
	assert_record(filter_call, "renew a\nfilter 0\nrecord\n");
}

static void test_calls(void **unused)
{
	const side_tracer_callback_func callbacks[] = {filter_call, filter_call_any};

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		/* The begin: the first filter does not select calls, the second one does. */
		begin_filters(3, 0);
		filters[1].selects_calls = true;
		assert_record(callbacks[i], "filter 0\nfilter 1\nfilter 2\n");
		played.matching = 1;
		assert_record(callbacks[i], "filter 0\nfilter 1\nrecord\n");
		played.matching = 2;
		assert_record(callbacks[i], "filter 0\nfilter 1\nmark\nrecord\n");
		played.matching = 4;
		assert_record(callbacks[i], "filter 0\nfilter 1\nfilter 2\nrecord\n");
		/* Every event is recorded: only filters that select calls are asked. */
		traced.always = true;
		assert_record(callbacks[i], "filter 1\nrecord\n");
		played.matching = 7;
		assert_record(callbacks[i], "filter 1\nmark\nrecord\n");
		/* The return. */
		begin_filters(0, 0);
		traced.of_calls = true;
		assert_record(callbacks[i], "");
		played.is_marked = true;
		assert_record(callbacks[i], "record\n");
		traced.nr_filters = 1;
		assert_record(callbacks[i], "record\n");
		played.is_marked = false;
		assert_record(callbacks[i], "filter 0\n");
		played.matching = 1;
		assert_record(callbacks[i], "filter 0\nrecord\n");
	}
	begin_filters(1, 1);
	assert_kept(filter_call_any, "filter 0\nrecord\n");
	traced.of_calls = true;
	assert_kept(filter_call_any, "filter 0\nrecord\n");
}

/* ---- which callback ---- */

static void assert_chosen(
		side_tracer_callback_func record, side_tracer_callback_func callback, bool straight)
{
	traced.straight = !straight;
	traced.scalar_label = traced.scalar_size = 0;
	agent_record_choose(&traced);
	assert_true(traced.record == record);
	assert_true(traced.callback == callback);
	assert_int_equal(traced.straight, straight);
	assert_int_equal(traced.scalar_label, 1234);
	assert_int_equal(traced.scalar_size, 8);
	assert_true(agent_record_is_callback(traced.callback));
	assert_true(agent_record_is_callback(traced.record));
}

static void begin_choice(enum plan_kind kind)
{
	reset();
	plan.kind = (uint8_t)kind;
	plan.scalar_label = 1234;
	plan.scalar_size = 8;
}

static void test_choice(void **unused)
{
	static int handle;

	(void)unused;
	begin_choice(PLAN_KIND_SCALAR);
	assert_chosen(record_scalar, record_scalar, true);
	traced.contexts = contexts;
	assert_chosen(record_scalar_contexts, record_scalar_contexts, true);
	contexts->nr_items = 2;
	assert_chosen(record_scalar_contexts, record_scalar_contexts, true);
	/* A context of the application, as the last one. */
	contexts->items[1].handle = &handle;
	assert_chosen(record_any, record_any, false);
	traced.of_probe = true;
	assert_chosen(record_any_hit, record_any_hit, false);
	contexts->nr_items = 1;
	assert_chosen(record_hit, record_hit, true);
	begin_choice(PLAN_KIND_GP_ONLY);
	assert_chosen(record_gp_only, record_gp_only, true);
	traced.contexts = contexts;
	assert_chosen(record_gp_only_contexts, record_gp_only_contexts, true);
	begin_choice(PLAN_KIND_SPAN);
	assert_chosen(record_span, record_span, true);
	begin_choice(PLAN_KIND_ANY);
	assert_chosen(record_any, record_any, false);
	traced.of_probe = true;
	assert_chosen(record_any_hit, record_any_hit, false);
	begin_choice(PLAN_KIND_GP_ONLY);
	traced.nr_filters = 2;
	assert_chosen(record_gp_only, record_filter_gp_only, false);
	traced.of_probe = true;
	assert_chosen(record_hit, record_filter_gp_only, false);
	of_filters[1] = (struct filter_contexts){.user = contexts};
	filters[1].contexts = &of_filters[1];
	assert_chosen(record_hit, filter_hit, false);
	traced.of_probe = false;
	assert_chosen(record_gp_only, record_filter_gp_only, false);
	traced.selects_calls = true;
	assert_chosen(record_gp_only, filter_call, false);
	traced.nr_filters = 0;
	assert_chosen(record_gp_only, record_gp_only, true);
	traced.of_calls = true;
	assert_chosen(record_gp_only, filter_call, false);
	traced.nr_filters = 2;
	/* A filter names a context of the application. */
	contexts->nr_items = 3;
	contexts->items[2].handle = &handle;
	assert_chosen(record_any, filter_call_any, false);
	traced.of_calls = traced.selects_calls = false;
	assert_chosen(record_any, filter_any, false);
	traced.of_probe = true;
	assert_chosen(record_any_hit, filter_any, false);
	filters[1].contexts = NULL;
	traced.of_probe = false;
	assert_chosen(record_gp_only, record_filter_gp_only, false);
	description.flags = SIDE_EVENT_FLAG_VARIADIC;
	agent_record_choose(&traced);
	assert_true(traced.record_variadic == record_variadic);
	assert_true(traced.callback_variadic == filter_variadic);
	traced.nr_filters = 0;
	agent_record_choose(&traced);
	assert_true(traced.callback_variadic == record_variadic);
}

static void test_section(void **unused)
{
	side_tracer_callback_func call;
	uintptr_t begin, end, at;

	(void)unused;
	agent_record_functions(&begin, &end);
	assert_true(begin == (uintptr_t)__start_side_gp_only &&
			end == (uintptr_t)__stop_side_gp_only);
	assert_true(begin < end);
	for (int i = -1; i < 3; i++) {
		at = i == -1 ? begin - 1 : i == 0 ? begin : i == 1 ? end - 1 : end;
		memcpy(&call, &at, sizeof(at));
		assert_int_equal(agent_record_is_callback(call), i == 0 || i == 1);
	}
	assert_false(agent_record_is_callback(see_record));
}

/* ---- bytes without a callback ---- */

static void test_begin_and_end(void **unused)
{
	uint8_t buffer[64];

	(void)unused;
	reset();
	assert_null(recording_begin(&traced, buffer, 64, 9, call_site));
	assert_false(recording_is_plain(&traced));
	traced.straight = true;
	assert_ptr_equal(recording_begin(&traced, buffer, 64, 9, call_site), buffer);
	assert_true(recording_is_plain(&traced));
	agent_vforked = 1;
	assert_null(recording_begin(&traced, buffer, 64, 9, call_site));
	assert_false(recording_is_plain(&traced));
	agent_vforked = 0;
	traced.producer = NULL;
	assert_null(recording_begin(&traced, buffer, 64, 9, call_site));
	assert_false(recording_is_plain(&traced));
	recording_end(&traced, buffer, buffer + 3, 5);
	traced.producer = rings;
	assert_called("");
	traced.contexts = contexts;
	assert_false(recording_is_plain(&traced));
	assert_ptr_equal(recording_begin(&traced, buffer, 64, 60, call_site), buffer + 4);
	assert_null(recording_begin(&traced, buffer, 64, 61, call_site));
	assert_called("contexts 64\ncontexts 64\n");
	assert_null(recording_begin(&traced, buffer, 3, 0, call_site));
	assert_called("contexts 3\n");
	memcpy(buffer, "abcdef", 6);
	recording_end(&traced, buffer, buffer + 3, 0);
	assert_called(ABC);
	recording_end(&traced, buffer, buffer + 3, 1);
	assert_called("publish 47 \"abc\" at 1\n");
	assert_true(recording_is_usual(&traced, rings));
	assert_false(recording_is_usual(&traced, NULL));
	traced.large = true;
	assert_false(recording_is_usual(&traced, rings));
	traced.large = false;
	agent_vforked = 1;
	assert_false(recording_is_usual(&traced, rings));
	agent_vforked = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_pool),
			cmocka_unit_test(test_slow),
			cmocka_unit_test(test_scalars),
			cmocka_unit_test(test_scalars_with_contexts),
			cmocka_unit_test(test_gp_only),
			cmocka_unit_test(test_contexts),
			cmocka_unit_test(test_spans),
			cmocka_unit_test(test_filters),
			cmocka_unit_test(test_renewed_contexts),
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_choice),
			cmocka_unit_test(test_section),
			cmocka_unit_test(test_begin_and_end),
	};
	int ret;

	contexts = calloc(1, sizeof(*contexts) + 3 * sizeof(contexts->items[0]));
	if (!contexts)
		return 1;
	snprintf(pool_line, sizeof(pool_line), "serialize %u\n", RING_PAYLOAD_MAX);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	agent_pool_destroy();
	free(contexts);
	return ret;
}
