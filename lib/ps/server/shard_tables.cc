#include "ps/server/shard_tables.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "base/radix_sort.h"
#include "ps/server/slice_checks.h"
#include "table/row_copies.h"
#include "table/row_policy_state.h"

namespace ps {

ShardTables::ShardTables(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers,
                         const ShardPlace& place, const SpillSettings& spill, uint64_t array_bytes)
    : device_(1, optimizers.cpu),
      tables_(std::move(specs), optimizers, {place, spill, array_bytes}, device_) {
  for (size_t p = 0; p < size(); ++p) widths_.push_back(tables_.spec(p).cols);
}

ShardTables::~ShardTables() = default;

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
  for (const RowSlice& slice : slices) {
    encode_rows({slice, 0, slice.rows()}, mode, type, out, {});
    const size_t size = bytes_of(slice, type);
    std::fill_n(out + size, padded(size) - size, '\0');
    out += padded(size);
  }
}

void ShardTables::read_rows(const RowSlice& rows, RowType type, std::span<char> out) {
  ++num_requests_;
  encode_rows({rows, 0, rows.rows()}, PullMode::kRead, type, out.data(), {});
  std::ranges::fill(out.subspan(bytes_of(rows, type)), '\0');
}

// Continues at row progress.row of slice progress.slice.  The rows before it lie in `out` already: the
// slice begins at progress.offset, and all of its rows have size / slice.rows() bytes there.  Padding
// follows the last row of a slice, and the offset moves on only then.
bool ShardTables::pull(std::span<const RowSlice> slices, RowType type, char* out, PullProgress& progress,
                       SliceWork& work) {
  if (progress.pulled.empty()) {
    ++num_requests_;
    progress.pulled.resize(slices.size());
  }
  for (; progress.slice < slices.size(); ++progress.slice, progress.row = 0) {
    const RowSlice& slice = slices[progress.slice];
    if (progress.row == 0) begin_slice(slice, progress);
    const size_t size = bytes_of(slice, type);
    char* const to = out + progress.offset;
    const uint64_t work_of_one = work_of_row(table(slice));
    while (progress.row < slice.rows()) {
      if (work.used_up()) return false;
      const uint64_t count = std::min(slice.rows() - progress.row, work.rows(work_of_one));
      std::span<float*> rows = progress.pulled[progress.slice].rows;
      if (!rows.empty()) rows = rows.subspan(progress.row, count);
      encode_rows({slice, progress.row, count}, PullMode::kTrain, type,
                  to + size / slice.rows() * progress.row, rows);
      progress.row += count;
      work.use(count * work_of_one);
    }
    std::fill_n(to + size, padded(size) - size, '\0');
    progress.offset += padded(size);
  }
  return true;
}

// Makes room for the pointers to the slice's rows, if they last.
void ShardTables::begin_slice(const RowSlice& slice, PullProgress& progress) const {
  const Table& table = this->table(slice);
  if (!slice.by_keys || !table.rows_stay()) return;
  RowPointers& pulled = progress.pulled[progress.slice];
  pulled.rows.resize(slice.keys.size());
  pulled.step = table.optimizer()->steps();
}

// Puts the rows of the range into `out`.  If `rows` is not empty, it gets the pointers to the rows.
void ShardTables::encode_rows(const RowRange& range, PullMode mode, RowType type, char* out,
                              std::span<float*> rows) {
  if (type_of(range.slice, type) == RowType::kF32) {
    return read_floats(range, mode, reinterpret_cast<float*>(out), rows);
  }
  const int64_t num_rows = static_cast<int64_t>(range.count), cols = widths_[range.slice.parameter];
  floats_.resize(static_cast<size_t>(num_rows * cols));
  read_floats(range, mode, floats_.data(), rows);
  row_codec(type, device_.cpu()).encode(floats_.data(), num_rows, cols, out);
}

// out [count, cols] <- the rows of the range.  To train, these are the weights that the next step changes;
// otherwise they are the weights to test and save with.  Rows of the optimizer's state are copied as they
// are stored; their numbers follow those of the weights.
void ShardTables::read_floats(const RowRange& range, PullMode mode, float* out, std::span<float*> rows) {
  const RowSlice& slice = range.slice;
  Table& table = this->table(slice);
  const bool train = mode == PullMode::kTrain;
  if (slice.by_keys) {
    const auto keys = std::span<const uint64_t>(slice.keys).subspan(range.first, range.count);
    return train ? pull_keys(table, keys, out, rows) : table.read_rows(keys, out);
  }
  const int64_t first = static_cast<int64_t>(slice.first + range.first),
                count = static_cast<int64_t>(range.count);
  if (is_of_state(slice, table)) {
    return table.whole()->copy_stored(first - static_cast<int64_t>(table.size()), count, out);
  }
  train ? table.whole()->copy_range(first, count, out) : table.whole()->read_range(first, count, out);
}

// Rows are copied block by block, while a block is still in the cache after it was looked up.
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
  Table& table = this->table(slice);
  if (is_of_state(slice, table))
    return table.whole()->set_stored(first - static_cast<int64_t>(table.size()), count, floats);
  table.whole()->load_range(first, count, floats, device_);
}

// Scans until there are `most` keys or more.  A scan may append several keys at once, all of which are
// given, since the cursor is behind them.
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

void ShardTables::forget_held_counts() {
  for (size_t p = 0; p < size(); ++p) {
    const Table* table = tables_.table(p);
    if (table != nullptr && table->policy() != nullptr) table->policy()->forget_held();
  }
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
