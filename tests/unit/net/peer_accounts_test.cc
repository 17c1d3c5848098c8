// Memory for bodies that are being received: one peer takes a quarter of it, however many connections it has, and others find
// room at once.
#include "net/peer_accounts.h"

#include "net_test.h"

namespace ps::peer_accounts_test {
namespace {

constexpr uint64_t kMebi = 1 << 20;

TEST(PeerOfAddress, IsTheHostAndOfIpv6ItsNetwork) {
  EXPECT_EQ(peer_of_address("127.0.0.1:4711"), "127.0.0.1");
  EXPECT_EQ(peer_of_address("client:1"), "client");
  EXPECT_EQ(peer_of_address("[::ffff:10.1.2.3]:80"), "10.1.2.3")
      << "who comes from IPv4 to a socket of both families";
  EXPECT_EQ(peer_of_address("[2001:db8::1]:80"), peer_of_address("[2001:db8::ffff:1]:81"));
  EXPECT_NE(peer_of_address("[2001:db8::1]:80"), peer_of_address("[2001:db8:0:1::1]:80"));
  EXPECT_EQ(peer_of_address("[fe80::1%eth0]:80"), peer_of_address("[fe80::2]:80"));
  EXPECT_EQ(peer_of_address("process 7 of this machine"), peer_of_address("process 8 of this machine"));
}

TEST(PeerAccounts, AreSharedByNameAndGoWithTheirLastUser) {
  PeerAccounts accounts;
  const auto one = accounts.of("one"), again = accounts.of("one"), two = accounts.of("two");
  EXPECT_EQ(one, again);
  EXPECT_NE(one, two);
  {
    const AccountedBytes some(one, 100);
    AccountedBytes more(one, 20);
    EXPECT_EQ(one->bytes(), 120u);
    more = AccountedBytes(two, 7);
    EXPECT_EQ(one->bytes(), 100u);
    EXPECT_EQ(two->bytes(), 7u);
  }
  EXPECT_EQ(one->bytes() + two->bytes(), 0u);
  std::weak_ptr<PeerAccount> gone = accounts.of("three");
  EXPECT_TRUE(gone.expired());
  for (int i = 0; i < 1000; ++i) accounts.of(cat("peer ", i));
  EXPECT_EQ(accounts.of("one"), one) << "accounts in use are kept when others are dropped";
}

class PeersOfAServer : public EveryNetwork {
 protected:
  static constexpr uint64_t kMemory = 32 * kMebi;

  PeersOfAServer() {
    const ServerOptions options{.max_memory_bytes = kMemory};
    server_ =
        std::make_unique<Server>(world_->server(), world_->any_port(), options, [this](SessionLink link) {
          auto session = std::make_unique<TestSession>(service_, link);
          link.establish();
          return session;
        });
  }
  void TearDown() override {
    attackers_.clear();
    EveryNetwork::TearDown();
  }

  // The beginning of a frame of so many bytes.
  static std::string beginning(uint64_t body_bytes) {
    const FrameHeader header{.type = kEcho, .request_id = 1, .body_bytes = body_bytes};
    std::string bytes(kFrameHeaderBytes, '\0');
    encode_header(header, std::span<char, kFrameHeaderBytes>(bytes.data(), kFrameHeaderBytes));
    return bytes + "the rest never comes";
  }

  // As many connections more that announce bodies of so many bytes, when the server has read what they have sent.
  void attack(size_t connections, uint64_t body_bytes) {
    const uint64_t before = server_->counters().bytes_received, sent = beginning(body_bytes).size();
    std::vector<std::unique_ptr<ConnectAttempt>> attempts;
    const size_t all = attackers_.size() + connections;
    for (size_t i = 0; i < connections; ++i) {
      attempts.push_back(world_->client().connect(
          server_->address(), 20s, [&](std::unique_ptr<Stream> stream, std::optional<Error>) {
            ASSERT_NE(stream, nullptr);
            attackers_.push_back(std::make_unique<End>(std::move(stream)));
            attackers_.back()->send(beginning(body_bytes));
          }));
    }
    run_until([&] {
      return attackers_.size() == all && server_->counters().bytes_received - before == connections * sent;
    });
  }
  void expect_quarter() {
    EXPECT_GT(server_->pool().bytes_in_use(), kMemory / 8);
    EXPECT_LE(server_->pool().bytes_in_use(), kMemory / 4);
  }

  TestService service_;
  BufferPool pool_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<End>> attackers_;
};

TEST_P(PeersOfAServer, HaveAQuarterForBodiesThatNeverEndAndOthersHaveTheRest) {
  attack(100, kMebi);
  expect_quarter();
  Channel honest(world_->client(), pool_, server_->address(), {});
  honest.call(kHello, Payload(std::string("trainer 0")), 20s);
  for (const uint64_t size : {uint64_t{1}, kMebi, kMemory / 2, kMemory * 5 / 8}) {
    EXPECT_EQ(honest.call(kEcho, Payload(pattern(size)), 20s).body.size(), size);
  }
  expect_quarter();
}

TEST_P(PeersOfAServer, GoOnInTheirOwnShareWhenItHasRoom) {
  attack(40, kMebi);
  expect_quarter();
  const uint64_t used = server_->pool().bytes_in_use();
  for (int i = 0; i < 3; ++i) {
    attackers_.erase(attackers_.begin(), attackers_.begin() + static_cast<ptrdiff_t>(attackers_.size() / 2));
    run_until([&] { return server_->num_connections() == attackers_.size() || attackers_.empty(); });
    const uint64_t expected = std::min(used, attackers_.size() * kMebi);
    run_until([&] { return server_->pool().bytes_in_use() == expected; });
  }
}

TEST_P(PeersOfAServer, ServeSmallRequestsOfThoseThatHaveTakenTheirShare) {
  attack(20, kMebi);
  Channel beside(world_->client(), pool_, server_->address(), {});
  EXPECT_EQ(text_of(beside.call(kEcho, Payload(std::string("small")), 20s)), "small");
}

TEST_P(PeersOfAServer, HaveOneBodyEachHoweverLong) {
  attack(10, kMemory * 3 / 4);
  EXPECT_EQ(server_->pool().bytes_in_use(), kMemory * 3 / 4) << "of ten, one";
}

PS_ON_EVERY_NETWORK(PeersOfAServer);

}  // namespace
}  // namespace ps::peer_accounts_test
