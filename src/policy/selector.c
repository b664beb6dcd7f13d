/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/selector.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

#define LABEL_VALUE_MAX 63

static const char *label_of(const struct knode *node, const char *key)
{
	return pair_get(node->meta.labels, node->meta.n_labels, key);
}

static bool has_value(const struct requirement *r, const char *value)
{
	for (uint32_t i = 0; i < r->n_values; i++)
		if (str_eq(r->values[i], value))
			return true;
	return false;
}

/* As Kubernetes reads an integer: decimal, a sign of either kind, 64 bits, nothing else. */
static bool read_integer(const char *s, int64_t *ret)
{
	if (s && *s == '+' && s[1] != '-')
		s++;
	return s && str_to_i64(s, INT64_MIN, INT64_MAX, ret) == 0;
}

static bool compares(const struct requirement *r, const char *value)
{
	int64_t has, bound;

	if (r->n_values != 1 || !read_integer(value, &has) || !read_integer(r->values[0], &bound))
		return false;
	return r->op == SEL_GT ? has > bound : has < bound;
}

bool requirement_holds(const struct requirement *r, const char *value)
{
	switch (r->op) {
	case SEL_IN: return value && has_value(r, value);
	case SEL_NOT_IN: return !value || !has_value(r, value);
	case SEL_EXISTS: return value;
	case SEL_DOES_NOT_EXIST: return !value;
	case SEL_GT:
	case SEL_LT: return value && compares(r, value);
	default: return false;
	}
}

static bool is_label_value(const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len == 0)
		return s;
	if (len > LABEL_VALUE_MAX || !isalnum((unsigned char)s[0]) || !isalnum((unsigned char)s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("-_.", s[i]))
			return false;
	return true;
}

/* What the API server lets through and the Kubernetes scheduler still takes for an error: such a term matches nothing,
 * not even where a NotIn would hold. */
static bool is_sound(const struct requirement *r)
{
	bool listed = r->op == SEL_IN || r->op == SEL_NOT_IN;
	bool none = r->op == SEL_EXISTS || r->op == SEL_DOES_NOT_EXIST;

	if ((listed && r->n_values == 0) || (none && r->n_values > 0))
		return false;
	for (uint32_t i = 0; i < r->n_values; i++)
		if (!is_label_value(r->values[i]))
			return false;
	return true;
}

static bool label_holds(const struct requirement *r, const struct knode *node)
{
	return requirement_holds(r, label_of(node, r->key)) && is_sound(r);
}

/* Fields are compared with one value, for being the same or not. */
static bool field_holds(const struct requirement *r, const struct knode *node)
{
	return (r->op == SEL_IN || r->op == SEL_NOT_IN) && r->n_values == 1 && str_eq(r->key, "metadata.name") &&
	       requirement_holds(r, str_or(node->meta.name, ""));
}

/* The first that does not hold, NULL when all do. */
static const struct requirement *first_unmet(const struct selector_term *t, const struct knode *node)
{
	for (uint32_t i = 0; i < t->n_labels; i++)
		if (!label_holds(&t->labels[i], node))
			return &t->labels[i];
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (!field_holds(&t->fields[i], node))
			return &t->fields[i];
	return NULL;
}

bool node_matches_term(const struct selector_term *t, const struct knode *node)
{
	return t->n_labels + t->n_fields > 0 && !first_unmet(t, node);
}

bool node_matches_terms(const struct selector_term *terms, uint32_t n, const struct knode *node)
{
	for (uint32_t i = 0; i < n; i++)
		if (node_matches_term(&terms[i], node))
			return true;
	return false;
}

static const struct pair *unmet_label(const struct pod *pod, const struct knode *node)
{
	for (uint32_t i = 0; i < pod->n_node_selector; i++)
		if (!str_eq(label_of(node, pod->node_selector[i].key), str_or(pod->node_selector[i].value, "")))
			return &pod->node_selector[i];
	return NULL;
}

bool pod_selects(const struct pod *pod, const struct knode *node, struct unselected *ret)
{
	struct unselected why = { .label = unmet_label(pod, node) };

	if (!why.label && (!pod->has_required || node_matches_terms(pod->required_nodes, pod->n_required_nodes, node)))
		return true;
	if (!why.label && pod->n_required_nodes == 1)
		why.needs = first_unmet(&pod->required_nodes[0], node);
	if (ret)
		*ret = why;
	return false;
}
