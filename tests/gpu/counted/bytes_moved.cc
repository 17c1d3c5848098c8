// The bytes that a call of DeviceTable moves are those that ps-gpu(7) states.  The kernels of this program are compiled as for
// a race detector, so that they call a function at each access to memory; these functions are here, and count.
//
// A device moves sectors of 32 bytes.  A sector that a warp reads several times in one kernel counts once, and once more
// if it is written.  Sorts, scans and fills are no kernels of the project, and are not counted.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <set>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "gpu/device_data.h"
#include "optim/kernels/steps.h"
#include "table/cuda/device_table.h"
#include "table/cuda/table_group.h"

namespace ps {

namespace {

constexpr uint64_t kSector = 32;

// The sectors that the warps of all launches have touched while it was there.  There is at most one.
class SectorCount {
 public:
  explicit SectorCount(const gpu::Device& device) : device_(device) { active_ = this; }
  ~SectorCount() { active_ = nullptr; }
  SectorCount(const SectorCount&) = delete;
  SectorCount& operator=(const SectorCount&) = delete;

  // Code of the library that this calls may have been compiled with the kernels, and then calls it.
  static void note(const void* address, uint64_t bytes, bool writes) {
    SectorCount* const count = active_;
    if (count == nullptr || bytes == 0) return;
    active_ = nullptr;
    count->add(address, bytes, writes);
    active_ = count;
  }

  uint64_t bytes() const { return sectors_.size() * kSector; }

 private:
  void add(const void* address, uint64_t bytes, bool writes) {
    if (!device_.holds(address, bytes)) return;
    const uint64_t first = reinterpret_cast<uintptr_t>(address) / kSector;
    const uint64_t last = (reinterpret_cast<uintptr_t>(address) + bytes - 1) / kSector;
    const uint64_t warp = blockIdx.x * uint64_t{blockDim.x / gpu::kWarpSize} + threadIdx.x / gpu::kWarpSize;
    for (uint64_t sector = first; sector <= last; ++sector)
      sectors_.insert({gpu::emulated::num_launches, warp, sector, writes});
  }

  static inline SectorCount* active_ = nullptr;

  const gpu::Device& device_;
  std::set<std::tuple<uint64_t, uint64_t, uint64_t, bool>> sectors_;  // launch, warp, sector, true if written
};

// Calls for `keys` distinct keys that are all there, in a table with so many buckets that few of the keys share one.
class MeasuredTable {
 public:
  MeasuredTable(uint32_t width, EvictionScore score)
      : options_(options_of(width, score)), gradients_(kKeys * width, 0.5f) {
    Random random(width, 1);
    for (uint64_t& key : keys_) key = random.next64();
    keys_there_ = upload(stream_, keys_);
    gradients_there_ = upload(stream_, gradients_);
    push();
    stream_.synchronize();
  }

  void find() { table_.find(stream_, call(), found_.data(), weights_.data()); }
  void find_in_group() { find_in_group({call(), found_.data(), weights_.data()}); }
  void point() { find_in_group({call(), found_.data(), nullptr, pointers_.data()}); }
  void look_up() {
    const TableLookUp look_up = {call(), found_.data(), scores_.data(), pointers_.data()};
    group_.look_up(stream_, {&look_up, 1});
  }
  void push_in_group() {
    const TablePush push = {call(), gradients_there_.data(), AdagradStep<float>{0.1f, 1e-6f, {}}, 1.0f, 1e9f,
                            {}};
    group_.push(stream_, {&push, 1});
  }
  // After point().
  void step() {
    const TableStep step = {
        pointers_.data(), kKeys, 1, gradients_there_.data(), AdagradStep<float>{0.1f, 1e-6f, {}}, 1.0f, 1e9f};
    group_.step(stream_, {&step, 1});
  }
  void pull() { table_.pull(stream_, call(), weights_.data()); }
  void push() {
    table_.push(stream_, call(), gradients_there_.data(), AdagradStep<float>{0.1f, 1e-6f, {}}, 1.0f, 1e9f);
  }

  // Returns the number of kernels that a call starts.
  template <class Call>
  uint64_t kernels(const Call& run) {
    const uint64_t before = device_.num_launches();
    run();
    stream_.synchronize();
    return device_.num_launches() - before;
  }

  // Returns the bytes that a call moves for each key.
  template <class Call>
  double bytes_a_key(const Call& run) {
    const SectorCount count(device_);
    run();
    stream_.synchronize();
    return static_cast<double>(count.bytes()) / kKeys;
  }

 private:
  static constexpr int64_t kKeys = 1024;

  static DeviceTableOptions options_of(uint32_t width, EvictionScore score) {
    DeviceTableOptions options;
    options.width = width;
    options.arrays = 1;
    options.rows = 1 << 18;
    options.max_batch = kKeys;
    options.score = score;
    return options;
  }
  DeviceKeys call() const { return {keys_there_.data(), kKeys, keys_there_.data()}; }
  void find_in_group(const TableFind& find) { group_.find(stream_, {&find, 1}); }

