#include "ps/server/shard_tables.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ps/server/shard_tables_state.h"
#include "store/array_bound.h"
#include "table/row_copies.h"

namespace ps {

namespace {

[[noreturn]] void fail_key(const ParameterSpec& spec, uint64_t key) {
  fail(Code::kData, quote(spec.name), ": key ", key, " is not of this shard");
}

}  // namespace

ShardTables::ShardTables(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers,
                         const ShardPlace& place, const SpillSettings& spill, uint64_t array_bytes)
    : specs_(std::move(specs)), place_(place) {
  if (!spill.directory.empty() && place.sparse >= 0) {
    spill_ = std::make_unique<RowSpill>(spill.directory, spill.max_bytes);
  }
  for (size_t p = 0; p < specs_.size(); ++p) {
    const ParameterSpec& spec = specs_[p];
    widths_.push_back(spec.cols);
    Holder& holder = holders_.emplace_back();
    holder.spec = &spec;
    if (spec.sparse) {
      if (place.sparse >= 0) holder.sparse = make_sparse(spec, optimizers.make(spec.tuning), array_bytes);
    } else if (place.dense >= 0) {
      std::unique_ptr<Optimizer<float>> optimizer;
      if (spec.kind != ParameterKind::kStatistic) optimizer = optimizers.make(spec.tuning);
      holder.deal = dense_blocks(spec, static_cast<int64_t>(p), place.num_dense, place.dense);
      holder.dense =
          std::make_unique<DenseTable>(holder.deal, spec.cols, spec.initializer, std::move(optimizer), pool_);
    }
  }
}

ShardTables::~ShardTables() = default;

// An array has places for the keys of all shards.
std::unique_ptr<SparseTable> ShardTables::make_sparse(const ParameterSpec& spec,
                                                      std::unique_ptr<Optimizer<float>> optimizer,
                                                      uint64_t& array_bytes) const {
  const uint64_t bound = spill_ ? 0 : array_bound(spec, optimizer->state_arrays(), array_bytes);
  return std::make_unique<SparseTable>(spec.cols, bound, spec.initializer, std::move(optimizer),
                                       spec.row_policy, spill_.get());
}

void ShardTables::check(std::span<const RowSlice> parts) const {
  for (const RowSlice& part : parts) check(part);
}

void ShardTables::check_gradients(std::span<const RowSlice> parts) const {
  check(parts);
  for (const RowSlice& part : parts) {
    const ParameterSpec& spec = specs_[part.parameter];
    const bool counted = part.counts.size() == part.keys.size();  // both are empty in other parts
    if (part.by_keys != (spec.kind == ParameterKind::kRows)) {
      fail(Code::kData, "a gradient of ", quote(spec.name), " comes by keys");
    }
    if (counted != (spec.row_policy.has_value() || part.keys.empty())) {
      fail(Code::kData, "a gradient of ", quote(spec.name), counted ? " takes no" : " needs",
           " counts of its keys");
    }
  }
}

void ShardTables::check(const RowSlice& part) const {
  if (part.parameter >= specs_.size()) fail(Code::kData, "no parameter ", part.parameter);
  const ParameterSpec& spec = specs_[part.parameter];
  const Holder& holder = holders_[part.parameter];
  if (!holder.sparse && !holder.dense) fail(Code::kData, "this shard has nothing of ", quote(spec.name));
  bool reachable = part.by_keys ? spec.kind == ParameterKind::kRows : holder.dense != nullptr;
  if (!reachable) {
    fail(Code::kData, quote(spec.name), " is not reached by ", part.by_keys ? "keys" : "numbers of rows");
  }
  if (!part.by_keys) {
    uint64_t rows = static_cast<uint64_t>(holder.dense->rows());
    if (part.first > rows || part.count > rows - part.first) {
      fail(Code::kData, quote(spec.name), ": rows from ", part.first, ", ", part.count, " of them, of ",
           rows);
    }
    return;
  }
  // Keys ascend: the last one is the largest.
  const bool known =
      spec.rows == 0 || part.keys.empty() || part.keys.back() < static_cast<uint64_t>(spec.rows);
  if (!known) fail_key(spec, part.keys.back());
  if ((holder.sparse ? place_.num_sparse : place_.num_dense) == 1) return;
  for (uint64_t key : part.keys) {
    bool own = holder.sparse ? shard_of_key(key, place_.num_sparse) == place_.sparse
                             : holder.deal.holder_of(static_cast<int64_t>(key)) == holder.deal.holder;
    if (!own) fail_key(spec, key);
  }
}

uint64_t ShardTables::bytes_of(const RowSlice& part, RowType type) const {
  return part.rows() * encoded_row_bytes(type_of(part, type), widths_[part.parameter]);
}

uint64_t ShardTables::bytes_of(std::span<const RowSlice> parts, RowType type) const {
  uint64_t bytes = 0;
  for (const RowSlice& part : parts) bytes += padded(bytes_of(part, type));
  return bytes;
}

void ShardTables::read(std::span<const RowSlice> parts, PullMode mode, RowType type, char* out) {
  ++num_requests_;
  for (const RowSlice& part : parts) out = read_part(part, mode, type, out);
}

// Rows that do not stay where they are have no places to remember.
void ShardTables::pull(std::span<RowSlice> parts, RowType type, char* out) {
  ++num_requests_;
  for (RowSlice& part : parts) {
    const Holder& holder = holders_[part.parameter];
    const bool stay = part.by_keys && holder.sparse && holder.sparse->rows_stay();
    part.places.clear();
    if (stay) {
      part.places.resize(part.keys.size());
      part.places_step = holder.sparse->optimizer().steps();
    }
    out = read_part(part, PullMode::kTrain, type, out, stay ? &part.places : nullptr);
  }
}

// Returns where the next part's rows go.
char* ShardTables::read_part(const RowSlice& part, PullMode mode, RowType type, char* out, Places* places) {
  if (type_of(part, type) == RowType::kF32) {
    read_floats(part, mode, reinterpret_cast<float*>(out), places);
  } else {
    const int64_t rows = static_cast<int64_t>(part.rows()), cols = widths_[part.parameter];
    floats_.resize(static_cast<size_t>(rows * cols));
    read_floats(part, mode, floats_.data(), places);
    row_codec(type).encode(floats_.data(), rows, cols, out);
  }
  const size_t size = bytes_of(part, type);
  std::memset(out + size, 0, padded(size) - size);
  return out + padded(size);
}

void ShardTables::read_floats(const RowSlice& part, PullMode mode, float* out, Places* places) {
  Holder& holder = holders_[part.parameter];
  part.by_keys ? read_keys(holder, part, mode, out, places) : read_range(holder, part, mode, out);
}

void ShardTables::read_keys(Holder& holder, const RowSlice& part, PullMode mode, float* out, Places* places) {
  const int64_t cols = holder.spec->cols;
  if (holder.sparse && mode == PullMode::kRead) return holder.sparse->read_rows(part.keys, out);
  if (holder.sparse) return pull_keys(holder, part.keys, out, places);
  for (uint64_t key : part.keys) {
    int64_t row = holder.deal.local(static_cast<int64_t>(key));
    if (mode == PullMode::kRead) {
      holder.dense->read_range(row, 1, out);
    } else {
      std::copy_n(holder.dense->values() + row * cols, cols, out);
    }
    out += cols;
  }
}

// A block of rows is copied while it is still in the cache that looking it up has brought it to.
void ShardTables::pull_keys(Holder& holder, std::span<const uint64_t> keys, float* out, Places* places) {
  constexpr uint64_t kBytesAtOnce = 256 << 10, kFewest = 64, kMost = 1024;
  const uint64_t keys_at_once = std::clamp(kBytesAtOnce / holder.sparse->row_bytes(), kFewest, kMost);
  rows_.resize(keys_at_once);
  for (size_t begin = 0; begin < keys.size(); begin += keys_at_once) {
    const size_t count = std::min(keys.size() - begin, keys_at_once);
    const auto rows =
        places != nullptr ? std::span(*places).subspan(begin, count) : std::span(rows_).first(count);
    holder.sparse->pull(keys.subspan(begin, count), pool_, rows);
    out = copy_rows(
        count, static_cast<size_t>(holder.spec->cols), [rows](size_t n) { return rows[n]; }, out);
  }
}

void ShardTables::read_range(const Holder& holder, const RowSlice& part, PullMode mode, float* out) const {
  const int64_t first = static_cast<int64_t>(part.first), count = static_cast<int64_t>(part.count);
  const int64_t cols = holder.spec->cols;
  if (mode == PullMode::kRead) return holder.dense->read_range(first, count, out);
  std::copy_n(holder.dense->values() + first * cols, count * cols, out);
}

void ShardTables::end_pass(int64_t pass) {
  for (Holder& holder : holders_) {
    if (holder.sparse) holder.sparse->end_pass(pass, pool_);
  }
}

void ShardTables::load(const RowSlice& part, const float* floats) {
  Holder& holder = holders_[part.parameter];
  const int64_t cols = holder.spec->cols;
  if (part.by_keys && holder.sparse) return holder.sparse->load_rows(part.keys, floats, pool_);
  if (part.by_keys) fail(Code::kData, quote(holder.spec->name), " is loaded by numbers of rows");
  const int64_t first = static_cast<int64_t>(part.first), count = static_cast<int64_t>(part.count);
  std::copy_n(floats, count * cols, holder.dense->values() + first * cols);
  holder.dense->reset_range(first, count);
}

bool ShardTables::scan_keys(size_t parameter, uint64_t most, ScanCursor& cursor,
                            std::vector<uint64_t>& keys) const {
  if (parameter >= specs_.size() || !specs_[parameter].sparse) {
    fail(Code::kData, "parameter ", parameter, " is not sparse");
  }
  const Holder& holder = holders_[parameter];
  while (holder.sparse && holder.sparse->scan_keys(cursor, keys)) {
    if (keys.size() >= most) return true;
  }
  return false;
}

uint64_t ShardTables::memory_bytes() const {
  uint64_t bytes = 0;
  for (const Holder& holder : holders_) {
    if (holder.sparse) bytes += holder.sparse->memory_bytes();
    if (holder.dense) bytes += holder.dense->memory_bytes();
  }
  return bytes;
}

uint64_t ShardTables::row_bytes(std::span<const RowSlice> parts) const {
  uint64_t bytes = 0;
  for (const RowSlice& part : parts) {
    const Holder& holder = holders_[part.parameter];
    if (holder.sparse) bytes += part.keys.size() * holder.sparse->row_bytes();
  }
  return bytes;
}

uint64_t ShardTables::missing_row_bytes(std::span<const RowSlice> parts) const {
  uint64_t bytes = 0;
  for (const RowSlice& part : parts) {
    const Holder& holder = holders_[part.parameter];
    if (holder.sparse) bytes += holder.sparse->num_missing(part.keys) * holder.sparse->row_bytes();
  }
  return bytes;
}

RowReport ShardTables::row_report(size_t parameter) const {
  if (parameter >= specs_.size() || !specs_[parameter].row_policy) {
    fail(Code::kData, "parameter ", parameter, " has no policy of its rows");
  }
  const Holder& holder = holders_[parameter];
  return holder.sparse ? holder.sparse->report() : RowReport();
}

std::vector<TableStatus> ShardTables::status() const {
  std::vector<TableStatus> all;
  for (const Holder& holder : holders_) {
    const std::string& name = holder.spec->name;
    if (holder.sparse) all.push_back({name, true, holder.sparse->size(), holder.sparse->memory_bytes()});
    if (holder.dense) {
      all.push_back({name, false, static_cast<uint64_t>(holder.dense->rows()), holder.dense->memory_bytes()});
    }
  }
  return all;
}

}  // namespace ps
