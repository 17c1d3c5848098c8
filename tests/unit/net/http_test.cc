// The HTTP server, on the simulated network and on loopback TCP; and against clients that mean no good.
#include "net/http/http_server.h"

#include "net/http/http_message.h"
#include "net_test.h"

namespace ps::http_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A client that sends what it is told, and keeps what comes.
struct Client final : Stream::Events {
  explicit Client(std::unique_ptr<Stream> open_stream) : stream(std::move(open_stream)) {
    stream->set_events(this);
    stream->wait_readable();
  }

  void send(std::string_view bytes) {
    const ConstBytes from(bytes.data(), bytes.size());
    stream->write({&from, 1});
  }

  void on_readable() override {
    char bytes[65536];
    MutableBytes into(bytes);
    IoResult result = stream->read({&into, 1});
    if (result.blocked()) return stream->wait_readable();
    in.append(bytes, result.bytes);
    ended = result.ended() || result.error != 0;
    if (!ended && reads) stream->wait_readable();
  }
  void on_writable() override {}

  std::unique_ptr<Stream> stream;
  std::string in;
  bool ended = false, reads = true;
};

class HttpTest : public EveryNetwork {
 protected:
  void serve(const HttpOptions& options = {}) {
    server_ = std::make_unique<HttpServer>(world_->server(), world_->any_port(), options,
                                           [this](const HttpRequest& request) { return answer(request); });
  }

  virtual HttpResponse answer(const HttpRequest& request) {
    if (request.path == "/large") return {.body = std::string(8 << 20, 'x')};
    if (request.path == "/do") {
      if (!request.post) return {.status = 405, .body = "only POST\n", .allow = "POST"};
      return {.status = request.authorization.empty() ? 401 : 202, .body = "", .takes_password = false};
    }
    if (request.path == "/throw") fail(Code::kInternal, "it does not work");
    if (request.path == "/mine") {
      if (request.authorization == "Bearer me") return {.body = cat("yours: ", request.peer, "\n")};
      return {.status = 401, .body = "not yours\n", .delay = request.authorization.empty() ? 0ms : kDelay};
    }
    if (request.path != "/hello") return {.status = 404, .body = "nothing here\n"};
    return {.body = "good day\n"};
  }

  static constexpr Duration kDelay = 300ms;

  std::unique_ptr<Client> connect() {
    std::unique_ptr<Client> client;
    auto attempt = world_->client().connect(server_->address(), 5s,
                                            [&](std::unique_ptr<Stream> stream, const std::optional<Error>&) {
                                              client = std::make_unique<Client>(std::move(stream));
                                            });
    run_until([&] { return client != nullptr; });
    return client;
  }

  // Sends `bytes`, and returns all bytes that arrive until the connection ends.
  std::string ask(std::string_view bytes) {
    auto client = connect();
    client->send(bytes);
    run_until([&] { return client->ended; });
    return client->in;
  }

  std::unique_ptr<HttpServer> server_;
};

