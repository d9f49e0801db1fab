/* SPDX-License-Identifier: MIT */
/*
 * How often the agent tries to create its state directory of early boot: 1000 names, and 5 times if
 * the parent directory itself disappears. The test includes the file and replaces the last system
 * call.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/boot-directory.h"
#include "tracers/agent/core/session.h"

static unsigned int nr_tries, good_try;
static int try_error = EEXIST;

static long played_rename(void)
{
	errno = try_error;
	return ++nr_tries == good_try ? 0 : -1;
}

#define syscall(number, ...) \
	((number) == SYS_renameat2 ? played_rename() : (syscall)(number, ##__VA_ARGS__))
#include "tracers/agent/core/boot-directory.c"
#undef syscall

static void test_names(void)
{
	char work[] = "/tmp/side-attempts-XXXXXX", path[64], expected[64];
	static char procname[] = "program";
	static struct agent_session session;
	const struct boot_facts facts = {
			.session = &session, .procname = procname, .exe = "/bin/program"};
	int folder;

	CHECK(mkdtemp(work));
	folder = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(folder >= 0);
	for (unsigned int good = 1000; good <= 1001; good++) {
		nr_tries = 0;
		good_try = good;
		CHECK(agent_boot_directory_publish(&session, &facts, -1, "temporary", folder) ==
				(good <= 1000 ? 0 : -EEXIST));
		CHECK(nr_tries == (good <= 1000 ? good : 1000));
		CHECK(session.config.instance == nr_tries - 1);
		snprintf(expected, sizeof(expected), "program-%d-%u", (int)getpid(), nr_tries - 1);
		CHECK(!strcmp(session.boot_folder, expected));
	}
	nr_tries = good_try = 0;
	try_error = EROFS;
	CHECK(agent_boot_directory_publish(&session, &facts, -1, "temporary", folder) == -EROFS &&
			nr_tries == 1);
	snprintf(path, sizeof(path), "%s/instance", work);
	CHECK(!unlink(path) && !rmdir(work));
	close(folder);
}

/*
 * Each time, the parent directory exists, and disappears before the state directory gets its name.
 */
static void test_places(void)
{
	char work[] = "/tmp/side-attempts-XXXXXX", state_dir[64], command[96];
	static char procname[] = "program", session_name[] = "s";
	static struct boot_session boot = {.name = session_name};
	static struct agent_session session = {.boot = &boot, .token = 5};
	struct boot_config config = {.sessions = &boot};
	const struct boot_facts facts = {
			.session = &session, .procname = procname, .exe = "/bin/program"};
	int fds[WIRE_CHANNELS_MAX];

	CHECK(mkdtemp(work));
	snprintf(state_dir, sizeof(state_dir), "%s/place", work);
	config.state_dir = state_dir;
	for (unsigned int i = 0; i < WIRE_CHANNELS_MAX; i++)
		fds[i] = -1;
	try_error = ENOENT;
	for (good_try = 5; good_try <= 6; good_try++) {
		nr_tries = 0;
		CHECK(boot_state_dir_make(&session, &config, &facts, fds) ==
				(good_try == 5 ? 0 : -ENOENT));
		CHECK(nr_tries == 5);
		snprintf(command, sizeof(command), "rm -r %s", state_dir);
		CHECK(!system(command));
	}
	CHECK(!rmdir(work));
}

int main(void)
{
	test_names();
	test_places();
	return 0;
}
