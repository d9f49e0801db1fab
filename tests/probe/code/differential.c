/* SPDX-License-Identifier: MIT */
/*
 * Executes each group of instructions that a probe would displace, in its original location and as
 * a copy. Both must leave the same registers, flags, vector registers and memory, and continue at
 * the same address: the next instruction, the target of a branch or a fault. The groups are those
 * at the starts of all functions of the given files, and all forms of branches; the registers are
 * random.
 *
 * Both run in a separate part of the address space, among bytes that trap: a signal ends each run.
 */
#include "probe/code/code.h"
#include "probe/code/copy.h"

#include "../../random.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <Zydis/Zydis.h>

#define SANDBOX 0x200000000000ull
#define SANDBOX_SIZE ((size_t)16 << 30)
#define ORIGINAL (SANDBOX + ((uint64_t)8 << 30))
#define PLACE (ORIGINAL + 2048) /* the address of the group */
#define COPY (ORIGINAL + ((uint64_t)1 << 30))
#define DATA (ORIGINAL + ((uint64_t)16 << 20))
#define CODE_SIZE 8192
#define DATA_SIZE 16384
#define GROUPS_MAX 65536
#define VECTOR_BYTES 256

struct outcome {
	greg_t registers[NGREG];
	uint8_t vectors[VECTOR_BYTES];
	uint8_t data[DATA_SIZE];
	int signal;
	uint64_t address; /* where the run ended */
};

static enum { IDLE, START, RUNNING } volatile phase;
static greg_t wanted_registers[NGREG], saved_registers[NGREG];
static uint8_t wanted_vectors[VECTOR_BYTES], pristine[DATA_SIZE];
static struct _libc_fpstate saved_vectors;
static struct outcome *running;

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)info;
	switch (phase) {
	case START:
		memcpy(saved_registers, user->uc_mcontext.gregs, sizeof(saved_registers));
		memcpy(&saved_vectors, user->uc_mcontext.fpregs, sizeof(saved_vectors));
		memcpy(user->uc_mcontext.gregs, wanted_registers, REG_CSGSFS * sizeof(greg_t));
		memcpy(user->uc_mcontext.fpregs->_xmm, wanted_vectors, VECTOR_BYTES);
		phase = RUNNING;
		break;
	case RUNNING:
		running->signal = number;
		memcpy(running->registers, user->uc_mcontext.gregs, sizeof(running->registers));
		memcpy(running->vectors, user->uc_mcontext.fpregs->_xmm, VECTOR_BYTES);
		running->address = (uint64_t)user->uc_mcontext.gregs[REG_RIP];
		memcpy(user->uc_mcontext.gregs, saved_registers, REG_CSGSFS * sizeof(greg_t));
		memcpy(user->uc_mcontext.fpregs, &saved_vectors, sizeof(saved_vectors));
		phase = IDLE;
		break;
	default: signal(number, SIG_DFL); break;
	}
}

static void run(uint64_t address, struct outcome *outcome)
{
	memcpy((void *)DATA, pristine, DATA_SIZE);
	wanted_registers[REG_RIP] = (greg_t)address;
	running = outcome;
	phase = START;
	__asm__ volatile("int3" ::: "memory");
	memcpy(outcome->data, (void *)DATA, DATA_SIZE);
	/* A trap reports the address after it. */
	outcome->address -= outcome->signal == SIGTRAP;
	outcome->registers[REG_RIP] = 0;
	outcome->registers[REG_EFL] &= 0xcd5;
}

/* Mostly values that instructions can use: addresses of data and small numbers. */
static uint64_t draw_value(void)
{
	switch (draw(8)) {
	case 0: return draw(UINT64_MAX >> 11) << draw(12);
	case 1:
	case 2: return draw(64);
	case 3: return 0 - draw(64);
	default: return DATA + 4096 + draw(8192 / 8) * 8;
	}
}

static void draw_state(void)
{
	for (int i = REG_R8; i <= REG_RCX; i++)
		wanted_registers[i] = (greg_t)draw_value();
	wanted_registers[REG_RSP] = (greg_t)(DATA + 8192 + draw(64) * 8);
	/* Carry, parity, adjust, zero, sign, overflow. */
	wanted_registers[REG_EFL] = (greg_t)((draw(0x1000) & 0x8d5) | 0x202);
	for (size_t i = 0; i < VECTOR_BYTES; i++)
		wanted_vectors[i] = (uint8_t)draw(256);
	for (size_t i = 0; i < DATA_SIZE; i += 8) {
		uint64_t value = draw_value();

		memcpy(pristine + i, &value, 8);
	}
}

