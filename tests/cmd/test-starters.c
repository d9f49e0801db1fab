/* SPDX-License-Identifier: MIT */
/*
 * Programs that start another program: the arguments of the starter, the started program, its
 * location, and refused commands.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "programs/common/message.h"

#include "../called-messages.h"

#include "programs/side/probe/trace-starter.c"

/* Returns the status, or -1 if the command is followed. Then `followed` is "INDEX PROGRAM". */
static char followed[PATH_MAX + 16];

static int follow(const char *command, bool global)
{
	static char text[2048];
	char *args[64], program[PATH_MAX], *state = NULL;
	size_t count = 0, at = 77;
	int status;

	(void)snprintf(text, sizeof(text), "%s", command);
	for (char *arg = strtok_r(text, " ", &state); arg; arg = strtok_r(NULL, " ", &state))
		args[count++] = arg;
	status = starter_follow(args, count, global, &at, program);
	if (status)
		return status;
	(void)snprintf(followed, sizeof(followed), "%zu %s", at, program);
	return -1;
}

static void assert_followed(const char *command, const char *expected)
{
	for (int global = 0; global < 2; global++) {
		assert_int_equal(follow(command, global), -1);
		assert_string_equal(followed, expected);
	}
	assert_called("");
}

static void test_options(void **unused)
{
	static const char *const commands[][2] = {
			{"prog -x", "0 prog"},
			{"env prog", "1 prog"},
			{"/bin/env prog", "1 prog"},
			{"/sbin/env prog", "1 prog"},
			{"/usr/bin/env prog", "1 prog"},
			{"/usr/sbin/env prog", "1 prog"},
			/* Another program of that name. */
			{"./env prog", "0 ./env"},
			{"/opt/bin/env prog", "0 /opt/bin/env"},
			{"bin/env prog", "0 bin/env"},
			{"/usr/bin/x/env prog", "0 /usr/bin/x/env"},
			{"envy prog", "0 envy"},
			/* Alone, it is the program. */
			{"env", "0 env"},
			{"env A=b", "0 env"},
			{"env -u", "0 env"},
			{"env --unset", "0 env"},
			{"timeout 5", "0 timeout"},
			{"timeout", "0 timeout"},
			{"setarch x86_64", "0 setarch"},
			{"setarch", "0 setarch"},
			{"nice env", "1 env"},
			/*
			 * Options with and without arguments, short and long, and their
			 * abbreviations.
			 */
			{"env -u FOO prog", "3 prog"},
			{"env -uFOO prog", "2 prog"},
			{"env -vu FOO prog", "3 prog"},
			{"env -v prog", "2 prog"},
			{"env --unset FOO prog", "3 prog"},
			{"env --unset=FOO prog", "2 prog"},
			{"env --uns FOO prog", "3 prog"},
			{"env --debug prog", "2 prog"},
			{"env --=x prog", "2 prog"},
			{"env -- prog", "2 prog"},
			{"env -u FOO -- A=b C=d prog E=f", "6 prog"},
			{"nice -n 3 prog", "3 prog"},
			{"nice -3 prog", "2 prog"},
			{"nice --3 prog", "2 prog"},
			{"nice --adjustment 3 prog", "3 prog"},
			{"stdbuf -oL -e 0 prog", "4 prog"},
			{"timeout -k 5 --signal=INT 1m prog", "5 prog"},
			{"taskset -c 0 prog", "3 prog"},
			{"chrt -T 1 -b 0 prog", "5 prog"},
			{"ionice -c2 --classdata 7 prog", "4 prog"},
			{"numactl --preferred-many 1 -N 0 prog", "5 prog"},
			{"setarch x86_64 -R prog", "3 prog"},
			{"setarch -R prog", "2 prog"},
			{"setarch uname26 prog", "2 prog"},
			{"setarch i486 prog", "2 prog"},
			{"setarch mips prog", "1 mips"},
			{"linux64 x86_64 prog", "2 prog"},
			{"strace -f -e trace=x -s 8 prog", "6 prog"},
			{"nohup setsid -w nice prog", "4 prog"},
			{"time -f %e -o times prog", "5 prog"},
			/* A letter that takes no argument for this starter. */
			{"nohup -n prog", "2 prog"},
			{"setsid -u prog", "2 prog"},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		assert_followed(commands[i][0], commands[i][1]);
}

static char folder[] = "/tmp/side-starters-XXXXXX";

/* The search uses the directory and the PATH with which the program starts. */
static void test_paths(void **unused)
{
	char command[400], expected[400], name[64];

	(void)unused;
	assert_followed("env -C /tmp ./prog", "3 /tmp/./prog");
	assert_followed("env -C/tmp a/prog", "2 /tmp/a/prog");
	assert_followed("env --chdir=/tmp ./prog", "2 /tmp/./prog");
	assert_followed("env --chdir /tmp ./prog", "3 /tmp/./prog");
	assert_followed("env --ch=/tmp ./prog", "2 /tmp/./prog");
	assert_followed("env -u C ./prog", "3 ./prog");
	assert_followed("env -C /tmp /bin/prog", "3 /bin/prog");
	assert_followed("env -C /tmp prog", "3 prog");
	assert_followed("unshare -w /tmp ./prog", "3 /tmp/./prog");
	assert_followed("unshare --wd /tmp ./prog", "3 /tmp/./prog");
	assert_followed("unshare --wd=/tmp ./prog", "2 /tmp/./prog");
	assert_followed("unshare -l x ./prog", "3 ./prog");
	assert_followed("unshare --setgroups=deny ./prog", "2 ./prog");
	/* These starters give the options another meaning. */
	assert_followed("strace -C ./prog", "2 ./prog");
	assert_followed("numactl -C 1 ./prog", "3 ./prog");
	assert_followed("numactl -w 1 ./prog", "3 ./prog");
	/* In PATH, an empty element is the current directory. */
	(void)snprintf(name, sizeof(name), "%s/only", folder);
	(void)snprintf(command, sizeof(command), "env PATH=/none:%s only", folder);
	(void)snprintf(expected, sizeof(expected), "2 %s", name);
	assert_followed(command, expected);
	(void)snprintf(command, sizeof(command), "env PATH=%s:/none A=b only", folder);
	(void)snprintf(expected, sizeof(expected), "3 %s", name);
	assert_followed(command, expected);
	assert_int_equal(chdir(folder), 0);
	assert_followed("env PATH=:/none only", "2 ./only");
	assert_followed("env PATH=/none::/bin only", "2 ./only");
	assert_followed("env PATH=/none: only", "2 ./only");
	assert_followed("env PATH= only", "2 ./only");
	assert_int_equal(chdir("/"), 0);
	assert_followed("env PATH=:/none only", "2 only");
	/* A file that is not executable is skipped. */
	assert_int_equal(chmod(name, 0600), 0);
	(void)snprintf(command, sizeof(command), "env PATH=%s only", folder);
	assert_followed(command, "2 only");
	assert_int_equal(chmod(name, 0700), 0);
	(void)snprintf(command, sizeof(command), "env PATH=%s ./only", folder);
	assert_followed(command, "2 ./only");
	/* PATHS is another variable. */
	(void)snprintf(command, sizeof(command), "env PATHS=%s only", folder);
	assert_followed(command, "2 only");
	(void)snprintf(command, sizeof(command), "PATH=%s only", folder);
	(void)snprintf(expected, sizeof(expected), "0 PATH=%s", folder);
	assert_followed(command, expected);
}

/* A path of the maximum length is found. One byte more is not. */
static void test_long_paths(void **unused)
{
	char path[PATH_MAX + 8], program[PATH_MAX];

	(void)unused;
	memset(path, '/', sizeof(path));
	memcpy(path, folder, strlen(folder));
	path[PATH_MAX - 1 - strlen("/only")] = '\0';
	starter_search(path, "only", program);
	assert_int_equal(strlen(program), PATH_MAX - 1);
	path[PATH_MAX - 1 - strlen("/only")] = '/';
	path[PATH_MAX - strlen("/only")] = '\0';
	starter_search(path, "only", program);
	assert_string_equal(program, "only");
}

static void assert_refused(const char *command, const char *message, const char *followed_globally)
{
	assert_int_equal(follow(command, false), COMMAND_USAGE);
	assert_called(message);
	if (!followed_globally) {
		assert_int_equal(follow(command, true), COMMAND_USAGE);
		assert_called(message);
		return;
	}
	assert_int_equal(follow(command, true), -1);
	assert_string_equal(followed, followed_globally);
	assert_called("");
}

static void test_refused(void **unused)
{
	static const char removes[] =
			"error 2 cannot trace through `env %s`: it removes LD_PRELOAD, which loads the agent [write it before side: `env -i side trace -c COMMAND`];";
	static const char splits[] =
			"error 2 cannot trace through `env %s`: it starts no program, or one that cannot load the agent [write the arguments of `-S` without `-S`];";
	static const char stops[] =
			"error 2 cannot trace through `%s`: it starts no program, or one that cannot load the agent [name the program alone in `-c`, or a running process by `-p PID`];";
	static const char changes[] =
			"error 2 cannot trace through `%s`: it changes `%s`, which loads the agent [leave the variable out, or set it before `side`];";
	static const char *const removing[][3] = {{"env -i prog", "-i", "2 prog"},
			{"env -vi prog", "-vi", "2 prog"}, {"env - prog", "-", "2 prog"},
			{"env --ignore-environment prog", "--ignore-environment", "2 prog"},
			{"env --i A=b prog", "--i", "3 prog"}};
	static const char *const splitting[][3] = {{"env -S prog", "-S", "2 prog"},
			{"env -vS prog", "-vS", "2 prog"},
			{"env --split-string=x prog", "--split-string=x", "2 prog"},
			{"env --s=x prog", "--s=x", "2 prog"}};
	static const char *const stopping[][3] = {{"taskset -p 1", "taskset -p", "0 taskset"},
			{"chrt -m prog x", "chrt -m", "3 x"},
			{"chrt --max 0 prog", "chrt --max", "3 prog"},
			{"ionice -c 3 -P 1", "ionice -P", "4 1"},
			{"strace -fp 1 prog", "strace -fp", "2 1"},
			{"strace --attach=1 prog", "strace --attach=1", "2 prog"},
			{"unshare --root=/ prog", "unshare --root=/", "2 prog"}};
	static const char *const changing[][4] = {
			{"env -u LD_PRELOAD prog", "env", "LD_PRELOAD", "3 prog"},
			{"env -uSIDE_AGENT_SOCKET prog", "env", "SIDE_AGENT_SOCKET", "2 prog"},
			{"env --unset=LD_PRELOAD prog", "env", "LD_PRELOAD", "2 prog"},
			{"env --uns=LD_PRELOAD prog", "env", "LD_PRELOAD", "2 prog"},
			{"env --u LD_PRELOAD prog", "env", "LD_PRELOAD", "3 prog"},
			{"env LD_PRELOAD=x prog", "env", "LD_PRELOAD", "2 prog"},
			{"env A=b SIDE_AGENT=x prog", "env", "SIDE_AGENT", "3 prog"},
			{"strace -E LD_PRELOAD=y prog", "strace", "LD_PRELOAD", "3 prog"},
			{"strace --env LD_PRELOAD prog", "strace", "LD_PRELOAD", "3 prog"},
			{"strace --en=SIDE_AGENT=1 prog", "strace", "SIDE_AGENT", "2 prog"}};
	char text[500];

	(void)unused;
	for (size_t i = 0; i < sizeof(removing) / sizeof(removing[0]); i++) {
		(void)snprintf(text, sizeof(text), removes, removing[i][1]);
		assert_refused(removing[i][0], text, removing[i][2]);
	}
	for (size_t i = 0; i < sizeof(splitting) / sizeof(splitting[0]); i++) {
		(void)snprintf(text, sizeof(text), splits, splitting[i][1]);
		assert_refused(splitting[i][0], text, splitting[i][2]);
	}
	for (size_t i = 0; i < sizeof(stopping) / sizeof(stopping[0]); i++) {
		(void)snprintf(text, sizeof(text), stops, stopping[i][1]);
		assert_refused(stopping[i][0], text, stopping[i][2]);
	}
	for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++) {
		(void)snprintf(text, sizeof(text), changes, changing[i][1], changing[i][2]);
		assert_refused(changing[i][0], text, changing[i][3]);
	}
	/* Variables and options without an effect on the recorder. */
	assert_followed("env -u LD_PRELOA prog", "3 prog");
	assert_followed("env -C LD_PRELOAD prog", "3 prog");
	assert_followed("env SIDE_AGEN=x prog", "2 prog");
	assert_followed("strace -e LD_PRELOAD prog", "3 prog");
	assert_followed("ionice -c LD_PRELOAD prog", "3 prog");
	assert_followed("stdbuf -e LD_PRELOAD prog", "3 prog");
	/* A variable after the program is an argument of the program. */
	assert_followed("nice LD_PRELOAD=x", "1 LD_PRELOAD=x");
}

