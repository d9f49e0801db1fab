/* SPDX-License-Identifier: MIT */
/*
 * Random changes of SIDE_USER_EVENTS and its file: the library accepts them, or refuses them with a
 * message, and nothing else happens. As a test it runs a number of rounds; with libFuzzer
 * (-DFUZZ_TARGET) without an end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracers/user-events/user-events.h"

static const char *file_path(void)
{
	static char path[64];

	if (!*path)
		(void)snprintf(path, sizeof(path), "/tmp/side-fuzz-config-%ld", (long)getpid());
	return path;
}

static void check(bool good, const struct kernel_config *config, const char *reason)
{
	if (good ? !config->nr_patterns : !*reason)
		abort();
	if (good && config->encoding > KERNEL_EVENTHEADER)
		abort();
}

static bool read_text(const char *text, const char *encoding)
{
	struct kernel_config config;
	char reason[600] = "";
	bool good = kernel_config_read(text, encoding, &config, reason, sizeof(reason));

	check(good, &config, reason);
	free(config.patterns);
	return good;
}

/* Parses the text itself, and a file with it. Returns true if the file is valid. */
static bool next_check(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	FILE *file = fopen(file_path(), "we");

	if (!text || !file)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	/* Never another file of this machine. */
	if (*text != '/')
		(void)read_text(text, NULL);
	(void)read_text("all", text);
	(void)fwrite(data, 1, size, file);
	(void)fclose(file);
	free(text);
	return read_text(file_path(), NULL);
}

#ifdef FUZZ_TARGET
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)next_check(data, size);
	return 0;
}
#else
int main(void)
{
	static const char special[] = "\n,@![\\*";
	static const char good[] = "# a remark\nevents app:*, db:query_?,!*@DEBUG\n\n encoding "
				   "native\nevents all\n";
	long rounds = getenv("SIDE_TEST_LONG") ? 500000 : 1000, i, taken = 0;
	uint32_t seed = 4711;

	if (!next_check((const uint8_t *)good, sizeof(good) - 1))
		abort();
	for (i = 0; i < rounds; i++) {
		uint8_t data[sizeof(good)];
		size_t size = sizeof(good) - 1;
		unsigned int changes;

		memcpy(data, good, size);
		seed = seed * 1664525 + 1013904223;
		for (changes = seed >> 30; changes < 5; changes++) {
			seed = seed * 1664525 + 1013904223;
			data[(seed >> 8) % size] = (uint8_t)(seed >> 16);
			if ((seed >> 24) % 7 == 0)
				data[(seed >> 8) % size] = (uint8_t)special[seed >> 29];
		}
		seed = seed * 1664525 + 1013904223;
		if (seed >> 29 == 0)
			size = (seed >> 8) % size;
		taken += next_check(data, size);
	}
	(void)unlink(file_path());
	printf("%ld texts, %ld taken\n", rounds, taken);
	/* Changes in comments and globs keep the text valid, others do not. */
	return taken > 0 && taken < rounds ? 0 : 1;
}
#endif
