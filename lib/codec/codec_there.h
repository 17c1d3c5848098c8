// CodecThere: a codec (codec/codec.h) of a gradient that lies in the memory of a device, with the bytes of the processor's;
// CodecDevice makes these.  Implemented in lib/device/cuda, for CUDA and for the emulator.
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

// The formats that devices know: those of the codecs fp16, bf16, int8, one_bit, shared_scale_int, top_k, threshold and low_rank.
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
  int64_t block = 1;                                 // values that share a scale or two means
  uint64_t seed = 0;                                 // of random decisions
  uint64_t count = 0;                                // kLargest: values that are selected
  Selection selection = Selection::kExact;           // kLargest
  SparseEncoding encoding = SparseEncoding::kRun16;  // kLargest
  float tau = 0;                                     // kFromSize
  uint64_t key = 0;                                  // kLowRank: number of the parameter
  FactorShape shape = {};                            // kLowRank

  // True for formats of some values and their indices, whose number of bytes is known when they are encoded.
  constexpr bool selects() const { return kind == Kind::kLargest || kind == Kind::kFromSize; }
};

// One owner thread.  Pointers are into the memory of the device, where a gradient has `elements` values; spans and strings are
// the host's, and stay as they are until the next finish_encode or CodecDevice::wait.  Calls throw the errors of the device.
class CodecThere {
 public:
  static constexpr uint64_t kAllFinite = UINT64_MAX;

  virtual ~CodecThere() = default;

  // The residual [elements], which begins with zeros; only if there is one.
  virtual void set_residual(std::span<const float> residual) = 0;
  virtual void get_residual(std::span<float> residual) = 0;

  // bytes <- scale x values, plus the residual, which becomes what the bytes lack.  Queued.  `step` counts the encodings of a
  // codec.  The string has the right size already, unless the format selects: then finish_encode gives it its bytes.
  virtual void begin_encode(const float* values, float scale, uint64_t step, std::string& bytes) = 0;

  // Waits for the last encoding.  Returns the index of the first sum that is not finite, or kAllFinite: otherwise the residual
  // must not be used any more.
  virtual uint64_t finish_encode() = 0;

  // Q of low_rank on the host [rank, cols], which begins with zeros; between a finish_encode and the next begin_encode.
  virtual std::span<float> factor() { return {}; }

  // values [elements] <- scale x values of the last encoding.
  virtual void get_values(std::span<float> values) = 0;

  // values <- decoded bytes / divisor.  Queued.  This and add_up throw kCorrupt for bytes of a format that selects; those of others
  // must have been checked.
  virtual void decode(std::string_view bytes, float divisor, float* values) = 0;

  // sums <- the sum of the decoded parts, in their order.  Queued.
  virtual void add_up(std::span<const std::string_view> parts, float* sums) = 0;
};

// One owner thread.  Outlives what it makes.
class CodecDevice {
 public:
  virtual ~CodecDevice() = default;

  // Throws kExhausted.
  virtual std::unique_ptr<CodecThere> make(const CodecFormat& format, uint64_t elements,
                                           bool keeps_residual) = 0;

  // A matrix for PowerSGD.  Throws kExhausted.
  virtual std::unique_ptr<PowerThere> make_power(const FactorShape& shape) = 0;

  // Returns when all queued work is done.
  virtual void wait() = 0;
};

}  // namespace ps

#endif  // PS_CODEC_CODEC_THERE_H_
