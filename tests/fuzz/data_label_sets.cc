// Examples with any number of labels, in all formats that have them.
//
// input := format:u8 bytes                                    (l libsvm, c csv, t tsv, j jsonl, f fasttext, m multislot)
#include <string>
#include <vector>

#include "fuzz_reader.h"
#include "table_column.h"

namespace ps {
namespace {

using LabelSets = std::vector<std::vector<Key>>;  // of each example

constexpr float kClasses = 5;  // labels are below it

const char* format_of(uint8_t letter) {
  switch (letter) {
    case 'l':
      return "libsvm";
    case 'c':
      return "csv";
    case 't':
      return "tsv";
    case 'j':
      return "jsonl";
    case 'f':
      return "fasttext";
    case 'm':
      return "multislot";
    default:
      return nullptr;
  }
}

// Labels are numbers, or the words of classes where there are some.
DataOptions options_of(const std::string& format, const std::vector<std::string>& classes) {
  DataOptions options;
  options.format = format;
  options.multi_label = true;
  options.batch_size = 3;
  options.max_bad_lines = 1000;
  options.csv.label = "y";
  options.csv.classes = options.fasttext.classes = classes;
  options.csv.columns = {table_column("n", "number"), table_column("c", "category")};
  options.csv.learnt = true;
  if (format == "multislot") {
    options.slots = {{"age", "dense", 2}, {"y", "sparse", 0}, {"words", "sparse", 0}};
    options.label_slot = "y";
  }
  return options;
}

// The labels of a table in two columns; other formats do without them.
DataOptions label_columns(const std::string& format) {
  DataOptions options = options_of(format, {"y", "w=red", "w=blue"});
  options.csv.label.clear();
  options.csv.labels = {"y", "w"};
  return options;
}

void check_label(float label) {
  if (!(label >= 0 && label < kClasses)) fail(Code::kData, "label ", label, " is no class");
}

void add_label_sets(const DataSchema& schema, const Batch& batch, LabelSets& sets) {
  check_batch(schema, batch);
  PS_CHECK(schema.slots.back().name == kLabelsSlot && !schema.slots.back().dense);
  const SlotData& labels = batch.slots.back();
  PS_CHECK(labels.values.empty());
  for (size_t b = 0; b + 1 < labels.offsets.size(); ++b) {
    sets.emplace_back(labels.keys.begin() + labels.offsets[b], labels.keys.begin() + labels.offsets[b + 1]);
    for (const Key label : sets.back()) PS_CHECK(label < static_cast<Key>(kClasses));
  }
}

// Returns false when all of it is refused.
bool read_label_sets(const DataOptions& options, int descriptor, LabelSets& sets) {
  lseek(descriptor, 0, SEEK_SET);
  try {
    BatchReader reader(options, {"-"}, {.stdin_descriptor = descriptor});
    reader.check_labels(check_label);
    reader.begin_pass(0);
    Batch batch;
    while (reader.next(batch)) add_label_sets(reader.schema(), batch, sets);
    return true;
  } catch (const Error& error) {
    PS_CHECK(error.code() != Code::kInternal);
    return false;
  }
}

// Whatever is done to features and batches, labels stay as the data have them.
void compare(const DataOptions& options, int descriptor) {
  LabelSets as_they_are, changed;
  const bool read = read_label_sets(options, descriptor, as_they_are);
  DataOptions other = options;
  other.batch_size = 7;
  other.hash_bits = 2;
  other.unit_length = other.log_counts = true;
  PS_CHECK(read_label_sets(other, descriptor, changed) == read);
  if (read) PS_CHECK(as_they_are == changed);
}

// A task that does not need labels takes each example that one with labels takes, and perhaps others.
void read_unlabelled(DataOptions options, int descriptor) {
  LabelSets with, without;
  if (!read_label_sets(options, descriptor, with)) return;
  options.label_use = LabelUse::kIgnored;
  if (read_label_sets(options, descriptor, without)) PS_CHECK(without.size() >= with.size());
}

}  // namespace
}  // namespace ps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* format = size > 0 ? ps::format_of(data[0]) : nullptr;
  if (format == nullptr) return 0;
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  PS_CHECK(write(descriptor, data + 1, size - 1) == static_cast<ssize_t>(size - 1));
  for (const std::vector<std::string>& classes :
       {std::vector<std::string>{}, std::vector<std::string>{"no", "yes", "a b"}}) {
    const ps::DataOptions options = ps::options_of(format, classes);
    ps::compare(options, descriptor);
    ps::read_unlabelled(options, descriptor);
  }
  const ps::DataOptions options = ps::label_columns(format);
  ps::compare(options, descriptor);
  ps::read_unlabelled(options, descriptor);
  close(descriptor);
  return 0;
}
