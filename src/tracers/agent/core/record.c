/* SPDX-License-Identifier: MIT */
/*
 * An event happens. Each has the shortest of these functions that can record it:
 *
 *	scalar	one scalar: the ring reads it from the argument
 *	gp_only	the plan writes the payload to the stack, the ring copies it from there
 *	span	the same, but a long last field goes from the application's memory into the ring
 *	any	for plans that run the application's visitors, and variadic events
 *
 * and those with contexts write these first. Filters are asked before anything else is done, in a
 * function of their own that goes on to the one above. What is rare is in record_slow(): it uses
 * one of a few pooled buffers where the stack's is too small. Runs in any thread and in signal
 * handlers, within itself too: nothing here blocks, allocates or changes errno (a block-mode ring
 * waits within its bound).
 *
 * An event that did not fit the stack once goes to the pool at once from then on: a second run of
 * its plan is work, and runs an application's visitors twice, which would double with each level if
 * these emit in turn.
 *
 * A pooled buffer is taken by setting its bit. A thread that dies in between (no return from a
 * signal handler, thread exit in a visitor) keeps its bit: the pool is a bound on memory, and when
 * it is empty, large records are counted as lost.
 */
#include <errno.h>
#include <string.h>

#include "tracers/agent/core/record.h"
#include "tracers/agent/context/values.h"
#include "tracers/agent/core/event.h"
#include "tracers/agent/core/probes-part.h"
#include "tracers/agent/core/recording.h"
#include "tracers/agent/core/vfork.h"
#include "tracers/agent/plan/plan.h"
#include "ring/ring.h"
#include "filter/filter.h"
#include "base/inside/raw.h"

#include <sys/mman.h>

/* Payloads up to this size are built on the stack. Signal stacks may be 2 KiB with our frames. */
#define STACK_PAYLOAD 512
/* The bytes before a span: its length, and a few fields. */
#define STACK_HEAD 256

#define POOL_BUFFERS 32
#define POOL_BUFFER_SIZE RING_PAYLOAD_MAX

/*
 * Functions that use general-purpose registers only and never call application code. They are in a
 * section of their own: a probe hit whose callback is in it need not save vector registers
 * (probes/hit.c).
 */
#define GP_ONLY __attribute__((section("side_gp_only")))
extern const char __start_side_gp_only[], __stop_side_gp_only[];

void agent_record_functions(uintptr_t *ret_begin, uintptr_t *ret_end)
{
	*ret_begin = (uintptr_t)__start_side_gp_only;
	*ret_end = (uintptr_t)__stop_side_gp_only;
}

__thread unsigned int agent_vforked;

static char *pool;
static atomic_uint pool_taken;

int agent_pool_create(void)
{
	if (!pool)
		pool = raw_mmap(NULL, POOL_BUFFERS * (size_t)POOL_BUFFER_SIZE,
				PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				-1);
	return pool ? 0 : -ENOMEM;
}

/* In a forked child: threads of the parent that held buffers do not exist. */
void agent_pool_reset(void)
{
	atomic_store_explicit(&pool_taken, 0, memory_order_relaxed);
}

void agent_pool_destroy(void)
{
	if (pool)
		raw_munmap(pool, POOL_BUFFERS * (size_t)POOL_BUFFER_SIZE);
	pool = NULL;
	agent_pool_reset();
}

static int pool_get(void)
{
	/* Relaxed: the exchange below checks the value again. */
	unsigned int taken = atomic_load_explicit(&pool_taken, memory_order_relaxed);

	while (~taken) {
		int index = __builtin_ctz(~taken);

		/* Acquire: the last owner's accesses come before ours. Pairs with pool_put(). */
		if (atomic_compare_exchange_weak_explicit(&pool_taken, &taken, taken | 1u << index,
				    memory_order_acquire, memory_order_relaxed))
			return index;
	}
	return -1;
}

static void pool_put(int index)
{
	/* Release: our accesses come before the next owner's. Pairs with pool_get(). */
	atomic_fetch_and_explicit(&pool_taken, ~(1u << index), memory_order_release);
}

_Static_assert(POOL_BUFFERS == 8 * sizeof(unsigned int), "a bit for each buffer");

static __attribute__((noinline)) void count_lost(
		const struct agent_event *event, enum ring_loss reason)
{
	struct ring_producer *producer = recording_rings(event);

	if (producer)
		ring_count_lost(producer, event->id, reason);
}

