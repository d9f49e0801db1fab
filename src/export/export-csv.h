/* SPDX-License-Identifier: MIT */
/* Fields of CSV tables. Private to export-csv.c and export-tables.c. */
#ifndef SIDE_EXPORT_EXPORT_CSV_H
#define SIDE_EXPORT_EXPORT_CSV_H

#include "export/export.h"

/* Moves the text in the scratch buffer, from `begin` on, to the table. */
void csv_put_from(struct view_out *out, struct view_out *scratch, size_t begin);
/*
 * Moves the JSON in the scratch buffer. A scalar gets no quotes, and null becomes an empty field.
 */
void csv_put_json(struct view_out *out, struct view_out *scratch, bool scalar);
void csv_put_text(struct view_out *out, struct view_out *scratch, const char *text, size_t size);

/* The first columns of all tables: ns, time, hostname, procname, vpid, vtid, cpu. */
extern const char csv_first_columns[];
void csv_put_first(struct export *export, struct view_out *out, const struct ctf_item *item,
		const struct export_class *own);

#endif /* SIDE_EXPORT_EXPORT_CSV_H */
