/* SPDX-License-Identifier: MIT */
/*
 * The analysis of instructions, row by row: the assembler encodes the instructions of a row, and
 * the test compares what the analysis reports with the text of the row.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/code/copy.h"
#include "probe/code/parts.h"
#include "probe/code/x86-64.h"

#include "../../failing-calls.h"

struct row {
	const uint8_t *begin, *end;
	const char *setup, *wanted;
};

/*
 * Adds a row to a table, which is a section. Labels of the assembler from 990 on are those of the
 * row.
 */
#define SETUP_ROW(table, setup, code, wanted)                              \
	__asm__(".pushsection code_bytes,\"a\"\n990: " code "\n991:\n"     \
		"992: .asciz \"" setup "\"\n993: .asciz \"" wanted "\"\n"  \
		".popsection\n.pushsection " #table ",\"aw\"\n.balign 8\n" \
		".quad 990b, 991b, 992b, 993b\n.popsection\n")
#define ROW(table, code, wanted) SETUP_ROW(table, "", code, wanted)
#define TABLE(name)                                                                     \
	extern const struct row __start_##name[] __attribute__((visibility("hidden"))), \
			__stop_##name[] __attribute__((visibility("hidden")))

#define EACH(name, row)                         \
	const struct row *row = __start_##name; \
	row < __stop_##name;                    \
	row++

static unsigned int failures;

static void compare(const struct row *row, const char *got)
{
	if (!strcmp(got, row->wanted))
		return;
	failures++;
	fprintf(stderr, "%s\n    wanted: %s\n    got:    %s\n    bytes: ", row->setup, row->wanted,
			got);
	for (const uint8_t *byte = row->begin; byte < row->end && byte < row->begin + 64; byte++)
		fprintf(stderr, " %02x", *byte);
	fprintf(stderr, "\n");
}

static void end_table(void)
{
	assert_int_equal(failures, 0);
}

static char text[4096];

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
	va_list arguments;
	size_t at = strlen(text);

	va_start(arguments, format);
	vsnprintf(text + at, sizeof(text) - at, format, arguments);
	va_end(arguments);
}

static void add_if(bool condition, const char *word)
{
	if (condition)
		add(" %s", word);
}

/* ---- decoded instructions ---- */

#define AT UINT64_C(0x40000000)

TABLE(decoded);
ROW(decoded, "nop", "1 padding");
ROW(decoded, "pause", "2");
ROW(decoded, "nopw 0(%rax,%rax,1)", "5 padding");
ROW(decoded, "endbr64", "4 mark");
ROW(decoded, "endbr32", "4");
ROW(decoded, "int3", "1 ends padding (a breakpoint cannot be moved)");
ROW(decoded, "int $0x80", "2 ends (an interrupt cannot be moved)");
ROW(decoded, "ud2", "2 ends");
ROW(decoded, "ud1 %eax,%ecx", "3 ends");
ROW(decoded, ".byte 0x0f,0xff,0xc1", "3 ends");
ROW(decoded, "hlt", "1 ends");
ROW(decoded, "syscall", "2 (a system call cannot be moved)");
ROW(decoded, "sysretq", "3 (a privileged instruction cannot be moved)");
ROW(decoded, "sysenter", "2 (a system call cannot be moved)");
ROW(decoded, "ret", "1 ends leaves");
ROW(decoded, "ret $16", "3 ends leaves");
ROW(decoded, "lretl", "1 ends leaves (a far return cannot be moved)");
ROW(decoded, "iretq", "2 ends leaves");
ROW(decoded, ".byte 0xeb,0x7f", "2 branch to +129 ends");
ROW(decoded, ".byte 0xeb,0x80", "2 branch to -126 ends");
ROW(decoded, ".byte 0xe9,0xff,0xff,0xff,0x7f", "5 branch to +2147483652 ends");
ROW(decoded, ".byte 0xe9,0,0,0,0x80", "5 branch to -2147483643 ends");
ROW(decoded, ".byte 0x66,0xe9,1,2", "none");
ROW(decoded, ".byte 0x7f,0x10", "2 branch-if detail 15 to +18");
ROW(decoded, ".byte 0x70,0x10", "2 branch-if to +18");
ROW(decoded, ".byte 0x0f,0x84,1,2,3,4", "6 branch-if detail 4 to +67305991");
ROW(decoded, ".byte 0xe0,5", "2 counter to +7");
ROW(decoded, ".byte 0xe1,5", "2 counter to +7");
ROW(decoded, ".byte 0xe2,5", "2 counter to +7");
ROW(decoded, ".byte 0xe3,5", "2 counter to +7");
ROW(decoded, ".byte 0x67,0xe3,5", "3 counter to +8");
ROW(decoded, ".byte 0xe8,1,2,3,4", "5 call to +67305990 calls");
ROW(decoded, ".byte 0xc7,0xf8,1,2,3,4", "6 to +67305991 (a transaction cannot be moved)");
ROW(decoded, ".byte 0xc6,0xf8,1", "3");
ROW(decoded, "call *%rax", "2 call-indirect detail 1 calls");
ROW(decoded, "call *%rsp",
		"2 call-indirect detail 1 calls (a call through the stack pointer cannot be moved)");
ROW(decoded, "call *%r12", "3 call-indirect detail 2 calls");
ROW(decoded, "call *8(%rsp)",
		"4 call-indirect detail 1 calls register 7+8 (a call through the stack pointer cannot be moved)");
ROW(decoded, "call *8(%r12)", "5 call-indirect detail 2 calls");
ROW(decoded, "call *8(%rax,%r12,8)", "5 call-indirect detail 2 calls");
ROW(decoded, "call *8(%rbp,%r12,8)", "5 call-indirect detail 2 calls");
ROW(decoded, "call *0x1234(%rip)", "6 call-indirect field 2 detail 1 to +4666 calls");
ROW(decoded, ".byte 0x67,0xff,0x15,1,2,3,4",
		"7 call-indirect field 3 detail 2 to +67305992 calls (an address of 32 bits cannot be moved)");
ROW(decoded, "lcall *(%rax)", "2 (a far branch cannot be moved)");
ROW(decoded, "ljmp *(%rax)", "2 (a far branch cannot be moved)");
ROW(decoded, "jmp *%rax", "2 ends indirect");
ROW(decoded, "jmp *0x1234(%rip)", "6 relative field 2 to +4666 ends indirect");
ROW(decoded, "jmp *0x4000(,%rax,8)", "7 ends indirect displacement 4000");
ROW(decoded, "lea 0x1234(%rip),%rax", "7 relative field 3 to +4667 lea");
ROW(decoded, "lea 0x1234(%rax),%rax", "7 lea displacement 1234");
ROW(decoded, "mov 0x1234(%rip),%eax", "6 relative field 2 to +4666");
ROW(decoded, "movl $0x11223344,-0x10(%rip)", "10 relative field 2 to -6 constant 11223344");
ROW(decoded, "cmpb $5,0x10(%rip)", "7 relative field 2 to +23");
ROW(decoded, "mov 0x1234(%eip),%eax",
		"7 relative field 3 to +4667 (an address of 32 bits cannot be moved)");
ROW(decoded, "mov $0x11223344,%eax", "5 constant 11223344");
ROW(decoded, "movabs $0x1122334455667788,%rax", "10 constant 1122334455667788");
ROW(decoded, "mov $0x1122,%ax", "4");
ROW(decoded, "push $0x11223344", "5 constant 11223344");
ROW(decoded, "push $0x11", "2");
ROW(decoded, "movabs 0x1122334455667788,%eax", "9 displacement 1122334455667788 absolute");
ROW(decoded, "mov 0x11223344,%ecx", "7 displacement 11223344 absolute");
ROW(decoded, "mov 0x11223344(,%rcx,8),%ecx", "7 displacement 11223344");
ROW(decoded, "mov 0x11223344(,%r12,8),%ecx", "8 displacement 11223344 absolute");
ROW(decoded, "mov 0x11223344(%rcx),%ecx", "6 displacement 11223344");
ROW(decoded, "mov -0x11223344(%rcx),%ecx", "6 displacement eeddccbc");
ROW(decoded, "mov 0x11(%rcx),%ecx", "3");
ROW(decoded, "mov 0x11(%rsp),%ecx", "4 register 7+17");
ROW(decoded, "mov -0x11(%rsp),%ecx", "4 register 7-17");
ROW(decoded, "mov (%rsp),%ecx", "3 register 7+0");
ROW(decoded, "mov (%r12),%ecx", "4");
ROW(decoded, "mov (%rsp,%rax),%ecx", "3");
ROW(decoded, "mov (%rsp,%r12),%ecx", "4");
ROW(decoded, "mov 0x11(%rbp),%ecx", "3 register 6+17");
ROW(decoded, "mov (%rbp),%ecx", "3 register 6+0");
ROW(decoded, "mov 0x11(%r13),%ecx", "4");
ROW(decoded, "mov -0x1122(%rbp),%r8d", "7 register 6-4386 displacement ffffeede");
/* Bits of VEX and EVEX that select r8 to r15 are inverted; EVEX counts distances in vectors. */
ROW(decoded, "vmovups 0x11(%rsp),%xmm1", "6 register 7+17");
ROW(decoded, "vmovups 0x11(%rbp),%xmm9", "5 register 6+17");
ROW(decoded, "vmovups 0x11(%r12),%xmm1", "7");
ROW(decoded, "vmovups 0x11(%r13),%xmm1", "6");
ROW(decoded, "vmovups (%rsp,%r12),%xmm1", "6");
ROW(decoded, "vmovups 0x40(%rsp),%zmm1", "8 register 7+64");
ROW(decoded, "vmovups -0x40(%rbp),%zmm1", "7 register 6-64");
ROW(decoded, "vmovups 0x40(%r12),%zmm1", "8");
ROW(decoded, "vmovups 0x40(%r13),%zmm1", "7");
ROW(decoded, "vmovups (%rsp,%r12),%zmm1", "7");
ROW(decoded, "vgatherdps %xmm1,8(%rsp,%xmm4),%xmm2", "7");
ROW(decoded, "mov 0x11(%esp),%ecx", "5 register 7+17");
ROW(decoded, "mov %rbp,%rcx", "3");
ROW(decoded, "pop %rax", "1 pops");
ROW(decoded, "pop %rsp", "1 pops");
ROW(decoded, "pop 8(%rax)", "3 pops");
ROW(decoded, "mov %rax,%rsp", "3 moves-stack");
ROW(decoded, "mov %rbp,%rsp", "3");
ROW(decoded, "mov %r13,%rsp", "3 moves-stack");
ROW(decoded, "mov %rax,%r12", "3");
ROW(decoded, "mov %rax,(%rsp)", "4 register 7+0");
ROW(decoded, ".byte 0x48,0x8b,0xe0", "3 moves-stack");
ROW(decoded, ".byte 0x48,0x8b,0xe5", "3 moves-stack");
ROW(decoded, ".byte 0x4c,0x8b,0xe0", "3");
ROW(decoded, "mov 8(%rax),%rsp", "4 moves-stack");
ROW(decoded, "mov %rsp,8(%rax)", "4");
ROW(decoded, "mov $0x11223344,%esp", "5 constant 11223344");
ROW(decoded, "xchg %rax,%rsp", "2 moves-stack");
ROW(decoded, ".byte 0x48,0x87,0xe0", "3 moves-stack");
ROW(decoded, "xchg %rax,%r12", "2");
ROW(decoded, ".byte 0x4c,0x87,0xe0", "3");
ROW(decoded, "xchg %r8,%rsp", "3 moves-stack");
ROW(decoded, "xchg %cx,%sp", "3 moves-stack");
ROW(decoded, "xchg %rax,%rbp", "2");
ROW(decoded, "xchg %rax,%r12", "2");
ROW(decoded, "xchg %rcx,(%rsp)", "4 moves-stack register 7+0");
ROW(decoded, "xchg %rcx,(%rax)", "3");
ROW(decoded, "xchg %rcx,(%rax,%rcx)", "4");
ROW(decoded, "movq %rax,%xmm4", "5");
ROW(decoded, "vaddps 0x1234(%rip),%ymm1,%ymm2", "8 relative field 4 to +4668");
ROW(decoded, "lock incl 0x20(%rip)", "7 relative field 3 to +39");
ROW(decoded, ".byte 0x66,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0", "11 padding");
ROW(decoded, ".byte 0x06", "none");
ROW(decoded, ".byte 0x48,0x8b", "none");
ROW(decoded, "enter $16,$0", "4");
ROW(decoded, "leave", "1");
ROW(decoded, "sub $0x11223344,%rsp", "7 constant 11223344");

