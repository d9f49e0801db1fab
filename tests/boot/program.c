/* SPDX-License-Identifier: MIT */
/*
 * The program that the tests of early boot trace. It fires its first event in its first
 * constructor; then it runs its arguments in order, and numbers all its events (from 0 in each
 * process):
 *
 *   fire=N        fires N events
 *   fork=N        a child that fires N events and exits; waited for
 *   chain=N       a child of a child, each fires N events
 *   exec          executes this program again, with the remaining arguments
 *   plugin=PATH   loads a library that fires one event when it is loaded
 *   hide=DIR      mounts an empty file system over DIR
 *   chroot=DIR    changes its root to DIR
 *   root=DIR      makes the file system at DIR the root, as switch_root(8) does it; moves /proc and
 *   /run
 *   say=WORD      prints a line on standard output
 *   wait          waits for a line on standard input
 *   fill=N        fires N events, some of which may be lost
 *   kill          ends by SIGKILL
 *   run=SCRIPT    runs a shell script, and waits for it
 *   off           switches the machine off
 *
 * ":" can be used for "=": a kernel passes only arguments without "=" to its first process.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(ev_first, "boot", "first", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_s32("pid"), side_field_string("text")));
side_static_event(ev_tick, "boot", "tick", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u64("sequence"), side_field_string("text")));
side_static_event(ev_tock, "boot", "tock", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_u64("sequence")));

static uint64_t sequence;

/*
 * A constructor without priority registers the events: this is the first one that can fire an
 * event.
 */
static __attribute__((constructor)) void fire_first(void)
{
	side_event(ev_first, side_arg_list(side_arg_s32(getpid()), side_arg_string("constructor")));
}

static void fire(unsigned long count)
{
	char text[32];

	while (count--) {
		snprintf(text, sizeof(text), "tick %llu", (unsigned long long)sequence);
		side_event(ev_tick, side_arg_list(side_arg_u64(sequence), side_arg_string(text)));
		side_event(ev_tock, side_arg_list(side_arg_u64(sequence)));
		sequence++;
	}
}

static void fork_child(unsigned long count, bool again)
{
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		exit(9);
	if (!child) {
		sequence = 0;
		fire(count);
		if (again)
			fork_child(count, false);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		exit(8);
}

static void run_script(char *path)
{
	char shell[] = "/bin/sh";
	char *argv[] = {shell, path, NULL};
	int status = 0;
	pid_t child = fork();

	if (!child) {
		execv(shell, argv);
		_exit(127);
	}
	/* A first process has children that it does not know. */
	while (child > 0 && waitpid(child, &status, 0) != child)
		;
	if (status)
		fprintf(stderr, "%s: status %x\n", path, (unsigned int)status);
}

/* An emulated machine that cannot switch itself off ends when it restarts. */
static void switch_off(void)
{
	sync();
	reboot(RB_AUTOBOOT);
	_exit(0);
}

static void take_along(const char *from, const char *root)
{
	char to[512];

	snprintf(to, sizeof(to), "%s%s", root, from);
	if (mount(from, to, NULL, MS_MOVE, NULL))
		exit(3);
}

static void switch_root(const char *root)
{
	take_along("/proc", root);
	take_along("/run", root);
	if (chdir(root) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		exit(2);
}

static void do_word(char **argv, char *word)
{
	char *value = word + strcspn(word, "=:");
	char line[64];

	if (*value)
		*value++ = 0;
	if (!strcmp(word, "fire") || !strcmp(word, "fill")) {
		fire(strtoul(value, NULL, 10));
	} else if (!strcmp(word, "fork")) {
		fork_child(strtoul(value, NULL, 10), false);
	} else if (!strcmp(word, "chain")) {
		fork_child(strtoul(value, NULL, 10), true);
	} else if (!strcmp(word, "exec")) {
		execv("/proc/self/exe", argv);
		exit(7);
	} else if (!strcmp(word, "plugin")) {
		if (!dlopen(value, RTLD_NOW))
			exit(6);
	} else if (!strcmp(word, "hide")) {
		if (mount("none", value, "tmpfs", 0, NULL))
			exit(77);
	} else if (!strcmp(word, "chroot")) {
		if (chroot(value) || chdir("/"))
			exit(77);
	} else if (!strcmp(word, "root")) {
		switch_root(value);
	} else if (!strcmp(word, "say")) {
		puts(value);
		fflush(stdout);
	} else if (!strcmp(word, "wait")) {
		if (!fgets(line, sizeof(line), stdin))
			exit(5);
	} else if (!strcmp(word, "kill")) {
		kill(getpid(), SIGKILL);
		for (;;)
			pause();
	} else if (!strcmp(word, "run")) {
		run_script(value);
	} else if (!strcmp(word, "off")) {
		switch_off();
	} else {
		exit(4);
	}
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		/* The remaining arguments belong to the new program. */
		if (!strcmp(argv[i], "exec"))
			do_word(&argv[i], argv[i]);
		do_word(argv, argv[i]);
	}
	return 0;
}
