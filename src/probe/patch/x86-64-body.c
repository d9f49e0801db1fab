/* SPDX-License-Identifier: MIT */
/*
 * The code of a probe: saves the registers that a C function may change (all, if they are asked for) and the flags,
 * calls patch_enter(), restores them, and does what the displaced instructions do. Flags are kept by lahf and seto,
 * which take a fraction of the time of popfq. The red zone below the stack pointer is left alone, and the stack
 * is aligned by way of a frame pointer, which is what the unwinder's data says.
 *
 * Behind the frame pointer stand, in the order of struct patch_registers: rbp, r11 … rax, then the red zone. Below it is
 * the rest of struct patch_hit. What a callee keeps it keeps, so those registers are saved, for who looks at them,
 * but not restored.
 */
#include "parts.h"

#include <errno.h>
#include <string.h>

#define RED_ZONE 128
#define BELOW_FRAME 104 /* of a hit: all before rbp */

_Static_assert(offsetof(struct patch_hit, registers.rbp) == BELOW_FRAME,
		"what stands below the frame pointer");
_Static_assert(offsetof(struct patch_registers, rbp) == 40 &&
				sizeof(struct patch_hit) == BELOW_FRAME + 88,
		"and nothing between");
_Static_assert(sizeof(struct patch_hit) - BELOW_FRAME + RED_ZONE == PATCH_FRAME_BYTES,
		"and behind it");

/* Saves what a callee may change, and the flags; the frame pointer is then the block. */
#define SAVE                                                                 \
	"\x50"                             /* push %rax */                   \
	"\x9f\x0f\x90\xc0"                 /* lahf; seto %al */              \
	"\x50"                             /* push %rax */                   \
	"\x51\x52\x56\x57"                 /* push %rcx, %rdx, %rsi, %rdi */ \
	"\x41\x50\x41\x51\x41\x52\x41\x53" /* push %r8, %r9, %r10, %r11 */   \
	"\x55\x48\x89\xe5"                 /* push %rbp; mov %rsp,%rbp */
#define ALIGN                                        \
	"\x48\x8d\x7d\x98" /* lea -104(%rbp),%rdi */ \
	"\x48\x89\xfc"     /* mov %rdi,%rsp */       \
	"\x48\x83\xe4\xf0" /* and $-16,%rsp */
#define RESTORE                                                               \
	"\x48\x89\xec\x5d"                 /* mov %rbp,%rsp; pop %rbp */      \
	"\x41\x5b\x41\x5a\x41\x59\x41\x58" /* pop %r11, %r10, %r9, %r8 */     \
	"\x5f\x5e\x5a\x59"                 /* pop %rdi, %rsi, %rdx, %rcx */   \
	"\x58\x04\x7f\x9e"                 /* pop %rax; add $127,%al; sahf */ \
	"\x58"                             /* pop %rax */

static const char enter[] = "\x48\x8d\x64\x24\x80" /* lea -128(%rsp),%rsp */ SAVE;
static const char align[] = ALIGN;
static const char save_rest[] =
		"\x48\x89\x5d\xf8\x4c\x89\x65\xf0" /* mov %rbx,-8(%rbp); mov %r12,-16(%rbp) */
		"\x4c\x89\x6d\xe8\x4c\x89\x75\xe0" /* mov %r13,-24(%rbp); mov %r14,-32(%rbp) */
		"\x4c\x89\x7d\xd8";                /* mov %r15,-40(%rbp) */
static const char leave[] = RESTORE "\x48\x8d\xa4\x24\x80\x00\x00\x00" /* lea 128(%rsp),%rsp */;

/*
 * From the end of "mov %rsp,%rbp" to the byte behind the call, in the longer form. In the shorter one a few instructions
 * behind the call are in it that should not be, which only a profiler could see.
 */
const unsigned int patch_framed_from = sizeof(enter) - 1;
const unsigned int patch_framed_to =
		sizeof(enter) - 1 + sizeof(align) - 1 + sizeof(save_rest) - 1 + 22;

