#include "net/tls/loopback_certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "base/temporary_folder.h"

namespace ps {

namespace {

struct FreeOpenssl {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(BIO* file) const { BIO_free_all(file); }
};
template <class Object>
using Openssl = std::unique_ptr<Object, FreeOpenssl>;

void expect_made(bool made) {
  if (!made) fail(Code::kInternal, "cannot make a certificate: ", take_openssl_error());
}

// Returns a certificate for 127.0.0.1 that the key signs itself: its issuer is its subject, so that the
// file of the certificate serves as the authority of clients too.  It is valid for a day.
Openssl<X509> certify(EVP_PKEY& key) {
  constexpr long kMinute = 60, kDay = 24 * 60 * kMinute;
  Openssl<X509> certificate(X509_new());
  expect_made(certificate != nullptr);
  X509_set_version(certificate.get(), 2);  // the third version, which has extensions
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kMinute);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDay);
  X509_set_pubkey(certificate.get(), &key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  const auto* text = reinterpret_cast<const unsigned char*>("loopback");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  const Openssl<X509_EXTENSION> hosts(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1"));
  expect_made(hosts != nullptr && X509_add_ext(certificate.get(), hosts.get(), -1) == 1);
  expect_made(X509_sign(certificate.get(), &key, EVP_sha256()) > 0);
  return certificate;
}

}  // namespace

// OpenSSL reads a certificate and its key from files; these are in a folder that goes with this function.
TlsContexts make_loopback_contexts() {
  const TemporaryFolder folder(default_temporary_parent());
  const TlsFiles own{folder.path("certificate"), folder.path("key"), ""};
  const Openssl<EVP_PKEY> key(EVP_EC_gen("P-256"));
  expect_made(key != nullptr);
  const Openssl<X509> certificate = certify(*key);
  {
    const Openssl<BIO> certificate_file(BIO_new_file(own.certificate.c_str(), "w"));
    const Openssl<BIO> key_file(BIO_new_file(own.key.c_str(), "w"));
    expect_made(certificate_file != nullptr && key_file != nullptr &&
                PEM_write_bio_X509(certificate_file.get(), certificate.get()) == 1 &&
                PEM_write_bio_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
                    1);
  }
  return {std::make_shared<TlsContext>(own, TlsSide::kServer),
          std::make_shared<TlsContext>(TlsFiles{"", "", own.certificate}, TlsSide::kClient)};
}

}  // namespace ps
