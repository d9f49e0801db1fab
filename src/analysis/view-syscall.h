/* SPDX-License-Identifier: MIT */
#ifndef SIDE_ANALYSIS_VIEW_SYSCALL_H
#define SIDE_ANALYSIS_VIEW_SYSCALL_H

#include "analysis/view-sink.h"

#include "ctf/ctf.h"

/* The kernel's events of system calls. */
enum view_call { VIEW_CALL_NONE, VIEW_CALL_ENTER, VIEW_CALL_OPEN, VIEW_CALL_EXIT };

enum view_call view_call_of(const char *event);
/*
 * Writes the meaning of an argument or a result after its number. sink->call is the type of the
 * event. For text only.
 */
void view_call_note(struct view_sink *sink, const struct ctf_value *value);

#endif /* SIDE_ANALYSIS_VIEW_SYSCALL_H */
