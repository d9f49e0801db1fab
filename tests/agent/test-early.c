/* SPDX-License-Identifier: MIT */
/*
 * Sessions of a static configuration: how the agent reads the file, the files of a process, and
 * what happens if a call fails. The test includes the files, decides which system call fails, and
 * acts as the recorder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "filter/filter.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/context/context.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/boot-directory.h"
#include "tracers/agent/core/boot-start.h"
#include "tracers/agent/core/boot.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/join.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/memory.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/rules.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/wait.h"
#include "base/inside/raw.h"
#include "protocol/runtime.h"

/* ---- system calls ---- */

/* The call that fails, after this many that succeed. */
static long fails = -1; /* -1: none */
static int fails_with, fails_after;
static int nr_opened, nr_closed, nr_mapped, nr_unmapped, nr_sleeps, mmap_fails;

static void let_fail(long number, int after, int error)
{
	fails = number;
	fails_after = after;
	fails_with = error;
}

static void count_from_here(void)
{
	fails = -1;
	nr_opened = nr_closed = nr_mapped = nr_unmapped = nr_sleeps = mmap_fails = 0;
}

static bool is_balanced(void)
{
	return fails < 0 && nr_opened == nr_closed && nr_mapped == nr_unmapped;
}

static uint64_t new_token = 99;

static long fake_call(long number, const long *names)
{
	long ret;

	if (number == fails && !fails_after--) {
		fails = -1;
		return -fails_with;
	}
	switch (number) {
	case SYS_nanosleep:
		assert_true(((const struct timespec *)names[0])->tv_nsec == 1000000 &&
				!((const struct timespec *)names[0])->tv_sec);
		nr_sleeps++;
		return 0;
	case SYS_getrandom:
		assert_true(names[1] == 8 && names[2] == 1);
		memcpy((void *)names[0], &new_token, 8);
		return 8;
	default: break;
	}
	ret = raw_result(syscall(
			number, names[0], names[1], names[2], names[3], names[4], names[5]));
	nr_opened += number == SYS_openat && ret >= 0;
	return ret;
}

static void fake_close(int fd)
{
	if (fd < 0)
		return;
	nr_closed++;
	close(fd);
}

static void *fake_mmap(void *at, size_t size, int protection, int flags, int fd)
{
	if (mmap_fails && !--mmap_fails)
		return NULL;
	nr_mapped++;
	return raw_mmap(at, size, protection, flags, fd);
}

static int fake_munmap(void *at, size_t size)
{
	nr_unmapped++;
	return raw_munmap(at, size);
}

/* ---- the recorder ---- */

static int connect_result = -ECONNREFUSED, runtime_result, hello_result, nr_hellos, nr_connects;
static char connected_path[4200], checked_path[4200];

static int fake_connect(const char *path, uint64_t deadline)
{
	assert_int_equal(deadline, 4711);
	nr_connects++;
	strcpy(connected_path, path);
	return connect_result < 0 ? connect_result : (nr_opened++, open("/dev/null", O_RDONLY));
}

static int fake_runtime(const char *path)
{
	strcpy(checked_path, path);
	return runtime_result;
}

static struct agent_channel others[2];

static int fake_hello(struct agent_session *session, uint64_t parent_token, int *ring_fds)
{
	assert_int_equal(parent_token, 66);
	nr_hellos++;
	ring_fds[0] = -5;
	if (!session->channels) {
		session->channels = others;
		session->nr_channels = 2;
		session->list_only = true;
	}
	return hello_result;
}

static int asked_ms;

static uint64_t fake_deadline(unsigned int timeout_ms)
{
	asked_ms = (int)timeout_ms;
	return 4711;
}

static uint64_t now;

static uint64_t fake_now(unsigned int timeout_ms)
{
	assert_int_equal(timeout_ms, 0);
	return now++;
}

static void fake_names(char *comm, char *exe)
{
	strcpy(comm, "a name");
	strcpy(exe, "/bin/exe file");
}

/* ---- the agent ---- */

static struct agent_generation generation_now;
static int nr_generations, nr_freed, nr_applied, channel_result, rule_result, prepare_result;
static char taken[512];
static bool no_generation;

static struct agent_generation *fake_generation(void)
{
	nr_generations += !no_generation;
	return no_generation ? NULL : &generation_now;
}

