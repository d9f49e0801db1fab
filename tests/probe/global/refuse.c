/* SPDX-License-Identifier: MIT */
/*
 * Simulates an older kernel, or one that permits less, for a command and all its children:
 *
 *	refuse multi|bpf|perf COMMAND...
 *
 *	multi	no BPF links for many uprobes (before Linux 6.6)
 *	bpf	no BPF at all
 *	perf	no perf events either
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINK_CREATE 28
#define LINK_CREATE_SHORT 32 /* bytes */

#define LOAD(member) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)offsetof(struct seccomp_data, member))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (count))

int main(int argc, char **argv)
{
	/* The request for many uprobes is longer than earlier requests. */
	struct sock_filter multi[] = {LOAD(nr), SKIP_UNLESS(SYS_bpf, 5), LOAD(args[0]),
			SKIP_UNLESS(LINK_CREATE, 3), LOAD(args[2]),
			BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LINK_CREATE_SHORT, 0, 1),
			RETURN(SECCOMP_RET_ERRNO | EINVAL), RETURN(SECCOMP_RET_ALLOW)};
	struct sock_filter bpf[] = {LOAD(nr), SKIP_UNLESS(SYS_bpf, 1),
			RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)};
	struct sock_filter perf[] = {LOAD(nr), SKIP_UNLESS(SYS_bpf, 1),
			RETURN(SECCOMP_RET_ERRNO | EPERM), SKIP_UNLESS(SYS_perf_event_open, 1),
			RETURN(SECCOMP_RET_ERRNO | EACCES), RETURN(SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {.len = sizeof(multi) / sizeof(multi[0]), .filter = multi};

	if (argc < 3)
		return 64;
	if (!strcmp(argv[1], "bpf"))
		program = (struct sock_fprog){sizeof(bpf) / sizeof(bpf[0]), bpf};
	else if (!strcmp(argv[1], "perf"))
		program = (struct sock_fprog){sizeof(perf) / sizeof(perf[0]), perf};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
