/* SPDX-License-Identifier: MIT */
/*
 * Parts that only the library of the agent has: the start, requests of `side attach`, functions
 * that replace the C library's, and signal handlers. The test includes the files, and notes their
 * calls in order.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include <side/tracer-extensions.h>

#include "exec-lists.h"
#include "protocol/protocol.h"
#include "ring/ring.h"
#include "tracers/agent/core/boot-start.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/start.h"
#include "tracers/agent/core/agent-state.h"
#include "tracers/agent/core/boot.h"
#include "tracers/agent/core/control-thread.h"
#include "tracers/agent/core/control.h"
#include "tracers/agent/core/exchange.h"
#include "tracers/agent/core/instance-find.h"
#include "tracers/agent/core/interpose.h"
#include "tracers/agent/core/mappings.h"
#include "tracers/agent/core/objects.h"
#include "tracers/agent/core/own-process.h"
#include "tracers/agent/core/own-threads.h"
#include "tracers/agent/core/process.h"
#include "tracers/agent/core/session.h"
#include "tracers/agent/core/unsupported.h"
#include "tracers/agent/core/update.h"
#include "tracers/agent/core/wait.h"
#include "tracers/agent/core/libside.h"
#include "base/environment/environment.h"
#include "probe/patch/imports.h"
#include "probe/patch/patch.h"
#include "base/inside/raw.h"

/* ---- what is called, in order ---- */

static char order[512];
static int result_of_prepare, result_of_request;
static bool is_whole = true, is_list, has_turn = true, is_secure, is_sandbox;

static void note(const char *text)
{
	if (*order)
		strcat(order, " ");
	strcat(order, text);
}

static int note_int(const char *text, const char *path, int number)
{
	char line[128];

	snprintf(line, sizeof(line), "%s(%s,%d)", text, path ? path : "none", number);
	note(line);
	return result_of_request;
}

static const char *variables[7]; /* in the order of names[] */
static const char *const names[] = {"SIDE_TIMEOUT_FACTOR", "SIDE_PATIENCE", WIRE_SOCKET_ENV,
		AGENT_KERNEL_ENV, AGENT_SESSION_ENV, WIRE_REPORT_ENV, "LD_PRELOAD"};

static const char *fake_variable(const char *name)
{
	for (int i = 0; i < 7; i++)
		if (!strcmp(name, names[i]))
			return variables[i];
	abort();
}

static bool debug_is_on;

static bool fake_is_on(const char *name)
{
	assert_string_equal(name, "SIDE_DEBUG");
	return debug_is_on;
}

static unsigned long fake_auxval(unsigned long type)
{
	assert_int_equal(type, AT_SECURE);
	return is_secure;
}

static int fake_prepare(void)
{
	note("prepare");
	errno = EIO;
	return result_of_prepare;
}

static bool fake_take_turn(unsigned int timeout)
{
	assert_int_equal(timeout, 5000);
	note("take");
	return has_turn;
}

static void fake_own_begin(struct agent_own *own)
{
	(void)own;
	note("own");
}

static void fake_own_end(const struct agent_own *own)
{
	(void)own;
	note("end");
}

static int borrowed_by;

static int fake_attach(const char *path)
{
	borrowed_by = atomic_load(&agent.own_process.borrowed);
	return note_int("attach", path, 0);
}

static int fake_detach(const char *path)
{
	return note_int("detach", path, 0);
}

static int fake_control_attach(const char *path, enum agent_attach_method how)
{
	return note_int("control", path, (int)how);
}

static int fake_control_detach(int nothing)
{
	return note_int("leave", NULL, nothing);
}

static bool fake_whole(void)
{
	return is_whole;
}

static bool fake_list(void)
{
	return is_list;
}

static bool fake_sandboxed(void)
{
	return is_sandbox;
}

static void fake_missed(const char *paths, uint32_t reason)
{
	(void)note_int("missed", paths, (int)reason);
}

static int fake_start(const char *path)
{
	return note_int("start", path, 0);
}

