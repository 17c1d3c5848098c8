#include "optim/entries.h"

namespace ps {

namespace {

constexpr const OptimizerEntry* kCatalog[] = {
    &kSgd,     &kMomentum, &kSparseMomentum, &kAdagrad, &kDecayedAdagrad,
    &kRmsprop, &kAdadelta, &kAdam,           &kAdamax,  &kFtrl};

}  // namespace

std::span<const OptimizerEntry* const> optimizer_catalog() {
  return kCatalog;
}

}  // namespace ps
