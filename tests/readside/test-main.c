/* SPDX-License-Identifier: MIT */
/*
 * The whole program readside, in this process: what is printed, the status, what is written to
 * files, and each failing call in turn. A failing call is reported, or the output is the same as
 * without it; and nothing leaks (tests/resources-at-exit.c).
 */
#include "programs/readside/readside.h"
#include "isolate/isolate.h"
/* Included for its static variable, which is set if memory was missing. */
#include "programs/readside/message.c"

#include "../failing-calls.h"
#include "../check.h"

#include <side/trace.h>

#include <limits.h>

static side_define_struct(pair, side_field_list(side_field_s32("row"), side_field_s32("column")));
static side_define_enum(color, side_enum_mapping_list(side_enum_mapping_value("red", 1)));
side_hidden_event(first, "main", "first", SIDE_LOGLEVEL_INFO,
		side_field_list(side_field_u32("a"),
				side_field_enum("c", &color, side_elem(side_type_u8()))));
side_hidden_event(second, "main", "second", SIDE_LOGLEVEL_ERR,
		side_field_list(side_field_struct("where", pair)),
		side_attr_list(side_attr("k", side_attr_string("v"))));
side_hidden_event(third, "other", "third", SIDE_LOGLEVEL_DEBUG, side_field_list());

int readside_main(int argc, char **argv);
bool readside_confine(const struct isolate_limits *limits);

static struct isolate_limits confined;
static char writable[PATH_MAX];

bool readside_confine(const struct isolate_limits *limits)
{
	confined = *limits;
	writable[0] = '\0';
	for (size_t i = 0; i < limits->nr_writable; i++)
		strcat(strcat(writable, limits->writable[i]), " ");
	CHECK(limits->nr_readable == 1 && !strcmp(limits->readable[0], "/"));
	return true;
}

static char work[] = "/tmp/readside-main-XXXXXX";

static const char *in_work(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", work, name);
	return path;
}

/* ---- runs ---- */

static struct result {
	int status;
	char *out, *err;
} result;

static void forget_result(void)
{
	free(result.out);
	free(result.err);
	result = (struct result){0};
}

static void run(const char *const *arguments)
{
	FILE *standard_output = stdout, *standard_error = stderr;
	size_t size_out, size_err;
	unsigned int armed = failing_call;
	int argc = 0;

	while (arguments[argc])
		argc++;
	failing_call = 0;
	forget_result();
	stdout = open_memstream(&result.out, &size_out);
	stderr = open_memstream(&result.err, &size_err);
	CHECK(stdout && stderr);
	is_out_of_memory = false;
	failing_call = armed;
	result.status = readside_main(argc, (char **)(uintptr_t)arguments);
	armed = failing_call;
	failing_call = 0;
	fclose(stdout);
	fclose(stderr);
	stdout = standard_output;
	stderr = standard_error;
	failing_call = armed;
}

#define RUN(...) run((const char *const[]){"readside", __VA_ARGS__, NULL})

static bool is_result(int status, const char *out, const char *err)
{
	bool same = result.status == status && (!out || !strcmp(result.out, out)) &&
			(!err || !strcmp(result.err, err));

	if (!same)
		fprintf(stderr, "status %d\n%s\n%s\n", result.status, result.out, result.err);
	return same;
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(in_work(name), "w");

	CHECK(file);
	fputs(text, file);
	fclose(file);
}

static bool has_file(const char *name, const char *text)
{
	char content[4096] = "";
	FILE *file = fopen(in_work(name), "r");

	CHECK(file);
	CHECK(fread(content, 1, sizeof(content) - 1, file) < sizeof(content) - 1);
	fclose(file);
	if (strcmp(content, text))
		fprintf(stderr, "%s has:\n%s", name, content);
	return !strcmp(content, text);
}