static const char *thread_name = "program";

static long fake_call(long number, ...)
{
	va_list list;

	va_start(list, number);
	if (number == SYS_prctl && va_arg(list, int) == PR_GET_NAME)
		strcpy(va_arg(list, char *), thread_name);
	va_end(list);
	return number == SYS_gettid ? 4711 : 0;
}

#define agent_prepare fake_prepare
#define agent_libside_is_whole fake_whole
#define agent_list_only fake_list
#define agent_is_sandboxed fake_sandboxed
#define control_thread_prepare() note("thread")
#define control_take_turn fake_take_turn
#define control_give_turn() note("give")
#define agent_session_attach fake_attach
#define agent_session_detach fake_detach
#define agent_control_attach fake_control_attach
#define agent_control_detach fake_control_detach
#define agent_own_begin fake_own_begin
#define agent_own_begin_start fake_own_begin
#define agent_own_end fake_own_end
#define agent_report_unrecorded fake_missed
#define agent_start fake_start
#define agent_bases_start() note("bases")
#define agent_start_begins() note("begins")
#define agent_instances_find() note("find-copies")
#define agent_instances_follow() note("follow-copies")
#define agent_instances_loaded note_loaded
#define agent_instances_report report_copies
#define agent_start_ends() note("ends")
#define agent_boot_start() note_int("boot", NULL, 0)
#define agent_control_arrive() note_int("arrive", NULL, 0)
#define environment_get fake_variable
#define environment_is_on fake_is_on
#define getauxval fake_auxval
#undef raw_call
#define raw_call fake_call

static unsigned int nr_interposed;

static int add_wrapper(const char *text)
{
	return note_int("wrap", text, 0);
}

static int keep_carried(const char *preload, size_t preload_size, const char *socket)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%.*s %s", (int)preload_size, preload, socket);
	return note_int("carry", text, 0);
}

static void end_carried(const char *socket)
{
	(void)note_int("carried", socket, 0);
}

static void note_execs(void)
{
	note("execs");
}

static void update_wrappers(void)
{
	note("update");
}

static void follow_rules(void)
{
	note("follow");
}

static void note_loaded(void)
{
	note("loaded-copies");
}

static void report_copies(void)
{
	note("report-copies");
}

static void note_agent_file(void)
{
	note("file");
}

static void count_interpose(void)
{
	nr_interposed++;
	note("interpose");
}

/* Calls that functions of the program pass on. */
static const struct ring_replay *replayed;
static const void *lost_event, *visited;
static bool lost_named;
static uint32_t lost_cpu;
static uint64_t lost_count;

static void pass_replay(const struct ring_replay *from)
{
	note("replay");
	replayed = from;
}

static void on_change(void (*visit)(bool after))
{
	note("change");
	memcpy(&visited, &visit, sizeof(visited));
}

static void count_lost(const struct side_event_description *event, bool named, uint32_t cpu,
		uint64_t count)
{
	note("lost");
	lost_event = event;
	lost_named = named;
	lost_cpu = cpu;
	lost_count = count;
}

#define ring_replay(from) pass_replay(from)
#define agent_on_change on_change
#define agent_count_lost count_lost
#define agent_interpose count_interpose
#define agent_wrappers_add add_wrapper
#define agent_interpose_execs note_execs
#define exec_carry keep_carried
#define exec_carry_end end_carried
#define agent_wrappers_update update_wrappers
#define agent_wrappers_follow follow_rules
#define agent_wrapper_file_begin note_agent_file
#include "tracers/agent/core/attach.c"
#undef agent_interpose_execs
#undef agent_wrappers_add
#undef agent_wrappers_update
#undef ring_replay
#undef agent_on_change
#undef agent_count_lost
#undef EXPORT
/* The C library's function that starts the program, and the end of a program that must not run. */
static bool has_no_start;
static jmp_buf after_exit;
static struct agent_session listed[3];

