/* SPDX-License-Identifier: MIT */
/*
 * Contexts while other threads change them: each thread finds its own ids, and only names that were
 * set; once no thread changes them any more, it finds the last ones.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/context/values.h"

__thread unsigned int agent_vforked; /* defined by the recorder, which is not linked */

#define THREADS 4

static uint64_t memory[2][64];
static struct context_set *set, *large;
static int stop;
static pthread_barrier_t barrier;

static void build(const char *names, uint64_t *buffer, size_t size, struct context_set **built)
{
	struct context_spec specs[32];
	struct context_error error;
	int nr = context_parse_list(names, specs, 32, &error);

	CHECK(nr > 0);
	CHECK(!context_set_build(specs, (size_t)nr, buffer, size, built));
}

/* "LETTER-NUMBER" */
static const uint8_t *check_name(const uint8_t *name, char letter)
{
	size_t size = strnlen((const char *)name, 16);

	CHECK(size < 16 && size > 2 && name[0] == (uint8_t)letter && name[1] == '-');
	CHECK(strspn((const char *)name + 2, "0123456789") == size - 2);
	return name + size + 1;
}

static void check(int32_t vtid)
{
	uint8_t bytes[5000], *behind;
	const uint8_t *at;
	int32_t ids[2];

	behind = context_write(set, bytes, bytes + sizeof(bytes), NULL);
	CHECK(behind);
	memcpy(ids, bytes, sizeof(ids));
	CHECK(ids[0] == getpid() && ids[1] == vtid);
	at = check_name(bytes + 8, 't');
	CHECK(check_name(at, 'p') == behind);
	behind = context_write(large, bytes, bytes + sizeof(bytes), NULL);
	CHECK(behind && !memcmp(bytes, ids, 4));
	at = check_name(bytes + 4, 't');
	/* cgroup */
	CHECK(at < behind && strlen((const char *)at) + 1 < (size_t)(behind - at));
	CHECK(!memcmp(behind - 4, &vtid, 4));
}

static void *work(void *unused)
{
	int32_t vtid = (int32_t)syscall(SYS_gettid);
	uint8_t bytes[200];
	unsigned int i;

	(void)unused;
	prctl(PR_SET_NAME, "t-0");
	pthread_barrier_wait(&barrier);
	for (i = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		check(vtid);
		if (i % 64 == 0) {
			char name[16];

			snprintf(name, sizeof(name), "t-%u", i % 1000);
			prctl(PR_SET_NAME, name);
			CHECK(context_write(set, bytes, bytes + sizeof(bytes), NULL));
			/* Unless another thread was faster. */
			check(vtid);
		}
		if (i % 256 == 0)
			context_changed(CONTEXT_ALL_GROUPS);
	}
	pthread_barrier_wait(&barrier);
	/* The main thread sets our last name. */
	pthread_barrier_wait(&barrier);
	CHECK(context_write(set, bytes, bytes + sizeof(bytes), NULL));
	CHECK(!strcmp((char *)bytes + 8, "t-12345"));
	CHECK(!strcmp((char *)bytes + 16, "p-54321"));
	return NULL;
}

int main(void)
{
	const char *is_long = getenv("SIDE_TEST_LONG");
	unsigned int rounds = is_long && !strcmp(is_long, "1") ? 200000 : 10000;
	pthread_t threads[THREADS];
	unsigned int i;

	prctl(PR_SET_NAME, "p-0");
	build("vpid,vtid,thread_name,procname", memory[0], sizeof(memory[0]), &set);
	build("vpid,thread_name,cgroup,user_ns,uts_ns,net_ns,mnt_ns,pid_ns,ipc_ns,time_ns,cgroup_"
	      "ns,"
	      "uid,gid,euid,egid,vtid",
			memory[1], sizeof(memory[1]), &large);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, NULL));
	pthread_barrier_wait(&barrier);
	for (i = 0; i < rounds; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p-%u", i % 1000);
		prctl(PR_SET_NAME, name);
		snprintf(name, sizeof(name), "t-%u", i % 10000);
		CHECK(!pthread_setname_np(threads[i % THREADS], name));
		if (i % 100 == 0)
			context_cgroup_changed();
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_setname_np(threads[i], "t-12345"));
	prctl(PR_SET_NAME, "p-54321");
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	return 0;
}
