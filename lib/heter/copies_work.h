// CopiesWork: of one synchronous reader with several batches on their way, at a compute trainer that has copies of what they
// use.  The copies are of all readers together: SharedCopies, which has each step computed and applied.  Used by
// ComputeService.
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

class CopiesWork final : public ReaderWork {
 public:
  // As ReaderWork.  `copies` outlives this, and throws as enter.
  CopiesWork(const ComputeSetup& setup, const ReaderHello& hello, HeldBatches& held, SharedCopies& copies);
  ~CopiesWork() override;

  // Throws kBeginAgain for what belongs to copies that are gone, kData for what must not come now; and as hold().
  void receive(Frame frame, Responder& responder) override;
  bool ready() const override;

  // ---- for SharedCopies

  uint64_t run() const { return hello_.run; }
  bool joined() const { return joined_; }
  bool connected() const { return link_ != nullptr; }
  void connect_to_servers() { connect(); }
  void check_link();

  // The reader's join is answered: with the first step of the copies, or, before these begin, with nothing.
  void answer_join(Payload payload);

  // The reader has said what it has for the next step: a batch, or nothing.
  bool has_next() const { return !waiting_.empty(); }
  bool has_batch() const { return has_next() && !waiting_.front().no_data; }

  // For a reader without a batch.  Throws kData unless it has said so of this step and pass.
  void check_no_data(uint64_t step, std::optional<int64_t>& pass) const;
  void answer_no_data();
  void end_pass(int64_t pass);  // also of what it has said of steps behind the end

  // Decodes the next batch.  Throws kData unless it is of this step and pass, and of rows as these.
  struct Next {
    uint64_t left;
    std::vector<ReturnedRows::Slice> rows;
  };
  Next begin_batch(uint64_t step, std::optional<int64_t>& pass, const ReturnedLayout& layout);

  // Computes it with the weights of the copies, which stay as they are.
  void compute_with(LocalStore& copies);
  const PreparedBatch& prepared() const { return prepared_; }
  std::span<const ParameterView<float>> views() const { return views_; }

  // Pushes its dense gradients, and answers it when they are held.
  void finish_batch();

  // The copies are gone: all that is not answered is failed, and the reader is to join again.
  void drop(const Error& error);
  void forget_link() { free_steps_.clear(), step_.reset(), link_.reset(); }

 private:
  struct Waiting {
    std::optional<StepWithoutData> no_data;  // nothing: a batch
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
  std::deque<Waiting> waiting_;        // for one step after the other, the first is the next
  std::optional<int64_t> ended_pass_;  // the last of these copies
  uint64_t left_ = 0;                  // of the last batch
  HeldResults results_{num_batches_};

  // The batch in use.
  uint64_t number_ = 0;
  Waiting current_;
  std::unique_ptr<DenseLink::DenseStep> step_;
  std::vector<ParameterView<float>> views_, stored_;
  std::vector<std::vector<float>> statistics_;  // by parameter
  Payload result_;

  std::vector<std::unique_ptr<DenseLink::DenseStep>> free_steps_;
};

}  // namespace ps

#endif  // PS_HETER_COPIES_WORK_H_
