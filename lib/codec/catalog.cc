#include "codec/entries.h"

namespace ps {

namespace {

constexpr const CodecEntry* kCatalog[] = {&kNoCodec,        &kFp16Codec,           &kBf16Codec,
                                          &kInt8Codec,      &kSharedScaleIntCodec, &kOneBitCodec,
                                          &kThresholdCodec, &kTopKCodec,           &kLowRankCodec};

}  // namespace

std::span<const CodecEntry* const> codec_catalog() {
  return kCatalog;
}

}  // namespace ps
