// The entries of the strategies in this folder; each file ends in one.
#ifndef PS_STRATEGY_ENTRIES_H_
#define PS_STRATEGY_ENTRIES_H_

#include "config/catalog.h"
#include "strategy/strategy.h"

namespace ps {

extern const StrategyEntry kParameterServerStrategy;
extern const StrategyEntry kLocalSgdStrategy;
extern const StrategyEntry kAllReduceStrategy;
extern const StrategyEntry kDgcStrategy;
extern const StrategyEntry kPostLocalSgdStrategy;
extern const StrategyEntry kAdaptiveLocalSgdStrategy;
extern const StrategyEntry kSlowMomentumStrategy;
extern const StrategyEntry kDilocoStrategy;
extern const StrategyEntry kSparseDilocoStrategy;
extern const StrategyEntry kPowerSgdStrategy;
extern const StrategyEntry kCompressedAllReduceStrategy;
extern const StrategyEntry kAutoStrategy;
extern const StrategyEntry kHybridStrategy;

// The options of `object`, which is train.strategy.  Throws kUsage.
template <class Options>
Options parse_strategy(const Json& object) {
  return Options::spec().parse(without_type(object), kStrategyPath);
}

}  // namespace ps

#endif  // PS_STRATEGY_ENTRIES_H_
