/* SPDX-License-Identifier: MIT */
/* Writes a flame graph in one of the formats, compressed or not. */
#include "export/flame-export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/io.h"
#include "export/export.h"

#define FLAME_EXPORT_FLUSH (1u << 20)
#define FLAME_EXPORT_GZIP 16 /* added to the bits of the window: a gzip header, not one of zlib */

static int flame_export_write_plain(struct flame_export *export, bool is_end)
{
	(void)is_end;
	export->write_error =
			io_write_all(export->fd, export->out.begin, view_out_size(&export->out));
	export->out.at = export->out.begin;
	return export->write_error;
}

static int flame_export_write_compressed(struct flame_export *export, bool is_end)
{
	z_stream *stream = export->deflate;
	unsigned char bytes[16384];
	int ret = Z_OK;

	stream->next_in = (unsigned char *)export->out.begin;
	stream->avail_in = (unsigned int)view_out_size(&export->out);
	do {
		stream->next_out = bytes;
		stream->avail_out = sizeof(bytes);
		ret = deflate(stream, is_end ? Z_FINISH : Z_NO_FLUSH);
		if (ret == Z_STREAM_ERROR)
			return -EIO;
		export->write_error =
				io_write_all(export->fd, bytes, sizeof(bytes) - stream->avail_out);
		if (export->write_error)
			return export->write_error;
	} while (!stream->avail_out);
	export->out.at = export->out.begin;
	return 0;
}

int flame_export_continue(struct flame_export *export)
{
	if (export->out.failed)
		return -ENOMEM;
	return view_out_size(&export->out) < FLAME_EXPORT_FLUSH ? 0 : export->flush(export, false);
}

static int flame_export_run(struct flame_export *export, flame_export_write *write)
{
	int ret = write(export);

	if (!ret && export->out.failed)
		ret = -ENOMEM;
	return ret ? ret : export->flush(export, true);
}

static int flame_export_run_compressed(struct flame_export *export, flame_export_write *write)
{
	z_stream stream = {.zalloc = Z_NULL};
	int ret;

	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + FLAME_EXPORT_GZIP,
			    MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	export->deflate = &stream;
	export->flush = flame_export_write_compressed;
	ret = flame_export_run(export, write);
	deflateEnd(&stream);
	export->deflate = NULL;
	return ret;
}

int flame_export(const struct flame *flame, enum flame_format format, int fd, const char *path,
		struct error *error)
{
	static flame_export_write *const formats[] = {
			[FLAME_FORMAT_FOLDED] = flame_export_folded,
			[FLAME_FORMAT_SPEEDSCOPE] = flame_export_speedscope,
			[FLAME_FORMAT_PPROF] = flame_export_pprof,
			[FLAME_FORMAT_SVG] = flame_export_svg,
	};
	struct flame_export export = {.flame = flame, .fd = fd, .flush = flame_export_write_plain};
	uint32_t *order = flame_tree_order(&flame->tree, true);
	int ret = -ENOMEM;

	export.order = order;
	if (order && format == FLAME_FORMAT_PPROF)
		ret = flame_export_run_compressed(&export, formats[format]);
	else if (order)
		ret = flame_export_run(&export, formats[format]);
	free(order);
	view_out_free(&export.out);
	if (!ret)
		return 0;
	if (export.write_error)
		return export_set_write_error(error, export.write_error, path);
	return error_set_kind(error, ERROR_FAILED, ret, NULL, "cannot export %s: %s",
			flame->walk.options.dir, strerror(-ret));
}