#define SELF "/proc/self/exe"
#define TEXT_HEAD(path) path ":\nevents:\n"
#define THIRD \
	"  version: 0\n  state-version: 0\n  provider: other\n  name: third\n  loglevel: DEBUG\n  attributes: None\n"

/* Each option applies to the files that follow it. */
static void test_choice(void)
{
	RUN("-f", "text", "-p", "oth*", SELF);
	CHECK(is_result(0, TEXT_HEAD(SELF) THIRD "\n", ""));
	CHECK(confined.nr_writable == 0);
	RUN("-f", "text", "-e", "*:third", SELF, "-e", "none", SELF);
	CHECK(is_result(0, TEXT_HEAD(SELF) THIRD THIRD "\n", ""));
	RUN("-f", "text", "-p", "main", "-e", "*:third", SELF);
	CHECK(is_result(0, "", ""));
	RUN("-f", "text", "-p", "x", "-p", "other", SELF);
	CHECK(is_result(0, TEXT_HEAD(SELF) THIRD "\n", ""));
	RUN("-e", "[", SELF);
	CHECK(is_result(2, "", NULL) && strstr(result.err, "readside: "));
	/* Texts of the user are not used as printf() formats. */
	RUN("-e", "[%d%s", SELF);
	CHECK(is_result(2, "", NULL) && strstr(result.err, "[%d%s"));
	RUN("-f", "yaml", SELF);
	CHECK(is_result(2, "",
			"readside: unknown format `yaml`\nhint: use json, text or s-expr\n"));
	RUN("-p", "other", "-f", "text", SELF, "-f", "json", in_work("text"));
	CHECK(is_result(1, TEXT_HEAD(SELF) THIRD "\n[]\n", NULL));
	RUN("--help");
	CHECK(is_result(0, NULL, "") && !strncmp(result.out, "Usage: readside", 15));
	RUN("--list-formats");
	CHECK(is_result(0, "json\ntext\ns-expr\n", ""));
	RUN("-v");
	CHECK(is_result(2, "",
			"readside: missing operand: a file to read\nhint: name a file, as in `readside ./program`\nTry `readside --help`.\n"));
}

static void test_broken(void)
{
	char expected[PATH_MAX + 128];

	snprintf(expected, sizeof(expected), "readside: cannot read %s: it is not an ELF file\n",
			in_work("text"));
	RUN(in_work("text"));
	CHECK(is_result(1, "[]\n", expected));
	RUN("--diff", in_work("text"), SELF);
	CHECK(is_result(2, "", expected));
	snprintf(expected, sizeof(expected), "readside: cannot check %s: it is not an ELF file\n",
			in_work("text"));
	RUN("--check", in_work("text"));
	CHECK(is_result(2, "0 events, 0 errors, 0 warnings\n", expected));
}

static void test_modes(void)
{
	RUN("--diff", SELF, SELF);
	CHECK(is_result(0,
			"compatible: 3 unchanged, 0 changed compatibly, 0 changed incompatibly, 0 added, 0 removed\n",
			""));
	RUN("--diff", "-p", "main", SELF, "-p", "other", "-j", SELF);
	CHECK(is_result(0,
			"{\"schema\":1,\"type\":\"change\",\"event\":\"other:third\",\"field\":\"\",\"compatible\":true,\"text\":\"the event is new\"}\n"
			"{\"schema\":1,\"type\":\"summary\",\"compatible\":true,\"unchanged\":2,\"changed\":0,\"incompatible\":0,\"added\":1,\"removed\":0}\n",
			""));
	RUN("--check", "--strict", SELF);
	CHECK(is_result(0, "3 events, 0 errors, 0 warnings\n", ""));
	/* Of two outputs, the results of a check are in the first one, with both files. */
	RUN("--check", "-o", in_work("check"), "-p", "other", SELF, "-o", in_work("more"),
			"/proc/self/../self/exe");
	CHECK(is_result(0, "", ""));
	CHECK(has_file("check", "2 events, 0 errors, 0 warnings\n"));
	CHECK(has_file("more", "") && strstr(writable, "/check ") && strstr(writable, "/more ") &&
			confined.nr_writable == 2);
}

