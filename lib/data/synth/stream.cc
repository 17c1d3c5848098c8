#include "data/synth/stream.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"

namespace ps {
namespace {

// Examples of a block, and values when rows are long: the batch of a block, its text and the tables of the
// law then share the second-level cache.
constexpr int64_t kBlockExamples = 256, kBlockValues = int64_t{1} << 18;
// Blocks of a round for each thread: enough to even out their times.
constexpr int kBlocksPerThread = 4;

struct StreamBlock {
  uint64_t first;
  int64_t count;
  Sample sample;
  std::string bytes;
};

class Stream {
 public:
  Stream(const Generator& generator, const Writer& writer, const StreamOptions& options)
      : generator_(generator),
        writer_(writer),
        options_(options),
        block_examples_(std::min(options.max_block,
                                 std::clamp(kBlockValues / std::max<int64_t>(1, generator.max_row_values()),
                                            int64_t{1}, kBlockExamples))),
        pool_(options.threads),
        blocks_(options.threads == 1 ? 1 : static_cast<size_t>(options.threads * kBlocksPerThread)) {
    if (options.samples > UINT64_MAX - options.first)
      fail(Code::kUsage, "--first: example numbers end at 2^64");
  }

  void run(const StreamSink& sink, TruthReport* truth) {
    std::string frame;
    writer_.begin(frame);
    if (!sink(frame, 0)) return;
    for (uint64_t done = 0; wants_more(done);) {
      size_t used = plan_round(done);
      pool_.run(static_cast<int64_t>(used), [&](int64_t i) { fill(blocks_[static_cast<size_t>(i)]); });
      for (size_t i = 0; i < used; ++i) {
        if (truth != nullptr) truth->add(blocks_[i].sample);
        if (!sink(blocks_[i].bytes, blocks_[i].count)) return;
      }
    }
    frame.clear();
    writer_.end(frame);
    sink(frame, 0);
  }

 private:
  bool wants_more(uint64_t done) const {
    if (options_.stop && options_.stop()) return false;
    return options_.samples == 0 || done < options_.samples;
  }

  // Gives the next examples to blocks, moves `done` past them, and returns how many blocks have some.
  size_t plan_round(uint64_t& done) {
    size_t used = 0;
    for (StreamBlock& block : blocks_) {
      uint64_t left = options_.samples == 0 ? UINT64_MAX : options_.samples - done;
      if (left == 0) break;
      block.first = options_.first + done;
      block.count = static_cast<int64_t>(std::min<uint64_t>(left, static_cast<uint64_t>(block_examples_)));
      done += static_cast<uint64_t>(block.count);
      ++used;
    }
    return used;
  }

  void fill(StreamBlock& block) const {
    generator_.generate(block.first, block.count, block.sample);
    if (options_.sorted) sort_rows(writer_.schema(), block.sample.batch);
    block.bytes.clear();
    writer_.format(block.sample.batch, block.bytes);
  }

  const Generator& generator_;
  const Writer& writer_;
  const StreamOptions& options_;
  const int64_t block_examples_;
  ThreadPool pool_;
  std::vector<StreamBlock> blocks_;
};

}  // namespace

void generate_stream(const Generator& generator, const Writer& writer, const StreamOptions& options,
                     const StreamSink& sink, TruthReport* truth) {
  Stream(generator, writer, options).run(sink, truth);
}

}  // namespace ps
