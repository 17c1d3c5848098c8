#include "model/layer_options.h"

#include "model/activation.h"

namespace ps {

const ObjectSpec<InitOptions>& InitOptions::spec() {
  static const ObjectSpec<InitOptions> spec = [] {
    ObjectSpec<InitOptions> s;
    s.field("type", &InitOptions::type,
            "how weights start: default (what the layer says), zero, constant (mean), normal (mean, "
            "deviation), uniform (mean ± deviation), smart (normal, deviation 1/sqrt(fan-in)), he (the same, "
            "sqrt(2/fan-in), for relu), file (the parameter of this name in a model)")
        .one_of({"default", "zero", "constant", "normal", "uniform", "smart", "he", "file"});
    s.field("mean", &InitOptions::mean, "centre of the distribution");
    s.field("deviation", &InitOptions::deviation, "standard deviation, or half the width of uniform")
        .at_least(0);
    s.field("path", &InitOptions::path, "model file to start from (type file)");
    s.check([](const InitOptions& init, std::string_view at) {
      if (init.type == "file" && init.path.empty())
        fail(Code::kUsage, json_path(at, "path"), ": missing (which file)");
      if (init.type != "file" && !init.path.empty()) {
        fail(Code::kUsage, json_path(at, "path"), ": only type 'file' reads a file, found type ",
             quote(init.type));
      }
    });
    return s;
  }();
  return spec;
}

const ObjectSpec<ParameterOptions>& ParameterOptions::spec() {
  static const ObjectSpec<ParameterOptions> spec = [] {
    ObjectSpec<ParameterOptions> s;
    s.field("init", &ParameterOptions::init, "how the weights start");
    s.include(ParameterTuning::spec());
    return s;
  }();
  return spec;
}

const ObjectSpec<WeightOptions>& WeightOptions::spec() {
  static const ObjectSpec<WeightOptions> spec = [] {
    ObjectSpec<WeightOptions> s;
    s.include(ParameterOptions::spec());
    s.field("rows", &WeightOptions::row_policy,
            "sparse_update: which keys get a row, and which rows go again; absent: every key that occurs has "
            "one for ever");
    return s;
  }();
  return spec;
}

BiasOptions BiasOptions::Spec::parse(const Json& value, std::string_view path) const {
  BiasOptions bias;
  bias.enabled = !value.is_boolean() || value.get<bool>();
  if (!value.is_boolean()) bias.parameter = ParameterOptions::spec().parse(value, path);
  return bias;
}

Json BiasOptions::Spec::to_json(const BiasOptions& value) const {
  if (!value.enabled) return false;
  return ParameterOptions::spec().to_json(value.parameter);
}

Json BiasOptions::Spec::schema() const {
  return {{"oneOf", Json::array({{{"type", "boolean"}}, ParameterOptions::spec().schema()})}};
}

InputNames InputNames::Spec::parse(const Json& value, std::string_view path) const {
  InputNames input;
  if (value.is_string()) {
    input.names = {value.get<std::string>()};
  } else {
    spec_internal::read(value, FieldSpec{}, path, input.names);
  }
  if (input.names.empty()) fail(Code::kUsage, path, ": empty, expected at least one name");
  return input;
}

Json InputNames::Spec::schema() const {
  const Json name = {{"type", "string"}};
  return {{"oneOf", Json::array({name, {{"type", "array"}, {"items", name}, {"minItems", 1}}})}};
}

const ObjectSpec<LayerOptions>& LayerOptions::spec() {
  static const ObjectSpec<LayerOptions> spec = [] {
    ObjectSpec<LayerOptions> s;
    s.field("name", &LayerOptions::name, "name of the layer, its own in the model").must();
    s.field("input", &LayerOptions::input,
            "the layers or slots that it reads: a name, or an array of names; slot* stands for all slots "
            "that match, sparse:* and dense:* for those of a type")
        .must();
    s.field("activation", &LayerOptions::activation, "function applied to the output")
        .one_of(activation_names());
    s.check([](const LayerOptions& layer, std::string_view path) {
      if (layer.name.empty()) fail(Code::kUsage, json_path(path, "name"), ": empty");
    });
    return s;
  }();
  return spec;
}

const ObjectSpec<WeightedLayerOptions>& WeightedLayerOptions::spec() {
  static const ObjectSpec<WeightedLayerOptions> spec = [] {
    ObjectSpec<WeightedLayerOptions> s;
    s.include(LayerOptions::spec());
    s.field("weight", &WeightedLayerOptions::weight, "start and tuning of the weights");
    s.field("share_with", &WeightedLayerOptions::share_with,
            "a layer whose parameters of the same names and shapes are used instead of own ones");
    s.field("device", &WeightedLayerOptions::device,
            "in heterogeneous training, who pulls and pushes the rows that ids reach: reader; compute, which "
            "has the whole table, for one without sparse_update; default: reader")
        .one_of({"default", "reader", "compute"});
    return s;
  }();
  return spec;
}

}  // namespace ps
