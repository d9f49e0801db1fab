/* SPDX-License-Identifier: MIT */
/* The metadata that we write in CTF 2: docs/spec/recording.md, section 9. */
#include <errno.h>

#include "ctf/writer.h"

int ctf2_head(const struct ctf_writer *writer, char **text, size_t *size)
{
	(void)writer;
	(void)text;
	(void)size;
	return -ENOTSUP;
}

int ctf2_event(const struct ctf_event_parts *event, char **text, size_t *size)
{
	(void)event;
	(void)text;
	(void)size;
	return -ENOTSUP;
}
