/* SPDX-License-Identifier: MIT */
/*
 * Code in a file that is no ELF file, mapped as Lisp systems map their images: image FILE. The
 * callee searches the image for its caller by the return address on the stack.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NI __attribute__((noinline))
#define SIZE 4096

static const uintptr_t *slot; /* as a garbage collector finds it: the base of the image's frame */
static uint8_t *image;

/* Acts as a collector that moves no object to which the stack points. */
NI int collect(void)
{
	return slot[0] - (uintptr_t)image < SIZE;
}

NI int callback(const uintptr_t *frame)
{
	volatile int got;

	slot = frame;
	got = collect();
	return got + 1;
}

int main(int argc, char **argv)
{
	/*
	 * push %rbp; lea -8(%rsp),%rdi: the address of the next return address; movabs
	 * $callback,%rax; call *%rax; pop %rbp; ret
	 */
	uint8_t code[] = {0x55, 0x48, 0x8d, 0x7c, 0x24, 0xf8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,
			0xff, 0xd0, 0x5d, 0xc3};
	uint8_t page[SIZE] = "SBCL image";
	uint64_t target = (uint64_t)(uintptr_t)&callback;
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	memcpy(code + 8, &target, sizeof(target));
	memcpy(page + 64, code, sizeof(code));
	if (fd < 0 || write(fd, page, SIZE) != SIZE)
		return 2;
	image = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	/* Loading a library makes the agent read the mappings again. */
	if (image == MAP_FAILED || !dlopen("libm.so.6", RTLD_NOW))
		return 3;
	for (int i = 0; i < 3; i++)
		printf("%d\n", ((int (*)(void))(uintptr_t)(image + 64))());
	return 0;
}
