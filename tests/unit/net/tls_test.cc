// TLS hides and protects what a connection carries, and ends what is not whom it should be.
#include "net/tls/tls_transport.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "net/auth/auth_transport.h"
#include "net/tls/tls_session.h"
#include "net_test.h"
#include "support/test_certificates.h"

namespace ps::tls_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* kHosts = "DNS:server,IP:127.0.0.1";

std::shared_ptr<const TlsContext> server_context(const TlsFiles& files) {
  return std::make_shared<TlsContext>(files, TlsSide::kServer);
}
std::shared_ptr<const TlsContext> client_context(const TlsFiles& files) {
  return std::make_shared<TlsContext>(files, TlsSide::kClient);
}

// Returns the cipher on which two contexts agree.
std::string agreed_cipher(const TlsContext& server, const TlsContext& client) {
  const auto make = [](const TlsContext& context) {
    return std::unique_ptr<SSL, decltype(&SSL_free)>(SSL_new(context.get()), SSL_free);
  };
  const auto here = make(client), there = make(server);
  BIO *near_end, *far_end;
  if (BIO_new_bio_pair(&near_end, 0, &far_end, 0) != 1) return "no pipe";
  SSL_set_bio(here.get(), near_end, near_end), SSL_set_bio(there.get(), far_end, far_end);
  SSL_set_connect_state(here.get()), SSL_set_accept_state(there.get());
  for (int turns = 0; turns < 10; ++turns) SSL_do_handshake(here.get()), SSL_do_handshake(there.get());
  return SSL_is_init_finished(there.get()) ? SSL_get_cipher_name(there.get()) : "none";
}

// An authority; a server, of which clients trust it; and, where it is mutual, clients that have certificates.
class TlsTest : public EveryNetwork {
 protected:
  TlsTest() : authority_("authority"), other_authority_("other"), files_(authority_.issue("server", kHosts)) {
    serve(without_authority(files_));
  }

  static TlsFiles without_authority(TlsFiles files) {
    files.authority.clear();
    return files;
  }

  HandshakeOptions options() {
    HandshakeOptions options;
    options.refusal_delay = 5ms;
    options.on_refused = [this](const std::string&, const Error& reason) { refused_ = reason.message(); };
    return options;
  }

  void serve(const TlsFiles& files) {
    listener_.reset();
    server_ = std::make_unique<TlsTransport>(world_->server(), TlsContexts{server_context(files), nullptr},
                                             options());
    listen(*server_);
  }

  std::optional<Error> connect(const TlsFiles& client) {
    client_ = std::make_unique<TlsTransport>(world_->client(), TlsContexts{nullptr, client_context(client)});
    return connect_through(*client_);
  }
  void connect_both() {
    ASSERT_FALSE(connect({.certificate = {}, .key = {}, .authority = authority_.path()}));
    run_until([this] { return far_ != nullptr; });
  }

  TestAuthority authority_, other_authority_;
  const TlsFiles files_;
  std::unique_ptr<TlsTransport> server_, client_;
  std::string refused_;
};

TEST_P(TlsTest, TheFastestCipherIsChosen) {
  const auto server = server_context(without_authority(files_));
  const auto client = client_context({.certificate = {}, .key = {}, .authority = authority_.path()});
  EXPECT_EQ(agreed_cipher(*server, *client), "TLS_AES_128_GCM_SHA256");
  ASSERT_EQ(SSL_CTX_set_ciphersuites(client->get(), "TLS_AES_256_GCM_SHA384"), 1);
  EXPECT_EQ(agreed_cipher(*server, *client), "TLS_AES_256_GCM_SHA384") << "a peer that has no other";
}

TEST_P(TlsTest, BytesArriveInOrderInBothDirections) {
  connect_both();
  expect_bytes_in_both_directions();
}