static void test_outputs(void)
{
	RUN("-f", "text", "-p", "other", "-o", in_work("one"), SELF, "-o", in_work("two"), SELF,
			"-f", "s-expr", SELF);
	CHECK(is_result(0, "", ""));
	CHECK(has_file("one", TEXT_HEAD(SELF) THIRD "\n"));
	CHECK(has_file("two",
			TEXT_HEAD(SELF) THIRD
			"\n" SELF
			":\n(vector\n (event (version 0) (state-version 0) (provider \"other\") (name \"third\") "
			"(loglevel 'DEBUG) (attributes '())))\n\n"));
	/* The output is appended to the file. */
	RUN("-f", "text", "-p", "none", "-o", in_work("one"), SELF);
	CHECK(is_result(0, "", "") && has_file("one", TEXT_HEAD(SELF) THIRD "\n"));
	RUN("-o", in_work("no/such"), SELF);
	CHECK(is_result(2, "", NULL) &&
			strstr(result.err, "/no/such: No such file or directory\n") &&
			!strncmp(result.err, "readside: cannot write ", 23));
	/* Without standard input, a file has descriptor 0, which is closed again. */
	{
		int input = dup(STDIN_FILENO);

		close(STDIN_FILENO);
		RUN("-f", "text", "-p", "other", "-o", in_work("three"), SELF);
		CHECK(is_result(0, "", "") && has_file("three", TEXT_HEAD(SELF) THIRD "\n"));
		CHECK(fcntl(STDIN_FILENO, F_GETFD) == -1);
		CHECK(dup2(input, STDIN_FILENO) == STDIN_FILENO);
		close(input);
	}
	RUN("-o", "/dev/full", SELF);
	CHECK(is_result(2, "", "readside: cannot write /dev/full: No space left on device\n"));
}

/* ---- failing calls ---- */

/* Which calls fail differs between compilers and libraries: the test lets each call fail. */
static void fail(const char *const *arguments)
{
	struct result good;
	unsigned int failures = 0;

	failing_arm(0);
	run(arguments);
	good = result;
	result = (struct result){0};
	for (unsigned int call = 1;; call++) {
		const char *name;

		failing_arm(call);
		run(arguments);
		name = failing_name;
		if (!failing_has_failed())
			break;
		failures++;
		if (result.status == good.status && !strcmp(result.out, good.out))
			continue;
		if (!result.status || !*result.err)
			fprintf(stderr, "call %u, %s: status %d\n%s\n%s\n", call, name,
					result.status, result.out, result.err);
		CHECK(result.status && *result.err);
	}
	CHECK(failures > 20);
	CHECK(is_result(good.status, good.out, good.err));
	free(good.out);
	free(good.err);
}

#define FAIL(...) fail((const char *const[]){"readside", __VA_ARGS__, NULL})

static void test_failing_calls(void)
{
	FAIL(SELF);
	FAIL("-f", "text", "-p", "m*", "-e", "*:second", SELF);
	FAIL("-f", "s-expr", "-e", "main", SELF);
	FAIL("-j", SELF);
	FAIL("--check", SELF);
	FAIL("--diff", SELF, SELF);
	FAIL("-d", "-f", "text", SELF);
	FAIL("-r", "-f", "text", work);
	FAIL("-f", "text", "-o", in_work("out"), SELF);
}

int main(void)
{
	char command[PATH_MAX];

	CHECK(mkdtemp(work));
	write_file("text", "no ELF file\n");
	test_choice();
	test_broken();
	test_modes();
	test_outputs();
	test_failing_calls();
	forget_result();
	snprintf(command, sizeof(command), "rm -r %s", work);
	CHECK(!system(command));
	return 0;
}
