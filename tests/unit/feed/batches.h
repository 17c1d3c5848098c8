// Networks, data and prepared batches for the tests of feed.
#ifndef PS_TESTS_UNIT_FEED_BATCHES_H_
#define PS_TESTS_UNIT_FEED_BATCHES_H_

#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "config/spec.h"
#include "model/network.h"

namespace ps {

// A dense slot, one of ids below 60 and one of any ids, which two and one layer look up; and a dense table that
// ids reach.
inline const char* const kFeedModel = R"({
  "layers": [{"name": "wide", "type": "fc", "input": "small", "size": 1, "sparse_update": true,
              "weight": {"rows": {"admission": {"count": 2}}}},
             {"name": "pairs", "type": "fm", "input": "small", "factors": 3, "sparse_update": true},
             {"name": "vectors", "type": "embedding", "input": "large", "size": 2, "sparse_update": true},
             {"name": "numbers", "type": "fc", "input": "dense", "size": 1},
             {"name": "reached", "type": "fc", "input": "small", "size": 1},
             {"name": "flat", "type": "fc", "input": "vectors", "size": 1},
             {"name": "score", "type": "add", "input": ["wide", "pairs", "numbers", "reached", "flat"]}],
  "cost": {"type": "binary_cross_entropy", "input": "score"}})";

// Layers that draw the ids that they look up.
inline const char* const kSampledModel = R"({
  "layers": [{"name": "hidden", "type": "fc", "input": "small", "size": 4, "sparse_update": true},
             {"name": "cost", "type": "nce", "input": "hidden", "num_classes": 20, "num_neg_samples": 3}],
  "cost": {"type": "sum", "input": "cost"}})";

inline DataSchema feed_schema() {
  return {{{.name = "small", .dense = false, .dim = 60},
           {.name = "dense", .dense = true, .dim = 3},
           {.name = "large", .dense = false, .dim = 0},
           {.name = "unused", .dense = false, .dim = 9}}};
}

inline Network<float> feed_network(const char* model) {
  return Network<float>(ModelOptions::spec().parse(parse_json(model, "model"), "model"), feed_schema(), 7);
}

inline void add_ids(Random& random, uint64_t bound, SlotData& slot) {
  for (uint64_t i = random.below(5); i > 0; --i) {
    slot.keys.push_back(bound == 0 ? hash_key(random.below(1000)) : random.below(bound));
  }
  slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
}

// Some examples have no id in a slot.
inline Batch feed_batch(uint64_t seed, int examples, bool weighted = false) {
  Random random(seed, 5);
  Batch batch;
  batch.clear(feed_schema());
  for (int b = 0; b < examples; ++b) {
    batch.labels.push_back(static_cast<float>(random.below(2)));
    if (weighted) batch.weights.push_back(static_cast<float>(random.uniform()));
    if (weighted) batch.groups.push_back(random.below(4));
    for (size_t s : {0, 2, 3})
      add_ids(random, static_cast<uint64_t>(feed_schema().slots[s].dim), batch.slots[s]);
    for (int d = 0; d < 3; ++d) batch.slots[1].values.push_back(static_cast<float>(random.normal()));
  }
  if (weighted) {
    for (size_t k = 0; k < batch.slots[0].keys.size(); ++k) {
      batch.slots[0].values.push_back(static_cast<float>(random.uniform()));
    }
  }
  return batch;
}

inline void prepare_batch(const Network<float>& network, KeyOrder order, PreparedBatch& prepared) {
  Network<float>::Planners planners = network.make_planners(order);
  network.prepare(planners, prepared);
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_FEED_BATCHES_H_