static int fake_take_channel(struct agent_session *session, const struct wire_channel *from)
{
	struct agent_channel *channel = &session->channels[from->index];

	strcpy(channel->name, from->name);
	sprintf(taken + strlen(taken), "%u:%s/%u/%u%s ", from->index, from->name, from->nr_rules,
			from->nr_contexts, from->contexts);
	return channel_result;
}

static int fake_take_rule(struct agent_generation *generation, const struct wire_rule *rule)
{
	assert_ptr_equal(generation, &generation_now);
	sprintf(taken + strlen(taken), "%u:%s/%u/%u%s%s ", rule->channel, rule->patterns,
			rule->nr_patterns, rule->nr_contexts, rule->contexts,
			rule->filter && rule->filter_size ? "+filter" : "");
	return rule_result;
}

static const char *variable;
static char joined[128];
static int join_results[4], nr_joined, nr_locked, nr_dumped;

static int fake_join(const struct boot_session *boot)
{
	assert_int_equal(nr_locked, 1);
	strcat(strcat(joined, boot->name), " ");
	return join_results[nr_joined++];
}

static const char *fake_variable(const char *name)
{
	assert_string_equal(name, "SIDE_BOOT");
	return variable;
}

static int memory_fails_at = -1, nr_in_memory, nr_ring_files, files_fail_at = -1;

static int fake_create_named(const struct ring_geometry *geometry, const char *name, int *fd)
{
	assert_string_equal(name, BOOT_MEMORY);
	if (nr_in_memory++ == memory_fails_at)
		return -ENOMEM;
	*fd = open("/dev/null", O_RDONLY);
	nr_opened++;
	return geometry->rings ? 0 : -EINVAL;
}

static int fake_create_file(
		const struct ring_geometry *geometry, int folder, const char *name, int *fd)
{
	if (nr_ring_files++ == files_fail_at)
		return -ENOSPC;
	assert_true(geometry->rings);
	*fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(*fd >= 0);
	nr_opened++;
	return 0;
}

#undef raw_call
#define raw_call(...) CALL_OF_SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_OF_SIX(number, a, b, c, d, e, f, ...)                                            \
	fake_call(number,                                                                     \
			(const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), \
					(long)(f)})
#define wire_close fake_close
#define raw_mmap fake_mmap
#define raw_munmap fake_munmap
#define wire_connect fake_connect
#define wire_runtime_check fake_runtime
#define agent_hello fake_hello
#define agent_deadline fake_deadline
#define wire_deadline fake_now
#define agent_process_names fake_names
#define agent_generation_begin fake_generation
#define agent_generation_free(one) (void)(nr_freed += (one) == &generation_now)
#define agent_generation_apply(of, one) (void)(nr_applied += (one) == (of)->generation)
#define agent_take_channel fake_take_channel
#define agent_take_rule fake_take_rule
#define agent_prepare() (prepare_result)
#define agent_session_join_boot fake_join
#define agent_bases_dump() (void)(nr_dumped += nr_locked)
#define side_tracer_lock() (void)nr_locked++
#define side_tracer_unlock() (void)nr_locked--
#define ring_memory_create_named fake_create_named
#define ring_memory_create_file fake_create_file
#include "tracers/agent/core/boot-directory.c"
#include "base/environment/environment.h"
#define environment_get fake_variable
#include "tracers/agent/core/boot.c"
#include "tracers/agent/core/boot-start.c"

/* ---- a configuration ---- */

static char folder[] = "/tmp/side-early-XXXXXX", position[64], file[64];

static const char lines[] =
		"session one\nbuffer-size 64K\ncontext vpid\nevent a:*,b:*\n"
		"channel second\nmode block\nblock-timeout 7ms\nbuffer-size 1M\nper-thread 3\n"
		"event c:*\nfilter x > 5\ncontext vtid,cpu_id\n"
		"session two\nmode overwrite\nevent d:*\n";