static const char *const kinds[] = {
		"", "relative", "branch", "branch-if", "counter", "call", "call-indirect"};

static void describe_piece(const struct probe_piece *piece, uint64_t base)
{
	add("%u", piece->length);
	add_if(piece->kind != PROBE_COPIED, kinds[piece->kind]);
	if (piece->field)
		add(" field %u", piece->field);
	if (piece->detail)
		add(" detail %u", piece->detail);
	if (piece->target)
		add(" to %+lld", (long long)(piece->target - base));
}

static void describe_instruction(const struct x86_instruction *instruction)
{
	describe_piece(&instruction->piece, AT);
	add_if(instruction->call, "calls");
	add_if(instruction->ends, "ends");
	add_if(instruction->padding, "padding");
	add_if(instruction->branch_mark, "mark");
	add_if(instruction->lea, "lea");
	add_if(instruction->indirect_jump, "indirect");
	add_if(instruction->pop, "pops");
	add_if(instruction->leaves, "leaves");
	add_if(instruction->moves_stack, "moves-stack");
	if (instruction->stack)
		add(" register %u%+lld", instruction->stack,
				(long long)instruction->stack_distance);
	if (instruction->constant)
		add(" constant %llx", (unsigned long long)instruction->constant);
	if (instruction->displacement)
		add(" displacement %llx", (unsigned long long)instruction->displacement);
	add_if(instruction->absolute, "absolute");
	if (instruction->refused)
		add(" (%s)", instruction->refused);
}

static void test_decoded(void **unused)
{
	(void)unused;
	for (EACH(decoded, row)) {
		struct x86_instruction instruction;
		size_t size = (size_t)(row->end - row->begin);

		*text = '\0';
		if (x86_decode(row->begin, size, AT, &instruction)) {
			describe_instruction(&instruction);
			assert_int_equal(instruction.piece.length, size);
			/* One byte less is no instruction. */
			assert_false(x86_decode(row->begin, size - 1, AT, &instruction));
		} else {
			add("none");
		}
		compare(row, text);
	}
	end_table();
}

/* ---- bytes of memory operands ---- */

TABLE(accessed);
ROW(accessed, "mov (%rax),%ecx", "4");
ROW(accessed, "mov (%rax),%rcx", "8");
ROW(accessed, "mov (%rax),%cl", "1");
ROW(accessed, "mov (%rax),%cx", "2");
ROW(accessed, "movups (%rax),%xmm1", "16");
ROW(accessed, "vmovups %ymm1,(%rax)", "32");
ROW(accessed, "fldt (%rax)", "10");
ROW(accessed, "lea (%rax),%rcx", "0");
ROW(accessed, "push (%rax)", "8");
ROW(accessed, "push %rax", "0");
ROW(accessed, "mov %rax,%rcx", "0");
ROW(accessed, "imul $5,(%rax),%ecx", "4");
ROW(accessed, ".byte 0x06", "0");

static void test_accessed(void **unused)
{
	(void)unused;
	for (EACH(accessed, row)) {
		*text = '\0';
		add("%u", x86_memory_bytes(row->begin, (size_t)(row->end - row->begin)));
		compare(row, text);
	}
	end_table();
}

/* ---- moves of addresses ---- */

TABLE(moved);
ROW(moved, "mov %rax,%rcx", "copy 1<-0");
ROW(moved, "mov %r15,%rsp", "copy 4<-15");
ROW(moved, "mov %rsp,%rbp", "copy 5<-4");
ROW(moved, "mov 8(%rbx),%rcx", "load 1<-3");
ROW(moved, "mov %rcx,8(%rbx)", "store 3<-1");
ROW(moved, "mov %rcx,0x1000(%rip)", "");
ROW(moved, "mov %rcx,0x1000", "");
ROW(moved, "mov 0x1000(%rip),%rcx", "load 1<-16");
ROW(moved, "lea 8(%rbx),%rcx", "copy 1<-3");
ROW(moved, "lea 8(,%rbx,8),%rcx", "copy 1<-16");
ROW(moved, "mov %eax,%ecx", "");
ROW(moved, "mov %eax,%esp", "copy 4<-16");
ROW(moved, "mov %ax,%sp", "copy 4<-16");
ROW(moved, "mov %rsp,%gs", "");
ROW(moved, "push %rbx", "store 4<-3");
ROW(moved, "push $5", "");
ROW(moved, "push (%rbx)", "");
ROW(moved, "pop %rbx", "");
ROW(moved, "pop %rsp", "load 4<-4");
ROW(moved, "pop (%rbx)", "");
ROW(moved, "xchg %rax,%rsp", "copy 4<-16, copy 0<-4");
/* xchg %rcx,%rbx; assemblers choose either order of its operands. */
ROW(moved, ".byte 0x48, 0x87, 0xcb", "copy 3<-1, copy 1<-3");
ROW(moved, "xchg %rcx,(%rbx)", "store 3<-1, load 1<-3");
ROW(moved, "add %rax,%rsp", "");
ROW(moved, "sub $8,%rsp", "");
ROW(moved, "and $-16,%rsp", "");
ROW(moved, "or $1,%rsp", "");
ROW(moved, "inc %rsp", "");
ROW(moved, "dec %rsp", "");
ROW(moved, "leave", "");
ROW(moved, "ret", "");
ROW(moved, "call *%rax", "");
ROW(moved, "imul $3,%rcx,%rsp", "copy 4<-16");
ROW(moved, "xor %rcx,%rsp", "copy 4<-16");
ROW(moved, "xor %rcx,%rcx", "copy 1<-16");
ROW(moved, "cmove %rax,%rsp", "copy 4<-0");
ROW(moved, "cmp %rax,%rsp", "");
ROW(moved, "not %rsp", "copy 4<-16");
ROW(moved, "movq %xmm1,%rsp", "copy 4<-16");
ROW(moved, "nop", "");
ROW(moved, ".byte 0x06", "no instruction");

static void test_moved(void **unused)
{
	static const char *const names[] = {"none", "copy", "load", "store"};

	(void)unused;
	for (EACH(moved, row)) {
		struct x86_move moves[2];
		size_t size = (size_t)(row->end - row->begin);
		unsigned int length = x86_moves(row->begin, size, moves);

		*text = '\0';
		assert_true(!length || length == size);
		add("%s", length ? "" : "no instruction");
		for (unsigned int i = 0; length && i < 2; i++) {
			if (moves[i].kind != X86_MOVE_NONE)
				add("%s%s %u<-%u", i ? ", " : "", names[moves[i].kind], moves[i].to,
						moves[i].from);
		}
		compare(row, text);
	}
	end_table();
}

/* ---- files ---- */

#define HEAD 0x1000u
#define IMAGE_MAX (1u << 20)
#define SYMBOLS_MAX 16
#define NAME_AT 17 /* of the first function, in the names */

static struct {
	bool fixed;
	uint64_t base;
	const void *data; /* after the code, aligned to 8 bytes */
	size_t data_size;
	const char *data_section; /* its name; NULL: it has no section */
	uint32_t data_type;
	size_t nr_functions;
	struct {
		uint32_t at, size;
		bool chooses;
	} functions[SYMBOLS_MAX];
	uint32_t entry;
	char name[14]; /* of the first function */
	/* unwind data of all functions: the return address is on top of the stack */
	bool has_frames;
	int shifted;   /* a function whose return address is one word above; negative: none */
	int uncovered; /* a function without unwind data; negative: none */
} setup;

static struct code_file *file;
static uint64_t code_address, data_address;

struct head {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[5];
	char names[64];
	Elf64_Sym symbols[SYMBOLS_MAX];
};

static void fill_head(struct head *head, size_t code_size, size_t data_at)
{
	static const char names[] = "\0.symtab\0.strtab";
	const uint64_t flat = offsetof(struct head, names);

	*head = (struct head){.header = {.e_type = setup.fixed ? ET_EXEC : ET_DYN,
					      .e_machine = EM_X86_64,
					      .e_entry = code_address + setup.entry,
					      .e_phoff = offsetof(struct head, segments),
					      .e_phnum = 2,
					      .e_phentsize = sizeof(Elf64_Phdr),
					      .e_shoff = offsetof(struct head, sections),
					      .e_shnum = 4,
					      .e_shentsize = sizeof(Elf64_Shdr),
					      .e_shstrndx = 2}};
	memcpy(head->header.e_ident, ELFMAG, SELFMAG);
	head->header.e_ident[EI_CLASS] = ELFCLASS64;
	head->header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(head->names, names, sizeof(names));
	strcpy(head->names + NAME_AT, setup.name);
	strcpy(head->names + 32, setup.data_section ? setup.data_section : "");
	head->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = HEAD,
			.p_vaddr = code_address,
			.p_filesz = code_size,
			.p_memsz = code_size};
	head->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
			.p_flags = PF_R,
			.p_offset = data_at,
			.p_vaddr = data_address,
			.p_filesz = setup.data_size,
			.p_memsz = setup.data_size};
	head->sections[1] = (Elf64_Shdr){.sh_name = 1,
			.sh_type = SHT_SYMTAB,
			.sh_offset = offsetof(struct head, symbols),
			.sh_size = setup.nr_functions * sizeof(Elf64_Sym),
			.sh_link = 2};
	head->sections[2] = (Elf64_Shdr){.sh_name = 9,
			.sh_type = SHT_STRTAB,
			.sh_offset = flat,
			.sh_size = sizeof(head->names)};
	head->sections[3] = (Elf64_Shdr){.sh_name = setup.data_section ? 32 : 0,
			.sh_type = setup.data_type,
			.sh_flags = SHF_ALLOC,
			.sh_addr = data_address,
			.sh_offset = data_at,
			.sh_size = setup.data_type || setup.data_section ? setup.data_size : 0};
	for (size_t i = 0; i < setup.nr_functions; i++)
		head->symbols[i] = (Elf64_Sym){.st_name = i || !*setup.name ? 1 : NAME_AT,
				.st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL,
						setup.functions[i].chooses ? STT_GNU_IFUNC
									   : STT_FUNC),
				.st_shndx = 1,
				.st_value = code_address + setup.functions[i].at,
				.st_size = setup.functions[i].size};
}

