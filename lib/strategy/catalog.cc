#include "config/catalog.h"
#include "ps/client/local_sgd_plan.h"
#include "strategy/entries.h"
#include "strategy/hybrid_store.h"

namespace ps {

namespace {

// The first entry is the strategy of jobs that name none.
constexpr const StrategyEntry* kCatalog[] = {&kParameterServerStrategy,
                                             &kLocalSgdStrategy,
                                             &kAllReduceStrategy,
                                             &kHybridStrategy,
                                             &kDgcStrategy,
                                             &kPostLocalSgdStrategy,
                                             &kAdaptiveLocalSgdStrategy,
                                             &kSlowMomentumStrategy,
                                             &kDilocoStrategy,
                                             &kSparseDilocoStrategy,
                                             &kPowerSgdStrategy,
                                             &kCompressedAllReduceStrategy,
                                             &kAutoStrategy};

}  // namespace

std::span<const StrategyEntry* const> strategy_catalog() {
  return kCatalog;
}

const StrategyEntry& find_strategy(const Json& object) {
  spec_internal::expect_object(object, kStrategyPath);
  if (!object.contains("type")) return *kCatalog[0];
  return find_entry(strategy_catalog(), object, kStrategyPath, "strategy");
}

Json complete_strategy(const Json& object) {
  return complete_entry(find_strategy(object), object, kStrategyPath);
}

Json strategy_schema() {
  Json schema = catalog_schema(strategy_catalog());
  schema["oneOf"][0].erase("required");  // no key of the first strategy is required, nor is its type
  return schema;
}

// Throws kUsage "BEFORE train.strategy.type is 'x': WHAT with A or B alone; AFTER", with the strategies
// that do.
void check_exchanges_each_batch(const Json& object, std::string_view before, std::string_view what,
                                std::string_view after) {
  const StrategyEntry& entry = find_strategy(object);
  if (entry.exchanges_each_batch) return;
  std::vector<std::string> names;
  for (const StrategyEntry* other : strategy_catalog()) {
    if (other->exchanges_each_batch) names.emplace_back(other->name);
  }
  fail(Code::kUsage, before, "train.strategy.type is ", quote(entry.name), ": ", what, " with ",
       join(names, " or "), " alone; ", after);
}

std::vector<ParameterSpec> ServerPlan::parameters(std::vector<ParameterSpec> specs) const {
  if (dense_by_trainers) specs = with_dense_by_trainers(std::move(specs));
  return tunes ? specs : without_tuning(std::move(specs));
}

}  // namespace ps
