#include "data/example_cache.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

namespace ps {

static uint64_t most_bytes(const DataOptions& options) {
  if (!options.memory_limit.empty()) return parse_bytes(options.memory_limit).value_or(0);
  return available_memory_bytes() / 2;
}

// A full shuffle needs all examples even in a single pass; otherwise one pass keeps none.  If the memory
// limit was not given, a cache that may be dropped takes half of it.
ExampleCache::ExampleCache(const DataOptions& options, const DataSchema& schema, bool stream, int passes)
    : schema_(schema),
      required_(options.shuffles_all() || (stream && passes > 1)),
      may_drop_(!required_ && options.cache == "auto"),
      memory_limit_(most_bytes(options)),
      store_limit_(may_drop_ && options.memory_limit.empty() ? memory_limit_ / 2 : memory_limit_) {
  if (stream && passes > 1 && options.cache == "none") {
    fail(Code::kUsage, "standard input and pipes can be read once, ", passes,
         " passes need them in memory, and data.cache is 'none': use 'auto'");
  }
  if (required_ || (passes > 1 && options.cache != "none")) restart();
}

uint64_t ExampleCache::spare_bytes() const {
  if (!store_) return 0;
  const uint64_t used = store_->memory_bytes();
  return used < memory_limit_ ? std::min(memory_limit_ - used, memory_limit_ / 4) : 0;
}

void ExampleCache::restart() {
  store_ = std::make_unique<ExampleStore>(schema_, store_limit_);
}

// A cache that does not fit is dropped as a whole: with a part of the examples missing, the next pass would
// have to read all files in any case.
void ExampleCache::append(const Batch& batch, int64_t begin, int64_t end) {
  if (!store_) return;
  store_->append_range(batch, begin, end);
  if (store_->fits()) return;
  if (!may_drop_) store_->check_fits();
  store_.reset();
}

}  // namespace ps
