// SplitProduct: the product of a layer's input with a matrix whose columns are divided over the trainers.  Each
// trainer computes its columns for the examples of all trainers.  So trainers exchange activations instead of
// gradients of weights ("model parallelism": Iandola et al., "FireCaffe", CVPR 2016).  Used by the layer fc.
#ifndef PS_MODEL_SPLIT_PRODUCT_H_
#define PS_MODEL_SPLIT_PRODUCT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "collective/parts.h"
#include "math/device.h"
#include "math/device_buffer.h"
#include "math/matrix.h"

namespace ps {

// All arrays of a call are in memory of the host.  `products` may be a device with memory of its own, on which they are
// multiplied; `host` has the rest of the work.
struct SplitDevices {
  Device &host, &products;
};

// One owner thread, that of the communicator.  All trainers make the same calls; B, a trainer's own rows, may differ
// between them, and be 0.  Calls throw what the communicator throws, and kData when another trainer's part does not
// fit.
class SplitProduct {
 public:
  // out [B, N] += in [B, K] weight [K, N]; of the weight, only own columns are read.
  void forward(Communicator& trainers, const SplitDevices& devices, Matrix<const float> in,
               Matrix<const float> weight, Matrix<float> out);

  // After forward on the same devices: own columns of weight_gradient [K, N] += inᵀ gradient, over the rows of all trainers; if
  // wants_below, below [B, K] += gradient weightᵀ, which is dropped if `below` is null.
  void backward(Communicator& trainers, const SplitDevices& devices, Matrix<const float> gradient,
                Matrix<float> weight_gradient, bool wants_below, Matrix<float> below);

 private:
  void gather_inputs(Communicator& trainers, Matrix<const float> in);
  template <class Multiply>
  void multiply(Device& device, Matrix<float> out, const Multiply& add_product);
  Matrix<float> all_rows(std::vector<float>& values, size_t cols) const;

  std::vector<size_t> rows_;          // by trainer; this and the following are of the last forward
  std::vector<ElementRange> ranges_;  // by trainer: its rows among all
  std::vector<ElementRange> cols_;    // by trainer: its columns of the weight
  std::vector<size_t> counts_;        // by trainer: number of values of its input
  std::vector<float> inputs_;         // [all rows, K]
  std::vector<float> own_weight_;     // [K, own columns]
  std::vector<float> products_;       // [all rows, own columns]: outputs, and then their gradients
  std::vector<float> below_;          // [all rows, K]

  // Copies on a device with memory of its own of inputs_, own_weight_ and products_, and what comes of a product there.
  DeviceBuffer<float> inputs_there_, weight_there_, products_there_, result_there_;
};

}  // namespace ps

#endif  // PS_MODEL_SPLIT_PRODUCT_H_
