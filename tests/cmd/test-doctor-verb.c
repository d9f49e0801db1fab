/* SPDX-License-Identifier: MIT */
/*
 * `side doctor` with played checks: which of them run, the output in each form, the status, and how
 * checks read files.
 */
#include "programs/side/doctor/doctor.c"

#include "../check.h"
#include "../resources.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- checks ---- */

static unsigned int nr_checks;
static struct doctor seen;

static void check_good(const struct doctor *doctor, struct doctor_finding *finding)
{
	seen = *doctor;
	nr_checks++;
	doctor_found(finding, DOCTOR_OK, "%s", "all is there");
	doctor_set_hint(finding, "not %s", "needed");
}

static void check_note(const struct doctor *doctor, struct doctor_finding *finding)
{
	(void)doctor;
	nr_checks++;
	doctor_found(finding, DOCTOR_NOTE, "scope %d\033", 7);
	doctor_set_hint(finding, "sysctl %s\033", "x=0");
}

static void check_missing(const struct doctor *doctor, struct doctor_finding *finding)
{
	(void)doctor;
	nr_checks++;
	doctor_found(finding, DOCTOR_MISSING, "no \"file\"");
}

static void check_skipped(const struct doctor *doctor, struct doctor_finding *finding)
{
	(void)doctor;
	nr_checks++;
	doctor_found(finding, DOCTOR_SKIPPED, "another root");
	doctor_set_hint(finding, "none");
}

static void check_nothing(const struct doctor *doctor, struct doctor_finding *finding)
{
	(void)doctor;
	nr_checks++;
	CHECK(finding->state == DOCTOR_OK && !*finding->found && !*finding->hint);
}

const struct doctor_check doctor_library_checks[] = {{"good", "programs", check_good},
		{"note", "some programs", check_note}, {NULL, NULL, NULL}};
const struct doctor_check doctor_session_checks[] = {
		{"missing", "all \"programs\"", check_missing}, {NULL, NULL, NULL}};
const struct doctor_check doctor_boot_checks[] = {{NULL, NULL, NULL}};
const struct doctor_check doctor_system_checks[] = {
		{"skipped", "others", check_skipped}, {NULL, NULL, NULL}};
const struct doctor_check doctor_kernel_checks[] = {{"nothing", "nothing", check_nothing},
		{"absent", "more", check_missing}, {NULL, NULL, NULL}};

/* ---- the verb ---- */

static char *out, *err;

static int doctor(struct parsed *parsed)
{
	FILE *standard_output = stdout, *standard_error = stderr;
	size_t size_out, size_err;
	int status;

	free(out);
	free(err);
	stdout = open_memstream(&out, &size_out);
	stderr = open_memstream(&err, &size_err);
	CHECK(stdout && stderr);
	nr_checks = 0;
	output_start(&parsed->common, NULL);
	status = cmd_doctor(parsed);
	fclose(stdout);
	fclose(stderr);
	stdout = standard_output;
	stderr = standard_error;
	return status;
}

static bool is_text(const char *text, const char *expected)
{
	if (strcmp(text, expected) != 0)
		fprintf(stderr, "found:\n%s\nexpected:\n%s\n", text, expected);
	return !strcmp(text, expected);
}

static char name_note[] = "note", name_good[] = "good", name_missing[] = "missing",
	    name_wrong[] = "missin";

static void test_text(void)
{
	char *names[] = {name_missing, name_good}, *note[] = {name_note};
	struct parsed parsed = {.operand_count = 0};

	CHECK(doctor(&parsed) == COMMAND_FAILED && nr_checks == 6);
	CHECK(is_text(out,
			"ok       good        all is there\n"
			"note     note        scope 7\\x1b\n"
			"                     for: some programs\n"
			"                     hint: sysctl x=0\\x1b\n"
			"missing  missing     no \"file\"\n"
			"                     for: all \"programs\"\n"
			"skipped  skipped     another root\n"
			"ok       nothing     \n"
			"missing  absent      no \"file\"\n"
			"                     for: more\n"));
	CHECK(is_text(err, "side: 2 things are missing\n"));
	CHECK(!*seen.root && !seen.is_other_machine && seen.uid == geteuid());
	/* Named checks, in the order of the tables. */
	parsed.operands = names;
	parsed.operand_count = 2;
	CHECK(doctor(&parsed) == COMMAND_FAILED && nr_checks == 2);
	CHECK(is_text(out,
			"ok       good        all is there\n"
			"missing  missing     no \"file\"\n"
			"                     for: all \"programs\"\n"));
	CHECK(is_text(err, "side: 1 thing is missing\n"));
	parsed.operands = note;
	parsed.operand_count = 1;
	CHECK(doctor(&parsed) == COMMAND_DONE && nr_checks == 1 && is_text(err, ""));
	/* Colors. */
	parsed.common.color = COLOR_ALWAYS;
	CHECK(doctor(&parsed) == COMMAND_DONE);
	CHECK(!strncmp(out, "\033[33mnote   \033[0m  note        scope 7\\x1b\n", 37));
	parsed.operands = names;
	parsed.operand_count = 2;
	CHECK(doctor(&parsed) == COMMAND_FAILED);
	CHECK(is_text(out,
			"\033[32mok     \033[0m  good        all is there\n"
			"\033[1;31mmissing\033[0m  missing     no \"file\"\n"
			"                     for: all \"programs\"\n"));
}

