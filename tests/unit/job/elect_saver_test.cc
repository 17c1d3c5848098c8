// The saver of a model, where etcd and the first server are asked, and one of them may be gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/wait_stopped.h"
#include "job/run_saves.h"
#include "ps/client/shard_links.h"
#include "support/fake_etcd.h"
#include "support/thrown_error.h"

namespace ps::elect_saver_test {
namespace {

// The first server, whose answers are as the test says.
class ServerRun final : public RunControl {
 public:
  uint64_t id() const override { return 1; }
  RunPosition position() const override { return {}; }
  bool finished() const override { return false; }
  std::vector<std::string> restored_states() override { return {}; }
  Saver elect_saver(SaveStage, const std::string&) override {
    ++times_asked;
    fail();
    return saver;
  }
  ServerCheckpoints* checkpoints() override { return nullptr; }
  void end_run() override {}
  void leave_run() override {}

  Saver saver{true, 0};
  std::function<void()> fail = [] {};
  int times_asked = 0;
};

class ElectSaver : public testing::Test {
 protected:
  Saver ask(int rank, bool with_etcd = true) {
    return elect_saver(with_etcd ? &in_etcd_[static_cast<size_t>(rank)] : nullptr, {1, rank, 7}, server_,
                       SaveStage::kBegin, "pass-00000", log_);
  }

  Log log_{"test", LogLevel::kError};
  ServerRun server_;
  const std::unique_ptr<Transport> network_ = make_network();
  FakeEtcd etcd_{*network_};
  EtcdClient client_ = etcd_.client();
  std::vector<EtcdSaveRecords> in_etcd_ = std::vector<EtcdSaveRecords>(2, EtcdSaveRecords(client_));
};

TEST_F(ElectSaver, WhomEtcdRefusesDoesNotSaveWhateverANewFirstServerSays) {
  EXPECT_TRUE(ask(0).elected);
  EXPECT_EQ(server_.times_asked, 1) << "it has to know that a pass is being saved";
  const Saver refused = ask(1);
  EXPECT_FALSE(refused.elected);
  EXPECT_EQ(refused.rank, 0);
  EXPECT_EQ(server_.times_asked, 1);
}

TEST_F(ElectSaver, WhomTheFirstServerRefusesDoesNotSaveEither) {
  server_.saver = {false, 1};
  const Saver refused = ask(0);
  EXPECT_FALSE(refused.elected);
  EXPECT_EQ(refused.rank, 1);
  server_.saver = {true, 1};
  EXPECT_TRUE(ask(1).elected) << "etcd must not keep a saver that does not save";
}

TEST_F(ElectSaver, WithoutEtcdTheFirstServerElects) {
  etcd_.loses_answers = true;
  EXPECT_TRUE(ask(0).elected);
  server_.saver = {false, 1};
  EXPECT_FALSE(ask(0).elected);
  EXPECT_FALSE(ask(0, /*with_etcd=*/false).elected);
}

TEST_F(ElectSaver, WhomEtcdHasElectedSavesWhenTheFirstServerIsGone) {
  server_.fail = [] { throw Error(Code::kUnavailable, "gone"); };
  EXPECT_TRUE(ask(0).elected);
  EXPECT_FALSE(ask(1).elected);
  EXPECT_EQ(error_of([&] { ask(1, /*with_etcd=*/false); }, Code::kUnavailable), "gone");
}

TEST_F(ElectSaver, ARunThatIsLostOrStoppedSavesNothing) {
  server_.fail = [] { throw StateLost(1, true, "lost"); };
  EXPECT_THROW(ask(0), StateLost);
  server_.fail = [] { throw WaitStopped(); };
  EXPECT_THROW(ask(0), WaitStopped);
}

}  // namespace
}  // namespace ps::elect_saver_test
