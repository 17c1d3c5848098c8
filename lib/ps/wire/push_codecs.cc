#include "ps/wire/push_codecs.h"

namespace ps {

// Makes a codec for each parameter that has gradients, and a null one for statistics.  The key of a codec
// has the rank in its upper half, so that the random decisions of two trainers about the same value differ.
PushCodecs::PushCodecs(const Json& object, std::span<const ParameterSpec> specs, int rank, CpuLevel cpu)
    : cpu_(cpu) {
  if (object.is_null()) return;
  for (size_t p = 0; p < specs.size(); ++p) {
    const ParameterSpec& spec = specs[p];
    codecs_.emplace_back();
    if (spec.kind == ParameterKind::kStatistic) continue;
    const CodecTarget target{.cols = spec.cols,
                             .seed = spec.initializer.seed,
                             .key = static_cast<uint64_t>(rank) << 32 | p,
                             .in_slices = true,
                             .cpu = cpu};
    codecs_.back() = make_codec(object, "train.strategy.codec.push", target);
    keep_residuals_ |= codecs_.back()->keeps_residual();
    sum_in_any_order_ |= codecs_.back()->sums_in_any_order();
  }
}

}  // namespace ps