static uint8_t *put(uint8_t *to, const void *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}

/* mov $value,%reg; the opcode's two bytes say which. */
static uint8_t *put_constant(uint8_t *to, const char *opcode, uint64_t value)
{
	to = put(to, opcode, 2);
	return put(to, &value, 8);
}

int patch_body(struct patch_probe *probe, uint64_t at, uint8_t bytes[BODY_BYTES])
{
	uint8_t copy[PROBE_COPY_MAX], *to = bytes;
	int size;

	to = put(to, enter, sizeof(enter) - 1);
	to = put(to, align, sizeof(align) - 1);
	if (probe->flags & PATCH_ALL)
		to = put(to, save_rest, sizeof(save_rest) - 1);
	to = put_constant(to, "\x48\xbe", (uint64_t)probe); /* mov $probe,%rsi */
	to = put_constant(to, "\x48\xb8",
			(uint64_t)(uintptr_t)&patch_enter); /* mov $patch_enter,%rax */
	to = put(to, "\xff\xd0", 2);                        /* call *%rax */
	to = put(to, leave, sizeof(leave) - 1);
	probe->copy = at + (uint64_t)(to - bytes);
	size = probe_copy(&probe->site, probe->copy, copy, probe->map);
	if (size < 0)
		return size;
	if (to + size > bytes + BODY_BYTES)
		return -E2BIG;
	to = put(to, copy, (size_t)size);
	memset(to, 0xcc, (size_t)(bytes + BODY_BYTES - to));
	return 0;
}

/*
 * Returns: one short call for each that may be watched at the same time, so that each has an address of its own by
 * which unwinders and this code know it, then what they all call. The first bytes are nobody's: unwinders look for a
 * return address at the byte before it.
 *
 * The processor keeps the return addresses of calls and expects returns to go there. What is called here returns to where it
 * was called from, and that jumps on: only the return of the watched function itself is one that was not expected. Where
 * to go on is left in the red zone of the caller, which no signal touches.
 */
#define GO_ON \
	(-104) /* from the stack pointer behind the watched return; below the frame pointer by 8 */

size_t patch_returns_bytes(void)
{
	return RETURN_BYTES + (size_t)RETURNS_MAX * RETURN_BYTES + BODY_BYTES;
}

void patch_returns_write(uint8_t *bytes)
{
	static const char save[] = SAVE, restore[] = RESTORE;
	uint8_t *common = bytes + RETURN_BYTES + (size_t)RETURNS_MAX * RETURN_BYTES, *to = common;

	memset(bytes, 0x90, RETURN_BYTES);
	for (size_t i = 0; i < RETURNS_MAX; i++) {
		uint8_t *each = bytes + RETURN_BYTES + i * RETURN_BYTES;
		int32_t distance = (int32_t)(common - (each + 5));

		/* Its return address overwrites the one that led here. */
		each = put(put(each, "\xe8", 1), &distance, 4);
		each = put(each, "\xff\x64\x24", 3); /* jmp *GO_ON(%rsp) */
		*each++ = (uint8_t)GO_ON;
		memset(each, 0x90, RETURN_BYTES - 9);
	}
	to = put(to, save, sizeof(save) - 1);
	to = put(to, align, sizeof(align) - 1);
	to = put(to, save_rest, sizeof(save_rest) - 1);
	to = put(to, "\x48\x8b\x75\x58", 4); /* mov 88(%rbp),%rsi */
	to = put_constant(to, "\x48\xb8",
			(uint64_t)(uintptr_t)&patch_leave); /* mov $patch_leave,%rax */
	to = put(to, "\xff\xd0", 2);                        /* call *%rax */
	to = put(to, "\x48\x89\x45\xf8", 4);                /* mov %rax,-8(%rbp) */
	to = put(to, restore, sizeof(restore) - 1);
	put(to, "\xc3", 1); /* ret */
}
