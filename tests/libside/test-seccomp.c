/* SPDX-License-Identifier: MIT */
/*
 * A program that forbids itself membarrier() and other calls after tracing has begun:
 * unregistration keeps its guarantee without them.
 */
#include "event.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct test_event event;
static int stop;

static void use(const struct side_event_description *desc, const struct side_arg_vec *args,
		void *priv, void *caller)
{
	(void)desc;
	(void)args;
	(void)caller;
	CHECK_EQUAL(__atomic_load_n((int *)priv, __ATOMIC_RELAXED), 1);
}

static void *emit(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		test_event_emit(&event);
	return NULL;
}

static void come_and_go(int times)
{
	while (times--) {
		int *alive = malloc(sizeof(*alive));

		*alive = 1;
		CHECK_EQUAL(side_tracer_callback_register(&event.desc, use, alive, 0), 0);
		CHECK_EQUAL(side_tracer_callback_unregister(&event.desc, use, alive, 0), 0);
		__atomic_store_n(alive, 0, __ATOMIC_RELAXED);
		free(alive);
	}
}

static int forbid(void)
{
	struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 1, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(
			SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

int main(void)
{
	pthread_t threads[2];
	int i;

	alarm(60);
	test_event_init(&event, "event", 0);
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, emit, NULL));
	come_and_go(1000);
	if (forbid())
		return 77;
	CHECK(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) == -1);
	come_and_go(1000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	return 0;
}