TEST_P(TlsTest, PiecesOfAnySizeArriveWhole) {
  connect_both();
  std::string all;
  for (size_t size = 1; size < 70000; size = size * 3 / 2 + 1) {
    const std::string text = pattern(size), more = pattern(size % 100);
    const ConstBytes spans[] = {ConstBytes(text).first(size / 3), ConstBytes(),
                                ConstBytes(text).subspan(size / 3), ConstBytes(more)};
    const IoResult result = near_->stream->write(spans);
    ASSERT_EQ(result.bytes, size + more.size());
    all += text + more;
    run_until([&] { return far_->in.size() == all.size(); });
  }
  EXPECT_TRUE(far_->in == all);
}

TEST_P(TlsTest, AShutDownStreamEndsAfterItsBytesAndGoesOnReading) {
  connect_both();
  expect_to_end_after_its_bytes();
}

TEST_P(TlsTest, ADestroyedStreamEndsThePeers) {
  connect_both();
  near_.reset();
  run_until([this] { return far_->ended || far_->error != 0; });
  EXPECT_TRUE(far_->ended);
}

TEST_P(TlsTest, AFullStreamBlocksAndBecomesWritableWhenThePeerReads) {
  connect_both();
  expect_to_block_until_the_peer_reads();
}

TEST_P(TlsTest, SealedBytesThatTheSystemDoesNotTakeAreHeld) {
  connect_both();
  near_->send(pattern(50000));
  run_until([this] { return far_->in.size() == 50000; });
  EXPECT_EQ(near_->stream->held_bytes(), 0u);
  far_->reads = false;
  const std::string much = pattern(20 << 20);
  near_->send(much);
  run_for(20ms);
  EXPECT_LT(near_->sent, near_->out.size());
  EXPECT_GT(near_->stream->held_bytes(), 0u);
  far_->reads = true;
  far_->on_readable();
  run_until([&] { return far_->in.size() == 50000 + much.size(); });
  EXPECT_EQ(near_->stream->held_bytes(), 0u);
}

TEST_P(TlsTest, AReadThatTakesLessThanThereIsTellsOfTheRest) {
  connect_both();
  near_->send(pattern(5000));
  // An End reads 1,000 bytes at a time, out of one record.
  run_until([this] { return far_->in.size() == 5000; });
  EXPECT_TRUE(far_->in == pattern(5000));
}

TEST_P(TlsTest, ChannelsAndServersRunOverIt) {
  TestService service;
  listener_.reset();
  Server server(*server_, world_->any_port(), {}, service.factory());
  TlsTransport client(world_->client(), {nullptr, client_context({{}, {}, authority_.path()})});
  BufferPool pool;
  Channel channel(client, pool, server.address(), {});
  Answers answers;
  for (int i = 0; i < 20; ++i) channel.request(kEcho, Payload(pattern(100000)), 20s, answers.collect());
  run_until([&] { return answers.count() == 20; });
  for (const std::string& text : answers.texts) EXPECT_TRUE(text == pattern(100000));
  EXPECT_EQ(answers.errors.size(), 0u);
}

// ---- certificates

TEST_P(TlsTest, AClientRefusesAServerThatItDoesNotTrust) {
  const std::optional<Error> error =
      connect({.certificate = {}, .key = {}, .authority = other_authority_.path()});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kAuthentication);
  EXPECT_THAT(error->message(), HasSubstr("the peer's certificate: "));
  run_until([this] { return server_->num_refused() == 1; });
  EXPECT_EQ(far_, nullptr);
}

TEST_P(TlsTest, AClientRefusesAServerOfAnotherName) {
  serve(without_authority(authority_.issue("elsewhere", "DNS:elsewhere,DNS:*.server,IP:127.0.0.2")));
  const std::optional<Error> error = connect({.certificate = {}, .key = {}, .authority = authority_.path()});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kAuthentication);
  EXPECT_THAT(error->message(), AnyOf(HasSubstr("hostname mismatch"), HasSubstr("IP address mismatch")));
}

