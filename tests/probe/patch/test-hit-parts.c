/* SPDX-License-Identifier: MIT */
/*
 * Exact values of hits: entries of threads, their stacks, indices of calls whose returns are
 * watched, calls that are abandoned and come back, and the arguments of handlers. The test includes
 * the file, so that it can call its static functions; the tables belong to the test.
 */
#define patch_gates_grow played_grow
#include "probe/patch/hit.c"
#undef patch_gates_grow

#include <sys/wait.h>

#include "../../check.h"

static bool waitpid_of(pid_t child)
{
	return waitpid(child, NULL, 0) == child;
}

static struct patch_return table[1 << 12];
static uint64_t slots[1 << 12];
static struct patch_hot probe, next_probe[3];
static unsigned int nr_unseen, nr_entries, nr_exits;
static enum patch_unseen last_unseen;
static struct patch_hit seen;
static bool is_refused;

static void note_unseen(const struct patch_hit *hit, enum patch_unseen why)
{
	CHECK(hit->user == probe.user);
	nr_unseen++;
	last_unseen = why;
}

static bool is_permitted(void)
{
	return !is_refused;
}

static void note_entry(const struct patch_hit *hit)
{
	nr_entries++;
	seen = *hit;
}

static void note_exit(const struct patch_hit *hit)
{
	nr_exits++;
	seen = *hit;
}

/* Space for what a hit has on its stack, with the return address of the function. */
static struct {
	struct patch_hit hit;
	uint64_t words[64];
} frame __attribute__((aligned(64)));

static uint64_t *slot_number_of(struct patch_hit *hit)
{
	return (uint64_t *)(void *)((char *)&hit->registers.rbp + PATCH_FRAME_BYTES);
}

/* Gates that are added. */
static uint32_t grown_from, grown_by;
static bool grow_fails;

bool played_grow(uint32_t first, uint32_t count)
{
	grown_from = first;
	grown_by = count;
	return !grow_fails;
}

static struct hit_thread *begin_table(void)
{
	static bool started;

	if (!started) {
		CHECK(!patch_hit_start());
		started = true;
	}
	memset(threads, 0, 64 * sizeof(*threads));
	memset(table, 0, sizeof(table));
	memset(block_ready, 0, 256);
	memset(block_next, 0, 256 * sizeof(*block_next));
	returns = table;
	return_code = (uint8_t *)(uintptr_t)0x700000000000;
	max_returns = sizeof(table) / sizeof(*table);
	nr_blocks = nr_threads = 0;
	lost = foreign = 0;
	copies = PATCH_COPIES_UNKNOWN;
	clock_unit = UINT64_C(1) << 32;
	*process = getpid();
	hooks = (struct patch_hooks){.unseen = note_unseen};
	memset(&probe, 0, sizeof(probe));
	probe = (struct patch_hot){.entry = note_entry,
			.exit = note_exit,
			.user = &nr_exits,
			.generation = 5,
			.first_generation = 5,
			.address = 0x1234,
			.copy = 0x5678,
			.follows = true};
	memset(&frame, 0, sizeof(frame));
	memset(&seen, 0, sizeof(seen));
	nr_unseen = nr_entries = nr_exits = 0;
	is_refused = false;
	self = NULL;
	self = patch_hit_find_entry(true);
	CHECK(self == threads && self->tid == getpid() && self->pid == getpid());
	return self;
}

/* The list of free indices of a thread. */
static bool has_free(const struct hit_thread *thread, uint32_t first, uint32_t second)
{
	return thread->free_list == first && (first == NONE || returns[first].next == second);
}

static struct patch_return *open_call_at(struct hit_thread *thread, uint32_t index)
{
	struct patch_return *each = &returns[index];

	*each = (struct patch_return){.address = 0x9000 + index,
			.slot = &slots[index],
			.probe = &probe,
			.owner = thread->number,
			.state = PATCH_OPEN,
			.call = 100 + index};
	each->generation = 5;
	slots[index] = patch_hit_gate_of(index);
	return each;
}

/* ---- entries ---- */

static void test_entries(void)
{
	struct hit_thread *first = begin_table(), *second;
	pid_t child = fork();

	CHECK(first->scan_at == SCAN_FIRST && first->free_list == NONE && first->blocks == NONE &&
			first->calls == 0 && !first->number);
	if (!child)
		_exit(0);
	CHECK(waitpid_of(child));
	/* The same thread again, then an entry of its own. */
	CHECK(patch_hit_find_entry(true) == first && nr_threads == 1);
	first->tid = 1;
	first->pid = 1;
	second = patch_hit_find_entry(true);
	CHECK(second == threads + 1 && nr_threads == 2 && second->number == 1 &&
			second->calls == UINT64_C(1) << 48);
	/* The entry of a thread that has ended is taken over, with what it owns. */
	second->tid = second->pid = child;
	second->free_list = 77;
	second->scan_at = 999;
	second->inside = &probe;
	second->unaligned = true;
	second->shares = 5;
	second->stack = (struct thread_stack){1, 2};
	second->stacks[0] = (struct thread_stack){5, 6};
	second->stacks[2] = (struct thread_stack){3, 4};
	CHECK(patch_hit_has_ended(child, child) && !patch_hit_has_ended(getpid(), getpid()) &&
			!patch_hit_has_ended(1, 1));
	CHECK(patch_hit_find_entry(true) == second && second->free_list == 77 &&
			second->scan_at == 999 && nr_threads == 2);
	CHECK(!second->inside && !second->unaligned && !second->shares && !second->stack.size &&
			!second->stacks[0].size && !second->stacks[2].size &&
			second->tid == getpid() && second->pid == getpid());
	/* Another thread was faster. */
	CHECK(!patch_hit_claim_thread(second, second->tid + 1, 5, 6) && second->tid == getpid());
	/*
	 * Where no system call is permitted, it has an id that no thread has; entries of other
	 * threads are not changed.
	 */
	second->tid = second->pid = child;
	CHECK(patch_hit_find_entry(false) == threads + 2 && threads[2].tid < 0 && !threads[2].pid &&
			nr_threads == 3);
	CHECK(patch_hit_nameless() == threads[2].tid - 1);
	threads[1].tid = 0;
	CHECK(patch_hit_find_entry(false) == threads + 1);
	/* The last entry, and no free entry. */
	for (uint32_t i = 0; i < THREADS_MAX; i++)
		threads[i].tid = threads[i].pid = 1;
	nr_threads = THREADS_MAX - 1;
	threads[THREADS_MAX - 1].tid = 0;
	CHECK(patch_hit_find_entry(true) == threads + THREADS_MAX - 1 &&
			nr_threads == THREADS_MAX &&
			threads[THREADS_MAX - 1].number == THREADS_MAX - 1);
	threads[THREADS_MAX - 1].tid = threads[THREADS_MAX - 1].pid = 1;
	CHECK(!patch_hit_find_entry(true) && nr_threads == THREADS_MAX);
	CHECK(patch_hit_is_entry(threads) && patch_hit_is_entry(threads + THREADS_MAX - 1) &&
			!patch_hit_is_entry(threads + THREADS_MAX) && !patch_hit_is_entry(NULL) &&
			!patch_hit_is_entry(&own));
	memset(threads, 0, THREADS_MAX * sizeof(*threads));
}

