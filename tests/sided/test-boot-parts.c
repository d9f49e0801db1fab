/* SPDX-License-Identifier: MIT */
/*
 * Sessions of a static configuration, and the privileges that each process of the daemon drops. The
 * test includes boot.c and isolate.c, and plays sessions, system calls and rules.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "programs/sided/sided.h"
#include "sessions/boot.h"
#include "isolate/isolate.h"

static char work[] = "/tmp/side-boot-XXXXXX";
static char place_of_test[64], session_place[80];
static struct daemon daemon_of_test;
static const char *failing; /* the call that fails, or NULL */
static struct session_entry *known;
static struct session_entry entry_of_test;

static bool fails(const char *name, int error)
{
	if (!failing || strcmp(failing, name) != 0)
		return false;
	errno = error;
	return true;
}

/* ---- Neighbours ---- */

void log_message(const char *format, ...)
{
	char text[600];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	called("say(%s)\n", text);
}

struct session_entry *session_find(struct daemon *daemon, const char *name)
{
	assert_ptr_equal(daemon, &daemon_of_test);
	called("find(%s)\n", name);
	return known;
}

int session_add(struct daemon *daemon, struct definition *definition, struct session_entry **entry,
		struct error *error)
{
	assert_ptr_equal(daemon, &daemon_of_test);
	if (fails("add", 0))
		return error_set_kind(error, ERROR_BUSY, -EBUSY, "wait", "too many sessions");
	if (fails("no entry", 0)) {
		*entry = NULL;
		return 0;
	}
	called("add(%s)\n", definition->name);
	entry_of_test = (struct session_entry){.definition = definition};
	*entry = &entry_of_test;
	return 0;
}

void session_remove(struct daemon *daemon, struct session_entry *entry)
{
	assert_ptr_equal(daemon, &daemon_of_test);
	called("remove(%d,%d,%s)\n", entry->boot, entry->state,
			entry->state_dir ? entry->state_dir : "none");
	definition_free(entry->definition);
}

int session_settle(struct daemon *daemon, struct session_entry *entry, struct error *error)
{
	assert_ptr_equal(daemon, &daemon_of_test);
	assert_string_equal(entry->state_dir, session_place);
	called("settle(%d,%d)\n", entry->boot, entry->state);
	return fails("settle", 0) ? error_set_kind(error, ERROR_FAILED, -EACCES, NULL, "no output")
				  : 0;
}

void session_save(struct daemon *daemon, struct session_entry *entry)
{
	assert_ptr_equal(daemon, &daemon_of_test);
	called("save(%d,%d,%d)\n", entry->boot, entry->state == SESSION_LIVE, entry->active);
}

void worker_start(struct daemon *daemon, struct session_entry *entry)
{
	assert_ptr_equal(daemon, &daemon_of_test);
	called("start(%d)\n", entry->active);
}

static const char *variable;
static bool has_system_file;

/* Other variables are not played: a file that tests/mutate has changed reads a variable itself. */
static char *played_getenv(const char *name)
{
	return strcmp(name, "SIDE_BOOT") ? getenv(name) : (char *)(uintptr_t)variable;
}

static int played_access(const char *path, int mode)
{
	assert_int_equal(mode, F_OK);
	if (!strcmp(path, "/etc/side/boot.conf"))
		return has_system_file ? 0 : -1;
	return access(path, mode);
}

static char *played_strdup(const char *text)
{
	return failing && !strcmp(failing, "strdup") ? NULL : strdup(text);
}

static int played_chmod(const char *path, mode_t mode)
{
	called("chmod(%s,%o)\n", path + strlen(work), (unsigned int)mode);
	return fails("chmod", EROFS) ? -1 : chmod(path, mode);
}

static int played_mkdir(const char *path, mode_t mode)
{
	if (failing && !strcmp(failing, "mkdir place") && !strcmp(path, session_place)) {
		errno = ENOSPC;
		return -1;
	}
	return mkdir(path, mode);
}