TEST_P(TlsTest, AClientRefusesACertificateThatIsOver) {
  serve(without_authority(authority_.issue("old", kHosts, -3600)));
  const std::optional<Error> error = connect({.certificate = {}, .key = {}, .authority = authority_.path()});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kAuthentication);
  EXPECT_THAT(error->message(), HasSubstr("certificate has expired"));
}

TEST_P(TlsTest, AServerWithAnAuthorityLetsInWhomItVouchesFor) {
  serve(files_);
  ASSERT_FALSE(connect(authority_.issue("trainer", "")));
  run_until([this] { return far_ != nullptr; });
  near_->send("here I am");
  run_until([this] { return far_->in == "here I am"; });
}

// In TLS 1.3 a client is done before the server has seen its certificate: it hears of it when it reads.
TEST_P(TlsTest, AServerWithAnAuthorityRefusesEveryoneElse) {
  serve(files_);
  TlsFiles strange = other_authority_.issue("stranger", "");
  strange.authority = authority_.path();
  TlsFiles old = authority_.issue("late", "", -3600);
  uint64_t refused = 0;
  for (const TlsFiles& files : {strange, old, TlsFiles{{}, {}, authority_.path()}}) {
    ASSERT_FALSE(connect(files));
    near_->send("what is your job?");
    run_until([this] { return near_->ended || near_->error != 0; });
    EXPECT_EQ(near_->error, EKEYREJECTED);
    EXPECT_EQ(near_->in, "");
    EXPECT_EQ(server_->num_refused(), ++refused);
    EXPECT_EQ(far_, nullptr);
  }
}

TEST_P(TlsTest, AChannelWithoutACertificateThatIsWantedFailsAtOnce) {
  serve(files_);
  TlsTransport client(world_->client(), {nullptr, client_context({{}, {}, authority_.path()})});
  BufferPool pool;
  Channel channel(client, pool, listener_->address(), {});
  Answers answers;
  channel.request(kEcho, Payload("hello"), 20s, answers.collect());
  run_until([&] { return answers.count() == 1; });
  EXPECT_EQ(answers.errors.at(0).code(), Code::kAuthentication);
}

TEST_P(TlsTest, NewCertificatesAreForConnectionsFromNowOn) {
  connect_both();
  std::unique_ptr<End> old_near = std::move(near_), old_far = std::move(far_);
  TlsFiles files = without_authority(other_authority_.issue("server", kHosts));
  server_->set_contexts({server_context(files), nullptr});
  EXPECT_TRUE(connect({.certificate = {}, .key = {}, .authority = authority_.path()}));
  EXPECT_FALSE(connect({.certificate = {}, .key = {}, .authority = other_authority_.path()}));
  old_near->send("still here");
  run_until([&] { return old_far->in == "still here"; });
}

// ---- who speaks no TLS

TEST_P(TlsTest, APlainClientIsToldToSpeakTls) {
  BufferPool pool;
  Channel channel(world_->client(), pool, listener_->address(), {});
  Answers answers;
  channel.request(kEcho, Payload("the job"), 20s, answers.collect());
  run_until([&] { return answers.count() == 1; });
  ASSERT_EQ(answers.errors.size(), 1u);
  EXPECT_EQ(answers.errors[0].code(), Code::kAuthentication);
  EXPECT_THAT(answers.errors[0].message(), HasSubstr("this server speaks TLS"));
  EXPECT_EQ(refused_, "it does not speak TLS");
  EXPECT_EQ(far_, nullptr);
}

TEST_P(TlsTest, AClientSaysThatAServerIsPlain) {
  TestService service;
  Server plain(world_->server(), world_->any_port(), {}, service.factory());
  TlsTransport client(world_->client(), {nullptr, client_context({{}, {}, authority_.path()})});
  std::optional<Error> failed;
  auto attempt = client.connect(plain.address(), 5s, [&](auto, auto error) { failed = error; });
  run_until([&] { return failed.has_value(); });
  EXPECT_EQ(failed->code(), Code::kUnavailable);
}

