#include "data/writer.h"

#include <vector>

#include "base/error.h"

namespace ps {

extern const WriterEntry kPaddleSparseBinaryWriter;
extern const WriterEntry kPaddleSparseFloatWriter;
extern const WriterEntry kLibsvmWriter;
extern const WriterEntry kMultislotWriter;
extern const WriterEntry kCriteoWriter;
extern const WriterEntry kTextWriter;
extern const WriterEntry kRecordsWriter;

std::span<const WriterEntry* const> writer_catalog() {
  static constexpr const WriterEntry* kEntries[] = {
      &kPaddleSparseBinaryWriter,
      &kPaddleSparseFloatWriter,
      &kLibsvmWriter,
      &kMultislotWriter,
      &kCriteoWriter,
      &kTextWriter,
      &kRecordsWriter,
  };
  return kEntries;
}

const WriterEntry& find_writer(std::string_view format) {
  std::vector<std::string> names;
  for (const WriterEntry* entry : writer_catalog()) {
    if (entry->name == format) return *entry;
    names.emplace_back(entry->name);
  }
  fail(Code::kUsage, "unknown format ", quote(format), did_you_mean(format, names), "; expected one of ",
       join(names, ", "));
}

std::unique_ptr<Writer> make_writer(const WriterEntry& entry, const DataTraits& traits) {
  if (traits.content == DataTraits::kSentences && entry.name != "text") {
    fail(Code::kUsage, "format ", entry.name, " cannot hold sentences; use text");
  }
  entry.check(traits);
  return entry.make(traits);
}

void expect_sparse_features(const DataTraits& traits, std::string_view format) {
  for (const SlotSchema& slot : traits.schema.slots) {
    if (slot.dense) fail(Code::kUsage, "format ", format, " cannot hold the dense slot ", quote(slot.name));
  }
}

}  // namespace ps
