/* SPDX-License-Identifier: MIT */
/*
 * A program whose contention is known: seeded-locks SCENARIO
 *
 * A waiting thread says that it is about to lock. The holding thread releases the lock when it has
 * seen that the other one waits, so that each number of attempts is exact. It prints the attempts
 * and the contended ones, then the time that threads waited: at least, from the moment at which they
 * were seen waiting to the release, and at most, from before to after their call.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5
#define ALONE 15 /* uncontended attempts */

enum { MILLISECOND = 1000000 };

struct seeded_object {
	int number;
	pthread_mutex_t guard;
};

pthread_mutex_t seeded_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t seeded_second = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t seeded_third = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t seeded_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t seeded_spin;
static pthread_cond_t seeded_cond = PTHREAD_COND_INITIALIZER;
static sem_t seeded_semaphore;
static struct seeded_object seeded_member = {1, PTHREAD_MUTEX_INITIALIZER};

static atomic_int about_to_wait; /* the id of the thread */
static atomic_int rounds_done;
static long long at_least, at_most;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static struct timespec after_ns(long long ns)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	ns += time.tv_nsec;
	time.tv_sec += ns / 1000000000;
	time.tv_nsec = ns % 1000000000;
	return time;
}

static void pause_ns(long long ns)
{
	struct timespec time = {ns / 1000000000, ns % 1000000000};

	nanosleep(&time, NULL);
}

/* Whether the thread sleeps in the kernel. */
static int is_asleep(int thread)
{
	char path[64], text[512], *state;
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	file = fopen(path, "re");
	if (!file)
		return 0;
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[size] = '\0';
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/* Waits until the other thread waits, then a little longer. Returns the time at which it was seen. */
static long long await_waiter(int sleeps)
{
	long long seen;
	int thread;

	while (!(thread = atomic_load(&about_to_wait)))
		pause_ns(MILLISECOND);
	while (sleeps && !is_asleep(thread))
		pause_ns(MILLISECOND);
	if (!sleeps) /* It spins: it has run for longer than the call before takes. */
		pause_ns(30 * MILLISECOND);
	seen = now();
	pause_ns(2 * MILLISECOND);
	return seen;
}

static void announce(void)
{
	atomic_store(&about_to_wait, (int)syscall(SYS_gettid));
}

/* ---- scenarios in which one thread holds and one waits ---- */

struct seeded_kind {
	const char *name;
	void (*take)(void);
	void (*release)(void);
	void (*wait)(void); /* as the waiting thread takes it */
	int sleeps;
};

static __attribute__((noinline)) void mutex_take(void)
{
	pthread_mutex_lock(&seeded_mutex);
}

static __attribute__((noinline)) void mutex_release(void)
{
	pthread_mutex_unlock(&seeded_mutex);
}

static __attribute__((noinline)) void member_take(void)
{
	pthread_mutex_lock(&seeded_member.guard);
}

static __attribute__((noinline)) void member_release(void)
{
	pthread_mutex_unlock(&seeded_member.guard);
}

static __attribute__((noinline)) void timed_take(void)
{
	struct timespec until = after_ns(60000LL * MILLISECOND);

	pthread_mutex_timedlock(&seeded_mutex, &until);
}

static __attribute__((noinline)) void write_take(void)
{
	pthread_rwlock_wrlock(&seeded_rwlock);
}

static __attribute__((noinline)) void read_take(void)
{
	pthread_rwlock_rdlock(&seeded_rwlock);
}

static __attribute__((noinline)) void rwlock_release(void)
{
	pthread_rwlock_unlock(&seeded_rwlock);
}

static __attribute__((noinline)) void spin_take(void)
{
	pthread_spin_lock(&seeded_spin);
}

static __attribute__((noinline)) void spin_release(void)
{
	pthread_spin_unlock(&seeded_spin);
}

static __attribute__((noinline)) void semaphore_take(void)
{
	sem_wait(&seeded_semaphore);
}

static __attribute__((noinline)) void semaphore_release(void)
{
	sem_post(&seeded_semaphore);
}

static const struct seeded_kind kinds[] = {
		{"mutex", mutex_take, mutex_release, mutex_take, 1},
		{"member", member_take, member_release, member_take, 1},
		{"timed", mutex_take, mutex_release, timed_take, 1},
		{"write", write_take, rwlock_release, write_take, 1},
		{"read-behind-write", write_take, rwlock_release, read_take, 1},
		{"write-behind-read", read_take, rwlock_release, write_take, 1},
		{"spin", spin_take, spin_release, spin_take, 0},
		{"semaphore", semaphore_take, semaphore_release, semaphore_take, 1},
};

static void *wait_in_rounds(void *data)
{
	const struct seeded_kind *kind = data;

	for (int i = 0; i < ROUNDS; i++) {
		long long begin;

		while (atomic_load(&rounds_done) != 2 * i + 1)
			pause_ns(MILLISECOND);
		begin = now();
		announce();
		kind->wait();
		at_most += now() - begin;
		kind->release();
		atomic_store(&about_to_wait, 0);
		atomic_store(&rounds_done, 2 * i + 2);
	}
	return NULL;
}

static __attribute__((noinline)) int contend(const struct seeded_kind *kind)
{
	pthread_t thread;

	pthread_spin_init(&seeded_spin, PTHREAD_PROCESS_PRIVATE);
	sem_init(&seeded_semaphore, 0, 1);
	for (int i = 0; i < ALONE; i++) {
		kind->take();
		kind->release();
	}
	if (pthread_create(&thread, NULL, wait_in_rounds, (void *)(uintptr_t)kind))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		long long seen;

		kind->take();
		atomic_store(&rounds_done, 2 * i + 1);
		seen = await_waiter(kind->sleeps);
		at_least += now() - seen;
		kind->release();
		while (atomic_load(&rounds_done) != 2 * i + 2)
			pause_ns(MILLISECOND);
	}
	pthread_join(thread, NULL);
	printf("%d %d %lld %lld\n", ALONE + 2 * ROUNDS, ROUNDS, at_least, at_most);
	return 0;
}

