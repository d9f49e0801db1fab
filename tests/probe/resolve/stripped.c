/* SPDX-License-Identifier: MIT */
/* A program for test-stripped.py: local functions, whose names are lost when it is stripped. */
#include <stdio.h>
#include <stdlib.h>

struct order {
	int number;
	const char *text;
};

__attribute__((noinline)) static int serve_order(const struct order *order, int extra)
{
	/* Not a leaf, so that it has a frame. */
	return order->number + extra + puts(order->text);
}

__attribute__((noinline)) static int count_orders(int count)
{
	struct order order = {.text = "served"};
	int sum = 0;

	for (order.number = 0; order.number < count; order.number++)
		sum += serve_order(&order, 1);
	return sum;
}

int main(int argc, char **argv)
{
	/* With a second argument, wait until the test has set a probe. */
	if (argc > 2)
		(void)getchar();
	return count_orders(argc > 1 ? atoi(argv[1]) : 3) < 0;
}
