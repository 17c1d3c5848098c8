// HeldWork: work for a stream that is held back until it is complete, and then started together.  Work that is the same
// as some time before, in each argument, is captured as a graph, and from then on started by one call.  Used by
// gpu_kernels.cu; compiled for CUDA and for the emulator.
//
// A graph uses the same memory as the work that it stands for, so it fits whatever this memory holds now: a step of
// training is the same work as the one before if its arrays have the same sizes and places.
#ifndef PS_MODEL_CUDA_HELD_WORK_H_
#define PS_MODEL_CUDA_HELD_WORK_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gpu/device.h"
#include "model/cuda/described_value.h"
#include "model/model_device.h"

namespace ps {

inline namespace PS_GPU_NAMESPACE {

// One owner thread.
class HeldWork {
 public:
  explicit HeldWork(gpu::Stream& stream) : stream_(stream) {}

  // Work is held from begin to end; end starts what is held.  holds returns true between them, unless the work of this part
  // has been new for long: a device that waits for work which is no graph in the end has only lost time.
  void begin(BatchPart part) {
    num_new_ = &num_new_of_[static_cast<size_t>(part)];
    holds_ = *num_new_ < kMostNew || ++*num_new_ % kTryAgain < 2;
  }
  void end() {
    holds_ = false;
    start();
    if (found_known_) {
      *num_new_ = 0;
    } else if (found_new_ && *num_new_ < kMostNew) {
      ++*num_new_;
    }
    found_new_ = found_known_ = false;
  }
  bool holds() const { return holds_; }

  // Calls work(stream), now or, while work is held, when that is started.  `arguments`, which have no pointers to the
  // host's memory that could change before, are all that the work depends on beside its type.
  template <class Work, class... Arguments>
  void add(const Work& work, const Arguments&... arguments) {
    if (!holds_) return work(stream_);
    append_values(description_, &kTypeOf<Work>, arguments...);
    work_.push_back(work);
  }

  // Starts what is held, before something waits for it or uses its memory.
  void start() {
    if (work_.empty()) return;
    const Pieces work = std::exchange(work_, {});
    const std::string description = std::exchange(description_, {});
    if (work.size() < kLeastWork) return start_each(work);
    ++counts_.started;
    if (!start_graph(description, work)) start_each(work);
  }

  const StartedWork& counts() const { return counts_; }

 private:
  // Work that was new kMostNew times in a row is held two of kTryAgain times, to see if it has come to be the same.
  static constexpr uint32_t kMostNew = 8, kTryAgain = 32;

  // One piece of work is started faster than a graph is.  No more than kMostKnown kinds are known; the one that was
  // started last before all others is forgotten for a new one.
  static constexpr size_t kLeastWork = 2, kMostKnown = 64;

  // A variable for each type of work, whose address stands for it.
  template <class Work>
  static constexpr char kTypeOf = 0;

  using Pieces = std::vector<std::function<void(gpu::Stream&)>>;

  // Work that was started before: at first without a graph.
  struct Known {
    std::optional<gpu::Graph> graph;
    bool cannot_be_captured = false;
    uint64_t last_start = 0;
  };

  // Returns false if the work has to be started piece by piece: the first time, since work that is done once needs no
  // graph, and since libraries prepare themselves in their first call, which no capture allows.
  bool start_graph(const std::string& description, const Pieces& work) {
    const auto [found, is_new] = known_.try_emplace(description);
    Known& known = found->second;
    known.last_start = counts_.started;
    (is_new ? found_new_ : found_known_) = true;
    if (is_new) forget_oldest();
    if (is_new || known.cannot_be_captured) return false;
    if (!known.graph) capture(work, known);
    if (!known.graph) return false;
    stream_.replay(*known.graph);
    ++counts_.graphs;
    counts_.in_graphs += work.size();
    return true;
  }

  // Work that cannot be captured is started piece by piece from now on, which shows what is wrong with it if it is
  // wrong at all.
  void capture(const Pieces& work, Known& known) {
    try {
      stream_.begin_capture();
    } catch (const Error&) {
      known.cannot_be_captured = true;
      return;
    }
    try {
      start_each(work);
    } catch (...) {  // whatever it is, the capture has to end
      known.cannot_be_captured = true;
    }
    try {
      known.graph = stream_.end_capture();
    } catch (const Error&) {
      known.cannot_be_captured = true;
    }
    if (known.cannot_be_captured) known.graph.reset();
  }

  void start_each(const Pieces& work) {
    for (const auto& piece : work) piece(stream_);
  }

  void forget_oldest() {
    if (known_.size() <= kMostKnown) return;
    known_.erase(std::ranges::min_element(known_, {}, [](const auto& one) { return one.second.last_start; }));
  }

  gpu::Stream& stream_;
  bool holds_ = false;
  std::array<uint32_t, 3>
      num_new_of_{};  // by part: how many times in a row its work was new, or was not looked at
  uint32_t* num_new_ = num_new_of_.data();        // of the present part
  bool found_new_ = false, found_known_ = false;  // since begin: work that was new, and work that was not
  Pieces work_;
  std::string description_;                       // of work_: types and arguments
  std::unordered_map<std::string, Known> known_;  // by description
  StartedWork counts_;
};

}  // namespace PS_GPU_NAMESPACE

}  // namespace ps

#endif  // PS_MODEL_CUDA_HELD_WORK_H_
