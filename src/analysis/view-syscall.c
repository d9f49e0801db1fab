/* SPDX-License-Identifier: MIT */
/*
 * What numbers of system calls mean, in text: the kernel describes all of them as unsigned words.
 * The meaning follows the unchanged number.
 */
#include "analysis/view-syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define ENTER "syscalls:sys_enter_"
#define ERRNO_MAX 4095

static bool begins(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

enum view_call view_call_of(const char *event)
{
	if (begins(event, "syscalls:sys_exit_") || !strcmp(event, "raw_syscalls:sys_exit"))
		return VIEW_CALL_EXIT;
	if (begins(event, ENTER "open"))
		return VIEW_CALL_OPEN;
	return begins(event, ENTER) ? VIEW_CALL_ENTER : VIEW_CALL_NONE;
}

static bool is_descriptor(const char *name)
{
	size_t size = strlen(name);

	return size >= 2 && !strcmp(name + size - 2, "fd");
}

static void view_syscall_write_text(struct view_sink *sink, const char *text)
{
	view_out_text(sink->out, " (");
	view_out_text(sink->out, text);
	view_out_char(sink->out, ')');
}

static void put_descriptor(struct view_sink *sink, uint64_t value)
{
	char text[24];
	int number = (int)(uint32_t)value;

	if (number >= 0)
		return;
	(void)snprintf(text, sizeof(text), "%d", number);
	view_syscall_write_text(sink, number == AT_FDCWD ? "AT_FDCWD" : text);
}

static void put_open_flags(struct view_sink *sink, uint64_t value)
{
	static const struct {
		uint64_t bits;
		const char *name;
	} flags[] = {{O_CREAT, "O_CREAT"}, {O_EXCL, "O_EXCL"}, {O_NOCTTY, "O_NOCTTY"},
			{O_TRUNC, "O_TRUNC"}, {O_APPEND, "O_APPEND"}, {O_NONBLOCK, "O_NONBLOCK"},
			{O_TMPFILE, "O_TMPFILE"}, {O_SYNC, "O_SYNC"}, {O_DSYNC, "O_DSYNC"},
			{O_DIRECT, "O_DIRECT"}, {O_DIRECTORY, "O_DIRECTORY"},
			{O_NOFOLLOW, "O_NOFOLLOW"}, {O_NOATIME, "O_NOATIME"},
			{O_CLOEXEC, "O_CLOEXEC"}, {O_PATH, "O_PATH"}};
	static const char *const access_modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR"};
	char text[320];
	size_t size;

	if ((value & O_ACCMODE) > 2)
		return;
	size = (size_t)snprintf(text, sizeof(text), "%s", access_modes[value & O_ACCMODE]);
	value &= ~(uint64_t)(O_ACCMODE | 0100000); /* O_LARGEFILE of the kernel */
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!flags[i].bits || (value & flags[i].bits) != flags[i].bits)
			continue;
		size += (size_t)snprintf(text + size, sizeof(text) - size, "|%s", flags[i].name);
		value &= ~flags[i].bits;
	}
	if (value)
		(void)snprintf(text + size, sizeof(text) - size, "|0x%llx",
				(unsigned long long)value);
	view_syscall_write_text(sink, text);
}

void view_call_note(struct view_sink *sink, const struct ctf_value *value)
{
	const char *name = value->member->name + (value->member->name[0] == '_');
	char text[24];

	if (value->type->kind != CTF_INTEGER || value->type->size != 64)
		return;
	if (sink->call == VIEW_CALL_EXIT) {
		/* An address is not an error. */
		if (!strcmp(name, "ret") && value->s < 0 && value->s >= -ERRNO_MAX &&
				strerrorname_np((int)-value->s))
			view_syscall_write_text(sink, strerrorname_np((int)-value->s));
	} else if (is_descriptor(name)) {
		put_descriptor(sink, value->u);
	} else if (sink->call == VIEW_CALL_OPEN && !strcmp(name, "flags")) {
		put_open_flags(sink, value->u);
	} else if (!strcmp(name, "mode") && value->u > 7) {
		(void)snprintf(text, sizeof(text), "%#llo", (unsigned long long)value->u);
		view_syscall_write_text(sink, text);
	}
}
