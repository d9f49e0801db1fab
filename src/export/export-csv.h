/* SPDX-License-Identifier: MIT */
/* Private to export-csv.c and export-tables.c: cells of a table. */
#ifndef SIDE_EXPORT_EXPORT_CSV_H
#define SIDE_EXPORT_EXPORT_CSV_H

#include "export/export.h"

/* The text in the scratch buffer from `begin` on, which is taken off it. */
void csv_put_from(struct view_out *out, struct view_out *scratch, size_t begin);
/* The JSON in the scratch buffer. Of a scalar: without quotes, and nothing for null. */
void csv_put_json(struct view_out *out, struct view_out *scratch, bool scalar);
void csv_put_text(struct view_out *out, struct view_out *scratch, const char *text, size_t size);

/* ns, time, hostname, procname, vpid, vtid, cpu: what all tables begin with. */
extern const char csv_first_columns[];
void csv_put_first(struct export *export, struct view_out *out, const struct ctf_item *item,
		const struct export_class *own);

#endif /* SIDE_EXPORT_EXPORT_CSV_H */
