// The table of a shard's messages says what ps-wire(5) says, and nobody may ask more than it grants.
#include "ps/server/shard_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "config/json.h"
#include "net/sim/sim_network.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/shard_host.h"
#include "ps/server/shard_session.h"
#include "ps/wire/hello.h"
#include "recording_reply.h"
#include "support/scratch_folder.h"

namespace ps::shard_messages_test {
namespace {

using testing::HasSubstr;

std::string size_text(uint64_t bytes) {
  if (bytes >= (1 << 20)) return cat(bytes >> 20, " MiB");
  if (bytes >= (1 << 10)) return cat(bytes >> 10, " KiB");
  return bytes == 0 ? "0" : cat(bytes, " B");
}

TEST(ShardMessages, AreThoseOfThePageWithItsSizesAndRoles) {
  const std::string page = read_file(PS_WIRE_PAGE);
  const std::map<Role, std::string> roles = {
      {Role::kStranger, "anybody"}, {Role::kReader, "who was greeted"}, {Role::kTrainer, "trainers"}};
  for (const ShardMessage& message : shard_messages()) {
    const uint16_t type = static_cast<uint16_t>(message.type);
    const size_t at = page.find(cat("\n.It ", type, " Ta "));
    ASSERT_NE(at, std::string::npos) << type;
    const std::string line = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
    EXPECT_THAT(line, HasSubstr(cat(" Ta ", size_text(message.max_body_bytes), " Ta "))) << type;
    EXPECT_THAT(line, HasSubstr(cat(" Ta ", roles.at(message.may_ask)))) << type;
    EXPECT_EQ(find_shard_message(type), &message);
  }
  EXPECT_EQ(shard_messages().size(), 24u);
  EXPECT_EQ(find_shard_message(15), nullptr);
  EXPECT_EQ(find_shard_message(41), nullptr);
}

// A shard of two parameters on a loop without a network, and hellos of those who come.
class ShardHostTest : public testing::Test {
 protected:
  ShardHostTest() {
    job_.fingerprint = Json::object();
    job_.parameters = [](const DataSchema& schema) {
      const int64_t cols = static_cast<int64_t>(schema.slots.size());
      return std::vector{synthetic_parameter("table", ParameterKind::kRows, true, 0, cols)};
    };
    job_.optimizers = make_optimizer_plan({{"type", "sgd"}}, "mean");
    job_.checkpoints.directory = folder_.path("checkpoints");
    job_.checkpoints.own_thread = false;
    host_ =
        std::make_unique<ShardHost>(network_.host("server").loop(), job_, ShardLimits(), [](const Error&) {});
  }

  // Makes a hello for a shard that is not the job's first.
  Hello hello(uint64_t generation, uint64_t run, int rank = 0, int slots = 1) {
    Hello hello;
    hello.rank = rank;
    hello.trainers = 2;
    hello.generation = generation;
    hello.run = run;
    hello.job = Json::object();
    DataSchema schema;
    for (int i = 0; i < slots; ++i) schema.slots.push_back({cat("slot-", i), false, 10});
    hello.schema = to_json(schema);
    hello.place = to_json(ShardPlace{.num_dense = 2, .dense = 1, .num_sparse = 2, .sparse = 1});
    return hello;
  }
  Member member(const Hello& hello) {
    return {hello.rank, hello.trainers, hello.generation, hello.known, hello.run, hello.going};
  }
  Member come(const Hello& hello) {
    host_->admit(hello);
    host_->join(member(hello));
    return member(hello);
  }
  std::optional<Code> refusal(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.code();
    }
    return std::nullopt;
  }

