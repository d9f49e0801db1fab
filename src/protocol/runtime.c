/* SPDX-License-Identifier: MIT */
/* Finds the runtime directory and checks whether it can be trusted. */
#include "protocol/runtime.h"
#include "base/inside/raw.h"
#include "base/environment/environment.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Text that is appended to a buffer; once it does not fit, size stays too large. */
struct runtime_path_text {
	char *bytes;
	size_t capacity, size;
};

static void runtime_path_append(struct runtime_path_text *text, const char *from)
{
	size_t length = strlen(from);

	if (text->size + length < text->capacity)
		memcpy(text->bytes + text->size, from, length + 1);
	text->size += length;
}

static void append_number(struct runtime_path_text *text, unsigned long number)
{
	char digits[24];
	char *at = digits + sizeof(digits) - 1;

	*at = 0;
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	runtime_path_append(text, at);
}

static int text_end(const struct runtime_path_text *text)
{
	return text->size < text->capacity ? 0 : -ENAMETOOLONG;
}

/* An empty variable counts as not set. */
static const char *runtime_variable(const char *name)
{
	const char *value = environment_get(name);

	return value && *value ? value : NULL;
}

/* By a direct system call: the C library's functions may be traced. */
static int runtime_path_get_mode(const char *path, struct statx *status)
{
	long ret = raw_call(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
			STATX_TYPE | STATX_MODE | STATX_UID, status);

	return (int)ret;
}

/* Append the user's directory: that of the login session, or else one below /tmp. */
static void append_users(struct runtime_path_text *text, uint32_t user)
{
	const char *variable = runtime_variable("XDG_RUNTIME_DIR");
	struct statx status;

	if (variable && *variable == '/') {
		runtime_path_append(text, variable);
		runtime_path_append(text, "/side");
		return;
	}
	runtime_path_append(text, "/run/user/");
	append_number(text, user);
	if (text_end(text) || runtime_path_get_mode(text->bytes, &status)) {
		text->size = 0;
		runtime_path_append(text, "/tmp/side-");
		append_number(text, user);
	} else {
		runtime_path_append(text, "/side");
	}
}

static int directory(char *path, size_t capacity, bool system)
{
	struct runtime_path_text text = {.bytes = path, .capacity = capacity};
	const char *variable = runtime_variable(WIRE_RUNTIME_ENV);
	uint32_t user = (uint32_t)raw_call(SYS_geteuid);

	if (!capacity)
		return -ENAMETOOLONG;
	*path = 0;
	if (variable) {
		if (system)
			return -ENOENT;
		if (*variable != '/')
			return -EINVAL;
		runtime_path_append(&text, variable);
	} else if (system || !user) {
		runtime_path_append(&text, WIRE_RUNTIME_SYSTEM);
	} else {
		append_users(&text, user);
	}
	return text_end(&text);
}

int wire_runtime_own(char *path, size_t capacity)
{
	struct runtime_path_text text = {.bytes = path, .capacity = capacity};
	uint32_t user = (uint32_t)raw_call(SYS_geteuid);
	int error = errno;

	if (!capacity)
		return -ENAMETOOLONG;
	*path = 0;
	if (user)
		append_users(&text, user);
	else
		runtime_path_append(&text, WIRE_RUNTIME_SYSTEM);
	errno = error;
	return text_end(&text);
}

int wire_runtime_directory(char *path, size_t capacity, bool system)
{
	int error = errno, ret = directory(path, capacity, system);

	errno = error;
	return ret;
}

int wire_runtime_path(char *path, size_t capacity, bool system, const char *file)
{
	struct runtime_path_text text = {.bytes = path, .capacity = capacity};
	int ret = wire_runtime_directory(path, capacity, system);

	if (ret)
		return ret;
	text.size = strlen(path);
	runtime_path_append(&text, "/");
	runtime_path_append(&text, file);
	if (text.size >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return -ENAMETOOLONG;
	return text_end(&text);
}

int wire_runtime_check(const char *directory)
{
	struct statx status;
	int error = errno;
	int ret = runtime_path_get_mode(directory, &status);
	uint32_t user = (uint32_t)raw_call(SYS_geteuid);

	errno = error;
	if (ret)
		return ret;
	if (!S_ISDIR(status.stx_mode))
		return -ENOTDIR;
	if (status.stx_uid != 0 && status.stx_uid != user)
		return -EPERM;
	return status.stx_mode & (S_IWGRP | S_IWOTH) ? -EPERM : 0;
}

bool wire_session_name_valid(const char *name)
{
	static const char allowed[] =
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t length = strlen(name);

	if (!length || length > WIRE_SESSION_NAME_MAX || *name == '.' || *name == '-')
		return false;
	return strspn(name, allowed) == length;
}
