// Peers that say anything in any order to a shard: its promises hold whatever they say (fuzz/shard_peers.h).  A broken
// one ends the program, after the seed was printed.
#include <gtest/gtest.h>

#include <cstdio>

#include "fuzz/shard_peers.h"
#include "support/environment.h"

namespace ps {
namespace {

std::vector<uint8_t> drawn_script(uint64_t seed) {
  Random random(seed, 11);
  std::vector<uint8_t> bytes(40 + random.below(1500));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next32());
  return bytes;
}

TEST(AnyOrder, PromisesOfAShardHoldWhateverPeersSay) {
  const int64_t one = number_from_environment("PS_SIM_SEED", 0);
  const int64_t first = one > 0 ? one : 1, count = one > 0 ? 1 : number_from_environment("PS_SIM_SEEDS", 500);
  for (int64_t seed = first; seed < first + count; ++seed) {
    std::fprintf(stderr, "\rPS_SIM_SEED=%lld ", static_cast<long long>(seed));
    const std::vector<uint8_t> bytes = drawn_script(static_cast<uint64_t>(seed));
    Script script(bytes);
    const ShardSetting setting(script);
    ShardPeers(setting).run(script);
  }
}

}  // namespace
}  // namespace ps
