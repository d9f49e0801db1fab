/* SPDX-License-Identifier: MIT */
/*
 * The UUID of a received trace, with known random numbers: each byte, and texts at the end of the
 * bytes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "../check.h"

static bool no_random;

/* The first number is 1000, and each other one is 11 more. */
static ssize_t played_random(void *to, size_t size, unsigned int flags)
{
	unsigned short *numbers = to;

	CHECK(size == 16 * sizeof(*numbers) && !flags);
	if (no_random)
		return -1;
	for (unsigned int i = 0; i < 16; i++)
		numbers[i] = (unsigned short)(1000 + 11 * i);
	return (ssize_t)size;
}

#define getrandom played_random
#include "relay/identity.c" /* NOLINT(bugprone-suspicious-include): replaces random numbers */

static const unsigned char sent[16] = {
		0, 9, 10, 99, 100, 255, 0x4f, 7, 0xb2, 42, 5, 200, 11, 8, 98, 254};
/* least + (1000 + 11 * i) % (most - least + 1); the bytes 6 and 8 stay. */
static const unsigned char chosen[16] = {
		0, 1, 42, 53, 208, 219, 0x4f, 7, 0xb2, 29, 0, 129, 62, 3, 84, 173};

static void test_bytes(void)
{
	struct identity identity = {.is_own = true};
	unsigned char uuid[16];

	CHECK(identity_random_byte(10, 99, 0) == 10 && identity_random_byte(10, 99, 89) == 99);
	CHECK(identity_random_byte(10, 99, 90) == 10 && identity_random_byte(100, 255, 311) == 255);
	memcpy(uuid, sent, sizeof(uuid));
	identity_replace(&identity, uuid);
	CHECK(!memcmp(uuid, chosen, sizeof(uuid)) && !memcmp(identity.own, chosen, 16));
	CHECK(identity.is_known && !memcmp(identity.sender, sent, sizeof(sent)));
	/* Without random numbers: the least byte of each range. */
	no_random = true;
	identity.is_known = false;
	memcpy(uuid, sent, sizeof(uuid));
	identity_replace(&identity, uuid);
	for (unsigned int i = 0; i < 16; i++)
		CHECK(uuid[i] ==
				(i == 6 || i == 8                               ? sent[i]
								: sent[i] < 10  ? 0
								: sent[i] < 100 ? 10
										: 100));
	no_random = false;
}

static void test_digits(void)
{
	unsigned char uuid[16], text[37];

	memset(uuid, 0xff, sizeof(uuid));
	CHECK(identity_from_text(
			(const unsigned char *)"00090a63-64ff-4f07-B22A-05c80b0862fe", uuid));
	CHECK(!memcmp(uuid, sent, sizeof(uuid)));
	memcpy(text, "........-....-....-....-............", 37);
	identity_to_text(sent, text);
	CHECK(!strcmp((const char *)text, "00090a63-64ff-4f07-b22a-05c80b0862fe"));
	/* 31 and 33 digits, and a byte that is not a digit. */
	CHECK(!identity_from_text(
			(const unsigned char *)"00090a63-64ff-4f07-B22A-05c8-b0862fe", uuid));
	CHECK(!identity_from_text(
			(const unsigned char *)"00090a63-64ff-4f07-B22A005c80b0862fe", uuid));
	CHECK(!identity_from_text(
			(const unsigned char *)"00090a63-64ff-4f07-B22A-05c80b0862f\0", uuid));
}

/* Whether the first `size` bytes of a text become `after`. NULL: they do not change. */
static bool becomes(const char *before, size_t size, const char *after)
{
	struct identity identity = {.is_own = true};
	char text[400];

	snprintf(text, sizeof(text), "%s", before);
	identity_replace_in_metadata(&identity, (unsigned char *)text, size);
	if (strcmp(text, after ? after : before) != 0)
		fprintf(stderr, "%s\n", text);
	return !strcmp(text, after ? after : before) && identity.is_known == !!after;
}

