// RowsGroup: the tables of a device whose rows a batch reads and trains together, with the staged memory for
// keys, gradients and weights.  Used by table_rows.cu.
#ifndef PS_DEVICE_CUDA_ROWS_GROUP_H_
#define PS_DEVICE_CUDA_ROWS_GROUP_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cuda/staged_array.h"
#include "gpu/device.h"
#include "optim/current_step.h"
#include "table/cuda/table_group.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// One owner thread.
class RowsGroup {
 public:
  struct LookUp {
    const DeviceTable* table;
    std::span<const uint64_t> keys;
    uint8_t* found;              // [keys]: 1 or 0
    uint64_t* scores;            // [keys]
    float** pointers = nullptr;  // as in Read, but null for keys without a row
  };

  // The arguments of DeviceTable::advance for one table.
  struct Advance {
    const DeviceTable* table;
    std::span<const uint64_t> keys;
    std::span<const uint32_t> which;
    std::span<const IdleChange> changes;  // at most as many as keys
    uint64_t score;
  };

  // Weights and gradients are in memory of the host, or, if `there` is set, in memory of the device.  With `pointers`, which are
  // in memory of the device, weights are not copied: each pointer is set to a row in the table.
  struct Read {
    const DeviceTable* table;
    std::span<const uint64_t> keys;
    float* weights;  // [keys, width], or null
    bool there;
    float** pointers = nullptr;  // [keys], or null
  };

  struct Step {
    const DeviceTable* table;
    std::span<const uint64_t> keys;
    uint64_t score;          // score that all rows get
    const float* gradients;  // [keys, width]
    bool there;
    const CurrentStep<float>& step;
    float scale;
    float* const* pointers = nullptr;  // [keys] set by a read, or null: rows are looked up
  };

  // Returns the bytes of device memory that the group takes for a table.
  static uint64_t bytes_for(const DeviceTableOptions& options);

  explicit RowsGroup(gpu::Stream& stream) : stream_(stream), memory_(stream.device()) {}

  // Adds a table, which stays in the group until it is removed.  Throws kExhausted.
  void add(DeviceTable& table, const DeviceTableOptions& options);
  void remove(const DeviceTable& table) noexcept;

  // Each call waits for the device, and names a table at most once.  The keys of a step must have rows.
  void look_up(std::span<const LookUp> look_ups);
  void advance(std::span<const Advance> advances);
  void read(std::span<const Read> reads);
  void step(std::span<const Step> steps);

 private:
  struct Member {
    DeviceTable* table;
    uint32_t most_keys, width;
  };

  // The places in the staged arrays at which the next keys of a call begin.
  struct Place {
    int64_t keys = 0, values = 0;
  };

  void build();
  void add_to_means(std::span<const Step> steps, std::span<const DeviceKeys> stepped);
  size_t index_of(const DeviceTable* table) const;
  DeviceKeys stage_keys(const Place& place, std::span<const uint64_t> keys);
  static void pass_keys(Place& place, const Member& member, int64_t keys);
  static void pass_values(Place& place, const Member& member, int64_t keys);

  gpu::Stream& stream_;
  gpu::HostMemory memory_;
  std::vector<Member> members_;
  std::unique_ptr<TableGroup> group_;  // null: it has to be built again, since a member was removed
  StagedArray<uint64_t> keys_, scores_;
  StagedArray<float> values_;  // gradients of a step, or weights of a read
  StagedArray<uint8_t> found_;
  StagedArray<uint32_t> which_;
  StagedArray<IdleChange> changes_;
  gpu::HostArray<DeviceTableCounts> counts_;
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_ROWS_GROUP_H_
