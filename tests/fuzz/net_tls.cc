// Bytes as a certificate, as its key and as an authority, and bytes of a stranger to a server that speaks TLS: files that do
// not fit are the usage error, and no stranger's handshake comes to its end, in whatever pieces the bytes come.
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "memory_path.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_session.h"
#include "stranger_stream.h"

namespace ps {
namespace {

// A server's key and its certificate, which is its own authority, made anew for each process: no input can have them.
class ServersFiles {
 public:
  ServersFiles() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    PS_CHECK(key != nullptr && certificate != nullptr);
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 365L * 24 * 3600);
    X509_set_pubkey(certificate, key);
    PS_CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
    write(certificate_, [&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
    write(key_, [&](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
    X509_free(certificate);
    EVP_PKEY_free(key);
  }

  std::string certificate() const { return certificate_.path(); }
  std::string key() const { return key_.path(); }

  // A context of these files, with which clients need certificates or not.
  std::shared_ptr<const TlsContext> context(bool mutual) const {
    const TlsFiles files{certificate(), key(), mutual ? certificate() : ""};
    return std::make_shared<TlsContext>(files, TlsSide::kServer);
  }

 private:
  template <class Body>
  static void write(MemoryPath& file, Body&& body) {
    BIO* out = BIO_new(BIO_s_mem());
    PS_CHECK(out != nullptr && body(out) == 1);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(out, &bytes);
    file.fill(reinterpret_cast<const uint8_t*>(bytes), static_cast<size_t>(size));
    BIO_free(out);
  }

  MemoryPath certificate_, key_;
};

// Returns true when a context is made of the files, and false for the usage error, after which none of OpenSSL's is left.
bool can_load(const TlsFiles& files, TlsSide side) {
  try {
    const TlsContext context(files, side);
    ERR_clear_error();
    return true;
  } catch (const Error& error) {
    PS_CHECK(error.code() == Code::kUsage && error.message().size() < 400);
    PS_CHECK(ERR_peek_error() == 0);
    return false;
  }
}

void shake_hands(const std::shared_ptr<const TlsContext>& context, std::string_view bytes, size_t piece) {
  TlsSession session(context, "");
  StrangerStream stream(bytes, piece);
  try {
    for (;;) PS_CHECK(session.handshake(stream) != Handshake::Step::kDone);
  } catch (const Error& error) {
    PS_CHECK(error.code() == Code::kAuthentication || error.code() == Code::kUnavailable);
  }
  PS_CHECK(session.last_words().size() < 200 && session.held_bytes() < (64 << 10));
  PS_CHECK(ERR_peek_error() == 0);
}

}  // namespace
}  // namespace ps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const ps::ServersFiles own;
  static const auto mutual = own.context(true), alone = own.context(false);
  static ps::MemoryPath given;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  given.fill(data + 1, size - 1);
  switch (data[0] % 8) {
    case 0:
      PS_CHECK(!ps::can_load({given.path(), own.key(), ""}, ps::TlsSide::kServer));
      break;
    case 1:
      PS_CHECK(!ps::can_load({own.certificate(), given.path(), ""}, ps::TlsSide::kServer));
      break;
    case 2:
      ps::can_load({"", "", given.path()}, ps::TlsSide::kClient);
      break;
    default:
      ps::shake_hands(data[0] % 2 == 0 ? mutual : alone, bytes, 1 + data[0] / 8);
  }
  return 0;
}
