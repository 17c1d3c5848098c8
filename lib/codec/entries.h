// The entries of the codecs in this folder, and the helpers that make them.
#ifndef PS_CODEC_ENTRIES_H_
#define PS_CODEC_ENTRIES_H_

#include <memory>
#include <string_view>

#include "codec/codec.h"
#include "config/catalog.h"

namespace ps {

extern const CodecEntry kNoCodec;
extern const CodecEntry kFp16Codec;
extern const CodecEntry kBf16Codec;
extern const CodecEntry kInt8Codec;
extern const CodecEntry kSharedScaleIntCodec;
extern const CodecEntry kOneBitCodec;
extern const CodecEntry kThresholdCodec;
extern const CodecEntry kTopKCodec;
extern const CodecEntry kLowRankCodec;

// The key that all lossy codecs have.
struct FeedbackOptions {
  bool error_feedback = true;
};

template <class Options>
void add_feedback_field(ObjectSpec<Options>& spec) {
  spec.field("error_feedback", &Options::error_feedback,
             "keep what encoding takes from a gradient, and add it to the next one");
}

namespace codec_internal {

template <class Kind, class Options>
std::unique_ptr<Codec> make(const Json& object, const CodecTarget& target) {
  return std::make_unique<Kind>(Options::spec().parse(without_type(object), "codec"), target);
}

}  // namespace codec_internal

// Makes the entry of the class Kind, which is constructed from (Options, CodecTarget).
template <class Kind, class Options>
constexpr CodecEntry codec_entry(std::string_view name, std::string_view help) {
  return {{name, help, []() -> const AnySpec& { return Options::spec(); }},
          codec_internal::make<Kind, Options>};
}

}  // namespace ps

#endif  // PS_CODEC_ENTRIES_H_
