// Hello: the first message of a trainer to a shard: who it is, and the job fingerprint that both must have in common.  It is
// JSON, so that an error can name the path of the value that differs.
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

// Trainers of a run, at most.  Each needs a connection to every shard, and a port has no more than these and some for
// readers: a run of more could never go on, and would keep others out.
inline constexpr int kMostTrainers = 1024;

struct Hello {
  int protocol = kProtocolVersion;
  std::string role = "train";  // train: takes part in steps; read: reads alone, and has no rank
  int rank = 0, trainers = 1;
  int max_trainers =
      0;  // ranks that the run has in all, of which those from `trainers` on join it; 0: none does
  uint64_t generation = 1;  // of the trainer's process
  bool known = false;       // this shard has welcomed it before
  int server = 0;           // number of the shard's server in the list that all trainers have
  uint64_t run = 0;  // the number of the run, which the job's first shard has given it; 0: this is that shard
  bool resume = false;  // if this hello begins a run, it begins with the newest checkpoint
  int passes = 0;       // passes that the trainer trains; 0: not known
  uint64_t lost = 0;    // a run whose state is lost in part, so that another has to begin; 0: none
  bool going = false;   // of the run, as the first shard says: see RunStatus
  bool recovers = false;
  std::string checkpoint;
  std::string cpu;     // level of its kernels
  Json job;            // must be equal to the server's
  Json schema, place;  // must be equal to those of the trainer that came first

  int ranks() const { return std::max(trainers, max_trainers); }  // of the run
  bool joins() const { return rank >= trainers; }                 // the run has begun without this rank

  static const ObjectSpec<Hello>& spec();
};

// The answer of a shard.
struct Welcome {
  int protocol = kProtocolVersion;
  std::string cpu;       // of the trainer that came first
  int max_trainers = 0;  // ranks that the run has in all; for role train alone
  RunStatus run_status;  // for role train alone

  static const ObjectSpec<Welcome>& spec();
};

// The ports of a server's shards, of which the first `dense` have dense parameters and the last `sparse`
// sparse ones: the answer to describe.
struct ServerPorts {
  std::vector<int> ports;
  int dense = 0, sparse = 0;

  static const ObjectSpec<ServerPorts>& spec();
};

Json to_json(const DataSchema& schema);
DataSchema schema_from_json(const Json& json);  // throws kUsage
Json to_json(const ShardPlace& place);
ShardPlace place_from_json(const Json& json);  // throws kUsage

// Returns the first difference of two documents, such as "optimizer.learning_rate is 0.1, not 0.2"; nothing when they are
// equal.
std::optional<std::string> first_difference(const Json& found, const Json& expected,
                                            const std::string& path = "");

}  // namespace ps

#endif  // PS_PS_WIRE_HELLO_H_
