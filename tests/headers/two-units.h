/* SPDX-License-Identifier: MIT */
/* An event that both units know and unit B defines. */
#include <side/trace.h>

side_declare_event(ev_shared);
#ifdef __cplusplus
extern "C"
#endif
void emit_shared(void);
