#include "strategy/gradient_codec.h"

#include "base/error.h"
#include "codec/codec.h"
#include "config/catalog.h"

namespace ps {

const GradientCodecSpec& GradientCodec::spec() {
  static const GradientCodecSpec spec;
  return spec;
}

GradientCodec GradientCodecSpec::parse(const Json& value, std::string_view path) const {
  const Json object = value.is_string() ? Json{{"type", value}} : value;
  const CodecEntry& entry = find_entry(codec_catalog(), object, path, "codec");
  if (entry.name == "none") {
    fail(Code::kUsage, json_path(path, "type"), ": 'none' compresses nothing; use train.strategy all_reduce");
  }
  return {complete_entry(entry, object, path)};
}

Json GradientCodecSpec::to_json(const GradientCodec& codec) const {
  return complete_entry(find_entry(codec_catalog(), codec.object, "codec", "codec"), codec.object, "codec");
}

Json GradientCodecSpec::schema() const {
  Json names = Json::array();
  for (const CodecEntry* entry : codec_catalog()) names.push_back(entry->name);
  return {{"anyOf", {{{"type", "string"}, {"enum", std::move(names)}}, catalog_schema(codec_catalog())}}};
}

}  // namespace ps
