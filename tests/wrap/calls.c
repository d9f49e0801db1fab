/* SPDX-License-Identifier: MIT */
/*
 * Calls wrapped functions, and writes the events that they must become (calls.h). Checks that errno
 * and results are the same as without wrappers.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"

/* Keeps the compiler from pairing malloc with free. */
static void *volatile keep;

static void memory(void)
{
	void *a, *b = NULL;
	/*
	 * The address is stored before its memory is freed: gcc 14 reports each use of a freed
	 * pointer, and of a closed stream.
	 */
	uint64_t freed;

	errno = 77;
	keep = a = malloc(100);
	CHECK(a && errno == 77);
	expect("{\"e\": \"malloc\", \"size\": 100, \"result\": %" PRIu64 "}", P(a));
	freed = P(a);
	keep = b = realloc(a, 5000);
	expect("{\"e\": \"realloc\", \"ptr\": %" PRIu64 ", \"size\": 5000, \"result\": %" PRIu64
	       "}",
			freed, P(b));
	freed = P(b);
	free(b);
	CHECK(errno == 77);
	expect("{\"e\": \"free\", \"ptr\": %" PRIu64 "}", freed);
	keep = a = calloc(3, 7);
	expect("{\"e\": \"calloc\", \"count\": 3, \"size\": 7, \"result\": %" PRIu64 "}", P(a));
	for (int i = 0; i < 21; i++)
		CHECK(((char *)a)[i] == 0);
	keep = b = reallocarray(a, 10, 20);
	expect("{\"e\": \"reallocarray\", \"count\": 10, \"size\": 20, \"result\": %" PRIu64 "}",
			P(b));
	free(b);
	CHECK(posix_memalign((void **)&b, 256, 40) == 0 && P(b) % 256 == 0);
	expect("{\"e\": \"posix_memalign\", \"alignment\": 256, \"size\": 40, \"ptr\": %" PRIu64
	       ", \"result\": 0}",
			P(b));
	free(b);
	CHECK(posix_memalign((void **)&b, 3, 40) == EINVAL);
	expect("{\"e\": \"posix_memalign\", \"alignment\": 3, \"size\": 40, \"ptr\": 0, \"result\": "
	       "%d}",
			EINVAL);
	keep = b = aligned_alloc(64, 128);
	CHECK(P(b) % 64 == 0);
	expect("{\"e\": \"aligned_alloc\", \"alignment\": 64, \"size\": 128, \"result\": %" PRIu64
	       "}",
			P(b));
	free(b);
	keep = b = memalign(128, 9);
	expect("{\"e\": \"memalign\", \"alignment\": 128, \"size\": 9, \"result\": %" PRIu64 "}",
			P(b));
	CHECK(malloc_usable_size(b) >= 9);
	free(b);
	keep = b = valloc(9);
	expect("{\"e\": \"valloc\", \"size\": 9, \"result\": %" PRIu64 "}", P(b));
	free(b);
	errno = 0;
	keep = a = malloc(SIZE_MAX / 2);
	CHECK(!a && errno == ENOMEM);
	expect("{\"e\": \"malloc\", \"size\": %zu, \"result\": 0}", SIZE_MAX / 2);
	free(NULL);
	expect("{\"e\": \"free\", \"ptr\": 0}");
}

