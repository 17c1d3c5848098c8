#include "ps/server/shard_tables.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "base/radix_sort.h"
#include "math/finite.h"
#include "ps/wire/stored_rows.h"
#include "table/row_copies.h"
#include "table/row_policy_state.h"

namespace ps {

namespace {

[[noreturn]] void fail_key(const ParameterSpec& spec, uint64_t key) {
  fail(Code::kData, quote(spec.name), ": key ", key, " is not of this shard");
}

}  // namespace

ShardTables::ShardTables(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers,
                         const ShardPlace& place, const SpillSettings& spill, uint64_t array_bytes)
    : device_(1, optimizers.cpu),
      tables_(std::move(specs), optimizers, {place, spill, array_bytes}, device_) {
  for (size_t p = 0; p < size(); ++p) widths_.push_back(tables_.spec(p).cols);
}

ShardTables::~ShardTables() = default;

// ---- checks

void ShardTables::check(std::span<const RowSlice> slices) const {
  uint64_t rows = 0, bytes = 0;
  for (const RowSlice& slice : slices) {
    check(slice);
    rows += slice.rows();
    bytes += bytes_of(slice, RowType::kF32);
    check_size(rows, bytes);
  }
}

// The rows and bytes are those of all slices of a message up to one.
void ShardTables::check_size(uint64_t rows, uint64_t bytes) {
  if (bytes <= kMostRowBytes || rows == 1) return;
  fail(Code::kData, "the rows of a message take more than ", human_bytes(kMostRowBytes));
}

void ShardTables::check_gradients(std::span<const RowSlice> slices) const {
  check(slices);
  for (const RowSlice& slice : slices) {
    const ParameterSpec& spec = tables_.spec(slice.parameter);
    const bool counted = slice.counts.size() == slice.keys.size();  // both are empty in other slices
    if (slice.by_keys != (spec.kind == ParameterKind::kRows)) {
      fail(Code::kData, "a gradient of ", quote(spec.name), " comes by keys");
    }
    if (spec.by_trainers)
      fail(Code::kData, "trainers move ", quote(spec.name), ", and push no gradient of it");
    if (is_stored(slice)) fail(Code::kData, "a gradient of ", quote(spec.name), " is not of its state");
    if (counted != (spec.row_policy.has_value() || slice.keys.empty())) {
      fail(Code::kData, "a gradient of ", quote(spec.name), counted ? " takes no" : " needs",
           " counts of its keys");
    }
  }
}

void ShardTables::check_weights(std::span<const RowSlice> slices) const {
  check(slices);
  for (const RowSlice& slice : slices) {
    const ParameterSpec& spec = tables_.spec(slice.parameter);
    if (slice.by_keys && !spec.sparse) fail(Code::kData, quote(spec.name), " is loaded by numbers of rows");
    if (is_stored(slice) && !spec.by_trainers) fail(Code::kData, "the servers move ", quote(spec.name));
  }
}

void ShardTables::check(const RowSlice& slice) const {
  if (slice.parameter >= size()) fail(Code::kData, "no parameter ", slice.parameter);
  const ParameterSpec& spec = tables_.spec(slice.parameter);
  Table* table = tables_.table(slice.parameter);
  if (table == nullptr) fail(Code::kData, "this shard has nothing of ", quote(spec.name));
  const bool reachable = slice.by_keys ? spec.kind == ParameterKind::kRows : table->whole() != nullptr;
  if (!reachable) {
    fail(Code::kData, quote(spec.name), " is not reached by ", slice.by_keys ? "keys" : "numbers of rows");
  }
  if (slice.by_keys) return check_keys(slice);
  const uint64_t size = table->size();
  const uint64_t stored = static_cast<uint64_t>(table->whole()->num_stored_rows());
  const uint64_t rows = slice.first < size ? size : size + stored;  // that it may reach to
  if (slice.first > rows || slice.count > rows - slice.first) {
    fail(Code::kData, quote(spec.name), ": rows from ", slice.first, ", ", slice.count, " of them, of ",
         rows);
  }
}

// Keys ascend: the last one is the largest.
void ShardTables::check_keys(const RowSlice& slice) const {
  const ParameterSpec& spec = tables_.spec(slice.parameter);
  const bool known =
      spec.rows == 0 || slice.keys.empty() || slice.keys.back() < static_cast<uint64_t>(spec.rows);
  if (!known) fail_key(spec, slice.keys.back());
  if (const auto key = tables_.foreign_key(slice.parameter, slice.keys)) fail_key(spec, *key);
}

// ---- reading

uint64_t ShardTables::bytes_of(const RowSlice& slice, RowType type) const {
  return slice.rows() * encoded_row_bytes(type_of(slice, type), widths_[slice.parameter]);
}

uint64_t ShardTables::bytes_of(std::span<const RowSlice> slices, RowType type) const {
  uint64_t bytes = 0;
  for (const RowSlice& slice : slices) bytes += padded(bytes_of(slice, type));
  return bytes;
}

void ShardTables::read(std::span<const RowSlice> slices, PullMode mode, RowType type, char* out) {
  ++num_requests_;
  for (const RowSlice& slice : slices) out = read_slice(slice, mode, type, out);
}

PulledRows ShardTables::pull(std::span<const RowSlice> slices, RowType type, char* out) {
  ++num_requests_;
  PulledRows pulled(slices.size());
  for (size_t s = 0; s < slices.size(); ++s) {
    const Table& table = this->table(slices[s]);
    if (slices[s].by_keys && table.rows_stay()) {
      pulled[s].rows.resize(slices[s].keys.size());
      pulled[s].step = table.optimizer()->steps();
    }
    out = read_slice(slices[s], PullMode::kTrain, type, out, pulled[s].rows);
  }
  return pulled;
}

// Returns where the next slice's rows go.  rows, unless it is empty, <- the pointers to these.
char* ShardTables::read_slice(const RowSlice& slice, PullMode mode, RowType type, char* out,
                              std::span<float*> rows) {
  if (type_of(slice, type) == RowType::kF32) {
    read_floats(slice, mode, reinterpret_cast<float*>(out), rows);
  } else {
    const int64_t num_rows = static_cast<int64_t>(slice.rows()), cols = widths_[slice.parameter];
    floats_.resize(static_cast<size_t>(num_rows * cols));
    read_floats(slice, mode, floats_.data(), rows);
    row_codec(type, device_.cpu()).encode(floats_.data(), num_rows, cols, out);
  }
  const size_t size = bytes_of(slice, type);
  std::fill_n(out + size, padded(size) - size, '\0');
  return out + padded(size);
}

void ShardTables::read_floats(const RowSlice& slice, PullMode mode, float* out, std::span<float*> rows) {
  Table& table = this->table(slice);
  const bool train = mode == PullMode::kTrain;
  if (slice.by_keys)
    return train ? pull_keys(table, slice.keys, out, rows) : table.read_rows(slice.keys, out);
  const int64_t first = static_cast<int64_t>(slice.first), count = static_cast<int64_t>(slice.count);
  if (is_stored(slice)) {
    return table.whole()->copy_stored(first - static_cast<int64_t>(table.size()), count, out);
  }
  train ? table.whole()->copy_range(first, count, out) : table.whole()->read_range(first, count, out);
}

// A block of rows is copied while it is still in the cache that looking it up has brought it to.
void ShardTables::pull_keys(Table& table, std::span<const uint64_t> keys, float* out,
                            std::span<float*> rows) {
  constexpr uint64_t kBytesAtOnce = 256 << 10, kFewest = 64, kMost = 1024;
  const uint64_t cols = static_cast<uint64_t>(table.width());
  const uint64_t row_bytes = std::max(table.new_row_bytes(), cols * sizeof(float));
  const uint64_t keys_at_once = std::clamp(kBytesAtOnce / row_bytes, kFewest, kMost);
  rows_.resize(keys_at_once);
  for (size_t begin = 0; begin < keys.size(); begin += keys_at_once) {
    const size_t count = std::min(keys.size() - begin, keys_at_once);
    const auto block = rows.empty() ? std::span(rows_).first(count) : rows.subspan(begin, count);
    table.pull(keys.subspan(begin, count), device_, block);
    out = copy_rows(
        count, cols, [block](size_t n) { return block[n]; }, out);
  }
}

void ShardTables::load(const RowSlice& slice, const float* floats) {
  if (slice.by_keys) return table(slice).load_rows(slice.keys, floats, device_);
  const int64_t first = static_cast<int64_t>(slice.first), count = static_cast<int64_t>(slice.count);
  WholeTable& whole = *table(slice).whole();
  if (is_stored(slice))
    return whole.set_stored(first - static_cast<int64_t>(table(slice).size()), count, floats);
  whole.load_range(first, count, floats, device_);
}

std::string ShardTables::stored_rows(std::span<const RowSlice> slices) const {
  check(slices);
  check_stored_size(slices);
  std::string out;
  RowBlock rows;
  for (const RowSlice& slice : slices) {
    table(slice).copy_rows(slice.keys, rows);
    encode_stored_rows(rows, out);
  }
  return out;
}

void ShardTables::check_stored_size(std::span<const RowSlice> slices) const {
  uint64_t rows = 0, bytes = 0;
  for (const RowSlice& slice : slices) {
    check_stored(slice.parameter);
    rows += slice.keys.size();
    bytes += slice.keys.size() * tables_.layout(slice.parameter).row_bytes();
    check_size(rows, bytes);
  }
}

void ShardTables::check_stored(uint32_t parameter) const {
  const ParameterSpec& spec = tables_.spec(parameter);
  if (spec.sparse && !spec.row_policy) return;
  fail(Code::kData, "rows of ", quote(spec.name), " are not given as they are stored: it ",
       spec.sparse ? "has a policy" : "is not sparse");
}

ReturnedRows ShardTables::decode_returned(std::string_view body) const {
  const ReturnedRows returned = decode_returned_rows(body, [this](uint32_t parameter) {
    check(rows_of_keys(parameter, {}));
    check_stored(parameter);
    return tables_.layout(parameter);
  });
  uint64_t rows = 0, bytes = 0;
  for (const ReturnedRows::Slice& slice : returned.slices) {
    rows += slice.rows.size();
    bytes += slice.rows.size() * tables_.layout(slice.parameter).row_bytes();
    check_size(rows, bytes);
    check_returned(slice);
  }
  return returned;
}

void ShardTables::check_returned(const ReturnedRows::Slice& slice) const {
  const RowBlock& rows = slice.rows;
  check(rows_of_keys(slice.parameter, rows.keys));
  if (!all_finite(rows.values.data(), rows.values.size())) {
    fail(Code::kData, "returned rows of ", quote(name(slice.parameter)), " have values that are not finite");
  }
  const int64_t next_step = tables_.optimizer(slice.parameter)->steps() + 1;
  for (uint32_t stamp : rows.stamps) {
    if (stamp <= next_step) continue;
    fail(Code::kData, "a returned row of ", quote(name(slice.parameter)), " has seen ", stamp,
         " steps, but the next is step ", next_step);
  }
}

void ShardTables::put_rows(const ReturnedRows::Slice& slice) {
  tables_.table(slice.parameter)->restore_rows(slice.rows, device_);
}

// optimizers := (size:u64 state[size])[parameters of the kind that have one]
void ShardTables::save_optimizers(bool sparse, std::string& out) const {
  for (size_t p = 0; p < size(); ++p) {
    if (tables_.spec(p).sparse != sparse || tables_.optimizer(p) == nullptr) continue;
    std::string state;
    tables_.optimizer(p)->save(state);
    put(out, static_cast<uint64_t>(state.size()));
    out += state;
  }
}

std::string ShardTables::keys(const KeysRequest& request) const {
  if (request.parameter >= size() || !tables_.spec(request.parameter).sparse) {
    fail(Code::kData, "parameter ", request.parameter, " is not sparse");
  }
  const Table* table = tables_.table(request.parameter);
  const uint64_t most = std::min(request.most, kMostKeys);
  ScanCursor cursor = request.cursor;
  std::vector<uint64_t> keys;
  bool more = false;
  while (!more && table != nullptr && table->scan_keys(cursor, keys)) more = keys.size() >= most;
  radix_sort(keys);
  return encode_found_keys(more, cursor, keys);
}

// ---- figures

uint64_t ShardTables::row_bytes(std::span<const RowSlice> slices) const {
  uint64_t bytes = 0;
  for (const RowSlice& slice : slices) bytes += slice.keys.size() * table(slice).new_row_bytes();
  return bytes;
}

uint64_t ShardTables::missing_row_bytes(std::span<const RowSlice> slices) const {
  uint64_t bytes = 0;
  for (const RowSlice& slice : slices)
    bytes += table(slice).num_missing(slice.keys) * table(slice).new_row_bytes();
  return bytes;
}

RowReport ShardTables::row_report(size_t parameter) const {
  if (parameter >= size() || !tables_.spec(parameter).row_policy) {
    fail(Code::kData, "parameter ", parameter, " has no policy of its rows");
  }
  const Table* table = tables_.table(parameter);
  return table != nullptr ? table->policy()->report() : RowReport();
}

std::vector<TableStatus> ShardTables::status() const {
  std::vector<TableStatus> all;
  for (size_t p = 0; p < size(); ++p) {
    const Table* table = tables_.table(p);
    if (table == nullptr) continue;
    all.push_back({tables_.spec(p).name, tables_.spec(p).sparse, table->size(), table->memory_bytes()});
  }
  return all;
}

}  // namespace ps
