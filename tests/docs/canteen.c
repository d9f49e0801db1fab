/* SPDX-License-Identifier: MIT */
/*
 * The program `canteen` of the how-to pages, which does not use libside: two threads take orders.
 * The orders of customer 7 are slow, receipts are never freed, and the till has one lock.
 *
 *	canteen [ORDERS]		of each thread, 100 without an argument
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct order {
	int customer;
	int items;
	const char *dish;
};

static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;
static int orders = 100;

static __attribute__((noinline)) char *receipt(const struct order *order)
{
	char *text = malloc(64);

	if (text)
		snprintf(text, 64, "%d x %s", order->items, order->dish);
	return text;
}

static __attribute__((noinline)) int price(const struct order *order)
{
	if (order->customer == 7)
		usleep(2000);
	return 5 * order->items;
}

static void *serve(void *sum)
{
	for (int i = 0; i < orders; i++) {
		struct order order = {.customer = i % 10, .items = i % 4 + 1, .dish = "soup"};

		pthread_mutex_lock(&till);
		*(int *)sum += price(&order);
		pthread_mutex_unlock(&till);
		receipt(&order);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int sums[2] = {0, 0};
	pthread_t thread;

	if (argc > 1)
		orders = atoi(argv[1]);
	if (pthread_create(&thread, NULL, serve, &sums[1]))
		return 1;
	serve(&sums[0]);
	pthread_join(thread, NULL);
	printf("%d\n", sums[0] + sums[1]);
	return 0;
}
