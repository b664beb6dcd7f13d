/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * File: MAGIC, then frames. Frame: u32 length, u32 checksum (CRC-32C of what follows), then `length` bytes: u8 op,
 * u64 rv, u16 length of the collection's name, u16 length of the key, name, key, text. Little endian.
 */
#include "lite/journal.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"

#define MAGIC "sunk-lite journal 1\n"
#define MAGIC_LEN (sizeof(MAGIC) - 1)
#define FRAME_HEAD 8
#define RECORD_HEAD 13
#define PENDING_MAX ((size_t)1 << 30)
#define FLUSH_BYTES ((size_t)1 << 20) /* while rewriting: how much is gathered for one write */

struct journal {
	char *path;
	int fd;
	bool sync, broken;
	uint64_t size;
	struct buf pending;
	bool flush_early; /* rewriting */
	int flush_error;
};

static uint32_t crc_table[8][256]; /* CRC-32C, eight bytes at a time */

static void crc_init(void)
{
	if (crc_table[0][1])
		return;
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
		crc_table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int k = 1; k < 8; k++)
			crc_table[k][i] = crc_table[k - 1][i] >> 8 ^ crc_table[0][crc_table[k - 1][i] & 0xff];
}

static uint32_t crc32c(const uint8_t *p, size_t len)
{
	uint32_t c = ~0u;

	for (; len >= 8; len -= 8, p += 8) {
		uint32_t low = c ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);

		c = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^ crc_table[5][low >> 16 & 0xff] ^
		    crc_table[4][low >> 24] ^ crc_table[3][p[4]] ^ crc_table[2][p[5]] ^ crc_table[1][p[6]] ^
		    crc_table[0][p[7]];
	}
	while (len--)
		c = c >> 8 ^ crc_table[0][(c ^ *p++) & 0xff];
	return ~c;
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* The size of the whole frame at p, or 0 when there is none that is whole and undamaged. */
static size_t frame_at(const uint8_t *p, size_t left)
{
	size_t len;

	if (left < FRAME_HEAD)
		return 0;
	len = get32(p);
	if (len < RECORD_HEAD || len > JOURNAL_RECORD_MAX || left - FRAME_HEAD < len)
		return 0;
	if (crc32c(p + FRAME_HEAD, len) != get32(p + 4))
		return 0;
	return FRAME_HEAD + len;
}

static int replay_frame(const uint8_t *frame, size_t size, journal_replay replay, void *arg, struct err *err)
{
	const uint8_t *p = frame + FRAME_HEAD;
	size_t n_coll = get16(p + 9), n_key = get16(p + 11), head = RECORD_HEAD + n_coll + n_key;
	char collection[JOURNAL_NAME_MAX + 1], key[JOURNAL_NAME_MAX + 1];
	struct journal_record r = { .op = p[0], .rv = get64(p + 1), .collection = collection, .key = key };

	if (n_coll > JOURNAL_NAME_MAX || n_key > JOURNAL_NAME_MAX || head > size - FRAME_HEAD)
		return err_set(err, -EUCLEAN, "a record's names do not fit into it");
	memcpy(collection, p + RECORD_HEAD, n_coll);
	collection[n_coll] = '\0';
	memcpy(key, p + RECORD_HEAD + n_coll, n_key);
	key[n_key] = '\0';
	r.text = (const char *)p + head;
	r.len = size - FRAME_HEAD - head;
	return replay(arg, &r, err);
}

/* Is there a whole record anywhere behind a broken one? Its length field says where to look first; if that is damaged
 * too, any place is tried. */
static bool more_records(const uint8_t *p, size_t left)
{
	for (size_t at = 1; at + FRAME_HEAD + RECORD_HEAD <= left; at++) {
		const uint8_t *f = p + at;
		uint8_t op = f[FRAME_HEAD];

		if ((op == JOURNAL_PUT || op == JOURNAL_DELETE) && frame_at(f, left - at))
			return true;
	}
	return false;
}

static int replay_all(const uint8_t *data, size_t size, journal_replay replay, void *arg, size_t *ret_good,
                      struct err *err)
{
	size_t at = MAGIC_LEN, n;
	int r;

	while ((n = frame_at(data + at, size - at)) > 0) {
		r = replay_frame(data + at, n, replay, arg, err);
		if (r < 0)
			return err_wrap(err, r, "at byte %zu", at);
		at += n;
	}
	if (more_records(data + at, size - at))
		return err_set(err, -EUCLEAN, "damaged at byte %zu, with more records behind it", at);
	*ret_good = at;
	return 0;
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int replay_file(struct journal *j, journal_replay replay, void *arg, uint64_t *ret_cut, struct err *err)
{
	size_t size, good = 0;
	struct stat st;
	void *data;
	int r;

	if (fstat(j->fd, &st) < 0)
		return err_errno(err, -errno, "%s", j->path);
	size = (size_t)st.st_size;
	if (size < MAGIC_LEN) { /* new, or died while making it */
		r = ftruncate(j->fd, 0) < 0 ? -errno : write_all(j->fd, MAGIC, MAGIC_LEN);
		if (r < 0)
			return err_errno(err, r, "%s", j->path);
		j->size = MAGIC_LEN;
		*ret_cut = size;
		return 0;
	}
	data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, j->fd, 0);
	if (data == MAP_FAILED)
		return err_errno(err, -errno, "%s", j->path);
	if (memcmp(data, MAGIC, MAGIC_LEN) != 0)
		r = err_set(err, -EINVAL, "no journal of this program");
	else
		r = replay_all(data, size, replay, arg, &good, err);
	munmap(data, size);
	if (r < 0)
		return err_wrap(err, r, "%s", j->path);
	if (good < size && ftruncate(j->fd, (off_t)good) < 0)
		return err_errno(err, -errno, "cutting %s", j->path);
	if (lseek(j->fd, (off_t)good, SEEK_SET) < 0)
		return err_errno(err, -errno, "%s", j->path);
	j->size = good;
	*ret_cut = size - good;
	return 0;
}

