#include "strategy/exchange_codec.h"

#include "base/text.h"

namespace ps {

ExchangeCodecSpec::ExchangeCodecSpec() {
  keys_
      .field("push", &ExchangeCodec::push,
             "how gradients travel to servers: as floats of 32 or 16 bits, as bytes with a scale for each "
             "row or for each 256 values of it, or as signs with two means a row; the residual that this "
             "leaves of a row's gradient is added to its next one")
      .one_of(row_type_names());
  keys_
      .field(
          "pull", &ExchangeCodec::pull,
          "how the weights of a batch travel to a trainer; weights that are tested, saved and predicted with "
          "travel as f32")
      .one_of(weight_type_names());
  keys_.field("residual_memory", &ExchangeCodec::residual_memory,
              "memory of a trainer for residuals of rows, e.g. \"64M\"; beyond it, the residuals of the rows "
              "that have not come for longest are dropped and counted");
  keys_.check([](const ExchangeCodec& codec, std::string_view path) {
    if (parse_bytes(codec.residual_memory)) return;
    fail(Code::kUsage, json_path(path, "residual_memory"), ": ", quote(codec.residual_memory),
         " is not a number of bytes; try \"64M\"");
  });
  name_.type = spec_internal::TypeOf<std::string>::schema;
  name_.help = "for both directions";
  name_.one_of(weight_type_names());
}

ExchangeCodec ExchangeCodecSpec::parse(const Json& value, std::string_view path) const {
  if (value.is_object()) return keys_.parse(value, path);
  if (!value.is_string()) {
    fail(Code::kUsage, path, ": found ", json_kind(value), ", expected a name or an object");
  }
  ExchangeCodec codec;
  spec_internal::read(value, name_, path, codec.push);
  codec.pull = codec.push;
  return codec;
}

Json ExchangeCodecSpec::schema() const {
  return {{"anyOf", Json::array({name_.schema(), keys_.schema()})}};
}

const ExchangeCodecSpec& ExchangeCodec::spec() {
  static const ExchangeCodecSpec spec;
  return spec;
}

RowTypes ExchangeCodec::row_types() const {
  return {.pull = find_row_type(pull).value(),
          .push = find_row_type(push).value(),
          .error_bytes = parse_bytes(residual_memory).value()};
}

}  // namespace ps
