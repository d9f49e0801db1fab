/* SPDX-License-Identifier: MIT */
/*
 * The configuration of early boot is read completely, or not at all: signals, short reads, and
 * errors.
 */
#include "sessions/boot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/played-calls.h"
#include "../check.h"

#define TEXT "place /p\nsession one\nevent db:*\n"
#define SIZE (sizeof(TEXT) - 1)

static char path[] = "/tmp/side-boot-XXXXXX";

static int read_source(struct error *ret_error)
{
	struct boot_source source;
	int ret = boot_source_read(path, &source, ret_error);

	if (!ret)
		CHECK(source.config->sessions && !strcmp(source.config->sessions->name, "one"));
	boot_source_free(&source);
	return ret;
}

int main(void)
{
	struct error error = {.code = 0};
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, TEXT, SIZE) == (ssize_t)SIZE && !close(fd));
	CHECK(!read_source(&error));
	played_interrupts = 2;
	CHECK(!read_source(&error) && !played_interrupts);
	played_most = 5;
	CHECK(!read_source(&error));
	played_before = 1;
	played_error = EIO;
	CHECK(read_source(&error) == -EIO && strstr(error.text, "cannot read the configuration"));
	played_reset();
	CHECK(!unlink(path) && read_source(&error) == -ENOENT);
	return 0;
}
