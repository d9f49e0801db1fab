/* SPDX-License-Identifier: MIT */
/*
 * Runs the verbs that analyse traces on traces with changed bytes: whatever they print, they must
 * end, and must not read or write outside their memory and files (run with sanitizers, too).
 *
 * usage: fuzz-analysis TRACE...
 *
 * Deterministic: each round has its number as seed. SIDE_TEST_LONG=1 makes many more rounds.
 */
#include "programs/common/command.h"
#include "programs/common/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 130
#define ROUNDS_LONG 4000
#define FILES_MAX 32
#define FILE_MAX ((size_t)1 << 20)

static uint64_t state;

static uint64_t chance(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state * UINT64_C(0x2545f4914f6cdd1d) >> 16) % below;
}

struct file {
	char name[256];
	unsigned char *bytes;
	size_t size;
};

struct trace {
	struct file files[FILES_MAX];
	size_t count;
};

static void read_trace(struct trace *trace, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) && trace->count < FILES_MAX) {
		struct file *file = &trace->files[trace->count];
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY);
		ssize_t size;

		if (*entry->d_name == '.' || fd < 0)
			continue;
		file->bytes = malloc(FILE_MAX);
		size = file->bytes ? read(fd, file->bytes, FILE_MAX) : -1;
		close(fd);
		if (size < 0)
			continue;
		file->size = (size_t)size;
		snprintf(file->name, sizeof(file->name), "%s", entry->d_name);
		trace->count++;
	}
	if (dir)
		closedir(dir);
}

/* Changes some bytes, doubles or removes a piece, or cuts the end off. */
static size_t change(unsigned char *bytes, size_t size)
{
	uint64_t times = 1 + chance(3);

	while (times-- && size > 16) {
		size_t at = chance(size), length = 1 + chance(16);

		if (at + length > size)
			length = size - at;
		switch (chance(6)) {
		case 0: bytes[at] = (unsigned char)chance(256); break;
		case 1: bytes[at] ^= (unsigned char)(1u << chance(8)); break;
		case 2: memset(bytes + at, chance(2) ? 0xff : 0, length); break;
		case 3:
			memmove(bytes + at, bytes + at + length, size - at - length);
			size -= length;
			break;
		case 4: memmove(bytes + at, bytes + chance(size - length), length); break;
		default:
			if (chance(8) == 0)
				size = at;
		}
	}
	return size;
}

static void write_file(const char *dir, const char *name, const unsigned char *bytes, size_t size)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void write_changed(const struct trace *trace, const char *dir)
{
	static unsigned char bytes[FILE_MAX];
	size_t chosen = chance(trace->count);

	for (size_t i = 0; i < trace->count; i++) {
		const struct file *file = &trace->files[i];
		size_t size = file->size;

		memcpy(bytes, file->bytes, size);
		if (i == chosen || chance(8) == 0)
			size = change(bytes, size);
		write_file(dir, file->name, bytes, size);
	}
}

static int remove_one(const char *path, const struct stat *stat_of, int kind, struct FTW *location)
{
	(void)stat_of;
	(void)kind;
	(void)location;
	return remove(path);
}

