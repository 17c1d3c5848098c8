#include "model/layers/recurrent.h"

namespace ps {

const ObjectSpec<RecurrentOptions>& RecurrentOptions::spec() {
  static const ObjectSpec<RecurrentOptions> spec = [] {
    ObjectSpec<RecurrentOptions> s;
    s.include(WeightedLayerOptions::spec());
    s.field("size", &RecurrentOptions::size, "values of the state").must().at_least(1).at_most(1 << 20);
    s.field("direction", &RecurrentOptions::direction,
            "the order in which an example's ids are read: from the first, from the last, or each way by "
            "weights "
            "of its own, side by side")
        .one_of({"forward", "reverse", "both"});
    s.field("output", &RecurrentOptions::output,
            "the state when all ids are read, zeros without any; or a sequence, the state after each id")
        .one_of({"last", "all"});
    s.field("bias", &RecurrentOptions::bias, "start and tuning of the biases, or false for none");
    return s;
  }();
  return spec;
}

}  // namespace ps