#define getenv(name) played_getenv(name)
#define access(path, mode) played_access(path, mode)
#define strdup(text) played_strdup(text)
#define chmod(path, mode) played_chmod(path, mode)
#define mkdir(path, mode) played_mkdir(path, mode)
#include "programs/sided/boot.c"
#undef getenv
#undef access
#undef strdup
#undef chmod
#undef mkdir

/* ---- System calls of isolate.c ---- */

static uid_t effective_user;
static uint64_t dropped;            /* from the bounding set */
static uint32_t capabilities[2][3]; /* effective, permitted and inheritable */
static uid_t files_user;
static gid_t files_group;
static bool loads_rules = true;

static int played_prctl(int option, unsigned long argument, unsigned long third)
{
	assert_int_equal(third, 0);
	if (option == PR_CAPBSET_DROP) {
		assert_true(argument < 64);
		dropped |= 1ull << argument;
	} else if (option == PR_CAP_AMBIENT) {
		assert_int_equal(argument, PR_CAP_AMBIENT_CLEAR_ALL);
		called("ambient\n");
	} else {
		called(option == PR_SET_NO_NEW_PRIVS                         ? "no_new_privs(%lu)\n"
						: option == PR_SET_PDEATHSIG ? "death(%lu)\n"
									     : "other(%lu)\n",
				argument);
	}
	return 0;
}

#define prctl_of(option, argument, third, ...) played_prctl(option, argument, third)

static long played_capabilities(long number, const struct __user_cap_header_struct *header,
		struct __user_cap_data_struct *data)
{
	assert_true(header->version == _LINUX_CAPABILITY_VERSION_3 && !header->pid);
	if (number == SYS_capget && fails("capget", EINVAL))
		return -1;
	for (int i = 0; i < 2; i++) {
		if (number == SYS_capget) {
			data[i].effective = capabilities[i][0];
			data[i].permitted = capabilities[i][1];
			data[i].inheritable = capabilities[i][2];
		} else {
			assert_int_equal(number, SYS_capset);
			capabilities[i][0] = data[i].effective;
			capabilities[i][1] = data[i].permitted;
			capabilities[i][2] = data[i].inheritable;
		}
	}
	if (number == SYS_capset)
		called("capset\n");
	return 0;
}

static int played_groups(size_t nr, const gid_t *list)
{
	assert_true(!nr && !list);
	called("groups\n");
	return fails("groups", EPERM) ? -1 : 0;
}

static int played_fsuid(uid_t uid)
{
	int former = (int)files_user;

	if (uid != (uid_t)-1) {
		called("fsuid(%u)\n", uid);
		if (!fails("fsuid", 0))
			files_user = uid;
	}
	return former;
}

static int played_fsgid(gid_t gid)
{
	int former = (int)files_group;

	if (gid != (gid_t)-1) {
		called("fsgid(%u)\n", gid);
		if (!fails("fsgid", 0))
			files_group = gid;
	}
	return former;
}

static int played_ids(
		const char *name, unsigned int real, unsigned int effective, unsigned int saved)
{
	assert_true(real == effective && real == saved);
	called("%s(%u)\n", name, real);
	return fails(name, EAGAIN) ? -1 : 0;
}

static int played_create(pthread_t *thread, void *(*function)(void *), void *argument)
{
	if (fails("create", 0))
		return EAGAIN;
	*thread = pthread_self();
	function(argument);
	return 0;
}

static int played_files(const char *const *writable)
{
	called("files(%s)\n", writable[0]);
	return fails("files", 0) ? -ENOENT : 0;
}

#define prctl(option, ...) prctl_of(option, __VA_ARGS__, 0, 0)
#define syscall(number, header, data) played_capabilities(number, header, data)
#define geteuid() effective_user
#define setgroups(nr, list) played_groups(nr, list)
#define setfsuid(uid) played_fsuid(uid)
#define setfsgid(gid) played_fsgid(gid)
#define setresgid(real, effective, saved) played_ids("setresgid", real, effective, saved)
#define setresuid(real, effective, saved) played_ids("setresuid", real, effective, saved)
#define pthread_create(thread, attributes, function, argument) \
	played_create(thread, function, argument)
