// Parses the blocks of a stream on many threads and hands them out in order.  Used by BatchReader.
//
// A ring of slots bounds the read-ahead.  Each thread takes the next free slot and, while only this thread may
// read, reads the next block into it; then it parses while another thread reads.  So reading is in order,
// parsing is not, and the ring puts the results back in order:
//
//   free --(a thread reads and parses)--> done --(next() hands it out; the next next() takes it back)--> free
//
// If reading does not block, the consumer's thread parses as well: it takes a free slot whenever the block that
// it needs next is not done.  A consumer without other threads parses into one slot, which stays in its cache,
// and nothing moves from core to core: 415 MB of libsvm took 0.23 s of processor time this way, and 0.29 s with
// one more thread.
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
  using Read = std::function<bool(Block&)>;
  using Parse = std::function<void(const Block&, Parsed&)>;

  // read(block) is called by one thread at a time and is false at the end; parse(block, parsed) by many.
  //   threads        threads that parse, the consumer's included
  //   read_may_wait  a read may block: the consumer parses only if there is no other thread, so that it gets a
  //                  finished block at once
  ParsePipeline(Read read, Parse parse, int threads, bool read_may_wait);

  // Joins the threads.  The owner must first end a read that may block forever.
  ~ParsePipeline();
  ParsePipeline(const ParsePipeline&) = delete;
  ParsePipeline& operator=(const ParsePipeline&) = delete;

  // Returns the next parsed block, valid until the next call; null at the end.  Rethrows an error of read or
  // parse after all blocks before it; no more calls are allowed then.  One consumer thread.
  const Parsed* next();

 private:
  struct Slot {
    Block block;
    Parsed parsed;
    std::exception_ptr error;
    bool end = false;
    // Guarded by mutex_; the other members belong to the thread that took the slot.
    bool free = true, done = false;
  };

  void stop();
  void work();
  // Both need mutex_ to be held; read_and_parse releases it while it reads and parses.
  bool can_read() const;
  void read_and_parse(std::unique_lock<std::mutex>& lock);
  bool fill(Slot& slot);
  void parse(Slot& slot);

  const Read read_;
  const Parse parse_;
  const bool consumer_parses_;

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
