// PaddlePaddle's MultiSlot format.  The label is the last slot.  PaddlePaddle's reader takes no empty sparse slots:
// for it such a slot is padded with id 0, unless the traits say that it stays empty, which our reader takes.
//
//   line = { count " " { value " " } } "1 " label (ps-data(5))
#include <string>

#include "base/error.h"
#include "data/row_text.h"
#include "data/writer.h"

namespace ps {
namespace {

// Constant after construction: any thread may format.
class MultislotWriter : public Writer {
 public:
  MultislotWriter(const DataSchema& schema, bool keeps_empty) : Writer(schema), keeps_empty_(keeps_empty) {}

  void format(const Batch& batch, std::string& out) const override {
    for (size_t b = 0; b < batch.labels.size(); ++b) {
      for (size_t s = 0; s < batch.slots.size(); ++s) {
        if (schema().slots[s].dense) {
          format_dense(batch.slots[s], b, static_cast<size_t>(schema().slots[s].dim), out);
        } else {
          format_sparse(batch.slots[s], b, schema().slots[s].name, out);
        }
      }
      RowText row(out, 0, 1);
      row.add("1 ");
      row.add_float(batch.labels[b]);
      row.add('\n');
    }
  }

 private:
  static void format_dense(const SlotData& slot, size_t b, size_t dim, std::string& out) {
    RowText row(out, 1, dim);
    row.add_uint(dim);
    row.add(' ');
    for (size_t i = 0; i < dim; ++i) {
      row.add_float(slot.values[b * dim + i]);
      row.add(' ');
    }
  }

  void format_sparse(const SlotData& slot, size_t b, const std::string& name, std::string& out) const {
    if (slot.valued())
      fail(Code::kUsage, "format multislot cannot hold values of ids, as in slot ", quote(name));
    size_t begin = slot.offsets[b], end = slot.offsets[b + 1];
    RowText row(out, end - begin + 1, 0);
    if (begin == end) return row.add(keeps_empty_ ? "0 " : "1 0 ");
    row.add_uint(end - begin);
    row.add(' ');
    for (size_t k = begin; k < end; ++k) {
      row.add_uint(slot.keys[k]);
      row.add(' ');
    }
  }

  const bool keeps_empty_;
};

void check_multislot(const DataTraits& traits) {
  if (traits.valued) fail(Code::kUsage, "format multislot cannot hold values of ids; use libsvm or records");
}

std::unique_ptr<Writer> make_multislot(const DataTraits& traits) {
  return std::make_unique<MultislotWriter>(traits.schema, traits.keeps_empty);
}

}  // namespace

extern const WriterEntry kMultislotWriter = {
    "multislot",     "lines 'count id … count id … 1 label' of PaddlePaddle's MultiSlot",
    false,           false,
    check_multislot, make_multislot};

}  // namespace ps
