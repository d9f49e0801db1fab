/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

const char *const fuzz_seeds[] = {
		"u8 == 200 && u32 > 5 || (u64 & 0xff) == 255",
		"name == \"A*\\\\\" || name16 != \"? 5\" && len(name32) == 4",
		"first.name == \"tea\" && items[1].count == 40 && grid[1][2] == 2",
		"has(note) && note == \"x\" || !has(memo)",
		"pay_number == 1999 || pay_text == \"card\" || pay_point.y == 12",
		"state == \"in*\" && mood == \"minus\" && options == \"gift\" && many == \"far\"",
		"parcel.weights[2] == 9 && parcel.points[1].x == -3 && parcel.state == \"minus\"",
		"texts[2] == \"drei\" && pointers[1] == \"(null)\" && shorts[1] == 2000",
		"numbers[2] == -20 && words[1] == \"w*\" && len(numbers) == 3",
		"anything.list[1] == \"two\" && visited[0] == -3 && fields.y == \"yp*\"",
		"latency_us == 250 && object.list[4] == 77 && `dash-name` == \"dash\"",
		"$ctx.procname == \"redis*\" && $app.shop:request == \"GET\" || $ctx.absent",
		"price * 2 == 19 && total / 0 != 1 && (s8 << 3) + ~s16 % 7 - -u16 >> 1 == 3",
		"(u128 >> 64) == 0xffffffffffffffff && s128 == -5 && u128 > 1.5e38",
		"((u8 == 200) + (u16 == 1)) == 1 && 'a' == 0x61 && true != false",
		"price",
		"u8 & 8",
		NULL,
};

static const struct side_event_description *description;
static const struct side_arg_vec *arguments;
static const struct side_arg_dynamic_struct *variadic;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;

/* Keeps the pointer; the arguments stay on the stack of a caller. */
static void keep(const struct side_event_description *desc, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var, void *priv, void *caller)
{
	(void)priv;
	(void)caller;
	pthread_mutex_lock(&lock);
	description = desc;
	arguments = args;
	variadic = var;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&lock);
	for (;;)
		pause();
}

static void *fire(void *arg)
{
	sample_fire(keep, arg);
	return NULL;
}

void fuzz_start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fire, NULL))
		abort();
	pthread_detach(thread);
	pthread_mutex_lock(&lock);
	while (!arguments)
		pthread_cond_wait(&ready, &lock);
	pthread_mutex_unlock(&lock);
}

static void contradiction(const char *what)
{
	fprintf(stderr, "contradiction: %s\n", what);
	abort();
}

/* ---- running ---- */

static void run(const struct filter *filter, const struct side_arg_vec *args,
		const struct side_arg_dynamic_struct *var)
{
	struct filter_value value;
	bool matches = filter_matches(filter, args, var, filter, &sample_contexts);
	int ret = filter_evaluate(filter, args, var, filter, &sample_contexts, &value);

	if ((ret == 0) != (value.kind != FILTER_NONE) || value.kind > FILTER_WIDE)
		contradiction("an evaluation with and without a value");
	/* Numbers are true or false by their bits; except for strings, both results must agree. */
	if (value.kind == FILTER_INT && matches != (value.u != 0))
		contradiction("a match and its capture");
	if (value.kind == FILTER_NONE && matches)
		contradiction("a match of nothing");
}

static int resolve(void *user, const struct filter_path *path)
{
	uint32_t i, sum = path->ask;

	(void)user;
	if (!path->nr_steps || path->nr_steps > FILTER_STEPS_MAX || !path->steps[0].name)
		contradiction("a path without a name");
	for (i = 0; i < path->nr_steps; i++)
		sum += path->steps[i].name ? (uint32_t)strlen(path->steps[i].name)
					   : path->steps[i].index;
	return sum % 7 == 6 ? -1 : (int)(sum % 7);
}

static bool load(void *user, int handle, struct filter_value *value)
{
	static const uint16_t wide[] = {'w', 0xd83d, 0xdce6, 0xd800, 0};

	(void)user;
	switch (handle) {
	case 0: filter_value_signed(value, -5); return true;
	case 1: filter_value_unsigned(value, UINT64_MAX); return true;
	case 2: filter_value_text(value, "text*", 5); return true;
	case 3:
		*value = (struct filter_value){.kind = FILTER_WIDE,
				.u = 1,
				.high = 1ull << 63,
				.is_unsigned = true};
		return true;
	case 4:
		*value = (struct filter_value){
				.kind = FILTER_STRING, .text = wide, .size = 8, .unit_size = 2};
		return true;
	case 5:
		filter_value_signed(value, 3);
		value->labels = "three";
		return true;
	default: return false;
	}
}

static const char *label(void *user, const struct filter_value *value, uint32_t *at, size_t *size)
{
	(void)user;
	if ((*at)++)
		return NULL;
	*size = strlen(value->labels);
	return value->labels;
}

static bool load_source(void *user, const struct filter_path *path, struct filter_value *value)
{
	int handle = resolve(user, path);

	return handle >= 0 && load(user, handle, value);
}

