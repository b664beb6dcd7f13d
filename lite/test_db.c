/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"

static void put(struct collection *t, const char *ns, const char *name, const char *value)
{
	char text[200];
	int n = snprintf(text, sizeof(text), "{\"rv\":\"%llu\",\"v\":\"%s\"}", (unsigned long long)db_next_rv(t->db),
	                 value);

	db_put(t, ns, name, text, (size_t)n);
}

static void drop(struct collection *t, const char *ns, const char *name)
{
	db_delete(t, db_get(t, ns, name), "{\"gone\":1}", 10);
}

static void commit(struct db *s)
{
	assert_int_equal(db_commit(s, NULL), 0);
}

/* The keys of a span as one text. */
static const char *keys(struct item *const *list, size_t n)
{
	static char text[1000];

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		strcat(text, list[i]->key);
		strcat(text, " ");
	}
	return text;
}

static void test_objects_come_in_order_of_their_keys(void **state)
{
	_cleanup_(db_freep) struct db *s = db_new();
	struct collection *t = db_collection(s, "pods");
	size_t n;
	struct item *const *span;

	(void)state;
	put(t, "b", "x", "1");
	put(t, "a-b", "x", "1");
	put(t, "a", "z", "1");
	put(t, "a", "y", "1");
	commit(s);
	span = db_span(t, NULL, NULL, &n);
	assert_string_equal(keys(span, n), "a-b/x a/y a/z b/x ");
	span = db_span(t, "a", NULL, &n);
	assert_string_equal(keys(span, n), "a/y a/z ");
	span = db_span(t, "a", "a/z", &n);
	assert_string_equal(keys(span, n), "a/z ");
	span = db_span(t, "nope", NULL, &n);
	assert_int_equal(n, 0);
	assert_non_null(db_get(t, "a", "y"));
	assert_null(db_get(t, "a", "x"));
	assert_string_equal(db_get(t, "a", "y")->name, "y");
}

static void test_a_list_of_an_earlier_moment_undoes_later_changes(void **state)
{
	_cleanup_(db_freep) struct db *s = db_new();
	struct collection *t = db_collection(s, "pods");
	struct item **list;
	uint64_t then;
	size_t n;

	(void)state;
	put(t, "a", "kept", "1");
	put(t, "a", "changed", "old");
	put(t, "a", "removed", "1");
	commit(s);
	then = s->rv;
	put(t, "a", "changed", "new");
	put(t, "a", "changed", "newer");
	drop(t, "a", "removed");
	put(t, "a", "added", "1");
	put(t, "a", "removed", "again");
	put(t, "b", "other", "1");
	commit(s);
	assert_int_equal(db_span_at(t, then, "a", NULL, &list, &n), 0);
	assert_string_equal(keys(list, n), "a/changed a/kept a/removed ");
	assert_non_null(strstr(list[0]->text, "old"));
	assert_null(strstr(list[2]->text, "again"));
	free(list);
	assert_int_equal(db_span_at(t, s->rv, NULL, "a/kept", &list, &n), 0);
	assert_string_equal(keys(list, n), "a/kept a/removed b/other ");
	free(list);
	db_forget(s, NULL);
	assert_int_equal(db_span_at(t, then, "a", NULL, &list, &n), -ESTALE);
	assert_int_equal(db_span_at(t, s->rv, "a", NULL, &list, &n), 0);
	free(list);
}

static void test_history_is_bounded_and_knows_what_it_lost(void **state)
{
	_cleanup_(db_freep) struct db *s = db_new();
	struct collection *t = db_collection(s, "pods");
	uint64_t number;

	(void)state;
	for (int i = 0; i < HISTORY_EVENTS_MAX + 10; i++)
		put(t, "a", "x", "1");
	commit(s);
	assert_int_equal(t->next - t->first, HISTORY_EVENTS_MAX);
	assert_int_equal(t->floor, 10);
	assert_int_equal(db_seek(t, 9, &number), -ESTALE);
	assert_int_equal(db_seek(t, 10, &number), 0);
	assert_int_equal(db_event(t, number)->rv, 11);
	assert_int_equal(db_seek(t, s->rv, &number), 0);
	assert_null(db_event(t, number));
}

