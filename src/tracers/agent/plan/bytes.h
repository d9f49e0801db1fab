/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_PLAN_BYTES_H
#define SIDE_TRACERS_AGENT_PLAN_BYTES_H

/*
 * Loads, stores and copies with general-purpose registers, at any alignment, without calls.
 *
 * What is read may change at any time (strings, gathered memory), so each byte that decides
 * something is loaded once, pinned in a register, and that same register is what gets stored.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <side/endian.h>

#include "tracers/agent/plan/op.h"

/*
 * Words of strings reach beyond their end, though never onto a page that the string does not touch.
 * Sanitizers look at each access, and other processors may have more to say about it than pages:
 * there, strings go byte by byte.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define PLAN_STRING_WORDS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
		__has_feature(memory_sanitizer)
#define PLAN_STRING_WORDS 0
#endif
#endif
#ifndef PLAN_STRING_WORDS
#define PLAN_STRING_WORDS 1
#endif

#define plan_inline static inline __attribute__((always_inline))

/* The compiler may not load it again. */
#define plan_pin(value) __asm__ volatile("" : "+r"(value))

plan_inline uint16_t plan_load_16(const void *from)
{
	uint16_t value;

	__builtin_memcpy(&value, from, sizeof(value));
	return value;
}

plan_inline uint32_t plan_load_32(const void *from)
{
	uint32_t value;

	__builtin_memcpy(&value, from, sizeof(value));
	return value;
}

plan_inline uint64_t plan_load_64(const void *from)
{
	uint64_t value;

	__builtin_memcpy(&value, from, sizeof(value));
	return value;
}

plan_inline const uint8_t *plan_load_pointer(const void *from)
{
	const uint8_t *value;

	/* The caller has checked `from`.
	   NOLINTNEXTLINE(clang-analyzer-unix.cstring.NullArg) */
	__builtin_memcpy(&value, from, sizeof(value));
	plan_pin(value);
	return value;
}

plan_inline void plan_store_16(void *to, uint16_t value)
{
	__builtin_memcpy(to, &value, sizeof(value));
}

plan_inline void plan_store_32(void *to, uint32_t value)
{
	__builtin_memcpy(to, &value, sizeof(value));
}

plan_inline void plan_store_64(void *to, uint64_t value)
{
	__builtin_memcpy(to, &value, sizeof(value));
}

/* The low `size` bytes (1, 2, 4, 8) of a value, in host order. */
plan_inline void plan_store(void *to, uint64_t value, unsigned int size)
{
	switch (size) {
	case 1: *(uint8_t *)to = (uint8_t)value; break;
	case 2: plan_store_16(to, (uint16_t)value); break;
	case 4: plan_store_32(to, (uint32_t)value); break;
	default: plan_store_64(to, value); break;
	}
}

/* 1, 2, 4, 8 bytes, zero-extended. */
plan_inline uint64_t plan_load(const void *from, unsigned int size, bool swap)
{
	switch (size) {
	case 1: return *(const uint8_t *)from;
	case 2: return swap ? __builtin_bswap16(plan_load_16(from)) : plan_load_16(from);
	case 4: return swap ? __builtin_bswap32(plan_load_32(from)) : plan_load_32(from);
	default: return swap ? __builtin_bswap64(plan_load_64(from)) : plan_load_64(from);
	}
}

plan_inline bool plan_has_space(const struct plan_output *output, const uint8_t *to, uint64_t size)
{
	return (uint64_t)(output->end - to) >= size;
}

struct plan_integer {
	uint64_t low, high; /* sign-extended when signed */
};

