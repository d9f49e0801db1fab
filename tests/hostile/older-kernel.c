/* SPDX-License-Identifier: MIT */
/*
 * Runs a program as if the kernel were older: without SO_PASSRIGHTS (Linux 6.16) and SO_PEERPIDFD
 * (Linux 6.5), as in Debian 12.
 *
 *   older-kernel PROGRAM [ARGUMENT]...
 */
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../seccomp-filter.h"

#define OPTION_PASSRIGHTS 83
#define OPTION_PEERPIDFD 77

/* Skips so many instructions if it is not this value. */
#define UNLESS(value, skipped) IF(value, 0, skipped)
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOPROTOOPT)

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
			LOAD(nr),
			UNLESS(SYS_setsockopt, 5),
			LOAD_ARGUMENT(1),
			UNLESS(SOL_SOCKET, 8),
			LOAD_ARGUMENT(2),
			UNLESS(OPTION_PASSRIGHTS, 6),
			RETURN(UNKNOWN),
			UNLESS(SYS_getsockopt, 4),
			LOAD_ARGUMENT(1),
			UNLESS(SOL_SOCKET, 2),
			LOAD_ARGUMENT(2),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OPTION_PEERPIDFD, 1, 0),
			RETURN(SECCOMP_RET_ALLOW),
			RETURN(UNKNOWN),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("older-kernel: PR_SET_SECCOMP");
		return 2;
	}
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 2;
}
