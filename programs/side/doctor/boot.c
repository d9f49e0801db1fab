/* SPDX-License-Identifier: MIT */
/* Check: the configuration that records from the first process on, before a daemon runs. */
#include "doctor.h"

#include "sessions/boot.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The number of sessions in the configuration, of process directories in their state directories,
 * and of recorders.
 */
struct doctor_boot_counts {
	unsigned int processes, sessions, recorders;
};

static unsigned int doctor_boot_count_directories(const char *state_dir)
{
	DIR *directory = opendir(state_dir);
	struct dirent *entry;
	unsigned int nr = 0;

	while (directory && (entry = readdir(directory)))
		nr += *entry->d_name != '.' && entry->d_type == DT_DIR;
	if (directory)
		closedir(directory);
	return nr;
}

static struct doctor_boot_counts doctor_boot_inspect(
		const struct doctor *doctor, const struct boot_config *config)
{
	char path[BOOT_STATE_DIR_MAX], whole[DOCTOR_PATH_MAX];
	const struct boot_session *session;
	struct doctor_boot_counts counts = {0};

	for (session = config->sessions; session; session = session->next) {
		counts.sessions++;
		if (!boot_path(path, sizeof(path), config->state_dir, session->name, NULL))
			continue;
		counts.processes += doctor_boot_count_directories(doctor_path(doctor, path, whole));
		if (boot_path(path, sizeof(path), config->state_dir, session->name, BOOT_SOCKET))
			counts.recorders += !access(doctor_path(doctor, path, whole), F_OK);
	}
	return counts;
}

/*
 * Walks up to the nearest existing directory, into `part`. Returns NULL if the state directory can
 * be created, else the reason why not.
 */
static const char *doctor_boot_find_obstacle(
		const struct doctor *doctor, const char *state_dir, char *part)
{
	char whole[DOCTOR_PATH_MAX];
	struct stat status;
	char *slash;

	snprintf(part, BOOT_STATE_DIR_MAX, "%s", state_dir);
	while (stat(doctor_path(doctor, part, whole), &status)) {
		slash = strrchr(part, '/');
		if (!slash || slash == part)
			break;
		*slash = 0;
	}
	if (stat(doctor_path(doctor, part, whole), &status))
		return NULL;
	if (!S_ISDIR(status.st_mode))
		return "is not a directory";
	if (doctor->is_other_machine || !access(whole, W_OK | X_OK))
		return NULL;
	return strerror(errno);
}

static void doctor_check_state_dir(const struct doctor *doctor, const struct boot_source *source,
		struct doctor_finding *finding)
{
	const struct boot_config *config = source->config;
	struct doctor_boot_counts counts = doctor_boot_inspect(doctor, config);
	char part[BOOT_STATE_DIR_MAX];
	const char *hinders = doctor_boot_find_obstacle(doctor, config->state_dir, part);

	if (hinders) {
		doctor_found(finding, DOCTOR_MISSING,
				"%.200s: the state directory %.100s cannot be created: %.100s %s",
				source->path, config->state_dir, part, hinders);
		doctor_set_hint(finding, "use a directory on a tmpfs that you own, or be root");
		return;
	}
	doctor_found(finding, counts.processes && !counts.recorders ? DOCTOR_NOTE : DOCTOR_OK,
			"%.200s: %u session%s in %.100s, buffers of %u process%s, %s", source->path,
			counts.sessions, counts.sessions == 1 ? "" : "s", config->state_dir,
			counts.processes, counts.processes == 1 ? "" : "es",
			counts.recorders ? "with a recorder" : "no recorder");
	if (finding->state == DOCTOR_NOTE)
		doctor_set_hint(finding, "side adopt %.200s, or sided --boot %.200s",
				config->state_dir, source->path);
}

static void doctor_check_boot(const struct doctor *doctor, struct doctor_finding *finding)
{
	const char *file = doctor->is_other_machine ? NULL : boot_file(getenv(BOOT_ENV));
	char whole[DOCTOR_PATH_MAX];
	struct error error;
	struct boot_source source;

	doctor_path(doctor, file ? file : BOOT_FILE, whole);
	if (access(whole, F_OK)) {
		doctor_found(finding, DOCTOR_NOTE,
				"there is no configuration %.200s: programs are not recorded before a daemon runs",
				file ? file : BOOT_FILE);
		doctor_set_hint(finding, "docs/how-to/early-boot.md describes it");
		return;
	}
	if (boot_source_read(whole, &source, &error)) {
		doctor_found(finding, DOCTOR_MISSING, "%.400s", error.text);
		doctor_set_hint(finding, "%.400s", error.hint);
	} else {
		doctor_check_state_dir(doctor, &source, finding);
	}
	boot_source_free(&source);
}

const struct doctor_check doctor_boot_checks[] = {
		{"boot", "recording from the first process on, without a daemon",
				doctor_check_boot},
		{.name = NULL},
};
