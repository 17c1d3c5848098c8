// Hierarchical sigmoid: Morin & Bengio, AISTATS 2005, over a complete binary tree, as PaddlePaddle's
// hsigmoid.
//
// The C - 1 inner nodes and C leaves are numbered as in a heap, from 1: inner nodes below C, class c is leaf
// c + C. Going up from a leaf, step j is at inner node (c + C) >> (j + 1) and came from its right child when
// bit j of c + C is set.  With s = weight[node - 1] . input + bias[node - 1], right has probability σ(s), so
// the label costs
//   sum over j of log(1 + e^s) - bit s
// and the probabilities of all classes sum to 1.
#include "math/sampled_kernels.h"
#include "model/labels.h"
#include "model/layers/layer_entry.h"
#include "model/layers/sampled_rows.h"

namespace ps {

namespace {

template <class T>
class Hsigmoid final : public Layer<T> {
 public:
  Hsigmoid(const SampledLayerOptions& options, LayerSetup& setup)
      : classes_(options.num_classes), rows_(declare(setup, options)) {}

  bool is_cost() const override { return true; }
  bool runs_on_devices() const override { return true; }
  void check_label(float label) const override { check_class(label, classes_); }

  // The inner nodes above each label, from the leaf up.
  void sample_keys(const Batch& batch, bool, Random, SampledKeys& out) const override {
    check_classes(batch.labels, classes_);
    out.offsets.assign(1, 0);
    out.keys.clear();
    for (float label : batch.labels) {
      for (Key node = leaf(label) >> 1; node > 0; node >>= 1) out.keys.push_back(node - 1);
      out.offsets.push_back(static_cast<uint32_t>(out.keys.size()));
    }
  }

  // slopes_ has the scores of the nodes on the path first; tree_costs puts the derivative of the cost by
  // each score in its place.
  void forward(LayerRun<T>& run) override {
    const SampledKeys& path = run.samples(rows_.weight_use);
    score_samples(run, rows_, slopes_);
    tree_costs(run.device(), path.offsets, run.batch().labels.data(), classes_, slopes_.data(),
               run.output().data);
  }

  void backward(LayerRun<T>& run) override { add_sample_gradients<T>(run, rows_, slopes_.data()); }

 private:
  static SampledRows declare(LayerSetup& setup, const SampledLayerOptions& options) {
    require_one_input(setup, "hsigmoid");
    require_dense_inputs(setup, "hsigmoid");
    return declare_sampled_rows(setup, "hsigmoid", options, options.num_classes - 1);
  }

  Key leaf(float label) const { return static_cast<Key>(label) + static_cast<Key>(classes_); }

  const int64_t classes_;
  const SampledRows rows_;
  DeviceBuffer<T> slopes_;  // [K], of the last forward; owner thread
};

}  // namespace

extern const LayerEntry kHsigmoidLayer = layer_entry<SampledLayerOptions, Hsigmoid>(
    "hsigmoid",
    "cost of choosing among many classes by a path through a binary tree, log2(classes) decisions long");

}  // namespace ps
