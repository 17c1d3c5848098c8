// The strategies of this folder, one a file, and what each file ends in.
#ifndef PS_STRATEGY_ENTRIES_H_
#define PS_STRATEGY_ENTRIES_H_

#include "config/catalog.h"
#include "strategy/strategy.h"

namespace ps {

extern const StrategyEntry kParameterServer;
extern const StrategyEntry kLocalSgd;
extern const StrategyEntry kAllReduce;
extern const StrategyEntry kDgc;
extern const StrategyEntry kPostLocalSgd;
extern const StrategyEntry kAdaptiveLocalSgd;
extern const StrategyEntry kSlowMomentum;
extern const StrategyEntry kDiloco;
extern const StrategyEntry kSparseDiloco;
extern const StrategyEntry kPowerSgd;
extern const StrategyEntry kHybrid;

// The options of `object`, which is train.strategy.  Throws kUsage.
template <class Options>
Options parse_strategy(const Json& object) {
  return Options::spec().parse(without_type(object), kStrategyPath);
}

}  // namespace ps

#endif  // PS_STRATEGY_ENTRIES_H_
