// ExchangeCodec: the key train.strategy.codec, which sets the form of rows between trainers and servers.
// Used by every strategy that has servers.
//
//   codec := NAME | {"push": NAME | CODEC, "pull": NAME, "residual_memory": BYTES}
//
// A NAME is one of row_type_names().  The first form is short for the same name in both directions.  Pulls,
// and so the first form, only have names of types that hold weights.  A CODEC is one of the catalogue,
// {"type": name, keys of that codec}, or just its name, unless a row type has this name.
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

// The form in which gradients travel to servers.
struct PushCodec {
  std::string name = "f32";  // one of row_type_names()
  Json codec = nullptr;      // null: no codec; else gradients travel in its bytes

  static const PushCodecSpec& spec();
};

// Has the functions of an ObjectSpec that a field needs.  Constant; any thread may use it.
class PushCodecSpec {
 public:
  // Throws kUsage.
  PushCodec parse(const Json& value, std::string_view path) const;

  // Returns a name, or an object with all keys.
  Json to_json(const PushCodec& push) const { return push.codec.is_null() ? Json(push.name) : push.codec; }

  Json schema() const;
};

struct ExchangeCodec {
  PushCodec push;
  std::string pull = "f32";             // one of weight_type_names()
  std::string residual_memory = "64M";  // memory of a trainer for residuals

  RowTypes row_types() const;

  static const ExchangeCodecSpec& spec();

  // The text about the key in the manual.
  static constexpr const char* kHelp =
      "how rows travel between trainers and servers: one of f32, f16, bf16, int8 and int8_blocks for both "
      "directions, or an object that names one for each";
};

// Has the functions of an ObjectSpec that a field needs, for both forms.  Constant after construction; any
// thread may use it.
class ExchangeCodecSpec {
 public:
  ExchangeCodecSpec();

  // Throws kUsage.
  ExchangeCodec parse(const Json& value, std::string_view path) const;

  // Returns the second form, with all keys: jobs that mean the same give the same.
  Json to_json(const ExchangeCodec& codec) const { return keys_.to_json(codec); }

  Json schema() const;
  const AnySpec& keys() const { return keys_; }

 private:
  ObjectSpec<ExchangeCodec> keys_;  // fields of the second form
  FieldSpec name_;                  // the first form
};

}  // namespace ps

#endif  // PS_STRATEGY_EXCHANGE_CODEC_H_
