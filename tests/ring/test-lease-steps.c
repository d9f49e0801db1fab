/* SPDX-License-Identifier: MIT */
/*
 * Closes rings between any two instructions of the slow path of a record. The thread is stepped
 * through a publication. After each instruction in turn, the test closes the rings as another
 * thread would do at that time.
 *
 *	recall	The consumer recalls the memory and the agent leaves it. After the call, as a grace
 *		period later, the agent returns it. If the consumer can then take the memory back,
 *		the next record must find the rings closed: an access to them ends the test.
 *	stop	The producer stops. The record is read or counted as lost, once.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include "decode.h"
#include "ring/layout.h"

#if defined(__x86_64__)

#define TRAP_FLAG 0x100
#define PAYLOAD 8
#define NEAR_BOUNDARY 12 /* bytes: less than any record with this payload needs */

enum action { RECALL, STOP };
enum call { TOO_BIG, LOST, PUBLISH };

static struct ring_producer *producer;
static struct ring_consumer *consumer;
static struct ring_geometry geometry;
static int fd;

static volatile sig_atomic_t step, target;
static enum action action;
static bool is_left;

static void act(void)
{
	if (action == STOP)
		ring_producer_stop(producer, true);
	else
		is_left = ring_lease_recall(consumer) && ring_producer_leave(producer);
}

static void stepped(int number, siginfo_t *info, void *context)
{
	ucontext_t *machine = context;

	(void)number;
	(void)info;
	if (step++ != target)
		return;
	act();
	machine->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

/* Below the red zone. */
static void set_stepping(bool on)
{
	if (on)
		__asm__ volatile(
				"leaq -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; leaq 128(%%rsp), %%rsp"
				:
				: "i"(TRAP_FLAG)
				: "memory", "cc");
	else
		__asm__ volatile(
				"leaq -128(%%rsp), %%rsp; pushfq; andq %0, (%%rsp); popfq; leaq 128(%%rsp), %%rsp"
				:
				: "i"(~TRAP_FLAG)
				: "memory", "cc");
}

static int make(enum call call)
{
	static unsigned char payload[1 << 17];

	switch (call) {
	case TOO_BIG: return ring_publish(producer, 1, payload, sizeof(payload));
	case LOST: ring_count_lost(producer, 1, RING_LOST_INVALID); return -EINVAL;
	default: return ring_publish(producer, 1, payload, PAYLOAD);
	}
}

/* Returns false if the call had returned before. */
static bool step_through(enum call call, int at, int *ret)
{
	step = 0;
	target = at;
	is_left = false;
	set_stepping(true);
	*ret = make(call);
	set_stepping(false);
	return step > at;
}

/* Returns the number of bytes. */
static uint64_t drain(void)
{
	uint64_t bytes = 0;
	struct ring_span span;

	for (uint32_t ring = 0; ring < geometry.rings; ring++)
		while (ring_consumer_peek(consumer, ring, &span) > 0) {
			bytes += span.size;
			ring_consumer_release(consumer, ring, &span);
		}
	return bytes;
}

/* All records until then go into one ring, and the next one crosses into its next sub-buffer. */
static void fill_block(uint64_t *position)
{
	static const unsigned char payload[1 << 16];
	uint64_t block = geometry.size / RING_BLOCKS, left;

	while ((left = block - *position % block) > NEAR_BOUNDARY) {
		CHECK(ring_publish(producer, 1, payload, left > 300 ? left - 200 : 1) == 0, "fill");
		*position += drain();
	}
}

static void stay_on_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	CHECK(!sched_setaffinity(0, sizeof(set), &set), "affinity");
}

static uint64_t lost(void)
{
	uint64_t sum = 0;

	for (uint32_t ring = 0; ring < geometry.rings; ring++)
		sum += ring_consumer_lost_total(consumer, ring);
	return sum;
}

/* The producer has the memory, or has left it. */
static void begin(bool uses)
{
	CHECK(ring_lease_grant(consumer, fd) == 0, "grant");
	CHECK(make(PUBLISH) == 0, "publish");
	CHECK(drain(), "read");
	if (uses)
		return;
	CHECK(ring_lease_recall(consumer) && ring_producer_leave(producer), "leave");
	ring_producer_left(producer);
}

static unsigned int recall(enum call call, bool uses)
{
	unsigned int revoked = 0;
	bool goes_on = true;
	int ret;

	for (int at = 0; goes_on; at++) {
		begin(uses);
		goes_on = step_through(call, at, &ret);
		CHECK(ret < 0, "%d", ret);
		if (is_left)
			ring_producer_left(producer);
		if (ring_lease_revoke(consumer, fd)) {
			revoked++;
			CHECK(make(PUBLISH) == -ENOSPC, "a record without memory, after step %d",
					at);
		}
	}
	CHECK(revoked, "memory that was left");
	return revoked;
}

static unsigned int stop(void)
{
	unsigned int published = 0;
	uint64_t position = 0;
	bool goes_on = true;
	int ret;

	stay_on_cpu();
	for (int at = 0; goes_on; at++) {
		uint64_t before, bytes;

		ring_producer_stop(producer, false);
		fill_block(&position);
		before = lost();
		goes_on = step_through(PUBLISH, at, &ret);
		bytes = drain();
		position += bytes;
		CHECK(lost() - before == !bytes, "%llu bytes, %llu lost, after step %d",
				(unsigned long long)bytes, (unsigned long long)(lost() - before),
				at);
		CHECK(!ret == (bytes != 0), "returned %d", ret);
		published += bytes != 0;
	}
	return published;
}

static void map(const char *portable)
{
	char path[] = "/tmp/side-lease-steps-XXXXXX";
	int dir_fd;

	CHECK(mkdtemp(path), "directory");
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(!setenv("SIDE_RING_PORTABLE", portable, 1), "setenv");
	CHECK(ring_memory_create_file(&geometry, dir_fd, "rings", &fd) == 0, "create");
	CHECK(ring_consumer_map(fd, &geometry, &consumer) == 0, "map");
	CHECK(ring_producer_map(fd, &producer) == 0, "map");
	CHECK(!unlinkat(dir_fd, "rings", 0) && !rmdir(path), "remove");
	close(dir_fd);
}

static void unmap(void)
{
	ring_producer_unmap(producer);
	ring_consumer_unmap(consumer);
	close(fd);
}

int main(void)
{
	const struct sigaction trap = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};

	geometry = (struct ring_geometry){.rings = ring_possible_cpus(),
			.event_slots = 64,
			.size = 65536,
			.clock = ring_clock_choose(),
			.flags = RING_LEASED};
	CHECK(!sigaction(SIGTRAP, &trap, NULL), "sigaction");
	/* Calls wait for no answer. */
	ring_lease_timeout_factor(0);
	for (int portable = 0; portable < 2; portable++) {
		map(portable ? "1" : "0");
		action = RECALL;
		for (int uses = 0; uses < 2; uses++)
			printf("%d: %u %u\n", portable, recall(TOO_BIG, uses), recall(LOST, uses));
		unmap();
	}
	/* Steps abort the sections of other paths. */
	map("1");
	action = STOP;
	printf("%u\n", stop());
	unmap();
	return 0;
}

#else

int main(void)
{
	return 77;
}

#endif
