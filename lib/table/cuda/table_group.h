// TableGroup: makes calls of many DeviceTable objects at once, of different widths and optimizers, with as
// many kernel launches as one table needs.  Used by code that trains on a device; compiled for CUDA and for
// the emulator.
//
// The results are the same, bit for bit, as those of the same calls table by table.  All calls are queued on
// a stream, which must be the stream of the tables, or ordered with it by events.  No call waits for the
// device, except that a third call waits for the first: the parts of a call are copied to the device from
// host memory, which has room for two calls.  Arguments point to memory of the device, which must stay valid
// until the stream has been waited for.
#ifndef PS_TABLE_CUDA_TABLE_GROUP_H_
#define PS_TABLE_CUDA_TABLE_GROUP_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/algorithms.h"
#include "gpu/device.h"
#include "optim/current_step.h"
#include "optim/kernels/idle.h"
#include "table/cuda/device_table.h"
#include "table/cuda/table_part.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// The call of one table; the members have the meaning of DeviceTable's arguments.
//
// If row_pointers [size] is set, it gets pointers to the rows, null where there is none, and `weights` is not written.  The
// pointers are good until the next call that makes, loads or erases rows.  Only for tables whose weights are floats.
struct TableFind {
  DeviceKeys keys = {};
  uint8_t* found = nullptr;
  float* weights = nullptr;
  float** row_pointers = nullptr;
};

// Works as find_rows, without the rows; row_pointers as in TableFind.
struct TableLookUp {
  DeviceKeys keys = {};
  uint8_t* found = nullptr;
  uint64_t* scores = nullptr;
  float** row_pointers = nullptr;
};

struct TableAdvance {
  DeviceKeys keys = {};
  const uint32_t* which = nullptr;
  const IdleChange* changes = nullptr;
  uint64_t score = 0;
};

struct TablePull {
  DeviceKeys keys = {};
  float* weights = nullptr;
  RowsOut evicted = {};
};

struct TablePush {
  DeviceKeys keys = {};
  const float* gradients = nullptr;
  AnyStep<float> step = {};  // with std::monostate the table is not called
  float scale = 1, bound = 0;
  RowsOut evicted = {};
};

// A step of rows to which TableFind has given pointers that are still good.  The keys are distinct, and all have rows.
struct TableStep {
  float* const* row_pointers = nullptr;  // [size]
  int64_t size = 0;
  uint64_t score = 0;  // score that all rows get
  const float* gradients = nullptr;
  AnyStep<float> step = {};  // with std::monostate the table is not called
  float scale = 1, bound = 0;
};

// One owner thread.
class TableGroup {
 public:
  // A call takes at most as many keys, all tables together, as the tables take each in sum. bytes_for returns
  // the device memory that a group needs for such a table, without the workspace for sorting.
  static uint64_t bytes_for(const DeviceTableOptions& options);

  // The tables must outlive the group.  Throws kExhausted.
  TableGroup(gpu::Device& device, gpu::Stream& stream, std::vector<DeviceTable*> tables);

  // Each function takes one call for every table; it may have no keys.
  void find(gpu::Stream& stream, std::span<const TableFind> calls);
  void look_up(gpu::Stream& stream, std::span<const TableLookUp> calls);
  void advance(gpu::Stream& stream, std::span<const TableAdvance> calls);
  void pull(gpu::Stream& stream, std::span<const TablePull> calls);
  void push(gpu::Stream& stream, std::span<const TablePush> calls);

  // Works as push with the keys of the rows, in one kernel for each rule of steps: keys are neither sorted nor looked up.
  // Only for tables of floats that evict by EvictionScore::kGiven.
  void step(gpu::Stream& stream, std::span<const TableStep> calls);

  // counts [tables] <- the counts after all calls queued so far, in one copy.  They are valid once the stream
  // has been waited for.
  void copy_counts(gpu::Stream& stream, DeviceTableCounts* counts);

 private:
  using Part = device_table::TablePart;

  // The parts of a call, while they are copied to the device.
  struct Sent {
    Sent(gpu::Device& device, gpu::HostMemory& memory, int64_t tables)
        : parts(memory, tables), copied(device) {}
    gpu::HostArray<Part> parts;
    gpu::Event copied;
  };

  // The parts [begin, end) of a call, whose steps have the same rule.
  struct OfRule {
    uint32_t rule, begin;
    uint32_t end = 0, step_blocks = 0;
    // The number of keys of the parts that may have long runs, and the tiles of their widest row.
    uint32_t long_keys = 0, tiles = 0;
  };

  void begin(size_t calls, uint64_t keys);
  Part* add(gpu::Stream& stream, size_t number, DeviceKeys keys, const RowsOut& evicted);
  Part* add_present(gpu::Stream& stream, size_t number, DeviceKeys keys);
  template <class Call>
  Part* add_step(gpu::Stream& stream, size_t number, DeviceKeys keys, const RowsOut& evicted,
                 const Call& call);
  void send(gpu::Stream& stream);
  device_table::Batch batch_of_all() const;
  void prepare(gpu::Stream& stream);
  template <class Body>
  void run(gpu::Stream& stream, const Body& body);
  std::vector<OfRule> step_rules();
  template <class Step>
  void launch_steps(gpu::Stream& stream, const OfRule& rule);

  const std::vector<DeviceTable*> tables_;
  const uint64_t most_keys_;
  gpu::HostMemory host_memory_;
  gpu::HostArray<const DeviceTableCounts*> host_counts_;
  gpu::Workspace workspace_;
  gpu::DeviceArray<Part> parts_;
  gpu::DeviceArray<uint64_t> wide_scratch_;
  gpu::DeviceArray<uint32_t> scratch_, singles_;
  gpu::DeviceArray<const DeviceTableCounts*> counts_of_tables_;
  gpu::DeviceArray<DeviceTableCounts> counts_;
  std::array<std::unique_ptr<Sent>, 2> sent_;
  gpu::Stream long_runs_;  // for a part of push that runs beside the rest
  gpu::Event rows_ready_, long_runs_done_;

  // The present call.
  uint64_t num_calls_ = 0;
  Part* host_parts_ = nullptr;
  uint32_t num_parts_ = 0, num_blocks_ = 0, num_keys_ = 0;
  uint32_t table_bits_ = 0;  // bits of a part's number in prefixes
  unsigned threads_ = 0;     // threads of a block
  bool evicts_ = false;      // some table is asked for the rows that it evicts
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_TABLE_CUDA_TABLE_GROUP_H_
