// A shard answers what a peer's token grants, and nothing else: every kind of token by every type of message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/auth/auth_transport.h"
#include "net/channel.h"
#include "net/sim/sim_network.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/shard_messages.h"
#include "ps/server/shard_server.h"
#include "support/scratch_folder.h"

namespace ps::access_test {
namespace {

using namespace std::chrono_literals;

const Token kReads{Access::kRead, std::string(32, 'r')};
const Token kTrains{Access::kTrain, std::string(32, 't')};
const Token kAdministers{Access::kAdmin, std::string(32, 'a')};

// A shard behind tokens, and one peer that comes to it.
class GuardedShard {
 public:
  GuardedShard() : guarded_(network_.host("server"), {kReads, kTrains, kAdministers}, std::nullopt) {
    job_.fingerprint = Json::object();
    job_.parameters = [](const DataSchema&) {
      return std::vector{synthetic_parameter("table", ParameterKind::kRows, true, 0, 1)};
    };
    job_.optimizers = make_optimizer_plan({{"type", "sgd"}}, "mean");
    job_.checkpoints.directory = folder_.path("checkpoints");
    job_.checkpoints.own_thread = false;
    server_ = std::make_unique<ShardServer>(guarded_, Address{"server", 1}, job_);
    server_->set_ports({{1}, 1, 1});
  }

  // The code of the answer to one message without a body, after a hello in this role; nothing: it was done.
  std::optional<Code> ask(const std::optional<Token>& token, const std::string& role, Message type) {
    AuthTransport guarded(network_.host("peer"), {}, token);
    Transport& transport = token ? static_cast<Transport&>(guarded) : network_.host("peer");
    BufferPool pool;
    ChannelOptions options;
    options.hello_type = static_cast<uint16_t>(Message::kHello);
    options.hello = [&role] { return Payload(hello(role)); };
    Channel channel(transport, pool, {"server", 1}, options);
    std::optional<Answer> answer;
    channel.request(static_cast<uint16_t>(type), Payload(), 5s,
                    [&answer](Answer got) { answer.emplace(std::move(got)); });
    network_.run_until([&] { return answer.has_value(); }, network_.now() + 60s);
    if (!answer) return Code::kInternal;
    return answer->error ? std::optional(answer->error->code()) : std::nullopt;
  }

  const ShardServer& server() const { return *server_; }
  uint64_t num_refused() const { return guarded_.num_refused(); }

 private:
  static std::string hello(const std::string& role) {
    Hello hello;
    hello.role = role;
    hello.run = 5;
    hello.job = Json::object();
    hello.schema = to_json(DataSchema{.slots = {{"slot", false, 10}}});
    hello.place = to_json(ShardPlace{.num_dense = 2, .dense = 1, .num_sparse = 2, .sparse = 1});
    return Hello::spec().to_json(hello).dump();
  }

  ScratchFolder folder_;
  SimNetwork network_{1};
  AuthTransport guarded_;
  ServedJob job_;
  std::unique_ptr<ShardServer> server_;
};

TEST(Access, WithoutARightTokenNothingIsAnswered) {
  for (const std::optional<Token>& token :
       {std::optional<Token>(), std::optional(Token{Access::kTrain, std::string(32, 'w')}),
        std::optional(Token{Access::kAdmin, kTrains.secret})}) {
    for (const ShardMessage& message : shard_messages()) {
      GuardedShard shard;
      EXPECT_EQ(shard.ask(token, "train", message.type), Code::kAuthentication)
          << static_cast<int>(message.type);
      EXPECT_EQ(shard.server().net_counters().connections_opened, 0u);
      EXPECT_EQ(shard.server().shard(), nullptr);
      EXPECT_EQ(shard.num_refused(), 1u);
    }
  }
}

TEST(Access, ATokenToReadGrantsWhatReadersMayAskAlone) {
  for (const ShardMessage& message : shard_messages()) {
    GuardedShard shard;
    shard.ask(kTrains, "train", Message::kDescribe);  // a reader alone makes no shard
    const std::optional<Code> code = shard.ask(kReads, "read", message.type);
    const bool granted = message.may_ask != Role::kTrainer;
    EXPECT_EQ(code != Code::kAuthentication, granted) << static_cast<int>(message.type);
  }
}

TEST(Access, ATokenToReadDoesNotTrain) {
  for (const ShardMessage& message : shard_messages()) {
    GuardedShard shard;
    EXPECT_EQ(shard.ask(kReads, "train", message.type), Code::kAuthentication)
        << static_cast<int>(message.type);
    EXPECT_EQ(shard.server().shard(), nullptr) << "nothing is made for it";
  }
}

TEST(Access, TokensToTrainAndToAdministerGrantAllThatTrainersAsk) {
  for (const Token& token : {kTrains, kAdministers}) {
    for (const ShardMessage& message : shard_messages()) {
      GuardedShard shard;
      const std::optional<Code> code = shard.ask(token, "train", message.type);
      EXPECT_NE(code, Code::kAuthentication) << static_cast<int>(message.type);
      EXPECT_NE(code, Code::kInternal) << static_cast<int>(message.type);
      EXPECT_NE(shard.server().shard(), nullptr);
    }
  }
}

}  // namespace
}  // namespace ps::access_test
