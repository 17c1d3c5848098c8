#include "device/cuda/rows_group.h"

#include <algorithm>
#include <variant>

#include "base/error.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// Returns true if kernels can use the values in place: these are on the device and at a multiple of 16 bytes.
bool usable(const float* values, bool there) {
  return there && reinterpret_cast<uintptr_t>(values) % 16 == 0;
}

}  // namespace

uint64_t RowsGroup::bytes_for(const DeviceTableOptions& options) {
  constexpr uint64_t kOfKey = 2 * sizeof(uint64_t) + sizeof(uint8_t) + sizeof(uint32_t) + sizeof(IdleChange);
  return TableGroup::bytes_for(options) + options.max_batch * kOfKey +
         rounded_values(uint64_t{options.max_batch} * options.width) * sizeof(float);
}

// The group is built anew with each table.  If the device has too little memory for it, the table leaves
// again, and the group is built without it at the next call.
void RowsGroup::add(DeviceTable& table, const DeviceTableOptions& options) {
  members_.push_back({&table, options.max_batch, options.width});
  try {
    build();
  } catch (...) {
    remove(table);
    throw;
  }
}

void RowsGroup::remove(const DeviceTable& table) noexcept {
  std::erase_if(members_, [&](const Member& member) { return member.table == &table; });
  group_ = nullptr;
}

// Makes the group of all members.  The memory of the former group is released first, so that both never take
// memory at the same time.
void RowsGroup::build() {
  group_ = nullptr;
  keys_ = {}, scores_ = {}, values_ = {}, found_ = {}, which_ = {}, changes_ = {};
  uint64_t keys = 0, values = 0;
  std::vector<DeviceTable*> tables;
  for (const Member& member : members_) {
    keys += member.most_keys;
    values += rounded_values(uint64_t{member.most_keys} * member.width);
    tables.push_back(member.table);
  }
  gpu::Device& device = stream_.device();
  const auto most_keys = static_cast<int64_t>(keys);
  keys_ = StagedArray<uint64_t>(device, memory_, most_keys);
  scores_ = StagedArray<uint64_t>(device, memory_, most_keys);
  values_ = StagedArray<float>(device, memory_, static_cast<int64_t>(values));
  found_ = StagedArray<uint8_t>(device, memory_, most_keys);
  which_ = StagedArray<uint32_t>(device, memory_, most_keys);
  changes_ = StagedArray<IdleChange>(device, memory_, most_keys);
  counts_ = gpu::HostArray<DeviceTableCounts>(memory_, std::ssize(members_));
  group_ = std::make_unique<TableGroup>(device, stream_, tables);
  stream_.synchronize();
}

size_t RowsGroup::index_of(const DeviceTable* table) const {
  const auto found = std::ranges::find(members_, table, &Member::table);
  PS_CHECK(found != members_.end());
  return static_cast<size_t>(found - members_.begin());
}

DeviceKeys RowsGroup::stage_keys(const Place& place, std::span<const uint64_t> keys) {
  std::ranges::copy(keys, keys_.host.data() + place.keys);
  return {keys_.device.data() + place.keys, std::ssize(keys)};
}

// These move the place behind the keys of a table, and behind the values of so many keys.
void RowsGroup::pass_keys(Place& place, const Member& member, int64_t keys) {
  PS_CHECK(keys <= member.most_keys);
  place.keys += keys;
}

void RowsGroup::pass_values(Place& place, const Member& member, int64_t keys) {
  PS_CHECK(keys <= member.most_keys);
  place.values += static_cast<int64_t>(rounded_values(static_cast<uint64_t>(keys) * member.width));
}

// All functions below stage the keys of all tables one behind the other, send them together, run one kernel for
// all tables, and copy the results back.
void RowsGroup::look_up(std::span<const LookUp> look_ups) {
  if (group_ == nullptr) build();
  std::vector<TableLookUp> calls(members_.size());
  Place place;
  for (const LookUp& look_up : look_ups) {
    const size_t t = index_of(look_up.table);
    calls[t] = {stage_keys(place, look_up.keys), found_.device.data() + place.keys,
                scores_.device.data() + place.keys, look_up.pointers};
    pass_keys(place, members_[t], std::ssize(look_up.keys));
  }
  send(stream_, keys_, place.keys);
  group_->look_up(stream_, calls);
  receive(stream_, found_, place.keys);
  receive(stream_, scores_, place.keys);
  stream_.synchronize();
  place = {};
  for (const LookUp& look_up : look_ups) {
    std::copy_n(found_.host.data() + place.keys, look_up.keys.size(), look_up.found);
    std::copy_n(scores_.host.data() + place.keys, look_up.keys.size(), look_up.scores);
    pass_keys(place, members_[index_of(look_up.table)], std::ssize(look_up.keys));
  }
}

// The changes of all tables also follow one another, from position `changes` on; the numbers in `which`
// count from the first change of their own table.  There is room, since a table has at most as many changes
// as keys.
void RowsGroup::advance(std::span<const Advance> advances) {
  if (group_ == nullptr) build();
  std::vector<TableAdvance> calls(members_.size());
  Place place;
  int64_t changes = 0;
  for (const Advance& advance : advances) {
    const size_t t = index_of(advance.table);
    std::ranges::copy(advance.which, which_.host.data() + place.keys);
    std::ranges::copy(advance.changes, changes_.host.data() + changes);
    calls[t] = {stage_keys(place, advance.keys), which_.device.data() + place.keys,
                changes_.device.data() + changes, advance.score};
    changes += std::ssize(advance.changes);
    pass_keys(place, members_[t], std::ssize(advance.keys));
  }
  send(stream_, keys_, place.keys);
  send(stream_, which_, place.keys);
  send(stream_, changes_, changes);
  group_->advance(stream_, calls);
  stream_.synchronize();
}

