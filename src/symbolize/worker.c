/* SPDX-License-Identifier: MIT */
/*
 * Runs the process that reads files. Questions and answers are single messages on a pair of
 * sockets.
 *
 * A supervisor, a process without threads, starts the worker, and another one after each that ends:
 * on a damaged file, or because a question takes too long. So the asking process needs no right to
 * start and to end processes. Both end with the socket, and with their parents.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolate/isolate.h"
#include "symbolize/worker.h"

#define TEXT_MAX 4096 /* with its NUL */
#define WORKERS_MAX 64
#define ANSWER_SECONDS 60

struct symbol_query {
	uint64_t number;
	uint32_t module;
	bool call, data;
	uint64_t offset, origin, inode;
	uint32_t build_id_size;
	uint8_t build_id[SYMBOLS_BUILD_ID_MAX];
	char path[TEXT_MAX], link[TEXT_MAX];
};

struct worker_answer {
	uint64_t number; /* of the question */
	bool is_lost;    /* The worker ended during this question. */
	uint64_t offset, inside;
	uint32_t line;
	char function[TEXT_MAX], file[TEXT_MAX];
	char sentence[TEXT_MAX]; /* "": none */
	/* What symbol_pack_inlined() wrote: only these bytes are sent. */
	uint32_t inlined_size;
	char inlined[SYMBOL_BYTES_MAX];
};
#define ANSWER_HEAD_BYTES (offsetof(struct worker_answer, inlined))

struct symbol_worker {
	struct symbols_options options;
	int socket; /* -1: no worker */
	pid_t pid;
	uint64_t questions;
};

/* ---- in the worker ---- */

static struct worker_answer answer;

static void keep_sentence(void *user, const char *sentence)
{
	(void)user;
	strncpy(answer.sentence, sentence, TEXT_MAX - 1);
}

static struct module *open_module(
		const struct symbol_query *question, const struct symbols_options *options)
{
	static struct module *first;
	struct module_name name = {
			.path = question->path,
			.inode = question->inode,
			.build_id_size = question->build_id_size,
			.debug_link = question->link,
	};
	struct symbols_options own = *options;
	struct module *module;

	for (module = first; module; module = module->next)
		if (module->number == question->module)
			return module;
	memcpy(name.build_id, question->build_id, sizeof(name.build_id));
	module = module_create(&name);
	if (!module)
		return NULL;
	module->number = question->module;
	module->next = first;
	first = module;
	own.report = keep_sentence;
	module_open(module, &own);
	return module;
}

/* The address in the file. False: not known. */
static bool symbol_worker_get_address(const struct symbol_query *question,
		const struct module *module, uint64_t *ret_address)
{
	uint64_t offset = question->offset - question->call;
	uint64_t origin = question->data ? question->origin : offset;

	*ret_address = question->offset + module->first;
	if (!question->inode)
		return module->first_known;
	*ret_address = question->offset;
	if (!module_address(module, origin, &origin))
		return false;
	/* Data is not mapped at the same distance from code as in the file. */
	*ret_address = question->data ? origin + question->offset - question->origin
				      : origin + question->call;
	return true;
}

static void symbol_worker_answer(const struct symbol_query *question, struct module *module)
{
	struct symbol symbol = {.function = NULL};
	bool call = question->call;
	uint64_t address;
	bool known = symbol_worker_get_address(question, module, &address);

	answer.offset = address;
	if (!known || address < call)
		return;
	if (question->data)
		module_find_variable(module, address, &symbol);
	else
		module_find(module, address - call, &symbol);
	answer.line = symbol.file ? symbol.line : 0;
	if (symbol.file)
		strncpy(answer.file, symbol.file, TEXT_MAX - 1);
	if (symbol.function) {
		answer.inside = symbol.inside + call;
		strncpy(answer.function, symbol.function, TEXT_MAX - 1);
	}
	answer.inlined_size = (uint32_t)symbol_pack_inlined(&symbol, answer.inlined);
	free((void *)(uintptr_t)symbol.function);
	free((void *)(uintptr_t)symbol.file);
	symbol_free_inlined(&symbol);
}

static _Noreturn void symbol_worker_run(int socket, const struct symbols_options *options)
{
	const struct isolate_limits limits = {.reads_all = true};
	const struct rlimit none = {0, 0};
	static struct symbol_query question;

	prctl(PR_SET_NAME, "side-symbols");
	/* A crash must not leave a core file. */
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGALRM, SIG_DFL);
	/* The worker parses untrusted files. Only a download needs the network, and writes: to its
	   cache. */
	if (!options->debuginfod)
		(void)isolate_parser(&limits);
	/* The question stays in the socket until it is answered: if the worker ends, the supervisor
	   finds it there. */
	while (recv(socket, &question, sizeof(question), MSG_PEEK) == (ssize_t)sizeof(question)) {
		struct module *module;

		memset(&answer, 0, ANSWER_HEAD_BYTES);
		answer.number = question.number;
		alarm(ANSWER_SECONDS);
		module = open_module(&question, options);
		if (module)
			symbol_worker_answer(&question, module);
		alarm(0);
		if (send(socket, &answer, ANSWER_HEAD_BYTES + answer.inlined_size, MSG_NOSIGNAL) <=
						0 ||
				recv(socket, &question, sizeof(question), 0) !=
						(ssize_t)sizeof(question))
			break;
	}
	_exit(0);
}

