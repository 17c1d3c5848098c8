#include "model/costs/cost_entry.h"

#include "config/spec.h"

namespace ps {

const ObjectSpec<CostOptions>& CostOptions::spec() {
  static const ObjectSpec<CostOptions> spec = [] {
    ObjectSpec<CostOptions> s;
    s.field("input", &CostOptions::input, "the layer whose output is measured").must();
    s.field("factor", &CostOptions::factor, "multiplies the cost: its share beside auxiliary costs")
        .at_least(0);
    return s;
  }();
  return spec;
}

void expect_one_value(std::string_view cost, const CostInput& input) {
  if (input.cols != 1) fail(Code::kUsage, cost, " takes one value per example, found ", input.cols);
}

}  // namespace ps
