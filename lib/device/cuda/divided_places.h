// The memory of a DividedGroup: on each of its devices, and besides on the first.  Used by divided_group.h alone.
#ifndef PS_DEVICE_CUDA_DIVIDED_PLACES_H_
#define PS_DEVICE_CUDA_DIVIDED_PLACES_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "device/cuda/divided_kernels.h"
#include "device/cuda/staged_array.h"
#include "gpu/algorithms.h"
#include "gpu/device.h"
#include "table/cuda/key_split.h"
#include "table/cuda/table_group.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// Each group of ordered values begins at a multiple of 16 bytes, so some are left out before it.
constexpr uint64_t kLeftOutValues = 3;

// Sizes of the arrays for some rows.
struct DividedSizes {
  int64_t keys = 0, values = 0, tables = 0;
};

// A device, with what it gets of a call in the order in which the first device has put it: keys, scores, and numbers of
// changes or sources [keys]; values of its rows.
struct DividedPlace {
  // `shared` is the stream of a model on the device, or null.
  DividedPlace(std::shared_ptr<gpu::Device> given, gpu::Stream* shared)
      : device(std::move(given)),
        own_stream(shared == nullptr ? std::make_unique<gpu::Stream>(*device) : nullptr),
        stream(shared == nullptr ? *own_stream : *shared),
        memory(*device),
        done(*device) {}

  void build(const DividedSizes& sizes, const std::vector<DeviceTable*>& tables) {
    keys = gpu::DeviceArray<uint64_t>(*device, sizes.keys);
    scores = gpu::DeviceArray<uint64_t>(*device, sizes.keys);
    found = gpu::DeviceArray<uint8_t>(*device, sizes.keys);
    which = gpu::DeviceArray<uint32_t>(*device, sizes.keys);
    changes = gpu::DeviceArray<IdleChange>(*device, sizes.keys);
    values = gpu::DeviceArray<float>(*device, sizes.values);
    counts = gpu::HostArray<DeviceTableCounts>(memory, sizes.tables);
    group = std::make_unique<TableGroup>(*device, stream, tables);
  }
  void clear() {
    group = nullptr;
    keys = {}, scores = {}, found = {}, which = {}, changes = {}, values = {}, counts = {};
  }

  const std::shared_ptr<gpu::Device> device;
  const std::unique_ptr<gpu::Stream> own_stream;  // null: it is that of a model
  gpu::Stream& stream;
  gpu::HostMemory memory;
  gpu::Event done;
  gpu::DeviceArray<uint64_t> keys, scores;
  gpu::DeviceArray<uint8_t> found;
  gpu::DeviceArray<uint32_t> which;
  gpu::DeviceArray<IdleChange> changes;
  gpu::DeviceArray<float> values;
  gpu::HostArray<DeviceTableCounts> counts;
  std::unique_ptr<TableGroup> group;
};

// The call as the host gives it to the first device, and in the order of owners.
struct DividedFront {
  DividedFront(gpu::Device& device, const DividedSizes& sizes, int64_t places)
      : memory(device),
        keys(device, memory, sizes.keys),
        scores(device, memory, sizes.keys),
        found(device, memory, sizes.keys),
        which(device, memory, sizes.keys),
        values(device, memory, sizes.values),
        changes(memory, sizes.keys),
        ordered_scores(device, sizes.keys),
        ordered_found(device, sizes.keys),
        ordered_which(device, sizes.keys),
        numbers(device, sizes.keys),
        ordered_values(device, sizes.values + places * sizes.tables * static_cast<int64_t>(kLeftOutValues)),
        sections(device, memory, places * sizes.tables),
        source_ends(device, memory, places),
        workspace(device),
        split(device, sizes.keys, static_cast<size_t>(places), static_cast<size_t>(sizes.tables)),
        ready(device) {}

  RowSections all_sections(size_t count) const {
    return {sections.device.data(), static_cast<uint32_t>(count)};
  }
  uint32_t size() const { return static_cast<uint32_t>(split.num_keys()); }

  gpu::HostMemory memory;
  StagedArray<uint64_t> keys, scores;
  StagedArray<uint8_t> found;
  StagedArray<uint32_t> which;
  StagedArray<float> values;
  gpu::HostArray<IdleChange> changes;
  gpu::DeviceArray<uint64_t> ordered_scores;
  gpu::DeviceArray<uint8_t> ordered_found;
  gpu::DeviceArray<uint32_t> ordered_which, numbers;
  gpu::DeviceArray<float> ordered_values;
  StagedArray<RowSection> sections;
  StagedArray<uint32_t> source_ends;
  gpu::Workspace workspace;
  KeySplit split;
  gpu::Event ready;
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_DEVICE_CUDA_DIVIDED_PLACES_H_
