/* SPDX-License-Identifier: MIT */
/* Looks up host names in a helper process: the sender itself may not read the files that this
   needs. */
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

/* Start the helper process. Returns a socket, or a negative errno. The process ends when the last
   descriptor of the socket is closed. */
int resolver_start(void);

/* The same in this process. */
void resolver_search(const char *host, const char *port, struct resolver_answer *ret_answer);

/* Send a question. Each one has a number of its own. 0 or a negative errno. */
int resolver_ask(int socket, uint64_t number, const char *host, const char *port);

/* Receive an answer. -EAGAIN: it was the answer to another question, call again; another negative
   errno: the helper process has ended. */
int resolver_take(int socket, uint64_t number, struct resolver_answer *answer);

#endif /* SIDE_RELAY_RESOLVER_H */
