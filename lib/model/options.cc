#include "model/options.h"

#include "config/catalog.h"
#include "model/cost.h"
#include "model/evaluator.h"
#include "model/layer.h"

namespace ps {

static Json list_of(const Json& items) {
  return {{"type", "array"}, {"items", items}};
}

const ObjectSpec<ModelOptions>& ModelOptions::spec() {
  static const ObjectSpec<ModelOptions> spec = [] {
    ObjectSpec<ModelOptions> s;
    s.field("layers", &ModelOptions::layers,
            "layers, in any order; each reads slots of the data or other layers")
        .must()
        .type = [] { return list_of(catalog_schema(layer_catalog())); };
    s.field("cost", &ModelOptions::cost, "what training makes small").must().type = [] {
      return catalog_schema(cost_catalog());
    };
    s.field("auxiliary_costs", &ModelOptions::auxiliary_costs,
            "costs of other layers that training makes small as well; tests leave them out, and so do "
            "predictions, but for those with a label of their own")
        .type = [] { return list_of(catalog_schema(cost_catalog())); };
    s.field("evaluators", &ModelOptions::evaluators, "measures to report: names, or objects with a type")
        .type = [] {
      Json evaluator = catalog_schema(evaluator_catalog());
      evaluator["oneOf"].push_back({{"type", "string"}});
      return list_of(evaluator);
    };
    s.field("calibration", &ModelOptions::calibration,
            "of saved models, as train.calibrate has fitted it: predictions of the main cost go through it "
            "in tests "
            "and predictions; absent: they are as they are");
    s.check([](const ModelOptions& model, std::string_view path) {
      spec_internal::expect_array(model.layers, json_path(path, "layers"));
      spec_internal::expect_array(model.evaluators, json_path(path, "evaluators"));
    });
    return s;
  }();
  return spec;
}

}  // namespace ps
