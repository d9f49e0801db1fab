/* SPDX-License-Identifier: MIT */
/* Preloaded: the first thread of the process that sends reports its start when another thread has reported something. */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool is_first_over;

ssize_t send(int socket, const void *message, size_t size, int flags)
{
	char name[16] = "";
	/* The process that looks up names answers at its input. */
	const bool is_main = gettid() == getpid() && socket != STDIN_FILENO;
	ssize_t sent;

	prctl(PR_GET_NAME, name);
	while (is_main && !strcmp(name, "side-send") && !atomic_load(&is_first_over))
		usleep(1000);
	sent = syscall(SYS_sendto, socket, message, size, flags, NULL, 0);
	if (!is_main)
		atomic_store(&is_first_over, true);
	return sent;
}