TEST_P(TlsTest, OtherBytesAreRefused) {
  uint64_t refused = 0;
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100, '\0'), pattern(100000),
        std::string("\x16\x03\x01\xff\xff") + std::string(70000, '\1')}) {
    ASSERT_FALSE(connect_through(world_->client()));
    near_->send(bytes);
    run_until([this] { return near_->ended || near_->error != 0; });
    EXPECT_EQ(server_->num_refused(), ++refused);
    EXPECT_EQ(far_, nullptr);
  }
}

TEST_P(TlsTest, OlderVersionsAreRefused) {
  ASSERT_FALSE(connect_through(world_->client()));
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  SSL* ssl = SSL_new(context);
  SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_connect(ssl);
  char hello[4096];
  const int size = BIO_read(SSL_get_wbio(ssl), hello, sizeof hello);
  near_->send(std::string(hello, static_cast<size_t>(size)));
  run_until([this] { return near_->ended || near_->error != 0; });
  EXPECT_THAT(refused_, HasSubstr("unsupported protocol"));
  SSL_free(ssl);
  SSL_CTX_free(context);
  ERR_clear_error();
}

TEST_P(TlsTest, TokensAreShownOverIt) {
  listener_.reset();
  const Token token{Access::kTrain, std::string(32, 't')};
  AuthTransport server(*server_, {token}, std::nullopt, options());
  listener_ = server.listen(world_->any_port(), [this](std::unique_ptr<Stream> stream) {
    far_ = std::make_unique<End>(std::move(stream));
  });
  TlsTransport tls(world_->client(), {nullptr, client_context({{}, {}, authority_.path()})});
  AuthTransport client(tls, {}, token);
  ASSERT_FALSE(connect_through(client));
  run_until([this] { return far_ != nullptr; });
  EXPECT_EQ(far_->stream->access(), Access::kTrain);
  near_->send(pattern(100000));
  run_until([this] { return far_->in.size() == 100000; });
  AuthTransport wrong(tls, {}, Token{Access::kTrain, std::string(32, 'w')});
  EXPECT_EQ(connect_through(wrong)->code(), Code::kAuthentication);
  EXPECT_EQ(server.num_refused(), 1u);
  near_.reset(), far_.reset(), listener_.reset();
}

PS_ON_EVERY_NETWORK(TlsTest);

// ---- on a link that damages and cuts

// One end of a link that the test holds in its hand.
class HeldStream final : public Stream {
 public:
  IoResult read(std::span<const MutableBytes> into) override {
    if (in.empty()) return ended ? IoResult{} : IoResult{.error = EAGAIN};
    const size_t size = std::min(in.size(), into[0].size());
    std::copy_n(in.begin(), size, into[0].begin());
    in.erase(0, size);
    return {.bytes = size};
  }
  IoResult write(std::span<const ConstBytes> from) override {
    out.append(from[0].data(), from[0].size());
    return {.bytes = from[0].size()};
  }
  void wait_readable() override {}
  void wait_writable() override {}
  void shutdown_write() override {}
  void set_events(Events*) override {}
  const std::string& peer() const override { return out; }

  std::string in, out;
  bool ended = false;
};

// A client's session and a server's, and the bytes between them.
class TlsWire {
 public:
  TlsWire(std::shared_ptr<const TlsContext> server, std::shared_ptr<const TlsContext> client)
      : server_(std::move(server), ""), client_(std::move(client), "server") {}

  bool shake_hands() {
    bool near_done = false, far_done = false;
    for (int turn = 0; turn < 10 && !(near_done && far_done); ++turn) {
      if (!near_done) near_done = client_.handshake(near_) == Handshake::Step::kDone;
      far_.in += std::exchange(near_.out, "");
      if (!far_done) far_done = server_.handshake(far_) == Handshake::Step::kDone;
      near_.in += std::exchange(far_.out, "");
    }
    return near_done && far_done;
  }

