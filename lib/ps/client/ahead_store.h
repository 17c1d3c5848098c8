// AheadStore: a trainer alone that does not wait for its servers.  It keeps copies of the rows that batches in flight
// use, and of all dense parameters, and applies each step to them as the servers do: with the same code, so with the same
// bits.  Used by the strategy parameter_server, for train.pull_ahead.
//
// A batch is in flight from the time at which the store is told of it, some batches before it is trained, until
// all shards have applied its push.  If the store has no copy of a row, no batch in flight uses the row, and no
// push of it is on its way.  The servers then send the row as they store it, weights with the state of its
// optimizer.  They do not apply its idle steps first: the closed form of many idle steps rounds once, and two
// such forms one after the other would round twice.  A row whose copy is dropped is equal to the servers' row.
//
// The servers still hold the parameters: checkpoints, models, tests and a process that resumes the trainer's
// rank read everything from them.
#ifndef PS_PS_CLIENT_AHEAD_STORE_H_
#define PS_PS_CLIENT_AHEAD_STORE_H_

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "ps/client/remote_store.h"
#include "ps/client/row_window.h"
#include "ps/client/stored_row_pulls.h"
#include "store/local_store.h"
#include "store/store_in_front.h"

namespace ps {

// Returns the consistency for a trainer, or for readers, that pull `batches` batches ahead.  A step is applied
// two round trips after it was pushed.
inline Consistency ahead_consistency(int64_t batches) {
  return {.ahead = 2 * batches};
}

// Returns the parameters.  Throws kUsage if copies of one of them cannot be kept.
const std::vector<ParameterSpec>& check_no_policies(const std::vector<ParameterSpec>& specs);

// Returns the layouts of the tables of these parameters.
std::vector<TableLayout> layouts_of(const LocalStore& local, size_t count);

// One owner thread, that of the servers' connections.  Calls throw what RemoteStore throws.
class AheadStore final : public StoreInFront {
 public:
  // `remote` is made with ahead_consistency(batches) and rows as f32, and is that of the job's only trainer.
  // `local` has the same parameters, none of which has a row policy, and nothing was trained in it.  Both
  // outlive this.
  AheadStore(const std::vector<ParameterSpec>& specs, size_t batches, RemoteStore& remote, LocalStore& local);

  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  size_t looks_ahead() const override { return batches_; }
  void look_ahead(std::span<const KeyPlan> plans) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  void end_pass(int64_t pass) override;
  double learning_rate() const override { return local_.learning_rate(); }
  StoreTimes times() const override;

  void load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) override;
  void load_all(int parameter, const float* weights) override;

 private:
  void take_from_servers();
  void forget_applied();

  const std::vector<ParameterSpec>& specs_;
  const size_t batches_;
  RemoteStore& remote_;
  LocalStore& local_;
  StoredRowPulls rows_;
  bool taken_ = false;                        // local_ has the state from which this trainer began
  std::vector<RowWindow> windows_;            // by parameter; empty unless it is sparse
  std::deque<uint64_t> asked_;                // request numbers of the batches that are still to be pulled
  std::deque<uint64_t> pushed_;               // numbers of the steps whose batches are in the windows
  std::vector<ParameterView<float>> copies_;  // views of the batch in use
  double asking_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_AHEAD_STORE_H_
