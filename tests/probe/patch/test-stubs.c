/* SPDX-License-Identifier: MIT */
/*
 * Calls through an imported address that code also takes: code of the test is redirected, called
 * and restored, while the address itself stays.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "probe/patch/stubs.h"
#include "probe/patch/taken.h"

#include "../../check.h"

#define STUB_BYTES 8
#define NR 1024 /* STUBS_MAX */
#define CODE_BYTES ((NR + 1) * STUB_BYTES)
#define CODE_PAGES 12288

static uint8_t *code; /* NR + 1 stubs, then an instruction that takes the address */
static void **slot;
static int number(void);
static int other(void);

static int number(void)
{
	return 1;
}

static int other(void)
{
	return 2;
}

static void *address_of(int (*function)(void))
{
	void *address;

	memcpy(&address, &function, sizeof(address));
	return address;
}

static int call_stub(size_t i)
{
	const uint8_t *at = code + i * STUB_BYTES;
	int (*function)(void);

	memcpy(&function, &at, sizeof(function));
	return function();
}

static void put_instruction(size_t at, const char *opcode, size_t size)
{
	const int32_t distance = (int32_t)((uint8_t *)slot - (code + at + size + 4));

	memcpy(code + at, opcode, size);
	memcpy(code + at + size, &distance, sizeof(distance));
}

static void lay_out(void)
{
	code = mmap(NULL, CODE_PAGES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	CHECK(code != MAP_FAILED);
	slot = (void **)(void *)(code + CODE_PAGES);
	memset(code, 0xcc, CODE_PAGES);
	for (size_t i = 0; i <= NR; i++)
		put_instruction(i * STUB_BYTES, "\xff\x25", 2);
	put_instruction(CODE_BYTES, "\x48\x8b\x05", 3);
	*slot = address_of(number);
	CHECK(!mprotect(code, CODE_PAGES, PROT_READ | PROT_EXEC));
}

static size_t nr_calls;

static void count_call(uintptr_t distance, const struct patch_taken *taken, void *user)
{
	CHECK(taken->slot == (uintptr_t)slot && user == &nr_calls);
	CHECK(distance == (uintptr_t)code + nr_calls * STUB_BYTES + 2);
	nr_calls++;
}

static void test_taken(void)
{
	Elf64_Phdr header = {.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = (uintptr_t)code,
			.p_filesz = CODE_BYTES};
	const struct dl_phdr_info info = {.dlpi_phdr = &header, .dlpi_phnum = 1};
	struct patch_taken taken = {.slot = (uintptr_t)slot};

	patch_taken_find(&info, &taken, 1);
	CHECK(!taken.is_taken);
	patch_taken_calls(&info, &taken, 1, count_call, &nr_calls);
	CHECK(!nr_calls);
	/* With the instruction that reads the address, but is no call. */
	header.p_filesz = CODE_PAGES;
	header.p_flags = PF_R;
	patch_taken_find(&info, &taken, 1);
	CHECK(!taken.is_taken);
	header.p_flags = PF_R | PF_X;
	patch_taken_find(&info, &taken, 1);
	CHECK(taken.is_taken);
	patch_taken_calls(&info, &taken, 1, count_call, &nr_calls);
	CHECK(nr_calls == NR + 1);
}

static void test_most(void)
{
	uint8_t before[CODE_BYTES];
	const uintptr_t from = (uintptr_t)slot;

	memcpy(before, code, CODE_BYTES);
	patch_stubs_begin();
	for (size_t i = 0; i <= NR; i++)
		CHECK(patch_stub_redirect((uintptr_t)code + i * STUB_BYTES + 2, from,
				      address_of(other)) == (i < NR ? 0 : -ENOSPC));
	patch_stubs_end();
	for (size_t i = 0; i <= NR; i++)
		CHECK(call_stub(i) == (i < NR ? 2 : 1));
	CHECK(*slot == address_of(number));
	patch_stubs_begin();
	/* Of another function, and of another range. */
	patch_stubs_restore((uintptr_t)code, (uintptr_t)code + CODE_BYTES, address_of(number));
	patch_stubs_restore((uintptr_t)code + CODE_BYTES, (uintptr_t)code + CODE_PAGES,
			address_of(other));
	CHECK(memcmp(before, code, CODE_BYTES) != 0);
	/* Bytes that were changed meanwhile stay. */
	CHECK(!mprotect(code, CODE_PAGES, PROT_READ | PROT_WRITE));
	code[5] ^= 1;
	CHECK(!mprotect(code, CODE_PAGES, PROT_READ | PROT_EXEC));
	patch_stubs_restore((uintptr_t)code, (uintptr_t)code + CODE_BYTES, address_of(other));
	CHECK(memcmp(before, code, STUB_BYTES) != 0 &&
			!memcmp(before + STUB_BYTES, code + STUB_BYTES, CODE_BYTES - STUB_BYTES));
	patch_stubs_end();
	CHECK(call_stub(1) == 1 && call_stub(NR) == 1);
	/* Once more, in the same words. */
	patch_stubs_begin();
	CHECK(!patch_stub_redirect((uintptr_t)code + STUB_BYTES + 2, from, address_of(other)));
	patch_stubs_end();
	CHECK(call_stub(1) == 2 && call_stub(2) == 1);
}

static void test_refused(void)
{
	patch_stubs_begin();
	/* Two words of 16 bytes. */
	CHECK(patch_stub_redirect((uintptr_t)code + 13, (uintptr_t)slot, address_of(other)) ==
			-EXDEV);
	/* Not the distance to the slot. */
	CHECK(patch_stub_redirect((uintptr_t)code + CODE_BYTES + 16, (uintptr_t)slot,
			      address_of(other)) == -EPERM);
	patch_stubs_end();
}

int main(void)
{
	lay_out();
	test_taken();
	test_refused();
	munmap(code, CODE_PAGES + 4096);
	lay_out();
	test_most();
	return 0;
}