static int real_start(int (*main)(int argc, char **argv, char **envp), int argc, char **argv,
		void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

static void *find_start(void *handle, const char *name)
{
	int (*start)(int (*main)(int argc, char **argv, char **envp), int argc, char **argv,
			void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
			void *stack_end) = real_start;
	void *address;

	assert_true(handle == RTLD_NEXT && !strcmp(name, "__libc_start_main"));
	note("find");
	memcpy(&address, &start, sizeof(address));
	return has_no_start ? NULL : address;
}

static _Noreturn void end_program(int status)
{
	longjmp(after_exit, status + 1);
}

static struct agent_session *next_listed(const struct agent_session *session)
{
	return !session ? &listed[0] : session == &listed[2] ? NULL : &listed[session - listed + 1];
}

static int send_bye(struct agent_session *session)
{
	note(session == &listed[1] ? "bye" : "?");
	return 0;
}

#define dlsym find_start
#define _exit end_program
#define agent_session_after next_listed
#define agent_bye send_bye
#define __libc_start_main loaded_start_main
#include "tracers/agent/core/start.c"
#undef __libc_start_main
#undef agent_bye
#undef agent_wrappers_follow
#undef agent_wrapper_file_begin
#undef agent_session_after
#undef _exit
#undef dlsym
#undef EXPORT
#undef agent_interpose

/* ---- before main() ---- */

static int one_main(int argc, char **argv, char **envp)
{
	(void)argv;
	(void)envp;
	return argc;
}

static void nothing(void) {}

static int real_start(int (*main)(int argc, char **argv, char **envp), int argc, char **argv,
		void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	assert_true(argc == 3 && argv == (char **)(void *)&listed[0] && init == nothing && !fini &&
			rtld_fini == nothing && stack_end == &listed[1]);
	note(main == one_main ? "main" : main == instead_of_main ? "instead" : "?");
	return 47;
}

static int start_program(void)
{
	return loaded_start_main(one_main, 3, (char **)(void *)&listed[0], nothing, NULL, nothing,
			&listed[1]);
}

static void test_start_of_main(void **state)
{
	(void)state;
	*order = '\0';
	assert_int_equal(start_program(), 47);
	assert_string_equal(order, "own find end main");
	is_list = true;
	*order = '\0';
	assert_int_equal(start_program(), 47);
	assert_string_equal(order, "own find end instead");
	is_list = false;
	/* A C library without that function. */
	has_no_start = true;
	switch (setjmp(after_exit)) {
	case 0:
		(void)start_program();
		fail();
		break;
	case 128: break;
	default: fail();
	}
	has_no_start = false;
	*order = '\0';
	/* Sessions that only list events are notified of the end. */
	listed[1].list_only = true;
	switch (setjmp(after_exit)) {
	case 0: (void)instead_of_main(0, NULL, NULL); break;
	case 1: break;
	default: fail();
	}
	assert_string_equal(order, "bye");
	*order = '\0';
}

/* ---- functions that replace the C library's ---- */

static char self_base, other_base;
static bool no_self, no_handle, is_preloaded;
static unsigned int nr_closed, nr_turned, nr_walks;
static const char *missing_name, *called_elsewhere, *same_function;
static char our_code[64], their_code[64];

static int fake_dladdr(const void *address, Dl_info *info)
{
	bool is_first = address == &their_code[1];

	*info = (Dl_info){.dli_fname = no_self ? NULL : "side-agent",
			.dli_fbase = is_first && !is_preloaded ? &other_base : &self_base};
	return 1;
}

static void *fake_dlopen(const char *name, int flags)
{
	assert_string_equal(name, "side-agent");
	assert_int_equal(flags, RTLD_NOW | RTLD_NOLOAD);
	return no_handle ? NULL : &other_base;
}

static int fake_dlclose(void *handle)
{
	assert_ptr_equal(handle, &other_base);
	nr_closed++;
	return 0;
}

static void *fake_dlsym(void *handle, const char *name)
{
	size_t size = strlen(name);

	if (!strcmp(name, "side_call"))
		return &self_base;
	if (!strcmp(name, "unshare") && handle == RTLD_DEFAULT)
		return &their_code[1];
	if (handle == &other_base)
		return missing_name && !strcmp(name, missing_name)              ? NULL
				: same_function && !strcmp(name, same_function) ? &their_code[size]
										: &our_code[size];
	if (handle == RTLD_DEFAULT && called_elsewhere && !strcmp(name, called_elsewhere))
		return &our_code[63];
	return !strcmp(name, "unshare") ? &their_code[1] : &their_code[size];
}

static int fake_each(
		int (*callback)(struct dl_phdr_info *object, size_t size, void *user), void *user)
{
	struct dl_phdr_info object = {0};

	nr_walks++;
	return callback(&object, sizeof(object), user);
}

static struct patch_imports turned;

static void fake_turn(const struct dl_phdr_info *info, const struct patch_imports *imports)
{
	(void)info;
	memcpy(&turned, imports, sizeof(turned));
	nr_turned++;
}

#define dladdr fake_dladdr
#define dlopen fake_dlopen
#define dlclose fake_dlclose
#define dlsym fake_dlsym
#define agent_objects_each fake_each
#define patch_imports_replace(info, imports) fake_turn(info, imports)
void interpose_now(void);
#define agent_interpose interpose_now
#include "tracers/agent/core/interpose.c"
#undef dladdr
#undef dlopen
#undef dlclose

static void forget_functions(void)
{
	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		functions[i].real = functions[i].replacement = NULL;
	nr_closed = 0;
}

static size_t nr_found(void)
{
	size_t nr = 0;

	for (size_t i = 0; i < NR_FUNCTIONS; i++)
		nr += functions[i].replacement != NULL;
	return nr;
}

static void test_interpose(void **state)
{
	(void)state;
	no_self = true;
	assert_false(interpose_find(functions, NR_FUNCTIONS));
	no_self = false;
	is_preloaded = true;
	assert_false(interpose_find(functions, NR_FUNCTIONS));
	is_preloaded = false;
	no_handle = true;
	assert_false(interpose_find(functions, NR_FUNCTIONS));
	assert_int_equal(nr_closed, 0);
	no_handle = false;
	assert_true(interpose_find(functions, NR_FUNCTIONS));
	assert_int_equal(nr_closed, 1);
	assert_int_equal(nr_found(), 22);
	assert_int_equal(in_libside, (uintptr_t)&self_base);
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		size_t size = strlen(functions[i].name);

		assert_ptr_equal((void *)functions[i].replacement, &our_code[size]);
		assert_ptr_equal((void *)functions[i].real,
				strcmp(functions[i].name, "unshare") != 0 ? &their_code[size]
									  : &their_code[1]);
	}
	/*
	 * A function that the C library lacks, one that is replaced already, and one that the
	 * program defines.
	 */
	forget_functions();
	missing_name = "setns";
	same_function = "setuid";
	called_elsewhere = "vfork";
	assert_true(interpose_find(functions, NR_FUNCTIONS));
	assert_int_equal(nr_found(), 19);
	forget_functions();
	*order = 0;
	interpose_now();
	interpose_now();
	assert_string_equal(order, "own end own end");
	assert_true(nr_closed == 1 && nr_walks == 2 && nr_turned == 2);
	assert_int_equal(turned.count, 22);
}

