/* SPDX-License-Identifier: MIT */
/* Assembles instructions of BPF. `overflow` is set if they are too many. */
#include "parts.h"

#include <string.h>

void bpf_emit(struct bpf_assembly *a, uint8_t code, unsigned int to, unsigned int from, int off,
		int32_t imm)
{
	if (a->nr == ASSEMBLY_MAX) {
		a->overflow = true;
		return;
	}
	a->code[a->nr++] = (struct bpf_insn){.code = code,
			.dst_reg = to & 15,
			.src_reg = from & 15,
			.off = (int16_t)off,
			.imm = imm};
}

void bpf_emit_move(struct bpf_assembly *a, unsigned int to, unsigned int from)
{
	bpf_emit(a, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void bpf_emit_wide(
		struct bpf_assembly *a, unsigned int to, unsigned int kind, uint64_t value)
{
	int32_t half[2];

	memcpy(half, &value, sizeof(half));
	bpf_emit(a, BPF_LD | BPF_DW | BPF_IMM, to, kind, 0, half[0]);
	bpf_emit(a, 0, 0, 0, 0, half[1]);
}

void bpf_emit_constant(struct bpf_assembly *a, unsigned int to, int64_t value)
{
	if (value == (int32_t)value)
		bpf_emit(a, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, (int32_t)value);
	else
		bpf_emit_wide(a, to, 0, (uint64_t)value);
}

void bpf_emit_map(struct bpf_assembly *a, unsigned int to, int fd)
{
	bpf_emit_wide(a, to, BPF_PSEUDO_MAP_FD, (uint32_t)fd);
}

static uint8_t bpf_size_code(unsigned int size)
{
	switch (size) {
	case 1: return BPF_B;
	case 2: return BPF_H;
	case 4: return BPF_W;
	default: return BPF_DW;
	}
}

void bpf_emit_load(struct bpf_assembly *a, unsigned int size, unsigned int to, unsigned int from,
		int off)
{
	bpf_emit(a, (uint8_t)(BPF_LDX | BPF_MEM | bpf_size_code(size)), to, from, off, 0);
}

void bpf_emit_store(struct bpf_assembly *a, unsigned int size, unsigned int to, int off,
		unsigned int from)
{
	bpf_emit(a, (uint8_t)(BPF_STX | BPF_MEM | bpf_size_code(size)), to, from, off, 0);
}

void bpf_emit_add(struct bpf_assembly *a, unsigned int to, int64_t value)
{
	if (value == (int32_t)value) {
		bpf_emit(a, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, (int32_t)value);
		return;
	}
	bpf_emit_constant(a, 0, value);
	bpf_emit(a, BPF_ALU64 | BPF_ADD | BPF_X, to, 0, 0, 0);
}

void bpf_emit_call(struct bpf_assembly *a, int helper)
{
	bpf_emit(a, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

uint32_t bpf_emit_jump(struct bpf_assembly *a, uint8_t condition, unsigned int left, int32_t right)
{
	bpf_emit(a, (uint8_t)(BPF_JMP | condition | BPF_K), left, 0, 0, right);
	return a->nr - 1;
}

uint32_t bpf_emit_jump_register(
		struct bpf_assembly *a, uint8_t condition, unsigned int left, unsigned int right)
{
	bpf_emit(a, (uint8_t)(BPF_JMP | condition | BPF_X), left, right, 0, 0);
	return a->nr - 1;
}

void bpf_emit_target(struct bpf_assembly *a, uint32_t jump)
{
	if (a->nr - jump - 1 > INT16_MAX)
		a->overflow = true;
	else
		a->code[jump].off = (int16_t)(a->nr - jump - 1);
}
