/* SPDX-License-Identifier: MIT */
/*
 * A profile for pprof: the messages of profile.proto.
 *
 * Each frame of the tree is one function and one location. A sample is a call path, innermost
 * function first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/flame-export.h"

/* Field numbers of the messages. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	MAPPING_ID = 1,
	MAPPING_FILENAME = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

struct flame_pprof {
	struct flame_export *export;
	struct keys strings;
	struct keys modules;
};

/* The index of a text in the table of strings. Texts of the table are UTF-8, as proto3 demands. */
static uint64_t flame_pprof_string(struct flame_pprof *pprof, const char *text)
{
	uint32_t number = keys_add(&pprof->strings, text, strlen(text));

	if (number == KEYS_NONE)
		pprof->export->out.failed = true;
	return number;
}

static void flame_pprof_sample_type(struct flame_pprof *pprof, const char *type, const char *unit)
{
	struct view_out *out = &pprof->export->out;
	size_t message = proto_begin(out, PROFILE_SAMPLE_TYPE);

	proto_number(out, VALUE_TYPE_TYPE, flame_pprof_string(pprof, type));
	proto_number(out, VALUE_TYPE_UNIT, flame_pprof_string(pprof, unit));
	proto_end(out, message);
}

/* Writes two types: "calls" and their time, "allocations" and their bytes; or only "events". */
static void flame_pprof_sample_types(struct flame_pprof *pprof)
{
	const struct flame *flame = pprof->export->flame;
	const char *count = flame->is_calls ? "calls" : "events";

	if (flame->weight == FLAME_WEIGHT_BYTES)
		count = "allocations";
	else if (flame->weight == FLAME_WEIGHT_WAIT)
		count = "waits";
	flame_pprof_sample_type(pprof, count, "count");
	if (flame->weight == FLAME_WEIGHT_COUNT)
		return;
	flame_pprof_sample_type(
			pprof, flame_weight_name(flame->weight), flame_weight_unit(flame->weight));
	proto_number(&pprof->export->out, PROFILE_DEFAULT_SAMPLE_TYPE,
			flame_pprof_string(pprof, flame_weight_name(flame->weight)));
}

/* Writes the module when it is first used. Returns its number; 0: the module is not known. */
static uint64_t flame_pprof_module(struct flame_pprof *pprof, const char *module)
{
	struct view_out *out = &pprof->export->out;
	uint32_t known = pprof->modules.count, number;
	size_t message;

	if (!*module)
		return 0;
	number = keys_add(&pprof->modules, module, strlen(module));
	if (number == KEYS_NONE) {
		out->failed = true;
		return 0;
	}
	if (number == known) {
		message = proto_begin(out, PROFILE_MAPPING);
		proto_number(out, MAPPING_ID, (uint64_t)number + 1);
		proto_number(out, MAPPING_FILENAME, flame_pprof_string(pprof, module));
		proto_number(out, MAPPING_HAS_FUNCTIONS, 1);
		proto_end(out, message);
	}
	return (uint64_t)number + 1;
}

static void flame_pprof_frame(struct flame_pprof *pprof, uint32_t number)
{
	const struct flame_frame *frame = &pprof->export->flame->tree.frames[number];
	struct view_out *out = &pprof->export->out;
	uint64_t module = flame_pprof_module(pprof, frame->module);
	uint64_t name = flame_pprof_string(pprof, frame->name);
	size_t message = proto_begin(out, PROFILE_FUNCTION), line;

	proto_number(out, FUNCTION_ID, number);
	proto_number(out, FUNCTION_NAME, name);
	proto_number(out, FUNCTION_SYSTEM_NAME, name);
	if (frame->file)
		proto_number(out, FUNCTION_FILENAME, flame_pprof_string(pprof, frame->file));
	proto_end(out, message);
	message = proto_begin(out, PROFILE_LOCATION);
	proto_number(out, LOCATION_ID, number);
	if (module)
		proto_number(out, LOCATION_MAPPING_ID, module);
	line = proto_begin(out, LOCATION_LINE);
	proto_number(out, LINE_FUNCTION_ID, number);
	if (frame->file)
		proto_number(out, LINE_LINE, frame->line);
	proto_end(out, line);
	proto_end(out, message);
}

static void flame_pprof_value(struct view_out *out, uint64_t value)
{
	proto_number(out, SAMPLE_VALUE, value <= INT64_MAX ? value : INT64_MAX);
}

static int flame_pprof_samples(struct flame_pprof *pprof)
{
	struct flame_export *export = pprof->export;
	const struct flame_tree *tree = &export->flame->tree;
	uint32_t path[FLAME_DEPTH_MAX + 1];
	int ret = 0;

	for (uint32_t i = 1; i < flame_tree_count(tree) && !ret; i++) {
		const struct flame_node *node = &tree->nodes[export->order[i]];
		size_t message;

		path[node->depth] = node->frame;
		if (!node->self && !node->count)
			continue;
		message = proto_begin(&export->out, PROFILE_SAMPLE);
		for (uint32_t depth = node->depth; depth; depth--)
			proto_number(&export->out, SAMPLE_LOCATION_ID, path[depth]);
		flame_pprof_value(&export->out, node->count);
		if (export->flame->weight != FLAME_WEIGHT_COUNT)
			flame_pprof_value(&export->out, node->self);
		proto_end(&export->out, message);
		ret = flame_export_continue(export);
	}
	return ret;
}

static int flame_pprof_strings(struct flame_pprof *pprof)
{
	int ret = 0;

	for (uint32_t i = 0; i < pprof->strings.count && !ret; i++) {
		const struct keys_entry *entry = &pprof->strings.entries[i];

		proto_text(&pprof->export->out, PROFILE_STRING_TABLE, (const char *)entry->bytes,
				entry->size);
		ret = flame_export_continue(pprof->export);
	}
	return ret;
}

static void flame_pprof_times(struct flame_pprof *pprof)
{
	const struct flame *flame = pprof->export->flame;
	struct view_out *out = &pprof->export->out;

	if (flame->first_ns <= 0 || flame->last_ns < flame->first_ns)
		return;
	proto_number(out, PROFILE_TIME_NANOS, (uint64_t)flame->first_ns);
	proto_number(out, PROFILE_DURATION_NANOS,
			(uint64_t)flame->last_ns - (uint64_t)flame->first_ns);
}

int flame_export_pprof(struct flame_export *export)
{
	struct flame_pprof pprof = {.export = export};
	int ret = 0;

	/* The first text of the table is the empty one. */
	(void)flame_pprof_string(&pprof, "");
	flame_pprof_sample_types(&pprof);
	flame_pprof_times(&pprof);
	if (export->flame->lost)
		proto_number(&export->out, PROFILE_COMMENT,
				flame_pprof_string(&pprof, "events were lost while recording"));
	/* Frame 0 is the root, which is in no path. */
	for (uint32_t i = 1; i < export->flame->tree.frame_keys.count && !ret; i++) {
		flame_pprof_frame(&pprof, i);
		ret = flame_export_continue(export);
	}
	if (!ret)
		ret = flame_pprof_samples(&pprof);
	if (!ret)
		ret = flame_pprof_strings(&pprof);
	keys_free(&pprof.strings);
	keys_free(&pprof.modules);
	return ret;
}
