/* SPDX-License-Identifier: MIT */
/* Parts of the table of the command line that stand in files of their own. */
#ifndef SIDE_CMD_TABLE_H
#define SIDE_CMD_TABLE_H

#include "command.h"

/* table-record.c: `record` and `recover`. */
extern const struct option table_record_options[];
extern const char *const table_record_paragraphs[];
extern const struct example table_record_examples[];
extern const struct option table_recover_options[];
extern const char *const table_recover_paragraphs[];
extern const struct example table_recover_examples[];
extern const char *const table_channels_paragraphs[];
extern const struct term table_channels_terms[];
extern const char *const table_filters_paragraphs[];
extern const struct term table_filters_terms[];

#endif /* SIDE_CMD_TABLE_H */
