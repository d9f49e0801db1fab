/* SPDX-License-Identifier: MIT */
#ifndef SIDE_ANALYSIS_VIEW_SYSCALL_H
#define SIDE_ANALYSIS_VIEW_SYSCALL_H

#include "analysis/view-sink.h"

#include "ctf/ctf.h"

/* Which of the kernel's events of system calls an event is. */
enum view_call { VIEW_CALL_NONE, VIEW_CALL_ENTER, VIEW_CALL_OPEN, VIEW_CALL_EXIT };

enum view_call view_call_of(const char *event);
/* What an argument or a result means, behind its number: sink->call says of what it is one. In texts only. */
void view_call_note(struct view_sink *sink, const struct ctf_value *value);

#endif /* SIDE_ANALYSIS_VIEW_SYSCALL_H */
