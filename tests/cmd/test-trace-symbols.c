/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses from a played recording: the records and maps that are passed on and their
 * values, each failing call, and a symbol in both forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../called.h"
#include "../failing-calls.h"
#include "../resources.h"

#include "analysis/listener.h"
#include "analysis/trace-symbols.h"
#include "ctf/ctf.h"

/* ---- the recording ---- */

static struct ctf_event_class load = {.name = "side:library_load"},
			      unload = {.name = "side:library_unload"},
			      other = {.name = "other:event"};
static const struct ctf_trace traces[] = {{.path = "/r/one", .index = 5, .is_side = true},
		{.path = "/r/two", .index = 7, .is_side = false}};
static struct ctf_event_class *classes[2][2] = {{&other, &load}, {&load, &unload}};
static uint32_t nr_classes = 2;
static struct ctf_item items[8];
static uint32_t item_streams[8]; /* of each item: 0 and 1 of the first trace, 2 of the second */
static uint32_t nr_items, items_at[3], nr_read;
static int open_result, maps_result, load_result, unload_result, nr_readers;

static int played_open(const char *dir, struct ctf_reader **reader, struct error *error)
{
	(void)error;
	called("open %s;", dir);
	*reader = (struct ctf_reader *)(uintptr_t)0x1000;
	nr_readers += !open_result;
	memset(items_at, 0, sizeof(items_at));
	nr_read = 0;
	return open_result;
}

static void played_close(struct ctf_reader *reader)
{
	assert_ptr_equal(reader, (struct ctf_reader *)(uintptr_t)0x1000);
	nr_readers--;
}

static int played_next(struct ctf_reader *reader, uint32_t stream, const struct ctf_item **ret_item)
{
	uint32_t *at = &items_at[stream];

	(void)reader;
	while (*at < nr_items && item_streams[*at] != stream)
		(*at)++;
	if (*at == nr_items)
		return 0;
	*ret_item = &items[(*at)++];
	nr_read++;
	return 1;
}

static int played_load(struct symbols *symbols, uint32_t process, int64_t ns,
		const struct symbols_library *library)
{
	assert_null(symbols);
	called("load %u %lld %s %llx+%llx %s", process, (long long)ns, library->path,
			(unsigned long long)library->base, (unsigned long long)library->size,
			library->debug_link ? library->debug_link : "-");
	for (size_t i = 0; i < library->build_id_size && i < 4; i++)
		called(" %u", library->build_id[i]);
	called(" (%zu);", library->build_id_size);
	return load_result;
}

static int played_unload(struct symbols *symbols, uint32_t process, int64_t ns, uint64_t base)
{
	assert_null(symbols);
	called("unload %u %lld %llx;", process, (long long)ns, (unsigned long long)base);
	return unload_result;
}

static int played_maps(struct symbols *symbols, uint32_t process, const char *path)
{
	assert_null(symbols);
	called("maps %u %s;", process, path);
	return maps_result;
}

static void note(void *user, enum analysis_message kind, const char *hint, const char *text)
{
	assert_null(user);
	assert_null(hint);
	assert_int_equal(kind, ANALYSIS_NOTE);
	called("note %s;", text);
}

static const struct analysis_listener loud = {.report = note}, silent;

static struct symbols *played_create(const struct symbols_options *options)
{
	called("create %s %d %d;", options->path ? options->path : "-", options->debuginfod,
			options->user == &loud);
	options->report(options->user, "100 % done");
	return NULL;
}

#define ctf_reader_open played_open
#define ctf_reader_close played_close
#define ctf_reader_stream_count(reader) ((void)(reader), 3)
#define ctf_reader_stream_trace(reader, stream) ((void)(reader), &traces[(stream) / 2])
#define ctf_reader_stream_next played_next
#define ctf_reader_trace_count(reader) ((void)(reader), 2)
#define ctf_reader_trace(reader, t) ((void)(reader), &traces[t])
#define ctf_trace_event_count(trace) nr_classes
#define ctf_trace_event(trace, i) classes[(trace)-traces][i]
#define symbols_load played_load
#define symbols_unload played_unload
#define symbols_maps played_maps
#define symbols_create played_create
#include "analysis/trace-symbols.c"

