// One fault in one frame, at every phase of frames of every type, in both directions: no bit changes.
#include "cluster.h"

namespace ps {
namespace {

constexpr ProxyFault::Kind kAtAByte[] = {ProxyFault::kCut, ProxyFault::kHold, ProxyFault::kDelay,
                                         ProxyFault::kFlip};
constexpr ProxyFault::Kind kOfAFrame[] = {ProxyFault::kDuplicate, ProxyFault::kSwap};

// Before the header, in it, at its end, in the body, far into it; faults past the end hit the last byte.
constexpr uint64_t kPhases[] = {0, 20, kFrameHeaderBytes - 1, kFrameHeaderBytes, 300, 1 << 20};

class EveryPhase : public testing::TestWithParam<Message> {
 protected:
  EveryPhase() {
    job_.optimizer = {{"type", "momentum"}, {"learning_rate", 0.05}, {"clip_global_norm", 0.5}};
    job_.steps = {{2, 1}, {3, 1}};
    job_.small = true;
    calm_ = Cluster(job_, 2, 1, 0).train();
  }

  // With the fault in the second frame of its type and direction, of each shard.
  void survive(ProxyDirection direction, const ProxyFault& fault) {
    SCOPED_TRACE(cat("fault ", int{fault.kind}, " at byte ", fault.at_byte,
                     direction == ProxyDirection::kToTarget ? " to a server" : " to a trainer"));
    Cluster cluster(job_, 2, 1, 0);
    int seen = 0;
    cluster.put_proxies([&](ProxyDirection where, const FrameHeader& header) {
      const bool here = where == direction && header.type == static_cast<uint16_t>(GetParam());
      return here && seen++ == 1 ? fault : ProxyFault();
    });
    expect_same_bits(calm_, cluster.train());
    EXPECT_GE(seen, 2);
    for (auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, 4u);
  }

  TestJob job_;
  std::vector<float> calm_;
};

TEST_P(EveryPhase, IsSurvivedInBothDirections) {
  for (ProxyDirection direction : {ProxyDirection::kToTarget, ProxyDirection::kToClient}) {
    for (ProxyFault::Kind kind : kAtAByte) {
      for (uint64_t phase : kPhases) survive(direction, {.kind = kind, .at_byte = phase, .delay = 50ms});
    }
    for (ProxyFault::Kind kind : kOfAFrame) survive(direction, {.kind = kind, .delay = 50ms});
  }
}

std::string name_of(const testing::TestParamInfo<Message>& info) {
  const std::map<Message, std::string> names = {
      {Message::kDescribe, "Describe"}, {Message::kHello, "Hello"},   {Message::kPull, "Pull"},
      {Message::kPush, "Push"},         {Message::kApply, "Apply"},   {Message::kGather, "Gather"},
      {Message::kKeys, "Keys"},         {Message::kEndRun, "EndRun"},
  };
  return names.at(info.param);
}

INSTANTIATE_TEST_SUITE_P(Messages, EveryPhase,
                         testing::Values(Message::kDescribe, Message::kHello, Message::kPull, Message::kPush,
                                         Message::kApply, Message::kGather, Message::kKeys, Message::kEndRun),
                         name_of);

}  // namespace
}  // namespace ps
