// BatchArrays: the arrays of a batch that go to a device and come back.  They lie in page-locked memory of the
// host, which the device reads and writes fast and without the processor.  Used by gpu_kernels.cu; compiled for
// CUDA and for the emulator.
#ifndef PS_MODEL_CUDA_BATCH_TRANSFERS_H_
#define PS_MODEL_CUDA_BATCH_TRANSFERS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/device.h"
#include "math/device_kernels.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// One owner thread.  Arrays lie side by side in blocks of memory of the host and, with kThere, in blocks of the
// device too.  If a batch took several blocks, the next batch gets one of their whole size.
template <bool kThere>
class BatchArrays {
 public:
  BatchArrays(gpu::Device& device, gpu::HostMemory& memory) : device_(device), memory_(memory) {}

  // Forgets all arrays.  No work may use them any more.
  void clear() {
    if (blocks_.size() > 1) {
      uint64_t bytes = 0;
      for (const Block& block : blocks_) bytes += block.here.bytes();
      blocks_.clear();
      add_block(bytes);
    }
    if (!blocks_.empty()) blocks_.front().used = blocks_.front().sent = 0;
  }

  Upload add(uint64_t bytes) {
    if (blocks_.empty() || blocks_.back().here.bytes() - blocks_.back().used < bytes) {
      add_block(std::max(bytes, kLeastBytes));
    }
    Block& block = blocks_.back();
    const Upload array = {block.here.data() + block.used, kThere ? block.there.data() + block.used : nullptr};
    block.used = std::min(block.here.bytes(), block.used + (bytes + kAligned - 1) / kAligned * kAligned);
    return array;
  }

  // Calls copy(to, from, bytes) for arrays that were added since it was last called, side by side: the copies to the
  // device that are to be made.
  template <class Copy>
  void send(const Copy& copy) {
    for (Block& block : blocks_) {
      if (block.sent == block.used) continue;
      copy(block.there.data() + block.sent, block.here.data() + block.sent, block.used - block.sent);
      block.sent = block.used;
    }
  }

 private:
  static constexpr uint64_t kAligned = 256, kLeastBytes = 1 << 20;

  struct Block {
    gpu::HostArray<char> here;
    gpu::DeviceArray<char> there;
    uint64_t used = 0, sent = 0;  // bytes
  };

  void add_block(uint64_t bytes) {
    const auto size = static_cast<int64_t>(bytes);
    Block& block = blocks_.emplace_back();
    block.here = gpu::HostArray<char>(memory_, size);
    if constexpr (kThere) block.there = gpu::DeviceArray<char>(device_, size);
  }

  gpu::Device& device_;
  gpu::HostMemory& memory_;
  std::vector<Block> blocks_;
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_MODEL_CUDA_BATCH_TRANSFERS_H_
