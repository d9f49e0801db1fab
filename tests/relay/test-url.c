/* SPDX-License-Identifier: MIT */
/*
 * Addresses of senders and receivers: each part at its limit, and each mistake with its own error
 * and hint.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "relay/send.h"
#include "relay/sink.h"

#define RELAY_FORM "write `net://HOST[:CONTROL[:DATA]][/SESSION]`"

/* The same letter, `count` times. */
static const char *letters(char *to, size_t count)
{
	memset(to, 'h', count);
	to[count] = '\0';
	return to;
}

static void accepted(const char *text, enum url_kind kind, const char *host, const char *port,
		const char *data_port, const char *session)
{
	struct error error = {.text = ""};
	bool ctf1_only = kind != URL_RELAY;
	struct url url;

	memset(&url, 0x55, sizeof(url));
	assert_int_equal(url_parse(text, &url, &error), 0);
	assert_int_equal(url.kind, kind);
	assert_string_equal(url.host, host);
	assert_string_equal(url.port, port);
	assert_string_equal(url.data_port, data_port);
	assert_string_equal(url.session, session);
	assert_string_equal(url.path, kind == URL_PATH ? text : "");
	assert_int_equal(url_check(text, &ctf1_only, &error), 0);
	assert_int_equal(ctf1_only, kind == URL_RELAY);
	assert_int_equal(url_check(text, NULL, &error), 0);
}

static void refused(const char *text, const char *problem, const char *hint)
{
	struct error error = {.text = ""};
	bool ctf1_only = true;
	struct url url;
	char expected[600];

	(void)snprintf(expected, sizeof(expected), "`%.200s` %s", text, problem);
	assert_int_equal(url_parse(text, &url, &error), -EINVAL);
	assert_string_equal(error.text, expected);
	assert_string_equal(error.hint, hint);
	assert_int_equal(url_check(text, &ctf1_only, &error), -EINVAL);
	assert_true(ctf1_only);
}

static void test_relay(void **unused)
{
	char name[300], text[600];

	(void)unused;
	accepted("net://h", URL_RELAY, "h", "5342", "5343", "");
	accepted("net://h/", URL_RELAY, "h", "5342", "5343", "");
	accepted("net://h:1", URL_RELAY, "h", "1", "5343", "");
	accepted("net://h:12:345/s_1.A-z", URL_RELAY, "h", "12", "345", "s_1.A-z");
	accepted("net://[::1]:12/s", URL_RELAY, "::1", "12", "5343", "s");
	refused("net://", "has no host", RELAY_FORM);
	refused("net://:1", "has no host", RELAY_FORM);
	refused("net://[::1", "has no host", RELAY_FORM);
	refused("net://[]", "has no host", RELAY_FORM);
	refused("net://h:", "has an invalid port", RELAY_FORM);
	refused("net://h:1:", "has an invalid port", RELAY_FORM);
	refused("net://h:1:2:3", "has an invalid port", RELAY_FORM);
	refused("net://[h]x", "has an invalid port", RELAY_FORM);
#define NAME_ERROR "has an invalid session name: use letters, digits, `_`, `.` and `-`"
	refused("net://h/.s", NAME_ERROR, RELAY_FORM);
	refused("net://h/-s", NAME_ERROR, RELAY_FORM);
	refused("net://h/s/t", NAME_ERROR, RELAY_FORM);
	(void)snprintf(text, sizeof(text), "net://h/%s", letters(name, 200));
	accepted(text, URL_RELAY, "h", "5342", "5343", letters(name, 200));
	(void)snprintf(text, sizeof(text), "net://h/%s", letters(name, 201));
	refused(text, NAME_ERROR, RELAY_FORM);
	(void)snprintf(text, sizeof(text), "net://%s", letters(name, 255));
	accepted(text, URL_RELAY, letters(name, 255), "5342", "5343", "");
	(void)snprintf(text, sizeof(text), "net://%s", letters(name, 256));
	refused(text, "has no host", RELAY_FORM);
	(void)snprintf(text, sizeof(text), "net://[%s]", letters(name, 255));
	accepted(text, URL_RELAY, letters(name, 255), "5342", "5343", "");
	(void)snprintf(text, sizeof(text), "net://[%s]", letters(name, 256));
	refused(text, "has no host", RELAY_FORM);
}

static void test_tcp(void **unused)
{
	static const char hint[] = "write `tcp://HOST:PORT`";

	(void)unused;
	accepted("tcp://h:1", URL_TCP, "h", "1", "", "");
	accepted("tcp://h:65535", URL_TCP, "h", "65535", "", "");
	accepted("tcp://[fe80::2]:00080", URL_TCP, "fe80::2", "00080", "", "");
	refused("tcp://h", "is not an address", hint);
	refused("tcp://h:0", "is not an address", hint);
	refused("tcp://h:65536", "is not an address", hint);
	refused("tcp://h:99999", "is not an address", hint);
	refused("tcp://h:000080", "is not an address", hint);
	refused("tcp://h:8/", "is not an address", hint);
	refused("tcp://h:8:9", "is not an address", hint);
	refused("tcp://h:/8", "is not an address", hint);
	refused("tcp://h:8:", "is not an address", hint);
	refused("tcp://h:8;", "is not an address", hint);
	refused("tcp://:8", "is not an address", hint);
	/* An address that is permitted for listening only. */
	refused("tcp://8", "is not an address", hint);
}

