/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A call of a hook API as libcurl has it: the same settings whether it is then made with blocking (call.h) or among others
 * (requests.h).
 */
#pragma once

#include <curl/curl.h>

#include "hook/call.h"

struct easy {
	CURL *curl;
	struct curl_slist *headers;
	struct buf body; /* of the answer */
	char detail[CURL_ERROR_SIZE];
};

/* Must stay where it is until easy_done(); the call's texts must too. -EINVAL for an address that is none. */
int easy_init(struct easy *e, const struct hook_call *call, struct err *err);
void easy_done(struct easy *e); /* zeroed is fine */

/* What came of it: 0 with the status, or an error that names the address and the cause. */
int easy_result(struct easy *e, const struct hook_call *call, CURLcode code, int *ret_status, struct err *err);
