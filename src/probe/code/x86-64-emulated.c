/* SPDX-License-Identifier: MIT */
/*
 * Lists the instructions that the kernel emulates at a uprobe. It executes all others by
 * single-stepping a copy, which takes ten times as long: arch/x86/kernel/uprobes.c,
 * branch_setup_xol_ops() and push_setup_xol_ops().
 *
 * 	90				nop
 * 	eb, e9, 70 to 7f, 0f 80 to 0f 8f	jumps to an address in the instruction
 * 	e8				calls of an address in the instruction
 * 	50 to 57, 41 50 to 41 57	pushes of a register; since Linux 4.17
 *
 * Kernels differ on instructions with prefixes and on long nops (emulated since Linux 6.18), so
 * none of these counts. tests/probe/global checks a kernel: after a single step, the process has a
 * mapping for the copies.
 */
#include "code.h"

#include <string.h>

#define NOP 0x90
#define REX_B 0x41
#define TWO_BYTES 0x0f

static bool emulation_is_push(uint8_t byte)
{
	return byte >= 0x50 && byte <= 0x57;
}

static bool emulation_is_prefix(uint8_t byte)
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
	case REX_B: return size > 1 && emulation_is_push(bytes[1]);
	case TWO_BYTES: return size > 1 && bytes[1] >= 0x80 && bytes[1] <= 0x8f;
	default: return emulation_is_push(bytes[0]) || (bytes[0] >= 0x70 && bytes[0] <= 0x7f);
	}
}

/*
 * With this prefix, 0x90 exchanges rax and r8. The kernel checks the opcode alone and takes it for
 * a nop.
 */
static bool emulation_breaks(const uint8_t *bytes, size_t size)
{
	uint8_t before = 0;

	for (size_t i = 0; i < size && i < 15; i++) {
		if (bytes[i] == NOP)
			return (before & 0xf1) == REX_B;
		before = bytes[i];
		if ((before & 0xf0) != 0x40 && !emulation_is_prefix(before))
			return false;
	}
	return false;
}

/*
 * The kernel sets no uprobe on an instruction with one of these prefixes (es, cs, ss, ds, lock). It
 * reports that only if a process has mapped the file; in processes that map it later, no uprobe is
 * set and no error is reported.
 */
static bool emulation_is_refused(const uint8_t *bytes, size_t size)
{
	static const uint8_t refused[] = {0x26, 0x2e, 0x36, 0x3e, 0xf0};

	for (size_t i = 0; i < size && emulation_is_prefix(bytes[i]); i++)
		if (memchr(refused, bytes[i], sizeof(refused)))
			return true;
	return false;
}

void code_for_kernel(struct probe_site *site)
{
	bool breaking = emulation_breaks(site->bytes, site->nr_bytes);

	if (site->method == PROBE_NONE ||
			(!breaking && !emulation_is_refused(site->bytes, site->nr_bytes)))
		return;
	site->method = PROBE_NONE;
	site->reason = breaking
			? "a uprobe is not possible: the kernel mistakes an exchange of registers there for a nop"
			: "a uprobe is not possible: the kernel refuses an instruction with one of these prefixes: lock, cs, ds, es, ss";
}