static size_t write_config(const char *text)
{
	int fd = open(file, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	size_t size;

	assert_true(fd >= 0);
	size = (size_t)dprintf(fd, "place %s\n%s", position, text);
	close(fd);
	return size;
}

static struct agent_session session;
static int fds[WIRE_CHANNELS_MAX];

static void begin(void)
{
	count_from_here();
	agent_memory_free(&session.memory);
	memset(&session, 0, sizeof(session));
	session.socket = -1;
	session.token = 0x1234;
	session.boot = config ? config->sessions : NULL;
	if (session.boot)
		assert_true(agent_boot_path(session.boot, session.path, sizeof(session.path)));
	memset(taken, 0, sizeof(taken));
	nr_generations = nr_freed = nr_applied = channel_result = rule_result = 0;
	connect_result = -ECONNREFUSED;
	runtime_result = hello_result = nr_hellos = nr_connects = 0;
	no_generation = false;
	memory_fails_at = files_fail_at = -1;
	nr_in_memory = nr_ring_files = 0;
	now = 0;
	for (int i = 0; i < WIRE_CHANNELS_MAX; i++)
		fds[i] = -1;
}

static void close_rings(void)
{
	for (int i = 0; i < WIRE_CHANNELS_MAX; i++)
		fake_close(fds[i]);
}

static void remove_all(void)
{
	char line[128];

	snprintf(line, sizeof(line), "rm -rf %s/place", folder);
	assert_int_equal(system(line), 0);
}

/* ---- the file ---- */

static void test_read(void **state)
{
	static char text[BOOT_SIZE_MAX + 2];
	size_t size = write_config(lines);
	int fd;

	(void)state;
	count_from_here();
	assert_int_equal(agent_boot_read_file(file, text), size);
	assert_true(nr_opened == 1 && is_balanced());
	assert_int_equal(agent_boot_read_file("/nowhere/x", text), -ENOENT);
	assert_int_equal(nr_closed, 1);
	let_fail(SYS_read, 0, EINTR);
	assert_int_equal(agent_boot_read_file(file, text), size);
	assert_true(nr_opened == 2 && is_balanced());
	let_fail(SYS_read, 1, EIO);
	assert_int_equal(agent_boot_read_file(file, text), -EIO);
	assert_true(nr_opened == 3 && is_balanced());
	/* The most bytes, and one more, which shows that it is too large. */
	for (unsigned int more = 0; more < 3; more++) {
		fd = open(file, O_WRONLY | O_TRUNC);
		memset(text, '#', sizeof(text));
		assert_int_equal(write(fd, text, BOOT_SIZE_MAX), BOOT_SIZE_MAX);
		assert_int_equal(write(fd, text, more), more);
		close(fd);
		assert_int_equal(agent_boot_read_file(file, text), BOOT_SIZE_MAX + (more > 0));
	}
	assert_true(is_balanced());
	/* An invalid file leaves nothing behind. */
	count_from_here();
	assert_null(agent_boot_read(file));
	assert_true(nr_mapped == 2 && is_balanced() && !config);
	assert_null(agent_boot_read("/nowhere/x"));
	assert_true(nr_mapped == 3 && is_balanced());
	write_config("nonsense\n");
	assert_null(agent_boot_read(file));
	assert_true(nr_mapped == 5 && is_balanced());
	mmap_fails = 1;
	assert_null(agent_boot_read(file));
	assert_true(nr_mapped == 5 && is_balanced());
	mmap_fails = 2;
	assert_null(agent_boot_read(file));
	assert_true(nr_mapped == 6 && is_balanced() && !config);
	size = write_config(lines);
	assert_non_null(agent_boot_read(file));
	assert_true(nr_mapped == 8 && nr_unmapped == 6 && nr_opened == nr_closed);
	assert_int_equal(config_size, size);
	assert_memory_equal(config_text + size - strlen(lines), lines, strlen(lines));
}

static void test_geometry(void **state)
{
	const struct boot_channel *first = config->sessions->channels, *second = first->next;
	struct ring_geometry geometry = boot_geometry(first, RING_CLOCK_MONOTONIC);
	struct boot_channel other = *second;

	(void)state;
	assert_true(geometry.rings == ring_possible_cpus() && geometry.event_slots == 4096 &&
			geometry.size == 65536 && geometry.mode == RING_MODE_DISCARD);
	assert_true(geometry.clock == RING_CLOCK_MONOTONIC && geometry.placement == RING_PER_CPU &&
			!geometry.block_timeout_us && !geometry.flags);
	geometry = boot_geometry(second, RING_CLOCK_TSC);
	assert_true(geometry.rings == 3 && geometry.size == 1 << 20 &&
			geometry.mode == RING_MODE_BLOCK && geometry.clock == RING_CLOCK_TSC);
	assert_true(geometry.placement == RING_PER_THREAD && geometry.block_timeout_us == 7000);
	other.block_timeout_us = 0;
	assert_int_equal(boot_geometry(&other, 0).block_timeout_us, 1000000);
	assert_int_equal(boot_geometry(config->sessions->next->channels, 0).mode,
			RING_MODE_OVERWRITE);
}

static void test_channels(void **state)
{
	struct boot_rule *rule = config->sessions->channels->next->rules;
	const char *filter = rule->filter;

	(void)state;
	begin();
	assert_int_equal(agent_boot_adopt_channels(&session), 0);
	assert_string_equal(taken, "0:ring/1/1vpid 0:a:*/2/0 1:second/1/0 1:c:*/1/2vtid+filter ");
	assert_true(session.nr_channels == 2 && session.config.nr_channels == 2 &&
			session.config.accepted && nr_applied == 1);
	assert_true(session.config.max_events == 262144 &&
			session.config.max_description == 1048576);
	assert_int_equal(session.config.max_payload, ring_payload_max(65536));
	assert_true(session.config.frequency >= 1000 && session.config.offset_s > 0);
	assert_int_equal(session.config.clock, ring_clock_choose());
	assert_true(has_our_channels(&session));
	strcpy(session.channels[1].name, "other");
	assert_false(has_our_channels(&session));
	strcpy(session.channels[1].name, "second");
	session.nr_channels = 1;
	assert_false(has_our_channels(&session));
	session.nr_channels = 3;
	assert_false(has_our_channels(&session));
	/* Failures. */
	begin();
	no_generation = true;
	assert_int_equal(agent_boot_adopt_channels(&session), -ENOMEM);
	begin();
	channel_result = -EINVAL;
	assert_int_equal(agent_boot_adopt_channels(&session), -EINVAL);
	assert_string_equal(taken, "0:ring/1/1vpid ");
	assert_int_equal(nr_applied, 0);
	begin();
	rule_result = -ENOMEM;
	assert_int_equal(agent_boot_adopt_channels(&session), -ENOMEM);
	assert_string_equal(taken, "0:ring/1/1vpid 0:a:*/2/0 ");
	begin();
	rule->filter = "x >";
	assert_true(agent_boot_adopt_channels(&session) < 0 && !nr_applied);
	rule->filter = filter;
	/* The process drops what a recorder has sent. */
	begin();
	assert_int_equal(agent_boot_adopt_channels(&session), 0);
	session.list_only = true;
	forget_channels(&session);
	assert_true(!session.channels && !session.nr_channels && !session.generation &&
			!session.list_only && nr_freed == 1 && !session.memory.chunks);
	forget_channels(&session);
	assert_int_equal(nr_freed, 1);
}

/* ---- the files of a process ---- */

static char *read_text(const char *name)
{
	static char text[4096];
	char path[256];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "%s/one/%s", position, name);
	fd = open(path, O_RDONLY);
	size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	return text;
}

