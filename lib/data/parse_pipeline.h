// Parses the blocks of a stream on many threads and hands them out in order.  Used by BatchReader.
//
// A ring of slots bounds the read-ahead.  Each thread takes the next free slot and, while it alone may read,
// the next block into it; then it parses while another reads.  So reading is in order, parsing is not, and
// the ring puts the results back in order:
//
//   free --(a thread reads and parses)--> done --(next() hands it out; the next next() takes it back)--> free
#ifndef PS_DATA_PARSE_PIPELINE_H_
#define PS_DATA_PARSE_PIPELINE_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "data/format.h"

namespace ps {

class ParsePipeline {
 public:
  // read(block) is called by one thread at a time and is false at the end; parse(block, parsed) by many.
  // Starts `threads` threads.
  ParsePipeline(std::function<bool(Block&)> read, std::function<void(const Block&, Parsed&)> parse,
                int threads);

  // Waits for the threads: a read that may wait for ever must be ended first.
  ~ParsePipeline();
  ParsePipeline(const ParsePipeline&) = delete;
  ParsePipeline& operator=(const ParsePipeline&) = delete;

  // The next parsed block, valid until the next call; null at the end.  Throws what read or parse threw,
  // after all blocks before; then no more calls.  One consumer thread.
  const Parsed* next();

 private:
  struct Slot {
    Block block;
    Parsed parsed;
    std::exception_ptr error;
    bool end = false;
    bool free = true, done = false;  // guarded by mutex_; the rest belongs to whoever took the slot
  };

  void work();
  bool fill(Slot& slot);
  void parse(Slot& slot);

  const std::function<bool(Block&)> read_;
  const std::function<void(const Block&, Parsed&)> parse_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  uint64_t next_read_ = 0;                               // guarded by mutex_
  bool reading_ = false, ended_ = false, stop_ = false;  // guarded by mutex_

  uint64_t next_out_ = 0;  // consumer only
  Slot* handed_out_ = nullptr;

  std::vector<std::thread> threads_;
};

}  // namespace ps

#endif  // PS_DATA_PARSE_PIPELINE_H_