/* Opens a file with this code. */
static void open_code(const void *code, size_t size)
{
	static uint8_t image[IMAGE_MAX];
	const size_t data_at = HEAD + (size + 7) / 8 * 8;
	struct error error = {.text = ""};

	assert_true(data_at + setup.data_size <= sizeof(image));
	code_address = setup.base + HEAD;
	data_address = setup.base + data_at;
	fill_head((struct head *)image, size, data_at);
	memcpy(image + HEAD, code, size);
	if (setup.data_size)
		memcpy(image + data_at, setup.data, setup.data_size);
	if (code_open_memory(image, data_at + setup.data_size, "file", &file, &error))
		fail_msg("%s", error.text);
}

static void begin_setup(void)
{
	memset(&setup, 0, sizeof(setup));
	setup.base = 0x10000;
	setup.shifted = setup.uncovered = -1;
}

/* One CIE, and one FDE for each function, in the section .eh_frame. */
static void make_frames(void)
{
	static uint8_t bytes[1024];
	static const uint8_t common[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1,
			0x00, 0x0c, 7, 8, 0x90, 1, 0, 0};
	size_t at = sizeof(common);

	memcpy(bytes, common, sizeof(common));
	for (size_t i = 0; i < setup.nr_functions; i++) {
		const bool is_shifted = setup.shifted == (int)i;
		const uint32_t length = 28, back = (uint32_t)at + 4;
		const uint64_t words[2] = {
				setup.base + HEAD + setup.functions[i].at, setup.functions[i].size};

		if (setup.uncovered == (int)i)
			continue;
		memcpy(bytes + at, &length, 4);
		memcpy(bytes + at + 4, &back, 4);
		memcpy(bytes + at + 8, words, sizeof(words));
		memcpy(bytes + at + 24, is_shifted ? "\0\x0e\x10\0\0\0\0\0" : "\0\0\0\0\0\0\0\0",
				8);
		at += 32;
	}
	setup.data = bytes;
	setup.data_size = at;
	setup.data_section = ".eh_frame";
	setup.data_type = SHT_PROGBITS;
}

static void set_function(uint32_t at, uint32_t size)
{
	assert_true(setup.nr_functions < SYMBOLS_MAX);
	setup.functions[setup.nr_functions].at = at;
	setup.functions[setup.nr_functions++].size = size;
}

static void continue_at(const char **at, int length)
{
	assert_int_not_equal(length, 0);
	*at += length;
	*at += **at == ' ';
}

/*
 * Reads `fixed`, `base HEX`, `OFFSET+SIZE` of a function (with ? for a resolver), `@OFFSET` of the
 * location. Returns the location.
 */
static uint64_t read_setup(const struct row *row)
{
	const char *at = row->setup;
	uint64_t location = 0;
	int length;

	begin_setup();
	while (*at) {
		unsigned int begin, size;
		unsigned long long base;
		char mark;

		length = 0;
		if (!strncmp(at, "none", 4)) {
			length = 4;
		} else if (!strncmp(at, "fixed", 5)) {
			setup.fixed = true;
			length = 5;
		} else if (sscanf(at, "base %llx%n", &base, &length) == 1) {
			setup.base = base;
		} else if (!strncmp(at, "frames", 6)) {
			setup.has_frames = true;
			length = 6;
		} else if (sscanf(at, "name %13[^ ]%n", setup.name, &length) == 1 ||
				sscanf(at, "shifted %d%n", &setup.shifted, &length) == 1 ||
				sscanf(at, "uncovered %d%n", &setup.uncovered, &length) == 1) {
			continue_at(&at, length);
			continue;
		} else if (sscanf(at, "@%u%n", &begin, &length) == 1) {
			location = begin;
		} else if (sscanf(at, "%u+%u%n", &begin, &size, &length) == 2) {
			set_function(begin, size);
			if (sscanf(at + length, "%c", &mark) == 1 && mark == '?') {
				setup.functions[setup.nr_functions - 1].chooses = true;
				length++;
			}
		}
		continue_at(&at, length);
	}
	if (!setup.nr_functions && strncmp(row->setup, "none", 4) != 0)
		set_function(0, (uint32_t)(row->end - row->begin));
	if (setup.has_frames)
		make_frames();
	open_code(row->begin, (size_t)(row->end - row->begin));
	return code_address + location;
}

/* ---- the stack ---- */

TABLE(stacks);
#define STACK(code, wanted) ROW(stacks, code, wanted)
STACK("ret", "");
STACK("mov (%rsp),%rax; ret", "return");
STACK("mov 7(%rsp),%al; ret", "return");
STACK("mov 8(%rsp),%al; ret", "next");
STACK("mov 15(%rsp),%al; ret", "next");
STACK("mov 16(%rsp),%al; ret", "");
STACK("mov -1(%rsp),%al; ret", "");
STACK("mov -1(%rsp),%ax; ret", "return");
STACK("mov -8(%rsp),%rax; ret", "");
STACK("mov -7(%rsp),%rax; ret", "return");
STACK("lea (%rsp),%rax; ret", "location");
STACK("lea 8(%rsp),%rax; ret", "next");
STACK("lea -8(%rsp),%rax; ret", "");
STACK("lea -8(%rsp),%rsp; mov 8(%rsp),%rax; add $8,%rsp; ret", "return");
STACK("mov (%rsp,%rcx),%rax; ret", "");
STACK("push %rbx; mov 8(%rsp),%rax; pop %rbx; ret", "return");
STACK("push %rbx; mov 16(%rsp),%rax; pop %rbx; ret", "next");
STACK("pushf; mov 8(%rsp),%rax; popf; mov 8(%rsp),%rax; ret", "return next");
STACK("sub $24,%rsp; mov 24(%rsp),%rax; add $24,%rsp; ret", "return");
STACK("sub $24,%rsp; mov 23(%rsp),%al; add $24,%rsp; ret", "");
STACK("add $-24,%rsp; mov 24(%rsp),%rax; sub $-24,%rsp; ret", "return");
STACK("sub %rax,%rsp; mov 24(%rsp),%rax; ret", "unknown");
STACK("and $-16,%rsp; ret", "");
STACK("pop %rax; jmp *%rax", "return");
STACK("push %rbp; mov %rsp,%rbp; mov 8(%rbp),%rax; pop %rbp; ret", "return");
STACK("push %rbp; mov %rsp,%rbp; mov (%rbp),%rax; mov 8(%rax),%rcx; leave; ret", "callers-frame");
STACK("push %rbp; mov %rsp,%rbp; mov (%rbp),%rax; mov 16(%rax),%rcx; leave; ret", "");
STACK("push %rbp; mov %rsp,%rbp; mov %rbp,%rcx; mov (%rcx),%rax; mov 8(%rax),%rcx; leave; ret",
		"callers-frame gives-frame");
STACK("push %rbp; mov %rsp,%rbp; mov %rbp,%rcx; mov 8(%rcx),%rax; mov 8(%rax),%rcx; leave; ret",
		"return gives-frame");
STACK("push %rbp; mov %rsp,%rbp; mov (%rbp),%rax; xor %eax,%eax; mov $1,%rax; mov 8(%rax),%rcx; leave; ret",
		"");
STACK("push %rbp; mov %rsp,%rbp; sub $16,%rsp; mov %rbp,%rsp; pop %rbp; mov (%rsp),%rax; ret",
		"return");
STACK("push %rbp; mov %rsp,%rbp; sub $16,%rsp; leave; mov (%rsp),%rax; ret", "return");
STACK("leave; mov (%rsp),%rax; ret", "unknown");
STACK("mov %rsp,%rcx; ret", "location");
STACK("push %rbx; mov %rsp,%rcx; mov 8(%rcx),%rax; pop %rbx; ret", "return");
STACK("lea 8(%rsp),%rdi; mov -8(%rdi),%rax; ret", "return next");
STACK("lea (%rsp),%rdi; call .+0x1000; ret", "return location call+4100");
STACK("lea (%rsp),%r9; call .+0x1000; ret", "return location call+4100");
STACK("lea (%rsp),%r10; call .+0x1000; ret", "location call+4100");
STACK("lea 8(%rsp),%rbx; call .+0x1000; mov -8(%rbx),%rax; ret", "next call+4101");
STACK("call .+0x1000; ret", "call+4096");
STACK("push %rbx; call .+0x1000; pop %rbx; jmp .+0x2000", "tail+8199");
STACK("jmp .+0x1000", "tail+4096");
STACK("test %eax,%eax; .byte 0x0f,0x84,0,1,0,0; ret", "tail+264");
STACK("jrcxz 1f; push %rbx; 1: mov (%rsp),%rax; ret", "unknown");
STACK("xchg %rsp,%rax; mov 8(%rsp),%rcx; ret", "unknown");
STACK("xchg %rax,%rsp; mov 8(%rsp),%rcx; ret", "unknown");
STACK("xchg %rax,%rbp; mov 8(%rbp),%rcx; ret", "");
STACK("call 1f; 1: pop %rax; ret", "call+5");
STACK("call 1f; ret; 1: mov 8(%rsp),%rax; ret", "return call+6");
STACK("call 1f; ret; 1: mov (%rsp),%rax; ret", "call+6");
STACK("jmp *%rax; mov 8(%rbp),%rax; ret", "");
STACK("push %rbp; mov %rsp,%rbp; jmp *%rax; mov 8(%rbp),%rax; ret", "return");
STACK("jmp *%rax; mov 8(%rsp),%rax; ret", "unknown");
STACK("jmp *%rax; nop; nop", "");
STACK("jmp *%rax; .byte 0x06", "fails");
STACK(".byte 0x06", "fails");
STACK("ret; .byte 0xb8", "fails");
STACK("lea 8(%rsp),%r10; and $-16,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; ret", "next");
STACK("and $-16,%rsp; push 8(%rbp); ret", "");
STACK("sub $0x0fffffff,%rsp; mov 0x0fffffff(%rsp),%rax; ret", "return");
STACK("sub $0x10000000,%rsp; mov 0x10000000(%rsp),%rax; ret", "unknown");
STACK("add $0x0fffffff,%rsp; mov -0x0fffffff(%rsp),%rax; ret", "return");
STACK("add $0x10000000,%rsp; mov -0x10000000(%rsp),%rax; ret", "unknown");
STACK("mov %rsp,%rbp; mov %rbp,%rsp; ret", "");
STACK("push %rbp; mov %rsp,%rbp; mov %rbp,8(%rax); leave; ret", "gives-frame");
STACK("push %rbp; mov %rsp,%rbp; push %rbx; mov %rsp,%rdi; pop %rbx; pop %rbp; mov 8(%rbp),%rax; ret",
		"");
