/* SPDX-License-Identifier: MIT */
/*
 * A hostile traced program: registers events whose descriptions take all the memory that a session
 * has for them, and waits for the end of its standard input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <side/builder.h>

#define NAME_SIZE 900000

static int describe(unsigned long number, char *field)
{
	char name[64];
	struct side_builder *builder;

	snprintf(name, sizeof(name), "flood%lu", number);
	builder = side_builder_create("app", name, SIDE_LOGLEVEL_INFO, 0);
	if (!builder)
		return -1;
	side_builder_add_field(builder, NULL, field,
			side_builder_integer(builder, 4, 0, SIDE_TYPE_BYTE_ORDER_HOST));
	/* The description belongs to the tracer until the program exits. */
	return side_builder_register(builder) == SIDE_ERROR_OK ? 0 : -1;
}

/* Also the space between two large ones: 60 of each size, from the largest one on. */
static unsigned long describe_all(char *field)
{
	unsigned long number = 0, end;
	size_t size;

	for (size = NAME_SIZE; size; size /= 4)
		for (field[size] = 0, end = number + 60; number < end; number++)
			if (describe(number, field))
				return number;
	return number;
}

int main(void)
{
	char *field = malloc(NAME_SIZE + 1);

	if (!field)
		return 1;
	memset(field, 'f', NAME_SIZE);
	printf("described %lu\n", describe_all(field));
	fflush(stdout);
	while (getchar() != EOF)
		;
	free(field);
	return 0;
}
