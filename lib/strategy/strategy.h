// Strategies: the ways in which the trainers of a job join their work, as "train.strategy" of the job file
// says.  Used by the job, which makes one for each run, and by servers, which ask it for their part.
//
// A strategy is a file of this folder that ends in its entry, and a line in catalog.cc.
#ifndef PS_STRATEGY_STRATEGY_H_
#define PS_STRATEGY_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "config/json.h"
#include "device/cache_plan.h"
#include "math/device.h"
#include "net/transport.h"
#include "optim/optimizer_plan.h"
#include "optim/parameter.h"
#include "ps/client/shard_links.h"
#include "ps/wire/consistency.h"
#include "store/local_store.h"
#include "store/parameter_store.h"
#include "store/run_control.h"
#include "store/trainer_group.h"
#include "strategy/peers.h"

namespace ps {

class Communicator;
class ModelDevice;
class RemoteStore;

// The parameters of one run, and the trainers that share them.  One owner thread, which also drives the
// transport while it waits.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual ParameterStore& store() = 0;
  virtual TrainerGroup& group() = 0;
  virtual RunControl& run() = 0;

  // Returns the store if it is in the trainers' own processes; they then write their own checkpoints.  Else
  // null.
  virtual LocalStore* local() { return nullptr; }

  // Returns the store on servers if each batch is pulled from there and pushed to there; else null.
  virtual RemoteStore* on_servers() { return nullptr; }

  // To be called by a process that ends before its run does, before it saves.  Returns when the servers have
  // applied what this process has pushed, or after so many seconds.
  virtual void settle(double seconds) { (void)seconds; }

  // Returns the other trainers, if they meet each other; else null.
  virtual Communicator* peers() { return nullptr; }

  // To be called when the caller has learned over other connections that one of them is gone, as `error`
  // says.  Throws StateLost if all go back to a checkpoint.
  virtual void lose_peer(const Error& error) { (void)error; }

  // Returns the level of the kernels of the trainer that came first; it is empty for a trainer alone.
  virtual std::string_view first_cpu() const { return {}; }

  // Save and load the state of one trainer for a checkpoint, beside the parameters, which trainer 0 writes:
  // momentum and residuals. keeps_state returns the same on all trainers: true if there is any. load_state is
  // called after local() was restored; it throws kCorrupt.
  virtual bool keeps_state() const { return false; }
  virtual void save_state(std::string& out) const { (void)out; }
  virtual void load_state(ByteReader& in) { (void)in; }

  // Returns the bytes exchanged with others, and the losses on the way, for the result of a run:
  // {"pushes_dropped": 0, …}.
  virtual Json counters() const { return Json::object(); }
};

// The parts from which a strategy is made.  The device and the transport must outlive it; the rest is only
// read while it is made.
struct TrainerSetup {
  const std::vector<ParameterSpec>& parameters;
  const OptimizerPlan& optimizers;  // of the job
  const Json& optimizer;            // the same, as in the job file
  Device& device;
  uint64_t memory_limit;         // bytes that parameters in this process may take
  Transport* transport;          // to servers; null: the job has none
  Transport* peer_transport;     // to other trainers, on the same loop; null: there are none to meet
  const RemoteOptions* servers;  // null: the job has none
  // The trainers that meet; null: they do not meet, or this one is alone without servers.
  const PeerOptions* peers;
  bool trains;             // false: this process only reads weights
  int64_t pull_ahead = 0;  // with servers: batches whose rows are pulled before they are needed
  // The device for rows, and its plan; null: rows stay on the processor.
  std::shared_ptr<RowDevice> row_device = nullptr;
  bool rows_beside_model = false;  // the row device is also the model's device
  const CachePlan* caches = nullptr;
  size_t window = 0;  // as in DeviceOptions
  // The device that computes the model, and the parameters whose layers all run there.  A null device is the
  // processor.
  std::shared_ptr<ModelDevice> model_device = nullptr;
  const std::vector<bool>* on_devices = nullptr;
};

// The part that the servers of a job have.
struct ServerPlan {
  OptimizerPlan optimizers;  // optimizers for what trainers push
  Consistency consistency;
  bool tunes = true;  // steps of single parameters are tuned on servers
  // Trainers move the dense parameters, and servers have the values that these set last.
  bool dense_by_trainers = false;
  Json push_codec = nullptr;  // trainers push gradients in the bytes of this codec; null: in rows

  // Returns the parameters as servers hold them.
  std::vector<ParameterSpec> parameters(std::vector<ParameterSpec> specs) const;
};

// `object` is train.strategy in all of these, and messages name it by `path`.
struct StrategyEntry : CatalogEntry {
  // Throws kUsage unless `object` parses and trainers can use this "optimizer".
  void (*check)(const Json& object, const Json& optimizer);

  // Returns the servers' part; `optimizers` are the job's.  Null: there are no servers, and trainers exchange
  // by themselves.
  ServerPlan (*serve)(const Json& object, const OptimizerPlan& optimizers);

  // Connects to the others, if there are any.  Throws kUnavailable, kUsage if they have another job, and
  // kExhausted if the parameters do not fit into this process.
  std::unique_ptr<Strategy> (*make)(const Json& object, const TrainerSetup& setup);

  // True if trainers that have servers also meet each other.
  bool meets_beside_servers = false;

  // True if several trainers may divide layers over their peers().
  bool divides_layers = false;

  // True if each batch is pulled from servers, and its gradients are pushed to them (Strategy::on_servers).
  // Trainers may then pull ahead, be readers with compute trainers, join a running job, and, alone, have rows on a
  // device in front of the servers.
  bool exchanges_each_batch = false;

  // The name of the strategy that does about the same without servers; null: there is none.
  const char* without_servers = nullptr;

  // True if each of several trainers may have its own rows on a device in front of the servers (OwnedRows).
  bool owns_rows = false;

  bool trains_rows_on_devices() const { return exchanges_each_batch || owns_rows; }
};

// Every strategy, in the order of the manual.
std::span<const StrategyEntry* const> strategy_catalog();

// Throws kUsage "BEFORE train.strategy.type is '…': WHAT with parameter_server alone; AFTER" unless the
// strategy of `object` exchanges each batch with servers.
void check_exchanges_each_batch(const Json& object, std::string_view before, std::string_view what,
                                std::string_view after);

// The path of all messages about a strategy.
inline constexpr const char* kStrategyPath = "train.strategy";

// Returns the entry that `object.type` names, or parameter_server without a type.  Throws kUsage.
const StrategyEntry& find_strategy(const Json& object);

// Returns `object` with its type and every default filled in.  Throws kUsage.
Json complete_strategy(const Json& object);

// Returns the schema of such an object.
Json strategy_schema();

}  // namespace ps

#endif  // PS_STRATEGY_STRATEGY_H_