/* ---- requests ---- */

static int requested(const char *text)
{
	*order = 0;
	errno = E2BIG;
	return side_agent_request(text);
}

#define AROUND(text) "prepare thread take follow-copies " text " give interpose"

static void test_requests(void **state)
{
	char wanted[128];

	(void)state;
	assert_int_equal(requested("record /a b"), 0);
	assert_string_equal(order, AROUND("attach(/a b,0)"));
	assert_int_equal(errno, E2BIG);
	assert_int_equal(borrowed_by, 4711);
	assert_int_equal(atomic_load(&agent.own_process.borrowed), 0);
	assert_int_equal(requested("leave /a"), 0);
	assert_string_equal(order, AROUND("detach(/a,0) carried(/a,0) update"));
	assert_int_equal(requested("carry /l:/m /a"), 0);
	assert_string_equal(order, AROUND("carry(/l:/m /a,0) execs"));
	assert_int_equal(requested("carry /l:/m"), -EINVAL);
	assert_int_equal(requested("wrap libc 1f /a"), 0);
	assert_string_equal(order, AROUND("wrap(libc 1f /a,0)"));
	assert_int_equal(requested("wrap"), -EINVAL);
	assert_int_equal(requested("daemon /a"), 0);
	snprintf(wanted, sizeof(wanted), AROUND("control(/a,%d)"), AGENT_BY_DIRECTORY);
	assert_string_equal(order, wanted);
	assert_int_equal(requested("door /a"), 0);
	snprintf(wanted, sizeof(wanted), AROUND("control(/a,%d)"), AGENT_BY_RENDEZVOUS);
	assert_string_equal(order, wanted);
	assert_int_equal(requested("known /a"), 0);
	snprintf(wanted, sizeof(wanted), AROUND("control(/a,%d)"), AGENT_BY_SAME_RENDEZVOUS);
	assert_string_equal(order, wanted);
	assert_int_equal(requested("detach"), 0);
	assert_string_equal(order,
			AROUND("detach(none,0) carried(none,0) update leave(none,0) follow"));
	assert_int_equal(requested("detach "), -EINVAL);
	assert_string_equal(order, "prepare thread take follow-copies give");
	assert_int_equal(requested("record"), -EINVAL);
	assert_int_equal(requested("recordx /a"), -EINVAL);
	result_of_request = -ENOENT;
	assert_int_equal(requested("record /a"), -ENOENT);
	assert_string_equal(order, "prepare thread take follow-copies attach(/a,0) give");
	result_of_request = 0;
	has_turn = false;
	assert_int_equal(requested("record /a"), -EBUSY);
	assert_string_equal(order, "prepare thread take");
	has_turn = true;
	is_list = true;
	assert_int_equal(requested("record /a"), -EBUSY);
	assert_string_equal(order, "prepare");
	result_of_prepare = -ENOMEM;
	assert_int_equal(requested("record /a"), -ENOMEM);
	is_list = false;
	result_of_prepare = 0;
	is_whole = false;
	assert_int_equal(requested("record /a"), -ELIBBAD);
	assert_string_equal(order, "");
	is_whole = true;
}

