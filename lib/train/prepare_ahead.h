// PrepareAhead: reads batches and plans their keys, on threads of its own, ahead of the training loop.
#ifndef PS_TRAIN_PREPARE_AHEAD_H_
#define PS_TRAIN_PREPARE_AHEAD_H_

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "data/reader.h"
#include "model/network.h"
#include "train/plan_cache.h"

namespace ps {

// Of one pass over one reader.  next() is called by the owner thread; the reader belongs to the other threads
// until the PrepareAhead ends.
//
// Batch t goes through slot t modulo their number.  A thread takes the next free slot and, while it alone may
// read, the next batch into it; then it plans while another reads.  Without threads, next() does
// both in place: on one core nothing is gained by being ahead, and a batch that waits leaves the cache.
class PrepareAhead {
 public:
  // The numbers of training batches: no two trainers of a job have the same.
  struct Steps {
    int64_t first = 0, stride = 1;
  };

  // Plans that passes over the same batches leave to each other.
  struct KeptPlans {
    PlanCache* cache = nullptr;  // null: none
    int64_t first = 0;           // batches of the pass that come before those here
  };

  struct Options {
    int threads = 0;  // 0 only where reading does not wait, since `stop` is not asked meanwhile
    bool training = false;
    KeyOrder key_order = KeyOrder::kFirstAppearance;
    Steps steps = {};
    KeptPlans kept = {};
  };

  PrepareAhead(const Network<float>& network, BatchReader& reader, const Options& options);
  ~PrepareAhead();
  PrepareAhead(const PrepareAhead&) = delete;
  PrepareAhead& operator=(const PrepareAhead&) = delete;

  // The next batch, good until the next call; null at the end of the pass, or soon after `stop` begins to say
  // true, also while the input waits.  Rethrows what the reader threw.
  const PreparedBatch* next(const std::function<bool()>& stop);

  // The batch after that, when it is ready, good until it is the current one; else null, and always without
  // threads.  Does not wait.
  const PreparedBatch* peek();

  // How much of the input has been read, in [0, 1]; 0 when unknown.
  double fraction_read() const { return fraction_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    PreparedBatch prepared;
    int64_t batch = 0;  // of the pass
    std::exception_ptr error;
    bool free = true, ready = false;  // guarded by mutex_; the rest belongs to whoever took the slot
  };

  void run();
  void plan(Network<float>::Planners& planners, Slot& slot);
  bool prepare(Network<float>::Planners& planners);
  bool take_batch(Slot*& slot);
  void release_current();
  void note_progress();

  const Network<float>& network_;
  BatchReader& reader_;
  const bool training_;
  const KeyOrder key_order_;
  const Steps steps_;
  const KeptPlans kept_;

  std::mutex reading_;  // held by the thread that reads; before mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  int64_t taken_ = 0;         // batches; guarded by reading_
  int64_t end_ = INT64_MAX;   // batches there are, once that is known; guarded by mutex_
  bool stopping_ = false;     // guarded by mutex_
  std::exception_ptr error_;  // of reading what comes after the last batch; guarded by mutex_
  std::atomic<double> fraction_{0};
  Network<float>::Planners planners_;  // of next(), without threads
  int64_t next_ = 0;                   // owner thread, as is current_
  Slot* current_ = nullptr;            // what next() handed out
  std::vector<std::thread> threads_;
};

}  // namespace ps

#endif  // PS_TRAIN_PREPARE_AHEAD_H_
