// Which files a server and a trainer need for what, and where a server may listen.
#include "net/secure_transport.h"

#include <sys/stat.h>

#include "net/auth/http_token.h"
#include "net_test.h"
#include "support/test_certificates.h"

namespace ps::secure_transport_test {
namespace {

using testing::HasSubstr;

class SecurityTest : public testing::Test {
 protected:
  SecurityTest() : authority_("authority"), files_(authority_.issue("one", "IP:127.0.0.1")) {
    write_tokens(cat("train ", std::string(64, 'a'), "\nread ", std::string(32, 'b'), "\n"));
  }

  void write_tokens(const std::string& text) const {
    write_file(token_file_, text);
    chmod(token_file_.c_str(), 0600);
  }

  std::string refusal(const std::function<void()>& body) {
    const Error error = error_of(body);
    EXPECT_TRUE(error.message().empty() || error.code() == Code::kUsage);
    return error.message();
  }

  ScratchFolder folder_;
  const std::string token_file_ = folder_.path("tokens");
  TestAuthority authority_;
  const TlsFiles files_;
};

TEST_F(SecurityTest, OthersReachAServerOnlyWhereTheyHaveToProveSomething) {
  for (const char* host : {"127.0.0.1", "127.3.2.1", "::1", "localhost"}) {
    EXPECT_EQ(refusal([&] { check_exposure({}, host); }), "") << host;
    EXPECT_EQ(describe_exposure({}, host), "") << host;
  }
  TlsFiles no_authority = files_;
  no_authority.authority.clear();
  for (const char* host :
       {"", "0.0.0.0", "::", "10.0.0.1", "server", "1.127.0.0", "127.0.0.1.example.org", "::2"}) {
    EXPECT_THAT(refusal([&] { check_exposure({}, host); }), HasSubstr("--insecure")) << host;
    EXPECT_THAT(refusal([&] { check_exposure({.token_file = "", .tls = no_authority}, host); }),
                HasSubstr("--tls-ca"))
        << "whoever connects is encrypted, and a stranger";
    EXPECT_EQ(refusal([&] { check_exposure({.token_file = token_file_, .tls = {}}, host); }), "");
    EXPECT_EQ(refusal([&] { check_exposure({.token_file = "", .tls = files_}, host); }), "");
    EXPECT_EQ(refusal([&] { check_exposure({.token_file = "", .tls = {}, .insecure = true}, host); }), "");
    EXPECT_THAT(describe_exposure({.token_file = "", .tls = {}, .insecure = true}, host),
                HasSubstr("insecure"));
  }
  EXPECT_EQ(describe_exposure({.token_file = token_file_, .tls = files_}, "::"),
            "those with a token and a certificate are let in");
  EXPECT_EQ(describe_exposure({.token_file = token_file_, .tls = {}}, "::"),
            "those with a token are let in, but what they send is not encrypted");
}

TEST_F(SecurityTest, EachSideSaysWhatIsMissing) {
  EXPECT_THAT(refusal([&] {
                server_credentials({.token_file = "", .tls = {files_.certificate, "", ""}});
              }),
              HasSubstr("--tls-cert and --tls-key belong together"));
  EXPECT_THAT(refusal([&] {
                server_credentials({.token_file = "", .tls = {"", "", files_.authority}});
              }),
              HasSubstr("a server needs --tls-cert"));
  EXPECT_THAT(
      refusal([&] {
        trainer_credentials({.token_file = "", .tls = {files_.certificate, files_.key, ""}}, Access::kRead);
      }),
      HasSubstr("--tls-ca, which is missing"));
  EXPECT_THAT(refusal([&] { trainer_credentials({.token_file = token_file_, .tls = {}}, Access::kAdmin); }),
              HasSubstr("no token for 'admin'"));
}

TEST_F(SecurityTest, TrainersShowTheTokenThatGrantsNoMoreThanTheyNeed) {
  const SecurityOptions options{.token_file = token_file_, .tls = {}};
  EXPECT_EQ(trainer_credentials(options, Access::kTrain).shown->access, Access::kTrain);
  EXPECT_EQ(trainer_credentials(options, Access::kRead).shown->access, Access::kRead);
  EXPECT_TRUE(trainer_credentials(options, Access::kRead).tokens.empty());
  EXPECT_EQ(server_credentials(options).tokens.size(), 2u);
  EXPECT_FALSE(server_credentials(options).shown);
}

TEST_F(SecurityTest, TokensOfStatusPagesLetNobodyInElsewhere) {
  const SecurityOptions options{.token_file = token_file_, .tls = {}};
  const std::string status = cat("status ", std::string(64, 'c'), "\n");
  write_tokens(status + cat("train ", std::string(64, 'a'), "\n"));
  const Credentials credentials = server_credentials(options);
  ASSERT_EQ(credentials.tokens.size(), 2u);
  EXPECT_EQ(credentials.tokens[0].access, kStatusAccess);
  EXPECT_EQ(credentials.tokens[0].secret, std::string(32, '\xcc'));
  EXPECT_EQ(trainer_credentials(options, Access::kRead).shown->access, Access::kTrain);
  write_tokens(status);
  EXPECT_THAT(refusal([&] { server_credentials(options); }),
              HasSubstr("no token for 'read', 'train' or 'admin'"));
  EXPECT_THAT(refusal([&] { trainer_credentials(options, Access::kRead); }),
              HasSubstr("no token for 'read'"));
}

TEST_F(SecurityTest, TokensAndCertificatesGoTogether) {
  SecurityOptions options{.token_file = token_file_, .tls = files_};
  TcpWorld world(false);
  SecureTransport server(world.server(), server_credentials(options));
  SecureTransport trainer(world.client(), trainer_credentials(options, Access::kTrain));
  TestService service;
  Server listening(server, world.any_port(), {}, service.factory());
  BufferPool pool;
  Channel channel(trainer, pool, listening.address(), {});
  Answers answers;
  channel.request(kEcho, Payload("hello"), 20s, answers.collect());
  ASSERT_TRUE(world.run_until([&] { return answers.count() == 1; }));
  EXPECT_THAT(answers.texts, testing::ElementsAre("hello"));
  options.token_file.clear();
  SecureTransport without_token(world.client(), trainer_credentials(options, Access::kTrain));
  Channel other(without_token, pool, listening.address(), {});
  other.request(kEcho, Payload("hello"), 20s, answers.collect());
  ASSERT_TRUE(world.run_until([&] { return answers.count() == 2; }));
  EXPECT_EQ(answers.errors.at(0).code(), Code::kAuthentication);
  EXPECT_EQ(server.num_refused(), 1u);
}

}  // namespace
}  // namespace ps::secure_transport_test
