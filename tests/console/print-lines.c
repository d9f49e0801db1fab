/* SPDX-License-Identifier: MIT */
/*
 * Long lines from several threads ("threads"), a signal handler that prints in the middle of them
 * ("signals"), and children of fork() that print while a thread may hold the lock ("forks", with
 * lines that a pipe accepts at once). test-lines.py checks the output at the end of a pipe.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <side/trace.h>

side_static_event(ev_long, "lines", "long", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("thread"), side_field_u32("number"),
				side_field_string("text")));
side_static_event(ev_signal, "lines", "signal", SIDE_LOGLEVEL_INFO, side_field_list());
side_static_event(ev_child, "lines", "child", SIDE_LOGLEVEL_INFO, side_field_list());

#define THREADS 3
#define LINES 120

static bool only_short;

static void *print(void *priv)
{
	uint32_t thread = (uint32_t)(uintptr_t)priv, i;
	char *text = malloc(20000);

	for (i = 0; i < LINES; i++) {
		/* From short ones to ten times what a pipe accepts at once. */
		size_t size = i % 3 || only_short ? i * 2 : 15000 + i;

		memset(text, 'a' + (int)thread, size);
		text[size] = '\0';
		side_event(ev_long,
				side_arg_list(side_arg_u32(thread), side_arg_u32(i),
						side_arg_string(text)));
	}
	free(text);
	return NULL;
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
	side_event(ev_signal, side_arg_list());
}

int main(int argc, char **argv)
{
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	pthread_t threads[THREADS];
	uintptr_t i;
	int status;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "signals")) {
		signal(SIGALRM, on_signal);
		setitimer(ITIMER_REAL, &often, NULL);
		print((void *)0);
		while (signals < 20)
			pause();
		setitimer(ITIMER_REAL, &never, NULL);
		return 0;
	}
	only_short = !strcmp(argv[1], "forks");
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, print, (void *)i);
	for (i = 0; only_short && i < 10; i++) {
		pid_t child = fork();

		if (!child) {
			side_event(ev_child, side_arg_list());
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child || status)
			return 1;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
