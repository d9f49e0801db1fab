/* SPDX-License-Identifier: MIT */
/* Names for the addresses in a recording. */
#ifndef SIDE_ANALYSIS_TRACE_SYMBOLS_H
#define SIDE_ANALYSIS_TRACE_SYMBOLS_H

#include <stdbool.h>

#include "symbolize/symbols.h"

struct view_sink;

/* Start the process that reads debug files; it must start before this one is confined. NULL: out of memory. */
struct symbols *trace_symbols_start(
		bool debuginfod, void (*report)(void *user, const char *sentence), void *user);

/*
 * Read what the recording in this directory has about its processes: base address records, and the maps that the recorder keeps.
 * Numbers of processes are those of traces (ctf_trace.index). A recording that cannot be read has none. 0 or -ENOMEM.
 */
int trace_symbols_read(struct symbols *symbols, const char *dir);

/* "name+0x12 (file:line)", "/path+0x123" or, if nothing is known, nothing: false. */
bool trace_symbol_text(struct view_sink *sink, const struct symbol *symbol);
/* {"module":…,"offset":…,"function":…,"function_offset":…,"file":…,"line":…}, as far as it is known. */
bool trace_symbol_json(struct view_sink *sink, const struct symbol *symbol);

#endif /* SIDE_ANALYSIS_TRACE_SYMBOLS_H */
