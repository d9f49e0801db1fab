/* SPDX-License-Identifier: MIT */
/*
 * A table of threads by number, with their names of the last rounds and the times from which each
 * name applies.
 *
 * The CPUs are drained one after the other, so the current name of a thread need not be the name at
 * the time of a record.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel-events/tasks.h"

#define BUCKETS 4096
#define ENDED_ROUNDS 64 /* an exited thread may still have records on another CPU */

struct task_name {
	struct task_name *before; /* the next older name */
	uint64_t from;
	uint32_t round; /* in which the name was received */
	char comm[COMM_SIZE];
};

struct task {
	struct task *next;
	pid_t tid, pid;
	bool ended;
	uint64_t ended_at;
	uint32_t ended_round;
	struct task_name *names; /* newest first */
};

struct tasks {
	struct task *buckets[BUCKETS];
	char idle[COMM_SIZE];
	uint32_t round;
};

struct tasks *tasks_create(void)
{
	return calloc(1, sizeof(struct tasks));
}

static void kernel_task_free_names(struct task_name *name)
{
	while (name) {
		struct task_name *before = name->before;

		free(name);
		name = before;
	}
}

void tasks_free(struct tasks *tasks)
{
	size_t i;

	for (i = 0; tasks && i < BUCKETS; i++)
		while (tasks->buckets[i]) {
			struct task *next = tasks->buckets[i]->next;

			kernel_task_free_names(tasks->buckets[i]->names);
			free(tasks->buckets[i]);
			tasks->buckets[i] = next;
		}
	free(tasks);
}

static struct task **kernel_task_hash_bucket(struct tasks *tasks, pid_t tid)
{
	return &tasks->buckets[(uint32_t)tid % BUCKETS];
}

static struct task *kernel_task_find(struct tasks *tasks, pid_t tid)
{
	struct task *task = *kernel_task_hash_bucket(tasks, tid);

	while (task && task->tid != tid)
		task = task->next;
	return task;
}

static const char *kernel_task_name_at(const struct task *task, uint64_t time)
{
	const struct task_name *name = task->names;

	while (name->before && name->from > time)
		name = name->before;
	return name->comm;
}

void tasks_named(struct tasks *tasks, pid_t tid, pid_t pid, uint64_t time, const char *comm)
{
	struct task *task = kernel_task_find(tasks, tid);
	struct task_name *name = calloc(1, sizeof(*name)), **at;

	if (!task && name) {
		task = calloc(1, sizeof(*task));
		if (task) {
			task->tid = tid;
			task->next = *kernel_task_hash_bucket(tasks, tid);
			*kernel_task_hash_bucket(tasks, tid) = task;
		}
	}
	if (!task || !name) {
		free(name); /* On failure, an older name is still better than none. */
		return;
	}
	memcpy(name->comm, comm, strnlen(comm, COMM_SIZE - 1));
	name->from = time;
	name->round = tasks->round;
	/* Names from another CPU's buffer may be older. */
	for (at = &task->names; *at && (*at)->from > time; at = &(*at)->before)
		;
	name->before = *at;
	*at = name;
	task->pid = pid;
	if (task->ended && task->ended_at < time)
		task->ended = false;
}

void tasks_forked(struct tasks *tasks, pid_t parent, pid_t tid, pid_t pid, uint64_t time)
{
	char comm[COMM_SIZE];

	memcpy(comm, tasks_comm(tasks, parent, time, 0, NULL), COMM_SIZE);
	tasks_named(tasks, tid, pid, time, comm);
}

void tasks_ended(struct tasks *tasks, pid_t tid, uint64_t time)
{
	struct task *task = kernel_task_find(tasks, tid);

	if (!task)
		return;
	task->ended = true;
	task->ended_at = time;
	task->ended_round = tasks->round;
}

/* Free the names that a newer name replaced before this round: no record to come needs them. */
static void kernel_task_forget_names(const struct tasks *tasks, struct task *task)
{
	struct task_name *name = task->names;

	while (name->before && name->round == tasks->round)
		name = name->before;
	kernel_task_free_names(name->before);
	name->before = NULL;
}

/*
 * End a round. The names of a round may be newer than its records, so the previous names are kept
 * for one more round.
 */
void tasks_settle(struct tasks *tasks)
{
	size_t i;

	for (i = 0; i < BUCKETS; i++) {
		struct task **at = &tasks->buckets[i];

		while (*at) {
			struct task *task = *at;

			kernel_task_forget_names(tasks, task);
			if (!task->ended || tasks->round - task->ended_round < ENDED_ROUNDS) {
				at = &task->next;
				continue;
			}
			*at = task->next;
			kernel_task_free_names(task->names);
			free(task);
		}
	}
	tasks->round++;
}

/* ---- /proc ---- */

static bool kernel_task_read_line(const char *path, char *text, size_t capacity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, capacity - 1);

	if (fd >= 0)
		close(fd);
	if (size <= 0)
		return false;
	text[size] = '\0';
	return true;
}

static pid_t kernel_task_get_process(pid_t tid)
{
	char path[64], text[512];
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	if (!kernel_task_read_line(path, text, sizeof(text)))
		return -1;
	at = strstr(text, "\nTgid:");
	return at ? (pid_t)strtol(at + 6, NULL, 10) : -1;
}

static void kernel_task_read_names(struct tasks *tasks, pid_t tid, pid_t pid)
{
	char path[64], comm[64] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	if (!kernel_task_read_line(path, comm, sizeof(comm)))
		comm[0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	/* /proc appends the current work of a worker. */
	if (!strncmp(comm, "kworker/", 8))
		comm[strcspn(comm, "+-")] = '\0';
	tasks_named(tasks, tid, pid > 0 ? pid : kernel_task_get_process(tid), 0, comm);
}

const char *tasks_comm(struct tasks *tasks, pid_t tid, uint64_t time, uint32_t cpu, pid_t *ret_pid)
{
	struct task *task;

	if (!tid) {
		(void)snprintf(tasks->idle, sizeof(tasks->idle), "swapper/%u", cpu);
		if (ret_pid)
			*ret_pid = 0;
		return tasks->idle;
	}
	task = kernel_task_find(tasks, tid);
	if (!task) {
		kernel_task_read_names(tasks, tid, ret_pid ? *ret_pid : -1);
		task = kernel_task_find(tasks, tid);
	}
	if (ret_pid)
		*ret_pid = task ? task->pid : -1;
	if (task)
		return kernel_task_name_at(task, time);
	memset(tasks->idle, 0, sizeof(tasks->idle));
	return tasks->idle;
}

void tasks_scan(struct tasks *tasks)
{
	DIR *processes = opendir("/proc"), *threads;
	struct dirent *process, *thread;
	char path[300];

	while (processes && (process = readdir(processes))) {
		pid_t pid = (pid_t)strtol(process->d_name, NULL, 10);

		if (pid <= 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%s/task", process->d_name);
		threads = opendir(path);
		while (threads && (thread = readdir(threads))) {
			pid_t tid = (pid_t)strtol(thread->d_name, NULL, 10);

			if (tid > 0 && !kernel_task_find(tasks, tid))
				kernel_task_read_names(tasks, tid, pid);
		}
		if (threads)
			closedir(threads);
	}
	if (processes)
		closedir(processes);
}

void tasks_each_alive(struct tasks *tasks, void (*call)(void *user, pid_t tid), void *user)
{
	size_t i;

	for (i = 0; i < BUCKETS; i++)
		for (const struct task *task = tasks->buckets[i]; task; task = task->next)
			if (!task->ended)
				call(user, task->tid);
}
