/* SPDX-License-Identifier: MIT */
/* Looks up host names in a helper process: a question and its answer are one message each on a pair
   of sockets. The helper process gets only names. */
#include "relay/resolver.h"

#include "isolate/isolate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct resolver_question {
	uint64_t number;
	char host[256], port[16];
};

void resolver_search(const char *host, const char *port, struct resolver_answer *ret_answer)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *addresses = NULL;

	*ret_answer = (struct resolver_answer){
			.error = getaddrinfo(host, port, &hints, &addresses)};
	if (ret_answer->error)
		return;
	for (const struct addrinfo *each = addresses;
			each && ret_answer->count < RESOLVER_ADDRESSES_MAX; each = each->ai_next) {
		struct resolver_address *address = &ret_answer->addresses[ret_answer->count];

		if (each->ai_addrlen > sizeof(address->address))
			continue;
		address->family = each->ai_family;
		address->protocol = each->ai_protocol;
		address->size = each->ai_addrlen;
		memcpy(&address->address, each->ai_addr, each->ai_addrlen);
		ret_answer->count++;
	}
	freeaddrinfo(addresses);
}

/* The helper ignores signals of the terminal: they end the sender, and then the helper. */
__attribute__((noreturn)) static void resolver_work(int socket)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct resolver_question question;
	struct resolver_answer answer;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_IGN);
	dup2(socket, STDIN_FILENO);
	close_range(STDOUT_FILENO, ~0u, 0);
	(void)isolate_resolver();
	while (recv(STDIN_FILENO, &question, sizeof(question), 0) == (ssize_t)sizeof(question)) {
		question.host[sizeof(question.host) - 1] = '\0';
		question.port[sizeof(question.port) - 1] = '\0';
		resolver_search(question.host, question.port, &answer);
		answer.number = question.number;
		if (send(STDIN_FILENO, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

int resolver_start(void)
{
	int sockets[2], code;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	code = errno;
	if (!pid) {
		close(sockets[0]);
		resolver_work(sockets[1]);
	}
	close(sockets[1]);
	if (pid > 0)
		return sockets[0];
	close(sockets[0]);
	return -code;
}

int resolver_ask(int socket, uint64_t number, const char *host, const char *port)
{
	struct resolver_question question = {.number = number};

	snprintf(question.host, sizeof(question.host), "%s", host);
	snprintf(question.port, sizeof(question.port), "%s", port);
	return send(socket, &question, sizeof(question), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int resolver_take(int socket, uint64_t number, struct resolver_answer *answer)
{
	ssize_t got;

	do
		got = recv(socket, answer, sizeof(*answer), MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (got != (ssize_t)sizeof(*answer) || answer->count > RESOLVER_ADDRESSES_MAX)
		return -EPIPE;
	return answer->number == number ? 0 : -EAGAIN;
}
