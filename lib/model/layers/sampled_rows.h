// Scores of some classes alone: the inner products of an example with the weight rows of the classes that
// were drawn for it.  Used by nce and hsigmoid, in training.  T is float or double.
//
// Shapes: B examples, K drawn ids, example b's at [offsets[b], offsets[b + 1]); D values an example.
#ifndef PS_MODEL_LAYERS_SAMPLED_ROWS_H_
#define PS_MODEL_LAYERS_SAMPLED_ROWS_H_

#include <string_view>

#include "config/spec.h"
#include "math/device_buffer.h"
#include "model/layer.h"

namespace ps {

// The keys of nce and hsigmoid in the job file.
struct SampledLayerOptions : WeightedLayerOptions {
  int64_t num_classes = 0;
  bool sparse_update = false;
  BiasOptions bias;

  static const ObjectSpec<SampledLayerOptions>& spec();
};

// The parameters of such a layer: "weight" [rows, D] and, unless `bias` is -1, "bias" [rows, 1], by the same
// ids.
struct SampledRows {
  int weight = -1, bias = -1;
  int weight_use = -1, bias_use = -1;
};

// Declares the layer, whose inputs are checked, the first of them a dense one: parameters of `rows` rows, an output
// of one cost per example.  `layer` is the entry's name; throws kUsage.
SampledRows declare_sampled_rows(LayerSetup& setup, std::string_view layer,
                                 const SampledLayerOptions& options, int64_t rows);

// scores[k] <- weight[id k] . input[b] + bias[id k]
//   input 0 of the run [B, D]  ->  scores [K]
template <class T>
void score_samples(LayerRun<T>& run, const SampledRows& rows, DeviceBuffer<T>& scores);

// Adds the gradients of weight, bias and input, given the gradient of the run's output [B, 1] and
// slopes[k] = d(output of k's example) / d(scores[k]).
template <class T>
void add_sample_gradients(LayerRun<T>& run, const SampledRows& rows, const T* slopes);

}  // namespace ps

#endif  // PS_MODEL_LAYERS_SAMPLED_ROWS_H_