/* ---- calls of the program ---- */

static void visit_nothing(bool after)
{
	(void)after;
}

static void test_passed_on(void **state)
{
	const struct ring_replay *from = (const void *)&self_base;
	const struct side_event_description *event = (const void *)&other_base;
	void (*visit)(bool after) = visit_nothing;

	(void)state;
	*order = '\0';
	side_agent_replay(from);
	assert_string_equal(order, "replay");
	assert_ptr_equal(replayed, from);
	side_agent_replay(NULL);
	assert_null(replayed);
	*order = '\0';
	side_agent_on_change(visit);
	assert_string_equal(order, "change");
	assert_memory_equal(&visited, &visit, sizeof(visit));
	*order = '\0';
	for (int named = 0; named < 2; named++) {
		side_agent_lost(event, named, 3, UINT64_C(1) << 40 | 5);
		assert_ptr_equal(lost_event, event);
		assert_int_equal(lost_named, named);
		assert_int_equal(lost_cpu, 3);
		assert_int_equal(lost_count, UINT64_C(1) << 40 | 5);
	}
	assert_string_equal(order, "lost lost");
	*order = '\0';
}

/* ---- the start ---- */

static void start_again(void)
{
	*order = 0;
	errno = E2BIG;
	start_agent();
	assert_int_equal(errno, E2BIG);
}