/*
 * Contexts and payload into a buffer, and into the ring. False: the buffer is too small, nothing
 * has happened.
 */
static inline bool build_and_publish(const struct agent_event *event,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller, char *buffer,
		size_t capacity)
{
	char *to = buffer, *end = buffer + capacity;
	struct ring_producer *producer;
	ssize_t size;

	if (event->contexts)
		to = (char *)context_write(
				event->contexts, (uint8_t *)buffer, (uint8_t *)end, caller);
	if (__builtin_expect(!to, 0))
		return false;
	size = plan_serialize(event->plan, arguments, variadic, to, (size_t)(end - to));
	producer = recording_rings(event);
	if (__builtin_expect(size >= 0 && producer, 1)) {
		/* The ring counts what it refuses. */
		ring_publish(producer, event->id, buffer, (size_t)(to - buffer) + (size_t)size);
		return true;
	}
	if (size == -E2BIG)
		return false;
	count_lost(event, RING_LOST_INVALID);
	return true;
}

static void record_pooled(struct agent_event *event, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller)
{
	int index = pool_get();

	if (index < 0) {
		count_lost(event, RING_LOST_NO_BUFFER);
		return;
	}
	if (!build_and_publish(event, arguments, variadic, caller,
			    pool + (size_t)index * POOL_BUFFER_SIZE, POOL_BUFFER_SIZE))
		count_lost(event, RING_LOST_TOO_BIG);
	pool_put(index);
}

/* In a process that has its parent's errno, too. */
static void count_shared(const struct agent_event *event)
{
	struct ring_producer *producer = recording_rings(event);

	if (producer)
		ring_count_lost_before(producer, event->id, RING_LOST_SHARED, UINT32_MAX, 1);
}

/* Everything that the functions below leave, and keeps errno whatever the application does. */
static __attribute__((noinline)) void record_slow(struct agent_event *event,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller)
{
	bool shares = agent_vforked == CONTEXT_SHARES_MEMORY;
	int saved_errno;

	if (shares && !context_is_owner()) {
		count_shared(event);
		return;
	}
	saved_errno = errno;

	if (!recording_rings(event) || agent_vforked == AGENT_OUR_TASK)
		; /* a child without rings, an event that its consumer does not know, or a call of our own */
	else if (agent_vforked && !shares)
		count_lost(event, RING_LOST_NESTED);
	else
		record_pooled(event, arguments, variadic, caller);
	errno = saved_errno;
}

/* The same when it has turned out that the stack's buffer is too small. */
static __attribute__((noinline)) void record_large(struct agent_event *event,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller)
{
	/* Relaxed: a hint. */
	__atomic_store_n(&event->large, true, __ATOMIC_RELAXED);
	record_slow(event, arguments, variadic, caller);
}

/*
 * With the arguments of a callback, all of them in their places, so that a callback that ends in it
 * need not save any.
 */
static __attribute__((noinline, used)) void record_odd(
		const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	(void)description;
	record_slow(priv, arguments, NULL, caller);
}

/* ---- one scalar ---- */

/*
 * The ring has a function for its size, so no copy is made between the argument and the ring. First
 * the rings, then the function: in a child that a signal handler forks in between, that of the new
 * rings refuses the old ones.
 */
static GP_ONLY void record_scalar(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct side_arg *scalar = side_ptr_get(arguments->sav);
	const struct agent_event *event = priv;
	struct ring_producer *producer = recording_rings(event);

	/*
	 * Compiler fence: the rings before the function. agent_event_direct() stores them in the
	 * other order.
	 */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(!producer, 0) || __builtin_expect(recording_is_vforked(), 0) ||
			__builtin_expect(arguments->len != 1, 0) || __builtin_expect(!scalar, 0) ||
			__builtin_expect(scalar->type.v != event->scalar_label, 0))
		record_odd(description, arguments, priv, caller);
	else
		__atomic_load_n(&event->publish_scalar, __ATOMIC_RELAXED)(
				producer, event->id, priv, &scalar->u);
}

/* ---- what runs nothing of the application's ---- */

