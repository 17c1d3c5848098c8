// PrepareAhead: reads batches and plans their keys on a thread of its own, ahead of the training loop.
#ifndef PS_TRAIN_PREPARE_AHEAD_H_
#define PS_TRAIN_PREPARE_AHEAD_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "data/reader.h"
#include "model/network.h"

namespace ps {

// Of one pass over one reader.  next() is called by the owner thread; the reader belongs to the other thread
// until the PrepareAhead ends.
class PrepareAhead {
 public:
  // Training batches are numbered from `first_step`.
  PrepareAhead(const Network<float>& network, BatchReader& reader, bool training, int64_t first_step);
  ~PrepareAhead();
  PrepareAhead(const PrepareAhead&) = delete;
  PrepareAhead& operator=(const PrepareAhead&) = delete;

  // The next batch, good until the next call; null at the end of the pass, or soon after `stop` begins to say
  // true, also while the input waits.  Rethrows what the reader threw.
  const PreparedBatch* next(const std::function<bool()>& stop);

  // How much of the input has been read, in [0, 1]; 0 when unknown.
  double fraction_read() const { return fraction_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kDepth = 3;  // one in use, one ready, one being made

  void run();
  void note_progress();
  PreparedBatch* take_free();

  const Network<float>& network_;
  BatchReader& reader_;
  const bool training_;
  const int64_t first_step_;
  PreparedBatch batches_[kDepth];

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PreparedBatch*> free_, ready_;  // guarded by mutex_
  bool finished_ = false, stopping_ = false;
  std::exception_ptr error_;

  std::atomic<double> fraction_{0};
  PreparedBatch* current_ = nullptr;  // owner thread only
  std::thread thread_;
};

}  // namespace ps

#endif  // PS_TRAIN_PREPARE_AHEAD_H_
