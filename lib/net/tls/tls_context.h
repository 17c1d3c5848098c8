// TlsContext: certificates, keys and authorities from files, in the form that OpenSSL takes.  Used by
// TlsTransport and by code that makes one.
#ifndef PS_NET_TLS_TLS_CONTEXT_H_
#define PS_NET_TLS_TLS_CONTEXT_H_

#include <memory>
#include <string>

struct ssl_ctx_st;

namespace ps {

// PEM files; an empty name means that there is no such file.
struct TlsFiles {
  std::string certificate;  // the own certificate, then those between it and its authority's
  std::string key;          // key of the certificate, without a password
  std::string authority;    // certificates of the authorities that sign those of peers
};

enum class TlsSide { kServer, kClient };

// TLS 1.3 with these files.  A server has a certificate; with an authority, it accepts only clients that have a
// certificate too.  A client has an authority, and shows a certificate if it has one.  Constant after
// construction: any thread may use it, and many connections share it.
class TlsContext {
 public:
  // Throws kUsage if a file is missing, cannot be read, or does not match the others.
  TlsContext(const TlsFiles& files, TlsSide side);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  TlsSide side() const { return side_; }
  ssl_ctx_st* get() const { return context_; }

 private:
  void load_certificate(const TlsFiles& files);
  void load_authority(const std::string& path);

  const TlsSide side_;
  ssl_ctx_st* const context_;
};

// Returns the reason of the first of OpenSSL's errors of this thread, and clears them all.
std::string take_openssl_error();

}  // namespace ps

#endif  // PS_NET_TLS_TLS_CONTEXT_H_