/* An integer of 1 to 16 bytes as its operation describes it. */
plan_inline struct plan_integer plan_load_integer(const struct plan_op *op, const uint8_t *from)
{
	bool swap = op->flags & PLAN_SWAP;
	struct plan_integer value = {0, 0};
	unsigned int remainder = 64u - op->bits;

	if (op->size == 16) {
		bool little = (SIDE_BYTE_ORDER == SIDE_LITTLE_ENDIAN) != swap;

		value.low = plan_load(from + (little ? 0 : 8), 8, swap);
		value.high = plan_load(from + (little ? 8 : 0), 8, swap);
		return value;
	}
	/* To the top, and down again: that fills the left with zeros or the sign. */
	value.low = plan_load(from, op->size, swap) >> op->shift << remainder;
	if (op->flags & PLAN_SIGNED) {
		value.low = (uint64_t)((int64_t)value.low >> remainder);
		value.high = (uint64_t)((int64_t)value.low >> 63);
	} else {
		value.low >>= remainder;
	}
	return value;
}

/* binary16 as binary32: exact, subnormals too; a NaN keeps its payload in the top bits. */
plan_inline uint32_t plan_widen_float16(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = (half >> 10) & 0x1f;
	uint32_t fraction = half & 0x3ff;

	if (exponent == 0x1f)
		return sign | 0x7f800000 | fraction << 13;
	if (exponent)
		return sign | (exponent + 112) << 23 | fraction << 13;
	if (!fraction)
		return sign;
	exponent = 113;
	while (!(fraction & 0x400)) {
		fraction <<= 1;
		exponent--;
	}
	return sign | exponent << 23 | (fraction & 0x3ff) << 13;
}

/* Straight copy. Overlapping words may differ when the source changes: still bytes of it. */
plan_inline void plan_copy(uint8_t *to, const uint8_t *from, size_t size)
{
	size_t i;

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	if (size >= 512) {
		__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
		return;
	}
#endif
	if (size >= 8) {
		for (i = 0; i + 8 <= size; i += 8)
			plan_store_64(to + i, plan_load_64(from + i));
		if (i != size)
			plan_store_64(to + size - 8, plan_load_64(from + size - 8));
	} else if (size >= 4) {
		uint32_t last = plan_load_32(from + size - 4);

		plan_store_32(to, plan_load_32(from));
		plan_store_32(to + size - 4, last);
	} else if (size) {
		to[0] = from[0];
		if (size > 1) {
			uint16_t last = plan_load_16(from + size - 2);

			plan_store_16(to + size - 2, last);
		}
	}
}

/* Whether `size` bytes from here on are on one page of the smallest size. */
plan_inline bool plan_same_page(const uint8_t *from, size_t size)
{
	return ((uintptr_t)from & 4095) <= 4096 - size;
}

/*
 * Constants to find a NUL. They are memory operands, which need neither a register nor an
 * instruction.
 */
extern const uint64_t plan_nul_constants[2] __attribute__((visibility("hidden")));

/*
 * Set when a tool that checks each access (valgrind) runs the program: then read strings byte by
 * byte.
 */
extern bool plan_strings_by_byte __attribute__((visibility("hidden")));

/* The top bits of bytes that are 0; exact up to and with the first of them. */
plan_inline uint64_t plan_nul_bytes(uint64_t word, const uint64_t *constants)
{
	return (word + constants[0]) & ~word & constants[1];
}

/* Behind the first NUL of a word that was written to `to`. */
plan_inline uint8_t *plan_behind_nul(uint8_t *to, uint64_t nul)
{
	return to + ((unsigned int)__builtin_ctzll(nul) >> 3) + 1;
}

/* A word of a string: the one that is searched for the NUL is the one that is stored. */
plan_inline uint64_t plan_copy_string_word(
		uint8_t *to, const uint8_t *from, const uint64_t *constants)
{
	uint64_t word = plan_load_64(from);

	plan_pin(word);
	plan_store_64(to, word);
	return plan_nul_bytes(word, constants);
}

