/* SPDX-License-Identifier: MIT */
/* Parses URLs of receivers: net://, tcp://, a path, or standard output. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "relay/send.h"
#include "relay/sink.h"

#define RELAY_CONTROL_PORT "5342"
#define RELAY_DATA_PORT "5343"
#define RELAY_FORM "write `net://HOST[:CONTROL[:DATA]][/SESSION]`"

static int relay_url_set_error(
		struct error *error, const char *text, const char *why, const char *hint)
{
	return error_set_kind(error, ERROR_USAGE, -EINVAL, hint, "`%.200s` %s", text, why);
}

/* True for 1 to 65535 in digits. */
static bool relay_url_is_port(const char *text, size_t size)
{
	unsigned int number = 0;

	if (!size || size > 5)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (unsigned int)(text[i] - '0');
	}
	return number && number < 65536;
}

static bool relay_url_copy_part(char *to, size_t capacity, const char *from, size_t size)
{
	if (size >= capacity)
		return false;
	memcpy(to, from, size);
	to[size] = '\0';
	return true;
}

/*
 * Reads the host, which is in brackets if it contains colons; *ret_remainder is the text after it.
 */
static bool relay_url_read_host(
		const char *text, char *ret_host, size_t capacity, const char **ret_remainder)
{
	size_t size;

	if (*text == '[') {
		const char *end = strchr(text, ']');

		if (!end)
			return false;
		*ret_remainder = end + 1;
		return relay_url_copy_part(ret_host, capacity, text + 1, (size_t)(end - text - 1));
	}
	size = strcspn(text, ":/");
	*ret_remainder = text + size;
	return relay_url_copy_part(ret_host, capacity, text, size);
}

/* Reads ":PORT" if there is one. False: it is invalid. */
static bool relay_url_read_port(const char **ret_remainder, char *ret_port, size_t capacity)
{
	size_t size;

	if (**ret_remainder != ':')
		return true;
	size = strcspn(*ret_remainder + 1, ":/");
	if (!relay_url_is_port(*ret_remainder + 1, size) ||
			!relay_url_copy_part(ret_port, capacity, *ret_remainder + 1, size))
		return false;
	*ret_remainder += 1 + size;
	return true;
}

int url_parse_host_port(const char *text, char *ret_host, size_t host_capacity, char *ret_port,
		size_t port_capacity)
{
	const char *remainder;

	*ret_port = '\0';
	if (relay_url_is_port(text, strlen(text))) {
		*ret_host = '\0';
		return relay_url_copy_part(ret_port, port_capacity, text, strlen(text)) ? 0
											: -EINVAL;
	}
	if (!relay_url_read_host(text, ret_host, host_capacity, &remainder) ||
			!relay_url_read_port(&remainder, ret_port, port_capacity) || *remainder ||
			!*ret_port)
		return -EINVAL;
	return 0;
}

static bool relay_url_is_session_name(const char *name)
{
	return *name && *name != '.' && *name != '-' && strlen(name) <= 200 &&
			!name[strspn(name,
					"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234"
					"56789_.-")];
}

static int relay_url_parse_relay(const char *text, struct url *url, struct error *error)
{
	const char *remainder;

	url->kind = URL_RELAY;
	snprintf(url->port, sizeof(url->port), "%s", RELAY_CONTROL_PORT);
	snprintf(url->data_port, sizeof(url->data_port), "%s", RELAY_DATA_PORT);
	if (!relay_url_read_host(
			    text + strlen("net://"), url->host, sizeof(url->host), &remainder) ||
			!*url->host)
		return relay_url_set_error(error, text, "has no host", RELAY_FORM);
	if (!relay_url_read_port(&remainder, url->port, sizeof(url->port)) ||
			!relay_url_read_port(&remainder, url->data_port, sizeof(url->data_port)) ||
			(*remainder && *remainder != '/'))
		return relay_url_set_error(error, text, "has an invalid port", RELAY_FORM);
	if (*remainder && remainder[1] && !relay_url_is_session_name(remainder + 1))
		return relay_url_set_error(error, text,
				"has an invalid session name: use letters, digits, `_`, `.` and `-`",
				RELAY_FORM);
	snprintf(url->session, sizeof(url->session), "%s", *remainder ? remainder + 1 : "");
	return 0;
}