static int count_entries(const char *path)
{
	DIR *directory = opendir(path);
	int nr = 0;

	while (directory && readdir(directory))
		nr++;
	if (directory)
		closedir(directory);
	return nr ? nr - 2 : -1;
}

static struct boot_facts facts = {.procname = "proc", .exe = "/bin/exe file", .begin = 123};

static int make_place(void)
{
	facts.session = &session;
	return boot_state_dir_make(&session, config, &facts, fds);
}

static void prepare_session(void)
{
	begin();
	assert_int_equal(agent_boot_adopt_channels(&session), 0);
	count_from_here();
}

static void test_folder(void **state)
{
	char name[160], expected[512], path[256], boot[64], *line;
	struct ring_geometry geometry;
	struct utsname host;
	struct stat status;

	(void)state;
	remove_all();
	prepare_session();
	session.config = (struct wire_config){
			.clock = 1, .frequency = 2, .offset_s = -3, .offset = 4, .generation = 5};
	session.channels[0].contexts = (struct context_spec[]){{.name = "vpid"}};
	session.channels[0].nr_contexts = 1;
	agent.control.mode = 2;
	agent.control.signal = 10;
	assert_int_equal(make_place(), 0);
	snprintf(name, sizeof(name), "proc-%d-0", getpid());
	assert_string_equal(session.boot_folder, name);
	assert_true(session.config.instance == 0 && fds[0] >= 0 && fds[1] >= 0 && fds[2] < 0);
	assert_int_equal(nr_opened, nr_closed + 2);
	assert_true(nr_mapped == 1 && nr_unmapped == 1);
	geometry = boot_geometry(config->sessions->channels->next, 1);
	assert_int_equal(session.channels[1].ring_memory, ring_memory_size(&geometry));
	snprintf(path, sizeof(path), "%s/one", position);
	assert_int_equal(count_entries(path), 1);
	assert_true(!stat(path, &status) && (status.st_mode & 0777) == 0700);
	snprintf(path, sizeof(path), "%s/one/%s", position, name);
	assert_int_equal(count_entries(path), 4);
	assert_true(!stat(path, &status) && (status.st_mode & 0777) == 0700);
	snprintf(path, sizeof(path), "%s/instance", name);
	line = read_text(path);
	assert_true(!uname(&host));
	agent_boot_directory_read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	snprintf(expected, sizeof(expected),
			"side-buffers 1\nmaker agent\nprocname proc\nexe /bin/exe%%20file\nhostname %s\ntrace \n"
			"process %d %d 0\npeer %s %d %llu 4660 %u %u 2 10\nclock 1 2 -3 4\nbegin 123\n"
			"channel ring\ncontext vpid\nchannel second\nend\n",
			host.nodename, getpid(), getppid(), *boot ? boot : "-", getpid(),
			(unsigned long long)start_time(), geteuid(), getegid());
	assert_string_equal(line, expected);
	agent.control.mode = agent.control.signal = 0;
	close_rings();
	/* A second one has the next number, also in the file. */
	assert_int_equal(make_place(), 0);
	assert_int_equal(session.config.instance, 1);
	snprintf(name, sizeof(name), "proc-%d-1/instance", getpid());
	snprintf(expected, sizeof(expected), "process %d %d 1\n", getpid(), getppid());
	assert_non_null(strstr(read_text(name), expected));
	close_rings();
	/* Descriptions are appended, unless the file is locked. */
	snprintf(name, sizeof(name), "%s/events", session.boot_folder);
	count_from_here();
	assert_int_equal(boot_state_dir_describe(&session, config, "abc", 3), 0);
	assert_int_equal(boot_state_dir_describe(&session, config, "de", 2), 0);
	assert_string_equal(read_text(name), "abcde");
	assert_true(is_balanced() && nr_opened == 6);
	let_fail(SYS_flock, 0, EAGAIN);
	assert_int_equal(boot_state_dir_describe(&session, config, "f", 1), -EAGAIN);
	let_fail(SYS_write, 0, ENOSPC);
	assert_int_equal(boot_state_dir_describe(&session, config, "f", 1), -ENOSPC);
	let_fail(SYS_write, 0, EINTR);
	assert_int_equal(boot_state_dir_describe(&session, config, "f", 1), 0);
	assert_string_equal(read_text(name), "abcdef");
	for (int i = 0; i < 3; i++) {
		let_fail(SYS_openat, i, EMFILE);
		assert_int_equal(boot_state_dir_describe(&session, config, "g", 1), -EMFILE);
	}
	assert_true(is_balanced());
	/* Half an entry is removed. */
	let_fail(SYS_lseek, 0, ESPIPE);
	assert_int_equal(boot_state_dir_describe(&session, config, "g", 1), -ESPIPE);
	assert_string_equal(read_text(name), "abcdef");
	assert_true(is_balanced());
}

