#include "device/cuda/divided_group.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "device/cuda/divided_kernels.h"
#include "device/cuda/divided_places.h"
#include "device/cuda/staged_array.h"
#include "table/cuda/batch_launches.h"
#include "table/cuda/key_split.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

using device_table::run_threads;
using device_table::run_warps;

// Values that rows of one parameter take in a call at most.
uint64_t most_values(const CachedRowsOptions& options) {
  return rounded_values(options.most_keys * floats_of_row(options));
}

}  // namespace

uint64_t DividedGroup::bytes_at_place(const CachedRowsOptions& options) {
  constexpr uint64_t kOfKey = 2 * sizeof(uint64_t) + sizeof(uint8_t) + sizeof(uint32_t) + sizeof(IdleChange);
  return TableGroup::bytes_for(table_options(options)) + options.most_keys * kOfKey +
         most_values(options) * sizeof(float);
}

uint64_t DividedGroup::bytes_in_front(const CachedRowsOptions& options, size_t places) {
  constexpr uint64_t kOfKey = 3 * sizeof(uint64_t) + 2 * sizeof(uint8_t) + 3 * sizeof(uint32_t);
  constexpr uint64_t kOfGroup = sizeof(RowSection) + sizeof(uint32_t) + kLeftOutValues * sizeof(float);
  return options.most_keys * kOfKey + 2 * most_values(options) * sizeof(float) + places * kOfGroup +
         KeySplit::bytes_for(options.most_keys, places, 1);
}

DividedGroup::DividedGroup(std::vector<std::shared_ptr<gpu::Device>> devices, gpu::Stream* first) {
  PS_CHECK(!devices.empty());
  for (auto& device : devices) {
    places_.push_back(std::make_unique<DividedPlace>(std::move(device), places_.empty() ? first : nullptr));
  }
}

// Devices copy from each other, so all work ends before memory of any of them goes.
DividedGroup::~DividedGroup() {
  settle();
}

void DividedGroup::settle() noexcept {
  for (const auto& place : places_) {
    try {
      place->stream.synchronize();
    } catch (const Error&) {
      // The call that queued the work has failed already.
    }
  }
}

gpu::Stream& DividedGroup::stream(size_t place) {
  return places_[place]->stream;
}

// Places on one device have equal parts of what is free there.
uint64_t DividedGroup::least_free_bytes() const {
  uint64_t least = UINT64_MAX;
  for (const auto& place : places_) {
    const auto sharing = std::ranges::count_if(
        places_, [&](const auto& other) { return other->device.get() == place->device.get(); });
    least = std::min(least, place->device->memory().free_bytes / static_cast<uint64_t>(sharing));
  }
  return least;
}

// ---- members

// If a device has too little memory for the arrays with these rows, they leave again, and the arrays are built without
// them at the next call.
void DividedGroup::add(const CachedRows& rows, const CachedRowsOptions& options,
                       std::vector<DeviceTable*> tables) {
  members_.push_back(
      {&rows, std::move(tables), options, options.width, static_cast<uint32_t>(floats_of_row(options))});
  try {
    build();
  } catch (...) {
    remove(rows);
    throw;
  }
}

void DividedGroup::remove(const CachedRows& rows) noexcept {
  std::erase_if(members_, [&](const Member& member) { return member.rows == &rows; });
  settle();
  front_ = nullptr;
  for (const auto& place : places_) place->clear();
}

void DividedGroup::build() {
  front_ = nullptr;
  for (const auto& place : places_) place->clear();
  DividedSizes sizes;
  for (const Member& member : members_) {
    sizes.keys += member.options.most_keys;
    sizes.values += static_cast<int64_t>(most_values(member.options));
    ++sizes.tables;
  }
  for (size_t p = 0; p < places_.size(); ++p) {
    std::vector<DeviceTable*> tables;
    for (const Member& member : members_) tables.push_back(member.tables[p]);
    places_[p]->build(sizes, tables);
  }
  front_ = std::make_unique<DividedFront>(*places_[0]->device, sizes, std::ssize(places_));
  wait_for_all();
}

