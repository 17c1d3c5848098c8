// PaddlePaddle's MultiSlot text (MultiSlotDataFeed), with a schema from the job file.
//
//   line = slot { " " slot } [ blanks ]
//   slot = count { " " value }            count values: ids of a sparse slot, numbers of a dense one
//
// With data.labels false the line does not have the slot of the label.
#include <memory>

#include "data/feature_run.h"
#include "data/features.h"
#include "data/line_parser.h"
#include "data/scan.h"
#include "data/splitter.h"

namespace ps {

namespace {

bool is_gap(char c) {
  return c == ' ' || c == '\t';
}

// Constant once parsing begins: many threads share one parser.
class MultislotParser : public LineParser {
 public:
  // fields_ has an entry for each slot of a line, in the order of the job; slots_ those of the batch.  The
  // label is in the line but not among the slots: with multi_label it becomes the last slot of the batch,
  // else the label of the example, and without labels it is not in the line either.
  explicit MultislotParser(const ParserSetup& setup)
      : LineParser(setup), options_(setup.options.slots), label_(setup.options.label_index()) {
    for (size_t i = 0; i < options_.size(); ++i) {
      if (i == label_ && !setup.options.labelled()) continue;
      if (i == label_) {
        fields_.push_back(has_label_sets() ? Field{kSparse, setup.schema.slots.size() - 1, UINT64_MAX, i}
                                           : Field{.kind = kLabel, .option = i});
        continue;
      }
      const SlotSchema& slot = setup.schema.slots[slots_.size()];
      Key largest = slot.dim == 0 ? UINT64_MAX : static_cast<Key>(slot.dim) - 1;
      fields_.push_back({slot.dense ? kDense : kSparse, slots_.size(), largest, i});
      slots_.emplace_back(slot);
    }
    if (has_label_sets()) slots_.emplace_back(setup.schema.slots.back());
  }

 private:
  void parse_line(const char* p, const char* end, Batch& batch) const override {
    float label = 0;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field& field = fields_[i];
      bool plain = field.kind == kSparse ? scan_slot(p, field, batch.slots[field.slot])
                                         : field.kind == kLabel && scan_label(p, end, label);
      if (!plain) parse_field(p, end, field.option, batch, label);
    }
    skip_blanks(p);
    if (p != end) fail(Code::kData, quote(token_at(p, end)), " after the last slot");
    if (has_label_sets()) end_label_set(batch);
    batch.labels.push_back(label);
  }

  enum Kind { kSparse, kDense, kLabel };
  struct Field {
    Kind kind;
    size_t slot = 0;  // index of the slot in the batch
    Key largest = 0;  // largest id
    size_t option = 0;
  };

  // The fast path for the form that most sparse slots have: up to 9 ids of up to 8 digits, with one blank
  // before and after each number.  Returns false, with p unchanged, for any other form, which parse_field
  // then reads or refuses.
  static bool scan_slot(const char*& p, const Field& field, SlotData& slot) {
    const char* at = p + (*p == ' ');
    if (!is_digit(at[0]) || at[1] != ' ') return false;
    size_t before = slot.keys.size();
    const char* next = at + 1;
    for (int left = at[0] - '0'; left > 0; --left) {
      at = next + 1;
      uint64_t marks = scan_internal::mark_ends<false, '0' - 1>(at), digits = 0;
      if (marks != 0) digits = scan_internal::scan_word(at, marks, next);
      Key key = scan_internal::join_digits(digits);
      if (marks == 0 || scan_internal::other_bytes(digits) != 0 || *next != ' ' || key > field.largest) {
        slot.keys.resize(before);
        return false;
      }
      slot.keys.push_back(key);
    }
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    p = next;
    return true;
  }

  // The fast path for a label of one digit.
  static bool scan_label(const char*& p, const char* end, float& label) {
    const char* at = p + (*p == ' ');
    if (at[0] != '1' || at[1] != ' ' || !is_digit(at[2]) || !at_end(at + 3, end)) return false;
    label = static_cast<float>(at[2] - '0');
    p = at + 3;
    return true;
  }

  // Parses a field of any form.  Must not be inlined into the loop over fields, which it would slow down.
  [[gnu::noinline]] void parse_field(const char*& p, const char* end, size_t i, Batch& batch,
                                     float& label) const {
    uint64_t count = parse_count(p, end, i);
    if (i == label_ && !has_label_sets()) {
      parse_label(p, end, i, count, label);
    } else {
      parse_slot(p, end, i, count, batch);
    }
  }