static void remove_all(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Every command that reads values with code of its own. ORIGINAL is the trace without changes. */
static const char *const commands[][16] = {
		{"side", "-q", "leaks", "IN"},
		{"side", "-q", "--json", "leaks", "IN"},
		{"side", "-q", "locks", "IN"},
		{"side", "-q", "--json", "locks", "IN"},
		{"side", "-q", "slow", "IN"},
		{"side", "-q", "--json", "calls", "IN"},
		{"side", "-q", "flame", "IN"},
		{"side", "-q", "--json", "flame", "IN", "--by", "thread", "--weight", "count"},
		{"side", "-q", "flame", "IN", "--weight", "wait", "--format", "folded"},
		{"side", "-q", "flame", "IN", "--weight", "off-cpu", "--format", "speedscope"},
		{"side", "-q", "flame", "IN", "--weight", "bytes", "--base", "ORIGINAL"},
		{"side", "-q", "flame", "IN", "--base", "ORIGINAL", "--format", "svg"},
		{"side", "-q", "export", "IN", "--format", "pprof", "-o", "OUT"},
		{"side", "-q", "diff", "IN", "ORIGINAL"},
		{"side", "-q", "--json", "diff", "ORIGINAL", "IN", "--pair", "*", "*"},
		{"side", "-q", "report", "IN"},
		{"side", "-q", "--json", "report", "IN", "--by", "thread", "--histogram", "number",
				"--histogram", "len(x)", "--callers", "5", "--losses"},
		{"side", "-q", "report", "IN", "--pair", "*", "*", "--slowest", "5", "--around",
				"3", "--by", "x"},
		{"side", "-q", "report", "IN", "--where", "has(x) || number > 3", "--by",
				"$ctx.procname"},
		{"side", "-q", "export", "IN", "-o", "OUT", "--pair", "*", "*", "--key", "x"},
		{"side", "-q", "export", "IN", "-o", "OUT", "--to", "chrome", "--pair", "*", "*"},
		{"side", "-q", "export", "IN", "-o", "OUT", "--to", "csv"},
		{"side", "-q", "export", "IN", "-o", "OUT/", "--to", "csv"},
		{"side", "-q", "export", "IN", "-o", "OUT", "--to", "ctf1"},
		{"side", "-q", "export", "IN", "-o", "OUT", "--to", "ctf2"},
		{"side", "-q", "report", "OUT"},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int run_verb(const struct parsed *parsed)
{
	switch (parsed->verb->id) {
	case VERB_LEAKS: return cmd_leaks(parsed);
	case VERB_LOCKS: return cmd_locks(parsed);
	case VERB_SLOW: return cmd_slow(parsed);
	case VERB_CALLS: return cmd_calls(parsed);
	case VERB_FLAME: return cmd_flame(parsed);
	case VERB_DIFF: return cmd_diff(parsed);
	case VERB_REPORT: return cmd_report(parsed);
	case VERB_EXPORT: return cmd_export(parsed);
	default: abort();
	}
}

static int run(size_t number, const char *original, const char *in, const char *out)
{
	static char args[16][512];
	char *argv[17], directory[512];
	struct parse_error error;
	struct parsed parsed;
	int argc = 0, status;

	snprintf(directory, sizeof(directory), "%s/", out);
	for (; commands[number][argc]; argc++) {
		const char *word = commands[number][argc];

		if (!strcmp(word, "IN"))
			word = in;
		else if (!strcmp(word, "OUT"))
			word = out;
		else if (!strcmp(word, "ORIGINAL"))
			word = original;
		else if (!strcmp(word, "OUT/"))
			word = directory;
		argv[argc] = args[argc];
		snprintf(args[argc], sizeof(args[argc]), "%s", word);
	}
	argv[argc] = NULL;
	status = parse_command_line(argc, argv, &parsed, &error);
	if (status)
		abort();
	output_start(&parsed.common, parsed.verb->name);
	status = run_verb(&parsed);
	parsed_free(&parsed);
	return status;
}

int main(int argc, char **argv)
{
	const char *longer = getenv("SIDE_TEST_LONG");
	unsigned long rounds = longer && !strcmp(longer, "1") ? ROUNDS_LONG : ROUNDS;
	unsigned long done = 0, failed = 0;
	char folder[] = "/tmp/side-fuzz-XXXXXX", in[64], out[64];
	int null = open("/dev/null", O_WRONLY), own = dup(STDOUT_FILENO),
	    errors = dup(STDERR_FILENO);

	if (argc < 2 || null < 0 || !mkdtemp(folder))
		return 2;
	snprintf(in, sizeof(in), "%s/in", folder);
	snprintf(out, sizeof(out), "%s/out", folder);
	for (int i = 1; i < argc; i++) {
		static struct trace trace;

		trace = (struct trace){0};
		read_trace(&trace, argv[i]);
		if (!trace.count)
			return 2;
		for (unsigned long round = 0; round < rounds; round++) {
			state = (round + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i;
			mkdir(in, 0700);
			write_changed(&trace, in);
			fflush(stdout);
			dup2(null, STDOUT_FILENO);
			if (!getenv("FUZZ_SHOW"))
				dup2(null, STDERR_FILENO);
			failed += run(round % COMMANDS, argv[i], in, out) != COMMAND_DONE;
			dup2(own, STDOUT_FILENO);
			dup2(errors, STDERR_FILENO);
			done++;
			remove_all(in);
			/* The last command reads the output of the two commands before it. */
			if (round % COMMANDS < COMMANDS - 3 || round % COMMANDS == COMMANDS - 1)
				remove_all(out);
		}
		remove_all(out);
		for (size_t k = 0; k < trace.count; k++)
			free(trace.files[k].bytes);
	}
	remove_all(folder);
	printf("%lu rounds, %lu of them with a complaint\n", done, failed);
	/* If no change is detected, or none leaves a readable trace, the test tests nothing. */
	return done && failed > done / 20 && failed < done - done / 20 ? 0 : 1;
}
