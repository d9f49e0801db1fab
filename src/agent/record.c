/* SPDX-License-Identifier: MIT */
/*
 * An event happens. The plan writes the payload to the stack, or, if it does not fit there, to one
 * of a few pooled buffers; the ring takes it from there. Runs in any thread and in signal handlers,
 * within itself too: nothing here blocks, allocates or changes errno.
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

#include "agent/agent.h"
#include "wire/raw.h"

#include <sys/mman.h>

/* Payloads up to this size are built on the stack. Signal stacks may be 2 KiB with our frames. */
#define STACK_PAYLOAD 512

#define POOL_BUFFERS 32
#define POOL_BUFFER_SIZE RING_PAYLOAD_MAX

__thread unsigned int agent_depth;
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

/* In a forked child: buffers that other threads of the parent held are nobody's now. */
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

/*
 * The rings of this process. Looked up after whatever may fork (an application's visitor, a signal
 * handler): a child's records belong into its own. Relaxed: they change only in a process with one
 * thread.
 */
static inline struct ring_producer *rings(void)
{
	return __atomic_load_n(&agent.producer, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) void count_lost(
		const struct agent_event *event, enum ring_loss reason)
{
	struct ring_producer *producer = rings();

	if (producer)
		ring_count_lost(producer, event->id, reason);
}

/* Run the plan and publish what it wrote. False: the buffer is too small, nothing has happened. */
static inline bool build_and_publish(const struct agent_event *event,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *buffer, size_t capacity)
{
	ssize_t size = plan_serialize(event->plan, arguments, variadic, buffer, capacity);
	struct ring_producer *producer = rings();

	if (__builtin_expect(size >= 0 && producer, 1)) {
		/* The ring counts what it refuses. */
		ring_publish(producer, event->id, buffer, (size_t)size);
		return true;
	}
	if (size == -E2BIG)
		return false;
	count_lost(event, RING_LOST_INVALID);
	return true;
}

static __attribute__((noinline)) void record_slow(struct agent_event *event,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic)
{
	int index = pool_get();

	/* Relaxed: a hint. */
	__atomic_store_n(&event->large, true, __ATOMIC_RELAXED);
	if (index < 0) {
		count_lost(event, RING_LOST_NO_BUFFER);
		return;
	}
	if (!build_and_publish(event, arguments, variadic, pool + (size_t)index * POOL_BUFFER_SIZE,
			    POOL_BUFFER_SIZE))
		count_lost(event, RING_LOST_TOO_BIG);
	pool_put(index);
}

static inline void record(struct agent_event *event, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic)
{
	_Alignas(8) char buffer[STACK_PAYLOAD];
	int saved_errno = errno;

	/*
	 * Before the rings are looked up, until they are let go: a fork by a signal handler in
	 * between must not take them from under us.
	 */
	agent_depth++;
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(!rings() || !event->recorded, 0))
		; /* a child without rings, or an event that its consumer does not know */
	else if (__builtin_expect(agent_vforked, 0))
		count_lost(event, RING_LOST_NESTED);
	else if (__builtin_expect(__atomic_load_n(&event->large, __ATOMIC_RELAXED), 0) ||
			!build_and_publish(event, arguments, variadic, buffer, sizeof(buffer)))
		record_slow(event, arguments, variadic);
	atomic_signal_fence(memory_order_seq_cst);
	agent_depth--;
	errno = saved_errno;
}

void agent_record(const struct side_event_description *description,
		const struct side_arg_vec *arguments, void *priv, void *caller)
{
	(void)description;
	(void)caller;
	record(priv, arguments, NULL);
}

void agent_record_variadic(const struct side_event_description *description,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *priv, void *caller)
{
	(void)description;
	(void)caller;
	record(priv, arguments, variadic);
}
