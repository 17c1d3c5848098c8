// etcd over TLS: it is asked with its authority's certificate alone, and by whoever has one that it wants.
#include "membership/etcd_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "support/fake_etcd.h"
#include "support/test_certificates.h"

namespace ps::etcd_transport_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// An etcd that asks for certificates, on a thread of its own.
class EtcdOverTls : public testing::Test {
 protected:
  EtcdOverTls() : thread_([this] { network_->loop().run(); }) {}
  ~EtcdOverTls() override {
    network_->loop().stop();
    thread_.join();
  }

  // Asks it with these files; the error, if any.
  std::optional<Error> ask(EtcdTransport& transport) {
    try {
      EtcdClient(transport, url_, 20s).list("servers/");
      return std::nullopt;
    } catch (const Error& error) {
      return error;
    }
  }
  std::optional<Error> ask(const TlsFiles& files) {
    EtcdTransport transport(files);
    return ask(transport);
  }

  TestAuthority authority_{"authority"}, other_{"other"};
  const TlsFiles own_ = authority_.issue("trainer", "DNS:trainer");
  const std::unique_ptr<Transport> network_ = make_network();
  TlsTransport front_{
      *network_,
      {.server = std::make_shared<TlsContext>(authority_.issue("etcd", "IP:127.0.0.1"), TlsSide::kServer),
       .client = nullptr}};
  FakeEtcd etcd_{front_};
  const EtcdUrl url_ = etcd_.url();
  std::thread thread_;
};

TEST_F(EtcdOverTls, IsAskedByWhoHasACertificate) {
  EtcdTransport transport(own_);
  for (int times = 0; times < 3; ++times) EXPECT_FALSE(ask(transport));
}

TEST_F(EtcdOverTls, EitherSideRefusesTheOther) {
  TlsFiles files = own_;
  files.authority = other_.path();
  EXPECT_EQ(ask(files).value().code(), Code::kAuthentication) << "it is not known";
  files = other_.issue("stranger", "DNS:trainer");
  files.authority = authority_.path();
  EXPECT_EQ(ask(files).value().code(), Code::kAuthentication) << "it does not know this process";
  files = {"", "", authority_.path()};
  EXPECT_EQ(ask(files).value().code(), Code::kAuthentication) << "this process shows nothing";
  EXPECT_NE(ask(TlsFiles()).value().code(), Code::kInternal) << "it is asked in the clear";
}

TEST_F(EtcdOverTls, FilesAreReadAgainForEachConnectionWhenTheyFitEachOther) {
  EtcdTransport transport(own_);
  EXPECT_FALSE(ask(transport));
  const std::string key = read_file(own_.key);
  write_file(own_.key, "half of a key");
  EXPECT_FALSE(ask(transport)) << "the ones before stay";
  const TlsFiles strange = other_.issue("stranger", "DNS:trainer");
  write_file(own_.key, read_file(strange.key));
  write_file(own_.certificate, read_file(strange.certificate));
  EXPECT_EQ(ask(transport).value().code(), Code::kAuthentication);
  const TlsFiles renewed = authority_.issue("renewed", "DNS:trainer");
  write_file(own_.key, read_file(renewed.key));
  write_file(own_.certificate, read_file(renewed.certificate));
  EXPECT_FALSE(ask(transport));
}

TEST(EtcdTransport, SaysWhichFileIsMissing) {
  TestAuthority authority("authority");
  const TlsFiles files = authority.issue("trainer", "DNS:trainer");
  const auto refusal = [](const TlsFiles& given) {
    const Error error = error_of([&] { EtcdTransport transport(given); });
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  };
  EXPECT_THAT(refusal({files.certificate, files.key, ""}), HasSubstr("--etcd-ca, which is missing"));
  EXPECT_THAT(refusal({files.certificate, "", files.authority}), HasSubstr("--etcd-cert and --etcd-key"));
  EXPECT_THAT(refusal({"", "", "nowhere.crt"}), HasSubstr("nowhere.crt"));
}

}  // namespace
}  // namespace ps::etcd_transport_test
