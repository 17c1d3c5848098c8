// The gradients of a model, as far as an exchange cares: how many values, in tensors of which shapes.  Used by
// the steps of bench/link.
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

// In the order in which forward uses the tensors.
struct ModelShape {
  std::string name;
  std::vector<TensorShape> tensors;

  uint64_t elements() const;
  double bytes() const { return 4 * static_cast<double>(elements()); }
};

// "faster-rcnn", the name of a job in share/jobs/nets, or a job file, whose dense parameters count.  Throws
// kUsage for other names, and for a job that has none.
ModelShape find_model_shape(const std::string& name);

// Value `index` of the gradient that rank `rank` gives: mostly small, one in 512 larger, and such that the
// sum over all ranks is exact in any order.
float emulated_gradient(int rank, uint64_t index);

}  // namespace ps

#endif  // PS_BENCH_LINK_MODEL_SHAPE_H_
