// ExchangeCodec: the key train.strategy.codec, which says how rows travel between trainers and servers.  Used by
// every strategy that has servers.
//
//   codec := NAME | {"push": NAME | CODEC, "pull": NAME, "residual_memory": BYTES}
//
// A NAME is one of row_type_names().  The first form is short for the same name in both directions; pulls, and so the first
// form, have those alone that hold weights.  A CODEC is one of the catalogue, {"type": name, keys of that codec}, or its name,
// unless rows have a type of this name.
#ifndef PS_STRATEGY_EXCHANGE_CODEC_H_
#define PS_STRATEGY_EXCHANGE_CODEC_H_

#include <string>
#include <string_view>

#include "codec/row_types.h"
#include "config/json.h"
#include "config/spec.h"

namespace ps {

class PushCodecSpec;
class ExchangeCodecSpec;

// How gradients travel to servers.
struct PushCodec {
  std::string name = "f32";  // of row_type_names()
  Json codec = nullptr;      // the codec in whose bytes they travel instead; null: none

  static const PushCodecSpec& spec();
};

// Has the functions of an ObjectSpec that a field needs.
class PushCodecSpec {
 public:
  // Throws kUsage.
  PushCodec parse(const Json& value, std::string_view path) const;

  // A name, or an object with all keys.
  Json to_json(const PushCodec& push) const { return push.codec.is_null() ? Json(push.name) : push.codec; }

  Json schema() const;
};

struct ExchangeCodec {
  PushCodec push;
  std::string pull = "f32";             // of weight_type_names()
  std::string residual_memory = "64M";  // of a trainer

  RowTypes row_types() const;

  static const ExchangeCodecSpec& spec();

  // The text of the manual about the key.
  static constexpr const char* kHelp =
      "how rows travel between trainers and servers: one of f32, f16, bf16, int8 and int8_blocks for both "
      "directions, or an object that names one for each";
};

// Has the functions of an ObjectSpec that a field needs, over both forms.
class ExchangeCodecSpec {
 public:
  ExchangeCodecSpec();

  // Throws kUsage.
  ExchangeCodec parse(const Json& value, std::string_view path) const;

  // The second form, with all keys: jobs that mean the same give the same.
  Json to_json(const ExchangeCodec& codec) const { return keys_.to_json(codec); }

  Json schema() const;
  const AnySpec& keys() const { return keys_; }

 private:
  ObjectSpec<ExchangeCodec> keys_;  // of the second form
  FieldSpec name_;                  // the first form
};

}  // namespace ps

#endif  // PS_STRATEGY_EXCHANGE_CODEC_H_
