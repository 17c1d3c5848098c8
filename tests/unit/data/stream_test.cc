// Streams of synthetic examples by many threads.
#include "data/synth/stream.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "support/environment.h"

namespace ps::stream_test {

static std::string stream_of(const Generator& generator, const StreamOptions& options) {
  std::string out;
  std::unique_ptr<Writer> writer = make_writer(find_writer("records"), generator.traits());
  auto sink = [&](std::string_view bytes, int64_t) { return out += bytes, true; };
  generate_stream(generator, *writer, options, sink, nullptr);
  return out;
}

// A stream of a few blocks may be over before each thread has had its part.
TEST(Stream, ShortOnesAreWholeWhicheverThreadComesFirst) {
  const GeneratorEntry& kind = find_generator("ctr");
  SynthOptions options = kind.defaults();
  options.dim = 5000;
  std::unique_ptr<Generator> generator = kind.make(options, 1);
  std::string expected = stream_of(*generator, {.samples = 40, .max_block = 10});
  for (int64_t i = tries(500); i > 0; --i) {
    ASSERT_EQ(stream_of(*generator, {.samples = 40, .threads = 4, .max_block = 10}), expected);
  }
}

// Refuses to write its fourth block.
class FailingWriter : public Writer {
 public:
  using Writer::Writer;
  void format(const Batch& batch, std::string& out) const override {
    if (batch.labels.size() < 10) fail(Code::kUsage, "no room");
    out += 'x';
  }
};

TEST(Stream, HandsOutAllBlocksBeforeAFault) {
  const GeneratorEntry& kind = find_generator("sparse-binary");
  std::unique_ptr<Generator> generator = kind.make(kind.defaults(), 1);
  FailingWriter writer(generator->traits().schema);
  for (int threads : {1, 2, 5}) {
    std::string out;
    auto sink = [&](std::string_view bytes, int64_t) { return out += bytes, true; };
    EXPECT_THROW(generate_stream(*generator, writer, {.samples = 35, .threads = threads, .max_block = 10},
                                 sink, nullptr),
                 Error);
    EXPECT_EQ(out, "xxx") << threads << " threads";
  }
}

}  // namespace ps::stream_test
