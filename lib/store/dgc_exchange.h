// DgcExchange: Deep Gradient Compression (codec/dgc.h) among trainers that hold the parameters each in its
// own process.  Used by AllReduceStore, which exchanges all other gradients whole.
//
// When a parameter begins to be compressed, it takes over the momentum that its table has then.  From that
// step on its table makes no steps any more: DgcExchange moves the weights, by the same moves on all
// trainers.
//
// If the gradient of a matrix is made on a device, its weights, u and v lie there too, and the local step
// runs there.  The selected values come to the processor, and the moves of all trainers go back.  The
// processor's weights get the same moves.
#ifndef PS_STORE_DGC_EXCHANGE_H_
#define PS_STORE_DGC_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/dgc.h"
#include "codec/sparse_exchange.h"
#include "collective/communicator.h"
#include "config/json.h"
#include "optim/parameter.h"
#include "store/gradient_compression.h"
#include "store/local_store.h"
#include "store/sparse_all_reduce.h"

namespace ps {

struct DgcExchangeOptions {
  DgcOptions dgc;  // the momentum, l2 and clip_norm of parameters that do not tune their own
  std::optional<SparseExchange> exchange;  // nothing: the exchange that moves the fewest bytes
  // The device that computes the model, and the parameters whose gradients are made there.  A null device is
  // the processor.
  std::shared_ptr<DgcDevice> device = nullptr;
  std::vector<bool> on_device = {};
};

// One owner thread, that of the communicator.
class DgcExchange final : public GradientCompression {
 public:
  // `specs` are those of `local`. All arguments by reference outlive this.  Throws kUsage if a parameter is
  // tuned in a way that cannot be applied to moves.
  DgcExchange(const DgcExchangeOptions& options, std::span<const ParameterSpec> specs, LocalStore& local,
              Communicator& communicator);

  bool compresses(size_t parameter) const override;
  bool moves_weights() const override { return true; }
  void bind_there(std::span<ParameterView<float>> views) override;
  bool may_change_threads() const override { return options_.device == nullptr; }
  void step(std::span<const Gradient> gradients, const StepSize& step) override;
  void end_step() override;

  // Returns {"compressed_there": the number of parameters that are compressed on a device by now}.
  Json describe() const;

  // Save and load the state of this trainer, for checkpoints: u and v of the parameters that are compressed
  // by now. load is for a new object; it throws kCorrupt, and then changes nothing.
  void save(std::string& out) const;
  void load(ByteReader& in);

 private:
  // The sum of the moves of all trainers.
  struct Moves {
    size_t parameter = 0;
    SparseVector sum;
  };

  bool compresses_at(size_t parameter, int64_t step) const;
  DgcOptions options_of(size_t parameter) const;
  bool runs_there(size_t parameter) const;
  std::unique_ptr<DeepGradientCompression> make(size_t parameter) const;
  void begin(size_t parameter);

  const DgcExchangeOptions options_;
  const std::span<const ParameterSpec> specs_;
  LocalStore& local_;
  Communicator& communicator_;
  std::vector<std::unique_ptr<DeepGradientCompression>> states_;  // by parameter; null: not compressed yet
  std::vector<Moves> moves_;  // of the present step, which end_step applies
};

}  // namespace ps

#endif  // PS_STORE_DGC_EXCHANGE_H_
