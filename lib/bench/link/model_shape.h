// The gradients of a model as an exchange needs them: the number of values, and the shapes of the tensors
// that have them.  Used by the steps of bench/link.
#ifndef PS_BENCH_LINK_MODEL_SHAPE_H_
#define PS_BENCH_LINK_MODEL_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

struct TensorShape {
  int64_t rows = 1, cols = 1;
  int64_t elements() const { return rows * cols; }
  bool one_dimensional() const { return rows == 1; }
};

// The tensors of a model, in the order in which the forward pass uses them.
struct ModelShape {
  std::string name;
  std::vector<TensorShape> tensors;

  uint64_t elements() const;
  double bytes() const { return 4 * static_cast<double>(elements()); }
};

// Returns the shape of "faster-rcnn", or of a job's dense parameters.  `name` may also be the name of a job
// in share/jobs/nets, or a job file.  Throws kUsage for any other name, and for a job without dense
// parameters.
ModelShape find_model_shape(const std::string& name);

// Returns value `index` of the gradient that rank `rank` gives: one value in 512 is larger than the others,
// and the sum over all ranks is exact in any order.
float emulated_gradient(int rank, uint64_t index);

}  // namespace ps

#endif  // PS_BENCH_LINK_MODEL_SHAPE_H_
