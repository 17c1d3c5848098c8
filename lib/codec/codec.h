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
  int64_t rows = 0;   // rows of a dense parameter; 0: a sparse one, whose rows come by key, or one in pieces
  int64_t cols = 1;   // values of a row
  uint64_t seed = 0;  // the job's seed
  uint64_t key =
      0;  // the parameter's number; random decisions depend on it, the seed and the index of a value
  uint64_t residual_bytes = 64ull << 20;  // limit for residuals of a sparse parameter, about
  bool in_pieces = false;                 // encode_piece alone is called: the caller keeps the residuals
  CpuLevel cpu = best_cpu_level();        // of its loops; every level gives the same bytes
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

  // Encodes some rows of a gradient: values [rows, cols], whose residual, as long, the caller keeps; it is left alone
  // unless keeps_residual().  For a target in pieces.  Otherwise like encode.
  void encode_piece(std::span<const float> values, std::span<float> residual, std::string& bytes);

  // False when there is no error feedback.
  bool keeps_residual() const { return keeps_residual_; }

  // True when every order in which the decoded values of several trainers are added is to give the same bits.
  virtual bool sums_in_any_order() const { return false; }

  // values [n, cols] <- decoded bytes, which encode, encode_rows or encode_piece made from as many values.  Throws kCorrupt
  // for bytes that they cannot have made; `values` are then undefined.
  virtual void decode(std::string_view bytes, std::span<float> values) const = 0;

  // sums [n, cols] <- the sum of what each of `parts` decodes to, in their order.  Throws as decode.
  virtual void add_up(std::span<const std::string_view> parts, std::span<float> sums) const;

  // The format in which devices make the same bytes; nothing: they do not know this codec.
  virtual std::optional<CodecFormat> format_there() const { return std::nullopt; }

  // From now on the residual of a dense parameter lies in the memory of a device, and gradients are encoded and decoded there.
  // For a new codec that has a format there; `device` outlives it.  Throws kExhausted.
  void move_to(CodecDevice& device);
  bool is_there() const { return there_ != nullptr; }

  // Like encode, of scale x values that lie there: `bytes` stay where they are until finish, which gets them again, throws kData, and
  // after which they are to be used.
  void begin_encode_there(const float* values, float scale, std::string& bytes);
  void finish_encode_there(const std::string& bytes);

  // Like decode and add_up, into memory of the device; what is decoded is divided.  Queued, as CodecThere says.
  void decode_there(std::string_view bytes, float divisor, float* values) const;
  void add_up_there(std::span<const std::string_view> parts, float* sums) const;

  // The residual of a dense parameter on the processor; empty when the codec keeps none.
  std::span<const float> residual() const { return residual_; }

  // Save residuals and all other state to a checkpoint, and load them. load must be called on a new codec of
  // the same entry, options and target; it throws kCorrupt.  After load, the codec encodes the same bytes as
  // the saved one.
  void save(std::string& out) const;
  void load(ByteReader& in);

 protected:
  // A gradient to encode.  `residual`, as long as `values`, is to be added to them, and then set to the part
  // that the bytes do not hold; null when there is no error feedback.  `step` counts the calls.
  struct Encoding {
    std::span<const float> values;
    float* residual;
    uint64_t step;
  };

  Codec(const CodecTarget& target, bool keeps_residual);

  virtual void encode_values(const Encoding& in, std::string& bytes) = 0;

  // For codecs with a format there that does not select.  The bytes of n values, the kData of encode for values whose bytes these
  // are, and the kCorrupt of decode.
  virtual int64_t bytes_of(int64_t) const { return 0; }
  virtual void check_encoded(std::string_view bytes, int64_t n) const { (void)bytes, (void)n; }
  virtual void check(std::string_view bytes, int64_t n) const { (void)bytes, (void)n; }

  // Save and load the state of a codec beside its residuals.
  virtual void save_state(std::string&) const {}
  virtual void load_state(ByteReader&) {}

  // Adds the values to the residual in place, and returns the sums; returns the values if there is no
  // residual.  Throws kData.
  std::span<const float> add_residual(const Encoding& in) const;

  // Throws kData "value i of a gradient is nan" for a value of `in`, or for its sum with the residual.
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