/* ---- a host without a scheme, which would be used as the name of a file ---- */

static bool relay_url_is_known_host(const char *name)
{
	static const char blanks[] = " \t\n";
	FILE *hosts = fopen("/etc/hosts", "re");
	char *line = NULL, *state;
	bool found = false;
	size_t capacity = 0;

	while (hosts && !found && getline(&line, &capacity, hosts) > 0) {
		line[strcspn(line, "#")] = '\0';
		(void)strtok_r(line, blanks, &state); /* The address. */
		for (char *each; !found && (each = strtok_r(NULL, blanks, &state));)
			found = !strcasecmp(each, name);
	}
	free(line);
	if (hosts)
		fclose(hosts);
	return found;
}

/*
 * Does not ask DNS: most names without a scheme are those of files, and a query may take seconds.
 */
static bool relay_url_is_host(const char *name)
{
	unsigned char address[16];
	char own[256] = "";

	gethostname(own, sizeof(own) - 1);
	return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1 ||
			!strcasecmp(name, "localhost") || (*own && !strcasecmp(name, own)) ||
			relay_url_is_known_host(name);
}

/*
 * True if the text before the first slash is HOST:PORT, or a HOST that relay_url_is_host() knows,
 * and no file or directory has that name. *ret_port is "" if there is none.
 */
static bool relay_url_is_like_host(const char *text, char ret_host[256], char ret_port[16])
{
	size_t size = strcspn(text, "/");
	char first[256];

	if (!size || !relay_url_copy_part(first, sizeof(first), text, size) || !access(first, F_OK))
		return false;
	if (!url_parse_host_port(first, ret_host, 256, ret_port, 16))
		return *ret_host;
	*ret_port = '\0';
	return relay_url_is_host(first) && relay_url_copy_part(ret_host, 256, first, size);
}

static int relay_url_parse_path(const char *text, struct url *url, struct error *error)
{
	char host[256], port[16], hint[ERROR_HINT_SIZE];
	const char *open, *close;

	url->kind = URL_PATH;
	if (!*text || !relay_url_copy_part(url->path, sizeof(url->path), text, strlen(text)))
		return relay_url_set_error(error, text, "is not a path", "");
	if (!relay_url_is_like_host(text, host, port))
		return 0;
	open = strchr(host, ':') ? "[" : "";
	close = *open ? "]" : "";
	snprintf(hint, sizeof(hint),
			"`tcp://%s%.80s%s:%s` is for `side receive`, `net://%s%.80s%s` for a relay daemon, `./%.80s` for a file of that name",
			open, host, close, *port ? port : "PORT", open, host, close, text);
	return relay_url_set_error(error, text, "is a host without a scheme", hint);
}

int url_parse(const char *text, struct url *ret_url, struct error *error)
{
	memset(ret_url, 0, sizeof(*ret_url));
	if (!strncmp(text, "net://", 6))
		return relay_url_parse_relay(text, ret_url, error);
	if (!strncmp(text, "tcp://", 6)) {
		ret_url->kind = URL_TCP;
		if (url_parse_host_port(text + 6, ret_url->host, sizeof(ret_url->host),
				    ret_url->port, sizeof(ret_url->port)) ||
				!*ret_url->host)
			return relay_url_set_error(error, text, "is not an address",
					"write `tcp://HOST:PORT`");
		return 0;
	}
	if (strstr(text, "://"))
		return relay_url_set_error(error, text, "has an unknown scheme",
				"the addresses are tcp://HOST:PORT, net://HOST (a relay daemon), a path, and `-`");
	if (!strcmp(text, "-")) {
		ret_url->kind = URL_STANDARD;
		return 0;
	}
	return relay_url_parse_path(text, ret_url, error);
}

/* In this file, so that a program that only checks URLs links nothing else of the module. */
int url_check(const char *text, bool *ret_ctf1_only, struct error *error)
{
	struct url url;
	int ret = url_parse(text, &url, error);

	if (!ret && ret_ctf1_only)
		*ret_ctf1_only = url.kind == URL_RELAY;
	return ret;
}
