/* SPDX-License-Identifier: MIT */
/* Decompresses .xz data with limits on its size and on the decoder's memory. */
#include "base/unpack/unpack.h"

#include <stdlib.h>

#include <lzma.h>

uint8_t *unpack_xz(const uint8_t *packed, size_t size, size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret state = LZMA_OK;
	uint8_t *bytes = NULL;
	size_t capacity = 0, used = 0;

	if (lzma_stream_decoder(&stream, UNPACK_MEMORY_MAX, 0) != LZMA_OK)
		return NULL;
	stream.next_in = packed;
	stream.avail_in = size;
	while (state == LZMA_OK) {
		if (used == capacity) {
			uint8_t *larger = capacity < UNPACK_BYTES_MAX
					? realloc(bytes, capacity * 2 + 65536)
					: NULL;

			if (!larger)
				break;
			bytes = larger;
			capacity = capacity * 2 + 65536;
		}
		stream.next_out = bytes + used;
		stream.avail_out = capacity - used;
		state = lzma_code(&stream, LZMA_FINISH);
		used = capacity - stream.avail_out;
	}
	lzma_end(&stream);
	if (state == LZMA_STREAM_END) {
		*ret_size = used;
		return bytes;
	}
	free(bytes);
	return NULL;
}