STACK("lea 8(%rsp),%rax; test %ecx,%ecx; je 1f; lea 16(%rsp),%rax; 1: mov -8(%rax),%rcx; ret",
		"next");
STACK("lea 8(%rsp),%rax; test %ecx,%ecx; je 1f; nop; 1: mov -8(%rax),%rcx; ret", "return next");
STACK("push %rbp; mov %rsp,%rbp; mov (%rbp),%rax; test %ecx,%ecx; je 1f; mov %rbp,%rdx; 1: mov 8(%rax),%rcx; leave; ret",
		"callers-frame gives-frame");
STACK("movb $1,(%rsp); ret", "return");
STACK("lea 8(%rsp),%rax; mov $1,%al; mov -8(%rax),%rcx; ret", "next");
STACK("lea 24(%rsp),%rax; sub $16,%rax; add $8,%rax; mov -16(%rax),%cl; ret", "return");

static void test_stacks(void **unused)
{
	static struct x86_stack_use use;

	(void)unused;
	for (EACH(stacks, row)) {
		(void)read_setup(row);
		*text = '\0';
		add_if(x86_stack_use(file, file->functions, &use) == -EINVAL, "fails");
		add_if(use.return_address, "return");
		add_if(use.location, "location");
		add_if(use.callers_frame, "callers-frame");
		add_if(use.gives_frame, "gives-frame");
		add_if(use.unknown, "unknown");
		add_if(use.next_word, "next");
		for (size_t i = 0; i < use.nr_shallow; i++)
			add(" %s%+lld", use.shallow[i].tail ? "tail" : "call",
					(long long)(use.shallow[i].target - code_address));
		compare(row, *text ? text + 1 : text);
		code_close(file);
	}
	end_table();
}

/* ---- arguments ---- */

TABLE(arguments);
#define ARGUMENTS(setup, code, wanted) SETUP_ROW(arguments, setup, code, wanted)
ARGUMENTS("", "mov %rdi,%rax; ret", "rdi rsp");
ARGUMENTS("", "movaps %xmm8,%xmm0; movaps %xmm7,%xmm1; ret", "rsp xmm7");
ARGUMENTS("", "mov (%rsi,%rdx,8),%al; ret", "rdx rsi rsp");
ARGUMENTS("", "xor %edi,%edi; mov %rdi,%rax; ret", "rsp");
ARGUMENTS("", "xor %edi,%esi; ret", "rsi rdi rsp");
ARGUMENTS("", "sub %edi,%edi; sbb %esi,%esi; pxor %xmm0,%xmm0; xorps %xmm1,%xmm1; xorpd %xmm2,%xmm2; pcmpeqd %xmm3,%xmm3; vpxor %xmm4,%xmm4,%xmm5; vxorps %xmm6,%xmm6,%xmm7; ret",
		"rsp");
ARGUMENTS("", "vpternlogd $0xff,%zmm1,%zmm1,%zmm1; vpternlogd $0xfe,%zmm2,%zmm2,%zmm2; ret",
		"rsp xmm2");
ARGUMENTS("", "add %edi,%edi; ret", "rdi rsp");
ARGUMENTS("", "cvtsi2sd %rsi,%xmm0; ret", "rsi rsp");
ARGUMENTS("", "vcvtsi2sd %rsi,%xmm1,%xmm0; ret", "rsi rsp");
ARGUMENTS("", "sqrtsd %xmm1,%xmm0; vsqrtss %xmm2,%xmm3,%xmm4; roundsd $1,%xmm5,%xmm6; vroundss $1,%xmm6,%xmm7,%xmm7; ret",
		"rsp xmm1 xmm2 xmm5");
ARGUMENTS("", "addsd %xmm1,%xmm0; ret", "rsp xmm0 xmm1");
ARGUMENTS("", "mov %r8d,4(%rsp); mov %r9b,5(%rsp); ret", "rsp r8 r9");
ARGUMENTS("", "cmove %edi,%esi; ret", "rsi rdi rsp");
ARGUMENTS("", "nopl (%rdi); ret", "rsp");
ARGUMENTS("", "test %edi,%edi; je 1f; mov %rsi,%rax; ret; 1: mov %rdx,%rax; ret",
		"rdx rsi rdi rsp");
ARGUMENTS("", "mov $1,%dil; mov %rdi,%rax; ret", "rsp");
ARGUMENTS("", "jmp 1f; mov %rdi,%rax; 1: mov %rsi,%rax; ret", "rsi rsp");
ARGUMENTS("", "nop; call 1f; mov %rsi,%rax; ret; 1: mov %rdi,%rax; ret", "rdi rsp");
ARGUMENTS("", "call 1f; mov %rsi,%rax; ret; 1: mov %rdi,%rax; ret", "rsi rsp");
ARGUMENTS("", "endbr64; call 1f; mov %rsi,%rax; ret; 1: mov %rdi,%rax; ret", "rsi rsp");
ARGUMENTS("", "endbr64; nop; call 1f; mov %rsi,%rax; ret; 1: mov %rdi,%rax; ret", "rdi rsp");
ARGUMENTS("", "nop; call *%rdx; mov %rsi,%rax; ret", "rdx rsp");
ARGUMENTS("", "jmp *%rcx", "rcx");
ARGUMENTS("", "jmp 1f; 1: mov %rsi,8(%rsp); mov %rdx,16(%rdi); test %al,%al; je 2f; movaps %xmm0,32(%rsp); 2: ret",
		"rax rdi rsp");
ARGUMENTS("", "mov %rsi,8(%rsp); test %al,%al; ret", "rax rsi rsp");
ARGUMENTS("", "jmp 1f; 1: mov %rsi,8(%rsp); test %cl,%cl; ret", "rcx rsi rsp");
ARGUMENTS("", "jmp 1f; 1: xor %eax,%eax; mov %rsi,8(%rsp); test %al,%al; ret", "rsi rsp");
ARGUMENTS("", "jmp 1f; 1: mov %rsi,8(%rsp,%rcx); add %rdx,8(%rsp); mov %rdi,(%rdi); test %al,%al; ret",
		"rax rdx rcx rsi rdi rsp");
ARGUMENTS("", "jmp 1f; 1: .fill 46,1,0x90; mov %rsi,8(%rsp); test %al,%al; ret", "rax rsp");
ARGUMENTS("", "jmp 1f; 1: .fill 47,1,0x90; mov %rsi,8(%rsp); test %al,%al; ret", "rax rsi rsp");
ARGUMENTS("", "jmp 1f; 1: call *%rbx; mov %rsi,8(%rsp); test %al,%al; ret", "rbx rsp");
ARGUMENTS("", "nop; call 1f; ret; 1: mov %rsi,8(%rsp); test %al,%al; ret", "rax rsp");
ARGUMENTS("", "mov %rbp,%rax; mov %rbx,%rcx; mov %rax,(%rsp); ret", "rbx rbp rsp");
ARGUMENTS("", "loop 1f; ret; 1: mov %rdi,%rax; ret", "rcx rdi rsp");
ARGUMENTS("", "2: test %rdi,%rdi; jmp 2b", "rdi");
ARGUMENTS("", ".byte 0x06", "");
ARGUMENTS("", ".fill 16383,1,0x90; mov %rdi,%rax; ret", "rdi");
ARGUMENTS("", ".fill 16384,1,0x90; mov %rdi,%rax; ret", "");

static void test_arguments(void **unused)
{
	static const char *const names[] = {
			"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10"};

	(void)unused;
	for (EACH(arguments, row)) {
		(void)read_setup(row);
		*text = '\0';
		for (unsigned int i = 0; i < 11; i++)
			add_if(code_reads_argument(file, code_address, i, false), names[i]);
		for (unsigned int i = 0; i < 9; i++) {
			if (code_reads_argument(file, code_address, i, true))
				add(" xmm%u", i);
		}
		compare(row, *text ? text + 1 : text);
		code_close(file);
	}
	/* Without memory the result is unknown. */
	(void)read_setup(__start_arguments);
	for (unsigned int i = 1; i <= 2; i++) {
		failing_arm(i);
		assert_int_equal(code_reads_argument(file, code_address, 5, false), -ENOMEM);
		assert_true(failing_has_failed());
	}
	assert_int_equal(code_reads_argument(file, code_address, 5, true), 0);
	code_close(file);
	end_table();
}

/* ---- exchanges of stacks ---- */

TABLE(exchanges);
#define EXCHANGE(code, wanted) ROW(exchanges, code, wanted)
EXCHANGE("sub $8,%rsp; add $8,%rsp; ret", "no");
EXCHANGE("mov %rdi,%rsp; ret", "yes");
EXCHANGE("mov %rsp,%rax; mov %rax,%rsp; ret", "no");
EXCHANGE("mov %rax,%rsp; mov %rsp,%rax; ret", "no");
EXCHANGE("mov %rsp,%rax; lea 8(%rax),%rbx; mov %rbx,%rsp; ret", "no");
EXCHANGE("mov %rsp,%rax; mov 8(%rax),%rbx; mov %rbx,%rsp; ret", "yes");
EXCHANGE("mov %rsp,%rax; mov %rax,8(%rsp); mov 8(%rsp),%rsp; ret", "no");
EXCHANGE("mov %rsp,%rax; mov %rax,8(%rdi); mov 8(%rdi),%rsp; ret", "yes");
EXCHANGE("mov %rsp,%rax; mov %rax,8(%rdi); mov 8(%rsp),%rsp; ret", "yes");
EXCHANGE("mov %rbp,8(%rsp); mov 8(%rsp),%rsp; ret", "yes");
EXCHANGE("mov %rbp,%rsp; ret", "no");
EXCHANGE("mov %rdi,%rbp; mov %rbp,%rsp; ret", "yes");
EXCHANGE("mov %rsp,%rbp; mov %rbp,%rsp; pop %rbp; ret", "no");
EXCHANGE("mov %rsp,(%rdi); ret", "no");
EXCHANGE("xchg %rax,%rsp; ret", "yes");
EXCHANGE("xchg %rsp,%rax; ret", "yes");
EXCHANGE("pop %rsp; ret", "yes");
EXCHANGE("push %rsp; pop %rsp; ret", "no");
EXCHANGE("push %rbp; pop %rsp; ret", "yes");
EXCHANGE("push %rsp; pop %rsp; mov %rdi,%rsp; ret", "yes");
EXCHANGE("imul $3,%rcx,%rsp; ret", "yes");
EXCHANGE("ret; .byte 0x06; mov %rdi,%rsp", "no");

