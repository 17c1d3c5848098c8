// Orders in which examples are handed out.  Used by BatchReader.
//
// All draw from (seed, pass), in the consumer's thread, so that an order is the same on every run, for any
// number of threads, and another in every pass.
#ifndef PS_DATA_SHUFFLE_H_
#define PS_DATA_SHUFFLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "data/batch.h"
#include "data/example_store.h"

namespace ps {

// Examples in the order of the data, some at a time.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  // The next examples: [begin, end) of *batch, valid until the next call.  False at the end.
  virtual bool next(const Batch*& batch, int64_t& begin, int64_t& end) = 0;
};

// The examples of a store, in order, which must outlive it.
class StoreSource : public ExampleSource {
 public:
  explicit StoreSource(const ExampleStore& store) : store_(store) {}
  bool next(const Batch*& batch, int64_t& begin, int64_t& end) override;

 private:
  const ExampleStore& store_;
  Batch batch_;
  int64_t next_ = 0;
};

// Where batches take their examples from.
class ExampleOrder {
 public:
  virtual ~ExampleOrder() = default;

  // Appends up to `size` examples to `batch`: fewer only at the end.
  virtual void take(int64_t size, Batch& batch) = 0;
};

// As read, or as they lie in a store, which must outlive it: straight from there into the batch.
std::unique_ptr<ExampleOrder> in_order(const DataSchema& schema, std::unique_ptr<ExampleSource> source);
std::unique_ptr<ExampleOrder> in_order(const ExampleStore& store);

// Each drawn at random from the `window` examples that come next.  Holds up to three windows of examples.
std::unique_ptr<ExampleOrder> shuffled_window(const DataSchema& schema, std::unique_ptr<ExampleSource> source,
                                              int64_t window, uint64_t memory_limit, Random random);

// A random permutation of a store, which must outlive it.
std::unique_ptr<ExampleOrder> permuted(const ExampleStore& store, Random random);

}  // namespace ps

#endif  // PS_DATA_SHUFFLE_H_