static void test_host_port(void **unused)
{
	char host[4], port[3];

	(void)unused;
	assert_int_equal(url_parse_host_port("90", host, sizeof(host), port, sizeof(port)), 0);
	assert_string_equal(host, "");
	assert_string_equal(port, "90");
	assert_int_equal(url_parse_host_port("900", host, sizeof(host), port, sizeof(port)),
			-EINVAL);
	assert_int_equal(url_parse_host_port("abc:90", host, sizeof(host), port, sizeof(port)), 0);
	assert_string_equal(host, "abc");
	assert_string_equal(port, "90");
	assert_int_equal(url_parse_host_port("abcd:90", host, sizeof(host), port, sizeof(port)),
			-EINVAL);
	assert_int_equal(url_parse_host_port("abc:900", host, sizeof(host), port, sizeof(port)),
			-EINVAL);
	assert_int_equal(url_parse_host_port("abc", host, sizeof(host), port, sizeof(port)),
			-EINVAL);
}

static void test_paths(void **unused)
{
	static char path[4097];
	struct error error = {.text = ""};
	struct url url;

	(void)unused;
	accepted("-", URL_STANDARD, "", "", "", "");
	accepted("--", URL_PATH, "", "", "", "");
	accepted("a:b", URL_PATH, "", "", "", "");
	accepted("/a/b", URL_PATH, "", "", "", "");
	accepted("8080", URL_PATH, "", "", "", "");
	refused("", "is not a path", "");
	refused("ftp://h", "has an unknown scheme",
			"the addresses are tcp://HOST:PORT, net://HOST (a relay daemon), a path, and `-`");
	memset(path, 'p', sizeof(path) - 1);
	path[0] = '/';
	path[4095] = '\0';
	accepted(path, URL_PATH, "", "", "", "");
	path[4095] = 'p';
	assert_int_equal(url_parse(path, &url, &error), -EINVAL);
	assert_non_null(strstr(error.text, "` is not a path"));
}

#define HINT(tcp, net, path)                                                                  \
	"`tcp://" tcp "` is for `side receive`, `net://" net "` for a relay daemon, `./" path \
	"` for a file of that name"

static void test_hosts(void **unused)
{
	static const char problem[] = "is a host without a scheme";

	(void)unused;
	refused("127.0.0.1", problem, HINT("127.0.0.1:PORT", "127.0.0.1", "127.0.0.1"));
	refused("::1", problem, HINT("[::1]:PORT", "[::1]", "::1"));
	refused("[::1]:7", problem, HINT("[::1]:7", "[::1]", "[::1]:7"));
	refused("far:9/s", problem, HINT("far:9", "far", "far:9/s"));
	refused("LocalHost/s", problem, HINT("LocalHost:PORT", "LocalHost", "LocalHost/s"));
}

/* Addresses that cannot be opened. No descriptor stays open. */
static void test_sources(void **unused)
{
	struct error error = {.text = ""};
	struct resources before;
	char file[] = "/tmp/side-source-XXXXXX";
	bool answers = true;
	int fd = mkstemp(file), other;

	(void)unused;
	assert_true(fd >= 0);
	close(fd);
	before = resources_now();
	assert_int_equal(send_source("net://h", 0, -1, &answers, &error), -EINVAL);
	assert_string_equal(error.text,
			"`net://h` is a relay daemon, from which viewers read: write tcp://HOST:PORT, a path, or `-`");
	assert_false(answers);
	assert_int_equal(send_source("tcp://h", 0, -1, &answers, &error), -EINVAL);
	assert_string_equal(error.text, "`tcp://h` is not an address");
	assert_int_equal(send_source("/nowhere/at-all", 0, -1, &answers, &error), -ENOENT);
	assert_string_equal(error.text, "cannot read /nowhere/at-all: No such file or directory");
	/* Port 1 (tcpmux) is not served. */
	assert_true(send_source("tcp://127.0.0.1:1", 0, -1, &answers, &error) < 0);
	assert_string_equal(error.text, "cannot reach 127.0.0.1, port 1: Connection refused");
	assert_true(answers);
	fd = send_source(file, 0, -1, &answers, &error);
	assert_true(fd >= 0);
	assert_false(answers);
	other = send_source("-", 0, -1, &answers, &error);
	assert_true(other > 2 && other != fd);
	assert_int_equal(fcntl(other, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(other);
	close(fd);
	unlink(file);
	/* A terminal, which has a speed. */
	fd = posix_openpt(O_RDWR | O_NOCTTY);
	if (fd >= 0 && !grantpt(fd) && !unlockpt(fd)) {
		const char *name = ptsname(fd);

		assert_int_equal(send_source(name, 12345, -1, &answers, &error), -EINVAL);
		assert_non_null(strstr(
				error.text, ": this speed is not possible on a serial line"));
		other = send_source(name, 4000000, -1, &answers, &error);
		assert_true(other >= 0);
		close(other);
	}
	close(fd);
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_relay),
			cmocka_unit_test(test_tcp),
			cmocka_unit_test(test_host_port),
			cmocka_unit_test(test_paths),
			cmocka_unit_test(test_hosts),
			cmocka_unit_test(test_sources),
	};

	/* No file there has the name of a host. */
	if (chdir("/"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
