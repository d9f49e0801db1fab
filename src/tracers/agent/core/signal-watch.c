/* SPDX-License-Identifier: MIT */
/*
 * sigaction() and its kin, as the program calls them: a probe may be a breakpoint, whose signal
 * must arrive here and must not be blocked (probe/patch/signals.c), and may read memory, whose
 * faults arrive here, too (probe/patch/faults.c). Without probes, the calls are only forwarded.
 *
 * Not seen: system calls that the program makes itself, calls within libc (posix_spawn(), the begin
 * and end of threads), and masks for one call (sigsuspend(), ppoll()). An executed program does not
 * inherit a block of these two signals. Part of the shared library only.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

/* Sanitizers have such functions of their own. */
#if defined(__x86_64__) && defined(__LP64__) && !defined(IS_SANITIZED)
#include "probe/patch/patch.h"

#define EXPORT __attribute__((visibility("default")))

static patch_action_function *next_action;
static patch_mask_function *next_process_mask, *next_thread_mask;
static __sighandler_t (*next_signal)(int number, __sighandler_t handler);

static void agent_signal_watch_find_function(const char *name, void *ret_function)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(ret_function, &found, sizeof(found));
}

/*
 * Early, because dlsym() is nothing for signal handlers. Constructors that come before find it
 * themselves.
 */
static __attribute__((constructor(101))) void find_all(void)
{
	agent_signal_watch_find_function("sigaction", &next_action);
	agent_signal_watch_find_function("sigprocmask", &next_process_mask);
	agent_signal_watch_find_function("pthread_sigmask", &next_thread_mask);
	agent_signal_watch_find_function("signal", &next_signal);
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	if (!next_action)
		find_all();
	return patch_signals_action(number, action, before, next_action);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
	if (!next_process_mask)
		find_all();
	return patch_signals_mask(how, set, before, next_process_mask);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	if (!next_thread_mask)
		find_all();
	return patch_signals_mask(how, set, before, next_thread_mask);
}

/* glibc's calls a sigaction() of its own, and knows of siginterrupt(). */
EXPORT __sighandler_t signal(int number, __sighandler_t handler)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;

	if (!next_signal)
		find_all();
	if (!patch_signals_are_taken(number) || handler == SIG_ERR)
		return next_signal(number, handler);
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, number);
	return sigaction(number, &action, &before) ? SIG_ERR : before.sa_handler;
}
#endif
