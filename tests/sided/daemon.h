/* SPDX-License-Identifier: MIT */
/*
 * Runs the whole daemon in the process of a test, which includes this header once: rounds of its
 * loop, requests, and its reports.
 */
#ifndef TESTS_SIDED_DAEMON_H
#define TESTS_SIDED_DAEMON_H

#include <stdio.h>
#include <stdlib.h>

int sided_main(int argc, char **argv);

#define main sided_main
#include "programs/sided/main.c"
#undef main

#include <ftw.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../resources.h"
#include "sessions/error.h"
#include "sessions/rendezvous.h"
#include "recorder/core/session.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

#define TURNS 200

static FILE *report; /* standard error; the daemon writes to `log_fd` */
static int log_fd;
static char work[] = "/tmp/side-daemon-XXXXXX";
static struct daemon the_daemon;

/* Not that of check.h: standard error is the log of the daemon, whose content is checked. */
#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(report, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static inline void check_text(const char *found, const char *expected)
{
	if (!found || strcmp(found, expected) != 0) {
		fprintf(report, "%s instead of %s\n", found ? found : "nothing", expected);
		abort();
	}
}

/* Returns the reports of the daemon since the last call. */
static const char *reported(void)
{
	static char text[8192];
	ssize_t size = pread(log_fd, text, sizeof(text) - 1, 0);

	CHECK(size >= 0 && !ftruncate(log_fd, 0) && !lseek(log_fd, 0, SEEK_SET));
	text[size] = 0;
	return text;
}

static const char *in_work(const char *name)
{
	static char paths[8][256];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, 256, "%s/%s", work, name);
	return path;
}

static inline void write_text(const char *name, const char *text, size_t size)
{
	int fd = open(in_work(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text, size) == (ssize_t)size);
	close(fd);
}

/* Writes the text after enough blanks to reach that size. */
static inline void write_padded(const char *name, const char *text, size_t size)
{
	size_t length = strlen(text), blanks = size > length ? size - length : 0;
	char *padded = malloc(blanks + length + 1);

	CHECK(padded);
	memset(padded, ' ', blanks);
	memcpy(padded + blanks, text, length + 1);
	write_text(name, padded, blanks + length);
	free(padded);
}

static inline void read_text(const char *name, char *text, size_t capacity)
{
	int fd = open(in_work(name), O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, capacity - 1);

	text[size > 0 ? size : 0] = 0;
	if (fd >= 0)
		close(fd);
}

static inline bool exists(const char *name)
{
	return !access(in_work(name), F_OK);
}

/* ---- The daemon ---- */

static inline void begin_daemon(const char *runtime, int expected, struct error *error)
{
	const struct sided_options options = {.runtime = runtime, .boot = "/none"};

	the_daemon = (struct daemon){.lock_fd = -1,
			.serial = 1,
			.control_listener.fd = -1,
			.agents_listener.fd = -1,
			.signals.fd = -1,
			.uid = geteuid()};
	lines_init(&the_daemon.lines, the_daemon.uid, LIMIT_LINES_OF_ROOT, LIMIT_LINES_OF_MEMBER,
			0);
	sided_raise_file_limit(&the_daemon);
	CHECK(open_daemon(&the_daemon, &options, error) == expected);
}

static inline void begin(void)
{
	struct error error;

	begin_daemon(in_work("run"), 0, &error);
	/* The daemon has no configuration to adopt. */
	(void)reported();
}

static inline void stop_now(struct daemon *daemon, struct timer *timer)
{
	(void)timer;
	daemon->stop = true;
}

/* One round of the loop, without waiting. */
static inline void turn(void)
{
	static struct timer stopper;

	the_daemon.stop = false;
	loop_timer(&the_daemon, &stopper, 0, stop_now);
	CHECK(!loop_run(&the_daemon));
}

static inline int dial(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_work(name));
	CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

static inline bool is_hung_up(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0 || errno == ECONNRESET;
}

/* ---- Requests ---- */

static inline struct json_object *hear(int fd)
{
	struct frame_in in = {.fd = -1};
	struct error error;
	struct json_object *answer = NULL;
	int ret = 0;

	for (int i = 0; i < TURNS && ret != 1 && (!ret || ret == -EAGAIN); i++) {
		turn();
		ret = frame_receive(&in, fd, FRAME_ANSWER_MAX, &answer, &error);
	}
	frame_in_free(&in);
	return ret == 1 ? answer : NULL;
}

static inline void send_text(int fd, const char *text)
{
	struct json_object *request = json_tokener_parse(text);
	struct frame_out out;

	CHECK(request);
	frame_out_init(&out);
	CHECK(!frame_put(&out, request) && !frame_send(&out, fd));
	frame_out_free(&out);
	json_object_put(request);
}

