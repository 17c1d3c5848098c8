// Gradients in the bytes of a codec, among trainers without servers (CodecExchange).
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "store/codec_exchange.h"
#include "strategy/compressed_among_peers.h"
#include "strategy/entries.h"
#include "strategy/gradient_codec.h"

namespace ps {

namespace {

struct CompressedAllReduceKeys {
  GradientCodec codec;
  int64_t begin_step = 0;
  std::string algorithm = kAutomatic;

  static const ObjectSpec<CompressedAllReduceKeys>& spec();
};

const ObjectSpec<CompressedAllReduceKeys>& CompressedAllReduceKeys::spec() {
  static const ObjectSpec<CompressedAllReduceKeys> spec = [] {
    ObjectSpec<CompressedAllReduceKeys> s;
    s.field("codec", &CompressedAllReduceKeys::codec,
            "how the gradients of matrices are encoded: the name of a codec, or an object with its keys");
    s.field("begin_step", &CompressedAllReduceKeys::begin_step, "first step that compresses").at_least(0);
    s.field("algorithm", &CompressedAllReduceKeys::algorithm, kAlgorithmHelp).one_of(algorithm_names());
    return s;
  }();
  return spec;
}

void check_compressed_all_reduce(const Json& object, const Json&) {
  parse_strategy<CompressedAllReduceKeys>(object);
}

std::unique_ptr<Strategy> make_compressed_all_reduce(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<CompressedAllReduceKeys>(object);
  CodecExchangeOptions options{.codecs = {keys.codec.object}, .begin_step = keys.begin_step};
  place_compression(setup, options);
  return make_among_peers<CompressedAmongPeers<CodecExchange, CodecExchangeOptions>>(setup, options,
                                                                                     keys.algorithm);
}

}  // namespace

constinit const StrategyEntry kCompressedAllReduceStrategy = {
    {"compressed_all_reduce",
     "As all_reduce, but the gradients of matrices travel in the bytes of a codec, to the trainer that adds "
     "them up and from there, and each trainer adds what the bytes do not hold to its next gradient. "
     "Gradients of one dimension are exchanged whole.",
     []() -> const AnySpec& { return CompressedAllReduceKeys::spec(); }},
    check_compressed_all_reduce,
    /*serve=*/nullptr,
    make_compressed_all_reduce};

}  // namespace ps
