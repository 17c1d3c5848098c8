// CodecExchange: exchanges the gradients of matrices in the bytes of a codec (codec/codec.h), both on the way
// to the trainer that adds them up and on the way back (double compression with error feedback; Tang et al.,
// "DoubleSqueeze", ICML 2019).  Used by the strategies compressed_all_reduce and auto, whose AllReduceStore
// passes the sums to the job's optimizer.
//
// The rows of each matrix are divided among the trainers; trainer r owns part r.  Let g be a trainer's
// gradient in the units of the optimizer's gradient, which is the mean over the step's examples unless the
// job says otherwise.  In a step
//
//   every trainer encodes each part of g, and sends part r to its owner        residuals of its own g
//   the owner adds what all have sent, in rank order, and encodes the sum      a residual of the sum
//   every trainer decodes the sums of all parts: all have the same bits
//
// Among n trainers each sends 2 (n - 1) / n times the encoded bytes, as the all-reduce of floats does of its
// bytes.
//
// The gradient of a matrix that is made on a device stays there, and is encoded there, with its residuals.
// The weights stay there too, and the device trains them.  Only encoded bytes come to the processor, and go
// back.
//
// A step has one exchange for each group of matrices that AllReduceStore makes.  Each matrix has codecs of its
// own, so that groups do not change the bits.
//
// With several codecs, or if it may exchange matrices whole, the exchange chooses for each matrix before the
// first step, by the cost model (store/codec_choice.h).  The choice is part of checkpoints, since it decides
// the bits.
#ifndef PS_STORE_CODEC_EXCHANGE_H_
#define PS_STORE_CODEC_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <optional>
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
#include "store/codec_choice.h"
#include "store/compression_device.h"
#include "store/gradient_compression.h"
#include "store/local_store.h"

namespace ps {

struct CodecExchangeOptions {
  std::vector<Json> codecs;  // as make_codec takes them
  bool chooses = false;    // true: one of the codecs or none for each matrix; false: the first codec for all
  int64_t begin_step = 0;  // the first step that compresses

  // The links for which the choice is made; nothing: they are measured.
  std::optional<double> latency = std::nullopt;    // seconds
  std::optional<double> bandwidth = std::nullopt;  // bytes a second, in one direction

  CompressedGroups groups = CompressedGroups::kSeveral;  // in which gradients are given to `step`

  // The device that computes the model, and the parameters whose gradients are made there.  A null device is
  // the processor.
  std::shared_ptr<CompressionDevice> device = nullptr;
  std::vector<bool> on_device = {};
};

// One owner thread, that of the communicator.
class CodecExchange final : public GradientCompression {
 public:
  // `specs` are those of `local`. All arguments by reference outlive this.  If it chooses, all trainers must
  // construct theirs at the same time.
  CodecExchange(const CodecExchangeOptions& options, std::span<const ParameterSpec> specs, LocalStore& local,
                Communicator& communicator);

  // Returns true for matrices of at least two rows and two columns, if the step compresses them.
  bool compresses(size_t parameter) const override;
  bool moves_weights() const override { return false; }
  void bind_there(std::span<ParameterView<float>> views) override;
  void push_there() override;
  bool may_change_threads() const override { return options_.device == nullptr; }
  void step(std::span<const Gradient> gradients, const StepSize& step) override;

  // Save and load the state of this trainer, for checkpoints: for each matrix its codec, and the residuals
  // once it is compressed. load is for a new object; it throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  // Returns {"compressed_there": the number of parameters that are compressed on a device by now}. If there
  // was a choice, it also returns the names of the codecs by matrix, "whole" for none, and the expected
  // seconds of a step's exchange with them and without.
  Json describe() const;

 private:
  // The codecs of one matrix.
  struct Matrix {
    std::vector<ElementRange> parts;  // ranges of rows, by owner
    std::vector<std::unique_ptr<Codec>>
        senders;                        // by owner: codec of this trainer's gradient of the owner's part
    std::unique_ptr<Codec> owner;       // codec of the sum of this trainer's part
    std::unique_ptr<DenseThere> there;  // null: the processor has it
    std::optional<size_t> codec;        // index in options_.codecs; nothing: exchanged whole
  };

  bool is_matrix(size_t parameter) const;
  void choose();
  MatrixTrials try_codecs(size_t parameter) const;
  CodecTrial try_codec(size_t parameter, size_t codec) const;
  std::unique_ptr<Codec> make(size_t parameter, size_t codec, uint64_t part) const;
  void begin(size_t parameter);
  void load_matrix(ByteReader& in, std::vector<bool>& loaded);
  bool is_begun(size_t parameter) const { return matrices_[parameter].owner != nullptr; }
  bool runs_there(size_t parameter) const;
  Gradient scaled(const Gradient& gradient, float scale);
  std::span<float> part_of(const Gradient& gradient, int owner) const;
  std::vector<std::string> encode_parts(std::span<const Gradient> gradients, float scale);
  std::string encode_sums(std::span<const Gradient> gradients, std::span<const std::string> received);
  void decode_sums(std::span<const Gradient> gradients, std::span<const std::string> sums, float scale);

  const CodecExchangeOptions options_;
  const std::span<const ParameterSpec> specs_;
  LocalStore& local_;
  Communicator& communicator_;
  std::vector<Matrix> matrices_;            // by parameter; without owner: not compressed yet
  std::string encoded_;                     // bytes of one part
  std::vector<std::string> from_device_;    // bytes of the parts of a message that a device encodes
  double seconds_ = 0, whole_seconds_ = 0;  // of a step's exchange, as the choice expects them
};

}  // namespace ps

#endif  // PS_STORE_CODEC_EXCHANGE_H_
