/* SPDX-License-Identifier: MIT */
/*
 * The process that reads files: its questions and answers, how it is started again after it has
 * exited, and failing system calls. Functions of this test replace those that read files, and
 * answer with a log of the calls of their process.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../failing-calls.h"
#include "../resources.h"

/* ---- system calls: recorded, and some fail ---- */

static char calls[2048]; /* of this process and, before it was forked, of its parents */
static unsigned int forks_until_failure, interrupted_waits, interrupted_receives;
static bool socketpair_fails, kill_fails, ends_after_answer, is_orphan, wrong_answer, short_answer;
static bool was_blocked; /* SIGUSR1, at the last fork */
static unsigned int nr_waits;
static int wait_flags; /* of the last waitpid() */
static struct {
	pid_t pid;
	int signal;
} killed;

__attribute__((format(printf, 1, 2))) static void add_call(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

static int test_prctl(int option, const void *value)
{
	if (option == PR_SET_NAME) {
		add_call("name(%s) ", (const char *)value);
		return prctl(option, value);
	}
	add_call("prctl(%s,%u) ", option == PR_SET_PDEATHSIG ? "death" : "?",
			(unsigned int)(uintptr_t)value);
	return prctl(option, value);
}

static unsigned int test_alarm(unsigned int seconds)
{
	add_call("alarm(%u) ", seconds);
	return 0;
}

static pid_t test_getppid(void)
{
	return is_orphan ? 1 : getppid();
}

static pid_t test_fork(void)
{
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	was_blocked = sigismember(&mask, SIGUSR1);
	add_call("fork ");
	if (forks_until_failure && !--forks_until_failure) {
		errno = EAGAIN;
		return -1;
	}
	return fork();
}

static int test_socketpair(int domain, int type, int protocol, int sockets[2])
{
	if (socketpair_fails) {
		errno = EMFILE;
		return -1;
	}
	return socketpair(domain, type, protocol, sockets);
}

static int test_kill(pid_t pid, int number)
{
	killed.pid = pid;
	killed.signal = number;
	/* The process exits anyway, so that the test can wait for it. */
	(void)kill(pid, number);
	return kill_fails ? -1 : 0;
}

static pid_t test_waitpid(pid_t pid, int *status, int flags)
{
	wait_flags = flags;
	nr_waits++;
	if (interrupted_waits) {
		interrupted_waits--;
		if (status)
			*status = 0;
		errno = EINTR;
		return -1;
	}
	if (!kill_fails)
		return waitpid(pid, status, flags);
	/* The process has not exited. An earlier errno does not count. */
	waitpid(pid, status, 0);
	errno = EINTR;
	return 0;
}

static unsigned int nr_freed; /* of this process and, before it was forked, of its parents */

static void counting_free(void *memory)
{
	nr_freed += memory != NULL;
	free(memory);
}

static ssize_t test_recv(int socket, void *to, size_t size, int flags);

static ssize_t test_send(int socket, const void *bytes, size_t size, int flags)
{
	/* A peer that has exited causes no signal. */
	assert_int_equal(flags, MSG_NOSIGNAL);
	return send(socket, bytes, size, flags);
}

#define prctl(option, value) test_prctl(option, (const void *)(uintptr_t)(value))
#define alarm(seconds) test_alarm(seconds)
#define getppid() test_getppid()
#define fork() test_fork()
#define socketpair(domain, type, protocol, sockets) test_socketpair(domain, type, protocol, sockets)
#define kill(pid, number) test_kill(pid, number)
#define waitpid(pid, status, flags) test_waitpid(pid, status, flags)
#define recv(socket, to, size, flags) test_recv(socket, to, size, flags)
#define send(socket, bytes, size, flags) test_send(socket, bytes, size, flags)
#define free(memory) counting_free(memory)
#include "symbolize/worker.c" /* NOLINT(bugprone-suspicious-include): reaches static functions */
#undef free
#undef prctl
#undef alarm
#undef getppid
#undef fork
#undef socketpair
#undef kill
#undef waitpid
#undef recv
#undef send

/* The answer of a damaged process: texts without a terminator. */
static ssize_t test_recv(int socket, void *to, size_t size, int flags)
{
	struct worker_answer *got = to;

	if (interrupted_receives && size == sizeof(*got)) {
		interrupted_receives--;
		errno = EINTR;
		return -1;
	}
	/* The worker takes the question from the socket after its answer. */
	if (ends_after_answer && size == sizeof(struct symbol_query) && !flags)
		_exit(3);
	if (size == sizeof(*got) && short_answer)
		return recv(socket, to, size, flags) - 1;
	if (size != sizeof(*got) || !wrong_answer)
		return recv(socket, to, size, flags);
	memset(got, 'x', size);
	got->number = 1;
	got->is_lost = false;
	return (ssize_t)size;
}

/* ---- in the worker: replaces module.c and isolate.c ---- */

static unsigned int nr_created;

bool isolate_parser(const struct isolate_limits *limits)
{
	add_call("isolate(%d) ", limits->reads_all);
	return true;
}

struct module *module_create(const struct module_name *name)
{
	struct module *module;

	if (!strcmp(name->path, "no module"))
		return NULL;
	module = calloc(1, sizeof(*module));
	module->name = *name;
	module->name.path = strdup(name->path);
	module->name.debug_link = strdup(name->debug_link);
	nr_created++;
	return module;
}

void module_open(struct module *module, const struct symbols_options *options)
{
	char sentence[5000];

	assert_int_equal(module->number / 100, 7);
	module->first_known = strcmp(module->name.path, "no first") != 0;
	module->first = 0x40000;
	assert_string_equal(options->path, "/folders");
	if (!strncmp(module->name.path, "say ", 4)) {
		memset(sentence, 's', sizeof(sentence));
		sentence[atoi(module->name.path + 4)] = '\0'; /* NOLINT(cert-err34-c): our own */
		options->report(NULL, sentence);
	}
}

bool module_address(const struct module *module, uint64_t offset, uint64_t *address)
{
	(void)module;
	*address = offset + 0x500000;
	return offset != 0x666;
}

static char *repeat(char character, size_t count)
{
	char *text = malloc(count + 1);

	memset(text, character, count);
	text[count] = '\0';
	return text;
}

static const char *handler_of(int number)
{
	struct sigaction action;

	sigaction(number, NULL, &action);
	return action.sa_handler == SIG_DFL            ? "default"
			: action.sa_handler == SIG_IGN ? "ignored"
						       : "handled";
}

static char *describe_signals(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGCHLD, SIGALRM,
			SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
	char text[1024] = "";
	struct rlimit core;
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	getrlimit(RLIMIT_CORE, &core);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s ",
				handler_of(numbers[i]),
				sigismember(&mask, numbers[i]) ? " blocked" : "");
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u %u",
			(unsigned int)core.rlim_cur, (unsigned int)core.rlim_max);
	return strdup(text);
}

