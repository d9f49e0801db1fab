/* SPDX-License-Identifier: MIT */
/* Finds the symbols of addresses in a trace. */
#ifndef SIDE_ANALYSIS_TRACE_SYMBOLS_H
#define SIDE_ANALYSIS_TRACE_SYMBOLS_H

#include <stdbool.h>

#include "symbolize/symbols.h"

struct analysis_listener;
struct ctf_item;
struct view_out;
struct view_sink;

/*
 * Starts the process that reads debug files. Call it before this process is confined. The listener
 * must live as long as the symbols. NULL: out of memory.
 */
struct symbols *trace_symbols_start(bool debuginfod, const struct analysis_listener *listener);

/*
 * Reads the address spaces of the traced processes: base address records, and the maps that the
 * recorder keeps. The index of a process is that of its trace (ctf_trace.index). If a trace cannot
 * be read, its addresses get no symbols. Returns 0 or -ENOMEM.
 */
int trace_symbols_read(struct symbols *symbols, const char *dir);

/*
 * For a trace that grows: adds a base address record, and ignores other events. The caller reads
 * the maps with symbols_maps(). Returns 0 or -ENOMEM.
 */
int trace_symbols_add(struct symbols *symbols, const struct ctf_item *item);

/*
 * Writes "name+0x12 (file:line)" or "/path+0x123"; after it " [inlined: inner, outer]" if the
 * instruction belongs to inlined functions. False: the symbol is unknown, and nothing is written.
 */
bool trace_symbol_text(struct view_sink *sink, const struct symbol *symbol);
/*
 * Writes an object with the members that are known:
 *
 * {"module":…,"offset":…,"function":…,"function_offset":…,"file":…,"line":…,"inlined":[…]}
 *
 * Returns false if the symbol is unknown; nothing is written then.
 */
bool trace_symbol_json(struct view_sink *sink, const struct symbol *symbol);
/*
 * Writes the same members without the braces, each after a comma. `has_offset`: also
 * "function_offset".
 */
void trace_symbol_json_members(struct view_out *out, const struct symbol *symbol, bool has_offset);
/* Writes " (file:line)". Nothing, if `file` is NULL. */
void trace_symbol_location_text(struct view_out *out, const char *file, unsigned int line);

#endif /* SIDE_ANALYSIS_TRACE_SYMBOLS_H */
