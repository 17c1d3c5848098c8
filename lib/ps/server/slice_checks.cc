#include "ps/server/slice_checks.h"

#include <optional>

#include "base/error.h"

namespace ps {

namespace {

[[noreturn]] void fail_key(const ParameterSpec& spec, uint64_t key) {
  fail(Code::kData, quote(spec.name), ": key ", key, " is not of this shard");
}

// Keys ascend, so the last one is the largest.
void check_keys(const ParameterTables& tables, const RowSlice& slice) {
  const ParameterSpec& spec = tables.spec(slice.parameter);
  const bool known =
      spec.rows == 0 || slice.keys.empty() || slice.keys.back() < static_cast<uint64_t>(spec.rows);
  if (!known) fail_key(spec, slice.keys.back());
  if (const auto key = tables.foreign_key(slice.parameter, slice.keys)) fail_key(spec, *key);
}

// Throws kData unless the slice names rows of a parameter that this shard has.  A range that begins in the
// weights ends in them, since a range of state is read and set by other functions.  Differences are
// compared, since a sum of numbers from a peer could overflow.
void check_slice(const ParameterTables& tables, const RowSlice& slice) {
  if (slice.parameter >= tables.size()) fail(Code::kData, "no parameter ", slice.parameter);
  const ParameterSpec& spec = tables.spec(slice.parameter);
  Table* table = tables.table(slice.parameter);
  if (table == nullptr) fail(Code::kData, "this shard has nothing of ", quote(spec.name));
  const bool reachable = slice.by_keys ? spec.kind == ParameterKind::kRows : table->whole() != nullptr;
  if (!reachable) {
    fail(Code::kData, quote(spec.name), " is not reached by ", slice.by_keys ? "keys" : "numbers of rows");
  }
  if (slice.by_keys) return check_keys(tables, slice);
  const uint64_t size = table->size();
  const uint64_t stored = static_cast<uint64_t>(table->whole()->num_stored_rows());
  const uint64_t rows = slice.first < size ? size : size + stored;  // end of the rows that the slice may have
  if (slice.first > rows || slice.count > rows - slice.first) {
    fail(Code::kData, quote(spec.name), ": rows from ", slice.first, ", ", slice.count, " of them, of ",
         rows);
  }
}

}  // namespace

void check_message_rows(uint64_t rows, uint64_t bytes) {
  if (bytes <= kMostRowBytes || rows == 1) return;
  fail(Code::kData, "the rows of a message take more than ", human_bytes(kMostRowBytes));
}

void check_set_rows(uint64_t rows) {
  if (rows > kMostSetRows)
    fail(Code::kData, "a message sets ", rows, " rows by their keys, expected at most ", kMostSetRows);
}

void check_slices(const ParameterTables& tables, std::span<const RowSlice> slices) {
  uint64_t rows = 0, bytes = 0;
  for (const RowSlice& slice : slices) {
    check_slice(tables, slice);
    rows += slice.rows();
    bytes += slice.rows() * encoded_row_bytes(RowType::kF32, tables.spec(slice.parameter).cols);
    check_message_rows(rows, bytes);
  }
}

void check_gradients(const ParameterTables& tables, std::span<const RowSlice> slices) {
  check_slices(tables, slices);
  for (const RowSlice& slice : slices) {
    const ParameterSpec& spec = tables.spec(slice.parameter);
    const bool counted = slice.counts.size() == slice.keys.size();  // both are empty in other slices
    if (slice.by_keys != (spec.kind == ParameterKind::kRows)) {
      fail(Code::kData, "a gradient of ", quote(spec.name), " comes by keys");
    }
    if (spec.by_trainers)
      fail(Code::kData, "trainers move ", quote(spec.name), ", and push no gradient of it");
    if (is_of_state(slice, *tables.table(slice.parameter)))
      fail(Code::kData, "a gradient of ", quote(spec.name), " is not of its state");
    // A slice without keys has as many counts as keys, whatever its parameter.
    if (counted != (spec.row_policy.has_value() || slice.keys.empty())) {
      fail(Code::kData, "a gradient of ", quote(spec.name), counted ? " takes no" : " needs",
           " counts of its keys");
    }
  }
}

void check_weights(const ParameterTables& tables, std::span<const RowSlice> slices) {
  check_slices(tables, slices);
  uint64_t rows = 0;
  for (const RowSlice& slice : slices) {
    check_set_rows(rows += slice.keys.size());
    const ParameterSpec& spec = tables.spec(slice.parameter);
    if (slice.by_keys && !spec.sparse) fail(Code::kData, quote(spec.name), " is loaded by numbers of rows");
    if (is_of_state(slice, *tables.table(slice.parameter)) && !spec.by_trainers)
      fail(Code::kData, "the servers move ", quote(spec.name));
  }
}

}  // namespace ps
