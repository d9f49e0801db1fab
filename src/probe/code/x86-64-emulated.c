/* SPDX-License-Identifier: MIT */
/*
 * Which instructions the kernel does by itself where it watches one (a uprobe), instead of executing a copy step by step, which takes ten
 * times as long: arch/x86/kernel/uprobes.c, branch_setup_xol_ops() and push_setup_xol_ops().
 *
 *	90                          nop
 *	eb, e9, 70 to 7f, 0f 80 to 0f 8f   jumps to an address that stands in them, on a condition or without
 *	e8                          calls of one
 *	50 to 57, 41 50 to 41 57    pushes of a register; since Linux 4.17
 *
 * Prefixes make exceptions of them that differ between kernels, as do long nops (emulated since Linux 6.18), so none of these is
 * counted. tests/probe/global looks at a kernel: where one has stepped, the process has a mapping for that.
 */
#include "code.h"

#include <string.h>

#define NOP 0x90
#define REX_B 0x41
#define TWO_BYTES 0x0f

static bool x86_emulate_is_push(uint8_t byte)
{
	return byte >= 0x50 && byte <= 0x57;
}

static bool is_legacy_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = {
			0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3};

	return memchr(prefixes, byte, sizeof(prefixes));
}

bool code_kernel_emulates(const uint8_t *bytes, size_t size)
{
	if (size < 1)
		return false;
	switch (bytes[0]) {
	case NOP:
	case 0xe8:
	case 0xe9:
	case 0xeb: return true;
	case REX_B: return size > 1 && x86_emulate_is_push(bytes[1]);
	case TWO_BYTES: return size > 1 && bytes[1] >= 0x80 && bytes[1] <= 0x8f;
	default: return x86_emulate_is_push(bytes[0]) || (bytes[0] >= 0x70 && bytes[0] <= 0x7f);
	}
}

/* With that prefix it is an exchange of rax and r8; the kernel looks at the opcode alone. */
static bool breaks(const uint8_t *bytes, size_t size)
{
	uint8_t before = 0;

	for (size_t i = 0; i < size && i < 15; i++) {
		if (bytes[i] == NOP)
			return (before & 0xf1) == REX_B;
		before = bytes[i];
		if ((before & 0xf0) != 0x40 && !is_legacy_prefix(before))
			return false;
	}
	return false;
}

/*
 * With such a prefix (es, cs, ss, ds, lock) the kernel does not watch it. It says so only where a process has the file in
 * memory; in those that come later nothing is watched, and nobody is told.
 */
static bool is_refused(const uint8_t *bytes, size_t size)
{
	static const uint8_t refused[] = {0x26, 0x2e, 0x36, 0x3e, 0xf0};

	for (size_t i = 0; i < size && is_legacy_prefix(bytes[i]); i++)
		if (memchr(refused, bytes[i], sizeof(refused)))
			return true;
	return false;
}

void code_for_kernel(struct probe_site *site)
{
	bool breaking = breaks(site->bytes, site->nr_bytes);

	if (site->method == PROBE_NONE || (!breaking && !is_refused(site->bytes, site->nr_bytes)))
		return;
	site->method = PROBE_NONE;
	site->reason = breaking
			? "the kernel, which would watch it, takes an exchange of registers there for a nop"
			: "the kernel watches no instruction that has a prefix of these: lock, cs, ds, es, ss";
}