/* ---- records ---- */

static struct ctf_type number_type = {.kind = CTF_INTEGER, .size = 64},
		       text_type = {.kind = CTF_STRING};
static struct ctf_type list_type = {.kind = CTF_SEQUENCE, .element = &number_type},
		       array_type = {.kind = CTF_ARRAY, .element = &number_type},
		       texts_type = {.kind = CTF_ARRAY, .element = &text_type};

/* A record with these five members. */
struct record {
	struct ctf_type type;
	struct ctf_member members[5];
	struct ctf_value values[6 + SYMBOLS_BUILD_ID_MAX + 1];
};

static void make_record(struct record *record, const char *path, const char *link,
		uint32_t nr_bytes, const struct ctf_type *list)
{
	static const char *const names[] = {"_path", "_base", "_size", "_debug_link", "_build_id"};
	const char *const texts[] = {path, NULL, NULL, link, NULL};
	struct ctf_value *value = record->values + 1;

	memset(record, 0, sizeof(*record));
	for (uint32_t i = 0; i < 5; i++, value++) {
		record->members[i].name = (char *)(uintptr_t)names[i];
		*value = (struct ctf_value){.member = &record->members[i], .span = 1};
		value->type = texts[i] ? &text_type : i == 4 ? list : &number_type;
		if (texts[i]) {
			value->text = texts[i];
			value->size = strlen(texts[i]) -
					1; /* The last byte belongs to the next field. */
			value->is_text = true;
		} else if (i < 4) {
			value->u = 0x1000 * (i + 1);
		}
		record->members[i].type = (struct ctf_type *)(uintptr_t)value->type;
	}
	value[-1].count = nr_bytes;
	value[-1].span = nr_bytes + 1;
	for (uint32_t i = 0; i < nr_bytes; i++)
		value[i] = (struct ctf_value){.type = list->element, .u = 0x100 + 3 + i, .span = 1};
	record->type = (struct ctf_type){
			.kind = CTF_STRUCT, .members = record->members, .member_count = 5};
	record->values[0] =
			(struct ctf_value){.type = &record->type, .count = 5, .span = 6 + nr_bytes};
}

static void add_item(enum ctf_item_kind kind, uint32_t trace, struct ctf_event_class *event,
		const struct record *record)
{
	items[nr_items] = (struct ctf_item){.kind = kind,
			.ns = 100 + nr_items,
			.trace = &traces[trace],
			.event = event,
			.fields = record ? record->values : NULL};
	item_streams[nr_items] = trace * 2;
	nr_items++;
}

#define MAPS "open d;maps 5 /r/one/.maps;maps 7 /r/two/.maps;"

