/* SPDX-License-Identifier: MIT */
/* The verb `locks`: locks that threads wait for, and deadlocks. */
#include "analysis/locks.h"

#include <errno.h>

#include "base/error.h"
#include "programs/common/command.h"
#include "programs/common/message.h"
#include "programs/common/progress.h"
#include "programs/side/analysis/library-messages.h"
#include "programs/side/answers/nothing.h"
#include "programs/side/answers/recordings.h"
#include "programs/side/answers/run.h"
#include "programs/side/cli/confine.h"

/* The object is the first argument, the mutex of a condition the second one. */
#define LOCKS_PROBE(functions, object) \
	"--function", "libc:" functions, "--arg", "x64:" object ":%rdi"

/* Calls are followed on x86-64 only; elsewhere, each event has its caller. */
#if defined(__x86_64__) && defined(__LP64__)
#define LOCKS_CONTEXTS "vtid,thread_name,backtrace"
#else
#define LOCKS_CONTEXTS "vtid,thread_name"
#endif

const char *const recording_locks_command[] = {
		"record", "-w", "pthread", "--symbols", "--context", LOCKS_CONTEXTS, NULL};

/*
 * Patterns where all functions that match have a result, because each option reads the symbols of
 * the C library again. Releases have none, which makes them cheaper.
 */
const char *const recording_locks_process[] = {"trace", "--symbols", "--context",
		"vtid,thread_name,backtrace", LOCKS_PROBE("pthread_mutex_init", "mutex"),
		LOCKS_PROBE("pthread_mutex_destroy", "mutex"),
		LOCKS_PROBE("pthread_mutex_lock", "mutex"), "--exit",
		LOCKS_PROBE("pthread_mutex_t*lock", "mutex"), "--exit",
		LOCKS_PROBE("pthread_mutex_clocklock", "mutex"), "--exit",
		LOCKS_PROBE("pthread_mutex_unlock", "mutex"),
		LOCKS_PROBE("pthread_rwlock_init", "rwlock"),
		LOCKS_PROBE("pthread_rwlock_destroy", "rwlock"),
		LOCKS_PROBE("pthread_rwlock_*rdlock", "rwlock"), "--exit",
		LOCKS_PROBE("pthread_rwlock_*wrlock", "rwlock"), "--exit",
		LOCKS_PROBE("pthread_rwlock_unlock", "rwlock"),
		LOCKS_PROBE("pthread_spin_lock", "spinlock"), "--exit",
		LOCKS_PROBE("pthread_spin_trylock", "spinlock"), "--exit",
		LOCKS_PROBE("pthread_spin_unlock", "spinlock"),
		LOCKS_PROBE("pthread_cond_*wait", "cond"), "--arg", "x64:mutex:%rsi", "--exit",
		LOCKS_PROBE("pthread_cond_signal", "cond"),
		LOCKS_PROBE("pthread_cond_broadcast", "cond"),
		LOCKS_PROBE("sem_*wait", "semaphore"), "--exit",
		LOCKS_PROBE("sem_post", "semaphore"),
		LOCKS_PROBE("pthread_barrier_wait", "barrier"), "--exit",
		LOCKS_PROBE("pthread_join", "thread"), "--exit", NULL};

/* Lost events are no operations of locks if no trace describes such events. */
static bool locks_are_empty(const struct locks *locks)
{
	bool is_lossy = locks->lost || locks->lost_packets || locks->lost_reported;

	return !locks->events && !(is_lossy && locks->described) && !locks->walk.damaged;
}

static int locks_answer_print(const struct parsed *parsed, struct locks *locks)
{
	struct error error = {.code = 0};

	/* A program without events leaves no trace. */
	if (locks_open(locks, &error) == -ENOENT && answer_end_ns())
		return answer_print_nothing(parsed, "operation of locks");
	if (error.code || locks_read(locks, &error))
		return message_library_error(&error);
	if (locks_are_empty(locks))
		return answer_print_nothing(parsed, "operation of locks");
	progress_clear();
	if (locks_print(locks, stdout, &error))
		return message_library_error(&error);
	return output_flush(stdout);
}

static int locks_answer(const struct parsed *parsed, const char *dir)
{
	const struct analysis_listener listener = command_listener("analyse");
	struct locks_options options = parsed->options.locks.answer;
	struct locks locks = {
			.json = parsed->common.json,
			.colour = !parsed->common.json &&
					output_has_color(stdout, parsed->common.color),
	};
	struct error error = {.code = 0};
	int status = COMMAND_DONE;

	options.end_ns = answer_end_ns();
	if (locks_prepare(&locks, &options, dir, &listener, &error))
		status = message_library_error(&error);
	confine(dir, NULL);
	if (!status)
		status = locks_answer_print(parsed, &locks);
	if (!status && locks.walk.damaged)
		status = COMMAND_FAILED;
	locks_free(&locks);
	return status;
}

int cmd_locks(const struct parsed *parsed)
{
	const struct answer_plan plan = {
			.command_args = recording_locks_command,
			.process_args = recording_locks_process,
			.answer = locks_answer,
	};

	return answer_run(parsed, &parsed->options.locks.run, &plan);
}
