/* SPDX-License-Identifier: MIT */
/* Instructions of seccomp filters that compare arguments of system calls. */
#ifndef TESTS_SECCOMP_FILTER_H
#define TESTS_SECCOMP_FILTER_H

#include <stddef.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The low half of an argument. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOAD_ARGUMENT(number) LOAD(args[number])
#else
#define LOAD_ARGUMENT(number) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[number]) + 4)
#endif
/*
 * Compare the accumulator with a value; skip `skipped` instructions if it is equal, and `otherwise`
 * if not.
 */
#define IF(value, skipped, otherwise) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)(value), skipped, otherwise)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

#endif /* TESTS_SECCOMP_FILTER_H */
