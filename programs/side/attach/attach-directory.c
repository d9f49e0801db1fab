/* SPDX-License-Identifier: MIT */
/*
 * Directories for sockets that a program under attachment can reach: they are in the program's root
 * directory, which may differ from ours.
 */
#include "attach.h"
#include "programs/common/command.h"
#include "programs/common/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ATTACH_PREFIX "side-attach-"
#define DIRECTORY_MAX 40 /* keeps the path of a socket short enough */
/* How long an unused rendezvous socket waits for its daemon to be restarted. */
#define RENDEZVOUS_TIMEOUT_S 86400
/*
 * How long a directory without a socket and without a lock is kept: its `side attach` may be
 * between two steps.
 */
#define ATTACH_WAITS_S 60

/* Never follows a symbolic link: another user may replace our directory by one. */
static int attach_dir_open_private(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/*
 * True if a killed `side attach` left this directory: its socket refuses connections, or it has no
 * socket, no lock and is old. A directory in use is locked, unless it is for a rendezvous socket,
 * which outlives the process that made it.
 */
static bool attach_dir_is_abandoned(int directory, bool is_rendezvous)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat status;
	bool abandoned, is_old;
	int fd;

	if (fstat(directory, &status) || status.st_uid != geteuid())
		return false;
	is_old = time(NULL) - status.st_mtime >=
			(is_rendezvous ? RENDEZVOUS_TIMEOUT_S : ATTACH_WAITS_S);
	if ((is_rendezvous && !is_old) || flock(directory, LOCK_EX | LOCK_NB))
		return false;
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
			"/proc/self/fd/%d/" RENDEZVOUS_SOCKET, directory);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	abandoned = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
			(errno == ECONNREFUSED || (errno == ENOENT && is_old));
	if (fd >= 0)
		close(fd);
	return abandoned;
}

static void attach_dir_remove_if_abandoned(int dir, const char *name)
{
	bool is_rendezvous = !strncmp(name, RENDEZVOUS_PREFIX, strlen(RENDEZVOUS_PREFIX));
	int directory = is_rendezvous || !strncmp(name, ATTACH_PREFIX, strlen(ATTACH_PREFIX))
			? attach_dir_open_private(dir, name)
			: -1;

	if (directory < 0)
		return;
	if (attach_dir_is_abandoned(directory, is_rendezvous)) {
		(void)unlinkat(directory, RENDEZVOUS_SOCKET, 0);
		(void)unlinkat(dir, name, AT_REMOVEDIR);
	}
	close(directory);
}

static void attach_dir_remove_abandoned(int dir)
{
	struct dirent *entry;
	DIR *directory;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		attach_dir_remove_if_abandoned(dir, entry->d_name);
	if (directory)
		closedir(directory);
}

/*
 * Only the owner can write to the directory or list it. Another process finds the socket only if it
 * knows the name; the program may belong to another user.
 */
static int attach_dir_create_private(int parent, const char *prefix, char name[64])
{
	char path[96];
	struct stat status;
	int own;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%sXXXXXX", parent, prefix);
	if (!mkdtemp(path))
		return -1;
	(void)snprintf(name, 64, "%s", strrchr(path, '/') + 1);
	own = attach_dir_open_private(parent, name);
	if (own >= 0 && !fstat(own, &status) && status.st_uid == geteuid() && !fchmod(own, 0711)) {
		/*
		 * The lock shows that the directory is in use. It can only fail while another
		 * process examines the new directory: attach_dir_is_abandoned().
		 */
		(void)flock(own, LOCK_SH | LOCK_NB);
		return own;
	}
	if (own >= 0)
		close(own);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
	return -1;
}

static bool attach_dir_create(
		struct attach_dir *dir, int root, const char *directory, const char *prefix)
{
	int parent = rendezvous_open_below(root, directory), own;

