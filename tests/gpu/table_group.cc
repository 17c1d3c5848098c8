// TableGroup gives what its tables give one by one, and what the CPU gives, bit for bit: weights, evicted rows and counts,
// over many numbers of tables, widths, optimizers and keys.
#include "table/cuda/table_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "gpu/device_data.h"
#include "merged_gradients.h"
#include "optim/step_kernels.h"
#include "support/bits.h"
#include "test_device.h"

namespace ps {

namespace {

constexpr float kNoBound = std::numeric_limits<float>::infinity();
constexpr Decay<float> kDecay = {0.001f, 0.0005f, 0.002f};
constexpr uint32_t kMostKeys = 300;

AnyStep<float> draw_step(Random& random) {
  const AnyStep<float> steps[] = {
      SgdStep<float>{0.1f, kDecay},
      MomentumStep<float, false>{0.9f, 0.1f, 0.01f, 0.002f, 0.001f},
      MomentumStep<float, true>{0.9f, 0.1f, 0.01f, 0.002f, 0.001f},
      AdagradStep<float>{0.1f, 1e-6f, kDecay},
      AdagradStep<float>{0.2f, 1e-6f, kDecay},
      DecayedAdagradStep<float>{0.1f, 1e-6f, 0.95f, 0.05f, kDecay},
      AdadeltaStep<float>{1.0f, 1e-6f, 0.95f, 0.05f, kDecay},
      RmspropStep<float>{0.01f, 1e-6f, 0.95f, 0.05f, kDecay},
      AdamStep<float>{0.01f, 5.0f, 1e-8f, 0.9f, 0.1f, 0.999f, 0.001f, kDecay},
      AdamaxStep<float>{0.01f, 1e-8f, 0.9f, 0.1f, 0.999f, kDecay},
  };
  return steps[random.below(std::size(steps))];
}

// The state arrays of a row; 0 without a step.
uint32_t arrays_of(const AnyStep<float>& any) {
  return std::visit(
      [](const auto& step) {
        using Step = std::remove_cvref_t<decltype(step)>;
        if constexpr (std::is_same_v<Step, std::monostate>)
          return 0u;
        else
          return static_cast<uint32_t>(Step::kArrays);
      },
      any);
}

// Pushes to rows on the CPU, as to those of a table that has room for all.
class CpuRows {
 public:
  explicit CpuRows(const DeviceTableOptions& options) : options_(options), width_(options.width) {}

  const std::vector<float>& row(uint64_t key) {
    auto [found, is_new] = rows_.try_emplace(key);
    if (is_new) {
      found->second.assign(width_ * (1 + options_.arrays), 0.0f);
      options_.initializer.fill(key, std::span(found->second).first(width_), best_cpu_level());
    }
    return found->second;
  }

  void push(std::span<const uint64_t> keys, const float* gradients, const AnyStep<float>& step, float scale,
            float bound) {
    const int64_t width = static_cast<int64_t>(width_);
    for (const auto& [key, sum] : merged_gradients(keys, gradients, width_)) {
      row(key);
      float* const weights = rows_.at(key).data();
      const float* const total = sum.data();
      const auto apply = [&](const auto& constants) {
        using Step = std::remove_cvref_t<decltype(constants)>;
        if constexpr (!std::is_same_v<Step, std::monostate>) {
          step_kernels<Step>(best_cpu_level())
              .row(constants, {weights, weights + width, width, width, total, scale, bound});
        }
      };
      std::visit(apply, step);
    }
  }

 private:
  const DeviceTableOptions options_;
  const size_t width_;
  std::map<uint64_t, std::vector<float>> rows_;
};

// Memory for evicted rows, and what came there.
struct Evicted {
  Evicted(gpu::Device& device, uint32_t row_floats)
      : keys(device, kMostKeys),
        scores(device, kMostKeys),
        rows(device, int64_t{kMostKeys} * row_floats),
        count(device, 1),
        floats(row_floats) {}

  RowsOut out() const { return {keys.data(), scores.data(), rows.data(), count.data()}; }