static void files(const char *directory)
{
	char path[512], buffer[16] = "0123456789";
	struct iovec iov[2] = {{buffer, 3}, {buffer + 3, 2}};
	int fd, fds[2];
	void *map;
	FILE *stream;
	uint64_t closed;

	snprintf(path, sizeof(path), "%s/calls.tmp", directory);
	fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0640);
	CHECK(fd >= 0);
	expect("{\"e\": \"open\", \"path\": \"%s\", \"flags\": %d, \"mode\": %d, \"result\": %d, "
	       "\"error\": 0}",
			path, O_CREAT | O_RDWR | O_TRUNC, 0640, fd);
	CHECK(write(fd, buffer, 10) == 10);
	expect("{\"e\": \"write\", \"fd\": %d, \"buf\": %" PRIu64
	       ", \"count\": 10, \"result\": 10, \"error\": 0}",
			fd, P(buffer));
	CHECK(lseek(fd, 4, SEEK_SET) == 4);
	expect("{\"e\": \"lseek\", \"fd\": %d, \"offset\": 4, \"whence\": 0, \"result\": 4}", fd);
	CHECK(read(fd, buffer, 16) == 6);
	expect("{\"e\": \"read\", \"fd\": %d, \"count\": 16, \"result\": 6}", fd);
	CHECK(pwrite(fd, buffer, 5, 20) == 5);
	expect("{\"e\": \"pwrite\", \"fd\": %d, \"count\": 5, \"offset\": 20, \"result\": 5}", fd);
	CHECK(pread(fd, buffer, 5, 21) == 4);
	expect("{\"e\": \"pread\", \"fd\": %d, \"count\": 5, \"offset\": 21, \"result\": 4}", fd);
	CHECK(writev(fd, iov, 2) == 5);
	expect("{\"e\": \"writev\", \"fd\": %d, \"iovcnt\": 2, \"result\": 5}", fd);
	CHECK(ftruncate(fd, 8192) == 0 && fsync(fd) == 0);
	expect("{\"e\": \"ftruncate\", \"fd\": %d, \"length\": 8192, \"result\": 0}", fd);
	expect("{\"e\": \"fsync\", \"fd\": %d, \"result\": 0}", fd);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 4096);
	CHECK(map != MAP_FAILED);
	expect("{\"e\": \"mmap\", \"length\": 4096, \"fd\": %d, \"offset\": 4096, \"result\": %" PRIu64
	       "}",
			fd, P(map));
	CHECK(mremap(map, 4096, 4096, 0) == map);
	expect("{\"e\": \"mremap\", \"address\": %" PRIu64
	       ", \"old_length\": 4096, \"length\": 4096, \"flags\": 0, \"new_address\": 0, \"result\": %" PRIu64
	       ", \"error\": 0}",
			P(map), P(map));
	CHECK(munmap(map, 4096) == 0);
	expect("{\"e\": \"munmap\", \"address\": %" PRIu64 ", \"length\": 4096}", P(map));
	CHECK(close(fd) == 0);
	expect("{\"e\": \"close\", \"fd\": %d, \"result\": 0, \"error\": 0}", fd);
	CHECK(close(fd) == -1 && errno == EBADF);
	expect("{\"e\": \"close\", \"fd\": %d, \"result\": -1, \"error\": %d}", fd, EBADF);
	CHECK(open("/nonexistent/x", O_RDONLY) == -1 && errno == ENOENT);
	expect("{\"e\": \"open\", \"path\": \"/nonexistent/x\", \"flags\": 0, \"mode\": 0, "
	       "\"result\": -1, "
	       "\"error\": %d}",
			ENOENT);
	/* An unreadable pointer: an error for the caller, and no crash in the wrapper. */
	CHECK(open((const char *)(uintptr_t)1, O_RDONLY) == -1 && errno == EFAULT);
	expect("{\"e\": \"open\", \"path\": \"(null)\", \"result\": -1, \"error\": %d}", EFAULT);
	CHECK(access(path, R_OK) == 0);
	expect("{\"e\": \"access\", \"path\": \"%s\", \"mode\": %d, \"result\": 0}", path, R_OK);
	stream = fopen(path, "r");
	CHECK(stream && fread(buffer, 1, 5, stream) == 5);
	expect("{\"e\": \"fopen\", \"path\": \"%s\", \"mode\": \"r\", \"result\": %" PRIu64 "}",
			path, P(stream));
	expect("{\"e\": \"fread\", \"size\": 1, \"count\": 5, \"result\": 5}");
	closed = P(stream);
	CHECK(fclose(stream) == 0);
	expect("{\"e\": \"fclose\", \"stream\": %" PRIu64 ", \"result\": 0}", closed);
	CHECK(unlink(path) == 0);
	expect("{\"e\": \"unlink\", \"path\": \"%s\", \"result\": 0}", path);
	CHECK(pipe(fds) == 0);
	expect("{\"e\": \"pipe\", \"read_fd\": %d, \"write_fd\": %d, \"result\": 0}", fds[0],
			fds[1]);
	CHECK(close(fds[0]) == 0 && close(fds[1]) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	expect("{\"e\": \"socketpair\", \"domain\": %d, \"fd0\": %d, \"fd1\": %d, \"result\": 0}",
			AF_UNIX, fds[0], fds[1]);
	CHECK(send(fds[0], "abc", 3, 0) == 3 && recv(fds[1], buffer, 8, 0) == 3);
	expect("{\"e\": \"send\", \"fd\": %d, \"count\": 3, \"flags\": 0, \"result\": 3}", fds[0]);
	expect("{\"e\": \"recv\", \"fd\": %d, \"count\": 8, \"result\": 3}", fds[1]);
	{
		struct pollfd wait = {fds[0], POLLOUT, 0};

		CHECK(poll(&wait, 1, 10) == 1);
		expect("{\"e\": \"poll\", \"count\": 1, \"timeout\": 10, \"result\": 1}");
	}
	CHECK(close(fds[0]) == 0 && close(fds[1]) == 0);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static int ready;

static void *waker(void *data)
{
	(void)data;
	pthread_mutex_lock(&mutex);
	ready = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	pthread_exit((void *)5);
}

static void locks(void)
{
	const struct timespec past = {1, 0};
	pthread_t thread;
	void *value;

	CHECK(pthread_mutex_lock(&mutex) == 0);
	expect("{\"e\": \"pthread_mutex_lock_req\", \"mutex\": %" PRIu64 "}", P(&mutex));
	expect("{\"e\": \"pthread_mutex_lock\", \"mutex\": %" PRIu64 ", \"result\": 0}", P(&mutex));
	CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
	expect("{\"e\": \"pthread_mutex_trylock\", \"mutex\": %" PRIu64 ", \"result\": %d}",
			P(&mutex), EBUSY);
	CHECK(pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT);
	expect("{\"e\": \"pthread_mutex_timedlock\", \"mutex\": %" PRIu64 ", \"result\": %d}",
			P(&mutex), ETIMEDOUT);
	CHECK(pthread_create(&thread, NULL, waker, &ready) == 0);
	expect("{\"e\": \"pthread_create\", \"thread\": %" PRIu64 ", \"data\": %" PRIu64
	       ", \"result\": 0}",
			P(thread), P(&ready));
	while (!ready) {
		CHECK(pthread_cond_wait(&cond, &mutex) == 0);
		expect("{\"e\": \"pthread_cond_wait\", \"cond\": %" PRIu64 ", \"mutex\": %" PRIu64
		       ", \"result\": 0}",
				P(&cond), P(&mutex));
	}
	CHECK(pthread_mutex_unlock(&mutex) == 0);
	expect("{\"e\": \"pthread_mutex_unlock\", \"mutex\": %" PRIu64 "}", P(&mutex));
	CHECK(pthread_join(thread, &value) == 0 && value == (void *)5);
	expect("{\"e\": \"pthread_join\", \"thread\": %" PRIu64 ", \"result\": 0}", P(thread));
	CHECK(pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_trywrlock(&rwlock) == EBUSY);
	expect("{\"e\": \"pthread_rwlock_rdlock\", \"rwlock\": %" PRIu64 ", \"result\": 0}",
			P(&rwlock));
	expect("{\"e\": \"pthread_rwlock_trywrlock\", \"rwlock\": %" PRIu64 ", \"result\": %d}",
			P(&rwlock), EBUSY);
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
	expect("{\"e\": \"pthread_rwlock_unlock\", \"rwlock\": %" PRIu64 "}", P(&rwlock));
	CHECK(sem_init(&semaphore, 0, 1) == 0 && sem_wait(&semaphore) == 0);
	expect("{\"e\": \"sem_wait\", \"semaphore\": %" PRIu64 ", \"result\": 0}", P(&semaphore));
	errno = 0;
	CHECK(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
	expect("{\"e\": \"sem_trywait\", \"semaphore\": %" PRIu64 ", \"result\": -1}",
			P(&semaphore));
	CHECK(sem_post(&semaphore) == 0);
	expect("{\"e\": \"sem_post\", \"semaphore\": %" PRIu64 "}", P(&semaphore));
}

/* Handlers that write and use semaphores while the interrupted code is inside malloc. */
static volatile sig_atomic_t handled;
static int null_fd;

static void on_signal(int number)
{
	const int saved_errno = errno;

	(void)number;
	handled++;
	if (write(null_fd, "x", 1) != 1)
		_exit(97);
	errno = saved_errno;
}

static void signals(void)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const struct timespec interval = {0, 50000};
	struct itimerspec times = {interval, interval};
	timer_t timer;

	null_fd = open("/dev/null", O_WRONLY);
	CHECK(null_fd >= 0 && sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
	CHECK(timer_settime(timer, 0, &times, NULL) == 0);
	for (int i = 0; i < 20000 || handled < 50; i++) {
		keep = malloc((size_t)i % 300);
		CHECK(keep);
		free(keep);
	}
	timer_delete(timer);
	expect("{\"handled\": %d, \"null_fd\": %d}", (int)handled, null_fd);
}

/* Waits until the test has attached, or detached, without a call that is wrapped. */
static void wait_for_line(void)
{
	char byte = 0;

	CHECK(syscall(SYS_write, STDOUT_FILENO, "waiting\n", 8) == 8);
	while (byte != '\n')
		CHECK(syscall(SYS_read, STDIN_FILENO, &byte, 1) == 1);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	if (strchr(argv[1], 'a'))
		wait_for_line();
	if (strchr(argv[1], 'm'))
		memory();
	if (strchr(argv[1], 'f'))
		files(argv[2]);
	if (strchr(argv[1], 'l'))
		locks();
	if (strchr(argv[1], 'd'))
		descriptors(argv[2]);
	if (strchr(argv[1], 'w'))
		waits();
	if (strchr(argv[1], 's'))
		signals();
	if (strchr(argv[1], 'a'))
		wait_for_line();
	return 0;
}
