// ReaderAhead: a reader with several batches on their way to a compute trainer: it pulls the rows of coming batches, sends
// them ahead, and pushes gradients as they come back.  Used by ps-train --role reader, for train.pull_ahead.
//
// In synchronous mode, of a reader alone, the weights are those of a plain trainer, bit for bit: rows that a batch on its
// way will write are not pulled, but are with the compute trainer, which brings them up to date (AheadWork).  All others
// come early, as the shards store them: no push of them is on its way.  When the compute trainer is lost, the reader waits
// until all that it has pushed is applied, and has another one begin there with the batches that are not pushed.
// In asynchronous mode the rows of a batch are those that servers have when it is asked for.
#ifndef PS_HETER_READER_AHEAD_H_
#define PS_HETER_READER_AHEAD_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/spec.h"
#include "heter/compute_link.h"
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

  // Batches that were sent, how many of them while the one before was on its way, and the seconds that this process did
  // nothing but wait for their results.
  int64_t num_batches() const { return num_batches_; }
  int64_t num_ahead() const { return num_ahead_; }
  double waited_seconds() const { return waited_seconds_; }
  Json counters() const;

 private:
  // A batch on its way.
  struct Batch {
    const PreparedBatch* prepared;
    uint64_t step;
    uint64_t asked = 0, left = 0;        // synchronous: number of the request for its rows; AheadBatch::left
    ReturnedRows rows;                   // synchronous: those that have come
    std::unique_ptr<RemotePulls> pulls;  // asynchronous: its rows
    std::shared_ptr<const std::string> body;  // when it is sent
    std::optional<Frame> result;
  };

  void ask_rows(Batch& batch);
  void begin();
  void take_rows(uint64_t number, size_t p, const RowBlock& rows);
  bool rows_arrived(const Batch& batch) const;
  std::string encode(Batch& batch);
  void send_ready();
  void send(Batch& batch);
  void wait_for_result();
  void recover(const Error& error);
  void forget_applied();

  RemoteStore& remote_;
  ComputeLink& link_;
  const std::vector<ParameterSpec>& specs_;
  const LocalStore& local_;
  const ReaderAheadOptions options_;
  const uint64_t lead_;  // steps that may be pushed before one is applied

  std::deque<Batch> batches_;   // in the order of steps
  BatchResult result_;          // of the batch in use
  int64_t pass_ = 0;            // of the batches
  std::optional<Error> error_;  // the first of the present connection
  bool begun_ = false;          // the compute trainer has been told of the beginning

  // Synchronous.
  StoredRowPulls stored_;
  std::vector<RowWindow> windows_;  // by parameter; empty where it is not sparse
  std::deque<uint64_t> unapplied_;  // steps of the batches in the windows that were pushed
  uint64_t num_left_ = 0;           // batches that have left the windows

  // Asynchronous.
  std::vector<std::unique_ptr<RemotePulls>> free_pulls_;
  std::vector<ParameterView<float>> views_;

  int64_t num_batches_ = 0, num_ahead_ = 0;
  double waited_seconds_ = 0;
};

}  // namespace ps

#endif  // PS_HETER_READER_AHEAD_H_
