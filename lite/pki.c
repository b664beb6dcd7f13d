/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/pki.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/rand.h"
#include "base/str.h"

#define PEM_MAX 65536
#define DAYS 3650
#define SECONDS_PER_DAY 86400L
#define CLOCK_SKEW_S 3600L

static void pkey_freep(EVP_PKEY **k)
{
	EVP_PKEY_free(*k);
}

static void cert_freep(X509 **c)
{
	X509_free(*c);
}

static void bio_freep(BIO **b)
{
	BIO_free(*b);
}

static int crypto_failed(struct err *err, const char *what)
{
	char text[200];

	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	return err_set(err, -EIO, "%s: %s", what, text);
}

int write_file(const char *path, const char *text, size_t len, unsigned mode, struct err *err)
{
	_cleanup_free_ char *tmp = str_printf("%s.tmp%d", path, (int)getpid());
	_cleanup_fd_ int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	int r = 0;

	if (fd < 0)
		return err_errno(err, -errno, "writing %s", tmp);
	while (r == 0 && len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0) {
			r = -errno;
			break;
		}
		text += n;
		len -= (size_t)n;
	}
	if (r == 0 && (fchmod(fd, mode) < 0 || rename(tmp, path) < 0))
		r = -errno;
	if (r < 0) {
		unlink(tmp);
		return err_errno(err, r, "writing %s", path);
	}
	return 0;
}

static int add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	int ok;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = e && X509_add_ext(cert, e, -1);
	X509_EXTENSION_free(e);
	return ok ? 0 : -EIO;
}

static void set_serial(X509 *cert)
{
	uint64_t serial;

	rand_secure(&serial, sizeof(serial));
	ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1);
}

/* A certificate with the subject CN=name; issuer NULL: signed by its own key. */
static X509 *make_cert(const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key, const char *alt_names)
{
	X509 *cert = X509_new();
	X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
	bool ca = !issuer;

	if (!cert || !X509_set_version(cert, X509_VERSION_3) || !X509_set_pubkey(cert, key) ||
	    !X509_gmtime_adj(X509_getm_notBefore(cert), -CLOCK_SKEW_S) ||
	    !X509_gmtime_adj(X509_getm_notAfter(cert), DAYS * SECONDS_PER_DAY) ||
	    !X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0))
		goto failed;
	set_serial(cert);
	if (ca)
		issuer = cert;
	if (!X509_set_issuer_name(cert, X509_get_subject_name(issuer)) ||
	    add_extension(cert, issuer, NID_basic_constraints, ca ? "critical,CA:TRUE" : "critical,CA:FALSE") < 0 ||
	    add_extension(cert, issuer, NID_key_usage,
	                  ca ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") < 0 ||
	    add_extension(cert, issuer, NID_subject_key_identifier, "hash") < 0 ||
	    add_extension(cert, issuer, NID_authority_key_identifier, "keyid") < 0 ||
	    (!ca && add_extension(cert, issuer, NID_ext_key_usage, "serverAuth") < 0) ||
	    (alt_names && add_extension(cert, issuer, NID_subject_alt_name, alt_names) < 0) ||
	    !X509_sign(cert, issuer_key, EVP_sha256()))
		goto failed;
	return cert;
failed:
	X509_free(cert);
	return NULL;
}

static char *pem_of(X509 *cert, EVP_PKEY *key)
{
	_cleanup_(bio_freep) BIO *b = BIO_new(BIO_s_mem());
	char *data;
	long len;

	if (!b || (cert ? !PEM_write_bio_X509(b, cert) : !PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL)))
		return NULL;
	len = BIO_get_mem_data(b, &data);
	return mem_strndup(data, (size_t)len);
}

static int load_ca(const char *cert_path, const char *key_path, X509 **ret_cert, EVP_PKEY **ret_key, struct err *err)
{
	_cleanup_buf_ struct buf cert = BUF(PEM_MAX), key = BUF(PEM_MAX);
	_cleanup_(bio_freep) BIO *cert_bio = NULL, *key_bio = NULL;
	int r;

	r = buf_read_file(&cert, cert_path);
	if (r < 0)
		return err_errno(err, r, "%s", cert_path);
	r = buf_read_file(&key, key_path);
	if (r < 0)
		return err_errno(err, r, "%s", key_path);
	cert_bio = BIO_new_mem_buf(buf_text(&cert), (int)cert.len);
	key_bio = BIO_new_mem_buf(buf_text(&key), (int)key.len);
	*ret_cert = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL);
	*ret_key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
	OPENSSL_cleanse(key.data, key.len);
	if (!*ret_cert || !*ret_key || X509_check_private_key(*ret_cert, *ret_key) != 1)
		return crypto_failed(err, cert_path);
	return 0;
}

