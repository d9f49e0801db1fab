/* SPDX-License-Identifier: MIT */
/*
 * A client of a daemon, as which the test acts: the search for the daemon, the request, and each
 * failure of an answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "sessions/client.h"
#include "sessions/json.h"

static char directory[] = "/tmp/side-test-client-XXXXXX";
static struct error error;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static int listen_at(void)
{
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 4), 0);
	return listener;
}

static unsigned int open_fds(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Compares with the text, in which @ stands for the path of the socket. */
static void assert_error(const char *text)
{
	const char *at = strchr(text, '@');
	char wanted[512];

	if (at)
		snprintf(wanted, sizeof(wanted), "%.*s%s%s", (int)(at - text), text,
				address.sun_path, at + 1);
	assert_string_equal(error.text, at ? wanted : text);
}

static void assert_no_client(enum control_where where, int ret, enum error_kind kind,
		const char *text, const char *hint)
{
	struct control_client *client = (struct control_client *)&error;

	assert_int_equal(control_connect(where, false, &client, &error), ret);
	assert_null(client);
	assert_int_equal(error.kind, kind);
	assert_error(text);
	assert_string_equal(error.hint, hint);
}

static void test_no_daemon(void **unused)
{
	unsigned int before = open_fds();
	struct control_client *client;
	char long_path[200];
	int listener;

	(void)unused;
	assert_no_client(CONTROL_ANY, -ENOENT, ERROR_NOT_FOUND, "no daemon listens at @",
			"`side daemon` starts it");
	/* The socket of a daemon that has exited. */
	listener = listen_at();
	close(listener);
	assert_no_client(CONTROL_USER, -ECONNREFUSED, ERROR_NOT_FOUND, "no daemon listens at @",
			"`side daemon` starts it");
	unlink(address.sun_path);
	/* A directory that others may write to is not trusted. */
	listener = listen_at();
	assert_int_equal(chmod(directory, 0777), 0);
	assert_no_client(CONTROL_USER, -EPERM, ERROR_PERMISSION,
			"no permission to connect to the daemon at @", "");
	assert_int_equal(chmod(directory, 0700), 0);
	assert_int_equal(control_connect(CONTROL_USER, false, &client, &error), 0);
	assert_string_equal(control_path(client), address.sun_path);
	control_close(client);
	close(listener);
	unlink(address.sun_path);
	/* With SIDE_RUNTIME, the system's daemon is not used. */
	assert_int_equal(control_connect(CONTROL_SYSTEM, false, &client, &error), -ENOENT);
	assert_string_equal(error.hint, "`systemctl start sided` starts it");
	/* A path that is too long for a socket. */
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	*long_path = '/';
	setenv("SIDE_RUNTIME", long_path, 1);
	assert_int_equal(control_connect(CONTROL_USER, false, &client, &error), -ENAMETOOLONG);
	assert_int_equal(error.kind, ERROR_FAILED);
	setenv("SIDE_RUNTIME", directory, 1);
	control_close(NULL);
	assert_int_equal(open_fds(), before);
}

/* ---- a daemon that answers once ---- */

static struct played {
	int listener;
	/* NULL: close the connection; "": send nothing until the client has closed */
	const char *answer;
	char got[512];
	bool has_fd;
} played;

static void *play(void *unused)
{
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = played.got, .iov_len = sizeof(played.got) - 1};
	struct msghdr header = {.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control)};
	int fd = accept(played.listener, NULL, NULL);
	ssize_t size = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	struct cmsghdr *attached = CMSG_FIRSTHDR(&header);

	played.got[size > 0 ? size : 0] = '\0';
	played.has_fd = attached != NULL;
	if (attached) {
		int passed;

		memcpy(&passed, CMSG_DATA(attached), sizeof(passed));
		close(passed);
	}
	if (played.answer && *played.answer)
		(void)!send(fd, played.answer, strlen(played.answer), MSG_NOSIGNAL);
	if (played.answer && !*played.answer)
		(void)!recv(fd, played.got + 256, 1, 0);
	close(fd);
	return unused;
}

/* Returns the result of one call, and the request that the daemon received. */
static int call(const char *answer, int fd, int timeout_ms, struct json_object **got)
{
	struct json_object *request = control_request("list", "s");
	struct control_client *client;
	pthread_t thread;
	int ret;

	played = (struct played){.listener = listen_at(), .answer = answer};
	assert_int_equal(pthread_create(&thread, NULL, play, NULL), 0);
	assert_int_equal(control_connect(CONTROL_USER, false, &client, &error), 0);
	assert_true(control_fd(client) >= 0);
	ret = control_call_with(client, request, fd, timeout_ms, got, &error);
	json_object_put(request);
	control_close(client);
	pthread_join(thread, NULL);
	close(played.listener);
	unlink(address.sun_path);
	return ret;
}

static void test_calls(void **unused)
{
	unsigned int before = open_fds();
	struct json_object *got = NULL, *value;

	(void)unused;
	assert_int_equal(call("{\"ok\":true,\"n\":5}", -1, 10000, &got), 0);
	assert_int_equal(error.kind, ERROR_NONE);
	assert_true(json_object_object_get_ex(got, "n", &value));
	assert_int_equal(json_object_get_int(value), 5);
	json_object_put(got);
	assert_string_equal(played.got, "{\"version\":1,\"verb\":\"list\",\"session\":\"s\"}");
	assert_false(played.has_fd);
	/* The client passes a descriptor, and ignores the answer. */
	assert_int_equal(call("{\"ok\":true}", STDOUT_FILENO, 10000, NULL), 0);
	assert_true(played.has_fd);
	got = (struct json_object *)&error;
	assert_int_equal(call("{\"ok\":false,\"kind\":\"busy\",\"error\":\"e\",\"hint\":\"h\"}", -1,
					 10000, &got),
			-EREMOTEIO);
	assert_null(got);
	assert_error("e");
	assert_string_equal(error.hint, "h");
	assert_int_equal(call("nonsense", -1, 10000, &got), -EINVAL);
	assert_null(got);
	assert_int_equal(call(NULL, -1, 10000, &got), -EPIPE);
	assert_error("the daemon at @ has closed the connection");
	assert_string_equal(error.hint, "if it was restarted, try again; see the daemon's log");
	assert_int_equal(call("", -1, 1, &got), -ETIMEDOUT);
	assert_error("the daemon at @ does not answer");
	assert_int_equal(error.kind, ERROR_FAILED);
	assert_int_equal(open_fds(), before);
}

static void test_requests(void **unused)
{
	struct json_object *request = control_request("create", NULL);

	(void)unused;
	assert_string_equal(json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN),
			"{\"version\":1,\"verb\":\"create\"}");
	json_object_put(request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_no_daemon),
			cmocka_unit_test(test_calls),
			cmocka_unit_test(test_requests),
	};
	int ret;

	if (!mkdtemp(directory))
		return 1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock", directory);
	setenv("SIDE_RUNTIME", directory, 1);
	unsetenv("SIDE_CONTROL");
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return ret;
}
