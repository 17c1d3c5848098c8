// An authority of a test's own, and certificates that it makes: for the tests of TLS.
#ifndef PS_TESTS_SUPPORT_TEST_CERTIFICATES_H_
#define PS_TESTS_SUPPORT_TEST_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/error.h"
#include "net/tls/tls_context.h"
#include "support/scratch_folder.h"

namespace ps {

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name) : name_(name), key_(make_key()) {
    certificate_ = make(*key_, name_, "", kYear, nullptr);
    write_certificate(*certificate_, path());
  }

  // The path of the authority's certificate, to trust it.
  std::string path() const { return folder_.path(name_ + ".pem"); }

  // A certificate for `hosts`, such as "DNS:server,IP:127.0.0.1", and its key; with a negative time, one that is
  // over.  The authority's own file is that of who trusts it.
  TlsFiles issue(const std::string& name, const std::string& hosts, long seconds = kYear) {
    const std::unique_ptr<EVP_PKEY, KeyFree> key = make_key();
    const std::unique_ptr<X509, X509Free> certificate = make(*key, name, hosts, seconds, certificate_.get());
    const TlsFiles files{folder_.path(name + ".crt"), folder_.path(name + ".key"), path()};
    write_certificate(*certificate, files.certificate);
    std::FILE* file = std::fopen(files.key.c_str(), "w");
    PS_CHECK(file != nullptr);
    PS_CHECK(PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
    std::fclose(file);
    return files;
  }

 private:
  struct KeyFree {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  };
  struct X509Free {
    void operator()(X509* certificate) const { X509_free(certificate); }
  };

  static constexpr long kYear = 365L * 24 * 3600;

  static std::unique_ptr<EVP_PKEY, KeyFree> make_key() {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    PS_CHECK(key != nullptr);
    return std::unique_ptr<EVP_PKEY, KeyFree>(key);
  }

  static void write_certificate(X509& certificate, const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    PS_CHECK(file != nullptr);
    PS_CHECK(PEM_write_X509(file, &certificate) == 1);
    std::fclose(file);
  }

  static void add_extension(X509& certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, &certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    PS_CHECK(extension != nullptr);
    X509_add_ext(&certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  // Signed by the authority's key; without an issuer, the authority's own.
  std::unique_ptr<X509, X509Free> make(EVP_PKEY& key, const std::string& name, const std::string& hosts,
                                       long seconds, X509* issuer) {
    std::unique_ptr<X509, X509Free> made(X509_new());
    X509& certificate = *made;
    X509_set_version(&certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(&certificate), ++num_made_);
    X509_gmtime_adj(X509_getm_notBefore(&certificate), std::min(0L, seconds) - 60);
    X509_gmtime_adj(X509_getm_notAfter(&certificate), seconds);
    X509_set_pubkey(&certificate, &key);
    X509_NAME* subject = X509_get_subject_name(&certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(&certificate, issuer != nullptr ? X509_get_subject_name(issuer) : subject);
    X509* signer = issuer != nullptr ? issuer : &certificate;
    add_extension(certificate, signer, NID_basic_constraints,
                  issuer != nullptr ? "CA:FALSE" : "critical,CA:TRUE");
    if (!hosts.empty()) add_extension(certificate, signer, NID_subject_alt_name, hosts);
    PS_CHECK(X509_sign(&certificate, key_.get(), EVP_sha256()) > 0);
    return made;
  }

  const std::string name_;
  ScratchFolder folder_;
  long num_made_ = 0;
  std::unique_ptr<EVP_PKEY, KeyFree> key_;
  std::unique_ptr<X509, X509Free> certificate_;
};

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_TEST_CERTIFICATES_H_
