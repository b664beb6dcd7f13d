/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any text in a node's Extra: what is written is bounded, holds our part, and is not written again.
 */
#include "syncer/extra.h"

#include <assert.h>
#include <stdint.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_strndup((const char *)data, size);
	_cleanup_buf_ struct buf out = BUF(EXTRA_TEXT_MAX), again = BUF(EXTRA_TEXT_MAX);
	struct condition ready = { .type = text, .status = COND_TRUE };
	struct pod pod = {
		.meta = { .ns = "slurm", .name = "n1" }, .node_name = text, .conditions = &ready, .n_conditions = 1
	};
	struct extra_memory m;
	struct err err = { 0 };

	extra_recall(text, &m);
	if (!extra_merge(text, &pod, text, &out, &err)) {
		assert(err.code || extra_recall(text, &m));
		return 0;
	}
	assert(!err.code && out.len <= EXTRA_TEXT_MAX);
	assert(str_is_utf8(out.data, out.len));
	assert(extra_recall(buf_text(&out), &m) && str_eq(m.pod, "n1"));
	assert(!extra_merge(buf_text(&out), &pod, text, &again, &err) && !err.code);
	return 0;
}