static void test_start(void **state)
{
	(void)state;
	/* The constructor has run, and no part runs twice. */
	*order = 0;
	side_agent_start();
	assert_string_equal(order, "");
	agent.control.mode = WIRE_CONTROL_OFF;
	agent.process.nr_sessions = 0;
	start_again();
	assert_string_equal(order, "bases find-copies begins boot(none,0) arrive(none,0) ends");
	variables[2] = "/s";
	start_again();
	assert_string_equal(order,
			"bases find-copies begins start(/s,0) boot(none,0) arrive(none,0) ends");
	variables[2] = "";
	start_again();
	assert_string_equal(order, "bases find-copies begins boot(none,0) arrive(none,0) ends");
	agent.process.nr_sessions = 1;
	is_list = true;
	start_again();
	assert_string_equal(order, "bases find-copies begins ends interpose");
	is_list = false;
	agent.process.nr_sessions = 0;
	agent.control.mode = WIRE_CONTROL_OFF + 1;
	start_again();
	assert_string_equal(order,
			"bases find-copies begins boot(none,0) arrive(none,0) ends interpose file");
	agent.control.mode = WIRE_CONTROL_OFF;
	thread_name = "side-attach";
	start_again();
	assert_string_equal(order, "bases file find-copies");
	thread_name = "side-attach-2";
	start_again();
	assert_string_equal(order, "bases file find-copies");
	assert_int_equal(agent.control.loader, WIRE_LOADER_ATTACH);
	variables[6] = "/lib/libother.so:/lib/libside-agent.so";
	thread_name = "side-attac";
	start_again();
	assert_int_equal(agent.control.loader, WIRE_LOADER_PRELOAD);
	variables[6] = "/lib/libother.so";
	start_again();
	assert_int_equal(agent.control.loader, WIRE_LOADER_LIBSIDE);
	assert_string_equal(order, "bases find-copies begins boot(none,0) arrive(none,0) ends");
	thread_name = "program";
	is_secure = true;
	start_again();
	assert_string_equal(order, "");
	is_secure = false;
	is_whole = false;
	start_again();
	assert_string_equal(order, "missed(,3)");
	variables[2] = "/s";
	is_sandbox = true;
	start_again();
	assert_string_equal(order, "");
	is_sandbox = false;
	start_again();
	assert_string_equal(order, "missed(/s,3)");
	variables[5] = "/run";
	start_again();
	assert_string_equal(order, "missed(/s,3) missed(/run,3)");
	variables[2] = NULL;
	start_again();
	assert_string_equal(order, "missed(/run,3)");
	variables[5] = NULL;
	start_again();
	assert_string_equal(order, "");
	is_whole = true;
}

static unsigned int factor_of(const char *text)
{
	variables[0] = text;
	return agent_start_chosen_timeout_factor();
}

static void test_variables(void **state)
{
	char name[WIRE_SESSION_NAME_MAX + 2];

	(void)state;
	assert_int_equal(factor_of(NULL), 0);
	assert_int_equal(factor_of("7"), 7);
	assert_int_equal(factor_of("3600"), 3600);
	assert_int_equal(factor_of("3601"), 0);
	assert_int_equal(factor_of("99999999999999999999"), 0);
	assert_int_equal(factor_of("12x"), 0);
	assert_int_equal(factor_of("/"), 0);
	assert_int_equal(factor_of(":"), 0);
	assert_int_equal(factor_of("09"), 9);
	assert_int_equal(factor_of(""), 0);
	variables[1] = "8";
	assert_int_equal(factor_of("7"), 7);
	assert_int_equal(factor_of(NULL), 8);
	keep_session(NULL);
	assert_false(agent.control.is_reserved);
	memset(name, 's', sizeof(name));
	name[WIRE_SESSION_NAME_MAX + 1] = 0;
	keep_session(name);
	assert_true(agent.control.is_reserved);
	assert_string_equal(agent.control.only, "");
	name[WIRE_SESSION_NAME_MAX] = 0;
	keep_session(name);
	assert_string_equal(agent.control.only, name);
	variables[3] = "";
	variables[4] = "one";
	debug_is_on = false;
	agent_start_begin();
	assert_true(agent.rules.for_kernel && agent.control.is_reserved && !agent.debug.is_on);
	assert_int_equal(agent.wait.timeout_factor, 8);
	assert_string_equal(agent.control.only, "one");
	variables[3] = NULL;
	agent_start_begin();
	assert_false(agent.rules.for_kernel);
}

