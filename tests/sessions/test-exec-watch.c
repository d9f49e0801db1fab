/* SPDX-License-Identifier: MIT */
/* Messages of the helper process that attaches on exec (src/sessions/exec-watch.c). */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sessions/exec-watch.h"

#include "../check.h"

static int ends[2];
static char buffer[EXEC_WATCH_SIZE];
static const char *texts[EXEC_WATCH_FIELDS];

static void test_texts(void)
{
	CHECK(exec_watch_receive(ends[1], buffer, texts) == -EAGAIN);
	CHECK(!exec_watch_send(ends[0], (const char *const[]){"state", "/a\nb", "", "1", NULL}));
	CHECK(!exec_watch_send(ends[0], (const char *const[]){"hello", NULL}));
	CHECK(exec_watch_receive(ends[1], buffer, texts) == 4);
	CHECK(!strcmp(texts[0], "state") && !strcmp(texts[1], "/a\nb") && !*texts[2] &&
			!strcmp(texts[3], "1"));
	/* Texts that are not in the message are empty. */
	CHECK(exec_watch_receive(ends[1], buffer, texts) == 1);
	CHECK(!strcmp(texts[0], "hello") && !*texts[1] && !*texts[2] && !*texts[3]);
}

static void test_sizes(void)
{
	char text[EXEC_WATCH_SIZE + 1];

	memset(text, 'x', sizeof(text));
	text[EXEC_WATCH_SIZE - 1] = '\0';
	CHECK(!exec_watch_send(ends[0], (const char *const[]){text, NULL}));
	CHECK(exec_watch_receive(ends[1], buffer, texts) == 1);
	CHECK(strlen(texts[0]) == EXEC_WATCH_SIZE - 1);
	CHECK(exec_watch_send(ends[0], (const char *const[]){text, "", NULL}) == -EMSGSIZE);
	CHECK(exec_watch_receive(ends[1], buffer, texts) == -EAGAIN);
}

/* Messages that the other process never sends. */
static void test_damaged(void)
{
	static char large[EXEC_WATCH_SIZE + 1];

	CHECK(send(ends[0], "end", 3, 0) == 3);
	CHECK(exec_watch_receive(ends[1], buffer, texts) == -EBADMSG);
	CHECK(send(ends[0], large, sizeof(large), 0) == (ssize_t)sizeof(large));
	CHECK(exec_watch_receive(ends[1], buffer, texts) == -EBADMSG);
	/* Further texts are ignored. */
	CHECK(send(ends[0], "1\0002\0003\0004\0005", 10, 0) == 10);
	CHECK(exec_watch_receive(ends[1], buffer, texts) == EXEC_WATCH_FIELDS);
	CHECK(!strcmp(texts[3], "4"));
}

static void test_end(void)
{
	int ret = 0;

	/* A full queue does not stop the sender. */
	while (!ret)
		ret = exec_watch_send(ends[0], (const char *const[]){"attached", "/a", "1", NULL});
	CHECK(ret == -EAGAIN);
	while ((ret = exec_watch_receive(ends[1], buffer, texts)) > 0)
		;
	CHECK(ret == -EAGAIN);
	close(ends[0]);
	CHECK(!exec_watch_receive(ends[1], buffer, texts));
	CHECK(exec_watch_send(ends[1], (const char *const[]){"hello", NULL}) == -EPIPE);
	close(ends[1]);
}

int main(void)
{
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	test_texts();
	test_sizes();
	test_damaged();
	test_end();
	return 0;
}
