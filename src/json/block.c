/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/block.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_SIZE 4096
#define LINKS_MAX (JSON_OBJECT_MAX / sizeof(void *))
#define RECENT 64       /* strings of an object that are looked at for being stored already */
#define WORD_SLOTS 1024 /* far more than words */
#define WORD_TARGET UINT32_MAX /* in a link's `len`: its text is the target */

void json_scratch_done(struct json_scratch *s)
{
	free(s->data);
	free(s->links);
	free(s->word_slots);
	*s = (struct json_scratch) { 0 };
}

int block_place(struct json_scratch *s, size_t n, size_t size, size_t *ret_offset)
{
	size_t need, at = s->used;

	if (__builtin_mul_overflow(n, size, &need) || need > JSON_OBJECT_MAX - at)
		return -E2BIG;
	need = (need + 7) & ~(size_t)7;
	if (at + need > s->size) {
		s->size = MAX_OF(MAX_OF(2 * s->size, at + need), (size_t)FIRST_SIZE);
		s->data = mem_realloc_n(s->data, s->size, 1);
	}
	memset(s->data + at, 0, need);
	s->used = at + need;
	*ret_offset = at;
	return 0;
}

static int link_add(struct json_scratch *s, struct json_link link)
{
	if (s->n_links == s->size_links) {
		if (s->n_links >= LINKS_MAX)
			return -E2BIG;
		s->size_links = s->size_links ? 2 * s->size_links : 64;
		s->links = mem_realloc_n(s->links, s->size_links, sizeof(*s->links));
	}
	s->links[s->n_links++] = link;
	return 0;
}

int block_link(struct json_scratch *s, size_t slot, size_t offset)
{
	return link_add(s, (struct json_link) { .len = (uint32_t)offset, .slot = (uint32_t)slot });
}

int block_link_text(struct json_scratch *s, size_t slot, const char *text, size_t len)
{
	if (len >= JSON_OBJECT_MAX - s->text_bytes)
		return -E2BIG;
	s->text_bytes += len + 1;
	return link_add(s, (struct json_link) { .text = text, .len = (uint32_t)len, .slot = (uint32_t)slot });
}

/* ---- words ---- */

static size_t word_hash(const char *text, size_t len)
{
	size_t h = len * 37;

	if (len)
		h += (unsigned char)text[0] * 5u + (unsigned char)text[len / 2] * 131u +
		     (unsigned char)text[len - 1] * 17u;
	return h;
}

/* Makes the table of the type's words, once. */
static void learn_words(struct json_scratch *s, const char *const *words)
{
	s->words = words;
	if (!words)
		return;
	if (!s->word_slots)
		s->word_slots = mem_alloc_n(WORD_SLOTS, sizeof(*s->word_slots));
	memset(s->word_slots, 0, WORD_SLOTS * sizeof(*s->word_slots));
	for (uint16_t i = 0; words[i]; i++) {
		size_t slot = word_hash(words[i], strlen(words[i])) % WORD_SLOTS;

		assert(i < WORD_SLOTS / 2);
		while (s->word_slots[slot])
			slot = (slot + 1) % WORD_SLOTS;
		s->word_slots[slot] = (uint16_t)(i + 1);
	}
}

static const char *find_word(const struct json_scratch *s, const char *text, size_t len, size_t hash)
{
	if (!s->words)
		return NULL;
	for (size_t slot = hash % WORD_SLOTS; s->word_slots[slot]; slot = (slot + 1) % WORD_SLOTS) {
		const char *word = s->words[s->word_slots[slot] - 1];

		if (strncmp(word, text, len) == 0 && strlen(word) == len) /* the text may have a NUL */
			return word;
	}
	return NULL;
}

void block_begin(struct json_scratch *s, const char *const *words)
{
	s->used = 0;
	s->text_bytes = 0;
	s->n_links = 0;
	if (s->words != words)
		learn_words(s, words);
}

/* ---- the end ---- */

/* The strings of an object that were stored last, by hash. */
struct recent {
	struct {
		uint32_t at, len; /* offset 0 is the struct itself, so it means "none" */
	} texts[RECENT];
};

/* Stores a string behind the structs, unless it is there; its offset. */
static uint32_t store_text(struct json_scratch *s, struct recent *r, const char *text, uint32_t len, size_t hash)
{
	size_t k = hash % RECENT;

	if (!r->texts[k].at || r->texts[k].len != len || memcmp(s->data + r->texts[k].at, text, len) != 0) {
		r->texts[k].at = (uint32_t)s->used;
		r->texts[k].len = len;
		memcpy(s->data + s->used, text, len);
		for (char *nul = s->data + s->used; (nul = memchr(nul, 0, (size_t)(s->data + s->used + len - nul)));)
			*nul = JSON_NUL;
		s->data[s->used + len] = 0;
		s->used += len + 1;
	}
	return r->texts[k].at;
}

/* Every string gets its place; every link then has its target. */
static void settle_texts(struct json_scratch *s)
{
	struct recent recent = { 0 };

	if (s->used + s->text_bytes > s->size) {
		s->size = s->used + s->text_bytes;
		s->data = mem_realloc_n(s->data, s->size, 1);
	}
	for (size_t i = 0; i < s->n_links; i++) {
		struct json_link *link = &s->links[i];
		const char *word;
		size_t hash;

		if (!link->text)
			continue;
		hash = word_hash(link->text, link->len);
		word = find_word(s, link->text, link->len, hash);
		if (word)
			*link = (struct json_link) { .text = word, .len = WORD_TARGET, .slot = link->slot };
		else
			link->len = store_text(s, &recent, link->text, link->len, hash);
	}
}

void *block_build(struct json_scratch *s, size_t *ret_size)
{
	char *block;

	settle_texts(s);
	block = mem_dup(s->data, s->used);
	for (size_t i = 0; i < s->n_links; i++) {
		const struct json_link *link = &s->links[i];
		const char *target = link->len == WORD_TARGET ? link->text : block + link->len;

		memcpy(block + link->slot, &target, sizeof(target));
	}
	*ret_size = s->used;
	return block;
}