/* A folder that could not be completed is removed without a trace. */
static void make_fails(long number, int after, int error, int expected)
{
	char path[128];

	prepare_session();
	snprintf(path, sizeof(path), "%s/one", position);
	if (number < 0)
		files_fail_at = after;
	else
		let_fail(number, after, error);
	assert_int_equal(make_place(), expected);
	close_rings();
	assert_true(is_balanced());
	assert_true(count_entries(path) <= 0);
}

static void test_folder_fails(void **state)
{
	char path[160], peer[32];

	(void)state;
	remove_all();
	/* The state directory, its parent, the temporary one, the file of events, the facts. */
	make_fails(SYS_mkdirat, 0, EACCES, -EACCES);
	make_fails(SYS_openat, 0, EMFILE, -EMFILE);
	make_fails(SYS_statx, 0, EIO, -EIO);
	make_fails(SYS_openat, 1, EMFILE, -EMFILE);
	make_fails(-1, 0, 0, -ENOSPC);
	make_fails(-1, 1, 0, -ENOSPC);
	make_fails(SYS_openat, 2, ENOSPC, -ENOSPC);
	make_fails(SYS_openat, 5, ENOSPC, -ENOSPC);
	make_fails(SYS_write, 0, ENOSPC, -ENOSPC);
	make_fails(SYS_renameat2, 0, EIO, -EIO);
	prepare_session();
	mmap_fails = 1;
	assert_int_equal(make_place(), -ENOMEM);
	close_rings();
	assert_true(is_balanced());
	/* A state directory that was just removed is made again, five times at most. */
	prepare_session();
	let_fail(SYS_renameat2, 0, ENOENT);
	assert_int_equal(make_place(), 0);
	close_rings();
	assert_int_equal(nr_ring_files, 4);
	assert_true(is_balanced());
	remove_all();
	/* Where /proc cannot be read, the file has a dash and no time. */
	for (int i = 3; i < 5; i++) {
		remove_all();
		prepare_session();
		let_fail(SYS_openat, i, EMFILE);
		assert_int_equal(make_place(), 0);
		close_rings();
		snprintf(path, sizeof(path), "%s/instance", session.boot_folder);
		snprintf(peer, sizeof(peer), i == 3 ? "peer - %d " : " %d 0 4660 ", getpid());
		assert_non_null(strstr(read_text(path), peer));
		assert_true(is_balanced());
	}
	remove_all();
	/* A session that has ended, and a directory that others may write. */
	prepare_session();
	assert_int_equal(make_place(), 0);
	close_rings();
	snprintf(path, sizeof(path), "%s/one/over", position);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	prepare_session();
	assert_int_equal(make_place(), -ESHUTDOWN);
	strcpy(session.boot_folder, "x");
	assert_int_equal(boot_state_dir_describe(&session, config, "x", 1), -ENOENT);
	assert_true(is_balanced());
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/one", position);
	assert_int_equal(chmod(path, 0720), 0);
	assert_int_equal(make_place(), -EPERM);
	assert_true(is_balanced());
	remove_all();
}

