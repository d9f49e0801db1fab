/* SPDX-License-Identifier: MIT */
/* Names of hosts, looked up by a helper process: the sender itself may not read the files that this needs. */
#ifndef SIDE_RELAY_RESOLVER_H
#define SIDE_RELAY_RESOLVER_H

#include <netdb.h>
#include <stdint.h>
#include <sys/socket.h>

#define RESOLVER_ADDRESSES_MAX 16

struct resolver_address {
	int family, protocol;
	socklen_t size;
	struct sockaddr_storage address;
};

struct resolver_answer {
	uint64_t number; /* of the question */
	int error;       /* of getaddrinfo() */
	unsigned int count;
	struct resolver_address addresses[RESOLVER_ADDRESSES_MAX];
};

/* Start the helper process. It ends with the last descriptor of the socket that is returned; or a negative errno. */
int resolver_start(void);

/* Without the helper process. */
void resolver_search(const char *host, const char *port, struct resolver_answer *answer);

/* Send a question, each with another number. 0 or a negative errno. */
int resolver_ask(int socket, uint64_t number, const char *host, const char *port);

/* Take an answer. -EAGAIN: not that of this question, which comes later; another negative errno: the helper process has ended. */
int resolver_take(int socket, uint64_t number, struct resolver_answer *answer);

#endif /* SIDE_RELAY_RESOLVER_H */