/* Copy a string with its NUL. NULL: no room. */
plan_inline uint8_t *plan_copy_string(uint8_t *to, const uint8_t *end, const uint8_t *from)
{
	bool words = PLAN_STRING_WORDS && !__atomic_load_n(&plan_strings_by_byte, __ATOMIC_RELAXED);
	const uint64_t *constants = plan_nul_constants;

	plan_pin(constants);
	for (;;) {
		uint8_t byte;

		while (words && end - to >= 16 && plan_same_page(from, 16)) {
			uint64_t first = plan_copy_string_word(to, from, constants);
			uint64_t second = plan_copy_string_word(to + 8, from + 8, constants);

			if (first | second)
				return first ? plan_behind_nul(to, first)
					     : plan_behind_nul(to + 8, second);
			to += 16;
			from += 16;
		}
		/* The end of the buffer, or of a page. */
		if (to == end)
			return NULL;
		byte = __atomic_load_n(from++, __ATOMIC_RELAXED);
		*to++ = byte;
		if (!byte)
			return to;
	}
}

plan_inline void plan_copy_arg(const unsigned int size, const struct side_arg *arg, uint8_t *to)
{
	const uint8_t *from = (const uint8_t *)&arg->u;

	switch (size) {
	case 0: break;
	case 1: *to = *from; break;
	case 2: plan_store_16(to, plan_load_16(from)); break;
	case 4: plan_store_32(to, plan_load_32(from)); break;
	case 16: plan_store_64(to + 8, plan_load_64(from + 8)); /* fallthrough */
	default: plan_store_64(to, plan_load_64(from)); break;
	}
}

/*
 * The payloads of `count` cells of one label, each `size` bytes (a constant), one behind the other.
 * NULL: a cell of another label. The caller has made sure of the room.
 */
plan_inline uint8_t *plan_copy_args(const unsigned int size, uint16_t label,
		const struct side_arg *arg, uint32_t count, uint8_t *to)
{
	for (; count & 3; count--, arg++, to += size) {
		if (__builtin_expect(arg->type.v != label, 0))
			return NULL;
		plan_copy_arg(size, arg, to);
	}
	for (; count; count -= 4, arg += 4, to += 4 * size) {
		if (__builtin_expect(arg[0].type.v != label, 0) ||
				__builtin_expect(arg[1].type.v != label, 0) ||
				__builtin_expect(arg[2].type.v != label, 0) ||
				__builtin_expect(arg[3].type.v != label, 0))
			return NULL;
		plan_copy_arg(size, arg, to);
		plan_copy_arg(size, arg + 1, to + size);
		plan_copy_arg(size, arg + 2, to + 2 * size);
		plan_copy_arg(size, arg + 3, to + 3 * size);
	}
	return to;
}

/* One group of a block: the entry behind it, or NULL for a cell of another label. */
plan_inline const struct plan_entry *plan_copy_group(const unsigned int size,
		const struct plan_entry *entry, uint32_t count, const struct side_arg *args,
		uint8_t *to)
{
	const struct plan_entry *stop = entry + count;

	for (; entry != stop; entry++) {
		const struct side_arg *arg =
				(const struct side_arg *)((const uint8_t *)args + entry->arg);

		if (__builtin_expect(arg->type.v != entry->label, 0))
			return NULL;
		plan_copy_arg(size, arg, to + entry->to);
	}
	return entry;
}

/*
 * The scalars of a block; false for a cell of another label. The caller has made sure of the room.
 */
plan_inline bool plan_copy_block(const struct plan_op *op, const struct side_arg *args, uint8_t *to)
{
	const struct plan_entry *entry = (const struct plan_entry *)(op + 1);

	entry = plan_copy_group(8, entry, op->groups[PLAN_GROUP_8], args, to);
	if (entry)
		entry = plan_copy_group(4, entry, op->groups[PLAN_GROUP_4], args, to);
	if (entry)
		entry = plan_copy_group(2, entry, op->groups[PLAN_GROUP_2], args, to);
	if (entry)
		entry = plan_copy_group(1, entry, op->groups[PLAN_GROUP_1], args, to);
	if (entry)
		entry = plan_copy_group(16, entry, op->groups[PLAN_GROUP_16], args, to);
	if (entry)
		entry = plan_copy_group(0, entry, op->groups[PLAN_GROUP_0], args, to);
	return entry;
}

#endif /* SIDE_TRACERS_AGENT_PLAN_BYTES_H */
