/* SPDX-License-Identifier: MIT */
/*
 * Rendezvous sockets: each call with its arguments, each call that fails, paths at their limits,
 * and what stays open.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "protocol/protocol.h"

/* ---- the calls of rendezvous.c ---- */

static const char *failing; /* the function that fails, or NULL */
static int failing_error;
static unsigned int failing_after; /* the first calls, this many, succeed */
static unsigned int is_other;      /* bit 0: the network has another device, bit 1: another inode */
static int options[3]; /* replace the real SO_DOMAIN, SO_TYPE, SO_ACCEPTCONN, if is_played */
static bool is_played;

static bool fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0 || failing_after--)
		return false;
	failing = NULL;
	errno = failing_error;
	return true;
}

static void arm(const char *name, unsigned int after, int error)
{
	failing = name;
	failing_after = after;
	failing_error = error;
}

static const char *name_of(int fd)
{
	static char path[128];
	char link[32];
	ssize_t size;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	path[size < 0 ? 0 : size] = '\0';
	path[strcspn(path, "[")] = '\0';
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

static long played_syscall(long number, int root, const char *directory, const struct open_how *how,
		size_t size)
{
	assert_int_equal(number, SYS_openat2);
	assert_int_equal(size, sizeof(*how));
	called("openat2(%s, %s, %d %d)\n", name_of(root), directory,
			how->flags == (O_PATH | O_DIRECTORY | O_CLOEXEC),
			how->resolve == (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS));
	return fails("openat2") ? -1 : syscall(number, root, directory, how, size);
}

static int played_open(const char *path, int flags)
{
	called("open(%s%s)\n", path,
			flags == (O_RDONLY | O_CLOEXEC)                               ? ""
					: flags == (O_PATH | O_DIRECTORY | O_CLOEXEC) ? ", path"
										      : ", ?");
	return fails("open") ? -1 : open(path, flags);
}

static int played_openat(int root, const char *path, int flags)
{
	called("openat(%s, %s, %d)\n", name_of(root), path,
			flags == (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	return fails("openat") ? -1 : openat(root, path, flags);
}

static int played_stat(const char *path, struct stat *status)
{
	called("stat(%s)\n", path);
	return fails("stat") ? -1 : stat(path, status);
}

static int played_fstat(int fd, struct stat *status)
{
	static bool is_second;

	if (fails("fstat"))
		return -1;
	if (fstat(fd, status))
		return -1;
	is_second = !is_second;
	status->st_dev += is_second && (is_other & 1);
	status->st_ino += is_second && (is_other & 2);
	return 0;
}

static int played_setns(int fd, int type)
{
	called("setns(%s, %d)\n", name_of(fd), type == CLONE_NEWNET);
	return fails("setns") ? -1 : 0;
}

static int played_socket(int domain, int type, int protocol)
{
	called("socket(%d)\n",
			domain == AF_UNIX && protocol == 0 &&
					type == (SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK));
	return fails("socket") ? -1 : socket(domain, type, protocol);
}

static int played_bind(int fd, const struct sockaddr *address, socklen_t size)
{
	called("bind\n");
	return fails("bind") ? -1 : bind(fd, address, size);
}

static int played_listen(int fd, int backlog)
{
	called("listen(%d)\n", backlog);
	return fails("listen") ? -1 : listen(fd, backlog);
}

static int played_renameat(int from, const char *name, int to, const char *other)
{
	called("renameat(%s, %s)\n", name, other);
	return fails("renameat") ? -1 : renameat(from, name, to, other);
}

static int played_unlinkat(int state_dir, const char *name, int flags)
{
	called("unlinkat(%s)\n", name);
	return unlinkat(state_dir, name, flags);
}

static int played_getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
	int which = option == SO_DOMAIN ? 0 : option == SO_TYPE ? 1 : 2;

	assert_int_equal(level, SOL_SOCKET);
	if (!is_played)
		return getsockopt(fd, level, option, value, size);
	memcpy(value, &options[which], sizeof(int));
	return fails("getsockopt") ? -1 : 0;
}

#define syscall(...) played_syscall(__VA_ARGS__)
#define open(path, flags) played_open(path, flags)
#define openat(root, path, flags) played_openat(root, path, flags)
#define stat(path, status) played_stat(path, status)
#define fstat(fd, status) played_fstat(fd, status)
#define setns(fd, type) played_setns(fd, type)
#define socket(domain, type, protocol) played_socket(domain, type, protocol)
#define bind(fd, address, size) played_bind(fd, address, size)
#define listen(fd, backlog) played_listen(fd, backlog)
#define renameat(from, name, to, other) played_renameat(from, name, to, other)
#define unlinkat(state_dir, name, flags) played_unlinkat(state_dir, name, flags)
#define getsockopt(fd, level, option, value, size) played_getsockopt(fd, level, option, value, size)
#include "sessions/rendezvous.c"
#undef syscall
#undef open
#undef openat
#undef stat
#undef fstat
#undef setns
#undef socket
#undef bind
#undef listen
#undef renameat
#undef unlinkat
#undef getsockopt

static char work[] = "/tmp/side-door-test-XXXXXX";
static int work_fd;
static unsigned int nr_open;

/* Descriptor 0 is free during an open, so that a check of `fd < 0` gets it. */
static int saved_input = -1;

static void free_input(void)
{
	saved_input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
	assert_true(saved_input >= 0);
	close(STDIN_FILENO);
	errno = EIO;
}

static void restore_input(void)
{
	assert_int_equal(dup2(saved_input, STDIN_FILENO), STDIN_FILENO);
	close(saved_input);
}

static int begin(void **unused)
{
	(void)unused;
	failing = NULL;
	is_other = 0;
	is_played = false;
	*calls = '\0';
	nr_open = resources_descriptors();
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	return resources_descriptors() == nr_open ? 0 : -1;
}

/* ---- roots and views ---- */

static void test_root(void **unused)
{
	char expected[64];

	(void)unused;
	free_input();
	assert_int_equal(rendezvous_open_root(getpid()), STDIN_FILENO);
	assert_int_equal(rendezvous_open_root(INT32_MAX), -ENOENT);
	restore_input();
	(void)snprintf(expected, sizeof(expected),
			"open(/proc/%d/root, path)\nopen(/proc/2147483647/root, path)\n", getpid());
	assert_called(expected);
}

static void test_view(void **unused)
{
	struct rendezvous_view view = {.device = 5};
	struct stat root, mounts, network;
	char expected[160];

	(void)unused;
	assert_int_equal(stat("/proc/self/root", &root), 0);
	assert_int_equal(stat("/proc/self/ns/mnt", &mounts), 0);
	assert_int_equal(stat("/proc/self/ns/net", &network), 0);
	assert_int_equal(rendezvous_inspect(getpid(), &view), 0);
	assert_true(view.device == root.st_dev && view.inode == root.st_ino &&
			view.mounts == mounts.st_ino && view.network == network.st_ino);
	(void)snprintf(expected, sizeof(expected),
			"stat(/proc/%d/root)\nstat(/proc/%d/ns/mnt)\nstat(/proc/%d/ns/net)\n",
			getpid(), getpid(), getpid());
	assert_called(expected);
	view.device = 5;
	for (unsigned int i = 0; i < 3; i++) {
		arm("stat", i, EACCES);
		assert_int_equal(rendezvous_inspect(getpid(), &view), -EACCES);
		assert_int_equal(view.device, 5);
		expected[0] = '\0';
		for (unsigned int j = 0; j <= i; j++)
			(void)snprintf(expected + strlen(expected),
					sizeof(expected) - strlen(expected), "stat(/proc/%d/%s)\n",
					getpid(),
					j == 0                   ? "root"
							: j == 1 ? "ns/mnt"
								 : "ns/net");
		assert_called(expected);
	}
}

/* ---- paths ---- */

static int agent_boot_directory_open_state_dir(const char *path)
{
	int fd = rendezvous_open_dir(work_fd, path);

	*calls = '\0';
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void test_places(void **unused)
{
	char path[300];

	(void)unused;
	assert_int_equal(mkdirat(work_fd, "side-door-a", 0700), 0);
	assert_int_equal(mkdirat(work_fd, "sub", 0700), 0);
	assert_int_equal(mkdirat(work_fd, "sub/side-door-b", 0700), 0);
	assert_int_equal(mkdirat(work_fd, "side-door-a/x", 0700), 0);
	assert_int_equal(agent_boot_directory_open_state_dir("/side-door-a/agents"), 0);
	assert_int_equal(agent_boot_directory_open_state_dir("/sub/side-door-b/agents"), 0);
	assert_int_equal(agent_boot_directory_open_state_dir("/side-door-/agents"), -ENOENT);
	assert_int_equal(agent_boot_directory_open_state_dir("side-door-a/agents"), -EINVAL);
	assert_int_equal(agent_boot_directory_open_state_dir("/agents"), -EINVAL);
	assert_int_equal(agent_boot_directory_open_state_dir("agents"), -EINVAL);
	assert_int_equal(agent_boot_directory_open_state_dir("/side-door-a/agent"), -EINVAL);
	assert_int_equal(agent_boot_directory_open_state_dir("/side-door-a/agentsx"), -EINVAL);
	assert_int_equal(agent_boot_directory_open_state_dir("/side-door-a/xagents"), -EINVAL);
	assert_int_equal(agent_boot_directory_open_state_dir("/side-doo-a/agents"), -EINVAL);
	assert_int_equal(agent_boot_directory_open_state_dir("/xside-door-a/agents"), -EINVAL);
	assert_int_equal(agent_boot_directory_open_state_dir("/side-door-a/x/agents"), -EINVAL);
	/* Nothing of a longer path remains in the next one. */
	{
		int longer = rendezvous_open_dir(work_fd, "/sub/side-door-b/agents"),
		    shorter = rendezvous_open_dir(work_fd, "/side-door-a/agents");

		assert_true(longer >= 0 && shorter >= 0);
		close(longer);
		close(shorter);
		*calls = '\0';
	}
	/* The directory has at most DOOR_PATH_SIZE - 1 bytes. */
	for (int size = RENDEZVOUS_PATH_SIZE - 1; size <= RENDEZVOUS_PATH_SIZE; size++) {
		(void)snprintf(path, sizeof(path), "/side-door-%0*d/agents", size - 11, 0);
		assert_int_equal(strlen(path), size + 7);
		assert_int_equal(agent_boot_directory_open_state_dir(path),
				size < RENDEZVOUS_PATH_SIZE ? -ENOENT : -EINVAL);
	}
}

static void test_below(void **unused)
{
	char expected[200];

	(void)unused;
	free_input();
	/* An earlier value of errno is not the error of this call. */
	errno = ENOSYS;
	assert_int_equal(rendezvous_open_below(work_fd, "/sub"), STDIN_FILENO);
	(void)snprintf(expected, sizeof(expected), "openat2(%s, /sub, 1 1)\n",
			strrchr(work, '/') + 1);
	restore_input();
	assert_called(expected);
	assert_int_equal(rendezvous_open_below(work_fd, "/none"), -ENOENT);
	*calls = '\0';
	/* Kernels before 5.6. */
	arm("openat2", 0, ENOSYS);
	free_input();
	assert_int_equal(rendezvous_open_below(work_fd, "/sub"), STDIN_FILENO);
	assert_string_equal(name_of(STDIN_FILENO), "sub");
	restore_input();
	(void)snprintf(expected, sizeof(expected), "openat2(%s, /sub, 1 1)\nopenat(%s, sub, 1)\n",
			strrchr(work, '/') + 1, strrchr(work, '/') + 1);
	assert_called(expected);
	arm("openat2", 0, ENOSYS);
	assert_int_equal(rendezvous_open_below(work_fd, "/none"), -ENOENT);
	*calls = '\0';
}

/* ---- sockets in directories ---- */

static void check_listener(int fd)
{
	mode_t mask = umask(0027);

	(void)umask(mask);
	assert_int_equal(mask, 0027);
	assert_true(fd >= 0 && rendezvous_is_listener(fd));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static bool is_there(const char *name)
{
	return !faccessat(work_fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

#define FIRST "unlinkat(agents~)\nsocket(1)\n"
#define LAST "unlinkat(agents~)\n"

static void test_listen_in(void **unused)
{
	static const struct {
		const char *name;
		const char *calls;
	} failures[] = {
			{"socket", FIRST},
			{"bind", FIRST "bind\n"},
			{"listen", FIRST "bind\nlisten(1024)\n" LAST},
			{"renameat", FIRST "bind\nlisten(1024)\nrenameat(agents~, agents)\n" LAST},
	};
	mode_t mask = umask(0027);
	struct stat status;
	int fd;

	(void)unused;
	/* A file of an earlier attempt. */
	fd = openat(work_fd, "agents~", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	free_input();
	fd = rendezvous_listen_in(work_fd);
	assert_int_equal(fd, STDIN_FILENO);
	check_listener(fd);
	restore_input();
	assert_called(FIRST "bind\nlisten(1024)\nrenameat(agents~, agents)\n");
	assert_int_equal(fstatat(work_fd, "agents", &status, 0), 0);
	assert_int_equal(status.st_mode, S_IFSOCK | 0666);
	assert_false(is_there("agents~"));
	/* It replaces a socket to which no process listens. */
	fd = rendezvous_listen_in(work_fd);
	check_listener(fd);
	close(fd);
	*calls = '\0';
	assert_int_equal(unlinkat(work_fd, "agents", 0), 0);
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		arm(failures[i].name, 0, ENOBUFS);
		assert_int_equal(rendezvous_listen_in(work_fd), -ENOBUFS);
		assert_called(failures[i].calls);
		assert_false(is_there("agents~") || is_there("agents"));
		assert_int_equal(resources_descriptors(), nr_open);
		assert_int_equal(umask(0027), 0027);
	}
	(void)umask(mask);
}

/* ---- sockets with a name only ---- */

static int listen_nowhere(const char *path)
{
	int fd = rendezvous_listen_abstract(getpid(), path);

	*calls = '\0';
	return fd;
}

static void test_listen_nowhere(void **unused)
{
	static const char *const wrong[] = {
			"", "x", "side-door-x", "@", "@side-door", "@xside-door-", "/side-door-x"};
	struct sockaddr_un address;
	socklen_t size = sizeof(address);
	mode_t mask = umask(0027);
	char path[200];
	int fd;

	(void)unused;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(listen_nowhere(wrong[i]), -EINVAL);
	(void)snprintf(path, sizeof(path), "@side-door-%d-", getpid());
	memset(path + strlen(path), 'x', sizeof(path) - strlen(path));
	path[sizeof(address.sun_path)] = '\0';
	assert_int_equal(listen_nowhere(path), -EINVAL);
	path[sizeof(address.sun_path) - 1] = '\0';
	free_input();
	fd = rendezvous_listen_abstract(getpid(), path);
	/* The network has descriptor 0 in the meantime. */
	assert_true(fd > STDIN_FILENO);
	check_listener(fd);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(size, offsetof(struct sockaddr_un, sun_path) + strlen(path));
	assert_int_equal(address.sun_path[0], 0);
	assert_memory_equal(address.sun_path + 1, path + 1, strlen(path) - 1);
	close(fd);
	(void)snprintf(path, sizeof(path),
			"open(/proc/%d/ns/net)\nopen(/proc/thread-self/ns/net)\nsocket(1)\nbind\nlisten(1024)\n",
			getpid());
	assert_called(path);
	(void)snprintf(path, sizeof(path), "@side-door-%d", getpid());
	assert_int_equal(rendezvous_open_network(getpid()), STDIN_FILENO);
	restore_input();
	*calls = '\0';
	arm("open", 0, EACCES);
	assert_int_equal(listen_nowhere(path), -EACCES);
	assert_int_equal(rendezvous_listen_abstract(INT32_MAX, path), -ENOENT);
	assert_called("open(/proc/2147483647/ns/net)\n");
	arm("open", 1, EACCES);
	assert_int_equal(listen_nowhere(path), -EPERM);
	arm("listen", 0, ENOBUFS);
	assert_int_equal(listen_nowhere(path), -ENOBUFS);
	arm("socket", 0, EMFILE);
	assert_int_equal(listen_nowhere(path), -EMFILE);
	arm("bind", 0, ENOMEM);
	assert_int_equal(listen_nowhere(path), -ENOMEM);
	assert_int_equal(umask(mask), 0027);
}

/* The socket can have descriptor 0. */
static void test_listen_at_name(void **unused)
{
	struct rendezvous_address name = {.address.sun_family = AF_UNIX};

	(void)unused;
	(void)snprintf(name.address.sun_path, sizeof(name.address.sun_path), "@side-door-0-%d",
			getpid());
	name.size = wire_socket_name(&name.address);
	free_input();
	assert_int_equal(listen_at_name(&name), STDIN_FILENO);
	assert_true(rendezvous_is_listener(STDIN_FILENO));
	restore_input();
	assert_called("socket(1)\nbind\nlisten(1024)\n");
}

/* ---- other networks ---- */

static int make(void *user)
{
	called("make(%s)\n", (const char *)user);
	return 47;
}

static int in_network(int network)
{
	char user[] = "user";
	int result = 5, ret = rendezvous_in_network(network, make, user, &result);

	assert_int_equal(result, ret ? 5 : 47);
	assert_int_equal(resources_descriptors(), nr_open + 1);
	return ret;
}

#define OWN "open(/proc/thread-self/ns/net)\n"

static void test_networks(void **unused)
{
	int network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	(void)unused;
	assert_true(network > 0);
	assert_int_equal(in_network(network), 0);
	assert_called(OWN "make(user)\n");
	for (is_other = 1; is_other < 4; is_other++) {
		assert_int_equal(in_network(network), 0);
		assert_called(OWN "setns(net:, 1)\nmake(user)\nsetns(net:, 1)\n");
		arm("setns", 0, EINVAL);
		assert_int_equal(in_network(network), -EPERM);
		assert_called(OWN "setns(net:, 1)\n");
	}
	is_other = 3;
	for (unsigned int i = 0; i < 2; i++) {
		arm("fstat", i, EIO);
		assert_int_equal(in_network(network), -EPERM);
		assert_called(OWN);
		/* The next two are a pair again. */
		if (i)
			(void)played_fstat(network, &(struct stat){.st_dev = 0});
	}
	arm("open", 0, EMFILE);
	assert_int_equal(in_network(network), -EPERM);
	assert_called(OWN);
	/* The network of this process has descriptor 0. */
	saved_input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 100);
	close(STDIN_FILENO);
	assert_int_equal(in_network(network), 0);
	assert_called(OWN "setns(net:, 1)\nmake(user)\nsetns(net:, 1)\n");
	restore_input();
	close(network);
}

/* ---- descriptors of other processes ---- */

static void test_listeners(void **unused)
{
	static const int wrong[][3] = {{AF_INET, SOCK_SEQPACKET, 1}, {AF_UNIX, SOCK_STREAM, 1},
			{AF_UNIX, SOCK_SEQPACKET, 0}, {AF_UNIX, SOCK_SEQPACKET, 2}};
	int ends[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	assert_false(rendezvous_is_listener(ends[0]));
	close(ends[0]);
	close(ends[1]);
	assert_false(rendezvous_is_listener(-1));
	assert_false(rendezvous_is_listener(work_fd));
	is_played = true;
	for (size_t i = 0; i < 4; i++) {
		memcpy(options, wrong[i], sizeof(options));
		assert_false(rendezvous_is_listener(work_fd));
	}
	options[2] = 1;
	assert_true(rendezvous_is_listener(work_fd));
	for (unsigned int i = 0; i < 3; i++) {
		arm("getsockopt", i, ENOPROTOOPT);
		assert_false(rendezvous_is_listener(work_fd));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
			TEST(test_root),
			TEST(test_view),
			TEST(test_places),
			TEST(test_below),
			TEST(test_listen_in),
			TEST(test_listen_nowhere),
			TEST(test_listen_at_name),
			TEST(test_networks),
			TEST(test_listeners),
	};
	static const char *const directories[] = {
			"side-door-a/x", "side-door-a", "sub/side-door-b", "sub"};
	int failed;

	alarm(50);
	if (!mkdtemp(work))
		return 1;
	work_fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (work_fd < 0)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		(void)unlinkat(work_fd, directories[i], AT_REMOVEDIR);
	close(work_fd);
	(void)rmdir(work);
	return failed;
}
