#include "codec/cuda/device_selection.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/error.h"
#include "codec/cuda/selection_kernels.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

namespace {

namespace kernels = device_selection;
using kernels::kThreads;
using kernels::Search;

// Tiles are whole turns of a warp, so that only the last tile has fewer values than its size.
constexpr uint64_t kLeastTile = 512;

// A stash holds this many times the mean number of selected values in a tile, which is enough even for a
// threshold that only fixes the first digit of a size.  It holds some more, since the values are not spread
// evenly.
constexpr uint64_t kStashMargin = 4, kStashMore = 32;

uint64_t divided_up(uint64_t x, uint64_t by) {
  return (x + by - 1) / by;
}

// Divides the values into tiles, each the work of a warp: as few turns of kLeastTile values a tile as keep
// the number of tiles within most_tiles.  Each tile has a stash for the values that it collects.
Search shape_of(uint64_t size, uint64_t count, uint32_t most_tiles) {
  PS_CHECK(size <= kMaxSparseSize && count <= size && most_tiles > 0);
  const uint64_t turns = std::max<uint64_t>(1, divided_up(size, uint64_t{most_tiles} * kLeastTile));
  const uint64_t tile = turns * kLeastTile;
  const uint64_t expected = size == 0 ? 0 : divided_up(count * tile, size);
  Search search{};
  search.size = static_cast<uint32_t>(size);
  search.count = static_cast<uint32_t>(count);
  search.tile_size = static_cast<uint32_t>(tile);
  search.num_tiles = static_cast<uint32_t>(divided_up(size, tile));
  search.capacity = static_cast<uint32_t>(std::min(tile, kStashMargin * expected + kStashMore));
  return search;
}

// The sizes in bytes of the arrays of a search, in the order in which they lie in memory.
struct Sizes {
  uint64_t stash, kept, state, collected;
  uint64_t all() const { return stash + kept + state + collected; }
};

Sizes sizes_of(const Search& search) {
  const uint64_t tiles = search.num_tiles;
  return {tiles * search.capacity * sizeof(kernels::Candidate), tiles * sizeof(kernels::Kept),
          sizeof(kernels::State), tiles * sizeof(uint32_t)};
}

bool aligned(std::initializer_list<const void*> arrays) {
  for (const void* array : arrays) {
    if (reinterpret_cast<uintptr_t>(array) % sizeof(kernels::Four) != 0) return false;
  }
  return true;
}

// Returns the number of blocks for kernels that make a histogram, in which each thread takes some of `items`.
// It is as many as run at once.
unsigned blocks_at_once(const gpu::Stream& stream, uint64_t items) {
  const unsigned most = std::max(1u, stream.device().limits().resident_threads / kThreads);
  return std::min(most, gpu::blocks_for(items, kThreads));
}

unsigned blocks_of_tiles(const Search& search) {
  return gpu::blocks_for(uint64_t{search.num_tiles} * gpu::kWarpSize, kThreads);
}

}  // namespace

uint64_t DeviceSelector::bytes_for(uint64_t size, uint64_t count, uint32_t most_tiles) {
  return sizes_of(shape_of(size, count, most_tiles)).all();
}

// Lays the arrays of the search out in memory_, which grows as needed, and sets how many collected values
// are enough: all that are wanted if the selection is exact, else the share kLeastSelected of them.
Search DeviceSelector::prepare(uint64_t size, uint64_t count) {
  Search search = shape_of(size, count, most_tiles_);
  const double enough = kind_ == Selection::kExact ? 1 : kLeastSelected;
  search.enough = static_cast<uint32_t>(std::ceil(enough * static_cast<double>(count)));
  const Sizes sizes = sizes_of(search);
  char* memory = static_cast<char*>(memory_.reserve(static_cast<int64_t>(sizes.all())));
  search.stash = reinterpret_cast<kernels::Candidate*>(memory);
  search.kept = reinterpret_cast<kernels::Kept*>(memory += sizes.stash);
  search.state = reinterpret_cast<kernels::State*>(memory += sizes.kept);
  search.collected = reinterpret_cast<uint32_t*>(memory += sizes.state);
  return search;
}

// Begins a selection, and sets the least size to collect by a sample.  Returns false if there is no sample;
// then the caller collects nothing yet.
template <class Values>
bool DeviceSelector::set_least(gpu::Stream& stream, const Values& values, const Search& search,
                               uint64_t draw) {
  const SelectionSample sample = selection_sample(search.size, search.count);
  const uint64_t rank = selection_sample_rank(sample, search.size, search.count);
  const bool samples = sample.num_lines > 0, searches = samples && rank <= sample.size();
  gpu::launch(kernels::begin_selection, 1, kThreads, 0, stream, search, samples ? 1u : kernels::kNothing,
              searches ? static_cast<uint32_t>(rank) : search.count);
  for (int pass = 0; searches && pass < kernels::kDigits; ++pass) {
    gpu::launch(kernels::search_sample<Values>, blocks_at_once(stream, sample.size()), kThreads, 0, stream,
                values, search, sample, draw, pass);
  }
  return samples;
}

