#include "data/csv/record_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/hash_words.h"
#include "base/text.h"
#include "data/scan.h"
#include "data/text_features.h"

namespace ps {

namespace {

// Returns the words with their positions in the list.
WordNumbers numbered(const std::vector<std::string>& words) {
  WordNumbers out;
  for (const std::string& word : words) out.emplace(word, out.size());
  return out;
}

// Returns the number that the whole field is.  Throws kData with the column's name if it is none.
float parse_number(std::string_view field, const std::string& column) {
  const char* p = field.data();
  float value = 0;
  const Scan found = scan_float(p, value);
  if (found == Scan::kNumber && p == field.data() + field.size()) return value;
  fail(Code::kData, "value ", quote(field), " of column ", quote(column),
       found == Scan::kNotFinite ? " is not finite" : " is not a number");
}

// Ends the ids of the example that is being added: offset b + 1 is the number of the keys of examples 0 to
// b.
void end_ids(SlotData& slot) {
  slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
}

}  // namespace

MissingValues::MissingValues(const std::vector<std::string>& words) : words_(words) {
  for (const std::string& word : words_) {
    lengths_ |= bit(word.size());
    empty_ |= word.empty();
    if (!word.empty()) first_bytes_.set(static_cast<unsigned char>(word[0]));
  }
}

// A call of its own: its loop takes the address of `field`, which the callers then keep in registers.  In
// memory it would be stored as two words and loaded as one, for which the processor waits.
[[gnu::noinline]] bool MissingValues::is_listed(std::string_view field) const {
  return std::find(words_.begin(), words_.end(), field) != words_.end();
}

RecordEncoder::Column::Column(const CsvColumn& column, Key first)
    : options(column),
      offset(static_cast<float>(column.offset)),
      scale(static_cast<float>(1 / column.divisor)),
      logarithm(column.scale.starts_with("log")),
      indicates_missing(column.indicates_missing()),
      hashes(column.dictionary == 0),
      seed(column.seed()),
      first_id(first),
      words(column.words) {}

// The logarithm is sign(x) log(1 + |x|), which is defined for 0 and below too.  offset and 1 / scale were
// learnt from logarithms then.
float RecordEncoder::Column::scaled(float value) const {
  if (logarithm) value = std::copysign(std::log1p(std::fabs(value)), value);
  return (value - offset) * scale;
}

// Bin i holds the numbers with edges[i - 1] <= value < edges[i], before they are scaled.
Key RecordEncoder::Column::bin(float value) const {
  const auto edge = std::upper_bound(options.edges.begin(), options.edges.end(), double{value});
  return first_id + static_cast<Key>(edge - options.edges.begin());
}

// The ids of a dictionary of W words are, from first_id on: one for all words outside of it, W for its
// words in turn, and one for missing values.
[[gnu::noinline]] Key RecordEncoder::Column::known_word(std::string_view field) const {
  Key place;
  words.find({&field, 1}, &place);
  return id_at(place);
}

Key RecordEncoder::Column::id_at(uint64_t place) const {
  return first_id + (place == words.size() ? 0 : place + 1);
}

// Sets the ids of words.
void RecordEncoder::Column::put_words(std::span<const std::string_view> fields, Key* ids) const {
  if (hashes) return hash_texts(fields, seed, ids);
  words.find(fields, ids);
  for (size_t i = 0; i < fields.size(); ++i) ids[i] = id_at(ids[i]);
}

void RecordEncoder::Column::fail_scaled(std::string_view field) const {
  fail(Code::kData, "value ", quote(field), " of column ", quote(options.name),
       " is not finite once it is scaled");
}

// A column that hashes has no range of ids with a place for missing values.  Its id of them is a hash with
// another seed, so that it is not the id of the word "missing".
Key RecordEncoder::Column::missing() const {
  if (options.num_ids() == 0) return hash_bytes("missing", seed + 1);
  return first_id + static_cast<Key>(options.num_ids()) - 1;
}

RecordEncoder::RecordEncoder(const DataOptions& options)
    : csv_(options.csv),
      ignores_label_(options.label_use == LabelUse::kIgnored),
      own_labels_(options.has_own_labels()),
      label_slot_(csv_.schema().slots.size()),
      missing_(csv_.missing_values),
      classes_(numbered(csv_.classes)) {
  // Columns that share ids get ranges that follow each other.  A column with ids of its own counts from 0,
  // and its num_shared_ids is 0, so that it leaves no gap in the others' ranges.
  Key first = 0;
  for (const CsvColumn& column : csv_.columns) {
    columns_.emplace_back(column, column.own_ids ? 0 : first);
    first += static_cast<Key>(column.num_shared_ids());
  }
  for (const std::string& name : csv_.labels) label_columns_.emplace_back(name, csv_.classes, own_labels_);
}

float RecordEncoder::label(std::string_view field) const {
  if (missing_.contain(field)) return missing_label();
  if (classes_.empty()) return parse_number(field, csv_.label);
  if (const std::optional<uint64_t> found = find_class(field)) return static_cast<float>(*found);
  if (ignores_label_) return 0;
  fail(Code::kData, "label ", quote(field), " is none of ", join(csv_.classes, ", "));
}

float RecordEncoder::missing_label() const {
  if (ignores_label_) return 0;
  fail(Code::kData, "the label, column ", quote(csv_.label), ", is missing");
}

// Returns the class of a word.  A few words are compared faster than they are hashed.
std::optional<uint64_t> RecordEncoder::find_class(std::string_view field) const {
  constexpr size_t kFew = 8;
  const std::vector<std::string>& words = csv_.classes;
  for (size_t i = 0; i < words.size() && words.size() <= kFew; ++i) {
    if (words[i] == field) return i;
  }
  if (words.size() <= kFew) return std::nullopt;
  const auto found = classes_.find(field);
  return found == classes_.end() ? std::nullopt : std::optional(found->second);
}

// The label is not appended here: callers append what label() gives when all other fields are done, because
// the number of labels is the size of a batch, and a bad record must not count.
void RecordEncoder::add(std::string_view field, const FieldUse& use, Batch& batch) const {
  switch (use.kind) {
    case FieldKind::kIgnored:
    case FieldKind::kLabel:
      break;
    case FieldKind::kLabels:
      put_labels(field, batch.slots[use.slot]);
      break;
    case FieldKind::kLabelColumn:
      put_label_column(field, use, batch);
      break;
    case FieldKind::kWeight:
      put_weight(field, batch);
      break;
    case FieldKind::kGroup:
      batch.groups.push_back(parse_uint(field).value_or(hash_bytes(field)));
      break;
    case FieldKind::kNumber:
      put_number(field, columns_[use.column], batch.slots[use.slot]);
      break;
    case FieldKind::kNumberAndBin:
      put_number(field, columns_[use.column], batch.slots[use.slot]);
      put_ids(field, FieldKind::kBins, columns_[use.column], batch.slots[use.slot + 1]);
      break;
    default:
      put_ids(field, use.kind, columns_[use.column], batch.slots[use.slot]);
  }
}

// Fields of different columns go into different arrays of the batch, so that the order of columns and
// records does not matter.  The most frequent kinds have a loop of their own; the others take one field at
// a time.
void RecordEncoder::add_column(const FieldColumn& fields, const FieldUse& use, Batch& batch) const {
  switch (use.kind) {
    case FieldKind::kIgnored:
      break;
    case FieldKind::kLabel:
      for (size_t i = 0; i < fields.size; ++i) batch.labels.push_back(label(fields[i]));
      break;
    case FieldKind::kNumber:
      put_numbers(fields, columns_[use.column], batch.slots[use.slot], nullptr);
      break;
    case FieldKind::kNumberAndBin:
      put_numbers(fields, columns_[use.column], batch.slots[use.slot], &batch.slots[use.slot + 1]);
      break;
    case FieldKind::kWord:
      put_one_word_each(fields, columns_[use.column], batch.slots[use.slot]);
      break;
    default:
      for (size_t i = 0; i < fields.size; ++i) add(fields[i], use, batch);
  }
}

// Appends a number of each record, as put_number does, and its bin if there are bins beside it.  The new
// values are zeros, which a missing number stays; out[1] is then the 1 that indicates it, if the column has
// `width` 2.  scan_short_float is inline and reads most numbers; parse_number reads the others.  The bin is
// that of the number as it is written, since the edges were learnt from those.
void RecordEncoder::put_numbers(const FieldColumn& fields, const Column& column, SlotData& slot,
                                SlotData* bins) const {
  const size_t width = column.indicates_missing ? 2 : 1, before = slot.values.size();
  slot.values.resize(before + width * fields.size);  // zeros
  float* out = slot.values.data() + before;
  for (size_t i = 0; i < fields.size; ++i, out += width) {
    const std::string_view field = fields[i];
    float value = 0;
    const bool missing = missing_.contain(field);
    if (!missing && !scan_short_float(field, value)) value = parse_number(field, column.options.name);
    if (missing) {
      if (column.indicates_missing) out[1] = 1;
      if (bins != nullptr) put_missing_id(column, *bins);
      continue;
    }
    *out = column.scaled(value);
    if (!std::isfinite(*out)) column.fail_scaled(field);
    if (bins == nullptr) continue;
    bins->keys.push_back(column.bin(value));
    end_ids(*bins);
  }
}

// Appends the id of the word of each record, as put_ids does.
// It takes kMost records at a time, one for each bit of missing_words.  words[0, count) are the fields that
// get an id, and one call computes the ids of all of them.  A missing value that has an id is among them
// too, so that words and ids have equal positions; its id is replaced afterwards.  As a record has one id
// or none, its offset is known before the ids are.
void RecordEncoder::put_one_word_each(const FieldColumn& fields, const Column& column, SlotData& slot) const {
  constexpr size_t kMost = 64;
  std::string_view words[kMost];
  const Key missing = column.indicates_missing ? column.missing() : 0;
  const size_t first_offset = slot.offsets.size();
  slot.offsets.resize(first_offset + fields.size);
  uint32_t* offsets = slot.offsets.data() + first_offset;
  for (size_t begin = 0; begin < fields.size; begin += kMost) {
    const size_t end = std::min(fields.size, begin + kMost), before = slot.keys.size();
    size_t count = 0;
    uint64_t missing_words = 0;  // bit w is set if words[w] stands for no value, and has an id nevertheless
    for (size_t i = begin; i < end; ++i) {
      const std::string_view field = fields[i];
      const bool is_missing = missing_.contain(field);
      if (is_missing && column.indicates_missing) missing_words |= uint64_t{1} << count;
      words[count] = field;
      count += is_missing && !column.indicates_missing ? 0 : 1;
      offsets[i] = static_cast<uint32_t>(before + count);
    }
    slot.keys.resize(before + count);
    Key* ids = slot.keys.data() + before;
    column.put_words({words, count}, ids);
    for (; missing_words != 0; missing_words &= missing_words - 1)
      ids[std::countr_zero(missing_words)] = missing;
  }
}

// Appends the labels of a field; a field without a value has none.
void RecordEncoder::put_labels(std::string_view field, SlotData& slot) const {
  if (missing_.contain(field)) return end_ids(slot);
  while (!field.empty()) {
    const size_t size = std::min(field.find(csv_.label_separator[0]), field.size());
    put_label(field.substr(0, size), slot);
    field.remove_prefix(std::min(size + 1, field.size()));
  }
  end_ids(slot);
}

// Appends the classes that a field tells of; those of an example end with its last field.
void RecordEncoder::put_label_column(std::string_view field, const FieldUse& use, Batch& batch) const {
  if (missing_.contain(field)) return;
  if (own_labels_) return put_own_label(field, use, batch.slots[use.slot]);
  while (!field.empty()) {
    const size_t size = std::min(field.find(csv_.label_separator[0]), field.size());
    put_label_column_word(field.substr(0, size), use, batch);
    field.remove_prefix(std::min(size + 1, field.size()));
  }
}

void RecordEncoder::put_label_column_word(std::string_view word, const FieldUse& use, Batch& batch) const {
  if (!word.empty()) label_columns_[use.column].put(word, ignores_label_, batch.slots[use.slot].keys);
}

// Appends id 0 with the label as its value.  The slot has no values as long as all labels are 1.
void RecordEncoder::put_own_label(std::string_view field, const FieldUse& use, SlotData& slot) const {
  const std::optional<float> label = label_columns_[use.column].value(field, ignores_label_);
  if (!label) return;
  const bool valued = slot.valued() || *label != 1.0F;
  if (valued) slot.make_valued();
  slot.keys.push_back(0);
  if (valued) slot.values.push_back(*label);
}

// The first column has a value if it has a key behind offset `before`, where the example's keys begin.
float RecordEncoder::end_own_labels(Batch& batch) const {
  for (size_t s = label_slot_; s < label_slot_ + label_columns_.size(); ++s) end_ids(batch.slots[s]);
  const SlotData& first = batch.slots[label_slot_];
  const size_t before = first.offsets[first.offsets.size() - 2];
  if (first.keys.size() == before) return 0;
  return first.valued() ? first.values.back() : 1;
}

void RecordEncoder::put_label(std::string_view word, SlotData& slot) const {
  if (word.empty()) return;
  const std::optional<uint64_t> found = classes_.empty() ? parse_uint(word) : find_class(word);
  if (found) return slot.keys.push_back(*found);
  if (ignores_label_) return;
  fail(Code::kData, "label ", quote(word),
       classes_.empty() ? std::string(" is no class") : cat(" is none of ", join(csv_.classes, ", ")));
}

void RecordEncoder::put_weight(std::string_view field, Batch& batch) const {
  const float weight = parse_number(field, csv_.weight);
  if (weight < 0) fail(Code::kData, "weight ", quote(field), " is negative");
  batch.weights.push_back(weight);
}

// Reads a number; returns false if the field has no value, also where its word for that is a number, such as -999.
bool RecordEncoder::read_number(std::string_view field, const Column& column, float& value) const {
  if (missing_.contain(field)) return false;
  value = parse_number(field, column.options.name);
  return true;
}

void RecordEncoder::put_number(std::string_view field, const Column& column, SlotData& slot) const {
  float value = 0;
  if (!read_number(field, column, value)) return put_missing_number(column, slot);
  const float scaled = column.scaled(value);
  if (!std::isfinite(scaled)) column.fail_scaled(field);
  slot.values.push_back(scaled);
  if (column.indicates_missing) slot.values.push_back(0.0f);
}

void RecordEncoder::put_missing_number(const Column& column, SlotData& slot) {
  slot.values.push_back(0.0f);
  if (column.indicates_missing) slot.values.push_back(1.0f);
}

void RecordEncoder::put_ids(std::string_view field, FieldKind kind, const Column& column,
                            SlotData& slot) const {
  if (kind == FieldKind::kBins) {
    float value = 0;
    if (!read_number(field, column, value)) return put_missing_id(column, slot);
    slot.keys.push_back(column.bin(value));
  } else if (missing_.contain(field)) {
    return put_missing_id(column, slot);
  } else if (kind == FieldKind::kWord) {
    slot.keys.push_back(column.word(field));
  } else if (kind == FieldKind::kWholeText) {
    add_text_features(column.options, field, column.seed, /*blanks=*/false, slot.keys);
  } else {
    put_words(field, column, slot);
  }
  end_ids(slot);
}

[[gnu::noinline]] void RecordEncoder::put_words(std::string_view field, const Column& column,
                                                SlotData& slot) {
  while (!field.empty()) {
    const size_t size = std::min(field.find(column.options.separator[0]), field.size());
    if (size > 0) slot.keys.push_back(column.word(field.substr(0, size)));
    field.remove_prefix(std::min(size + 1, field.size()));
  }
}

void RecordEncoder::put_missing_id(const Column& column, SlotData& slot) {
  if (column.indicates_missing) slot.keys.push_back(column.missing());
  end_ids(slot);
}

void RecordEncoder::add_list(std::span<const std::string_view> fields, const FieldUse& use,
                             Batch& batch) const {
  // An empty list is a missing value of every kind of column, also of those that take no lists.
  if (fields.empty()) return add_missing(use, batch);
  if (use.kind == FieldKind::kLabelColumn && own_labels_)
    fail(Code::kData, "label column ", quote(csv_.labels[use.column]), " takes one value, found a list");
  if (use.kind == FieldKind::kLabelColumn) {
    for (std::string_view field : fields) put_label_column_word(field, use, batch);
    return;
  }
  if (use.kind == FieldKind::kLabels) {
    for (std::string_view field : fields) put_label(field, batch.slots[use.slot]);
    return end_ids(batch.slots[use.slot]);
  }
  if (use.kind != FieldKind::kWords && use.kind != FieldKind::kWholeText) fail_list(use);
  const Column& column = columns_[use.column];
  SlotData& slot = batch.slots[use.slot];
  for (std::string_view field : fields) {
    if (use.kind == FieldKind::kWholeText) {
      add_text_features(column.options, field, column.seed, /*blanks=*/false, slot.keys);
    } else if (!field.empty()) {
      slot.keys.push_back(column.word(field));
    }
  }
  end_ids(slot);
}

void RecordEncoder::fail_list(const FieldUse& use) const {
  const bool is_slot = use.kind != FieldKind::kWeight && use.kind != FieldKind::kGroup;
  const std::string& name = is_slot                          ? columns_[use.column].options.name
                            : use.kind == FieldKind::kWeight ? csv_.weight
                                                             : csv_.group;
  fail(Code::kData, "column ", quote(name), " takes one value, found a list",
       is_slot ? ": a column of type categories takes several words" : "");
}

// Each kind appends as much to its arrays as add() would, or ends its slot, so that all slots keep the same
// number of examples.  Label columns append nothing, as their slots end with the example.
void RecordEncoder::add_missing(const FieldUse& use, Batch& batch) const {
  switch (use.kind) {
    case FieldKind::kIgnored:
    case FieldKind::kLabel:
    case FieldKind::kLabelColumn:
      break;
    case FieldKind::kLabels:
      end_ids(batch.slots[use.slot]);
      break;
    case FieldKind::kWeight:
      fail(Code::kData, "the weight, column ", quote(csv_.weight), ", is missing");
    case FieldKind::kGroup:
      fail(Code::kData, "the group, column ", quote(csv_.group), ", is missing");
    case FieldKind::kNumber:
      put_missing_number(columns_[use.column], batch.slots[use.slot]);
      break;
    case FieldKind::kNumberAndBin:
      put_missing_number(columns_[use.column], batch.slots[use.slot]);
      put_missing_id(columns_[use.column], batch.slots[use.slot + 1]);
      break;
    default:
      put_missing_id(columns_[use.column], batch.slots[use.slot]);
  }
}

}  // namespace ps
