/* SPDX-License-Identifier: MIT */
/*
 * An instrumented program with one verb for each difficult case of recorders. `test:tick` has a
 * sequence number for each thread (or process), so that a reader can detect missing events.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(ev_tick, "test", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("thread"), side_field_u64("sequence")));
side_static_event(ev_text, "test", "text", SIDE_LOGLEVEL_WARNING,
		side_field_list(side_field_u64("sequence"), side_field_string("text")));
side_static_event(ev_note, "test", "note", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_string("what")));
side_static_event_variadic(ev_many, "test", "many", SIDE_LOGLEVEL_NOTICE,
		side_field_list(side_field_u64("sequence")));

static enum side_visitor_status visit_and_fork(
		const struct side_tracer_visitor_ctx *context, pid_t *child);

side_define_static_vla_visitor(fork_type, side_elem(side_type_u32()), side_length(side_type_u32()),
		visit_and_fork, pid_t);
side_static_event(ev_fork, "test", "fork", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_vla_visitor("pids", fork_type)));

static void tick(uint32_t thread, uint64_t sequence)
{
	side_event(ev_tick, side_arg_list(side_arg_u32(thread), side_arg_u64(sequence)));
}

static void note(const char *what)
{
	side_event(ev_note, side_arg_list(side_arg_string(what)));
}

/* ---- threads ---- */

struct work {
	pthread_t thread;
	uint32_t number;
	uint64_t from, to;
	volatile uint64_t *published;
	bool gently;
	bool moving; /* from one CPU to the next, so that all rings have its ticks */
};

static void move(uint64_t turn)
{
	static cpu_set_t all;
	cpu_set_t next;
	int cpu, nr;

	if (!CPU_COUNT(&all))
		sched_getaffinity(getpid(), sizeof(all), &all);
	nr = (int)(turn % (uint64_t)CPU_COUNT(&all));
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !nr--)
			break;
	CPU_ZERO(&next);
	CPU_SET(cpu, &next);
	sched_setaffinity(0, sizeof(next), &next);
}

static void *fire(void *argument)
{
	struct work *work = argument;
	uint64_t i;

	for (i = work->from; i < work->to; i++) {
		tick(work->number, i);
		if (work->published)
			work->published[work->number] = i + 1;
		/* Slower than the recorder, so that no event is lost to a full ring. */
		if (work->gently && i % 32 == 31)
			usleep(500);
		if (work->moving && i % 32 == 31)
			move(work->number + i / 32);
	}
	return NULL;
}

static void fire_from(uint32_t nr_threads, uint64_t nr_events)
{
	struct work work[16] = {0};
	uint32_t i;

	for (i = 0; i < nr_threads; i++) {
		work[i].number = i;
		work[i].to = nr_events;
		pthread_create(&work[i].thread, NULL, fire, &work[i]);
	}
	for (i = 0; i < nr_threads; i++)
		pthread_join(work[i].thread, NULL);
}

static int verb_fire(char **args)
{
	fire_from((uint32_t)atoi(args[0]), strtoull(args[1], NULL, 0));
	return 7;
}

/* ---- processes ---- */

static void wait_all(void)
{
	while (wait(NULL) > 0)
		;
}

/* A chain of forks: the parent ticks, its child ticks, its grandchild ticks. */
static int verb_fork(char **args)
{
	int depth = atoi(args[0]);
	uint64_t i;
	int level;

	for (level = 0; level < depth; level++) {
		for (i = 0; i < 100; i++)
			tick((uint32_t)level, i);
		if (fork())
			break;
	}
	wait_all();
	note("end");
	return 0;
}

/* Children of a program whose other threads emit all the time. */
static int verb_fork_threads(char **args)
{
	volatile uint64_t published[102] = {0};
	struct work work[2] = {
			{.number = 100, .to = UINT64_MAX, .published = published, .gently = true},
			{.number = 101, .to = UINT64_MAX, .published = published, .gently = true}};
	int children = atoi(args[0]);
	int i;

	pthread_create(&work[0].thread, NULL, fire, &work[0]);
	pthread_create(&work[1].thread, NULL, fire, &work[1]);
	/*
	 * A new thread allocates in the runtime of clang's AddressSanitizer. A child that is forked
	 * at that time has copies of its locked locks.
	 */
	while (!published[100] || !published[101])
		usleep(100);
	for (i = 0; i < children; i++) {
		pid_t child = fork();

		if (!child) {
			struct work more = {.number = 1, .to = 50};
			uint64_t k;

			for (k = 0; k < 50; k++)
				tick(0, k);
			/* A new thread in the child works, too. */
			pthread_create(&more.thread, NULL, fire, &more);
			pthread_join(more.thread, NULL);
			_exit(0);
		}
	}
	wait_all();
	note("end");
	_exit(0);
}