/* A folder exists only if its name fits. */
static void test_numbers(void **state)
{
	(void)state;
	remove_all();
	prepare_session();
	assert_int_equal(make_place(), 0);
	close_rings();
	for (int i = 1; i < 4; i++) {
		prepare_session();
		let_fail(SYS_renameat2, 0, EEXIST);
		assert_int_equal(make_place(), 0);
		/* Number after number, beside those that are in use. */
		assert_int_equal(session.config.instance, i == 1 ? 1 : i);
		close_rings();
	}
	remove_all();
}

static void test_keep_config(void **state)
{
	char path[128], text[32] = "";
	struct stat status;
	int fd;

	(void)state;
	remove_all();
	count_from_here();
	boot_state_dir_store_config(config, "kept", 4);
	assert_true(is_balanced() && count_entries(position) == 1);
	snprintf(path, sizeof(path), "%s/boot.conf", position);
	fd = open(path, O_RDONLY);
	assert_true(read(fd, text, sizeof(text)) == 4 && !fstat(fd, &status) &&
			status.st_nlink == 1);
	assert_string_equal(text, "kept");
	close(fd);
	boot_state_dir_store_config(config, "other", 5);
	assert_true(is_balanced() && !stat(path, &status) && status.st_size == 4);
	assert_int_equal(unlink(path), 0);
	let_fail(SYS_write, 0, ENOSPC);
	boot_state_dir_store_config(config, "kept", 4);
	assert_true(is_balanced() && count_entries(position) == 0);
	let_fail(SYS_openat, 0, EMFILE);
	boot_state_dir_store_config(config, "kept", 4);
	assert_int_equal(chmod(position, 0777), 0);
	boot_state_dir_store_config(config, "kept", 4);
	assert_true(is_balanced() && count_entries(position) == 0);
	let_fail(SYS_mkdirat, 0, EROFS);
	boot_state_dir_store_config(config, "kept", 4);
	remove_all();
}

