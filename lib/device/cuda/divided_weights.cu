// The calls of DividedGroup for a model, which reads weights and gives gradients, in memory of the host or of the first
// device.
#include <algorithm>
#include <iterator>
#include <variant>
#include <vector>

#include "base/error.h"
#include "device/cuda/divided_group.h"
#include "device/cuda/divided_kernels.h"
#include "device/cuda/divided_places.h"
#include "device/cuda/staged_array.h"
#include "table/cuda/batch_launches.h"
#include "table/cuda/key_split.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

using device_table::run_warps;

}  // namespace

// values [as given] on the host, and those in memory of the first device, <- those of all places, in the order
// of the call.
void DividedGroup::return_values() {
  DividedFront& front = *front_;
  for (size_t p = 0; p < places_.size(); ++p) {
    give_back(p, places_[p]->values, front.ordered_values.data(), value_begins_[p],
              value_begins_[p + 1] - value_begins_[p]);
  }
  if (front.size() == 0) return;
  gpu::Stream& stream = places_[0]->stream;
  run_warps(restore_weights, front.size(), stream, front.all_sections(places_.size() * called_.size()),
            front.split.positions(), front.size(), front.ordered_values.data());
  receive(stream, front.values, static_cast<int64_t>(given_.back()));
}

void DividedGroup::read(std::span<const RowsRead> reads) {
  for (const RowsRead& each : reads) PS_CHECK(each.pointers == nullptr);  // rows of other devices are copied
  begin(reads, &Member::width);
  divide();
  lay_out({});
  at_places([&](DividedPlace& place, size_t p, uint64_t, uint64_t) {
    std::vector<TableFind> calls(members_.size());
    for (size_t c = 0; c < called_.size(); ++c) {
      const DeviceKeys keys = keys_at(p, c);
      calls[called_[c]] = {keys, place.found.data() + (keys.keys - place.keys.data()), values_at(p, c)};
    }
    place.group->find(place.stream, calls);
  });
  return_values();
  wait_for_all();
  for (size_t c = 0; c < called_.size(); ++c) {
    if (there_[c]) continue;
    std::copy_n(front_->values.host.data() + given_[c], reads[c].keys.size() * widths_[c], reads[c].weights);
  }
}

// Sends the gradients of steps that are on the host, and puts all, with the scores that their rows get, into the order of
// owners.
void DividedGroup::order_steps(std::span<const RowsStep> steps) {
  DividedFront& front = *front_;
  std::vector<uint64_t> scores;
  for (size_t c = 0; c < steps.size(); ++c) {
    const RowsStep& step = steps[c];
    if (!there_[c])
      std::copy_n(step.gradients, step.keys.size() * widths_[c], front.values.host.data() + given_[c]);
    if (step.step.mean) front.changes.data()[c] = *step.step.mean;
    scores.push_back(score_of(step.stamp, step.stamp));
    set_step(step.rows, step.stamp);
  }
  gpu::Stream& stream = places_[0]->stream;
  send(stream, front.values, static_cast<int64_t>(given_.back()));
  divide();
  lay_out(scores);
  if (front.size() == 0) return;
  run_warps(order_gradients, front.size(), stream, front.all_sections(places_.size() * called_.size()),
            front.split.positions(), front.size(), front.ordered_values.data(), front.ordered_scores.data());
}

// A step without a rule and without a mean changes no row, so its rows are left out.
void DividedGroup::step(std::span<const RowsStep> given) {
  std::vector<RowsStep> steps;
  std::ranges::copy_if(given, std::back_inserter(steps), [](const RowsStep& step) {
    return !std::holds_alternative<std::monostate>(step.step.step) || step.step.mean;
  });
  begin(std::span<const RowsStep>(steps), &Member::width);
  order_steps(steps);
  at_places([&](DividedPlace& place, size_t p, uint64_t from, uint64_t size) {
    fetch(p, place.scores, front_->ordered_scores.data(), from, size);
    fetch_values(p);
    std::vector<TablePush> calls(members_.size());
    for (size_t c = 0; c < steps.size(); ++c) {
      calls[called_[c]] = {keys_at(p, c),  values_at(p, c),     steps[c].step.step,
                           steps[c].scale, steps[c].step.bound, {}};
    }
    place.group->push(place.stream, calls);
    add_to_means(place, p, steps);
    place.group->copy_counts(place.stream, place.counts.data());
  });
  wait_for_all();
  for (const auto& place : places_) {
    for (size_t t = 0; t < members_.size(); ++t) PS_CHECK(place->counts.data()[t].refused == 0);
  }
}

// Rows whose optimizer averages weights are advanced by the change that follows the step, which is the same for all rows
// of a parameter.
void DividedGroup::add_to_means(DividedPlace& place, size_t number, std::span<const RowsStep> steps) {
  std::vector<TableAdvance> calls(members_.size());
  bool any = false;
  for (size_t c = 0; c < steps.size(); ++c) {
    const DeviceKeys keys = keys_at(number, c);
    if (!steps[c].step.mean || keys.size == 0) continue;
    any = true;
    calls[called_[c]] = {keys, place.which.data() + (keys.keys - place.keys.data()), place.changes.data() + c,
                         score_of(steps[c].stamp, steps[c].stamp)};
  }
  if (!any) return;
  place.stream.fill(place.which.data(), 0,
                    static_cast<uint64_t>(front_->split.owner_size(number)) * sizeof(uint32_t));
  place.stream.copy_to_device(place.changes.data(), front_->changes.data(),
                              steps.size() * sizeof(IdleChange));
  place.group->advance(place.stream, calls);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
