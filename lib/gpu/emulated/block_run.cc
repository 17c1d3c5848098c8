#include "gpu/emulated/block_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "gpu/emulated/hooks.h"

namespace ps::gpu::emulated {

namespace {

constexpr unsigned char kStripByte = 0xfd;
constexpr size_t kMaxLinesOfReport = 16;

bool is_strip(const unsigned char* strip, size_t bytes) {
  return std::all_of(strip, strip + bytes, [](unsigned char byte) { return byte == kStripByte; });
}

// Combines two 32-bit numbers by the operation of a reduction.
uint32_t reduce(WarpOperation operation, uint32_t x, uint32_t y) {
  switch (operation) {
    case WarpOperation::kReduceAdd:
      return x + y;
    case WarpOperation::kReduceMin:
      return std::min(x, y);
    case WarpOperation::kReduceMax:
      return std::max(x, y);
    case WarpOperation::kReduceAnd:
      return x & y;
    default:
      return x | y;
  }
}

// Calls visit(lane) for each bit of the mask from the lowest on; `mask & mask - 1` clears the lowest one.
template <class Visit>
void for_each_lane(uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<unsigned>(std::countr_zero(mask)));
}

// Returns the lanes of the mask whose value is this one.
uint32_t matching(uint32_t mask, uint64_t value, const std::unique_ptr<DeviceThread>* lanes) {
  uint32_t same = 0;
  for_each_lane(mask, [&](unsigned lane) {
    if (lanes[lane]->warp_call.value == value) same |= 1u << lane;
  });
  return same;
}

// Returns the lanes of the mask whose value is not zero.
uint32_t votes(uint32_t mask, const std::unique_ptr<DeviceThread>* lanes) {
  uint32_t ballot = 0;
  for_each_lane(mask, [&](unsigned lane) {
    if (lanes[lane]->warp_call.value != 0) ballot |= 1u << lane;
  });
  return ballot;
}

// Returns the values of the lanes combined from the lowest lane on.  The first value is taken as it is,
// since minimum and AND have no neutral element of 0.
uint64_t reduced(const Rendezvous& r, const std::unique_ptr<DeviceThread>* lanes) {
  bool first = true;
  uint32_t sum = 0;
  for_each_lane(r.mask, [&](unsigned lane) {
    uint32_t value = static_cast<uint32_t>(lanes[lane]->warp_call.value);
    sum = std::exchange(first, false) ? value : reduce(r.operation, sum, value);
  });
  return sum;
}

// Returns the result of a warp operation that gives all lanes the same result; 0 for the other operations.
uint64_t common_answer(const Rendezvous& r, const std::unique_ptr<DeviceThread>* lanes) {
  switch (r.operation) {
    case WarpOperation::kBallot:
      return votes(r.mask, lanes);
    case WarpOperation::kAny:
      return votes(r.mask, lanes) != 0;
    case WarpOperation::kAll:
      return votes(r.mask, lanes) == r.mask;
    case WarpOperation::kSync:
    case WarpOperation::kShuffle:
    case WarpOperation::kMatch:
      return 0;
    default:
      return reduced(r, lanes);
  }
}

std::string hex(uint32_t mask) {
  std::string digits = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[mask >> shift & 15];
  return digits;
}

void add_warp_waits(const BlockRun& block, size_t warp_index, std::vector<std::string>& lines) {
  const Warp& warp = block.warps[warp_index];
  for (const auto& r : warp.open) {
    const size_t first = warp_index * kWarpSize + static_cast<size_t>(std::countr_zero(r->arrived));
    lines.push_back(cat("block ", block.number, " thread ", first, " waits in ", name_of(r->operation),
                        ": mask ", hex(r->mask), ", arrived ", hex(r->arrived), ", alive ", hex(warp.alive)));
  }
}

void add_barrier_waits(const BlockRun& block, std::vector<std::string>& lines) {
  if (block.num_at_barrier == 0) return;
  const auto waits = std::find_if(block.threads.begin(), block.threads.end(),
                                  [](const auto& thread) { return thread->request == Request::kBarrier; });
  lines.push_back(cat("block ", block.number, " thread ", (*waits)->rank, " waits at a barrier: of ",
                      block.num_threads, " threads ", block.num_at_barrier, " arrived, ", block.num_alive,
                      " alive"));
}

}  // namespace

