/* SPDX-License-Identifier: MIT */
/*
 * Protects a consumer whose rings are in a file from the truncation of that file.
 *
 * An access behind the end of a file raises SIGBUS. The handler maps a page of zeros there and
 * notes that, so that the access continues and the consumer detects it at its next check
 * (consumer.c). A SIGBUS at any other address goes to the previous handler. The kernel's own
 * accesses (write() out of a span) fail with EFAULT instead.
 *
 * Only recorders use this: the first consumer of such memory installs the handler. A traced program
 * never does.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/layout.h"

/*
 * The wrappers recognize a call of the tracer by its return address, so the last call of a function
 * must not be a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

/* One mapping. Reused, never freed, because a signal handler may be reading the list. */
struct ring_truncation {
	struct ring_truncation *next;
	uintptr_t base;
	size_t size; /* 0: unused. */
	int seen;
};

static struct ring_truncation *ring_truncations;
static pthread_mutex_t ring_truncations_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction ring_bus_before;
static uintptr_t ring_bus_page;

/*
 * Find the mapping with this address. Acquire, both: pairs with the releases in
 * ring_truncation_watch().
 */
static struct ring_truncation *ring_truncation_of(uintptr_t address)
{
	struct ring_truncation *one = __atomic_load_n(&ring_truncations, __ATOMIC_ACQUIRE);

	for (; one; one = one->next) {
		size_t size = __atomic_load_n(&one->size, __ATOMIC_ACQUIRE);

		if (address - __atomic_load_n(&one->base, __ATOMIC_RELAXED) < size)
			return one;
	}
	return NULL;
}

static void ring_bus_forward(int number, siginfo_t *info, void *context)
{
	if (ring_bus_before.sa_flags & SA_SIGINFO) {
		ring_bus_before.sa_sigaction(number, info, context);
	} else if (ring_bus_before.sa_handler == SIG_DFL || ring_bus_before.sa_handler == SIG_IGN) {
		/* The access is repeated, and ends the process. */
		signal(SIGBUS, SIG_DFL);
	} else {
		ring_bus_before.sa_handler(number);
	}
}

static void ring_bus_handler(int number, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr;
	struct ring_truncation *one = info->si_code > 0 ? ring_truncation_of(address) : NULL;
	int saved = errno;
	long got;

	if (!one) {
		ring_bus_forward(number, info, context);
		return;
	}
	/*
	 * Another thread may read that page. ThreadSanitizer would take mmap() for a write to it.
	 */
	got = syscall(SYS_mmap, address & ~(ring_bus_page - 1), ring_bus_page,
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
	if (got == -1)
		signal(SIGBUS, SIG_DFL);
	/* Release: the page is there. Pairs with the acquire in ring_truncation_seen(). */
	__atomic_store_n(&one->seen, 1, __ATOMIC_RELEASE);
	errno = saved;
}

/* Install the handler. With the lock held. */
static int ring_bus_install(void)
{
	struct sigaction action = {
			.sa_sigaction = ring_bus_handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (ring_bus_page)
		return 0;
	ring_bus_page = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, &ring_bus_before) ? -errno : 0;
}

static struct ring_truncation *ring_truncation_unused(void)
{
	struct ring_truncation *one = ring_truncations;

	while (one && one->size)
		one = one->next;
	if (one)
		return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->next = ring_truncations;
	/* Release: the node before the list. Pairs with ring_truncation_of(). */
	__atomic_store_n(&ring_truncations, one, __ATOMIC_RELEASE);
	return one;
}

int ring_truncation_watch(const void *base, size_t size, struct ring_truncation **ret_truncation)
{
	struct ring_truncation *one;
	int ret;

	pthread_mutex_lock(&ring_truncations_lock);
	ret = ring_bus_install();
	one = ret ? NULL : ring_truncation_unused();
	if (one) {
		one->seen = 0;
		__atomic_store_n(&one->base, (uintptr_t)base, __ATOMIC_RELAXED);
		/* Release: base before size. Pairs with ring_truncation_of(). */
		__atomic_store_n(&one->size, size, __ATOMIC_RELEASE);
		*ret_truncation = one;
	}
	pthread_mutex_unlock(&ring_truncations_lock);
	return ret ? ret : one ? 0 : -ENOMEM;
}

void ring_truncation_forget(struct ring_truncation *truncation)
{
	pthread_mutex_lock(&ring_truncations_lock);
	/*
	 * Release: no thread can find the entry, before the mapping is removed. Pairs with the
	 * acquire in ring_truncation_of().
	 */
	__atomic_store_n(&truncation->size, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ring_truncations_lock);
	NO_TAIL_CALL();
}

void ring_truncation_forget_at(const void *base)
{
	struct ring_truncation *one;

	pthread_mutex_lock(&ring_truncations_lock);
	for (one = ring_truncations; one; one = one->next)
		if (one->size && one->base == (uintptr_t)base)
			/*
			 * Release: no thread can find the entry any more. Pairs with the acquire in
			 * ring_truncation_of().
			 */
			__atomic_store_n(&one->size, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ring_truncations_lock);
	NO_TAIL_CALL();
}

bool ring_truncation_seen(const struct ring_truncation *truncation)
{
	/*
	 * Acquire: the handler's page. Pairs with the release in ring_bus_handler(), on the same
	 * thread or another.
	 */
	return truncation && __atomic_load_n(&truncation->seen, __ATOMIC_ACQUIRE);
}
