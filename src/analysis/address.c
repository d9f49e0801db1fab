/* SPDX-License-Identifier: MIT */
/* Addresses of code in a trace: what each address points to, and its symbol. */
#include <string.h>

#include "analysis/address.h"
#include "symbolize/symbols.h"

enum address_kind address_kind_of_attribute(const char *text, bool value)
{
	if (strcmp(text, "call") == 0)
		return ADDRESS_RETURN;
	return value ? ADDRESS_EXACT : ADDRESS_NONE;
}

enum address_kind address_kind_of_name(const char *name)
{
	bool is_caller = strcmp(name, "ip") == 0 || strcmp(name, "caller") == 0;

	return is_caller ? ADDRESS_RETURN : ADDRESS_NONE;
}

const struct symbol *address_symbol(struct symbols *symbols, const struct address *address)
{
	return symbols_find(symbols, address->trace, address->ns, address->address,
			address->kind == ADDRESS_RETURN);
}