#define FORM(text) "00090a63-64ff-4f07-B22A-05c80b0862f" text
#define OTHER "00012a35-d0db-4f07-b21d-00813e0354ad"
#define NUMBERS "[0,9,10,99,100,255,79,7,178,42,5,200,11,8,98,254"
#define CHOSEN "[0,1,42,53,208,219,79,7,178,29,0,129,62,3,84,173"

static void test_texts(void)
{
	static const char tsdl[] = "uuid = \"" FORM("e") "\"";
	static const char json[] = "\"uuid\":" NUMBERS "]}";

	/* The whole text, one byte less, and two bytes less. */
	CHECK(becomes(tsdl, sizeof(tsdl) - 1, "uuid = \"" OTHER "\""));
	CHECK(becomes(tsdl, sizeof(tsdl) - 2, "uuid = \"" OTHER "\""));
	CHECK(becomes(tsdl, sizeof(tsdl) - 3, NULL));
	CHECK(becomes(json, sizeof(json) - 1, "\"uuid\":" CHOSEN "]}"));
	CHECK(becomes(json, sizeof(json) - 2, "\"uuid\":" CHOSEN "]}"));
	CHECK(becomes(json, sizeof(json) - 3, NULL));
	/* The whole text before the UUID must match. */
	CHECK(becomes("uuid = '" FORM("e") " uuid = \"" FORM("e") "\"", 90,
			"uuid = '" FORM("e") " uuid = \"" OTHER "\""));
	CHECK(becomes("\"uuid\":("
		      "0,9,10,99,100,255,79,7,178,42,5,200,11,8,98,254]"
		      " \"uuid\":" NUMBERS "]",
			120,
			"\"uuid\":("
			"0,9,10,99,100,255,79,7,178,42,5,200,11,8,98,254]"
			" \"uuid\":" CHOSEN "]"));
	/* The second form is only tried if the first one is missing. */
	CHECK(becomes("uuid = \"" FORM("e") "\"\"uuid\":" NUMBERS "]", 120,
			"uuid = \"" OTHER "\"\"uuid\":" NUMBERS "]"));
	CHECK(becomes("uuid = \"" FORM("g") "\"\"uuid\":" NUMBERS "]", 120,
			"uuid = \"" FORM("g") "\"\"uuid\":" CHOSEN "]"));
	/* A byte that is too large, one of four digits, and numbers that end with the bytes. */
	CHECK(becomes("\"uuid\":[0,9,10,99,100,256,79,7,178,42,5,200,11,8,98,254]", 64, NULL));
	CHECK(becomes("\"uuid\":[0,9,10,99,100,0255,79,7,178,42,5,200,11,8,98,254]", 64, NULL));
	CHECK(becomes(json, strlen("\"uuid\":[0,9"), NULL) &&
			becomes(json, strlen("\"uuid\":["), NULL));
}

/* Nothing is changed without a UUID of its own. */
static void test_same(void)
{
	struct identity identity = {.is_own = false};
	char text[] = "uuid = \"" FORM("e") "\"";
	unsigned char uuid[16];

	identity_replace_in_metadata(&identity, (unsigned char *)text, sizeof(text));
	memcpy(uuid, sent, sizeof(uuid));
	identity_replace(&identity, uuid);
	CHECK(!strcmp(text, "uuid = \"" FORM("e") "\"") && !memcmp(uuid, sent, sizeof(uuid)));
	CHECK(!identity.is_known);
	/* Only the first 4096 bytes are searched. */
	for (unsigned int more = 0; more < 2; more++) {
		static char large[4200];
		size_t at = 4096 - strlen("uuid = \"" FORM("e")) + more;

		memset(large, ' ', sizeof(large) - 1);
		memcpy(large + at, text, strlen(text));
		identity = (struct identity){.is_own = true};
		identity_replace_in_metadata(&identity, (unsigned char *)large, sizeof(large));
		CHECK(identity.is_known == !more);
	}
}

int main(void)
{
	test_bytes();
	test_digits();
	test_texts();
	test_same();
	return 0;
}
