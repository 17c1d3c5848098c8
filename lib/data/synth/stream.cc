#include "data/synth/stream.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"

namespace ps {
namespace {

// The most examples of a block, and the most values if rows are long: the batch of a block, its text and the
// tables of the law then fit into the second-level cache together.
constexpr int64_t kBlockExamples = 256, kBlockValues = int64_t{1} << 18;
// Blocks that threads may be ahead of the sink, for each of them: enough to even out their times.
constexpr int kBlocksPerThread = 4;

struct StreamBlock {
  uint64_t first;
  int64_t count;
  Sample sample;
  std::string bytes;
  std::exception_ptr error;
  bool done;  // guarded by the stream's mutex; all else belongs to the thread that took the block
};

// A ring of blocks.  Each thread fills the next free block; the caller's thread hands the blocks out in
// order, and fills some itself.  No thread waits for another until it is a whole ring ahead.
class Stream {
 public:
  Stream(const Generator& generator, const Writer& writer, const StreamOptions& options)
      : generator_(generator),
        writer_(writer),
        options_(options),
        block_examples_(std::min(options.max_block,
                                 std::clamp(kBlockValues / std::max<int64_t>(1, generator.max_row_values()),
                                            int64_t{1}, kBlockExamples))),
        pool_(options.threads),
        blocks_(options.threads == 1 ? 1 : static_cast<size_t>(options.threads * kBlocksPerThread)) {
    if (options.samples > UINT64_MAX - options.first)
      fail(Code::kUsage, "--first: example numbers end at 2^64");
  }

  // Runs the whole stream: the bytes before the first example, all blocks, and the bytes behind the last.
  // The pool calls the function options_.threads times, on any of its threads, of which the caller's is
  // one; only that one may call the sink.
  void run(const StreamSink& sink, TruthReport* truth) {
    std::string frame;
    writer_.begin(frame);
    if (!sink(frame, 0)) return;
    bool wanted = true;
    const std::thread::id caller = std::this_thread::get_id();
    pool_.run(options_.threads, [&](int64_t) {
      if (std::this_thread::get_id() != caller) return fill_blocks();
      if (wanted) wanted = hand_out(sink, truth);
    });
    // The other threads may have filled all blocks of a short stream before the caller's thread hands any
    // out.
    if (wanted) wanted = hand_out(sink, truth);
    if (!wanted) return;
    frame.clear();
    writer_.end(frame);
    sink(frame, 0);
  }

 private:
  // The loop of all threads except the caller's.
  void fill_blocks() {
    std::unique_lock lock(mutex_);
    for (;;) {
      StreamBlock* block = nullptr;
      changed_.wait(lock, [&] { return (block = take()) != nullptr || ended_; });
      if (block == nullptr) return;
      fill(*block, lock);
    }
  }

  // The loop of the caller's thread.  Returns true at the end of the stream, false when the sink wants no
  // more.
  bool hand_out(const StreamSink& sink, TruthReport* truth) {
    std::unique_lock lock(mutex_);
    try {
      while (StreamBlock* block = next_done(lock)) {
        lock.unlock();
        if (block->error) std::rethrow_exception(block->error);
        if (truth != nullptr) truth->add(block->sample);
        bool wanted = sink(block->bytes, block->count);
        bool stopped = options_.stop && options_.stop();
        lock.lock();
        ++next_out_;
        ended_ = ended_ || stopped || !wanted;
        changed_.notify_all();
        if (!wanted) return false;
      }
      return true;
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      ended_ = true;
      changed_.notify_all();
      throw;
    }
  }

  // Returns the next block in order; fills it on this thread if no other thread has begun it.  Null after the
  // last one.
  StreamBlock* next_done(std::unique_lock<std::mutex>& lock) {
    for (;;) {
      StreamBlock& next = blocks_[next_out_ % blocks_.size()];
      if (next_out_ < next_in_ && next.done) return &next;
      if (StreamBlock* block = take()) {
        fill(*block, lock);
      } else if (next_out_ == next_in_) {
        return nullptr;
      } else {
        changed_.wait(lock, [&] { return next.done; });
      }
    }
  }

  // Reserves the next examples for a free block, and returns the block.  Null when no block is free, or no
  // examples remain.
  StreamBlock* take() {
    uint64_t left = options_.samples == 0 ? UINT64_MAX : options_.samples - planned_;
    if (left == 0 && !ended_) {
      ended_ = true;
      changed_.notify_all();
    }
    if (ended_ || next_in_ - next_out_ == blocks_.size()) return nullptr;
    StreamBlock& block = blocks_[next_in_++ % blocks_.size()];
    block.first = options_.first + planned_;
    block.count = static_cast<int64_t>(std::min<uint64_t>(left, static_cast<uint64_t>(block_examples_)));
    block.done = false;
    planned_ += static_cast<uint64_t>(block.count);
    return &block;
  }

  // Fills a block that take() has reserved, without the lock.  An error is kept in the block, so that it is
  // thrown after all blocks before it were handed out.
  void fill(StreamBlock& block, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    try {
      generator_.generate(block.first, block.count, block.sample);
      if (options_.sorted) sort_rows(writer_.schema(), block.sample.batch);
      block.bytes.clear();
      writer_.format(block.sample.batch, block.bytes);
    } catch (...) {
      block.error = std::current_exception();
    }
    lock.lock();
    block.done = true;
    changed_.notify_all();
  }

  const Generator& generator_;
  const Writer& writer_;
  const StreamOptions& options_;
  const int64_t block_examples_;
  ThreadPool pool_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<StreamBlock> blocks_;
  // Guarded by mutex_: number of blocks taken, and of those given to the sink.
  uint64_t next_in_ = 0, next_out_ = 0;
  uint64_t planned_ = 0;  // guarded by mutex_: examples in blocks taken
  bool ended_ = false;    // guarded by mutex_: no more are taken
};

}  // namespace

void generate_stream(const Generator& generator, const Writer& writer, const StreamOptions& options,
                     const StreamSink& sink, TruthReport* truth) {
  Stream(generator, writer, options).run(sink, truth);
}

}  // namespace ps