  ScratchFolder folder_;
  SimNetwork network_{1};
  ServedJob job_;
  std::unique_ptr<ShardHost> host_;
};

TEST_F(ShardHostTest, APeerMaySendWhatItsRoleGrantsAlone) {
  RequestTimes times;
  const std::string description;
  ShardPeer peer{*host_, description, times, SessionLink({})};
  const Member trainer = come(hello(1, 5));
  for (const Role role : {Role::kStranger, Role::kReader, Role::kTrainer}) {
    peer.greeted = role != Role::kStranger;
    if (role == Role::kTrainer) peer.member = trainer;
    ASSERT_EQ(peer.role(), role);
    for (const ShardMessage& message : shard_messages()) {
      const std::optional<Code> code = refusal([&] { check_may_ask(peer, message); });
      EXPECT_EQ(code, message.may_ask <= role ? std::nullopt : std::optional(Code::kAuthentication))
          << static_cast<int>(message.type);
    }
  }
  peer.member->generation = 2;
  EXPECT_EQ(refusal([&] { check_may_ask(peer, *find_shard_message(18)); }), kStateLost);
}

// The run of a shard beside the first ends when that says so by its trainers; a stranger may not say it for
// them.
TEST_F(ShardHostTest, ARunGoesOnWhileAStrangerSaysThatItIsLost) {
  come(hello(1, 5));
  const Shard* shard = &host_->shard();
  Hello stranger = hello(2, 6);
  stranger.recovers = true;
  EXPECT_EQ(refusal([&] { host_->admit(stranger); }), Code::kUnavailable);
  stranger.trainers = 1000, stranger.rank = 999;
  EXPECT_EQ(refusal([&] { host_->admit(stranger); }), Code::kUnavailable);
  EXPECT_EQ(&host_->shard(), shard);
  EXPECT_EQ(host_->shard().roster().run(), 5u);
  Hello own = hello(1, 7);
  own.recovers = true;
  come(own);
  EXPECT_EQ(host_->shard().roster().run(), 7u) << "the trainer itself goes back";
  host_->leave(member(own));
  Hello next = hello(3, 8);
  next.recovers = true;
  come(next);
  EXPECT_EQ(host_->shard().roster().run(), 8u) << "another process, when the one before is gone";
}

TEST_F(ShardHostTest, RequestsThatWaitForACheckpointGoWithTheirConnection) {
  const Member trainer = come(hello(1, 5));
  auto outcome = std::make_shared<Outcome>();
  host_->checkpoints().ask_shard_files(1000, std::make_unique<RecordingReply>(outcome));
  EXPECT_EQ(host_->checkpoints().num_waiting(), 1u);
  outcome->wanted = false;  // the connection is closed before its session is told
  host_->leave(trainer);
  EXPECT_EQ(host_->checkpoints().num_waiting(), 0u);
}

TEST_F(ShardHostTest, ATrainerOfAnEarlierRunSavesNoModel) {
  const Member trainer = come(hello(1, 5));
  EXPECT_FALSE(host_->elect_saver(trainer, {4, SaveStage::kGoesOn, "pass-00000"}).elected);
  EXPECT_TRUE(host_->elect_saver(trainer, {5, SaveStage::kGoesOn, "pass-00000"}).elected);
}

TEST_F(ShardHostTest, AReaderThatComesFirstMakesNoShard) {
  Hello reader = hello(1, 0, 0, /*slots=*/3);
  reader.role = "read";
  reader.resume = true;
  EXPECT_EQ(refusal([&] { host_->admit(reader); }), Code::kUnavailable);
  EXPECT_FALSE(host_->has_shard());
  come(hello(1, 5, 0, /*slots=*/2));
  EXPECT_EQ(host_->shard().tables().widths()[0], 2);
  EXPECT_EQ(refusal([&] { host_->admit(reader); }), Code::kUsage) << "those of a trainer hold";
}

TEST_F(ShardHostTest, WhereAServerGoesOnAReadersDataHoldWhileItIsThereAndUntilATrainerComes) {
  job_.checkpoints.resume = true;
  Hello reader = hello(1, 0, 0, /*slots=*/3), other = hello(1, 0, 0, /*slots=*/4);
  reader.role = other.role = "read";
  host_->admit(reader);
  host_->readers().join();
  EXPECT_EQ(refusal([&] { host_->admit(other); }), Code::kUsage);
  host_->readers().leave();
  host_->admit(other);
  EXPECT_EQ(host_->shard().tables().widths()[0], 4);
  host_->readers().join();
  come(hello(1, 5, 0, /*slots=*/2));
  EXPECT_EQ(host_->shard().tables().widths()[0], 2);
  EXPECT_EQ(refusal([&] { host_->admit(hello(2, 5, 1, /*slots=*/3)); }), Code::kUsage)
      << "those of a trainer hold";
  EXPECT_EQ(host_->shard().roster().run(), 5u);
}

TEST_F(ShardHostTest, ReadersHaveAShareOfTheConnections) {
  const size_t most = ShardLimits().max_readers;
  EXPECT_LE(most + kMostTrainers, ShardLimits().max_connections - 512) << "and some for those who come";
  for (size_t i = 0; i < most; ++i) host_->readers().join();
  EXPECT_EQ(refusal([&] { host_->readers().join(); }), Code::kUnavailable);
  host_->readers().leave();
  host_->readers().join();
}

// Whoever comes first says how many trainers there are, and what their data look like.  If the others never
// come, it need not be true.
TEST_F(ShardHostTest, AStrangerThatCameFirstKeepsTheJobForNoLongerThanATrainerIsWaitedFor) {
  Hello stranger = hello(1, 0, 999, /*slots=*/7);
  stranger.trainers = 1000;
  come(stranger);
  const Hello honest = hello(2, 0, 0);
  EXPECT_EQ(refusal([&] { come(honest); }), Code::kUsage);
  network_.run_for(std::chrono::seconds(59));
  EXPECT_EQ(refusal([&] { come(honest); }), Code::kUsage);
  network_.run_for(std::chrono::seconds(2));
  come(honest);
  EXPECT_EQ(host_->shard().roster().size(), 2u);
  EXPECT_EQ(host_->shard().tables().widths()[0], 1);
  Hello second = hello(3, 0, 1);
  come(second);
  network_.run_for(std::chrono::seconds(100));
  EXPECT_EQ(refusal([&] { come(stranger); }), Code::kUsage) << "a run whose trainers are all there goes on";
}

TEST_F(ShardHostTest, TheSameDataWithAnotherNumberOfTrainersGiveWayToo) {
  Hello stranger = hello(1, 0, 999);
  stranger.trainers = 1000;
  come(stranger);
  network_.run_for(std::chrono::seconds(61));
  come(hello(2, 0, 0));
  EXPECT_EQ(host_->shard().roster().size(), 2u);
}

TEST_F(ShardHostTest, MoreTrainersThanConnectionsAreRefused) {
  Hello stranger = hello(1, 0, 0);
  stranger.trainers = 65536;
  EXPECT_EQ(refusal([&] { come(stranger); }), Code::kUsage);
  come(hello(2, 0, 0));
}

// The trainers with whom the run began make the shard, and say that the run goes back.
TEST_F(ShardHostTest, OneThatJoinsMakesNoShardAndEndsNoRun) {
  job_.trainer_loss.go_on = true;
  const auto joining = [this](uint64_t generation, uint64_t run) {
    Hello other = hello(generation, run, 2);
    other.max_trainers = 3;
    return other;
  };
  EXPECT_EQ(refusal([&] { host_->admit(joining(1, 5)); }), Code::kUnavailable);
  EXPECT_FALSE(host_->has_shard());
  for (int rank : {0, 1}) {
    Hello first = hello(static_cast<uint64_t>(rank) + 2, 5, rank);
    first.max_trainers = 3;
    host_->admit(first);
    host_->join({rank, 2, first.generation, false, 5, false, 3});
  }
  EXPECT_EQ(refusal([&] { host_->admit(joining(1, 6)); }), Code::kUnavailable) << "of another run";
  Hello back = joining(1, 6);
  back.recovers = true;
  EXPECT_EQ(refusal([&] { host_->admit(back); }), Code::kUnavailable) << "others say so first";
  EXPECT_EQ(host_->shard().roster().run(), 5u);
  EXPECT_EQ(refusal([&] { host_->admit(joining(1, 5)); }), std::nullopt);
}

}  // namespace
}  // namespace ps::shard_messages_test
