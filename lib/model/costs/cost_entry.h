// Shared by the files of this folder: makes entries, and gives kernels the targets of a batch.
#ifndef PS_MODEL_COSTS_COST_ENTRY_H_
#define PS_MODEL_COSTS_COST_ENTRY_H_

#include <memory>
#include <span>
#include <string_view>

#include "base/reals.h"
#include "config/spec.h"
#include "model/cost.h"

namespace ps {

namespace cost_internal {

template <class Options, template <class> class CostOf, class T>
std::unique_ptr<Cost<T>> make(const Json& object, const CostInput& input) {
  return std::make_unique<CostOf<T>>(Options::spec().parse(object, ""), input);
}

}  // namespace cost_internal

// Makes the entry of a class template that is constructed from (Options, CostInput).
template <class Options, template <class> class CostOf>
constexpr CostEntry cost_entry(std::string_view name, std::string_view help) {
  CostEntry entry = {{name, help, []() -> const AnySpec& { return Options::spec(); }},
                     cost_internal::make<Options, CostOf, float>};
  if constexpr (kDoubles) entry.make_double = cost_internal::make<Options, CostOf, double>;
  return entry;
}

// Throws kUsage "NAME takes one value per example, found 5" unless cols is 1.
void expect_one_value(std::string_view cost, const CostInput& input);

// Throws kUsage for a cost that compares its input with no label of an example, if it has the key label.
void expect_no_label(std::string_view cost, const CostOptions& options);

// The labels and weights of the batch, as kernels take them.
inline CostTargets cost_targets(const Batch& batch) {
  return {batch.labels.data(), batch.weights.empty() ? nullptr : batch.weights.data()};
}

}  // namespace ps

#endif  // PS_MODEL_COSTS_COST_ENTRY_H_