static char *describe_number(unsigned int number)
{
	char *text;

	assert_true(asprintf(&text, "%u", number) > 0);
	return text;
}

static char *describe_module(const struct module *module, uint64_t address)
{
	char *text;

	assert_true(asprintf(&text, "%u %s %u %zu %02x%02x %s %x", module->number,
				    module->name.path, (unsigned int)module->name.inode,
				    module->name.build_id_size, module->name.build_id[0],
				    module->name.build_id[63], module->name.debug_link,
				    (unsigned int)address) > 0);
	return text;
}

void module_find_variable(struct module *module, uint64_t address, struct symbol *symbol)
{
	char *text;

	assert_true(asprintf(&text, "variable %u %x", module->number, (unsigned int)address) > 0);
	symbol->function = text;
	symbol->inside = 0x44;
}

/* So many inlined functions, with names of so many bytes; every second one has a file. */
static void add_inlined(struct symbol *symbol, unsigned int count, unsigned int size)
{
	struct symbol_inlined *inlined = calloc(count, sizeof(*inlined));

	for (unsigned int i = 0; i < count; i++)
		inlined[i] = (struct symbol_inlined){
				.function = repeat((char)('a' + i % 26), size),
				.file = i & 1 ? strdup("inlined.c") : NULL,
				.line = 100 + i,
		};
	symbol->inlined = inlined;
	symbol->nr_inlined = count;
}