/* ---- the supervisor ---- */

static void report_lost(int socket)
{
	static struct symbol_query question;

	if (recv(socket, &question, sizeof(question), MSG_DONTWAIT) != (ssize_t)sizeof(question))
		return;
	answer = (struct worker_answer){.number = question.number, .is_lost = true};
	(void)!send(socket, &answer, ANSWER_HEAD_BYTES, MSG_NOSIGNAL);
}

static _Noreturn void supervise(int socket, const struct symbols_options *options)
{
	/* Signals of the terminal are for the asking process, which may have more questions. */
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	static const int ours[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGCHLD};
	pid_t supervisor = getpid();
	sigset_t none;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], SIG_DFL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (unsigned int started = 0; started < WORKERS_MAX; started++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != supervisor)
				_exit(1);
			symbol_worker_run(socket, options);
		}
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (pid < 0 || (WIFEXITED(status) && !WEXITSTATUS(status)))
			break;
		report_lost(socket);
	}
	_exit(0);
}

/* ---- in the asking process ---- */

static void symbol_worker_stop(struct symbol_worker *worker)
{
	if (worker->socket < 0)
		return;
	close(worker->socket);
	worker->socket = -1;
	/* SIGKILL is safe: the worker has no state to lose. If this process is confined, it cannot
	   kill, and must not wait for a hostile worker. */
	while (waitpid(worker->pid, NULL, kill(worker->pid, SIGKILL) ? WNOHANG : 0) < 0 &&
			errno == EINTR)
		;
}

static void symbol_worker_spawn(struct symbol_worker *worker)
{
	/* Longer than the worker's own limit, which a hostile worker need not keep. */
	const struct timeval limit = {.tv_sec = 2 * ANSWER_SECONDS};
	sigset_t all, before;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return;
	/* Block signals, so that handlers of this process do not run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	worker->pid = fork();
	if (!worker->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sockets[0]);
		supervise(sockets[1], &worker->options);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(sockets[1]);
	setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (worker->pid > 0)
		worker->socket = sockets[0];
	else
		close(sockets[0]);
}

struct symbol_worker *worker_create(const struct symbols_options *options)
{
	struct symbol_worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return NULL;
	worker->options = *options;
	worker->socket = -1;
	/* Fork now, while the process has one thread and is not confined. */
	symbol_worker_spawn(worker);
	return worker;
}

void worker_free(struct symbol_worker *worker)
{
	if (worker)
		symbol_worker_stop(worker);
	free(worker);
}

static void fill_in(const struct worker_question *from, struct symbol_query *question)
{
	*question = (struct symbol_query){
			.module = from->module,
			.call = from->call,
			.data = from->data,
			.offset = from->offset,
			.origin = from->origin,
			.inode = from->name->inode,
			.build_id_size = (uint32_t)from->name->build_id_size,
	};
	memcpy(question->build_id, from->name->build_id, sizeof(question->build_id));
	strcpy(question->path, from->name->path);
	if (strlen(from->name->debug_link) < TEXT_MAX)
		strcpy(question->link, from->name->debug_link);
}

/* False: no process answers. */
static bool symbol_worker_exchange(struct symbol_worker *worker,
		const struct symbol_query *question, struct worker_answer *got)
{
	ssize_t size;
	bool is_whole;

	if (send(worker->socket, question, sizeof(*question), MSG_NOSIGNAL) !=
			(ssize_t)sizeof(*question))
		return false;
	/* The question of a worker that ended just after its answer is reported as lost, too: skip
	   that report. */
	do {
		size = recv(worker->socket, got, sizeof(*got), 0);
		is_whole = size >= (ssize_t)ANSWER_HEAD_BYTES;
	} while ((size < 0 && errno == EINTR) || (is_whole && got->number != question->number));
	/* A worker that a damaged file has taken over may send any bytes. */
	got->function[TEXT_MAX - 1] = got->file[TEXT_MAX - 1] = got->sentence[TEXT_MAX - 1] = '\0';
	if (is_whole && got->inlined_size > (size_t)size - ANSWER_HEAD_BYTES)
		got->inlined_size = 0;
	return is_whole;
}

bool worker_ask(struct symbol_worker *worker, const struct worker_question *question,
		struct symbol *symbol)
{
	struct symbol_query *asked = malloc(sizeof(*asked));
	struct worker_answer *got = malloc(sizeof(*got));
	bool ok = asked && got && strlen(question->name->path) < TEXT_MAX;

	ok = ok && worker->socket >= 0;
	if (ok) {
		fill_in(question, asked);
		asked->number = ++worker->questions;
		ok = symbol_worker_exchange(worker, asked, got);
		if (!ok)
			symbol_worker_stop(worker);
		ok = ok && !got->is_lost;
	}
	if (ok) {
		symbol->offset = got->offset;
		symbol->inside = got->inside;
		symbol->function = *got->function ? strdup(got->function) : NULL;
		symbol->file = *got->file && got->line ? strdup(got->file) : NULL;
		symbol->line = symbol->file ? got->line : 0;
		symbol_unpack_inlined(symbol, got->inlined, got->inlined_size);
		if (*got->sentence && worker->options.report)
			worker->options.report(worker->options.user, got->sentence);
	}
	free(asked);
	free(got);
	return ok;
}
