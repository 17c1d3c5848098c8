// Strategies: how the trainers of a job bring their work together, as "train.strategy" of the job file says.
// Used by the job, which makes one for each run, and by servers, which ask it for their part.
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

  // The store, when it is in trainers' own processes: they write their own checkpoints.
  virtual LocalStore* local() { return nullptr; }

  // The store on servers, when each batch is pulled from there and pushed to there; else null.
  virtual RemoteStore* on_servers() { return nullptr; }

  // To be called by a process that ends before its run does, and before it saves: returns when what this
  // process has pushed is applied, or after so many seconds.
  virtual void settle(double seconds) { (void)seconds; }

  // The other trainers, where they meet each other; null: they do not.
  virtual Communicator* peers() { return nullptr; }

  // For a caller that has heard over other connections that one of them is gone, as `error` says: throws StateLost when all
  // go back to a checkpoint.
  virtual void lose_peer(const Error& error) { (void)error; }

  // The level of the kernels of the trainer that came first; empty for a trainer alone.
  virtual std::string_view first_cpu() const { return {}; }

  // Save and load the state of one trainer for a checkpoint, beside the parameters that trainer 0 writes: momentum and
  // residuals.  keeps_state tells on all trainers alike if there is any.  load_state is called after local() was
  // restored; it throws kCorrupt.
  virtual bool keeps_state() const { return false; }
  virtual void save_state(std::string& out) const { (void)out; }
  virtual void load_state(ByteReader& in) { (void)in; }

  // The bytes exchanged with others, and the losses on the way, for the result of a run: {"pushes_dropped": 0, …}.
  virtual Json counters() const { return Json::object(); }
};

// The things that a strategy is made from.  The device and the transport outlive it, the rest is read while it
// is made.
struct TrainerSetup {
  const std::vector<ParameterSpec>& parameters;
  const OptimizerPlan& optimizers;  // of the job
  const Json& optimizer;            // the same, as the job says it
  Device& device;
  uint64_t memory_limit;         // bytes that parameters in this process may take
  Transport* transport;          // to servers; null: the job has none
  Transport* peer_transport;     // to other trainers, on the same loop; null: there are none to meet
  const RemoteOptions* servers;  // null: the job has none
  const PeerOptions*
      peers;               // the trainers that meet; null: they do not, or this one is alone without servers
  bool trains;             // else this process only reads weights
  int64_t pull_ahead = 0;  // with servers: batches whose rows are pulled before they are needed
  // The device for rows, and its plan, for an InProcess store; null: rows stay on the processor.
  std::shared_ptr<RowDevice> row_device = nullptr;
  bool rows_beside_model = false;  // the row device is that of the model
  const CachePlan* caches = nullptr;
  size_t window = 0;  // of DeviceOptions
  // The device that computes the model, and the parameters whose layers all run there; null: the processor.
  std::shared_ptr<ModelDevice> model_device = nullptr;
  const std::vector<bool>* on_devices = nullptr;
};

// The part of the servers of a job.
struct ServerPlan {
  OptimizerPlan optimizers;  // applied to what trainers push
  Consistency consistency;
  bool tunes = true;               // steps of single parameters are tuned on servers
  bool dense_by_trainers = false;  // trainers move the dense parameters, and servers have what they set last
  Json push_codec = nullptr;       // trainers push gradients in the bytes of this codec; null: in rows

  // The parameters as servers hold them.
  std::vector<ParameterSpec> parameters(std::vector<ParameterSpec> specs) const;
};

// `object` is train.strategy in all of these, and messages name it by `path`.
struct StrategyEntry : CatalogEntry {
  // Throws kUsage unless `object` parses and trainers can use this "optimizer".
  void (*check)(const Json& object, const Json& optimizer);

  // The servers' part; `optimizers` are the job's.  Null: there are no servers, and trainers exchange by
  // themselves.
  ServerPlan (*serve)(const Json& object, const OptimizerPlan& optimizers);

  // Connects to the others, if there are any.  Throws kUnavailable, kUsage when they have another job, and
  // kExhausted when the parameters do not fit in this process.
  std::unique_ptr<Strategy> (*make)(const Json& object, const TrainerSetup& setup);

  // Trainers that have servers meet each other too.
  bool meets_beside_servers = false;

  // Several trainers may divide layers over their peers().
  bool divides_layers = false;

  // Each batch is pulled from servers, and its gradients are pushed to them (Strategy::on_servers): trainers may pull ahead, be
  // readers with compute trainers, join a running job, and have rows on a device in front of the servers.
  bool exchanges_each_batch = false;

  // The name of the strategy that does about the same without servers; null: there is none.
  const char* without_servers = nullptr;
};

// Every strategy, in the order of the manual.
std::span<const StrategyEntry* const> strategy_catalog();

// Throws kUsage "BEFORE train.strategy.type is '…': WHAT with parameter_server alone; AFTER" unless the strategy of `object`
// exchanges each batch with servers.
void check_exchanges_each_batch(const Json& object, std::string_view before, std::string_view what,
                                std::string_view after);

// The path of all messages about a strategy.
inline constexpr const char* kStrategyPath = "train.strategy";

// The entry that `object.type` names, or parameter_server without a type.  Throws kUsage.
const StrategyEntry& find_strategy(const Json& object);

// `object` with its type and every default filled in.  Throws kUsage.
Json complete_strategy(const Json& object);

// The schema of such an object.
Json strategy_schema();

}  // namespace ps

#endif  // PS_STRATEGY_STRATEGY_H_
