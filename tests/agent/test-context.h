/* SPDX-License-Identifier: MIT */
#ifndef TESTS_AGENT_TEST_CONTEXT_H
#define TESTS_AGENT_TEST_CONTEXT_H

/* Functions and sets that the parts of the test of contexts share. test-context.c defines them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <side/context.h>

#include "tracers/agent/context/context.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

extern __thread unsigned int agent_vforked;

static const void *const caller = (const void *)0x1122334455667788;

/* Sets of one context, and "vpid,vtid,procname". */
extern struct context_set *set_vpid, *set_vtid, *set_tid, *set_procname, *set_thread_name, *set_uid,
		*set_euid, *set_suid, *set_gid, *set_egid, *set_sgid, *set_three;

/* Builds a set that lives until the end. */
struct context_set *build(const char *names);

/* Writes the set, checks that errno is unchanged, and returns the size. */
size_t write_set(const struct context_set *set, uint8_t *bytes, size_t size);

/* Returns the value of a set of one number, of 4 or 8 bytes. */
uint64_t number_of(const struct context_set *set, size_t size);
void expect_text(const struct context_set *set, const char *text);

/*
 * Runs the body in a child, so that its changes end with the child. Returns the status of the body.
 */
int in_child(int (*body)(void));
void in_thread(void *(*body)(void *), void *argument);

/* test-context-changes.c */
void forks(void **state);
void clones(void **state);
void vforks(void **state);
void rights(void **state);
void rights_by_system_call(void **state);
void new_namespaces(void **state);
void sandboxes(void **state);

/* test-context-sets.c */
void shapes(void **state);
void empty_set(void **state);
void bad_specs(void **state);
void applications(void **state);
void recursive(void **state);
void loads(void **state);
void in_signal_handlers(void **state);
void get_shape(struct side_context_value *value, void *priv);

#endif
