/* SPDX-License-Identifier: MIT */
/*
 * A program whose events the kernel gets. Its arguments are actions, which it runs in order:
 *
 *	wait            print "ready" and wait for a byte
 *	fire:N          fire N events: the next numbers, and each number as text
 *	load:PATH       load a library with an event, which its function fires; unload it
 *	fork:N          a child fires N events
 *	split:N         the same, but it begins when both have waited for a byte, and when the event's bit is set in the child; then
 *	                it loads and unloads PLUGIN, if that is set
 *	awake           wait until the event's bit is set: the kernel's worker sets it in memory that a fork shares
 *	reload:PATH     enable the library's event in PATH, and unload and load PLUGIN before the kernel has set its bit
 *	threads:N       N threads fire until a byte arrives
 *	close           close all descriptors but the first three, and check that nothing is written to a pipe that
 *	                gets the number of one of them
 *	start:EVENTS    side_kernel_start()
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <side/kernel.h>
#include <side/trace.h>

side_static_event(event_tick, "kern", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("number"), side_field_s8("small"),
				side_field_string("text")));
side_static_event(ev_message, "kern", "said", SIDE_LOGLEVEL_WARNING,
		side_field_list(side_field_u32("number"), side_field_dynamic("what")));

static uint32_t next;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void fire_one(uint32_t number, int small)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", number);
	errno = 4711;
	side_event(event_tick,
			side_arg_list(side_arg_u32(number), side_arg_s8((int8_t)small),
					side_arg_string(text)));
	side_event(ev_message, side_arg_list(side_arg_u32(number), side_arg_dynamic_string(text)));
	if (errno != 4711)
		die("errno has changed");
}

static void fire(long count)
{
	for (; count > 0; count--, next++)
		fire_one(next, (int)(next % 100) - 50);
}

static void wait_for_byte(void)
{
	char byte;

	puts("ready");
	(void)fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		exit(2);
}

/* Fails after a minute, with the name of the event. */
static void wait_until_enabled(int (*is_enabled)(void), const char *what)
{
	static const struct timespec pause = {.tv_nsec = 1000000};
	int i;

	for (i = 0; !is_enabled(); i++) {
		if (i == 60000) {
			fprintf(stderr, "not enabled: %s\n", what);
			_exit(3);
		}
		(void)nanosleep(&pause, NULL);
	}
}

static int tick_is_enabled(void)
{
	return side_event_enabled(event_tick);
}

/* ---- threads ---- */

static bool stop;

static void *run_thread(void *index)
{
	uint32_t i;

	/* The high byte has the number of the thread. */
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
		fire_one((uint32_t)(uintptr_t)index << 24 | (i & 0xffffff), 0);
	return NULL;
}

static void threads(long count)
{
	pthread_t ids[16];
	long i;

	for (i = 0; i < count && i < 16; i++) {
		if (pthread_create(&ids[i], NULL, run_thread, (void *)(uintptr_t)(i + 1)))
			die("pthread_create");
	}
	wait_for_byte();
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	while (i-- > 0)
		pthread_join(ids[i], NULL);
}

/* ---- descriptors ---- */

/* Returns the descriptor of the kernel's file, or -1. */
static int find_descriptor(void)
{
	char path[300], target[256];
	struct dirent *entry;
	DIR *directory = opendir("/proc/self/fd");
	int found = -1;

	while (directory && (entry = readdir(directory))) {
		ssize_t size;

		(void)snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		size = readlink(path, target, sizeof(target) - 1);
		if (size <= 0)
			continue;
		target[size] = '\0';
		if (strstr(target, "user_events_data"))
			found = atoi(entry->d_name);
	}
	if (directory)
		closedir(directory);
	return found;
}

static void close_all(void)
{
	int ours = find_descriptor(), ends[2], low;
	char bytes[64];

	if (ours < 100)
		die("our descriptor is among the program's");
	close_range(3, ~0u, 0);
	fire(3);
	low = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (low != 3)
		die("a descriptor stayed open");
	/* A pipe that gets exactly that number, which is unlikely in real programs. */
	if (pipe2(ends, O_NONBLOCK))
		die("pipe2");
	if (dup2(ends[1], ours) < 0 && errno != EBADF)
		die("dup2");
	fire(3);
	if (read(ends[0], bytes, sizeof(bytes)) >= 0 || errno != EAGAIN)
		die("something of ours came out of the program's pipe");
}

/* ---- the other actions ---- */

static void *library;

static void open_library(const char *path)
{
	library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
}

static void load(const char *path)
{
	void (*fire_library)(void);

	open_library(path);
	*(void **)&fire_library = dlsym(library, "plugin_fire");
	if (fire_library)
		fire_library();
}

