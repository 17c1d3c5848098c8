// PartFilter: decides which examples are for training, and which are kept for validation.  Used by parsers.
#ifndef PS_DATA_PART_H_
#define PS_DATA_PART_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "data/batch.h"
#include "data/options.h"

namespace ps {

// Decides for each example if it belongs to the part that the options ask for.  The bytes of its line, without
// its end, decide alone.  With DataOptions::validation_by the value of a column or slot decides, so that all
// examples with the same value are in the same part.  The place of a word in a text decides.  Parsers call
// keeps_line before they parse a line, and one of the other functions after that; for examples that are no lines
// they call keeps_example or keeps_stretch alone.  Constant after construction; any thread may use it.
class PartFilter {
 public:
  explicit PartFilter(const DataOptions& options)
      : part_(options.validates() ? options.part : DataPart::kAll),
        by_column_(!options.validation_by.empty()),
        values_(options.validation_values),
        bound_(static_cast<uint64_t>(options.validation * 0x1p64)),
        start_(static_cast<uint64_t>(options.fold) * bound_) {}

  // Returns false if there are no parts, so that all examples are kept.
  bool on() const { return part_ != DataPart::kAll; }

  // Returns true if the value of a column or slot decides.
  bool by_column() const { return part_ != DataPart::kAll && by_column_; }

  bool keeps_line(std::string_view line) const {
    constexpr uint64_t kSeed = 0x76616c69;  // no other hash of lines has it
    return part_ == DataPart::kAll || by_column_ || keeps_hash(hash_bytes(line, kSeed));
  }

  // Decides about a word of a text by the stretch of its file in which it lies, since neighbours tell of each
  // other.  `file` is named_file of its path, and `offset` is the word's position in the file.
  bool keeps_stretch(uint64_t file, uint64_t offset) const {
    return part_ == DataPart::kAll || keeps_hash(hash_key(file + offset / kStretchBytes));
  }
  // Returns a number that depends on the name of the file alone, and not on its folder.
  static uint64_t named_file(std::string_view path) {
    return hash_bytes(path.substr(path.rfind('/') + 1), kStretchSeed);
  }

  // Decides by the word of the example's column, which is empty if it has none.
  bool keeps_word(std::string_view word) const {
    if (values_.empty()) return keeps_hash(hash_bytes(word, kColumnSeed));
    const bool listed = std::find(values_.begin(), values_.end(), word) != values_.end();
    return listed == (part_ == DataPart::kValidation);
  }

  // Decides about example `index` of a batch by the ids or values of a slot of the schema; slot -1: by its
  // group.
  bool keeps_by_slot(const DataSchema& schema, int slot, const Batch& batch, size_t index) const;

  // Decides about example `index` of a batch by its label and all its slots.
  bool keeps_example(const DataSchema& schema, const Batch& batch, size_t index) const;

 private:
  static constexpr uint64_t kColumnSeed = 0x76616c63, kExampleSeed = 0x76616c65, kStretchSeed = 0x76616c74;
  static constexpr uint64_t kStretchBytes = 1024;

  // Decides by the ids, or values, of the example's slot.
  template <class T>
  bool keeps_slot(std::span<const T> of_slot) const {
    if (of_slot.empty()) return keeps_hash(hash_bytes({}, kColumnSeed));
    return keeps_hash(
        hash_bytes({reinterpret_cast<const char*>(of_slot.data()), of_slot.size_bytes()}, kColumnSeed));
  }

  bool keeps_hash(uint64_t hash) const {
    return (hash - start_ < bound_) == (part_ == DataPart::kValidation);
  }

  const DataPart part_;
  const bool by_column_;
  // Values of the column in the validation data; empty: hashes decide.
  const std::vector<std::string> values_;
  const uint64_t bound_, start_;  // bound_ hashes from start_ on belong to the validation data
};

}  // namespace ps

#endif  // PS_DATA_PART_H_
