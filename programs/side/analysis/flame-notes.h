/* SPDX-License-Identifier: MIT */
/* Notes about data that a flame graph does not contain. */
#ifndef PROGRAMS_SIDE_ANALYSIS_FLAME_NOTES_H
#define PROGRAMS_SIDE_ANALYSIS_FLAME_NOTES_H

struct flame;

/* After flame_read(). */
void flame_notes_print(const struct flame *flame);

#endif /* PROGRAMS_SIDE_ANALYSIS_FLAME_NOTES_H */
