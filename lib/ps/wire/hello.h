// Hello: the first message of a trainer to a shard.  It has the trainer's identity, and the job fingerprint that
// both must have in common.  It is JSON, so that an error can name the path of the value that differs.
#ifndef PS_PS_WIRE_HELLO_H_
#define PS_PS_WIRE_HELLO_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/spec.h"
#include "data/batch.h"
#include "ps/wire/protocol.h"
#include "ps/wire/run_status.h"
#include "store/placement.h"

namespace ps {

// The largest number of trainers in a run.  Each needs a connection to every shard, and a port accepts no more
// than these and some for readers: a larger run could never begin, and would keep others out.
inline constexpr int kMostTrainers = 1024;

struct Hello {
  int protocol = kProtocolVersion;
  std::string role = "train";  // train: takes part in steps; read: only reads, and has no rank
  int rank = 0, trainers = 1;
  // The number of ranks that the run has in all.  The ranks from `trainers` on join the running job; 0: no rank
  // joins.
  int max_trainers = 0;
  uint64_t generation = 1;  // generation of the trainer's process
  bool known = false;       // this shard has welcomed it before
  int server = 0;           // number of the shard's server in the list that all trainers have
  uint64_t run = 0;         // number of the run, from the job's first shard; 0: this is that shard
  bool resume = false;      // if this hello begins a run, it begins with the newest checkpoint
  int passes = 0;           // number of passes that the trainer trains; 0: not known
  uint64_t lost = 0;        // number of a run that has lost state, so that another must begin; 0: none
  bool going = false;       // RunStatus::going of the first shard
  bool recovers = false;
  std::string checkpoint;
  std::string cpu;     // level of the trainer's kernels
  Json job;            // must be equal to the server's
  Json schema, place;  // must be equal to those of the trainer that came first

  int ranks() const { return std::max(trainers, max_trainers); }  // of the run
  bool joins() const { return rank >= trainers; }                 // the run has begun without this rank

  static const ObjectSpec<Hello>& spec();
};

// The answer of a shard.
struct Welcome {
  int protocol = kProtocolVersion;
  std::string cpu;       // kernel level of the trainer that came first
  int max_trainers = 0;  // number of ranks of the run; only for role train
  RunStatus run_status;  // only for role train

  static const ObjectSpec<Welcome>& spec();
};

// The answer to describe: the ports of a server's shards.  The first `dense` of them have dense parameters, and
// the last `sparse` have sparse ones.
struct ServerPorts {
  std::vector<int> ports;
  int dense = 0, sparse = 0;

  static const ObjectSpec<ServerPorts>& spec();
};

Json to_json(const DataSchema& schema);
DataSchema schema_from_json(const Json& json);  // throws kUsage
Json to_json(const ShardPlace& place);
ShardPlace place_from_json(const Json& json);  // throws kUsage

// Returns the first difference of two documents, such as "optimizer.learning_rate is 0.1, not 0.2", or nothing
// if they are equal.
std::optional<std::string> first_difference(const Json& found, const Json& expected,
                                            const std::string& path = "");

}  // namespace ps

#endif  // PS_PS_WIRE_HELLO_H_
