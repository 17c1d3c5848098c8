// CodecThere: encodes and decodes a gradient in the memory of a device.  It makes the same bytes as the codec
// (codec/codec.h) on the processor.  CodecDevice makes these objects.  Implemented in lib/device/cuda, for CUDA
// and for the emulator.
#ifndef PS_CODEC_CODEC_THERE_H_
#define PS_CODEC_CODEC_THERE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "codec/power_iteration.h"
#include "codec/power_there.h"
#include "codec/selection.h"
#include "codec/sparse_vector.h"

namespace ps {

// The formats that devices know are those of the codecs fp16, bf16, int8, one_bit, shared_scale_int, top_k,
// threshold and low_rank.
struct CodecFormat {
  // kInt8Even is int8 with stochastic rounding, kLargest is top_k, and kFromSize is threshold.
  enum class Kind : uint8_t {
    kF16,
    kBf16,
    kInt8,
    kInt8Even,
    kOneBit,
    kShared8,
    kShared16,
    kLargest,
    kFromSize,
    kLowRank
  };

  Kind kind = Kind::kF16;
  int64_t block = 1;                                 // number of values that share a scale or two means
  uint64_t seed = 0;                                 // seed of random decisions
  uint64_t count = 0;                                // kLargest: number of values that are selected
  Selection selection = Selection::kExact;           // kLargest
  SparseEncoding encoding = SparseEncoding::kRun16;  // kLargest
  float tau = 0;                                     // kFromSize
  uint64_t key = 0;                                  // kLowRank: number of the parameter
  FactorShape shape = {};                            // kLowRank

  // Returns true for formats that hold some values with their indices.  The number of their bytes is known only
  // after encoding.
  constexpr bool selects() const { return kind == Kind::kLargest || kind == Kind::kFromSize; }
};

// One owner thread.  Pointers are into the memory of the device, where a gradient has `elements` values; spans
// and strings are in memory of the host, and must not change until the next finish_encode or CodecDevice::wait.
// Calls throw the errors of the device.
class CodecThere {
 public:
  static constexpr uint64_t kAllFinite = UINT64_MAX;

  virtual ~CodecThere() = default;

  // Set and get the residual [elements], which begins with zeros.  To be called only if there is a residual.
  virtual void set_residual(std::span<const float> residual) = 0;
  virtual void get_residual(std::span<float> residual) = 0;

  // Queued: encodes scale x values + residual into `bytes`, and sets the residual to the part that the bytes do
  // not hold.  `step` counts the encodings of a codec.  The caller has resized the string, unless the format
  // selects values: then finish_encode fills the string.
  virtual void begin_encode(const float* values, float scale, uint64_t step, std::string& bytes) = 0;

  // Waits for the last encoding.  Returns kAllFinite, or the index of the first sum that is not finite; in the
  // latter case the residual must not be used any more.
  virtual uint64_t finish_encode() = 0;

  // Returns Q of low_rank [rank, cols], in memory of the host, which begins with zeros.  It may be read and
  // written between a finish_encode and the next begin_encode.
  virtual std::span<float> factor() { return {}; }

  // values [elements] <- the values of the last encoding, times its scale.
  virtual void get_values(std::span<float> values) = 0;

  // Queued: values <- decoded bytes / divisor. decode and add_up throw kCorrupt for bytes of a format that
  // selects values; the caller must have checked the bytes of other formats.
  virtual void decode(std::string_view bytes, float divisor, float* values) = 0;

  // Queued: sums <- the sum of the decoded parts, added in their order.
  virtual void add_up(std::span<const std::string_view> parts, float* sums) = 0;
};

// One owner thread.  It outlives the objects that it makes.
class CodecDevice {
 public:
  virtual ~CodecDevice() = default;

  // Throws kExhausted.
  virtual std::unique_ptr<CodecThere> make(const CodecFormat& format, uint64_t elements,
                                           bool keeps_residual) = 0;

  // Makes the state of PowerSGD for one matrix.  Throws kExhausted.
  virtual std::unique_ptr<PowerThere> make_power(const FactorShape& shape) = 0;

  // Returns when all queued work is done.
  virtual void wait() = 0;
};

}  // namespace ps

#endif  // PS_CODEC_CODEC_THERE_H_
