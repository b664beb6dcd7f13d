/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside selectors: terms that must all hold. Only selector.c and selector_fields.c include this.
 */
#pragma once

#include "lite/selector.h"

enum selector_op { OP_IN, OP_NOT_IN, OP_EXISTS, OP_ABSENT, OP_GREATER, OP_LESS };

struct term {
	char *key; /* a label, or the path of a field */
	enum selector_op op;
	bool set_syntax; /* written with in or notin */
	char **values;   /* sorted */
	size_t n_values;
	int64_t number; /* OP_GREATER, OP_LESS */
	const struct selectable *field;
};

struct selector {
	struct term *terms;
	size_t n;
	bool nothing; /* matches no object at all */
};

struct term *selector_add_term(struct selector *s, const char *key, size_t len, enum selector_op op);
void term_add_value(struct term *t, const char *value, size_t len); /* keeps them sorted and each once */
bool term_matches(const struct term *t, const char *value);         /* value NULL: there is none */
