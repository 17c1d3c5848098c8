#include "feed/cut_batch.h"

#include <algorithm>

namespace ps {

namespace {

// The examples of one part: [begin, end).
struct PartOfBatch {
  int64_t begin, end;
};

PartOfBatch part_of_batch(const PreparedBatch& prepared, int64_t examples, size_t part) {
  const int64_t begin = static_cast<int64_t>(part) * examples;
  return {begin, std::min(prepared.batch.size(), begin + examples)};
}

// Copies the samples of the part's examples; their offsets begin with 0 again.
void cut_samples(const SampledKeys& whole, const PartOfBatch& part, SampledKeys& out) {
  out.offsets.clear();
  out.keys.clear();
  if (whole.offsets.empty()) return;
  const uint32_t first = whole.offsets[static_cast<size_t>(part.begin)];
  for (int64_t b = part.begin; b <= part.end; ++b)
    out.offsets.push_back(whole.offsets[static_cast<size_t>(b)] - first);
  out.keys.assign(whole.keys.begin() + first, whole.keys.begin() + first + out.offsets.back());
}

// Deals the transposed part of a use out to the parts.  Positions of a key ascend, so that those of each
// part do.
// The outer loop goes through the touched keys in ascending order, the inner one through the positions of
// key m.  A part that meets a key for the first time begins an entry of `touched` and `starts` for it; as
// keys come in turn, it is the last entry whenever it is there.  Positions and examples are counted from
// the part's first.  The end of the last key's positions follows when all are dealt.
void deal_transposed(const KeyUse& whole, size_t position, size_t parameter, int64_t examples,
                     std::vector<PreparedBatch>& parts) {
  const auto use_of = [&](size_t part) -> KeyUse& { return parts[part].plans[parameter].uses[position]; };
  for (size_t m = 0; m < whole.touched.size(); ++m) {
    for (uint32_t i = whole.starts[m]; i < whole.starts[m + 1]; ++i) {
      const auto part = static_cast<size_t>(whole.examples[i] / examples);
      const auto first_example = static_cast<uint32_t>(static_cast<int64_t>(part) * examples);
      KeyUse& use = use_of(part);
      if (use.touched.empty() || use.touched.back() != whole.touched[m]) {
        use.touched.push_back(whole.touched[m]);
        use.starts.push_back(static_cast<uint32_t>(use.positions.size()));
      }
      use.positions.push_back(whole.positions[i] - whole.offsets[first_example]);
      use.examples.push_back(whole.examples[i] - first_example);
    }
  }
  for (size_t part = 0; part < parts.size(); ++part)
    use_of(part).starts.push_back(static_cast<uint32_t>(use_of(part).positions.size()));
}

// Cuts one use into the parts.  `index` is cut at the offsets of examples; it needs no change, since the
// parts have all keys of the plan.
void cut_use(const KeyUse& whole, size_t position, size_t parameter, int64_t examples,
             const PreparedBatch& prepared, std::vector<PreparedBatch>& parts) {
  for (size_t n = 0; n < parts.size(); ++n) {
    const PartOfBatch part = part_of_batch(prepared, examples, n);
    KeyUse& use = parts[n].plans[parameter].uses[position];
    use.index.assign(whole.index.begin() + whole.offsets[static_cast<size_t>(part.begin)],
                     whole.index.begin() + whole.offsets[static_cast<size_t>(part.end)]);
    for (std::vector<uint32_t>* list : {&use.touched, &use.starts, &use.positions, &use.examples})
      list->clear();
  }
  if (whole.transposed()) deal_transposed(whole, position, parameter, examples, parts);
}

}  // namespace

// Parts are made in three steps.  The first copies the examples and makes room for the plans.  The second
// cuts the uses, each for all parts at once, so that a transposed use is gone through only once.  The last
// lets the uses refer to the offsets of the parts' own batches, which do not move any more.
void cut_batch(const Network<float>& network, const PreparedBatch& prepared, int64_t examples,
               std::vector<PreparedBatch>& parts) {
  parts.resize(static_cast<size_t>((prepared.batch.size() + examples - 1) / examples));
  for (size_t n = 0; n < parts.size(); ++n) {
    const PartOfBatch part = part_of_batch(prepared, examples, n);
    parts[n].training = prepared.training;
    parts[n].batch.clear(network.schema());
    parts[n].batch.append_range(network.schema(), prepared.batch, part.begin, part.end);
    parts[n].samples.resize(prepared.samples.size());
    for (size_t u = 0; u < prepared.samples.size(); ++u)
      cut_samples(prepared.samples[u], part, parts[n].samples[u]);
    parts[n].plans.resize(prepared.plans.size());
    for (size_t p = 0; p < prepared.plans.size(); ++p) {
      parts[n].plans[p].keys = prepared.plans[p].keys;
      parts[n].plans[p].uses.resize(prepared.plans[p].uses.size());
    }
  }
  for (size_t p = 0; p < prepared.plans.size(); ++p) {
    for (size_t u = 0; u < prepared.plans[p].uses.size(); ++u)
      cut_use(prepared.plans[p].uses[u], u, p, examples, prepared, parts);
  }
  for (PreparedBatch& part : parts) network.adopt_plans(part);
}

}  // namespace ps
