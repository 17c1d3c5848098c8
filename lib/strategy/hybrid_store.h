// HybridStore: the dense parameters of a job are in every trainer's own process, and moved by the sum of all
// trainers' gradients, which the trainers add up among themselves; the sparse parameters are on servers.
// Used by the strategy hybrid.
//
// The rows of sparse parameters may be trained on devices of the trainers: then the servers lend them to their owners
// (OwnedRows), whose pushes to the servers have no gradients.  All rows are with the servers again before a step with
// which a checkpoint begins or a pass ends, and after the last step of a run that ends early.
//
// A step of the trainers is a step of the servers: trainers all-reduce the dense gradients (AllReduceStore),
// and push the sparse ones.  Servers have the dense parameters too, in the form in which they would have them
// if they moved them, but as of the end of the last pass or of the last checkpoint: trainer 0 sets them, with
// the state of their optimizers, before it completes the step with which a pass ends or a checkpoint begins.
// So checkpoints are written by the servers alone, and both halves of one are of the same step; models are
// made from them in the same ways, and every process that trains begins with what the servers have.
//
// The norms for clipping are those of both halves.  Servers measure a step when all pushes have come, and
// apply it when they are told the norm; trainers apply their half in between.  Where trainers train the rows, they
// measure them, and the servers have nothing to measure.
#ifndef PS_STRATEGY_HYBRID_STORE_H_
#define PS_STRATEGY_HYBRID_STORE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "device/device_store.h"
#include "optim/clipping.h"
#include "optim/optimizer_plan.h"
#include "ps/client/remote_lender.h"
#include "ps/client/remote_store.h"
#include "store/all_reduce_store.h"
#include "store/collective_run.h"
#include "store/local_store.h"
#include "store/parameter_store.h"
#include "strategy/owned_rows.h"

namespace ps {

// Returns the dense ones of these parameters, in their order.
std::vector<ParameterSpec> dense_parameters(std::span<const ParameterSpec> specs);

// Returns the parameters as the servers of such trainers have them.
std::vector<ParameterSpec> with_dense_by_trainers(std::vector<ParameterSpec> specs);

// One owner thread, that of the communicator and of the servers' connections.  Calls throw what RemoteStore
// throws.  If another trainer is gone, they throw StateLost if the run can go back to a checkpoint, else what
// the communicator throws.
class HybridStore final : public ParameterStore {
 public:
  // The store of the rows that this trainer owns, in front of the lender.
  struct DeviceRows {
    RemoteLender& lender;
    DeviceStore& store;
  };

  struct Context {
    RemoteStore& remote;               // of servers in step, made with RemoteOptions::dense_here
    LocalStore& local;                 // of dense_parameters(specs); nothing in it was trained
    Communicator& communicator;        // of the trainers of the servers' run
    CollectiveRun& run;                // run in which all trainers end after the same step
    GradientPlacement placement = {};  // of all parameters, as AllReduceStore needs it
    // None: the servers train the rows.  Otherwise `remote` has sparse_here too.
    std::optional<DeviceRows> rows = {};
  };

  // All parts must outlive this.
  HybridStore(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const Context& context);
  ~HybridStore() override { remote_.links().watch_others(nullptr); }

  bool has_all_rows() const override { return rows_returned_; }
  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  PullTicket begin_pull(std::span<const KeyPlan> plans) override {
    return owned_ ? PullTicket() : remote_.begin_pull(plans);
  }
  void finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                   std::vector<ParameterView<float>>& views) override;
  size_t looks_ahead() const override { return rows_ ? rows_->store.looks_ahead() : 0; }
  void look_ahead(std::span<const KeyPlan> plans) override { owned_->look_ahead(plans); }
  void end_looking_ahead() override { owned_->end_looking_ahead(); }
  void run_beside(const std::function<void()>& compute) override;
  bool may_wait() const override { return true; }
  KeyOrder key_order() const override { return remote_.key_order(); }
  void begin_push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                  const StepInfo& info) override;
  void final_gradient(size_t parameter) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  double learning_rate() const override { return local_.learning_rate(); }

  // Takes part in the steps of the others.  Throws WaitStopped if the run ends before the pass.
  void end_pass(int64_t pass) override;

  // Throw kUsage while rows are on devices of other trainers, as pull does to read.
  std::vector<uint64_t> keys(int parameter) override;
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override;
  void read_all(int parameter, float* weights) override;
  StoreTimes times() const override;
  RowReport row_report(int parameter) override { return remote_.row_report(parameter); }
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override {
    remote_.load_rows(parameter, keys, weights);
  }
  void load_all(int parameter, const float* weights) override;

  // Returns the bytes that all steps so far would have sent to other trainers by the all-reduce direct or
  // ring.
  uint64_t whole_bytes() const { return dense_.whole_bytes(); }

  // Returns the dense part, for its counters.
  const AllReduceStore& dense() const { return dense_; }

  // Called when the caller has learned by other connections that a trainer is gone.  Acts as if one of the
  // store's calls had learned it: throws `error`, or StateLost if all go back to a checkpoint.
  void lose_trainer(const Error& error);

 private:
  // The sparse half of the present step.
  struct SparseStep {
    std::span<const KeyPlan> plans = {};
    std::span<const ParameterView<float>> views = {};
    StepInfo info = {};
    bool has_data = false, begins_checkpoint = false, pushed = false;
    bool summed_up = false;            // the gradients of rows are with their owners
    std::vector<double> squares = {};  // squares of the whole gradient, once it is measured
  };

  void take_dense(std::span<const ParameterView<float>> views);
  void bind_dense(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views);
  bool step_without_data(int64_t pass);
  void sum_up_owned();
  void step_owned();
  void return_rows_at_end();
  void check_rows_returned() const;
  void push_sparse();
  void end_step(bool pass_ends);
  std::vector<float> clip(std::span<const double> dense_squares, float scale);
  void take_from_servers();
  void give_to_servers();
  template <class Body>
  auto with_trainers(Body&& body);

  const std::vector<ParameterSpec> specs_;
  // By parameter: its index among the dense ones; -1: the parameter is sparse.
  const std::vector<int> dense_of_;
  const Clipping clipping_;
  RemoteStore& remote_;
  LocalStore& local_;
  Communicator& communicator_;
  CollectiveRun& run_;
  AllReduceStore dense_;
  const std::optional<DeviceRows> rows_;
  std::optional<OwnedRows> owned_;  // none: the servers train the rows
  bool rows_returned_ = true;       // no row was trained on a device since all were put back
  std::vector<float>
      owned_scales_;  // with clipping: the factors of the gradients of sparse parameters in this step

  bool has_dense_ = false;  // local_ has what the servers had when this trainer began
  SparseStep step_;
  std::vector<KeyPlan> dense_plans_;               // of the batch in use
  std::vector<ParameterView<float>> dense_views_;  // of the batch in use
};

}  // namespace ps

#endif  // PS_STRATEGY_HYBRID_STORE_H_