static void test_inside(void)
{
	struct hit_thread *thread = begin_table();

	threads[1].tid = threads[1].pid = 1;
	threads[1].inside = &probe;
	nr_threads = 2;
	CHECK(patch_hit_is_inside(&probe) && !patch_hit_is_inside(&next_probe[0]));
	nr_threads = 1;
	CHECK(!patch_hit_is_inside(&probe));
	nr_threads = 2;
	threads[1].tid = threads[1].pid = INT32_MAX;
	CHECK(!patch_hit_is_inside(&probe));
	/* The calling thread does not wait for itself. */
	thread->inside = &next_probe[0];
	CHECK(!patch_hit_is_inside(&next_probe[0]));
	CHECK(patch_hit_number() == 0 && patch_hit_scratch() == scratch);
	self = threads + 1;
	threads[1].number = 1;
	CHECK(patch_hit_number() == 1 && patch_hit_scratch() == scratch + PATCH_SCRATCH_BYTES);
	self = &own;
	CHECK(patch_hit_number() == -1 && !patch_hit_scratch() && !patch_hit_is_unaligned());
	self = thread;
	thread->inside = NULL;
	CHECK(!patch_hit_is_unaligned() && !thread->unaligned);
	patch_hit_enter_thread(thread, &probe);
	CHECK(thread->inside == &probe && patch_hit_is_unaligned() && thread->unaligned);
	thread->unaligned = false;
	patch_hit_leave_thread(thread);
	CHECK(!thread->inside);
}

/* The only thread of a child has the entry of its parent; all others are free. */
static void test_forked(void)
{
	struct hit_thread *thread = begin_table();
	int status = -1;
	pid_t child;

	threads[1] = (struct hit_thread){.tid = 1, .pid = 1, .inside = &probe};
	threads[2].tid = 9;
	nr_threads = 2;
	thread->shares = 5;
	patch_own_threads[0] = patch_own_threads[PATCH_NR_OWN - 1] = 1;
	child = fork();
	if (!child)
		_exit(thread->pid == getpid() && thread->tid == getpid() && !thread->shares &&
								!threads[1].tid &&
								!threads[1].inside &&
								threads[2].tid == 9 &&
								!patch_own_threads[0] &&
								!patch_own_threads[PATCH_NR_OWN -
										1] &&
								*process == getpid()
						? 7
						: 8);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK(thread->pid == getpid() && threads[1].tid == 1 && thread->shares == 5);
	thread->shares = 0;
	patch_own_threads[0] = patch_own_threads[PATCH_NR_OWN - 1] = 0;
}

/* Threads that side has created have the address of their control block in a list. */
static void test_own_threads(void)
{
	struct hit_thread *thread = begin_table();

	self = NULL;
	CHECK(!patch_hit_begins_as_own() && !self);
	for (unsigned int i = 0; i < PATCH_NR_OWN; i++) {
		self = NULL;
		patch_own_threads[i] = patch_hit_base() + 1;
		CHECK(!patch_hit_begins_as_own() && !self);
		patch_own_threads[i] = patch_hit_base();
		CHECK(patch_hit_begins_as_own() && self == &own);
		patch_own_threads[i] = 0;
	}
	self = thread;
	CHECK(patch_hit_is_of_library());
}

/* ---- stacks ---- */

static bool widens(uint64_t start, uint64_t size, uint64_t address, uint64_t new_start,
		uint64_t new_end)
{
	struct thread_stack stack = {start, size};
	bool done = patch_hit_grow_stack(&stack, address);

	if (!done)
		return !new_end && stack.start == start && stack.size == size;
	return stack.start == new_start && stack.start + stack.size == new_end;
}

static void test_stacks(void)
{
	const struct thread_stack stack = {0x10000, 0x2000};

	CHECK(patch_hit_is_on_stack(&stack, 0x10000) && patch_hit_is_on_stack(&stack, 0x11fff) &&
			!patch_hit_is_on_stack(&stack, 0xffff) &&
			!patch_hit_is_on_stack(&stack, 0x12000));
	CHECK(widens(0x100000, 0x2000, 0x101234, 0x100000, 0x102000));
	CHECK(widens(0x100000, 0x2000, 0x102000, 0x100000, 0x103000));
	CHECK(widens(0x100000, 0x2000, 0xfffff, 0xff000, 0x102000));
	CHECK(widens(0x100000, 0x2000, 0xf0000, 0xf0000, 0x102000));
	CHECK(widens(0x100000, 0x2000, 0xeffff, 0, 0));
	CHECK(widens(0x100000, 0x2000, 0x112000, 0x100000, 0x113000));
	CHECK(widens(0x100000, 0x2000, 0x112fff, 0x100000, 0x113000));
	CHECK(widens(0x100000, 0x2000, 0x113000, 0, 0));
	CHECK(widens(0x100000, 0, 0x100000, 0, 0));
}

static bool has_stack(const struct thread_stack *stack, uint64_t start, uint64_t size)
{
	return stack->start == start && stack->size == size;
}

static void test_kept_stacks(void)
{
	struct hit_thread *thread = begin_table();

	patch_hit_keep_stack(thread, 0x100010);
	CHECK(has_stack(&thread->stack, 0x100000, 0x1000) && thread->next_stack == 1 &&
			!thread->stacks[0].size);
	patch_hit_keep_stack(thread, 0x101010);
	CHECK(has_stack(&thread->stack, 0x100000, 0x2000) && thread->next_stack == 1);
	/* Other stacks use the entries in turn; the previous stack is kept. */
	patch_hit_keep_stack(thread, 0x200000);
	CHECK(has_stack(&thread->stack, 0x200000, 0x1000) &&
			has_stack(&thread->stacks[1], 0x100000, 0x2000));
	patch_hit_keep_stack(thread, 0x300000);
	CHECK(has_stack(&thread->stack, 0x300000, 0x1000) &&
			has_stack(&thread->stacks[2], 0x200000, 0x1000));
	patch_hit_keep_stack(thread, 0x400000);
	CHECK(has_stack(&thread->stacks[0], 0x300000, 0x1000) && thread->next_stack == 4);
	/* Back on one of them, and next to one. */
	patch_hit_keep_stack(thread, 0x101fff);
	CHECK(has_stack(&thread->stack, 0x100000, 0x2000) &&
			has_stack(&thread->stacks[1], 0x400000, 0x1000) && thread->next_stack == 4);
	patch_hit_keep_stack(thread, 0x201000);
	CHECK(has_stack(&thread->stack, 0x200000, 0x2000) &&
			has_stack(&thread->stacks[2], 0x100000, 0x2000));
}

static void test_own(void)
{
	struct hit_thread *thread = begin_table();
	pid_t child;

	/* A new stack of this thread. */
	CHECK(patch_hit_is_own(thread, 0x100000) && has_stack(&thread->stack, 0x100000, 0x1000));
	/* An entry of another process, which shares the memory: its stack is not kept. */
	thread->tid = 1;
	CHECK(!patch_hit_is_own(thread, 0x200000) && thread->shares == getpid() &&
			!thread->stack.size);
	CHECK(!patch_hit_is_alone(thread));
	/* A known stack is not enough while it is shared. */
	thread->stacks[1] = (struct thread_stack){0x300000, 0x1000};
	CHECK(!patch_hit_is_own(thread, 0x300000));
	thread->shares = 0;
	CHECK(patch_hit_is_own(thread, 0x300000) && has_stack(&thread->stack, 0x300000, 0x1000));
	/* The process with which it was shared has ended. */
	child = fork();
	if (!child)
		_exit(0);
	CHECK(waitpid_of(child));
	thread->shares = child;
	thread->shared_hits = 1;
	for (unsigned int i = 1; i < SHARED_CHECK; i++)
		CHECK(!patch_hit_is_alone(thread) && thread->shared_hits == i + 1);
	CHECK(patch_hit_is_alone(thread) && !thread->shares);
	thread->shares = child;
	thread->shared_hits = 0;
	hooks.may_ask = is_permitted;
	is_refused = true;
	CHECK(!patch_hit_is_alone(thread) && thread->shares == child && !patch_hit_may_ask());
	/* No system call is possible: the entry counts as own. */
	CHECK(patch_hit_is_own(thread, 0x900000) && thread->shares == child);
	is_refused = false;
	thread->shares = -1;
	CHECK(!patch_hit_is_alone(thread) && patch_hit_may_ask());
	/* With vfork() the child may use the entry. */
	thread->shares = 0;
	hooks.is_vforked = is_permitted;
	CHECK(patch_hit_is_own(thread, 0x900000) && thread->tid == 1 && !thread->shares);
	is_refused = true;
	CHECK(!patch_hit_is_vforked(thread));
	is_refused = false;
	/* After fork() without handlers, all entries but this one are free. */
	*process = 0;
	hooks.is_vforked = NULL;
	threads[3] = (struct hit_thread){.tid = 1, .pid = 1, .inside = &probe, .shares = 9};
	nr_threads = 4;
	patch_own_threads[0] = 99;
	CHECK(patch_hit_is_copied() && patch_hit_is_own(thread, 0xa00000) &&
			thread->tid == getpid());
	CHECK(!threads[3].tid && !threads[3].inside && !threads[3].shares &&
			threads[3].pid == getpid() && *process == getpid() &&
			!patch_own_threads[0]);
	patch_thread_shares(123);
	CHECK(thread->shares == 123 && !thread->stack.size);
	self = &own;
	patch_thread_shares(124);
	CHECK(thread->shares == 123 && !own.shares);
	self = thread;
}

static void test_find_thread(void)
{
	struct hit_thread *thread = begin_table();
	struct patch_hit *hit = &frame.hit;
	void *before;

	CHECK(patch_hit_is_of_library());
	CHECK(patch_hit_find_thread(hit, &probe) == thread &&
			patch_hit_is_on_stack(&thread->stack, (uint64_t)hit) &&
			patch_hit_is_fast(thread, hit));
	thread->inside = &probe;
	CHECK(!patch_hit_find_thread(hit, &probe) && thread->cut == 1 &&
			!patch_hit_is_fast(thread, hit));
	thread->inside = NULL;
	/* A thread of side, and one without an entry. */
	before = patch_own_begin();
	CHECK(before == thread && self == &own && !patch_hit_find_thread(hit, &probe) && !foreign);
	patch_own_end(before);
	CHECK(self == thread);
	self = NULL;
	CHECK(patch_hit_find_thread(hit, &probe) == thread && self == thread);
	self = NULL;
	patch_thread_begin();
	CHECK(self == thread);
	/* A thread that side has created. */
	self = NULL;
	patch_own_threads[PATCH_NR_OWN - 1] = patch_hit_base();
	CHECK(!patch_hit_find_thread(hit, &probe) && self == &own);
	patch_own_threads[PATCH_NR_OWN - 1] = 0;
	/* Another process: counted, under an entry that is free again afterwards. */
	self = NULL;
	*process = 1;
	CHECK(!patch_hit_find_thread(hit, &probe) && foreign == 1 && nr_unseen == 1 &&
			last_unseen == PATCH_UNSEEN_PROCESS && hit->user == &nr_exits && !self);
	CHECK(nr_threads == 2 && !threads[1].tid && !threads[1].inside);
	CHECK(!patch_hit_find_thread(hit, NULL) && foreign == 1);
	*process = getpid();
	self = thread;
	thread->stack.size = 0;
	thread->tid = 1;
	CHECK(!patch_hit_find_thread(hit, &probe) && foreign == 2);
	/* No entry is free: a hit is lost. */
	self = NULL;
	for (uint32_t i = 0; i < THREADS_MAX; i++)
		threads[i].tid = threads[i].pid = 1;
	nr_threads = THREADS_MAX;
	CHECK(!patch_hit_find_thread(hit, &probe) && lost == 1 && foreign == 2);
	memset(threads, 0, THREADS_MAX * sizeof(*threads));
}

/* ---- indices ---- */

static void test_indices(void)
{
	begin_table();
	block_ready[0] = true;
	CHECK(patch_hit_gate_of(0) == 0x700000000000 + RETURNS_HEAD_BYTES &&
			patch_hit_gate_of(3) - patch_hit_gate_of(0) == 3 * RETURN_BYTES);
	CHECK(patch_hit_index_of(patch_hit_gate_of(0)) == 0 &&
			patch_hit_index_of(patch_hit_gate_of(5)) == 5 &&
			patch_hit_index_of(patch_hit_gate_of(63)) == 63);
	CHECK(patch_hit_index_of(patch_hit_gate_of(5) + RETURN_CALL_BYTES) == 5 &&
			patch_hit_index_of(patch_hit_gate_of(5) + RETURN_CALL_BYTES - 1) == NONE &&
			patch_hit_index_of(patch_hit_gate_of(5) + RETURN_CALL_BYTES + 1) == NONE);
	CHECK(patch_hit_index_of(patch_hit_gate_of(64)) == NONE &&
			patch_hit_index_of(patch_hit_gate_of(0) - 1) == NONE &&
			patch_hit_index_of(patch_hit_gate_of(0) - RETURN_BYTES) == NONE &&
			patch_hit_index_of(0) == NONE);
	block_ready[1] = true;
	CHECK(patch_hit_index_of(patch_hit_gate_of(64)) == 64);
	block_ready[max_returns / BLOCK - 1] = true;
	CHECK(patch_hit_index_of(patch_hit_gate_of(max_returns - 1)) == max_returns - 1 &&
			patch_hit_index_of(patch_hit_gate_of(max_returns)) == NONE);
	returns[5].address = 0x4321;
	CHECK(patch_return_address(patch_hit_gate_of(5)) == 0x4321 &&
			patch_return_address(0x99) == 0x99);
}

static void test_blocks(void)
{
	struct hit_thread *thread = begin_table();

	patch_hit_add_block(thread, 2);
	CHECK(thread->blocks == 2 && block_next[2] == NONE && thread->nr_owned == BLOCK &&
			block_ready[2] && !block_ready[1] && !block_ready[3]);
	CHECK(has_free(thread, 128, 129) && returns[191].next == NONE &&
			returns[191].state == PATCH_FREE && returns[191].owner == 0);
	thread->number = 7;
	patch_hit_add_block(thread, 0);
	CHECK(thread->blocks == 0 && block_next[0] == 2 && thread->nr_owned == 2 * BLOCK &&
			has_free(thread, 0, 1) && returns[63].next == 128 &&
			returns[63].owner == 7);
	/* One block after the other, up to the last one. */
	thread = begin_table();
	nr_blocks = 5;
	patch_hit_take_blocks(thread);
	CHECK(nr_blocks == 6 && has_free(thread, 320, 321) && thread->nr_owned == BLOCK);
	nr_blocks = max_returns / BLOCK - 1;
	patch_hit_take_blocks(thread);
	CHECK(nr_blocks == max_returns / BLOCK &&
			has_free(thread, max_returns - 64, max_returns - 63));
	patch_hit_take_blocks(thread);
	CHECK(nr_blocks == max_returns / BLOCK && thread->nr_owned == 2 * BLOCK);
	/*
	 * After the blocks that are usable from the beginning, only where a system call is
	 * permitted.
	 */
	hooks.may_ask = is_permitted;
	is_refused = true;
	max_returns = RETURNS_FIRST + 2 * RETURNS_GROW;
	nr_blocks = RETURNS_FIRST / BLOCK;
	patch_hit_take_blocks(thread);
	CHECK(nr_blocks == RETURNS_FIRST / BLOCK);
	is_refused = false;
	{
		const uint32_t most = RETURNS_FIRST + 2 * RETURNS_GROW;

		returns = mmap(NULL, most * sizeof(*returns), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		CHECK((void *)returns != MAP_FAILED);
		thread->nr_owned = 0;
		thread->free_list = NONE;
		patch_hit_take_blocks(thread);
		CHECK(grown_from == RETURNS_FIRST && grown_by == RETURNS_GROW &&
				nr_blocks == (RETURNS_FIRST + RETURNS_GROW) / BLOCK);
		CHECK(has_free(thread, RETURNS_FIRST, RETURNS_FIRST + 1) &&
				thread->nr_owned == RETURNS_GROW &&
				block_ready[RETURNS_FIRST / BLOCK] &&
				block_ready[(RETURNS_FIRST + RETURNS_GROW) / BLOCK - 1] &&
				!block_ready[(RETURNS_FIRST + RETURNS_GROW) / BLOCK]);
		CHECK(returns[RETURNS_FIRST + RETURNS_GROW - 1].next == NONE);
		/* Gates that cannot be added are not used. */
		grow_fails = true;
		patch_hit_take_blocks(thread);
		CHECK(grown_from == RETURNS_FIRST + RETURNS_GROW &&
				thread->nr_owned == RETURNS_GROW && nr_blocks == most / BLOCK &&
				!block_ready[most / BLOCK - 1]);
		grow_fails = false;
		memset(block_ready + RETURNS_FIRST / BLOCK, 0, 2 * RETURNS_GROW / BLOCK);
		munmap(returns, most * sizeof(*returns));
		returns = table;
	}
	max_returns = sizeof(table) / sizeof(*table);
	/* The maximum number of calls that are set aside. */
	nr_threads = 0;
	max_returns = 1 << 16;
	CHECK(patch_hit_aside_max() == 16384);
	nr_threads = 2;
	CHECK(patch_hit_aside_max() == 8192);
	max_returns = (1 << 16) + 400;
	nr_threads = 1;
	CHECK(patch_hit_aside_max() == 16384);
	max_returns = (1 << 16) - 4;
	CHECK(patch_hit_aside_max() == 16383);
}

static void test_leads_to(void)
{
	struct hit_thread *thread = begin_table();

	patch_hit_add_block(thread, 0);
	patch_hit_add_block(thread, 1);
	open_call_at(thread, 3);
	CHECK(patch_hit_leads_to(3, patch_hit_gate_of(3)) &&
			patch_hit_leads_to(3, patch_hit_gate_of(3) + RETURN_CALL_BYTES) &&
			!patch_hit_leads_to(3, 0x9000) &&
			!patch_hit_leads_to(3, patch_hit_gate_of(4)));
	/* A tail call: its gate is in the slot of the first one. */
	open_call_at(thread, 4);
	returns[4].state = PATCH_TAIL;
	returns[4].tail_of = 3;
	returns[4].slot = &slots[3];
	CHECK(patch_hit_next_of(&returns[4]) == patch_hit_gate_of(3) + RETURN_CALL_BYTES &&
			patch_hit_next_of(&returns[3]) == 0x9003);
	CHECK(patch_hit_leads_to(3, patch_hit_gate_of(4)) &&
			!patch_hit_leads_to(4, patch_hit_gate_of(3)));
	CHECK(patch_hit_is_overwritten(3, 0x9000) && !patch_hit_is_overwritten(3, 3) &&
			patch_hit_is_overwritten(3, 4) &&
			!patch_hit_is_overwritten(3, patch_hit_gate_of(4)));
	returns[4].slot = &slots[5];
	CHECK(!patch_hit_leads_to(3, patch_hit_gate_of(4)));
	returns[4].slot = &slots[3];
	returns[4].state = PATCH_FREE;
	CHECK(!patch_hit_leads_to(3, patch_hit_gate_of(4)));
	returns[4].state = PATCH_RETURNED;
	CHECK(!patch_hit_leads_to(3, patch_hit_gate_of(4)) && !patch_hit_is_open(&returns[4]));
	returns[4].state = PATCH_TAIL | PATCH_ASIDE;
	CHECK(patch_hit_leads_to(3, patch_hit_gate_of(4)) && patch_hit_is_open(&returns[4]));
	/* So many tail calls are followed; beyond them the call is treated as open. */
	for (uint32_t i = 10; i < 80; i++) {
		open_call_at(thread, i);
		returns[i].slot = &slots[3];
		returns[i].state = PATCH_TAIL;
		returns[i].tail_of = i - 1;
	}
	returns[10].address = 0x9999;
	returns[10].state = PATCH_OPEN;
	CHECK(!patch_hit_leads_to(3, patch_hit_gate_of(10 + TAIL_CALLS_MAX - 2)) &&
			patch_hit_leads_to(3, patch_hit_gate_of(10 + TAIL_CALLS_MAX - 1)));
}

/* ---- ends of calls ---- */

static void test_close_call(void)
{
	struct hit_thread *thread = begin_table();
	struct patch_return *each;
	uint64_t stack_slot = 0x9002;

	patch_hit_add_block(thread, 0);
	threads[1].abandoned = threads[0].abandoned = 5;
	nr_threads = 2;
	each = open_call_at(thread, 2);
	patch_hit_close_call(thread, each, &stack_slot);
	CHECK(each->state == PATCH_FREE && has_free(thread, 2, 0) && stack_slot == 0x9002);
	/* In another thread: the owner frees it later. */
	each = open_call_at(thread, 3);
	each->owner = 1;
	patch_hit_close_call(thread, each, &stack_slot);
	CHECK(each->state == PATCH_RETURNED && has_free(thread, 2, 0));
	/* A tail call continues in the gate of the first one. */
	each = open_call_at(thread, 4);
	each->state = PATCH_TAIL;
	each->tail_of = 9;
	patch_hit_close_call(thread, each, &stack_slot);
	CHECK(each->state == PATCH_FREE && has_free(thread, 4, 2) &&
			stack_slot == patch_hit_gate_of(9) + RETURN_CALL_BYTES);
	CHECK(copies == PATCH_COPIES_UNKNOWN);
	/*
	 * The call seemed abandoned: it was in a copy of the stack, unless it returns in another
	 * thread.
	 */
	each = open_call_at(thread, 5);
	each->state = PATCH_OPEN | PATCH_ASIDE;
	each->owner = 1;
	patch_hit_close_call(thread, each, &stack_slot);
	CHECK(each->state == PATCH_RETURNED && threads[1].abandoned == 4 &&
			threads[0].abandoned == 5 && copies == PATCH_COPIES_UNKNOWN &&
			stack_slot == 0x9005);
	each = open_call_at(thread, 6);
	each->state = PATCH_OPEN | PATCH_ASIDE;
	patch_hit_close_call(thread, each, &stack_slot);
	CHECK(each->state == PATCH_FREE && threads[0].abandoned == 4 &&
			copies == PATCH_COPIES_ONCE && has_free(thread, 6, 4));
	/* A call that can return several times keeps its index. */
	each = open_call_at(thread, 7);
	each->state = PATCH_OPEN | PATCH_KEPT;
	patch_hit_close_call(thread, each, &stack_slot);
	CHECK(each->state == (PATCH_OPEN | PATCH_KEPT) && has_free(thread, 6, 4) &&
			stack_slot == 0x9007);
	/*
	 * A call that has returned before returns again: calls are not watched any more, and open
	 * ones are kept.
	 */
	each = open_call_at(thread, 8);
	open_call_at(thread, 9);
	open_call_at(thread, 10);
	returns[10].state = PATCH_TAIL | PATCH_ASIDE;
	nr_blocks = 2;
	each->state = PATCH_FREE;
	stack_slot = 1;
	patch_hit_close_call(thread, each, &stack_slot);
	CHECK(each->state == PATCH_FREE && copies == PATCH_COPIES_OFTEN && stack_slot == 1 &&
			has_free(thread, 6, 4));
	CHECK(returns[9].state == (PATCH_OPEN | PATCH_KEPT) &&
			returns[10].state == (PATCH_TAIL | PATCH_ASIDE | PATCH_KEPT) &&
			returns[6].state == PATCH_FREE && returns[3].state == PATCH_RETURNED);
	/* The value only grows. */
	patch_hit_copies(PATCH_COPIES_ONCE);
	CHECK(copies == PATCH_COPIES_OFTEN && patch_hit_known_copies() == PATCH_COPIES_OFTEN);
}

static void test_slots(void)
{
	uint64_t value = 7;

	slots[0] = 0x1122;
	CHECK(patch_hit_read_slot(&slots[0], &value) && value == 0x1122);
	CHECK(patch_hit_read_slot((uint64_t *)(uintptr_t)16, &value) && value == 0);
}

static void test_abandoned(void)
{
	struct hit_thread *thread = begin_table();

	patch_hit_add_block(thread, 0);
	nr_blocks = 1;
	thread->free_list = NONE;
	for (uint32_t i = 0; i < BLOCK; i++)
		open_call_at(thread, i);
	CHECK(patch_hit_count_open() == BLOCK);
	/* Returned elsewhere, overwritten, returning now, kept, and unmapped memory. */
	returns[3].state = PATCH_RETURNED;
	slots[4] = 0x77;
	slots[5] = 5;
	slots[6] = 0x77;
	returns[6].state = PATCH_OPEN | PATCH_KEPT;
	returns[7].slot = (uint64_t *)(uintptr_t)16;
	patch_hit_find_abandoned(thread, 100);
	CHECK(has_free(thread, 3, NONE) && returns[3].state == PATCH_FREE);
	CHECK(returns[4].state == (PATCH_OPEN | PATCH_ASIDE) && returns[5].state == PATCH_OPEN &&
			returns[6].state == (PATCH_OPEN | PATCH_KEPT) &&
			returns[7].state == (PATCH_OPEN | PATCH_ASIDE) &&
			returns[8].state == PATCH_OPEN);
	CHECK(thread->abandoned == 2 && thread->aside == 2 && thread->set_aside == 2 &&
			returns[4].aside == 0 && returns[7].aside == 1 &&
			thread->scan_at == SCAN_FIRST);
	CHECK(patch_hit_count_open() == BLOCK - 3);
	/* Its slot has its gate again: a copy of the stack has come back. */
	slots[4] = patch_hit_gate_of(4);
	patch_hit_find_abandoned(thread, 100);
	CHECK(returns[4].state == PATCH_OPEN && thread->abandoned == 1 &&
			copies == PATCH_COPIES_ONCE && thread->aside == 0);
	/* No index is used again from now on. */
	patch_hit_find_abandoned(thread, 0);
	CHECK(returns[7].state == (PATCH_OPEN | PATCH_ASIDE) && has_free(thread, 3, NONE));
	copies = PATCH_COPIES_UNKNOWN;
	/* Another number in the slot is not a gate: the call is open, and not a copy. */
	slots[9] = 0x77;
	patch_hit_find_abandoned(thread, 100);
	CHECK(returns[9].state == (PATCH_OPEN | PATCH_ASIDE) && returns[9].aside == 2 &&
			thread->aside == 2);
	slots[9] = 9;
	patch_hit_find_abandoned(thread, 100);
	CHECK(returns[9].state == PATCH_OPEN && copies == PATCH_COPIES_UNKNOWN &&
			thread->aside == 1);
	/* After so many other calls the call has ended. */
	thread->set_aside = 1 + 100 - 1;
	patch_hit_find_abandoned(thread, 100);
	CHECK(returns[7].state == (PATCH_OPEN | PATCH_ASIDE));
	thread->set_aside++;
	patch_hit_find_abandoned(thread, 100);
	CHECK(returns[7].state == PATCH_FREE && has_free(thread, 7, 3) && thread->aside == 0);
	/* Where no system call is permitted, only calls that returned elsewhere are freed. */
	hooks.may_ask = is_permitted;
	is_refused = true;
	slots[10] = 0x77;
	returns[11].state = PATCH_RETURNED;
	patch_hit_find_abandoned(thread, 0);
	CHECK(returns[10].state == PATCH_OPEN && has_free(thread, 11, 7));
	is_refused = false;
	/* A change by the other thread wins. */
	CHECK(!patch_hit_set_state(&returns[10], PATCH_RETURNED, PATCH_FREE) &&
			returns[10].state == PATCH_OPEN);
}

static void test_more_returns(void)
{
	struct hit_thread *thread = begin_table();

	CHECK(patch_hit_more_returns(thread) == 0 && nr_blocks == 1 && thread->nr_owned == BLOCK);
	/* Twice as many as are open, until they are checked again. */
	for (unsigned int i = 1; i < 4; i++)
		patch_hit_take_blocks(thread);
	CHECK(thread->nr_owned == SCAN_FIRST && nr_blocks == 4);
	for (uint32_t i = 0; i < SCAN_FIRST; i++)
		open_call_at(thread, i);
	thread->free_list = NONE;
	returns[200].state = PATCH_RETURNED;
	CHECK(patch_hit_more_returns(thread) == 200 && thread->scan_at == 2 * (SCAN_FIRST - 1) &&
			nr_blocks == 4);
	/* No index is left: those that are set aside are used. */
	thread->free_list = NONE;
	returns[200].state = PATCH_OPEN;
	nr_blocks = max_returns / BLOCK;
	slots[20] = 0x77;
	thread->scan_at = 1;
	CHECK(patch_hit_more_returns(thread) == 20 && returns[20].state == PATCH_FREE);
	thread->free_list = NONE;
	open_call_at(thread, 20);
	thread->scan_at = 10000;
	thread->aside = 0;
	slots[21] = 0x77;
	CHECK(patch_hit_more_returns(thread) == NONE && returns[21].state == PATCH_OPEN);
}

/* ---- hits ---- */

static void test_enter(void)
{
	struct hit_thread *thread = begin_table();
	struct patch_hit *hit = &frame.hit;

	hit->call = 9;
	patch_enter(hit, &probe);
	CHECK(nr_entries == 1 && seen.user == &nr_exits && seen.address == 0x1234 && !seen.call &&
			seen.stack == slot_number_of(hit));
	CHECK(!thread->inside);
	thread->inside = &probe;
	patch_enter(hit, &probe);
	CHECK(nr_entries == 1 && thread->cut == 1);
	thread->inside = NULL;
	probe.entry = NULL;
	patch_enter(hit, &probe);
	CHECK(nr_entries == 1 && !thread->inside);
	/*
	 * The first hit of a thread, a thread of side, and another process with the memory of this
	 * one.
	 */
	probe.entry = note_entry;
	self = NULL;
	patch_enter(hit, &probe);
	CHECK(nr_entries == 2 && self == thread);
	self = &own;
	patch_enter(hit, &probe);
	CHECK(nr_entries == 2);
	self = thread;
	thread->stack.size = 0;
	thread->tid = 1;
	patch_enter(hit, &probe);
	CHECK(nr_entries == 2 && foreign == 1 && nr_unseen == 1);
}

static void test_followed(void)
{
	struct hit_thread *thread = begin_table();
	struct patch_hit *hit = &frame.hit;
	static const struct patch_code code = {0x400000, 0x1000};
	uint64_t *slot = slot_number_of(hit);
	struct patch_return *each;
	uint16_t *marks;

	patch_hit_add_block(thread, 0);
	probe.caller = &code;
	*slot = 0x400fff;
	CHECK(patch_enter_followed(hit, &probe) && nr_entries == 1 &&
			*slot == patch_hit_gate_of(0));
	each = &returns[0];
	CHECK(each->address == 0x400fff && each->copy == 0x5678 && each->slot == slot &&
			each->probe == &probe && each->generation == 5 && each->call == 1 &&
			each->state == PATCH_OPEN && each->marks == 0);
	CHECK(each->began && seen.call == 1 && seen.returns_to == 0x400fff &&
			seen.began == &each->began && has_free(thread, 1, 2) && !thread->inside);
	marks = patch_hit_marks(&seen, false);
	CHECK(marks == &each->marks);
	*marks = 0x55;
	/* Its return. */
	each->began = 1;
	frame.hit.registers.rax = 3;
	{
		uint64_t stack_slot = 0;

		patch_clock(UINT64_C(1) << 31);
		patch_leave(hit, &stack_slot);
		CHECK(nr_exits == 1 && stack_slot == 0x400fff && seen.call == 1 &&
				seen.stack == slot + 1 && seen.returns_to == 0x400fff &&
				seen.user == &nr_exits && seen.address == 0x1234);
		CHECK(seen.elapsed == (seen.now - 1) / 2);
	}
	/* Its index is the first that is used again. */
	CHECK(each->state == PATCH_FREE && has_free(thread, 0, 1) && !thread->inside);
	/* A caller in no known range, of no file. */
	*slot = 0x500000;
	hit->call = 5;
	CHECK(!patch_enter_followed(hit, &probe) && nr_entries == 2 && *slot == 0x500000 &&
			!seen.call && nr_unseen == 1 && last_unseen == PATCH_UNSEEN_CALLER &&
			thread->unseen == 1 && has_free(thread, 0, 1));
	CHECK(!patch_hit_marks(&seen, false) && probe.caller == &code);
	/* A tail call: the gate of the first call is there. */
	*slot = 0x400001;
	CHECK(patch_enter_followed(hit, &probe) && *slot == patch_hit_gate_of(0));
	CHECK(patch_enter_followed(hit, &probe) && *slot == patch_hit_gate_of(1) &&
			returns[1].state == PATCH_TAIL && returns[1].tail_of == 0 &&
			returns[1].address == 0x400001 && seen.returns_to == 0x400001 &&
			returns[1].call == 3);
	/* No index is free, and there are no more. */
	*slot = patch_hit_gate_of(0);
	thread->free_list = NONE;
	nr_blocks = max_returns / BLOCK;
	CHECK(!patch_enter_followed(hit, &probe) && last_unseen == PATCH_UNSEEN_FULL &&
			nr_unseen == 2);
	nr_blocks = 1;
	CHECK(patch_enter_followed(hit, &probe) && *slot == patch_hit_gate_of(64) &&
			nr_blocks == 2);
	/* The program copies its stack. */
	copies = PATCH_COPIES_OFTEN;
	*slot = 0x600000;
	CHECK(!patch_enter_followed(hit, &probe) && last_unseen == PATCH_UNSEEN_COPIED &&
			nr_unseen == 3 && thread->unseen == 3);
	/* The probe was removed meanwhile. */
	probe.follows = false;
	nr_entries = 0;
	CHECK(!patch_enter_followed(hit, &probe) && !nr_entries && !thread->inside);
}

static void test_marks(void)
{
	struct patch_hit *hit = &frame.hit;
	uint64_t *stack_slot = (uint64_t *)(uintptr_t)patch_returning_slot(hit);

	begin_table();
	returns[3].call = 8;
	hit->call = 8;
	*stack_slot = 3;
	CHECK(patch_hit_marks(hit, true) == &returns[3].marks);
	hit->call = 9;
	CHECK(!patch_hit_marks(hit, true));
	hit->call = 0;
	CHECK(!patch_hit_marks(hit, true));
	hit->call = 8;
	*stack_slot = max_returns;
	CHECK(!patch_hit_marks(hit, true));
	returns[max_returns - 1].call = 8;
	*stack_slot = max_returns - 1;
	CHECK(patch_hit_marks(hit, true) == &returns[max_returns - 1].marks);
	CHECK((char *)stack_slot - (char *)&hit->registers.rbp == PATCH_RETURN_FRAME_BYTES);
}

/* The call began before its probe was set again. */
static void test_take_over(void)
{
	struct hit_thread *thread = begin_table();
	struct patch_hit *hit = &frame.hit;
	struct patch_return *each;
	uint64_t stack_slot;

	patch_hit_add_block(thread, 0);
	each = open_call_at(thread, 2);
	each->generation = 4;
	stack_slot = 2;
	patch_leave(hit, &stack_slot);
	CHECK(!nr_exits && stack_slot == 0x9002 && each->state == PATCH_FREE);
	each = open_call_at(thread, 2);
	each->generation = 4;
	probe.first_generation = 4;
	stack_slot = 2;
	patch_leave(hit, &stack_slot);
	CHECK(nr_exits == 1);
	each = open_call_at(thread, 2);
	each->generation = 4;
	probe.first_generation = UINT32_MAX - 1; /* older: the numbers wrap around */
	stack_slot = 2;
	patch_leave(hit, &stack_slot);
	CHECK(nr_exits == 2);
	/* Another probe of the same location takes over the call. */
	next_probe[0] = probe;
	next_probe[0].exit = NULL;
	next_probe[0].successor = 2;
	next_probe[2] = probe;
	next_probe[2].first_generation = 4;
	next_probe[2].address = 0x7777;
	each = open_call_at(thread, 2);
	each->generation = 4;
	each->probe = next_probe;
	stack_slot = 2;
	patch_leave(hit, &stack_slot);
	CHECK(nr_exits == 3 && seen.address == 0x7777 && !thread->inside);
	next_probe[2].first_generation = 5;
	each = open_call_at(thread, 2);
	each->generation = 4;
	each->probe = next_probe;
	stack_slot = 2;
	patch_leave(hit, &stack_slot);
	CHECK(nr_exits == 3 && stack_slot == 0x9002);
	/* A signal within a handler: not recorded, and the index is freed later. */
	each = open_call_at(thread, 2);
	thread->inside = &probe;
	stack_slot = 2;
	patch_leave(hit, &stack_slot);
	CHECK(nr_exits == 3 && stack_slot == 0x9002 && each->state == PATCH_OPEN &&
			thread->cut == 1);
	thread->inside = NULL;
}

/* A page that was read before is loaded; an unmapped page is not, and is counted. */
static void test_reads(void)
{
	struct patch_reading *known = NULL;
	uint64_t value = 0, had;
	uint64_t *page = mmap(
			NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t from = (uint64_t)(uintptr_t)page + 16;
	char text[16];

	CHECK(page != MAP_FAILED);
	begin_table();
	CHECK(!patch_permit_reads(true));
	page[2] = 0x1122334455667788;
	had = patch_reading_faults();
	CHECK(!patch_read(&value, from, 8, &known) && !value);
	patch_note_read(from, 8);
	known = NULL;
	CHECK(patch_read(&value, from, 8, &known) && value == 0x1122334455667788 && known);
	CHECK(patch_read(&value, from + 4, 4, &known) && (uint32_t)value == 0x11223344);
	CHECK(!patch_read(&value, from, 0, &known) &&
			!patch_read(&value, (uint64_t)(uintptr_t)page + PAGE - 7, 8, &known) &&
			patch_read(&value, (uint64_t)(uintptr_t)page + PAGE - 8, 8, &known));
	strcpy((char *)page + 100, "kettle");
	CHECK(patch_read_text(text, (uint64_t)(uintptr_t)page + 100, 10, &known) == 6 &&
			!strcmp(text, "kettle"));
	CHECK(patch_read_text(text, (uint64_t)(uintptr_t)page + 100, 3, &known) == 3);
	CHECK(patch_reading_faults() == had);
	CHECK(!munmap(page, PAGE));
	/* The page is checked again after a while, and is then not loaded. */
	CHECK(!patch_read(&value, from, 8, &known));
	CHECK(patch_reading_faults() <= had + 1);
	CHECK(!patch_read(&value, from, 8, &known) && patch_reading_faults() <= had + 1);
	CHECK(!patch_permit_reads(false));
	known = NULL;
	CHECK(!patch_read(&value, from, 8, &known) && !known);
}

static void test_statistics(void)
{
	struct patch_stats stats = {.cut = 1, .unseen = 2, .abandoned = 3};
	struct hit_thread *thread = begin_table();

	patch_hit_add_block(thread, 0);
	nr_blocks = 2; /* the second one is not ready */
	block_ready[2] = true;
	open_call_at(thread, 128);
	open_call_at(thread, 1);
	open_call_at(thread, 2)->state = PATCH_TAIL;
	open_call_at(thread, 3)->state = PATCH_OPEN | PATCH_ASIDE;
	open_call_at(thread, 64);
	nr_threads = 2;
	threads[0].cut = 10;
	threads[1].cut = 100;
	threads[0].unseen = 20;
	threads[1].unseen = 200;
	threads[0].abandoned = 30;
	threads[1].abandoned = 300;
	threads[2].cut = threads[2].unseen = 5000;
	lost = 7;
	foreign = 70;
	patch_hit_stats(&stats);
	CHECK(stats.cut == 111 && stats.unseen == 222 && stats.abandoned == 333 &&
			stats.lost == 77 && stats.open == 2);
}

/* ---- alignment ---- */

/* Returns whether the flag is set, and clears it. */
static bool takes_alignment_check(void)
{
	unsigned long long flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(flags & ~(unsigned long long)PATCH_ALIGNMENT_CHECK);
	return flags & PATCH_ALIGNMENT_CHECK;
}

/* The flag that a hit has cleared is set again at its end, once. */
static void test_alignment(void)
{
	struct hit_thread *thread = begin_table();

	self = thread;
	CHECK(!patch_hit_is_unaligned() && !thread->unaligned);
	thread->inside = &probe;
	CHECK(patch_hit_is_unaligned() && thread->unaligned);
	CHECK(!takes_alignment_check());
	patch_hit_leave_thread(thread);
	CHECK(takes_alignment_check());
	CHECK(!thread->unaligned && !thread->inside);
	thread->inside = &probe;
	patch_hit_leave_thread(thread);
	CHECK(!takes_alignment_check());
	self = NULL;
	CHECK(!patch_hit_is_unaligned());
}

/* Open calls are kept once the program copies its stack often, if their blocks are ready. */
static void test_kept_calls(void)
{
	struct hit_thread *thread = begin_table();
	static const uint8_t states[] = {PATCH_OPEN, PATCH_TAIL, PATCH_FREE, PATCH_OPEN};

	patch_hit_add_block(thread, 0);
	patch_hit_add_block(thread, 2);
	nr_blocks = 3;
	for (uint32_t i = 0; i < 4; i++) {
		returns[i].state = states[i];
		returns[64 + i].state = returns[191 - i].state = returns[192 + i].state = states[i];
	}
	patch_hit_copies(PATCH_COPIES_ONCE);
	CHECK(patch_hit_known_copies() == PATCH_COPIES_ONCE);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(returns[i].state == states[i]);
	patch_hit_copies(PATCH_COPIES_OFTEN);
	CHECK(patch_hit_known_copies() == PATCH_COPIES_OFTEN);
	for (uint32_t i = 0; i < 4; i++) {
		unsigned int kept = states[i] == PATCH_FREE ? PATCH_FREE : states[i] | PATCH_KEPT;

		CHECK(returns[i].state == kept && returns[191 - i].state == kept);
		/* Returns of a block that is not ready, and of one that does not exist. */
		CHECK(returns[64 + i].state == states[i] && returns[192 + i].state == states[i]);
	}
	/* The value only grows; calls that begin later are not kept. */
	returns[0].state = PATCH_OPEN;
	patch_hit_copies(PATCH_COPIES_OFTEN);
	patch_hit_copies(PATCH_COPIES_ONCE);
	CHECK(patch_hit_known_copies() == PATCH_COPIES_OFTEN && returns[0].state == PATCH_OPEN);
	copies = PATCH_COPIES_UNKNOWN;
}

/* The data of a watched call. */
static void test_follow(void)
{
	struct hit_thread *thread = begin_table();
	struct patch_return *each;
	uint64_t word = 0x4444;

	patch_hit_add_block(thread, 0);
	memset(&returns[0].began, 0xee, sizeof(returns[0].began));
	memset(&returns[1].began, 0xee, sizeof(returns[1].began));
	frame.hit.stack = &word;
	thread->calls = 50;
	each = patch_hit_follow_call(thread, &probe, &frame.hit, 0, NONE);
	CHECK(each == &returns[0] && each->address == 0x4444 && frame.hit.returns_to == 0x4444 &&
			each->slot == &word && each->probe == &probe && each->begin == 5 &&
			each->copy == 0x5678 && each->call == 51 && frame.hit.call == 51 &&
			!each->began && frame.hit.began == &each->began &&
			each->state == PATCH_OPEN && word == patch_hit_gate_of(0) &&
			thread->free_list == 1 && thread->calls == 51);
	/* A tail call of that call. */
	each = patch_hit_follow_call(thread, &probe, &frame.hit, 1, 0);
	CHECK(each == &returns[1] && each->address == 0x4444 && each->tail_of == 0 &&
			each->state == PATCH_TAIL && each->call == 52 && !each->began &&
			word == patch_hit_gate_of(1) && thread->free_list == 2);
}

/* The gates of this process. Called once: the tests above have tables of their own. */
static void test_gates(void)
{
	const uint8_t *code;

	begin_table();
	CHECK(!patch_hit_follow() && returns == table);
	returns = NULL;
	CHECK(!patch_hit_follow() && returns && (void *)returns != (void *)table);
	code = return_code;
	CHECK(code >= patch_gates && code < patch_gates + GATES_BYTES && max_returns &&
			patch_gate_range.first == patch_hit_gate_of(0) &&
			patch_gate_range.last == patch_hit_gate_of(max_returns) &&
			patch_callers_wanted());
	CHECK(!patch_hit_follow() && return_code == code);
}

int main(void)
{
	test_alignment();
	test_entries();
	test_inside();
	test_forked();
	test_stacks();
	test_kept_stacks();
	test_own();
	test_find_thread();
	test_indices();
	test_blocks();
	test_leads_to();
	test_close_call();
	test_slots();
	test_abandoned();
	test_more_returns();
	test_enter();
	test_followed();
	test_marks();
	test_take_over();
	test_reads();
	test_statistics();
	self = NULL;
	test_own_threads();
	test_kept_calls();
	test_follow();
	test_gates();
	return 0;
}
