// ReaderAhead: a reader with several batches on their way to a compute trainer: it pulls the rows of coming batches, sends
// them ahead, and pushes gradients as they come back.  Used by ps-train --role reader, for train.pull_ahead.
//
// In synchronous mode the weights are those of plain trainers, bit for bit: rows that a batch of this reader on its way will
// write are not pulled, but are with the compute trainer, which brings up to date what any reader writes (SharedCopies).  All
// others come early, as the shards store them.  When the compute trainer is lost, or another reader's process is another one,
// this reader joins again: it waits until the shards have taken all that it has pushed, and when all readers have done so, the
// copies begin where the shards are.  It sends its batches from there on again, also those that it has pushed already, since
// other readers may not have: their results are the same bits.
// In asynchronous mode the rows of a batch are those that servers have when it is asked for.
#ifndef PS_HETER_READER_AHEAD_H_
#define PS_HETER_READER_AHEAD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/spec.h"
#include "heter/compute_link.h"
#include "heter/ending_pass.h"
#include "heter/epoch_requests.h"
#include "ps/client/remote_pulls.h"
#include "ps/client/remote_store.h"
#include "ps/client/row_window.h"
#include "ps/client/stored_row_pulls.h"
#include "store/local_store.h"
#include "store/store_in_front.h"

namespace ps {

struct ReaderAheadOptions {
  size_t batches = 1;       // that may be on their way, beside the one that is used
  int64_t prediction_cols;  // of the network
  bool asynchronous = false;
};

// One owner thread, that of the servers' connections.  Calls throw as those of RemoteStore and of ComputeLink.
class ReaderAhead final : public StoreInFront, public Computation {
 public:
  // All outlive this.  `remote` leaves its dense part to the compute trainers, and lets ahead_consistency(batches) steps
  // be pushed before one is applied; `local`, in which nothing is trained, says how parameters are stored.  Throws kUsage,
  // in synchronous mode, for parameters of which no copies can be kept.
  ReaderAhead(RemoteStore& remote, ComputeLink& link, const std::vector<ParameterSpec>& specs,
              const LocalStore& local, const ReaderAheadOptions& options);

  // As a computation.
  void expect_batch(const PreparedBatch& prepared) override;
  double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) override;
  Matrix<const float> predictions() const override;
  std::span<const float> log_losses() const override { return result_.log_losses; }

  // As a store.  Views have gradients alone in a pull to train.
  size_t looks_ahead() const override { return options_.batches; }
  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  void end_pass(int64_t pass) override;

  // Batches that were sent while the one before was on its way.
  int64_t num_ahead() const { return counts_.ahead; }
  Json counters() const;

 private:
  // A batch on its way; in synchronous mode, until all shards have applied its step.
  struct Batch {
    const PreparedBatch* prepared;  // null: it is pushed
    uint64_t step;
    int64_t pass;
    std::vector<std::vector<uint64_t>> keys;  // synchronous, by parameter: of sparse ones
    uint64_t asked = 0, left = 0;        // synchronous: number of the request for its rows; AheadBatch::left
    ReturnedRows rows;                   // synchronous: those that have come
    std::unique_ptr<RemotePulls> pulls;  // asynchronous: its rows
    std::shared_ptr<const std::string> body;  // as it was sent last
    bool sent = false;                        // over the present connection, to the present copies
    std::optional<Frame> result;
  };

  // How far this reader is with the copies that its compute trainer keeps.
  struct Copies {
    bool joined = false;               // once, or again since then
    std::optional<Frame> answer = {};  // to a join, or a beginning, that is to be acted on
    bool begun = false;                // batches can be sent
    uint64_t first = 0;                // the step that they begin with
    size_t in_flight = 0;              // messages without an answer, of batches or without data
  };

  struct Counts {
    int64_t batches = 0, ahead = 0;  // that were sent; and of these while the one before was on its way
    double waited_seconds = 0;       // this process did nothing but wait for their results
  };

  // Both modes have these.
  Batch& first_to_push() { return batches_[num_pushed_]; }
  bool all_applied() const;
  void ask_rows(Batch& batch);
  bool rows_arrived(const Batch& batch) const;
  std::string encode(Batch& batch);
  void send_ready();
  void send(Batch& batch);
  void wait_until(const std::function<bool()>& done);
  void recover();

  // Synchronous mode has these.
  void join();
  void ask_copies(ComputeFrame type, std::string body);
  void go_on_joining();
  void send_beginning();
  void begin_copies(uint64_t first);
  void take_rows(uint64_t number, size_t p, const RowBlock& rows);
  void forget_applied();
  void send_batches();
  void send_without_data();
  bool may_push_without_data() const;
  bool pass_has_ended() const;
  void end_pass_of_copies(int64_t pass);

  RemoteStore& remote_;
  EpochRequests requests_;
  const std::vector<ParameterSpec>& specs_;
  const LocalStore& local_;
  const ReaderAheadOptions options_;
  const uint64_t lead_;  // steps that may be pushed before one is applied

  std::deque<Batch> batches_;  // in the order of steps
  size_t num_pushed_ = 0;      // of these, the first so many
  BatchResult result_;         // of the batch in use
  int64_t pass_ = 0;           // of the batches
  Counts counts_;

  // Synchronous mode has these.
  Copies copies_;
  StoredRowPulls stored_;
  std::vector<RowWindow> windows_;  // by parameter, of batches_; empty where it is not sparse
  EndingPass ending_;

  // Asynchronous mode has these.
  std::vector<std::unique_ptr<RemotePulls>> free_pulls_;
  std::vector<ParameterView<float>> views_;
};

}  // namespace ps

#endif  // PS_HETER_READER_AHEAD_H_