void module_find(struct module *module, uint64_t address, struct symbol *symbol)
{
	const char *path = module->name.path;
	unsigned int count, size;

	symbol->inside = 0x33;
	symbol->line = 21;
	if (sscanf(path, "inlined %u %u", &count, &size) == 2)
		add_inlined(symbol, count, size);
	if (!strcmp(path, "crash"))
		raise(SIGKILL);
	if (!strcmp(path, "exit 0"))
		_exit(0);
	if (!strcmp(path, "exit 3"))
		_exit(3);
	ends_after_answer = !strcmp(path, "ends after the answer");
	if (!strcmp(path, "nothing"))
		return;
	if (!strcmp(path, "no line"))
		symbol->line = 0;
	if (strcmp(path, "no file") != 0)
		symbol->file = strncmp(path, "long ", 5) != 0
				? strdup("file.c")
				: repeat('F', (size_t)atoi(path + 5)); /* NOLINT(cert-err34-c) */
	if (!strcmp(path, "no function"))
		return;
	if (!strncmp(path, "long ", 5))
		symbol->function = repeat(
				'f', (size_t)atoi(path + 5)); /* NOLINT(cert-err34-c): our own */
	else if (!strcmp(path, "calls"))
		symbol->function = strdup(calls);
	else if (!strcmp(path, "signals"))
		symbol->function = describe_signals();
	else if (!strcmp(path, "created"))
		symbol->function = describe_number(nr_created);
	else if (!strcmp(path, "freed"))
		symbol->function = describe_number(nr_freed);
	else
		symbol->function = describe_module(module, address);
}

/* ---- helpers ---- */

static char printed_message[TEXT_MAX + 8];
static unsigned int nr_sentences;
static uint32_t next_module;

static void keep(void *user, const char *sentence)
{
	assert_string_equal(user, "user");
	snprintf(printed_message, sizeof(printed_message), "%s", sentence);
	nr_sentences++;
}

static char user_text[] = "user";
static const struct symbols_options options = {
		.path = "/folders", .report = keep, .user = user_text};

static struct symbol_worker *make(void)
{
	struct symbol_worker *worker;

	*calls = '\0';
	nr_sentences = nr_freed = 0;
	next_module = 700;
	worker = worker_create(&options);
	assert_non_null(worker);
	return worker;
}

static bool ask_of(struct symbol_worker *worker, uint32_t module, const char *path,
		struct symbol *symbol)
{
	const struct module_name name = {.path = path, .debug_link = ""};
	const struct worker_question question = {.module = module, .name = &name, .offset = 0x1234};

	*symbol = (struct symbol){.function = NULL};
	return worker_ask(worker, &question, symbol);
}

/* A different file for each question. */
static bool ask(struct symbol_worker *worker, const char *path, struct symbol *symbol)
{
	return ask_of(worker, next_module++, path, symbol);
}

static void forget(struct symbol *symbol)
{
	free((void *)(uintptr_t)symbol->function);
	free((void *)(uintptr_t)symbol->file);
	symbol_free_inlined(symbol);
	*symbol = (struct symbol){.function = NULL};
}

static void assert_function(struct symbol_worker *worker, const char *path, const char *function)
{
	struct symbol symbol;

	assert_true(ask(worker, path, &symbol));
	assert_non_null(symbol.function);
	assert_string_equal(symbol.function, function);
	forget(&symbol);
}

