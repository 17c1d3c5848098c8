#include "ps/server/lent_rows.h"

#include "base/error.h"
#include "math/finite.h"
#include "ps/server/slice_checks.h"
#include "ps/wire/key_list.h"
#include "ps/wire/row_owner.h"
#include "table/row_policy_state.h"

namespace ps {

namespace {

void check_lendable(const ParameterSpec& spec) {
  if (spec.sparse) return;
  fail(Code::kData, "rows of ", quote(spec.name), " are not given as they are stored: it is not sparse");
}

// Throws kData if a parameter is not sparse, or if the rows are too large for one answer.  Every key counts
// as if it had a row.
void check_stored_size(const ParameterTables& tables, std::span<const RowSlice> slices) {
  uint64_t rows = 0, bytes = 0;
  for (const RowSlice& slice : slices) {
    check_lendable(tables.spec(slice.parameter));
    rows += slice.keys.size();
    bytes += slice.keys.size() * tables.layout(slice.parameter).row_bytes();
    check_message_rows(rows, bytes);
  }
}

// Throws kData unless the rows are of this shard, with finite values.  A stamp is the number of steps that
// a row has seen: the trainer may be one step ahead of the table, but not more.
void check_returned(const ParameterTables& tables, const ReturnedRows::Slice& slice,
                    ShardCounters& counters) {
  const RowBlock& rows = slice.rows;
  const std::string& name = tables.spec(slice.parameter).name;
  const RowSlice keys = rows_of_keys(slice.parameter, rows.keys);
  check_slices(tables, {&keys, 1});
  if (!all_finite(rows.values.data(), rows.values.size())) {
    ++counters.refused_not_finite;
    fail(Code::kData, "returned rows of ", quote(name), " have values that are not finite");
  }
  const int64_t next_step = tables.optimizer(slice.parameter)->steps() + 1;
  for (uint32_t stamp : rows.stamps) {
    if (stamp <= next_step) continue;
    fail(Code::kData, "a returned row of ", quote(name), " has seen ", stamp, " steps, but the next is step ",
         next_step);
  }
}

// Throws kData unless each key has a count and its parameter has a row policy.
void check_counted(const ParameterTables& tables, std::span<const RowSlice> counted) {
  check_slices(tables, counted);
  for (const RowSlice& slice : counted) {
    const ParameterSpec& spec = tables.spec(slice.parameter);
    if (spec.row_policy && slice.counts.size() == slice.keys.size()) continue;
    fail(Code::kData, "return rows: keys of ", quote(spec.name),
         spec.row_policy ? " come without counts" : ", which has no policy of its rows");
  }
}

}  // namespace

std::string stored_rows(const ParameterTables& tables, std::span<const RowSlice> slices) {
  check_slices(tables, slices);
  check_stored_size(tables, slices);
  std::string out;
  RowBlock rows;
  for (const RowSlice& slice : slices) {
    tables.table(slice.parameter)->copy_rows(slice.keys, rows);
    encode_stored_rows(rows, out);
  }
  return out;
}

// The width of a row depends on the layout of its table, so each parameter is checked while the body is
// decoded, before its rows are read.
ReturnedRows decode_returned(const ParameterTables& tables, std::string_view body, ShardCounters& counters) {
  const ReturnedRows returned = decode_returned_rows(body, [&tables](uint32_t parameter) {
    const RowSlice none = rows_of_keys(parameter, {});
    check_slices(tables, {&none, 1});
    check_lendable(tables.spec(parameter));
    return tables.layout(parameter);
  });
  uint64_t rows = 0, bytes = 0;
  for (const ReturnedRows::Slice& slice : returned.slices) {
    rows += slice.rows.size();
    bytes += slice.rows.size() * tables.layout(slice.parameter).row_bytes();
    check_message_rows(rows, bytes);
    check_set_rows(rows);
    check_returned(tables, slice, counters);
  }
  check_counted(tables, returned.counted);
  return returned;
}

void check_owner(const ReturnedRows& returned, int rank, size_t trainers) {
  const auto check = [&](std::span<const uint64_t> keys) {
    for (uint64_t key : keys) {
      const int owner = row_owner(key, static_cast<int>(trainers));
      if (owner == rank) continue;
      fail(Code::kData, "return rows: of ", trainers, " trainers, trainer ", owner, " trains the row of key ",
           key, ", and not trainer ", rank);
    }
  };
  for (const ReturnedRows::Slice& slice : returned.slices) check(slice.rows.keys);
  for (const RowSlice& slice : returned.counted) check(slice.keys);
}

void put_rows(const ParameterTables& tables, const ReturnedRows::Slice& slice, Device& device) {
  tables.table(slice.parameter)->put_rows(slice.rows, device);
}

void apply_returned(const ParameterTables& tables, const ReturnedRows& returned, Device& device) {
  for (const ReturnedRows::Slice& slice : returned.slices) put_rows(tables, slice, device);
  for (const RowSlice& slice : returned.counted)
    tables.table(slice.parameter)->policy()->hold_counts(slice.keys, slice.counts);
}

std::string absent_keys(const ParameterTables& tables, std::span<const RowSlice> counted, Device& device) {
  std::string out;
  for (const RowSlice& slice : counted)
    encode_keys(tables.table(slice.parameter)->policy()->absent(slice.keys, device), out);
  return out;
}

}  // namespace ps
