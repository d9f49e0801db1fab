/* SPDX-License-Identifier: MIT */
/* Calls the wrapped functions of locks, threads and semaphores that calls.c does not call. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "calls.h"

static const struct timespec past = {1, 0};

/* Writes the events of a call that may wait: a request, then the call with its result. */
static void expect_wait(const char *function, const char *field, const void *object, int result)
{
	expect("{\"e\": \"%s_req\", \"%s\": %" PRIu64 "}", function, field, P(object));
	expect("{\"e\": \"%s\", \"%s\": %" PRIu64 ", \"result\": %d}", function, field, P(object),
			result);
}

static void expect_call(const char *function, const char *field, const void *object, int result)
{
	expect("{\"e\": \"%s\", \"%s\": %" PRIu64 ", \"result\": %d}", function, field, P(object),
			result);
}

static void expect_release(const char *function, const char *field, const void *object)
{
	expect("{\"e\": \"%s\", \"%s\": %" PRIu64 "}", function, field, P(object));
}

static void mutexes(void)
{
	pthread_mutex_t mutex;
	pthread_cond_t cond;

	CHECK(pthread_mutex_init(&mutex, NULL) == 0);
	expect_call("pthread_mutex_init", "mutex", &mutex, 0);
	CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past) == 0);
	expect_wait("pthread_mutex_clocklock", "mutex", &mutex, 0);
	CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
	expect_wait("pthread_mutex_clocklock", "mutex", &mutex, ETIMEDOUT);
	CHECK(pthread_cond_init(&cond, NULL) == 0);
	expect_call("pthread_cond_init", "cond", &cond, 0);
	CHECK(pthread_cond_timedwait(&cond, &mutex, &past) == ETIMEDOUT);
	expect("{\"e\": \"pthread_cond_timedwait_req\", \"cond\": %" PRIu64 ", \"mutex\": %" PRIu64
	       "}",
			P(&cond), P(&mutex));
	expect("{\"e\": \"pthread_cond_timedwait\", \"cond\": %" PRIu64 ", \"mutex\": %" PRIu64
	       ", \"result\": %d}",
			P(&cond), P(&mutex), ETIMEDOUT);
	CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
	expect("{\"e\": \"pthread_cond_clockwait_req\", \"cond\": %" PRIu64 ", \"mutex\": %" PRIu64
	       "}",
			P(&cond), P(&mutex));
	expect("{\"e\": \"pthread_cond_clockwait\", \"cond\": %" PRIu64 ", \"mutex\": %" PRIu64
	       ", \"result\": %d}",
			P(&cond), P(&mutex), ETIMEDOUT);
	CHECK(pthread_cond_broadcast(&cond) == 0);
	expect_release("pthread_cond_broadcast", "cond", &cond);
	CHECK(pthread_cond_destroy(&cond) == 0);
	expect_call("pthread_cond_destroy", "cond", &cond, 0);
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	expect_release("pthread_mutex_unlock", "mutex", &mutex);
	CHECK(pthread_mutex_destroy(&mutex) == 0);
	expect_call("pthread_mutex_destroy", "mutex", &mutex, 0);
}

