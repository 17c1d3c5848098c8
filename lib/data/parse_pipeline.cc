#include "data/parse_pipeline.h"

namespace ps {

ParsePipeline::ParsePipeline(std::function<bool(Block&)> read,
                             std::function<void(const Block&, Parsed&)> parse, int threads)
    : read_(std::move(read)), parse_(std::move(parse)), slots_(static_cast<size_t>(2 * threads + 2)) {
  for (int t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
}

ParsePipeline::~ParsePipeline() {
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

void ParsePipeline::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto next = [&]() -> Slot& { return slots_[next_read_ % slots_.size()]; };
    changed_.wait(lock, [&] { return stop_ || ended_ || (!reading_ && next().free); });
    if (stop_ || ended_) return;
    Slot& slot = next();
    ++next_read_;
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
}

const Parsed* ParsePipeline::next() {
  std::unique_lock lock(mutex_);
  if (handed_out_) {
    handed_out_->done = false;
    handed_out_->free = true;
    handed_out_ = nullptr;
    changed_.notify_all();
  }
  Slot& slot = slots_[next_out_ % slots_.size()];
  changed_.wait(lock, [&] { return slot.done; });
  if (slot.error) std::rethrow_exception(slot.error);
  if (slot.end) return nullptr;
  ++next_out_;
  handed_out_ = &slot;
  return &slot.parsed;
}

}  // namespace ps
