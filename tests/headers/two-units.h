/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HEADERS_TWO_UNITS_H
#define TESTS_HEADERS_TWO_UNITS_H
/* An event that both units use and unit B defines. */
#include <side/trace.h>

side_declare_event(ev_shared);
#ifdef __cplusplus
extern "C"
#endif
void emit_shared(void);

#endif