static void bind(const void *program, size_t size)
{
	static const struct filter_schema schema = {.resolve = resolve};
	static const struct filter_loader loader = {.load = load, .label = label};
	static const struct filter_source source = {.load = load_source, .label = label};
	struct filter_error error;
	struct filter_value value;
	struct filter *filter;
	bool matches = false;
	int ret = filter_bind(program, size, &schema, &filter, &error);

	if (!ret) {
		matches = filter_bound_matches(filter, &loader);
		filter_bound_evaluate(filter, &loader, &value);
		if (value.kind == FILTER_INT && matches != (value.u != 0))
			contradiction("a bound match and its capture");
		if (filter_matches(filter, arguments, variadic, NULL, NULL))
			contradiction("a bound filter matches arguments");
		free(filter);
	}
	/* Labels stand for nothing if their path is missing; then both results are the same. */
	if (filter_matches_source(program, size, &source) != matches)
		contradiction("a bound filter and its source");
}

/* Returns the linked filter, or NULL. */
static struct filter *make(const void *program, size_t size)
{
	struct filter_error error = {.column = 0};
	ssize_t need = filter_link_size(program, size, description, &sample_names, &error);
	struct filter *filter;
	void *memory;

	if (need < 0) {
		if (!error.text[0])
			contradiction("an error that says nothing");
		return NULL;
	}
	memory = malloc((size_t)need);
	if (filter_link(program, size, description, &sample_names, memory, (size_t)need, &filter,
			    &error))
		contradiction("a size and its filter");
	return filter;
}

int fuzz_program(const void *bytes, size_t size)
{
	const char *why;
	struct filter_error error;
	struct filter *filter;

	if (filter_verify(bytes, size, &why)) {
		if (!why || !why[0])
			contradiction("a refusal that says nothing");
		if (filter_link_size(bytes, size, description, &sample_names, &error) != -EINVAL)
			contradiction("linked without being verified");
		return 0;
	}
	filter = make(bytes, size);
	if (filter) {
		run(filter, arguments, variadic);
		run(filter, arguments, NULL);
		free(filter);
	}
	bind(bytes, size);
	return 1;
}

static bool filter_print_comparison(
		void *user, const struct filter_comparison *comparison, char *text, size_t capacity)
{
	int used = snprintf(text, capacity, "%s %s", comparison->field, comparison->relation);

	(void)user;
	return used >= 0 && (size_t)used < capacity;
}

int fuzz_text(const char *text)
{
	const struct filter_language language = {.compare = filter_print_comparison};
	struct filter_error error = {.column = 0};
	char reported[64];
	void *program;
	size_t size;
	int ret = filter_parse(text, &program, &size, &error);

	if (ret) {
		if (!error.text[0] || error.column > strlen(text) + 1 ||
				(ret != -EINVAL && ret != -E2BIG))
			contradiction("an error without a place");
		return 0;
	}
	if (!fuzz_program(program, size))
		contradiction("parsed, but not verified");
	ret = filter_print(text, &language, reported, sizeof(reported));
	if (ret && ret != -ENOENT && ret != -E2BIG)
		contradiction("parsed, but not translated");
	free(program);
	return 1;
}

/* ---- arguments ---- */

#define ARGS_MAX 64
#define ZEROS 65536

/* Changes the arguments in one way, chosen by four bytes. */
static void spoil(struct side_arg *args, uint32_t nr, const uint8_t how[4])
{
	static const unsigned char zeros[ZEROS];
	struct side_arg *arg = &args[how[1] % nr];

	const struct side_arg *other = &args[how[2] % nr];

	switch (how[0] % 6) {
	case 0:
		/* A former number must not become a pointer. */
		arg->type.v = how[2] % (_NR_SIDE_TYPE_LABEL + 2);
		if (arg->type.v > SIDE_TYPE_FLOAT_BINARY128)
			memset(&arg->u, 0, sizeof(arg->u));
		break;
	case 1: side_ptr_set(arg->u.side_static.side_struct, NULL); break;
	case 2: side_ptr_set(arg->u.side_static.string_value, zeros); break;
	case 3:
		/* Gathered memory must match its description. */
		if (other->type.v < SIDE_TYPE_GATHER_BOOL || other->type.v > SIDE_TYPE_GATHER_ENUM)
			*arg = *other;
		break;
	case 4: side_ptr_set(arg->u.side_static.side_vla_gather.length_ptr, zeros); break;
	default:
		/* Scalars only: the bytes of others are pointers. */
		if (arg->type.v <= SIDE_TYPE_FLOAT_BINARY128)
			((unsigned char *)&arg->u)[how[2] % 16] = how[3];
		break;
	}
}

void fuzz_arguments(const char *text, const uint8_t *how, size_t size)
{
	struct side_arg args[ARGS_MAX];
	struct side_arg_vec vec = *arguments;
	struct filter_error error;
	struct filter *filter;
	void *program;
	size_t length, i;

	if (vec.len > ARGS_MAX || filter_parse(text, &program, &length, &error))
		return;
	filter = make(program, length);
	free(program);
	if (!filter)
		return;
	memcpy(args, side_ptr_get(vec.sav), vec.len * sizeof(args[0]));
	side_ptr_set(vec.sav, args);
	for (i = 0; i + 4 <= size; i += 4)
		spoil(args, vec.len, how + i);
	run(filter, &vec, variadic);
	free(filter);
}
