/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Curl's result codes as sentences that a person can act on.
 */
#include <errno.h>
#include <openssl/x509_vfy.h>

#include "base/str.h"
#include "net/http_call.h"

#define SAYS_MAX 200 /* bytes of curl's own words */

struct words {
	CURLcode result;
	int code;
	const char *text;
	bool details; /* curl's own words behind */
};

static const struct words words[] = {
	{ CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH, "the proxy's name does not resolve to an address" },
	{ CURLE_PROXY, -EHOSTUNREACH, "the proxy did not connect", true },
	{ CURLE_GOT_NOTHING, -ECONNRESET, "the connection was closed before an answer came" },
	{ CURLE_PARTIAL_FILE, -ECONNRESET, "the answer ended in the middle" },
	{ CURLE_SEND_ERROR, -ECONNRESET, "the connection broke while sending", true },
	{ CURLE_RECV_ERROR, -ECONNRESET, "the connection broke", true },
	{ CURLE_HTTP2, -EPROTO, "the HTTP/2 connection broke", true },
	{ CURLE_HTTP2_STREAM, -ECONNRESET, "the server broke the HTTP/2 stream off", true },
	{ CURLE_WEIRD_SERVER_REPLY, -EPROTO, "the server does not speak HTTP", true },
	{ CURLE_UNSUPPORTED_PROTOCOL, -EPROTO, "the server does not speak HTTP", true },
	{ CURLE_BAD_CONTENT_ENCODING, -EPROTO, "the compressed answer is broken", true },
	{ CURLE_TOO_LARGE, -EMSGSIZE, "a header of the answer is too large" },
	{ CURLE_SSL_CONNECT_ERROR, -EPROTO, "TLS handshake failed", true },
	{ CURLE_SSL_CERTPROBLEM, -EKEYREJECTED, "the client certificate or its key cannot be used", true },
};

static void fail_certificate(struct http_call *call, const struct curl_failure *f)
{
	long why = X509_V_OK;

	curl_easy_getinfo(f->easy, CURLINFO_SSL_VERIFYRESULT, &why);
	switch (why) {
	case X509_V_OK: /* the chain is good, so it is the name; the next is where curl leaves it then */
	case X509_V_ERR_UNSPECIFIED:
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		call_fail(call, -EKEYREJECTED, "the server's certificate is not for '%.100s'", f->host);
		return;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		call_fail(call, -EKEYREJECTED, "the server's certificate is not signed by %s",
		          f->own_ca ? "the given CA" : "a CA that this machine trusts");
		return;
	case X509_V_ERR_CERT_HAS_EXPIRED:
		call_fail(call, -EKEYREJECTED, "the server's certificate has expired");
		return;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		call_fail(call, -EKEYREJECTED,
		          "the server's certificate is not valid yet; is this machine's clock right?");
		return;
	default:
		call_fail(call, -EKEYREJECTED, "the server's certificate is refused: %s",
		          X509_verify_cert_error_string(why));
	}
}

/* The server's TLS alerts about the client's certificate; with TLS 1.3 they come after the handshake. */
static bool is_about_client_certificate(CURLcode result, const char *says)
{
	return (result == CURLE_RECV_ERROR || result == CURLE_SEND_ERROR || result == CURLE_SSL_CONNECT_ERROR) &&
	       strstr(says, " alert ") && (strstr(says, "certificate") || strstr(says, "unknown ca"));
}

static void fail_connect(struct http_call *call, CURL *easy)
{
	const char *name;
	long number = 0;

	curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
	name = number > 0 ? strerrordesc_np((int)number) : NULL;
	if (number == ECONNREFUSED || !name)
		call_fail(call, -ECONNREFUSED, "connection refused");
	else
		call_fail(call, (int)-number, "cannot connect: %s", name);
}

void call_fail_curl(struct http_call *call, const struct curl_failure *f)
{
	CURLcode result = f->result;
	const char *says = f->says[0] ? f->says : curl_easy_strerror(result);
	_cleanup_buf_ struct buf safe = BUF(SAYS_MAX + 16);
	char span[TIME_TEXT_MAX];

	str_add_safe(&safe, says, strlen(says), SAYS_MAX);
	if (result == CURLE_BAD_FUNCTION_ARGUMENT && strstr(says, "private key")) /* what newer libcurls make of it */
		result = CURLE_SSL_CERTPROBLEM;
	switch (result) {
	case CURLE_COULDNT_CONNECT: fail_connect(call, f->easy); return;
	case CURLE_PEER_FAILED_VERIFICATION: fail_certificate(call, f); return;
	case CURLE_SSL_CACERT_BADFILE:
		call_fail(call, -EKEYREJECTED, "%s",
		          f->own_ca ? "the given CA is no usable PEM certificate"
		                    : "the CAs of this machine cannot be read (is ca-certificates installed?)");
		return;
	case CURLE_COULDNT_RESOLVE_HOST:
		call_fail(call, -EHOSTUNREACH, "the host's name does not resolve to an address");
		return;
	case CURLE_OPERATION_TIMEDOUT: /* only connecting has a deadline of curl's own */
		call_fail(call, -ETIMEDOUT, "no connection within %s", duration_format(call->connect_timeout, span));
		return;
	default: break;
	}
	if (is_about_client_certificate(result, says)) {
		call_fail(call, -EKEYREJECTED, "the server does not accept the client certificate, or wants one: %s",
		          buf_text(&safe));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (words[i].result != result)
			continue;
		call_fail(call, words[i].code, "%s%s%s", words[i].text, words[i].details ? ": " : "",
		          words[i].details ? buf_text(&safe) : "");
		return;
	}
	call_fail(call, -EIO, "%s", buf_text(&safe));
}
