/* SPDX-License-Identifier: MIT */
/*
 * Damaged ELF files and absurd records must not harm a process that looks up symbols: bits flipped,
 * bytes replaced, fields set to extreme values, files truncated. Run it with ELF files as
 * arguments; the damage is the same in each run. Under libFuzzer (-DFUZZ_TARGET) the input is the
 * file.
 *
 * The test fails on a crash, a sanitizer report, an endless loop. Some files must still be
 * readable, which shows that the reader was reached.
 */
#include "symbolize/symbols.h"

#include "../elf/damage.h"
#include "../random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BASE 0x7f0000000000

static unsigned int reported;

static void report(void *user, const char *sentence)
{
	(void)user;
	reported += *sentence != '\0';
}

/*
 * Looks up addresses all over the file; returns how many of them have functions. Each text is read
 * to its end.
 */
static size_t ask(struct symbols *symbols, uint64_t size)
{
	size_t functions = 0, length = 0;

	for (uint64_t i = 0; i < 64; i++) {
		const struct symbol *symbol = symbols_find(
				symbols, 0, (int64_t)i, BASE + i * (size / 64) + 1, i & 1);
		const struct symbol *data =
				symbols_find_data(symbols, 0, (int64_t)i, BASE + i * (size / 64));

		functions += symbol->function != NULL;
		length += symbol->function ? strlen(symbol->function) : 0;
		length += symbol->file ? strlen(symbol->file) : 0;
		length += symbol->module ? strlen(symbol->module) : 0;
		length += data->function ? strlen(data->function) : 0;
	}
	return length ? functions : 0;
}

static size_t read_symbols(const char *path, uint64_t size)
{
	const struct symbols_options options = {.path = "/nowhere", .report = report};
	const struct symbols_library library = {.path = path, .base = BASE, .size = size};
	struct symbols *symbols = symbols_create(&options);
	size_t functions;

	if (!symbols || symbols_load(symbols, 0, 0, &library))
		abort();
	functions = ask(symbols, size);
	symbols_free(symbols);
	return functions;
}

static size_t next_check(const void *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t functions = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size)
		functions = read_symbols(path, 0x6000);
	close(fd);
	return functions;
}

#ifdef FUZZ_TARGET

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	next_check(data, size);
	return 0;
}

#else

/* ---- records ---- */

static uint64_t any_number(void)
{
	return draw(2) ? damage_extreme() + draw(5) - 2 : draw(0x10000) << draw(50);
}

static void absurd_record(struct symbols *symbols, const char *const *paths, size_t nr_paths)
{
	uint8_t id[SYMBOLS_BUILD_ID_MAX + 8];
	struct symbols_library library = {
			.path = paths[draw(nr_paths)],
			.base = any_number(),
			.size = any_number(),
			.build_id = id,
			.build_id_size = draw(sizeof(id)),
			.debug_link = draw(2) ? "../../../../etc/passwd" : "x",
	};

	memset(id, (int)draw(256), sizeof(id));
	if (draw(3))
		symbols_load(symbols, (uint32_t)draw(4), (int64_t)any_number(), &library);
	else
		symbols_unload(symbols, (uint32_t)draw(6), (int64_t)any_number(), any_number());
	for (int i = 0; i < 4; i++) {
		const struct symbol *symbol = symbols_find(symbols, (uint32_t)draw(6),
				(int64_t)any_number(), library.base + any_number(), draw(2));

		if (symbol->line && !symbol->file)
			abort();
	}
}

static void fuzz_records(unsigned int rounds)
{
	static const char *const paths[] = {"", "/", "/dev/zero", "/dev/tty", "relative",
			"/proc/self/exe", "/proc/self/mem", "/etc/passwd",
			"/nowhere\n\033[31m/../x", "/proc/self/maps"};
	const struct symbols_options options = {.path = ":/nowhere::relative:", .report = report};
	struct symbols *symbols = symbols_create(&options);

	if (!symbols)
		abort();
	for (unsigned int i = 0; i < rounds; i++)
		absurd_record(symbols, paths, sizeof(paths) / sizeof(paths[0]));
	symbols_free(symbols);
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("SIDE_TEST_LONG");
	unsigned int rounds = wanted && !strcmp(wanted, "1") ? 20000 : 200;
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= damaged_copies(argv[i], rounds, next_check);
	fuzz_records(rounds * 4);
	printf("%u sentences\n", reported);
	return failed;
}

#endif
