#include "model/own_labels.h"

#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/labels.h"

namespace ps {

namespace {

std::vector<std::string> slot_names(const DataSchema& schema) {
  std::vector<std::string> names;
  for (const SlotSchema& slot : schema.slots) names.push_back(slot.name);
  return names;
}

}  // namespace

OwnLabels::OwnLabels(const std::string& name, const DataSchema& schema) : name_(name) {
  const int found = schema.find(name);
  if (found < 0) {
    fail(Code::kUsage, "label: the data have no slot ", quote(name), did_you_mean(name, slot_names(schema)),
         " (data.csv.labels makes one of each column that it names)");
  }
  slot_ = static_cast<size_t>(found);
  const SlotSchema& slot = schema.slots[slot_];
  if (slot.dense && slot.dim != 1)
    fail(Code::kUsage, "label: slot ", quote(name), " has ", slot.dim, " values, and a label is one");
  kind_ = slot.dense ? Kind::kDense : slot.dim == 1 ? Kind::kValue : Kind::kId;
}

std::optional<float> OwnLabels::label(const Batch& batch, int64_t example) const {
  const SlotData& slot = batch.slots[slot_];
  const auto b = static_cast<size_t>(example);
  if (kind_ == Kind::kDense) return slot.values[b];
  const size_t begin = slot.offsets[b], ids = slot.offsets[b + 1] - begin;
  if (ids == 0) return std::nullopt;
  if (ids > 1) {
    fail(Code::kData, "example ", example, " has ", ids, " labels in slot ", quote(name_), ": expected one");
  }
  if (kind_ == Kind::kValue) return slot.valued() ? slot.values[begin] : 1.0F;
  if (slot.keys[begin] < static_cast<Key>(kMaxClasses)) return static_cast<float>(slot.keys[begin]);
  fail(Code::kData, "label ", slot.keys[begin], " of slot ", quote(name_), " is no class below ",
       kMaxClasses);
}

// If the batch has no weights or groups, `out` has none either until the first example without a label
// needs them; then all others get the weight 1 and the group 0, which an empty array stands for.  The group
// of an example without a label is a hash of its position, so that it meets no other example in a ranking.
void OwnLabels::for_cost(const Batch& batch, Batch& out) const {
  out.labels.assign(batch.labels.size(), 0.0F);
  out.weights = batch.weights;
  out.groups = batch.groups;
  for (int64_t b = 0; b < batch.size(); ++b) {
    const auto at = static_cast<size_t>(b);
    if (const std::optional<float> found = label(batch, b)) {
      out.labels[at] = *found;
      continue;
    }
    out.weights.resize(out.labels.size(), 1.0F);
    out.groups.resize(out.labels.size(), 0);
    out.weights[at] = 0;
    out.groups[at] = hash_key(~static_cast<uint64_t>(b));
  }
}

}  // namespace ps
