// libsvm's format, with ids that begin at zero.  Several sparse slots of disjoint ids are written one after
// the other.  In a dense slot, value i has id i, and zeros are left out.
//
//   line = label [ ":" weight ] [ " qid:" group ] { " " id ":" value } (ps-data(5))
#include "base/error.h"
#include "data/row_text.h"
#include "data/writer.h"

namespace ps {
namespace {

// Constant after construction: any thread may format.
class LibsvmWriter : public Writer {
 public:
  using Writer::Writer;

  void format(const Batch& batch, std::string& out) const override {
    for (size_t b = 0; b < batch.labels.size(); ++b) {
      format_head(batch, b, out);
      for (size_t s = 0; s < batch.slots.size(); ++s) {
        if (schema().slots[s].dense) {
          format_dense(batch.slots[s], b, static_cast<size_t>(schema().slots[s].dim), out);
        } else if (batch.slots[s].valued()) {
          format_valued(batch.slots[s], b, out);
        } else {
          format_binary(batch.slots[s], b, out);
        }
      }
      out += '\n';
    }
  }

 private:
  static void format_head(const Batch& batch, size_t b, std::string& out) {
    RowText row(out, 1, 2);
    row.add_float(batch.labels[b]);
    if (!batch.weights.empty()) {
      row.add(':');
      row.add_float(batch.weights[b]);
    }
    if (!batch.groups.empty()) {
      row.add(" qid:");
      row.add_uint(batch.groups[b]);
    }
  }

  static void format_binary(const SlotData& slot, size_t b, std::string& out) {
    RowText row(out, row_keys(slot, b).size(), 0);
    row.add_ids<' ', ':'>(row_keys(slot, b));
  }

  static void format_valued(const SlotData& slot, size_t b, std::string& out) {
    size_t keys = slot.offsets[b + 1] - slot.offsets[b];
    RowText row(out, keys, keys);
    for (size_t k = slot.offsets[b]; k < slot.offsets[b + 1]; ++k) {
      row.add(' ');
      row.add_uint(slot.keys[k]);
      row.add(':');
      row.add_float(slot.values[k]);
    }
  }

  static void format_dense(const SlotData& slot, size_t b, size_t dim, std::string& out) {
    RowText row(out, dim, dim);
    for (size_t i = 0; i < dim; ++i) {
      float value = slot.values[b * dim + i];
      if (value == 0) continue;
      row.add(' ');
      row.add_uint(i);
      row.add(':');
      row.add_float(value);
    }
  }
};

void check_libsvm(const DataTraits& traits) {
  if (traits.schema.slots.size() > 1) expect_sparse_features(traits, "libsvm, beside another slot,");
}

std::unique_ptr<Writer> make_libsvm(const DataTraits& traits) {
  return std::make_unique<LibsvmWriter>(traits.schema);
}

}  // namespace

extern const WriterEntry kLibsvmWriter = {
    "libsvm",   "lines 'label id:value …', ids ascending and zero-based", false, true, check_libsvm,
    make_libsvm};

}  // namespace ps
