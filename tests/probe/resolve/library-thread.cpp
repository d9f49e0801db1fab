// SPDX-License-Identifier: MIT
// A library with thread-local variables.
thread_local int library_of_library = 100;
static thread_local int hidden = 7;

__attribute__((noinline)) int library_inner(int n)
{
	asm volatile("" : : : "memory");
	return n + hidden + library_of_library;
}

int library_count(int n)
{
	library_of_library += n;
	hidden -= n;
	return library_inner(n);
}
