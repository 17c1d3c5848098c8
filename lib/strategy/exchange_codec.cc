#include "strategy/exchange_codec.h"

#include "base/text.h"
#include "codec/codec.h"
#include "config/catalog.h"

namespace ps {

namespace {

constexpr std::string_view kNoCodecName = "none";

// Returns the types of rows, and the codecs that have other names.
std::vector<std::string> push_names() {
  std::vector<std::string> names = row_type_names();
  for (const CodecEntry* entry : codec_catalog()) {
    if (entry->name != kNoCodecName && !find_row_type(entry->name)) names.emplace_back(entry->name);
  }
  return names;
}

}  // namespace

const PushCodecSpec& PushCodec::spec() {
  static const PushCodecSpec spec;
  return spec;
}

// A name is first looked for among the types of rows, so a codec of the same name has to be given as an
// object.  Objects are completed, so that trainers and servers compare the same keys.
PushCodec PushCodecSpec::parse(const Json& value, std::string_view path) const {
  PushCodec push;
  if (value.is_string()) {
    spec_internal::read(value, FieldSpec().one_of(push_names()), path, push.name);
    if (find_row_type(push.name)) return push;
  } else if (!value.is_object()) {
    fail(Code::kUsage, path, ": found ", json_kind(value), ", expected a name or an object");
  }
  const Json object = value.is_string() ? Json{{"type", value}} : value;
  const CodecEntry& entry = find_entry(codec_catalog(), object, path, "codec");
  if (entry.name == kNoCodecName) {
    fail(Code::kUsage, json_path(path, "type"),
         ": 'none' compresses nothing; 'f32' is the name of rows as they are");
  }
  return {.name = "f32", .codec = complete_entry(entry, object, path)};
}

Json PushCodecSpec::schema() const {
  return {{"anyOf", {{{"type", "string"}, {"enum", push_names()}}, catalog_schema(codec_catalog())}}};
}

ExchangeCodecSpec::ExchangeCodecSpec() {
  keys_.field(
      "push", &ExchangeCodec::push,
      "how gradients travel to servers: in rows, as floats of 32 or 16 bits, as bytes with a scale for "
      "each row or for each 256 values of it, or as signs with two means a row; or in the bytes of a "
      "codec, which is named or is an object with its keys; the residual that this leaves of a row's "
      "gradient is added to its next one");
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
  spec_internal::read(value, name_, path, codec.pull);
  codec.push.name = codec.pull;
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
          .push = find_row_type(push.name).value(),
          .push_codec = push.codec,
          .error_bytes = parse_bytes(residual_memory).value()};
}

}  // namespace ps
