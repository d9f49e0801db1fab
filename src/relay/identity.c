/* SPDX-License-Identifier: MIT */
/*
 * Gives a received trace that is not the complete trace of its sender a UUID of its own.
 *
 * Readers merge traces of one UUID stream by stream. Two receptions of parts of one trace have
 * different counters, so a merge of them reports false losses or fails. The replacement keeps the
 * number of decimal digits of each byte: the offsets of the metadata, in which CTF 2 writes the
 * UUID in decimal, do not change.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "relay/identity.h"

#define UUID_TEXT 36    /* 16 bytes in hexadecimal and four hyphens. */
#define SEARCH_MAX 4096 /* The UUID is in the first block of either format. */
#define AT_VERSION 6
#define AT_VARIANT 8

/* A byte from `least` to `most`; the low bits of random are nearly uniform over so few values. */
static unsigned char identity_random_byte(
		unsigned int least, unsigned int most, unsigned int random)
{
	return (unsigned char)(least + random % (most - least + 1));
}

static void identity_choose_uuid(struct identity *identity, const unsigned char uuid[16])
{
	unsigned short random[16] = {0};

	(void)!getrandom(random, sizeof(random), 0);
	memcpy(identity->sender, uuid, sizeof(identity->sender));
	for (unsigned int i = 0; i < sizeof(identity->own); i++) {
		unsigned char byte = uuid[i];

		/* These bytes contain the version and the variant of the UUID. */
		if (i == AT_VERSION || i == AT_VARIANT)
			identity->own[i] = byte;
		else if (byte < 10)
			identity->own[i] = identity_random_byte(0, 9, random[i]);
		else if (byte < 100)
			identity->own[i] = identity_random_byte(10, 99, random[i]);
		else
			identity->own[i] = identity_random_byte(100, 255, random[i]);
	}
	identity->is_known = true;
}

void identity_replace(struct identity *identity, unsigned char uuid[16])
{
	if (!identity->is_own)
		return;
	if (!identity->is_known)
		identity_choose_uuid(identity, uuid);
	/* A packet of another trace is not changed; readers refuse it. */
	if (!memcmp(uuid, identity->sender, sizeof(identity->sender)))
		memcpy(uuid, identity->own, sizeof(identity->own));
}

/* ---- CTF 1.8: uuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"; ---- */

static bool identity_from_text(const unsigned char *text, unsigned char ret_uuid[16])
{
	unsigned int digits = 0;

	for (unsigned int i = 0; i < UUID_TEXT; i++) {
		const char *all = "0123456789abcdef", *digit;

		if (text[i] == '-')
			continue;
		digit = text[i] ? strchr(all, text[i] | 0x20) : NULL;
		if (!digit || digits == 32)
			return false;
		ret_uuid[digits / 2] = (unsigned char)(ret_uuid[digits / 2] << 4 | (digit - all));
		digits++;
	}
	return digits == 32;
}

static void identity_to_text(const unsigned char uuid[16], unsigned char *text)
{
	static const char all[] = "0123456789abcdef";
	unsigned int digits = 0;

	for (unsigned int i = 0; i < UUID_TEXT; i++) {
		if (text[i] == '-')
			continue;
		text[i] = (unsigned char)all[uuid[digits / 2] >> (digits % 2 ? 0 : 4) & 15];
		digits++;
	}
}

static bool identity_replace_tsdl(struct identity *identity, unsigned char *bytes, size_t size)
{
	static const char before[] = "uuid = \"";
	unsigned char *at = memmem(bytes, size, before, sizeof(before) - 1);
	unsigned char uuid[16] = {0};

	if (!at)
		return false;
	at += sizeof(before) - 1;
	if ((size_t)(bytes + size - at) < UUID_TEXT || !identity_from_text(at, uuid))
		return false;
	identity_replace(identity, uuid);
	identity_to_text(uuid, at);
	return true;
}

/* ---- CTF 2: "uuid":[1,2,…] ---- */

static bool identity_from_array(
		const unsigned char *at, const unsigned char *end, unsigned char ret_uuid[16])
{
	for (unsigned int i = 0; i < 16; i++) {
		unsigned int number = 0, digits = 0;

		while (at < end && *at >= '0' && *at <= '9' && digits++ < 3)
			number = number * 10 + (*at++ - '0');
		if (!digits || number > 255 || at == end || *at++ != (i < 15 ? ',' : ']'))
			return false;
		ret_uuid[i] = (unsigned char)number;
	}
	return true;
}

static void identity_replace_json(struct identity *identity, unsigned char *bytes, size_t size)
{
	static const char before[] = "\"uuid\":[";
	unsigned char *at = memmem(bytes, size, before, sizeof(before) - 1);
	unsigned char uuid[16] = {0};
	char text[16 * 4 + 1];
	size_t used = 0;

	if (!at)
		return;
	at += sizeof(before) - 1;
	if (!identity_from_array(at, bytes + size, uuid))
		return;
	identity_replace(identity, uuid);
	for (unsigned int i = 0; i < 16; i++)
		used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%u", i ? "," : "", uuid[i]);
	memcpy(at, text, used);
}

void identity_replace_in_metadata(struct identity *identity, unsigned char *bytes, size_t size)
{
	size = size < SEARCH_MAX ? size : SEARCH_MAX;
	if (identity->is_own && !identity_replace_tsdl(identity, bytes, size))
		identity_replace_json(identity, bytes, size);
}
