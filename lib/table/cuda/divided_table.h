// DividedTable: the rows of one table on several devices of a process, each of which asks for rows and has gradients.  For
// programs whose batches are on several devices; a job's batch is on one, and DividedGroup divides its rows.  Compiled for
// CUDA and for the emulator.
//
// The hash of a key says which device has its row.  Each device sorts the keys of its call by owner, and copies of memory
// between devices bring them there; weights go back the same way.  An owner has the keys and gradients of all
// devices in the order of devices, merges them as DeviceTable does, and makes one step of a row, however many devices
// have gradients for it.  So the rows are those of one DeviceTable that is given the keys of the devices one after the
// other, bit for bit, as long as no bucket is full.
//
// A call waits once, for the numbers of keys that go from device to device, by which the copies are queued; all else is
// queued.  Several parts may lie on one device.
#ifndef PS_TABLE_CUDA_DIVIDED_TABLE_H_
#define PS_TABLE_CUDA_DIVIDED_TABLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "table/cuda/device_table.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// A device, and the stream on which it computes.
struct TablePlace {
  gpu::Device* device;
  gpu::Stream* stream;
};

// One owner thread.
class DividedTable {
 public:
  // `options` are those of the table as a whole: its rows are divided equally, and max_batch is the number of keys that each
  // device may give in a call.  The places outlive the table.  Throws kUsage for impossible options and for scores that
  // are given, kExhausted if a device has too little memory.
  DividedTable(const std::vector<TablePlace>& places, const DeviceTableOptions& options);
  ~DividedTable();

  // Returns the place of the row of a key.
  static uint32_t owner_of(uint64_t key, uint32_t places);

  // Each argument has one element for each place, whose arrays lie in the memory of its device: weights [size, width] and
  // gradients [size, width] of its keys.  A place has its results after the work of its stream.
  void pull(std::span<const DeviceKeys> keys, std::span<float* const> weights);

  // Applies one step to each row for which any place has gradients.  All of them are multiplied by `scale` and clipped
  // to [-bound, bound] after they have been added up.
  template <class Step>
  void push(std::span<const DeviceKeys> keys, std::span<const float* const> gradients, const Step& step,
            float scale, float bound);

  // The part of the table at a place, for exports and counts.
  DeviceTable& part(size_t place);

 private:
  struct Part;

  enum class Direction { kToOwners, kBack };

  void send_keys(std::span<const DeviceKeys> keys);
  void meet();
  template <class T, class Ordered>
  void copy_parts(Direction direction, const Ordered& ordered, gpu::DeviceArray<T> Part::*received,
                  int64_t width);

  const uint32_t width_;
  const int64_t most_keys_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_TABLE_CUDA_DIVIDED_TABLE_H_