/* True for instructions whose result differs between runs, or that would damage the test itself. */
static bool is_excluded(const struct probe_site *site)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction decoded;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned int i = 0; i < site->nr_pieces; i++) {
		const struct probe_piece *piece = &site->pieces[i];

		if (piece->kind >= PROBE_BRANCH && piece->kind <= PROBE_CALL &&
				piece->target - site->address < site->displaced)
			return true;
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL,
				    site->bytes + piece->at, piece->length, &decoded)))
			abort();
		switch (decoded.mnemonic) {
		case ZYDIS_MNEMONIC_RDTSC:
		case ZYDIS_MNEMONIC_RDTSCP:
		case ZYDIS_MNEMONIC_CPUID:
		case ZYDIS_MNEMONIC_RDRAND:
		case ZYDIS_MNEMONIC_RDSEED:
		case ZYDIS_MNEMONIC_RDPID:
		case ZYDIS_MNEMONIC_POPF:
		case ZYDIS_MNEMONIC_POPFQ:
		case ZYDIS_MNEMONIC_WRFSBASE:
		case ZYDIS_MNEMONIC_WRGSBASE:
		case ZYDIS_MNEMONIC_WRPKRU:
		case ZYDIS_MNEMONIC_FXRSTOR:
		case ZYDIS_MNEMONIC_FXRSTOR64:
		case ZYDIS_MNEMONIC_XRSTOR:
		case ZYDIS_MNEMONIC_XRSTOR64: return true;
		default: break;
		}
		if (decoded.mnemonic == ZYDIS_MNEMONIC_MOV && decoded.opcode == 0x8e)
			return true;
		/* Of the thread-local data, only the stack guard may be read. */
		if ((decoded.attributes &
				    (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS)) &&
				!(decoded.raw.disp.size == 32 && decoded.raw.disp.value == 0x28 &&
						decoded.opcode == 0x8b))
			return true;
	}
	return false;
}

/* Moves the site, with the group at PLACE and everything that it refers to in the data. */
static void move_site(struct probe_site *site)
{
	for (unsigned int i = 0; i < site->nr_pieces; i++) {
		struct probe_piece *piece = &site->pieces[i];
		uint8_t *field = site->bytes + piece->at + piece->field;
		int32_t distance;

		piece->target += PLACE - site->address;
		if (!piece->field)
			continue;
		piece->target = DATA + 4096 + draw(4096);
		distance = (int32_t)(piece->target - (PLACE + piece->at + piece->length));
		memcpy(field, &distance, 4);
	}
	site->address = site->runtime = PLACE;
}

/* Returns the address in the original that corresponds to the end of the copy. */
static uint64_t map_back(
		const struct probe_site *site, const uint8_t *map, int size, uint64_t address)
{
	unsigned int piece = 0;

	if (address < COPY || address >= COPY + (uint64_t)size)
		return address;
	while (piece + 1u < site->nr_pieces && address >= COPY + map[piece + 1])
		piece++;
	return PLACE + site->pieces[piece].at;
}

static void complain(const struct probe_site *site, const uint8_t *copy, int size, const char *what)
{
	printf("%s:", what);
	for (unsigned int i = 0; i < site->displaced; i++)
		printf(" %02x", site->bytes[i]);
	printf("\n  copy:");
	for (int i = 0; i < size; i++)
		printf(" %02x", copy[i]);
	printf("\n");
}

/* True if it ended at an indirect call to an invalid address. */
static bool faulting_call(const struct probe_site *site, const struct outcome *original)
{
	const struct probe_piece *last = &site->pieces[site->nr_pieces - 1];

	return last->kind == PROBE_CALL_INDIRECT && original->address == PLACE + last->at;
}

/*
 * True if the random state has the target of an indirect call where the copy has pushed its return
 * address already.
 */
