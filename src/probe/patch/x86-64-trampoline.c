/* SPDX-License-Identifier: MIT */
/*
 * Generates the code of a probe, its trampoline, and of watched returns. A trampoline contains only
 * what is its own: a call of the code that all trampolines of its arena share, their head, and the
 * copy of the displaced instructions. The head identifies the probe by the return address of that
 * call. So of thousands of probes, each needs one cache line of code.
 *
 *	trampoline    skip the red zone; call the head; skip it back; copy
 *	head    save; call patch_enter(); restore; return
 *
 * If returns may be watched, the trampoline has a jump to the gate before the copy. The processor
 * predicts the targets of jumps by their addresses, so with one jump for each probe it predicts the
 * right gate. If the thread must continue in the copy, the head returns behind that jump.
 *
 * The head saves and restores the flags and the registers that a C function may change (all
 * registers, if the probe wants them). It saves flags by lahf and seto, which take a fraction of
 * the time of popfq. The red zone below the stack pointer is not changed, and a frame pointer
 * allows the stack to be aligned.
 *
 * From the frame pointer upwards are, in the order of struct patch_registers: rbp, r11 … rax, then
 * the word that the trampoline has pushed, then the red zone. Below it are the other members of
 * struct patch_hit. A callee does not change the other registers, so they are saved for readers,
 * but not restored.
 *
 * A call whose return is watched is made again. The processor keeps the return addresses of calls
 * and predicts that returns go there; a return to another address costs as much as the remainder of
 * a hit. So the gate calls the copy of the displaced instructions with the stack as it was before
 * the program's call: the address after the gate's call replaces the program's return address. The
 * function returns to its last call, and after the exit handler, a second return leads to the
 * program's call, as the processor predicts.
 *
 *	program        head                         gate of a return           copy
 *	call site  →   patch_enter_followed()
 *	               writes the gate's address
 *	               over the return address
 *	               jump to it               →   call                   →   … the function …
 *	                                            push its index         ←   ret
 *	                                            patch_leave(), which writes
 *	                                            the program's address there
 *	           ←   ←   ←   ←   ←   ←   ←   ←    ret
 */
#include "parts.h"

#include <errno.h>
#include <string.h>

#define RED_ZONE 128
#define WORD 8          /* that a trampoline pushes */
#define BELOW_FRAME 104 /* of a hit: all before rbp */

_Static_assert(offsetof(struct patch_hit, registers.rbp) == BELOW_FRAME,
		"the members below the frame pointer");
_Static_assert(offsetof(struct patch_registers, rbp) == 40 &&
				sizeof(struct patch_hit) == BELOW_FRAME + 88,
		"no padding between the members");
_Static_assert(sizeof(struct patch_hit) - BELOW_FRAME + WORD + RED_ZONE == PATCH_FRAME_BYTES,
		"the bytes above the frame pointer");
_Static_assert(PATCH_FRAME_BYTES + 8 < PATCH_BY_FRAME_POINTER, "distances are bytes");

/*
 * Instructions, and how they change the distance from the stack pointer to the begin of the frame.
 */
struct trampoline_step {
	const char *bytes;
	uint8_t size;
	int16_t moves;
};

#define STEP(bytes, moves)                      \
	{                                       \
		bytes, sizeof(bytes) - 1, moves \
	}
#define NO_MOVE 0
#define BY_FRAME 1000            /* the frame pointer points to the registers from here on */
#define BY_STACK(n) (2000 + (n)) /* not any more; the stack pointer is at this distance */

