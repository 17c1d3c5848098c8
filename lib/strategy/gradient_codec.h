// GradientCodec: a key of a strategy that names a codec of gradients (codec/codec.h).  Used by
// compressed_all_reduce and auto.
//
//   codec := NAME | {"type": NAME, keys of that codec}
//
// The first form is short for the second without further keys.
#ifndef PS_STRATEGY_GRADIENT_CODEC_H_
#define PS_STRATEGY_GRADIENT_CODEC_H_

#include <string_view>

#include "config/json.h"

namespace ps {

class GradientCodecSpec;

struct GradientCodec {
  Json object = {{"type", "int8"}};

  static const GradientCodecSpec& spec();
};

// Has the functions of an ObjectSpec that a field needs, for both forms.  Constant; any thread may use it.
class GradientCodecSpec {
 public:
  // Throws kUsage.
  GradientCodec parse(const Json& value, std::string_view path) const;

  // Returns the second form, with all keys: jobs that mean the same give the same.
  Json to_json(const GradientCodec& codec) const;

  Json schema() const;
};

}  // namespace ps

#endif  // PS_STRATEGY_GRADIENT_CODEC_H_
