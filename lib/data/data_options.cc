// The whole section "data", which knows all formats.  Its parts are in data/options.cc.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "config/spec.h"
#include "data/format.h"
#include "data/options.h"
#include "data/transform.h"

namespace ps {

namespace {

void check_validation(const DataOptions& data, std::string_view path) {
  if (data.validation_values.empty()) return;
  if (data.validation_by.empty())
    fail(Code::kUsage, path, ".validation_values: set ", path, ".validation_by, to the column that has them");
  if (data.validation > 0)
    fail(Code::kUsage, path, ".validation_values: they say which examples are kept, and ", path,
         ".validation says it too: leave out one of the two");
}

void check_data(const DataOptions& data, std::string_view path) {
  std::set<std::string> names;
  for (const SlotOptions& slot : data.slots) {
    if (!names.insert(slot.name).second)
      fail(Code::kUsage, path, ".slots: two slots are named ", quote(slot.name));
  }
  if (!data.label_slot.empty() && !names.contains(data.label_slot)) {
    fail(Code::kUsage, path, ".label_slot: no slot is named ", quote(data.label_slot),
         did_you_mean(data.label_slot, std::vector<std::string>(names.begin(), names.end())));
  }
  if (data.dense && (data.dim < 1 || data.dim > kMaxDenseWidth)) {
    fail(Code::kUsage, path, ".dim: ", data.dim, ", expected 1 to ", kMaxDenseWidth, " with dense");
  }
  if (data.dense && data.hash_bits > 0)
    fail(Code::kUsage, path, ".hash_bits: dense values have no ids to hash");
  if (!data.memory_limit.empty() && !parse_bytes(data.memory_limit)) {
    fail(Code::kUsage, path, ".memory_limit: ", quote(data.memory_limit),
         " is not a size (as in 512M or 2G)");
  }
  if (data.multi_label && data.negative_rate < 1) {
    fail(Code::kUsage, path, ".negative_rate: with multi_label an example is positive for some labels and ",
         "negative for others, so that there are no negative examples to leave out");
  }
  check_validation(data, path);
}

}  // namespace

// Describes the keys of the section, with the help texts that the manual shows, their limits, and a check of
// keys that exclude each other.
const ObjectSpec<DataOptions>& DataOptions::spec() {
  static const ObjectSpec<DataOptions> spec = [] {
    ObjectSpec<DataOptions> s;
    s.field("format", &DataOptions::format, "how examples are written; auto looks at the first line")
        .one_of(format_names());
    s.field("files", &DataOptions::files, "files, lists of files (*.list), folders, or - for standard input");
    s.field("test_files", &DataOptions::test_files, "the same, to test on after each pass");
    s.field("dim", &DataOptions::dim,
            "ids are below it; 0: any 64-bit number; auto: one more than the largest in the data")
        .at_least(0)
        .at_most(kMaxDim)
        .or_auto();
    s.field("dense", &DataOptions::dense, "read the features as dim dense values");
    s.field("slots", &DataOptions::slots,
            "multislot: the slots of a line, in order; auto: as the first lines have them, called slot1, "
            "slot2, ... and label")
        .or_auto();
    s.field("label_slot", &DataOptions::label_slot, "multislot: the slot that is the label; empty: the last");
    s.field("index_base", &DataOptions::index_base, "libsvm: the lowest id in the file")
        .at_least(0)
        .at_most(1);
    s.field(
        "labels", &DataOptions::labels,
        "false: examples have no labels, for --job predict alone; the place of the label is left out of the "
        "line.  Absent: they have labels, but for lines of criteo with 39 columns");
    s.field("multi_label", &DataOptions::multi_label,
            "examples have any number of labels, none too: libsvm has them with commas between, fasttext as "
            "several "
            "labelled words, multislot as the values of the label's slot, csv, tsv and jsonl as the words of "
            "the label's "
            "column; they are the ids of the slot 'labels', for the cost multi_label_cross_entropy");
    s.field("text", &DataOptions::text, "text: words and their context");
    s.field("csv", &DataOptions::csv, "csv, tsv and jsonl: columns, and what was learnt of them");
    s.field("fasttext", &DataOptions::fasttext, "fasttext: labels and the features of words");
    s.field("cross", &DataOptions::cross,
            "lists of slots that are crossed: [[\"a\", \"b\"]] makes the slot a^b, whose ids stand for the "
            "pairs of ids of a and b");
    s.field("validation", &DataOptions::validation,
            "part of the lines of the training data that is not trained on, but measured after each pass; "
            "the hash of a line decides, so that equal lines are in the same part")
        .at_least(0)
        .at_most(0.9);
    s.field(
        "validation_by", &DataOptions::validation_by,
        "column of a table, or slot, whose value decides in place of the line: all examples of a user, or "
        "of a day, are in the same part; qid: the groups of libsvm");
    s.field("validation_values", &DataOptions::validation_values,
            "values of the column validation_by: the examples of a table that have one of them are the "
            "validation data, in place of a part by hash");
    s.field(
         "negative_rate", &DataOptions::negative_rate,
         "part of the negative examples, of label 0 or -1, that is trained on, drawn by the seed; each has "
         "1 / negative_rate times its weight, so that predictions stay calibrated; validation and test data "
         "keep all")
        .above(0)
        .at_most(1);
    s.field("batch_size", &DataOptions::batch_size, "examples in a batch; auto: more where there are more")
        .at_least(1)
        .at_most(1 << 20)
        .or_auto();
    s.field("global_batch_size", &DataOptions::global_batch_size,
            "examples of a step of all trainers together, in place of batch_size: it is divided by "
            "cluster.trainers and train.accumulate")
        .at_least(1);
    s.field(
         "shuffle", &DataOptions::shuffle,
         "order of the examples: as read, or random within a window, the whole of what a trainer reads, or "
         "the whole of what all trainers read; auto: the whole of files of up to 256 MiB, else within a "
         "window")
        .one_of({"none", "window", "full", "global"})
        .or_auto();
    s.field("shuffle_window", &DataOptions::shuffle_window, "examples held to draw from")
        .at_least(1)
        .at_most(1 << 30);
    s.field("unit_length", &DataOptions::unit_length,
            "scale the values of each example's slot to L2 norm 1; auto: where examples have ids in numbers "
            "as different as those of words in texts")
        .or_auto();
    s.field("log_counts", &DataOptions::log_counts,
            "value v becomes sign(v) log2(1 + |v|); auto: of criteo, whose integers are counts")
        .or_auto();
    s.field("hash_bits", &DataOptions::hash_bits, "hash ids into 2^hash_bits; 0: as they are")
        .at_least(0)
        .at_most(62);
    s.field("max_bad_lines", &DataOptions::max_bad_lines,
            "bad lines skipped and counted before one ends the run")
        .at_least(0);
    s.field(
         "cache", &DataOptions::cache,
         "passes after the first come from memory: auto, when the examples fit; memory, and it is an error "
         "when they do not; none, files are read again")
        .one_of({"auto", "memory", "none"});
    s.field(
        "memory_limit", &DataOptions::memory_limit,
        "of examples kept in memory; empty: half of what is available, or a quarter when files can be read "
        "again instead; a quarter of it at most, where it is left, keeps which keys their batches have");
    s.check(check_data);
    return s;
  }();
  return spec;
}

DataSchema DataOptions::schema(const std::string& resolved_format) const {
  return transformed_schema(*this, find_format(resolved_format).schema(*this, {}));
}

DataSchema DataOptions::single_slot() const {
  return with_labels(DataSchema{{SlotSchema{"features", dense, dim}}});
}

DataSchema DataOptions::with_labels(DataSchema schema, size_t num_classes,
                                    const std::vector<std::string>& columns) const {
  // Without multi_label each label column is a slot of its own with one id, 0, whose value is the label.
  for (size_t i = 0; i < columns.size() && !multi_label; ++i) {
    if (schema.find(columns[i]) >= 0)
      fail(Code::kUsage, "data.csv.labels: ", quote(columns[i]), " is the name of another slot of the data");
    schema.slots.push_back({columns[i], false, 1});
  }
  if (!multi_label) return schema;
  if (schema.find(std::string(kLabelsSlot)) >= 0) {
    fail(Code::kUsage, "data.multi_label: it makes a slot ", quote(kLabelsSlot),
         ", and the data have one of this name: name that another way");
  }
  schema.slots.push_back({std::string(kLabelsSlot), false, static_cast<int64_t>(num_classes)});
  return schema;
}

bool DataOptions::is_label(const SlotSchema& slot) const {
  if (multi_label) return has_labels(slot);
  return std::find(csv.labels.begin(), csv.labels.end(), slot.name) != csv.labels.end();
}

size_t DataOptions::label_index() const {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].name == label_slot) return i;
  }
  return slots.empty() ? 0 : slots.size() - 1;
}

DataSchema DataOptions::listed_slots() const {
  DataSchema schema;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i != label_index()) schema.slots.push_back({slots[i].name, slots[i].type == "dense", slots[i].dim});
  }
  return with_labels(std::move(schema));
}

}  // namespace ps