static inline struct json_object *ask(int fd, const char *text)
{
	send_text(fd, text);
	return hear(fd);
}

static const char *text_of(struct json_object *object, const char *name)
{
	struct json_object *member;

	return json_object_object_get_ex(object, name, &member) ? json_object_get_string(member)
								: "";
}

static inline void check_answer(
		struct json_object *answer, const char *kind, const char *text, const char *hint)
{
	struct error error;

	CHECK(answer && json_answer(answer, &error));
	check_text(control_kind_name(error.kind), kind);
	check_text(error.text, text);
	check_text(error.hint, hint);
	json_object_put(answer);
}

static inline void check_good(struct json_object *answer)
{
	struct error error;

	if (!answer || json_answer(answer, &error)) {
		fprintf(report, "%s\n", answer ? error.text : "no answer");
		abort();
	}
	json_object_put(answer);
}

/* ---- Programs ---- */

static unsigned char message[WIRE_MESSAGE_MAX];

static inline void send_message(int fd, ssize_t size)
{
	CHECK(size > 0 && send(fd, message, (size_t)size, MSG_NOSIGNAL) == size);
}

static inline void send_arrive(
		int fd, uint64_t token, enum wire_control control, uint32_t signal_number)
{
	const struct wire_arrive arrive = {.pid = 77,
			.control = control,
			.control_signal = signal_number,
			.token = token,
			.procname = "pro\x01gram",
			.exe = "/bin/program"};

	send_message(fd, wire_encode_arrive(message, sizeof(message), &arrive));
}

/* Returns the next WELCOME, and its reason. */
static inline struct wire_welcome hear_welcome(int fd, char reason[128])
{
	struct wire_welcome welcome = {.accepted = false};
	ssize_t size = -1;

	for (int i = 0; i < TURNS && size <= 0; i++) {
		turn();
		size = recv(fd, message, sizeof(message), MSG_DONTWAIT);
	}
	CHECK(size > 0 && !wire_decode_welcome(message, (size_t)size, &welcome));
	snprintf(reason, 128, "%s", welcome.reason);
	return welcome;
}

static inline void check_protocol(int fd, const char *expected)
{
	char reason[128];

	CHECK(!hear_welcome(fd, reason).accepted);
	check_text(reason, expected);
	CHECK(is_hung_up(fd));
	close(fd);
}

static inline int arrive(uint64_t token, enum wire_control control, uint32_t signal_number)
{
	int fd = dial("run/agents.sock");
	struct wire_welcome welcome;
	char reason[128];

	send_arrive(fd, token, control, signal_number);
	welcome = hear_welcome(fd, reason);
	CHECK(welcome.accepted && welcome.serial == the_daemon.serial && !welcome.nr_sessions &&
			!*reason);
	return fd;
}

static inline struct sided_program *only_program(void)
{
	struct sided_program *program =
			the_daemon.programs[(unsigned int)getpid() % PROGRAM_BUCKETS];

	CHECK(program && !program->next && program->pid == getpid() &&
			programs_count(&the_daemon, SCOPE_ALL) == 1);
	return program;
}

static inline void sessions_print_done(int fd, uint64_t token, uint64_t serial)
{
	const struct wire_done done = {.token = token, .serial = serial, .state = WIRE_DONE_ALL};

	send_message(fd, wire_encode_done(message, sizeof(message), &done));
}

/* ---- The directory of the test ---- */

static inline bool make_work(void)
{
	umask(077);
	report = fdopen(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), "w");
	log_fd = memfd_create("log", MFD_CLOEXEC);
	if (!report || log_fd < 0 || !mkdtemp(work))
		return false;
	setvbuf(report, NULL, _IONBF, 0);
	CHECK(dup2(log_fd, STDERR_FILENO) == STDERR_FILENO);
	return true;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

/* Ends the daemon and removes its files. */
static inline void end(void)
{
	close_daemon(&the_daemon);
	CHECK(!the_daemon.client_shares.users && !the_daemon.unidentified_shares.users &&
			!the_daemon.rendezvous_shares.users && !the_daemon.program_shares.users);
	CHECK(!objects_left() && !exists("run/sided.pid") && !exists("run/control.sock"));
	CHECK(!nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS));
	CHECK(dup2(fileno(report), STDERR_FILENO) == STDERR_FILENO);
	fclose(report);
	close(log_fd);
}

#define GO "{\"version\":1,\"verb\":"

#endif /* TESTS_SIDED_DAEMON_H */