// Weights that kernels can write in place go straight to the caller's memory of the device.  All others pass
// through the staged array: from there they are copied to the caller's memory, on the device or on the host.  Reads of pointers
// have no weights, so nothing is staged or copied for them.
void RowsGroup::read(std::span<const Read> reads) {
  if (group_ == nullptr) build();
  std::vector<TableFind> calls(members_.size());
  Place place;
  bool to_host = false;
  for (const Read& read : reads) {
    const size_t t = index_of(read.table);
    const bool staged = !usable(read.weights, read.there);
    to_host = to_host || !read.there;
    calls[t] = {stage_keys(place, read.keys), found_.device.data() + place.keys,
                staged ? values_.device.data() + place.values : read.weights, read.pointers};
    pass_keys(place, members_[t], std::ssize(read.keys));
    if (staged) pass_values(place, members_[t], std::ssize(read.keys));
  }
  send(stream_, keys_, place.keys);
  group_->find(stream_, calls);
  if (to_host) receive(stream_, values_, place.values);
  for (const Read& read : reads) {
    const float* const from = calls[index_of(read.table)].weights;
    const uint64_t bytes = read.keys.size() * members_[index_of(read.table)].width * sizeof(float);
    if (read.there && from != read.weights) stream_.copy_on_device(read.weights, from, bytes);
  }
  stream_.synchronize();
  place = {};
  for (const Read& read : reads) {
    const Member& member = members_[index_of(read.table)];
    if (!read.there) {
      std::copy_n(values_.host.data() + place.values, read.keys.size() * member.width, read.weights);
    }
    if (!usable(read.weights, read.there)) pass_values(place, member, std::ssize(read.keys));
  }
}

// Rows whose optimizer averages weights are advanced by the change that follows the step.
void RowsGroup::add_to_means(std::span<const Step> steps, std::span<const DeviceKeys> stepped) {
  std::vector<TableAdvance> calls(members_.size());
  int64_t keys = 0, changes = 0;
  for (const Step& step : steps) {
    const size_t t = index_of(step.table);
    if (!step.step.mean || stepped[t].size == 0) continue;
    // A table has one change, number 0, for all of its keys, which are on the device since the step.
    std::fill_n(which_.host.data() + keys, stepped[t].size, 0);
    changes_.host.data()[changes] = *step.step.mean;
    calls[t] = {stepped[t], which_.device.data() + keys, changes_.device.data() + changes, step.score};
    keys += stepped[t].size;
    ++changes;
  }
  if (changes == 0) return;
  send(stream_, which_, keys);
  send(stream_, changes_, changes);
  group_->advance(stream_, calls);
}

// Gradients on the device are used in place if kernels can read them there, and else are copied to the staged
// array on the device.  Gradients on the host are sent through the staged array.
// The order is: stage keys, scores and gradients of all tables on the host, send each of these arrays in
// one copy, and only then copy the gradients that were on the device to their places among them, which the
// copy from the host would overwrite.  A step without a rule and without a mean changes no row, so its
// table is left out.  Rows to which there are pointers are stepped in a call of their own, which reads no keys: only a
// mean does then, and nothing reads scores, which therefore have places of their own.
void RowsGroup::step(std::span<const Step> steps) {
  if (group_ == nullptr) build();
  std::vector<TablePush> calls(members_.size());
  std::vector<TableStep> pointed(members_.size());
  std::vector<DeviceKeys> stepped(members_.size());
  // By table: staged copy of gradients on the device that kernels cannot use in place, or null.
  std::vector<float*> copied(members_.size());
  Place place;
  int64_t scores = 0;
  bool from_host = false;
  for (const Step& step : steps) {
    if (std::holds_alternative<std::monostate>(step.step.step) && !step.step.mean) continue;
    const size_t t = index_of(step.table);
    const int64_t size = std::ssize(step.keys);
    const bool staged = !usable(step.gradients, step.there);
    float* const values = values_.device.data() + place.values;
    if (staged && step.there) copied[t] = values;
    if (!step.there) {
      from_host = true;
      std::copy_n(step.gradients, step.keys.size() * members_[t].width, values_.host.data() + place.values);
    }
    const float* const gradients = staged ? values : step.gradients;
    if (step.pointers == nullptr || step.step.mean) {
      stepped[t] = stage_keys(place, step.keys);
      pass_keys(place, members_[t], size);
    }
    if (staged) pass_values(place, members_[t], size);
    if (step.pointers != nullptr) {
      pointed[t] = {step.pointers, size, step.score, gradients, step.step.step, step.scale, step.step.bound};
      continue;
    }
    std::fill_n(scores_.host.data() + scores, size, step.score);
    stepped[t].scores = scores_.device.data() + scores;
    scores += size;
    calls[t] = {stepped[t], gradients, step.step.step, step.scale, step.step.bound, {}};
  }
  send(stream_, keys_, place.keys);
  send(stream_, scores_, scores);
  if (from_host) send(stream_, values_, place.values);
  for (const Step& step : steps) {
    const size_t t = index_of(step.table);
    if (copied[t] == nullptr) continue;
    stream_.copy_on_device(copied[t], step.gradients, step.keys.size() * members_[t].width * sizeof(float));
  }
  group_->push(stream_, calls);
  group_->step(stream_, pointed);
  add_to_means(steps, stepped);
  group_->copy_counts(stream_, counts_.data());
  stream_.synchronize();
  for (size_t t = 0; t < members_.size(); ++t) PS_CHECK(counts_.data()[t].refused == 0);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