constexpr const char* kHello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr const char* kLastHello = "GET /hello?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST_P(HttpTest, AGetIsAnswered) {
  serve();
  std::string answer = ask(kLastHello);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(answer, HasSubstr("default-src 'none'"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\ngood day\n"));
}

TEST_P(HttpTest, AHeadHasNoBody) {
  serve();
  std::string answer = ask("HEAD /hello HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_P(HttpTest, AConnectionIsKeptForMoreRequestsAlsoWhenTheyWereSentAhead) {
  serve();
  auto client = connect();
  client->send(kHello);
  run_until([&] { return client->in.ends_with("good day\n"); });
  std::string many;
  for (int i = 0; i < 300; ++i) many += kHello;
  client->send(many + kLastHello);
  run_until([&] { return client->ended; });
  EXPECT_EQ(server_->counters().requests, 302u);
  EXPECT_THAT(client->in, EndsWith("good day\n"));
}

TEST_P(HttpTest, ARequestMayComeByteByByte) {
  serve();
  auto client = connect();
  for (char byte : std::string(kLastHello)) {
    client->send({&byte, 1});
    world_->client().loop().poll();
  }
  run_until([&] { return client->ended; });
  EXPECT_THAT(client->in, EndsWith("good day\n"));
}

TEST_P(HttpTest, AnAnswerLargerThanTheSocketIsSentWhole) {
  serve();
  EXPECT_GT(ask("GET /large HTTP/1.0\r\n\r\n").size(), size_t{8} << 20);
}

TEST_P(HttpTest, WhatIsWrongIsRefusedWithItsStatus) {
  serve();
  EXPECT_THAT(ask("GET /elsewhere HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask("GET /throw HTTP/1.0\r\n\r\n"), HasSubstr("it does not work"));
  EXPECT_EQ(server_->counters().requests_bad, 0u);
  std::string answer = ask("DELETE /hello HTTP/1.1\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD, POST\r\n"));
  EXPECT_THAT(ask("GET /hello HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask("PSKT\x01\x02\x03\x04 nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(server_->counters().requests_bad, 3u);
}

TEST_P(HttpTest, WhoHasToShowSomethingIsToldHow) {
  serve();
  const std::string answer = ask("GET /mine HTTP/1.0\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 401 Unauthorized\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nWWW-Authenticate: Bearer realm=\"pskit\"\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nWWW-Authenticate: Basic realm=\"pskit\"\r\n"));
  EXPECT_THAT(ask("GET /mine HTTP/1.0\r\nauthorization: Bearer me\r\n\r\n"), HasSubstr("\r\n\r\nyours: "));
  EXPECT_THAT(ask(kLastHello), Not(HasSubstr("WWW-Authenticate")));
}

TEST_P(HttpTest, APostIsToldFromAGet) {
  serve();
  const std::string get = ask("GET /do HTTP/1.0\r\n\r\n");
  EXPECT_THAT(get, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(get, HasSubstr("\r\nAllow: POST\r\n"));
  EXPECT_THAT(ask("HEAD /do HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask("POST /do HTTP/1.0\r\nAuthorization: Bearer me\r\n\r\n"), StartsWith("HTTP/1.1 202 "));
  EXPECT_THAT(ask("POST /do HTTP/1.0\r\nAuthorization: Bearer me\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 202 "));
  const std::string stranger = ask("POST /do HTTP/1.0\r\n\r\n");
  EXPECT_THAT(stranger, HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_THAT(stranger, Not(HasSubstr("Basic"))) << "browsers would ask for a password";
  EXPECT_EQ(server_->counters().requests_bad, 0u);
}

TEST_P(HttpTest, ABodyIsRefusedBeforeItIsTaken) {
  serve();
  const std::string post = "POST /do HTTP/1.1\r\nAuthorization: Bearer me\r\n";
  for (const std::string& rest :
       {cat("Content-Length: 3\r\n\r\nabc"),
        cat("Content-Length: 99999999999\r\n\r\n", std::string(50000, 'x')),
        cat("Transfer-Encoding: chunked\r\n\r\nffff\r\n", std::string(50000, 'x'))}) {
    EXPECT_THAT(ask(post + rest), StartsWith("HTTP/1.1 413 ")) << rest.substr(0, 40);
  }
}

TEST_P(HttpTest, ADelayedAnswerComesWholeAndNoneOvertakesIt) {
  serve();
  Loop& loop = world_->client().loop();
  const Time start = loop.now();
  const std::string wrong = "GET /mine HTTP/1.1\r\nAuthorization: Bearer you\r\n\r\n";
  auto client = connect(), other = connect();
  client->send(wrong + wrong + kLastHello);
  other->send(kLastHello);
  run_until([&] { return other->ended; });
  EXPECT_EQ(client->in, "") << "others wait, too";
  run_until([&] { return client->ended; });
  EXPECT_GE(loop.now() - start, 2 * kDelay);
  EXPECT_THAT(client->in, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(client->in, EndsWith("good day\n"));
  EXPECT_EQ(server_->counters().requests, 4u);
}

TEST_P(HttpTest, WhoEndsBeforeADelayedAnswerIsForgotten) {
  serve();
  auto client = connect();
  client->send("GET /mine HTTP/1.1\r\nAuthorization: Bearer you\r\n\r\n");
  run_until([&] { return server_->counters().requests == 1; });
  client.reset();
  run_until([&] { return server_->num_connections() == 0; });
  EXPECT_THAT(ask(kLastHello), EndsWith("good day\n"));
}

TEST_P(HttpTest, AHeaderBeyondTheLimitIsRefused) {
  serve({.max_header_bytes = 1000});
  EXPECT_THAT(ask("GET /hello HTTP/1.1\r\nCookie: " + std::string(2000, 'x')), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask("GET /" + std::string(2000, 'x')), StartsWith("HTTP/1.1 431 "));
}

TEST_P(HttpTest, NoDamageToARequestIsMoreThanARefusal) {
  serve();
  const std::string whole = kLastHello;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x80);
    auto client = connect();
    client->send(damaged + "\r\n\r\n");
    run_until([&] { return !client->in.empty() || client->ended; });
  }
  EXPECT_THAT(ask(kLastHello), EndsWith("good day\n"));
}

TEST_P(HttpTest, WhoIsSlowIsClosedHoweverOftenHeSendsAByte) {
  serve({.timeout = 200ms});
  auto client = connect();
  std::string_view request = kLastHello;
  for (char byte : request) {
    client->send({&byte, 1});
    run_for(20ms);
    if (client->ended) break;
  }
  EXPECT_TRUE(client->ended);
  EXPECT_EQ(client->in, "");
  EXPECT_EQ(server_->counters().peers_timed_out, 1u);
}

TEST_P(HttpTest, WhoDoesNotReadIsClosed) {
  serve({.timeout = 200ms});
  auto client = connect();
  client->reads = false;
  client->send("GET /large HTTP/1.1\r\n\r\n");
  run_until([&] { return server_->counters().peers_timed_out == 1; });
  run_until([&] { return server_->num_connections() == 0; });
}

TEST_P(HttpTest, AFloodOfConnectionsKeepsNobodyOut) {
  serve({.max_connections = 4});
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(connect());
  EXPECT_LE(server_->num_connections(), 5u);
  EXPECT_THAT(ask(kLastHello), EndsWith("good day\n"));
  EXPECT_GE(server_->counters().peers_evicted, 16u);
}

TEST_P(HttpTest, TheServerMayEndWhileClientsAreThere) {
  serve();
  auto idle = connect(), asking = connect();
  asking->send("GET /large HTTP/1.1\r\n\r\n");
  run_until([&] { return !asking->in.empty(); });
  server_.reset();
  run_until([&] { return idle->ended && asking->ended; });
}

PS_ON_EVERY_NETWORK(HttpTest);

}  // namespace
}  // namespace ps::http_test
