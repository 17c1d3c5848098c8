// Whole numbers of 8 or 16 bits with one scale a chunk, a power of two.
//
//   block := exponent:i16 (value:i8[n] | value:i16[n])      exponent in [-126, 129 - bits]
//   a value is value x 2^exponent
//
// The exponent is the least one for which the largest value of the chunk fits, so that a value is exactly the
// sum of its decoded value and its residual.
#include "codec/shared_scale.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "codec/block_codec.h"
#include "codec/entries.h"
#include "codec/kernels/whole_rules.h"
#include "codec/vector_kernels.h"

namespace ps {

namespace {

constexpr int kMaxParts = 1 << 15;

struct SharedScaleOptions : FeedbackOptions {
  int64_t chunk = 4096;
  int bits = 8;

  static const ObjectSpec<SharedScaleOptions>& spec() {
    static const ObjectSpec<SharedScaleOptions> spec = [] {
      ObjectSpec<SharedScaleOptions> s;
      s.field("chunk", &SharedScaleOptions::chunk, "values that share a scale").at_least(1).at_most(65536);
      s.field("bits", &SharedScaleOptions::bits, "of a whole number, 8 or 16").at_least(8).at_most(16);
      add_feedback_field(s);
      s.check([](const SharedScaleOptions& options, std::string_view path) {
        if (options.bits == 8 || options.bits == 16) return;
        fail(Code::kUsage, json_path(path, "bits"), ": ", options.bits, ", expected 8 or 16");
      });
      return s;
    }();
    return spec;
  }
};

int64_t chunk_bytes(int bits, int64_t n) {
  return int64_t{sizeof(int16_t)} + n * bits / 8;
}

int read_exponent(const char* in, int bits) {
  int16_t exponent;
  std::memcpy(&exponent, in, sizeof exponent);
  if (exponent < kLeastSharedExponent || exponent > largest_shared_exponent(bits)) {
    fail(Code::kCorrupt, "encoded gradient: exponent ", exponent, " of a scale");
  }
  return exponent;
}

// Returns the integer of value i of a chunk.
int64_t whole_number(const char* chunk, int bits, int64_t i) {
  if (bits == 8) return static_cast<signed char>(chunk[2 + i]);
  int16_t value;
  std::memcpy(&value, chunk + 2 + 2 * i, sizeof value);
  return value;
}

class SharedScaleCodec final : public BlockCodec {
 public:
  SharedScaleCodec(const SharedScaleOptions& options, const CodecTarget& target)
      : BlockCodec(target, options.error_feedback, options.chunk),
        bits_(options.bits),
        format_{options.chunk, options.bits},
        bound_(shared_bound(options.bits)) {}

  bool sums_in_any_order() const override { return true; }

  std::optional<CodecFormat> format_there() const override {
    using Kind = CodecFormat::Kind;
    return CodecFormat{.kind = bits_ == 8 ? Kind::kShared8 : Kind::kShared16, .block = block_size()};
  }

  void add_up(std::span<const std::string_view> parts, std::span<float> sums) const override {
    sum_shared_scale(format_, parts, sums);
  }

 private:
  int64_t encoded_bytes(int64_t n) const override { return chunk_bytes(bits_, n); }

  // Values are multiplied by 2^-exponent and rounded to whole numbers of at most bound_.  Numbers of 16
  // bits pass through an aligned array, since `out` may begin at any byte.
  void encode_block(const float* values, int64_t n, Block, char* out) const override {
    const VectorKernels& kernels = this->kernels();
    const int exponent = shared_exponent(kernels.largest_size(values, n), bits_);
    const int16_t stored = static_cast<int16_t>(exponent);
    std::memcpy(out, &stored, sizeof stored);
    const Lattice lattice{power_of_two(-exponent), bound_};
    if (bits_ == 8) {
      kernels.encode_lattice8(values, n, lattice, reinterpret_cast<signed char*>(out + sizeof stored));
    } else {
      std::vector<int16_t> whole(static_cast<size_t>(n));
      kernels.encode_lattice16(values, n, lattice, whole.data());
      std::memcpy(out + sizeof stored, whole.data(), whole.size() * sizeof(int16_t));
    }
  }

  void decode_block(const char* in, int64_t n, float* values) const override {
    const float scale = power_of_two(read_exponent(in, bits_));
    const char* from = in + sizeof(int16_t);
    if (bits_ == 8) {
      kernels().scale_bytes(reinterpret_cast<const signed char*>(from), n, scale, values);
    } else {
      std::vector<int16_t> whole(static_cast<size_t>(n));
      std::memcpy(whole.data(), from, whole.size() * sizeof(int16_t));
      kernels().decode_lattice16(whole.data(), n, scale, values);
    }
  }

  void check_block(const char* in, int64_t) const override { read_exponent(in, bits_); }

  const int bits_;
  const SharedScaleFormat format_;
  const float bound_;
};

// Adds a chunk of a part to integers in units of 2^(exponent - 32).
void add_chunk(const char* chunk, int bits, int64_t n, int exponent, std::vector<int64_t>& wholes) {
  const int shift = read_exponent(chunk, bits) - exponent + kSharedBits;
  for (int64_t i = 0; i < n; ++i)
    wholes[static_cast<size_t>(i)] += shared_units(whole_number(chunk, bits, i), shift);
}

}  // namespace

// For each chunk: finds the largest exponent of all parts, adds all parts as integers in units that follow from
// it, and rounds each sum to a float once.  Integer sums and a maximum do not depend on the order of the parts.
void sum_shared_scale(const SharedScaleFormat& format, std::span<const std::string_view> parts,
                      std::span<float> sums) {
  PS_CHECK(parts.size() <= kMaxParts && (format.bits == 8 || format.bits == 16));
  const int64_t n = static_cast<int64_t>(sums.size()), stride = chunk_bytes(format.bits, format.chunk);
  const int64_t rest = n % format.chunk;
  const int64_t bytes = n / format.chunk * stride + (rest > 0 ? chunk_bytes(format.bits, rest) : 0);
  for (std::string_view part : parts) {
    if (static_cast<int64_t>(part.size()) != bytes) {
      fail(Code::kCorrupt, "encoded gradient: ", part.size(), " bytes, expected ", bytes, " for ", n,
           " values");
    }
  }
  std::vector<int64_t> wholes;
  for (int64_t begin = 0, at = 0; begin < n; begin += format.chunk, at += stride) {
    const int64_t size = std::min(format.chunk, n - begin);
    int exponent = std::numeric_limits<int>::min();
    for (std::string_view part : parts)
      exponent = std::max(exponent, read_exponent(part.data() + at, format.bits));
    wholes.assign(static_cast<size_t>(size), 0);
    for (std::string_view part : parts) add_chunk(part.data() + at, format.bits, size, exponent, wholes);
    for (int64_t i = 0; i < size; ++i) {
      sums[static_cast<size_t>(begin + i)] =
          parts.empty() ? 0 : shared_sum(wholes[static_cast<size_t>(i)], exponent);
    }
  }
}

constinit const CodecEntry kSharedScaleIntCodec = codec_entry<SharedScaleCodec, SharedScaleOptions>(
    "shared_scale_int",
    "Whole numbers of 8 or 16 bits, with one scale a chunk, a power of two. Sums of encoded "
    "gradients are integers: the same bits in any order.");

}  // namespace ps
