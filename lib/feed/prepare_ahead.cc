#include "feed/prepare_ahead.h"
#include "base/start_thread.h"

#include <algorithm>
#include <chrono>

namespace ps {

PrepareAhead::PrepareAhead(const Network<float>& network, BatchReader& reader, const Options& options)
    : network_(network),
      reader_(reader),
      training_(options.training),
      key_order_(options.key_order),
      steps_(options.steps),
      kept_(network.plans_repeat() ? options.kept : KeptPlans()),
      // One slot is in use, `ahead` slots are ready, and each thread fills one.
      slots_(options.threads == 0 ? 1 : static_cast<size_t>(options.threads) + options.ahead + 1),
      planners_(network.make_planners(key_order_)) {
  try {
    threads_.reserve(static_cast<size_t>(options.threads));
    // An exception must not leave a thread, so the planners, whose construction may throw, are made here.
    for (int t = 0; t < options.threads; ++t) {
      threads_.push_back(
          start_thread([this, planners = network.make_planners(key_order_)]() mutable { run(planners); }));
    }
  } catch (...) {
    stop();
    throw;
  }
}

PrepareAhead::~PrepareAhead() {
  stop();
}

// Ends the threads.  The reader is interrupted only if its data have not ended: a thread may then be
// waiting for input, and no other pass may begin.
void PrepareAhead::stop() {
  bool ended;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    ended = end_ != INT64_MAX;
  }
  changed_.notify_all();
  if (!ended) reader_.interrupt();
  for (std::thread& thread : threads_) thread.join();
}

// The slot that was handed out last is given back first, since the threads may need it to get on; without
// threads, it is the only one.  The error of the reader comes after the last batch, that of planning in
// place of its batch.
const PreparedBatch* PrepareAhead::next(const std::function<bool()>& stop) {
  constexpr std::chrono::milliseconds kAskStop(100);
  Slot& slot = slots_[static_cast<size_t>(next_) % slots_.size()];
  release_current();
  if (threads_.empty()) prepare(planners_);
  std::unique_lock lock(mutex_);
  // Asks `stop` ten times a second while it waits: the reader may wait for input that never comes.
  while (!changed_.wait_for(lock, kAskStop, [&] { return slot.ready || next_ >= end_; })) {
    if (stop()) return nullptr;
  }
  if (!slot.ready) {
    if (error_) std::rethrow_exception(error_);
    return nullptr;
  }
  if (slot.error) std::rethrow_exception(slot.error);
  ++next_;
  current_ = &slot;
  return &slot.prepared;
}

// The plans go back to the cache before the slot is free: afterwards another thread may write to it.
void PrepareAhead::release_current() {
  if (current_ == nullptr) return;
  if (kept_.cache != nullptr) kept_.cache->give(current_->batch, current_->prepared.plans);
  {
    std::lock_guard lock(mutex_);
    current_->ready = false;
    current_->free = true;
  }
  current_ = nullptr;
  changed_.notify_all();
}

// The slots behind the current one have the next batches in order.  As many calls ahead as there are slots
// would be the slot that is in use.
const PreparedBatch* PrepareAhead::peek(size_t calls) {
  if (threads_.empty() || calls >= slots_.size()) return nullptr;
  const Slot& slot = slots_[(static_cast<size_t>(next_) + calls - 1) % slots_.size()];
  std::lock_guard lock(mutex_);
  return slot.ready && !slot.error ? &slot.prepared : nullptr;
}

bool PrepareAhead::ends_within(size_t calls) {
  std::lock_guard lock(mutex_);
  return !error_ && next_ + static_cast<int64_t>(calls) > end_;
}

void PrepareAhead::run(Network<float>::Planners& planners) {
  while (prepare(planners)) {
  }
}

void PrepareAhead::plan(Network<float>::Planners& planners, Slot& slot) {
  if (kept_.cache != nullptr && kept_.cache->take(slot.batch, slot.prepared.plans)) {
    network_.adopt_plans(slot.prepared);
  } else {
    network_.prepare(planners, slot.prepared);
  }
}

// Reads and plans the next batch.  Returns false when there is none.  An error of planning is kept in the slot,
// since next() has to throw it when the owner reaches this batch, and not before.
bool PrepareAhead::prepare(Network<float>::Planners& planners) {
  Slot* slot;
  if (!take_batch(slot)) return false;
  try {
    plan(planners, *slot);
  } catch (...) {
    slot->error = std::current_exception();
  }
  {
    std::lock_guard lock(mutex_);
    slot->ready = true;
  }
  changed_.notify_all();
  return true;
}

// Reads the next batch into the next slot, once that slot is free.  Returns false when there is none. reading_
// is held throughout, so that batch t goes into slot t modulo their number; mutex_ is not held while the reader
// works.  An error of the reader ends the pass: next() throws it after the last good batch.
bool PrepareAhead::take_batch(Slot*& slot) {
  std::lock_guard reading(reading_);
  slot = &slots_[static_cast<size_t>(taken_) % slots_.size()];
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return slot->free || stopping_ || end_ != INT64_MAX; });
    if (stopping_ || end_ != INT64_MAX) return false;
    slot->free = false;
  }
  std::exception_ptr error;
  bool more = false;
  try {
    more = reader_.next(slot->prepared.batch);
    note_progress();
  } catch (...) {
    error = std::current_exception();
  }
  if (!more) {
    {
      std::lock_guard lock(mutex_);
      end_ = taken_;
      error_ = error;
    }
    changed_.notify_all();
    return false;
  }
  slot->batch = kept_.first + taken_;
  slot->prepared.training = training_;
  slot->prepared.step = steps_.first + steps_.stride * taken_++;
  return true;
}

// Progress counts in examples if they come from memory, else in stored bytes, and is not known for a
// stream.
void PrepareAhead::note_progress() {
  ReaderProgress progress = reader_.progress();
  const bool from_memory = progress.total_examples > 0;
  const uint64_t done = from_memory ? progress.examples : progress.bytes_read;
  const uint64_t total = from_memory ? progress.total_examples : progress.total_bytes;
  if (total == 0) return;
  double fraction = static_cast<double>(done) / static_cast<double>(total);
  fraction_.store(std::min(fraction, 1.0), std::memory_order_relaxed);
}

}  // namespace ps