static void test_history_is_bounded_in_bytes(void **state)
{
	_cleanup_(db_freep) struct db *s = db_new();
	struct collection *t = db_collection(s, "pods");
	_cleanup_free_ char *big = mem_alloc(1 << 20);

	(void)state;
	memset(big, 'x', 1 << 20);
	for (int i = 0; i < 40; i++)
		db_put(t, "a", "x", big, 1 << 20);
	commit(s);
	assert_true(t->ring_bytes <= HISTORY_BYTES_MAX);
	assert_true(t->next - t->first >= 2);
}

struct seen {
	struct listener listener;
	char text[500];
};

static void see(struct listener *l, struct collection *t, const struct event *e)
{
	struct seen *s = CONTAINER_OF(l, struct seen, listener);

	snprintf(s->text + strlen(s->text), sizeof(s->text) - strlen(s->text), "%s:%d:%s:%llu%s ", t->name, e->change,
	         e->item->key, (unsigned long long)e->rv, e->prev ? "" : "!");
}

static void test_listeners_hear_of_changes_at_commit_and_not_before(void **state)
{
	_cleanup_(db_freep) struct db *s = db_new();
	struct collection *pods = db_collection(s, "pods"), *nodes = db_collection(s, "nodes");
	struct seen all = { .listener.changed = see }, one = { .listener.changed = see };

	(void)state;
	db_listen(&s->listeners, &all.listener);
	db_listen(&nodes->listeners, &one.listener);
	put(pods, "a", "x", "1");
	put(nodes, NULL, "n", "1");
	assert_string_equal(all.text, "");
	assert_true(db_pending(s));
	commit(s);
	assert_false(db_pending(s));
	put(pods, "a", "x", "2");
	drop(pods, "a", "x");
	commit(s);
	assert_string_equal(all.text, "pods:0:a/x:1! nodes:0:n:2! pods:1:a/x:3 pods:2:a/x:4 ");
	assert_string_equal(one.text, "nodes:0:n:2! ");
}

static void test_a_commit_larger_than_the_history_still_tells_everything(void **state)
{
	_cleanup_(db_freep) struct db *s = db_new();
	struct collection *t = db_collection(s, "pods");
	struct seen all = { .listener.changed = see };

	(void)state;
	put(t, NULL, "first", "1");
	db_listen(&s->listeners, &all.listener);
	db_forget(s, NULL);
	commit(s);
	assert_string_equal(all.text, "pods:0:first:1! ");
}

struct fixture {
	char dir[64], path[100];
};