/* Saves the registers that a callee may change, and the flags. */
static const struct trampoline_step save[] = {
		STEP("\x50", 8),                   /* push %rax */
		STEP("\x9f\x0f\x90\xc0", NO_MOVE), /* lahf; seto %al */
		STEP("\x50", 8),                   /* push %rax */
		STEP("\x51", 8), STEP("\x52", 8),  /* push %rcx, %rdx */
		STEP("\x56", 8),                   /* push %rsi */
};
static const struct trampoline_step save_others[] = {
		STEP("\x57", 8),                          /* push %rdi */
		STEP("\x41\x50", 8), STEP("\x41\x51", 8), /* push %r8, %r9 */
		STEP("\x41\x52", 8), STEP("\x41\x53", 8), /* push %r10, %r11 */
		STEP("\x55", 8),                          /* push %rbp */
		STEP("\x48\x89\xe5", BY_FRAME),           /* mov %rsp,%rbp */
};
static const struct trampoline_step align[] = {
		STEP("\x48\x8d\x7d\x98", NO_MOVE), /* lea -104(%rbp),%rdi */
		STEP("\x48\x89\xfc", NO_MOVE),     /* mov %rdi,%rsp */
		STEP("\x48\x83\xe4\xf0", NO_MOVE), /* and $-16,%rsp */
};
/* `n`: distance from the begin of the frame at the end. */
#define RESTORE(n)                                                                           \
	STEP("\x48\x89\xec", NO_MOVE),                              /* mov %rbp,%rsp */      \
			STEP("\x5d", BY_STACK((n) + 80)),           /* pop %rbp */           \
			STEP("\x41\x5b", -8), STEP("\x41\x5a", -8), /* pop %r11, %r10 */     \
			STEP("\x41\x59", -8), STEP("\x41\x58", -8), /* pop %r9, %r8 */       \
			STEP("\x5f", -8), STEP("\x5e", -8),         /* pop %rdi, %rsi */     \
			STEP("\x5a", -8), STEP("\x59", -8),         /* pop %rdx, %rcx */     \
			STEP("\x58", -8),                           /* pop %rax */           \
			STEP("\x04\x7f\x9e", NO_MOVE),              /* add $127,%al; sahf */ \
			STEP("\x58", -8)                            /* pop %rax */

static const struct trampoline_step pass_red_zone[] = {
		STEP("\x48\x8d\x64\x24\x80", RED_ZONE) /* lea -128(%rsp),%rsp */};
static const struct trampoline_step back_over_red_zone[] = {
		STEP("\x48\x8d\xa4\x24\x80\0\0\0", -RED_ZONE) /* lea 128(%rsp),%rsp */};
static const struct trampoline_step leave_to_trampoline[] = {
		RESTORE(8 + RED_ZONE + WORD), STEP("\xc3", NO_MOVE) /* ret */};
static const struct trampoline_step leave_to_copy[] = {
		RESTORE(8 + RED_ZONE + WORD), STEP("\xc2\x80\0", NO_MOVE) /* ret $128 */};
/* One word more: the return address, which the gate's call writes again. */
static const struct trampoline_step leave_by_gate[] = {
		STEP("\x48\x8d\xa4\x24\x88\0\0\0", -RED_ZONE - 8), /* lea 136(%rsp),%rsp */
		STEP("\xff\x64\x24\xf8", NO_MOVE) /* jmp *-8(%rsp) */};
#define GATE_BYTES 12 /* of these instructions */
static const struct trampoline_step leave_to_caller[] = {
		RESTORE(8), STEP("\xc3", NO_MOVE) /* ret */};
/*
 * Computes the offset of the trampoline in its arena from the return address of its call. Done
 * while registers are saved, because all else depends on it.
 */
static const struct trampoline_step offset_of_trampoline[] = {
		STEP("\x0f\xb7\x54\x24\x28", NO_MOVE), /* movzwl 40(%rsp),%edx */
		STEP("\x83\xe2\xc0", NO_MOVE),         /* and $-64,%edx */
};
_Static_assert(TRAMPOLINE_BYTES == 64 && PATCH_ARENA_BYTES == 65536,
		"the masks of offset_of_trampoline");
static const struct trampoline_step add_location[] = {
		STEP("\x48\x01\xc2", NO_MOVE) /* add %rax,%rdx */};
/* The second argument: the patch_hot of the probe, or the slot of the return address. */
static const struct trampoline_step hot_of_trampoline[] = {
		STEP("\x48\x89\xd6", NO_MOVE) /* mov %rdx,%rsi */};
static const struct trampoline_step offset_of_return[] = {
		STEP("\x48\x8d\x75\x58", NO_MOVE) /* lea 88(%rbp),%rsi */};
static const struct trampoline_step pass_gate[] = {
		STEP("\x48\x83\x45\x58\x0c", NO_MOVE) /* addq $12,88(%rbp) */};
_Static_assert(GATE_BYTES == 0x0c, "behind the jump");
#define CALL_FUNCTION_BYTES 2
static const struct trampoline_step call[] = {STEP("\xff\xd0", NO_MOVE) /* call *%rax */};
/*
 * The direction flag and the alignment-check flag must be clear in a C function. `lahf` reads
 * neither, and `popfq` costs as much as the whole hit, so it is executed only if one of them is
 * set. Inside a function both are checked. At its beginning and end, checking the second one would
 * cost a tenth of a recorded hit. There only the first one is checked, by a load that moves rsi up
 * or down.
 */