static int make_ca(const char *cert_path, const char *key_path, X509 **ret_cert, EVP_PKEY **ret_key, struct err *err)
{
	_cleanup_free_ char *cert_pem = NULL, *key_pem = NULL;
	int r;

	*ret_key = EVP_EC_gen("P-256");
	*ret_cert = *ret_key ? make_cert("sunk-lite-ca", *ret_key, NULL, *ret_key, NULL) : NULL;
	if (!*ret_cert || !(cert_pem = pem_of(*ret_cert, NULL)) || !(key_pem = pem_of(NULL, *ret_key)))
		return crypto_failed(err, "making the certificate authority");
	r = write_file(key_path, key_pem, strlen(key_pem), 0600, err);
	if (r == 0)
		r = write_file(cert_path, cert_pem, strlen(cert_pem), 0644, err);
	OPENSSL_cleanse(key_pem, strlen(key_pem));
	return r;
}

static char *alt_names(const char *address)
{
	unsigned char raw[16];
	bool ip = inet_pton(AF_INET, address, raw) == 1 || inet_pton(AF_INET6, address, raw) == 1;

	return str_printf("DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,"
	                  "IP:::1,%s:%s",
	                  ip ? "IP" : "DNS", address);
}

int pki_open(struct pki *p, const char *dir, const char *address, struct err *err)
{
	_cleanup_free_ char *cert_path = str_printf("%s/ca.crt", dir), *key_path = str_printf("%s/ca.key", dir);
	_cleanup_free_ char *names = alt_names(address);
	_cleanup_(cert_freep) X509 *ca = NULL, *cert = NULL;
	_cleanup_(pkey_freep) EVP_PKEY *ca_key = NULL, *key = NULL;
	int r;

	*p = (struct pki) { 0 };
	r = access(cert_path, F_OK) == 0 ? load_ca(cert_path, key_path, &ca, &ca_key, err)
	                                 : make_ca(cert_path, key_path, &ca, &ca_key, err);
	if (r < 0)
		return r;
	key = EVP_EC_gen("P-256");
	cert = key ? make_cert("sunk-lite", key, ca, ca_key, names) : NULL;
	if (!cert)
		return crypto_failed(err, "making the server's certificate");
	p->ca_pem = pem_of(ca, NULL);
	p->cert_pem = pem_of(cert, NULL);
	p->key_pem = pem_of(NULL, key);
	if (!p->ca_pem || !p->cert_pem || !p->key_pem) {
		pki_done(p);
		return crypto_failed(err, "writing the server's certificate");
	}
	return 0;
}

int pki_make(struct pki *p, const char *address, struct err *err)
{
	_cleanup_free_ char *names = alt_names(address);
	_cleanup_(pkey_freep) EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");
	_cleanup_(cert_freep) X509 *ca =
	        ca_key && key ? make_cert("sunk-lite-agent-ca", ca_key, NULL, ca_key, NULL) : NULL;
	_cleanup_(cert_freep) X509 *cert = ca ? make_cert("sunk-lite-agent", key, ca, ca_key, names) : NULL;

	*p = (struct pki) { 0 };
	if (cert) {
		p->ca_pem = pem_of(ca, NULL);
		p->cert_pem = pem_of(cert, NULL);
		p->key_pem = pem_of(NULL, key);
	}
	if (!p->ca_pem || !p->cert_pem || !p->key_pem) {
		pki_done(p);
		return crypto_failed(err, "making a certificate");
	}
	return 0;
}

void pki_done(struct pki *p)
{
	if (p->key_pem)
		OPENSSL_cleanse(p->key_pem, strlen(p->key_pem));
	free(p->ca_pem);
	free(p->cert_pem);
	free(p->key_pem);
	*p = (struct pki) { 0 };
}
