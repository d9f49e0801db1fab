/* SPDX-License-Identifier: MIT */
/*
 * The program of the guide: no tracing, but a marker. `kitchen DISH GUESTS` cooks once; without
 * arguments it reads orders ("soup 4") from the FIFO orders and writes to the FIFO meals.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct order {
	int table;
	int guests;
	char dish[24];
	const char *remark;
};

int orders_taken;

__attribute__((noinline)) static void serve(FILE *to, const char *dish, int plates)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b, 0, 0\n"
			 ".asciz \"kitchen\"\n.asciz \"served\"\n.asciz \"8@%0 -4@%1\"\n"
			 "994: .balign 4\n.popsection\n" ::"r"(dish),
			"r"(plates));
	fprintf(to, "%d plates of %s\n", plates, dish);
}

int cook(struct order *order, double hours);

__attribute__((noinline)) int cook(struct order *order, double hours)
{
	int plates = order->guests;

	orders_taken++;
	if (hours > 1.0)
		plates++; /* the cook is hungry by then */
	return plates;
}

static void take(const char *dish, int guests, FILE *to)
{
	struct order order = {.table = 7, .guests = guests, .remark = "no salt"};

	snprintf(order.dish, sizeof(order.dish), "%s", dish);
	serve(to, order.dish, cook(&order, guests > 2 ? 1.5 : 0.5));
}

static void open_kitchen(void)
{
	/* Opened for writing, too, so that it does not end while no process writes. */
	FILE *orders = fopen("orders", "r+e"), *meals;
	char dish[20];
	int guests;

	while (orders && fscanf(orders, "%19s %d", dish, &guests) == 2) {
		meals = fopen("meals", "we");
		if (!meals)
			break;
		take(dish, guests, meals);
		fclose(meals);
	}
}

int main(int argc, char **argv)
{
	if (argc > 2)
		take(argv[1], atoi(argv[2]), stdout);
	else
		open_kitchen();
	return 0;
}