#define pthread_join(thread, result) (fails("join", 0) ? EINVAL : ((void)(thread), 0))
#define isolate_files(writable) played_files(writable)
#define isolate_rules_begin(rules) ((void)(rules), called("rules"))
#define isolate_rules_calls(rules, list, error)                                                   \
	((void)(rules),                                                                           \
			called(&(list)[0] == &isolate_refused[0] ? " refused(%d)" : " other(%d)", \
					error))
#define isolate_rules_threads_only(rules) ((void)(rules), called(" threads"))
#define isolate_rules_argument(rules, call, index, mask, value, error)                       \
	((void)(rules),                                                                      \
			called(" %s(%d&%x=%d:%d)", call, (int)(index), (unsigned int)(mask), \
					(int)(value), (int)(error)))
#define isolate_rules_call(rules, call, error) ((void)(rules), called(" %s(%d)", call, error))
#define isolate_rules_load(rules, flags) \
	((void)(rules), called(" load(%d)\n", (int)(flags)), loads_rules)
#include "programs/sided/isolate.c"

/* ---- Sessions of a static configuration ---- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static int begin(void **state)
{
	(void)state;
	(void)nftw(work, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(mkdir(work, 0700), 0);
	(void)snprintf(place_of_test, sizeof(place_of_test), "%s/a/b", work);
	(void)snprintf(session_place, sizeof(session_place), "%s/one", place_of_test);
	failing = NULL;
	known = NULL;
	variable = NULL;
	has_system_file = false;
	daemon_of_test = (struct daemon){.system = false};
	*calls = '\0';
	return 0;
}

static const char *config_path(void)
{
	static char path[64];

	(void)snprintf(path, sizeof(path), "%s/boot.conf", work);
	return path;
}

static void write_config(const char *remainder)
{
	FILE *file = fopen(config_path(), "we");

	assert_non_null(file);
	(void)fprintf(file, "place %s\n%s", place_of_test, remainder);
	(void)fclose(file);
}

static unsigned int mode_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 07777;
}

#define ADDED \
	"find(one)\nchmod(/a,755)\nchmod(/a/b,755)\nadd(one)\nsettle(1,0)\nsave(1,1,1)\nstart(1)\n"

static void drop_entry(void)
{
	definition_free(entry_of_test.definition);
	free(entry_of_test.state_dir);
	entry_of_test = (struct session_entry){.state_dir = NULL};
}

static void test_adopt(void **state)
{
	unsigned int before = resources_descriptors();
	mode_t mask = umask(077);
	char above[80];

	(void)state;
	write_config("session one\nevent *\n");
	boot_adopt(&daemon_of_test, config_path());
	assert_called(ADDED);
	assert_true(entry_of_test.boot && entry_of_test.state == SESSION_LIVE &&
			entry_of_test.active);
	assert_string_equal(entry_of_test.state_dir, session_place);
	assert_int_equal(mode_of(place_of_test), 0755);
	assert_int_equal(mode_of(session_place), 0700);
	(void)snprintf(above, sizeof(above), "%s/a", work);
	assert_int_equal(mode_of(above), 0755);
	drop_entry();
	/* Directories that exist keep their permissions. */
	assert_int_equal(chmod(above, 0711), 0);
	boot_adopt(&daemon_of_test, config_path());
	assert_called("find(one)\nadd(one)\nsettle(1,0)\nsave(1,1,1)\nstart(1)\n");
	assert_int_equal(mode_of(above), 0711);
	drop_entry();
	/* The configuration file from the environment, and that of the system. */
	variable = config_path();
	boot_adopt(&daemon_of_test, NULL);
	assert_called("find(one)\nadd(one)\nsettle(1,0)\nsave(1,1,1)\nstart(1)\n");
	drop_entry();
	variable = NULL;
	boot_adopt(&daemon_of_test, NULL);
	has_system_file = true;
	boot_adopt(&daemon_of_test, NULL);
	has_system_file = false;
	daemon_of_test.system = true;
	boot_adopt(&daemon_of_test, NULL);
	assert_called("");
	boot_adopt(&daemon_of_test, "/none/at/all");
	assert_called("say(cannot read the configuration /none/at/all: No such file or directory; name the file with --boot, or in SIDE_BOOT)\n");
	umask(mask);
	assert_int_equal(resources_descriptors(), before);
}

