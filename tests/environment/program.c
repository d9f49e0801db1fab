/* SPDX-License-Identifier: MIT */
/*
 * Calls every exported function that reads the environment, in libside and in the libraries whose
 * directory is given at compile time (test-privileges.py compares the list with the symbols of the
 * libraries). It prints whether it has AT_SECURE. The validator is not among them: it makes
 * thousands of system calls, and test-imports.py shows that it does not read the environment.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include <side/kernel.h>
#include <side/trace.h>

#include "tracers/wrap/imports.h"

#ifndef LIBRARIES
#define LIBRARIES "."
#endif

side_static_event(environment_event, "environment", "event", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("n")));

static void *function_of(const char *library, const char *name)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s", LIBRARIES, library);
	handle = dlopen(path, RTLD_NOW);
	return handle && name ? dlsym(handle, name) : NULL;
}

static void call(const char *library, const char *name)
{
	void *found = function_of(library, name);
	void (*function)(void);

	memcpy(&function, &found, sizeof(function));
	if (function)
		function();
	printf("%s %s\n", name, function ? "called" : "is missing");
}

static void call_with(const char *library, const char *name, const char *argument)
{
	void *found = function_of(library, name);
	int (*function)(const char *text);

	memcpy(&function, &found, sizeof(function));
	printf("%s %d\n", name, function ? function(argument) : -1);
}

/* As a second libside would: with another side_init(). */
static void call_note_copy(void)
{
	void *found = function_of("libside-agent.so", "side_agent_note_copy");
	void (*function)(const char *library, void (*init)(void));

	memcpy(&function, &found, sizeof(function));
	if (function)
		function("environment", NULL);
	printf("side_agent_note_copy %s\n", function ? "called" : "is missing");
}

static bool is_own_thread(void)
{
	return false;
}

static void *find_nothing(const char *name)
{
	(void)name;
	return NULL;
}

/* As the agent would, for a wrapper that a running program has loaded. */
static void call_attach(const char *library, const char *name)
{
	static const void *const tracers[] = {NULL};
	const struct wrap_import *imports;
	char path[4096];
	wrap_attach_function *function;
	struct wrap_agent agent = {
			.is_own_thread = is_own_thread,
			.find = find_nothing,
			.tracers = tracers,
	};
	void *found;

	snprintf(path, sizeof(path), "%s/%s", LIBRARIES, library);
	agent.handle = dlopen(path, RTLD_NOW);
	found = agent.handle ? dlsym(agent.handle, name) : NULL;
	memcpy(&function, &found, sizeof(function));
	if (found)
		printf("%s %d\n", name, function(&agent, &imports) > 0);
	else
		printf("%s is missing\n", name);
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("AT_SECURE %lu\n", getauxval(AT_SECURE));
	side_event(environment_event, side_arg_list(side_arg_u64(1)));
	printf("side_kernel_start %d\n", side_kernel_start("environment:*"));
	call_with("libside-kernel.so", "side_kernel_begin", "environment:*");
	call("libside-agent.so", "side_agent_start");
	call("libside-agent.so", "side_agent_note_allocator");
	call_note_copy();
	call_with("libside-agent.so", "side_agent_request", "detach");
	(void)function_of("libside-console-tracer.so.0", NULL);
	call_attach("libside-wrap-libc.so", "side_wrap_attach_libc");
	call_attach("libside-wrap-pthread.so", "side_wrap_attach_pthread");
	/* A wrong event, which libside reports with SIDE_DEBUG=1. */
	side_call(NULL, NULL);
	side_event(environment_event, side_arg_list(side_arg_u64(2)));
	printf("end\n");
	return 0;
}