static const struct trampoline_step test_direction[] = {
		STEP("\x48\x89\xee", NO_MOVE), /* mov %rbp,%rsi */
		STEP("\xad", NO_MOVE),         /* lodsl */
		STEP("\x29\xee", NO_MOVE),     /* sub %ebp,%esi: negative if the flag is set */
};
static const struct trampoline_step test_flags[] = {
		STEP("\x9c\x58", NO_MOVE),         /* pushfq; pop %rax */
		STEP("\xa9\0\x04\x04\0", NO_MOVE), /* test $0x40400,%eax */
};
/*
 * Pushed twice: the program's flags, and those for the call. The stack remains aligned for the
 * call.
 */
static const struct trampoline_step clear_flags[] = {
		STEP("\x9c\x9c", NO_MOVE), /* pushfq; pushfq */
		STEP("\x81\x24\x24\xff\xfb\xfb\xff\x9d",
				NO_MOVE),              /* andl $~0x40400,(%rsp); popfq */
		STEP("\x48\x8d\x64\x24\xf8", NO_MOVE), /* lea -8(%rsp),%rsp */
};
static const struct trampoline_step restore_flags[] = {
		STEP("\x48\x8d\x64\x24\x08\x9d", NO_MOVE) /* lea 8(%rsp),%rsp; popfq */};
static const struct trampoline_step save_remainder[] = {
		STEP("\x48\x89\x5d\xf8", NO_MOVE), /* mov %rbx,-8(%rbp) */
		STEP("\x4c\x89\x65\xf0", NO_MOVE), /* mov %r12,-16(%rbp) */
		STEP("\x4c\x89\x6d\xe8", NO_MOVE), /* mov %r13,-24(%rbp) */
		STEP("\x4c\x89\x75\xe0", NO_MOVE), /* mov %r14,-32(%rbp) */
		STEP("\x4c\x89\x7d\xd8", NO_MOVE), /* mov %r15,-40(%rbp) */
};

/* Code that is generated, and the frame for unwinders at each byte of it. */
struct writing {
	uint8_t *bytes, *frames;
	size_t at;
	uint8_t distance;
};

static void x86_trampoline_emit(struct writing *writing, const void *bytes, size_t size)
{
	memcpy(writing->bytes + writing->at, bytes, size);
	memset(writing->frames + writing->at, writing->distance, size);
	writing->at += size;
}

static void x86_trampoline_emit_step(struct writing *writing, const struct trampoline_step *step)
{
	x86_trampoline_emit(writing, step->bytes, step->size);
	if (step->moves == BY_FRAME)
		writing->distance = PATCH_BY_FRAME_POINTER;
	else if (step->moves >= BY_STACK(0))
		writing->distance = (uint8_t)(step->moves - BY_STACK(0));
	else
		writing->distance = (uint8_t)(writing->distance + step->moves);
}

#define x86_trampoline_emit_steps(writing, steps)                                      \
	do {                                                                           \
		for (size_t step = 0; step < sizeof(steps) / sizeof(*(steps)); step++) \
			x86_trampoline_emit_step(writing, &(steps)[step]);             \
	} while (0)

/* mov $value,%reg; the two bytes of the opcode select the register. */
static void x86_trampoline_emit_constant(
		struct writing *writing, const char *opcode, uint64_t value)
{
	x86_trampoline_emit(writing, opcode, 2);
	x86_trampoline_emit(writing, &value, 8);
}

/* Makes the jump whose displacement ends at `from` lead to the next instruction that is written. */
static void x86_trampoline_land_here(struct writing *writing, size_t from)
{
	writing->bytes[from - 1] = (uint8_t)(writing->at - from);
}

/*
 * Writes a call of a C function, with its second argument. Returns the end of a jump that is taken
 * if a flag is set; x86_trampoline_emit_careful_call() writes its target.
 */
