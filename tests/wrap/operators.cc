/* SPDX-License-Identifier: MIT */
/*
 * Allocates with each form of the operators new and delete. Prints how many blocks it allocates,
 * and how many of them remain. With an argument, waits for a byte before and after that.
 */
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
#include <unistd.h>

static int nr_blocks, nr_left;

static void keep(void *block)
{
	asm volatile("" : : "r"(block) : "memory");
	nr_blocks += block != nullptr;
}

struct alignas(64) Aligned {
	char bytes[192];
};

/* Each form has sizes of its own, from 3000 on. */
static void allocate_all()
{
	void *block;

	keep(block = operator new(3000));
	operator delete(block);
	keep(block = operator new(3001));
	operator delete(block, static_cast<std::size_t>(3001));
	keep(block = operator new[](3002));
	operator delete[](block);
	keep(block = operator new[](3003));
	operator delete[](block, static_cast<std::size_t>(3003));
	keep(block = operator new(3004, std::nothrow));
	operator delete(block, std::nothrow);
	keep(block = operator new[](3005, std::nothrow));
	operator delete[](block, std::nothrow);
	keep(block = operator new (3008, std::align_val_t{64}));
	operator delete (block, std::align_val_t{64});
	keep(block = operator new[](3072, std::align_val_t{64}));
	operator delete[](block, static_cast<std::size_t>(3072), std::align_val_t{64});
	keep(block = operator new (3136, std::align_val_t{64}, std::nothrow));
	operator delete (block, std::align_val_t{64}, std::nothrow);
	keep(block = operator new[](3200, std::align_val_t{64}, std::nothrow));
	operator delete[](block, std::align_val_t{64});
}

static void leave_some()
{
	for (int i = 0; i < 7; i++, nr_left++)
		keep(operator new(4000));
	for (int i = 0; i < 3; i++, nr_left++)
		keep(new Aligned);
}

static void wait_for_byte()
{
	char byte;

	if (write(1, "waiting\n", 8) != 8 || read(0, &byte, 1) != 1)
		std::_Exit(1);
}

static int fail()
{
	int nr_failures = 0;

	for (int i = 0; i < 3; i++) {
		try {
			keep(operator new(SIZE_MAX / 2));
		} catch (const std::bad_alloc &) {
			nr_failures++;
		}
	}
	return nr_failures;
}

int main(int argc, char **)
{
	if (argc > 1)
		wait_for_byte();
	int nr_failures = fail();
	std::thread other(allocate_all);

	other.join();
	allocate_all();
	leave_some();
	if (nr_failures != 3)
		return 4;
	if (dprintf(1, "%d %d\n", nr_blocks, nr_left) < 0)
		return 5;
	if (argc > 1)
		wait_for_byte();
	return 0;
}
