/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/probe.h"

#include <errno.h>

#include "base/str.h"
#include "json/json.h"

int probe_version(const struct http_answer *http, char version[PROBE_VERSION_MAX], struct err *err)
{
	yyjson_doc *doc = NULL;
	const char *text;
	int r;

	if (http->error)
		return err_set(err, -EIO, "%s", http->error->text);
	if (http->status != 200)
		return err_set(err, -EIO, "/version answered %d", http->status);
	r = json_parse_copy(http->body, http->body_len, &doc, err);
	if (r < 0)
		return err_wrap(err, r, "/version");
	text = json_str(json_get(yyjson_doc_get_root(doc), "gitVersion"));
	if (str_empty(text) || str_has_control(text, strlen(text)) || !str_copy(version, PROBE_VERSION_MAX, text))
		r = err_set(err, -EBADMSG, "/version tells no gitVersion: is this a Kubernetes API?");
	yyjson_doc_free(doc);
	return r;
}

int probe_ready(const struct http_answer *http, struct err *err)
{
	_cleanup_buf_ struct buf shown = BUF(ERR_TEXT_MAX);
	const char *lacks;

	if (http->error)
		return err_set(err, -EAGAIN, "%s", http->error->text);
	if (http->status == 200)
		return 0;
	lacks = strstr(http->body, "[-]"); /* lines of [+] and [-] */
	if (lacks)
		str_add_safe(&shown, lacks, strcspn(lacks, "\r\n"), 200);
	return err_set(err, -EAGAIN, "/readyz answered %d%s%s", http->status, lacks ? ": " : "", buf_text(&shown));
}
