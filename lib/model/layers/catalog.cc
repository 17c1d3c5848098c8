#include <array>

#include "model/layer.h"

namespace ps {

extern const LayerEntry kFcLayer, kEmbeddingLayer, kConcatLayer, kAddLayer, kDropoutLayer, kBatchNormLayer,
    kFmLayer, kCrossLayer, kNceLayer, kHsigmoidLayer;

std::span<const LayerEntry* const> layer_catalog() {
  static constexpr std::array kCatalog = {
      &kFcLayer,        &kEmbeddingLayer, &kConcatLayer, &kAddLayer, &kDropoutLayer,
      &kBatchNormLayer, &kFmLayer,        &kCrossLayer,  &kNceLayer, &kHsigmoidLayer,
  };
  return kCatalog;
}

}  // namespace ps
