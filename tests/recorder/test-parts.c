/* SPDX-License-Identifier: MIT */
/*
 * Small parts of a session with values at their limits: permissions, commands, refusals, survivors,
 * runtime directories.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "../resources.h"
#include "recorder/connection.h"
#include "recorder/core/access.h"
#include "recorder/core/instance.h"
#include "recorder/core/leases.h"
#include "recorder/core/live.h"
#include "recorder/core/session.h"
#include "recorder/refusals.h"
#include "recorder/runtime.h"
#include "recorder/session-life.h"
#include "recorder/session-state.h"
#include "recorder/storage/disk-full.h"
#include "recorder/survivors.h"

#define OTHER 54321 /* a user and group without privileges */

static char work[] = "/tmp/side-parts-XXXXXX";

/* ---- which processes a user may probe ---- */

/* Starts a waiting process of that user. If `saved` is 0, all three ids are the same. */
static pid_t start_process(uid_t uid, gid_t gid, uid_t saved)
{
	int ready[2];
	pid_t pid;
	char byte;

	CHECK(!pipe(ready));
	pid = fork();
	if (!pid) {
		if (setresgid(gid, gid, gid) || setresuid(uid, uid, saved ? saved : uid))
			_exit(1);
		/* Otherwise root owns /proc/PID. */
		prctl(PR_SET_DUMPABLE, 1);
		CHECK(write(ready[1], "x", 1) == 1);
		pause();
		_exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void test_access(void)
{
	struct access of = {.uid = getuid(), .capabilities = access_own_capabilities()};
	struct access other = {.uid = OTHER};
	struct resources before = resources_now();
	pid_t pid;

	CHECK(access_is_allowed(&of, getpid()));
	CHECK(!access_is_allowed(&other, getpid()));
	of.uid++;
	CHECK(!access_is_allowed(&of, getpid()));
	CHECK(!access_is_allowed(&of, 0));
	if (geteuid() != 0)
		return;
	CHECK(of.capabilities & 1);
	of = (struct access){.uid = 0};
	/* A process with more privileges than the user. */
	CHECK(!access_is_allowed(&of, getpid()));
	pid = start_process(OTHER, OTHER + 1, 0);
	CHECK(access_is_allowed(&other, pid));
	other.has_gid = true;
	CHECK(!access_is_allowed(&other, pid));
	other.gid = OTHER + 1;
	CHECK(access_is_allowed(&other, pid));
	end_process(pid);
	CHECK(!access_is_allowed(&other, pid));
	/* A process that can change back to another user. */
	pid = start_process(OTHER, OTHER + 1, OTHER + 2);
	CHECK(!access_is_allowed(&other, pid));
	end_process(pid);
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- commands that no agent can be loaded into ---- */

static void never_meets(const void *bytes, size_t size, mode_t mode, const char *expected)
{
	char path[64], *why, sentence[600];
	int fd;

	snprintf(path, sizeof(path), "%s/program", work);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	CHECK(!fchmod(fd, mode));
	close(fd);
	why = session_never_meets(path);
	snprintf(sentence, sizeof(sentence), "%s %s", path, expected ? expected : "");
	if (expected ? !why || strcmp(why, sentence) != 0 : why != NULL) {
		fprintf(stderr, "%s instead of %s\n", why ? why : "nothing",
				expected ? sentence : "nothing");
		abort();
	}
	free(why);
	unlink(path);
}

static void test_commands(void)
{
	static const char is_static[] =
			"is statically linked, so the agent cannot be preloaded into it";
	static const char gains[] =
			"runs with more rights than its caller (set-user-ID, set-group-ID or file capabilities), so the loader does not preload the agent\nrun it as the user whose rights it gains";
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr parts[2];
	} program = {
			.head = {.e_ident = {0x7f, 'E', 'L', 'F',
						 sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32},
					.e_phoff = sizeof(Elf64_Ehdr),
					.e_phnum = 2,
					.e_phentsize = sizeof(Elf64_Phdr)},
			.parts = {{.p_type = PT_LOAD}, {.p_type = PT_INTERP}},
	};
	struct resources before = resources_now();

	if (sizeof(void *) != 8)
		return;
	never_meets(&program, sizeof(program), 0755, NULL);
	program.head.e_phnum = 1;
	never_meets(&program, sizeof(program), 0755, is_static);
	/* Incomplete headers: the loader refuses the program with its own error. */
	program.head.e_phnum = 3;
	program.parts[1].p_type = PT_LOAD;
	never_meets(&program, sizeof(program), 0755, NULL);
	program.head.e_phnum = 2;
	never_meets(&program, sizeof(program), 0755, is_static);
	never_meets(&program, sizeof(Elf32_Ehdr) - 1, 0755, NULL);
	program.head.e_ident[EI_CLASS] = ELFCLASS32;
	never_meets(&program, sizeof(program), 0755,
			"has another word size (32 or 64 bits) than the installed agent");
	program.head.e_ident[0] = 'x';
	never_meets(&program, sizeof(program), 0755, NULL);
	never_meets("#!/bin/sh\n", 10, 0755, NULL);
	CHECK(!session_never_meets("no-such-command-at-all"));
	if (geteuid() == 0) {
		char path[64];

		/* Programs run by root gain no privileges. */
		program.head.e_ident[0] = 0x7f;
		program.head.e_ident[EI_CLASS] = ELFCLASS64;
		program.parts[1].p_type = PT_INTERP;
		never_meets(&program, sizeof(program), 06755, NULL);
		snprintf(path, sizeof(path), "%s/program", work);
		for (int i = 0; i < 4; i++) {
			static const mode_t modes[] = {04755, 02755, 02745, 0755};
			int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
			char *why;

			CHECK(fd >= 0 && write(fd, &program, sizeof(program)) == sizeof(program));
			CHECK(!fchown(fd, OTHER, OTHER) && !fchmod(fd, modes[i]));
			close(fd);
			why = session_never_meets(path);
			CHECK(i < 2 ? why && strstr(why, gains) : !why);
			free(why);
			unlink(path);
		}
	}
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- programs that are not recorded ---- */

static bool note(struct session *session, pid_t pid, uid_t uid, const char *name, bool again)
{
	struct connection connection = {.peer = pid, .uid = uid};

	return refusals_note(session, &connection, name, "the reason", again);
}

static void test_refusals(void)
{
	struct session *session = session_allocate();
	struct session_status status = {0};
	pid_t pids[REFUSALS_OF_USER + 2];
	int i;

	CHECK(session);
	for (i = 0; i < REFUSALS_OF_USER + 2; i++)
		pids[i] = start_process(geteuid(), getegid(), 0);
	for (i = 0; i < REFUSALS_OF_USER; i++)
		CHECK(note(session, pids[i], 7, i ? "name" : NULL, true));
	CHECK(session->refusals.nr == REFUSALS_OF_USER);
	/*
	 * A known process; a process above the limit, with and without a later request; a process
	 * of another user.
	 */
	CHECK(!note(session, pids[3], 7, "name", false));
	CHECK(!note(session, pids[i], 7, "name", true) && note(session, pids[i], 7, "name", false));
	CHECK(session->refusals.nr == REFUSALS_OF_USER);
	CHECK(note(session, pids[i], 8, "other", true));
	CHECK(session->refusals.nr == REFUSALS_OF_USER + 1);
	CHECK(!refusals_status(session, &status));
	CHECK(status.nr_waiting == REFUSALS_OF_USER + 1);
	for (i = 0; i <= REFUSALS_OF_USER; i++) {
		const struct session_status_refused *shown = &status.refused[i];

		CHECK(shown->peer == pids[i] && shown->uid == (i < REFUSALS_OF_USER ? 7u : 8u));
		CHECK(!strcmp(shown->procname, !i ? "?" : i < REFUSALS_OF_USER ? "name" : "other"));
		CHECK(!strcmp(shown->reason, "the reason"));
		free(shown->procname);
	}
	free(status.refused);
	/* The entry of an ended process is reused for another one. */
	end_process(pids[5]);
	CHECK(note(session, pids[REFUSALS_OF_USER + 1], 7, "last", true));
	CHECK(session->refusals.nr == REFUSALS_OF_USER + 1);
	for (i = 0; i <= REFUSALS_OF_USER; i++)
		CHECK(session->refusals.list[i].peer != pids[5]);
	refusals_remove(session, pids[6]);
	CHECK(session->refusals.nr == REFUSALS_OF_USER);
	for (i = 0; i < REFUSALS_OF_USER; i++)
		CHECK(session->refusals.list[i].peer != pids[6]);
	/* The start time identifies a process. */
	CHECK(session->refusals.list[0].started ==
			session_process_start(session->refusals.list[0].peer));
	session->refusals.list[0].started++;
	status = (struct session_status){0};
	CHECK(!refusals_status(session, &status) && status.nr_waiting == REFUSALS_OF_USER - 1);
	for (i = 0; i < REFUSALS_OF_USER - 1; i++)
		free(status.refused[i].procname);
	free(status.refused);
	for (i = 0; i < REFUSALS_OF_USER + 2; i++)
		if (i != 5)
			end_process(pids[i]);
	refusals_free(session);
	CHECK(!session->refusals.nr && !session->refusals.list);
	session_destroy(session);
}

/* ---- processes ---- */

static void test_starts(void)
{
	struct resources before = resources_now();
	char text[2000], name[] = "a ) (b) 1 2 3";
	unsigned long long started = 0;
	const char *at;
	FILE *file;

	prctl(PR_SET_NAME, name);
	file = fopen("/proc/self/stat", "re");
	CHECK(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	at = strstr(text, name);
	/* Field 22, counted from the fields after the name. */
	CHECK(at &&
			sscanf(at + strlen(name),
					") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
					&started) == 1);
	CHECK(started && session_process_start(getpid()) == started);
	CHECK(session_process_start(0) == 0);
	CHECK(resources_now().descriptors == before.descriptors);
}

static void test_survivors(void)
{
	struct session *session = session_allocate();
	static struct instance known = {.peer = 0};
	struct resources before;
	unsigned int nr;
	pid_t pid, marked;

	CHECK(session);
	snprintf(session->listener.path, sizeof(session->listener.path), "%s/socket-of-the-session",
			work);
	before = resources_now();
	CHECK(survivors_count(session) == 0);
	pid = start_process(geteuid(), getegid(), 0);
	marked = fork();
	if (!marked) {
		char value[128];
		char *const environment[] = {value, NULL};

		snprintf(value, sizeof(value), "SIDE_AGENT_SOCKET=%s", session->listener.path);
		execle("/bin/sleep", "sleep", "1000", NULL, environment);
		_exit(1);
	}
	while (!(nr = survivors_count(session)))
		usleep(1000);
	CHECK(nr == 1);
	known.peer = pid;
	session->instances.live = &known;
	CHECK(survivors_count(session) == 2);
	known.peer = marked;
	CHECK(survivors_count(session) == 1);
	session->instances.live = NULL;
	end_process(marked);
	CHECK(survivors_count(session) == 0);
	end_process(pid);
	CHECK(resources_now().descriptors == before.descriptors);
	session->listener.path[0] = '\0';
	session_destroy(session);
}

/* ---- runtime directories ---- */

static size_t nr_entries(const char *path)
{
	DIR *directory = opendir(path);
	size_t nr = 0;

	CHECK(directory);
	while (readdir(directory))
		nr++;
	closedir(directory);
	return nr - 2;
}

static void test_runtime(void)
{
	struct session *session = session_allocate(), *other = session_allocate();
	struct resources before;
	struct stat status;
	char left[200], file[240];
	int fd;

	CHECK(session && other);
	/* Otherwise the sockets of root are not below this directory. */
	CHECK(!chmod(work, 0711));
	setenv("XDG_RUNTIME_DIR", work, 1);
	before = resources_now();
	CHECK(!runtime_make(session));
	CHECK(!strncmp(session->listener.directory, work, strlen(work)));
	CHECK(!strncmp(session->listener.path, session->listener.directory,
			strlen(session->listener.directory)));
	CHECK(!stat(session->listener.directory, &status));
	CHECK((status.st_mode & 07777) == (geteuid() == 0 ? 0711 : 0700));
	CHECK(session->listener.is_secret == (geteuid() == 0));
	/*
	 * A directory of another recorder that contains only a socket is removed. A locked
	 * directory, or one with a file, stays.
	 */
	snprintf(left, sizeof(left), "%.*sAbCdEf", (int)strlen(session->listener.directory) - 6,
			session->listener.directory);
	CHECK(!mkdir(left, 0700));
	snprintf(file, sizeof(file), "%s/%s", left, strrchr(session->listener.path, '/') + 1);
	CHECK(!mknod(file, S_IFSOCK | 0600, 0));
	CHECK(!runtime_make(other));
	CHECK(access(left, F_OK) != 0 && !access(session->listener.directory, F_OK));
	CHECK(strcmp(session->listener.directory, other->listener.directory) != 0);
	runtime_remove(other);
	CHECK(!mkdir(left, 0700));
	CHECK(!mknod(file, S_IFSOCK | 0600, 0));
	strcat(left, "/x");
	fd = open(left, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	CHECK(!runtime_make(other));
	CHECK(!access(file, F_OK) && !access(left, F_OK));
	unlink(left);
	/* A file with the name of the socket. */
	unlink(file);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	runtime_remove(other);
	CHECK(!runtime_make(other));
	CHECK(!access(file, F_OK));
	unlink(file);
	*strrchr(left, '/') = '\0';
	rmdir(left);
	runtime_remove(other);
	CHECK(!other->listener.directory[0] && !other->listener.path[0] &&
			other->listener.directory_fd == -1);
	runtime_remove(session);
	CHECK(!nr_entries(work));
	CHECK(resources_now().descriptors == before.descriptors);
	/*
	 * A relative path is not used, and neither is one that leaves no space for the name of the
	 * socket.
	 */
	CHECK(!chdir(work) && !mkdir("relative", 0711));
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	setenv("TMPDIR", work, 1);
	CHECK(!runtime_make(session));
	CHECK(!strncmp(session->listener.directory, work, strlen(work)));
	runtime_remove(session);
	rmdir("relative");
	/*
	 * If neither variable is set, /tmp is used. A failure to create the directory is reported.
	 */
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("TMPDIR");
	CHECK(!runtime_make(session));
	CHECK(!strncmp(session->listener.directory, "/tmp/", 5) &&
			!strchr(session->listener.directory + 5, '/'));
	runtime_remove(session);
	CHECK(access(session->listener.directory, F_OK) != 0);
	session_destroy(session);
	session_destroy(other);
}

/* ---- a disk that is full ---- */

static void check_message(
		const struct session *session, size_t at, bool is_error, const char *expected)
{
	CHECK(session->reports.nr_messages == at + 1);
	CHECK(session->reports.messages[at].is_error == is_error);
	if (!strstr(session->reports.messages[at].text, expected)) {
		fprintf(stderr, "%s instead of %s\n", session->reports.messages[at].text, expected);
		abort();
	}
}

static void test_full(void)
{
	struct session *session = session_allocate();

	CHECK(session);
	session->output.path = strdup("/out");
	CHECK(session->output.path);
	full_end(session);
	full_report(session);
	full_over(session);
	CHECK(!session->reports.nr_messages);
	session->full.last = false;
	/* After other errors, the recording does not wait. */
	CHECK(!full_holds(session, -EIO) && !full_waits(session));
	session->recovers = true;
	CHECK(!full_holds(session, -ENOSPC));
	session->recovers = false;
	CHECK(full_holds(session, -ENOSPC) && full_waits(session));
	check_message(session, 0, false,
			"the disk of /out is full (No space left on device): records stay in the rings, and are lost if the rings are full, too");
	/* The disk is still full: this counts as the same time. */
	CHECK(full_holds(session, -ENOSPC) && session->full.times == 1);
	full_over(session);
	CHECK(!full_waits(session) && !session->full.code);
	/* The second time is not reported before the end. */
	CHECK(full_holds(session, -EDQUOT) && session->full.times == 2 &&
			session->reports.nr_messages == 1);
	full_over(session);
	session->full.ns = 1200000000;
	full_end(session);
	check_message(session, 1, false, "the disk of /out was full 2 times, 1.2 s in all");
	CHECK(!full_holds(session, -ENOSPC));
	full_count(session, 0);
	CHECK(!session->full.streams);
	full_count(session, 1);
	full_report(session);
	check_message(session, 2, true, "1 record of 1 ring found no space");
	full_count(session, 2);
	full_report(session);
	check_message(session, 3, true, "3 records of 2 rings found no space");
	/* The disk is still full at the end. */
	session->full = (struct full){.code = 0};
	CHECK(full_holds(session, -ENOSPC));
	session->full.since -= 2000000000;
	full_end(session);
	CHECK(session->reports.nr_messages == 6);
	CHECK(session->reports.messages[5].is_error &&
			strstr(session->reports.messages[5].text,
					"the disk of /out is still full, after 2."));
	CHECK(!full_waits(session));
	session_destroy(session);
}

int main(void)
{
	CHECK(mkdtemp(work));
	alarm(50);
	test_access();
	test_commands();
	test_starts();
	test_refusals();
	test_survivors();
	test_full();
	test_runtime();
	rmdir(work);
	return 0;
}
