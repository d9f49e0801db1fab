/* SPDX-License-Identifier: MIT */
/* Reads and replaces /etc/ld.so.preload. */
#include "preload-file.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PRELOAD_FILE_ETC "/etc"
#define PRELOAD_FILE_NEW "/etc/.ld.so.preload.side"
#define PRELOAD_FILE_MODE 0644
#define PRELOAD_FILE_ATTRIBUTES 4096 /* bytes of the names of extended attributes, and of a value */

/* ---- reading ---- */

static int preload_file_fail_type(struct error *error)
{
	return error_set_kind(error, ERROR_FAILED, -EINVAL,
			"`ls -l " PRELOAD_FILE "` shows what it is",
			"cannot use " PRELOAD_FILE ": it is not a regular file");
}

int preload_file_read(struct preload_file *ret_file, struct error *error)
{
	int fd = open(PRELOAD_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), ret;

	*ret_file = (struct preload_file){.text = NULL};
	if (fd < 0 && errno == ENOENT) {
		ret_file->text = strdup("");
		return ret_file->text ? 0 : error_set_no_memory(error);
	}
	if (fd < 0)
		return errno == ELOOP ? preload_file_fail_type(error)
				      : error_set_system(error, errno, "cannot read " PRELOAD_FILE);
	ret = fstat(fd, &ret_file->status) ? -errno : 0;
	if (!ret && !S_ISREG(ret_file->status.st_mode)) {
		close(fd);
		return preload_file_fail_type(error);
	}
	if (!ret)
		ret = io_read_whole(fd, PRELOAD_FILE_MAX, &ret_file->text, &ret_file->size);
	close(fd);
	ret_file->exists = true;
	return ret ? error_set_system(error, ret, "cannot read " PRELOAD_FILE) : 0;
}

void preload_file_free(struct preload_file *file)
{
	free(file->text);
	file->text = NULL;
}

static bool preload_file_is_line(const char *line, size_t size)
{
	static const char end[] = PRELOAD_FILE_LIBRARY;
	const size_t length = sizeof(end) - 1;

	return size >= length && *line == '/' && !memcmp(line + size - length, end, length) &&
			!memchr(line, ' ', size) && !memchr(line, '\t', size) &&
			!memchr(line, ':', size) && !memchr(line, '#', size);
}

bool preload_file_find(const struct preload_file *file, size_t from, struct preload_line *ret_line)
{
	for (size_t at = from; at < file->size;) {
		const char *line = file->text + at;
		const char *end = memchr(line, '\n', file->size - at);
		const size_t size = end ? (size_t)(end - line) : file->size - at;

		if (preload_file_is_line(line, size)) {
			*ret_line = (struct preload_line){.at = at, .size = size};
			return true;
		}
		at += size + 1;
	}
	return false;
}

bool preload_file_is_mixed(const struct preload_file *file)
{
	static const char name[] = "/libside-system.so";
	struct preload_line line;
	size_t found = 0, named = 0;
	const char *at = file->text, *end = file->text + file->size;

	for (size_t from = 0; preload_file_find(file, from, &line); from = line.at + line.size)
		found++;
	while ((at = memmem(at, (size_t)(end - at), name, sizeof(name) - 1))) {
		named++;
		at += sizeof(name) - 1;
	}
	return named != found;
}

/* ---- replacing ---- */

