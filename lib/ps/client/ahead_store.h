// AheadStore: a trainer alone that does not wait for its servers.  It keeps copies of the rows that batches in flight
// use, and of all dense parameters, and applies each step to them as the servers do: with the same code, so with the same
// bits.  Used by the strategy parameter_server, for train.pull_ahead.
//
// A batch is in flight from the time at which the store is told of it, some batches before it is trained, until all
// shards have applied its push.  A row of which the store has no copy is used by no batch in flight: no push of it is on
// its way, and the servers give it as they store it, weights with the state of its optimizer.  It is not brought up to
// date there: the closed form of many idle steps rounds once, those of some and of the others round twice.  A row that
// leaves the copies is as the servers have it.
//
// The servers remain what holds the parameters: checkpoints, models, tests and whoever takes the trainer's place up have
// all from there.
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

// How servers and trainer keep in step: a step is applied two round trips after it was pushed.  Also of readers.
inline Consistency ahead_consistency(int64_t batches) {
  return {.ahead = 2 * batches};
}

// Returns the parameters.  Throws kUsage for those of which no copies can be kept.
const std::vector<ParameterSpec>& check_no_policies(const std::vector<ParameterSpec>& specs);

// As the tables of these parameters have them.
std::vector<TableLayout> layouts_of(const LocalStore& local, size_t count);

// One owner thread, that of the servers' connections.  Calls throw what RemoteStore throws.
class AheadStore final : public StoreInFront {
 public:
  // `remote` is made with ahead_consistency(batches) and rows as f32, and is of a trainer alone; `local` has the same
  // parameters, of which none has a policy of its rows, and nothing was trained in it.  Both outlive this.
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

  // Rows of sparse parameters of which there is a copy, or one is on its way.
  size_t num_copies() const;

 private:
  void take_from_servers();
  void forget_applied();

  const std::vector<ParameterSpec>& specs_;
  const size_t batches_;
  RemoteStore& remote_;
  LocalStore& local_;
  StoredRowPulls rows_;
  bool taken_ = false;                        // local_ has what the servers had where this trainer began
  std::vector<RowWindow> windows_;            // by parameter; empty where it is not sparse
  std::deque<uint64_t> asked_;                // numbers of the requests for the batches that are to be pulled
  std::deque<uint64_t> pushed_;               // numbers of the steps whose batches are in the windows
  std::vector<ParameterView<float>> copies_;  // of the batch in use
  double asking_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_PS_CLIENT_AHEAD_STORE_H_
