// RemoteLender: the parameters of a job whose device trains the rows of sparse parameters: all rows, if there is one
// trainer, or those that this trainer owns, below a HybridStore.
// The servers lend these rows with the state of their optimizers, and get them back.  A trainer alone has
// all other parameters trained by them, from the pushed gradients.  Used below a DeviceStore.
//
// Servers count every step of a sparse parameter, but change no row.  So a row that is not on the device has the
// same bits as on servers that train all parameters.  All changed rows return to the servers before a checkpoint
// begins, at the end of a pass, and before weights are read.
//
// When the store is told of coming batches, it asks the shards early for their rows as they are stored, since
// no process changes a row that is not on the device.  It asks for a row that is on its way back to a shard
// only after the row has arrived there.  If a coming batch uses a row that leaves the device, a copy stays here.
// A row that they do not have is made here, and is as it was before the first step.
//
// With a row policy, the servers decide which keys have rows.  Before each step they get its keys with their
// counts, and say which have none.  Rows of such parameters are asked for when they are needed, and not before,
// since each step may make rows and remove them.
//
// Before the trainer trains rows, it tells all shards that it has rows, with a message before the push.  The
// next push before which all rows were returned tells the shards that it has none.  A process that resumes the
// rank in between therefore learns that rows were lost, and goes back to a checkpoint.
#ifndef PS_PS_CLIENT_REMOTE_LENDER_H_
#define PS_PS_CLIENT_REMOTE_LENDER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "math/device.h"
#include "optim/clipping.h"
#include "ps/client/coming_rows.h"
#include "ps/client/remote_store.h"
#include "ps/client/stored_row_pulls.h"
#include "ps/client/stored_row_returns.h"
#include "store/local_store.h"
#include "store/row_lender.h"
#include "store/store_in_front.h"

namespace ps {

// Returns the sparse ones of these parameters, for which a store is made, without their row policies.
std::vector<ParameterSpec> sparse_parameters(std::span<const ParameterSpec> specs);

// One owner thread, that of the servers' connections.  Calls throw what RemoteStore throws.
class RemoteLender final : public StoreInFront, public RowLender {
 public:
  // `remote` has RemoteOptions::sparse_here and rows as f32, and is that of a synchronous job.  `local` has the
  // sparse_parameters of `specs`, and nothing was trained in it.  All outlive this.  Rows are asked for `window`
  // batches before the one that needs them.
  RemoteLender(const std::vector<ParameterSpec>& specs, const OptimizerPlan& optimizers, RemoteStore& remote,
               LocalStore& local, size_t window = 0);

  // For a store in front that pushes other data than the rows trained here, and clips by norm itself.  From now on
  // `send` sends the steps of this store to the servers: it is called once in each push or end_step, and end_pass sends
  // none. `scales` is called in each push if gradients are clipped by norm, and returns the factors of the gradients of
  // sparse parameters.
  void leave_pushing(std::function<void()> send, std::function<std::vector<float>()> scales);

  // For lent parameters, the gradient buffers are set, and the rows are not.
  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  PullTicket begin_pull(std::span<const KeyPlan> plans) override { return remote_.begin_pull(plans); }
  void finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                   std::vector<ParameterView<float>>& views) override;
  size_t looks_ahead() const override { return window_.length; }
  void look_ahead(std::span<const KeyPlan> plans) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  void end_pass(int64_t pass) override;

  // Has all rows put back, and waits until the servers have them.
  void put_back_all();

  std::vector<uint64_t> keys(int parameter) override;
  void read_rows(int parameter, std::span<const uint64_t> keys, float* weights) override;
  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override;

  void lend_rows(int parameter, RowBorrower& borrower) override;
  TableLayout layout(int parameter) const override { return local_.layout(sparse(parameter)); }
  const Optimizer<float>& optimizer(int parameter) const override {
    return local_.optimizer(sparse(parameter));
  }
  float last_scale(int parameter) const override { return local_.last_scale(sparse(parameter)); }
  std::vector<uint64_t> absent(int parameter, std::span<const uint64_t>) override {
    return absent_[static_cast<size_t>(parameter)];
  }
  void fetch_rows(int parameter, std::span<const uint64_t> keys, float* rows) override;
  void fetch_stored(int parameter, std::span<const uint64_t> keys, RowBlock& rows) override;
  void put_rows(int parameter, const RowBlock& rows) override;
  void keep_rows(int parameter, const RowBlock& rows) override;
  void end_step() override;
  bool next_has_come() const override {
    return window_.requests.size() > 1 && rows_.arrived(window_.requests[1]);
  }
  bool is_used(int parameter, uint64_t key) const override {
    return coming_[static_cast<size_t>(parameter)].is_used(key);
  }
  void take_stored(int parameter, std::span<const uint64_t> keys, bool untrained, RowBlock& rows) override;
  void work_until(const std::function<bool()>& done) override { remote_.links().work_until(done); }
  void wake() override { remote_.links().wake(); }
  double fetch_seconds() const override { return rows_.seconds(); }
  double waited_seconds() const override { return waited_seconds_; }

  // Returns the number of rows that a batch needed and that had been asked for during an earlier batch, or had
  // stayed here.
  uint64_t rows_ahead() const { return rows_ahead_; }

 private:
  int sparse(int parameter) const { return sparse_of_[static_cast<size_t>(parameter)]; }
  void count_keys(std::span<const KeyPlan> plans);
  void take_from_servers();
  void bind_gradients(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views);
  void wait_for_rows(int parameter, std::span<const uint64_t> keys);
  void wait_for_returns(size_t most = 0);
  void push_here(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                 const StepInfo& info);
  std::vector<float> clip(std::span<const double> sparse_squares, float scale);
  void push_there();

  // The running step.
  struct Step {
    std::span<const KeyPlan> plans = {};
    std::span<const ParameterView<float>> views = {};
    StepInfo info = {};
    bool begins_checkpoint = false, pushed = false;  // a checkpoint begins with it; its gradients were sent
    std::vector<double> squares = {};  // by parameter, of the whole gradient, when they are known
  };

  // The batches that the store was told of and that are not trained.
  struct Window {
    const size_t length;
    std::deque<uint64_t> requests = {};  // by batch: number of the request for its rows
    uint64_t present = 0;                // the last request for a batch that was needed at once
  };

  // A store without steps, whose rows are those that nobody has trained.
  struct Untrained {
    Device device;
    LocalStore store;
  };

  const std::vector<ParameterSpec>& specs_;
  const std::vector<int> sparse_of_;  // by parameter: its index among the sparse ones, or -1
  const Clipping clipping_;
  RemoteStore& remote_;
  LocalStore&
      local_;  // its optimizers count the steps; it has rows on their way to the device, and coming ones, alone
  StoredRowPulls rows_;
  StoredRowReturns returns_;
  Window window_;
  std::function<void()> send_;      // sends a step; null: the pushes of remote_ do
  std::vector<ComingRows> coming_;  // by parameter; empty unless it is sparse
  uint64_t rows_ahead_ = 0;
  double waited_seconds_ = 0;
  bool announced_ = false;  // the shards know that this trainer has rows
  bool taken_ = false;      // local_ has the state from which this trainer began
  Step step_;
  // By parameter: the keys of the batch in use that have no row; they ascend.
  std::vector<std::vector<uint64_t>> absent_;
  std::vector<RowBorrower*> borrowers_;  // by parameter; null: its rows are not lent
  Untrained untrained_;
  std::vector<std::vector<float>> gradients_;  // by parameter: [keys, cols] of the batch in use
};

}  // namespace ps

#endif  // PS_PS_CLIENT_REMOTE_LENDER_H_
