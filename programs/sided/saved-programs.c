/* SPDX-License-Identifier: MIT */
/*
 * Saves programs that do not reconnect by themselves for the next daemon, in state/.program-PID
 * (the name of a session never begins with a dot):
 *
 *     {"started":8123, "token":"61a0...", "uid":1000, "control":"signal", "signal":10,
 *      "name":"...", "exe":"..."}
 *
 * A program in control mode thread finds a new daemon by itself. One in mode signal needs a signal
 * from a daemon that knows it. For one in mode sync, only the daemon can report that it is
 * unchanged. A file is valid only for a process with the same id and start time. An exec in between
 * resets the action of the signal, which is checked before each signal.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sessions/text.h"
#include "recorder/core/session.h"
#include "sided.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

#define PREFIX ".program-"
#define FILE_MAX 16384

static const char *const controls[] = {"off", "sync", "thread", "signal", NULL};

static bool sided_restart_get_file_path(
		const struct daemon *daemon, pid_t pid, char *path, size_t capacity)
{
	return runtime_path(daemon, path, capacity, WIRE_RUNTIME_STATE "/" PREFIX "%d", pid);
}

static struct json_object *program_facts(const struct sided_program *program, uint64_t started)
{
	struct json_object *object = json_object_new_object();
	char token[20];

	snprintf(token, sizeof(token), "%016" PRIx64, program->token);
	if (json_put_number(object, "started", started) && json_put_text(object, "token", token) &&
			json_put_number(object, "uid", program->uid) &&
			json_put_text(object, "control", controls[program->control]) &&
			json_put_number(object, "signal", program->control_signal) &&
			(!program->name || !*program->name ||
					json_put_text(object, "name", program->name)) &&
			(!program->exe || !*program->exe ||
					json_put_text(object, "exe", program->exe)))
		return object;
	json_object_put(object);
	return NULL;
}

/* Only a restart needs the file, so errors are not reported. */
void program_remember(const struct daemon *daemon, struct sided_program *program)
{
	bool is_new = program->pid && !program->remembered;
	uint64_t started = is_new ? session_process_start(program->pid) : 0;
	struct json_object *facts;
	struct control_text text = {.made = NULL};
	char path[256], temporary[264];

	if (!started || !sided_restart_get_file_path(daemon, program->pid, path, sizeof(path)))
		return;
	facts = program_facts(program, started);
	if (!facts || control_text_print(facts, 0, &text))
		text.text = NULL;
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	if (text.text && !state_write(temporary, text.text, text.size) && !rename(temporary, path))
		program->remembered = true;
	else
		unlink(temporary);
	control_text_free(&text);
	json_object_put(facts);
}

void program_forget(const struct daemon *daemon, struct sided_program *program)
{
	char path[256];

	if (program->remembered &&
			sided_restart_get_file_path(daemon, program->pid, path, sizeof(path)))
		unlink(path);
	program->remembered = false;
}

/* ---- after a restart ---- */

static int sided_restart_parse_facts(struct json_object *facts, struct sided_program *program,
		uint64_t *ret_started, struct error *error)
{
	static const char *const members[] = {
			"started", "token", "uid", "control", "signal", "name", "exe", NULL};
	const char *token = NULL, *name = NULL, *exe = NULL;
	uint64_t uid = 0, number = 0;
	unsigned int control = WIRE_CONTROL_OFF;
	char *end = NULL;
	int ret = json_only(facts, members, "a program's file", error);

	if (!ret)
		ret = json_number(facts, "started", INT64_MAX, ret_started, error);
	if (!ret)
		ret = json_text(facts, "token", &token, error);
	if (!ret)
		ret = json_number(facts, "uid", UINT32_MAX, &uid, error);
	if (!ret)
		ret = json_choice(facts, "control", controls, &control, error);
	if (!ret)
		ret = json_number(facts, "signal", WIRE_SIGNAL_MAX, &number, error);
	if (!ret)
		ret = json_text(facts, "name", &name, error);
	if (!ret)
		ret = json_text(facts, "exe", &exe, error);
	if (ret)
		return ret;
	if (token)
		program->token = strtoull(token, &end, 16);
	if (!token || *end || (control != WIRE_CONTROL_SIGNAL && control != WIRE_CONTROL_SYNC) ||
			(control == WIRE_CONTROL_SIGNAL) != (number != 0))
		return error_set_kind(error, ERROR_FAILED, -EINVAL, NULL,
				"its token, control mode or signal is not valid");
	program->uid = (uid_t)uid;
	program->control = control;
	program->control_signal = (uint32_t)number;
	program->name = name ? strdup(name) : NULL;
	program->exe = exe ? strdup(exe) : NULL;
	return 0;
}

static void sided_restart_restore_program(struct daemon *daemon, uint32_t number, const char *path)
{
	pid_t pid = (pid_t)number;
	struct error error = {.kind = ERROR_NONE};
	struct sided_program facts = {.pid = pid, .remembered = true};
	struct json_object *json = state_read(path, FILE_MAX, &error);
	uint64_t started = 0;
	int pidfd, ret = -EINVAL;

	if (json)
		ret = sided_restart_parse_facts(json, &facts, &started, &error);
	json_object_put(json);
	if (ret)
		log_message("cannot restore the program in %s: %s", path, error.text);
	/* Open the pidfd first: it then refers to the process that is checked. */
	pidfd = ret ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || !started || session_process_start(pid) != started ||
			program_restore(daemon, &facts, pidfd)) {
		if (pidfd >= 0)
			close(pidfd);
		free(facts.name);
		free(facts.exe);
		unlink(path);
	}
}

void programs_restore(struct daemon *daemon)
{
	state_each(daemon, PREFIX, sided_restart_restore_program);
}
