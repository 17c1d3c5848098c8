#include "train/model_file.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "checkpoint/model/model_format.h"
#include "train/stored_rows.h"

namespace ps {

namespace {

constexpr int64_t kBufferFloats = 1 << 20;  // floats of a table in memory at once while it is saved or loaded

int64_t rows_at_once(int64_t cols) {
  return std::max<int64_t>(1, kBufferFloats / cols);
}

void check_finite(const std::string& parameter, std::span<const float> rows, int64_t cols) {
  for (size_t begin = 0, row = 0; begin < rows.size(); begin += static_cast<size_t>(cols), ++row)
    check_finite_row(parameter, row, rows.subspan(begin, static_cast<size_t>(cols)));
}

// Writes the rows of these keys in pieces of rows_at_once rows, so that memory does not grow with the
// table.  `on_rows` is called after each piece, as saving may take minutes in which leases must be renewed.
void write_rows(SafetensorsWriter& writer, ParameterStore& store, int parameter, const std::string& name,
                int64_t cols, std::span<const uint64_t> keys, const std::function<void()>& on_rows) {
  std::vector<float> buffer;
  for (size_t begin = 0; begin < keys.size();) {
    size_t count = std::min(keys.size() - begin, static_cast<size_t>(rows_at_once(cols)));
    buffer.resize(count * static_cast<size_t>(cols));
    store.read_rows(parameter, keys.subspan(begin, count), buffer.data());
    check_finite_rows(name, keys.subspan(begin, count), buffer);
    writer.write_array<float>(buffer);
    on_rows();
    begin += count;
  }
}

// Calls take(keys, rows) for pieces of a sparse tensor pair, or of a whole matrix, whose keys are its row
// numbers.
template <class Take>
void each_rows(SafetensorsReader& model, const ParameterSpec& spec, Take&& take) {
  StoredRows stored(model, {spec.name, spec.rows, spec.cols});
  const int64_t step = rows_at_once(spec.cols);
  std::vector<uint64_t> keys;
  std::vector<float> rows;
  for (int64_t begin = 0; begin < stored.count(); begin += step) {
    const size_t size = static_cast<size_t>(std::min(step, stored.count() - begin));
    keys.resize(size);
    rows.resize(size * static_cast<size_t>(spec.cols));
    stored.read(begin, keys, rows);
    take(std::span<const uint64_t>(keys), rows.data());
  }
}

// Sets the rows that each(take) gives.  Rows of a dense parameter that are not given keep the weights with
// which the job starts.
template <class Each>
void load_one(const ParameterSpec& spec, int parameter, ParameterStore& store, Each&& each) {
  if (spec.sparse) {
    each([&](std::span<const uint64_t> keys, const float* rows) { store.load_rows(parameter, keys, rows); });
    return;
  }
  std::vector<float> all(static_cast<size_t>(spec.rows * spec.cols));
  store.read_all(parameter, all.data());
  each([&](std::span<const uint64_t> keys, const float* rows) {
    for (size_t i = 0; i < keys.size(); ++i) {
      std::copy_n(rows + static_cast<int64_t>(i) * spec.cols, spec.cols,
                  all.data() + static_cast<int64_t>(keys[i]) * spec.cols);
    }
  });
  store.load_all(parameter, all.data());
}

void load_stored(SafetensorsReader& model, const ParameterSpec& spec, int parameter, ParameterStore& store) {
  load_one(spec, parameter, store, [&](auto&& take) { each_rows(model, spec, take); });
}

// Returns the index of the parameter's table in a model, after checking its shape.
size_t find_table(const ModelSource& model, const ParameterSpec& spec) {
  for (size_t t = 0; t < model.tables().size(); ++t) {
    const ModelTable& table = model.tables()[t];
    if (table.name != spec.name) continue;
    const uint64_t bound = static_cast<uint64_t>(spec.rows);
    if (table.width == spec.cols && (bound == 0 || (table.rows > 0 && table.rows <= bound))) return t;
    fail(Code::kUsage, "the checkpoint's ", quote(spec.name), " is [", table.rows, ", ", table.width,
         "], the job expects [", spec.rows, ", ", spec.cols, "]");
  }
  fail(Code::kUsage, "the checkpoint has no parameter ", quote(spec.name));
}

}  // namespace

std::string pass_directory(int pass) {
  char name[32];
  std::snprintf(name, sizeof name, "pass-%05d", pass);
  return name;
}

std::string batch_directory(int pass, int64_t batches) {
  return cat(pass_directory(pass), "-batch-", batches);
}

std::string model_file_path(const std::string& path) {
  return is_directory(path) ? join_path(path, kModelFile) : path;
}

// First collects the keys of sparse parameters, which give the sizes of all tensors, then writes the tensors in
// the order of the header: keys first, then weights.
void save_model(const std::string& path, const std::vector<ParameterSpec>& parameters, ParameterStore& store,
                const Metadata& metadata, const std::function<void()>& on_rows) {
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
      write_rows(writer, store, static_cast<int>(p), spec.name, spec.cols, keys[p], on_rows);
    } else {
      whole.resize(static_cast<size_t>(spec.rows * spec.cols));
      store.read_all(static_cast<int>(p), whole.data());
      check_finite(spec.name, whole, spec.cols);
      writer.write_array<float>(whole);
    }
  }
  writer.commit();
}

void load_model(const std::string& path, const std::vector<ParameterSpec>& parameters,
                ParameterStore& store) {
  SafetensorsReader model(model_file_path(path));
  for (size_t p = 0; p < parameters.size(); ++p)
    load_stored(model, parameters[p], static_cast<int>(p), store);
}

void load_model(ModelSource& model, const std::vector<ParameterSpec>& parameters, ParameterStore& store) {
  for (size_t p = 0; p < parameters.size(); ++p) {
    const size_t table = find_table(model, parameters[p]);
    load_one(parameters[p], static_cast<int>(p), store, [&](auto&& take) {
      auto cursor = model.rows(table);
      while (const RowBlock* rows = cursor->next()) {
        check_finite_rows(parameters[p].name, rows->keys, rows->values);
        take(std::span(rows->keys), rows->values.data());
      }
    });
  }
}

void load_parameter(const std::string& path, const std::vector<ParameterSpec>& parameters, size_t index,
                    ParameterStore& store) {
  SafetensorsReader model(model_file_path(path));
  load_stored(model, parameters[index], static_cast<int>(index), store);
}

}  // namespace ps