static int verb_exec(char **args)
{
	uint64_t i;

	for (i = 0; i < 10; i++)
		tick(0, i);
	execl("/proc/self/exe", args[-2], "fire", "1", "20", (char *)NULL);
	return 1;
}

static int verb_vfork(char **args)
{
	pid_t child;
	int status;

	(void)args;
	tick(0, 0);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	child = vfork();
	if (!child) {
		side_event_call(ev_tick, side_arg_list(side_arg_u32(9), side_arg_u64(0)));
		_exit(5);
	}
	waitpid(child, &status, 0);
	tick(0, 1);
	return WEXITSTATUS(status) == 5 ? 0 : 1;
}

static int verb_raw_clone(char **args)
{
	long child;

	(void)args;
	tick(0, 0);
	/* The bare system call: no fork handler of libside runs. */
	child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child) {
		tick(9, 0);
		syscall(SYS_exit_group, 0);
	}
	wait_all();
	tick(0, 1);
	return 0;
}

/* A child that continues after the exit of the command. */
static int verb_orphan(char **args)
{
	uint64_t i;

	tick(0, 0);
	if (fork()) {
		usleep(100000);
		return 0;
	}
	for (i = 0; i < 10; i++) {
		tick(1, i);
		usleep((useconds_t)atoi(args[0]) * 1000 / 10);
	}
	return 0;
}

/* ---- signals, visitors, ends ---- */

static volatile uint64_t handled;

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	errno = 4711;
	tick(1, handled++);
	if (errno != 4711)
		_exit(3);
	errno = saved;
}

static int verb_signal(char **args)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, 300}, {0, 300}};
	uint64_t events = strtoull(args[0], NULL, 0), i;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < events; i++)
		tick(0, i);
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("%llu\n", (unsigned long long)handled);
	return handled ? 0 : 1;
}

static void on_signal_fork(int number)
{
	struct itimerval again = {{0, 0}, {0, 120}};

	(void)number;
	if (!fork()) {
		tick(2, 0);
		tick(2, 1);
		_exit(0);
	}
	setitimer(ITIMER_REAL, &again, NULL);
}

/* A signal handler that forks at any instruction of the program. */
static int verb_signal_fork(char **args)
{
	struct sigaction action = {.sa_handler = on_signal_fork, .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, 0}, {0, 120}};
	int i;

	(void)args;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < 20000; i++)
		tick(0, (uint64_t)i);
	signal(SIGALRM, SIG_IGN);
	wait_all();
	return 0;
}

/* A visitor of the application that forks while its event is being built, in both processes. */
static enum side_visitor_status visit_and_fork(
		const struct side_tracer_visitor_ctx *context, pid_t *child)
{
	struct side_arg element;

	*child = fork();
	element = (struct side_arg)side_visit_dynamic_arg(side_arg_u32, *child ? 1 : 2);
	return context->write_elem(context, &element);
}

static int verb_visitor_fork(char **args)
{
	pid_t child = -1;

	(void)args;
	tick(0, 0);
	if (side_event_enabled(ev_fork)) {
		side_arg_define_vla_visitor(list, &child);

		side_event_call(ev_fork, side_arg_list(side_arg_vla_visitor(list)));
	}
	tick(child ? 1 : 2, 0);
	wait_all();
	return 0;
}

/* main() returns while other threads emit: destructors run at the same time. */
static int verb_exit_beside_threads(char **args)
{
	static struct work work[3];
	static volatile uint64_t published[3];
	uint32_t i;

	(void)args;
	for (i = 0; i < 3; i++) {
		work[i] = (struct work){.number = i,
				.to = UINT64_MAX,
				.published = published,
				.gently = true};
		pthread_create(&work[i].thread, NULL, fire, &work[i]);
	}
	while (!published[0] || !published[1] || !published[2])
		usleep(100);
	usleep(20000);
	return 0;
}

static bool destructor_wanted;

static __attribute__((destructor)) void at_the_end(void)
{
	if (destructor_wanted)
		note("destructor");
}

