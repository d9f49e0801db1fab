/* SPDX-License-Identifier: MIT */
/*
 * Identifies files by device, inode, size and time of change.
 *
 * The time is that of the content: another hard link, or other permissions, do not change it. A
 * program that stores an old time in a new file of the same size and inode is not noticed: there
 * the agent compares the build id.
 */
#include "sessions/file-identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static bool file_identity_read(const char *path, int flags, char ret_text[FILE_IDENTITY_SIZE])
{
	const unsigned int mask = STATX_INO | STATX_SIZE | STATX_MTIME;
	struct statx status;

	*ret_text = '\0';
	if (statx(AT_FDCWD, path, flags, mask, &status) || (status.stx_mask & mask) != mask)
		return false;
	snprintf(ret_text, FILE_IDENTITY_SIZE, "%u:%u:%llu:%llu:%lld.%09u", status.stx_dev_major,
			status.stx_dev_minor, (unsigned long long)status.stx_ino,
			(unsigned long long)status.stx_size, (long long)status.stx_mtime.tv_sec,
			status.stx_mtime.tv_nsec);
	return true;
}

void file_identity_of_status(const struct stat *status, char ret_text[FILE_IDENTITY_SIZE])
{
	snprintf(ret_text, FILE_IDENTITY_SIZE, "%u:%u:%llu:%llu:%lld.%09lld", major(status->st_dev),
			minor(status->st_dev), (unsigned long long)status->st_ino,
			(unsigned long long)status->st_size, (long long)status->st_mtim.tv_sec,
			(long long)status->st_mtim.tv_nsec);
}

bool file_identity_of_path(const char *path, char ret_text[FILE_IDENTITY_SIZE])
{
	return file_identity_read(path, AT_STATX_SYNC_AS_STAT, ret_text);
}

bool file_identity_of_process(pid_t pid, char ret_text[FILE_IDENTITY_SIZE])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return file_identity_read(path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, ret_text);
}

bool file_identity_is_valid(const char *text)
{
	size_t size = strlen(text);

	return size && size < FILE_IDENTITY_SIZE && strspn(text, "0123456789:.-") == size;
}
