/* SPDX-License-Identifier: MIT */
/* The verb `doctor`: runs the checks and prints what they found. */
#include "doctor.h"

#include "programs/common/command.h"
#include "programs/common/message.h"

#include "base/nearest/nearest.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECKS_MAX 64

/* ---- functions for checks ---- */

void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
{
	va_list arguments;

	finding->state = state;
	va_start(arguments, format);
	vsnprintf(finding->found, sizeof(finding->found), format, arguments);
	va_end(arguments);
}

void doctor_set_hint(struct doctor_finding *finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->hint, sizeof(finding->hint), format, arguments);
	va_end(arguments);
}

const char *doctor_path(const struct doctor *doctor, const char *path, char space[DOCTOR_PATH_MAX])
{
	snprintf(space, DOCTOR_PATH_MAX, "%s%s", doctor->root, path);
	return space;
}

bool doctor_line(const struct doctor *doctor, const char *path, char *line, size_t space)
{
	char full[DOCTOR_PATH_MAX];
	FILE *file = fopen(doctor_path(doctor, path, full), "re");
	bool is_read = file && fgets(line, (int)space, file);

	if (file)
		fclose(file);
	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	return is_read;
}

bool doctor_number(const struct doctor *doctor, const char *path, int64_t *ret_number)
{
	char line[64], *end;

	if (!doctor_line(doctor, path, line, sizeof(line)))
		return false;
	*ret_number = strtoll(line, &end, 10);
	return end != line;
}

bool doctor_member(const struct doctor *doctor, const char *path, const char *name, int base,
		uint64_t *ret_number)
{
	char full[DOCTOR_PATH_MAX], line[256];
	FILE *file = fopen(doctor_path(doctor, path, full), "re");
	size_t length = strlen(name);
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		found = !strncmp(line, name, length) && line[length] == ':';
		if (found)
			*ret_number = strtoull(line + length + 1, NULL, base);
	}
	if (file)
		fclose(file);
	return found;
}

/* ---- the verb ---- */

static const struct doctor_check *const tables[] = {doctor_library_checks, doctor_session_checks,
		doctor_boot_checks, doctor_system_checks, doctor_kernel_checks};
#define NR_TABLES (sizeof(tables) / sizeof(tables[0]))

static const char *const state_names[] = {"ok", "note", "missing", "skipped"};

static void doctor_print_json(
		const struct doctor_check *check, const struct doctor_finding *finding)
{
	printf("{\"schema\":%d,\"type\":\"check\",\"name\":\"%s\",\"state\":\"%s\",\"for\":",
			OUTPUT_JSON_SCHEMA, check->name, state_names[finding->state]);
	print_json_string(stdout, check->purpose);
	fputs(",\"found\":", stdout);
	print_json_string(stdout, finding->found);
	if (*finding->hint) {
		print_json_hint(stdout, finding->hint);
	}
	puts("}");
}

static void doctor_print_text(
		const struct doctor_check *check, const struct doctor_finding *finding, bool color)
{
	static const char *const colors[] = {"\033[32m", "\033[33m", "\033[1;31m", "\033[2m"};
	char found[2048], hint[2048];

	printf("%s%-7s%s  %-10s  %s\n", color ? colors[finding->state] : "",
			state_names[finding->state], color ? "\033[0m" : "", check->name,
			format_printable(finding->found, found, sizeof(found)));
	if (finding->state == DOCTOR_OK || finding->state == DOCTOR_SKIPPED)
		return;
	printf("                     for: %s\n", check->purpose);
	if (*finding->hint)
		printf("                     hint: %s\n",
				format_printable(finding->hint, hint, sizeof(hint)));
}

static bool doctor_is_selected(const struct parsed *parsed, const char *name)
{
	for (int i = 0; i < parsed->operand_count; i++) {
		if (!strcmp(parsed->operands[i], name))
			return true;
	}
	return !parsed->operand_count;
}

/* Checks that each operand is the name of a check. */
static int doctor_check_names(const struct parsed *parsed)
{
	const char *names[CHECKS_MAX];
	struct nearest nearest;
	size_t count = 0;

	for (size_t t = 0; t < NR_TABLES; t++) {
		for (const struct doctor_check *check = tables[t]; check->name; check++)
			names[count++] = check->name;
	}
	for (int i = 0; i < parsed->operand_count; i++) {
		char hint[NEAREST_TEXT_SIZE];
		bool found = false;

		for (size_t k = 0; k < count && !found; k++)
			found = !strcmp(names[k], parsed->operands[i]);
		if (found)
			continue;
		nearest_begin(&nearest, parsed->operands[i]);
		for (size_t k = 0; k < count; k++)
			nearest_offer(&nearest, names[k]);
		return message_error(COMMAND_USAGE,
				nearest_text(&nearest, "side doctor ", hint, sizeof(hint))
						? hint
						: "`side doctor` lists all checks",
				"unknown check `%.128s`", parsed->operands[i]);
	}
	return COMMAND_DONE;
}

/* Returns the number of checks with the result DOCTOR_MISSING. */
static unsigned int doctor_run_checks(const struct doctor *doctor, const struct parsed *parsed)
{
	bool color = !parsed->common.json && output_has_color(stdout, parsed->common.color);
	unsigned int missing = 0;

	for (size_t t = 0; t < NR_TABLES; t++) {
		for (const struct doctor_check *check = tables[t]; check->name; check++) {
			struct doctor_finding finding = {.state = DOCTOR_OK};

			if (!doctor_is_selected(parsed, check->name))
				continue;
			check->check(doctor, &finding);
			missing += finding.state == DOCTOR_MISSING;
			if (parsed->common.json)
				doctor_print_json(check, &finding);
			else
				doctor_print_text(check, &finding, color);
		}
	}
	return missing;
}

int cmd_doctor(const struct parsed *parsed)
{
	const char *root = parsed->options.doctor.root;
	struct doctor doctor = {.root = root ? root : "",
			.is_other_machine = root != NULL,
			.uid = geteuid()};
	int status = doctor_check_names(parsed), printed;
	unsigned int missing;

	if (!status && root && access(root, R_OK | X_OK))
		return message_error(COMMAND_FAILED, NULL,
				"cannot check %s: no directory of that name, or no permission",
				root);
	if (status)
		return status;
	missing = doctor_run_checks(&doctor, parsed);
	printed = output_flush(stdout);
	if (printed)
		return printed;
	if (missing && !parsed->common.json)
		message_note("%u %s missing", missing, missing == 1 ? "thing is" : "things are");
	return missing ? COMMAND_FAILED : COMMAND_DONE;
}
