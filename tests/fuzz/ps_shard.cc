// A shard and its peers, who say anything in any order.  The first bytes say how the shard is set up.
#include "fuzz/shard_peers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::Script script({data, size});
  const ps::ShardSetting setting(script);
  ps::ShardPeers(setting).run(script);
  return 0;
}