static GP_ONLY void record_gp_only(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	_Alignas(8) char buffer[STACK_PAYLOAD];
	struct agent_event *event = priv;
	struct ring_producer *producer = recording_rings(event);
	ssize_t size = 0;

	(void)description;
	if (recording_is_usual(event, producer)) {
		size = plan_serialize(event->plan, arguments, NULL, buffer, sizeof(buffer));
		if (__builtin_expect(size >= 0, 1)) {
			ring_publish(producer, event->id, buffer, (size_t)size);
			return;
		}
	}
	if (size == -E2BIG)
		record_large(event, arguments, NULL, caller);
	else
		record_slow(event, arguments, NULL, caller);
}

/*
 * As above, with contexts. An application's context may do anything, but context_write() keeps
 * errno.
 */
static GP_ONLY __attribute__((noinline)) void record_gp_only_contexts(
		const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	_Alignas(8) char buffer[STACK_PAYLOAD];
	struct agent_event *event = priv;

	(void)description;
	if (!recording_is_usual(event, recording_rings(event)))
		record_slow(event, arguments, NULL, caller);
	else if (!build_and_publish(event, arguments, NULL, caller, buffer, sizeof(buffer)))
		record_large(event, arguments, NULL, caller);
}

/* Within a hit of a probe, whose stack may be small: in memory of the thread's. */
static GP_ONLY void record_hit(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	struct agent_event *event = priv;
	char *buffer = agent_probes_buffer();

	if (__builtin_expect(!buffer, 0))
		record_gp_only_contexts(description, arguments, priv, caller);
	else if (!recording_is_usual(event, recording_rings(event)))
		record_slow(event, arguments, NULL, caller);
	else if (!build_and_publish(event, arguments, NULL, caller, buffer, AGENT_PROBES_BUFFER))
		record_large(event, arguments, NULL, caller);
}

/* ---- one scalar behind contexts ---- */

/* As many bytes as a cell can have are copied, whatever its size: that takes no decision. */
#define SCALAR_MAX 16
_Static_assert(sizeof(((struct side_arg *)0)->u) >= SCALAR_MAX, "they can be read");

_Static_assert(offsetof(struct context_block, stamp) == offsetof(struct ring_prefix, stamp) &&
				offsetof(struct context_block, size) ==
						offsetof(struct ring_prefix, size) &&
				offsetof(struct context_block, bytes) ==
						offsetof(struct ring_prefix, bytes),
		"a block begins as a prefix");

/*
 * Through a buffer, when all contexts are at hand; all else is done as with any other event.
 * `used`: a callback that ends in it keeps its arguments where they are.
 */
static GP_ONLY __attribute__((noinline, used)) void record_scalar_buffered(
		const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	_Alignas(8) uint8_t buffer[CONTEXT_BLOCK_BYTES + SCALAR_MAX];
	const struct side_arg *scalar = side_ptr_get(arguments->sav);
	const struct agent_event *event = priv;
	struct ring_producer *producer = recording_rings(event);
	uint8_t *to = NULL;

	if (recording_is_usual(event, producer) && __builtin_expect(arguments->len == 1, 1) &&
			__builtin_expect(scalar != NULL, 1) &&
			__builtin_expect(scalar->type.v == event->scalar_label, 1))
		to = context_write_cached(event->contexts, buffer);
	if (__builtin_expect(!to, 0)) {
		record_gp_only_contexts(description, arguments, priv, caller);
		return;
	}
	memcpy(to, &scalar->u, SCALAR_MAX);
	ring_publish(producer, event->id, buffer, (size_t)(to - buffer) + event->scalar_size);
}

/*
 * Copy the contexts directly from the thread's block into the ring. The ring's restartable section
 * checks that the block is valid, so that no handler can change it meanwhile. If the check fails,
 * nothing was recorded.
 */
static GP_ONLY void record_scalar_contexts(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct side_arg *scalar = side_ptr_get(arguments->sav);
	const struct agent_event *event = priv;
	struct ring_producer *producer = recording_rings(event);
	const struct ring_prefix *prefix =
			(const struct ring_prefix *)(const void *)context_block_of(event->contexts);
	ring_publish_prefixed *publish;

	/* Compiler fence: the rings before the function, see record_scalar(). */
	atomic_signal_fence(memory_order_seq_cst);
	publish = __atomic_load_n(&event->publish_prefixed, __ATOMIC_RELAXED);
	if (__builtin_expect(!producer, 0) || __builtin_expect(recording_is_vforked(), 0) ||
			__builtin_expect(arguments->len != 1, 0) || __builtin_expect(!scalar, 0) ||
			__builtin_expect(scalar->type.v != event->scalar_label, 0) ||
			__builtin_expect(!publish, 0) ||
			__builtin_expect(publish(producer, event->id, prefix, &scalar->u,
							 context_stamp(event->contexts)) != 0,
					0))
		record_scalar_buffered(description, arguments, priv, caller);
}