  // The bytes in which the client sends `text`.
  std::string sealed(std::string_view text) {
    const ConstBytes bytes(text);
    client_.write(near_, {&bytes, 1});
    return std::exchange(near_.out, "");
  }

  // The server reads these and then the end; returns its error, 0 for a peer's end.
  int open(const std::string& bytes, std::string& text) {
    far_.in += bytes;
    far_.ended = true;
    for (;;) {
      char got[100];
      const MutableBytes into(got);
      const IoResult result = server_.read(far_, {&into, 1});
      if (result.blocked()) continue;  // there is the end still to be read
      if (result.bytes == 0) return result.error;
      text.append(got, result.bytes);
    }
  }

 private:
  HeldStream near_, far_;
  TlsSession server_, client_;
};

TEST(TlsBytes, OneThatIsAnotherEndsTheConnectionAndIsNeverRead) {
  TestAuthority authority("authority");
  const TlsFiles files = authority.issue("server", kHosts);
  const auto server = server_context({files.certificate, files.key, {}});
  const auto client = client_context({{}, {}, files.authority});
  TlsWire wire(server, client);
  ASSERT_TRUE(wire.shake_hands());
  for (size_t position = 0; position < wire.sealed("a secret").size(); ++position) {
    TlsWire damaged(server, client);
    ASSERT_TRUE(damaged.shake_hands());
    std::string bytes = damaged.sealed("a secret");
    bytes[position] = static_cast<char>(bytes[position] ^ 1);
    std::string got;
    const int error = damaged.open(bytes, got);
    EXPECT_NE(error, 0) << position;
    EXPECT_EQ(got, "") << position;
  }
}

TEST(TlsBytes, CutAnywhereAreALossAndNoEnd) {
  TestAuthority authority("authority");
  const TlsFiles files = authority.issue("server", kHosts);
  const auto server = server_context({files.certificate, files.key, {}});
  const auto client = client_context({{}, {}, files.authority});
  TlsWire whole(server, client);
  ASSERT_TRUE(whole.shake_hands());
  const std::string bytes = whole.sealed("a secret");
  EXPECT_EQ(bytes.find("secret"), std::string::npos);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    TlsWire cut(server, client);
    ASSERT_TRUE(cut.shake_hands());
    std::string got;
    EXPECT_EQ(cut.open(cut.sealed("a secret").substr(0, size), got), ECONNRESET) << size;
    EXPECT_EQ(got, size == bytes.size() ? "a secret" : "") << size;
  }
}

// ---- files

TEST(TlsFilesTest, ThatAreMissingOrDoNotFitAreUsage) {
  TestAuthority authority("authority");
  ScratchFolder folder;
  const TlsFiles one = authority.issue("one", kHosts), other = authority.issue("other", kHosts);
  write_file(folder.path("text"), "not a certificate\n");
  auto code = [](const TlsFiles& files, TlsSide side) {
    return error_of([&] { TlsContext(files, side); }).code();
  };
  EXPECT_EQ(code({one.certificate, other.key, {}}, TlsSide::kServer), Code::kUsage);
  EXPECT_EQ(code({one.certificate, folder.path("none"), {}}, TlsSide::kServer), Code::kUsage);
  EXPECT_EQ(code({folder.path("text"), one.key, {}}, TlsSide::kServer), Code::kUsage);
  EXPECT_EQ(code({{}, {}, {}}, TlsSide::kServer), Code::kUsage);
  EXPECT_EQ(code({{}, {}, folder.path("text")}, TlsSide::kClient), Code::kUsage);
  EXPECT_EQ(code({{}, {}, {}}, TlsSide::kClient), Code::kUsage);
  TlsContext(one, TlsSide::kServer);
}

}  // namespace
}  // namespace ps::tls_test
