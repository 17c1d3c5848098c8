// Trainers without servers train copies of their own, and bring them together after some steps
// (AveragingStore).  Used by the strategies post_local_sgd, adaptive_local_sgd, slow_momentum, diloco and
// sparse_diloco, which differ in the interval and in the step that all trainers make together.
#ifndef PS_STRATEGY_AVERAGED_COPIES_H_
#define PS_STRATEGY_AVERAGED_COPIES_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/spec.h"
#include "store/averaging_store.h"
#include "strategy/strategy.h"

namespace ps {

// The keys that all of these strategies share.
struct AveragingKeys {
  int64_t begin_step = 0;
  std::string optimizer_state = "local";
  std::string algorithm;

  AveragingKeys();
  static const ObjectSpec<AveragingKeys>& spec();

  // Returns the options that these keys set.
  AveragingOptions options() const;
};

inline constexpr double kMostLocalSteps = 1e6;
inline constexpr const char* kIntervalHelp =
    "steps that each trainer makes by itself from one averaging to the next";

// Throws kUsage if copies that this "optimizer" trains cannot be averaged, because it makes weights from its
// state or keeps means of weights; or if its state cannot begin anew.
void check_averaged_optimizer(const Json& optimizer, std::string_view strategy, const AveragingKeys& keys);

// Makes the strategy with these options.  A trainer alone has all parameters in its process, and averages
// nothing.
std::unique_ptr<Strategy> make_averaged_copies(const AveragingOptions& options, const std::string& algorithm,
                                               const TrainerSetup& setup);

}  // namespace ps

#endif  // PS_STRATEGY_AVERAGED_COPIES_H_
