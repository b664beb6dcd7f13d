/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The server's own certificate authority: made once per directory, kept over restarts so that clients stay valid. The
 * server's certificate is made anew at each start. Keys are ECDSA P-256; their files are readable by the owner only.
 */
#pragma once

#include "base/err.h"

struct pki {
	char *ca_pem, *cert_pem, *key_pem; /* of the CA; of the server */
};

/* Loads or makes <dir>/ca.crt and <dir>/ca.key, then a server certificate for `address`, localhost and 127.0.0.1. */
int pki_open(struct pki *p, const char *dir, const char *address, struct err *err);
/* The same in memory only, with an authority of its own whose key is forgotten. */
int pki_make(struct pki *p, const char *address, struct err *err);
void pki_done(struct pki *p);

/* Writes a file that appears whole or not at all, with this mode. */
int write_file(const char *path, const char *text, size_t len, unsigned mode, struct err *err);
