// ShardTables: the parameters of one shard as its trainers and readers ask for them, by slices of their rows.
// Used by Shard, by TableUpdater, which applies steps to them, and by ShardCheckpoint, which takes snapshots
// of the tables below.
#ifndef PS_PS_SERVER_SHARD_TABLES_H_
#define PS_PS_SERVER_SHARD_TABLES_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "math/device.h"
#include "optim/optimizer_plan.h"
#include "ps/server/slice_work.h"
#include "ps/status/shard_status.h"
#include "ps/wire/protocol.h"
#include "store/parameter_tables.h"

namespace ps {

// The addresses of the rows of one slice of a pull, in the shard's table, so that the push that follows need
// not look them up.
struct RowPointers {
  std::vector<float*> rows;  // by key; empty: the table moves its rows, or the slice is not by keys
  int64_t step = 0;          // step of the table to which the pull brought the rows up to date
};

// Row pointers by slice of the pull.
using PulledRows = std::vector<RowPointers>;

// A pull of which some rows were read.
struct PullProgress {
  PulledRows pulled;
  size_t slice = 0;     // the first slice of which not all rows were read
  uint64_t row = 0;     // of its rows, those before this one were
  uint64_t offset = 0;  // of the slice in the answer, bytes
};

// One owner thread.
class ShardTables {
 public:
  // With `spill`, rows of sparse tables that were not used for long lie on disk.  `array_bytes` is the limit
  // for arrays through which rows are reached.
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

  // Returns the bytes of the rows of a request, each slice padded.  The request must have been checked
  // (slice_checks.h).
  uint64_t bytes_of(std::span<const RowSlice> slices, RowType type) const;

  // Puts the rows of a checked request into `out`.
  void read(std::span<const RowSlice> slices, PullMode mode, RowType type, char* out);

  // Puts rows to read, some of those of a checked request, into `out`, and zeros behind them.
  void read_rows(const RowSlice& rows, RowType type, std::span<char> out);

  // Puts the rows of a checked request to train into `out`, and pointers to the rows in the tables into
  // `progress`, which begins empty.  Returns false if there are more rows than `work` allows: the next call, with
  // the same arguments, goes on.  Before the last call nothing else may be done with the tables except reading
  // rows.
  bool pull(std::span<const RowSlice> slices, RowType type, char* out, PullProgress& progress,
            SliceWork& work);
  PulledRows pull(std::span<const RowSlice> slices, RowType type, char* out) {
    PullProgress progress;
    SliceWork all;
    pull(slices, type, out, progress, all);
    return std::move(progress.pulled);
  }

  // Forgets what tables with a policy hold for the next push of a trainer whose process is replaced.
  void forget_held_counts();

  // Sets weights, as if training began with them.  The row numbers from the size of a dense table on are
  // those of the state that its optimizer keeps; such rows are set as they are stored.
  void load(const RowSlice& slice, const float* floats);

  // Returns the answer to a request for keys of a sparse parameter's rows: about `most` of them in ascending
  // order, as RowStorage::scan_all gives them, and the cursor from which the next answer goes on.  Throws
  // kData if the parameter is not sparse.
  std::string keys(const KeysRequest& request) const;

  uint64_t memory_bytes() const { return tables_.memory_bytes(); }

  // Returns the number of calls of read and pull so far: a sweep that sees no new ones goes faster.
  uint64_t num_requests() const { return num_requests_; }

  // Return the bytes that new rows would take: row_bytes for all keys of the slices, as if none had a row
  // yet, and missing_row_bytes for the keys that have none.
  uint64_t row_bytes(std::span<const RowSlice> slices) const;
  uint64_t missing_row_bytes(std::span<const RowSlice> slices) const;

  // Returns counts of the rows that came and went here.  Throws kData if the parameter has no policy.
  RowReport row_report(size_t parameter) const;

  // Returns one status for each parameter of which this shard has a part.
  std::vector<TableStatus> status() const;

 private:
  Table& table(const RowSlice& slice) const { return *tables_.table(slice.parameter); }
  // Some rows of a slice.
  struct RowRange {
    const RowSlice& slice;
    uint64_t first, count;
  };

  uint64_t bytes_of(const RowSlice& slice, RowType type) const;
  void begin_slice(const RowSlice& slice, PullProgress& progress) const;
  void encode_rows(const RowRange& range, PullMode mode, RowType type, char* out, std::span<float*> rows);
  void read_floats(const RowRange& range, PullMode mode, float* out, std::span<float*> rows);
  void pull_keys(Table& table, std::span<const uint64_t> keys, float* out, std::span<float*> rows);

  Device device_;
  ParameterTables tables_;
  std::vector<int64_t> widths_;  // by parameter

  // Memory for the time of a request.
  std::vector<float*> rows_;   // rows of the slice that is read
  std::vector<float> floats_;  // rows before they are encoded

  uint64_t num_requests_ = 0;
};

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_TABLES_H_
