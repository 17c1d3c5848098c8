// CopiesWork: the batches of one synchronous reader with several batches on their way, at a compute trainer
// that has copies of the parameters that they use.  All readers share the copies, which belong to SharedCopies;
// it decides when each step is computed and applied.  Used by ComputeService.
#ifndef PS_HETER_COPIES_WORK_H_
#define PS_HETER_COPIES_WORK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heter/held_results.h"
#include "heter/reader_work.h"
#include "heter/shared_copies.h"
#include "store/local_store.h"

namespace ps {

// One owner thread, that of the service.
class CopiesWork final : public ReaderWork {
 public:
  // Constructs the work as ReaderWork does.  `copies` outlives this.  Throws as SharedCopies::enter does.
  CopiesWork(const ComputeSetup& setup, const ReaderHello& hello, HeldBatches& held, SharedCopies& copies);
  ~CopiesWork() override;

  // Throws kBeginAgain for a message to copies that are gone, kData for a message that must not come now; and
  // as hold().
  void receive(Frame frame, Responder& responder) override;
  bool ready() const override;

  // ---- for SharedCopies

  uint64_t run() const { return hello_.run; }
  bool joined() const { return joined_; }
  bool connected() const { return link_ != nullptr; }
  void connect_to_servers() { connect(); }
  void check_link();

  // Answers the reader's join: with the first step of the copies, or with nothing before they begin.
  void answer_join(Payload payload);

  // Returns true if the reader has sent its message for the next step: a batch, or that it has no data.
  bool has_next() const { return !waiting_.empty(); }
  bool has_batch() const { return has_next() && !waiting_.front().no_data; }

  // For a reader without a batch.  Throws kData unless its message is for this step and pass.
  void check_no_data(uint64_t step, std::optional<int64_t>& pass) const;
  void answer_no_data();
  void end_pass(int64_t pass);  // answers messages for steps after the end too

  // Decodes the next batch.  Throws kData unless it is for this step and pass, and its rows have this layout.
  struct Next {
    uint64_t left;
    std::vector<ReturnedRows::Slice> rows;
  };
  Next begin_batch(uint64_t step, std::optional<int64_t>& pass, const ReturnedLayout& layout);

  // Computes the batch with the weights of the copies, which do not change.
  void compute_with(LocalStore& copies);
  const PreparedBatch& prepared() const { return prepared_; }
  std::span<const ParameterView<float>> views() const { return views_; }

  // Pushes the dense gradients of the batch, and answers it when the servers hold them.
  void finish_batch();

  // Fails all requests that are not answered, since the copies are gone; the reader has to join again.
  void drop(const Error& error);
  void forget_link() { free_steps_.clear(), step_.reset(), link_.reset(); }

 private:
  struct Waiting {
    std::optional<StepWithoutData> no_data;  // nullopt: the message is a batch
    Buffer body;
    Responder responder;
  };

  static void set_pass(int64_t said, std::optional<int64_t>& pass);
  void work() override;
  void fail_all(const Error& error) override;
  void receive_step(Frame& frame, Responder& responder, bool has_data);

  SharedCopies& copies_;
  bool joined_ = false;
  Responder join_, stay_;
  std::deque<Waiting> waiting_;        // one message for each step, in order; the first is for the next step
  std::optional<int64_t> ended_pass_;  // the last pass that ended with these copies
  uint64_t left_ = 0;                  // AheadBatch::left of the last batch
  HeldResults results_{num_batches_};

  // The batch that is being computed.
  uint64_t number_ = 0;
  Waiting current_;
  std::unique_ptr<DenseLink::DenseStep> step_;
  std::vector<ParameterView<float>> views_, stored_;
  std::vector<std::vector<float>> statistics_;  // by parameter: this batch's copy of a statistic
  Payload result_;

  std::vector<std::unique_ptr<DenseLink::DenseStep>> free_steps_;
};

}  // namespace ps

#endif  // PS_HETER_COPIES_WORK_H_