	if (parent < 0)
		return false;
	own = attach_dir_create_private(parent, prefix, dir->directory);
	if (own < 0) {
		close(parent);
		return false;
	}
	attach_dir_remove_abandoned(parent);
	dir->parent = parent;
	dir->own = own;
	(void)snprintf(dir->ours, sizeof(dir->ours), "/proc/self/fd/%d/" RENDEZVOUS_SOCKET, own);
	(void)snprintf(dir->theirs, sizeof(dir->theirs), "%.40s/%.40s/" RENDEZVOUS_SOCKET,
			directory, dir->directory);
	return true;
}

/*
 * A program may see no writable directory (an empty or read-only root). It gets an abstract socket
 * in its network namespace.
 */
static int attach_dir_make_abstract(struct attach_dir *dir, pid_t pid, const char *prefix)
{
	uint64_t secret;

	dir->network = rendezvous_open_network(pid);
	if (dir->network < 0)
		return dir->network;
	if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret))
		return -errno;
	(void)snprintf(dir->ours, sizeof(dir->ours), "@%s%016" PRIx64, prefix, secret);
	memcpy(dir->theirs, dir->ours, sizeof(dir->theirs));
	return 0;
}

int attach_dir_unreachable(const struct attached *attached)
{
	return message_error(COMMAND_FAILED,
			"make one of these directories writable for it (a mount of type tmpfs is enough), or be root",
			"cannot exchange files with %d (%s): you cannot write to /tmp, /var/tmp, /dev/shm and /run of its root directory, and must not enter its network namespace",
			attached->pid, attached->name);
}

int attach_dir_find(struct attached *attached, const char *prefix, bool lasting)
{
	const char *const own = getenv("TMPDIR");
	const char *const for_now[] = {
			own && *own == '/' && strlen(own) < DIRECTORY_MAX ? own : "/tmp", "/tmp",
			"/var/tmp", "/dev/shm", "/run", NULL};
	/* System services do not remove old files in the first two directories. */
	static const char *const for_long[] = {"/run", "/dev/shm", "/tmp", "/var/tmp", NULL};
	const char *const *directories = lasting ? for_long : for_now;
	int root = rendezvous_open_root(attached->pid), ret = 0;
	size_t i;

	/* The injection reports the reason of this failure. */
	if (root < 0)
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; root >= 0 && directories[i] && attached->dir.parent < 0; i++)
		if (attach_dir_create(&attached->dir, root, directories[i], prefix))
			break;
	if (root >= 0)
		close(root);
	if (attached->dir.parent < 0)
		ret = attach_dir_make_abstract(&attached->dir, attached->pid, prefix);
	if (!ret)
		return COMMAND_DONE;
	if (ret == -EPERM || ret == -EACCES || ret == -ENOENT)
		return attach_dir_unreachable(attached);
	return message_error(COMMAND_FAILED, NULL,
			"cannot create a socket where %d (%s) sees it: no directory is writable, and in its network namespace: %s",
			attached->pid, attached->name, strerror(-ret));
}

void attach_dir_forget(struct attached *attached)
{
	if (attached->dir.parent >= 0)
		close(attached->dir.parent);
	if (attached->dir.own >= 0)
		close(attached->dir.own);
	if (attached->dir.network >= 0)
		close(attached->dir.network);
	attached->dir.parent = attached->dir.own = attached->dir.network = -1;
}

void attach_dir_remove(struct attached *attached)
{
	if (attached->dir.parent >= 0) {
		(void)unlinkat(attached->dir.own, RENDEZVOUS_SOCKET, 0);
		(void)unlinkat(attached->dir.parent, attached->dir.directory, AT_REMOVEDIR);
	}
	attach_dir_forget(attached);
}

/* The program's effective user. The owner of its files in /proc may be root instead. */
uint64_t attach_user_of(pid_t pid)
{
	char path[64], line[256];
	unsigned long user = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Uid: %*u %lu", &user) == 1)
			break;
	if (file)
		(void)fclose(file);
	return user;
}