static size_t x86_trampoline_emit_call(struct writing *writing, void *function,
		const struct trampoline_step *argument, bool inside)
{
	size_t careful;

	if (!inside)
		x86_trampoline_emit_steps(writing, test_direction);
	x86_trampoline_emit_step(writing, argument);
	if (inside)
		x86_trampoline_emit_steps(writing, test_flags);
	x86_trampoline_emit_constant(writing, "\x48\xb8",
			(uint64_t)(uintptr_t)function);                /* mov $function,%rax */
	x86_trampoline_emit(writing, inside ? "\x75\0" : "\x78\0", 2); /* jnz, js */
	careful = writing->at;
	x86_trampoline_emit_steps(writing, call);
	return careful;
}

static void x86_trampoline_emit_careful_call(struct writing *writing, size_t careful)
{
	int32_t back;

	x86_trampoline_land_here(writing, careful);
	writing->distance = PATCH_BY_FRAME_POINTER;
	x86_trampoline_emit_steps(writing, clear_flags);
	x86_trampoline_emit_steps(writing, call);
	x86_trampoline_emit_steps(writing, restore_flags);
	x86_trampoline_emit(writing, "\xe9", 1); /* jmp */
	back = (int32_t)(careful + CALL_FUNCTION_BYTES - (writing->at + sizeof(back)));
	x86_trampoline_emit(writing, &back, sizeof(back));
}

/* ---- trampolines ---- */

#define CALL_BYTES 5

/* Writes all of a trampoline at that address, except the copy. */
static void x86_trampoline_emit_trampoline(
		struct writing *writing, uint64_t at, unsigned int head_number, bool follows)
{
	uint64_t head = at - at % PATCH_ARENA_BYTES + head_number * HEAD_BYTES;
	int32_t away;

	x86_trampoline_emit_steps(writing, pass_red_zone);
	away = (int32_t)(head - (at + writing->at + CALL_BYTES));
	x86_trampoline_emit(writing, "\xe8", 1); /* call */
	x86_trampoline_emit(writing, &away, sizeof(away));
	if (follows)
		x86_trampoline_emit_steps(writing, leave_by_gate);
	else
		x86_trampoline_emit_steps(writing, back_over_red_zone);
	writing->distance = 8;
}

const uint8_t *patch_trampoline_frames(bool follows)
{
	static uint8_t frames[2][TRAMPOLINE_BYTES_MAX];
	uint8_t bytes[TRAMPOLINE_BYTES_MAX];
	struct writing writing = {.bytes = bytes, .frames = frames[follows], .distance = 8};

	/* In the copy: as at the begin of a function. */
	memset(frames[follows], 8, sizeof(frames[follows]));
	x86_trampoline_emit_trampoline(&writing, 0, 0, follows);
	return frames[follows];
}

static unsigned int x86_trampoline_get_head(const struct patch *patch)
{
	return (patch->flags & PATCH_ALL ? PATCH_HEAD_ALL : 0u) |
			(patch->site.begins ? 0u : PATCH_HEAD_INSIDE);
}

int patch_trampoline_generate(struct patch *patch, struct patch_kind kind, uint8_t *bytes)
{
	uint8_t copy[PROBE_COPY_MAX], frames[TRAMPOLINE_BYTES_MAX];
	struct writing writing = {.bytes = bytes, .frames = frames, .distance = 8};
	int size;

	x86_trampoline_emit_trampoline(
			&writing, patch->trampoline, x86_trampoline_get_head(patch), kind.follows);
	patch->hot->copy = patch->trampoline + writing.at;
	size = probe_copy(&patch->site, patch->hot->copy, copy, patch->map);
	if (size < 0)
		return size;
	if (writing.at + (size_t)size > kind.bytes)
		return -E2BIG;
	memcpy(bytes + writing.at, copy, (size_t)size);
	memset(bytes + writing.at + size, 0xcc, kind.bytes - writing.at - (size_t)size);
	return 0;
}

/* ---- heads ---- */

static size_t hot_at; /* offset in a head of 8 bytes, the same in all */