  bool operator==(const Evicted&) const = delete;
  void take(gpu::Stream& stream, std::vector<uint64_t>& words, std::vector<float>& values) const {
    const uint32_t number = download(stream, count)[0];
    ASSERT_LE(number, kMostKeys);
    std::vector<uint64_t> all_keys = download(stream, keys), all_scores = download(stream, scores);
    std::vector<float> all_rows = download(stream, rows);
    words.assign(all_keys.begin(), all_keys.begin() + number);
    words.insert(words.end(), all_scores.begin(), all_scores.begin() + number);
    values.assign(all_rows.begin(), all_rows.begin() + int64_t{number} * floats);
  }

  gpu::DeviceArray<uint64_t> keys, scores;
  gpu::DeviceArray<float> rows;
  gpu::DeviceArray<uint32_t> count;
  uint32_t floats;
};

// One table of a group, its twin, which is called alone, and the keys and values of a call.
struct Member {
  Member(gpu::Device& device, gpu::Stream& stream, const DeviceTableOptions& given,
         const AnyStep<float>& rule)
      : options(given),
        step(rule),
        grouped(device, stream, given),
        alone(device, stream, given),
        cpu(given),
        evicted(device, grouped.row_floats()),
        evicted_alone(device, grouped.row_floats()) {}

  DeviceKeys on_device() const { return {device_keys.data(), device_keys.size(), device_scores.data()}; }
  bool evicts() const { return options.rows < 1000; }

  const DeviceTableOptions options;
  AnyStep<float> step;
  DeviceTable grouped, alone;
  CpuRows cpu;
  Evicted evicted, evicted_alone;
  float scale = 1, bound = kNoBound;

  std::vector<uint64_t> keys, scores;
  std::vector<float> gradients;
  gpu::DeviceArray<uint64_t> device_keys, device_scores;
  gpu::DeviceArray<float> device_gradients, weights, weights_alone;
  gpu::DeviceArray<uint8_t> found, found_alone;
};

DeviceTableOptions draw_table(Random& random, uint32_t width, const AnyStep<float>& step) {
  DeviceTableOptions options;
  options.width = width;
  options.arrays = arrays_of(step);
  options.rows = random.below(2) == 0 ? 32 * (1 + random.below(3)) : 4000;
  options.max_batch = kMostKeys;
  options.score = static_cast<EvictionScore>(random.below(3));
  options.initializer = {static_cast<Distribution>(random.below(4)), 0.25, 0.5, random.next64()};
  const bool halves = options.rows < 1000 && random.below(3) == 0;
  options.rounding.type = halves ? ValueType::kBf16 : ValueType::kF32;
  return options;
}

// A schedule of calls of a group, each made table by table too.
class GroupTest {
 public:
  GroupTest(uint64_t seed, const std::vector<uint32_t>& widths)
      : random_(seed, 11), device_(test_device::disorderly(seed)), stream_(device_) {
    std::vector<DeviceTable*> tables;
    for (uint32_t width : widths) {
      const AnyStep<float> step = draw_step(random_);
      members_.push_back(std::make_unique<Member>(device_, stream_, draw_table(random_, width, step), step));
      tables.push_back(&members_.back()->grouped);
    }
    group_ = std::make_unique<TableGroup>(device_, stream_, tables);
    stream_.synchronize();
  }

  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (auto& member : members_) draw_call(*member);
      ASSERT_NO_FATAL_FAILURE(push());
      ASSERT_NO_FATAL_FAILURE(compare_evicted());
      ASSERT_NO_FATAL_FAILURE(pull());
      ASSERT_NO_FATAL_FAILURE(compare_evicted());
      ASSERT_NO_FATAL_FAILURE(find());
      ASSERT_NO_FATAL_FAILURE(step());
      ASSERT_NO_FATAL_FAILURE(compare_counts());
    }
  }

 private:
  void draw_call(Member& member) {
    const uint64_t kind = random_.below(8), distinct = 1 + random_.below(400);
    const size_t size = kind < 2 ? 0 : kind == 7 ? 1 + random_.below(kMostKeys) : 1 + random_.below(60);
    member.keys.resize(size);
    for (uint64_t& key : member.keys) {
      const uint64_t n = random_.below(kind == 7 ? 2 : distinct);
      key = n == 0 ? 0 : n == 1 ? ~uint64_t{0} : n * 0x9e3779b97f4a7c15u;
    }
    member.scores.resize(size);
    for (uint64_t& score : member.scores) score = random_.below(5);
    member.gradients.resize(size * member.options.width);
    for (float& g : member.gradients) g = static_cast<float>(random_.normal());
    member.scale = random_.below(2) == 0 ? 1.0f : 0.125f;
    member.bound = random_.below(2) == 0 ? kNoBound : 0.5f;
    member.device_keys = upload(stream_, member.keys);
    member.device_scores = upload(stream_, member.scores);
    member.device_gradients = upload(stream_, member.gradients);
    for (auto* weights : {&member.weights, &member.weights_alone})
      *weights = filled<float>(stream_, member.device_gradients.size(), 0xee);
    for (auto* found : {&member.found, &member.found_alone})
      *found = filled<uint8_t>(stream_, static_cast<int64_t>(size), 0xee);
  }

