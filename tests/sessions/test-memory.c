/* SPDX-License-Identifier: MIT */
/*
 * JSON is parsed and printed with each allocation failing in turn: the result is complete or an
 * error, and the process does not crash.
 */
#include <errno.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/json.h"
#include "sessions/text.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* The number of the next allocation, and of the first that fails; 0: none. */
static unsigned long next, failing;
static bool lasts; /* all later allocations fail, too */

static bool memory_fails(void)
{
	next++;
	return failing && (lasts ? next >= failing : next == failing);
}

/* json-c uses them, too. */
#define EXPORT __attribute__((visibility("default")))

EXPORT void *malloc(size_t size)
{
	return memory_fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return memory_fails() ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
	return memory_fails() ? NULL : __libc_realloc(old, size);
}

static const char sample[] =
		"{\"verb\": \"create\", \"name\": \"a\\u00e9\\ud83d\\ude00\\udc80\", \"numbers\": [0, -1, 18446744073709551615, 1.5e3], "
		"\"flags\": {\"yes\": true, \"no\": false, \"nothing\": null}, \"empty\": [{}, [], \"\"], "
		"\"a long name of a member that does not fit into any small buffer\": "
		"\"a long text, longer than the thirty-two bytes that a string of json-c begins with\"}";

/* Returns false if no allocation failed. */
static bool try_once(unsigned long first, bool all, const char *whole)
{
	struct error error = {.text = ""};
	struct json_object *object;
	bool reachable;

	next = 0;
	lasts = all;
	failing = first;
	object = json_read(sample, sizeof(sample) - 1, &error);
	reachable = next >= first;
	failing = 0;
	if (object ? strcmp(json_object_to_json_string(object), whole) != 0 : !*error.text) {
		printf("allocation %lu failed: %s\n", first,
				object ? json_object_to_json_string(object) : "no error");
		exit(1);
	}
	if (!object && error.kind != ERROR_FAILED) {
		printf("allocation %lu failed: %s\n", first, error.text);
		exit(1);
	}
	json_object_put(object);
	return reachable;
}

static const char bytes[] = "a\x80z\xff"; /* no UTF-8 */

/* The same for a text with escapes. Returns false if no allocation failed. */
static bool print_once(unsigned long first, bool all)
{
	static const char wanted[] = "\"a\\udc80z\\udcff\"";
	struct json_object *object = json_object_new_string_len(bytes, sizeof(bytes) - 1);
	struct control_text text;
	bool reachable, good;
	int ret;

	next = 0;
	lasts = all;
	failing = first;
	ret = control_text_print(object, JSON_C_TO_STRING_PLAIN, &text);
	reachable = next >= first;
	failing = 0;
	good = ret ? ret == -ENOMEM && reachable && !text.made
		   : text.size == sizeof(wanted) - 1 && !strcmp(text.text, wanted) &&
					text.made == text.text;
	if (!good) {
		printf("allocation %lu failed: %d, %s\n", first, ret, ret ? "" : text.text);
		exit(1);
	}
	control_text_free(&text);
	json_object_put(object);
	return reachable;
}

int main(void)
{
	struct error error;
	struct json_object *object = json_read(sample, sizeof(sample) - 1, &error);
	unsigned long tried = 0, printed = 0;
	char *whole;

	if (!object) {
		printf("%s\n", error.text);
		return 1;
	}
	whole = strdup(json_object_to_json_string(object));
	if (!whole)
		return 1;
	json_object_put(object);
	for (int all = 0; all < 2; all++)
		for (unsigned long first = 1; try_once(first, all, whole); first++)
			tried++;
	for (int all = 0; all < 2; all++)
		for (unsigned long first = 1; print_once(first, all); first++)
			printed++;
	free(whole);
	printf("%lu failed allocations of the parser, %lu of the printer\n", tried, printed);
	/* The buffer of json-c, and the text with escapes. */
	return tried < 50 || printed < 4;
}
