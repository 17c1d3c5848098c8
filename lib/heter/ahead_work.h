// AheadWork: of a reader with several batches on their way.  Used by ComputeService.
//
// In synchronous mode the compute trainer has copies of all dense parameters, and of the rows that the batches on their way
// use, and applies each step to them as the servers do, so that the next batch needs nothing from anybody (AheadStore,
// divided between a reader and a compute trainer).  The reader sends those rows of a batch that no batch before it uses
// which is on its way; a row leaves the copies when the reader says that all shards have applied the last batch that used
// it.  In asynchronous mode a batch has all its rows, and its dense weights are asked for when it comes.
#ifndef PS_HETER_AHEAD_WORK_H_
#define PS_HETER_AHEAD_WORK_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "heter/reader_work.h"
#include "ps/client/row_window.h"
#include "store/local_store.h"

namespace ps {

class AheadWork final : public ReaderWork {
 public:
  using ReaderWork::ReaderWork;

  // Throws kData when more than kMostWaiting batches wait, or for a message of the other mode; and as hold().
  void take(Frame frame, Responder& responder) override;
  bool ready() const override;

  static constexpr size_t kMostWaiting = 1024;

 private:
  struct Waiting {
    ComputeFrame type;
    Buffer body;
    Responder responder;
    std::unique_ptr<DenseLink::DenseStep> step;  // asynchronous: that was begun; else null
  };

  // A batch that was computed, and whose dense gradients the servers do not all hold yet.
  struct Unheld {
    Responder responder;
    Payload result;
  };

  void work() override;
  void fail_all(const Error& error) override;
  bool front_ready() const;
  bool pulls_to_begin() const;
  void begin_pulls();
  void begin_copies(Waiting& front);
  void train_copies(Waiting& front);
  void check_pass(int64_t pass) const;
  void take_rows(const AheadBatch& ahead);
  void train_pulled(Waiting& front);
  void push(DenseLink::DenseStep& step, uint64_t number, Responder responder, Payload result);
  void held(uint64_t id);
  std::unique_ptr<DenseLink::DenseStep> take_step();

  std::deque<Waiting> waiting_;        // the first one is computed next
  std::map<uint64_t, Unheld> unheld_;  // by number of the batch
  uint64_t num_pushed_ = 0;
  std::vector<std::unique_ptr<DenseLink::DenseStep>> free_steps_;
  std::vector<ParameterView<float>> views_;
  std::vector<std::vector<float*>> rows_;  // by parameter, in the body

  std::unique_ptr<LocalStore> copies_;        // null: no beginning has come
  std::vector<RowWindow> windows_;            // by parameter; empty where it is not sparse
  uint64_t num_left_ = 0, num_trained_ = 0;   // batches of the copies
  std::optional<int64_t> pass_;               // of the last one
  std::vector<ParameterView<float>> stored_;  // of the copies
};

}  // namespace ps

#endif  // PS_HETER_AHEAD_WORK_H_
