// PaddlePaddle's formats of the sparse_train demos.  Several slots of disjoint ids are written one after the
// other.
//
//   paddle_sparse_binary: line = "0," label { "," id " 1" }
//   paddle_sparse_float:  line = label { "," id " " value }      (ps-data(5))
// Numbers have six decimals, as in the demo, or more where six would read back as another float.
#include <cmath>

#include "base/error.h"
#include "data/row_text.h"
#include "data/writer.h"

namespace ps {
namespace {

constexpr float kMostLabel = 16777216;  // up to it, floats hold each whole number

size_t count_keys(const Batch& batch, size_t example) {
  size_t keys = 0;
  for (const SlotData& slot : batch.slots) keys += slot.offsets[example + 1] - slot.offsets[example];
  return keys;
}

// Constant after construction: any thread may format.
class BinaryWriter : public Writer {
 public:
  using Writer::Writer;

  void format(const Batch& batch, std::string& out) const override {
    for (const SlotData& slot : batch.slots) {
      if (slot.valued()) fail(Code::kUsage, "format paddle_sparse_binary cannot hold values");
    }
    for (size_t b = 0; b < batch.labels.size(); ++b) format_row(batch, b, out);
  }

 private:
  static void format_row(const Batch& batch, size_t b, std::string& out) {
    const float label = batch.labels[b];
    if (!(label >= 0 && label <= kMostLabel && label == std::trunc(label))) {
      fail(Code::kUsage, "format paddle_sparse_binary holds whole labels from 0 to ", kMostLabel,
           ", and not ", label, "; use libsvm, multislot or records");
    }
    RowText row(out, count_keys(batch, b), 1);
    row.add("0,");
    row.add_float(label);
    for (const SlotData& slot : batch.slots) row.add_ids<',', ' '>(row_keys(slot, b));
    row.add('\n');
  }
};

// Constant after construction: any thread may format.
class FloatWriter : public Writer {
 public:
  using Writer::Writer;

  void format(const Batch& batch, std::string& out) const override {
    for (size_t b = 0; b < batch.labels.size(); ++b) format_row(batch, b, out);
  }

 private:
  static void format_row(const Batch& batch, size_t b, std::string& out) {
    size_t keys = count_keys(batch, b);
    RowText row(out, keys, keys + 1);
    add_number(batch.labels[b], row);
    for (const SlotData& slot : batch.slots) {
      for (size_t k = slot.offsets[b]; k < slot.offsets[b + 1]; ++k) {
        row.add(',');
        row.add_uint(slot.keys[k]);
        row.add(' ');
        add_number(slot.valued() ? slot.values[k] : 1.0f, row);
      }
    }
    row.add('\n');
  }

  static void add_number(float value, RowText& row) {
    const double six_decimals = std::nearbyint(static_cast<double>(value) * 1e6) / 1e6;
    static_cast<float>(six_decimals) == value ? row.add_fixed6(value) : row.add_float(value);
  }
};

void check_binary(const DataTraits& traits) {
  expect_sparse_features(traits, "paddle_sparse_binary");
  if (traits.valued)
    fail(Code::kUsage, "format paddle_sparse_binary cannot hold values; use libsvm or records");
}

void check_float(const DataTraits& traits) {
  expect_sparse_features(traits, "paddle_sparse_float");
}

std::unique_ptr<Writer> make_binary(const DataTraits& traits) {
  return std::make_unique<BinaryWriter>(traits.schema);
}
std::unique_ptr<Writer> make_float(const DataTraits& traits) {
  return std::make_unique<FloatWriter>(traits.schema);
}

}  // namespace

extern const WriterEntry kPaddleSparseBinaryWriter = {
    "paddle_sparse_binary",
    "lines '0,label,id 1,id 1,…' of PaddlePaddle's sparse_binary demo",
    false,
    false,
    check_binary,
    make_binary};

extern const WriterEntry kPaddleSparseFloatWriter = {
    "paddle_sparse_float",
    "lines 'label,id value,…' of PaddlePaddle's sparse_vector demo",
    false,
    false,
    check_float,
    make_float};

}  // namespace ps
