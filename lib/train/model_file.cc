#include "train/model_file.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"

namespace ps {

namespace {

constexpr int64_t kBufferFloats = 1 << 20;  // what is in memory at once of a table that is saved or loaded

int64_t rows_at_once(int64_t cols) {
  return std::max<int64_t>(1, kBufferFloats / cols);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += cat(i > 0 ? ", " : "", shape[i]);
  return out + "]";
}

void write_rows(SafetensorsWriter& writer, ParameterStore& store, int parameter, int64_t cols,
                std::span<const uint64_t> keys) {
  std::vector<float> buffer;
  for (size_t begin = 0; begin < keys.size();) {
    size_t count = std::min(keys.size() - begin, static_cast<size_t>(rows_at_once(cols)));
    buffer.resize(count * static_cast<size_t>(cols));
    store.read_rows(parameter, keys.subspan(begin, count), buffer.data());
    writer.write_array<float>(buffer);
    begin += count;
  }
}

void check_shape(const SafetensorsReader& model, const TensorInfo& tensor, const std::string& dtype,
                 const std::vector<int64_t>& shape) {
  if (tensor.dtype == dtype && tensor.shape == shape) return;
  fail(Code::kUsage, model.path(), ": ", quote(tensor.name), " is ", tensor.dtype, " ",
       shape_text(tensor.shape), ", the job expects ", dtype, " ", shape_text(shape));
}

// Calls take(keys, rows) for pieces of a sparse tensor pair, or of a whole matrix whose row numbers are the
// keys.
template <class Take>
void each_rows(const SafetensorsReader& model, const ParameterSpec& spec, Take&& take) {
  const TensorInfo* keys = model.find(spec.name + ".keys");
  const TensorInfo* rows = model.find(keys ? spec.name + ".rows" : spec.name);
  if (rows == nullptr) fail(Code::kUsage, model.path(), ": no parameter ", quote(spec.name));
  int64_t count = keys ? keys->elements() : spec.rows;
  if (keys) check_shape(model, *keys, "U64", {count});
  check_shape(model, *rows, "F32", {count, spec.cols});
  int64_t step = rows_at_once(spec.cols);
  std::vector<uint64_t> key_buffer;
  std::vector<float> row_buffer;
  for (int64_t begin = 0; begin < count; begin += step) {
    size_t size = static_cast<size_t>(std::min(step, count - begin));
    key_buffer.resize(size);
    row_buffer.resize(size * static_cast<size_t>(spec.cols));
    for (size_t i = 0; i < size; ++i) key_buffer[i] = static_cast<uint64_t>(begin) + i;
    if (keys) model.read<uint64_t>(*keys, begin, key_buffer);
    model.read<float>(*rows, begin * spec.cols, row_buffer);
    for (uint64_t key : key_buffer) {
      if (spec.rows == 0 || key < static_cast<uint64_t>(spec.rows)) continue;
      fail(Code::kUsage, model.path(), ": key ", key, " of ", quote(spec.name), " is outside the job's ",
           spec.rows);
    }
    take(key_buffer, row_buffer.data());
  }
}

void load_one(const SafetensorsReader& model, const ParameterSpec& spec, int parameter,
              ParameterStore& store) {
  if (spec.sparse) {
    each_rows(model, spec, [&](std::span<const uint64_t> keys, const float* rows) {
      store.load_rows(parameter, keys, rows);
    });
    return;
  }
  // Rows that a sparse model does not have keep the weights that the job starts with.
  std::vector<float> all(static_cast<size_t>(spec.rows * spec.cols));
  store.read_all(parameter, all.data());
  each_rows(model, spec, [&](std::span<const uint64_t> keys, const float* rows) {
    for (size_t i = 0; i < keys.size(); ++i) {
      std::copy_n(rows + static_cast<int64_t>(i) * spec.cols, spec.cols,
                  all.data() + static_cast<int64_t>(keys[i]) * spec.cols);
    }
  });
  store.load_all(parameter, all.data());
}

}  // namespace

std::string pass_directory(int pass) {
  char name[32];
  std::snprintf(name, sizeof name, "pass-%05d", pass);
  return name;
}

std::string model_file_path(const std::string& path) {
  return is_directory(path) ? join_path(path, "model.safetensors") : path;
}

void save_model(const std::string& path, const std::vector<ParameterSpec>& parameters, ParameterStore& store,
                const Metadata& metadata) {
  std::vector<std::vector<uint64_t>> keys(parameters.size());
  std::vector<TensorInfo> tensors;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (!parameters[p].sparse) continue;
    keys[p] = store.keys(static_cast<int>(p));
    tensors.push_back({parameters[p].name + ".keys", "U64", {static_cast<int64_t>(keys[p].size())}, 0, 0});
  }
  for (size_t p = 0; p < parameters.size(); ++p) {
    const ParameterSpec& spec = parameters[p];
    int64_t rows = spec.sparse ? static_cast<int64_t>(keys[p].size()) : spec.rows;
    tensors.push_back({spec.sparse ? spec.name + ".rows" : spec.name, "F32", {rows, spec.cols}, 0, 0});
  }
  SafetensorsWriter writer(path, tensors, metadata);
  for (const auto& table_keys : keys) writer.write_array<uint64_t>(table_keys);
  std::vector<float> whole;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const ParameterSpec& spec = parameters[p];
    if (spec.sparse) {
      write_rows(writer, store, static_cast<int>(p), spec.cols, keys[p]);
    } else {
      whole.resize(static_cast<size_t>(spec.rows * spec.cols));
      store.read_all(static_cast<int>(p), whole.data());
      writer.write_array<float>(whole);
    }
  }
  writer.commit();
}

void load_model(const std::string& path, const std::vector<ParameterSpec>& parameters,
                ParameterStore& store) {
  SafetensorsReader model(model_file_path(path));
  for (size_t p = 0; p < parameters.size(); ++p) load_one(model, parameters[p], static_cast<int>(p), store);
}

void load_parameter(const std::string& path, const std::vector<ParameterSpec>& parameters, size_t index,
                    ParameterStore& store) {
  SafetensorsReader model(model_file_path(path));
  load_one(model, parameters[index], static_cast<int>(index), store);
}

}  // namespace ps