  void push() {
    std::vector<TablePush> calls;
    for (const auto& member : members_) {
      const bool skips = random_.below(8) == 0;
      calls.push_back({member->on_device(), member->device_gradients.data(),
                       skips ? AnyStep<float>() : member->step, member->scale, member->bound,
                       member->evicted.out()});
    }
    group_->push(stream_, calls);
    for (size_t t = 0; t < calls.size(); ++t) push_alone(*members_[t], calls[t]);
  }

  void push_alone(Member& member, const TablePush& call) {
    if (call.step.index() == 0) return stream_.fill(member.evicted_alone.count.data(), 0, sizeof(uint32_t));
    const auto push = [&](const auto& step) {
      if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(step)>, std::monostate>) {
        member.alone.push(stream_, call.keys, call.gradients, step, call.scale, call.bound,
                          member.evicted_alone.out());
      }
    };
    std::visit(push, call.step);
    if (!member.evicts())
      member.cpu.push(member.keys, member.gradients.data(), call.step, call.scale, call.bound);
  }

  void pull() {
    std::vector<TablePull> calls;
    for (const auto& member : members_)
      calls.push_back({member->on_device(), member->weights.data(), member->evicted.out()});
    group_->pull(stream_, calls);
    for (const auto& member : members_)
      member->alone.pull(stream_, member->on_device(), member->weights_alone.data(),
                         member->evicted_alone.out());
    ASSERT_NO_FATAL_FAILURE(compare_weights());
    for (const auto& member : members_) {
      if (member->evicts()) continue;
      std::vector<float> expected;
      for (uint64_t key : member->keys) {
        const std::vector<float>& row = member->cpu.row(key);
        expected.insert(expected.end(), row.begin(), row.begin() + member->options.width);
      }
      ASSERT_EQ(bits_of(download(stream_, member->weights)), bits_of(expected));
    }
  }

  // Half of the tables of floats give pointers to their rows instead.
  void find() {
    std::vector<TableFind> calls;
    std::vector<gpu::DeviceArray<float*>> pointers;
    for (const auto& member : members_) {
      calls.push_back({member->on_device(), member->found.data(), member->weights.data()});
      pointers.push_back(filled<float*>(stream_, calls.back().keys.size, 0xee));
      if (member->options.rounding.type == ValueType::kF32 && random_.below(2) == 0)
        calls.back() = {member->on_device(), member->found.data(), nullptr, pointers.back().data()};
    }
    group_->find(stream_, calls);
    for (size_t t = 0; t < calls.size(); ++t) {
      if (calls[t].row_pointers != nullptr) copy_pointed(*members_[t], download(stream_, pointers[t]));
    }
    for (const auto& member : members_)
      member->alone.find(stream_, member->on_device(), member->found_alone.data(),
                         member->weights_alone.data());
    ASSERT_NO_FATAL_FAILURE(compare_weights());
    for (const auto& member : members_)
      ASSERT_EQ(download(stream_, member->found), download(stream_, member->found_alone));
  }

  // Keeps of the keys of the last call those that have rows, each once, if such a table can be stepped by pointers.
  void keep_present(Member& member) {
    const std::vector<uint8_t> found = download(stream_, member.found);
    const std::vector<uint64_t> keys = std::exchange(member.keys, {});
    if (member.options.score == EvictionScore::kGiven && member.options.rounding.type == ValueType::kF32) {
      std::set<uint64_t> kept;
      for (size_t i = 0; i < keys.size(); ++i) {
        if (found[i] != 0 && kept.insert(keys[i]).second) member.keys.push_back(keys[i]);
      }
    }
    member.scores.assign(member.keys.size(), 3);
    member.device_keys = upload(stream_, member.keys);
    member.device_scores = upload(stream_, member.scores);
    stream_.synchronize();
  }

  // Steps rows to which the group gives pointers, and their twins by keys.  Some gradients begin where no four floats do.
  void step() {
    std::vector<TableFind> finds;
    std::vector<gpu::DeviceArray<float*>> pointers;
    std::vector<TableStep> steps;
    for (const auto& member : members_) {
      keep_present(*member);
      const int64_t size = std::ssize(member->keys);
      pointers.push_back(filled<float*>(stream_, size, 0xee));
      finds.push_back({member->on_device(), member->found.data(), nullptr, pointers.back().data()});
      if (finds.back().keys.size == 0) finds.back().row_pointers = nullptr;
      const bool odd =
          member->keys.size() * member->options.width < member->gradients.size() && random_.below(2) == 0;
      if (odd) member->gradients.erase(member->gradients.begin());
      steps.push_back({pointers.back().data(), size, 3, member->device_gradients.data() + odd,
                       random_.below(8) == 0 ? AnyStep<float>() : member->step, member->scale,
                       member->bound});
    }
    find_pointers(finds);
    group_->step(stream_, steps);
    for (size_t t = 0; t < steps.size(); ++t) {
      if (steps[t].size == 0) continue;
      push_alone(*members_[t], {members_[t]->on_device(), steps[t].gradients, steps[t].step, steps[t].scale,
                                steps[t].bound, members_[t]->evicted_alone.out()});
      ASSERT_EQ(scores_of(*members_[t], members_[t]->grouped), scores_of(*members_[t], members_[t]->alone));
      if (steps[t].step.index() != 0) rows_stepped += members_[t]->keys.size();
    }
    ASSERT_NO_FATAL_FAILURE(find());
  }

  // By find, or by the look-up of scores.
  void find_pointers(const std::vector<TableFind>& finds) {
    if (random_.below(2) == 0) return group_->find(stream_, finds);
    auto scores = filled<uint64_t>(stream_, static_cast<int64_t>(finds.size() * kMostKeys), 0xee);
    std::vector<TableLookUp> look_ups;
    for (const TableFind& find : finds)
      look_ups.push_back(
          {find.keys, find.found, scores.data() + look_ups.size() * kMostKeys, find.row_pointers});
    group_->look_up(stream_, look_ups);
    stream_.synchronize();
  }

  std::vector<uint64_t> scores_of(Member& member, DeviceTable& table) {
    auto scores = filled<uint64_t>(stream_, member.device_keys.size(), 0xee);
    if (scores.size() > 0) table.find_rows(stream_, member.on_device(), {member.found.data(), scores.data()});
    return download(stream_, scores);
  }

  // weights of the member <- those to which the pointers point, or zero.
  void copy_pointed(Member& member, const std::vector<float*>& pointers) {
    const uint64_t width = member.options.width, bytes = width * sizeof(float);
    for (size_t i = 0; i < pointers.size(); ++i) {
      float* const to = member.weights.data() + i * width;
      if (pointers[i] == nullptr) {
        stream_.fill(to, 0, bytes);
      } else {
        stream_.copy_on_device(to, pointers[i], bytes);
        ++rows_pointed_to;
      }
    }
  }

  void compare_weights() {
    for (size_t t = 0; t < members_.size(); ++t) {
      ASSERT_EQ(bits_of(download(stream_, members_[t]->weights)),
                bits_of(download(stream_, members_[t]->weights_alone)))
          << "table " << t << ", width " << members_[t]->options.width;
    }
  }

  void compare_evicted() {
    for (size_t t = 0; t < members_.size(); ++t) {
      std::vector<uint64_t> words, words_alone;
      std::vector<float> rows, rows_alone;
      ASSERT_NO_FATAL_FAILURE(members_[t]->evicted.take(stream_, words, rows));
      ASSERT_NO_FATAL_FAILURE(members_[t]->evicted_alone.take(stream_, words_alone, rows_alone));
      ASSERT_EQ(words, words_alone) << "table " << t;
      ASSERT_EQ(bits_of(rows), bits_of(rows_alone)) << "table " << t;
      evictions += words.size() / 2;
    }
  }

  void compare_counts() {
    std::vector<DeviceTableCounts> together(members_.size()), alone(members_.size());
    group_->copy_counts(stream_, together.data());
    for (size_t t = 0; t < members_.size(); ++t) members_[t]->alone.copy_counts(stream_, alone[t]);
    stream_.synchronize();
    for (size_t t = 0; t < members_.size(); ++t) {
      ASSERT_EQ(together[t].rows, alone[t].rows) << "table " << t;
      ASSERT_EQ(together[t].inserted, alone[t].inserted) << "table " << t;
      ASSERT_EQ(together[t].evicted, alone[t].evicted) << "table " << t;
      ASSERT_EQ(together[t].refused, alone[t].refused) << "table " << t;
    }
  }

  Random random_;
  gpu::Device device_;
  gpu::Stream stream_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<TableGroup> group_;

 public:
  uint64_t evictions = 0, rows_pointed_to = 0, rows_stepped = 0;
};

