// SparseLoCo among trainers without servers: DiLoCo, except that trainers send only the largest values of
// their moves, with error feedback in place of the outer momentum (SparseMoves).
#include "codec/sparse_vector.h"
#include "collective/exchange_communicator.h"
#include "config/spec.h"
#include "optim/options.h"
#include "store/sparse_moves.h"
#include "strategy/averaged_copies.h"
#include "strategy/entries.h"
#include "strategy/sparse_exchange_key.h"

namespace ps {

namespace {

struct SparseDilocoKeys : AveragingKeys {
  int64_t k_steps = 1;
  double density = 0.02;
  double error_decay = 0.95;
  std::string encoding = "varint_int8";
  std::string exchange = kAutomatic;
  double outer_learning_rate = 1;
  double outer_momentum = 0;

  SparseMovesOptions moves() const;
  static const ObjectSpec<SparseDilocoKeys>& spec();
};

void check_keys(const SparseDilocoKeys& keys, std::string_view path) {
  optim_internal::check_below_one(keys.outer_momentum, json_path(path, "outer_momentum"));
}

const ObjectSpec<SparseDilocoKeys>& SparseDilocoKeys::spec() {
  static const ObjectSpec<SparseDilocoKeys> spec = [] {
    ObjectSpec<SparseDilocoKeys> s;
    s.field("k_steps", &SparseDilocoKeys::k_steps, kIntervalHelp).must().at_least(1).at_most(kMostLocalSteps);
    s.field("density", &SparseDilocoKeys::density,
            "share of a move's values that is sent, of parameters with more than one row and column")
        .above(0)
        .at_most(1);
    s.field("error_decay", &SparseDilocoKeys::error_decay,
            "what stays of the values that were not sent, until they are")
        .at_least(0)
        .at_most(1);
    s.field("encoding", &SparseDilocoKeys::encoding, "of indices and values").one_of(sparse_encoding_names());
    s.field("exchange", &SparseDilocoKeys::exchange, kSparseExchangeHelp).one_of(sparse_exchange_choices());
    s.field("outer_learning_rate", &SparseDilocoKeys::outer_learning_rate,
            "learning rate of the step that all make together")
        .above(0)
        .at_most(100);
    s.field("outer_momentum", &SparseDilocoKeys::outer_momentum,
            "what stays of the last such step, below 1; error feedback takes its place")
        .at_least(0);
    s.include(AveragingKeys::spec());
    s.check(check_keys);
    return s;
  }();
  return spec;
}

SparseMovesOptions SparseDilocoKeys::moves() const {
  return {.density = density,
          .decay = error_decay,
          .encoding = find_sparse_encoding(encoding),
          .exchange = find_sparse_exchange(exchange)};
}

void check_sparse_diloco(const Json& object, const Json& optimizer) {
  check_averaged_optimizer(optimizer, "sparse_diloco", parse_strategy<SparseDilocoKeys>(object));
}

std::unique_ptr<Strategy> make_sparse_diloco(const Json& object, const TrainerSetup& setup) {
  const auto keys = parse_strategy<SparseDilocoKeys>(object);
  AveragingOptions options = keys.options();
  options.interval.first = keys.k_steps;
  options.outer = {OuterRule::kNesterov, keys.outer_learning_rate, keys.outer_momentum};
  options.sparse = keys.moves();
  return make_averaged_copies(options, keys.algorithm, setup);
}

}  // namespace

constinit const StrategyEntry kSparseDilocoStrategy = {
    {"sparse_diloco",
     "SparseLoCo: as diloco, but a trainer sends only the largest "
     "values of its move, few bits each, and keeps the "
     "rest, which decays, until it is large enough.",
     []() -> const AnySpec& { return SparseDilocoKeys::spec(); }},
    check_sparse_diloco,
    /*serve=*/nullptr,
    make_sparse_diloco};

}  // namespace ps
