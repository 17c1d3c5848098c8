#include "ps/server/gathered.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/wire/gather.h"

namespace ps {

Gathered::Gathered(std::vector<std::string> all)
    : all_(std::move(all)), sizes_(encode_gathered_sizes(all_)) {}

Payload Gathered::beginning() const {
  Payload payload;
  payload.parts.emplace_back(sizes_.data(), sizes_.size());
  append(0, payload);
  return payload;
}

Payload Gathered::slice(uint64_t first) const {
  Payload payload;
  append(first, payload);
  if (payload.parts.empty()) fail(Code::kData, "gathered: there are no bytes from ", first, " on");
  return payload;
}

// Appends up to kGatherSliceBytes from `first` on; what the ranks gave counts as one string.
void Gathered::append(uint64_t first, Payload& out) const {
  uint64_t left = kGatherSliceBytes;
  for (const std::string& bytes : all_) {
    if (first >= bytes.size()) {
      first -= bytes.size();
      continue;
    }
    const uint64_t count = std::min<uint64_t>(bytes.size() - first, left);
    out.parts.emplace_back(bytes.data() + first, count);
    if ((left -= count) == 0) break;
    first = 0;
  }
  out.keep = shared_from_this();
}

}  // namespace ps