static bool target_is_below_stack(const struct probe_site *site, const struct outcome *original,
		const struct outcome *copied)
{
	uint64_t slot = (uint64_t)original->registers[REG_RSP] -
			(faulting_call(site, original) ? 8 : 0);

	return site->pieces[site->nr_pieces - 1].kind == PROBE_CALL_INDIRECT &&
			copied->address == PLACE + site->displaced &&
			original->address != PLACE + site->displaced && slot >= DATA &&
			slot < DATA + DATA_SIZE - 8 &&
			(faulting_call(site, original) ||
					!memcmp(pristine + (slot - DATA), &original->address, 8));
}

static unsigned int compare(const struct probe_site *site, unsigned int rounds, unsigned int *ended)
{
	static struct outcome original, copied;
	uint8_t copy[PROBE_COPY_MAX], map[PROBE_PIECES_MAX + 1];
	int size = probe_copy(site, COPY, copy, map);
	const char *what = NULL;

	if (size <= 0) {
		complain(site, copy, 0, "no copy");
		return 1;
	}
	for (unsigned int i = 0; i < rounds && !what; i++) {
		draw_state();
		memset((void *)ORIGINAL, 0xcc, CODE_SIZE);
		memcpy((void *)PLACE, site->bytes, site->displaced);
		run(PLACE, &original);
		memset((void *)ORIGINAL, 0xcc, CODE_SIZE);
		memset((void *)COPY, 0xcc, CODE_SIZE);
		memcpy((void *)COPY, copy, (size_t)size);
		run(COPY, &copied);
		ended[original.address == PLACE + site->displaced            ? 0
						: original.signal == SIGTRAP ? 1
									     : 2]++;
		if (target_is_below_stack(site, &original, &copied))
			continue;
		/* The copy has pushed its return address before it reads the target of the call. */
		if (faulting_call(site, &original)) {
			memcpy(copied.data, original.data, DATA_SIZE);
			copied.registers[REG_RSP] = original.registers[REG_RSP];
		}
		if (original.signal != copied.signal)
			what = "another signal";
		else if (original.address != map_back(site, map, size, copied.address))
			what = "another place";
		else if (memcmp(original.registers, copied.registers, REG_ERR * sizeof(greg_t)) !=
				0)
			what = "other registers";
		else if (memcmp(original.vectors, copied.vectors, VECTOR_BYTES) != 0)
			what = "other vector registers";
		else if (memcmp(original.data, copied.data, DATA_SIZE) != 0)
			what = "other memory";
	}
	if (what)
		complain(site, copy, size, what);
	return what != NULL;
}

/* ---- groups of files ---- */

static struct probe_site *sites;
static size_t nr_sites;

static int by_bytes(const void *left, const void *right)
{
	const struct probe_site *a = left, *b = right;

	if (a->displaced != b->displaced)
		return a->displaced - b->displaced;
	return memcmp(a->bytes, b->bytes, a->displaced);
}

static void collect(const char *path)
{
	const struct code_function *functions;
	struct error error;
	struct code_file *file;
	size_t count;

	if (code_open(path, &file, &error)) {
		printf("%s\n", error.text);
		exit(1);
	}
	count = code_functions(file, &functions);
	for (size_t i = 0; i < count && nr_sites < GROUPS_MAX; i++) {
		struct probe_site *site = &sites[nr_sites];

		if (code_entry(file, &functions[i], site))
			abort();
		if (site->method == PROBE_NONE || is_excluded(site))
			continue;
		move_site(site);
		nr_sites++;
	}
	code_close(file);
}

/* ---- rare forms ---- */

#define FORM(text, pieces)                                        \
	{                                                         \
		(const uint8_t *)(text), sizeof(text) - 1, pieces \
	}