static int setup(void **state)
{
	struct fixture *f = NEW(struct fixture);

	strcpy(f->dir, "/tmp/lite-store-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/journal", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static struct db *reopen(struct db *old, const struct fixture *f, uint64_t *ret_cut)
{
	struct db *s = db_new();
	struct err err = { 0 };

	db_free(old);
	if (db_open_journal(s, f->path, false, ret_cut, &err) < 0)
		fail_msg("%s", err_text(&err));
	return s;
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void test_a_restart_finds_everything_with_its_history(void **state)
{
	const struct fixture *f = *state;
	uint64_t cut, number;
	struct db *s = reopen(NULL, f, &cut);
	struct collection *t = db_collection(s, "pods");

	put(t, "a", "x", "1");
	put(t, "a", "y", "1");
	put(db_collection(s, "nodes"), NULL, "n", "1");
	commit(s);
	put(t, "a", "x", "2");
	drop(t, "a", "y");
	commit(s);
	put(t, "a", "never", "committed");
	s = reopen(s, f, &cut);
	t = db_collection(s, "pods");
	assert_int_equal(cut, 0);
	assert_int_equal(s->rv, 5);
	assert_non_null(strstr(db_get(t, "a", "x")->text, "\"2\""));
	assert_null(db_get(t, "a", "y"));
	assert_null(db_get(t, "a", "never"));
	assert_non_null(db_get(db_collection(s, "nodes"), NULL, "n"));
	assert_int_equal(db_seek(t, 1, &number), 0);
	assert_int_equal(db_event(t, number)->rv, 2);
	assert_int_equal(db_event(t, number + 2)->change, CHANGE_DELETED);
	db_free(s);
}

static void test_a_torn_tail_is_cut_at_every_byte(void **state)
{
	const struct fixture *f = *state;
	uint64_t cut;
	struct db *s = reopen(NULL, f, &cut);
	off_t first, whole;

	put(db_collection(s, "pods"), "a", "x", "1");
	commit(s);
	first = size_of(f->path);
	put(db_collection(s, "pods"), "a", "x", "2");
	commit(s);
	whole = size_of(f->path);
	for (off_t size = whole - 1; size >= first; size--) {
		assert_int_equal(truncate(f->path, size), 0);
		s = reopen(s, f, &cut);
		assert_int_equal(cut, size - first);
		assert_int_equal(size_of(f->path), first);
		assert_int_equal(s->rv, 1);
		put(db_collection(s, "pods"), "a", "x", "2");
		commit(s);
		assert_int_equal(size_of(f->path), whole);
	}
	db_free(s);
}

static void test_damage_in_the_middle_is_an_error(void **state)
{
	const struct fixture *f = *state;
	uint64_t cut;
	struct db *s = reopen(NULL, f, &cut);
	struct err err = { 0 };
	int fd;

	put(db_collection(s, "pods"), "a", "x", "1");
	put(db_collection(s, "pods"), "a", "x", "2");
	commit(s);
	db_free(s);
	fd = open(f->path, O_WRONLY);
	assert_int_equal(pwrite(fd, "!", 1, 60), 1);
	close(fd);
	s = db_new();
	assert_int_equal(db_open_journal(s, f->path, false, &cut, &err), -EUCLEAN);
	assert_non_null(strstr(err_text(&err), "damaged at byte 20"));
	db_free(s);
}

static void test_a_foreign_file_is_refused(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db_freep) struct db *s = db_new();
	FILE *file = fopen(f->path, "w");
	uint64_t cut;

	fputs("this is a diary, not a journal\n", file);
	fclose(file);
	assert_int_equal(db_open_journal(s, f->path, false, &cut, NULL), -EINVAL);
}

static void test_a_grown_journal_is_rewritten_and_says_the_same(void **state)
{
	const struct fixture *f = *state;
	_cleanup_free_ char *big = mem_alloc(100000);
	uint64_t cut, rv, number;
	struct db *s = reopen(NULL, f, &cut);
	struct collection *t = db_collection(s, "pods");

	memset(big, 'x', 100000);
	put(db_collection(s, "nodes"), NULL, "n", "1");
	for (int i = 0; i < 200; i++) {
		db_put(t, "a", "x", big, 100000);
		db_put(t, "a", "y", big, 100);
		commit(s);
	}
	assert_int_equal(db_tidy(s, NULL), 0);
	assert_true(size_of(f->path) < 200000);
	put(t, "a", "z", "after");
	commit(s);
	rv = s->rv;
	s = reopen(s, f, &cut);
	t = db_collection(s, "pods");
	assert_int_equal(s->rv, rv);
	assert_int_equal(t->n, 3);
	assert_int_equal(db_get(t, "a", "x")->rv, rv - 2);
	assert_int_equal(db_get(t, "a", "x")->len, 100000);
	assert_non_null(db_get(db_collection(s, "nodes"), NULL, "n"));
	assert_int_equal(db_seek(t, rv - 2, &number), -ESTALE);
	assert_int_equal(db_seek(t, rv - 1, &number), 0);
	assert_int_equal(db_event(t, number)->rv, rv);
	db_free(s);
}

#define ON_DISK(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

TEST_MAIN(TEST(objects_come_in_order_of_their_keys), TEST(a_list_of_an_earlier_moment_undoes_later_changes),
          TEST(history_is_bounded_and_knows_what_it_lost), TEST(history_is_bounded_in_bytes),
          TEST(listeners_hear_of_changes_at_commit_and_not_before),
          TEST(a_commit_larger_than_the_history_still_tells_everything),
          ON_DISK(a_restart_finds_everything_with_its_history), ON_DISK(a_torn_tail_is_cut_at_every_byte),
          ON_DISK(damage_in_the_middle_is_an_error), ON_DISK(a_foreign_file_is_refused),
          ON_DISK(a_grown_journal_is_rewritten_and_says_the_same))
