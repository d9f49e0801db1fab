/* SPDX-License-Identifier: MIT */
#include "tracers/agent/context/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/inside/raw.h"
#include "tracers/agent/context/block.h"

#define OVERFLOW_ID 65534 /* what the kernel shows for an id that a namespace does not map */

/* Set when a namespace of users is entered: then an overflow id may still get a meaning. */
static bool users_changed;

void context_users_changed(void)
{
	__atomic_store_n(&users_changed, true, __ATOMIC_RELAXED);
}

int32_t context_sources_pid(void)
{
	return (int32_t)raw_call(SYS_getpid);
}

int32_t context_sources_tid(void)
{
	return (int32_t)raw_call(SYS_gettid);
}

/*
 * The descriptor exists for microseconds. Another thread may close all descriptors that it does not
 * know, and the number may be reused meanwhile. pread() does not move the file position of the new
 * owner.
 */
long context_sources_file(const char *path, char *to, size_t size)
{
	long fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
	size_t filled = 0;
	long got;

	if (fd < 0)
		return fd;
	do {
		got = raw_call(SYS_pread64, fd, to + filled, size - filled, (long)filled);
		if (got > 0)
			filled += (size_t)got;
	} while ((got > 0 && filled < size) || got == -EINTR);
	raw_close((int)fd);
	return got < 0 ? got : (long)filled;
}

/* ---- names ---- */

static void own_name(char name[CONTEXT_COMM_SIZE])
{
	memset(name, 0, CONTEXT_COMM_SIZE);
	raw_call(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
	name[CONTEXT_COMM_SIZE - 1] = 0;
}

/*
 * The name of the process as some thread has read it, so that not each thread opens a file for it,
 * and the stamp of the group that was right then; 0 while it is being written. A reader that finds
 * the same stamp before and behind the words has what belongs to it; another one reads for itself.
 */
static struct {
	uint32_t stamp;
	uint64_t words[CONTEXT_COMM_SIZE / 8];
} procname;

static void procname_store(uint32_t stamp, const char name[CONTEXT_COMM_SIZE])
{
	uint64_t words[CONTEXT_COMM_SIZE / 8];

	memcpy(words, name, sizeof(words));
	/* Release, both: the stamp's 0 before the words. Pairs with procname_take(). */
	__atomic_store_n(&procname.words[0], words[0], __ATOMIC_RELEASE);
	__atomic_store_n(&procname.words[1], words[1], __ATOMIC_RELEASE);
	/* Release: the words before it. Pairs with procname_take(). */
	__atomic_store_n(&procname.stamp, stamp, __ATOMIC_RELEASE);
}

static void procname_keep(uint32_t stamp, const char name[CONTEXT_COMM_SIZE])
{
	/*
	 * Acquire: what the last writer stored. Pairs with the release in procname_store(). A
	 * thread that finds 0 returns, because another thread is writing.
	 */
	if (!__atomic_exchange_n(&procname.stamp, 0, __ATOMIC_ACQUIRE))
		return;
	procname_store(stamp, name);
}

static bool procname_take(uint32_t stamp, char name[CONTEXT_COMM_SIZE])
{
	uint64_t words[CONTEXT_COMM_SIZE / 8];

	/* Acquire: the words of this stamp. Pairs with the release in procname_store(). */
	if (__atomic_load_n(&procname.stamp, __ATOMIC_ACQUIRE) != stamp)
		return false;
	/*
	 * Acquire, both: the words before the second load of the stamp. Pairs with
	 * procname_store().
	 */
	words[0] = __atomic_load_n(&procname.words[0], __ATOMIC_ACQUIRE);
	words[1] = __atomic_load_n(&procname.words[1], __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&procname.stamp, __ATOMIC_RELAXED) != stamp)
		return false;
	memcpy(name, words, sizeof(words));
	return true;
}