/* Checks that no process is left, not even a zombie. */
static void assert_ended(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* ---- inlined functions ---- */

static void assert_inlined(
		struct symbol_worker *worker, const char *path, size_t count, size_t size)
{
	struct symbol symbol;

	assert_true(ask(worker, path, &symbol));
	assert_int_equal(symbol.nr_inlined, count);
	for (size_t i = 0; i < count; i++) {
		const struct symbol_inlined *inlined = &symbol.inlined[i];

		assert_int_equal(strlen(inlined->function), size);
		assert_int_equal(*inlined->function, 'a' + i % 26);
		assert_int_equal(inlined->file != NULL, i & 1);
		/* A line needs a file. */
		assert_int_equal(inlined->line, i & 1 ? 100 + i : 0);
	}
	forget(&symbol);
}

static void test_inlined(void **unused)
{
	struct symbol_worker *worker = make();
	char path[64];

	(void)unused;
	assert_inlined(worker, "inlined 0 0", 0, 0);
	assert_inlined(worker, "inlined 1 5", 1, 5);
	assert_inlined(worker, "inlined 32 20", SYMBOLS_INLINED_MAX, 20);
	assert_inlined(worker, "inlined 33 20", SYMBOLS_INLINED_MAX, 20);
	/* One after the other: no part of a previous answer is left. */
	assert_inlined(worker, "inlined 2 7", 2, 7);
	assert_inlined(worker, "no inlined function", 0, 0);
	/* What does not fit is left out: line, function, NUL, empty file, NUL. */
	snprintf(path, sizeof(path), "inlined 1 %u", SYMBOL_BYTES_MAX - 6);
	assert_inlined(worker, path, 1, SYMBOL_BYTES_MAX - 6);
	snprintf(path, sizeof(path), "inlined 1 %u", SYMBOL_BYTES_MAX - 5);
	assert_inlined(worker, path, 0, 0);
	worker_free(worker);
	assert_ended();
}

static void assert_unpacked(const char *bytes, size_t size, size_t count)
{
	struct symbol symbol = {.function = NULL};

	symbol_unpack_inlined(&symbol, bytes, size);
	assert_int_equal(symbol.nr_inlined, count);
	symbol_free_inlined(&symbol);
}

/* Bytes of a damaged process. */
static void test_invalid_inlined(void **unused)
{
	static const char bytes[] = "\x07\0\0\0name\0file\0\x07\0\0\0name\0file";

	(void)unused;
	for (size_t size = 0; size < sizeof(bytes); size++)
		assert_unpacked(bytes, size, size >= 14);
	assert_unpacked(bytes, sizeof(bytes), 2);
	/* A function without a name. */
	assert_unpacked("\x07\0\0\0\0file", 10, 0);
}

/* ---- questions and answers ---- */

static void test_data(void **unused)
{
	struct symbol_worker *worker = make();
	struct module_name name = {.path = "/a", .debug_link = ""};
	struct worker_question question = {
			.module = 777, .name = &name, .offset = 0x1234, .data = true};
	struct symbol symbol = {.function = NULL};

	(void)unused;
	assert_true(worker_ask(worker, &question, &symbol));
	assert_string_equal(symbol.function, "variable 777 41234");
	assert_int_equal(symbol.inside, 0x44);
	assert_null(symbol.file);
	forget(&symbol);
	/* By maps: as far from the address of the mapped code as in the process. */
	question.module = 778;
	name.inode = 99;
	question.origin = 0x1000;
	assert_true(worker_ask(worker, &question, &symbol));
	assert_string_equal(symbol.function, "variable 778 501234");
	forget(&symbol);
	question.origin = 0x666;
	assert_true(worker_ask(worker, &question, &symbol));
	assert_null(symbol.function);
	worker_free(worker);
	assert_ended();
}

static void test_questions(void **unused)
{
	struct symbol_worker *worker = make();
	struct module_name name = {.path = "/a",
			.inode = 0,
			.build_id = {0xab, [63] = 0xcd},
			.build_id_size = 20,
			.debug_link = "a.debug"};
	struct worker_question question = {.module = 777, .name = &name, .offset = 0x1234};
	struct symbol symbol = {.function = NULL};

	(void)unused;
	/* Relative to the base: the first address of the file is added. */
	assert_true(worker_ask(worker, &question, &symbol));
	assert_string_equal(symbol.function, "777 /a 0 20 abcd a.debug 41234");
	assert_string_equal(symbol.file, "file.c");
	assert_int_equal(symbol.line, 21);
	assert_int_equal(symbol.offset, 0x41234);
	assert_int_equal(symbol.inside, 0x33);
	forget(&symbol);
	/*
	 * A call is before its address; the same module is not opened again, even with another
	 * name.
	 */
	question.call = true;
	name.path = "/other";
	assert_true(worker_ask(worker, &question, &symbol));
	assert_string_equal(symbol.function, "777 /a 0 20 abcd a.debug 41233");
	assert_int_equal(symbol.offset, 0x41234);
	assert_int_equal(symbol.inside, 0x34);
	forget(&symbol);
	/* With an inode: an offset in the file, which may have no address. */
	question.module = 778;
	name.inode = 99;
	name.build_id_size = 64;
	assert_true(worker_ask(worker, &question, &symbol));
	assert_string_equal(symbol.function, "778 /other 99 64 abcd a.debug 501233");
	assert_int_equal(symbol.offset, 0x501234);
	forget(&symbol);
	question.offset = 0x667;
	assert_true(worker_ask(worker, &question, &symbol));
	assert_null(symbol.function);
	assert_null(symbol.file);
	assert_int_equal(symbol.line, 0);
	assert_int_equal(symbol.offset, 0x667);
	/* No function is before address 0, and a call at address 1 is at address 0. */
	question.module = 777;
	name.inode = 0;
	for (uint64_t address = 0; address < 2; address++) {
		question.offset = address - 0x40000;
		assert_true(worker_ask(worker, &question, &symbol));
		assert_int_equal(symbol.offset, address);
		assert_int_equal(symbol.function != NULL, address);
		forget(&symbol);
	}
	/* Both modules are still known. */
	question.module = 778;
	assert_true(worker_ask(worker, &question, &symbol));
	forget(&symbol);
	assert_function(worker, "created", "3");
	assert_int_equal(worker->questions, 8);
	worker_free(worker);
	assert_ended();
}

static void test_answers(void **unused)
{
	struct symbol_worker *worker = make();
	struct symbol symbol;

	(void)unused;
	assert_true(ask(worker, "no function", &symbol));
	assert_null(symbol.function);
	assert_string_equal(symbol.file, "file.c");
	assert_int_equal(symbol.line, 21);
	assert_int_equal(symbol.inside, 0);
	forget(&symbol);
	/* A line needs a file, and a file a line. */
	assert_true(ask(worker, "no file", &symbol));
	assert_string_equal(symbol.function, "701 no file 0 0 0000  41234");
	assert_null(symbol.file);
	assert_int_equal(symbol.line, 0);
	forget(&symbol);
	assert_true(ask(worker, "no line", &symbol));
	assert_non_null(symbol.function);
	assert_null(symbol.file);
	assert_int_equal(symbol.line, 0);
	forget(&symbol);
	/* No part of the previous answer is left. */
	assert_true(ask(worker, "nothing", &symbol));
	assert_null(symbol.function);
	assert_null(symbol.file);
	assert_int_equal(symbol.inside, 0);
	assert_int_equal(symbol.offset, 0x41234);
	assert_true(ask(worker, "no first", &symbol));
	assert_null(symbol.function);
	assert_int_equal(symbol.offset, 0x41234);
	assert_true(ask(worker, "no module", &symbol));
	assert_null(symbol.function);
	assert_int_equal(symbol.offset, 0);
	worker_free(worker);
	worker_free(NULL);
	/* The worker frees both texts of an answer. */
	worker = make();
	for (unsigned int i = 0; i < 3; i++) {
		char number[8];

		snprintf(number, sizeof(number), "%u", 2 * i);
		assert_function(worker, "freed", number);
	}
	worker_free(worker);
	assert_ended();
}

static void test_sentences(void **unused)
{
	struct symbol_worker *worker = make();
	struct symbol symbol;

	(void)unused;
	for (unsigned int size = 4095; size <= 4096; size++) {
		char path[16];

		snprintf(path, sizeof(path), "say %u", size);
		assert_true(ask(worker, path, &symbol));
		assert_int_equal(strlen(printed_message), 4095);
		assert_int_equal(strspn(printed_message, "s"), 4095);
		forget(&symbol);
	}
	assert_int_equal(nr_sentences, 2);
	/* Once: the file is open. */
	assert_true(ask_of(worker, next_module - 1, "say 4096", &symbol));
	forget(&symbol);
	assert_int_equal(nr_sentences, 2);
	worker->options.report = NULL;
	assert_true(ask(worker, "say 1", &symbol));
	forget(&symbol);
	worker_free(worker);
}

static void test_text_limits(void **unused)
{
	struct symbol_worker *worker = make();
	struct symbol symbol = {.function = NULL};
	char *text = repeat('p', TEXT_MAX);
	struct module_name name = {.path = text, .debug_link = ""};
	struct worker_question question = {.module = 790, .name = &name};

	(void)unused;
	assert_int_equal(TEXT_MAX, 4096);
	for (unsigned int size = 4095; size <= 4096; size++) {
		char path[16];

		snprintf(path, sizeof(path), "long %u", size);
		assert_true(ask(worker, path, &symbol));
		assert_int_equal(strspn(symbol.function, "f"), 4095);
		assert_int_equal(strlen(symbol.function), 4095);
		assert_int_equal(strspn(symbol.file, "F"), 4095);
		assert_int_equal(strlen(symbol.file), 4095);
		forget(&symbol);
	}
	/* A longer path is not looked up. A longer link is left out. */
	assert_false(worker_ask(worker, &question, &symbol));
	assert_int_equal(worker->questions, 2);
	assert_true(worker->socket >= 0);
	text[TEXT_MAX - 1] = '\0';
	assert_true(worker_ask(worker, &question, &symbol));
	assert_int_equal(strspn(symbol.function + 4, "p"), 4091);
	forget(&symbol);
	for (unsigned int beyond = 0; beyond < 2; beyond++) {
		text[TEXT_MAX - 1] = beyond ? 'p' : '\0';
		name.path = "/a";
		name.debug_link = text;
		question.module = 791 + beyond;
		assert_true(worker_ask(worker, &question, &symbol));
		assert_int_equal(strlen(symbol.function),
				beyond ? strlen("792 /a 0 0 0000  40000") : 4095);
		forget(&symbol);
	}
	free(text);
	worker_free(worker);
}

/* ---- the processes ---- */

static void handle(int number)
{
	(void)number;
}

static void test_environment(void **unused)
{
	static const int handled[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGCHLD, SIGALRM,
			SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct symbols_options downloading = options;
	struct timeval limit;
	struct symbol_worker *worker;
	void (*before[11])(int);
	socklen_t size = sizeof(limit);
	unsigned int descriptors = resources_descriptors();
	sigset_t mask, old;

	(void)unused;
	for (unsigned int i = 0; i < 11; i++)
		before[i] = signal(handled[i], handle);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigaddset(&mask, SIGTERM);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	worker = make();
	/* The mask of this thread is unchanged. */
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_true(sigismember(&mask, SIGUSR1));
	assert_false(sigismember(&mask, SIGUSR2));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	assert_true(was_blocked);
	assert_function(worker, "signals",
			"default default default default default default default ignored ignored ignored ignored default 0 0");
	for (unsigned int i = 0; i < 11; i++)
		signal(handled[i], before[i]);
	/* One socket of this process, which no program inherits. */
	assert_int_equal(resources_descriptors(), descriptors + 1);
	assert_int_equal(fcntl(worker->socket, F_GETFD), FD_CLOEXEC);
	assert_int_equal(getsockopt(worker->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, &size), 0);
	assert_int_equal(limit.tv_sec, 120);
	assert_function(worker, "calls",
			"fork prctl(death,9) fork prctl(death,9) name(side-symbols) isolate(1) alarm(60) alarm(0) alarm(60) ");
	killed.pid = 0;
	worker_free(worker);
	assert_true(killed.pid > 0);
	assert_int_equal(killed.signal, SIGKILL);
	assert_int_equal(wait_flags, 0);
	assert_int_equal(resources_descriptors(), descriptors);
	assert_ended();
	/* A worker that downloads is not confined. */
	downloading.debuginfod = true;
	*calls = '\0';
	worker = worker_create(&downloading);
	assert_function(worker, "calls",
			"fork prctl(death,9) fork prctl(death,9) name(side-symbols) alarm(60) ");
	worker_free(worker);
	assert_ended();
}

static void assert_lost(struct symbol_worker *worker, const char *path)
{
	struct symbol symbol;

	assert_false(ask(worker, path, &symbol));
	assert_null(symbol.function);
	assert_null(symbol.file);
}

static void test_restarts(void **unused)
{
	struct symbol_worker *worker = make();
	unsigned int descriptors = resources_descriptors();

	(void)unused;
	/* 64 processes one after the other. */
	for (unsigned int i = 1; i <= 64; i++) {
		assert_function(worker, "created", "1");
		assert_lost(worker, i & 1 ? "crash" : "exit 3");
		assert_true(worker->socket >= 0);
		next_module = 700;
	}
	assert_lost(worker, "created");
	assert_int_equal(worker->socket, -1);
	assert_int_equal(resources_descriptors(), descriptors - 1);
	assert_ended();
	assert_lost(worker, "created");
	assert_int_equal(worker->questions, 129);
	worker_free(worker);
	/* A process that exits on its own is not started again. */
	worker = make();
	assert_lost(worker, "exit 0");
	assert_int_equal(worker->socket, -1);
	worker_free(worker);
	assert_ended();
	/*
	 * A worker that ends after its answer: the answer counts, and the next question gets
	 * another worker.
	 */
	worker = make();
	assert_function(worker, "ends after the answer",
			"700 ends after the answer 0 0 0000  41234");
	assert_function(worker, "/next", "701 /next 0 0 0000  41234");
	worker_free(worker);
	assert_ended();
}

static void test_failing_starts(void **unused)
{
	unsigned int descriptors = resources_descriptors();
	struct symbol_worker *worker;

	(void)unused;
	socketpair_fails = true;
	worker = make();
	socketpair_fails = false;
	assert_string_equal(calls, "");
	assert_lost(worker, "/a");
	worker_free(worker);
	forks_until_failure = 1;
	worker = make();
	assert_int_equal(forks_until_failure, 0);
	assert_int_equal(worker->socket, -1);
	assert_int_equal(resources_descriptors(), descriptors);
	assert_lost(worker, "/a");
	worker_free(worker);
	/* In the supervisor: it ends. */
	forks_until_failure = 2;
	worker = make();
	forks_until_failure = 0;
	assert_lost(worker, "/a");
	assert_int_equal(worker->socket, -1);
	worker_free(worker);
	assert_ended();
	/* The supervisor exited before its process noticed. */
	is_orphan = true;
	worker = make();
	is_orphan = false;
	assert_lost(worker, "/a");
	worker_free(worker);
	failing_arm(1);
	assert_null(worker_create(&options));
	assert_true(failing_has_failed());
	assert_ended();
}

static void test_failing_calls(void **unused)
{
	struct symbol_worker *worker;
	struct symbol symbol;

	(void)unused;
	/* Interrupted calls continue, also in the supervisor. */
	interrupted_waits = 2;
	worker = make();
	assert_lost(worker, "crash");
	interrupted_receives = 2;
	assert_function(worker, "/a", "701 /a 0 0 0000  41234");
	assert_int_equal(interrupted_receives, 0);
	/* The texts of a damaged process are terminated. */
	wrong_answer = true;
	worker->questions = 0;
	assert_true(ask(worker, "/a", &symbol));
	wrong_answer = false;
	assert_int_equal(strlen(symbol.function), 4095);
	assert_int_equal(strlen(symbol.file), 4095);
	assert_int_equal(strlen(printed_message), 4095);
	forget(&symbol);
	interrupted_waits = 2;
	worker_free(worker);
	assert_int_equal(interrupted_waits, 0);
	assert_ended();
	/* An answer that is too short. */
	worker = make();
	short_answer = true;
	assert_lost(worker, "/a");
	short_answer = false;
	assert_int_equal(worker->socket, -1);
	worker_free(worker);
	/* No permission to end the process. */
	worker = make();
	kill_fails = true;
	nr_waits = 0;
	worker_free(worker);
	kill_fails = false;
	assert_int_equal(nr_waits, 1);
	assert_int_equal(wait_flags, WNOHANG);
	/* The peer has closed its socket. */
	worker = make();
	shutdown(worker->socket, SHUT_RDWR);
	assert_lost(worker, "/a");
	assert_int_equal(worker->socket, -1);
	worker_free(worker);
	/* The question, the answer, the function, the file. */
	for (unsigned int number = 1; number <= 5; number++) {
		worker = make();
		failing_arm(number);
		assert_int_equal(ask(worker, "/a", &symbol), number > 2);
		assert_int_equal(failing_has_failed(), number < 5);
		assert_int_equal(symbol.function != NULL, number > 3);
		assert_int_equal(symbol.file != NULL, number == 3 || number == 5);
		assert_int_equal(symbol.line, symbol.file ? 21 : 0);
		forget(&symbol);
		worker_free(worker);
	}
	assert_ended();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_questions),
			cmocka_unit_test(test_data),
			cmocka_unit_test(test_inlined),
			cmocka_unit_test(test_invalid_inlined),
			cmocka_unit_test(test_answers),
			cmocka_unit_test(test_sentences),
			cmocka_unit_test(test_text_limits),
			cmocka_unit_test(test_environment),
			cmocka_unit_test(test_restarts),
			cmocka_unit_test(test_failing_starts),
			cmocka_unit_test(test_failing_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