static void test_exchanges(void **unused)
{
	(void)unused;
	for (EACH(exchanges, row)) {
		(void)read_setup(row);
		compare(row, code_exchanges_stack(file, file->functions) ? "yes" : "no");
		code_close(file);
	}
	end_table();
}

/* ---- choices ---- */

TABLE(choices);
#define CHOICE(setup, code, wanted) SETUP_ROW(choices, setup, code, wanted)
CHOICE("0+16? 16+4 20+4 24+4", "lea .+16(%rip),%rax; .skip 64,0x90", "16");
CHOICE("0+32? 32+4 36+4 40+4?",
		"lea 990b+32(%rip),%rax; lea 990b+36(%rip),%rcx; lea 990b+32(%rip),%rdx; ret; .byte 0x90; .skip 64,0x90",
		"32 36");
CHOICE("0+32? 32+4 36+4 40+4?",
		"lea 990b+33(%rip),%rax; lea 990b+0(%rip),%rcx; lea 990b+40(%rip),%rdx; ret; .byte 0x90; .skip 64,0x90",
		"");
CHOICE("0+32? 32+4 36+4", "mov $0x11020,%eax; mov $0x11024,%ecx; .skip 80,0x90", "");
CHOICE("fixed 0+32? 32+4 36+4", "mov $0x11020,%eax; mov $0x11024,%ecx; .skip 80,0x90", "32 36");
CHOICE("fixed 0+32? 32+4 36+4", "mov $0x11020,%eax; .byte 0x06; mov $0x11024,%ecx; .skip 80,0x90",
		"32 36");
CHOICE("0+10? 32+4 36+4", "lea 990b+32(%rip),%rax; lea 990b+36(%rip),%rcx; .skip 80,0x90", "32");
CHOICE("0+14? 32+4 36+4", "lea 990b+32(%rip),%rax; lea 990b+36(%rip),%rcx; .skip 80,0x90", "32 36");
CHOICE("0+9000? 9000+4", ".skip 8185,0x90; lea 990b+9000(%rip),%rax; .skip 900,0x90", "9000");
CHOICE("0+9000? 9000+4", ".skip 8186,0x90; lea 990b+9000(%rip),%rax; .skip 900,0x90", "");

static void test_choices(void **unused)
{
	(void)unused;
	for (EACH(choices, row)) {
		for (size_t capacity = 0; capacity < 4; capacity++) {
			uint64_t found[4] = {0};
			size_t count;

			(void)read_setup(row);
			count = code_choices(file, file->functions, found, capacity);
			*text = '\0';
			for (size_t i = 0; i < count; i++)
				add("%s%lld", i ? " " : "", (long long)(found[i] - code_address));
			if (capacity == 3)
				compare(row, text);
			assert_true(count <= capacity);
			code_close(file);
		}
	}
	end_table();
}

/* ---- sites ---- */

TABLE(sites);
#define SITE(setup, code, wanted) SETUP_ROW(sites, setup, code, wanted)
/* A jump. */
SITE("", "mov $1,%eax; ret", "jump 5/5/5 begins at 0 [0:5]");
SITE("", "push %rbp; mov %rsp,%rbp; sub $16,%rsp; leave; ret",
		"jump 8/5/8 begins at 0 [0:1] [1:3] [4:4]");
SITE("", "nop; nop; nop; nop; movabs $0x1122334455667788,%rax; ret",
		"jump 14/5/14 begins at 0 [0:1] [1:1] [2:1] [3:1] [4:10]");
SITE("", "endbr64; mov $1,%eax; ret", "jump 5/5/5 begins at 4 [0:5]");
SITE("0+4", "endbr64; mov $1,%eax; ret", "jump 9/5/9 begins at 0 [0:4] [4:5]");
SITE("", "nop; call .+0x1000; ret", "jump 6/5/6 ends begins at 0 [0:1] [1:5 call to +4097]");
SITE("", "nop; jmp .+0x1000; ret", "jump 6/5/6 ends begins at 0 [0:1] [1:5 branch to +4097]");
SITE("", "xor %eax,%eax; lea 0x100(%rip),%rcx; ret",
		"jump 9/5/9 begins at 0 [0:2] [2:7 relative field 3 to +265]");
/* A jump leads into its bytes. */
SITE("", "1: push %rax; push %rcx; push %rdx; push %rbx; push %rsi; jmp 1b",
		"jump 5/5/5 begins at 0 [0:1] [1:1] [2:1] [3:1] [4:1] {it never returns}");
SITE("", "push %rax; 1: push %rcx; push %rdx; push %rbx; push %rsi; push %rdi; jmp 1b",
		"punned 1/1/5 begins at 0 [0:1] (something jumps into its first five bytes) {it never returns}");
SITE("", "push %rax; push %rcx; 1: push %rdx; push %rbx; push %rsi; push %rdi; jmp 1b",
		"punned 2/2/5 begins at 0 [0:1] [1:1] (something jumps into its first five bytes) {it never returns}");
SITE("", "push %rax; push %rcx; push %rdx; 1: push %rbx; push %rsi; push %rdi; jmp 1b",
		"punned 3/3/5 begins at 0 [0:1] [1:1] [2:1] (something jumps into its first five bytes) {it never returns}");
SITE("", "push %rax; push %rcx; push %rdx; push %rbx; 1: push %rsi; push %rdi; jmp 1b",
		"punned 4/4/5 begins at 0 [0:1] [1:1] [2:1] [3:1] (something jumps into its first five bytes) {it never returns}");
SITE("", "push %rax; push %rcx; push %rdx; push %rbx; push %rsi; 1: push %rdi; jmp 1b",
		"jump 5/5/5 begins at 0 [0:1] [1:1] [2:1] [3:1] [4:1] {it never returns}");
/* Not displaced. */
SITE("", "syscall; nop; nop; nop; ret", "none 0/0/5 begins at 0 (a system call cannot be moved)");
SITE("", "mov $1,%al; syscall; nop; nop; ret",
		"punned 2/2/5 begins at 0 [0:2] (a system call cannot be moved)");
SITE("", "mov $1,%al; call *%rax; nop; nop; ret",
		"punned 4/4/5 ends begins at 0 [0:2] [2:2 call-indirect detail 1] (a call in its first bytes would return into the jump)");
SITE("", "mov %rax,%rsp; nop; nop; ret",
		"punned 3/3/5 begins at 0 [0:3] (an instruction in its first bytes sets the stack pointer)");
SITE("", ".byte 0x06; nop; nop; nop; ret", "-22");
SITE("", "mov $1,%al; .byte 0x06; nop; nop; ret",
		"punned 2/2/5 begins at 0 [0:2] (its first bytes are not instructions) {its file has no unwind data, and its instructions do not show what it does with its return address}");
/* Padding after the end. */
SITE("0+1 16+8", "ret; .skip 15,0x90; mov $1,%eax; .skip 3,0xc3",
		"padding 1/5/5 ends begins at 0 [0:1] (it is shorter than five bytes, and the bytes after it are in use)");
SITE("0+1 5+8", "ret; .skip 4,0x90; mov $1,%eax; .skip 3,0xc3",
		"padding 1/5/5 ends begins at 0 [0:1] (it is shorter than five bytes, and the bytes after it are in use)");
SITE("0+1 4+8", "ret; .skip 3,0x90; mov $1,%eax; .skip 3,0xc3",
		"breakpoint 1/1/5 ends begins at 0 [0:1] (a jump would need bytes of the next function, which may have its own probe)");
SITE("0+1 16+8", "ret; .skip 3,0x90; .byte 0x50; .skip 11,0x90; mov $1,%eax; .skip 3,0xc3",
		"punned 1/1/5 ends begins at 0 [0:1] (it is shorter than five bytes, and the bytes after it are in use)");
SITE("0+1 16+8", "ret; .skip 15,0x90; jmp 990b+4; mov $1,%eax; ret; nop; nop",
		"punned 1/1/5 ends begins at 0 [0:1] (something jumps into its first five bytes)");
SITE("0+1 16+8", "ret; .skip 15,0x90; jmp 990b+15; mov $1,%eax; ret; nop; nop",
		"punned 1/1/5 ends begins at 0 [0:1] (it is shorter than five bytes, and the bytes after it are in use)");
SITE("0+1 16+8", "ret; .skip 15,0x90; jmp 990b+16; mov $1,%eax; ret; nop; nop",
		"padding 1/5/5 ends begins at 0 [0:1] (it is shorter than five bytes, and the bytes after it are in use)");
SITE("0+1", "ret; .skip 4,0x90",
		"padding 1/5/5 ends begins at 0 [0:1] (it is shorter than five bytes, and the bytes after it are in use)");
SITE("0+1", "ret; .skip 3,0x90",
		"breakpoint 1/1/4 ends begins at 0 [0:1] (something jumps into its first five bytes)");
SITE("0+3 16+8", "pop %rax; pop %rcx; ret; .skip 13,0xcc; mov $1,%eax; .skip 3,0xc3",
		"padding 3/5/5 ends begins at 0 [0:1] [1:1] [2:1] (it is shorter than five bytes, and the bytes after it are in use) {it reads its own return address}");
SITE("0+1 16+8", "ret; .skip 15,0x90; nop; jmp 990b+16; mov $1,%al; .skip 3,0xc3",
		"padding 1/5/5 ends begins at 0 [0:1] (it is shorter than five bytes, and the bytes after it are in use)");
/* A short jump to padding. */
SITE("0+16 32+8",
		"1: push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 10,0x90; ret; .skip 16,0x90; mov $1,%eax; .skip 3,0xc3",
		"short 2/2/5 begins at 0 pad 16 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+128 144+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 122,0x90; ret; .skip 16,0x90; mov $1,%eax; .skip 3,0xc3",
		"short 2/2/5 begins at 0 pad 128 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+129 144+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 123,0x90; ret; .skip 15,0x90; mov $1,%eax; .skip 3,0xc3",
		"punned 2/2/5 begins at 0 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+130 144+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 124,0x90; ret; .skip 14,0x90; mov $1,%eax; .skip 3,0xc3",
		"punned 2/2/5 begins at 0 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+16 21+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 10,0x90; ret; .skip 5,0x90; mov $1,%eax; .skip 3,0xc3",
		"short 2/2/5 begins at 0 pad 16 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+16 20+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 10,0x90; ret; .skip 4,0x90; mov $1,%eax; .skip 3,0xc3",
		"punned 2/2/5 begins at 0 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+16 32+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 10,0x90; nop; .skip 16,0x90; mov $1,%eax; .skip 3,0xc3",
		"short 2/2/5 begins at 0 pad 16 [0:1] [1:1] (something jumps into its first five bytes) {it never returns}");
