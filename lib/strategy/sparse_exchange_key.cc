#include "strategy/sparse_exchange_key.h"

#include "collective/exchange_communicator.h"

namespace ps {

namespace {

constexpr SparseExchange kExchanges[] = {SparseExchange::kAllGather, SparseExchange::kOwnerSplit,
                                         SparseExchange::kDense};

}  // namespace

std::vector<std::string> sparse_exchange_choices() {
  std::vector<std::string> names = {kAutomatic};
  for (const SparseExchange each : kExchanges) names.emplace_back(sparse_exchange_name(each));
  return names;
}

std::optional<SparseExchange> find_sparse_exchange(std::string_view name) {
  for (const SparseExchange each : kExchanges) {
    if (name == sparse_exchange_name(each)) return each;
  }
  return std::nullopt;
}

}  // namespace ps
