/* SPDX-License-Identifier: MIT */
/*
 * The helper process that looks up names, with replaced calls: the addresses of a name, its
 * questions and answers, and how it starts.
 */
#include <errno.h>
#include <netdb.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "isolate/isolate.h"
#include "relay/resolver.h"

/* ---- replaced calls ---- */

static struct addrinfo found[RESOLVER_ADDRESSES_MAX + 2];
static struct sockaddr_storage stored[RESOLVER_ADDRESSES_MAX + 2];
static int lookup_result, pair_error, fork_error, send_error_code;
static pid_t fork_result;
static unsigned char message[1024];
static ssize_t message_size;
static unsigned int nr_messages;
static int interrupts;
static jmp_buf ended;

static int played_lookup(const char *host, const char *port, const struct addrinfo *hints,
		struct addrinfo **result)
{
	CHECK(hints->ai_socktype == SOCK_STREAM && hints->ai_flags == AI_ADDRCONFIG &&
			!hints->ai_family && !hints->ai_protocol);
	note("lookup %.3s %.3s;", host, port);
	*result = found;
	return lookup_result;
}

static void played_free(struct addrinfo *addresses)
{
	CHECK(addresses == found);
	note("free;");
}

static int played_pair(int family, int type, int protocol, int *sockets)
{
	CHECK(family == AF_UNIX && type == (SOCK_SEQPACKET | SOCK_CLOEXEC) && !protocol);
	sockets[0] = 0;
	sockets[1] = 12;
	errno = pair_error;
	return pair_error ? -1 : 0;
}

static pid_t played_fork(void)
{
	errno = fork_error;
	return fork_result;
}

static int played_close(int fd)
{
	note("close %d;", fd);
	errno = EBADF;
	return 0;
}

static int played_duplicate(int from, int to)
{
	note("dup2 %d %d;", from, to);
	return to;
}

static int played_close_range(unsigned int first, unsigned int last, int flags)
{
	CHECK(last == ~0u && !flags);
	note("close from %u;", first);
	return 0;
}

static __sighandler_t played_signal(int number, __sighandler_t action)
{
	CHECK(action == SIG_IGN);
	note("ignore %d;", number);
	return SIG_DFL;
}

static int played_isolate(void)
{
	note("isolate;");
	return 0;
}

static ssize_t played_recv(int socket, void *to, size_t size, int flags)
{
	note("recv %d %s;", socket, flags == MSG_DONTWAIT ? "at once" : flags ? "?" : "");
	if (interrupts) {
		interrupts--;
		errno = EINTR;
		return -1;
	}
	if (!nr_messages) {
		errno = EAGAIN;
		return -1;
	}
	nr_messages--;
	memcpy(to, message, size < sizeof(message) ? size : sizeof(message));
	errno = EINTR; /* left by another call */
	return message_size;
}

static struct resolver_answer answered;
static unsigned char asked[1024];

static ssize_t played_send(int socket, const void *bytes, size_t size, int flags)
{
	CHECK(flags == MSG_NOSIGNAL);
	note("send %d;", socket);
	if (size == sizeof(answered))
		memcpy(&answered, bytes, size);
	else
		memcpy(asked, bytes, size);
	errno = send_error_code;
	return send_error_code ? -1 : 0;
}

__attribute__((noreturn)) static void played_exit(int status)
{
	CHECK(!status);
	longjmp(ended, 1);
}

#define getaddrinfo(host, port, hints, result) played_lookup(host, port, hints, result)
#define freeaddrinfo(addresses) played_free(addresses)
#define socketpair(family, type, protocol, sockets) played_pair(family, type, protocol, sockets)
#define fork() played_fork()
#define close(fd) played_close(fd)
#define dup2(from, to) played_duplicate(from, to)
#define close_range(first, last, flags) played_close_range(first, last, flags)
#define signal(number, action) played_signal(number, action)
#define isolate_resolver() played_isolate()
#define recv(socket, to, size, flags) played_recv(socket, to, size, flags)
#define send(socket, bytes, size, flags) played_send(socket, bytes, size, flags)
#define _exit(status) played_exit(status)
#include "relay/resolver.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */

/* ---- tests ---- */

/* The addresses have different sizes, families, protocols and bytes. */
static void fill(unsigned int count)
{
	memset(found, 0, sizeof(found));
	for (unsigned int i = 0; i < count; i++) {
		memset(&stored[i], (int)(i + 1), sizeof(stored[i]));
		found[i] = (struct addrinfo){.ai_family = (int)(100 + i),
				.ai_protocol = (int)(200 + i),
				.ai_addrlen = 16 + i,
				.ai_addr = (struct sockaddr *)&stored[i],
				.ai_next = i + 1 < count ? &found[i + 1] : NULL};
	}
}

