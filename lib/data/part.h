// Parts of data: the lines that are trained on, and those that are kept for validation.  Used by parsers of lines.
#ifndef PS_DATA_PART_H_
#define PS_DATA_PART_H_

#include <cstdint>
#include <string_view>

#include "base/hash.h"
#include "data/options.h"

namespace ps {

// Says of each line if it belongs to the part that the options ask for.  The bytes of a line, without its end, decide
// alone.  Constant: any thread.
class PartFilter {
 public:
  explicit PartFilter(const DataOptions& options)
      : part_(options.part),
        bound_(static_cast<uint64_t>(options.validation * 0x1p64)),
        start_(static_cast<uint64_t>(options.fold) * bound_) {}

  bool keeps(std::string_view line) const {
    constexpr uint64_t kSeed = 0x76616c69;  // no other hash of lines has it
    if (part_ == DataPart::kAll) return true;
    return (hash_bytes(line, kSeed) - start_ < bound_) == (part_ == DataPart::kValidation);
  }

 private:
  const DataPart part_;
  const uint64_t bound_, start_;  // hashes from start_ on, as many as bound_, are of the validation data
};

}  // namespace ps

#endif  // PS_DATA_PART_H_