static void check_failure(const char *call, const char *expected)
{
	failing = call;
	boot_adopt(&daemon_of_test, config_path());
	assert_called(expected);
}

static void test_refused(void **state)
{
	struct session_entry other = {.boot = true, .uid = 77};
	char expected[400];
	int fd;

	(void)state;
	write_config("session one\nevent *\n");
	known = &other;
	boot_adopt(&daemon_of_test, config_path());
	assert_called("find(one)\n");
	other.boot = false;
	boot_adopt(&daemon_of_test, config_path());
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nsay(the session one of %s is not adopted: user 77 has created a session of this name; `side destroy one` removes it, and the next start of the daemon adopts this one)\n",
			config_path());
	assert_called(expected);
	known = NULL;
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nchmod(/a,755)\nsay(the session one of %s cannot be adopted: cannot create the state directory %s: Read-only file system)\n",
			config_path(), session_place);
	check_failure("chmod", expected);
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nchmod(/a/b,755)\nsay(the session one of %s cannot be adopted: cannot create the state directory %s: No space left on device)\n",
			config_path(), session_place);
	check_failure("mkdir place", expected);
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nsay(the session one of %s cannot be adopted: too many sessions; wait)\n",
			config_path());
	check_failure("add", expected);
	check_failure("no entry", "find(one)\n");
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nadd(one)\nsettle(1,0)\nremove(0,0,none)\nsay(the session one of %s cannot be adopted: no output)\n",
			config_path());
	check_failure("settle", expected);
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nadd(one)\nremove(0,0,none)\nsay(the session one of %s cannot be adopted: out of memory)\n",
			config_path());
	check_failure("strdup", expected);
	failing = NULL;
	/* The session was destroyed. */
	entry_of_test = (struct session_entry){.boot = true, .state_dir = session_place};
	boot_end(&entry_of_test);
	assert_called("");
	boot_adopt(&daemon_of_test, config_path());
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nsay(the session one of %s was destroyed: it starts again when %s/over is removed)\n",
			config_path(), session_place);
	assert_called(expected);
	/* A file has the path of the directory. */
	(void)nftw(place_of_test, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	fd = open(place_of_test, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	boot_adopt(&daemon_of_test, config_path());
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nsay(the session one of %s cannot be adopted: cannot create the state directory %s: Not a directory)\n",
			config_path(), session_place);
	assert_called(expected);
	/* A parent directory that cannot be created: /proc has no mkdir(). */
	strcpy(place_of_test, "/proc/side-none");
	strcpy(session_place, "/proc/side-none/one");
	write_config("session one\nevent *\n");
	boot_adopt(&daemon_of_test, config_path());
	(void)snprintf(expected, sizeof(expected),
			"find(one)\nsay(the session one of %s cannot be adopted: cannot create the state directory /proc/side-none/one: No such file or directory)\n",
			config_path());
	assert_called(expected);
}