SITE("0+16 32+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 10,0x90; ret; .skip 15,0x90; push %rax; mov $1,%eax; .skip 3,0xc3",
		"punned 2/2/5 begins at 0 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+16 32+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 10,0x90; ret; .skip 16,0x90; jmp 990b+31; mov $1,%eax; ret",
		"punned 2/2/5 begins at 0 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+6 16+6 32+8 @16",
		"push %rax; push %rcx; push %rdx; push %rbx; push %rsi; ret; .skip 10,0x90; push %rax; push %rcx; 2: push %rdx; jmp 2b; ret; .skip 10,0x90; mov $1,%eax; .skip 3,0xc3",
		"short 2/2/5 begins at 16 pad 22 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+6 16+6 22+8 @16",
		"push %rax; push %rcx; push %rdx; push %rbx; push %rsi; ret; .skip 10,0x90; push %rax; push %rcx; 2: push %rdx; jmp 2b; ret; mov $1,%eax; .skip 3,0xc3",
		"short 2/2/5 begins at 16 pad 6 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+6 11+121 132+6 138+8 @132",
		"push %rax; push %rcx; push %rdx; push %rbx; push %rsi; ret; .skip 5,0x90; .skip 120,0x90; ret; push %rax; push %rcx; 2: push %rdx; jmp 2b; ret; mov $1,%eax; .skip 3,0xc3",
		"short 2/2/5 begins at 132 pad 6 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+6 11+122 133+6 139+8 @133",
		"push %rax; push %rcx; push %rdx; push %rbx; push %rsi; ret; .skip 5,0x90; .skip 121,0x90; ret; push %rax; push %rcx; 2: push %rdx; jmp 2b; ret; mov $1,%eax; .skip 3,0xc3",
		"punned 2/2/5 begins at 133 [0:1] [1:1] (something jumps into its first five bytes)");
SITE("0+16 32+8",
		"push %rax; push %rcx; 2: push %rdx; jmp 2b; .skip 9,0x90; .byte 0x06; ret; .skip 16,0x90; mov $1,%eax; .skip 3,0xc3",
		"punned 2/2/5 begins at 0 [0:1] [1:1] (something jumps into its first five bytes) {its file has no unwind data, and its instructions do not show what it does with its return address}");
/* Bytes of the next instructions are part of the distance. */
SITE("", "push %rax; 1: .byte 0x48,0x89,0xc8; jmp 1b",
		"punned 1/1/5 begins at 0 [0:1] (something jumps into its first five bytes) {it never returns}");
SITE("fixed base 400000", "push %rax; 1: .byte 0x48,0x89,0xc8; jmp 1b",
		"breakpoint 1/1/5 begins at 0 [0:1] (something jumps into its first five bytes) {it never returns}");
SITE("fixed base 400000", "push %rax; 1: mov $0x12,%bl; mov $0x55,%cl; jmp 1b",
		"punned 1/1/5 begins at 0 [0:1] (something jumps into its first five bytes) {it never returns}");
SITE("fixed base 400000", "push %rax; push %rcx; push %rdx; 1: .byte 0x00,0x00; jmp 1b",
		"breakpoint 1/1/5 begins at 0 [0:1] (something jumps into its first five bytes) {it never returns}");
SITE("fixed base 400000", "push %rax; push %rcx; push %rdx; 1: mov $0x11,%bl; jmp 1b",
		"punned 3/3/5 begins at 0 [0:1] [1:1] [2:1] (something jumps into its first five bytes) {it never returns}");
SITE("fixed base 400000", "push %rax; push %rcx; push %rdx; 1: mov $0x7f,%bl; jmp 1b",
		"punned 3/3/5 begins at 0 [0:1] [1:1] [2:1] (something jumps into its first five bytes) {it never returns}");
SITE("0+2 2+9", "xor %eax,%eax; 1: mov $1,%al; mov $2,%cl; mov $3,%dl; jmp 1b; ret",
		"breakpoint 2/1/5 begins at 0 [0:2] (a jump would need bytes of the next function, which may have its own probe)");
SITE("0+1 1+9", "push %rax; 1: mov $1,%al; mov $2,%cl; mov $3,%dl; jmp 1b; ret",
		"breakpoint 1/1/5 begins at 0 [0:1] (a jump would need bytes of the next function, which may have its own probe)");
SITE("0+4", "push %rax; push %rcx; jmp .-1",
		"breakpoint 1/1/4 begins at 0 [0:1] (something jumps into its first five bytes) {it never returns}");
/* Not the start of a function. */
SITE("@5", "mov $1,%eax; mov $2,%ecx; ret",
		"jump 5/5/5 at 5 [0:5] {it is not the start of a function}");
SITE("@6", "mov $1,%eax; mov $2,%ecx; ret", "-22");
SITE("0+10 @11", "mov $1,%eax; mov $2,%ecx; ret", "-2");
SITE("@1 0+5", "mov $1,%eax; mov $2,%ecx; ret", "-22");
SITE("@3", "mov %rdi,%rsp; mov $2,%ecx; ret",
		"kernel 5/1/5 at 3 [0:5] (the stack pointer may point to data there, and a hit stores below it) {it is not the start of a function}");
SITE("@2", "jmp *%rax; mov $2,%ecx; push %rax; ret",
		"jump 5/5/5 at 2 [0:5] {it is not the start of a function}");
SITE("@2", "jmp *%rax; push %rax; mov $2,%ecx; ret",
		"breakpoint 1/1/5 at 2 [0:1] (its function has an indirect jump whose target is unknown) {it is not the start of a function}");
SITE("fixed @2", "jmp *%rax; push %rax; mov $2,%ecx; ret",
		"jump 6/5/6 at 2 [0:1] [1:5] {it is not the start of a function}");
SITE("@9", "lea 990b-0x500(%rip),%rcx; jmp *%rax; push %rax; mov $2,%ecx; ret",
		"jump 6/5/6 at 9 [0:1] [1:5] {it is not the start of a function}");
SITE("@9", "lea 990b+9(%rip),%rcx; jmp *%rax; push %rax; mov $2,%ecx; ret",
		"breakpoint 1/1/5 at 9 [0:1] (its function has an indirect jump whose target is unknown) {it is not the start of a function}");
SITE("@6", "jmp *0x100(%rip); push %rax; mov $2,%ecx; ret",
		"jump 6/5/6 at 6 [0:1] [1:5] {it is not the start of a function}");

static const char *const methods[] = {
		"none", "jump", "padding", "short", "punned", "breakpoint", "kernel"};

static void describe_site(const struct probe_site *site)
{
	add("%s %u/%u/%u", methods[site->method], site->displaced, site->patched, site->nr_bytes);
	add_if(site->ends, "ends");
	add_if(site->begins, "begins");
	if (site->offset)
		add(" at %lld", (long long)(site->offset - HEAD));
	if (site->springboard)
		add(" pad %lld", (long long)(site->springboard - code_address));
	for (unsigned int i = 0; i < site->nr_pieces; i++) {
		add(" [%u:", site->pieces[i].at);
		describe_piece(&site->pieces[i], code_address);
		add("]");
	}
	if (site->reason)
		add(" (%s)", site->reason);
	if (site->no_exit)
		add(" {%s}", site->no_exit);
}

static void test_sites(void **unused)
{
	(void)unused;
	for (EACH(sites, row)) {
		uint64_t address = read_setup(row);
		struct probe_site site;
		int ret = code_site(file, address, &site);

		*text = '\0';
		if (ret) {
			add("%d", ret);
		} else {
			describe_site(&site);
			assert_int_equal(site.address,
					address + (site.offset - HEAD) - (address - code_address));
			assert_memory_equal(site.bytes, row->begin + (site.offset - HEAD),
					site.nr_bytes);
			if (site.springboard)
				assert_memory_equal(site.springboard_bytes,
						row->begin + (site.springboard - code_address), 5);
		}
		compare(row, text);
		/* A second request for the location gets the same answer. */
		if (!ret) {
			struct probe_site again;

			assert_int_equal(code_site(file, address, &again), 0);
			assert_int_equal(again.method, site.method);
			assert_int_equal(again.springboard, site.springboard);
		}
		code_close(file);
	}
	end_table();
}

/* ---- returns ---- */

TABLE(returns);
#define RETURN(setup, code, wanted) SETUP_ROW(returns, setup, code, wanted)
RETURN("", "ret", "");
RETURN("name setjmp", "ret", "it returns more than once");
RETURN("name __swapcontext", "ret", "it returns more than once");
RETURN("name swapcontexts", "ret", "");
RETURN("", "mov (%rsp),%rax; ret", "it reads its own return address");
RETURN("", "lea (%rsp),%rax; ret", "it reads its own return address");
RETURN("", "push %rbp; mov %rsp,%rbp; mov (%rbp),%rax; mov 8(%rax),%rcx; leave; ret",
		"it reads its own return address");
RETURN("", "push %rbp; mov %rsp,%rbp; mov %rbp,%rdi; leave; ret",
		"its file has no unwind data, and it passes the location of its return address on");
RETURN("", "leave; mov (%rsp),%rax; ret",
		"its file has no unwind data, and its instructions do not show what it does with its return address");
RETURN("", "ret; .byte 0x06",
		"its file has no unwind data, and its instructions do not show what it does with its return address");
RETURN("frames", "ret", "");
RETURN("frames 0+1 1+1 uncovered 0", "ret; ret",
		"the unwind data does not cover it, so its return address is not known");
RETURN("frames 0+1 1+1 shifted 0", "ret; ret",
		"according to the unwind data, it is not entered by a call");
RETURN("frames 0+5 5+1 shifted 1", "mov (%rsp),%rax; ret; ret", "it reads its own return address");
RETURN("frames", "lea (%rsp),%rax; ret", "it reads its own return address");
RETURN("frames", "vmovups (%rsp),%xmm1; ret", "it reads its own return address");
RETURN("frames", "vmovups (%r12),%xmm1; ret", "");
RETURN("frames", "lea 8(%rsp),%rax; mov -8(%rax),%rax; ret", "it reads its own return address");
RETURN("frames", "pop %rax; jmp *%rax", "it reads its own return address");
RETURN("frames", "push 8(%rsp); pop %rax; ret", "it reads its own return address");
RETURN("frames 0+6 6+7", "call 1f; ret; 1: mov 8(%rsp),%eax; ret; nop; nop",
		"a function that it calls reads its return address");
RETURN("frames 0+11 11+7",
		"push %rax; call 1f; add $8,%rsp; ret; 1: mov 8(%rsp),%eax; ret; nop; nop", "");
RETURN("frames 0+6 6+7", "call 1f; ret; 1: mov 16(%rsp),%eax; ret; nop; nop", "");
RETURN("frames 0+6 6+7 shifted 1", "call 1f; ret; 1: mov 8(%rsp),%eax; ret; nop; nop", "");
RETURN("frames 0+2 2+5", "jmp 1f; 1: mov (%rsp),%eax; ret; nop",
		"a function that it calls reads its return address");
