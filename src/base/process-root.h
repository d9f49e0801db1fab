/* SPDX-License-Identifier: MIT */
/*
 * Opens files as a process sees them, which may have another root directory or mount namespace.
 *
 * A path below /proc/PID/root is not enough: an absolute symbolic link in it leads to the root
 * directory of this process.
 */
#ifndef SIDE_BASE_PROCESS_ROOT_H
#define SIDE_BASE_PROCESS_ROOT_H

#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opens the absolute path with flags of open(2), without O_CREAT; O_CLOEXEC is added. Returns a
 * descriptor or a negative errno. -ENOSYS: the kernel (before Linux 5.6) cannot resolve links in
 * another root directory.
 */
int process_root_open(pid_t pid, const char *path, int flags);
int process_root_stat(pid_t pid, const char *path, struct stat *ret_status);

#endif /* SIDE_BASE_PROCESS_ROOT_H */
