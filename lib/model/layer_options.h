// Keys of layers in the job file: those that every layer has, and those of weights and biases.
#ifndef PS_MODEL_LAYER_OPTIONS_H_
#define PS_MODEL_LAYER_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "config/spec.h"
#include "optim/optimizer.h"
#include "optim/row_policy.h"

namespace ps {

// How a parameter's weights start.
struct InitOptions {
  std::string type = "default";  // default | zero | constant | normal | uniform | smart | he | file
  double mean = 0;
  // The deviation of normal and uniform. smart is normal with 1 / sqrt(fan-in), he with sqrt(2 / fan-in).
  double deviation = 0.01;
  std::string path;  // file: a model to take the parameter of the same name from

  static const ObjectSpec<InitOptions>& spec();
};

// The keys of a layer for each of its parameters.
struct ParameterOptions : ParameterTuning {
  InitOptions init;
  std::optional<RowPolicy> row_policy;  // of tables: biases have none

  static const ObjectSpec<ParameterOptions>& spec();
};

// The "weight" object of a layer.
struct WeightOptions : ParameterOptions {
  static const ObjectSpec<WeightOptions>& spec();
};

// The "bias" of a layer: an object as of "weight", or false.
struct BiasOptions {
  bool enabled = true;
  ParameterOptions parameter;

  // The interface of a spec that spec_internal uses, so that a field of this type works like any other.
  struct Spec {
    BiasOptions parse(const Json& value, std::string_view path) const;
    Json to_json(const BiasOptions& value) const;
    Json schema() const;
  };
  static Spec spec() { return {}; }
};

// The "input" of a layer: a name, or an array of names; an array when written.
struct InputNames {
  std::vector<std::string> names;

  struct Spec {
    InputNames parse(const Json& value, std::string_view path) const;
    Json to_json(const InputNames& value) const { return value.names; }
    Json schema() const;
  };
  static Spec spec() { return {}; }
};

// Keys that every layer has; a layer's own options derive from these and include this spec.
struct LayerOptions {
  std::string name;
  InputNames input;  // layers or slots
  std::string activation = "linear";

  static const ObjectSpec<LayerOptions>& spec();
};

// Keys that layers with weights have as well.
struct WeightedLayerOptions : LayerOptions {
  std::string share_with;  // a layer whose parameters of the same names are used, instead of own ones
  WeightOptions weight;
  std::string device = "default";  // default | reader | compute: who has the rows in heterogeneous training

  static const ObjectSpec<WeightedLayerOptions>& spec();
};

}  // namespace ps

#endif  // PS_MODEL_LAYER_OPTIONS_H_
