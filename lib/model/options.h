// The "model" section of the job file: a directed graph of named layers, a cost, evaluators.
#ifndef PS_MODEL_OPTIONS_H_
#define PS_MODEL_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "config/spec.h"
#include "optim/optimizer.h"

namespace ps {

// How a parameter's weights start.
struct InitOptions {
  std::string type = "default";   // default | zero | constant | normal | uniform | smart | file
  double mean = 0;
  double deviation = 0.01;        // normal, uniform; smart is normal with 1 / sqrt(fan-in)
  std::string path;               // file: a model to take the parameter of the same name from

  static const ObjectSpec<InitOptions>& spec();
};

// The "weight" or "bias" object of a layer.
struct ParameterOptions : ParameterTuning {
  InitOptions init;

  static const ObjectSpec<ParameterOptions>& spec();
};

// Keys that every layer has; a layer's own options derive from these.
struct LayerOptions {
  std::string name;
  std::vector<std::string> input;     // layers or slots; the job file may give one string instead of an array
  std::string activation = "linear";

  // Adds the fields above to the spec of a derived struct.
  template <class Derived>
  static void add_fields(ObjectSpec<Derived>& spec);
};

struct ModelOptions {
  Json layers = Json::array();      // objects with "type": entries of layer_catalog()
  Json cost;                        // an object with "type": an entry of cost_catalog(), and "input", a layer
  Json evaluators = Json::array();  // names, or objects with "type": entries of evaluator_catalog()

  static const ObjectSpec<ModelOptions>& spec();
};

}  // namespace ps

#endif  // PS_MODEL_OPTIONS_H_