  static void skip_blanks(const char*& p) {
    while (is_gap(*p)) ++p;
  }
  static bool at_end(const char* p, const char* end) { return p == end || is_gap(*p); }

  uint64_t parse_count(const char*& p, const char* end, size_t i) const {
    skip_blanks(p);
    if (p == end) fail(Code::kData, "the line ends before slot ", quote(options_[i].name));
    const char* begin = p;
    uint64_t count;
    if (!scan_uint(p, count) || !at_end(p, end)) {
      fail_number(Scan::kNotNumber, cat("count of slot ", quote(options_[i].name)), begin, end);
    }
    return count;
  }

  void next_value(const char*& p, const char* end, size_t i) const {
    skip_blanks(p);
    if (p == end) fail(Code::kData, "the line ends within slot ", quote(options_[i].name));
  }

  float parse_value(const char*& p, const char* end, size_t i) const {
    next_value(p, end, i);
    const char* begin = p;
    float value = 0;
    Scan found = scan_float(p, value);
    if (found != Scan::kNumber || !at_end(p, end)) {
      fail_number(found, "value", begin, end, cat(" of slot ", quote(options_[i].name)));
    }
    return value;
  }

  void parse_label(const char*& p, const char* end, size_t i, uint64_t count, float& label) const {
    if (count != 1)
      fail(Code::kData, "slot ", quote(options_[i].name), " is the label and has ", count,
           " values, expected 1");
    label = parse_value(p, end, i);
  }

  // Parses the values of a slot.  Its index s in the batch is one lower than that in the line if it stands
  // behind the label.  Ids are parsed in runs; an id that ends a run because it is not plain is parsed for
  // itself, and named if it is no good.
  void parse_slot(const char*& p, const char* end, size_t i, uint64_t count, Batch& batch) const {
    const size_t s = i == label_ ? slots_.size() - 1 : i < label_ ? i : i - 1;
    SlotData& slot = batch.slots[s];
    if (!schema_.slots[s].dense) {
      for (uint64_t n = 0; n < count; ++n) {
        n += parse_ids(p, count - n, slots_[s], slot);
        if (n < count) slots_[s].add(slot, parse_id(p, end, i));
      }
      return slots_[s].end(slot);
    }
    if (count != static_cast<uint64_t>(schema_.slots[s].dim)) {
      fail(Code::kData, "slot ", quote(options_[i].name), " has ", count, " values, expected ",
           schema_.slots[s].dim);
    }
    for (uint64_t n = 0; n < count; ++n) slot.values.push_back(parse_value(p, end, i));
  }

  // Parses ids that are followed by one blank each, up to the first that is not plain or is refused.  Returns
  // how many it has parsed.
  static uint64_t parse_ids(const char*& p, uint64_t most, const FeatureSlot& slot_of, SlotData& slot) {
    FeatureRun run;
    const char* begin = p;
    if (is_gap(*p)) ++p;
    scan_ids<' '>(p, most, run);
    if (run.size > 0 && slot_of.add_run(slot, run)) return run.size;
    p = begin;
    return 0;
  }

  Key parse_id(const char*& p, const char* end, size_t i) const {
    next_value(p, end, i);
    const char* begin = p;
    Key key;
    if (!scan_uint(p, key) || !at_end(p, end)) {
      fail_number(Scan::kNotNumber, "id", begin, end, cat(" of slot ", quote(options_[i].name)));
    }
    return key;
  }

  const std::vector<SlotOptions> options_;
  const size_t label_;
  std::vector<Field> fields_;       // the fields of a line, in order
  std::vector<FeatureSlot> slots_;  // the slots of the batch
};

DataSchema schema_multislot(const DataOptions& data, std::string_view) {
  if (data.slots.size() < 2) {
    fail(Code::kUsage, "data.slots: format 'multislot' needs the slots of a line, the label among them");
  }
  return data.listed_slots();
}

}  // namespace

extern const FormatEntry kMultislot;
const FormatEntry kMultislot = {
    {"multislot", "count value ... count value ..., as data.slots says", no_own_keys},
    false,
    false,
    [](std::string_view, const DataOptions& data) { return !data.slots.empty(); },
    schema_multislot,
    split_lines,
    make_parser<MultislotParser>,
    false,
    true,
};

}  // namespace ps
