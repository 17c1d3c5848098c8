// DeviceSelector: selection of the largest values on a device, and the local step of Deep Gradient Compression
// fused with it.  Compiled for CUDA and for the emulator; used by code that compresses gradients there.
//
// It selects exactly what Selector (codec/selection.h) and DeepGradientCompression (codec/dgc.h) select on the
// processor: the same indices in ascending order, and the same values bit for bit, for both kinds of selection.
// Among equal sizes the lowest indices are kept, zeros are never selected, and sizes of infinities and NaNs are
// above those of all numbers.
//
// A threshold is estimated from a sample.  One pass over the values, 16 bytes at a time, collects those that
// reach it, and a radix selection over these alone finds the exact least size to keep.  Only where too few were
// collected, or there is no sample, is the threshold set by a histogram of all values, and they are read once or
// twice more.  Nothing waits for the host: kernels that turn out not to be needed end at once.
//
// Bytes moved, for `count` of `size` floats with a sample, where C <= 1.25 count or so are collected:
//
//   select   4 size  +  1024 size / count  +  8 (1 + 5) C  +  8 count
//            values     the sample            candidates      the result
//   step     20 size                                                           with weight decay 24 size
//            g, u and v read, u and v written; and the rest as above, the sample's part 4 times (5 times)
//
// The minimum is 4 size + 8 count, or 20 size + 8 count.  At 0.1 % of 64 M values a selection moves 1.02 times the
// minimum, and a step 1.007 times.
#ifndef PS_CODEC_CUDA_DEVICE_SELECTION_H_
#define PS_CODEC_CUDA_DEVICE_SELECTION_H_

#include <cstdint>

#include "codec/cuda/selection_state.h"
#include "codec/kernels/vector_kernels.h"
#include "codec/selection.h"
#include "gpu/algorithms.h"
#include "gpu/device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// Output memory of the device, with room for as many values as are selected.
struct DeviceSparseVector {
  uint32_t* index;  // [count], ascending
  float* value;     // [count]
  uint32_t* size;   // [1] <- how many were selected, at most `count`
};

// The output of a step: the values that it sends, and how they change its arrays.
struct DeviceSent {
  DeviceSparseVector vector;
  uint32_t* largest;  // [1] <- the largest size of a move: a step counts only if this is below kInfiniteSize
  bool half = false;  // values are rounded to 16 bits, as the encoding varint_f16 has them
  bool factor_masking = true;  // u <- 0 where values are sent
  bool takes_out = true;       // false: u and v keep the sent values, and the caller removes them
};

// All arrays lie in the memory of the selector's device, and may begin at any float; those aligned to 16 bytes
// are read faster.  One owner thread.  Calls queue work on a stream; those of one selector must use one stream,
// or be ordered by events.
class DeviceSelector {
 public:
  static constexpr uint32_t kMostTiles = 1 << 14;  // twice the warps that a large GPU runs at once

  DeviceSelector(gpu::Device& device, Selection kind, uint32_t most_tiles = kMostTiles)
      : kind_(kind), most_tiles_(most_tiles), memory_(device) {}

  // Returns the bytes of device memory that a selection of `count` of `size` values needs besides its arguments.
  // They are allocated when a call first needs them, and kept: about 32 count + 300 for each of at most
  // most_tiles tiles.
  static uint64_t bytes_for(uint64_t size, uint64_t count, uint32_t most_tiles = kMostTiles);

  // vector <- what Selector::select gives for the same kind, count and draw.
  //   values [size], count <= size <= kMaxSparseSize
  // Throws kExhausted.
  void select(gpu::Stream& stream, const float* values, uint64_t size, uint64_t count, uint64_t draw,
              const DeviceSparseVector& vector);

  // One local step of Deep Gradient Compression: updates velocity and residual with the gradient, selects
  // `count` residuals, and removes the sent values.  Local clipping is the caller's: it is part of step.scale.
  // After a step with a largest size of kInfiniteSize or more, its arrays must not be used any more.  The step
  // of DeepGradientCompression numbered n has the draw (hash_key(seed) ^ hash_key(~key)) + hash_key(n).
  void step(gpu::Stream& stream, const DgcStep& step, uint64_t size, uint64_t count, uint64_t draw,
            const DeviceSent& sent);

 private:
  device_selection::Search prepare(uint64_t size, uint64_t count);
  template <class Values>
  bool set_least(gpu::Stream& stream, const Values& values, const device_selection::Search& search,
                 uint64_t draw);
  template <class Values>
  void collect_and_move(gpu::Stream& stream, const Values& values, const device_selection::Search& search,
                        uint64_t draw);
  template <bool kDecay, bool kNesterov>
  void collect_moves(gpu::Stream& stream, const DgcStep& step, const device_selection::Search& search,
                     uint64_t draw);
  void collect_again(gpu::Stream& stream, const float* values, const device_selection::Search& search);
  void finish(gpu::Stream& stream, const float* values, const device_selection::Search& search,
              const DeviceSent& sent, float* residual, float* velocity);

  const Selection kind_;
  const uint32_t most_tiles_;
  gpu::Workspace memory_;
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_CODEC_CUDA_DEVICE_SELECTION_H_