RETURN("frames 0+2 2+2 4+2 6+2 8+2 10+6",
		"jmp 1f; 1: jmp 2f; 2: jmp 3f; 3: jmp 4f; 4: jmp 5f; 5: mov (%rsp),%eax; ret; nop; nop",
		"");
RETURN("frames 0+2 2+2 4+2 6+2 8+6",
		"jmp 1f; 1: jmp 2f; 2: jmp 3f; 3: jmp 4f; 4: mov (%rsp),%eax; ret; nop; nop",
		"a function that it calls reads its return address");
RETURN("frames 0+2 2+5", "jmp 1f; 1: nop; mov 8(%rsp),%al; ret", "");
RETURN("frames", "1: jmp 1b", "it never returns");
RETURN("frames", "1: nop; jmp 1b; nop", "it never returns");
RETURN("frames", "1: jmp 1b; push %rax", "");
RETURN("frames", "ud2", "it never returns");
RETURN("frames", "call .+0x1000", "it never returns");
RETURN("frames", "jmp *%rax", "");
RETURN("frames", "jmp .+0x1000", "");
RETURN("frames 0+2 2+1", "jmp .+2; nop", "");
RETURN("frames", "1: jrcxz .+0x50; jmp 1b", "");
RETURN("frames", "push %rbp; mov 0(%rbp),%rax; ret", "");
RETURN("frames 0+6 6+14",
		"call 1f; ret; 1: push %rbp; mov %rsp,%rbp; mov (%rbp),%rax; mov 8(%rax),%cl; leave; ret",
		"a function that it calls reads its return address");
RETURN("frames 0+11 11+14",
		"push %rcx; call 1f; add $8,%rsp; ret; 1: push %rbp; mov %rsp,%rbp; mov (%rbp),%rax; mov 8(%rax),%cl; leave; ret",
		"a function that it calls reads its return address");
RETURN("frames 0+11 11+14",
		"push %rcx; call 1f; add $8,%rsp; ret; 1: push %rbp; mov %rsp,%rbp; mov (%rbp),%rax; mov 9(%rax),%cl; leave; ret",
		"");
RETURN("frames 0+11 11+15",
		"push %rcx; call 1f; add $8,%rsp; ret; 1: push %rbp; mov %rsp,%rbp; mov %rbp,%rax; mov (%rax),%rax; mov 8(%rax),%cl; leave; ret",
		"a function that it calls reads its return address");
RETURN("frames 0+11 11+15",
		"push %rcx; call 1f; add $8,%rsp; ret; 1: push %rbp; mov %rsp,%rbp; mov %rbp,%r8; mov (%r8),%rax; mov 8(%rax),%cl; leave; ret",
		"a function that it calls reads its return address");
RETURN("frames 0+11 11+74",
		"push %rcx; call 1f; add $8,%rsp; ret; 1: push %rbp; .skip 60,0x90; mov %rsp,%rbp; mov (%rbp),%rax; mov 8(%rax),%cl; leave; ret",
		"a function that it calls reads its return address");
RETURN("frames 0+11 11+75",
		"push %rcx; call 1f; add $8,%rsp; ret; 1: push %rbp; .skip 61,0x90; mov %rsp,%rbp; mov (%rbp),%rax; mov 8(%rax),%cl; leave; ret",
		"");

static void test_returns(void **unused)
{
	(void)unused;
	for (EACH(returns, row)) {
		struct probe_site site;

		(void)read_setup(row);
		*text = '\0';
		assert_int_equal(code_entry(file, file->functions, &site), 0);
		compare(row, site.no_exit ? site.no_exit : "");
		code_close(file);
	}
	end_table();
}

/* If a part of the analysis runs out of memory, a return that cannot be seen is still refused. */
static void test_returns_without_memory(void **unused)
{
	static const char no_memory[] = "out of memory: its instructions were not examined";
	unsigned int nr_refused = 0, nr_unswept = 0;

	(void)unused;
	for (EACH(returns, row)) {
		bool has_failed = true;

		for (unsigned int number = 1; has_failed; number++) {
			struct probe_site site = {.no_exit = NULL};
			int ret;

			(void)read_setup(row);
			failing_arm(number);
			ret = code_entry(file, file->functions, &site);
			has_failed = failing_has_failed();
			*text = '\0';
			if (ret) {
				assert_int_equal(ret, -ENOMEM);
				assert_true(has_failed);
				/* The next request examines the whole file. */
				assert_int_equal(code_entry(file, file->functions, &site), 0);
				nr_unswept++;
			}
			if (!ret && site.no_exit && !strcmp(site.no_exit, no_memory)) {
				assert_true(has_failed);
				nr_refused++;
			} else {
				compare(row, site.no_exit ? site.no_exit : "");
			}
			code_close(file);
		}
	}
	end_table();
	assert_true(nr_refused > 0);
	assert_true(nr_unswept > 0);
}

/* ---- targets of branches ---- */

TABLE(targets);
#define TARGET(setup, code, wanted) SETUP_ROW(targets, setup, code, wanted)
TARGET("none", "jmp .+8; .byte 0x7f,6; jrcxz .+8; call .+16; .skip 20,0x90", "8 10 12 22");
TARGET("none", "lea 990b+7(%rip),%rax; .long 12,13,-7,-8,2", "0 7 19 20");
TARGET("none", "lea 990b+14(%rip),%rax; lea 990b+18(%rip),%rcx; .long -1,-2,-1000,3",
		"13 14 16 18");
TARGET("none", "lea 990b+14(%rip),%rax; lea 990b+23(%rip),%rcx; .long -1,-2,5,3", "12 13 14 23");
TARGET("none", "mov $0x11003,%eax; mov 0x11004,%ecx; mov 0x11005(%rcx),%ecx; .skip 8,0x90", "");
TARGET("none fixed", "mov $0x11003,%eax; mov 0x11004,%ecx; mov 0x11005(%rcx),%ecx; .skip 8,0x90",
		"3 4 5");
TARGET("0+20 20+4 24+8", "mov 990b+22(%rip),%ax; mov 990b+28(%rip),%cl; .skip 30,0x90",
		"0 20 22 24 28 22-24 28-29");
TARGET("0+20 20+4 24+8", "mov 990b+24(%rip),%eax; .skip 30,0x90", "0 20 24 24-28 24-32");
TARGET("0+20 20+4 24+8", "mov 990b+21(%rip),%eax; .skip 30,0x90", "0 20 21 24 21-25 24-32");
TARGET("20+4 24+8", "mov 990b+24(%rip),%eax; .skip 30,0x90", "20 24");
TARGET("0+20 20+4 24+8", "lea 990b+24(%rip),%eax; .skip 30,0x90", "0 20 24");
TARGET("fixed 0+20 20+4 24+8", "mov 0x11018,%eax; .skip 30,0x90", "0 20 24 24-28 24-32");
TARGET("0+20 20+4 24+8", "mov 0x11018,%eax; .skip 30,0x90", "0 20 24");
TARGET("fixed 0+20 20+4 24+8", "mov 0x11018(%rcx),%eax; .skip 30,0x90", "0 20 24");
TARGET("0+20 20+4 24+8", "nopl 990b+24(%rip); .skip 30,0x90", "0 20 24");

static void test_targets(void **unused)
{
	(void)unused;
	for (EACH(targets, row)) {
		size_t size = (size_t)(row->end - row->begin);

		(void)read_setup(row);
		assert_int_equal(code_sweep(file), 0);
		*text = '\0';
		for (size_t i = 0; i < size; i++) {
			if (code_is_target(file, code_address + i))
				add(" %zu", i);
		}
		for (size_t i = 0; i < file->nr_kept; i++)
			add(" %lld-%lld", (long long)(file->kept[i].from - code_address),
					(long long)(file->kept[i].to - code_address));
		compare(row, *text ? text + 1 : text);
		/* Outside of code. */
		assert_true(code_is_target(file, code_address - 1));
		code_close(file);
	}
	end_table();
}

static void add_targets(size_t size)
{
	assert_int_equal(code_sweep(file), 0);
	*text = '\0';
	for (size_t i = 0; i < size; i++) {
		if (code_is_target(file, code_address + i))
			add(" %zu", i);
	}
}

/*
 * Words of data are addresses if the addresses of the file are fixed, or if its relocations are
 * packed or unknown.
 */
static void test_words(void **unused)
{
	static const uint8_t code[64] = {0x90};
	uint64_t words[4] = {0x11003, 0x11005, 0x1103f, 0x11040};
	Elf64_Rela relas[2] = {{.r_addend = 0x11007}, {.r_addend = 0x11009}};

	(void)unused;
	for (unsigned int i = 0; i < 5; i++) {
		begin_setup();
		setup.data = i < 3 ? (void *)words : (void *)relas;
		setup.data_size = i < 3 ? sizeof(words) : sizeof(relas);
		setup.fixed = i == 1;
		setup.data_type = i == 2 ? 19 /* SHT_RELR */ : i > 2 ? SHT_RELA : 0;
		if (i == 4)
			setup.data_size--;
		open_code(code, sizeof(code));
		add_targets(sizeof(code));
		assert_string_equal(text,
				i == 1 || i == 2         ? " 3 5 63"
						: i == 3 ? " 7 9"
						: i == 4 ? " 7"
							 : "");
		code_close(file);
	}
}

/* A table of a switch has 65536 entries at most. */
static void test_long_table(void **unused)
{
	static uint8_t code[7 + 65538 * 4 + 8];

	(void)unused;
	memset(code, 0x90, sizeof(code));
	memcpy(code, "\x48\x8d\x05\0\0\0\0", 7); /* lea 0(%rip),%rax */
	for (unsigned int i = 0; i < 65538; i++) {
		int32_t away = i == 65535 ? -6 : i == 65536 ? -5 : -7;

		memcpy(code + 7 + (size_t)4 * i, &away, 4);
	}
	begin_setup();
	open_code(code, sizeof(code));
	add_targets(9);
	assert_string_equal(text, " 0 1 7");
	code_close(file);
}

/* ---- copies ---- */

static struct probe_site moved_site;

static const char *copy_to(uint64_t at)
{
	uint8_t copy[PROBE_COPY_MAX], map[PROBE_PIECES_MAX + 1];
	int size = probe_copy(&moved_site, at, copy, map);

	*text = '\0';
	if (size < 0) {
		add("%d", size);
		return text;
	}
	for (int i = 0; i < size; i++)
		add("%02x", copy[i]);
	for (unsigned int i = 0; i <= moved_site.nr_pieces; i++)
		add(" %u", map[i]);
	return text;
}

static void set_piece(enum probe_piece_kind kind, const char *bytes, unsigned int length,
		unsigned int field, unsigned int detail, uint64_t target)
{
	moved_site = (struct probe_site){.address = 0x1000,
			.runtime = 0x7f0000001000,
			.displaced = (uint8_t)length,
			.ends = kind == PROBE_BRANCH,
			.nr_pieces = 1,
			.pieces = {{.length = (uint8_t)length,
					.kind = (uint8_t)kind,
					.field = (uint8_t)field,
					.detail = (uint8_t)detail,
					.target = target}}};
	memcpy(moved_site.bytes, bytes, length);
}