static void test_records(void **unused)
{
	static struct record first, second, third, fourth;

	(void)unused;
	make_record(&first, "/lib/a.", "a.debug.", 3, &list_type);
	/*
	 * Without a path, nothing is loaded. Then without a link, and with build IDs of 64 and 65
	 * bytes.
	 */
	make_record(&second, NULL, "x.", 0, &list_type);
	make_record(&third, "/lib/b.", NULL, SYMBOLS_BUILD_ID_MAX, &array_type);
	make_record(&fourth, "/lib/c.", "c.", SYMBOLS_BUILD_ID_MAX + 1, &list_type);
	nr_items = 0;
	add_item(CTF_ITEM_EVENT, 0, &load, &first);
	add_item(CTF_ITEM_EVENT, 0, &load, &second);
	add_item(CTF_ITEM_DAMAGE, 0, &load, &first);
	add_item(CTF_ITEM_EVENT, 1, &load, &first);
	add_item(CTF_ITEM_EVENT, 0, &load, NULL);
	add_item(CTF_ITEM_EVENT, 0, &other, &first);
	add_item(CTF_ITEM_EVENT, 0, &load, &third);
	add_item(CTF_ITEM_EVENT, 0, &unload, &fourth);
	assert_int_equal(trace_symbols_read(NULL, "d"), 0);
	assert_called(MAPS
			"load 5 100 /lib/a 2000+3000 a.debug 3 4 5 (3);load 5 106 /lib/b 2000+3000 - 3 4 5 6 (64);unload 5 107 2000;");
	assert_int_equal(nr_readers, 0);
	nr_items = 0;
	add_item(CTF_ITEM_EVENT, 0, &load, &fourth);
	assert_int_equal(trace_symbols_read(NULL, "d"), 0);
	assert_called(MAPS "load 5 100 /lib/c 2000+3000 c (0);");
	/* Elements that are not numbers, and a build ID that is not a list. */
	make_record(&first, "/lib/a.", "a.", 2, &texts_type);
	make_record(&second, "/lib/b.", "b.", 0, &number_type);
	nr_items = 0;
	add_item(CTF_ITEM_EVENT, 0, &load, &first);
	add_item(CTF_ITEM_EVENT, 0, &load, &second);
	assert_int_equal(trace_symbols_read(NULL, "d"), 0);
	assert_called(MAPS "load 5 100 /lib/a 2000+3000 a (0);load 5 101 /lib/b 2000+3000 b (0);");
	/* A member that is not a number, and a missing one. */
	first.values[2].type = &text_type;
	assert_int_equal(trace_symbols_get_number(first.values, "_base"), 0);
	assert_int_equal(trace_symbols_get_number(first.values, "_size"), 0x3000);
	assert_int_equal(trace_symbols_get_number(first.values, "_none"), 0);
	/* If no trace of side has the event, records are not read. */
	nr_classes = 1;
	assert_int_equal(trace_symbols_read(NULL, "d"), 0);
	assert_called(MAPS);
	nr_classes = 2;
}

static void test_streams(void **unused)
{
	static struct record first, second;

	(void)unused;
	make_record(&first, "/lib/a.", "a.", 0, &list_type);
	make_record(&second, "/lib/b.", "b.", 0, &list_type);
	nr_items = 0;
	add_item(CTF_ITEM_DAMAGE, 0, NULL, NULL);
	add_item(CTF_ITEM_EVENT, 0, &other, NULL);
	add_item(CTF_ITEM_EVENT, 0, &load, &first);
	add_item(CTF_ITEM_EVENT, 0, &load, &second);
	add_item(CTF_ITEM_EVENT, 0, &unload, &first);
	item_streams[0] = item_streams[1] = item_streams[3] = 1;
	/* Records of two streams in the order of their times. */
	assert_int_equal(trace_symbols_read(NULL, "d"), 0);
	assert_called(MAPS
			"load 5 102 /lib/a 2000+3000 a (0);load 5 103 /lib/b 2000+3000 b (0);unload 5 104 2000;");
	assert_int_equal(nr_read, 5);
	/* A channel without such events is read up to its first event. */
	other.stream_id = 1;
	assert_int_equal(trace_symbols_read(NULL, "d"), 0);
	assert_called(MAPS "load 5 102 /lib/a 2000+3000 a (0);unload 5 104 2000;");
	assert_int_equal(nr_read, 4);
	other.stream_id = 0;
}