/* The size of the bytes before the span, or a negative errno: then nothing was recorded. */
static inline ssize_t publish_span(const struct agent_event *event,
		const struct side_arg_vec *arguments, const void *caller, char *buffer,
		size_t capacity)
{
	char *to = buffer, *end = buffer + capacity;
	struct ring_producer *producer;
	struct plan_span span;
	ssize_t size;

	if (event->contexts)
		to = (char *)context_write(
				event->contexts, (uint8_t *)buffer, (uint8_t *)end, caller);
	if (!to)
		return -E2BIG;
	size = plan_serialize_span(event->plan, arguments, to, (size_t)(end - to), &span);
	producer = recording_rings(event);
	if (size < 0 || !producer)
		return size < 0 ? size : -ECHILD;
	ring_publish_two_part(producer, event->id, buffer, (size_t)(to - buffer) + (size_t)size,
			span.bytes, span.size);
	return size;
}

static GP_ONLY void record_span(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	_Alignas(8) char buffer[STACK_HEAD];
	struct agent_event *event = priv;
	ssize_t size = -ECHILD;

	(void)description;
	if (recording_is_usual(event, recording_rings(event)))
		size = publish_span(event, arguments, caller, buffer, sizeof(buffer));
	if (__builtin_expect(size == -E2BIG, 0))
		record_large(event, arguments, NULL, caller);
	else if (__builtin_expect(size < 0, 0))
		record_slow(event, arguments, NULL, caller);
}

/* ---- anything ---- */

static void record_anything(struct agent_event *event, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller)
{
	_Alignas(8) char buffer[STACK_PAYLOAD];
	int saved_errno = errno;

	if (!recording_is_usual(event, recording_rings(event)))
		record_slow(event, arguments, variadic, caller);
	else if (!build_and_publish(event, arguments, variadic, caller, buffer, sizeof(buffer)))
		record_large(event, arguments, variadic, caller);
	errno = saved_errno;
}

static void record_any(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	(void)description;
	record_anything(priv, arguments, NULL, caller);
}

static void record_variadic(const struct side_event_description *description,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	(void)description;
	record_anything(priv, arguments, variadic, caller);
}

/* As record_hit(), with contexts of the application's. */
static void record_any_hit(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	int saved_errno = errno;

	record_hit(description, arguments, priv, caller);
	errno = saved_errno;
}

/* ---- with a backtrace ---- */

/*
 * The walk of a backtrace begins at the frame that called the callback, which is libside's: the
 * callback's own frame is not walked. Inlined, so that it is the callback whose frame is read.
 */
static inline __attribute__((always_inline)) void record_origin_begin(
		struct context_origin *origin, const void *caller)
{
	const uint64_t *frame = __builtin_frame_address(0);

	*origin = (struct context_origin){.before = context_origin};
#if defined(__x86_64__) && defined(__LP64__)
	/* The frame pointer, then the return address. */
	origin->frame = frame[0];
	origin->pc = frame[1];
	origin->stack = (uintptr_t)(frame + 2);
	origin->until = (uintptr_t)caller;
#else
	(void)frame;
	(void)caller;
#endif
	/* Compiler fence: the content before the pointer, for signal handlers that emit. */
	atomic_signal_fence(memory_order_seq_cst);
	context_origin = origin;
	/* Compiler fence: the pointer before the record is written. */
	atomic_signal_fence(memory_order_seq_cst);
}

static inline __attribute__((always_inline)) void record_origin_end(
		const struct context_origin *origin)
{
	/* Compiler fence: the record before the pointer changes. */
	atomic_signal_fence(memory_order_seq_cst);
	context_origin = origin->before;
}

static GP_ONLY void record_backtrace(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	struct context_origin origin;

	record_origin_begin(&origin, caller);
	record_gp_only_contexts(description, arguments, priv, caller);
	record_origin_end(&origin);
}