static void at_exit(void)
{
	note("atexit");
}

static int verb_destructor(char **args)
{
	(void)args;
	destructor_wanted = true;
	atexit(at_exit);
	note("main");
	return 0;
}

/* Runs until it is killed. A file counts the published events. */
static int fire_and_note(char **args, bool moving)
{
	struct work work[2] = {{.number = 0, .to = UINT64_MAX, .gently = true, .moving = moving},
			{.number = 1, .to = UINT64_MAX, .gently = true, .moving = moving}};
	int fd = open(args[0], O_RDWR);
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return 1;
	work[0].published = work[1].published = memory;
	if (moving)
		move(0);
	pthread_create(&work[1].thread, NULL, fire, &work[1]);
	fire(&work[0]);
	return 0;
}

static int verb_kill_me(char **args)
{
	return fire_and_note(args, false);
}

static int verb_kill_me_moving(char **args)
{
	return fire_and_note(args, true);
}

static int verb_flood(char **args)
{
	uint64_t events = strtoull(args[0], NULL, 0), i;

	for (i = 0; i < events; i++)
		tick(0, i);
	return 0;
}

/* Faster than any recorder: the recorder, its parent, is stopped meanwhile. */
static int verb_flood_unread(char **args)
{
	kill(getppid(), SIGSTOP);
	verb_flood(args);
	kill(getppid(), SIGCONT);
	return 0;
}

/* ---- flight recorders ---- */

/*
 * Fires events, and then ends by a signal that cannot be caught, or by one that leaves a core dump.
 */
static int verb_die(char **args)
{
	verb_flood(args);
	if (!strcmp(args[1], "abort"))
		abort();
	raise(SIGKILL);
	return 1;
}

static int verb_die_threads(char **args)
{
	fire_from((uint32_t)atoi(args[0]), strtoull(args[1], NULL, 0));
	raise(SIGKILL);
	return 1;
}

/* Reads a number of events per line, fires them, and prints the total so far. */
static int verb_obey(char **args)
{
	uint64_t sequence = 0;
	char line[64];

	(void)args;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t until = sequence + strtoull(line, NULL, 0);

		for (; sequence < until; sequence++)
			tick(0, sequence);
		printf("%llu\n", (unsigned long long)sequence);
		fflush(stdout);
	}
	return 0;
}

/* Threads, one after the other, which fire EVENTS events each. */
static int verb_fire_in_turn(char **args)
{
	uint32_t nr = (uint32_t)atoi(args[0]), i;

	for (i = 0; i < nr; i++) {
		struct work work = {.number = i, .to = strtoull(args[1], NULL, 0)};

		pthread_create(&work.thread, NULL, fire, &work);
		pthread_join(work.thread, NULL);
	}
	return 0;
}

/* ---- the soak ---- */

#define CHURN_STEP 200000
#define CHURN_STEPS_MAX 8

/*
 * Processes that start and end, some of them by a kill, at full rate. Prints the number of
 * processes for each number of steps that their two threads took.
 */
static int verb_churn(char **args)
{
	double seconds = atof(args[0]);
	struct timespec now, begin;
	uint64_t processes[CHURN_STEPS_MAX] = {0};
	unsigned int i;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		uint64_t steps = 1 + (uint64_t)rand() % CHURN_STEPS_MAX;
		pid_t child = fork();
		int status = -1;

		if (!child) {
			fire_from(2, steps * CHURN_STEP);
			if (processes[steps - 1] % 2)
				raise(SIGKILL);
			_exit(0);
		}
		waitpid(child, &status, 0);
		processes[steps - 1]++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) +
					(double)(now.tv_nsec - begin.tv_nsec) * 1e-9 <
			seconds);
	for (i = 0; i < CHURN_STEPS_MAX; i++)
		printf("%llu ", (unsigned long long)processes[i]);
	printf("\n");
	return 0;
}

/* ---- sizes and kinds ---- */

static int verb_sizes(char **args)
{
	static char text[100001];
	static const unsigned int sizes[] = {
			0, 1, 400, 512, 513, 1000, 5000, 20000, 32000, 60000, 65000, 66000, 100000};
	unsigned int i;

	(void)args;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(text, 'a' + (char)(i % 26), sizes[i]);
		text[sizes[i]] = 0;
		side_event(ev_text, side_arg_list(side_arg_u64(i), side_arg_string(text)));
	}
	return 0;
}

