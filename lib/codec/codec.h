// Codec: encodes gradients of one parameter as bytes of any length, and keeps the part that the bytes do not
// hold as its own state.  Used by strategies for the gradients that trainers send, and by ps-bench.
//
// A lossy codec keeps a residual (error feedback; Seide et al., Interspeech 2014): the error of encoding is
// added to the values of the next call, so that in the long run the whole gradient arrives.  After each call
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
#include "base/cpu.h"
#include "codec/codec_there.h"
#include "codec/residual_rows.h"
#include "codec/vector_kernels.h"
#include "config/fwd.h"

namespace ps {

// The parameter that a codec is made for.
struct CodecTarget {
  int64_t rows = 0;   // rows of a dense parameter; 0: rows come by key or in slices
  int64_t cols = 1;   // values of a row
  uint64_t seed = 0;  // the job's seed
  // The parameter's number.  Random decisions depend on it, on the seed and on the index of a value.
  uint64_t key = 0;
  uint64_t residual_bytes = 64ull << 20;  // approximate limit for residuals of a sparse parameter
  bool in_slices = false;                 // only encode_slice is called: the caller keeps the residuals
  CpuLevel cpu = best_cpu_level();        // level of its loops; every level gives the same bytes
};

// One owner thread, except for decode, which any thread may call.
class Codec {
 public:
  virtual ~Codec() = default;

  // Encodes the gradient of a dense parameter: values [rows, cols].  Replaces `bytes`.  Throws kData, naming
  // its index, when a value or its sum with the residual is not finite; the residual must then not be used
  // any more.
  void encode(std::span<const float> values, std::string& bytes);

  // Encodes rows of a sparse parameter: values [keys, cols].  Keys must be unique.  Otherwise like encode.
  void encode_rows(std::span<const uint64_t> keys, std::span<const float> values, std::string& bytes);

  // Encodes some rows of a gradient: values [rows, cols].  The caller keeps their residual, which has as many
  // values; it does not change unless keeps_residual().  Only for a target with in_slices.  Otherwise like
  // encode.
  void encode_slice(std::span<const float> values, std::span<float> residual, std::string& bytes);

  // Returns false if there is no error feedback.
  bool keeps_residual() const { return keeps_residual_; }

  // Returns true if the sum of the decoded values of several trainers has the same bits in every order of
  // addition.
  virtual bool sums_in_any_order() const { return false; }

  // values [n, cols] <- the decoded bytes, which encode, encode_rows or encode_slice made from as many values.
  // Throws kCorrupt for bytes that these functions cannot have made; `values` are then undefined.
  virtual void decode(std::string_view bytes, std::span<float> values) const = 0;

  // sums [n, cols] <- the sum of the decoded parts, added in their order.  Throws as decode does.
  virtual void add_up(std::span<const std::string_view> parts, std::span<float> sums) const;

  // Returns the format in which devices make the same bytes, or nothing if they do not know this codec.
  virtual std::optional<CodecFormat> format_there() const { return std::nullopt; }

  // From now on the residual of a dense parameter lies in the memory of a device, and gradients are encoded and
  // decoded there.  May be called for a new codec with a format_there; `device` outlives the codec.  Throws
  // kExhausted.
  void move_to(CodecDevice& device);
  bool is_there() const { return there_ != nullptr; }

  // Encodes scale x values, which lie in the memory of the device, as encode does.  The string must not move
  // before finish_encode_there, which gets it again.  After that call the bytes are complete; it throws kData.
  void begin_encode_there(const float* values, float scale, std::string& bytes);
  void finish_encode_there(const std::string& bytes);

  // Work like decode and add_up, with values in the memory of the device; decode_there divides them by
  // `divisor`.  The work is queued, as CodecThere says.
  void decode_there(std::string_view bytes, float divisor, float* values) const;
  void add_up_there(std::span<const std::string_view> parts, float* sums) const;

  // Returns the residual of a dense parameter on the processor; it is empty if the codec keeps none.
  std::span<const float> residual() const { return residual_; }

  // Save residuals and all other state to a checkpoint, and load them. load must be called on a new codec of
  // the same entry, options and target; it throws kCorrupt.  After load, the codec encodes the same bytes as
  // the saved one.
  void save(std::string& out) const;
  void load(ByteReader& in);

 protected:
  // A gradient to encode.  `residual` has as many values as `values`.  The codec adds it to them, and then sets
  // it to the part that the bytes do not hold.  It is null without error feedback.  `step` counts the calls.
  struct Encoding {
    std::span<const float> values;
    float* residual;
    uint64_t step;
  };

  Codec(const CodecTarget& target, bool keeps_residual);

  virtual void encode_values(const Encoding& in, std::string& bytes) = 0;

  // For codecs whose format_there does not select values. bytes_of returns the number of bytes of n values.
  // check_encoded throws the kData of encode for the values behind these bytes, and check throws the kCorrupt
  // of decode.
  virtual int64_t bytes_of(int64_t) const { return 0; }
  virtual void check_encoded(std::string_view bytes, int64_t n) const { (void)bytes, (void)n; }
  virtual void check(std::string_view bytes, int64_t n) const { (void)bytes, (void)n; }

  // Save and load the state that a codec has beside its residuals.
  virtual void save_state(std::string&) const {}
  virtual void load_state(ByteReader&) {}

  // Adds the values to the residual in place, and returns the sums; returns the values if there is no
  // residual.  Throws kData.
  std::span<const float> add_residual(const Encoding& in) const;

  // Throws kData "value i of a gradient is nan" for the first value of `in` that is not finite, or whose sum
  // with the residual is not.
  [[noreturn]] static void refuse(const Encoding& in);
  [[noreturn]] static void refuse(std::span<const float> values, size_t odd_sum);

  const CodecTarget& target() const { return target_; }
  const VectorKernels& kernels() const { return vector_kernels(target_.cpu); }
  CodecThere* there() const { return there_.get(); }  // null: on the processor

 private:
  void load_rows(ByteReader& in);
  int64_t elements() const { return target_.rows * target_.cols; }

  const CodecTarget target_;
  const bool keeps_residual_;
  std::vector<float> residual_;        // residual of a dense parameter [rows, cols]
  std::optional<ResidualRows> rows_;   // residuals of a sparse parameter
  std::vector<float> gathered_;        // residuals of the rows of one call, side by side
  std::vector<float*> errors_;         // pointers to these residuals in rows_
  std::unique_ptr<CodecThere> there_;  // null: on the processor
  uint64_t steps_ = 0;
};

struct CodecEntry : CatalogEntry {
  std::unique_ptr<Codec> (*make)(const Json& object, const CodecTarget& target);
};

// Every codec, in the order of the manual.
std::span<const CodecEntry* const> codec_catalog();

// Makes the codec that {"type": name, …} describes.  Throws kUsage, naming the key under `path`.
std::unique_ptr<Codec> make_codec(const Json& object, std::string_view path, const CodecTarget& target);

}  // namespace ps

#endif  // PS_CODEC_CODEC_H_