size_t DividedGroup::index_of(const CachedRows* rows) const {
  const auto found = std::ranges::find(members_, rows, &Member::rows);
  PS_CHECK(found != members_.end());
  return static_cast<size_t>(found - members_.begin());
}

void DividedGroup::set_step(const CachedRows* rows, uint64_t step) {
  for (DeviceTable* table : members_[index_of(rows)].tables) table->set_step(step);
}

// ---- the way to the owners

void DividedGroup::divide() {
  places_[0]->stream.synchronize();
  front_->split.finish();
}

// Gives each group its place among the values: those of an owner lie together, so that one copy moves them. scores:
// those of a step, by part, or none.
void DividedGroup::lay_out(std::span<const uint64_t> scores) {
  const KeySplit& split = front_->split;
  uint64_t ordered = 0;
  RowSection* section = front_->sections.host.data();
  value_begins_.clear();
  for (size_t p = 0; p < places_.size(); ++p) {
    value_begins_.push_back(ordered);
    for (size_t c = 0; c < called_.size(); ++c) {
      const int64_t begin = split.group_begin(p, c), size = split.group_begin(p, c + 1) - begin;
      float* const staged = front_->values.device.data() + given_[c];
      *section++ = {ordered,
                    there_[c] ? there_[c].from : staged,
                    there_[c] ? there_[c].to : staged,
                    scores.empty() ? 0 : scores[c],
                    static_cast<uint32_t>(begin),
                    begins_[c],
                    widths_[c]};
      ordered += rounded_values(static_cast<uint64_t>(size) * widths_[c]);
    }
  }
  value_begins_.push_back(ordered);
  send(places_[0]->stream, front_->sections, section - front_->sections.host.data());
}

// The same for rows that come for some keys of one table; they lie side by side.
void DividedGroup::lay_out_sources() {
  uint64_t sources = 0;
  RowSection* const sections = front_->sections.host.data();
  value_begins_.clear();
  for (size_t p = 0; p < places_.size(); ++p) {
    value_begins_.push_back(sources * widths_[0]);
    sections[p] = {value_begins_.back(),
                   nullptr,
                   nullptr,
                   0,
                   static_cast<uint32_t>(front_->split.owner_begin(p)),
                   0,
                   widths_[0]};
    sources = std::max<uint64_t>(sources, front_->source_ends.host.data()[p]);
  }
  value_begins_.push_back(sources * widths_[0]);
  send(places_[0]->stream, front_->sections, std::ssize(places_));
}

bool DividedGroup::is_on_first(size_t place) const {
  return places_[place]->device == places_[0]->device;
}

void DividedGroup::fetch_values(size_t place) {
  fetch(place, places_[place]->values, front_->ordered_values.data(), value_begins_[place],
        value_begins_[place + 1] - value_begins_[place]);
}

DeviceKeys DividedGroup::keys_at(size_t place, size_t call) const {
  const int64_t begin = front_->split.group_begin(place, call);
  const int64_t from = begin - front_->split.owner_begin(place);
  return {places_[place]->keys.data() + from, front_->split.group_begin(place, call + 1) - begin,
          places_[place]->scores.data() + from};
}

float* DividedGroup::values_at(size_t place, size_t call) const {
  const RowSection& section = front_->sections.host.data()[place * called_.size() + call];
  return places_[place]->values.data() + (section.ordered - value_begins_[place]);
}

// ---- the way back