static void test_search(void)
{
	struct resolver_answer answer;

	fill(3);
	memset(&answer, 0x55, sizeof(answer));
	resolver_search("host", "port", &answer);
	CHECK(has_noted("lookup hos por;free;"));
	CHECK(!answer.error && answer.count == 3 && !answer.number);
	for (unsigned int i = 0; i < 3; i++) {
		const struct resolver_address *each = &answer.addresses[i];

		CHECK(each->family == (int)(100 + i) && each->protocol == (int)(200 + i) &&
				each->size == 16 + i);
		CHECK(!memcmp(&each->address, &stored[i], 16 + i));
		CHECK(!((const char *)&each->address)[16 + i]);
	}
	/* An address that is too large is left out, and the largest one is not. */
	found[0].ai_addrlen = sizeof(stored[0]) + 1;
	found[1].ai_addrlen = sizeof(stored[1]);
	resolver_search("host", "port", &answer);
	CHECK(answer.count == 2 && answer.addresses[0].family == 101 &&
			answer.addresses[1].family == 102);
	CHECK(!memcmp(&answer.addresses[0].address, &stored[1], sizeof(stored[1])));
	for (unsigned int more = 0; more < 3; more++) {
		fill(RESOLVER_ADDRESSES_MAX - 1 + more);
		resolver_search("host", "port", &answer);
		CHECK(answer.count == RESOLVER_ADDRESSES_MAX - !more);
	}
	/* After an error, there is nothing to free. */
	*log_text = '\0';
	lookup_result = EAI_AGAIN;
	resolver_search("host", "port", &answer);
	CHECK(answer.error == EAI_AGAIN && !answer.count && has_noted("lookup hos por;"));
	lookup_result = 0;
}

static void test_start(void)
{
	fork_result = 4711;
	CHECK(resolver_start() == 0 && has_noted("close 12;"));
	fork_result = -1;
	fork_error = ENOMEM;
	CHECK(resolver_start() == -ENOMEM && has_noted("close 12;close 0;"));
	pair_error = EMFILE;
	CHECK(resolver_start() == -EMFILE && has_noted(""));
	pair_error = 0;
}

/* Names that fill their space have no NUL. */
static void test_work(void)
{
	struct resolver_question question = {.number = 77};

	fill(1);
	memset(question.host, 'h', sizeof(question.host));
	memset(question.port, 'p', sizeof(question.port));
	memcpy(message, &question, sizeof(question));
	message_size = sizeof(question);
	nr_messages = 2;
	fork_result = 0;
	if (!setjmp(ended))
		resolver_start();
	CHECK(has_noted("close 0;ignore 2;ignore 15;ignore 1;ignore 3;dup2 12 0;close from 1;isolate;recv 0 ;lookup hhh ppp;free;send 0;recv 0 ;lookup hhh ppp;free;send 0;recv 0 ;"));
	CHECK(answered.number == 77 && answered.count == 1);
	/* A truncated question, and an answer that cannot be sent. */
	nr_messages = 2;
	message_size--;
	if (!setjmp(ended))
		resolver_start();
	CHECK(strstr(log_text, "isolate;recv 0 ;") && !strstr(log_text, "lookup"));
	message_size++;
	nr_messages = 2;
	send_error_code = EPIPE;
	*log_text = '\0';
	if (!setjmp(ended))
		resolver_start();
	CHECK(strstr(log_text, "isolate;recv 0 ;lookup hhh ppp;free;send 0;") && nr_messages == 1);
	*log_text = '\0';
	nr_messages = 0;
	send_error_code = 0;
}

static void test_questions(void)
{
	struct resolver_question question;
	struct resolver_answer answer = {.number = 5, .count = RESOLVER_ADDRESSES_MAX}, got;
	char host[300];

	CHECK(!resolver_ask(3, 9, "host", "port") && has_noted("send 3;"));
	memcpy(&question, asked, sizeof(question));
	CHECK(question.number == 9 && !strcmp(question.host, "host") &&
			!strcmp(question.port, "port"));
	CHECK(!resolver_ask(3, 9, "%d%%h", "%d%%p"));
	memcpy(&question, asked, sizeof(question));
	CHECK(!strcmp(question.host, "%d%%h") && !strcmp(question.port, "%d%%p"));
	memset(host, 'h', sizeof(host));
	host[299] = '\0';
	CHECK(!resolver_ask(3, 10, host, host));
	memcpy(&question, asked, sizeof(question));
	CHECK(strlen(question.host) == 255 && strlen(question.port) == 15);
	send_error_code = EPIPE;
	CHECK(resolver_ask(3, 9, "host", "port") == -EPIPE);
	send_error_code = 0;
	*log_text = '\0';
	CHECK(sizeof(answer) > sizeof(message));
	memcpy(message, &answer, sizeof(message));
	memset(&got, 0, sizeof(got));
	message_size = sizeof(answer);
	interrupts = 2;
	nr_messages = 1;
	CHECK(!resolver_take(3, 5, &got));
	CHECK(has_noted("recv 3 at once;recv 3 at once;recv 3 at once;"));
	nr_messages = 1;
	CHECK(resolver_take(3, 6, &got) == -EAGAIN && !nr_messages);
	CHECK(resolver_take(3, 5, &got) == -EAGAIN);
	/* The end of the socket, less than an answer, and more addresses than there can be. */
	nr_messages = 1;
	message_size = 0;
	CHECK(resolver_take(3, 5, &got) == -EPIPE);
	nr_messages = 1;
	message_size = sizeof(answer) - 1;
	CHECK(resolver_take(3, 5, &got) == -EPIPE);
	nr_messages = 1;
	message_size = sizeof(answer);
	answer.count++;
	memcpy(message, &answer, sizeof(message));
	CHECK(resolver_take(3, 5, &got) == -EPIPE);
}

int main(void)
{
	test_search();
	test_start();
	test_work();
	test_questions();
	return 0;
}