uint64_t num_seeds() {
  const char* asked = std::getenv("PS_GPU_SEEDS");
  if (asked != nullptr) return std::strtoull(asked, nullptr, 10);
  return test_device::is_slow() ? 12 : 200;
}

TEST(TableGroup, ManyTablesAreThoseOneByOne) {
  uint64_t evictions = 0, rows_pointed_to = 0, rows_stepped = 0;
  for (uint64_t seed = 0; seed < num_seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 12);
    std::vector<uint32_t> widths(1 + random.below(5));
    for (uint32_t& width : widths)
      width = static_cast<uint32_t>(1 + random.below(random.below(2) == 0 ? 8 : 64));
    GroupTest test(seed, widths);
    ASSERT_NO_FATAL_FAILURE(test.run(3));
    evictions += test.evictions;
    rows_pointed_to += test.rows_pointed_to;
    rows_stepped += test.rows_stepped;
  }
  EXPECT_GT(evictions, 0u);
  EXPECT_GT(rows_pointed_to, 0u);
  EXPECT_GT(rows_stepped, 0u);
}

TEST(TableGroup, TwentySixTablesOfAllWidthsAreThoseOneByOne) {
  std::vector<uint32_t> widths;
  for (uint32_t t = 0; t < 26; ++t) widths.push_back(t == 25 ? 64 : 1 + t * 5 / 2);
  GroupTest test(1, widths);
  ASSERT_NO_FATAL_FAILURE(test.run(3));
}

