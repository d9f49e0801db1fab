/* SPDX-License-Identifier: MIT */
/*
 * Decompresses pages of crash dumps.
 *
 * The libraries of LZO and Snappy are loaded only for dumps that require them: few do, and that of
 * Snappy would load the C++ library into each `side`. The functions have kept their form in all
 * versions with these names of libraries.
 */
#include <dlfcn.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "recorder/recovery/dump-codecs.h"

#define LZO_LIBRARY "liblzo2.so.2"
#define SNAPPY_LIBRARY "libsnappy.so.1"

/* Returns the library's handle, and its function; NULL: it is missing, or has no such function. */
static void *dump_codecs_load(const char *library, const char *name, void **ret_function)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	*ret_function = handle ? dlsym(handle, name) : NULL;
	if (handle && !*ret_function) {
		dlclose(handle);
		handle = NULL;
	}
	return handle;
}

const char *dump_codecs_open(struct dump_codecs *codecs, uint32_t flags)
{
	void *function;

	*codecs = (struct dump_codecs){0};
	if (flags & DUMP_CODEC_LZO) {
		codecs->lzo = dump_codecs_load(LZO_LIBRARY, "lzo1x_decompress_safe", &function);
		if (!codecs->lzo)
			return "its pages are compressed with LZO, and " LZO_LIBRARY
			       " is not installed\n`apt install liblzo2-2` installs it";
		memcpy(&codecs->lzo_unpack, &function, sizeof(function));
	}
	if (flags & DUMP_CODEC_SNAPPY) {
		codecs->snappy = dump_codecs_load(SNAPPY_LIBRARY, "snappy_uncompress", &function);
		if (!codecs->snappy)
			return "its pages are compressed with Snappy, and " SNAPPY_LIBRARY
			       " is not installed\n`apt install libsnappy1v5` installs it";
		memcpy(&codecs->snappy_unpack, &function, sizeof(function));
	}
	return NULL;
}

void dump_codecs_close(struct dump_codecs *codecs)
{
	if (codecs->lzo)
		dlclose(codecs->lzo);
	if (codecs->snappy)
		dlclose(codecs->snappy);
	*codecs = (struct dump_codecs){0};
}

static bool dump_codecs_unpack_zlib(const void *from, size_t size, void *to, size_t capacity)
{
	uLongf unpacked = capacity;

	return uncompress(to, &unpacked, from, size) == Z_OK && unpacked == capacity;
}

/* Both functions check the input, and never write more than `capacity` bytes. */
static bool dump_codecs_unpack_lzo(const struct dump_codecs *codecs, const void *from, size_t size,
		void *to, size_t capacity)
{
	size_t unpacked = capacity;

	return codecs->lzo_unpack && !codecs->lzo_unpack(from, size, to, &unpacked, NULL) &&
			unpacked == capacity;
}

static bool dump_codecs_unpack_snappy(const struct dump_codecs *codecs, const void *from,
		size_t size, void *to, size_t capacity)
{
	size_t unpacked = capacity;

	return codecs->snappy_unpack && !codecs->snappy_unpack(from, size, to, &unpacked) &&
			unpacked == capacity;
}

bool dump_codecs_unpack(const struct dump_codecs *codecs, uint32_t flags, const void *from,
		size_t size, void *to, size_t capacity)
{
	switch (flags & DUMP_CODECS_ALL) {
	case 0:
		if (size != capacity)
			return false;
		memcpy(to, from, size);
		return true;
	case DUMP_CODEC_ZLIB: return dump_codecs_unpack_zlib(from, size, to, capacity);
	case DUMP_CODEC_LZO: return dump_codecs_unpack_lzo(codecs, from, size, to, capacity);
	case DUMP_CODEC_SNAPPY: return dump_codecs_unpack_snappy(codecs, from, size, to, capacity);
	case DUMP_CODEC_ZSTD: return ZSTD_decompress(to, capacity, from, size) == capacity;
	default: return false;
	}
}