static void test_failures(void **unused)
{
	static struct record first;
	unsigned int failures = 0;

	(void)unused;
	make_record(&first, "/lib/a.", "a.", 1, &list_type);
	nr_items = 0;
	add_item(CTF_ITEM_EVENT, 0, &load, &first);
	add_item(CTF_ITEM_EVENT, 0, &unload, &first);
	add_item(CTF_ITEM_EVENT, 0, &unload, &first);
	/* The caller reports that a directory has no trace. */
	open_result = -ENOENT;
	assert_int_equal(trace_symbols_read(NULL, "d"), 0);
	assert_called("open d;");
	open_result = -ENOMEM;
	assert_int_equal(trace_symbols_read(NULL, "d"), -ENOMEM);
	assert_called("open d;");
	open_result = 0;
	maps_result = -ENOMEM;
	assert_int_equal(trace_symbols_read(NULL, "d"), -ENOMEM);
	assert_called("open d;maps 5 /r/one/.maps;");
	maps_result = 0;
	load_result = -ENOMEM;
	assert_int_equal(trace_symbols_read(NULL, "d"), -ENOMEM);
	assert_called(MAPS "load 5 100 /lib/a 2000+3000 a 3 (1);");
	load_result = 0;
	unload_result = -ENOMEM;
	assert_int_equal(trace_symbols_read(NULL, "d"), -ENOMEM);
	assert_called(MAPS "load 5 100 /lib/a 2000+3000 a 3 (1);unload 5 101 2000;");
	unload_result = 0;
	assert_int_equal(nr_readers, 0);
	/* Paths of maps and texts of records. */
	for (unsigned int call = 1;; call++) {
		size_t memory = resources_memory();
		int ret;

		failing_arm(call);
		ret = trace_symbols_read(NULL, "d");
		*calls = '\0';
		assert_int_equal(nr_readers, 0);
		assert_int_equal(resources_memory(), memory);
		if (!failing_has_failed()) {
			assert_int_equal(ret, 0);
			break;
		}
		assert_int_equal(ret, -ENOMEM);
		failures++;
	}
	assert_int_equal(failures, 5);
}

static void test_start(void **unused)
{
	(void)unused;
	(void)unsetenv("SIDE_DEBUG_PATH");
	assert_null(trace_symbols_start(false, &loud));
	assert_called("create - 0 1;note 100 % done;");
	(void)setenv("SIDE_DEBUG_PATH", "/debug", 1);
	assert_null(trace_symbols_start(true, &silent));
	assert_called("create /debug 1 0;");
	(void)unsetenv("SIDE_DEBUG_PATH");
}

/* ---- output ---- */

static void assert_shown(const struct symbol *symbol, const char *text, const char *json)
{
	for (int is_json = 0; is_json < 2; is_json++) {
		const char *expected = is_json ? json : text;
		struct view_out out = {.begin = NULL};
		struct view_sink sink = {.out = &out};

		assert_int_equal(is_json ? trace_symbol_json(&sink, symbol)
					 : trace_symbol_text(&sink, symbol),
				expected != NULL);
		assert_false(out.failed);
		if (view_out_size(&out) != (expected ? strlen(expected) : 0))
			(void)fprintf(stderr, "%.*s\n", (int)view_out_size(&out), out.begin);
		assert_int_equal(view_out_size(&out), expected ? strlen(expected) : 0);
		if (expected)
			assert_memory_equal(out.begin, expected, strlen(expected));
		view_out_free(&out);
	}
}

static void test_shown(void **unused)
{
	struct symbol symbol = {.offset = 0x1234, .inside = 0x56, .line = 78};

	(void)unused;
	assert_shown(&symbol, NULL, NULL);
	symbol.module = "/lib/a\n";
	assert_shown(&symbol, "/lib/a\\n+0x1234", "{\"module\":\"/lib/a\\u000a\",\"offset\":4660}");
	symbol.function = "f<\n>";
	assert_shown(&symbol, "f<\\n>+0x56",
			"{\"module\":\"/lib/a\\u000a\",\"offset\":4660,\"function\":\"f<\\u000a>\",\"function_offset\":86}");
	symbol.file = "a\n.c";
	assert_shown(&symbol, "f<\\n>+0x56 (a\\n.c:78)",
			"{\"module\":\"/lib/a\\u000a\",\"offset\":4660,\"function\":\"f<\\u000a>\",\"function_offset\":86,\"file\":\"a\\u000a.c\",\"line\":78}");
	symbol.function = NULL;
	assert_shown(&symbol, "/lib/a\\n+0x1234 (a\\n.c:78)",
			"{\"module\":\"/lib/a\\u000a\",\"offset\":4660,\"file\":\"a\\u000a.c\",\"line\":78}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_records),
			cmocka_unit_test(test_streams),
			cmocka_unit_test(test_failures),
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
