/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects through the rules: every change of the store, whether a client or a controller of our own makes it, goes
 * through these. They fill in, check, keep managedFields and generation, honour preconditions and finalizers, and end in
 * one change of the store, or in a Status that says why not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "lite/db.h"
#include "lite/decode.h"
#include "lite/kinds.h"
#include "lite/obj.h"
#include "lite/patches.h"
#include "lite/server.h"
#include "lite/status.h"

#define NAME_SUFFIX 5 /* characters that generateName adds */

struct write_options {
	const char *manager; /* who, for managedFields */
	bool dry_run;
	bool force; /* apply: take over fields of others */
	enum field_validation validation;
	struct warnings *warnings; /* NULL: nobody reads them */
};

/* The object's document in the form of kind `k`, to change. */
yyjson_mut_doc *reg_doc(const struct kind *k, const struct item *i);
/* To read; yyjson_doc_free() it. */
yyjson_doc *reg_read(const struct item *i);

/* All of them: `doc` has been through decode.h and is taken over; *ret is the caller's reference. A dry run gives an
 * object that is not in the store. */
int reg_create(struct lite *l, const struct kind *k, const char *ns, yyjson_mut_doc *doc, const struct write_options *o,
               struct item **ret, struct status *st);

/* sub: "" or "status". *ret_created: the object was not there, and its kind may be made so. */
int reg_update(struct lite *l, const struct kind *k, const char *sub, const char *ns, const char *name,
               yyjson_mut_doc *doc, const struct write_options *o, struct item **ret, bool *ret_created,
               struct status *st);

int reg_patch(struct lite *l, const struct kind *k, const char *sub, const char *ns, const char *name,
              enum patch_type type, const char *text, size_t len, const struct write_options *o, struct item **ret,
              bool *ret_created, struct status *st);

enum propagation { PROPAGATE_DEFAULT, PROPAGATE_BACKGROUND, PROPAGATE_FOREGROUND, PROPAGATE_ORPHAN };

struct delete_options {
	int64_t grace_s; /* -1: not given */
	enum propagation propagation;
	const char *uid, *rv; /* preconditions; NULL: none */
	bool dry_run;
};
#define DELETE_NOW ((struct delete_options) { .grace_s = 0 })
#define DELETE_USUAL ((struct delete_options) { .grace_s = -1 })

/* *ret_gone: it is no longer there (or would not be); else it waits for its kubelet or its finalizers. */
int reg_delete(struct lite *l, const struct kind *k, const char *ns, const char *name, const struct delete_options *o,
               struct item **ret, bool *ret_gone, struct status *st);

/* The last step of every change: `doc`, a changed copy of `old`, replaces it without further checks, or removes it when
 * it is being deleted and nothing holds it any more. For subresources and controllers that know what they do. doc is
 * taken over; ret may be NULL. */
void reg_replace(struct lite *l, const struct kind *k, const struct item *old, yyjson_mut_doc *doc, struct item **ret);

/* A body that asks for a change of another version of the object than there is: the 409 of a stale write. */
int reg_check_preconditions(const struct kind *k, const struct item *old, yyjson_mut_val *old_root, const char *uid,
                            const char *rv, struct status *st);

struct item *reg_get(struct lite *l, const struct kind *k, const char *ns, const char *name); /* borrowed; NULL */
int reg_find(struct lite *l, const struct kind *k, const char *ns, const char *name, struct item **ret,
             struct status *st); /* borrowed; 404 */