TEST(TableGroup, RefusesMoreKeysThanTheTablesTakeAndOtherNumbersOfCalls) {
  gpu::Device device(test_device::by_seed(0));
  gpu::Stream stream(device);
  DeviceTableOptions options;
  options.max_batch = 8;
  DeviceTable one(device, stream, options), two(device, stream, options);
  TableGroup group(device, stream, {&one, &two});
  auto keys = filled<uint64_t>(stream, 17, 0);
  auto weights = filled<float>(stream, 17, 0);
  const auto pull = [&](std::vector<int64_t> sizes) {
    std::vector<TablePull> calls;
    for (int64_t size : sizes) calls.push_back({{keys.data(), size}, weights.data(), {}});
    group.pull(stream, calls);
    stream.synchronize();
  };
  EXPECT_NO_THROW(pull({16, 0}));
  EXPECT_NO_THROW(pull({0, 0}));
  EXPECT_THROW(pull({16, 1}), Error);
  EXPECT_THROW(pull({1}), Error);
  EXPECT_THROW(pull({1, 1, 1}), Error);
  EXPECT_THROW(TableGroup(device, stream, {}), Error);
}

TEST(TableGroup, GivesNoPointersToWeightsOf16Bits) {
  gpu::Device device(test_device::by_seed(0));
  gpu::Stream stream(device);
  DeviceTableOptions options;
  options.max_batch = 8;
  DeviceTable exact(device, stream, options);
  options.rounding.type = ValueType::kBf16;
  DeviceTable rounded(device, stream, options);
  TableGroup group(device, stream, {&exact, &rounded});
  auto keys = filled<uint64_t>(stream, 4, 0);
  auto found = filled<uint8_t>(stream, 4, 0);
  auto pointers = filled<float*>(stream, 4, 0);
  const TableFind some = {{keys.data(), 4}, found.data(), nullptr, pointers.data()};
  EXPECT_NO_THROW(group.find(stream, std::vector<TableFind>{some, {}}));
  EXPECT_THROW(group.find(stream, std::vector<TableFind>{{}, some}), Error);
  stream.synchronize();
}

}  // namespace

}  // namespace ps