static int verb_kinds(char **args)
{
	(void)args;
	tick(0, 0);
	note("debug");
	side_event(ev_text, side_arg_list(side_arg_u64(1), side_arg_string("warning")));
	side_event_variadic(ev_many, side_arg_list(side_arg_u64(2)),
			side_arg_list(side_arg_dynamic_field("extra", side_arg_dynamic_u32(33))));
	return 0;
}

/* ---- libraries ---- */

static int verb_dlopen(char **args)
{
	int rounds = atoi(args[1]), i;

	for (i = 0; i < rounds; i++) {
		void *library = dlopen(args[0], RTLD_NOW);
		void (*emit)(uint64_t);
		void *found;

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		found = dlsym(library, "plugin_emit");
		memcpy(&emit, &found, sizeof(emit));
		emit((uint64_t)i);
		dlclose(library);
	}
	note("end");
	return 0;
}

/* All at once: threads emit, a library is loaded and unloaded, and the process forks. */
static volatile bool storm_over;

static void *load_and_unload(void *path)
{
	uint64_t i;

	for (i = 0; !storm_over; i++) {
		void *library = dlopen(path, RTLD_NOW);
		void (*emit)(uint64_t);
		void *found;

		if (!library)
			abort();
		found = dlsym(library, "plugin_emit");
		memcpy(&emit, &found, sizeof(emit));
		emit(i);
		dlclose(library);
	}
	return NULL;
}

static void *fire_until_over(void *argument)
{
	struct work *work = argument;

	while (!storm_over) {
		work->to += 32;
		fire(work);
		work->from = work->to;
		/*
		 * Bounded in spite of slow machines: a reader of the trace keeps all of it in
		 * memory.
		 */
		if (work->to > 200000)
			usleep(100000);
	}
	return NULL;
}

static int verb_storm(char **args)
{
	static struct work work[2] = {{.number = 0, .gently = true}, {.number = 1, .gently = true}};
	pthread_t loader;
	int rounds = atoi(args[1]), failed = 0, i;

	pthread_create(&work[0].thread, NULL, fire_until_over, &work[0]);
	pthread_create(&work[1].thread, NULL, fire_until_over, &work[1]);
	pthread_create(&loader, NULL, load_and_unload, args[0]);
	for (i = 0; i < rounds; i++) {
		int status = -1;
		pid_t child = fork();

		if (!child) {
			tick(2, 0);
			_exit(0);
		}
		waitpid(child, &status, 0);
		failed += status != 0;
	}
	storm_over = true;
	pthread_join(work[0].thread, NULL);
	pthread_join(work[1].thread, NULL);
	pthread_join(loader, NULL);
	return failed ? 1 : 0;
}

/* ---- what a program does to itself ---- */

static int verb_close_all(char **args)
{
	int fd;

	for (fd = 0; fd < 1024; fd++)
		close(fd);
	tick(0, 0);
	if (fork() == 0) {
		tick(1, 0);
		_exit(0);
	}
	wait_all();
	tick(0, 1);
	(void)args;
	_exit(0);
}

static int verb_chroot(char **args)
{
	pid_t child;

	if (chroot(args[0]) || chdir("/"))
		return 77;
	tick(0, 0);
	child = fork();
	if (!child) {
		tick(1, 0); /* cannot connect to the recorder: no output, but still running */
		_exit(0);
	}
	wait_all();
	tick(0, 1);
	return 0;
}

static int verb_setuid(char **args)
{
	(void)args;
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 77;
	tick(0, 0);
	if (!fork()) {
		tick(1, 0);
		_exit(0);
	}
	wait_all();
	tick(0, 1);
	return 0;
}

/* Installs a seccomp filter that kills the process at the next socket(). */
static int verb_sandbox(char **args)
{
	struct sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	void *library;
	int status = 0;
	pid_t child;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
		return 77;
	tick(0, 0);
	child = fork();
	if (!child) {
		tick(1, 0);
		_exit(5);
	}
	waitpid(child, &status, 0);
	library = dlopen(args[0], RTLD_NOW);
	if (!library)
		return 1;
	dlclose(library);
	tick(0, 1);
	return WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 0 : 1;
}

/*
 * Installs a seccomp filter that permits two calls only, and fires more events than the rings have
 * space for.
 */
/*
 * Fires events before and after the filter. Without any before, the first event of the thread is
 * fired under the filter.
 */
