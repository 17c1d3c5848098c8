// A peer without the token is refused everywhere, and learns nothing.
#include "net/auth/auth_transport.h"

#include <sys/stat.h>

#include "base/bytes.h"
#include "net/auth/authentication.h"
#include "net/auth/http_token.h"
#include "net_test.h"
#include "support/scratch_folder.h"

namespace ps::auth_test {
namespace {

using testing::HasSubstr;

const Token kReadToken{Access::kRead, std::string(16, 'r')};
const Token kTrainToken{Access::kTrain, std::string(32, 't')};
const Token kAdminToken{Access::kAdmin, std::string(32, 'a')};
const Token kStatusToken{kStatusAccess, std::string(32, 's')};
const Token kWrongToken{Access::kTrain, std::string(32, 'w')};

HandshakeOptions quick_options() {
  HandshakeOptions options;
  options.refusal_delay = 5ms;
  return options;
}

// A server with four tokens, and who comes to it.
class AuthTest : public EveryNetwork {
 protected:
  AuthTest() { serve(quick_options()); }

  void serve(HandshakeOptions options) {
    listener_.reset();
    options.on_refused = [this](const std::string&, const Error& reason) { refused_ = reason.message(); };
    server_ = std::make_unique<AuthTransport>(world_->server(),
                                              std::vector{kReadToken, kTrainToken, kAdminToken, kStatusToken},
                                              std::nullopt, options);
    listen(*server_);
  }

  // Connects with a token; the error, if that fails.
  std::optional<Error> connect(const Token& token) {
    AuthTransport client(world_->client(), {}, token);
    std::optional<Error> failed = connect_through(client);
    if (!failed) run_until([this] { return far_ != nullptr; });
    return failed;
  }

  // A connection on which the test speaks itself.
  std::unique_ptr<End> come(const Address& address) {
    std::unique_ptr<End> end;
    auto attempt = world_->client().connect(address, 5s, [&end](std::unique_ptr<Stream> stream, auto) {
      end = std::make_unique<End>(std::move(stream));
    });
    run_until([&end] { return end != nullptr; });
    return end;
  }
  std::unique_ptr<End> come() { return come(listener_->address()); }

  static std::string hello_of(const Token& token) {
    std::string hello;
    put(hello, kAuthMagic);
    put(hello, static_cast<uint64_t>(token.access));
    return hello + std::string(kNonceBytes, 'n');
  }
  static std::string text_of(const Proof& proof) { return {proof.begin(), proof.end()}; }

  // Speaks as who has the token would, as far as the proof, with these changes.
  struct Changes {
    size_t hello_bytes = kAuthHelloBytes, proof_bytes = kProofBytes;  // sent; then the end
    std::optional<size_t> flipped_bit = std::nullopt;                 // of hello and proof
  };
  std::unique_ptr<End> speak(const Token& token, const Changes& changes) {
    std::unique_ptr<End> end = come();
    std::string hello = hello_of(token);
    const size_t hello_bits = hello.size() * 8;
    if (changes.flipped_bit && *changes.flipped_bit < hello_bits) flip(hello, *changes.flipped_bit);
    end->send(hello.substr(0, changes.hello_bytes));
    if (changes.hello_bytes < hello.size()) return end->stream->shutdown_write(), std::move(end);
    run_until([&] { return end->in.size() == kAuthChallengeBytes || end->ended || end->error != 0; });
    std::string proof = text_of(make_proof(token.secret, kClientLabel, hello_of(token) + end->in));
    if (changes.flipped_bit && *changes.flipped_bit >= hello_bits)
      flip(proof, *changes.flipped_bit - hello_bits);
    if (end->ended || end->error != 0) return end;
    end->send(proof.substr(0, changes.proof_bytes));
    if (changes.proof_bytes < proof.size()) end->stream->shutdown_write();
    return end;
  }
  static void flip(std::string& bytes, size_t bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }

  std::unique_ptr<AuthTransport> server_;
  std::string refused_;
};

TEST_P(AuthTest, WhoKnowsATokenMayDoWhatItGrants) {
  for (const Token& token : {kReadToken, kTrainToken, kAdminToken}) {
    ASSERT_FALSE(connect(token));
    EXPECT_EQ(far_->stream->access(), token.access);
    const std::string there = pattern(1000000), back = pattern(500003);
    near_->send(there);
    far_->send(back);
    run_until([&] { return far_->in.size() == there.size() && near_->in.size() == back.size(); });
    EXPECT_TRUE(far_->in == there);
    EXPECT_TRUE(near_->in == back);
  }
  EXPECT_EQ(server_->counters().accepted, 3u);
  EXPECT_EQ(server_->num_refused(), 0u);
}

TEST_P(AuthTest, AWrongTokenIsRefusedAfterADelayAndCounted) {
  HandshakeOptions options;
  options.refusal_delay = 30ms;
  serve(options);
  Loop& loop = world_->client().loop();
  const Time start = loop.now();
  const std::optional<Error> error = connect(kWrongToken);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kAuthentication);
  EXPECT_EQ(error->message(), "the server refuses the token for 'train'");
  EXPECT_GE(loop.now() - start, 30ms);
  EXPECT_EQ(server_->num_refused(), 1u);
  EXPECT_EQ(refused_, "it showed a wrong token");
  EXPECT_EQ(far_, nullptr);
}

TEST_P(AuthTest, OtherTokensAreForConnectionsFromThenOn) {
  ASSERT_FALSE(connect(kTrainToken));
  server_->set_tokens({kReadToken, kWrongToken}, std::nullopt);
  near_->send("still here");
  run_until([&] { return far_->in.size() == 10; });
  EXPECT_TRUE(connect(kTrainToken));
  far_.reset();
  EXPECT_FALSE(connect(kWrongToken));
}

TEST_P(AuthTest, ATokenGrantsNothingOfAnothers) {
  Token claims = kReadToken;
  claims.access = Access::kAdmin;
  EXPECT_TRUE(connect(claims));
  claims.access = static_cast<Access>(0);
  EXPECT_TRUE(connect(claims));
  claims.access = static_cast<Access>(7);
  EXPECT_TRUE(connect(claims));
  EXPECT_EQ(far_, nullptr);
  EXPECT_EQ(server_->num_refused(), 3u);
}

// Somebody may have heard it on the way to a status page.
TEST_P(AuthTest, ATokenOfStatusPagesOpensNoConnection) {
  for (uint8_t access = 0; access <= 4; ++access) {
    Token claims = kStatusToken;
    claims.access = static_cast<Access>(access);
    EXPECT_TRUE(connect(claims));
  }
  EXPECT_EQ(far_, nullptr);
  EXPECT_EQ(server_->num_refused(), 5u);
}

// A channel's first bytes are a frame, and the answer is one, so that the channel does not try again and
// again.
TEST_P(AuthTest, WhoShowsNoTokenIsToldToAtOnce) {
  BufferPool pool;
  Channel channel(world_->client(), pool, listener_->address(), {});
  Answers answers;
  channel.request(kEcho, Payload("the job"), 20s, answers.collect());
  run_until([&] { return answers.count() == 1; });
  ASSERT_EQ(answers.errors.size(), 1u);
  EXPECT_EQ(answers.errors[0].code(), Code::kAuthentication);
  EXPECT_THAT(answers.errors[0].message(), HasSubstr("--token-file"));
  EXPECT_EQ(far_, nullptr);
  EXPECT_EQ(server_->num_refused(), 1u);
}

TEST_P(AuthTest, AnotherProtocolIsEndedWithoutAWord) {
  std::unique_ptr<End> end = come();
  end->send("GET / HTTP/1.1\r\n\r\n");
  run_until([&] { return end->ended || end->error != 0; });
  EXPECT_EQ(end->in, "");
  EXPECT_EQ(server_->num_refused(), 1u);
}

TEST_P(AuthTest, WhatWasSaidBeforeProvesNothingAgain) {
  std::unique_ptr<End> first = speak(kTrainToken, {});
  run_until([this] { return far_ != nullptr; });
  far_.reset();
  const std::string said = first->out;
  std::unique_ptr<End> again = come();
  again->send(said);
  run_until([&] { return again->ended || again->error != 0; });
  EXPECT_EQ(far_, nullptr);
  EXPECT_EQ(server_->num_refused(), 1u);
}

TEST_P(AuthTest, MuchMoreThanAHandshakeIsNotRead) {
  std::unique_ptr<End> end = come();
  end->send(hello_of(kTrainToken) + pattern(4000000));
  run_until([&] { return end->ended || end->error != 0; });
  EXPECT_EQ(far_, nullptr);
  EXPECT_EQ(server_->num_refused(), 1u);
}

TEST_P(AuthTest, SlowStrangersEnd) {
  HandshakeOptions options;
  options.timeout = 40ms;
  serve(options);
  std::unique_ptr<End> silent = come(), half = come();
  half->send(hello_of(kTrainToken).substr(0, 20));
  run_until([&] { return silent->ended && (half->ended || half->error != 0); });
  EXPECT_EQ(server_->counters().timed_out, 2u);
  EXPECT_EQ(far_, nullptr);
}

TEST_P(AuthTest, ManyStrangersKeepNobodyOut) {
  HandshakeOptions options;
  options.max_strangers = 4;
  serve(options);
  std::vector<std::unique_ptr<End>> strangers;
  for (int i = 0; i < 10; ++i) strangers.push_back(come());
  run_until([this] { return server_->counters().evicted == 6; });
  EXPECT_FALSE(connect(kTrainToken));
  EXPECT_EQ(server_->counters().evicted, 7u);
  EXPECT_TRUE(strangers[0]->ended || strangers[0]->error != 0);
  EXPECT_FALSE(strangers[9]->ended);
}

TEST_P(AuthTest, AListenerThatGoesTakesItsStrangersAlong) {
  std::unique_ptr<End> silent = come(), wrong = speak(kWrongToken, {});
  listener_.reset();
  run_until([&] { return (silent->ended || silent->error != 0) && (wrong->ended || wrong->error != 0); });
}

TEST_P(AuthTest, AServerThatDoesNotKnowTheTokenIsRefused) {
  for (const std::string& answer : {std::string("\1\0\0\0\0\0\0\0", 8) + std::string(kProofBytes, 'x'),
                                    std::string(kAuthAnswerBytes, '\0')}) {
    std::unique_ptr<End> impostor;
    listener_ =
        world_->server().listen(world_->any_port(), [&impostor, &answer](std::unique_ptr<Stream> stream) {
          impostor = std::make_unique<End>(std::move(stream));
          std::string challenge;
          put(challenge, kAuthMagic);
          impostor->send(challenge + std::string(kNonceBytes, 'n') + answer);
        });
    const std::optional<Error> error = connect(kTrainToken);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), Code::kAuthentication);
    EXPECT_EQ(near_, nullptr);
  }
}