static void test_end(void **state)
{
	unsigned int before = resources_descriptors();
	struct session_entry entry = {.boot = true, .state_dir = session_place};
	struct stat status;
	char over[96], expected[400];

	(void)state;
	(void)snprintf(over, sizeof(over), "%s/over", session_place);
	/* Without the parent directories, nothing is created. */
	boot_end(&entry);
	assert_called("");
	(void)snprintf(over, sizeof(over), "%s/a", work);
	assert_int_equal(mkdir(over, 0700), 0);
	assert_int_equal(mkdir(place_of_test, 0700), 0);
	(void)snprintf(over, sizeof(over), "%s/over", session_place);
	entry.boot = false;
	boot_end(&entry);
	entry = (struct session_entry){.boot = true};
	boot_end(&entry);
	assert_true(access(session_place, F_OK) && errno == ENOENT);
	entry.state_dir = session_place;
	for (int i = 0; i < 2; i++) {
		boot_end(&entry);
		assert_int_equal(stat(over, &status), 0);
		assert_true(S_ISREG(status.st_mode) && (status.st_mode & 07777) == 0600 &&
				!status.st_size);
		assert_int_equal(mode_of(session_place), 0700);
		assert_called("");
	}
	/* A file of that name from another user. */
	assert_int_equal(unlink(over), 0);
	assert_int_equal(symlink("elsewhere", over), 0);
	boot_end(&entry);
	(void)snprintf(expected, sizeof(expected),
			"say(programs that start from now on record in %s again: cannot make %s: Too many levels of symbolic links)\n",
			session_place, over);
	assert_called(expected);
	assert_int_equal(resources_descriptors(), before);
}

/* ---- Dropped privileges ---- */

#define ALL ((1ull << (CAP_LAST_CAP + 1)) - 1)

static void begin_capabilities(void)
{
	dropped = 0;
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++)
			capabilities[i][k] = UINT32_MAX;
}

/* Checks that exactly these capabilities are left. */
static void assert_kept(uint64_t kept)
{
	assert_int_equal(dropped, ALL & ~kept);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 3; k++)
			assert_int_equal(capabilities[i][k], (uint32_t)(kept >> (32 * i)));
	begin_capabilities();
}

#define KEEP(name) (1ull << CAP_##name)
#define DAEMON                                                                        \
	(KEEP(KILL) | KEEP(SYS_PTRACE) | KEEP(DAC_READ_SEARCH) | KEEP(DAC_OVERRIDE) | \
			KEEP(SYS_RESOURCE) | KEEP(CHECKPOINT_RESTORE))
#define SESSION (KEEP(SYS_PTRACE) | KEEP(DAC_READ_SEARCH) | KEEP(SYS_RESOURCE) | KEEP(IPC_LOCK))
#define OWNED (KEEP(DAC_OVERRIDE) | KEEP(CHOWN) | KEEP(SETUID) | KEEP(SETGID))

static void test_daemon(void **state)
{
	(void)state;
	begin_capabilities();
	isolate_daemon(&daemon_of_test);
	assert_kept(DAEMON);
	assert_called("ambient\ncapset\nno_new_privs(1)\n");
	daemon_of_test.system = true;
	isolate_daemon(&daemon_of_test);
	assert_kept(DAEMON | KEEP(CHOWN) | KEEP(SETUID) | KEEP(SETGID));
	daemon_of_test.uid = 1;
	isolate_daemon(&daemon_of_test);
	assert_kept(0);
	/* No capability is added. */
	daemon_of_test = (struct daemon){.uid = 0};
	capabilities[0][0] = 1 << CAP_KILL;
	capabilities[1][1] = 0;
	*calls = '\0';
	isolate_daemon(&daemon_of_test);
	assert_int_equal(capabilities[0][0], 1 << CAP_KILL);
	assert_int_equal(capabilities[1][1], 0);
	assert_called("ambient\ncapset\nno_new_privs(1)\n");
	failing = "capget";
	isolate_daemon(&daemon_of_test);
	assert_called("ambient\nno_new_privs(1)\n");
}

#ifdef HAVE_SECCOMP
#define RULES(owned)                                                                       \
	"rules refused(1) threads" owned " setfsuid(1) connect(1) socket(0&ffffffff=1:0) " \
	"socket(1) load(0)\n"
#else
#define RULES(owned) ""
#endif
#define KEPT "ambient\ncapset\nno_new_privs(1)\n"

