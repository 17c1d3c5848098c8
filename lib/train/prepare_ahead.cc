#include "train/prepare_ahead.h"

#include <algorithm>
#include <chrono>

namespace ps {

PrepareAhead::PrepareAhead(const Network<float>& network, BatchReader& reader, bool training,
                           int64_t first_step)
    : network_(network), reader_(reader), training_(training), first_step_(first_step) {
  for (PreparedBatch& batch : batches_) free_.push_back(&batch);
  thread_ = std::thread([this] { run(); });
}

PrepareAhead::~PrepareAhead() {
  bool finished;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    finished = finished_;
  }
  changed_.notify_all();
  if (!finished) reader_.interrupt();
  thread_.join();
}

const PreparedBatch* PrepareAhead::next(const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds kAskStop(100);
  std::unique_lock lock(mutex_);
  if (current_ != nullptr) free_.push_back(current_);
  current_ = nullptr;
  changed_.notify_all();
  while (!changed_.wait_for(lock, kAskStop, [&] { return !ready_.empty() || finished_; })) {
    if (stop()) return nullptr;
  }
  if (!ready_.empty()) {
    current_ = ready_.front();
    ready_.pop_front();
  } else if (error_) {
    std::rethrow_exception(error_);
  }
  return current_;
}

PreparedBatch* PrepareAhead::take_free() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !free_.empty() || stopping_; });
  if (stopping_) return nullptr;
  PreparedBatch* batch = free_.front();
  free_.pop_front();
  return batch;
}

void PrepareAhead::note_progress() {
  ReaderProgress progress = reader_.progress();
  if (progress.total_bytes == 0) return;
  double fraction = static_cast<double>(progress.bytes_read) / static_cast<double>(progress.total_bytes);
  fraction_.store(std::min(fraction, 1.0), std::memory_order_relaxed);
}

void PrepareAhead::run() {
  try {
    Network<float>::Planners planners = network_.make_planners();
    int64_t step = first_step_;
    while (PreparedBatch* prepared = take_free()) {
      if (!reader_.next(prepared->batch)) break;
      note_progress();
      prepared->training = training_;
      prepared->step = step++;
      network_.prepare(planners, *prepared);
      std::lock_guard lock(mutex_);
      ready_.push_back(prepared);
      changed_.notify_all();
    }
  } catch (...) {
    std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
  std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

}  // namespace ps
