// SyntheticJob: a small job without data, for simulated clusters.  The gradients of a trainer depend on the
// weights that it pulled, so that a weight that is late, lost or applied twice changes all later weights.  Used
// by ShardCluster, and by the tests of servers.
#ifndef PS_SIMULATE_SYNTHETIC_JOB_H_
#define PS_SIMULATE_SYNTHETIC_JOB_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "codec/row_types.h"
#include "config/json.h"
#include "device/options.h"
#include "math/key_plan.h"
#include "net/loop.h"
#include "optim/optimizer_plan.h"
#include "optim/parameter.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/trainer_roster.h"
#include "ps/wire/consistency.h"
#include "store/parameter_store.h"
#include "store/run_control.h"
#include "store/trainer_group.h"

namespace ps {

class RemoteStore;

// One parameter of each kind.  Unless they are to be small, the matrix and the embedding have several blocks,
// and the embedding's gradients are sent from where they lie.
std::vector<ParameterSpec> synthetic_parameters(bool small = false);

// One step of one trainer: some keys, and gradients made of weights and noise.  One owner thread.
class SyntheticBatch {
 public:
  // `counted`: the plan of the table says how often its keys occur.
  SyntheticBatch(int rank, int64_t step, bool counted = false);

  // 0.5 weight + noise in [-0.5, 0.5), which depends on (rank, step, position) alone.
  static float gradient(int rank, int64_t step, uint64_t position, float weight);

  // Writes the gradients beside the weights, and moves the weights that are statistics.
  void fill(int rank, int64_t step, std::span<const ParameterSpec> specs,
            std::span<const ParameterView<float>> views) const;

  std::vector<KeyPlan> plans;  // by parameter; empty if it is not pulled by keys
  int64_t samples;

 private:
  Random random_;
};

struct SyntheticJob {
  Json optimizer = {{"type", "sgd"}, {"learning_rate", 0.1}};
  Consistency consistency;
  std::optional<RowPolicy> rows;  // policy of the table's rows
  std::vector<std::vector<int>> steps = {
      {5, 3}};      // number of batches by share and pass; each rank has a share
  int joining = 0;  // number of the last ranks that join a running job
  RowTypes types = {};
  bool small = false;
  bool dense = false;  // the job has no table
  // The device on which the job's only trainer trains the rows of the table.
  std::optional<DeviceOptions> device = {};
  Duration request_timeout = std::chrono::seconds(15);
  TrainerLoss on_loss;

  // Called for each batch that a trainer has pushed.
  std::function<void(uint32_t share, int64_t pass, int64_t batch)> on_push = {};

  int ranks() const { return static_cast<int>(steps.size()); }
  int trainers() const { return ranks() - joining; }  // number of trainers with which the run begins
  OptimizerPlan plan() const { return make_optimizer_plan(optimizer, "mean"); }
  std::vector<ParameterSpec> parameters() const;
  SyntheticBatch batch(int rank, int64_t step) const;
  int64_t batches_before(int rank, int64_t pass) const;  // number of batches of a trainer in earlier passes

  // Returns true if the trainer asks to shrink the table after this step.
  bool shrinks(int rank, int64_t step) const { return rows && step % 7 == 3 + rank; }
};

// Returns the weights of all parameters of a trained job, in a fixed order.
std::vector<float> all_weights(ParameterStore& store, const std::vector<ParameterSpec>& specs);
std::vector<float> all_weights(ParameterStore& store, bool small = false);

// Trains the batches of a trainer in a pass after the first `done` ones, and ends the pass.  `step` counts the
// trainer's batches over all passes, and is advanced.
void train_pass(ParameterStore& store, const SyntheticJob& job, int rank, int64_t pass, int64_t done,
                int64_t& step);

// The part of a share that a trainer trains: the batches of a strand after the first `done` ones.
struct SyntheticWork {
  DataStrand strand;
  int64_t done = 0;
  int64_t first_step = 0;  // number of the first batch of the share in this pass over all passes
};
void train_strand(ParameterStore& store, const SyntheticJob& job, const SyntheticWork& work, int64_t pass);

// Acts as a trainer of a run, beginning at the batch from which the run says that this rank goes on.
// `after_pass` is called after each pass, before the trainers meet.
using AfterPass = std::function<void(int64_t pass)>;
void run_trainer(
    ParameterStore& store, TrainerGroup& group, RunControl& run, const SyntheticJob& job, int rank,
    const AfterPass& after_pass = [](int64_t) {});

// Calls body(store) with the store that a trainer of servers uses: `remote` itself, or a store in front of it
// that pulls ahead or that trains rows on a device.
void with_store(RemoteStore& remote, const SyntheticJob& job,
                const std::function<void(ParameterStore&)>& body);

// Trains the job with one trainer in this process.  Returns its weights after each pass, and at the end.
std::vector<std::vector<float>> train_passes_locally(const SyntheticJob& job);
std::vector<float> train_locally(const SyntheticJob& job);

}  // namespace ps

#endif  // PS_SIMULATE_SYNTHETIC_JOB_H_
