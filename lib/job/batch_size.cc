#include "job/batch_size.h"

#include "base/error.h"
#include "config/json.h"

namespace ps {

namespace {

// Returns the value of a key of a section; null if the document has no such key.
const Json* find_key(const Json& document, const char* section, const char* key) {
  const auto found = document.find(section);
  if (found == document.end() || !found->is_object()) return nullptr;
  const auto value = found->find(key);
  return value == found->end() ? nullptr : &*value;
}

}  // namespace

void drop_open_batch(Json& document) {
  const Json* own = find_key(document, "data", "batch_size");
  if (own == nullptr || *own != "auto") return;
  if (find_key(document, "data", "global_batch_size") != nullptr) document["data"].erase("batch_size");
}

// data.batch_size <- the share of the global batch that each of `trainers` trainers has in each of the
// `accumulate` batches of a step.  It must divide evenly: with a rest, steps would have other sizes than
// the job says, and other gradients.
void divide_global_batch(const Json& document, int64_t trainers, int64_t accumulate, DataOptions& data) {
  if (!data.global_batch_size) return;
  const int64_t whole = *data.global_batch_size;
  if (const Json* own = find_key(document, "data", "batch_size")) {
    fail(Code::kUsage, "data.global_batch_size: ", whole, ", but data.batch_size is ", own->dump(),
         ": leave out one of the two");
  }
  const int64_t parts = trainers * accumulate;
  if (whole % parts != 0) {
    fail(Code::kUsage, "data.global_batch_size: ", whole, " does not divide by ", parts,
         ", which is cluster.trainers times train.accumulate: ", trainers, " times ", accumulate);
  }
  data.batch_size = whole / parts;
  data.global_batch_size.reset();
}

void check_accumulate(const DataOptions& data, int64_t accumulate) {
  constexpr int64_t kMostExamples = 1 << 20;
  if (data.batch_size * accumulate <= kMostExamples) return;
  fail(Code::kUsage, "train.accumulate: ", accumulate, " batches of ", data.batch_size,
       " examples are more than the ", kMostExamples, " that a step of a trainer may have");
}

}  // namespace ps
