// Certificates, keys and authorities out of files, as OpenSSL wants them.  Used by TlsTransport and by who makes
// one.
#ifndef PS_NET_TLS_TLS_CONTEXT_H_
#define PS_NET_TLS_TLS_CONTEXT_H_

#include <memory>
#include <string>

struct bio_method_st;
struct ssl_ctx_st;

namespace ps {

// PEM files; empty where there is none.
struct TlsFiles {
  std::string certificate;  // the own one, then those between it and its authority's
  std::string key;          // of the certificate, without a password
  std::string authority;    // certificates of those who vouch for peers
};

enum class TlsSide { kServer, kClient };

// TLS 1.3 with these files.  A server has a certificate, and with an authority it lets in clients that have one
// too; a client has an authority, and shows a certificate if it has one.  Any thread may use one, and many
// connections share it.
class TlsContext {
 public:
  // Throws kUsage when a file is missing, cannot be read, or does not fit the others.
  TlsContext(const TlsFiles& files, TlsSide side);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  TlsSide side() const { return side_; }
  ssl_ctx_st* get() const { return context_; }

  // Through which OpenSSL reads and writes a session's bytes; see tls_session.cc.
  const bio_method_st* streams() const { return streams_; }

 private:
  void load_certificate(const TlsFiles& files);
  void load_authority(const std::string& path);

  const TlsSide side_;
  ssl_ctx_st* const context_;
  bio_method_st* const streams_;
};

// The first of OpenSSL's errors of this thread, and none is left.
std::string take_openssl_error();

}  // namespace ps

#endif  // PS_NET_TLS_TLS_CONTEXT_H_
