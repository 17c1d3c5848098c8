#include <array>

#include "model/layer.h"

namespace ps {

extern const LayerEntry kFcLayer, kEmbeddingLayer, kConcatLayer, kAddLayer, kDropoutLayer, kBatchNormLayer,
    kFmLayer, kCrossLayer, kNceLayer, kHsigmoidLayer, kConv2dLayer, kMaxPoolLayer, kAveragePoolLayer,
    kGlobalAveragePoolLayer, kLocalResponseNormLayer, kGruLayer, kLstmLayer, kAttentionLayer,
    kPositionEncodingLayer, kSequencePoolLayer, kMultiplyLayer, kDotLayer, kCosineLayer, kInBatchSoftmaxLayer,
    kBiInteractionLayer, kFfmLayer, kBilinearLayer, kTranslationLayer;

std::span<const LayerEntry* const> layer_catalog() {
  static constexpr std::array kCatalog = {
      &kFcLayer,
      &kEmbeddingLayer,
      &kConcatLayer,
      &kAddLayer,
      &kDropoutLayer,
      &kBatchNormLayer,
      &kFmLayer,
      &kFfmLayer,
      &kBiInteractionLayer,
      &kCrossLayer,
      &kNceLayer,
      &kHsigmoidLayer,
      &kConv2dLayer,
      &kMaxPoolLayer,
      &kAveragePoolLayer,
      &kGlobalAveragePoolLayer,
      &kLocalResponseNormLayer,
      &kGruLayer,
      &kLstmLayer,
      &kAttentionLayer,
      &kPositionEncodingLayer,
      &kSequencePoolLayer,
      &kMultiplyLayer,
      &kDotLayer,
      &kCosineLayer,
      &kInBatchSoftmaxLayer,
      &kBilinearLayer,
      &kTranslationLayer,
  };
  return kCatalog;
}

}  // namespace ps