int journal_open(const char *path, bool sync, journal_replay replay, void *arg, struct journal **ret, uint64_t *ret_cut,
                 struct err *err)
{
	_cleanup_(journal_freep) struct journal *j = NEW(struct journal);
	uint64_t cut = 0;
	int r;

	crc_init();
	j->path = mem_strdup(path);
	j->sync = sync;
	j->pending = BUF(PENDING_MAX);
	j->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (j->fd < 0)
		return err_errno(err, -errno, "%s", path);
	r = replay_file(j, replay, arg, &cut, err);
	if (r < 0)
		return r;
	*ret_cut = cut;
	*ret = TAKE_PTR(j);
	return 0;
}

void journal_free(struct journal *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	buf_done(&j->pending);
	free(j->path);
	free(j);
}

void journal_add(struct journal *j, const struct journal_record *r)
{
	size_t n_coll = strlen(r->collection), n_key = strlen(r->key), len = RECORD_HEAD + n_coll + n_key + r->len;
	uint8_t *p;

	assert(n_coll <= JOURNAL_NAME_MAX && n_key <= JOURNAL_NAME_MAX && len <= JOURNAL_RECORD_MAX);
	p = (uint8_t *)buf_reserve(&j->pending, FRAME_HEAD + len);
	assert(p); /* commits come often enough */
	p[FRAME_HEAD] = (uint8_t)r->op;
	memcpy(p + FRAME_HEAD + 1, &(uint64_t) { htole64(r->rv) }, 8);
	memcpy(p + FRAME_HEAD + 9, &(uint16_t) { htole16((uint16_t)n_coll) }, 2);
	memcpy(p + FRAME_HEAD + 11, &(uint16_t) { htole16((uint16_t)n_key) }, 2);
	memcpy(p + FRAME_HEAD + RECORD_HEAD, r->collection, n_coll);
	memcpy(p + FRAME_HEAD + RECORD_HEAD + n_coll, r->key, n_key);
	if (r->len > 0)
		memcpy(p + FRAME_HEAD + RECORD_HEAD + n_coll + n_key, r->text, r->len);
	memcpy(p, &(uint32_t) { htole32((uint32_t)len) }, 4);
	memcpy(p + 4, &(uint32_t) { htole32(crc32c(p + FRAME_HEAD, len)) }, 4);
	j->pending.len += FRAME_HEAD + len;
	if (j->flush_early && j->pending.len >= FLUSH_BYTES && j->flush_error == 0)
		j->flush_error = journal_commit(j, NULL);
}

bool journal_pending(const struct journal *j)
{
	return j->pending.len > 0;
}

int journal_commit(struct journal *j, struct err *err)
{
	int r;

	if (j->broken)
		return err_set(err, -EIO, "%s could not be written before", j->path);
	if (!journal_pending(j))
		return 0;
	r = write_all(j->fd, j->pending.data, j->pending.len);
	if (r == 0 && j->sync && fdatasync(j->fd) < 0)
		r = -errno;
	if (r < 0) {
		j->broken = true;
		return err_errno(err, r, "writing %s", j->path);
	}
	j->size += j->pending.len;
	if (j->pending.size > 4 * FLUSH_BYTES)
		buf_done(&j->pending);
	else
		buf_clear(&j->pending);
	return 0;
}

uint64_t journal_size(const struct journal *j)
{
	return j->size;
}

static int sync_directory(const char *path)
{
	_cleanup_free_ char *dir = mem_strdup(path);
	_cleanup_fd_ int fd = -1;
	char *slash = strrchr(dir, '/');

	if (slash)
		*slash = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int journal_rewrite(struct journal *j, void (*fill)(void *arg, struct journal *j), void *arg, struct err *err)
{
	_cleanup_free_ char *path = str_printf("%s.new", j->path);
	struct journal new = { .path = path, .fd = -1, .pending = BUF(PENDING_MAX), .flush_early = true };
	int r;

	assert(!journal_pending(j));
	new.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (new.fd < 0)
		return err_errno(err, -errno, "%s", path);
	buf_add(&new.pending, MAGIC, MAGIC_LEN);
	fill(arg, &new);
	r = new.flush_error ? new.flush_error : journal_commit(&new, NULL);
	buf_done(&new.pending);
	if (r == 0 && fsync(new.fd) < 0) /* or the rename could reach the disk before what it names */
		r = -errno;
	if (r == 0 && rename(path, j->path) < 0)
		r = -errno;
	if (r < 0) {
		close(new.fd);
		unlink(path);
		return err_errno(err, r, "writing %s", path);
	}
	close(j->fd);
	j->fd = new.fd;
	j->size = new.size;
	j->broken = false;
	r = sync_directory(j->path);
	return r < 0 ? err_errno(err, r, "the directory of %s", j->path) : 0;
}
