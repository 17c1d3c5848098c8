#include "feed/plan_cache.h"

#include <utility>

namespace ps {

namespace {

template <class T>
uint64_t bytes_of(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

uint64_t bytes_of_plans(const std::vector<KeyPlan>& plans) {
  uint64_t bytes = bytes_of(plans);
  for (const KeyPlan& plan : plans) {
    bytes += bytes_of(plan.keys) + bytes_of(plan.uses) + bytes_of(plan.counts);
    for (const KeyUse& use : plan.uses) {
      bytes += bytes_of(use.index) + bytes_of(use.touched) + bytes_of(use.starts) + bytes_of(use.positions) +
               bytes_of(use.examples);
    }
  }
  return bytes;
}

}  // namespace

void PlanCache::set_limit(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
  if (bytes > 0) return;
  std::vector<std::vector<KeyPlan>>().swap(plans_);
  bytes_ = 0;
}

bool PlanCache::take(int64_t batch, std::vector<KeyPlan>& plans) {
  std::lock_guard lock(mutex_);
  const size_t index = static_cast<size_t>(batch);
  if (index >= plans_.size() || plans_[index].empty()) return false;
  plans = std::exchange(plans_[index], {});
  bytes_ -= bytes_of_plans(plans);
  return true;
}

void PlanCache::give(int64_t batch, std::vector<KeyPlan>& plans) {
  std::lock_guard lock(mutex_);
  const uint64_t bytes = bytes_of_plans(plans);
  if (bytes_ + bytes > limit_) return;
  const size_t index = static_cast<size_t>(batch);
  if (index >= plans_.size()) plans_.resize(index + 1);
  plans_[index] = std::exchange(plans, {});
  bytes_ += bytes;
}

uint64_t PlanCache::memory_bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace ps
