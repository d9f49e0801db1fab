/* SPDX-License-Identifier: MIT */
/*
 * An instrumented program that changes itself while a daemon tries to reach it: each argument is
 * one action. `reach:tick` counts from 0 in each process.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(ev_tick, "reach", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("sequence")));

static uint64_t sequence;

static void ticks(unsigned long nr)
{
	for (; nr; nr--, sequence++)
		side_event(ev_tick, side_arg_list(side_arg_u64(sequence)));
}

/* Before main(), after libside's constructor. */
static __attribute__((constructor)) void early(void)
{
	const char *nr = getenv("REACH_EARLY");

	/* The constructor that registers this file's events may run before or after this one. */
	side_event_description_ptr_init();
	if (nr)
		ticks(strtoul(nr, NULL, 10));
}

static void fail(const char *what)
{
	fprintf(stderr, "reach-program: %s: %s\n", what, strerror(errno));
	_exit(errno == EPERM || errno == ENOSYS || errno == ENOSPC ? 77 : 9);
}

static void must(int result, const char *what)
{
	if (result < 0)
		fail(what);
}

static void wait_for_file(const char *path)
{
	while (access(path, F_OK))
		usleep(2000);
}

/* Creates a directory, because that needs no descriptor. */
static void make_mark(const char *path)
{
	must(mkdir(path, 0700), path);
}

/* Writes a line for each thread and each descriptor. */
static void report(const char *path)
{
	char name[300], text[256];
	struct dirent *entry;
	FILE *out = fopen(path, "we");
	DIR *dir = opendir("/proc/self/task");

	if (!out || !dir)
		fail(path);
	while ((entry = readdir(dir))) {
		FILE *comm;

		snprintf(name, sizeof(name), "/proc/self/task/%s/comm", entry->d_name);
		comm = entry->d_name[0] == '.' ? NULL : fopen(name, "re");
		if (comm && fgets(text, sizeof(text), comm))
			fprintf(out, "task %s", text);
		if (comm)
			fclose(comm);
	}
	closedir(dir);
	dir = opendir("/proc/self/fd");
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd != dirfd(dir) && fd != fileno(out))
			fprintf(out, "fd %d\n", fd);
	}
	if (dir)
		closedir(dir);
	fclose(out);
}

/* ---- children ---- */

static int child_starts(void)
{
	sequence = 0;
	return 0;
}

static void wait_for_child(pid_t child)
{
	int status;

	must(child, "fork");
	must(waitpid(child, &status, 0), "wait");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 8);
}

static void daemonize(void)
{
	pid_t child = fork();

	must(child, "fork");
	if (child)
		_exit(0);
	must(setsid(), "setsid");
	child = fork();
	must(child, "fork");
	if (child)
		_exit(0);
	must(chdir("/"), "/");
	child_starts();
}

static int cloned(void *nr)
{
	ticks(*(unsigned long *)nr);
	return 0;
}

static void clone_child(int flags, unsigned long nr)
{
	static char stack[256 << 10] __attribute__((aligned(16)));

	wait_for_child(clone(cloned, stack + sizeof(stack), flags | SIGCHLD, &nr));
}

static void vfork_and_exec(char **words)
{
	pid_t child = vfork();

	if (!child) {
		execv("/proc/self/exe", words);
		_exit(9);
	}
	wait_for_child(child);
}

static void vfork_and_tick(unsigned long nr)
{
	pid_t child = vfork();

	if (!child) {
		ticks(nr);
		_exit(0);
	}
	wait_for_child(child);
}

/* ---- changes that programs make to themselves ---- */

static void lower(int resource, rlim_t to)
{
	struct rlimit limit;

	must(getrlimit(resource, &limit), "getrlimit");
	limit.rlim_cur = to;
	must(setrlimit(resource, &limit), "setrlimit");
}

