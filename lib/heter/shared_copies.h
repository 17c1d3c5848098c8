// SharedCopies: the copies of parameters at a compute trainer, in synchronous mode with train.pull_ahead: all
// dense parameters, and the rows that the batches on their way use, for all its readers together.  A step is
// computed for every reader with the same copies.  Then it is applied to them as the servers apply it: with the
// sum of the gradients in the order of ranks, and by the same code.  So the next step needs no data from the
// servers.  Used by CopiesWork; each reader has one.
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
#include <functional>
#include <memory>
#include <optional>
#include <vector>

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

}  // namespace ps

#endif  // PS_HETER_SHARED_COPIES_H_