// A server that proves with what the client sent it.
TEST_P(AuthTest, AProofIsOfOneSideAlone) {
  std::unique_ptr<End> impostor;
  listener_ = world_->server().listen(world_->any_port(), [&impostor](std::unique_ptr<Stream> stream) {
    impostor = std::make_unique<End>(std::move(stream));
    std::string challenge;
    put(challenge, kAuthMagic);
    impostor->send(challenge + std::string(kNonceBytes, 'n'));
  });
  AuthTransport client(world_->client(), {}, kTrainToken);
  std::optional<Error> failed;
  auto attempt = client.connect(listener_->address(), 5s, [&](auto, auto error) { failed = error; });
  run_until([&] { return impostor && impostor->in.size() == kAuthHelloBytes + kProofBytes; });
  impostor->send(std::string("\1\0\0\0\0\0\0\0", 8) + impostor->in.substr(kAuthHelloBytes));
  run_until([&] { return failed.has_value(); });
  EXPECT_EQ(failed->message(), "the server does not know the token for 'train'");
}

TEST_P(AuthTest, AServerThatSaysNothingIsUnavailableInTime) {
  listener_ = world_->server().listen(world_->any_port(), [this](std::unique_ptr<Stream> stream) {
    far_ = std::make_unique<End>(std::move(stream));
  });
  AuthTransport client(world_->client(), {}, kTrainToken);
  std::optional<Error> failed;
  auto attempt = client.connect(listener_->address(), 50ms, [&](auto, auto error) { failed = error; });
  run_until([&] { return failed.has_value(); });
  EXPECT_EQ(failed->code(), Code::kUnavailable);
  EXPECT_EQ(failed->message(), "no answer to the handshake in time");
}

TEST_P(AuthTest, AnAttemptThatIsGivenUpInTheHandshakeCallsNobody) {
  AuthTransport client(world_->client(), {}, kTrainToken);
  auto attempt = client.connect(listener_->address(), 5s, [](auto, auto) { FAIL(); });
  attempt.reset();
  run_for(20ms);
}

