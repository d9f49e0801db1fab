/* SPDX-License-Identifier: MIT */
/* Finds the argument of each field: fields are in order, members behind their structure; arguments are grouped by structure. */
#include "table.h"

/* The cells of a range of fields, behind all that have been given away. */
static uint32_t probe_table_nest_put_range(struct probe_table_nest *nest, const uint8_t *inside,
		uint32_t at, uint32_t end, uint8_t *next)
{
	uint32_t count = 0;

	for (uint32_t i = at; i < end; i += 1u + inside[i], count++)
		nest->arg[i] = (*next)++;
	return count;
}

void probe_table_nest(struct probe_table_nest *nest, const uint8_t *inside, uint32_t nr_fields)
{
	uint8_t next = 0;

	nest->nr_top = (uint8_t)probe_table_nest_put_range(nest, inside, 0, nr_fields, &next);
	for (uint32_t i = 0; i < nr_fields; i++) {
		nest->first[i] = next;
		nest->number[i] = (uint8_t)probe_table_nest_put_range(
				nest, inside, i + 1, i + 1 + inside[i], &next);
	}
}