std::string_view name_of(WarpOperation operation) {
  static constexpr std::array<std::string_view, 11> kNames = {
      "sync_warp",  "ballot",     "any",        "all",        "shuffle",  "match_any",
      "reduce_add", "reduce_min", "reduce_max", "reduce_and", "reduce_or"};
  return kNames[static_cast<size_t>(operation)];
}

// The layout of the memory, in which the padding belongs to the strip behind the array:
//  strip[kStrip] array[bytes] padding[padded_ - bytes] strip[kStrip]
// The array is filled with a pattern, so that kernels that read before they write get conspicuous numbers.
GuardedArray::GuardedArray(size_t bytes) : bytes_(bytes) {
  padded_ = (bytes + kStrip - 1) / kStrip * kStrip;
  memory_ = static_cast<unsigned char*>(std::aligned_alloc(kStrip, padded_ + 2 * kStrip));
  if (memory_ == nullptr) fail(Code::kExhausted, "no memory for ", bytes, " bytes of an emulated device");
  std::memset(memory_, kStripByte, kStrip);
  std::memset(memory_ + kStrip, kFill, bytes);
  std::memset(memory_ + kStrip + bytes, kStripByte, padded_ + kStrip - bytes);
  hooks::close_memory(memory_, kStrip);
  hooks::close_memory(memory_ + kStrip + bytes, padded_ + kStrip - bytes);
}

GuardedArray::~GuardedArray() {
  if (memory_ == nullptr) return;
  hooks::open_memory(memory_, padded_ + 2 * kStrip);
  std::free(memory_);
}

bool GuardedArray::intact() const {
  if (hooks::close_memory(memory_, kStrip)) return true;
  return is_strip(memory_, kStrip) && is_strip(memory_ + kStrip + bytes_, padded_ + kStrip - bytes_);
}

void GuardedArray::free_as(const StackArea& fiber, const StackArea& self) {
  hooks::open_memory(memory_, padded_ + 2 * kStrip);
  hooks::free_as(fiber, self, std::exchange(memory_, nullptr));
}

// All lanes have called the operation, and their values are in warp_call.  A shuffle may only read a lane
// that takes part, since the value of any other one is not defined on a device.
std::string complete(const Rendezvous& r, std::unique_ptr<DeviceThread>* lanes) {
  const uint64_t common = common_answer(r, lanes);
  std::string error;
  for_each_lane(r.mask, [&](unsigned lane) {
    DeviceThread& thread = *lanes[lane];
    const WarpCall& call = thread.warp_call;
    thread.answer = common;
    if (r.operation == WarpOperation::kMatch) thread.answer = matching(r.mask, call.value, lanes);
    if (r.operation != WarpOperation::kShuffle) return;
    if ((r.mask >> call.from_lane & 1) == 0) {
      error = cat("lane ", lane, " shuffles from lane ", call.from_lane, ", which mask ", hex(r.mask),
                  " does not name");
      return;
    }
    thread.answer = lanes[call.from_lane]->warp_call.value;
  });
  return error;
}

std::string describe_waits(const std::vector<std::unique_ptr<BlockRun>>& blocks) {
  std::vector<std::string> lines;
  for (const auto& block : blocks) {
    add_barrier_waits(*block, lines);
    for (size_t w = 0; w < block->warps.size(); ++w) add_warp_waits(*block, w, lines);
  }
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), kMaxLinesOfReport); ++i)
    text += cat(i == 0 ? "" : "; ", lines[i]);
  if (lines.size() > kMaxLinesOfReport) text += cat("; and ", lines.size() - kMaxLinesOfReport, " more");
  return text;
}

}  // namespace ps::gpu::emulated
