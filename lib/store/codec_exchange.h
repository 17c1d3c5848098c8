// CodecExchange: the gradients of matrices in the bytes of a codec (codec/codec.h), both on the way to the trainer that
// adds them up and on the way back (double compression with error feedback; Tang et al., "DoubleSqueeze", ICML 2019).
// Used by the strategy compressed_all_reduce, whose AllReduceStore gives the sums to the job's optimizer.
//
// The rows of each matrix are divided among the trainers; trainer r owns part r.  In a step, with g a trainer's gradient
// in the units of the optimizer's, which is the mean over the step's examples unless the job says otherwise:
//
//   every trainer encodes each part of g, and sends part r to its owner        residuals of its own g
//   the owner adds what all have sent, in rank order, and encodes the sum      a residual of the sum
//   every trainer decodes the sums of all parts: all have the same bits
//
// A trainer with ranks n sends 2 (n - 1) / n times the encoded bytes, as the all-reduce of floats does of its bytes.
#ifndef PS_STORE_CODEC_EXCHANGE_H_
#define PS_STORE_CODEC_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "codec/codec.h"
#include "collective/communicator.h"
#include "collective/parts.h"
#include "config/json.h"
#include "optim/parameter.h"
#include "store/gradient_compression.h"
#include "store/local_store.h"

namespace ps {

struct CodecExchangeOptions {
  Json codec;              // as make_codec takes it
  int64_t begin_step = 0;  // the first step that compresses
};

// One owner thread, that of the communicator.
class CodecExchange final : public GradientCompression {
 public:
  // `specs` are those of `local`.  All arguments by reference outlive this.
  CodecExchange(const CodecExchangeOptions& options, std::span<const ParameterSpec> specs,
                const LocalStore& local, Communicator& communicator);

  // Matrices of two rows and two columns or more.
  bool compresses(size_t parameter) const override;
  bool moves_weights() const override { return false; }
  void step(std::span<const Gradient> gradients, const StepSize& step) override;

  // The state of this trainer, for checkpoints: that of the codecs of all parameters that are compressed by now.  load
  // is for a new object; throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

 private:
  // The codecs of one matrix.
  struct Matrix {
    std::vector<ElementRange> parts;              // rows, by owner
    std::vector<std::unique_ptr<Codec>> senders;  // by owner: of this trainer's gradient
    std::unique_ptr<Codec> owner;                 // of the sum of this trainer's part
  };

  bool is_matrix(size_t parameter) const;
  std::unique_ptr<Codec> make(size_t parameter, uint64_t part) const;
  void begin(size_t parameter);
  bool is_begun(size_t parameter) const { return matrices_[parameter].owner != nullptr; }
  std::span<float> part_of(const Gradient& gradient, int owner) const;
  std::vector<std::string> encode_parts(std::span<const Gradient> gradients);
  std::string encode_sums(std::span<const Gradient> gradients, std::span<const std::string> received);
  void decode_sums(std::span<const Gradient> gradients, std::span<const std::string> sums, float scale);

  const CodecExchangeOptions options_;
  const std::span<const ParameterSpec> specs_;
  const LocalStore& local_;
  Communicator& communicator_;
  std::vector<Matrix> matrices_;  // by parameter; empty: not compressed yet
  std::string encoded_;           // of one part
};

}  // namespace ps

#endif  // PS_STORE_CODEC_EXCHANGE_H_
