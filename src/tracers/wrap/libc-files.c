/* SPDX-License-Identifier: MIT */
/*
 * Emits calls that open, read, write, move and close files and descriptors as events of the
 * provider "libc", with arguments, result, error number (0 on success) and caller. Contents are not
 * recorded. The event of munmap() is emitted before the call and has no result.
 *
 * The names with 64 are the same functions on 64-bit systems. They have events of their own, so
 * that the trace shows the function that the program called.
 */
#include "tracers/wrap/wrap.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Since Linux 5.7; older headers do not define it. */
#define WRAP_MREMAP_DONTUNMAP 4

#define FILE_FUNCTION(type, kind, function, params, names, failed, fields, args)              \
	WRAP_FUNCTION("libc", type, kind, function, params, names, failed, WRAP_LIST(fields), \
			WRAP_LIST(args))

/* The open functions have a mode only if they may create a file. */
#define READ_MODE(mode, flags)                           \
	do {                                             \
		if ((flags) & (O_CREAT | __O_TMPFILE)) { \
			va_list list;                    \
                                                         \
			va_start(list, flags);           \
			mode = va_arg(list, mode_t);     \
			va_end(list);                    \
		}                                        \
	} while (0)

#define OPEN_FUNCTION(function)                                                             \
	side_static_event(event_##function, "libc", #function, SIDE_LOGLEVEL_DEBUG,         \
			side_field_list(side_field_string("path"),                          \
					side_field_u32("flags",                             \
							side_attr_list(side_attr(           \
									"std.integer.base", \
									side_attr_u8(8)))), \
					side_field_u32("mode",                              \
							side_attr_list(side_attr(           \
									"std.integer.base", \
									side_attr_u8(8)))), \
					WRAP_RESULT_FIELDS(s32)));                          \
	WRAP_NEXT(int, function, NULL, const char *, int, ...)                              \
	WRAP_EXPORT int function(const char *path, int flags, ...)                          \
	{                                                                                   \
		WRAP_CALLER();                                                              \
		mode_t mode = 0;                                                            \
		int result;                                                                 \
                                                                                            \
		READ_MODE(mode, flags);                                                     \
		result = next_##function()(path, flags, mode);                              \
		WRAP_EMIT(event_##function, WRAP_TEXT(path, result < 0),                    \
				side_arg_u32((uint32_t)flags), side_arg_u32(mode),          \
				WRAP_RESULT_ARGS(s32, result, result < 0));                 \
		return result;                                                              \
	}

#define OPENAT_FUNCTION(function)                                                             \
	side_static_event(event_##function, "libc", #function, SIDE_LOGLEVEL_DEBUG,           \
			side_field_list(side_field_s32("dirfd"), side_field_string("path"),   \
					side_field_u32("flags",                               \
							side_attr_list(side_attr(             \
									"std.integer.base",   \
									side_attr_u8(8)))),   \
					side_field_u32("mode",                                \
							side_attr_list(side_attr(             \
									"std.integer.base",   \
									side_attr_u8(8)))),   \
					WRAP_RESULT_FIELDS(s32)));                            \
	WRAP_NEXT(int, function, NULL, int, const char *, int, ...)                           \
	WRAP_EXPORT int function(int dirfd, const char *path, int flags, ...)                 \
	{                                                                                     \
		WRAP_CALLER();                                                                \
		mode_t mode = 0;                                                              \
		int result;                                                                   \
                                                                                              \
		READ_MODE(mode, flags);                                                       \
		result = next_##function()(dirfd, path, flags, mode);                         \
		WRAP_EMIT(event_##function, side_arg_s32(dirfd), WRAP_TEXT(path, result < 0), \
				side_arg_u32((uint32_t)flags), side_arg_u32(mode),            \
				WRAP_RESULT_ARGS(s32, result, result < 0));                   \
		return result;                                                                \
	}

OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)
OPENAT_FUNCTION(openat)
OPENAT_FUNCTION(openat64)