int preload_file_lock(int *ret_fd, struct error *error)
{
	int fd = open(PRELOAD_FILE_ETC, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret;

	if (fd < 0)
		return error_set_system(error, errno, "cannot open " PRELOAD_FILE_ETC);
	do
		ret = flock(fd, LOCK_EX);
	while (ret && errno == EINTR);
	if (ret) {
		ret = error_set_system(error, errno, "cannot lock " PRELOAD_FILE_ETC);
		close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}

/* Copies access lists and labels. A file system without such attributes has none to copy. */
static int preload_file_copy_attributes(int to)
{
	char names[PRELOAD_FILE_ATTRIBUTES], value[PRELOAD_FILE_ATTRIBUTES];
	ssize_t size = listxattr(PRELOAD_FILE, names, sizeof(names));

	if (size < 0)
		return errno == ENOTSUP || errno == ENOSYS ? 0 : -errno;
	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		ssize_t length = getxattr(PRELOAD_FILE, name, value, sizeof(value));

		if (length < 0 || fsetxattr(to, name, value, (size_t)length, 0))
			return -errno;
	}
	return 0;
}

/* Mode and owner before the content, so that the file never has more readers than the old one. */
static int preload_file_fill(int fd, const struct preload_file *old, const char *text, size_t size)
{
	int ret = 0;

	if (old->exists && fchown(fd, old->status.st_uid, old->status.st_gid))
		return -errno;
	if (fchmod(fd, old->exists ? old->status.st_mode & 07777 : PRELOAD_FILE_MODE))
		return -errno;
	if (old->exists)
		ret = preload_file_copy_attributes(fd);
	if (!ret)
		ret = io_write_all(fd, text, size);
	return !ret && fsync(fd) ? -errno : ret;
}

/* Has another program changed the file since it was read? */
static bool preload_file_is_changed(const struct preload_file *old)
{
	struct stat now;

	if (lstat(PRELOAD_FILE, &now))
		return errno != ENOENT || old->exists;
	return !old->exists || now.st_dev != old->status.st_dev ||
			now.st_ino != old->status.st_ino || now.st_size != old->status.st_size ||
			now.st_mtim.tv_sec != old->status.st_mtim.tv_sec ||
			now.st_mtim.tv_nsec != old->status.st_mtim.tv_nsec;
}

/* Until this is done, a crash of the machine may leave the old file. */
static int preload_file_sync_directory(struct error *error)
{
	int fd = open(PRELOAD_FILE_ETC, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;

	if (fd < 0 || fsync(fd))
		ret = error_set_system(error, errno, "cannot store " PRELOAD_FILE " on the disk");
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Writes the new file beside the old one. A file that a killed process left is removed before. */
static int preload_file_write_new(const struct preload_file *old, const char *text, size_t size)
{
	int fd, ret;

	if (unlink(PRELOAD_FILE_NEW) && errno != ENOENT)
		return -errno;
	fd = open(PRELOAD_FILE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	ret = preload_file_fill(fd, old, text, size);
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

static int preload_file_fail_replace(int code, struct error *error)
{
	if (code == -EBUSY)
		return error_set_kind(error, ERROR_FAILED, code,
				"`umount " PRELOAD_FILE "`, or edit the file that is mounted there",
				"cannot replace " PRELOAD_FILE ": another file is mounted over it");
	return error_set_system(error, code, "cannot replace " PRELOAD_FILE);
}

static int preload_file_replace(
		const struct preload_file *old, const char *text, size_t size, struct error *error)
{
	int ret = preload_file_write_new(old, text, size);

	if (!ret && preload_file_is_changed(old))
		ret = error_set_kind(error, ERROR_BUSY, -EAGAIN, "run the command again",
				"cannot replace " PRELOAD_FILE ": another program is changing it");
	else if (ret || rename(PRELOAD_FILE_NEW, PRELOAD_FILE))
		ret = preload_file_fail_replace(ret ? ret : -errno, error);
	else
		ret = preload_file_sync_directory(error);
	(void)unlink(PRELOAD_FILE_NEW);
	return ret;
}

/*
 * A file that does not exist gets the line and its end. One that does not end with a newline, an
 * empty one for example, gets a newline and the line. So preload_file_remove() knows what to remove.
 */
int preload_file_add(const struct preload_file *file, const char *line, struct error *error)
{
	const bool is_ended = !file->exists || (file->size && file->text[file->size - 1] == '\n');
	const size_t length = strlen(line);
	char *text, *at;
	int ret;

	/* preload_file_read() must accept the result. */
	if (file->size + length + 1 > PRELOAD_FILE_MAX)
		return error_set_system(error, EFBIG, "cannot add a line to " PRELOAD_FILE);
	text = at = malloc(file->size + length + 1);
	if (!text)
		return error_set_no_memory(error);
	at = mempcpy(at, file->text, file->size);
	if (!is_ended)
		*at++ = '\n';
	at = mempcpy(at, line, length);
	if (is_ended)
		*at++ = '\n';
	ret = preload_file_replace(file, text, (size_t)(at - text), error);
	free(text);
	return ret;
}

/* Copies the text without the lines of side. */
static size_t preload_file_cut(const struct preload_file *file, char *to, bool *ret_was_created)
{
	size_t from = 0, used = 0;
	struct preload_line line;

	*ret_was_created = true;
	while (preload_file_find(file, from, &line)) {
		const bool has_end = line.at + line.size < file->size;

		memcpy(to + used, file->text + from, line.at - from);
		used += line.at - from;
		/* The newline before it was added with it. */
		if (!has_end && used && to[used - 1] == '\n') {
			used--;
			*ret_was_created = false;
		}
		from = line.at + line.size + has_end;
	}
	memcpy(to + used, file->text + from, file->size - from);
	return used + file->size - from;
}

int preload_file_remove(const struct preload_file *file, struct error *error)
{
	char *text = malloc(file->size + 1);
	bool was_created;
	size_t size;
	int ret = 0;

	if (!text)
		return error_set_no_memory(error);
	size = preload_file_cut(file, text, &was_created);
	if (size || !was_created)
		ret = preload_file_replace(file, text, size, error);
	else if (preload_file_is_changed(file))
		ret = error_set_kind(error, ERROR_BUSY, -EAGAIN, "run the command again",
				"cannot remove " PRELOAD_FILE ": another program is changing it");
	else if (unlink(PRELOAD_FILE))
		ret = error_set_system(error, errno, "cannot remove " PRELOAD_FILE);
	else
		ret = preload_file_sync_directory(error);
	free(text);
	return ret;
}
