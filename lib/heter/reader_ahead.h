// ReaderAhead: a reader with several batches on their way to a compute trainer.  It pulls the rows of coming
// batches, sends them ahead, and pushes gradients when they come back.  Used by ps-train --role reader, for
// train.pull_ahead.
//
// In synchronous mode the weights are those of plain trainers, bit for bit.  Rows that an earlier batch on its
// way will change are not pulled: the compute trainer has copies of them, and updates the copies with the
// gradients of all readers (SharedCopies).  All other rows are pulled early, as the shards store them.
//
// If the compute trainer is lost, or another reader is replaced, this reader joins again.  It waits until the
// shards have taken all that it has pushed.  When all readers have done so, the copies begin at the state of
// the shards.  The reader sends its batches from there on again, also those that it has pushed already, since
// other readers may not have pushed theirs; the results are the same bits.
//
// In asynchronous mode the rows of a batch are those that the servers have when it asks for them.
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
  size_t batches = 1;  // number of batches on their way, in addition to the one in use
  FigureSizes sizes;   // of the network
  bool asynchronous = false;
};

// One owner thread, that of the connections to the servers.  Calls throw as those of RemoteStore and of
// ComputeLink do.
class ReaderAhead final : public StoreInFront, public Computation {
 public:
  // All arguments but `options` outlive this.  `remote` leaves its dense part to the compute trainers, and lets
  // ahead_consistency(batches) steps be pushed before one is applied.  Nothing is trained in `local`, which
  // says how parameters are stored.  In synchronous mode, throws kUsage for parameters that cannot be copied.
  ReaderAhead(RemoteStore& remote, ComputeLink& link, const std::vector<ParameterSpec>& specs,
              const LocalStore& local, const ReaderAheadOptions& options);

  // The calls of a Computation.
  void expect_batch(const PreparedBatch& prepared) override;
  double run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) override;
  Matrix<const float> predictions() const override;
  std::span<const double> task_costs() const override { return result_.task_costs; }
  std::span<const float> log_losses() const override { return result_.log_losses; }

  // The calls of a store.  In a pull to train, views have gradients alone.
  size_t looks_ahead() const override { return options_.batches; }
  void pull(std::span<const KeyPlan> plans, PullMode mode, std::vector<ParameterView<float>>& views) override;
  void push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
            const StepInfo& info) override;
  void end_pass(int64_t pass) override;

  Json counters() const;

 private:
  // A batch on its way.  In synchronous mode it stays here until all shards have applied its step.
  struct Batch {
    const PreparedBatch* prepared;  // null: its result was used
    uint64_t step;
    int64_t pass;
    std::vector<std::vector<uint64_t>> keys;  // synchronous, by parameter: the keys of sparse parameters
    uint64_t asked = 0, left = 0;        // synchronous: number of the request for its rows; AheadBatch::left
    ReturnedRows rows;                   // synchronous: the rows that have come
    std::unique_ptr<RemotePulls> pulls;  // asynchronous: the pull of its rows
    std::shared_ptr<const std::string> body;  // the message that was sent last
    bool sent = false;                        // sent over the current connection, to the current copies
    std::optional<Frame> result;
  };

  // The state of this reader's part in the copies that its compute trainer keeps.
  struct Copies {
    bool joined = false;               // the reader has joined, maybe several times
    std::optional<Frame> answer = {};  // an answer to a join or a beginning that is not handled yet
    bool begun = false;                // the copies have begun, so batches can be sent
    uint64_t first = 0;                // the first step of the copies
    size_t in_flight = 0;              // number of unanswered messages: batches, and steps without data
  };

  struct Counts {
    // Batches that were sent, and those sent while the one before was on its way.
    int64_t batches = 0, ahead = 0;
    double waited_seconds = 0;  // time in which this process only waited for results
  };

  // Both modes use these functions.
  Batch& first_to_push() { return batches_[num_pushed_]; }
  bool all_applied() const;
  void ask_rows(Batch& batch);
  bool rows_arrived(const Batch& batch) const;
  std::string encode(Batch& batch);
  void send_ready();
  void send(Batch& batch);
  void wait_until(const std::function<bool()>& done);
  void recover();

  // Only synchronous mode uses these functions.
  void join();
  void ask_copies(ComputeFrame type, std::string body);
  void go_on_joining();
  void send_beginning();
  void begin_copies(uint64_t first);
  void receive_rows(uint64_t number, size_t p, const RowBlock& rows);
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
  const uint64_t lead_;  // number of steps that may be pushed before one is applied

  std::deque<Batch> batches_;  // batches on their way, in the order of steps
  size_t num_pushed_ = 0;      // the number of batches at the front whose results were used
  BatchResult result_;         // result of the batch in use
  int64_t pass_ = 0;           // pass of new batches
  Counts counts_;

  // Only synchronous mode uses these members.
  Copies copies_;
  StoredRowPulls stored_;
  std::vector<RowWindow> windows_;  // by parameter: the window of batches_; empty if it is not sparse
  EndingPass ending_;

  // Only asynchronous mode uses these members.
  std::vector<std::unique_ptr<RemotePulls>> free_pulls_;
  std::vector<ParameterView<float>> views_;
};

}  // namespace ps

#endif  // PS_HETER_READER_AHEAD_H_