static const struct form {
	const uint8_t *bytes;
	size_t size;
	unsigned int pieces; /* the number of displaced pieces */
} forms[] = {
		FORM("\xe2\x10\x48\x89\xd8", 2),                 /* loop */
		FORM("\xe1\x10\x48\x89\xd8", 2),                 /* loope */
		FORM("\xe0\xf0\x48\x89\xd8", 2),                 /* loopne */
		FORM("\xe3\x20\x48\x89\xd8", 2),                 /* jrcxz */
		FORM("\x67\xe3\x20\x48\x89\xd8", 2),             /* jecxz */
		FORM("\x67\xe2\x20\x48\x89\xd8", 2),             /* loop with ecx */
		FORM("\xe8\x00\x01\x00\x00", 1),                 /* call */
		FORM("\x48\x83\xec\x08\xe8\x00\x01\x00\x00", 2), /* sub, call */
		FORM("\xff\xd0\x90\x90\x90",
				1), /* call *%rax: displaced only if it is the last one */
		FORM("\x48\x83\xec\x08\xff\xd3", 2),         /* sub; call *%rbx */
		FORM("\x48\x83\xec\x08\x41\xff\xd4", 2),     /* sub; call *%r12 */
		FORM("\x48\x83\xec\x08\x41\xff\x14\x24", 2), /* sub; call *(%r12) */
		FORM("\xff\x15\x00\x01\x00\x00", 1),         /* call *x(%rip) */
		FORM("\xff\x53\x18\x90\x90", 1),             /* call *0x18(%rbx) */
		FORM("\x48\x89\xe5\xff\x54\xc3\x18", 2),     /* mov; call *0x18(%rbx,%rax,8) */
		FORM("\xff\x25\x00\x01\x00\x00", 1),         /* jmp *x(%rip) */
		FORM("\xeb\x10\x90\x90\x90", 1),             /* jmp, and padding */
		FORM("\xe9\x00\x01\x00\x00", 1),             /* jmp near */
		FORM("\xc3\x90\x90\x90\x90", 1),             /* ret */
		FORM("\xc2\x08\x00\x90\x90", 1),             /* ret $8 */
		FORM("\x66\x0f\xef\x05\x00\x01\x00\x00", 1), /* pxor x(%rip),%xmm0 */
		FORM("\xc7\x05\x00\x01\x00\x00\x78\x56\x34\x12",
				1), /* movl $n,x(%rip): the field is not at the end */
		FORM("\x80\x3d\x00\x01\x00\x00\x07", 1),             /* cmpb $7,x(%rip) */
		FORM("\x66\x81\x05\x00\x01\x00\x00\x34\x12", 1),     /* addw $n,x(%rip) */
		FORM("\x0f\xc7\x0d\x00\x01\x00\x00", 1),             /* cmpxchg8b x(%rip) */
		FORM("\xc5\xfa\x6f\x05\x00\x01\x00\x00", 1),         /* vmovdqu x(%rip),%xmm0 */
		FORM("\x62\xf1\x7e\x08\x6f\x05\x00\x01\x00\x00", 1), /* the same, EVEX */
		FORM("\xf3\x0f\x1e\xfa\x55",
				2), /* endbr64; push, where the mark is not at the start */
		FORM("\x50\x9c\x5b\xf5\x58", 5), /* five of one byte each */
		FORM("\x41\x57\x41\x56\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 3),
		FORM("\xf3\xa4\x48\x89\xd8", 2), /* rep movsb */
		FORM("\xf0\x48\x0f\xb1\x0f", 1), /* lock cmpxchg */
};

/* Makes a file whose code is these bytes, followed by returns. */
static struct code_file *make_file(const uint8_t *bytes, size_t size)
{
	static uint8_t image[8192];
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					     ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = sizeof(header),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1};
	Elf64_Phdr program = {.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = 4096,
			.p_vaddr = 0x10000,
			.p_filesz = 4096,
			.p_memsz = 4096};
	struct error error;
	struct code_file *file;

	memset(image, 0xc3, sizeof(image));
	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), &program, sizeof(program));
	memcpy(image + 4096 + 1024, bytes, size);
	if (code_open_memory(image, sizeof(image), "made up", &file, &error)) {
		printf("%s\n", error.text);
		exit(1);
	}
	return file;
}

static unsigned int compare_form(const uint8_t *bytes, size_t size, unsigned int pieces,
		unsigned int rounds, unsigned int *ended)
{
	/* Smaller than a landing mark, so that the mark is not skipped. */
	const struct code_function function = {.address = 0x10400, .size = 1};
	struct code_file *file = make_file(bytes, size);
	struct probe_site site;
	unsigned int wrong = 0;

	if (code_entry(file, &function, &site))
		abort();
	if (site.nr_pieces != pieces) {
		printf("%u instructions displaced, not %u (%s)\n", site.nr_pieces, pieces,
				site.reason);
		complain(&site, NULL, 0, "of");
		wrong = 1;
	} else if (!is_excluded(&site)) {
		move_site(&site);
		wrong = compare(&site, rounds, ended);
	}
	code_close(file);
	return wrong;
}