/* Descriptor 0 is valid like any other. */
static void test_descriptor_0(void **state)
{
	static char text[BOOT_SIZE_MAX + 2];
	char temporary[] = ".new-x";
	int saved = dup(0), at;

	(void)state;
	remove_all();
	prepare_session();
	close(0);
	assert_true(agent_boot_read_file(file, text) > 100);
	agent_boot_directory_read_line("/proc/self/stat", text, 8);
	assert_int_equal(strlen(text), 7);
	assert_int_equal(agent_boot_directory_make_path(position), 0);
	at = agent_boot_directory_open_state_dir(&session, config, true);
	assert_int_equal(at, 0);
	at = dup(0);
	close(0);
	assert_int_equal(agent_boot_directory_write_file(at, "zero", "abc", 3), 0);
	assert_string_equal(read_text("zero"), "abc");
	assert_int_equal(unlinkat(at, "zero", 0), 0);
	assert_int_equal(mkdirat(at, temporary, 0700), 0);
	facts.session = &session;
	assert_int_equal(fill_folder(&session, &facts, at, temporary, fds), 0);
	close_rings();
	close(0);
	assert_int_equal(boot_state_dir_describe(&session, config, "abc", 3), 0);
	connect_result = 0;
	assert_true(recorder_is_there(&session));
	close(at);
	assert_int_equal(dup2(saved, 0), 0);
	close(saved);
	remove_all();
}

/* ---- with and without a recorder ---- */

static int join(void)
{
	return agent_boot_hello(&session, 66, fds);
}

static void test_recorder(void **state)
{
	char name[128];

	(void)state;
	/* A recorder answers. */
	begin();
	connect_result = 0;
	session.config.instance = 12;
	assert_int_equal(join(), 0);
	assert_true(nr_hellos == 1 && fds[0] == -5 && session.token == 0x1234 && is_balanced());
	snprintf(name, sizeof(name), "a_name-%d-12", getpid());
	assert_string_equal(session.boot_folder, name);
	assert_string_equal(connected_path, session.path);
	snprintf(name, sizeof(name), "%s/one", position);
	assert_string_equal(checked_path, name);
	assert_int_equal(asked_ms, 1000);
	/* Without memory the folder is unknown. */
	begin();
	connect_result = 0;
	strcpy(session.boot_folder, "before");
	mmap_fails = 1;
	assert_int_equal(join(), 0);
	assert_string_equal(session.boot_folder, "");
	/* The process obeys a recorder that refuses it. */
	for (int i = 0; i < 2; i++) {
		begin();
		connect_result = 0;
		hello_result = i ? -EACCES : -EUSERS;
		assert_int_equal(join(), hello_result);
		assert_true(session.channels == others && session.token == 0x1234 && !*taken);
		session.channels = NULL;
	}
	/*
	 * A recorder that hangs is ignored: the process makes its own rings, as another instance.
	 */
	begin();
	connect_result = 0;
	hello_result = -ETIMEDOUT;
	session.config.generation = 8;
	assert_int_equal(join(), 0);
	assert_true(session.token == 99 && !session.list_only && session.channels != others &&
			nr_ring_files == 2 && !session.config.generation);
	assert_true(fds[0] >= 0 && fds[1] >= 0 && fds[2] == -1);
	close_rings();
	assert_true(is_balanced());
	/* If another user can change the state directory, no recorder is asked. */
	begin();
	connect_result = 0;
	runtime_result = -EPERM;
	assert_int_equal(join(), 0);
	assert_true(!nr_connects && !nr_hellos && session.token == 0x1234);
	close_rings();
	/* A forked child. */
	begin();
	assert_int_equal(agent_boot_adopt_channels(&session), 0);
	*taken = '\0';
	assert_int_equal(join(), 0);
	assert_true(!*taken && nr_ring_files == 2);
	close_rings();
	begin();
	assert_int_equal(agent_boot_adopt_channels(&session), 0);
	session.nr_channels = 1;
	assert_int_equal(join(), -EPROTO);
	assert_true(!nr_ring_files && is_balanced());
	remove_all();
}