static void read_procname(struct context_values *values, bool keeps)
{
	/*
	 * Acquire: the stamp before the name. Pairs with the kernel, which changes the name before
	 * context_changed stores a stamp.
	 */
	uint32_t stamp = __atomic_load_n(
			&context_process.stamps[CONTEXT_GROUP_PROCNAME], __ATOMIC_ACQUIRE);
	char name[CONTEXT_COMM_SIZE];
	long size;

	if (context_sources_tid() == context_sources_pid()) {
		own_name(name);
	} else if (procname_take(stamp, values->procname)) {
		return;
	} else {
		memset(name, 0, sizeof(name));
		size = context_sources_file("/proc/self/comm", name, sizeof(name));
		if (size <= 0)
			return;     /* no /proc: the name that we had */
		name[size - 1] = 0; /* was a newline */
	}
	memcpy(values->procname, name, sizeof(name));
	if (keeps)
		procname_keep(stamp, name);
}

/*
 * There is one thread, whose name is that of the process, unless the agent starts late (`side
 * attach`).
 */
void context_sources_start(uint32_t procname_stamp)
{
	char name[CONTEXT_COMM_SIZE];

	own_name(name);
	procname_store(context_sources_tid() == context_sources_pid() ? procname_stamp : UINT32_MAX,
			name);
}

/* ---- ids and namespaces ---- */

/* The number at the end of a link's text, before an optional bracket; 0: there is none. */
static uint64_t link_number(const char *path)
{
	char text[96];
	long size = raw_call(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text));
	uint64_t number = 0, unit = 1;

	if (size > 0 && text[size - 1] == ']')
		size--;
	for (; size > 0 && text[size - 1] >= '0' && text[size - 1] <= '9'; size--, unit *= 10)
		number += (uint64_t)(text[size - 1] - '0') * unit;
	return number;
}

static bool read_ids(long call, uint32_t ret_ids[3])
{
	if (raw_call(call, &ret_ids[0], &ret_ids[1], &ret_ids[2]))
		ret_ids[0] = ret_ids[1] = ret_ids[2] = OVERFLOW_ID;
	return __atomic_load_n(&users_changed, __ATOMIC_RELAXED) &&
			(ret_ids[0] == OVERFLOW_ID || ret_ids[1] == OVERFLOW_ID ||
					ret_ids[2] == OVERFLOW_ID);
}

/*
 * setns() and unshare() are a thread's affair, mostly; older kernels only know the main thread's.
 */
static void read_namespaces(uint32_t groups, struct context_values *values)
{
	static const char *const paths[8] = {
			"/proc/thread-self/ns/cgroup",
			"/proc/thread-self/ns/ipc",
			"/proc/thread-self/ns/mnt",
			"/proc/thread-self/ns/net",
			"/proc/thread-self/ns/pid",
			"/proc/thread-self/ns/time",
			"/proc/thread-self/ns/user",
			"/proc/thread-self/ns/uts",
	};
	unsigned int i;

	for (i = 0; i < 8; i++)
		if (groups & 1u << (CONTEXT_GROUP_NAMESPACES + i))
			values->namespaces[i] = link_number(paths[i]);
}

uint32_t context_sources_read(uint32_t groups, struct context_values *values, bool keeps_procname)
{
	uint32_t unstable = 0;

	if (groups & CONTEXT_GROUP(IDS)) {
		values->vpid = context_sources_pid();
		values->vtid = context_sources_tid();
	}
	if (groups & CONTEXT_GROUP(TID))
		values->tid = (int32_t)link_number("/proc/thread-self");
	if (groups & CONTEXT_GROUP(PROCNAME))
		read_procname(values, keeps_procname);
	if (groups & CONTEXT_GROUP(THREAD_NAME))
		own_name(values->thread_name);
	if (groups & CONTEXT_GROUP(UIDS) && read_ids(SYS_getresuid, values->uids))
		unstable |= CONTEXT_GROUP(UIDS);
	if (groups & CONTEXT_GROUP(GIDS) && read_ids(SYS_getresgid, values->gids))
		unstable |= CONTEXT_GROUP(GIDS);
	if (groups & CONTEXT_ALL_NAMESPACES)
		read_namespaces(groups, values);
	return unstable;
}
