// safetensors, ps-model(5): keys first, then numbers of 4 bytes, then narrower ones, so that all are aligned.
#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "checkpoint/model/model_format.h"
#include "checkpoint/model/numbers.h"
#include "checkpoint/safetensors.h"

namespace ps {

namespace {

const char* tensor_type(NumberType type) {
  switch (type) {
    case NumberType::kF32:
      return "F32";
    case NumberType::kF16:
      return "F16";
    case NumberType::kBf16:
      return "BF16";
    case NumberType::kI8:
      return "I8";
  }
  return "";
}

// A tensor, and the function that writes its bytes.
struct Tensor {
  TensorInfo info;
  int alignment;
  std::function<void(ByteSink&)> write;
};

// Adds a tensor for each of the counts of a table's rows, as wide as their type.
void add_counts(ModelSource& source, size_t t, std::vector<Tensor>& all) {
  const ModelTable& table = source.tables()[t];
  for (size_t array = 0; array < std::size(kCountArrays); ++array) {
    const CountArray& counts = kCountArrays[array];
    all.push_back(
        {{table.name + counts.suffix, counts.tensor_type, {static_cast<int64_t>(table.count)}, 0, 0},
         counts.bytes,
         [&source, t, array](ByteSink& out) { write_table_counts(source, t, array, out); }});
  }
}

// Lists the tensors of all tables, each with a function that writes its bytes, and sorts them by the width
// of their numbers, the widest first.  The sort is stable, so that tensors of one width are in the order of
// the tables.
std::vector<Tensor> tensors_of(ModelSource& source, const ModelSettings& settings) {
  const NumberType type = settings.type;
  std::vector<Tensor> all;
  for (size_t t = 0; t < source.tables().size(); ++t) {
    const ModelTable& table = source.tables()[t];
    const int64_t count = static_cast<int64_t>(table.count);
    const std::string rows = table.whole() ? table.name : table.name + ".rows";
    if (!table.whole()) {
      all.push_back({{table.name + ".keys", "U64", {count}, 0, 0}, 8, [&source, t](ByteSink& out) {
                       write_table_keys(source, t, out);
                     }});
    }
    if (type == NumberType::kI8) {
      all.push_back({{table.name + ".scales", "F32", {count}, 0, 0}, 4, [&source, t](ByteSink& out) {
                       write_table_scales(source, t, out);
                     }});
    }
    if (settings.counts && table.counted) add_counts(source, t, all);
    for (int array = 0; array <= table.state_arrays; ++array) {
      const NumberType stored = array == 0 ? type : NumberType::kF32;
      const std::string name = array == 0 ? rows : cat(table.name, ".state.", array - 1);
      all.push_back(
          {{name, tensor_type(stored), {count, table.width}, 0, 0},
           bytes_of(stored),
           [&source, t, array, type](ByteSink& out) { write_table_array(source, t, array, type, out); }});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Tensor& a, const Tensor& b) { return a.alignment > b.alignment; });
  return all;
}

// Computes the checksums of the bytes that it passes on.
class Summed final : public ByteSink {
 public:
  explicit Summed(SafetensorsHeader& header) : header_(header) {}
  void pass_on(ByteSink& out) { out_ = &out; }
  void write(std::string_view bytes) override {
    header_.add(bytes);
    if (out_ != nullptr) out_->write(bytes);
  }

 private:
  SafetensorsHeader& header_;
  ByteSink* out_ = nullptr;  // null: bytes are dropped
};

// Checksums stand before the bytes that they cover.  In a file they are filled in at the end; for a pipe,
// whose bytes cannot be replaced, a first pass over the model computes them.
void write_safetensors(ModelSource& source, const ModelSettings& settings, ByteSink& out) {
  const std::vector<Tensor> tensors = tensors_of(source, settings);
  std::vector<TensorInfo> infos;
  for (const Tensor& tensor : tensors) infos.push_back(tensor.info);
  SafetensorsHeader header(std::move(infos), source.metadata());
  Summed summed(header);
  if (!out.can_replace_head()) {
    for (const Tensor& tensor : tensors) tensor.write(summed);
    out.write(header.text());
    for (const Tensor& tensor : tensors) tensor.write(out);
    return;
  }
  out.write(header.text());
  summed.pass_on(out);
  for (const Tensor& tensor : tensors) tensor.write(summed);
  out.replace_head(header.text());
}

}  // namespace

constinit const ModelFormat kSafetensorsModel = {
    .name = "safetensors",
    .help = "tensors by name, as ps-train saves them and --init-model reads them",
    .binary = true,
    .other_types = true,
    .holds_state = true,
    .holds_counts = true,
    .write = write_safetensors};

}  // namespace ps