static void x86_trampoline_emit_head(struct writing *writing, unsigned int number, bool follows,
		const struct patch_hot *hot)
{
	void *enter = follows ? (void *)&patch_enter_followed : (void *)&patch_enter;
	size_t jump, careful;

	x86_trampoline_emit_steps(writing, save);
	x86_trampoline_emit_steps(writing, offset_of_trampoline);
	hot_at = writing->at + 2;
	x86_trampoline_emit_constant(writing, "\x48\xb8", (uint64_t)hot); /* mov $hot,%rax */
	x86_trampoline_emit_steps(writing, add_location);
	x86_trampoline_emit_steps(writing, save_others);
	x86_trampoline_emit_steps(writing, align);
	if (number & PATCH_HEAD_ALL)
		x86_trampoline_emit_steps(writing, save_remainder);
	careful = x86_trampoline_emit_call(
			writing, enter, hot_of_trampoline, number & PATCH_HEAD_INSIDE);
	if (follows) {
		x86_trampoline_emit(writing, "\x84\xc0\x74\0",
				4); /* test %al,%al; jz over the code for the gate */
		jump = writing->at;
		x86_trampoline_emit_steps(writing, leave_to_trampoline);
		x86_trampoline_land_here(writing, jump);
		writing->distance = PATCH_BY_FRAME_POINTER;
		x86_trampoline_emit_steps(writing, pass_gate);
		x86_trampoline_emit_steps(writing, leave_to_copy);
	} else {
		x86_trampoline_emit_steps(writing, leave_to_trampoline);
	}
	x86_trampoline_emit_careful_call(writing, careful);
}

void patch_heads_write(uint8_t bytes[HEADS_BYTES], bool follows, const struct patch_hot *hot)
{
	uint8_t frames[HEAD_BYTES];

	memset(bytes, 0xcc, HEADS_BYTES);
	for (unsigned int number = 0; number < PATCH_HEADS; number++) {
		struct writing writing = {.bytes = bytes + number * HEAD_BYTES, .frames = frames};

		x86_trampoline_emit_head(&writing, number, follows, hot);
	}
}

const uint8_t *patch_head_frames(bool follows, unsigned int number)
{
	static uint8_t frames[2][PATCH_HEADS][HEAD_BYTES];
	uint8_t bytes[HEAD_BYTES];
	struct writing writing = {.bytes = bytes,
			.frames = frames[follows][number],
			.distance = 8 + RED_ZONE + WORD};

	x86_trampoline_emit_head(&writing, number, follows, NULL);
	return frames[follows][number];
}

size_t patch_head_hot_at(void)
{
	patch_head_frames(false, 0);
	return hot_at;
}

void patch_trampoline_locations(struct patch *patch)
{
	const struct probe_site *site = &patch->site;
	unsigned int begin = (unsigned int)(patch->hot->copy - patch->trampoline),
		     last = site->nr_pieces - 1u;

	memset(patch->begins, UINT8_MAX, sizeof(patch->begins));
	patch->pushed = UINT8_MAX;
	patch->locations[0] = site->runtime;
	for (unsigned int i = 1; i <= site->nr_pieces; i++) {
		patch->locations[i] = site->runtime +
				(i < site->nr_pieces ? site->pieces[i].at : site->displaced);
		patch->begins[i - 1] = (uint8_t)(begin + patch->map[i]);
	}
	if (site->pieces[last].kind == PROBE_CALL || site->pieces[last].kind == PROBE_CALL_INDIRECT)
		patch->pushed = (uint8_t)(begin + patch->map[last] + PROBE_COPY_PUSH_BYTES);
}

/*
 * Writes the common code of gates. There is a gate for each return that may be watched at the same
 * time, so that unwinders and this code identify it by its address. Unused bytes separate the gates
 * from the common code: unwinders look up a return address by the byte before it.
 */
static void x86_trampoline_emit_common(uint8_t *bytes, uint8_t *frames)
{
	struct writing writing = {.bytes = bytes, .frames = frames, .distance = 8};
	size_t careful;

	x86_trampoline_emit_steps(&writing, save);
	x86_trampoline_emit_steps(&writing, save_others);
	x86_trampoline_emit_steps(&writing, align);
	x86_trampoline_emit_steps(&writing, save_remainder);
	careful = x86_trampoline_emit_call(&writing, (void *)&patch_leave, offset_of_return, false);
	x86_trampoline_emit_steps(&writing, leave_to_caller);
	x86_trampoline_emit_careful_call(&writing, careful);
}

const uint8_t *patch_returns_frames(void)
{
	static uint8_t frames[COMMON_BYTES];
	uint8_t bytes[COMMON_BYTES];

	memset(frames, 8, sizeof(frames));
	x86_trampoline_emit_common(bytes, frames);
	return frames;
}

void patch_returns_write(uint8_t *bytes)
{
	uint8_t frames[COMMON_BYTES];

	memset(bytes, 0xcc, RETURNS_HEAD_BYTES);
	x86_trampoline_emit_common(bytes, frames);
}
