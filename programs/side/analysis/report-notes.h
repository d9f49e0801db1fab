/* SPDX-License-Identifier: MIT */
/* Notes of the verb `report`. */
#ifndef PROGRAMS_SIDE_ANALYSIS_REPORT_NOTES_H
#define PROGRAMS_SIDE_ANALYSIS_REPORT_NOTES_H

struct report;

/*
 * Prints a note for each table that is empty or incomplete, and for each name that
 * no event has. Call it after the report.
 */
void report_notes_print(const struct report *report);
/* The notes about `--callers` alone. */
void report_callers_note(const struct report *report);

#endif /* PROGRAMS_SIDE_ANALYSIS_REPORT_NOTES_H */
