// Layer: one node of the graph.  Setup (once) wires it and declares its parameters; Run (each batch) is what
// forward and backward see.  Written for float, and for double so that gradients can be proved by finite
// differences.
//
// Threads: forward and backward run on the owner thread.  They compute by kernels (math/) on run.device(),
// which cut their loops into blocks whose size does not depend on the number of threads, each written by one
// thread in a fixed order.  So no sum depends on threads.  A layer has no loops over numbers of its own.
#ifndef PS_MODEL_LAYER_H_
#define PS_MODEL_LAYER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/fwd.h"
#include "data/batch.h"
#include "math/device.h"
#include "math/key_plan.h"
#include "math/matrix.h"
#include "model/image_shape.h"
#include "model/layer_options.h"
#include "model/prepared_batch.h"
#include "optim/parameter.h"

namespace ps {

class Communicator;

enum class InputKind { kLayer, kDenseSlot, kSparseSlot };

struct InputInfo {
  std::string name;
  InputKind kind;
  int64_t cols;  // kLayer, kDenseSlot: values per example; kSparseSlot: the dim of its ids, 0: any
  std::optional<ImageShape> image;  // kLayer: when it gives an image
  std::optional<size_t> sequence;   // kLayer: when it gives sequences, the slot whose ids they follow
  std::optional<size_t> slot = {};  // kDenseSlot, kSparseSlot: its number in the schema
};

// The things that a layer may do while the network is built.  Implemented by Network.
class LayerSetup {
 public:
  virtual ~LayerSetup() = default;

  virtual std::span<const InputInfo> inputs() const = 0;

  // Parameters, by suffix ("weight", "bias").  They return the parameter's number, for Run.  If the layer has
  // share_with, the parameter of that layer with the same suffix is used, and must have the same shape.
  // `fan_in` gives the deviation 1 / sqrt(fan_in) of init "smart", and of "default" when `smart_default`; else
  // "default" is normal with deviation 0.01, and zero for biases (fan_in 0).
  struct Request {
    std::string suffix;
    int64_t rows, cols, fan_in;
    bool smart_default = true;
    ParameterOptions options;
    bool split = false;  // add_matrix: trainers divide its columns
    int of_input = -1;   // add_matrix: the input to whose values the rows belong, -1: to something else
  };
  virtual int add_matrix(const Request& request) = 0;
  virtual int add_rows(const Request& request, bool sparse_update) = 0;
  virtual int add_statistic(const std::string& suffix, int64_t rows, int64_t cols, double initial) = 0;

  // Declare that the layer looks up ids of a sparse input in a kRows parameter, or ids that sample_keys draws.
  // They return the number of the use, for Run.  `transposed` is true if backward needs the transposed part of
  // it.
  virtual int use_input(int parameter, int input, bool transposed) = 0;
  virtual int use_samples(int parameter) = 0;

  // Set the number of values per example of the layer's output, or the image that these form.  A layer calls one
  // of the two, once.
  virtual void set_output(int64_t cols) = 0;
  virtual void set_image_output(const ImageShape& image) = 0;

  // Sequences.  A layer has one row an example, or, when its output is sequences, one row for each id of a sparse
  // slot, example by example: [K, cols].  The network refuses sequences as inputs of a layer that calls neither of
  //   keep_rows      the output has the rows of the inputs, which must be the same for all of them;
  //   join_rows      the input is sequences, and the output has one row an example;
  // and a layer makes sequences of the ids of a sparse slot by
  //   follow_ids     the output has one row for each id of this input.
  // keep_rows and join_rows throw kUsage "input: …".
  virtual void keep_rows() = 0;
  virtual void join_rows() = 0;
  virtual void follow_ids(int input) = 0;

  // For planning how a model is trained: sets the multiply-adds of forward for each pair of ids of an example,
  // without those of the weights.
  virtual void count_pair_work(int64_t multiply_adds) = 0;
};

// The view that a layer has of one batch.  Implemented by Network.
template <class T>
class LayerRun {
 public:
  virtual ~LayerRun() = default;

  virtual const Batch& batch() const = 0;
  virtual bool training() const = 0;
  virtual Device& device() const = 0;

  // Returns the device of the layers that run on devices, for products of a layer that runs on the processor.
  virtual Device& product_device() const { return device(); }

  // Returns the seed of the layer's random numbers, which depends on (job seed, layer, step) alone.
  virtual uint64_t random_seed() const = 0;

  // If input i is sequences, example b has its rows [sequence[b], sequence[b + 1]); sequence [B + 1].  In the
  // shapes below, B is then the number of all rows.
  virtual std::span<const uint32_t> sequence(int i) const = 0;

  // Returns the trainers over which layers are divided; null if this trainer computes all layers.
  virtual Communicator* trainers() const = 0;

  virtual Matrix<const T> input(int i) const = 0;       // kLayer, kDenseSlot: [B, cols]
  virtual Matrix<T> input_gradient(int i) const = 0;    // add to it; null when nobody needs it
  virtual const SlotData& slot(int i) const = 0;        // kSparseSlot
  virtual Matrix<T> output() const = 0;                 // [B, cols]; forward writes all of it
  virtual Matrix<const T> output_gradient() const = 0;  // before the activation

  virtual Matrix<T> value(int parameter) const = 0;     // kMatrix, kStatistic
  virtual Matrix<T> gradient(int parameter) const = 0;  // kMatrix: add to it
  virtual T* const* rows(int parameter) const = 0;      // kRows: [N]
  virtual T* row_gradients(int parameter) const = 0;    // kRows: [N, cols], add to it
  virtual const KeyUse& use(int use) const = 0;
  virtual const SampledKeys& samples(int use) const = 0;  // for use_samples: the keys that sample_keys drew
};

template <class T>
class Layer {
 public:
  virtual ~Layer() = default;

  // output <- f(inputs, parameters), before the activation.
  virtual void forward(LayerRun<T>& run) = 0;

  // Adds to the gradients of inputs and parameters, given output_gradient.
  virtual void backward(LayerRun<T>& run) = 0;

  // For layers with use_samples: the ids to look up.  Called on the reader's side, before forward,
  // concurrently with other batches: const.  `random` depends on (job seed, layer, step).
  virtual void sample_keys(const Batch&, bool /*training*/, Random /*random*/, SampledKeys&) const {}

  // Returns true if the layer only uses kernels that devices with memory of their own have (AnyItems).  The
  // arrays of a run are then in the memory of run.device().  Otherwise the network runs it on the processor,
  // with copies.
  virtual bool runs_on_devices() const { return false; }

  // Returns true if forward and backward exchange data with other trainers.  A trainer without a batch calls
  // them with no examples.
  virtual bool is_divided() const { return false; }

  // Returns true if the output is already the cost of each example [B, 1] (nce, hsigmoid).
  virtual bool is_cost() const { return false; }

  // The check of labels of a layer that is a cost, as Cost::check_label.
  virtual void check_label(float label) const { (void)label; }
};

struct LayerEntry : CatalogEntry {
  // `object` is the layer's whole object without "type", checked already.
  std::unique_ptr<Layer<float>> (*make_float)(const Json& object, LayerSetup& setup);
  // Null unless kDoubles, base/reals.h.
  std::unique_ptr<Layer<double>> (*make_double)(const Json& object, LayerSetup& setup) = nullptr;
};

// Every layer, in the order of the manual.
std::span<const LayerEntry* const> layer_catalog();

}  // namespace ps

#endif  // PS_MODEL_LAYER_H_