// found, scores [keys] on the host <- those of all places, in the order of the call, after the first device has been
// waited for.
void DividedGroup::return_found() {
  DividedFront& front = *front_;
  for (size_t p = 0; p < places_.size(); ++p) {
    const auto begin = static_cast<uint64_t>(front.split.owner_begin(p));
    const auto size = static_cast<uint64_t>(front.split.owner_size(p));
    give_back(p, places_[p]->found, front.ordered_found.data(), begin, size);
    give_back(p, places_[p]->scores, front.ordered_scores.data(), begin, size);
  }
  if (front.size() == 0) return;
  gpu::Stream& stream = places_[0]->stream;
  const uint32_t* const positions = front.split.positions();
  run_threads(key_split::restore_values<uint8_t>, front.size(), stream, front.ordered_found.data(), positions,
              front.size(), front.found.device.data());
  run_threads(key_split::restore_values<uint64_t>, front.size(), stream, front.ordered_scores.data(),
              positions, front.size(), front.scores.device.data());
  receive(stream, front.found, front.size());
  receive(stream, front.scores, front.size());
}

void DividedGroup::wait_for_all() {
  for (const auto& place : places_) place->stream.synchronize();
}

// ---- calls

void DividedGroup::look_up(std::span<const RowsLookUp> look_ups) {
  begin(look_ups, &Member::width);
  divide();
  at_places([&](DividedPlace& place, size_t p, uint64_t, uint64_t) {
    std::vector<TableLookUp> calls(members_.size());
    for (size_t c = 0; c < called_.size(); ++c) {
      const DeviceKeys keys = keys_at(p, c);
      calls[called_[c]] = {keys, place.found.data() + (keys.keys - place.keys.data()),
                           place.scores.data() + (keys.keys - place.keys.data())};
    }
    place.group->look_up(place.stream, calls);
  });
  return_found();
  wait_for_all();
  for (size_t c = 0; c < called_.size(); ++c) {
    const size_t size = look_ups[c].keys.size();
    std::copy_n(front_->found.host.data() + begins_[c], size, look_ups[c].found);
    std::copy_n(front_->scores.host.data() + begins_[c], size, look_ups[c].stamps);
    keep_stamps(look_ups[c].stamps, size);
  }
}

void DividedGroup::look_up_rows(const RowsLookUp& look_up, float* rows) {
  begin(std::span(&look_up, 1), &Member::row_floats);
  divide();
  lay_out({});
  at_places([&](DividedPlace& place, size_t p, uint64_t, uint64_t size) {
    if (size == 0) return;
    members_[called_[0]].tables[p]->find_rows(place.stream, keys_at(p, 0),
                                              {place.found.data(), place.scores.data(), place.values.data()});
  });
  return_found();
  return_values();
  wait_for_all();
  std::copy_n(front_->found.host.data(), look_up.keys.size(), look_up.found);
  std::copy_n(front_->scores.host.data(), look_up.keys.size(), look_up.stamps);
  keep_stamps(look_up.stamps, look_up.keys.size());
  std::copy_n(front_->values.host.data(), look_up.keys.size() * widths_[0], rows);
}

// All places get all changes; a row has the number of its own.
void DividedGroup::advance(std::span<const RowsAdvance> advances) {
  begin(advances, &Member::width);
  std::vector<uint64_t> first_change = {0};
  for (size_t c = 0; c < called_.size(); ++c) {
    const RowsAdvance& advance = advances[c];
    PS_CHECK(advance.which.size() == advance.keys.size() && advance.changes.size() <= advance.keys.size());
    set_step(advance.rows, advance.stamp);
    std::ranges::copy(advance.which, front_->which.host.data() + begins_[c]);
    std::ranges::copy(advance.changes, front_->changes.data() + first_change.back());
    first_change.push_back(first_change.back() + advance.changes.size());
  }
  gpu::Stream& stream = places_[0]->stream;
  send(stream, front_->which, begins_.back());
  divide();
  if (front_->size() == 0) return;
  run_threads(key_split::order_values<uint32_t>, front_->size(), stream, front_->which.device.data(),
              front_->split.positions(), front_->size(), front_->ordered_which.data());
  at_places([&](DividedPlace& place, size_t p, uint64_t from, uint64_t size) {
    fetch(p, place.which, front_->ordered_which.data(), from, size);
    place.stream.copy_to_device(place.changes.data(), front_->changes.data(),
                                first_change.back() * sizeof(IdleChange));
    std::vector<TableAdvance> calls(members_.size());
    for (size_t c = 0; c < called_.size(); ++c) {
      const DeviceKeys keys = keys_at(p, c);
      calls[called_[c]] = {keys, place.which.data() + (keys.keys - place.keys.data()),
                           place.changes.data() + first_change[c],
                           score_of(advances[c].touched, advances[c].stamp)};
    }
    place.group->advance(place.stream, calls);
  });
  wait_for_all();
}

