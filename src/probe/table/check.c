/* SPDX-License-Identifier: MIT */
/* Checks the values in a table. The writer and the reader of a table apply the same rules. */
#include "format.h"

#include <string.h>

const uint32_t table_strides[TABLE_NR_PARTS] = {
		[TABLE_MODULES] = sizeof(struct table_module),
		[TABLE_EVENTS] = sizeof(struct table_event),
		[TABLE_FIELDS] = sizeof(struct table_field),
		[TABLE_FETCHES] = sizeof(struct table_fetch),
		[TABLE_OPS] = sizeof(struct probe_fetch_op),
		[TABLE_PROBES] = sizeof(struct table_probe),
		[TABLE_PIECES] = sizeof(struct table_piece),
		[TABLE_STRINGS] = 1,
};

static bool is_power_of_two(unsigned int size, unsigned int largest)
{
	return size && size <= largest && !(size & (size - 1));
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

const char *table_check_event(const char *provider, const char *name)
{
	if (!*provider || !*name)
		return "an event has no name";
	if (!is_printable(provider) || !is_printable(name))
		return "the name of an event has characters that cannot be shown";
	return NULL;
}

static bool is_field_name(const char *name)
{
	static const char allowed[] =
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

	size_t size = strlen(name);

	return size && size <= PROBE_TABLE_FIELD_NAME_MAX && strspn(name, allowed) == size &&
			(*name < '0' || *name > '9') && *name != '.';
}

static bool table_check_is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

bool probe_table_label(
		const char **at, char ret_name[PROBE_TABLE_LABEL_MAX + 1], int64_t *ret_value)
{
	const char *text = *at;
	size_t size = strcspn(text, "=,");
	uint64_t number = 0;
	bool minus;

	if (!size || size > PROBE_TABLE_LABEL_MAX || text[size] != '=')
		return false;
	memcpy(ret_name, text, size);
	ret_name[size] = '\0';
	text += size + 1;
	minus = *text == '-';
	text += minus;
	if (!table_check_is_digit(*text))
		return false;
	for (; table_check_is_digit(*text); text++) {
		if (__builtin_mul_overflow(number, 10u, &number) ||
				__builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return false;
	}
	if (*text && (*text != ',' || !text[1]))
		return false;
	*ret_value = (int64_t)(minus ? 0 - number : number);
	*at = text + (*text == ',');
	return true;
}

static bool are_labels(const struct probe_table_field *field)
{
	const char *at = field->labels;
	char name[PROBE_TABLE_LABEL_MAX + 1];
	int64_t value;

	if (!at || !*at)
		return true;
	while (probe_table_label(&at, name, &value))
		;
	return !*at && !field->limit &&
			(field->type == PROBE_FIELD_UNSIGNED || field->type == PROBE_FIELD_SIGNED);
}

static const char *check_field(const struct probe_table_field *field)
{
	bool limited = field->limit != 0, good;

	if (!is_field_name(field->name))
		return "the name of a field is not valid";
	switch (field->type) {
	case PROBE_FIELD_UNSIGNED:
	case PROBE_FIELD_SIGNED:
	case PROBE_FIELD_HEX:
		good = is_power_of_two(field->size, 8) || (field->size == 16 && !limited);
		break;
	case PROBE_FIELD_FLOAT:
		good = field->size == 4 || field->size == 8 || (field->size == 16 && !limited);
		break;
	case PROBE_FIELD_BOOL: good = field->size == 1 && !limited; break;
	case PROBE_FIELD_STRING:
	case PROBE_FIELD_BYTES: good = field->size == 1 && limited; break;
	case PROBE_FIELD_BACKTRACE:
		good = field->size == 8 && limited && field->limit <= PROBE_TABLE_BACKTRACE_MAX;
		break;
	case PROBE_FIELD_STRUCT:
		good = field->size && field->size < PROBE_TABLE_FIELDS_MAX && !limited;
		break;
	default: return "a field's type is unknown";
	}
	if (field->guarded &&
			(field->type == PROBE_FIELD_STRUCT || field->type == PROBE_FIELD_BACKTRACE))
		return "a field cannot be unreadable";
	if (!good || (uint32_t)field->size * field->limit > PROBE_TABLE_TEXT_MAX)
		return "a field has a size that its type cannot have";
	if (!are_labels(field))
		return "the labels of a field cannot be read";
	return NULL;
}

/* Bytes that the caller of the event needs for the arguments of a structure. */
#define STRUCT_BYTES 24
/* Bytes that it needs for an optional value. */
#define GUARD_BYTES 72

uint32_t table_field_bytes(const struct probe_table_field *field)
{
	if (field->type == PROBE_FIELD_STRUCT)
		return STRUCT_BYTES;
	return (field->limit ? (uint32_t)field->size * field->limit + 8u : field->size) +
			(field->guarded ? GUARD_BYTES : 0);
}

/* Compares each pair of names. That is fast enough: there are at most PROBE_TABLE_FIELDS_MAX. */
static const char *check_range(const struct probe_table_field *fields, uint32_t at, uint32_t end)
{
	for (uint32_t i = at; i < end; i += 1 + probe_table_inside(&fields[i])) {
		if (probe_table_inside(&fields[i]) >= end - i)
			return "a structure has more members than there are";
		for (uint32_t j = at; j < i; j += 1 + probe_table_inside(&fields[j]))
			if (!strcmp(fields[i].name, fields[j].name))
				return "two fields of an event have the same name";
	}
	return NULL;
}

const char *table_check_fields(const struct probe_table_field *fields, uint32_t nr_fields)
{
	const char *reason =
			nr_fields > PROBE_TABLE_FIELDS_MAX ? "an event has too many fields" : NULL;
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < nr_fields && !reason; i++) {
		reason = check_field(&fields[i]);
		bytes += table_field_bytes(&fields[i]);
	}
	if (!reason)
		reason = check_range(fields, 0, nr_fields);
	for (uint32_t i = 0; i < nr_fields && !reason; i++)
		reason = check_range(fields, i + 1, i + 1 + probe_table_inside(&fields[i]));
	if (!reason && bytes > PROBE_TABLE_PAYLOAD_MAX)
		reason = "the fields of an event are too large";
	return reason;
}

static bool table_check_is_register(const struct probe_fetch_op *op)
{
	return op->reg <= 16 || op->reg == 49;
}

const char *table_check_op(const struct probe_fetch_op *op)
{
	bool good = true;

	if (op->reserved || op->reserved2)
		return "the reserved bytes of an operation are not 0";
	switch (op->code) {
	case PROBE_FETCH_REGISTER: good = table_check_is_register(op); break;
	case PROBE_FETCH_VECTOR: good = op->reg < 16 && (!op->value || op->value == 8); break;
	case PROBE_FETCH_ADD_REGISTER: good = table_check_is_register(op) && op->size < 64; break;
	case PROBE_FETCH_LOAD: good = is_power_of_two(op->size, 8); break;
	case PROBE_FETCH_SHIFT_RIGHT: good = op->size < 64; break;
	case PROBE_FETCH_ZERO_EXTEND:
	case PROBE_FETCH_SIGN_EXTEND: good = op->size && op->size <= 64; break;
	case PROBE_FETCH_CONSTANT:
	case PROBE_FETCH_MODULE:
	case PROBE_FETCH_SITE:
	case PROBE_FETCH_FUNCTION:
	case PROBE_FETCH_CALL:
	case PROBE_FETCH_DURATION:
	case PROBE_FETCH_RETURN:
	case PROBE_FETCH_BACKTRACE:
	case PROBE_FETCH_UNREADABLE:
	case PROBE_FETCH_THREAD:
	case PROBE_FETCH_ERRNO:
	case PROBE_FETCH_PUSH:
	case PROBE_FETCH_LENGTH:
	case PROBE_FETCH_EXTENDED:
	case PROBE_FETCH_BLOCK:
	case PROBE_FETCH_HALF:
	case PROBE_FETCH_WIDE:
	case PROBE_FETCH_ADD: break;
	case PROBE_FETCH_CALCULATE:
		good = op->size >= PROBE_SUM_PLUS && op->size <= PROBE_SUM_GREATER_EQUAL;
		break;
	default: return "an operation is unknown";
	}
	return good ? NULL : "an operation has a size or a register that it cannot have";
}

const char *table_check_aside(const struct probe_fetch_op *op, unsigned int *nr_aside)
{
	if (op->code == PROBE_FETCH_PUSH && (*nr_aside)++ == PROBE_TABLE_ASIDE_MAX)
		return "a fetch pushes too many numbers";
	if ((op->code == PROBE_FETCH_CALCULATE || op->code == PROBE_FETCH_WIDE) && !(*nr_aside)--)
		return "a fetch calculates with a number that it has not pushed";
	return NULL;
}

/* True if the pieces are adjacent and each one's positions are within its bytes. */
static bool are_pieces(const struct probe_site *site)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < site->nr_pieces; i++) {
		const struct probe_piece *piece = &site->pieces[i];

		if (piece->at != at || !piece->length || piece->length > 15 ||
				piece->kind > PROBE_CALL_INDIRECT)
			return false;
		if (piece->field && piece->field + 4u > piece->length)
			return false;
		if (piece->kind == PROBE_CALL_INDIRECT ? piece->detail >= piece->length
						       : piece->detail > 15)
			return false;
		at += piece->length;
	}
	return at == site->displaced && at <= site->nr_bytes;
}

const char *table_check_site(const struct probe_site *site)
{
	unsigned int patched_max = site->method == PROBE_SHORT ? 2
			: site->method >= PROBE_BREAKPOINT     ? 1
							       : PROBE_JUMP_BYTES;

	if (site->method <= PROBE_NONE || (unsigned int)site->method >= PROBE_METHODS)
		return "a location cannot be probed";
	if (!site->nr_pieces || site->nr_pieces > PROBE_PIECES_MAX ||
			site->nr_bytes > PROBE_BYTES_MAX || !are_pieces(site))
		return "the instructions of a location are not consecutive";
	if (!site->patched || site->patched > patched_max || site->patched > site->nr_bytes)
		return "a location changes more bytes than the table has";
	if (site->method == PROBE_SHORT && (site->patched != 2 || !site->springboard))
		return "a short jump has no springboard";
	if (site->method == PROBE_PUNNED && site->nr_bytes < PROBE_JUMP_BYTES)
		return "the bytes after a location are not known";
	if (!site->address)
		return "a location has no address";
	return NULL;
}