static void test_json(void)
{
	struct parsed parsed = {.common = {.json = true, .color = COLOR_ALWAYS}};

	CHECK(doctor(&parsed) == COMMAND_FAILED && nr_checks == 6);
	CHECK(strstr(out,
			"{\"schema\":1,\"type\":\"check\",\"name\":\"good\",\"state\":\"ok\",\"for\":\"programs\",\"found\":\"all is there\","));
	CHECK(strstr(out, "\"hint\":\"not needed\"") && strstr(out, "\"hint\":\"none\""));
	CHECK(strstr(out,
			"\n{\"schema\":1,\"type\":\"check\",\"name\":\"missing\",\"state\":\"missing\",\"for\":\"all \\\"programs\\\"\",\"found\":\"no \\\"file\\\"\"}\n"));
	CHECK(strstr(out, "\"state\":\"note\"") && strstr(out, "\"state\":\"skipped\""));
	CHECK(is_text(err, ""));
}

static void test_refused(void)
{
	char *wrong[] = {name_good, name_wrong};
	static char far[] = "zzzzzzzzzz";
	char *none[] = {far};
	struct parsed parsed = {.operands = wrong, .operand_count = 2};

	CHECK(doctor(&parsed) == COMMAND_USAGE && !nr_checks);
	CHECK(is_text(out, "") && !strncmp(err, "side: unknown check `missin`\n", 29));
	CHECK(strstr(err, "hint: did you mean `side doctor missing`?"));
	parsed.operands = none;
	parsed.operand_count = 1;
	CHECK(doctor(&parsed) == COMMAND_USAGE && !nr_checks);
	CHECK(is_text(err,
			"side: unknown check `zzzzzzzzzz`\nhint: `side doctor` lists all checks\n"));
	/* A root that is not a directory. A wrong name is reported first. */
	parsed.options.doctor.root = "/none/such";
	CHECK(doctor(&parsed) == COMMAND_USAGE);
	parsed.operand_count = 0;
	CHECK(doctor(&parsed) == COMMAND_FAILED && !nr_checks);
	CHECK(is_text(err,
			"side: cannot check /none/such: no directory of that name, or no permission\n"));
	parsed.options.doctor.root = "/proc";
	CHECK(doctor(&parsed) == COMMAND_FAILED && nr_checks == 6);
	CHECK(!strcmp(seen.root, "/proc") && seen.is_other_machine);
	/* The output cannot be written. */
	{
		FILE *standard_output = stdout, *standard_error = stderr;
		char *text;
		size_t size;

		parsed.options.doctor.root = NULL;
		stdout = fopen("/dev/full", "we");
		stderr = open_memstream(&text, &size);
		CHECK(stdout && stderr);
		CHECK(cmd_doctor(&parsed) == COMMAND_FAILED);
		(void)fclose(stdout);
		fclose(stderr);
		stdout = standard_output;
		stderr = standard_error;
		CHECK(is_text(text,
				"side: cannot write to standard output: No space left on device\n"));
		free(text);
	}
}

/* ---- files ---- */

static char root[] = "/tmp/side-doctor-XXXXXX";

static void write_file(const char *text)
{
	char path[100];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/file", root);
	file = fopen(path, "we");
	CHECK(file);
	fputs(text, file);
	fclose(file);
}

static void test_files(void)
{
	const struct doctor doctor = {.root = root};
	const struct resources before = resources_now();
	char line[8], path[DOCTOR_PATH_MAX], expected[100];
	int64_t number = 5;
	uint64_t member = 5;

	(void)snprintf(expected, sizeof(expected), "%s/file", root);
	CHECK(doctor_path(&doctor, "/file", path) == path && !strcmp(path, expected));
	CHECK(!doctor_line(&doctor, "/file", line, sizeof(line)) &&
			!doctor_number(&doctor, "/file", &number));
	CHECK(!doctor_member(&doctor, "/file", "A", 10, &member) && number == 5 && member == 5);
	write_file("");
	CHECK(!doctor_line(&doctor, "/file", line, sizeof(line)));
	write_file("first\nsecond\n");
	CHECK(doctor_line(&doctor, "/file", line, sizeof(line)) && !strcmp(line, "first"));
	CHECK(!doctor_number(&doctor, "/file", &number));
	write_file("longer than that\n");
	CHECK(doctor_line(&doctor, "/file", line, sizeof(line)) && !strcmp(line, "longer "));
	write_file("-77 x\n");
	CHECK(doctor_number(&doctor, "/file", &number) && number == -77);
	write_file("010\n");
	CHECK(doctor_number(&doctor, "/file", &number) && number == 10);
	write_file("AB: 1\nA 2\n A: 3\nA:\t1f\nA: 5\n");
	CHECK(doctor_member(&doctor, "/file", "A", 16, &member) && member == 0x1f);
	CHECK(doctor_member(&doctor, "/file", "A", 10, &member) && member == 1);
	CHECK(doctor_member(&doctor, "/file", "AB", 10, &member) && member == 1);
	CHECK(!doctor_member(&doctor, "/file", "B", 10, &member));
	CHECK(resources_are_same(before, resources_now()));
	CHECK(!unlink(expected) && !rmdir(root));
}

int main(void)
{
	CHECK(mkdtemp(root));
	test_text();
	test_json();
	test_refused();
	test_files();
	free(out);
	free(err);
	return 0;
}