/* ---- other scenarios ---- */

/* Readers do not exclude each other. */
static void *read_once(void *data)
{
	read_take();
	rwlock_release();
	return data;
}

static __attribute__((noinline)) int readers(void)
{
	pthread_t thread;

	read_take();
	if (pthread_create(&thread, NULL, read_once, NULL))
		return 1;
	pthread_join(thread, NULL);
	rwlock_release();
	return 0;
}

static void *try_once(void *data)
{
	struct timespec until = after_ns(20 * MILLISECOND);

	pthread_mutex_trylock(&seeded_mutex);
	pthread_mutex_timedlock(&seeded_mutex, &until);
	return data;
}

/* Attempts that fail, and a recursive lock that one thread takes three times. */
static __attribute__((noinline)) int failures(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t recursive;
	pthread_t thread;

	mutex_take();
	if (pthread_create(&thread, NULL, try_once, NULL))
		return 1;
	pthread_join(thread, NULL);
	mutex_release();
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attributes);
	for (int i = 0; i < 3; i++)
		pthread_mutex_lock(&recursive);
	for (int i = 0; i < 3; i++)
		pthread_mutex_unlock(&recursive);
	pthread_mutex_destroy(&recursive);
	return 0;
}

static void *await_condition(void *data)
{
	long long begin;

	mutex_take();
	announce();
	begin = now();
	pthread_cond_wait(&seeded_cond, &seeded_mutex);
	at_most = now() - begin;
	mutex_release();
	return data;
}

/* A condition releases its mutex while it waits. */
static __attribute__((noinline)) int condition(void)
{
	pthread_t thread;
	long long seen;

	if (pthread_create(&thread, NULL, await_condition, NULL))
		return 1;
	seen = await_waiter(1);
	mutex_take();
	at_least = now() - seen;
	pthread_cond_signal(&seeded_cond);
	mutex_release();
	pthread_join(thread, NULL);
	printf("1 1 %lld %lld\n", at_least, at_most);
	return 0;
}

/* Objects that come and go have one row; more than 256 of them alive share one. */
static __attribute__((noinline)) int objects(void)
{
	enum { COUNT = 400, LIVES = 50 };
	struct seeded_object *all = calloc(COUNT, sizeof(*all));

	for (int life = 0; all && life < LIVES; life++) {
		pthread_mutex_init(&all[0].guard, NULL);
		pthread_mutex_lock(&all[0].guard);
		pthread_mutex_unlock(&all[0].guard);
		pthread_mutex_destroy(&all[0].guard);
	}
	for (int i = 0; all && i < COUNT; i++)
		pthread_mutex_init(&all[i].guard, NULL);
	for (int i = 0; all && i < COUNT; i++) {
		pthread_mutex_lock(&all[i].guard);
		pthread_mutex_unlock(&all[i].guard);
	}
	free(all);
	return 0;
}

