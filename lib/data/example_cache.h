// ExampleCache: the examples that a reader keeps in memory, so that passes after the first need not read the
// files again.  Used by BatchReader.
#ifndef PS_DATA_EXAMPLE_CACHE_H_
#define PS_DATA_EXAMPLE_CACHE_H_

#include <cstdint>
#include <memory>

#include "data/batch.h"
#include "data/example_store.h"
#include "data/options.h"

namespace ps {

// It is filled during one pass over the data, and then holds all examples or none.  One owner thread.
class ExampleCache {
 public:
  // Follows options.cache and options.memory_limit.
  //   stream  the data can be read once
  //   passes  how many passes will be made
  // Throws kUsage if several passes over a stream are asked for and the options forbid keeping its examples.
  ExampleCache(const DataOptions& options, const DataSchema& schema, bool stream, int passes);

  bool keeps() const { return store_ != nullptr; }  // it is being filled, or holds all examples
  bool required() const { return required_; }       // reading the data again is impossible
  bool whole() const { return whole_; }
  const ExampleStore& store() const { return *store_; }  // while keeps()

  // Appends examples, unless keeps() is false.  When they do not fit into memory, the cache drops all
  // examples and keeps none from then on; if the options ask for the cache, or required() is true, it throws
  // kExhausted instead.
  void append(const Batch& batch, int64_t begin, int64_t end);
  void finish() { whole_ = keeps(); }  // all examples were appended

  // Forgets an unfinished pass.
  void restart();

  // Bytes of memory that remain for results computed from the examples and kept beside them; 0 while the
  // cache keeps no examples.
  uint64_t spare_bytes() const;

  // The limit in bytes, which also holds for the examples of a shuffle.
  uint64_t memory_limit() const { return memory_limit_; }

 private:
  const DataSchema schema_;
  const bool required_;  // the data are a stream, or the shuffle is a full one
  const bool may_drop_;
  // A cache of files, which can be read again, gets a smaller store_limit_: this leaves more memory to the
  // model, and to the examples of a test.
  const uint64_t memory_limit_, store_limit_;
  std::unique_ptr<ExampleStore> store_;
  bool whole_ = false;
};

}  // namespace ps

#endif  // PS_DATA_EXAMPLE_CACHE_H_
