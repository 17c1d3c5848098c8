// ServedTable: a sparse table on shards of this process, with a trainer's store, and the same table in a
// local store, to compare with.  Used by the suites `pull-push` and `checkpoint`.
#ifndef PS_BENCH_PULL_PUSH_SERVED_TABLE_H_
#define PS_BENCH_PULL_PUSH_SERVED_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/pull_push/served_shards.h"
#include "ps/client/remote_store.h"
#include "store/local_store.h"

namespace ps {

struct ServedTableSettings {
  int64_t width = 16;
  uint64_t rows = 0;  // number of rows, with ids 0 to rows - 1, which exist from the beginning
  int ports = 1;
  std::string optimizer = "sgd";
  RowType type = RowType::kF32;  // type of rows and gradients in messages
  LinkShape link = {};           // shape of the way to each shard, in addition to that of the loopback device
  bool local = false;            // trainers connect by Unix sockets
  bool tls = false;              // connections are encrypted
  std::string checkpoints = {};  // folder of the shards' checkpoints, written on request; empty: none
  CpuLevel cpu = best_cpu_level();  // instructions that kernels use
};

// A table, its shards and its only trainer.  One owner thread, which is the trainer's.
class ServedTable {
 public:
  explicit ServedTable(const ServedTableSettings& settings);

  RemoteStore& store() { return *store_; }
  const ServedShards& shards() const { return *shards_; }
  LocalStore& local() { return *local_; }  // empty at first

 private:
  void fill(uint64_t rows);

  const std::vector<ParameterSpec> specs_;
  ServedJob job_;
  Device device_;
  const TlsContexts tls_;  // null: connections are not encrypted
  std::unique_ptr<LocalStore> local_;
  std::unique_ptr<ServedShards> shards_;
  const std::unique_ptr<Transport> network_ = make_network({.local = true});
  TlsTransport transport_;  // encrypts the connections of network_
  std::unique_ptr<RemoteStore> store_;
};

}  // namespace ps

#endif  // PS_BENCH_PULL_PUSH_SERVED_TABLE_H_