/* Programs that change the user, and valgrind, which executes a translation. */
static void test_users(void **unused)
{
	static const char user[] =
			"error 2 cannot trace a program through `%s`: it removes LD_PRELOAD, which loads the agent [run side as that user: `%s side trace -c COMMAND`, or let the kernel watch: `--global`];";
	static const char shell[] =
			"error 2 cannot trace a program through `%s`: it removes LD_PRELOAD, which loads the agent [run side as that user: `%s USER -c \"side trace -c COMMAND\"`, or let the kernel watch: `--global`];";
	static const char *const users[][3] = {{"sudo -u you -- A=b prog", "sudo", "5 prog"},
			{"doas -u you prog", "doas", "3 prog"},
			{"nice pkexec --user you prog", "pkexec", "4 prog"}};
	static const char *const shells[][3] = {
			{"su you", "su", "1 you"}, {"runuser -l you", "runuser", "2 you"}};
	char text[500];

	(void)unused;
	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		(void)snprintf(text, sizeof(text), user, users[i][1], users[i][1]);
		assert_refused(users[i][0], text, users[i][2]);
	}
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		(void)snprintf(text, sizeof(text), shell, shells[i][1], shells[i][1]);
		assert_refused(shells[i][0], text, shells[i][2]);
	}
	assert_refused("nice valgrind prog",
			"error 2 cannot trace a program through `valgrind`: it executes a translation of the program, in which probes have no effect or end the program "
			"[trace the program alone, or record its events: `side record -- valgrind PROGRAM`];",
			NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_options),
			cmocka_unit_test(test_paths),
			cmocka_unit_test(test_long_paths),
			cmocka_unit_test(test_refused),
			cmocka_unit_test(test_users),
	};
	char name[64];
	FILE *file;
	int ret;

	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(name, sizeof(name), "%s/only", folder);
	file = fopen(name, "we");
	if (!file || fclose(file) || chmod(name, 0700))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(name);
	(void)rmdir(folder);
	return ret;
}
