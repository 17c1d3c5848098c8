// A stream of synthetic examples as bytes of a format, made by many threads, in order.  Used by ps-datagen.
#ifndef PS_DATA_SYNTH_STREAM_H_
#define PS_DATA_SYNTH_STREAM_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "data/synth/generator.h"
#include "data/synth/truth.h"
#include "data/writer.h"

namespace ps {

struct StreamOptions {
  uint64_t first = 0;    // number of the first example
  uint64_t samples = 0;  // 0: endless
  int threads = 1;
  bool sorted = false;                   // ids of a row in ascending order
  int64_t max_block = INT64_MAX;         // examples handed to the sink at once; few for a slow, steady stream
  std::function<bool()> stop = nullptr;  // called now and then; true ends the stream early, but properly
};

// Takes the next bytes, which hold `examples` examples.  Returning false breaks the stream off.
using StreamSink = std::function<bool(std::string_view bytes, int64_t examples)>;

// Generates and formats the examples that `options` ask for, and hands them to `sink` on the caller's thread.
// The writer's beginning comes first and its end last, each with 0 examples.  The bytes are the same for any
// number of threads.  Adds the examples to `truth`, unless it is null.  Memory does not grow with the length
// of the stream.  Throws kUsage when the numbers of the examples would pass 2^64.
void generate_stream(const Generator& generator, const Writer& writer, const StreamOptions& options,
                     const StreamSink& sink, TruthReport* truth);

}  // namespace ps

#endif  // PS_DATA_SYNTH_STREAM_H_