static void test_copies(void **unused)
{
	const uint64_t near = 0x7f0000002000;

	(void)unused;
	set_piece(PROBE_COPIED, "\x50", 1, 0, 0, 0);
	assert_string_equal(copy_to(near), "50e9fbefffff 0 1");
	moved_site.ends = true;
	assert_string_equal(copy_to(near), "50 0 1");
	/* mov 0x10(%rip),%eax, with its distance at the end and in the middle. */
	set_piece(PROBE_RELATIVE, "\x8b\x05\x10\0\0\0", 6, 2, 0, 0x1016);
	assert_string_equal(copy_to(near), "8b0510f0ffffe9fbefffff 0 6");
	set_piece(PROBE_RELATIVE, "\xc7\x05\x10\0\0\0\x44\x33\x22\x11", 10, 2, 0, 0x101a);
	assert_string_equal(copy_to(near), "c70510f0ffff44332211e9fbefffff 0 10");
	/* The farthest addresses that the distance reaches, and one more. */
	set_piece(PROBE_BRANCH, "\xeb\x10", 2, 0, 0, 0x1012);
	assert_string_equal(copy_to(near), "e90df0ffff 0 5");
	assert_string_equal(copy_to(0x7f0000001012 - 5 - 0x7fffffff), "e9ffffff7f 0 5");
	assert_string_equal(copy_to(0x7f0000001012 - 5 - UINT64_C(0x80000000)), "-34");
	assert_string_equal(copy_to(0x7f0000001012 - 5 + UINT64_C(0x80000000)), "e900000080 0 5");
	assert_string_equal(copy_to(0x7f0000001012 - 5 + UINT64_C(0x80000001)), "-34");
	set_piece(PROBE_BRANCH_IF, "\x7f\x10", 2, 0, 0xf, 0x1012);
	assert_string_equal(copy_to(near), "0f8f0cf0ffffe9f7efffff 0 6");
	set_piece(PROBE_COUNTER, "\xe3\x10", 2, 0, 0, 0x1012);
	assert_string_equal(copy_to(near), "e302eb05e909f0ffffe9f4efffff 0 9");
	set_piece(PROBE_COUNTER, "\x67\xe3\x10", 3, 0, 0, 0x1012);
	assert_string_equal(copy_to(near), "67e302eb05e908f0ffffe9f4efffff 0 10");
	/* Calls push the address after the original. */
	set_piece(PROBE_CALL, "\xe8\x10\0\0\0", 5, 0, 0, 0x1015);
	moved_site.ends = true;
	assert_string_equal(copy_to(near), "6805100000c7442404007f0000e903f0ffff 0 18");
	moved_site.runtime = 0x7ffffffa;
	assert_string_equal(copy_to(0x7ffff000), "68ffffff7fe905100000 0 10");
	moved_site.runtime = 0x7ffffffb;
	assert_string_equal(copy_to(0x7ffff000), "6800000080c744240400000000e9fe0f0000 0 18");
	moved_site.runtime = 0xffffffff80000000;
	assert_string_equal(copy_to(0xffffffff80001000), "6805000080e90bf0ffff 0 10");
	set_piece(PROBE_CALL_INDIRECT, "\xff\xd0", 2, 0, 1, 0);
	moved_site.ends = true;
	assert_string_equal(copy_to(near), "6802100000c7442404007f0000ffe0 0 15");
	set_piece(PROBE_CALL_INDIRECT, "\x41\xff\x54\x24\x08", 5, 0, 2, 0);
	moved_site.ends = true;
	assert_string_equal(copy_to(near), "6805100000c7442404007f000041ff642408 0 18");
	set_piece(PROBE_CALL_INDIRECT, "\xff\x15\x10\0\0\0", 6, 2, 1, 0x1016);
	moved_site.ends = true;
	assert_string_equal(copy_to(near), "6806100000c7442404007f0000ff2503f0ffff 0 19");
	/* Three pieces. */
	set_piece(PROBE_COPIED, "\x50\x74\x10\x89\xc8", 1, 0, 0, 0);
	moved_site.nr_pieces = 3;
	moved_site.displaced = 5;
	moved_site.bytes[1] = 0x74;
	moved_site.bytes[3] = 0x89;
	moved_site.bytes[4] = 0xc8;
	moved_site.pieces[1] = (struct probe_piece){.at = 1,
			.length = 2,
			.kind = PROBE_BRANCH_IF,
			.detail = 4,
			.target = 0x1013};
	moved_site.pieces[2] = (struct probe_piece){.at = 3, .length = 2};
	assert_string_equal(copy_to(near), "500f840cf0ffff89c8e9f7efffff 0 1 7 9");
}

/* ---- the kernel ---- */

/* The instructions that the kernel emulates at a uprobe, by their first two bytes. */
static bool is_emulated(unsigned int first, unsigned int second)
{
	if (first == 0x0f)
		return second / 16 == 8;
	if (first == 0x41)
		return second / 8 == 10;
	return first == 0x90 || first == 0xe8 || first == 0xe9 || first == 0xeb ||
			first / 8 == 10 || first / 16 == 7;
}

static const char *reason_for_kernel(const char *bytes, size_t size)
{
	struct probe_site site = {
			.method = PROBE_KERNEL, .reason = "go", .nr_bytes = (uint8_t)size};

	memcpy(site.bytes, bytes, size);
	code_for_kernel(&site);
	assert_int_equal(site.method == PROBE_NONE, strcmp(site.reason, "go") != 0);
	return site.reason;
}

static void test_kernel(void **unused)
{
	static const char exchange
			[] = "a uprobe is not possible: the kernel mistakes an exchange of registers there for a nop",
		prefix[] = "a uprobe is not possible: the kernel refuses an instruction with one of these prefixes: lock, cs, ds, es, ss";
	static const char refused[] = "\x26\x2e\x36\x3e\xf0",
			  accepted[] = "\x64\x65\x66\x67\xf2\xf3";
	struct probe_site none = {
			.method = PROBE_NONE, .reason = "no", .nr_bytes = 2, .bytes = {0x41, 0x90}};

	(void)unused;
	assert_false(code_kernel_emulates((const uint8_t *)"\x90", 0));
	for (unsigned int i = 0; i < 65536; i++) {
		const uint8_t bytes[2] = {(uint8_t)(i / 256), (uint8_t)i};
		bool is_short = bytes[0] != 0x0f && bytes[0] != 0x41;

		assert_int_equal(code_kernel_emulates(bytes, 2), is_emulated(bytes[0], bytes[1]));
		assert_int_equal(code_kernel_emulates(bytes, 1),
				is_short && is_emulated(bytes[0], 0));
	}
	for (unsigned int i = 0; i < 16; i++) {
		char bytes[] = {(char)(0x40 + i), (char)0x90, 0};

		/* With the bit that selects r8, the nop is an exchange. */
		assert_string_equal(reason_for_kernel(bytes, 2), i & 1 ? exchange : "go");
	}
	assert_string_equal(reason_for_kernel("\x66\x41\x90", 3), exchange);
	assert_string_equal(reason_for_kernel("\x66\x41", 2), "go");
	assert_string_equal(reason_for_kernel("\x50\x41\x90", 3), "go");
	assert_string_equal(reason_for_kernel("\x41\x66\x90", 3), "go");
	assert_string_equal(reason_for_kernel("fffffffffffff\x41\x90", 15), exchange);
	assert_string_equal(reason_for_kernel("ffffffffffffff\x41\x90", 16), "go");
	for (const char *byte = refused; *byte; byte++) {
		char bytes[] = {*byte, 0x01, 0, 0}, later[] = {0x66, *byte, 0x01},
		     behind[] = {0x50, *byte};

		assert_string_equal(reason_for_kernel(bytes, 3), prefix);
		assert_string_equal(reason_for_kernel(later, 3), prefix);
		assert_string_equal(reason_for_kernel(later, 1), "go");
		assert_string_equal(reason_for_kernel(behind, 2), "go");
	}
	for (const char *byte = accepted; *byte; byte++) {
		char bytes[] = {*byte, 0x01, 0, 0}, before[] = {*byte, 0x41, (char)0x90};

		assert_string_equal(reason_for_kernel(bytes, 3), "go");
		assert_string_equal(reason_for_kernel(before, 3), exchange);
	}
	code_for_kernel(&none);
	assert_string_equal(none.reason, "no");
}

/* ---- files without functions ---- */

TABLE(reachable);
#define REACHED(setup, code, wanted) SETUP_ROW(reachable, setup, code, wanted)
REACHED("none", "nop; jmp 1f; nop; .byte 0x7f,4; 1: je 2f; ret; nop; 2: push %rax; ret",
		"0 1 6 8 10 11");
REACHED("none", "call 1f; lea 2f(%rip),%rax; mov $0x11013,%eax; ret; 1: nop; ret; nop; 2: nop; ud2; nop",
		"0 5 12 17 18 19 21 22");
REACHED("none fixed", "mov $0x11008,%eax; ret; nop; nop; nop; mov $7,%al; ret", "0 5 8 9 11");
REACHED("none fixed", "mov $0x11007,%eax; ret; nop; mov $0x11006,%eax; ret", "0 5 7 12");
REACHED("none", "push %rax; .byte 0x06", "0 1");
REACHED("none", "1: nop; jmp 1b; nop", "0 1");

static void test_reached(void **unused)
{
	(void)unused;
	for (EACH(reachable, row)) {
		size_t size = (size_t)(row->end - row->begin);
		struct probe_site site;
		bool is_reachable;

		(void)read_setup(row);
		*text = '\0';
		for (size_t i = 0; i < size; i++) {
			assert_int_equal(code_is_reachable(file, code_address + i, &is_reachable),
					0);
			if (is_reachable)
				add(" %zu", i);
			assert_int_equal(code_site(file, code_address + i, &site),
					is_reachable ? 0 : -ENOENT);
			assert_string_equal(site.no_exit, "it is not the start of a function");
		}
		assert_int_equal(code_is_reachable(file, code_address - 1, &is_reachable), 0);
		assert_false(is_reachable);
		compare(row, text + 1);
		code_close(file);
	}
	end_table();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_decoded),
			cmocka_unit_test(test_accessed),
			cmocka_unit_test(test_moved),
			cmocka_unit_test(test_stacks),
			cmocka_unit_test(test_arguments),
			cmocka_unit_test(test_exchanges),
			cmocka_unit_test(test_choices),
			cmocka_unit_test(test_sites),
			cmocka_unit_test(test_returns),
			cmocka_unit_test(test_returns_without_memory),
			cmocka_unit_test(test_targets),
			cmocka_unit_test(test_words),
			cmocka_unit_test(test_long_table),
			cmocka_unit_test(test_copies),
			cmocka_unit_test(test_kernel),
			cmocka_unit_test(test_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
