// SharedCopies: what a compute trainer has of the parameters, in synchronous mode with train.pull_ahead: copies of all dense
// ones, and of the rows that the batches on their way use, of all its readers together.  A step is computed for every reader
// with the same copies, and applied to them as the servers apply it: with the sum of the gradients, in the order of ranks, and
// the same code.  So the next step needs nothing from anybody.  Used by CopiesWork, of which there is one for each reader.
//
// The copies begin where the servers are.  Each reader joins: it says that all it has pushed is held by all shards, and
// pushes nothing more before the copies begin; so when all have joined, no shard applies anything.  Then the first reader
// sends the beginning, from which all go on, with all batches whose steps are not applied.  When a reader's connection
// is another one, or anything fails, the copies are gone, and all join again.
//
// A batch comes with those of its rows that no batch of its own reader uses which was on its way when they were asked for.
// Some of these may be among the copies, since other readers use them too: then the copies are newer.  A row that is not
// among the copies was used by no step that some reader did not know to be applied, and is as the shards gave it.  A row
// leaves the copies when every reader with a batch knows that the last step that used it is applied.
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

// One owner thread.  Calls of the loop are enter, and what CopiesWork::receive calls.
class SharedCopies {
 public:
  explicit SharedCopies(const ComputeSetup& setup) : setup_(setup) {}  // which outlives this

  // A reader's work takes the place of its rank's, which may be gone later.  Throws kUsage for another number of readers
  // than those have that are there.
  void enter(CopiesWork& work);
  void leave(const CopiesWork& work);

  // For CopiesWork::receive.
  void note_joined();
  void receive_beginning(const CopiesWork& work, const std::function<Buffer()>& hold);
  void check_begun(const CopiesWork& work) const;

  // advance does one thing that ready says there is to do: it makes a connection to servers, begins, or takes a step.  An
  // error that it throws is the fault of the work that was blamed last.
  bool ready() const;
  void advance();
  void blame(CopiesWork& work) { blamed_ = &work; }
  void fail(const Error& error);

 private:
  // A step with data.
  struct Step {
    std::vector<CopiesWork*> trained = {}, idle = {};         // readers with a batch, and without, by rank
    std::vector<std::vector<ReturnedRows::Slice>> sent = {};  // with the batches
    uint64_t left = 0;  // the first step whose rows stay among the copies
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
  std::vector<CopiesWork*> members_;  // by rank; null: it is not there
  CopiesWork* blamed_ = nullptr;
  std::optional<Buffer> beginning_;     // that came, and is not begun with
  std::unique_ptr<LocalStore> copies_;  // null: there are none
  std::vector<ParameterSpec> specs_;    // of the copies
  std::vector<RowWindow> windows_;      // by parameter; empty where it is not sparse
  uint64_t first_ = 0, step_ = 0;       // of the windows, in which each step is a batch; the next
  std::optional<int64_t> pass_;         // of the next step
  std::vector<KeyPlan> plans_;          // of a step, by parameter: the keys of all batches
  std::vector<ParameterView<float>> stored_;
  std::vector<uint64_t> leaving_;
};

}  // namespace ps

#endif  // PS_HETER_SHARED_COPIES_H_
