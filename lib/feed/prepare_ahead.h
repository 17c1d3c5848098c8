// PrepareAhead: reads batches and plans their keys, on threads of its own, ahead of the training loop.  Used by
// ReaderSource.
#ifndef PS_FEED_PREPARE_AHEAD_H_
#define PS_FEED_PREPARE_AHEAD_H_

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "data/reader.h"
#include "feed/batch_source.h"
#include "feed/plan_cache.h"
#include "model/network.h"

namespace ps {

// One pass over one reader.  next() is called by the owner thread; the reader belongs to the other threads
// until the PrepareAhead ends.
//
// Batch t goes through slot t modulo their number.  A thread takes the next free slot and, while it alone may
// read, the next batch into it; then it plans while another reads.  Without threads, next() does
// both in place: on one core nothing is gained by being ahead, and a batch that waits leaves the cache.
class PrepareAhead {
 public:
  // Plans that passes over the same batches leave to each other.
  struct KeptPlans {
    PlanCache* cache = nullptr;  // null: no plans are kept
    int64_t first = 0;           // number of batches of the pass before the first one here
  };

  struct Options {
    int threads = 0;   // 0 only if reading never waits, since `stop` is not asked during it
    size_t ahead = 1;  // number of batches that are ready beyond those that threads are making
    bool training = false;
    KeyOrder key_order = KeyOrder::kFirstAppearance;
    StepNumbers steps = {};
    KeptPlans kept = {};
  };

  PrepareAhead(const Network<float>& network, BatchReader& reader, const Options& options);
  ~PrepareAhead();
  PrepareAhead(const PrepareAhead&) = delete;
  PrepareAhead& operator=(const PrepareAhead&) = delete;

  // As of BatchSource.
  const PreparedBatch* next(const std::function<bool()>& stop);

  // As of BatchSource; without threads, none is ever ready.
  const PreparedBatch* peek(size_t calls);

  // As of BatchSource; false if the pass ends with an error of the data.
  bool ends_within(size_t calls);

  // As of BatchSource.
  double fraction_read() const { return fraction_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    PreparedBatch prepared;
    int64_t batch = 0;  // of the pass
    std::exception_ptr error;
    bool free = true, ready = false;  // guarded by mutex_; the rest belongs to the thread that took the slot
  };

  void stop();
  void run(Network<float>::Planners& planners);
  void plan(Network<float>::Planners& planners, Slot& slot);
  bool prepare(Network<float>::Planners& planners);
  bool take_batch(Slot*& slot);
  void release_current();
  void note_progress();

  const Network<float>& network_;
  BatchReader& reader_;
  const bool training_;
  const KeyOrder key_order_;
  const StepNumbers steps_;
  const KeptPlans kept_;

  std::mutex reading_;  // held by the thread that reads; before mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  int64_t taken_ = 0;         // number of batches read; guarded by reading_
  int64_t end_ = INT64_MAX;   // number of batches, once it is known; guarded by mutex_
  bool stopping_ = false;     // guarded by mutex_
  std::exception_ptr error_;  // the reader's error after the last batch; guarded by mutex_
  std::atomic<double> fraction_{0};
  Network<float>::Planners planners_;  // planners for next() when there are no threads
  int64_t next_ = 0;                   // owner thread, as is current_
  Slot* current_ = nullptr;            // the slot whose batch next() returned
  std::vector<std::thread> threads_;
};

}  // namespace ps

#endif  // PS_FEED_PREPARE_AHEAD_H_
