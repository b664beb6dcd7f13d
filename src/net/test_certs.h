/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Certificates made on the spot, for tests.
 */
#pragma once

#include <openssl/x509.h>

struct test_cert {
	EVP_PKEY *key;
	X509 *x509;
	char *cert_pem, *key_pem;
};

/* signer NULL: signs itself. san NULL: a CA; else "DNS:localhost,IP:127.0.0.1". Valid from now + from_s to now + to_s.
 */
void test_cert_make(struct test_cert *c, const struct test_cert *signer, const char *name, const char *san, long from_s,
                    long to_s);
void test_cert_done(struct test_cert *c);
