/* SPDX-License-Identifier: MIT */
/*
 * `side receive` with connections, a clock and a parser that the test plays: the output, refused
 * and silent connections, peers with too many connections, the end, and the summary.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "programs/common/command.h"
#include "programs/side/cli/confine.h"
#include "programs/common/message.h"
#include "relay/receive.h"
#include "relay/send.h"

/* ---- what is printed ---- */

static int printed_file, saved;

static void begin_output(bool is_json, bool plan_is_gp_only)
{
	const struct common_options common = {
			.json = is_json, .quiet = plan_is_gp_only, .color = COLOR_NEVER};

	output_start(&common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
	fflush(NULL);
	assert_int_equal(dup2(printed_file, STDERR_FILENO), STDERR_FILENO);
}

static void assert_output(const char *expected)
{
	char text[4000];
	ssize_t size;

	fflush(NULL);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

static char work[] = "/tmp/side-receive-calls-XXXXXX";

static const char *in_work(const char *name)
{
	static char paths[4][200];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", work, name);
	return path;
}

/* ---- the parser ---- */

static struct receive *const the_receive = (struct receive *)(uintptr_t)0x1000;
static int nr_open, bytes_result, source_result;
static bool no_source, is_done, is_known[70], source_answers;
static struct receive_summary final;
static unsigned int nr_losses;
static int64_t monotonic_ms;
static size_t answer_size;

static struct receive_source *played_open(const struct receive *receive, bool answers)
{
	assert_ptr_equal(receive, the_receive);
	called("source %d;", answers);
	if (no_source)
		return NULL;
	nr_open++;
	return (struct receive_source *)(uintptr_t)0x2000;
}

static void played_source_close(const struct receive_source *source)
{
	assert_non_null(source);
	nr_open--;
}

static bool played_known(const struct receive_source *source)
{
	return is_known[(uintptr_t)source - 0x2000];
}

static int played_bytes(const struct receive_source *source, const void *bytes, size_t size)
{
	(void)source;
	called("bytes %.*s;", (int)size, (const char *)bytes);
	return bytes_result;
}

static size_t played_answer(
		const struct receive_source *source, unsigned char answer[RECEIVE_ANSWER_MAX])
{
	(void)source;
	memcpy(answer, "thanks", 6);
	return answer_size;
}

static bool played_over(const struct receive *receive)
{
	assert_ptr_equal(receive, the_receive);
	return is_done;
}

static void played_finish(const struct receive *receive, struct receive_summary *summary)
{
	assert_ptr_equal(receive, the_receive);
	*summary = final;
}

static void played_each(const struct receive *receive, receive_loss *loss, void *user)
{
	assert_ptr_equal(receive, the_receive);
	for (unsigned int i = 0; i < nr_losses; i++)
		loss(user, "trace", "str\"eam", 2, 3 + i, 4);
}

static int played_create(const struct receive_options *options, struct receive **receive)
{
	assert_non_null(options->log_message);
	options->log_message(NULL, true, "100 % done");
	options->log_message(NULL, false, "50 % of it");
	*receive = the_receive;
	return 0;
}

static void played_destroy(const struct receive *receive)
{
	called("destroy %d;", receive == the_receive);
}

static int played_source(
		const char *url, uint32_t speed, int stop_fd, bool *answers, struct error *error)
{
	assert_true(stop_fd >= 0);
	called("open %s %u;", url, speed);
	*answers = source_answers;
	if (source_result)
		error_set(error, source_result, source_result == -EINVAL ? "a hint" : NULL,
				"100 %% d");
	return source_result < 0 ? source_result : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int played_clock(clockid_t clock, struct timespec *now)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*now = (struct timespec){monotonic_ms / 1000, monotonic_ms % 1000 * 1000000 + 999999};
	return 0;
}

static bool has_filter;

static bool played_confine(const char *output)
{
	called("confine %s;", output);
	return has_filter;
}

#define receive_source_open played_open
#define receive_source_close played_source_close
#define receive_source_is_known played_known
#define receive_bytes played_bytes
#define receive_answer played_answer
#define receive_is_over played_over
#define receive_finish played_finish
#define receive_each_loss played_each
#define receive_create played_create
#define receive_destroy played_destroy
#define send_source played_source
#define clock_gettime played_clock
#define confine_receiver played_confine
#include "programs/side/relay/receive.c"
#undef clock_gettime

/* ---- the output ---- */

static void test_output(void **unused)
{
	unsigned int before = resources_descriptors();
	char text[400], name[64] = "";
	struct stat status;
	FILE *file;

	(void)unused;
	assert_int_equal(receive_make_output(in_work("new"), false), 0);
	assert_int_equal(stat(in_work("new"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0750);
	assert_int_equal(receive_make_output(in_work("new"), false), 0);
	file = fopen(in_work("new/.file"), "we");
	assert_non_null(file);
	fclose(file);
	begin_output(false, false);
	assert_int_equal(receive_make_output(in_work("new"), false), COMMAND_FAILED);
	snprintf(text, sizeof(text),
			"side: %s is not empty\nhint: `-o DIRECTORY` names another one\nhint: `--force` adds to it\n",
			in_work("new"));
	assert_output(text);
	assert_int_equal(receive_make_output(in_work("new"), true), 0);
	begin_output(false, false);
	assert_int_equal(receive_make_output(in_work("none/new"), false), COMMAND_FAILED);
	snprintf(text, sizeof(text), "side: cannot write to %s: No such file or directory\n",
			in_work("none/new"));
	assert_output(text);
	assert_int_equal(unlink(in_work("new/.file")), 0);
	assert_int_equal(rmdir(in_work("new")), 0);
	receive_default_output(name, sizeof(name));
	assert_int_equal(strlen(name), strlen("side-20261127-031500"));
	assert_memory_equal(name, "side-2", 6);
	assert_int_equal(resources_descriptors(), before);
}

/* ---- connections ---- */

static void add_many(struct reception *reception, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		reception->sources[i] = (struct receive_connection){.fd = dup(0),
				.receive = (struct receive_source *)(uintptr_t)(0x2000 + i)};
	reception->nr_sources = count;
	nr_open = (int)count;
}

static void close_all(struct reception *reception)
{
	while (reception->nr_sources)
		receive_end_source(reception, &reception->sources[0]);
	assert_int_equal(nr_open, 0);
}

static void test_sources(void **unused)
{
	struct reception reception = {.receive = the_receive};
	unsigned int before = resources_descriptors();
	int ends[2];

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	assert_true(receive_add_source(&reception, ends[0], false));
	assert_true(receive_add_source(&reception, ends[1], true));
	assert_called("source 0;source 1;");
	assert_int_equal(reception.nr_sources, 2);
	assert_true(!reception.sources[0].answers && !reception.sources[0].endless);
	assert_true(reception.sources[1].answers && reception.sources[1].endless);
	no_source = true;
	assert_false(receive_add_source(&reception, 0, true));
	assert_int_equal(reception.nr_sources, 2);
	no_source = false;
	receive_end_source(&reception, &reception.sources[0]);
	assert_int_equal(reception.nr_sources, 1);
	assert_int_equal(reception.sources[0].fd, ends[1]);
	close_all(&reception);
	/* 64 at most. */
	add_many(&reception, 63);
	assert_true(receive_add_source(&reception, dup(0), true));
	assert_false(receive_add_source(&reception, 0, true));
	assert_int_equal(reception.nr_sources, 64);
	close_all(&reception);
	*calls = '\0';
	assert_int_equal(resources_descriptors(), before);
}

static struct sockaddr_storage peer_of(bool is_6, unsigned char last, uint16_t port)
{
	struct sockaddr_storage peer = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)(void *)&peer;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&peer;

	if (is_6) {
		six->sin6_family = AF_INET6;
		six->sin6_port = port;
		six->sin6_addr.s6_addr[15] = last;
	} else {
		four->sin_family = AF_INET;
		four->sin_port = port;
		four->sin_addr.s_addr = last;
	}
	return peer;
}

static void test_peers(void **unused)
{
	struct reception reception = {.receive = the_receive};
	struct sockaddr_storage four = peer_of(false, 1, 5), six = peer_of(true, 1, 5), other;

	(void)unused;
	for (int is_6 = 0; is_6 < 2; is_6++) {
		other = peer_of(is_6, 1, 7);
		assert_true(receive_is_same_peer(is_6 ? &six : &four, &other));
		other = peer_of(is_6, 2, 5);
		assert_false(receive_is_same_peer(is_6 ? &six : &four, &other));
		assert_false(receive_is_same_peer(is_6 ? &four : &six, &other));
	}
	other = (struct sockaddr_storage){.ss_family = AF_UNIX};
	assert_false(receive_is_same_peer(&other, &other));
	/* 32 of one address that were accepted. */
	for (unsigned int i = 0; i < 33; i++)
		reception.sources[i] = (struct receive_connection){.since = i > 0, .peer = four};
	reception.sources[33] = (struct receive_connection){.since = 1, .peer = six};
	reception.nr_sources = 34;
	assert_true(receive_has_too_many(&reception, &four));
	assert_false(receive_has_too_many(&reception, &six));
	reception.sources[32].peer = six;
	assert_false(receive_has_too_many(&reception, &four));
}

static void test_silent(void **unused)
{
	struct reception reception = {.receive = the_receive};
	unsigned int before = resources_descriptors();

	(void)unused;
	monotonic_ms = 111000;
	assert_int_equal(receive_end_silent(&reception), -1);
	add_many(&reception, 4);
	memset(is_known, 0, sizeof(is_known));
	is_known[2] = true;
	reception.sources[0].since = 105; /* until 116 s */
	reception.sources[1].since = 102; /* until 113 s */
	reception.sources[2].since = 1;
	assert_int_equal(receive_end_silent(&reception), 2000);
	assert_int_equal(reception.nr_sources, 4);
	monotonic_ms = 112999;
	assert_int_equal(receive_end_silent(&reception), 1);
	assert_int_equal(reception.nr_sources, 4);
	monotonic_ms = 113000;
	assert_int_equal(receive_end_silent(&reception), 3000);
	assert_int_equal(reception.nr_sources, 3);
	/* A pause after a failed accept(). */
	reception.accept_again_ms = 113100;
	assert_int_equal(receive_end_silent(&reception), 100);
	reception.accept_again_ms = 117000;
	assert_int_equal(receive_end_silent(&reception), 3000);
	is_known[0] = true;
	assert_int_equal(receive_end_silent(&reception), 4000);
	reception.accept_again_ms = 113000;
	assert_int_equal(receive_end_silent(&reception), -1);
	close_all(&reception);
	assert_int_equal(resources_descriptors(), before);
}

static void test_over(void **unused)
{
	struct reception reception = {.receive = the_receive};

	(void)unused;
	is_done = false;
	assert_true(receive_has_ended(&reception));
	reception.nr_sources = 2;
	reception.sources[0].endless = true;
	reception.sources[1].endless = true;
	assert_false(receive_has_ended(&reception));
	is_done = true;
	assert_true(receive_has_ended(&reception));
	reception.sources[0].endless = false;
	assert_false(receive_has_ended(&reception));
	reception.nr_listeners = 1;
	assert_false(receive_has_ended(&reception));
	reception.nr_sources = 0;
	assert_true(receive_has_ended(&reception));
	reception.keep = true;
	assert_false(receive_has_ended(&reception));
	reception.interrupted = true;
	assert_true(receive_has_ended(&reception));
	reception.interrupted = false;
	reception.failed = true;
	assert_true(receive_has_ended(&reception));
	reception.failed = reception.keep = is_done = false;
	assert_false(receive_has_ended(&reception));
}

static void test_reading(void **unused)
{
	static unsigned char piece[READ_SIZE];
	struct reception reception = {.receive = the_receive, .bytes = piece};
	struct receive_connection source = {.receive = (struct receive_source *)(uintptr_t)0x2000};
	unsigned int before = resources_descriptors();
	char text[20];
	int ends[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	source.fd = ends[0];
	assert_true(receive_read_source(&reception, &source));
	assert_called("");
	assert_int_equal(write(ends[1], "hello", 5), 5);
	answer_size = 6;
	assert_true(receive_read_source(&reception, &source));
	assert_called("bytes hello;");
	assert_int_equal(read(ends[1], text, sizeof(text)), -1);
	source.answers = true;
	assert_int_equal(write(ends[1], "again", 5), 5);
	assert_true(receive_read_source(&reception, &source));
	assert_called("bytes again;");
	assert_int_equal(read(ends[1], text, sizeof(text)), 6);
	assert_memory_equal(text, "thanks", 6);
	answer_size = 0;
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_true(receive_read_source(&reception, &source));
	assert_int_equal(read(ends[1], text, sizeof(text)), -1);
	/* Without memory. */
	bytes_result = -ENOMEM;
	assert_int_equal(write(ends[1], "y", 1), 1);
	assert_false(receive_read_source(&reception, &source));
	assert_true(reception.failed);
	bytes_result = 0;
	reception.failed = false;
	close(ends[1]);
	assert_false(receive_read_source(&reception, &source));
	assert_false(reception.failed);
	close(ends[0]);
	/* Errors of a file; the end of a terminal is not an error. */
	source.fd = -1;
	begin_output(false, false);
	assert_false(receive_read_source(&reception, &source));
	assert_true(reception.failed);
	assert_output("side: cannot receive: Bad file descriptor\n");
	reception.failed = false;
	source.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	begin_output(false, false);
	receive_fail_source(&reception, &source, EIO);
	receive_fail_source(&reception, &source, ECONNRESET);
	assert_false(reception.failed);
	receive_fail_source(&reception, &source, EPERM);
	assert_true(reception.failed);
	close(source.fd);
	reception.failed = false;
	source.fd = printed_file;
	receive_fail_source(&reception, &source, EIO);
	assert_true(reception.failed);
	assert_output("side: cannot receive: Operation not permitted\nside: cannot receive: Input/output error\n");
	*calls = '\0';
	assert_int_equal(resources_descriptors(), before);
}

static void test_listening(void **unused)
{
	struct reception reception = {.receive = the_receive, .signals = -1};
	unsigned int before = resources_descriptors();
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int yes = 0, client, status;
	char text[40], printed[100];
	struct reception again;

	(void)unused;
	begin_output(false, false);
	assert_int_equal(receive_start_listening(&reception, "a:b:c"), COMMAND_USAGE);
	assert_output("side: `--listen a:b:c` is not a port\nhint: write PORT or ADDRESS:PORT\n");
	/* Another process may take the port meanwhile. */
	for (int i = 0; i < 20 && !reception.nr_listeners; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		address = (struct sockaddr_in){
				.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		size = sizeof(address);
		assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
		assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
		close(fd);
		snprintf(text, sizeof(text), "127.0.0.1:%d", ntohs(address.sin_port));
		snprintf(printed, sizeof(printed), "side: listening on %s\n", text);
		begin_output(false, false);
		status = receive_start_listening(&reception, text);
		if (status)
			snprintf(printed, sizeof(printed),
					"side: cannot listen on %s: Address already in use\n",
					text);
		assert_output(printed);
	}
	assert_int_equal(reception.nr_listeners, 1);
	size = sizeof(yes);
	assert_int_equal(getsockopt(reception.listeners[0], SOL_SOCKET, SO_REUSEADDR, &yes, &size),
			0);
	assert_int_equal(yes, 1);
	assert_int_equal(fcntl(reception.listeners[0], F_GETFD), FD_CLOEXEC);
	/* The same port again. */
	again = (struct reception){.receive = the_receive};
	snprintf(printed, sizeof(printed), "side: cannot listen on %s: Address already in use\n",
			text);
	begin_output(false, false);
	assert_int_equal(receive_start_listening(&again, text), COMMAND_FAILED);
	assert_output(printed);
	/* One connection is accepted. */
	monotonic_ms = 77999;
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
	receive_accept(&reception, reception.listeners[0]);
	assert_called("source 1;");
	assert_int_equal(reception.nr_sources, 1);
	assert_int_equal(reception.sources[0].since, 77);
	assert_int_equal(reception.sources[0].peer.ss_family, AF_INET);
	size = sizeof(yes);
	yes = 0;
	assert_int_equal(getsockopt(reception.sources[0].fd, SOL_SOCKET, SO_KEEPALIVE, &yes, &size),
			0);
	assert_int_equal(yes, 1);
	assert_int_equal(fcntl(reception.sources[0].fd, F_GETFD), FD_CLOEXEC);
	receive_accept(&reception, reception.listeners[0]);
	assert_int_equal(reception.nr_sources, 1);
	assert_int_equal(reception.accept_again_ms, 0);
	close(client);
	/* A connection that cannot be stored is closed. */
	no_source = true;
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
	receive_accept(&reception, reception.listeners[0]);
	assert_int_equal(reception.nr_sources, 1);
	assert_int_equal(read(client, text, 1), 0);
	close(client);
	no_source = false;
	/* After an error of the listener, accept() is not tried again at once. */
	receive_accept(&reception, -1);
	assert_int_equal(reception.accept_again_ms, 78099);
	close_all(&reception);
	close(reception.listeners[0]);
	*calls = '\0';
	assert_int_equal(resources_descriptors(), before);
}

/* ---- the summary ---- */

static void summarize(bool is_json, bool plan_is_gp_only, int status, const char *printed)
{
	struct reception reception = {.receive = the_receive};

	begin_output(is_json, plan_is_gp_only);
	assert_int_equal(receive_report_summary(&reception, "o\tut"), status);
	assert_output(printed);
}

#define RECEIVED "side: received 1 trace, 2,000 packets with 3 events, in o\\x09ut\n"

static void test_summary(void **unused)
{
	static const struct receive_summary whole = {
			.sessions = 1, .traces = 1, .packets = 2000, .events = 3};
	struct reception reception = {.receive = the_receive, .failed = true};
	char expected[2000] = "";

	(void)unused;
	final = whole;
	summarize(false, false, COMMAND_DONE, RECEIVED);
	summarize(false, true, COMMAND_DONE, "");
	final.traces = 2;
	summarize(false, false, COMMAND_DONE,
			"side: received 2 traces, 2,000 packets with 3 events, in o\\x09ut\n");
	final = whole;
	final.earlier_packets = 1;
	final.earlier_events = 5;
	summarize(false, false, COMMAND_DONE,
			RECEIVED
			"side: an earlier receiver has acknowledged 1 packet with 5 events: these traces do not contain them\n");
	final.earlier_packets = 4;
	final.earlier_events = 1;
	summarize(false, false, COMMAND_DONE,
			RECEIVED
			"side: an earlier receiver has acknowledged 4 packets with 1 event: these traces do not contain them\n");
	/* Each loss alone. */
	for (int i = 0; i < 6; i++) {
		static const char *const printed[] = {
				"side: lost in transit: 5 frames, in them 0 packets with 0 events\n",
				"side: lost in transit: 0 frames, in them 6 packets with 0 events\n",
				"side: lost in transit: 0 frames, in them 0 packets with 7 events\n",
				"side: dropped by the sender: 8 events\n",
				"side: the metadata of 1 trace is incomplete\n",
				"side: the sender did not report its end: the last data may be missing\n"};

		final = whole;
		final.lost_frames = i == 0 ? 5 : 0;
		final.lost_packets = i == 1 ? 6 : 0;
		final.lost_events = i == 2 ? 7 : 0;
		final.dropped_events = i == 3 ? 8 : 0;
		final.incomplete = i == 4;
		final.unended = i == 5;
		summarize(false, true, COMMAND_LOST, printed[i]);
	}
	final = whole;
	final.incomplete = 2;
	summarize(false, true, COMMAND_LOST, "side: the metadata of 2 traces is incomplete\n");
	/* Ten streams, and how many more. */
	final = whole;
	for (nr_losses = 10; nr_losses <= 12; nr_losses++) {
		*expected = '\0';
		for (unsigned int i = 0; i < 10; i++)
			snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
					"  trace/str\"eam  2 packets with %u events lost in transit, 4 dropped by the sender\n",
					3 + i);
		if (nr_losses > 10)
			snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected),
					"  and %u more streams\n", nr_losses - 10);
		summarize(false, true, COMMAND_DONE, expected);
	}
	nr_losses = 1;
	final = (struct receive_summary){
			1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, false, false};
	summarize(true, false, COMMAND_LOST,
			"{\"schema\":1,\"type\":\"gap\",\"trace\":\"trace\",\"stream\":\"str\\\"eam\",\"lost_packets\":2,\"lost_events\":3,\"dropped_events\":4}\n"
			"{\"schema\":1,\"type\":\"received\",\"output\":\"o\\u0009ut\",\"sessions\":1,\"unended\":2,\"traces\":7,\"incomplete\":16,\"frames\":3,\"lost_frames\":4,\"repeated_frames\":5,\"garbage\":6,"
			"\"packets\":8,\"lost_packets\":9,\"events\":10,\"lost_events\":11,\"unplaced_events\":12,\"dropped_events\":15,\"earlier_packets\":13,\"earlier_events\":14}\n");
	nr_losses = 0;
	/* Failures. */
	final = (struct receive_summary){.packets = 2};
	summarize(false, true, COMMAND_FAILED, "side: received no data of `side send`\n");
	final = whole;
	final.failed = true;
	summarize(false, true, COMMAND_FAILED, "");
	final.out_of_memory = true;
	summarize(false, true, COMMAND_FAILED,
			"side: out of memory while receiving\nhint: `side send` sends again what was not received\n");
	final = whole;
	begin_output(false, true);
	assert_int_equal(receive_report_summary(&reception, "out"), COMMAND_FAILED);
	assert_output("");
}

/* ---- the verb ---- */

static int receive(const struct receive_arguments *arguments, const char *operand)
{
	char word[100], *operands[] = {word, NULL};
	const struct parsed parsed = {.operands = operands,
			.operand_count = operand != NULL,
			.options.receive = *arguments};
	sigset_t before;
	int status;

	snprintf(word, sizeof(word), "%s", operand ? operand : "");
	sigprocmask(SIG_SETMASK, NULL, &before);
	status = cmd_receive(&parsed);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

#define PRINTED "side: 100 % done\nside: 50 % of it\n"

static void check_verb(const struct receive_arguments *arguments, const char *operand, int status,
		const char *printed, const char *wanted)
{
	unsigned int before = resources_descriptors();

	begin_output(false, false);
	assert_int_equal(receive(arguments, operand), status);
	assert_output(printed);
	assert_called(wanted);
	assert_int_equal(nr_open, 0);
	assert_int_equal(resources_descriptors(), before);
}

static void test_verb(void **unused)
{
	struct receive_arguments arguments = {.output = "/none/x"};
	char wanted[300];

	(void)unused;
	check_verb(&arguments, NULL, COMMAND_USAGE,
			"side: missing operand: a source to receive from\nhint: name a SOURCE, or a port with `--listen`\n",
			"");
	arguments.keep = true;
	check_verb(&arguments, "url", COMMAND_USAGE,
			"side: cannot use `--keep` without `--listen`\n", "");
	arguments.keep = false;
	arguments.speed = UINT64_C(4294967296);
	check_verb(&arguments, "url", COMMAND_USAGE,
			"side: this speed is not possible on a serial line\n", "");
	arguments.speed = 4294967295;
	check_verb(&arguments, "url", COMMAND_FAILED,
			PRINTED "side: cannot write to /none/x: No such file or directory\n",
			"destroy 1;");
	arguments.output = in_work("out");
	for (int i = 0; i < 4; i++) {
		static const int statuses[] = {COMMAND_USAGE, COMMAND_NOT_PERMITTED,
				COMMAND_NOT_PERMITTED, COMMAND_FAILED};

		source_result = ((int[]){-EINVAL, -EACCES, -EPERM, -EIO})[i];
		check_verb(&arguments, "url", statuses[i],
				i ? PRINTED "side: 100 % d\n"
				  : PRINTED "side: 100 % d\nhint: a hint\n",
				"open url 4294967295;destroy 1;");
		/* The created directory is removed. */
		assert_int_equal(access(in_work("out"), F_OK), -1);
	}
	source_result = 0;
	no_source = true;
	check_verb(&arguments, "url", COMMAND_FAILED,
			PRINTED "side: cannot read url: Cannot allocate memory\n",
			"open url 4294967295;source 0;destroy 1;");
	no_source = false;
	/* A file that has ended. */
	final = (struct receive_summary){.sessions = 1, .traces = 1, .packets = 2, .events = 3};
	snprintf(wanted, sizeof(wanted), "open url 4294967295;source 0;confine %s;destroy 1;",
			in_work("out"));
	for (int i = 0; i < 2; i++) {
		char printed[400];

		has_filter = i;
		snprintf(printed, sizeof(printed),
				"%s%sside: received 1 trace, 2 packets with 3 events, in %s\n",
				PRINTED,
				i ? ""
				  : "side: the kernel has no seccomp filters: side parses received data without this protection\n",
				in_work("out"));
		check_verb(&arguments, "url", COMMAND_DONE, printed, wanted);
		assert_int_equal(rmdir(in_work("out")), 0);
	}
	begin_output(false, false);
	failing_arm(1);
	assert_int_equal(receive(&arguments, "url"), COMMAND_FAILED);
	assert_true(failing_has_failed());
	assert_output("side: cannot receive: Cannot allocate memory\n");
	assert_called("destroy 0;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_output),
			cmocka_unit_test(test_sources),
			cmocka_unit_test(test_peers),
			cmocka_unit_test(test_silent),
			cmocka_unit_test(test_over),
			cmocka_unit_test(test_reading),
			cmocka_unit_test(test_listening),
			cmocka_unit_test(test_summary),
			cmocka_unit_test(test_verb),
	};
	int ret;

	alarm(50);
	(void)umask(022);
	if (!mkdtemp(work))
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(work);
	return ret;
}
