// The tab-separated lines of the Criteo display advertising challenge.
//
//   line = [ label TAB ] integer{13} category{26}, TAB between fields; an empty field is missing, and fields at the end
//          of a line that are all missing may be left out with their tabs
//
// Slots: "integers", 13 dense values, missing ones 0; "C1" to "C26", each with one id, or none when missing.
// An id is a hash of (column, bytes of the category).
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/hash.h"
#include "base/hash_words.h"
#include "data/criteo_columns.h"
#include "data/line_parser.h"
#include "data/scan.h"
#include "data/splitter.h"

namespace ps {

namespace {

std::ptrdiff_t columns(std::string_view line) {
  return std::count(line.begin(), line.end(), '\t') + 1;
}

// The offsets at which the fields of a line begin, and one past the tab or end after the last field: field i
// is [starts[i], starts[i + 1] - 1).
struct Fields {
  static constexpr size_t kMost = kCriteoIntegers + kCriteoCategories + 1;
  static constexpr size_t kTogether = 64;  // bytes looked at in one go

  size_t size = 0;
  std::array<uint32_t, kMost + 1 + kTogether> starts;

  size_t length(size_t i) const { return starts[i + 1] - starts[i] - 1; }
};

// Returns a mask of 8 bits; bit i is set if p[i] is a tab.  The product moves the mark of byte i to
// bit 56 + i.
uint64_t tab_bits(const char* p) {
  constexpr uint64_t kEach = 0x0101010101010101u, kLow = kEach * 0x7f;
  uint64_t others;
  std::memcpy(&others, p, 8);
  others ^= kEach * '\t';
  uint64_t tabs = ~(((others & kLow) + kLow) | others | kLow);  // the high bits of bytes that are zero
  return (tabs >> 7) * 0x0102040810204080u >> 56;
}

// Finds the tabs of a line, 64 bytes at a time.  Returns false when there are more fields than the format
// allows.
// Bit i of `tabs` is set if byte at + i is a tab; bytes behind the line are masked off.  The number of
// fields is compared after each 64 bytes only, and `starts` has room for as many beyond the limit.
bool find_fields(const char* p, const char* end, Fields& fields) {
  size_t size = static_cast<size_t>(end - p), found = 1;
  fields.starts[0] = 0;
  for (size_t at = 0; at < size; at += Fields::kTogether) {
    size_t part = std::min(size - at, Fields::kTogether);
    uint64_t tabs = 0;
    for (size_t i = 0; i < part; i += 8) tabs |= tab_bits(p + at + i) << i;
    if (part < Fields::kTogether) tabs &= (uint64_t{1} << part) - 1;
    for (; tabs != 0; tabs &= tabs - 1)
      fields.starts[found++] = static_cast<uint32_t>(at) + static_cast<uint32_t>(std::countr_zero(tabs)) + 1;
    if (found > Fields::kMost) return false;
  }
  fields.size = found;
  fields.starts[found] = static_cast<uint32_t>(size) + 1;
  return true;
}

// Reads a field with an integer of up to 7 digits; an empty field is 0.  Returns false when it has another
// form.
bool plain_integer(const char* p, size_t size, float& value) {
  uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  bool negative = *p == '-';
  size_t digits = size - negative;
  // Shifts the last digit into the highest byte; in two steps, since a shift by 64 bits, for an empty field,
  // is undefined.
  bytes = ((bytes >> 8 * negative) ^ scan_internal::kZeros) << (56 - 8 * (digits & 7)) << 8;
  int32_t magnitude = static_cast<int32_t>(scan_internal::join_digits(bytes));
  value = static_cast<float>(negative ? -magnitude : magnitude);
  return digits <= 7 && (digits > 0) >= negative && scan_internal::other_bytes(bytes) == 0;
}

// Constant once parsing begins: many threads share one parser.
class CriteoParser : public LineParser {
 public:
  explicit CriteoParser(const ParserSetup& setup)
      : LineParser(setup),
        dim_(static_cast<Key>(setup.schema.slots.back().dim)),
        labelled_(setup.options.labels.value_or(columns(first_line(setup.head)) !=
                                                kCriteoIntegers + kCriteoCategories)),
        columns_(static_cast<size_t>(kCriteoIntegers + kCriteoCategories + labelled_)) {
    if (labelled_ || setup.options.label_use != LabelUse::kNeeded) return;
    fail(Code::kData, "the first line has ", kCriteoIntegers + kCriteoCategories,
         " columns, and so no label, which to train and to test takes (data.labels: true says that it has "
         "one, and a tab at its end was trimmed)");
  }

 private:
  void parse_line(const char* p, const char* end, Batch& batch) const override {
    if (!parse_plain(p, end, batch)) parse_any(p, end, batch);
  }

