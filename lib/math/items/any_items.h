// AnyItems: all items that a device with memory of its own can run.  Items that are not listed run on the
// processor alone.  To add a kernel of independent items, put its struct into math/items/ and a line below.
#ifndef PS_MATH_ITEMS_ANY_ITEMS_H_
#define PS_MATH_ITEMS_ANY_ITEMS_H_

#include <type_traits>
#include <variant>

#include "math/items/activation_items.h"
#include "math/items/attention_items.h"
#include "math/items/convolution_items.h"
#include "math/items/cost_items.h"
#include "math/items/cross_items.h"
#include "math/items/dense_items.h"
#include "math/items/image_items.h"
#include "math/items/interaction_items.h"
#include "math/items/measure_items.h"
#include "math/items/normalization_items.h"
#include "math/items/ranking_items.h"
#include "math/items/recurrent_items.h"
#include "math/items/sampled_items.h"
#include "math/items/sequence_items.h"
#include "math/items/sparse_items.h"

namespace ps {

// Devices compute in float.
using AnyItems = std::variant<
    FillItems<float>, AddScaledItems<float>, MultiplyItems<float>, AddMultipliedItems<float>,
    SetRowItems<float>, CopyColumnItems<float>, AddColumnItems<float>, ColumnSumItems<float>,
    SoftmaxItems<float>, SoftmaxSlopeItems<float>, ActivateItems<float, SigmoidRule>,
    ActivateItems<float, TanhRule>, ActivateItems<float, StanhRule>, ActivateItems<float, ReluRule>,
    ActivateItems<float, BreluRule>, ActivateItems<float, SoftplusRule>,
    ActivateItems<float, ExponentialRule>, ActivationSlopeItems<float, SigmoidRule>,
    ActivationSlopeItems<float, TanhRule>, ActivationSlopeItems<float, StanhRule>,
    ActivationSlopeItems<float, ReluRule>, ActivationSlopeItems<float, BreluRule>,
    ActivationSlopeItems<float, SoftplusRule>, ActivationSlopeItems<float, ExponentialRule>, BagItems<float>,
    BagSquareItems<float>, BagGradientItems<float>, CopyRowItems<float>, CopiedGradientItems<float>,
    GatherItems<float>, PairwiseGradientItems<float>, DivideByCountItems<float>, PairSumItems<float>,
    PointToRowItems<float>, LossItems<float, LogisticLoss>, LossItems<float, SmoothedLogisticLoss>,
    LossItems<float, FocalLoss>, LossItems<float, SquaredLoss>, LossItems<float, AbsoluteLoss>,
    LossItems<float, HuberLoss>, SoftmaxCostItems<float>, LabelSetCostItems<float>, LabelValueItems<float>,
    RankItems<float>, BprItems<float>, ListwiseItems<float>, ProbabilityCostItems<float>, SumCostItems<float>,
    PredictionItems<float>, LogisticPredictionItems<float>, CrossItems<float>, CrossGradientItems<float>,
    MaxPoolItems<float>, MaxPoolGradientItems<float>, AveragePoolItems<float>,
    AveragePoolGradientItems<float>, PlaneMeanItems<float>, PlaneMeanGradientItems<float>,
    SetPlaneItems<float>, ChannelSumItems<float>, MeasureChannelItems<float>, RecallChannelItems<float>,
    NormalizeItems<float>, NormSlopeItems<float>, NormInputGradientItems<float>, UnfoldItems<float>,
    FoldItems<float>, CopyFilterItems<float>, AddFilterItems<float>, ResponseItems<float>,
    ResponseRatioItems<float>, ResponseGradientItems<float>, PackItems<float>, UnpackItems<float>,
    AddUnpackedItems<float>, LastRowItems<float>, LastGradientItems<float>, LargestItems<float>,
    LargestGradientItems<float>, WeightedSumItems<float>, RowWeightGradientItems<float>,
    WeightedRowGradientItems<float>, EqualWeightItems<float>, SequenceSoftmaxItems<float>,
    SequenceSoftmaxSlopeItems<float>, GruItems<float>, GruGradientItems<float>, LstmItems<float>,
    LstmGradientItems<float>, ScoreItems<float>, AttentionSoftmaxItems<float>, AttentionSlopeItems<float>,
    AttendedItems<float>, AttendingItems<float>, SplitHeadItems<float>, JoinHeadItems<float>,
    PositionItems<float>, SampleScoreItems<float>, SampleWeightGradientItems<float>,
    SampleBiasGradientItems<float>, SampleInputGradientItems<float>, NceItems<float>, TreeItems<float>,
    ClassRowItems<float>, ClassBiasItems<float>, ClassSumItems<float>, ClassCostItems<float>, DotItems<float>,
    DotGradientItems<float>, UnitItems<float>, UnitGradientItems<float>, TranslationItems<float>,
    TranslationGradientItems<float>, PairProductItems<float>, PairGradientItems<float>, FieldItems<float>,
    FieldGradientItems<float>, OwnItemItems<float>, OwnItemGradientItems<float>,
    MeasureItems<MeanRule<DecisionTerm>>, MeasureItems<MeanRule<LogLossTerm>>,
    MeasureItems<MeanRule<GivenTerm>>, MeasureItems<MeanRule<SquaredErrorTerm>>,
    MeasureItems<MeanRule<AbsoluteErrorTerm>>, MeasureItems<MeanRule<BrierTerm>>,
    MeasureItems<MeanRule<PredictionSumTerm>>, MeasureItems<CalibrationRule>,
    MeasureItems<PrecisionRecallRule>, MeasureItems<ConfusionRule>, MeasureItems<LargestRule>,
    MeasureItems<PairCountRule>, AddMeasureTermItems, WeightedScoreItems>;

template <class Body, class Items>
struct IsListed : std::false_type {};
template <class Body, class... Items>
struct IsListed<Body, std::variant<Items...>> : std::disjunction<std::is_same<Body, Items>...> {};

template <class Body>
inline constexpr bool kRunsOnDevices = IsListed<Body, AnyItems>::value;

}  // namespace ps

#endif  // PS_MATH_ITEMS_ANY_ITEMS_H_
