/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_EXEC_PRELOAD_H
#define SIDE_TRACERS_AGENT_CORE_EXEC_PRELOAD_H

/*
 * LD_PRELOAD of the programs that this one starts.
 *
 * Callers: exec-watch.c and attach.c. Any context, the child of a vfork() too, but for the functions
 * that keep something.
 */
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/inside/raw.h"

typedef int exec_function(const char *path, char *const args[], char *const environment[]);
typedef int exec_spawn_function(pid_t *pid, const char *path,
		const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		char *const args[], char *const environment[]);

/* Keep side's libraries of the LD_PRELOAD that this program was started with. Before main(). */
void exec_keep_preload(const char *list);

/*
 * From now on, programs that this one starts load these libraries (a value of LD_PRELOAD), and join
 * the session of this socket. Returns 0 or a negative errno. exec_carry_end() ends that for the
 * socket (NULL: for any). Both: one thread at a time.
 */
int exec_carry(const char *preload, size_t preload_size, const char *socket);
void exec_carry_end(const char *socket);
/* True if exec_carry() changes this environment. */
bool exec_is_carried(char *const environment[]);

/* True if the environment records its program, but the program would not load the agent. */
bool exec_is_replaced(char *const environment[]);

/*
 * Call `next` with the libraries in a copy of an environment for which exec_is_replaced() or
 * exec_is_carried() is true; without memory for the copy, with the environment itself.
 */
int exec_restored(exec_function *next, const char *path, char *const args[],
		char *const environment[]);
int exec_spawn_restored(exec_spawn_function *next, pid_t *pid, const char *path,
		const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		char *const args[], char *const environment[]);

/* exec-watch.c: execl(), execlp() and execle() of programs into which the agent was not preloaded. */
int exec_list(const char *path, const char *first, ...);
int exec_list_searching(const char *name, const char *first, ...);
int exec_list_with(const char *path, const char *first, ...);

/* NULL: out of memory. */
static inline void *exec_map(size_t size)
{
	return raw_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

#endif
