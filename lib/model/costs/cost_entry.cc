#include "model/costs/cost_entry.h"

#include "config/spec.h"

namespace ps {

const ObjectSpec<CostOptions>& CostOptions::spec() {
  static const ObjectSpec<CostOptions> spec = [] {
    ObjectSpec<CostOptions> s;
    s.field("input", &CostOptions::input, "the layer whose output is measured").must();
    s.field("factor", &CostOptions::factor, "multiplies the cost: its share beside auxiliary costs")
        .at_least(0);
    s.field(
        "label", &CostOptions::label,
        "slot that has the labels of this cost, as data.csv.labels makes one of each of its columns; empty: "
        "the label of the examples.  The model then predicts for this cost too");
    return s;
  }();
  return spec;
}

void expect_one_value(std::string_view cost, const CostInput& input) {
  if (input.cols != 1) fail(Code::kUsage, cost, " takes one value per example, found ", input.cols);
}

void expect_no_label(std::string_view cost, const CostOptions& options) {
  if (!options.label.empty())
    fail(Code::kUsage, "label: ", quote(options.label), ", and ", cost, " reads no such labels");
}

}  // namespace ps