/* A child has the locks of its parent, and does not know that they are held. */
static __attribute__((noinline)) int forks(void)
{
	int status = 0;
	pid_t child;

	mutex_take();
	child = fork();
	if (!child) {
		mutex_release();
		mutex_take();
		mutex_release();
		exit(0);
	}
	waitpid(child, &status, 0);
	mutex_release();
	return status;
}

/* ---- deadlocks: the recorder ends the program ---- */

static pthread_mutex_t *const ring[] = {&seeded_mutex, &seeded_second, &seeded_third};
static atomic_int holding;
static int nr_in_ring;

static void *hold_and_wait(void *data)
{
	int number = (int)(long)data;

	pthread_mutex_lock(ring[number]);
	atomic_fetch_add(&holding, 1);
	while (atomic_load(&holding) < nr_in_ring)
		pause_ns(MILLISECOND);
	announce();
	pthread_mutex_lock(ring[(number + 1) % nr_in_ring]);
	return data;
}

/* Prints a line when all threads wait, and continues until a signal ends it. */
static __attribute__((noinline)) int deadlock(int threads)
{
	pthread_t thread;

	nr_in_ring = threads;
	for (long i = 0; i < threads; i++) {
		if (pthread_create(&thread, NULL, hold_and_wait, (void *)i))
			return 1;
		while (atomic_load(&holding) <= i)
			pause_ns(MILLISECOND);
	}
	for (int i = 0; i < threads; i++)
		await_waiter(1);
	pause_ns(50 * MILLISECOND);
	printf("deadlock\n");
	fflush(stdout);
	for (;;)
		pause();
}

/* Prints a line when the main thread waits. */
static void *print_when_waiting(void *data)
{
	await_waiter(1);
	pause_ns(50 * MILLISECOND);
	printf("deadlock\n");
	fflush(stdout);
	return data;
}

static __attribute__((noinline)) int lock_twice(void)
{
	pthread_t thread;

	mutex_take();
	if (pthread_create(&thread, NULL, print_when_waiting, NULL))
		return 1;
	announce();
	mutex_take();
	return 1;
}

/* ---- a lock that its owner leaves locked ---- */

static atomic_int keeps_second;

/* Without data, the thread ends; otherwise it never does. */
static void *take_and_leave(void *data)
{
	pthread_mutex_lock(data ? &seeded_mutex : &seeded_second);
	atomic_store(&keeps_second, 1);
	while (data)
		pause();
	return data;
}

static void *wait_for_left(void *data)
{
	announce();
	pthread_mutex_lock(data);
	return data;
}

/* A thread waits for the lock of a thread that has ended, or of one that runs the same function. */
static __attribute__((noinline)) int leave_locked(bool runs)
{
	pthread_t owner, other, waiter;

	if (pthread_create(&owner, NULL, take_and_leave, NULL))
		return 1;
	pthread_join(owner, NULL);
	atomic_store(&keeps_second, 0);
	if (runs && pthread_create(&other, NULL, take_and_leave, &rounds_done))
		return 1;
	while (runs && !atomic_load(&keeps_second))
		pause_ns(MILLISECOND);
	if (pthread_create(&waiter, NULL, wait_for_left, runs ? &seeded_mutex : &seeded_second))
		return 1;
	await_waiter(1);
	pause_ns(50 * MILLISECOND);
	printf("waits\n");
	fflush(stdout);
	for (;;)
		pause();
}

/* Contends for a mutex at each line of the standard input. */
static int serve(void)
{
	char line[64];

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		atomic_store(&rounds_done, 0);
		if (contend(&kinds[0]))
			return 1;
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc == 2 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(name, kinds[i].name))
			return contend(&kinds[i]);
	if (!strcmp(name, "readers"))
		return readers();
	if (!strcmp(name, "failures"))
		return failures();
	if (!strcmp(name, "condition"))
		return condition();
	if (!strcmp(name, "objects"))
		return objects();
	if (!strcmp(name, "fork"))
		return forks();
	if (!strcmp(name, "left"))
		return leave_locked(false);
	if (!strcmp(name, "kept"))
		return leave_locked(true);
	if (!strcmp(name, "deadlock-2"))
		return deadlock(2);
	if (!strcmp(name, "deadlock-3"))
		return deadlock(3);
	if (!strcmp(name, "lock-twice"))
		return lock_twice();
	if (!strcmp(name, "serve"))
		return serve();
	fprintf(stderr, "usage: seeded-locks SCENARIO\n");
	return 2;
}