static unsigned int compare_conditions(unsigned int rounds, unsigned int *ended)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < 16; i++) {
		const uint8_t near[] = {0x0f, (uint8_t)(0x80 + i), 0x00, 0x01, 0x00, 0x00};
		const uint8_t shorter[] = {(uint8_t)(0x70 + i), 0x40, 0x48, 0x89, 0xd8};

		wrong += compare_form(near, sizeof(near), 1, rounds, ended);
		wrong += compare_form(shorter, sizeof(shorter), 2, rounds, ended);
	}
	return wrong;
}

/* Refused forms, each with a word of the reason. */
static unsigned int compare_refusals(void)
{
	static const struct {
		const char *bytes;
		const char *reason;
	} refused[] = {
			{"\x0f\x05\xc3\xc3\xc3\xc3", "system call"},
			{"\xcd\x80\xc3\xc3\xc3\xc3", "interrupt"},
			{"\xcc\xc3\xc3\xc3\xc3\xc3", "breakpoint"},
			{"\xff\xd4\xc3\xc3\xc3\xc3", "stack pointer"},
			{"\xff\x54\x24\x08\xc3\xc3", "stack pointer"},
			{"\xc7\xf8\x10\x10\x10\x10", "transaction"},
			{"\x67\x8b\x05\x10\x10\x10\x10", "32 bits"},
			{"\x06\x06\x06\x06\x06\x06", "not instructions"},
			{"\xcb\x06\x06\x06\x06\x06", "far"},
	};
	unsigned int wrong = 0;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct code_function function = {.address = 0x10400, .size = 1};
		struct code_file *file = make_file((const uint8_t *)refused[i].bytes, 6);
		struct probe_site site;

		if (code_entry(file, &function, &site))
			abort();
		if (site.method != PROBE_NONE || !site.reason ||
				!strstr(site.reason, refused[i].reason)) {
			printf("not refused: %s (%s)\n", refused[i].reason,
					site.reason ? site.reason : "-");
			wrong++;
		}
		code_close(file);
	}
	return wrong;
}

static void map(uint64_t address, size_t size, int protection)
{
	if (mmap((void *)address, size, protection,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
			    0) == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const int signals[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	const char *wanted = getenv("SIDE_TEST_LONG");
	unsigned int rounds = wanted && !strcmp(wanted, "1") ? 50 : 2, wrong = 0, ended[3] = {0};
	struct sigaction action = {.sa_sigaction = on_signal,
			.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	stack_t stack = {.ss_size = 65536, .ss_sp = malloc(65536)};
	size_t distinct = 0;

	map(SANDBOX, SANDBOX_SIZE, PROT_NONE);
	map(ORIGINAL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map(COPY, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map(DATA, DATA_SIZE, PROT_READ | PROT_WRITE);
	sites = calloc(GROUPS_MAX, sizeof(*sites));
	if (!sites || !stack.ss_sp || sigaltstack(&stack, NULL))
		abort();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	wrong += compare_refusals();
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		wrong += compare_form(
				forms[i].bytes, forms[i].size, forms[i].pieces, rounds * 50, ended);
	wrong += compare_conditions(rounds * 50, ended);
	printf("forms: %u went on, %u branched, %u faulted\n", ended[0], ended[1], ended[2]);
	for (int i = 1; i < argc; i++)
		collect(argv[i]);
	qsort(sites, nr_sites, sizeof(*sites), by_bytes);
	for (size_t i = 0; i < nr_sites && wrong < 20; i++) {
		if (i && !by_bytes(&sites[i - 1], &sites[i]))
			continue;
		distinct++;
		wrong += compare(&sites[i], rounds, ended);
	}
	printf("%zu groups, %zu of them different: %u went on, %u branched, %u faulted; %u wrong\n",
			nr_sites, distinct, ended[0], ended[1], ended[2], wrong);
	free(sites);
	free(stack.ss_sp);
	munmap((void *)SANDBOX, SANDBOX_SIZE);
	return wrong || ended[0] < 1000 || ended[1] < 100 ? 1 : 0;
}
