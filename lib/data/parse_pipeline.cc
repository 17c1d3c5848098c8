#include "data/parse_pipeline.h"
#include "base/start_thread.h"

namespace ps {

// A single thread needs one slot.  With more threads, the threads parse into some slots while the consumer uses
// another one.
ParsePipeline::ParsePipeline(Read read, Parse parse, int threads, bool read_may_wait)
    : read_(std::move(read)),
      parse_(std::move(parse)),
      consumer_parses_(threads == 1 || !read_may_wait),
      slots_(threads == 1 ? 1 : static_cast<size_t>(2 * threads + 2)) {
  try {
    threads_.reserve(static_cast<size_t>(threads));
    for (int t = consumer_parses_ ? 1 : 0; t < threads; ++t)
      threads_.push_back(start_thread([this] { work(); }));
  } catch (...) {
    stop();
    throw;
  }
}

ParsePipeline::~ParsePipeline() {
  stop();
}

void ParsePipeline::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool ParsePipeline::fill(Slot& slot) {
  try {
    slot.end = !read_(slot.block);
  } catch (...) {
    slot.error = std::current_exception();
  }
  return !slot.end && !slot.error;
}

void ParsePipeline::parse(Slot& slot) {
  try {
    parse_(slot.block, slot.parsed);
  } catch (...) {
    slot.error = std::current_exception();
  }
}

bool ParsePipeline::can_read() const {
  return !ended_ && !reading_ && slots_[next_read_ % slots_.size()].free;
}

// Reads into the next slot and parses it, without the lock.  reading_ keeps the other threads from reading
// at the same time, and so in order.  It is given up before the block is parsed, so that another thread
// reads the next block meanwhile.  The slot of the end, or of an error of reading, is done without being
// parsed.
void ParsePipeline::read_and_parse(std::unique_lock<std::mutex>& lock) {
  Slot& slot = slots_[next_read_++ % slots_.size()];
  slot.free = false;
  reading_ = true;
  lock.unlock();
  bool more = fill(slot);
  lock.lock();
  reading_ = false;
  ended_ = !more;
  if (more) {
    lock.unlock();
    changed_.notify_all();
    parse(slot);
    lock.lock();
  }
  slot.done = true;
  changed_.notify_all();
}

void ParsePipeline::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || ended_ || can_read(); });
    if (stop_ || ended_) return;
    read_and_parse(lock);
  }
}

// Takes back the slot that was handed out, and waits for the next one in order.  A consumer that parses
// reads a block whenever it may while its own is not done: that block may be its own, or a later one.  So
// it never waits while there is work that nobody does, and a single thread with one slot does all of it
// itself.
const Parsed* ParsePipeline::next() {
  std::unique_lock lock(mutex_);
  if (handed_out_) {
    handed_out_->done = false;
    handed_out_->free = true;
    handed_out_ = nullptr;
    changed_.notify_all();
  }
  Slot& slot = slots_[next_out_ % slots_.size()];
  while (!slot.done) {
    if (consumer_parses_ && can_read()) {
      read_and_parse(lock);
    } else {
      changed_.wait(lock, [&] { return slot.done || (consumer_parses_ && can_read()); });
    }
  }
  if (slot.error) std::rethrow_exception(slot.error);
  if (slot.end) return nullptr;
  ++next_out_;
  handed_out_ = &slot;
  return &slot.parsed;
}

}  // namespace ps
