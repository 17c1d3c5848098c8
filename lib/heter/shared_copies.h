// SharedCopies: the copies of parameters at a compute trainer, in synchronous mode with train.pull_ahead: all
// dense parameters, and the rows that the batches on their way use, for all its readers together.  A step is
// computed for every reader with the same copies.  Then it is applied to them as the servers apply it: with the
// sum of the gradients in the order of ranks, and by the same code.  So the next step needs no data from the
// servers.  CopiesWork: the batches of one reader, at these copies.  Used by ComputeService.
//
// The copies begin at the state of the servers.  Each reader joins: it says that all shards hold all its
// pushes, and pushes nothing more before the copies begin.  So when all have joined, no shard applies anything.
// Then the first reader sends the beginning.  From there all readers go on, with all batches whose steps are
// not applied.  If a reader's connection is replaced, or anything fails, the copies are dropped and all readers
// join again.
//
// A batch comes with those of its rows that were used by no batch of its own reader on its way when they were
// asked for.  Some of these may be among the copies already, since other readers use them too: then the copies
// are newer.  A row that is not among the copies was changed only by steps that every reader knew to be
// applied, so the row of the shards is current.  A row leaves the copies when every reader with a batch knows
// that the last step that used it is applied.
#ifndef PS_HETER_SHARED_COPIES_H_
#define PS_HETER_SHARED_COPIES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "heter/held_results.h"
#include "heter/reader_work.h"
#include "ps/client/row_window.h"
#include "ps/wire/stored_rows.h"
#include "store/local_store.h"

namespace ps {

class CopiesWork;

// One owner thread.  The loop itself calls only enter, and the functions for CopiesWork::receive.
class SharedCopies {
 public:
  explicit SharedCopies(const ComputeSetup& setup) : setup_(setup) {}  // `setup` outlives this

  // Puts a reader's work in the place of its rank; the former work of the rank may leave later.  Throws kUsage
  // if its number of readers differs from that of the readers that are there.
  void enter(CopiesWork& work);
  void leave(const CopiesWork& work);

  // Functions for CopiesWork::receive.
  void note_joined();
  void receive_beginning(const CopiesWork& work, const std::function<Buffer()>& hold);
  void check_begun(const CopiesWork& work) const;

  // advance does one thing, if ready returns true: it connects to servers, begins the copies, or takes a step.
  // An error that it throws is the fault of the work that was blamed last.
  bool ready() const;
  void advance();
  void blame(CopiesWork& work) { blamed_ = &work; }
  void fail(const Error& error);

 private:
  // A step for which some reader has data.
  struct Step {
    std::vector<CopiesWork*> trained = {}, idle = {};  // by rank: readers with a batch, and readers without
    std::vector<std::vector<ReturnedRows::Slice>> sent = {};  // by batch: the rows that came with it
    uint64_t left = 0;                                        // the first step whose rows stay in the copies
  };

  bool all_joined() const;
  void begin_again();
  void drop_copies();
  bool connect_one();
  void begin();
  void end_pass();
  void train_step();
  Step begin_batches();
  void add_rows(const std::vector<std::vector<ReturnedRows::Slice>>& sent);
  void drop_before(uint64_t step);
  void apply(const std::vector<CopiesWork*>& trained);
  void average_statistics(const std::vector<CopiesWork*>& trained, const StepInfo& total);
  void apply_sum(const std::vector<CopiesWork*>& trained, const StepInfo& total);

  const ComputeSetup& setup_;
  std::vector<CopiesWork*> members_;  // by rank; null: the reader is not there
  // The reader at fault if the next call throws.
  CopiesWork* blamed_ = nullptr;
  std::optional<Buffer> beginning_;     // a beginning that has come and is not used yet
  std::unique_ptr<LocalStore> copies_;  // null: there are no copies
  std::vector<ParameterSpec> specs_;    // parameters of the copies
  std::vector<RowWindow> windows_;      // by parameter; empty if it is not sparse
  // first step of the windows, which have a batch for each step; the next step
  uint64_t first_ = 0, step_ = 0;
  std::optional<int64_t> pass_;  // pass of the next step; nullopt: no reader has said it
  std::vector<KeyPlan> plans_;   // by parameter: the keys of all batches of a step
  std::vector<ParameterView<float>> stored_;
  // Scratch: keys that leave a window.
  std::vector<uint64_t> leaving_;
};

// The batches of one synchronous reader with several batches on their way, at a compute trainer that has copies of
// the parameters that they use.  SharedCopies decides when each step is computed and applied.  Used by
// ComputeService.  One owner thread, that of the service.
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

#endif  // PS_HETER_SHARED_COPIES_H_