FILE_FUNCTION(int, s32, creat, (const char *path, mode_t mode), (path, mode), result < 0,
		WRAP_LIST(side_field_string("path"), side_field_u32("mode")),
		WRAP_LIST(WRAP_TEXT(path, result < 0), side_arg_u32(mode)))
FILE_FUNCTION(int, s32, close, (int fd), (fd), result < 0, WRAP_LIST(side_field_s32("fd")),
		WRAP_LIST(side_arg_s32(fd)))
FILE_FUNCTION(ssize_t, s64, read, (int fd, void *buf, size_t count), (fd, buf, count), result < 0,
		WRAP_LIST(side_field_s32("fd"), side_field_pointer("buf"), side_field_u64("count")),
		WRAP_LIST(side_arg_s32(fd), side_arg_pointer(buf), side_arg_u64(count)))
FILE_FUNCTION(ssize_t, s64, write, (int fd, const void *buf, size_t count), (fd, buf, count),
		result < 0,
		WRAP_LIST(side_field_s32("fd"), side_field_pointer("buf"), side_field_u64("count")),
		WRAP_LIST(side_arg_s32(fd), side_arg_pointer(buf), side_arg_u64(count)))

#define PREAD_FUNCTION(function, buffer, offset_type)                                           \
	FILE_FUNCTION(ssize_t, s64, function,                                                   \
			(int fd, buffer buf, size_t count, offset_type offset),                 \
			(fd, buf, count, offset), result < 0,                                   \
			WRAP_LIST(side_field_s32("fd"), side_field_pointer("buf"),              \
					side_field_u64("count"), side_field_s64("offset")),     \
			WRAP_LIST(side_arg_s32(fd), side_arg_pointer(buf), side_arg_u64(count), \
					side_arg_s64(offset)))

PREAD_FUNCTION(pread, void *, off_t)
PREAD_FUNCTION(pread64, void *, off64_t)
PREAD_FUNCTION(pwrite, const void *, off_t)
PREAD_FUNCTION(pwrite64, const void *, off64_t)

#define READV_FUNCTION(function)                                                             \
	FILE_FUNCTION(ssize_t, s64, function, (int fd, const struct iovec *iov, int iovcnt), \
			(fd, iov, iovcnt), result < 0,                                       \
			WRAP_LIST(side_field_s32("fd"), side_field_pointer("iov"),           \
					side_field_s32("iovcnt")),                           \
			WRAP_LIST(side_arg_s32(fd), side_arg_pointer(iov), side_arg_s32(iovcnt)))

READV_FUNCTION(readv)
READV_FUNCTION(writev)

#define PREADV_FUNCTION(function, offset_type)                                                   \
	FILE_FUNCTION(ssize_t, s64, function,                                                    \
			(int fd, const struct iovec *iov, int iovcnt, offset_type offset),       \
			(fd, iov, iovcnt, offset), result < 0,                                   \
			WRAP_LIST(side_field_s32("fd"), side_field_pointer("iov"),               \
					side_field_s32("iovcnt"), side_field_s64("offset")),     \
			WRAP_LIST(side_arg_s32(fd), side_arg_pointer(iov), side_arg_s32(iovcnt), \
					side_arg_s64(offset)))

PREADV_FUNCTION(preadv, off_t)
PREADV_FUNCTION(preadv64, off64_t)
PREADV_FUNCTION(pwritev, off_t)
PREADV_FUNCTION(pwritev64, off64_t)

#define LSEEK_FUNCTION(function, offset_type)                                               \
	FILE_FUNCTION(offset_type, s64, function, (int fd, offset_type offset, int whence), \
			(fd, offset, whence), result < 0,                                   \
			WRAP_LIST(side_field_s32("fd"), side_field_s64("offset"),           \
					side_field_s32("whence")),                          \
			WRAP_LIST(side_arg_s32(fd), side_arg_s64(offset), side_arg_s32(whence)))

LSEEK_FUNCTION(lseek, off_t)
LSEEK_FUNCTION(lseek64, off64_t)

