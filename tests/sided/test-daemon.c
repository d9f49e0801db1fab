/* SPDX-License-Identifier: MIT */
/*
 * The whole daemon in this process: requests, programs and state files at their limits. Each
 * mistake is refused with its own error.
 */
#include "daemon.h"

#include <ftw.h>
#include <limits.h>

static void test_requests(void)
{
	static const char there[] = "`side list` lists the sessions",
			  makes[] = "`side list` lists the sessions; `side create` creates one";
	static const struct {
		const char *request, *kind, *text, *hint;
	} cases[] = {
			{"{\"version\":2,\"verb\":\"ping\"}", "usage",
					"this daemon has version 1 of the protocol, and the request version 2",
					"use the `side` that came with this daemon"},
			{"{\"verb\":\"ping\"}", "usage",
					"this daemon has version 1 of the protocol, and the request version 0",
					"use the `side` that came with this daemon"},
			{"{\"version\":1}", "usage", "unknown verb \"\"", ""},
			{GO "\"none\"}", "usage", "unknown verb \"none\"", ""},
			{GO "\"start\"}", "usage", "the request has no \"session\"", ""},
			{GO "\"start\",\"session\":\"none\"}", "not-found",
					"there is no session none", makes},
			{GO "\"save\",\"session\":\"none\"}", "not-found",
					"there is no session none", there},
			{GO "\"status\",\"session\":\"none\"}", "not-found",
					"there is no session none", there},
			{GO "\"list\",\"session\":\"none\"}", "not-found",
					"there is no session none", there},
			{GO "\"top\",\"session\":\"none\"}", "not-found",
					"there is no session none", there},
			{GO "\"top\",\"interval\":9999999}", "usage",
					"an interval must be 10ms or longer", ""},
			{GO "\"top\",\"interval\":3600000000001}", "usage",
					"\"interval\" is 3600000000001, which is more than 3600000000000",
					""},
			{GO "\"load\"}", "usage", "the request has no \"definition\"", ""},
			{GO "\"create\",\"session\":\"one\"}", "busy",
					"there is a session one already",
					"choose another name, or run `side destroy`"},
			{GO "\"door\",\"pid\":2147483647}", "not-found",
					"there is no process 2147483647", ""},
			{GO "\"door\",\"pid\":1,\"path\":\"/x\"}", "usage",
					"a rendezvous socket is missing in the request", ""},
	};
	struct resources before = resources_now();
	struct json_object *answer;
	int fd = dial("run/control.sock");
	char number[24];

	answer = ask(fd, GO "\"ping\"}");
	CHECK(answer);
	check_text(text_of(answer, "version"), SIDE_VERSION);
	snprintf(number, sizeof(number), "%d", getpid());
	check_text(text_of(answer, "pid"), number);
	check_text(text_of(answer, "system"), "false");
	json_object_put(answer);
	answer = ask(fd, GO "\"create\",\"session\":\"one\"}");
	check_text(text_of(answer, "session"), "one");
	check_good(answer);
	CHECK(exists("run/state/one.json") && the_daemon.nr_sessions == 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_answer(ask(fd, cases[i].request), cases[i].kind, cases[i].text,
				cases[i].hint);
	/* Members that the verb does not accept. */
	for (int i = 0; i < 5; i++) {
		static const char *const verbs_of_all[] = {
				"ping", "save", "status", "list", "start"};
		char request[128];
		struct error error;

		snprintf(request, sizeof(request), GO "\"%s\",\"session\":\"one\",\"x\":1}",
				verbs_of_all[i]);
		answer = ask(fd, request);
		CHECK(answer && json_answer(answer, &error) && error.kind == ERROR_USAGE &&
				strstr(error.text, i ? "\"x\"" : "\"session\""));
		json_object_put(answer);
	}
	answer = ask(fd, GO "\"door\",\"pid\":1}");
	CHECK(answer);
	check_text(text_of(answer, "path"), "");
	check_text(text_of(answer, "known"), "false");
	check_good(answer);
	answer = ask(fd, GO "\"save\"}");
	CHECK(answer && strstr(json_object_to_json_string(answer), "\"one\""));
	check_good(answer);
	check_good(ask(fd, GO "\"destroy\",\"session\":\"one\"}"));
	CHECK(!exists("run/state/one.json") && !the_daemon.nr_sessions);
	close(fd);
	turn();
	turn();
	CHECK(!the_daemon.clients && resources_now().descriptors == before.descriptors);
}

static void test_sessions(void)
{
	char request[128], name[64];
	int fd = dial("run/control.sock");

	for (int i = 0; i <= LIMIT_SESSIONS; i++) {
		struct json_object *answer;

		snprintf(request, sizeof(request), GO "\"create\",\"session\":\"s%d\"}", i);
		answer = ask(fd, request);
		if (i < LIMIT_SESSIONS)
			check_good(answer);
		else
			check_answer(answer, "busy",
					"cannot create a session: the limit of 256 sessions is reached",
					"remove sessions with `side destroy`");
	}
	CHECK(the_daemon.nr_sessions == LIMIT_SESSIONS);
	for (int i = 0; i < LIMIT_SESSIONS; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		session_remove(&the_daemon, session_find(&the_daemon, name));
	}
	CHECK(!the_daemon.nr_sessions && !the_daemon.sessions);
	close(fd);
	turn();
}

/*
 * The 65th connection of a user replaces the one that has been idle for the longest time, or is
 * refused.
 */
static void test_clients(void)
{
	struct resources before = resources_now();
	int fds[LIMIT_CLIENTS_OF_USER + 1];

	for (int i = 0; i < LIMIT_CLIENTS_OF_USER; i++) {
		fds[i] = dial("run/control.sock");
		turn();
	}
	check_good(ask(fds[0], GO "\"ping\"}"));
	for (int i = 0; i < LIMIT_CLIENTS_OF_USER; i++)
		CHECK(!is_hung_up(fds[i]));
	fds[LIMIT_CLIENTS_OF_USER] = dial("run/control.sock");
	turn();
	for (int i = 0; i <= LIMIT_CLIENTS_OF_USER; i++)
		CHECK(is_hung_up(fds[i]) == (i == 1));
	/* None is idle: each has a subscription. */
	close(fds[1]);
	fds[1] = fds[LIMIT_CLIENTS_OF_USER];
	for (int i = 0; i < LIMIT_CLIENTS_OF_USER; i++)
		check_good(ask(fds[i], GO "\"top\",\"interval\":3600000000000}"));
	check_good(ask(fds[0], GO "\"top\",\"interval\":10000000}"));
	fds[LIMIT_CLIENTS_OF_USER] = dial("run/control.sock");
	check_answer(hear(fds[LIMIT_CLIENTS_OF_USER]), "busy",
			"too many connections to the daemon: at most 256, and 64 of one user",
			"close some");
	CHECK(is_hung_up(fds[LIMIT_CLIENTS_OF_USER]));
	for (int i = 0; i <= LIMIT_CLIENTS_OF_USER; i++)
		close(fds[i]);
	turn();
	turn();
	CHECK(!the_daemon.clients && resources_now().descriptors == before.descriptors);
}

/* ---- Programs ---- */

static void test_protocol(void)
{
	static const char second[] = "protocol error: a second ARRIVE on one connection",
			  another[] = "protocol error: the DONE of another program";
	const struct wire_pass pass = {.path = "/none"};
	const struct wire_bye bye = {.token = 5};
	struct resources before = resources_now();
	struct wire_header *header = (struct wire_header *)(void *)message;
	ssize_t size;
	int fd = arrive(5, WIRE_CONTROL_THREAD, 0);

	check_text(only_program()->name, "pro?gram");
	check_text(only_program()->exe, "/bin/program");
	CHECK(only_program()->token == 5 && only_program()->uid == geteuid() &&
			only_program()->since == 1);
	CHECK(program_is_reachable(&the_daemon, getpid()) && !program_is_reachable(&the_daemon, 1));
	sessions_print_done(fd, 5, 1);
	turn();
	CHECK(only_program()->done == 1 && only_program()->known == 1);
	send_arrive(fd, 5, WIRE_CONTROL_THREAD, 0);
	check_protocol(fd, second);
	/* The program stays without its connection. */
	turn();
	CHECK(!only_program()->agent && program_is_reachable(&the_daemon, getpid()));
	fd = arrive(5, WIRE_CONTROL_THREAD, 0);
	sessions_print_done(fd, 6, 1);
	check_protocol(fd, another);
	fd = arrive(5, WIRE_CONTROL_THREAD, 0);
	sessions_print_done(fd, 5, 2);
	check_protocol(fd, another);
	fd = arrive(5, WIRE_CONTROL_THREAD, 0);
	send_message(fd, wire_encode_pass(message, sizeof(message), &pass));
	check_protocol(fd, "protocol error: PASS after ARRIVE");
	fd = dial("run/agents.sock");
	sessions_print_done(fd, 5, 1);
	check_protocol(fd, "protocol error: DONE before ARRIVE");
	fd = dial("run/agents.sock");
	send_message(fd, wire_encode_bye(message, sizeof(message), &bye));
	check_protocol(fd, "protocol error: a message that is not for the daemon");
	/* No session has this socket: the connection ends without an answer. */
	fd = dial("run/agents.sock");
	send_message(fd, wire_encode_pass(message, sizeof(message), &pass));
	turn();
	turn();
	CHECK(is_hung_up(fd));
	close(fd);
	/* An agent of another release: reported once for each process. */
	(void)reported();
	for (int i = 0; i < 2; i++) {
		char expected[300];

		fd = dial("run/agents.sock");
		size = wire_encode_bye(message, sizeof(message), &bye);
		header->version++;
		send_message(fd, size);
		check_protocol(fd, "the daemon has another version of the protocol");
		snprintf(expected, sizeof(expected),
				"sided: process %d of user %u is not recorded: its agent has version %d of the protocol, this daemon version %d; restart it with the libside of this release\n",
				getpid(), (unsigned int)geteuid(), WIRE_PROTOCOL_VERSION + 1,
				WIRE_PROTOCOL_VERSION);
		check_text(reported(), i ? "" : expected);
	}
	/* Another token is another program. */
	fd = arrive(9, WIRE_CONTROL_OFF, 0);
	CHECK(only_program()->token == 9 && !exists("run/state/.program-1"));
	close(fd);
	turn();
	turn();
	programs_close(&the_daemon);
	CHECK(!programs_open(&the_daemon));
	turn();
	CHECK(resources_now().descriptors == before.descriptors);
}

/* Silent connections: the oldest one of a user is closed for a new one. */
static void test_strangers(void)
{
	struct resources before = resources_now();
	static int fds[LIMIT_UNIDENTIFIED_OF_USER + 1];

	for (int i = 0; i <= LIMIT_UNIDENTIFIED_OF_USER; i++) {
		fds[i] = dial("run/agents.sock");
		turn();
		CHECK(the_daemon.nr_unidentified ==
				(i < LIMIT_UNIDENTIFIED_OF_USER ? (unsigned int)i + 1
								: LIMIT_UNIDENTIFIED_OF_USER));
		CHECK(is_hung_up(fds[0]) == (i == LIMIT_UNIDENTIFIED_OF_USER));
	}
	CHECK(!is_hung_up(fds[1]) && !is_hung_up(fds[LIMIT_UNIDENTIFIED_OF_USER]));
	/*
	 * The same without a free descriptor. If no connection can be closed, the daemon listens
	 * again after a pause.
	 */
	loop_pause_listening(&the_daemon);
	CHECK(is_hung_up(fds[1]) && !is_hung_up(fds[2]) && !the_daemon.relisten.base.is_set);
	for (int i = 0; i <= LIMIT_UNIDENTIFIED_OF_USER; i++)
		close(fds[i]);
	while (the_daemon.unidentified)
		turn();
	CHECK(!the_daemon.nr_unidentified && the_daemon.control_listener.events == EPOLLIN);
	loop_pause_listening(&the_daemon);
	CHECK(!the_daemon.control_listener.events && !the_daemon.agents_listener.events &&
			the_daemon.relisten.base.is_set);
	the_daemon.relisten.expired(&the_daemon, &the_daemon.relisten);
	loop_cancel(&the_daemon, &the_daemon.relisten);
	CHECK(the_daemon.control_listener.events == EPOLLIN &&
			the_daemon.agents_listener.events == EPOLLIN);
	turn();
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Programs of an earlier daemon ---- */

static char program_file[64];

/* Returns true if the file makes a program known. Otherwise the file is removed. */
static bool is_restored(const char *token, const char *control, unsigned int number,
		uint64_t started, size_t size)
{
	char object[512];
	bool is;

	snprintf(object, sizeof(object),
			"{\"started\":%llu,\"token\":\"%s\",\"uid\":5,\"control\":\"%s\",\"signal\":%u,\"name\":\"n\",\"exe\":\"/e\"}",
			(unsigned long long)started, token, control, number);
	write_padded(program_file, object, size);
	programs_restore(&the_daemon);
	is = programs_count(&the_daemon, SCOPE_ALL) == 1;
	CHECK(exists(program_file) == is);
	if (is) {
		check_text(only_program()->name, "n");
		check_text(only_program()->exe, "/e");
		CHECK(only_program()->token == 0x61a0 && only_program()->uid == 5 &&
				only_program()->control_signal == number &&
				only_program()->remembered);
		CHECK(only_program()->control ==
				(uint32_t)(number ? WIRE_CONTROL_SIGNAL : WIRE_CONTROL_SYNC));
		programs_close(&the_daemon);
		CHECK(!programs_open(&the_daemon));
		objects_free_unused(&the_daemon);
	}
	return is;
}

static uint32_t noted;

static void note_number(struct daemon *daemon, uint32_t number, const char *path)
{
	CHECK(daemon == &the_daemon && !noted &&
			!strcmp(path, in_work("run/state/.most-2147483647")));
	noted = number;
}

static void test_remembered(void)
{
	static const char *const wrong[] = {".program-0", ".program-01", ".program-x", ".program-",
			".program-1x", ".program-2147483648"};
	struct resources before = resources_now();
	uint64_t started = session_process_start(getpid());
	char expected[400], text[400], name[64];
	int fd = arrive(0x61a0, WIRE_CONTROL_SIGNAL, SIGUSR1);

	snprintf(program_file, sizeof(program_file), "run/state/.program-%d", getpid());
	snprintf(expected, sizeof(expected),
			"{\"started\":%llu,\"token\":\"00000000000061a0\",\"uid\":%u,\"control\":\"signal\",\"signal\":%d,\"name\":\"pro?gram\",\"exe\":\"/bin/program\"}",
			(unsigned long long)started, (unsigned int)geteuid(), SIGUSR1);
	read_text(program_file, text, sizeof(text));
	check_text(text, expected);
	close(fd);
	fd = arrive(0x61a0, WIRE_CONTROL_THREAD, 0);
	CHECK(!exists(program_file));
	close(fd);
	turn();
	programs_close(&the_daemon);
	CHECK(!programs_open(&the_daemon));
	turn();
	(void)reported();
	CHECK(is_restored("61a0", "signal", 10, started, 0));
	CHECK(is_restored("00000000000061A0", "signal", WIRE_SIGNAL_MAX, started, 0));
	CHECK(is_restored("61a0", "sync", 0, started, 16384));
	check_text(reported(), "");
	/* The file has one byte too many; a wrong signal, control mode or token. */
	snprintf(name, sizeof(name), "%s", program_file);
	for (int i = 0; i < 6; i++) {
		static const char others[] = "its token, control mode or signal is not valid";

		CHECK(!(i == 0 ? is_restored("61a0", "sync", 0, started, 16385)
						: i == 1
						? is_restored("61a0", "sync", 1, started, 0)
						: i == 2
						? is_restored("61a0", "signal", 0, started, 0)
						: i == 3
						? is_restored("61a0", "thread", 0, started, 0)
						: i == 4
						? is_restored("61g0", "sync", 0, started, 0)
						: is_restored("61a0", "off", 0, started, 0)));
		snprintf(expected, sizeof(expected),
				"sided: cannot restore the program in %s: %s\n", in_work(name),
				i ? others
				  : "it cannot be opened, is not a file of side, or is too large");
		check_text(reported(), expected);
	}
	CHECK(!is_restored("61a0", "signal", WIRE_SIGNAL_MAX + 1, started, 0) && *reported());
	/* Another process has the process ID now. */
	CHECK(!is_restored("61a0", "sync", 0, started + 1, 0));
	check_text(reported(), "");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(name, sizeof(name), "run/state/%s", wrong[i]);
		write_text(name, "{}", 2);
	}
	write_text("run/state/.other-1", "{}", 2);
	programs_restore(&the_daemon);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(name, sizeof(name), "run/state/%s", wrong[i]);
		CHECK(!exists(name));
	}
	CHECK(exists("run/state/.other-1"));
	write_text("run/state/.most-2147483647", "{}", 2);
	write_text("run/state/.most-2147483648", "{}", 2);
	state_each(&the_daemon, ".most-", note_number);
	CHECK(noted == INT32_MAX && exists("run/state/.most-2147483647") &&
			!exists("run/state/.most-2147483648"));
	check_text(reported(), "");
	turn();
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Rendezvous sockets of an earlier daemon ---- */

static void check_rendezvous(const char *members, const char *reason)
{
	char expected[400], text[400];

	snprintf(text, sizeof(text), "{%s}", members);
	write_text("run/state/.door-7", text, strlen(text));
	rendezvous_restore_all(&the_daemon);
	CHECK(!the_daemon.rendezvous_list && !exists("run/state/.door-7"));
	snprintf(expected, sizeof(expected), "sided: the rendezvous socket in %s is removed: %s\n",
			in_work("run/state/.door-7"), reason ? reason : "");
	check_text(reported(), reason ? expected : "");
}

static void test_rendezvous(void)
{
	static const char missing[] = "its path or its process is missing";
	struct resources before = resources_now();
	char members[400], path[RENDEZVOUS_PATH_SIZE + 1];

	check_rendezvous("\"path\":\"/x\",\"pid\":0,\"started\":1", missing);
	check_rendezvous("\"path\":\"/x\",\"pid\":1,\"started\":0", missing);
	check_rendezvous("\"pid\":1,\"started\":1", missing);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	for (size_t size = RENDEZVOUS_PATH_SIZE - 1; size <= RENDEZVOUS_PATH_SIZE; size++) {
		snprintf(members, sizeof(members), "\"path\":\"%.*s\",\"pid\":%d,\"started\":1",
				(int)size, path, getpid());
		/* Another process has the process ID: nothing is reported. */
		check_rendezvous(members, size < RENDEZVOUS_PATH_SIZE ? NULL : missing);
	}
	for (size_t size = 4096; size <= 4097; size++) {
		write_padded("run/state/.door-7", "{\"pid\":1}", size);
		rendezvous_restore_all(&the_daemon);
		CHECK(!exists("run/state/.door-7"));
		CHECK(strstr(reported(), size == 4096 ? missing : "or is too large"));
	}
	turn();
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Sessions of an earlier daemon ---- */

static void check_restored(const char *more, size_t size, const char *reason)
{
	const bool is_two = *more == '!', has_more = *more == ',';
	char text[1024], expected[400];
	struct session_entry *entry;

	snprintf(text, sizeof(text), "{\"definition\":{\"version\":1,\"name\":\"%s\"}%s}",
			is_two ? "two" : "one", is_two ? "" : more);
	write_padded("run/state/one.json", text, size);
	CHECK(!sessions_restore(&the_daemon));
	snprintf(expected, sizeof(expected), "sided: the session in %s cannot be restored: %s\n",
			in_work("run/state/one.json"), reason ? reason : "");
	check_text(reported(), reason ? expected : "");
	entry = session_find(&the_daemon, "one");
	CHECK(!reason == (entry != NULL) && exists("run/state/one.json"));
	CHECK(the_daemon.nr_sessions == !reason);
	if (!entry)
		return;
	CHECK(entry->state == SESSION_DEFINED && entry->active == (has_more) &&
			entry->generation == (has_more ? 7 : 0) &&
			entry->uid == (has_more ? 8 : geteuid()) &&
			entry->gid == (has_more ? 9 : getegid()));
	if (has_more) {
		check_text(entry->output, "/out");
		check_text(entry->state_dir, "/place");
	}
	session_remove(&the_daemon, entry);
	objects_free_unused(&the_daemon);
}

static void test_restored(void)
{
	static const char large[] = "it cannot be opened, is not a file of side, or is too large";
	const size_t max = DEFINITION_TEXT_MAX + 65536;
	struct resources before = resources_now();

	check_restored(",\"active\":true,\"generation\":7,\"uid\":8,\"gid\":9,\"output\":\"/out\",\"state-directory\":\"/place\"",
			0, NULL);
	/* What a daemon of the earlier release has written. */
	check_restored(",\"active\":true,\"generation\":7,\"uid\":8,\"gid\":9,\"output\":\"/out\",\"place\":\"/place\"",
			0, NULL);
	check_restored("", 0, NULL);
	check_restored("", max, NULL);
	check_restored("", max + 1, large);
	check_restored("!", 0, "it belongs to the session two");
	check_restored(",\"output\":\"out\"", 0, "\"output\" is not an absolute path");
	check_restored(",\"place\":\"place\"", 0, "\"place\" is not an absolute path");
	check_restored(",\"state-directory\":\"x\"", 0,
			"\"state-directory\" is not an absolute path");
	check_restored(",\"started\":true,\"output\":\"/out\"", 0,
			"a started session has no output or state directory");
	check_restored(",\"started\":true,\"place\":\"/place\"", 0,
			"a started session has no output or state directory");
	write_text("run/state/one.json", "{}", 2);
	CHECK(!sessions_restore(&the_daemon));
	CHECK(strstr(reported(), "one.json cannot be restored: it has no definition\n"));
	CHECK(!unlink(in_work("run/state/one.json")) &&
			!symlink("/none", in_work("run/state/one.json")));
	CHECK(!sessions_restore(&the_daemon) && strstr(reported(), large));
	unlink(in_work("run/state/one.json"));
	/* File names that belong to no session. */
	write_text("run/state/.json", "{}", 2);
	write_text("run/state/-x.json", "{}", 2);
	write_text("run/state/one.jso", "{}", 2);
	CHECK(!sessions_restore(&the_daemon));
	check_text(reported(), "");
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- Directories of sessions ---- */

static struct session_entry *add_entry(const char *name)
{
	struct definition *definition = NULL;
	struct session_entry *entry = NULL;
	struct error error;

	CHECK(!definition_create(name, &definition, &error));
	CHECK(!session_add(&the_daemon, definition, &entry, &error));
	return entry;
}

static void set_output(const char *path)
{
	free(the_daemon.output);
	the_daemon.output = strdup(path);
	CHECK(the_daemon.output);
}

static void check_settled(struct session_entry *entry, const char *output, uid_t owner)
{
	struct error error;
	struct stat status;

	if (session_settle(&the_daemon, entry, &error)) {
		fprintf(report, "%s\n", error.text);
		abort();
	}
	check_text(entry->output, output);
	CHECK(!stat(entry->output, &status) && (status.st_mode & 0777) == 0700 &&
			status.st_uid == owner);
	CHECK(strstr(entry->state_dir, "/side-") &&
			strstr(entry->state_dir, entry->definition->name));
	session_remove(&the_daemon, entry);
	objects_free_unused(&the_daemon);
}

static void check_not_settled(struct session_entry *entry, const char *path, int code)
{
	struct error error;
	char expected[400];

	CHECK(session_settle(&the_daemon, entry, &error) == -code && !entry->output &&
			!entry->state_dir);
	snprintf(expected, sizeof(expected), "cannot make the directory %s: %s", path,
			strerror(code));
	check_text(error.text, expected);
	session_remove(&the_daemon, entry);
	objects_free_unused(&the_daemon);
}

static void test_directories(void)
{
	static const char dated[] = "side-20240229-130405";
	struct resources before = resources_now();
	char path[256], name[SESSION_DATED_NAME_SIZE], other[SESSION_DATED_NAME_SIZE];
	struct session_entry *entry;
	struct stat status;

	write_text("file", "", 0);
	set_output(in_work("file/x"));
	check_not_settled(add_entry("one"), in_work("file/x"), ENOTDIR);
	set_output(in_work("traces"));
	snprintf(path, sizeof(path), "%s/%s", in_work("traces"), dated);
	check_settled(add_entry(dated), path, geteuid());
	strcat(path, "-2");
	check_settled(add_entry(dated), path, geteuid());
	strcpy(strrchr(path, '-'), "-3");
	check_settled(add_entry(dated), path, geteuid());
	/* A name without a date gets one. */
	entry = add_entry("side-20240229-13040");
	CHECK(!session_settle(&the_daemon, entry, &(struct error){.kind = ERROR_NONE}));
	snprintf(path, sizeof(path), "%s/side-20240229-13040-", in_work("traces"));
	CHECK(!strncmp(entry->output, path, strlen(path)) &&
			strlen(entry->output) == strlen(path) + strlen("20240229-130405"));
	session_remove(&the_daemon, entry);
	/* A session of the same second gets a number. */
	for (int i = 0; i < 20; i++) {
		session_dated_name(&the_daemon, name);
		entry = add_entry(name);
		session_dated_name(&the_daemon, other);
		session_remove(&the_daemon, entry);
		strcat(name, "-2");
		if (!strcmp(name, other))
			break;
		CHECK(i < 19);
	}
	CHECK(strlen(name) == strlen(dated) + 2 && !strncmp(name, "side-20", 7));
	if (!geteuid()) {
		/* Traces of a member of the group belong to that user. */
		the_daemon.system = true;
		snprintf(path, sizeof(path), "%s/%s", in_work("members"), dated);
		set_output(in_work("members"));
		entry = add_entry(dated);
		entry->uid = 5;
		check_settled(entry, path, 5);
		CHECK(!stat(in_work("members"), &status) && (status.st_mode & 0777) == 0711);
		entry = add_entry("named");
		entry->uid = 5;
		entry->definition->output = strdup(path);
		check_not_settled(entry, path, EEXIST);
		strcat(path, "x");
		entry = add_entry("named");
		entry->uid = 5;
		entry->definition->output = strdup(path);
		check_settled(entry, path, 5);
		the_daemon.system = false;
	}
	free(the_daemon.output);
	the_daemon.output = NULL;
	CHECK(!the_daemon.nr_sessions);
	objects_free_unused(&the_daemon);
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- The runtime directory ---- */

static void check_runtime(
		const char *path, enum error_kind kind, const char *text, const char *hint)
{
	struct error error = {.kind = ERROR_NONE};
	struct daemon daemon = {.lock_fd = -1, .uid = geteuid()};

	CHECK(runtime_open(&daemon, path, &error) < 0 && error.kind == kind);
	check_text(error.text, text);
	check_text(error.hint, hint);
	if (daemon.lock_fd >= 0)
		close(daemon.lock_fd);
}

static mode_t mode_of(const char *name)
{
	struct stat status;

	CHECK(!stat(in_work(name), &status));
	return status.st_mode & 07777;
}

static void test_runtime(void)
{
	struct resources before = resources_now();
	struct daemon daemon = {.lock_fd = -1, .uid = geteuid()};
	struct error error;
	char text[600], hint[300], path[300], link[64] = "";

	check_runtime("x", ERROR_USAGE, "the runtime directory x is not an absolute path", "");
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(daemon.runtime)] = 0;
	snprintf(text, sizeof(text),
			"the runtime directory %s has more than 79 bytes, which is too long for the path of a socket",
			path);
	check_runtime(path, ERROR_USAGE, text, "name a shorter one with --runtime");
	snprintf(path, sizeof(path), "%s/%0*d", work,
			(int)(sizeof(daemon.runtime) - 2 - strlen(work)), 0);
	CHECK(strlen(path) == sizeof(daemon.runtime) - 1);
	CHECK(!runtime_open(&daemon, path, &error));
	runtime_close(&daemon);
	CHECK(!mkdir(in_work("open"), 0700) && !chmod(in_work("open"), 0770));
	snprintf(text, sizeof(text), "cannot use the directory %s: other users can write to it",
			in_work("open"));
	snprintf(hint, sizeof(hint), "`chmod go-w %s`", in_work("open"));
	check_runtime(in_work("open"), ERROR_PERMISSION, text, hint);
	if (!geteuid()) {
		CHECK(!chmod(in_work("open"), 0700) && !chown(in_work("open"), 0, 0));
		CHECK(!chown(in_work("open"), 5, 5));
		snprintf(text, sizeof(text), "cannot use the directory %s: it belongs to user 5",
				in_work("open"));
		snprintf(hint, sizeof(hint), "`rm -r %s`, or name another one with --runtime",
				in_work("open"));
		check_runtime(in_work("open"), ERROR_PERMISSION, text, hint);
	}
	snprintf(text, sizeof(text), "a daemon serves %s already: process %d", in_work("run"),
			getpid());
	check_runtime(in_work("run"), ERROR_BUSY, text,
			"use that daemon, or stop it first, or name another directory with --runtime");
	CHECK(mode_of("run") == 0700 && mode_of("run/sessions") == 0700 &&
			mode_of("run/state") == 0700 && mode_of("run/places") == 0700 &&
			mode_of("run/control.sock") == 0600 && mode_of("run/agents.sock") == 0600);
	read_text("run/sided.pid", path, sizeof(path));
	snprintf(text, sizeof(text), "%d\n", getpid());
	check_text(path, text);
	the_daemon.serial = 41;
	runtime_publish(&the_daemon);
	CHECK(readlink(in_work("run/serial"), link, sizeof(link) - 1) == 19 &&
			!strcmp(link + 16, "-41"));
	the_daemon.serial = 1;
	/*
	 * Root's daemon has programs of all users; all users can read the directory of the system
	 * daemon.
	 */
	for (int system = 0; system < 2; system++) {
		daemon = (struct daemon){.lock_fd = -1,
				.uid = geteuid(),
				.any_user = true,
				.system = system};
		CHECK(!runtime_open(&daemon, in_work("other"), &error));
		CHECK(mode_of("other") == (system ? 0755 : 0711) &&
				mode_of("other/state") == 0700 &&
				mode_of("other/sessions") == mode_of("other"));
		runtime_close(&daemon);
		CHECK(!exists("other/sided.pid"));
	}
	CHECK(!runtime_path(&the_daemon, path, strlen(work) + 4 + 3, "%s", "abc"));
	CHECK(runtime_path(&the_daemon, path, strlen(work) + 4 + 5, "%s", "abc"));
	CHECK(resources_now().descriptors == before.descriptors);
}

/* ---- The log ---- */

static void test_log(void)
{
	uint64_t before = loop_now();
	unsigned int nr = 0;

	loop_cancel(&the_daemon, &the_daemon.suppressed);
	(void)reported();
	/* A user other than the daemon's. */
	for (int i = 0; i < LIMIT_LINES_OF_MEMBER + 3; i++)
		log_about(&the_daemon, geteuid() + 1, "line %d", i);
	for (const char *at = reported(); *at; at = strchr(at, '\n') + 1)
		nr++;
	CHECK(nr == LIMIT_LINES_OF_MEMBER);
	CHECK(the_daemon.suppressed.base.is_set &&
			the_daemon.suppressed.base.deadline >= before + LINES_NS);
	sided_report_suppressed(&the_daemon, NULL);
	{
		char expected[200];

		snprintf(expected, sizeof(expected),
				"sided: suppressed 3 messages about sessions of user %u: too many within a minute\n",
				(unsigned int)geteuid() + 1);
		check_text(reported(), expected);
	}
}

/* ---- Programs of two users ---- */

/* A silent connection of another user. */
static int dial_as(uid_t uid)
{
	int ends[2], fd = -1;
	char byte = 0;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	pid = fork();
	if (!pid) {
		/* It must not keep the daemon's connections open. */
		if (dup2(ends[1], 3) != 3 || close_range(4, ~0u, 0) || setresgid(uid, uid, uid) ||
				setresuid(uid, uid, uid))
			_exit(1);
		fd = dial("run/agents.sock");
		if (write(3, "x", 1) != 1 || read(3, &byte, 1) < 0)
			_exit(1);
		_exit(is_hung_up(fd));
	}
	close(ends[1]);
	CHECK(read(ends[0], &byte, 1) == 1);
	return ends[0];
}

/* Without descriptors, the user with most connections loses the oldest one. */
static void test_users(void)
{
	int other, fds[2], status;

	if (geteuid())
		return;
	CHECK(!chmod(work, 0755) && !chmod(in_work("run"), 0755) &&
			!chmod(in_work("run/agents.sock"), 0666));
	the_daemon.any_user = true;
	/* Its connection is the oldest one. */
	other = dial_as(5);
	turn();
	fds[0] = dial("run/agents.sock");
	turn();
	fds[1] = dial("run/agents.sock");
	turn();
	CHECK(the_daemon.nr_unidentified == 3);
	loop_pause_listening(&the_daemon);
	CHECK(the_daemon.nr_unidentified == 2);
	CHECK(!is_hung_up(fds[1]));
	CHECK(is_hung_up(fds[0]));
	close(fds[0]);
	fds[0] = dial("run/agents.sock");
	turn();
	loop_pause_listening(&the_daemon);
	CHECK(the_daemon.nr_unidentified == 2 && is_hung_up(fds[1]) && !is_hung_up(fds[0]));
	CHECK(write(other, "x", 1) == 1);
	CHECK(waitpid(-1, &status, 0) > 0 && WIFEXITED(status) && !WEXITSTATUS(status));
	close(other);
	close(fds[0]);
	close(fds[1]);
	while (the_daemon.unidentified)
		turn();
	the_daemon.any_user = false;
}

int main(int argc, char **argv)
{
	(void)argv;
	/* The process of a session executes this program, not the test. */
	if (argc > 1)
		return 1;
	if (!make_work())
		return 1;
	alarm(100);
	begin();
	test_requests();
	test_sessions();
	test_clients();
	test_protocol();
	test_strangers();
	test_remembered();
	test_rendezvous();
	test_restored();
	test_directories();
	test_runtime();
	test_log();
	test_users();
	end();
	return 0;
}