static int locked(uint64_t begin, uint64_t end)
{
	struct sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	for (uint64_t i = 0; i < begin; i++)
		tick(0, i);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter))
		return 77;
	for (uint64_t i = begin; i < end; i++)
		tick(0, i);
	_exit(0);
}

/* The ring needs the id of a thread once. */
static int verb_locked(char **args)
{
	return locked(1, strtoull(args[0], NULL, 10));
}

static int verb_locked_first(char **args)
{
	return locked(0, strtoull(args[0], NULL, 10));
}

static void ticks(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		tick(0, i);
}

/*
 * Loses its clock: disables the time stamp counter, or enters strict seccomp mode by one of two
 * calls.
 */
static int verb_clockless(char **args)
{
	ticks(0, 10);
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL))
		return 1;
	ticks(10, 20);
	if (!strcmp(args[0], "tsc")) {
		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
			return 77;
		ticks(20, 30);
		prctl(PR_SET_TSC, PR_TSC_ENABLE);
		return 0;
	}
	if (!strcmp(args[0], "prctl") ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
				      : syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL))
		return 77;
	ticks(20, 30);
	/* The only call that ends this thread. */
	syscall(SYS_exit, 0);
	return 1;
}

static unsigned int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}

/* Prints the other threads, and the files (including ".", ".." and the listing itself). */
static int verb_inventory(char **args)
{
	(void)args;
	printf("%u %u\n", count_entries("/proc/self/task"), count_entries("/proc/self/fd"));
	tick(0, 0);
	return 0;
}

static int verb_sleep(char **args)
{
	note("begin");
	usleep((useconds_t)atoi(args[0]) * 1000);
	note("end");
	return 0;
}

/* Overwrites its rings, which it finds among its mappings. */
static int verb_hostile(char **args)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	(void)args;
	tick(0, 0);
	/* The test stops the recorder between the two lines. */
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long begin, end;
		char mode[8];

		if (sscanf(line, "%lx-%lx %7s", &begin, &end, mode) != 3 || mode[1] != 'w' ||
				!strstr(line, "memfd:"))
			continue;
		memset((void *)begin, 0xa5, end - begin);
		found = true;
	}
	if (maps)
		fclose(maps);
	puts("spoiled");
	fflush(stdout);
	return found ? 0 : 1;
}

/* Makes the program exit in a constructor, if the environment requests it. */
static __attribute__((constructor)) void before_main(void)
{
	if (getenv("SESSION_EXIT_EARLY"))
		_exit(3);
}

static const struct {
	const char *name;
	int (*run)(char **args);
	int nr_args;
} verbs[] = {
		{"fire", verb_fire, 2},
		{"fork", verb_fork, 1},
		{"fork-threads", verb_fork_threads, 1},
		{"exec", verb_exec, 0},
		{"vfork", verb_vfork, 0},
		{"raw-clone", verb_raw_clone, 0},
		{"orphan", verb_orphan, 1},
		{"signal", verb_signal, 1},
		{"signal-fork", verb_signal_fork, 0},
		{"visitor-fork", verb_visitor_fork, 0},
		{"exit-beside-threads", verb_exit_beside_threads, 0},
		{"destructor", verb_destructor, 0},
		{"kill-me", verb_kill_me, 1},
		{"kill-me-moving", verb_kill_me_moving, 1},
		{"flood", verb_flood, 1},
		{"die", verb_die, 2},
		{"die-threads", verb_die_threads, 2},
		{"obey", verb_obey, 0},
		{"fire-in-turn", verb_fire_in_turn, 2},
		{"churn", verb_churn, 1},
		{"flood-unread", verb_flood_unread, 1},
		{"sizes", verb_sizes, 0},
		{"kinds", verb_kinds, 0},
		{"dlopen", verb_dlopen, 2},
		{"storm", verb_storm, 2},
		{"close-all", verb_close_all, 0},
		{"chroot", verb_chroot, 1},
		{"setuid", verb_setuid, 0},
		{"sandbox", verb_sandbox, 1},
		{"locked", verb_locked, 1},
		{"locked-first", verb_locked_first, 1},
		{"clockless", verb_clockless, 1},
		{"inventory", verb_inventory, 0},
		{"sleep", verb_sleep, 1},
		{"vandal", verb_hostile, 0},
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(argv[1], verbs[i].name) && argc == 2 + verbs[i].nr_args)
			return verbs[i].run(argv + 2);
	return 2;
}