static void test_memory(void **state)
{
	static const int early[] = {ENOENT, EROFS, ENOTDIR, ENOSPC, EOPNOTSUPP};

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_true(is_too_early(-early[i]));
	assert_true(!is_too_early(0) && !is_too_early(-EACCES) && !is_too_early(-EEXIST));
	assert_true(agent_boot_has_gone(-ECONNREFUSED) && agent_boot_has_gone(-ENOENT) &&
			agent_boot_has_gone(-ECONNRESET) && agent_boot_has_gone(-EPIPE));
	assert_true(!agent_boot_has_gone(0) && !agent_boot_has_gone(-ETIMEDOUT));
	/* The second file of rings has no space: all are in memory. */
	begin();
	files_fail_at = 1;
	assert_int_equal(join(), 0);
	assert_true(nr_in_memory == 2 && fds[0] >= 0 && fds[1] >= 0);
	assert_string_equal(session.boot_folder, "");
	assert_true(session.channels[0].ring_memory && session.channels[1].ring_memory);
	close_rings();
	assert_true(is_balanced());
	begin();
	files_fail_at = 1;
	memory_fails_at = 1;
	assert_int_equal(join(), -ENOMEM);
	assert_true(is_balanced());
	begin();
	let_fail(SYS_mkdirat, 0, EACCES);
	assert_int_equal(join(), -EACCES);
	assert_true(nr_in_memory == 0 && is_balanced());
	begin();
	mmap_fails = 1;
	assert_int_equal(agent_boot_adopt_channels(&session), 0);
	assert_int_equal(join(), -ENOMEM);
	assert_true(is_balanced());
	remove_all();
}

static int describe(void)
{
	return agent_boot_describe(&session, "abc", 3);
}

static void test_describe(void **state)
{
	(void)state;
	/* If the rings are in memory, no file is written. */
	begin();
	assert_int_equal(describe(), 0);
	connect_result = 0;
	assert_int_equal(describe(), -EAGAIN);
	assert_true(is_balanced());
	begin();
	assert_int_equal(join(), 0);
	close_rings();
	count_from_here();
	assert_int_equal(describe(), 0);
	connect_result = 0;
	assert_int_equal(describe(), -EAGAIN);
	connect_result = -ENOENT;
	let_fail(SYS_flock, 0, EAGAIN);
	assert_int_equal(describe(), 0);
	assert_int_equal(nr_sleeps, 1);
	now = 4711;
	let_fail(SYS_flock, 0, EAGAIN);
	assert_int_equal(describe(), -ETIMEDOUT);
	assert_int_equal(nr_sleeps, 1);
	now = 4710;
	let_fail(SYS_flock, 0, EAGAIN);
	assert_int_equal(describe(), 0);
	let_fail(SYS_flock, 0, EIO);
	assert_int_equal(describe(), -EIO);
	assert_true(is_balanced());
	remove_all();
	assert_int_equal(describe(), 0);
}

static int start(const char *value)
{
	variable = value;
	nr_joined = nr_dumped = 0;
	*joined = '\0';
	agent.control.mode = 0;
	return agent_boot_start();
}

static void test_start(void **state)
{
	(void)state;
	count_from_here();
	assert_int_equal(start(NULL), -ENOENT);
	assert_int_equal(start("relative"), -ENOENT);
	assert_int_equal(agent.control.mode, 0);
	assert_int_equal(start("/nowhere/x"), -EINVAL);
	assert_int_equal(agent.control.mode, WIRE_CONTROL_SYNC);
	prepare_result = -ENOMEM;
	assert_int_equal(start(file), -ENOMEM);
	assert_string_equal(joined, "");
	prepare_result = 0;
	join_results[0] = -EACCES;
	assert_int_equal(start(file), 0);
	assert_string_equal(joined, "one two ");
	assert_true(nr_locked == 0 && nr_dumped == 1);
	join_results[1] = -EACCES;
	assert_int_equal(start(file), -ENOENT);
	join_results[0] = 0;
	assert_int_equal(start(file), 0);
	assert_true(nr_locked == 0);
	agent.control.mode = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_read),
			cmocka_unit_test(test_geometry),
			cmocka_unit_test(test_channels),
			cmocka_unit_test(test_folder),
			cmocka_unit_test(test_folder_fails),
			cmocka_unit_test(test_numbers),
			cmocka_unit_test(test_keep_config),
			cmocka_unit_test(test_descriptor_0),
			cmocka_unit_test(test_recorder),
			cmocka_unit_test(test_memory),
			cmocka_unit_test(test_describe),
			cmocka_unit_test(test_start),
	};
	int ret;

	umask(022);
	if (!mkdtemp(folder))
		return 1;
	snprintf(position, sizeof(position), "%s/place", folder);
	snprintf(file, sizeof(file), "%s/boot.conf", folder);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	agent_memory_free(&session.memory);
	agent_memory_trim();
	unlink(file);
	rmdir(folder);
	return ret;
}
