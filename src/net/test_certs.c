/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/test_certs.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/mem.h"

static long serial = 1;

static char *take_text(BIO *bio)
{
	char *data, *text;
	long len = BIO_get_mem_data(bio, &data);

	assert(len > 0);
	text = mem_strndup(data, (size_t)len);
	BIO_free(bio);
	return text;
}

static void add_extension(struct test_cert *c, const struct test_cert *signer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, signer ? signer->x509 : c->x509, c->x509, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert(e);
	X509_add_ext(c->x509, e, -1);
	X509_EXTENSION_free(e);
}

void test_cert_make(struct test_cert *c, const struct test_cert *signer, const char *name, const char *san, long from_s,
                    long to_s)
{
	X509_NAME *subject;
	BIO *bio;
	int r;

	c->key = EVP_EC_gen("P-256");
	c->x509 = X509_new();
	assert(c->key && c->x509);
	X509_set_version(c->x509, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(c->x509), serial++);
	X509_gmtime_adj(X509_getm_notBefore(c->x509), from_s);
	X509_gmtime_adj(X509_getm_notAfter(c->x509), to_s);
	X509_set_pubkey(c->x509, c->key);
	subject = X509_get_subject_name(c->x509);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(c->x509, signer ? X509_get_subject_name(signer->x509) : subject);
	add_extension(c, signer, NID_basic_constraints, san ? "critical,CA:FALSE" : "critical,CA:TRUE");
	if (san)
		add_extension(c, signer, NID_subject_alt_name, san);
	r = X509_sign(c->x509, signer ? signer->key : c->key, EVP_sha256());
	assert(r > 0);
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_X509(bio, c->x509);
	c->cert_pem = take_text(bio);
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_PrivateKey(bio, c->key, NULL, NULL, 0, NULL, NULL);
	c->key_pem = take_text(bio);
}

void test_cert_done(struct test_cert *c)
{
	EVP_PKEY_free(c->key);
	X509_free(c->x509);
	free(c->cert_pem);
	free(c->key_pem);
	*c = (struct test_cert) { 0 };
}
