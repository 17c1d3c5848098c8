// What a reader keeps of its examples, so that passes after the first need not read them again.  Used by
// BatchReader.
#ifndef PS_DATA_EXAMPLE_CACHE_H_
#define PS_DATA_EXAMPLE_CACHE_H_

#include <cstdint>
#include <memory>

#include "data/batch.h"
#include "data/example_store.h"
#include "data/options.h"

namespace ps {

// Fills during one pass over the data, and then holds all of them, or nothing.  One owner thread.
class ExampleCache {
 public:
  // Follows options.cache and options.memory_limit.
  //   stream  the data can be read once
  //   passes  that will be asked for
  // Throws kUsage when a stream is to be read several times and the options forbid to keep it.
  ExampleCache(const DataOptions& options, const DataSchema& schema, bool stream, int passes);

  bool keeps() const { return store_ != nullptr; }  // is filled, or full
  bool required() const { return required_; }       // the data cannot be had in another way
  bool whole() const { return whole_; }
  const ExampleStore& store() const { return *store_; }  // while keeps()

  // Nothing when it does not keep.  What is more than fits ends keeping, or is kExhausted when keeping was
  // asked for or is required.
  void append(const Batch& batch, int64_t begin, int64_t end);
  void finish() { whole_ = keeps(); }  // all examples were appended

  // Forgets an unfinished pass.
  void restart();

  // Bytes for what is made of the examples and kept with them; 0 while it keeps none.
  uint64_t spare_bytes() const;

  // Of examples held for a shuffle as well; bytes.
  uint64_t memory_limit() const { return memory_limit_; }

 private:
  const DataSchema schema_;
  const bool required_;  // by a stream, or a full shuffle
  const bool may_drop_;
  // What could be read again leaves more to the model, and to the examples of a test.
  const uint64_t memory_limit_, store_limit_;
  std::unique_ptr<ExampleStore> store_;
  bool whole_ = false;
};

}  // namespace ps

#endif  // PS_DATA_EXAMPLE_CACHE_H_
