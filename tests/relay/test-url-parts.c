/* SPDX-License-Identifier: MIT */
/* Paths that look like hosts, with a simulated list of hosts and a simulated host name. */
#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "../check.h"
#include "../resources.h"
#include "relay/sink.h"

static char hosts_text[512];
static bool no_hosts;
static const char *own_name = "this-host";
static size_t own_size;

static FILE *played_open(const char *path, const char *mode)
{
	CHECK(!strcmp(path, "/etc/hosts") && !strcmp(mode, "re"));
	return no_hosts ? NULL : fmemopen(hosts_text, strlen(hosts_text), "r");
}

/* As in glibc: without a NUL if the name fills the space. */
static int played_name(char *name, size_t size)
{
	own_size = size;
	strncpy(name, own_name, size);
	return 0;
}

static int played_access(const char *path, int mode)
{
	CHECK(mode == F_OK);
	return strcmp(path, "file") != 0 ? -1 : 0;
}

#define fopen(path, mode) played_open(path, mode)
#define gethostname(name, size) played_name(name, size)
#define access(path, mode) played_access(path, mode)
#include "relay/url.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */
#undef fopen

static void find_hosts(void)
{
	no_hosts = false;
	CHECK(relay_url_is_known_host("alpha") && relay_url_is_known_host("beta") &&
			relay_url_is_known_host("delta"));
	CHECK(relay_url_is_known_host("last") && relay_url_is_known_host("ALIAS"));
	CHECK(!relay_url_is_known_host("gamma") && !relay_url_is_known_host("epsilon") &&
			!relay_url_is_known_host("zeta"));
	CHECK(!relay_url_is_known_host("127.0.0.1") && !relay_url_is_known_host("10.0.0.1") &&
			!relay_url_is_known_host("alph"));
	CHECK(!relay_url_is_known_host("") && !relay_url_is_known_host("first"));
	no_hosts = true;
	CHECK(!relay_url_is_known_host("alpha"));
	no_hosts = false;
}

static void test_known_hosts(void)
{
	size_t memory;

	strcpy(hosts_text,
			"# first\n127.0.0.1 alpha\tBeta # gamma\n\n10.0.0.1\n"
			"::1 delta#epsilon\n#1.2.3.4 zeta\n1.1.1.1 last alias");
	find_hosts();
	memory = resources_memory();
	for (unsigned int i = 0; i < 9; i++)
		find_hosts();
	CHECK(resources_memory() == memory);
}

static void test_hosts(void)
{
	static char long_name[300];

	CHECK(relay_url_is_host("10.1.2.3") && relay_url_is_host("fe80::1") &&
			relay_url_is_host("LOCALHOST"));
	CHECK(relay_url_is_host("This-Host") && relay_url_is_host("alias") && own_size == 255);
	CHECK(!relay_url_is_host("10.1.2") && !relay_url_is_host("this") &&
			!relay_url_is_host("somewhere"));
	/* A host without a name, and the longest name. */
	own_name = "";
	CHECK(!relay_url_is_host(""));
	memset(long_name, 'n', sizeof(long_name) - 1);
	own_name = long_name;
	long_name[255] = '\0';
	CHECK(relay_url_is_host(long_name) && !relay_url_is_host("n"));
	own_name = "this-host";
}

static bool return_reason(const char *text, const char *wanted_host, const char *wanted_port)
{
	char host[256], port[16] = "unset";

	memset(host, 'x', sizeof(host) - 1);
	host[255] = '\0';
	return relay_url_is_like_host(text, host, port) && !strcmp(host, wanted_host) &&
			!strcmp(port, wanted_port);
}

static bool is_like_file(const char *text)
{
	char host[256], port[16];

	return !relay_url_is_like_host(text, host, port);
}

static void test_paths(void)
{
	static char text[600];

	CHECK(return_reason("alias", "alias", "") && return_reason("alias/a/b", "alias", ""));
	CHECK(return_reason("far:12345", "far", "12345") && return_reason("[::2]:7/x", "::2", "7"));
	CHECK(is_like_file("file") && is_like_file("file/a") && is_like_file("/alias"));
	CHECK(is_like_file("") && is_like_file("8080") && is_like_file("far") &&
			is_like_file("far:0"));
	/* The longest host. */
	memset(text, '7', sizeof(text) - 1);
	memset(text, 'h', 253);
	strcpy(text + 253, ":7");
	CHECK(!is_like_file(text));
	strcpy(text + 253, "h:7");
	CHECK(is_like_file(text));
}

static bool is_refused(const char *text, const char *hint)
{
	struct error error = {.text = ""};
	struct url url;

	return url_parse(text, &url, &error) == -EINVAL && url.kind == URL_PATH &&
			!strcmp(error.hint, hint) &&
			strstr(error.text, "` is a host without a scheme");
}

static void test_hints(void)
{
	static char text[600], hint[1000];
	struct error error;
	struct url url;

	CHECK(is_refused("alias",
			"`tcp://alias:PORT` is for `side receive`, `net://alias` for a relay daemon, `./alias` for a file of that name"));
	CHECK(is_refused("[::2]:7/x",
			"`tcp://[::2]:7` is for `side receive`, `net://[::2]` for a relay daemon, `./[::2]:7/x` for a file of that name"));
	/* At most 80 letters of the host and of the path. */
	memset(text, 'h', 200);
	strcpy(text + 200, ":7");
	snprintf(hint, sizeof(hint),
			"`tcp://%.80s:7` is for `side receive`, `net://%.80s` for a relay daemon, `./%.80s` for a file of that name",
			text, text, text);
	CHECK(is_refused(text, hint));
	CHECK(!url_parse("net://h", &url, &error) && url.kind == URL_RELAY);
	CHECK(!url_parse("file", &url, &error) && url.kind == URL_PATH);
	relay_url_set_error(&error, "%d", "%s", "%x %%");
	CHECK(!strcmp(error.text, "`%d` %s") && !strcmp(error.hint, "%x %%"));
	CHECK(!url_parse("net://h/100", &url, &error) && !strcmp(url.session, "100"));
}

int main(void)
{
	test_known_hosts();
	test_hosts();
	test_paths();
	test_hints();
	return 0;
}
