// Codec: gradients of one parameter as bytes of any length, and what the bytes do not hold as the codec's own
// state.  Used by strategies for what trainers send, and by ps-bench.
//
// A codec that loses keeps its residual (error feedback; Seide et al., Interspeech 2014): what encoding took
// from values is added to the values of the next call, so that in the long run all of it arrives.  After each
// call
//
//   values + old residual = decoded values + new residual
//
// exactly, or to the rounding of one subtraction where codec.cc of the entry says so.
//
// Adding a codec is a file lib/codec/NAME.cc that ends in an entry, declared in codec/entries.h and listed in
// codec/catalog.cc.
#ifndef PS_CODEC_CODEC_H_
#define PS_CODEC_CODEC_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "codec/residual_rows.h"
#include "config/fwd.h"

namespace ps {

// The parameter that a codec is made for.
struct CodecTarget {
  int64_t rows = 0;   // of a dense parameter; 0: a sparse one, whose rows come by key
  int64_t cols = 1;   // of a row
  uint64_t seed = 0;  // of the job
  uint64_t key =
      0;  // the parameter's number; it, the seed and the index of a value decide what chance decides
  uint64_t residual_bytes = 64ull << 20;  // about what residuals of a sparse parameter may take
};

// One owner thread, but for decode, which any thread may call.
class Codec {
 public:
  virtual ~Codec() = default;

  // Encodes the gradient of a dense parameter: values [rows, cols].  Replaces `bytes`.  Throws kData, naming
  // its index, when a value or its sum with the residual is not finite; the residual is then of no use any
  // more.
  void encode(std::span<const float> values, std::string& bytes);

  // Encodes rows of a sparse parameter: values [keys, cols].  Keys are unique.  Otherwise as encode.
  void encode_rows(std::span<const uint64_t> keys, std::span<const float> values, std::string& bytes);

  // values [n, cols] <- what encode or encode_rows made of as many.  Throws kCorrupt for bytes that they
  // cannot have made; then `values` may hold anything.
  virtual void decode(std::string_view bytes, std::span<float> values) const = 0;

  // Of a dense parameter; empty when the codec keeps none.
  std::span<const float> residual() const { return residual_; }

  // Residuals and all else that calls have changed, for checkpoints.  load is for a new codec of the same
  // entry, options and target; it throws kCorrupt.  With it, what comes is the same bytes.
  void save(std::string& out) const;
  void load(ByteReader& in);

 protected:
  // A gradient to encode: `residual`, as long as `values`, is to be added and then set to what the bytes do
  // not hold; null when nothing is kept.  `step` counts the calls.
  struct Encoding {
    std::span<const float> values;
    float* residual;
    uint64_t step;
  };

  Codec(const CodecTarget& target, bool keeps_residual);

  virtual void encode_values(const Encoding& in, std::string& bytes) = 0;

  // Of a codec that has more state than residuals.
  virtual void save_state(std::string&) const {}
  virtual void load_state(ByteReader&) {}

  // sums <- values + residual, in place of the residual, or the values as they are where none is kept.
  // Throws kData.
  static std::span<const float> add_residual(const Encoding& in);

  // Throws kData "value i of a gradient is nan" for a value of `in`, or for its sum with the residual.
  [[noreturn]] static void refuse(const Encoding& in);

  const CodecTarget& target() const { return target_; }

 private:
  void load_rows(ByteReader& in);

  const CodecTarget target_;
  std::vector<float> residual_;       // [rows, cols] of a dense parameter
  std::optional<ResidualRows> rows_;  // of a sparse one
  std::vector<float> gathered_;       // residuals of the rows of one call
  std::vector<float*> errors_;        // and where they are kept
  uint64_t steps_ = 0;
};

struct CodecEntry : CatalogEntry {
  std::unique_ptr<Codec> (*make)(const Json& object, const CodecTarget& target);
};

// Every codec, in the order of the manual.
std::span<const CodecEntry* const> codec_catalog();

// The codec that {"type": name, …} describes.  Throws kUsage, naming the key under `path`.
std::unique_ptr<Codec> make_codec(const Json& object, std::string_view path, const CodecTarget& target);

}  // namespace ps

#endif  // PS_CODEC_CODEC_H_
