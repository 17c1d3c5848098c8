// The orders in which a reader gives examples.  Used by BatchReader.
//
// All orders draw random numbers from (seed, pass) on the consumer's thread: an order is the same in every
// run and for any number of threads, and differs from pass to pass.
#ifndef PS_DATA_SHUFFLE_H_
#define PS_DATA_SHUFFLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "data/batch.h"
#include "data/example_store.h"

namespace ps {

// A source of examples in the order of the data.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  // Sets the next examples: [begin, end) of *batch, valid until the next call.  Returns false at the end.
  virtual bool next(const Batch*& batch, int64_t& begin, int64_t& end) = 0;
};

// Gives the examples of a store in order.  The store must outlive it.  One owner thread.
class StoreSource : public ExampleSource {
 public:
  explicit StoreSource(const ExampleStore& store) : store_(store) {}
  bool next(const Batch*& batch, int64_t& begin, int64_t& end) override;

 private:
  const ExampleStore& store_;
  Batch batch_;
  int64_t next_ = 0;
};

// An order in which batches are filled with examples.
class ExampleOrder {
 public:
  virtual ~ExampleOrder() = default;

  // Appends up to `size` examples to `batch`: fewer only at the end.
  virtual void take(int64_t size, Batch& batch) = 0;

  // Skips as many.  `batch` is scratch of the schema, and afterwards is empty or contains the skipped examples.
  virtual void skip(int64_t size, Batch& batch) { take(size, batch); }
};

// Gives the order of the data, or of a store, which must outlive it.  Examples are copied from there into the
// batch directly.
std::unique_ptr<ExampleOrder> in_order(const DataSchema& schema, std::unique_ptr<ExampleSource> source);
std::unique_ptr<ExampleOrder> in_order(const ExampleStore& store);

// Draws each example at random from the next `window` examples of the data.  Holds up to three windows of
// examples.
std::unique_ptr<ExampleOrder> shuffled_window(const DataSchema& schema, std::unique_ptr<ExampleSource> source,
                                              int64_t window, uint64_t memory_limit, Random random);

// Returns a random permutation of the numbers below `size`.  Throws kExhausted if there are more than 2^32.
std::vector<uint32_t> random_order(int64_t size, Random random);

// Gives the examples of a store, which must outlive it, in an order that random_order draws.
std::unique_ptr<ExampleOrder> permuted(const ExampleStore& store, Random random);

}  // namespace ps

#endif  // PS_DATA_SHUFFLE_H_