  const DeviceTableOptions options_;
  gpu::Device device_;
  gpu::Stream stream_{device_};
  DeviceTable table_{device_, stream_, options_};
  TableGroup group_{device_, stream_, {&table_}};
  std::vector<uint64_t> keys_ = std::vector<uint64_t>(kKeys);
  std::vector<float> gradients_;
  gpu::DeviceArray<uint64_t> keys_there_;
  gpu::DeviceArray<float> gradients_there_;
  gpu::DeviceArray<uint8_t> found_{device_, kKeys};
  gpu::DeviceArray<float> weights_{device_, kKeys* static_cast<int64_t>(options_.width)};
  gpu::DeviceArray<float*> pointers_{device_, kKeys};
  gpu::DeviceArray<uint64_t> scores_{device_, kKeys};
};

// The page allows a tenth more; a tenth less would mean that it states too much.
void expect_stated(double measured, double stated, const char* call) {
  std::printf("%s: %.1f bytes a key, the page states %.0f\n", call, measured, stated);
  EXPECT_LE(measured, 1.10 * stated) << call;
  EXPECT_GE(measured, 0.90 * stated) << call;
}

TEST(BytesMoved, AreThoseOfThePage) {
  for (uint32_t width : {8u, 32u, 64u}) {
    SCOPED_TRACE("width " + std::to_string(width));
    MeasuredTable table(width, EvictionScore::kAge), grouped(width, EvictionScore::kGiven);
    const double row = 4.0 * width;  // bytes of the weights, and of their state
    expect_stated(table.bytes_a_key([&] { table.find(); }), 297 + 2 * row, "find");
    expect_stated(table.bytes_a_key([&] { table.pull(); }), 468 + 2 * row, "pull");
    expect_stated(table.bytes_a_key([&] { table.push(); }), 580 + 5 * row, "push");
    expect_stated(grouped.bytes_a_key([&] { grouped.find_in_group(); }), 305 + 2 * row, "find in a group");
    expect_stated(grouped.bytes_a_key([&] { grouped.push_in_group(); }), 1025 + 5 * row, "push in a group");
    expect_stated(grouped.bytes_a_key([&] { grouped.point(); }), 311, "pointers to rows");
    expect_stated(grouped.bytes_a_key([&] { grouped.look_up(); }), 351, "scores and pointers");
    expect_stated(grouped.bytes_a_key([&] { grouped.step(); }), 40 + 5.5 * row, "step of rows pointed to");
    EXPECT_EQ(grouped.kernels([&] { grouped.step(); }), 1u);
    EXPECT_GT(grouped.kernels([&] { grouped.push_in_group(); }), 8u);
  }
}

}  // namespace

}  // namespace ps

// The compiler calls these where code reads and writes memory, and where it calls an atomic operation.
extern "C" {

#define PS_ACCESS(bytes)                              \
  void __tsan_read##bytes(void* address) {            \
    ps::SectorCount::note(address, bytes, false);     \
  }                                                   \
  void __tsan_write##bytes(void* address) {           \
    ps::SectorCount::note(address, bytes, true);      \
  }                                                   \
  void __tsan_unaligned_read##bytes(void* address) {  \
    ps::SectorCount::note(address, bytes, false);     \
  }                                                   \
  void __tsan_unaligned_write##bytes(void* address) { \
    ps::SectorCount::note(address, bytes, true);      \
  }
PS_ACCESS(1)
PS_ACCESS(2)
PS_ACCESS(4)
PS_ACCESS(8)
PS_ACCESS(16)
#undef PS_ACCESS

void __tsan_read_range(void* address, unsigned long bytes) {
  ps::SectorCount::note(address, bytes, false);
}
void __tsan_write_range(void* address, unsigned long bytes) {
  ps::SectorCount::note(address, bytes, true);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define PS_ATOMICS(bits, Word)                                                                            \
  Word __tsan_atomic##bits##_load(const volatile Word* address, int) {                                    \
    ps::SectorCount::note(const_cast<const Word*>(address), sizeof(Word), false);                         \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                    \
  }                                                                                                       \
  void __tsan_atomic##bits##_store(volatile Word* address, Word value, int) {                             \
    ps::SectorCount::note(const_cast<const Word*>(address), sizeof(Word), true);                          \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                       \
  Word __tsan_atomic##bits##_exchange(volatile Word* address, Word value, int) {                          \
    ps::SectorCount::note(const_cast<const Word*>(address), sizeof(Word), true);                          \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                         \
  }                                                                                                       \
  Word __tsan_atomic##bits##_fetch_add(volatile Word* address, Word value, int) {                         \
    ps::SectorCount::note(const_cast<const Word*>(address), sizeof(Word), true);                          \
    return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);                                          \
  }                                                                                                       \
  bool __tsan_atomic##bits##_compare_exchange_strong(volatile Word* address, Word* expected, Word wanted, \
                                                     int, int) {                                          \
    ps::SectorCount::note(const_cast<const Word*>(address), sizeof(Word), true);                          \
    return __atomic_compare_exchange_n(address, expected, wanted, false, __ATOMIC_SEQ_CST,                \
                                       __ATOMIC_SEQ_CST);                                                 \
  }
PS_ATOMICS(8, unsigned char)
PS_ATOMICS(32, unsigned)
PS_ATOMICS(64, unsigned long)
#undef PS_ATOMICS

}  // extern "C"