static void record_backtrace_any(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	struct context_origin origin;

	record_origin_begin(&origin, caller);
	record_any(description, arguments, priv, caller);
	record_origin_end(&origin);
}

static void record_backtrace_variadic(const struct side_event_description *description,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	struct context_origin origin;

	record_origin_begin(&origin, caller);
	record_variadic(description, arguments, variadic, priv, caller);
	record_origin_end(&origin);
}

/* Within a hit of a probe, the walk begins at the probed code, as that of a probe's own field. */
static GP_ONLY void record_backtrace_hit(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	struct context_origin origin = {.before = context_origin};
	bool known = agent_probes_origin(&origin);

	/* Compiler fence: the content before the pointer, for signal handlers that emit. */
	atomic_signal_fence(memory_order_seq_cst);
	context_origin = known ? &origin : NULL;
	/* Compiler fence: the pointer before the record is written. */
	atomic_signal_fence(memory_order_seq_cst);
	record_hit(description, arguments, priv, caller);
	record_origin_end(&origin);
}

static void record_backtrace_any_hit(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	int saved_errno = errno;

	record_backtrace_hit(description, arguments, priv, caller);
	errno = saved_errno;
}

static side_tracer_callback_func record_choose_backtrace(const struct agent_event *event, bool any)
{
	if (event->of_probe)
		return any ? record_backtrace_any_hit : record_backtrace_hit;
	return any ? record_backtrace_any : record_backtrace;
}

/* ---- filters ---- */

static inline bool agent_record_is_filtered_in(const struct agent_event *event,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, const void *caller)
{
	const struct agent_filter *filter = event->filters, *end = filter + event->nr_filters;

	do {
		if (filter_matches(filter->filter, arguments, variadic, caller, filter->contexts))
			return true;
	} while (++filter != end);
	return false;
}

static GP_ONLY void record_filter_gp_only(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct agent_event *event = priv;

	if (agent_record_is_filtered_in(event, arguments, NULL, caller))
		event->record(description, arguments, priv, caller);
}

/*
 * Within a hit of a probe, by contexts: what has to be read anew is read here, where less of the
 * stack is in use than in the filter.
 */
static GP_ONLY void filter_hit(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct agent_event *event = priv;
	uint8_t i;

	for (i = 0; i < event->nr_filters; i++)
		if (event->filters[i].contexts->user)
			context_renew(event->filters[i].contexts->user);
	record_filter_gp_only(description, arguments, priv, caller);
}

/*
 * At the begin of a call, where a filter may select the call, whose return is recorded then, too:
 * all filters are asked that may do so. Keeps as little as record_filter_gp_only() while a filter
 * runs.
 */
static GP_ONLY inline bool is_entry_wanted(const struct agent_event *event,
		const struct side_arg_vec *arguments, const void *caller)
{
	const struct agent_filter *filter = event->filters;
	bool wanted = event->always;

	for (; filter != event->filters + event->nr_filters; filter++) {
		if (wanted && !filter->selects_calls)
			continue;
		if (!filter_matches(filter->filter, arguments, NULL, caller, filter->contexts))
			continue;
		wanted = true;
		if (!filter->selects_calls)
			continue;
		agent_probes_mark_call(event->channel);
		break;
	}
	return wanted;
}

static GP_ONLY __attribute__((noinline)) void filter_entry(
		const struct agent_event *event, const struct side_arg_vec *arguments, void *caller)
{
	if (is_entry_wanted(event, arguments, caller))
		event->record(event->description, arguments, (void *)(uintptr_t)event, caller);
}

/* The filters may select returns, too. */
static GP_ONLY __attribute__((noinline)) void filter_return(
		const struct agent_event *event, const struct side_arg_vec *arguments, void *caller)
{
	if (agent_probes_is_marked(event->channel) ||
			(event->nr_filters &&
					agent_record_is_filtered_in(
							event, arguments, NULL, caller)))
		event->record(event->description, arguments, (void *)(uintptr_t)event, caller);
}

/*
 * Of both ends of a call, where a filter may select the call. Contexts are read anew as in
 * filter_hit().
 */
static GP_ONLY void filter_call(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct agent_event *event = priv;
	uint8_t i;

	(void)description;
	for (i = 0; i < event->nr_filters; i++)
		if (event->filters[i].contexts->user)
			context_renew(event->filters[i].contexts->user);
	if (event->of_calls)
		filter_return(event, arguments, caller);
	else
		filter_entry(event, arguments, caller);
}