/* ---- signal handlers ---- */

#undef dlsym
static bool stands_behind;
static int action_result;
static struct sigaction installed;

static int fake_action(int number, const struct sigaction *action, struct sigaction *before,
		patch_action_function *real)
{
	assert_non_null(real);
	(void)note_int("action", NULL, number);
	installed = *action;
	before->sa_handler = SIG_IGN;
	return action_result;
}

static int fake_mask(int how, const sigset_t *set, sigset_t *before, patch_mask_function *real)
{
	(void)set;
	(void)before;
	assert_non_null(real);
	return note_int("mask", NULL, how);
}

static bool fake_behind(int number)
{
	(void)number;
	return stands_behind;
}

static __sighandler_t real_signal(int number, __sighandler_t handler)
{
	(void)note_int("signal", NULL, number);
	return handler;
}

static int real_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	(void)number;
	(void)action;
	(void)before;
	return 0;
}

static int real_mask(int how, const sigset_t *set, sigset_t *before)
{
	(void)how;
	(void)set;
	(void)before;
	return 0;
}

static void *find_signal(void *handle, const char *name)
{
	void *found;
	void (*function)(void) = !strcmp(name, "signal") ? (void (*)(void))real_signal
			: !strcmp(name, "sigaction")     ? (void (*)(void))real_sigaction
							 : (void (*)(void))real_mask;

	assert_ptr_equal(handle, RTLD_NEXT);
	memcpy(&found, &function, sizeof(found));
	return found;
}

#define dlsym find_signal
#define patch_signals_action fake_action
#define patch_signals_mask fake_mask
#define patch_signals_are_taken fake_behind
#define sigaction(number, action, before) loaded_sigaction(number, action, before)
#define sigprocmask loaded_sigprocmask
#define pthread_sigmask loaded_pthread_sigmask
#define signal loaded_signal
int loaded_sigaction(int number, const struct sigaction *action, struct sigaction *before);
int loaded_sigprocmask(int how, const sigset_t *set, sigset_t *before);
int loaded_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
__sighandler_t loaded_signal(int number, __sighandler_t handler);
#include "tracers/agent/core/signal-watch.c"

static void handle(int number)
{
	(void)number;
}

static void test_signals(void **state)
{
	struct sigaction action = {.sa_handler = handle};

	(void)state;
	/* A constructor that runs before ours finds the functions itself. */
	next_action = NULL;
	next_process_mask = next_thread_mask = NULL;
	next_signal = NULL;
	*order = 0;
	assert_int_equal(loaded_sigaction(5, &action, &action), 0);
	next_process_mask = NULL;
	assert_int_equal(loaded_sigprocmask(6, NULL, NULL), 0);
	next_thread_mask = NULL;
	assert_int_equal(loaded_pthread_sigmask(7, NULL, NULL), 0);
	next_signal = NULL;
	assert_true(loaded_signal(8, handle) == handle);
	assert_string_equal(order, "action(none,5) mask(none,6) mask(none,7) signal(none,8)");
	stands_behind = true;
	*order = 0;
	assert_true(loaded_signal(8, SIG_ERR) == SIG_ERR);
	assert_string_equal(order, "signal(none,8)");
	assert_true(loaded_signal(SIGUSR1, handle) == SIG_IGN);
	assert_true(installed.sa_handler == handle && installed.sa_flags == SA_RESTART);
	assert_true(sigismember(&installed.sa_mask, SIGUSR1) &&
			!sigismember(&installed.sa_mask, SIGUSR2));
	action_result = -1;
	assert_true(loaded_signal(SIGUSR1, handle) == SIG_ERR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_interpose),
			cmocka_unit_test(test_requests),
			cmocka_unit_test(test_passed_on),
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_start_of_main),
			cmocka_unit_test(test_variables),
			cmocka_unit_test(test_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
