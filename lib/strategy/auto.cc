// Works as all_reduce, but chooses for each matrix, by measured costs, if its gradient travels whole or in
// the bytes of a codec (CodecExchange).
#include "base/error.h"
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "store/codec_exchange.h"
#include "strategy/compressed_among_peers.h"
#include "strategy/entries.h"
#include "strategy/gradient_codec.h"

namespace ps {

namespace {

constexpr size_t kMostCodecs = 16;

struct AutoKeys {
  std::vector<GradientCodec> codecs = {{{{"type", "fp16"}}}, {{{"type", "int8"}}}};
  int64_t begin_step = 0;
  std::optional<double> latency;    // microseconds
  std::optional<double> bandwidth;  // bytes a second
  std::string algorithm = kAutomatic;

  static const ObjectSpec<AutoKeys>& spec();
};

const ObjectSpec<AutoKeys>& AutoKeys::spec() {
  static const ObjectSpec<AutoKeys> spec = [] {
    ObjectSpec<AutoKeys> s;
    s.field("codecs", &AutoKeys::codecs,
            "codecs to choose among for each matrix: names, or objects with their keys");
    s.field("begin_step", &AutoKeys::begin_step, "first step that compresses").at_least(0);
    s.field("latency", &AutoKeys::latency,
            "of a message between trainers, in microseconds; measured if not given")
        .at_least(0);
    s.field("bandwidth", &AutoKeys::bandwidth,
            "of a trainer's link in one direction, in bytes a second; measured if not given")
        .above(0);
    s.field("algorithm", &AutoKeys::algorithm, kAlgorithmHelp).one_of(algorithm_names());
    s.check([](const AutoKeys& keys, std::string_view path) {
      if (!keys.codecs.empty() && keys.codecs.size() <= kMostCodecs) return;
      fail(Code::kUsage, json_path(path, "codecs"), ": ", keys.codecs.size(), " codecs, expected 1 to ",
           kMostCodecs);
    });
    return s;
  }();
  return spec;
}

void check_auto(const Json& object, const Json&) {
  parse_strategy<AutoKeys>(object);
}

std::unique_ptr<Strategy> make_auto(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<AutoKeys>(object);
  CodecExchangeOptions options{
      .codecs = {}, .chooses = true, .begin_step = keys.begin_step, .bandwidth = keys.bandwidth};
  if (keys.latency) options.latency = *keys.latency * 1e-6;
  for (const GradientCodec& codec : keys.codecs) options.codecs.push_back(codec.object);
  place_compression(setup, options);
  return make_among_peers<CompressedAmongPeers<CodecExchange, CodecExchangeOptions>>(setup, options,
                                                                                     keys.algorithm);
}

}  // namespace

constinit const StrategyEntry kAutoStrategy = {{"auto",
                                                "As compressed_all_reduce, but before the first step the "
                                                "trainers measure their links and the codecs, and choose for "
                                                "each matrix the codec, or none, with which the cost model "
                                                "expects the shortest exchange; none at all unless that "
                                                "shortens the exchange of a step by a tenth.",
                                                []() -> const AnySpec& { return AutoKeys::spec(); }},
                                               check_auto,
                                               /*serve=*/nullptr,
                                               make_auto};

}  // namespace ps