#define FD_FUNCTION(function)                                         \
	FILE_FUNCTION(int, s32, function, (int fd), (fd), result < 0, \
			WRAP_LIST(side_field_s32("fd")), WRAP_LIST(side_arg_s32(fd)))

FD_FUNCTION(fsync)
FD_FUNCTION(fdatasync)
FD_FUNCTION(dup)

FILE_FUNCTION(int, s32, dup2, (int fd, int fd2), (fd, fd2), result < 0,
		WRAP_LIST(side_field_s32("fd"), side_field_s32("fd2")),
		WRAP_LIST(side_arg_s32(fd), side_arg_s32(fd2)))
FILE_FUNCTION(int, s32, dup3, (int fd, int fd2, int flags), (fd, fd2, flags), result < 0,
		WRAP_LIST(side_field_s32("fd"), side_field_s32("fd2"), side_field_s32("flags")),
		WRAP_LIST(side_arg_s32(fd), side_arg_s32(fd2), side_arg_s32(flags)))

#define TRUNCATE_FUNCTION(function, offset_type)                                                  \
	FILE_FUNCTION(int, s32, function, (int fd, offset_type length), (fd, length), result < 0, \
			WRAP_LIST(side_field_s32("fd"), side_field_s64("length")),                \
			WRAP_LIST(side_arg_s32(fd), side_arg_s64(length)))

TRUNCATE_FUNCTION(ftruncate, off_t)
TRUNCATE_FUNCTION(ftruncate64, off64_t)

#define PATH_FUNCTION(function)                                                   \
	FILE_FUNCTION(int, s32, function, (const char *path), (path), result < 0, \
			WRAP_LIST(side_field_string("path")),                     \
			WRAP_LIST(WRAP_TEXT(path, result < 0)))

PATH_FUNCTION(unlink)
PATH_FUNCTION(rmdir)
PATH_FUNCTION(chdir)

FILE_FUNCTION(int, s32, mkdir, (const char *path, mode_t mode), (path, mode), result < 0,
		WRAP_LIST(side_field_string("path"), side_field_u32("mode")),
		WRAP_LIST(WRAP_TEXT(path, result < 0), side_arg_u32(mode)))
FILE_FUNCTION(int, s32, access, (const char *path, int mode), (path, mode), result < 0,
		WRAP_LIST(side_field_string("path"), side_field_s32("mode")),
		WRAP_LIST(WRAP_TEXT(path, result < 0), side_arg_s32(mode)))
FILE_FUNCTION(int, s32, rename, (const char *from, const char *to), (from, to), result < 0,
		WRAP_LIST(side_field_string("from"), side_field_string("to")),
		WRAP_LIST(WRAP_TEXT(from, result < 0), WRAP_TEXT(to, result < 0)))
FILE_FUNCTION(int, s32, unlinkat, (int dirfd, const char *path, int flags), (dirfd, path, flags),
		result < 0,
		WRAP_LIST(side_field_s32("dirfd"), side_field_string("path"),
				side_field_s32("flags")),
		WRAP_LIST(side_arg_s32(dirfd), WRAP_TEXT(path, result < 0), side_arg_s32(flags)))

#define MMAP_FUNCTION(function, offset_type)                                                    \
	FILE_FUNCTION(void *, pointer, function,                                                \
			(void *address, size_t length, int protection, int flags, int fd,       \
					offset_type offset),                                    \
			(address, length, protection, flags, fd, offset), result == MAP_FAILED, \
			WRAP_LIST(side_field_pointer("address"), side_field_u64("length"),      \
					side_field_s32("protection"), side_field_s32("flags"),  \
					side_field_s32("fd"), side_field_s64("offset")),        \
			WRAP_LIST(side_arg_pointer(address), side_arg_u64(length),              \
					side_arg_s32(protection), side_arg_s32(flags),          \
					side_arg_s32(fd), side_arg_s64(offset)))

MMAP_FUNCTION(mmap, off_t)
MMAP_FUNCTION(mmap64, off64_t)