// Runs the pass over all values.  A pass over given values runs only if a sample has set a threshold; a pass
// that computes the values runs always.
template <class Values>
void DeviceSelector::collect_and_move(gpu::Stream& stream, const Values& values, const Search& search,
                                      uint64_t draw) {
  const bool samples = set_least(stream, values, search, draw);
  if (search.size == 0 || !(samples || Values::kComputes)) return;
  gpu::launch(kernels::collect_tiles<Values>, blocks_of_tiles(search), kThreads, 0, stream, values, search,
              0u);
}

// Computes the moves in the pass that collects them.  If all arrays begin at multiples of 16 bytes, they
// are read four floats at a time.
template <bool kDecay, bool kNesterov>
void DeviceSelector::collect_moves(gpu::Stream& stream, const DgcStep& step, const Search& search,
                                   uint64_t draw) {
  const DgcMove<kDecay, kNesterov> move{step.scale, -step.rate, step.momentum, step.l2};
  const auto collect = [&]<bool kFast>() {
    const kernels::MovedValues<kFast, kDecay, kNesterov> values{step.gradient, step.weights, step.velocity,
                                                                step.residual, move};
    collect_and_move(stream, values, search, draw);
  };
  if (aligned({step.gradient, step.weights, step.velocity, step.residual})) {
    collect.template operator()<true>();
  } else {
    collect.template operator()<false>();
  }
}

// Collects from all values if that has not been done yet, or has given too few.
void DeviceSelector::collect_again(gpu::Stream& stream, const float* values, const Search& search) {
  const auto collect = [&]<bool kFast>() {
    const kernels::GivenValues<kFast> given{values};
    gpu::launch(kernels::search_all<kFast>, blocks_at_once(stream, search.size / 4), kThreads, 0, stream,
                given, search);
    gpu::launch(kernels::collect_tiles<kernels::GivenValues<kFast>>, blocks_of_tiles(search), kThreads, 0,
                stream, given, search, 1u);
  };
  if (aligned({values})) {
    collect.template operator()<true>();
  } else {
    collect.template operator()<false>();
  }
}

// Narrows the collected values down to `count`: a radix search, one digit a pass, finds the least size to
// keep and the number of values of just this size that still have room.  Then each tile counts its kept
// values, the sums of the counts are the places of the tiles in the output, and each tile writes its values
// there in order.  `residual` and `velocity`, unless they are null, lose the values that are written.
void DeviceSelector::finish(gpu::Stream& stream, const float* values, const Search& search,
                            const DeviceSent& sent, float* residual, float* velocity) {
  if (search.count == 0) return stream.fill(sent.vector.size, 0, sizeof(uint32_t));
  collect_again(stream, values, search);
  const unsigned blocks = blocks_of_tiles(search);
  const unsigned at_once = blocks_at_once(stream, uint64_t{search.num_tiles} * gpu::kWarpSize);
  for (int pass = 0; pass < kernels::kDigits; ++pass) {
    gpu::launch(kernels::search_collected, at_once, kThreads, 0, stream, values, search, pass);
  }
  gpu::launch(kernels::count_kept, blocks, kThreads, 0, stream, values, search);
  gpu::launch(kernels::add_up_kept, 1, kernels::kScanThreads, 0, stream, search, sent.vector.size);
  gpu::launch(kernels::write_selected, blocks, kThreads, 0, stream, values, search,
              kernels::Masking{velocity, residual, sent.half}, sent.vector.index, sent.vector.value);
}

// The values stay as they are, so there is nothing to take out, and no largest size to report.
void DeviceSelector::select(gpu::Stream& stream, const float* values, uint64_t size, uint64_t count,
                            uint64_t draw, const DeviceSparseVector& vector) {
  const Search search = prepare(size, count);
  if (count > 0 && aligned({values})) {
    collect_and_move(stream, kernels::GivenValues<true>{values}, search, draw);
  } else if (count > 0) {
    collect_and_move(stream, kernels::GivenValues<false>{values}, search, draw);
  }
  finish(stream, values, search, {vector, nullptr}, nullptr, nullptr);
}

// The kernels are compiled with and without weight decay and Nesterov momentum, so that a pass reads no
// array that it does not need.
void DeviceSelector::step(gpu::Stream& stream, const DgcStep& step, uint64_t size, uint64_t count,
                          uint64_t draw, const DeviceSent& sent) {
  const Search search = prepare(size, count);
  if (step.weights != nullptr) {
    step.nesterov ? collect_moves<true, true>(stream, step, search, draw)
                  : collect_moves<true, false>(stream, step, search, draw);
  } else {
    step.nesterov ? collect_moves<false, true>(stream, step, search, draw)
                  : collect_moves<false, false>(stream, step, search, draw);
  }
  stream.copy_on_device(sent.largest, &search.state->largest, sizeof(uint32_t));
  finish(stream, step.residual, search, sent, sent.takes_out ? step.residual : nullptr,
         sent.takes_out && sent.factor_masking ? step.velocity : nullptr);
}

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps
