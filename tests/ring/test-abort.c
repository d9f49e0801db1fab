/* SPDX-License-Identifier: MIT */
/*
 * Interrupts the restartable sections at every single instruction.
 *
 * The test first lists the instructions of a publication, by stepping through it while rseq is
 * unregistered from the thread (otherwise each step would abort it). Then it sets a breakpoint at
 * each of them within a section, and repeats the publication:
 *
 *	nested	the handler of the trap publishes a record itself. Both must be complete, the inner
 *		one first, although the outer one had written up to that instruction.
 *	killed	the handler kills the process. The ring must be unchanged, and usable.
 *
 * The same for rings that overwrite (where the marks of sub-buffers and the claim must stay valid),
 * rings per thread, records in two parts, and scalars with and without a prefix.
 *
 * At last a debugger: stepping through a whole publication ends, with a record that is counted.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "decode.h"
#include "ring/section.h"

#if RING_HAS_SECTION

#define RSEQ_SIGNATURE 0x53053053
#define RSEQ_BYTES 32
#define TRAP_FLAG 0x100

/* struct rseq_cs of the kernel's ABI. */
struct section {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

extern const struct section __start___rseq_cs[], __stop___rseq_cs[];
extern const ptrdiff_t __rseq_offset;
extern const unsigned int __rseq_size;

struct publication {
	uint32_t id;
	uint32_t size;
	bool stale_limit; /* Must read the consumer's tail. */
	bool alias;       /* The head has the present epoch by chance. */
};

static const struct publication publications[] = {
		{5, 0, false, false},
		{5, 3, false, false},
		{5, 5, true, false},
		{5, 12, false, false},
		{29, 40, false, false},
		{5, 5000, false, false},
		{30, 0, false, false},
		{300, 17, true, false},
		{70000, 0, false, false},
		{70000, 100, true, false},
		{UINT32_MAX, 4500, false, false},
		{5, 20, false, true},
		{300, 20, true, true},
};
#define PUBLICATIONS (sizeof(publications) / sizeof(publications[0]))

/* Of scalars. */
static const struct publication scalar_publications[] = {
		{5, 4, false, false},
		{29, 8, true, false},
		{30, 4, false, false},
		{5, 1, false, false},
		{300, 8, false, false},
		{5, 2, true, false},
		{300, 2, false, false},
		{5, 4, false, true},
		{65535, 1, true, false},
};
#define SCALARS (sizeof(scalar_publications) / sizeof(scalar_publications[0]))

/* Of scalars with a time that was just read. */
static const struct publication timed[] = {
		{5, 0, false, false},
		{29, 8, true, false},
		{30, 16, false, false},
		{5, 16, false, false},
		{300, 4, true, false},
		{5, 8, false, true},
		{65535, 0, true, false},
};
#define TIMED_SCALARS (sizeof(timed) / sizeof(timed[0]))

/* Of scalars after prefixes: the last 4 bytes, or with an even size the last 8. */
static const struct publication prefixed[] = {
		{5, 25, false, false},
		{29, 40, true, false},
		{30, 9, false, false},
		{5, 12, false, false},
		{300, 20, false, false},
		{5, 21, false, true},
		{65535, 36, false, false},
		{5, 35, false, false},
		{300, 17, false, false},
};
#define PREFIXED (sizeof(prefixed) / sizeof(prefixed[0]))

/* The sections to try. */
static const struct kind {
	const char *name;
	enum ring_mode mode;
	enum ring_placement placement;
	bool parts;
	unsigned int backend;
	enum { PLAIN, SCALAR, PREFIX, TIMED } scalars; /* Of which list. */
	bool all; /* False: a short run tries one in three, and half of the kills. */
} kinds[] = {
		{"discard", RING_MODE_DISCARD, RING_PER_CPU, false, 0, PLAIN, true},
		{"discard", RING_MODE_DISCARD, RING_PER_CPU, false, 1, PLAIN, false},
		{"discard, parts", RING_MODE_DISCARD, RING_PER_CPU, true, 1, PLAIN, false},
		{"discard, per thread, parts", RING_MODE_DISCARD, RING_PER_THREAD, true, 0, PLAIN,
				false},
		{"overwrite", RING_MODE_OVERWRITE, RING_PER_CPU, false, 0, PLAIN, false},
		{"overwrite, parts", RING_MODE_OVERWRITE, RING_PER_CPU, true, 1, PLAIN, false},
		{"overwrite, per thread", RING_MODE_OVERWRITE, RING_PER_THREAD, false, 1, PLAIN,
				false},
		{"overwrite, per thread, parts", RING_MODE_OVERWRITE, RING_PER_THREAD, true, 0,
				PLAIN, false},
		{"discard, scalars", RING_MODE_DISCARD, RING_PER_CPU, false, 0, SCALAR, true},
		{"discard, per thread, scalars", RING_MODE_DISCARD, RING_PER_THREAD, false, 0,
				SCALAR, false},
		{"overwrite, scalars", RING_MODE_OVERWRITE, RING_PER_CPU, false, 0, SCALAR, false},
		{"overwrite, per thread, scalars", RING_MODE_OVERWRITE, RING_PER_THREAD, false, 0,
				SCALAR, false},
		{"discard, timed", RING_MODE_DISCARD, RING_PER_CPU, false, 0, TIMED, true},
		{"discard, per thread, timed", RING_MODE_DISCARD, RING_PER_THREAD, false, 0, TIMED,
				false},
		{"overwrite, timed", RING_MODE_OVERWRITE, RING_PER_CPU, false, 0, TIMED, false},
		{"overwrite, per thread, timed", RING_MODE_OVERWRITE, RING_PER_THREAD, false, 0,
				TIMED, false},
		{"discard, prefixed", RING_MODE_DISCARD, RING_PER_CPU, false, 0, PREFIX, true},
		{"overwrite, prefixed", RING_MODE_OVERWRITE, RING_PER_CPU, false, 0, PREFIX, false},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct kind *kind;

static struct ring_producer *producer;
static struct ring_consumer *consumer;
static int ring_fd;
static unsigned char payload[5000];

/* The layout of struct ring_prefix. */
static struct {
	uint64_t stamp, size;
	unsigned char bytes[64];
} prefix;

static enum { TRACE, NEST, KILL, STEP } action;
static uintptr_t seen[4096];
static unsigned int seen_count;
static volatile bool stepping;
static unsigned char *volatile breakpoint;
static unsigned char original;
static volatile unsigned int hits, aborted;
static uint64_t steps;

static unsigned char *rseq_area(void)
{
	return (unsigned char *)__builtin_thread_pointer() + __rseq_offset;
}

static const struct section *section_of(uintptr_t address)
{
	for (const struct section *s = __start___rseq_cs; s < __stop___rseq_cs; s++) {
		if (address - s->start < s->length)
			return s;
	}
	return NULL;
}

static void text_write(unsigned char *at, unsigned char byte)
{
	uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;

	CHECK(mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0, "mprotect");
	*(volatile unsigned char *)at = byte;
	CHECK(mprotect((void *)page, 8192, PROT_READ | PROT_EXEC) == 0, "mprotect");
}

static void trap(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t at = (uintptr_t)registers[REG_RIP];
	const struct section *section;

	(void)signal;
	(void)info;
	if (action == TRACE || action == STEP) {
		steps++;
		if (action == TRACE && section_of(at) && seen_count < 4096 &&
				(!seen_count || seen[seen_count - 1] != at))
			seen[seen_count++] = at;
		if (!stepping)
			registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
		return;
	}
	hits++;
	if (action == KILL)
		kill(getpid(), SIGKILL);
	/* The kernel must have aborted the section already. */
	section = section_of((uintptr_t)breakpoint);
	aborted += section && at == section->abort;
	text_write(breakpoint, original);
	memset(&prefix, 0x11, sizeof(prefix));
	CHECK(ring_publish(producer, 7, "inner", 6) == 0, "inner");
}

/* The stamp is the size of the publication: a write to it changes it. */
static int publish_prefixed(const struct publication *publication)
{
	uint32_t size = publication->size % 2 ? 4 : 8;
	ring_publish_prefixed *backend = ring_choose_prefixed(producer, publication->id, size);

	prefix.size = publication->size - size;
	memcpy(prefix.bytes, payload, prefix.size);
	prefix.stamp = publication->size;
	return !backend ||
			backend(producer, publication->id,
					(const struct ring_prefix *)(const void *)&prefix,
					payload + prefix.size, publication->size) != 0;
}

static int publish(const struct publication *publication)
{
	uint32_t part = publication->size / 3;

	if (kind->parts)
		return ring_publish_two_part(producer, publication->id, payload, part,
				payload + part, publication->size - part);
	if (kind->scalars == PREFIX && !publish_prefixed(publication))
		return 0;
	if (kind->scalars == SCALAR)
		return ring_choose_scalar(producer, publication->id, publication->size)(
				producer, publication->id, NULL, payload);
	if (kind->scalars == TIMED) {
		ring_publish_timed *backend =
				ring_choose_timed(producer, publication->id, publication->size);
		uint64_t now = ring_clock_now((enum ring_clock)producer->clock);

		return backend ? backend(producer, publication->id, now, payload)
			       : ring_publish_at(producer, publication->id, payload,
						 publication->size, now);
	}
	return ring_publish(producer, publication->id, payload, publication->size);
}

/* Overwrite mode: the position up to which the test has read each ring. */
static uint64_t drained[RING_RINGS_MAX];

/* Returns 1 and a span of new records of a ring, or 0. */
static int take(uint32_t ring, struct ring_span *span)
{
	static unsigned char buffer[1 << 14];
	struct ring_control *control = producer->locations[ring].control;
	/*
	 * Set by prepare(), without a publication since then. The end of a window is never before
	 * its beginning.
	 */
	bool alias = kind->mode == RING_MODE_OVERWRITE && control->last_timestamp == 1;
	int rc;

	if (alias)
		control->last_timestamp = ring_clock_now((enum ring_clock)producer->clock);
	rc = kind->mode == RING_MODE_OVERWRITE
			? ring_consumer_snapshot(consumer, ring, buffer, span)
			: ring_consumer_peek(consumer, ring, span);

	if (alias)
		control->last_timestamp = 1;
	CHECK(rc >= 0, "%d: %s", rc, ring_consumer_error(consumer, ring));
	if (rc == 1 && kind->mode != RING_MODE_OVERWRITE)
		drained[ring] = span->position;
	CHECK(rc == 0 || span->position <= drained[ring], "the window begins too late");
	return rc;
}

/* Returns all new records of the rings as text, "inner outer " for example, or the error. */
static void drain(char *text, size_t space, const struct publication *outer)
{
	*text = '\0';
	for (uint32_t ring = 0; ring < producer->rings; ring++) {
		const unsigned char *at, *end, *fresh;
		struct ring_span span;
		uint64_t time = 0;

		if (!take(ring, &span))
			continue;
		at = span.data;
		end = at + span.size;
		fresh = at + (drained[ring] - span.position);
		time = span.first_timestamp;
		while (at < end) {
			struct decoded record = decode_header(at, time);
			bool inner = record.id == 7 && !memcmp(record.payload, "inner", 6);

			CHECK(inner || record.id == outer->id, "id %u", record.id);
			CHECK(inner || !memcmp(record.payload, payload, outer->size), "payload");
			if (at >= fresh)
				strncat(text, inner ? "inner " : "outer ",
						space - strlen(text) - 1);
			at = record.payload + (inner ? 6 : outer->size);
			CHECK(record.timestamp >= time, "time runs back");
			CHECK(record.timestamp <= span.end_timestamp, "end");
			time = record.timestamp;
		}
		CHECK(at == end, "a record over the end");
		drained[ring] = span.position + span.size;
		if (kind->mode != RING_MODE_OVERWRITE)
			ring_consumer_release(consumer, ring, &span);
	}
}

/*
 * A compact record must be possible (the same epoch), or the condition that the publication tests.
 */
static void prepare(const struct publication *publication)
{
	char text[64];

	CHECK(ring_publish(producer, 7, "inner", 6) == 0, "warm up");
	drain(text, sizeof(text), publication);
	for (uint32_t cpu = 0; cpu < producer->rings; cpu++) {
		struct ring_control *control = producer->locations[cpu].control;
		uint64_t now = ring_clock_now((enum ring_clock)producer->clock);

		if (publication->stale_limit)
			control->limit = control->head | RING_EPOCH_MASK;
		if (publication->alias) {
			control->head = (control->head & ~(uint64_t)RING_EPOCH_MASK) |
					ring_timestamp_epoch(now);
			control->last_timestamp = 1;
		}
	}
}

/* Steps through a publication. */
static int publish_stepping(const struct publication *publication)
{
	int rc;

	stepping = true;
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
	rc = publish(publication);
	stepping = false;
	__asm__ volatile("nop; nop" : : : "memory");
	return rc;
}

static void list_instructions_once(const struct publication *publication)
{
	unsigned char *area = rseq_area();
	uint32_t cpu;
	int rc;

	memcpy(&cpu, area + 4, 4);
	CHECK(syscall(SYS_rseq, area, RSEQ_BYTES, 1, RSEQ_SIGNATURE) == 0, "rseq unregister");
	memcpy(area + 4, &cpu, 4);
	action = TRACE;
	seen_count = 0;
	rc = publish_stepping(publication);
	CHECK(syscall(SYS_rseq, area, RSEQ_BYTES, 0, RSEQ_SIGNATURE) == 0, "rseq register");
	CHECK(rc == 0, "traced publication: %d", rc);
	CHECK(seen_count > 15 && seen_count < 4096, "%u instructions", seen_count);
}

/*
 * Lists the instructions within sections that this publication executes. The list must be the same
 * twice, which makes the end of an epoch meanwhile unlikely.
 */
static void list_instructions(const struct publication *publication)
{
	unsigned int before = 0;
	char text[64];

	for (int i = 0; i < 100 && (i == 0 || seen_count != before); i++) {
		before = seen_count;
		prepare(publication);
		list_instructions_once(publication);
		drain(text, sizeof(text), publication);
		CHECK(!strcmp(text, "outer "), "%s", text);
	}
}

static void set_breakpoint(uintptr_t at)
{
	breakpoint = (unsigned char *)at;
	original = *breakpoint;
	text_write(breakpoint, 0xcc);
}

/* False: not hit, because an epoch has ended or the CPU has changed meanwhile. */
static bool run_nested(const struct publication *publication, uintptr_t at)
{
	char text[64];

	prepare(publication);
	action = NEST;
	hits = aborted = 0;
	set_breakpoint(at);
	CHECK(publish(publication) == 0, "outer");
	if (!hits)
		text_write(breakpoint, original);
	CHECK(hits <= 1, "the breakpoint at %lx was hit %u times", at, hits);
	CHECK(aborted == hits, "no abort at %lx", at);
	drain(text, sizeof(text), publication);
	CHECK(!strcmp(text, hits ? "inner outer " : "outer "), "%lx: %s", at, text);
	return hits;
}

static bool run_killed(
		const struct publication *publication, const struct backend *backend, uintptr_t at)
{
	char text[64], *first;
	bool killed;
	int status;
	pid_t child;

	child = fork();
	CHECK(child >= 0, "fork");
	if (child == 0) {
		producer = way_map(backend, ring_fd);
		prepare(publication);
		action = KILL;
		set_breakpoint(at);
		publish(publication);
		_exit(99);
	}
	CHECK(waitpid(child, &status, 0) == child, "waitpid");
	killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	CHECK(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 99), "status %x", status);
	/* The child has read its warm-up record with a copy of our consumer. */
	ring_consumer_unmap(consumer);
	CHECK(ring_consumer_map(ring_fd, NULL, &consumer) == 0, "ring_consumer_map");
	drain(text, sizeof(text), publication);
	/*
	 * The first record of the child is still in the window: of a later ring than the other
	 * record's, if the child changed its CPU in between.
	 */
	first = kind->mode == RING_MODE_OVERWRITE ? strstr(text, "inner ") : NULL;
	if (first)
		memmove(first, first + 6, strlen(first + 6) + 1);
	CHECK(!strcmp(text, killed ? "" : "outer "), "%lx: after the kill: %s", at, text);
	CHECK(publish(publication) == 0, "after the kill");
	drain(text, sizeof(text), publication);
	CHECK(!strcmp(text, "outer "), "%lx: %s", at, text);
	return killed;
}

/*
 * Returns the number of instructions; 0: one was never hit, because the list was made while an
 * epoch ended.
 */
static unsigned int try_publication(
		const struct publication *publication, const struct backend *backend)
{
	uintptr_t sorted[4096];
	unsigned int count = 0;

	list_instructions(publication);
	for (unsigned int i = 0; i < seen_count; i++) {
		unsigned int j = 0;

		while (j < count && sorted[j] != seen[i])
			j++;
		if (j == count)
			sorted[count++] = seen[i];
	}
	for (unsigned int i = 0; i < count; i++) {
		unsigned int tries = 0;

		while (!run_nested(publication, sorted[i])) {
			if (++tries == 200)
				return 0;
		}
		/* Kills need most of the time. */
		if (!test_is_long() && !kind->all && i % 2)
			continue;
		while (!run_killed(publication, backend, sorted[i])) {
			if (++tries == 400)
				return 0;
		}
	}
	return count;
}

static unsigned int test_publication(
		const struct publication *publication, const struct backend *backend)
{
	unsigned int count = 0;

	for (int i = 0; i < 100 && !count; i++)
		count = try_publication(publication, backend);
	CHECK(count, "an instruction that is run through is never hit");
	return count;
}

static void test_stepping(const struct publication *publication)
{
	uint64_t busy = 0;

	action = STEP;
	steps = 0;
	CHECK(publish_stepping(publication) == -EBUSY, "stepped through");
	for (uint32_t cpu = 0; cpu < producer->rings; cpu++)
		busy += ring_consumer_lost(consumer, cpu, RING_LOST_BUSY);
	CHECK(busy == 1, "%lu counted", busy);
	printf("stepping: given up after %lu steps\n", steps);
}

static bool begin(const struct backend *backend)
{
	struct ring_geometry geometry = {.rings = ring_possible_cpus(),
			.event_slots = 1,
			.size = 1 << 14,
			.mode = kind->mode,
			.placement = kind->placement};

	memset(drained, 0, sizeof(drained));
	ring_fd = way_create(backend, &geometry);
	producer = ring_fd < 0 ? NULL : way_map(backend, ring_fd);
	if (!producer)
		return false;
	CHECK(ring_consumer_map(ring_fd, &geometry, &consumer) == 0, "ring_consumer_map");
	return true;
}

static void end(void)
{
	/* rseq_cs must be clear: the code may be unmapped later. */
	for (int i = 0; i < 8; i++)
		CHECK(rseq_area()[8 + i] == 0, "rseq_cs left");
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(ring_fd);
}

/* Separate rings for each publication: all records in a window have one of two sizes. */
static void test_kind(const struct backend *backend)
{
	static const struct publication *const lists[] = {
			publications, scalar_publications, prefixed, timed};
	static const size_t counts[] = {PUBLICATIONS, SCALARS, PREFIXED, TIMED_SCALARS};
	const struct publication *list = lists[kind->scalars];
	unsigned int points = 0;

	for (unsigned int i = 0; i < counts[kind->scalars]; i++) {
		if (!test_is_long() && !kind->all && (i + (unsigned int)(kind - kinds)) % 3)
			continue;
		if (!begin(backend))
			return;
		points += test_publication(&list[i], backend);
		end();
	}
	printf("%s, %s: %u instructions interrupted and killed at\n", kind->name, backend->name,
			points);
	if (begin(backend)) {
		test_stepping(list);
		end();
	}
}

/*
 * drain() reads one ring after the other: records of two CPUs would not be in their order of
 * publication.
 */
static void stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
}

int main(void)
{
	struct sigaction trapping = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};

	if (!__rseq_size)
		return 77;
	stay_on_one_cpu();
	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = (unsigned char)(i * 7 + 1);
	sigaction(SIGTRAP, &trapping, NULL);
	for (kind = kinds; kind < kinds + KINDS; kind++) {
		test_kind(&variants[kind->backend]);
		if (test_is_long())
			test_kind(&variants[kind->backend ^ 1]);
	}
	return 0;
}

#else

int main(void)
{
	return 77;
}

#endif
