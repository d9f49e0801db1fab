/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a handler of traps can end without a system call (x86-64-resume.S), and which
 * components of the processor's state it must restore then.
 *
 * The handler's action blocks no signal, so there is no mask to restore. State that the code does
 * not restore is compared instead: if it differs, the handler returns by rt_sigreturn, like any
 * other one.
 */
#include "parts.h"

#include <cpuid.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#define CPUID_FEATURES 1
#define CPUID_MORE_FEATURES 7
#define CPUID_STATE 0xd
#define CPUID_HYPERVISOR 0x40000000
#define HAS_OSXSAVE (1u << 27)
#define HAS_HYPERVISOR (1u << 31)
#define HAS_OSPKE (1u << 4)
#define STATE_PKRU 9
#define STATE_ALIGNMENT 64
/* Of the legacy area: where the kernel describes the content of the frame. */
#define FLOATING_NOTE 464
#define FLOATING_HEADER 512
#define NOTE_MAGIC 0x46505853u
#define STACK_IS_DISARMED (1u << 31) /* SS_AUTODISARM: only the kernel can restore such a stack */
#define FLAG_STEP UINT64_C(0x100)
#define FLAG_NESTED UINT64_C(0x4000)

/* The kernel's description of the frame. */
struct resume_note {
	uint32_t magic, size;
	uint64_t components;
};

_Static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_R8]) == 40 &&
				offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]) == 168 &&
				offsetof(ucontext_t, uc_mcontext.gregs[REG_CSGSFS]) == 184 &&
				offsetof(ucontext_t, uc_mcontext.fpregs) == 224,
		"offsets in x86-64-resume.S");

/* For functions that read no thread-local memory, like the handler (trap.c). */
#define NO_GUARD __attribute__((no_stack_protector))

static bool resumes, never;
static uint32_t pkru_at; /* offset in the frame */

static void resume_cpuid(uint32_t leaf, uint32_t part, uint32_t registers[4])
{
	__cpuid_count(leaf, part, registers[0], registers[1], registers[2], registers[3]);
}

/* A shadow stack has an entry for the handler, which only rt_sigreturn removes. */
static NO_GUARD bool resume_has_shadow_stack(void)
{
	uint64_t pointer = 0;

	/* rdsspq %rax: has no effect without such a stack. */
	__asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(pointer));
	return pointer != 0;
}

/*
 * True if a leaf returns these 12 bytes in the registers ebx, ecx and edx, in the order of the
 * leaf.
 */
static bool resume_has_name(uint32_t leaf, const char *name, unsigned int second)
{
	uint32_t registers[4];

	resume_cpuid(leaf, 0, registers);
	return !memcmp(&registers[1], name, 4) && !memcmp(&registers[second], name + 4, 4) &&
			!memcmp(&registers[5 - second], name + 8, 4);
}

/*
 * Processors that are known to execute iretq in programs. QEMU's emulation before 9.1 reads the
 * stack with kernel rights there, which SMAP forbids: the guest's kernel reports an error of its
 * own and kills the program. Other emulators have names of their own.
 */
static bool resume_is_known_processor(const uint32_t features[4])
{
	static const char *const makers[] = {"GenuineIntel", "AuthenticAMD", "HygonGenuine",
			"CentaurHauls", "  Shanghai  "};

	if (features[2] & HAS_HYPERVISOR && resume_has_name(CPUID_HYPERVISOR, "TCGTCGTCGTCG", 2))
		return false;
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		if (resume_has_name(0, makers[i], 3))
			return true;
	}
	return false;
}

void patch_resume_start(void)
{
	uint32_t highest[4], registers[4];

	resume_cpuid(0, 0, highest);
	resume_cpuid(CPUID_FEATURES, 0, registers);
	if (!(registers[2] & HAS_OSXSAVE) || highest[0] < CPUID_STATE ||
			!resume_is_known_processor(registers))
		return;
	resume_cpuid(CPUID_STATE, STATE_PKRU, registers);
	/* The register has 4 bytes, its component 8. */
	pkru_at = registers[0] >= sizeof(uint32_t) ? registers[1] : 0;
	resume_cpuid(CPUID_MORE_FEATURES, 0, registers);
	resumes = pkru_at || !(registers[2] & HAS_OSPKE);
}

void patch_resume_never(void)
{
	/* Relaxed: trap.c checks it for each trap. */
	__atomic_store_n(&never, true, __ATOMIC_RELAXED);
}

NO_GUARD bool patch_resumes(void)
{
	return resumes && !__atomic_load_n(&never, __ATOMIC_RELAXED) && !resume_has_shadow_stack();
}

/* True if the handler has the same protection-key rights as the interrupted code. */
static NO_GUARD bool resume_has_same_rights(const uint8_t *state)
{
	uint64_t present;
	uint32_t before = 0, now, zero;

	if (!pkru_at)
		return false;
	__builtin_memcpy(&present, state + FLOATING_HEADER, sizeof(present));
	if (present & 1u << STATE_PKRU)
		__builtin_memcpy(&before, state + pkru_at, sizeof(before));
	/* rdpkru */
	__asm__ volatile(".byte 0x0f, 0x01, 0xee" : "=a"(now), "=d"(zero) : "c"(0));
	return before == now;
}

static uint64_t resume_code_segment(void)
{
	uint64_t segment;

	__asm__("movq %%cs, %0" : "=r"(segment));
	return segment;
}

/*
 * True if the segments are those of 64-bit code, and no flag changes what the last instruction
 * does.
 */
static NO_GUARD bool patch_resume_is_plain(const ucontext_t *context)
{
	const greg_t *registers = context->uc_mcontext.gregs;
	uint64_t segments = (uint64_t)registers[REG_CSGSFS];

	return (segments & UINT16_MAX) == resume_code_segment() && segments >> 48 &&
			!((uint64_t)registers[REG_EFL] & (FLAG_STEP | FLAG_NESTED)) &&
			!(patch_resume_flags() & FLAG_NESTED) &&
			!((uint32_t)context->uc_stack.ss_flags & STACK_IS_DISARMED);
}

NO_GUARD uint64_t patch_resume_components(const void *user)
{
	const ucontext_t *context = user;
	const uint8_t *state = (const uint8_t *)context->uc_mcontext.fpregs;
	struct resume_note note;

	if (!patch_resumes() || !patch_resume_is_plain(context) || !state ||
			(uintptr_t)state % STATE_ALIGNMENT)
		return 0;
	__builtin_memcpy(&note, state + FLOATING_NOTE, sizeof(note));
	if (note.magic != NOTE_MAGIC)
		return 0;
	if (note.components & 1u << STATE_PKRU && !resume_has_same_rights(state))
		return 0;
	return note.components & ~(UINT64_C(1) << STATE_PKRU);
}
