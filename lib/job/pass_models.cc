#include "job/pass_models.h"

#include "base/error.h"

namespace ps {

bool PassModels::is_begun(const std::string& name) const {
  const auto found = models_.find(name);
  return found != models_.end() && found->second == kBegun;
}

void PassModels::check() const {
  size_t num_failed = 0;
  std::string first;
  for (const auto& [name, why] : models_) {
    if (!why.empty() && num_failed++ == 0) first = cat(name, ": ", why);
  }
  if (num_failed == 0) return;
  fail(Code::kUnavailable, num_failed, " of ", models_.size(),
       " models could not be saved; the first: ", first);
}

}  // namespace ps