  // The fast path for the form that nearly all lines have: integers of up to 7 digits, categories of 8 bytes.
  // Returns false and appends nothing when the line has another form.
  // Nothing is appended until the whole line is known to be plain, so that a line of another form costs no
  // truncation.  `plain` is collected without branches.  keys[i] is first the 8 bytes of category i, which
  // hash_words replaces by their hash with seed 1 + i, as put_category computes it; an absent category's is
  // not used.
  bool parse_plain(const char* p, const char* end, Batch& batch) const {
    Fields fields;
    if (!find_fields(p, end, fields) || fields.size != columns_) return false;
    if (labelled_ && (fields.length(0) != 1 || (*p != '0' && *p != '1'))) return false;
    std::array<float, kCriteoIntegers> integers;
    std::array<uint64_t, kCriteoCategories> keys;
    bool plain = true;
    for (size_t i = 0, f = labelled_; i < kCriteoIntegers; ++i, ++f)
      plain &= plain_integer(p + fields.starts[f], fields.length(f), integers[i]);
    for (size_t i = 0, f = kCriteoIntegers + labelled_; i < kCriteoCategories; ++i, ++f) {
      std::memcpy(&keys[i], p + fields.starts[f], 8);
      plain &= (fields.length(f) & ~size_t{8}) == 0;
    }
    if (!plain) return false;
    hash_words(keys, 1);
    SlotData* slots = batch.slots.data();
    slots[0].values.insert(slots[0].values.end(), integers.begin(), integers.end());
    for (size_t i = 0; i < kCriteoCategories; ++i)
      put_key(fields.length(kCriteoIntegers + labelled_ + i) != 0, keys[i], slots[i + 1]);
    batch.labels.push_back(labelled_ && *p == '1' ? 1.0f : 0.0f);
    return true;
  }

  // Reads a line of any form, field by field, and names the field that is no good.  Fields that are left
  // out at the end are empty.
  void parse_any(const char* p, const char* end, Batch& batch) const {
    std::ptrdiff_t found = columns({p, static_cast<size_t>(end - p)}),
                   expected = kCriteoIntegers + kCriteoCategories + labelled_;
    if (found > expected) fail(Code::kData, "found ", found, " columns, expected ", expected);
    float label = labelled_ ? parse_label(next_field(p, end)) : 0.0f;
    for (int i = 0; i < kCriteoIntegers; ++i)
      batch.slots[0].values.push_back(parse_integer(next_field(p, end), i));
    for (int i = 0; i < kCriteoCategories; ++i)
      put_category(next_field(p, end), i, batch.slots[static_cast<size_t>(i) + 1]);
    batch.labels.push_back(label);
  }

  // Returns the next field; behind the last one, all fields are empty.
  static std::string_view next_field(const char*& p, const char* end) {
    const char* tab = std::find(p, end, '\t');
    std::string_view field(p, static_cast<size_t>(tab - p));
    p = tab == end ? end : tab + 1;
    return field;
  }

  static float parse_label(std::string_view field) {
    if (field != "0" && field != "1") fail(Code::kData, "label ", quote(field), " is not 0 or 1");
    return field == "1" ? 1.0f : 0.0f;
  }

  static float parse_integer(std::string_view field, int i) {
    if (field.empty()) return 0;
    int64_t value = 0;
    auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || stop != field.data() + field.size()) {
      fail(Code::kData, "integer ", quote(field), " of column I", i + 1, " is not a whole number");
    }
    return static_cast<float>(value);
  }

  void put_category(std::string_view field, int i, SlotData& slot) const {
    put_key(!field.empty(), hash_bytes(field, static_cast<uint64_t>(i) + 1), slot);
  }

  void put_key(bool present, Key key, SlotData& slot) const {
    if (present) slot.keys.push_back(dim_ == 0 ? key : key % dim_);
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
  }

  const Key dim_;
  const bool labelled_;
  const size_t columns_;
};

DataSchema schema_criteo(const DataOptions& data, std::string_view) {
  DataSchema schema{{SlotSchema{"integers", true, kCriteoIntegers}}};
  for (int i = 1; i <= kCriteoCategories; ++i) schema.slots.push_back({cat("C", i), false, data.dim});
  return schema;
}

}  // namespace

extern const FormatEntry kCriteo;
const FormatEntry kCriteo = {
    {"criteo", "label, 13 integers, 26 categories, between tabs", no_own_keys},
    true,
    false,
    [](std::string_view line, const DataOptions&) {
      std::ptrdiff_t found = columns(line);
      return found == kCriteoIntegers + kCriteoCategories || found == kCriteoIntegers + kCriteoCategories + 1;
    },
    schema_criteo,
    split_lines,
    make_parser<CriteoParser>,
};

}  // namespace ps