/* Installs a filter that kills the process on all other calls, in all threads or in this one. */
static void allow_little(unsigned int flags)
{
	static const unsigned int allowed[] = {
			SYS_read,
			SYS_write,
			SYS_exit,
			SYS_exit_group,
			SYS_rt_sigreturn,
			SYS_restart_syscall,
			SYS_newfstatat,
			SYS_access,
			SYS_mkdir,
			SYS_clock_nanosleep,
	};
	enum { NR = sizeof(allowed) / sizeof(allowed[0]) };
	struct sock_filter filter[NR + 3];
	struct sock_fprog program = {.len = NR + 3, .filter = filter};
	unsigned int i;

	filter[0] = (struct sock_filter)BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (i = 0; i < NR; i++)
		filter[1 + i] = (struct sock_filter)BPF_JUMP(
				BPF_JMP | BPF_JEQ | BPF_K, allowed[i], (unsigned char)(NR - i), 0);
	filter[NR + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[NR + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
	must((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program), "seccomp");
}

static sigset_t all_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	return all;
}

static void block_all(void)
{
	sigset_t all = all_signals();

	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* Sends itself signals, each of which only its destination may get. */
static void signals_to_wait_for(unsigned long nr)
{
	sigset_t all = all_signals();
	unsigned long i;

	block_all();
	for (i = 0; i < nr; i++) {
		int got = 0;

		must(kill(getpid(), SIGUSR1), "kill");
		if (sigwait(&all, &got) || got != SIGUSR1)
			_exit(10);
		ticks(1);
	}
}

static void signals_to_read(unsigned long nr)
{
	struct signalfd_siginfo info;
	sigset_t one;
	unsigned long i;
	int fd;

	block_all();
	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	fd = signalfd(-1, &one, SFD_CLOEXEC);
	must(fd, "signalfd");
	for (i = 0; i < nr; i++) {
		must(kill(getpid(), SIGUSR2), "kill");
		if (read(fd, &info, sizeof(info)) != sizeof(info) || info.ssi_signo != SIGUSR2)
			_exit(10);
		ticks(1);
	}
	close(fd);
}

static void tick_in_handler(int signal)
{
	(void)signal;
	ticks(1);
}

static void handler(void)
{
	struct sigaction action = {.sa_handler = tick_in_handler};

	must(sigaction(SIGUSR1, &action, NULL), "sigaction");
	raise(SIGUSR1);
}

static void reset_dispositions(void)
{
	int i;

	for (i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
}

static void *ticking_thread(void *nr)
{
	ticks(*(unsigned long *)nr);
	return NULL;
}

static void thread(unsigned long nr)
{
	pthread_t id;

	if (pthread_create(&id, NULL, ticking_thread, &nr) || pthread_join(id, NULL))
		_exit(9);
}

static void *leave_main_thread(void *unused)
{
	(void)unused;
	usleep(1000);
	ticks(1);
	/* Stays in a buffer until the end. */
	printf("last words");
	return NULL;
}

/* The process ends, with status 0, when the other thread has ended. */
static void exit_main_thread(void)
{
	pthread_t id;

	if (pthread_create(&id, NULL, leave_main_thread, NULL) || pthread_detach(id))
		_exit(9);
	pthread_exit(NULL);
}

static void enter_namespace(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd, path);
	must(setns(fd, 0), "setns");
	close(fd);
}

static void load(const char *path)
{
#ifdef REACH_STATIC
	fail(path);
#else
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(9);
	}
#endif
}

static pthread_t loading;
static const char *loading_path;

static void *load_there(void *path)
{
	load(path);
	return NULL;
}

/* After that time the loader most likely waits for the recorder, if that is stopped. */
static void load_beside(char *path)
{
	loading_path = path;
	errno = pthread_create(&loading, NULL, load_there, path);
	if (errno)
		fail("pthread_create");
	usleep(300000);
}

/*
 * In a child that was forked in the meantime: the library is loaded, although its constructor has
 * not ended.
 */
static void fire_there(unsigned int nr)
{
#ifndef REACH_STATIC
	void *library = dlopen(loading_path, RTLD_NOW | RTLD_LOCAL);
	void *found = library ? dlsym(library, "fire") : NULL;
	void (*fire)(unsigned int nr);

	memcpy(&fire, &found, sizeof(fire));
	if (fire)
		fire(nr);
#endif
	(void)nr;
}

/* ---- descriptors during the first event ---- */

enum beside { BESIDE_BEGINS, BESIDE_RUNS, BESIDE_ENDS };
static int beside;

static void beside_has_run(void)
{
	int begins = BESIDE_BEGINS;

	__atomic_compare_exchange_n(
			&beside, &begins, BESIDE_RUNS, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static unsigned int descriptors(DIR *dir)
{
	unsigned int nr = 0;

	rewinddir(dir);
	while (readdir(dir))
		nr++;
	return nr;
}

/* Stores the greatest number of descriptors in excess of the initial number. */
static void *count_descriptors(void *unused)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int before, more = 0;

	(void)unused;
	if (!dir)
		fail("/proc/self/fd");
	before = descriptors(dir);
	while (__atomic_load_n(&beside, __ATOMIC_RELAXED) != BESIDE_ENDS) {
		unsigned int now = descriptors(dir);

		if (now > before + more)
			more = now - before;
		beside_has_run();
	}
	closedir(dir);
	return (void *)(uintptr_t)more;
}

static void *close_descriptors(void *unused)
{
	(void)unused;
	while (__atomic_load_n(&beside, __ATOMIC_RELAXED) != BESIDE_ENDS) {
		closefrom(3);
		beside_has_run();
	}
	return NULL;
}

static void tick_beside(void *(*function)(void *))
{
	pthread_t thread;
	void *more;

	errno = pthread_create(&thread, NULL, function, NULL);
	if (errno)
		fail("pthread_create");
	while (__atomic_load_n(&beside, __ATOMIC_RELAXED) == BESIDE_BEGINS)
		usleep(100);
	ticks(1);
	__atomic_store_n(&beside, BESIDE_ENDS, __ATOMIC_RELAXED);
	pthread_join(thread, &more);
	if (more) {
		fprintf(stderr, "reach-program: %u descriptors more\n",
				(unsigned int)(uintptr_t)more);
		_exit(9);
	}
}

/* ---- actions ---- */

static void plain_word(const char *word)
{
	if (!strcmp(word, "fork-and-go-on")) {
		pid_t child = fork();

		if (child)
			wait_for_child(child);
		if (child)
			_exit(0);
		child_starts();
	} else if (!strcmp(word, "daemonize")) {
		daemonize();
	} else if (!strcmp(word, "unshare-user")) {
		must(unshare(CLONE_NEWUSER), "unshare user");
	} else if (!strcmp(word, "unshare-mount")) {
		must(unshare(CLONE_NEWNS), "unshare mount");
	} else if (!strcmp(word, "unshare-pid")) {
		must(unshare(CLONE_NEWPID), "unshare pid");
	} else if (!strcmp(word, "setns")) {
		enter_namespace("/proc/self/ns/mnt");
	} else if (!strcmp(word, "closefrom")) {
		closefrom(0);
	} else if (!strcmp(word, "close-range")) {
		must(close_range(0, ~0u, 0), "close_range");
	} else if (!strcmp(word, "strict")) {
		must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "strict");
	} else if (!strcmp(word, "filter")) {
		allow_little(0);
	} else if (!strcmp(word, "filter-all")) {
		allow_little(SECCOMP_FILTER_FLAG_TSYNC);
	} else if (!strcmp(word, "block-all")) {
		block_all();
	} else if (!strcmp(word, "reset-signals")) {
		reset_dispositions();
	} else if (!strcmp(word, "handler")) {
		handler();
	} else if (!strcmp(word, "reap")) {
		must(waitpid(-1, NULL, 0), "wait");
		pthread_join(loading, NULL);
	} else if (!strcmp(word, "counted-tick")) {
		tick_beside(count_descriptors);
	} else if (!strcmp(word, "closed-tick")) {
		tick_beside(close_descriptors);
	} else if (!strcmp(word, "nofile-4")) {
		lower(RLIMIT_NOFILE, 4);
	} else if (!strcmp(word, "nofile-3")) {
		lower(RLIMIT_NOFILE, 3);
	} else if (!strcmp(word, "nproc-0")) {
		lower(RLIMIT_NPROC, 0);
	} else if (!strcmp(word, "nproc-2")) {
		lower(RLIMIT_NPROC, 2);
	} else if (!strcmp(word, "drop")) {
		must(setgid(65534), "setgid");
		must(setuid(65534), "setuid");
	} else if (!strcmp(word, "exit-main-thread")) {
		exit_main_thread();
	} else if (!strcmp(word, "exit")) {
		_exit(0);
	} else if (!strcmp(word, "exit-bare")) {
		syscall(SYS_exit, 0);
	} else {
		fprintf(stderr, "reach-program: %s?\n", word);
		_exit(2);
	}
}

static int word_with_argument(const char *word, char *argument)
{
	unsigned long number = strtoul(argument, NULL, 10);

	if (!strcmp(word, "tick"))
		ticks(number);
	else if (!strcmp(word, "fork")) {
		pid_t child = fork();

		if (!child) {
			child_starts();
			ticks(number);
			_exit(0);
		}
		wait_for_child(child);
	} else if (!strcmp(word, "clone"))
		clone_child(0, number);
	else if (!strcmp(word, "clone-vm"))
		clone_child(CLONE_VM | CLONE_VFORK, number);
	else if (!strcmp(word, "vfork-tick"))
		vfork_and_tick(number);
	else if (!strcmp(word, "thread"))
		thread(number);
	else if (!strcmp(word, "sigwait"))
		signals_to_wait_for(number);
	else if (!strcmp(word, "signalfd"))
		signals_to_read(number);
	else if (!strcmp(word, "wait"))
		wait_for_file(argument);
	else if (!strcmp(word, "say"))
		make_mark(argument);
	else if (!strcmp(word, "report"))
		report(argument);
	else if (!strcmp(word, "chroot"))
		must(chroot(argument), "chroot");
	else if (!strcmp(word, "load"))
		load(argument);
	else if (!strcmp(word, "load-beside"))
		load_beside(argument);
	else if (!strcmp(word, "fork-beside")) {
		if (!fork()) {
			child_starts();
			ticks(number);
			fire_there(2);
			_exit(0);
		}
	} else
		return 0;
	return 1;
}

/*
 * The command of a recording that other programs join: prints its process id and its path, and runs
 * until it is ended.
 */
static void host(void)
{
	const char *sockets = getenv("SIDE_AGENT_SOCKET");
	char end[8];

	printf("%d %s\n", (int)getpid(), sockets ? sockets : "");
	fflush(stdout);
	(void)!fgets(end, sizeof(end), stdin);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "host")) {
			host();
			return 0;
		}
		if (!strcmp(argv[i], "exec")) {
			execv("/proc/self/exe", argv + i);
			fail("exec");
		}
		if (!strcmp(argv[i], "vfork")) {
			vfork_and_exec(argv + i);
			return 0;
		}
		if (i + 1 < argc && word_with_argument(argv[i], argv[i + 1]))
			i++;
		else
			plain_word(argv[i]);
	}
	return 0;
}
