/* SPDX-License-Identifier: MIT */
/* Limits of an attach: arguments, paths and mappings. The files are included; the mappings are played. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "probe/inject/parts.h"

static struct inject_report the_report;
static unsigned int nr_lines;

static int played_open(struct inject_target *target, const struct inject_request *request)
{
	(void)request;
	target->pid = getpid();
	target->report = &the_report;
	return 0;
}

static FILE *played_fopen(const char *path, const char *mode)
{
	FILE *file = tmpfile();

	CHECK(file && !strcmp(path, "/proc/77/maps") && !strcmp(mode, "re"));
	for (unsigned int i = 1; i <= nr_lines; i++)
		CHECK(fprintf(file, "%x-%x rw-p 0 00:00 7 /file%u\n", i * 0x3000,
				      i * 0x3000 + 0x1000, i) > 0);
	rewind(file);
	return file;
}

#define inject_target_open played_open
#include "probe/inject/inject.c"
#undef inject_target_open
#define fopen played_fopen
#include "probe/inject/target.c"
#undef fopen

/* Whether texts of these sizes are accepted. What follows them fails: the target has no mappings. */
static bool is_accepted(size_t argument, size_t agent)
{
	static char texts[2][4096];
	struct inject_request request = {.pid = getpid(), .agent = texts[0], .argument = texts[1]};
	struct injection injection = {.request = &request, .lock = -1};

	memset(texts, 0, sizeof(texts));
	memset(texts[0], 'a', agent);
	memset(texts[1], 'a', argument);
	the_report.text[0] = 0;
	CHECK(inject(&injection) < 0 && *the_report.text);
	if (injection.lock >= 0)
		close(injection.lock);
	return !strstr(the_report.text, ": a path is too long");
}

static void test_texts(void)
{
	CHECK(INJECT_ARGUMENT_MAX == 2048 && AGENT_PATH_MAX == 1500);
	CHECK(is_accepted(2047, 1500) && !is_accepted(2048, 1) && !is_accepted(1, 1501));
}

static void test_mappings(void)
{
	struct inject_target target = {.pid = 77};

	CHECK(MAPPINGS_MAX == 65536);
	for (nr_lines = 65535; nr_lines <= 65537; nr_lines++) {
		unsigned int nr = nr_lines < 65536 ? nr_lines : 65536;
		char path[32];

		CHECK(!inject_maps_read(&target) && target.nr_mappings == nr);
		(void)snprintf(path, sizeof(path), "/file%u", nr);
		CHECK(!strcmp(target.mappings[nr - 1].path, path));
	}
	nr_lines = 0;
	CHECK(inject_maps_read(&target) == -ESRCH && !target.nr_mappings);
	inject_maps_free(&target);
}

int main(void)
{
	test_texts();
	test_mappings();
	return 0;
}
