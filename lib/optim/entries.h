// The entries of the optimizers in this folder, and the helpers that make them.
#ifndef PS_OPTIM_ENTRIES_H_
#define PS_OPTIM_ENTRIES_H_

#include <memory>
#include <string_view>

#include "base/reals.h"
#include "config/catalog.h"
#include "optim/optimizer.h"
#include "optim/options.h"

namespace ps {

extern const OptimizerEntry kSgd;
extern const OptimizerEntry kMomentum;
extern const OptimizerEntry kSparseMomentum;
extern const OptimizerEntry kAdagrad;
extern const OptimizerEntry kDecayedAdagrad;
extern const OptimizerEntry kRmsprop;
extern const OptimizerEntry kAdadelta;
extern const OptimizerEntry kAdam;
extern const OptimizerEntry kAdamax;
extern const OptimizerEntry kFtrl;

namespace optim_internal {

template <template <class> class Kind, class T, class Options>
std::unique_ptr<Optimizer<T>> make(const Json& object, const ParameterTuning& tuning, CpuLevel cpu) {
  return std::make_unique<Kind<T>>(Options::spec().parse(without_type(object), "optimizer"), tuning, cpu);
}

}  // namespace optim_internal

// Makes the entry of the class template Kind, which is constructed from (Options, ParameterTuning, CpuLevel).
template <template <class> class Kind, class Options>
constexpr OptimizerEntry optimizer_entry(std::string_view name, bool lazy, std::string_view help,
                                         bool weights_from_state = false) {
  OptimizerEntry entry = {{name, help, []() -> const AnySpec& { return Options::spec(); }},
                          lazy,
                          weights_from_state,
                          optim_internal::make<Kind, float, Options>};
  if constexpr (kDoubles) entry.make_double = optim_internal::make<Kind, double, Options>;
  return entry;
}

// Makes the spec of Options: the fields of Options::add_fields, then those that all optimizers have.
template <class Options>
const ObjectSpec<Options>& optimizer_spec() {
  static const ObjectSpec<Options> spec = [] {
    ObjectSpec<Options> s;
    Options::add_fields(s);
    add_optimizer_fields(s);
    return s;
  }();
  return spec;
}

}  // namespace ps

#endif  // PS_OPTIM_ENTRIES_H_
