/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The exchanges recorded from a real API server (tests/kube-samples), for tests. A sample is a curl command line, what
 * curl said on stderr ('> ' sent, '< ' received), and the body. $SUNK_KUBE_SAMPLES names the directory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/time.h"
#include "net/http_client.h"

#define SAMPLE_HEADERS_MAX 24

struct sample {
	char *text;          /* the file; everything points into it or into copies */
	char *method, *path; /* of the request, path with query */
	int status;          /* 0 when the file holds no answer */
	char *headers[SAMPLE_HEADERS_MAX + 1]; /* received, "Name: value" */
	char *body;
	size_t body_len;
};

/* Reads one, fails the test when it cannot. Files without an exchange give status 0 and the whole text as body. */
struct sample *sample_read(const char *name);
void sample_free(struct sample *s);
DEFINE_FREEP(struct sample, sample_free)

const char *sample_header(const struct sample *s, const char *name); /* "" when absent */

/* Some streams were recorded of ConfigMaps, which we never watch: makes Pods of them. */
void sample_make_pods(struct sample *s);

/* As the HTTP client would give it. The body is the sample's. */
struct http_answer sample_answer(const struct sample *s);

/* All names in the directory, sorted, NULL-terminated; free() each and the array. */
char **sample_names(void);
