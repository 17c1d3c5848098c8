// The part of Network that prepares batches: plans and samples.
#include <algorithm>

#include "base/error.h"
#include "base/reals.h"
#include "base/text.h"
#include "model/network_impl.h"

namespace ps {

template <class T>
void Network<T>::Impl::draw_samples(PreparedBatch& prepared) const {
  prepared.samples.resize(wiring_.lookups.size());
  for (size_t u = 0; u < wiring_.lookups.size(); ++u) {
    const Lookup& lookup = wiring_.lookups[u];
    if (lookup.slot || lookup.samples != u) continue;
    const NodeState<T>& node = nodes_[lookup.node];
    const Random random(layer_seed(node.seed, prepared.step), kSampleStream);
    node.layer->sample_keys(prepared.batch, prepared.training, random, prepared.samples[u]);
  }
}

template <class T>
std::vector<KeyList> Network<T>::Impl::key_lists(size_t parameter, const PreparedBatch& prepared) const {
  std::vector<KeyList> lists;
  for (int use : wiring_.lookups_of[parameter]) lists.push_back(key_list(use, prepared));
  return lists;
}

template <class T>
void Network<T>::Impl::prepare(Planners& planners, PreparedBatch& prepared) const {
  draw_samples(prepared);
  prepared.plans.resize(wiring_.parameters.size());
  for (size_t p = 0; p < wiring_.parameters.size(); ++p) {
    if (wiring_.parameters[p].kind != ParameterKind::kRows) continue;
    const std::vector<KeyList> lists = key_lists(p, prepared);
    KeyPlan& plan = prepared.plans[p];
    if (const std::optional<size_t> like = wiring_.same_ids_as(p)) {
      planners[p].plan_like(prepared.plans[*like], lists, plan);
    } else {
      planners[p].plan(lists, plan);
    }
    if (prepared.training && wiring_.parameters[p].row_policy) count_keys(prepared.batch.labels, plan);
  }
}

template <class T>
void Network<T>::Impl::adopt_received(Planners& planners, PreparedBatch& prepared) const {
  check_batch(prepared.batch, schema_);
  for (float label : prepared.batch.labels) check_label(label);
  draw_samples(prepared);
  if (prepared.plans.size() != wiring_.parameters.size()) {
    fail(Code::kData, "a prepared batch has ", prepared.plans.size(), " plans, and the network ",
         wiring_.parameters.size(), " parameters");
  }
  for (size_t p = 0; p < wiring_.parameters.size(); ++p) {
    const ParameterSpec& spec = wiring_.parameters[p];
    KeyPlan& plan = prepared.plans[p];
    try {
      const bool rows = spec.kind == ParameterKind::kRows;
      planners[p].complete(rows ? key_lists(p, prepared) : std::vector<KeyList>(), plan);
    } catch (const Error& error) {
      throw error.within(cat("plan of ", quote(spec.name)));
    }
    plan.counts.clear();
    if (prepared.training && spec.row_policy) count_keys(prepared.batch.labels, plan);
  }
}

template <class T>
bool Network<T>::Impl::plans_repeat() const {
  return std::all_of(wiring_.lookups.begin(), wiring_.lookups.end(),
                     [](const Lookup& lookup) { return lookup.slot.has_value(); });
}

template <class T>
void Network<T>::Impl::adopt_plans(PreparedBatch& prepared) const {
  prepared.samples.resize(wiring_.lookups.size());
  for (size_t p = 0; p < wiring_.parameters.size(); ++p) {
    if (wiring_.parameters[p].kind != ParameterKind::kRows) continue;
    for (size_t u = 0; u < wiring_.lookups_of[p].size(); ++u) {
      prepared.plans[p].uses[u].offsets = key_list(wiring_.lookups_of[p][u], prepared).offsets;
    }
  }
}

template <class T>
KeyList Network<T>::Impl::key_list(int use, const PreparedBatch& prepared) const {
  const Lookup& lookup = wiring_.lookups[static_cast<size_t>(use)];
  const bool transposed = prepared.training && (lookup.transposed || for_devices_);
  if (lookup.slot) {
    const SlotData& slot = prepared.batch.slots[*lookup.slot];
    return {slot.offsets, slot.keys, transposed};
  }
  const SampledKeys& samples = prepared.samples[lookup.samples];
  return {samples.offsets, samples.keys, transposed};
}

#define PS_INSTANTIATE(T)                                                          \
  template void Network<T>::Impl::prepare(Planners&, PreparedBatch&) const;        \
  template void Network<T>::Impl::adopt_received(Planners&, PreparedBatch&) const; \
  template bool Network<T>::Impl::plans_repeat() const;                            \
  template void Network<T>::Impl::adopt_plans(PreparedBatch&) const;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