/* Before the call, as free(): another thread may get the address as soon as it is unmapped. */
side_static_event(event_munmap, "libc", "munmap", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_pointer("address"), side_field_u64("length"),
				side_field_pointer("caller")));
WRAP_NEXT(int, munmap, NULL, void *, size_t)
WRAP_EXPORT int munmap(void *address, size_t length)
{
	WRAP_CALLER();
	const munmap_function next = next_munmap();

	WRAP_EMIT(event_munmap, side_arg_pointer(address), side_arg_u64(length),
			side_arg_pointer(wrap_caller));
	return next(address, length);
}

/* mremap() has the argument `new_address` only with these flags. */
side_static_event(event_mremap, "libc", "mremap", SIDE_LOGLEVEL_DEBUG,
		side_field_list(side_field_pointer("address"), side_field_u64("old_length"),
				side_field_u64("length"), side_field_s32("flags"),
				side_field_pointer("new_address"), WRAP_RESULT_FIELDS(pointer)));
WRAP_NEXT(void *, mremap, NULL, void *, size_t, size_t, int, ...)
WRAP_EXPORT void *mremap(void *address, size_t old_length, size_t length, int flags, ...)
{
	WRAP_CALLER();
	void *new_address = NULL, *result;

	if (flags & (MREMAP_FIXED | WRAP_MREMAP_DONTUNMAP)) {
		va_list list;

		va_start(list, flags);
		new_address = va_arg(list, void *);
		va_end(list);
	}
	result = next_mremap()(address, old_length, length, flags, new_address);
	WRAP_EMIT(event_mremap, side_arg_pointer(address), side_arg_u64(old_length),
			side_arg_u64(length), side_arg_s32(flags), side_arg_pointer(new_address),
			WRAP_RESULT_ARGS(pointer, result, result == MAP_FAILED));
	return result;
}

/* Streams of stdio. */

#define FOPEN_FUNCTION(function)                                                         \
	FILE_FUNCTION(FILE *, pointer, function, (const char *path, const char *mode),   \
			(path, mode), !result,                                           \
			WRAP_LIST(side_field_string("path"), side_field_string("mode")), \
			WRAP_LIST(WRAP_TEXT(path, !result), side_arg_string(mode)))

FOPEN_FUNCTION(fopen)
FOPEN_FUNCTION(fopen64)

FILE_FUNCTION(FILE *, pointer, fdopen, (int fd, const char *mode), (fd, mode), !result,
		WRAP_LIST(side_field_s32("fd"), side_field_string("mode")),
		WRAP_LIST(side_arg_s32(fd), side_arg_string(mode)))
FILE_FUNCTION(int, s32, fclose, (FILE * stream), (stream), result != 0,
		WRAP_LIST(side_field_pointer("stream")), WRAP_LIST(side_arg_pointer(stream)))
FILE_FUNCTION(int, s32, fflush, (FILE * stream), (stream), result != 0,
		WRAP_LIST(side_field_pointer("stream")), WRAP_LIST(side_arg_pointer(stream)))
FILE_FUNCTION(size_t, u64, fread, (void *buf, size_t size, size_t count, FILE *stream),
		(buf, size, count, stream), result < count && ferror(stream),
		WRAP_LIST(side_field_pointer("buf"), side_field_u64("size"),
				side_field_u64("count"), side_field_pointer("stream")),
		WRAP_LIST(side_arg_pointer(buf), side_arg_u64(size), side_arg_u64(count),
				side_arg_pointer(stream)))
FILE_FUNCTION(size_t, u64, fwrite, (const void *buf, size_t size, size_t count, FILE *stream),
		(buf, size, count, stream), result < count && ferror(stream),
		WRAP_LIST(side_field_pointer("buf"), side_field_u64("size"),
				side_field_u64("count"), side_field_pointer("stream")),
		WRAP_LIST(side_arg_pointer(buf), side_arg_u64(size), side_arg_u64(count),
				side_arg_pointer(stream)))
