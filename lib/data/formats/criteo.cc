// The tab-separated lines of the Criteo display advertising challenge.
//
//   line = [ label TAB ] integer{13} category{26}, TAB between fields; an empty field is missing
//
// Slots: "integers", 13 dense values, missing ones 0; "C1" to "C26", each with one id, or none when missing.
// An id is a hash of (column, bytes of the category).
#include <algorithm>
#include <charconv>
#include <memory>

#include "base/hash.h"
#include "data/line_parser.h"
#include "data/scan.h"
#include "data/splitter.h"

namespace ps {

namespace {

constexpr int kIntegers = 13, kCategories = 26;

std::ptrdiff_t columns(std::string_view line) {
  return std::count(line.begin(), line.end(), '\t') + 1;
}

class CriteoParser : public LineParser {
 public:
  explicit CriteoParser(const ParserSetup& setup)
      : LineParser(setup),
        dim_(static_cast<Key>(setup.schema.slots.back().dim)),
        labelled_(columns(first_line(setup.head)) != kIntegers + kCategories) {}

 private:
  void parse_line(const char* p, const char* end, Batch& batch) const override {
    std::ptrdiff_t found = columns({p, static_cast<size_t>(end - p)}),
                   expected = kIntegers + kCategories + labelled_;
    if (found != expected) fail(Code::kData, "found ", found, " columns, expected ", expected);
    float label = labelled_ ? parse_label(next_field(p, end)) : 0.0f;
    for (int i = 0; i < kIntegers; ++i) batch.slots[0].values.push_back(parse_integer(next_field(p, end), i));
    for (int i = 0; i < kCategories; ++i)
      put_category(next_field(p, end), i, batch.slots[static_cast<size_t>(i) + 1]);
    batch.labels.push_back(label);
  }

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
    if (!field.empty()) {
      Key key = hash_bytes(field, static_cast<uint64_t>(i) + 1);
      slot.keys.push_back(dim_ == 0 ? key : key % dim_);
    }
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
  }

  const Key dim_;
  const bool labelled_;
};

DataSchema schema(const DataOptions& data, std::string_view) {
  DataSchema schema{{SlotSchema{"integers", true, kIntegers}}};
  for (int i = 1; i <= kCategories; ++i) schema.slots.push_back({cat("C", i), false, data.dim});
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
      return found == kIntegers + kCategories || found == kIntegers + kCategories + 1;
    },
    schema,
    split_lines,
    make_parser<CriteoParser>,
};

}  // namespace ps