PS_ON_EVERY_NETWORK(AuthTest);

class AuthBytesTest : public AuthTest {};

TEST_P(AuthBytesTest, NoneMayBeMissing) {
  for (size_t bytes = 0; bytes < kAuthHelloBytes; ++bytes) speak(kTrainToken, {.hello_bytes = bytes});
  for (size_t bytes = 0; bytes < kProofBytes; ++bytes) speak(kTrainToken, {.proof_bytes = bytes});
  run_until([this] { return server_->counters().lost == kAuthHelloBytes + kProofBytes; });
  EXPECT_EQ(far_, nullptr);
  EXPECT_EQ(server_->num_refused(), 0u);
}

TEST_P(AuthBytesTest, NoBitMayBeAnother) {
  const size_t bits = (kAuthHelloBytes + kProofBytes) * 8;
  for (size_t bit = 0; bit < bits; ++bit) {
    std::unique_ptr<End> end = speak(kTrainToken, {.flipped_bit = bit});
    run_until([&] { return end->ended || end->error != 0; });
    ASSERT_EQ(far_, nullptr) << "bit " << bit;
  }
  EXPECT_EQ(server_->num_refused(), bits);
}

INSTANTIATE_TEST_SUITE_P(Networks, AuthBytesTest, testing::Values("simulated"));

// ---- token files

TEST(TokenFile, HasALineForEachToken) {
  const std::string text =
      "# of the job\n\n  train 000102030405060708090a0b0c0d0e0f\r\n"
      "read\tFFFEFDFCFBFAF9F8F7F6F5F4F3F2F1F0  \nadmin 00112233445566778899aabbccddeeff00\n"
      "status 00112233445566778899aabbccddee01";
  const std::vector<Token> tokens = parse_tokens(text, "tokens");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0].access, Access::kTrain);
  EXPECT_EQ(tokens[0].secret, std::string("\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 16));
  EXPECT_EQ(tokens[1].secret[0], '\xff');
  EXPECT_EQ(tokens[2].secret.size(), 17u);
  EXPECT_EQ(tokens[3].access, kStatusAccess);
  EXPECT_EQ(choose_token(tokens, Access::kRead, "tokens").access, Access::kRead);
  EXPECT_EQ(choose_token(tokens, Access::kTrain, "tokens").access, Access::kTrain);
  const std::vector<Token> reader = {tokens[1], tokens[3]};
  EXPECT_EQ(error_of([&] { choose_token(reader, Access::kTrain, "tokens"); }).message(),
            "token file 'tokens': no token for 'train'");
  EXPECT_EQ(choose_token(reader, Access::kRead, "tokens").access, Access::kRead);
}

TEST(TokenFile, RefusesWhatIsNoTokenWithoutRepeatingIt) {
  const std::string digits = "000102030405060708090a0b0c0d0e0f";
  for (const std::string& line :
       {std::string(), std::string("# nothing"), digits, "write " + digits, std::string("train"),
        "train " + digits.substr(2), "train " + digits + "0", "train " + digits + "xy",
        "train " + digits + " " + digits, "train " + std::string(2 * kMaxSecretBytes + 2, 'a')}) {
    const Error error = error_of([&] { parse_tokens(line, "tokens"); });
    EXPECT_EQ(error.code(), Code::kUsage) << line;
    EXPECT_EQ(error.message().find("0001020304"), std::string::npos) << error.message();
  }
}

TEST(TokenFile, IsItsOwnersAlone) {
  ScratchFolder folder;
  const std::string path = folder.path("tokens");
  write_file(path, "train 000102030405060708090a0b0c0d0e0f\n");
  for (const mode_t mode : {0600, 0400}) {
    chmod(path.c_str(), mode);
    EXPECT_EQ(read_token_file(path).size(), 1u);
  }
  for (const mode_t mode : {0640, 0604, 0644, 0620, 0660, 0601}) {
    chmod(path.c_str(), mode);
    const Error error = error_of([&] { read_token_file(path); });
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("chmod 600"));
  }
  EXPECT_THAT(error_of([&] { read_token_file(folder.path()); }).message(), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { read_token_file(folder.path("pipe")); }).message(),
              HasSubstr("not a regular file"));
  EXPECT_EQ(error_of([&] { read_token_file(folder.path("none")); }).code(), Code::kUsage);
}

}  // namespace
}  // namespace ps::auth_test
