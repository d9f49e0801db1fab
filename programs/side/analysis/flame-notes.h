/* SPDX-License-Identifier: MIT */
/* What a flame graph does not contain, as notes for the user. */
#ifndef PROGRAMS_SIDE_ANALYSIS_FLAME_NOTES_H
#define PROGRAMS_SIDE_ANALYSIS_FLAME_NOTES_H

struct flame;

/* After flame_read(). */
void flame_notes_print(const struct flame *flame);

#endif /* PROGRAMS_SIDE_ANALYSIS_FLAME_NOTES_H */