// Sends what belongs to the keys of a load.  Rows that come are numbered in the order of owners by a running sum over
// the keys that have one; the host gets the number of each owner's with the sizes of groups.
void DividedGroup::send_load(const RowsLoad& load) {
  DividedFront& front = *front_;
  gpu::Stream& stream = places_[0]->stream;
  const uint32_t size = front.size();
  for (size_t i = 0; i < load.stamps.size(); ++i)
    front.scores.host.data()[i] = score_of(load.touched, load.stamps[i]);
  std::ranges::copy(load.sources, front.which.host.data());
  std::ranges::copy(load.incoming, front.values.host.data());
  send(stream, front.scores, size);
  send(stream, front.which, size);
  send(stream, front.values, std::ssize(load.incoming));
  stream.fill(front.source_ends.device.data(), 0, front.source_ends.device.bytes());
  if (size > 0) {
    const uint32_t *const positions = front.split.positions(), *const sources = front.which.device.data();
    run_threads(mark_sources, size, stream, sources, positions, size, front.numbers.data());
    gpu::exclusive_scan(stream, front.workspace, front.numbers.data(), front.numbers.data(), size);
    run_threads(end_sources, size, stream, sources, positions, front.split.groups(), front.numbers.data(),
                size, front.source_ends.device.data());
  }
  receive(stream, front.source_ends, std::ssize(places_));
}

void DividedGroup::order_load() {
  DividedFront& front = *front_;
  const uint32_t size = front.size();
  if (size == 0) return;
  gpu::Stream& stream = places_[0]->stream;
  const uint32_t* const positions = front.split.positions();
  run_threads(key_split::order_values<uint64_t>, size, stream, front.scores.device.data(), positions, size,
              front.ordered_scores.data());
  run_warps(order_rows_that_come, size, stream, front.all_sections(places_.size()), positions, size,
            front.numbers.data(), front.which.device.data(), front.values.device.data(),
            front.ordered_which.data(), front.ordered_values.data());
}

void DividedGroup::load(const RowsLoad& load, std::span<LeavingRows> leaving, StampedRows& evicted) {
  PS_CHECK(load.sources.size() == load.keys.size() && load.stamps.size() == load.keys.size());
  begin(std::span(&load, 1), &Member::row_floats);
  PS_CHECK(load.incoming.size() <= load.keys.size() * widths_[0]);
  send_load(load);
  divide();
  lay_out_sources();
  order_load();
  set_step(load.rows, load.touched - 1);
  std::vector<LeavingThere> there;
  at_places([&](DividedPlace& place, size_t p, uint64_t from, uint64_t size) {
    fetch(p, place.scores, front_->ordered_scores.data(), from, size);
    fetch(p, place.which, front_->ordered_which.data(), from, size);
    fetch_values(p);
    DeviceTable& table = *members_[called_[0]].tables[p];
    table.load(place.stream, keys_at(p, 0), place.which.data(), place.values.data(), leaving[p].out());
    table.copy_counts(place.stream, *place.counts.data());
    there.push_back({&place.stream, &leaving[p]});
  });
  receive_rows(there, evicted);
  for (const auto& place : places_) PS_CHECK(place->counts.data()->refused == 0);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
