// The "model" section of the job file: a directed graph of named layers, a cost, evaluators.
#ifndef PS_MODEL_OPTIONS_H_
#define PS_MODEL_OPTIONS_H_

#include "config/spec.h"
#include "model/calibration.h"

namespace ps {

struct ModelOptions {
  Json layers = Json::array();  // objects with "type": entries of layer_catalog()
  Json cost;                    // an object with "type": an entry of cost_catalog(), and "input", a layer
  Json auxiliary_costs = Json::array();    // more of these, which training makes small as well
  Json evaluators = Json::array();         // names, or objects with "type": entries of evaluator_catalog()
  std::optional<Calibration> calibration;  // of a saved model: the predictions of the main cost go through it

  static const ObjectSpec<ModelOptions>& spec();
};

}  // namespace ps

#endif  // PS_MODEL_OPTIONS_H_
