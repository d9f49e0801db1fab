/* SPDX-License-Identifier: MIT */
/*
 * Fires the events of a script through libside.
 *
 *	fire SCRIPT		a tracer records them (side record -- fire SCRIPT)
 *	fire SCRIPT DIRECTORY	this program records them: plan, record header, trace writer, no
 *				ring
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <side/trace.h>

#include "tracers/agent/plan/plan.h"
#include "ctf/ctf.h"
#include "script.h"

#define RECORD_MAX (1 << 20)
#define SPAN_MAX (4 << 20)

static void die(const char *what)
{
	fprintf(stderr, "fire: %s\n", what);
	exit(1);
}

/* ---- events ---- */

static uint32_t event_count;
static struct side_event_description **events;
static struct side_event_state_0 *states;

static void make_events(struct json_object *list)
{
	uint32_t i;

	event_count = script_count(list);
	events = make_bytes(event_count * sizeof(*events));
	states = make_bytes(event_count * sizeof(*states));
	for (i = 0; i < event_count; i++) {
		events[i] = script_event(script_at(list, i));
		states[i].callbacks =
				(const struct side_callback *)(const void *)side_empty_callback;
		states[i].desc = events[i];
		side_ptr_set(events[i]->state, &states[i].parent);
	}
}

static void fire(struct json_object *list, struct json_object *event_list)
{
	uint32_t i;

	for (i = 0; i < script_count(list); i++) {
		struct json_object *firing = script_at(list, i);
		uint32_t event = (uint32_t)script_number(firing, "event");
		struct side_arg_vec *arguments;
		struct side_arg_dynamic_struct *variadic;

		if (!__atomic_load_n(&states[event].enabled, __ATOMIC_RELAXED))
			continue;
		arguments = script_arguments(script_at(event_list, event), firing);
		variadic = script_variadic(firing);
		errno = 4711;
		if (variadic)
			side_call_variadic(&states[event].parent, arguments, variadic);
		else
			side_call(&states[event].parent, arguments);
		if (errno != 4711)
			die("errno has changed");
	}
}

/* ---- the tracer in this program ---- */

static struct plan **plans;
static struct ctf_writer *writer;
static struct ctf_stream *stream;
static struct error error;
static uint8_t *span;
static size_t span_size;
/* The low 27 bits wrap after a few records. */
static uint64_t now = (7ULL << 27) - 5, span_begin;

static void flush(void)
{
	struct ctf_span part = {span, span_size, span_begin, now, 0};

	if (span_size && ctf_stream_append(stream, &part, &error))
		die(error.text);
	span_size = 0;
}

/* docs/spec/recording.md, section 1, for little-endian hosts. */
static void put_header(uint32_t id)
{
	uint64_t before = now++;
	uint32_t word = (uint32_t)now << 5;
	uint8_t *to = span + span_size;

	if (!span_size || before >> 27 != now >> 27 || id > 65535) {
		to[0] = 31;
		memcpy(to + 1, &id, 4);
		memcpy(to + 5, &now, 8);
		span_size += 13;
	} else if (id < 30) {
		word |= id;
		memcpy(to, &word, 4);
		span_size += 4;
	} else {
		uint16_t small = (uint16_t)id;

		word |= 30;
		memcpy(to, &word, 4);
		memcpy(to + 4, &small, 2);
		span_size += 6;
	}
}

static void record(const struct side_event_description *event, const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *id)
{
	static uint8_t payload[RECORD_MAX];
	enum plan_reason reason = PLAN_REASON_NONE;
	ssize_t size;

	size = plan_serialize_reason(plans[(uintptr_t)id], arguments, variadic, payload,
			sizeof(payload), &reason);
	if (size < 0) {
		fprintf(stderr, "fire: %s: %s\n", side_ptr_get(event->event_name),
				plan_reason_text(reason));
		exit(1);
	}
	if (SPAN_MAX - span_size < (size_t)size + 13)
		flush();
	if (!span_size)
		span_begin = now + 1;
	put_header((uint32_t)(uintptr_t)id);
	memcpy(span + span_size, payload, (size_t)size);
	span_size += (size_t)size;
}

static void on_event(const struct side_event_description *event,
		const struct side_arg_vec *arguments, void *id, void *caller)
{
	int kept = errno;

	(void)caller;
	record(event, arguments, NULL, id);
	errno = kept;
}

static void on_variadic_event(const struct side_event_description *event,
		const struct side_arg_vec *arguments,
		const struct side_arg_dynamic_struct *variadic, void *id, void *caller)
{
	int kept = errno;

	(void)caller;
	record(event, arguments, variadic, id);
	errno = kept;
}

static void listen_here(const char *directory, bool ctf2)
{
	struct ctf_writer_config config = {
			.dir = directory,
			.clock = {.frequency = 1000000000,
					.offset_s = 1700000000,
					.absolute = true},
			.hostname = "host",
			.procname = "fire",
			.exe = "/bin/fire",
			.vpid = 1,
			.format = ctf2 ? CTF_FORMAT_2 : CTF_FORMAT_1,
	};
	uintptr_t i;

	plans = make_bytes(event_count * sizeof(*plans));
	span = make_bytes(SPAN_MAX);
	if (ctf_writer_create(&config, &writer, &error))
		die(error.text);
	for (i = 0; i < event_count; i++) {
		char sentence[512] = "";
		int status;

		if (plan_compile(events[i], &plans[i], sentence, sizeof(sentence)))
			die(sentence);
		if (ctf_writer_add_event(writer, 0, (uint32_t)i, events[i], NULL, 0, &error))
			die(error.text);
		if (events[i]->flags & SIDE_EVENT_FLAG_VARIADIC)
			status = side_tracer_callback_variadic_register(
					events[i], on_variadic_event, (void *)i, 0);
		else
			status = side_tracer_callback_register(events[i], on_event, (void *)i, 0);
		if (status)
			die("cannot register a callback");
	}
	if (ctf_writer_open_stream(writer, 0, 0, now, &stream, &error))
		die(error.text);
}

static void stop_here(void)
{
	uint32_t i;

	flush();
	if (ctf_writer_close(writer, &error))
		die(error.text);
	for (i = 0; i < event_count; i++)
		plan_free(plans[i]);
}

/* Nested more deeply than the default limit of json-c. */
static struct json_object *read_script(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct json_object *script = json_object_from_fd_ex(fd, 2000);

	close(fd);
	return script;
}

/* For tracers that can only listen to registered events: they send a line when they are ready. */
static void wait_until_requested(void)
{
	char byte;

	if (!getenv("FIRE_WAIT"))
		return;
	puts("registered");
	(void)fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		die("no line says when to fire");
}

int main(int argc, char **argv)
{
	struct side_events_register_handle *handle;
	struct json_object *script;
	cpu_set_t cpus;

	script = argc > 1 ? read_script(argv[1]) : NULL;
	if (!script)
		die("no script");
	/* One CPU, one stream: the records are in the order of the calls. */
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	make_events(script_get(script, "events"));
	handle = side_events_register(events, event_count);
	if (!handle)
		die("cannot register events");
	if (argc > 2)
		listen_here(argv[2], argc > 3);
	wait_until_requested();
	fire(script_get(script, "fire"), script_get(script, "events"));
	if (argc > 2)
		stop_here();
	side_events_unregister(handle);
	json_object_put(script);
	return 0;
}
