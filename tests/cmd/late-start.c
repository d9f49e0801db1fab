/* SPDX-License-Identifier: MIT */
/*
 * Preloaded: in the sending process, the first thread reports its start only after another thread
 * has reported something.
 */
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
	/* The process that resolves names answers on its standard input. */
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
