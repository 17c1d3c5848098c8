#include "net/tls/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"

namespace ps {

namespace {

// The number of bytes that are read from a connection at once: four records.  System calls are then a tenth of
// the cost of a record.
constexpr size_t kReadAheadBytes = 64 << 10;

// Refuses a key with a password, since no user can be asked for it.
int no_password(char*, int, int, void*) {
  return 0;
}

// Moves AES with 128 bits before the other ciphers that OpenSSL and its configuration allow: with 256 bits, which
// OpenSSL prefers, a byte takes the processor half as long again, and 128 are as much as the mandatory cipher of
// TLS 1.3 has (RFC 8446, section 9.1).  A server chooses by its own order.
void prefer_fast_cipher(SSL_CTX* context) {
  constexpr std::string_view kFast = "TLS_AES_128_GCM_SHA256";
  std::string suites;
  const STACK_OF(SSL_CIPHER)* const allowed = SSL_CTX_get_ciphers(context);
  for (int i = 0; i < sk_SSL_CIPHER_num(allowed); ++i) {
    const SSL_CIPHER* const cipher = sk_SSL_CIPHER_value(allowed, i);
    const std::string name = SSL_CIPHER_get_name(cipher);
    if (std::string_view(SSL_CIPHER_get_version(cipher)) != "TLSv1.3") continue;
    suites = name == kFast ? cat(name, ":", suites) : cat(suites, name, ":");
  }
  if (!suites.empty()) suites.pop_back();
  if (SSL_CTX_set_ciphersuites(context, suites.c_str()) != 1)
    fail(Code::kInternal, "OpenSSL refuses its own ciphers: ", take_openssl_error());
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
}

// Returns a context of TLS 1.3 alone, without resumption of sessions.  Partial writes from a buffer that
// moves are allowed, since Stream::write takes what it can and is called again with other spans.
SSL_CTX* make_context(TlsSide side) {
  SSL_CTX* context = SSL_CTX_new(side == TlsSide::kServer ? TLS_server_method() : TLS_client_method());
  if (context == nullptr) fail(Code::kInternal, "OpenSSL has no TLS: ", take_openssl_error());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAheadBytes);
  SSL_CTX_set_default_passwd_cb(context, no_password);
  prefer_fast_cipher(context);
  return context;
}

}  // namespace

// The first error in OpenSSL's queue is the cause of the others, which are dropped with it: they would be
// taken for those of a later call.
std::string take_openssl_error() {
  const unsigned long error = ERR_peek_error();
  const char* reason = error != 0 ? ERR_reason_error_string(error) : nullptr;
  if (reason == nullptr && ERR_SYSTEM_ERROR(error)) reason = std::strerror(ERR_GET_REASON(error));
  ERR_clear_error();
  return reason != nullptr ? reason : "no reason given";
}

TlsContext::TlsContext(const TlsFiles& files, TlsSide side) : side_(side), context_(make_context(side)) {
  try {
    if (!files.certificate.empty() || side == TlsSide::kServer) load_certificate(files);
    if (!files.authority.empty() || side == TlsSide::kClient) load_authority(files.authority);
  } catch (...) {
    SSL_CTX_free(context_);
    throw;
  }
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

void TlsContext::load_certificate(const TlsFiles& files) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context_, files.certificate.c_str()) != 1) {
    fail(Code::kUsage, "certificate ", quote(files.certificate), ": ", take_openssl_error());
  }
  // OpenSSL accepts a key that does not match the certificate without an error, so the match is checked.
  if (SSL_CTX_use_PrivateKey_file(context_, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context_) != 1) {
    fail(Code::kUsage, "key ", quote(files.key), " of certificate ", quote(files.certificate), ": ",
         take_openssl_error());
  }
}

void TlsContext::load_authority(const std::string& path) {
  ERR_clear_error();
  if (SSL_CTX_load_verify_file(context_, path.c_str()) != 1) {
    fail(Code::kUsage, "authority ", quote(path), ": ", take_openssl_error());
  }
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
}

}  // namespace ps