static void rwlocks(void)
{
	pthread_rwlock_t lock;

	CHECK(pthread_rwlock_init(&lock, NULL) == 0);
	expect_call("pthread_rwlock_init", "rwlock", &lock, 0);
	CHECK(pthread_rwlock_tryrdlock(&lock) == 0);
	expect_call("pthread_rwlock_tryrdlock", "rwlock", &lock, 0);
	CHECK(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
	expect_wait("pthread_rwlock_timedwrlock", "rwlock", &lock, ETIMEDOUT);
	CHECK(pthread_rwlock_unlock(&lock) == 0);
	expect_release("pthread_rwlock_unlock", "rwlock", &lock);
	CHECK(pthread_rwlock_wrlock(&lock) == 0);
	expect_wait("pthread_rwlock_wrlock", "rwlock", &lock, 0);
	CHECK(pthread_rwlock_tryrdlock(&lock) == EBUSY);
	expect_call("pthread_rwlock_tryrdlock", "rwlock", &lock, EBUSY);
	CHECK(pthread_rwlock_unlock(&lock) == 0);
	CHECK(pthread_rwlock_timedrdlock(&lock, &past) == 0);
	expect_wait("pthread_rwlock_timedrdlock", "rwlock", &lock, 0);
	CHECK(pthread_rwlock_unlock(&lock) == 0 && pthread_rwlock_destroy(&lock) == 0);
	expect_call("pthread_rwlock_destroy", "rwlock", &lock, 0);
}

static void spins(void)
{
	pthread_spinlock_t lock;
	pthread_barrier_t barrier;

	CHECK(pthread_spin_init(&lock, 0) == 0 && pthread_spin_lock(&lock) == 0);
	expect_wait("pthread_spin_lock", "spinlock", (void *)(uintptr_t)&lock, 0);
	CHECK(pthread_spin_trylock(&lock) == EBUSY);
	expect_call("pthread_spin_trylock", "spinlock", (void *)(uintptr_t)&lock, EBUSY);
	CHECK(pthread_spin_unlock(&lock) == 0);
	expect_release("pthread_spin_unlock", "spinlock", (void *)(uintptr_t)&lock);
	CHECK(pthread_spin_destroy(&lock) == 0 && pthread_barrier_init(&barrier, NULL, 1) == 0);
	CHECK(pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
	expect_wait("pthread_barrier_wait", "barrier", &barrier, PTHREAD_BARRIER_SERIAL_THREAD);
	CHECK(pthread_barrier_destroy(&barrier) == 0);
}

static void *sleeper(void *data)
{
	sem_t *begun = data;

	CHECK(sem_post(begun) == 0);
	for (;;)
		pause();
	return NULL;
}

static void *at_once(void *data)
{
	return data;
}

static void threads(void)
{
	pthread_t thread, canceled;
	void *value;
	sem_t begun;

	CHECK(sem_init(&begun, 0, 0) == 0);
	CHECK(sem_timedwait(&begun, &past) == -1 && errno == ETIMEDOUT);
	expect_wait("sem_timedwait", "semaphore", &begun, -1);
	CHECK(pthread_create(&canceled, NULL, sleeper, &begun) == 0 && sem_wait(&begun) == 0);
	CHECK(pthread_setname_np(canceled, "sleeper") == 0);
	expect("{\"e\": \"pthread_setname_np\", \"thread\": %" PRIu64
	       ", \"name\": \"sleeper\", \"result\": 0}",
			P(canceled));
	CHECK(pthread_kill(canceled, 0) == 0);
	expect("{\"e\": \"pthread_kill\", \"thread\": %" PRIu64 ", \"signal\": 0, \"result\": 0}",
			P(canceled));
	CHECK(pthread_cancel(canceled) == 0);
	expect("{\"e\": \"pthread_cancel\", \"thread\": %" PRIu64 ", \"result\": 0}", P(canceled));
	CHECK(pthread_join(canceled, &value) == 0 && value == PTHREAD_CANCELED);
	expect("{\"e\": \"pthread_join_req\", \"thread\": %" PRIu64 "}", P(canceled));
	expect("{\"e\": \"pthread_join\", \"thread\": %" PRIu64 ", \"result\": 0}", P(canceled));
	CHECK(pthread_create(&thread, NULL, at_once, NULL) == 0 && pthread_detach(thread) == 0);
	expect("{\"e\": \"pthread_detach\", \"thread\": %" PRIu64 ", \"result\": 0}", P(thread));
	CHECK(sem_destroy(&begun) == 0);
}

void waits(void)
{
	mutexes();
	rwlocks();
	spins();
	threads();
}
