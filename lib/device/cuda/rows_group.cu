#include "device/cuda/rows_group.h"

#include <algorithm>
#include <variant>

#include "base/error.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

// The values of each table begin at multiples of 16 bytes, so that they are read 16 bytes at a time.
constexpr uint64_t rounded_values(uint64_t values) {
  return (values + 3) / 4 * 4;
}

}  // namespace

uint64_t RowsGroup::bytes_for(const DeviceTableOptions& options) {
  constexpr uint64_t kOfKey = 2 * sizeof(uint64_t) + sizeof(uint8_t);
  return TableGroup::bytes_for(options) + options.max_batch * kOfKey +
         rounded_values(uint64_t{options.max_batch} * options.width) * sizeof(float);
}

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

// The memory of the group before this one is released first, so that both never take memory together.
void RowsGroup::build() {
  group_ = nullptr;
  keys_ = {}, scores_ = {}, values_ = {}, found_ = {};
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
  found_ = gpu::DeviceArray<uint8_t>(device, most_keys);
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
  return {keys_.device.data() + place.keys, std::ssize(keys), scores_.device.data() + place.keys};
}

void RowsGroup::pass(Place& place, const Member& member, size_t keys) {
  PS_CHECK(keys <= member.most_keys);
  place.keys += static_cast<int64_t>(keys);
  place.values += static_cast<int64_t>(rounded_values(uint64_t{keys} * member.width));
}

void RowsGroup::read(std::span<const Read> reads) {
  if (group_ == nullptr) build();
  std::vector<TableFind> calls(members_.size());
  Place place;
  for (const Read& read : reads) {
    const size_t t = index_of(read.table);
    const Place before = place;
    pass(place, members_[t], read.keys.size());
    calls[t] = {stage_keys(before, read.keys), found_.data() + before.keys,
                values_.device.data() + before.values};
  }
  stream_.copy_to_device(keys_.device.data(), keys_.host.data(),
                         static_cast<uint64_t>(place.keys) * sizeof(uint64_t));
  group_->find(stream_, calls);
  stream_.copy_to_host(values_.host.data(), values_.device.data(),
                       static_cast<uint64_t>(place.values) * sizeof(float));
  stream_.synchronize();
  place = {};
  for (const Read& read : reads) {
    const Member& member = members_[index_of(read.table)];
    std::copy_n(values_.host.data() + place.values, read.keys.size() * member.width, read.weights);
    pass(place, member, read.keys.size());
  }
}

void RowsGroup::step(std::span<const Step> steps) {
  if (group_ == nullptr) build();
  std::vector<TablePush> calls(members_.size());
  Place place;
  for (const Step& step : steps) {
    if (std::holds_alternative<std::monostate>(step.step.step)) continue;
    const size_t t = index_of(step.table);
    const Place before = place;
    pass(place, members_[t], step.keys.size());
    std::fill_n(scores_.host.data() + before.keys, step.keys.size(), step.score);
    std::copy_n(step.gradients, step.keys.size() * members_[t].width, values_.host.data() + before.values);
    calls[t] = {stage_keys(before, step.keys),
                values_.device.data() + before.values,
                step.step.step,
                step.scale,
                step.step.bound,
                {}};
  }
  const uint64_t key_bytes = static_cast<uint64_t>(place.keys) * sizeof(uint64_t);
  stream_.copy_to_device(keys_.device.data(), keys_.host.data(), key_bytes);
  stream_.copy_to_device(scores_.device.data(), scores_.host.data(), key_bytes);
  stream_.copy_to_device(values_.device.data(), values_.host.data(),
                         static_cast<uint64_t>(place.values) * sizeof(float));
  group_->push(stream_, calls);
  group_->copy_counts(stream_, counts_.data());
  stream_.synchronize();
  for (size_t t = 0; t < members_.size(); ++t) PS_CHECK(counts_.data()[t].refused == 0);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
