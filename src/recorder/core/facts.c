/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes facts in text files. A file is replaced atomically, and its content is not
 * trusted when read.
 */
#include "recorder/core/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "ctf/ctf.h"
#include "recorder/core/clock.h"
#include "ring/ring.h"

#define FREQUENCY_MAX UINT64_C(1000000000000)
#define OFFSET_S_MAX INT64_C(1000000000000)
#define TRIES_ASIDE 100

void facts_put_value(FILE *file, const char *text)
{
	putc(' ', file);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte <= ' ' || byte >= 0x7f || byte == '%')
			fprintf(file, "%%%02x", byte);
		else
			putc(byte, file);
	}
}

void facts_put_line(FILE *file, const char *word, const char *value)
{
	fputs(word, file);
	facts_put_value(file, value);
	putc('\n', file);
}

static int hex(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool facts_unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high, low;

		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		high = hex(text[1]);
		low = high < 0 ? -1 : hex(text[2]);
		if (low < 0 || !(high * 16 + low))
			return false;
		*to++ = (char)(high * 16 + low);
		text += 2;
	}
	*to = 0;
	return true;
}

bool facts_parse(char *text, size_t size, const char *first, facts_take_line *take_line, void *user)
{
	char *line, *remainder = text;

	if (strlen(text) != size)
		return false;
	line = strsep(&remainder, "\n");
	if (strcmp(line, first) != 0)
		return false;
	while (remainder) {
		char *value, *word;

		line = strsep(&remainder, "\n");
		if (!strcmp(line, FACTS_LAST_LINE))
			return true;
		value = line;
		word = strsep(&value, " ");
		if (!value || !take_line(user, word, value))
			return false;
	}
	return false;
}

int facts_read_file(int folder, const char *name, size_t limit, char **ret_bytes, size_t *ret_size)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	ssize_t got;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		ret = -errno;
	else if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > limit)
		ret = -EINVAL;
	if (ret) {
		close(fd);
		return ret;
	}
	*ret_bytes = malloc((size_t)status.st_size + 1);
	*ret_size = 0;
	got = *ret_bytes ? io_read(fd, *ret_bytes, (size_t)status.st_size) : -ENOMEM;
	close(fd);
	if (got < 0) {
		free(*ret_bytes);
		*ret_bytes = NULL;
		return (int)got;
	}
	*ret_size = (size_t)got;
	(*ret_bytes)[*ret_size] = 0;
	return 0;
}

void facts_clear_path(int folder, const char *name)
{
	char aside[96];
	unsigned int try;

	if (!unlinkat(folder, name, 0) || !unlinkat(folder, name, AT_REMOVEDIR))
		return;
	for (try = 0; try < TRIES_ASIDE && errno != ENOENT; try++) {
		snprintf(aside, sizeof(aside), ".%.64s.old-%u", name, try);
		if (!renameat2(folder, name, folder, aside, RENAME_NOREPLACE))
			return;
	}
}

static int write_lines_to(int folder, const char *name, const char *first,
		facts_write_lines *write_lines, const void *user)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int ret = 0;

	if (!file) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	fprintf(file, "%s\n", first);
	write_lines(file, user);
	fputs(FACTS_LAST_LINE "\n", file);
	if (ferror(file))
		ret = -EIO;
	if (fclose(file) && !ret)
		ret = -errno;
	return ret;
}

int facts_write_file(int folder, const char *name, const char *first,
		facts_write_lines *write_lines, const void *user)
{
	char temporary[64];
	int ret;

	snprintf(temporary, sizeof(temporary), ".%s.new", name);
	/* Left by a recorder that was killed here. */
	facts_clear_path(folder, temporary);
	ret = write_lines_to(folder, temporary, first, write_lines, user);
	if (!ret && renameat(folder, temporary, folder, name)) {
		facts_clear_path(folder, name);
		ret = renameat(folder, temporary, folder, name) ? -errno : 0;
	}
	if (ret)
		unlinkat(folder, temporary, 0);
	return ret;
}

void facts_put_clock(FILE *file, enum ring_clock kind, const struct ctf_clock *clock)
{
	fprintf(file, "clock %u %llu %lld %llu\n", (unsigned int)kind,
			(unsigned long long)clock->frequency, (long long)clock->offset_s,
			(unsigned long long)clock->offset);
}

bool facts_take_clock(const char *value, enum ring_clock *ret_kind, struct ctf_clock *ret_clock)
{
	unsigned long long frequency, offset;
	unsigned int number;
	long long offset_s;

	if (sscanf(value, "%u %llu %lld %llu", &number, &frequency, &offset_s, &offset) != 4)
		return false;
	if (number > RING_CLOCK_MONOTONIC || !frequency || frequency > FREQUENCY_MAX ||
			offset >= frequency || offset_s < -OFFSET_S_MAX || offset_s > OFFSET_S_MAX)
		return false;
	*ret_kind = (enum ring_clock)number;
	session_fill_clock(ret_clock,
			&(struct ring_clock_calibration){
					.frequency = frequency,
					.offset_s = offset_s,
					.offset = offset,
			});
	return true;
}
