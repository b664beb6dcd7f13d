/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The texts that types.c compiles. One entry is one package; a package's types are written as
 *
 *	Name { field type; field! *type @mod = default; ...Inlined; }
 *	Name @atomic { … }                 apply treats the whole struct as one value
 *
 * after a field's name:  ! required and always written   ~ required   + always written, even when zero   ? left out
 *when zero types:                 string bool int32 int64 number bytes Time MicroTime Quantity IntOrString any, Name,
 *[]type, map type; with * zero values are kept when given (a pointer in Go) mods:                  @map(keys) list
 *merged by keys, in apply and (by the first) in strategic patches; @nomerge: only in apply; @merge(key), @merge: only
 *in strategic patches; @set; @atomic; @retain: retainKeys;
 *                        @replace: not merged in strategic patches
 *
 * What is neither a pointer nor marked is left out when zero, except structs and times, which are written as {} and
 *null.
 */
#pragma once

#include <stddef.h>

struct types_text {
	const char *package, *text;
};

#define TYPES(...) #__VA_ARGS__

/* Each ends with an entry of NULL. */
extern const struct types_text types_pod[], types_core[], types_groups[];