/* Likewise, with contexts of the application's. */
static void filter_call_any(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct agent_event *event = priv;
	int saved_errno = errno;
	bool wanted = event->of_calls ? agent_probes_is_marked(event->channel) ||
					(event->nr_filters &&
							agent_record_is_filtered_in(event,
									arguments, NULL, caller))
				      : is_entry_wanted(event, arguments, caller);

	errno = saved_errno;
	if (wanted)
		event->record(description, arguments, priv, caller);
}

/* A filter may run the application's visitors, too. */
static void filter_any(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	const struct agent_event *event = priv;
	int saved_errno = errno;
	bool wanted = agent_record_is_filtered_in(event, arguments, NULL, caller);

	errno = saved_errno;
	if (wanted)
		event->record(description, arguments, priv, caller);
}

static void filter_variadic(const struct side_event_description *description,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	const struct agent_event *event = priv;
	int saved_errno = errno;
	bool wanted = agent_record_is_filtered_in(event, arguments, variadic, caller);

	errno = saved_errno;
	if (wanted)
		event->record_variadic(description, arguments, variadic, priv, caller);
}

/* ---- */

bool agent_record_is_callback(side_tracer_callback_func call)
{
	return (uintptr_t)call - (uintptr_t)__start_side_gp_only <
			(uintptr_t)__stop_side_gp_only - (uintptr_t)__start_side_gp_only ||
			call == record_any || call == record_any_hit ||
			call == record_backtrace_any || call == record_backtrace_any_hit ||
			call == filter_any || call == filter_call_any;
}

static bool asks_application(const struct context_set *set)
{
	uint32_t i;

	for (i = 0; set && i < set->nr_items; i++)
		if (set->items[i].handle)
			return true;
	return false;
}

static bool runs_application(const struct agent_event *event)
{
	bool runs = event->plan->kind == PLAN_KIND_ANY || asks_application(event->contexts);
	uint32_t i;

	for (i = 0; i < event->nr_filters; i++)
		runs |= event->filters[i].contexts &&
				asks_application(event->filters[i].contexts->user);
	return runs;
}

/* Do its filters? */
static bool asks_contexts(const struct agent_event *event)
{
	uint32_t i;

	for (i = 0; i < event->nr_filters; i++)
		if (event->filters[i].contexts->user)
			return true;
	return false;
}

static bool record_has_backtrace(const struct agent_event *event)
{
	return event->contexts && event->contexts->backtrace_bytes;
}

static side_tracer_callback_func agent_choose_recorder(const struct agent_event *event)
{
	if (record_has_backtrace(event))
		return record_choose_backtrace(event, runs_application(event));
	if (runs_application(event))
		return event->of_probe ? record_any_hit : record_any;
	if (event->of_probe)
		return record_hit;
	switch ((enum plan_kind)event->plan->kind) {
	case PLAN_KIND_SCALAR:
		if (!event->contexts)
			return record_scalar;
		return record_scalar_contexts;
	case PLAN_KIND_GP_ONLY: return event->contexts ? record_gp_only_contexts : record_gp_only;
	case PLAN_KIND_SPAN: return record_span;
	case PLAN_KIND_ANY: break;
	}
	return record_any;
}

void agent_record_choose(struct agent_event *event)
{
	event->scalar_label = event->plan->scalar_label;
	event->scalar_size = event->plan->scalar_size;
	if (event->description->flags & SIDE_EVENT_FLAG_VARIADIC) {
		event->record_variadic = record_has_backtrace(event) ? record_backtrace_variadic
								     : record_variadic;
		event->callback_variadic =
				event->nr_filters ? filter_variadic : event->record_variadic;
		return;
	}
	event->record = agent_choose_recorder(event);
	event->straight = !event->nr_filters && !event->of_calls && !runs_application(event) &&
			!record_has_backtrace(event);
	event->callback = event->record;
	if (event->of_calls || (event->nr_filters && event->selects_calls)) {
		event->callback = runs_application(event) ? filter_call_any : filter_call;
		return;
	}
	if (!event->nr_filters)
		return;
	if (runs_application(event))
		event->callback = filter_any;
	else
		event->callback = event->of_probe && asks_contexts(event) ? filter_hit
									  : record_filter_gp_only;
}
