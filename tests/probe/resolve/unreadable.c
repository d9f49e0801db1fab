/* SPDX-License-Identifier: MIT */
/*
 * A function with pointer arguments, some of which are invalid: to the first page, to unmapped
 * memory, and null.
 */
struct inner {
	double weight;
	const char *name;
	int numbers[3];
};
struct outer {
	int number;
	long zero;
	struct inner *inner;
	char text[8];
};

__attribute__((noinline)) int take(struct outer *p, const char *s, int round)
{
	__asm__ volatile("" ::"r"(p), "r"(s), "r"(round) : "memory");
	return round;
}

int main(void)
{
	struct inner inner = {2.5, "inner", {1, 2, 3}};
	struct outer whole = {7, 0, &inner, "text"}, half = {9, 0, (struct inner *)16, "half"};
	static const char *const nowhere = (const char *)0x7f0000000000;

	take(&whole, "hello", 1);
	take(&half, (const char *)16, 2);
	take((struct outer *)0, (const char *)0, 3);
	take((struct outer *)(unsigned long)nowhere, nowhere, 4);
	return 0;
}