static void test_session(void **state)
{
	static const char *const paths[] = {"/one", NULL};
	static const struct session_owner owner = {7, 8};

	(void)state;
	begin_capabilities();
	effective_user = 0;
	assert_int_equal(isolate_session(paths, false, NULL), 0);
	assert_kept(SESSION);
	assert_called(KEPT "files(/one)\n" RULES(""));
	assert_int_equal(isolate_session(NULL, true, NULL), 0);
	assert_kept(SESSION | KEEP(CHECKPOINT_RESTORE));
	assert_called(KEPT RULES(""));
	failing = "files";
	assert_int_equal(isolate_session(paths, false, &owner), -ENOENT);
	assert_kept(SESSION | OWNED);
	assert_called(KEPT "files(/one)\n");
	effective_user = 5;
	assert_int_equal(isolate_session(NULL, true, &owner), 0);
	assert_kept(0);
	assert_called(KEPT);
#ifdef HAVE_SECCOMP
	loads_rules = false;
	assert_int_equal(isolate_session(NULL, true, NULL), 0);
	assert_called(KEPT RULES(
			"") "say(cannot install a filter of system calls in the session's process)\n");
	loads_rules = true;
#endif
}

static void test_as_owner(void **state)
{
	static const struct session_owner owner = {7, 8};

	(void)state;
	begin_capabilities();
	files_user = files_group = 0;
	assert_int_equal(isolate_as(&owner), 0);
	assert_kept(KEEP(SYS_PTRACE) | KEEP(IPC_LOCK));
	assert_called("groups\nfsgid(8)\nfsuid(7)\nambient\ncapset\ndeath(9)\n" RULES(
			" setfsuid(0&ffffffff=0:0)"));
	assert_true(files_user == 7 && files_group == 8);
	failing = "groups";
	assert_int_equal(isolate_as(&owner), -EPERM);
	assert_called("groups\n");
	files_user = files_group = 0;
	failing = "fsuid";
	assert_int_equal(isolate_as(&owner), -EPERM);
	assert_called("groups\nfsgid(8)\nfsuid(7)\n");
	files_user = files_group = 0;
	failing = "fsgid";
	assert_int_equal(isolate_as(&owner), -EPERM);
	assert_called("groups\nfsgid(8)\nfsuid(7)\n");
}

static void *called_as_root(void *argument)
{
	called("function(%u,%d)\n", files_user, *(int *)argument);
	return NULL;
}

static void test_as_root(void **state)
{
	int argument = 41;

	(void)state;
	files_user = 7;
	assert_true(isolate_as_root(called_as_root, &argument));
	assert_called("fsuid(0)\nfunction(0,41)\n");
	failing = "create";
	assert_false(isolate_as_root(called_as_root, &argument));
	assert_called("");
	failing = "join";
	assert_false(isolate_as_root(called_as_root, &argument));
	*calls = '\0';
}

static void test_sender(void **state)
{
	static const struct session_owner owner = {7, 8};

	(void)state;
	begin_capabilities();
	assert_int_equal(isolate_sender(NULL), 0);
	assert_kept(0);
	assert_called("death(9)\nambient\ncapset\nno_new_privs(1)\n");
	assert_int_equal(isolate_sender(&owner), 0);
	assert_kept(0);
	assert_called("groups\nsetresgid(8)\nsetresuid(7)\ndeath(9)\nambient\ncapset\nno_new_privs(1)\n");
	failing = "groups";
	assert_int_equal(isolate_sender(&owner), -EPERM);
	assert_called("groups\n");
	failing = "setresgid";
	assert_int_equal(isolate_sender(&owner), -EAGAIN);
	assert_called("groups\nsetresgid(8)\n");
	failing = "setresuid";
	assert_int_equal(isolate_sender(&owner), -EAGAIN);
	assert_called("groups\nsetresgid(8)\nsetresuid(7)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup(test_adopt, begin),
			cmocka_unit_test_setup(test_refused, begin),
			cmocka_unit_test_setup(test_end, begin),
			cmocka_unit_test_setup(test_daemon, begin),
			cmocka_unit_test_setup(test_session, begin),
			cmocka_unit_test_setup(test_as_owner, begin),
			cmocka_unit_test_setup(test_as_root, begin),
			cmocka_unit_test_setup(test_sender, begin),
	};
	int ret;

	if (!mkdtemp(work))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)nftw(work, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return ret;
}
