#include "gpu/emulated/grid_run.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/hash.h"
#include "gpu/emulated/hooks.h"
#include "gpu/emulated/kernel.h"

namespace ps::gpu::emulated {

namespace {

constexpr int64_t kPointsByLane = 256;  // limited, so that a spinning thread lets others run
constexpr uint64_t kMaxShuffledBlocks = 1 << 20;
constexpr size_t kDynamicAlignment = 16;

// Returns the index of number x + size.x (y + size.y z).
Extent coordinates(uint64_t number, const Extent& size) {
  Extent index;
  index.x = static_cast<unsigned>(number % size.x);
  index.y = static_cast<unsigned>(number / size.x % size.y);
  index.z = static_cast<unsigned>(number / size.x / size.y);
  return index;
}

std::unique_ptr<DeviceThread>* lanes_of(BlockRun& block, size_t warp_index) {
  return block.threads.data() + warp_index * kWarpSize;
}

}  // namespace

GridRun::GridRun(const EmulatorOptions& options, uint64_t seed, ThreadPool& pool)
    : options_(options), seed_(seed), pool_(pool) {
  fiber_hooks::name_current(self_);
  fiber_hooks::create_fiber(reaper_);
}

GridRun::~GridRun() {
  give_back_all();
  fiber_hooks::destroy_fiber(reaper_);
}

uint64_t GridRun::draw() {
  return hash_key(seed_ + 0x9e3779b97f4a7c15u * ++num_drawn_);
}

void GridRun::fail_launch(const std::string& why) const {
  fail(Code::kInternal, "kernel of ", shape_.grid.count(), " blocks of ", shape_.block.count(),
       " threads, seed ", options_.seed, ": ", why);
}

void GridRun::fail_thread(const DeviceThread& thread, const std::string& why) const {
  fail_launch(cat("block ", thread.block->number, " thread ", thread.rank, ": ", why));
}

// At most resident_blocks blocks are alive at once; another one starts when one of them ends (end_block).
// Each turn runs one thread up to its next request.  If no thread is ready while blocks are alive, all of
// their threads wait for others that will not come, and the launch fails.
void GridRun::run(const LaunchShape& shape, const std::function<void()>& kernel) {
  shape_ = shape;
  kernel_ = &kernel;
  gridDim = shape.grid;  // thread_local
  blockDim = shape.block;
  ++num_launches;
  const uint64_t num_blocks = shape.grid.count();
  if (in_random_order() && num_blocks <= kMaxShuffledBlocks) {
    block_order_.resize(num_blocks);
    for (uint64_t i = 0; i < num_blocks; ++i) block_order_[i] = static_cast<uint32_t>(i);
  }
  while (num_started_ < num_blocks && blocks_.size() < options_.resident_blocks) start_block();
  while (!blocks_.empty()) {
    DeviceThread* thread = next_ready();
    if (thread == nullptr) fail_launch(cat("nothing can run: ", describe_waits(blocks_)));
    step(*thread);
  }
  hooks::acquire_as(self_, self_, &end_);
}

// The permutation is shuffled as far as it is used (Fisher and Yates): place i takes one of the numbers
// that are left.
uint64_t GridRun::next_block_number() {
  const uint64_t i = num_started_++;
  if (block_order_.empty()) return i;
  std::swap(block_order_[i], block_order_[i + draw() % (block_order_.size() - i)]);
  return block_order_[i];
}

void GridRun::start_block() {
  auto block = std::make_unique<BlockRun>();
  block->number = next_block_number();
  block->index = coordinates(block->number, shape_.grid);
  block->num_threads = block->num_alive = static_cast<unsigned>(shape_.block.count());
  block->warps.resize((block->num_threads + kWarpSize - 1) / kWarpSize);
  block->barrier = std::make_unique<char>();
  if (shape_.shared_bytes > 0) block->shared.push_back({nullptr, GuardedArray(shape_.shared_bytes)});
  blocks_.push_back(std::move(block));
  // The launch, and the creation of dynamic shared memory, happen before all threads of the block.
  hooks::release_as(self_, self_, this);
  for (unsigned rank = 0; rank < blocks_.back()->num_threads; ++rank) start_thread(*blocks_.back(), rank);
}

void GridRun::start_thread(BlockRun& block, unsigned rank) {
  std::unique_ptr<DeviceThread> thread = pool_.take();
  thread->kernel = kernel_;
  thread->block = &block;
  thread->rank = rank;
  thread->index = coordinates(rank, shape_.block);
  thread->request = Request::kNone;
  block.warps[rank / kWarpSize].alive |= 1u << rank % kWarpSize;
  hooks::acquire_as(thread->stack(), self_, this);
  ready_.push_back(thread.get());
  block.threads.push_back(std::move(thread));
}

// Removes the next thread from the queue of ready threads: a random one, if the order is random, else the
// first.  A thread that waits in a barrier or a warp operation is not in the queue; the last thread to arrive
// puts all of them back.
DeviceThread* GridRun::next_ready() {
  if (ready_.empty()) return nullptr;
  if (in_random_order()) std::swap(ready_.front(), ready_[draw() % ready_.size()]);
  DeviceThread* thread = ready_.front();
  ready_.pop_front();
  return thread;
}

// Runs a thread until its next request.  Barriers and warp operations always suspend it; atomic operations
// only after switch_points_left of them, so that random orders have both long and short turns.
void GridRun::step(DeviceThread& thread) {
  if (++num_steps_ > options_.max_steps)
    fail_thread(thread, cat("does not end in ", options_.max_steps, " turns"));
  const uint64_t bits = in_random_order() ? draw() : 0;
  thread.copies_early = (bits & 1) != 0;
  if (options_.order == ScheduleOrder::kByLane) thread.switch_points_left = kPointsByLane;
  if (options_.order == ScheduleOrder::kRandom) thread.switch_points_left = bits >> 8 & 3;
  if (options_.order == ScheduleOrder::kAlways) thread.switch_points_left = 0;
  threadIdx = thread.index;
  blockIdx = thread.block->index;
  thread.resume(self_);
  answer(thread);
}

// A thread that can go on returns to ready_.  The others wait in a barrier or a warp operation, or have
// ended.
void GridRun::answer(DeviceThread& thread) {
  switch (thread.request) {
    case Request::kSwitch:
      ready_.push_back(&thread);
      return;
    case Request::kBarrier:
      return arrive_at_barrier(thread);
    case Request::kWarp:
      return arrive_in_warp(thread);
    case Request::kShared:
    case Request::kDynamicShared:
      return give_shared(thread);
    case Request::kEnd:
      return end_thread(thread);
    default:  // the fibre has written the text of the fault
      hooks::release_as(thread.stack(), self_, &thread);
      hooks::acquire_as(self_, self_, &thread);
      fail_thread(thread, thread.fault);
  }
}

// A barrier waits for all threads of the block.  When one has ended, the others wait for ever, and run()
// reports that no thread can run.
void GridRun::arrive_at_barrier(DeviceThread& thread) {
  BlockRun& block = *thread.block;
  hooks::release_as(thread.stack(), self_, block.barrier.get());
  if (++block.num_at_barrier < block.num_threads) return;
  for (const auto& each : block.threads) {
    hooks::acquire_as(each->stack(), self_, block.barrier.get());
    each->request = Request::kNone;
    ready_.push_back(each.get());
  }
  block.num_at_barrier = 0;
  block.barrier = std::make_unique<char>();
}

// A warp may have several open meetings at the same time, one for each mask: lanes that took different
// branches meet independently, as on a device with independent thread scheduling.  The lane joins the meeting
// of its mask, or opens one; the last lane of the mask completes it.
void GridRun::arrive_in_warp(DeviceThread& thread) {
  const WarpCall& call = thread.warp_call;
  const size_t warp_index = thread.rank / kWarpSize;
  const uint32_t bit = 1u << thread.rank % kWarpSize;
  Warp& warp = thread.block->warps[warp_index];
  if ((call.mask & bit) == 0)
    fail_thread(thread, cat(name_of(call.operation), ": the mask does not name its own lane"));
  size_t at = 0;
  while (at < warp.open.size() && warp.open[at]->mask != call.mask) ++at;
  if (at == warp.open.size())
    warp.open.push_back(std::make_unique<Rendezvous>(Rendezvous{call.operation, call.mask}));
  Rendezvous& meets = *warp.open[at];
  if (meets.operation != call.operation) {
    fail_thread(thread, cat("calls ", name_of(call.operation), " where lanes of the same mask wait in ",
                            name_of(meets.operation)));
  }
  hooks::release_as(thread.stack(), self_, &meets);
  meets.arrived |= bit;
  if (meets.arrived == meets.mask) complete_warp(*thread.block, warp_index, at);
}

// Removes the meeting, gives each lane its answer, and lets all of them run.  The lanes acquire what each
// of them released at its arrival, so that a race detector sees them ordered by the meeting.
void GridRun::complete_warp(BlockRun& block, size_t warp_index, size_t open_index) {
  auto& open = block.warps[warp_index].open;
  const std::unique_ptr<Rendezvous> met = std::move(open[open_index]);
  open.erase(open.begin() + static_cast<ptrdiff_t>(open_index));
  std::unique_ptr<DeviceThread>* lanes = lanes_of(block, warp_index);
  const std::string error = complete(*met, lanes);
  if (!error.empty()) fail_launch(cat("block ", block.number, " warp ", warp_index, ": ", error));
  for (uint32_t left = met->mask; left != 0; left &= left - 1) {
    DeviceThread* thread = lanes[std::countr_zero(left)].get();
    hooks::acquire_as(thread->stack(), self_, met.get());
    thread->request = Request::kNone;
    ready_.push_back(thread);
  }
}

// Gives a thread the address of a shared array, which is created at the first request for it.  This orders no
// two threads: each acquires the scheduler's actions, and the scheduler has acquired nothing from threads.
void GridRun::give_shared(DeviceThread& thread) {
  const bool dynamic = thread.request == Request::kDynamicShared;
  const void* site = dynamic ? nullptr : thread.shared_call.site;
  auto& shared = thread.block->shared;
  auto found =
      std::find_if(shared.begin(), shared.end(), [&](const SharedArray& each) { return each.site == site; });
  if (found == shared.end()) {
    if (dynamic) fail_thread(thread, "asks for dynamic shared memory, of which the launch has none");
    size_t in_use = thread.shared_call.bytes;
    for (const SharedArray& each : shared)
      in_use += (each.array.bytes() + kDynamicAlignment - 1) & ~(kDynamicAlignment - 1);
    if (in_use > options_.limits.shared_bytes) {
      fail_thread(thread, cat("its block needs ", in_use, " bytes of shared memory, of ",
                              options_.limits.shared_bytes));
    }
    shared.push_back({site, GuardedArray(thread.shared_call.bytes)});
    found = std::prev(shared.end());
  }
  thread.shared = found->array.data();
  hooks::release_as(self_, self_, &found->site);
  hooks::acquire_as(thread.stack(), self_, &found->site);
  ready_.push_front(&thread);
}

// The end of the launch comes after all threads: run acquires end_, which each thread releases here.
void GridRun::end_thread(DeviceThread& thread) {
  BlockRun& block = *thread.block;
  hooks::release_as(thread.stack(), self_, &end_);
  block.warps[thread.rank / kWarpSize].alive &= ~(1u << thread.rank % kWarpSize);
  if (--block.num_alive == 0) end_block(block);
}

void GridRun::end_block(BlockRun& block) {
  for (const SharedArray& each : block.shared) {
    if (!each.array.intact())
      fail_launch(cat("block ", block.number, " wrote past an end of its shared memory"));
  }
  // Shared memory is freed in the name of the reaper, which comes after all threads that used it; the
  // scheduler itself must not acquire anything from threads before the end (give_shared).
  hooks::acquire_as(reaper_, self_, &end_);
  for (SharedArray& each : block.shared) each.array.free_as(reaper_, self_);
  for (auto& thread : block.threads) pool_.give(std::move(thread));
  std::erase_if(blocks_, [&](const auto& each) { return each.get() == &block; });
  if (num_started_ < shape_.grid.count()) start_block();
}

// Called after an error: resets all fibres and returns them to the pool.  For the race detector, the actions
// of the threads happen before the next use of their fibres.
void GridRun::give_back_all() {
  for (auto& block : blocks_) {
    for (auto& thread : block->threads) hooks::release_as(thread->stack(), self_, &end_);
  }
  hooks::acquire_as(self_, self_, &end_);
  for (auto& block : blocks_) {
    for (auto& thread : block->threads) {
      if (thread == nullptr) continue;
      thread->abandon();
      pool_.give(std::move(thread));
    }
  }
}

}  // namespace ps::gpu::emulated
