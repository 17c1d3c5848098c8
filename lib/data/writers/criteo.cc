// Criteo's tab-separated lines.  A batch has the slots that the format's reader makes:
//   "integers"     13 dense values, of which -0 stands for a missing one
//   "C1" to "C26"  one key each, or none when missing: column * 2^32 + token, written as eight hexadecimal
//   digits
// The reader hashes the digits, so its ids differ from these keys, but correspond to them one to one.
//
//   line = label { TAB [ integer ] } { TAB [ hex8 ] } (ps-data(5))
#include <cmath>

#include "base/error.h"
#include "data/criteo_columns.h"
#include "data/row_text.h"
#include "data/writer.h"

namespace ps {
namespace {

// Constant after construction: any thread may format.
class CriteoWriter : public Writer {
 public:
  using Writer::Writer;

  void format(const Batch& batch, std::string& out) const override {
    for (size_t b = 0; b < batch.labels.size(); ++b) {
      RowText row(out, kCriteoCategories, kCriteoIntegers + 1);
      row.add_float(batch.labels[b]);
      for (size_t c = 0; c < kCriteoIntegers; ++c)
        format_integer(batch.slots[0].values[b * kCriteoIntegers + c], row);
      for (size_t c = 1; c <= kCriteoCategories; ++c) format_category(batch.slots[c], b, row);
      row.add('\n');
    }
  }

 private:
  static void format_integer(float value, RowText& row) {
    row.add('\t');
    bool missing = value == 0 && std::signbit(value);
    if (!missing) row.add_int(static_cast<int64_t>(value));
  }

  static void format_category(const SlotData& slot, size_t b, RowText& row) {
    row.add('\t');
    bool missing = slot.offsets[b] == slot.offsets[b + 1];
    if (!missing) row.add_hex8(static_cast<uint32_t>(slot.keys[slot.offsets[b]]));
  }
};

void check_criteo(const DataTraits& traits) {
  if (traits.content != DataTraits::kCriteoSlots)
    fail(Code::kUsage, "format criteo holds its own 39 columns only");
}

std::unique_ptr<Writer> make_criteo(const DataTraits& traits) {
  return std::make_unique<CriteoWriter>(traits.schema);
}

}  // namespace

extern const WriterEntry kCriteoWriter = {
    "criteo",     "tab-separated: label, 13 integers, 26 categories of eight hexadecimal digits",
    false,        false,
    check_criteo, make_criteo};

}  // namespace ps
