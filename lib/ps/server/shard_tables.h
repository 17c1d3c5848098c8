// ShardTables: the parameters of one shard as its trainers and readers ask for them, by slices of their rows.
// Used by Shard, by TableUpdater, which applies steps to them, and by ShardCheckpoint, which takes snapshots of
// what is under them.
#ifndef PS_PS_SERVER_SHARD_TABLES_H_
#define PS_PS_SERVER_SHARD_TABLES_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "math/device.h"
#include "optim/optimizer_plan.h"
#include "ps/status/shard_status.h"
#include "ps/wire/protocol.h"
#include "store/parameter_tables.h"

namespace ps {

// The rows of one slice of a pull, in the shard's table, so that the push that follows need not look them up.
struct RowPointers {
  std::vector<float*> rows;  // by key; empty: the table moves its rows, or the slice is not by keys
  int64_t step = 0;          // of the table, which the pull brought the rows up to date with
};

// By slice of the pull.
using PulledRows = std::vector<RowPointers>;

// One owner thread.
class ShardTables {
 public:
  // With `spill`, rows of sparse tables that were not used for long are on disk.  `array_bytes`: of arrays
  // through which rows are reached, at most.
  ShardTables(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
              const SpillSettings& spill = {}, uint64_t array_bytes = 0);
  ~ShardTables();

  // The tables themselves, and the device on which they are worked on.
  ParameterTables& parameters() { return tables_; }
  const ParameterTables& parameters() const { return tables_; }
  Device& device() { return device_; }

  size_t size() const { return tables_.size(); }
  Widths widths() const { return widths_; }
  const std::string& name(size_t parameter) const { return tables_.spec(parameter).name; }
  const ShardPlace& place() const { return tables_.place(); }

  // The bytes that the rows of a request that slice_checks.h has checked take, each slice padded.
  uint64_t bytes_of(std::span<const RowSlice> slices, RowType type) const;

  // Puts the rows of a checked request into `out`.
  void read(std::span<const RowSlice> slices, PullMode mode, RowType type, char* out);

  // Puts the rows of a pull that a push will follow into `out`, and returns pointers to the rows in the tables.
  PulledRows pull(std::span<const RowSlice> slices, RowType type, char* out);

  // To be called when all trainers have ended this pass.
  void end_pass(int64_t pass) { tables_.end_pass(pass); }

  // Sets weights, as if training began with them; or rows as they are stored, which the numbers from the size of
  // a dense table on are of.
  void load(const RowSlice& slice, const float* floats);

  // The answer to a request for keys of a sparse parameter's rows, in ascending order: about `most` of them, as
  // RowStorage::scan_all gives them, and the cursor from which the next answer goes on.  Throws kData when the
  // parameter is not sparse.
  std::string keys(const KeysRequest& request) const;

  uint64_t memory_bytes() const { return tables_.memory_bytes(); }

  // Calls of read and pull so far: a sweep that sees none since the last goes faster.
  uint64_t num_requests() const { return num_requests_; }

  // The bytes that new rows for all keys of the slices would take, if none had one yet; and for those that
  // have none.
  uint64_t row_bytes(std::span<const RowSlice> slices) const;
  uint64_t missing_row_bytes(std::span<const RowSlice> slices) const;

  // Counts the rows that came and went here.  Throws kData when the parameter has no policy.
  RowReport row_report(size_t parameter) const;

  // One for each parameter that this shard has something of.
  std::vector<TableStatus> status() const;

 private:
  Table& table(const RowSlice& slice) const { return *tables_.table(slice.parameter); }
  uint64_t bytes_of(const RowSlice& slice, RowType type) const;
  char* read_slice(const RowSlice& slice, PullMode mode, RowType type, char* out,
                   std::span<float*> rows = {});
  void read_floats(const RowSlice& slice, PullMode mode, float* out, std::span<float*> rows);
  void pull_keys(Table& table, std::span<const uint64_t> keys, float* out, std::span<float*> rows);

  Device device_;
  ParameterTables tables_;
  std::vector<int64_t> widths_;  // by parameter

  // During a request.
  std::vector<float*> rows_;   // of a slice that is read
  std::vector<float> floats_;  // rows before they are encoded

  uint64_t num_requests_ = 0;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_TABLES_H_
