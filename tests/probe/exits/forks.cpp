/* SPDX-License-Identifier: MIT */
/*
 * Creates children while other threads throw. Each child throws, too, and reports by its exit
 * status what it has caught:
 *
 *	forks fork | system | thread | vfork | spawn CHILDREN [wait]
 *	forks child
 *
 * `system`: by the system call, which the C library does not see. `thread`: not from the first
 * thread. `wait`: starts after a line of input. Prints the number of children that have caught all
 * exceptions. A child that does not end within PATIENCE seconds is killed, and the program ends
 * with status 9.
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define THREADS 4
#define PATIENCE 30
#define CAUGHT 42

extern char **environ;

static std::atomic<bool> finished;
static const char *self;

struct guard {
	int *left;
	~guard() { ++*left; }
};

NOINLINE int thrower(int value)
{
	if (value % 3 != 1)
		throw std::runtime_error(std::to_string(value));
	return value;
}

NOINLINE int passed(int value, int *left)
{
	guard each{left};

	return thrower(value) + 1;
}

NOINLINE int catcher(int value)
{
	int left = 0;

	try {
		return passed(value, &left);
	} catch (const std::exception &error) {
		return left == 1 && std::stoi(error.what()) == value ? CAUGHT : 1;
	}
}

NOINLINE void *throw_on(void *)
{
	for (int i = 0; !finished; i += 3)
		catcher(i % 3000);
	return nullptr;
}

NOINLINE int child()
{
	for (int i = 0; i < 30; i += 3) {
		if (catcher(i) != CAUGHT)
			return 1;
	}
	return CAUGHT;
}

static pid_t make(const char *how)
{
	char *const args[] = {const_cast<char *>(self), const_cast<char *>("child"), nullptr};
	pid_t pid = -1;

	if (!strcmp(how, "vfork")) {
		pid = vfork();
		if (!pid) {
			execv(self, args);
			_exit(1);
		}
	} else if (!strcmp(how, "spawn")) {
		if (posix_spawn(&pid, self, nullptr, nullptr, args, environ))
			return -1;
	} else {
		pid = strcmp(how, "system") ? fork() : (pid_t)syscall(SYS_fork);
		if (!pid)
			_exit(child());
	}
	return pid;
}

static time_t now()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* Returns whether the child has ended with the expected status. */
static bool is_right(pid_t pid)
{
	const struct timespec pause = {0, 1000000};
	time_t end = now() + PATIENCE;

	while (now() < end) {
		int status;

		if (waitpid(pid, &status, WNOHANG) == pid) {
			if (status != CAUGHT << 8)
				fprintf(stderr, "child %d: status %#x\n", (int)pid, status);
			return status == CAUGHT << 8;
		}
		nanosleep(&pause, nullptr);
	}
	fprintf(stderr, "child %d does not end\n", (int)pid);
	kill(pid, SIGKILL);
	_exit(9);
}

struct work {
	const char *how;
	int children, right;
};

static void *make_all(void *of)
{
	work *all = static_cast<work *>(of);

	for (int i = 0; i < all->children; i++)
		all->right += is_right(make(all->how));
	return nullptr;
}

/* A function that is called meanwhile, so that the test sees that probes are set. */
NOINLINE int idle(int value)
{
	const struct timespec pause = {0, 1000000};

	nanosleep(&pause, nullptr);
	return value + 1;
}

static bool wait_for_line()
{
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	char line[16];

	for (int i = 0; poll(&input, 1, 0) == 0;)
		i = idle(i);
	return fgets(line, sizeof(line), stdin) != nullptr;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], maker;
	work all = {argc > 2 ? argv[1] : "", argc > 2 ? atoi(argv[2]) : 0, 0};

	self = "/proc/self/exe";
	if (argc == 2)
		return child();
	printf("begins\n");
	fflush(stdout);
	if (argc > 3 && !wait_for_line())
		return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], nullptr, throw_on, nullptr);
	if (strcmp(all.how, "thread")) {
		make_all(&all);
	} else {
		pthread_create(&maker, nullptr, make_all, &all);
		pthread_join(maker, nullptr);
	}
	finished = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], nullptr);
	printf("%d\n", all.right);
	return all.right == all.children ? 0 : 1;
}
