// ReaderSource: the batches of a BatchReader, prepared in this process.  Used by ps-train for every task, and by
// benchmarks.
#ifndef PS_FEED_READER_SOURCE_H_
#define PS_FEED_READER_SOURCE_H_

#include <memory>

#include "feed/batch_source.h"
#include "feed/prepare_ahead.h"

namespace ps {

// Passes of training over the same batches leave their plans to each other, in the memory that the reader has to
// spare.  The reader belongs to the source during a pass.
// The network and the reader outlive the source.
class ReaderSource final : public BatchSource {
 public:
  struct Options {
    int threads = 1;               // number of threads with which the owner computes
    bool parameters_wait = false;  // the store waits for servers, and batches are prepared in that time
    size_t ahead = 1;              // number of batches that threads keep ready
  };

  ReaderSource(const Network<float>& network, BatchReader& reader, const Options& options)
      : network_(network), reader_(reader), options_(options) {}

  int64_t begin_pass(const SourcePass& pass, const Stop& stop) override;
  const PreparedBatch* next(const Stop& stop) override { return ahead_->next(stop); }
  const PreparedBatch* peek(size_t calls) override { return ahead_->peek(calls); }
  bool ends_within(size_t calls) override { return ahead_->ends_within(calls); }
  double fraction_read() const override { return ahead_ ? ahead_->fraction_read() : 0; }
  void end_pass() override { ahead_.reset(); }

 private:
  int preparing_threads() const;
  int64_t skip_batches(int64_t batches, const Stop& stop);

  const Network<float>& network_;
  BatchReader& reader_;
  const Options options_;

  // Owner thread.
  PlanCache plans_;                      // the plans of training batches
  std::unique_ptr<PrepareAhead> ahead_;  // the running pass; null between passes
};

}  // namespace ps

#endif  // PS_FEED_READER_SOURCE_H_