/*
 * Like load(), if the library is loaded already: with the bit that the kernel sets for this
 * process.
 */
static void load_when_enabled(const char *path)
{
	int (*is_enabled)(void);

	open_library(path);
	*(void **)&is_enabled = dlsym(library, "plugin_is_enabled");
	if (!is_enabled)
		die("plugin_is_enabled");
	wait_until_enabled(is_enabled, path);
	dlclose(library);
	load(path);
}

/* Returns the entry of the library's event in libside-kernel.so. */
static const struct side_kernel_event_0 *find_shown(const char *name)
{
	void *kernel = dlopen("libside-kernel.so", RTLD_NOW | RTLD_NOLOAD);
	const struct side_kernel_table_0 *table =
			kernel ? dlsym(kernel, "side_kernel_table_0") : NULL;
	const uint64_t *block;
	unsigned int i;

	for (block = table ? (const uint64_t *)(uintptr_t)table->first : NULL; block;
			block = (const uint64_t *)(uintptr_t)*block) {
		for (i = 0; i < SIDE_KERNEL_TABLE_EVENTS; i++) {
			const struct side_kernel_event_0 *event =
					(const void *)((const char *)(block + 1) +
							i * table->event_size);

			if (event->state != SIDE_KERNEL_EVENT_FREE && !strcmp(event->name, name))
				return event;
		}
	}
	return NULL;
}

/*
 * Unloads the library while the kernel still has to set its event's bit. The bit is in a page that
 * a child shares, so a worker of the kernel sets it, on this processor; a thread of a real-time
 * class runs there until it sleeps.
 */
static void reload(const char *switch_file)
{
	const struct sched_param param = {.sched_priority = 1};
	const char *path = getenv("PLUGIN");
	const struct side_kernel_event_0 *shown;
	int fd = open(switch_file, O_WRONLY | O_CLOEXEC);
	cpu_set_t cpus;
	pid_t child;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (fd < 0 || sched_setaffinity(0, sizeof(cpus), &cpus) ||
			sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		die(switch_file);
	child = fork();
	if (!child) {
		(void)pause();
		_exit(0);
	}
	if (write(fd, "1", 1) != 1)
		die(switch_file);
	dlclose(library);
	load(path);
	shown = find_shown("kern:plugin");
	if (child < 0 || kill(child, SIGKILL) || waitpid(child, NULL, 0) != child || !shown)
		die("reload");
	if (shown->state != SIDE_KERNEL_EVENT_REGISTERED) {
		fprintf(stderr, "refused: %s\n", shown->reason);
		exit(3);
	}
	(void)close(fd);
}

static void fork_and_fire(long count)
{
	int status;
	pid_t child = fork();

	if (!child) {
		fire(count);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		die("the child failed");
}

/* All that happens between the fork and the byte happens to both. */
static void split(long count)
{
	const char *plugin = getenv("PLUGIN");
	int ends[2], status;
	pid_t child;
	char byte;

	if (pipe(ends))
		die("pipe");
	child = fork();
	if (!child) {
		(void)close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		wait_until_enabled(tick_is_enabled, "the child's tick");
		fire(count);
		if (plugin) {
			load_when_enabled(plugin);
			dlclose(library);
		}
		_exit(0);
	}
	(void)close(ends[0]);
	wait_for_byte();
	if (write(ends[1], "x", 1) != 1)
		die("write");
	(void)close(ends[1]);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		die("the child failed");
}

static void start(const char *events)
{
	printf("start %d\n", side_kernel_start(events));
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		char *value = strchr(argv[i], ':');

		if (value)
			*value++ = '\0';
		if (!strcmp(argv[i], "wait"))
			wait_for_byte();
		else if (!strcmp(argv[i], "fire") && value)
			fire(atol(value));
		else if (!strcmp(argv[i], "load") && value)
			load(value);
		else if (!strcmp(argv[i], "unload"))
			dlclose(library);
		else if (!strcmp(argv[i], "fork") && value)
			fork_and_fire(atol(value));
		else if (!strcmp(argv[i], "split") && value)
			split(atol(value));
		else if (!strcmp(argv[i], "awake"))
			wait_until_enabled(tick_is_enabled, "tick");
		else if (!strcmp(argv[i], "reload") && value)
			reload(value);
		else if (!strcmp(argv[i], "threads") && value)
			threads(atol(value));
		else if (!strcmp(argv[i], "close"))
			close_all();
		else if (!strcmp(argv[i], "start") && value)
			start(value);
		else
			return 64;
	}
	return 0;
}
