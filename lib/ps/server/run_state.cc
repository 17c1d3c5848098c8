#include "ps/server/run_state.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

static constexpr uint32_t kHasRest = uint32_t{1} << 31;  // flag in the number of trainers

// state := clock:u64 pass:u64 trainers:u32 (batches:u64 pass_batches:u64)[trainers] rest?
// The highest bit of the number of trainers is set if the rest of the pass was dealt; then `rest` follows
// (RestOfPass).
void RunState::save(std::string& out) const {
  put(out, clock);
  put(out, pass);
  const bool has_rest = rest.dealings() > 0;
  put(out, static_cast<uint32_t>(trainers.size()) | (has_rest ? kHasRest : 0));
  for (const Progress& trainer : trainers) {
    put(out, trainer.batches);
    put(out, trainer.pass_batches);
  }
  if (has_rest) rest.save(out);
}

// The bytes of all trainers must be there before memory for so many is taken.
RunState RunState::load(ByteReader& in) {
  RunState state;
  state.clock = in.get<uint64_t>();
  state.pass = in.get<uint64_t>();
  const uint32_t number = in.get<uint32_t>(), count = number & ~kHasRest;
  if (!in.ok() || !in.has(count * sizeof(Progress))) fail(Code::kCorrupt, "state of the run is cut short");
  state.trainers.resize(count);
  for (Progress& trainer : state.trainers) {
    trainer.batches = in.get<uint64_t>();
    trainer.pass_batches = in.get<uint64_t>();
  }
  state.rest.begin_pass(count);
  if ((number & kHasRest) != 0 && !state.rest.load(in, count)) {
    fail(Code::kCorrupt, "state of the run: what was left of its pass makes no sense");
  }
  return state;
}

bool RunState::pass_begun() const {
  return std::ranges::any_of(trainers, [](const Progress& each) { return each.pass_batches > 0; });
}

// Only totals can be dealt to another number of trainers.  The strands of a dealing cannot, so every rank
// gets its own share of the pass again.
RunState RunState::dealt_to(size_t num_trainers) const {
  if (trainers.size() == num_trainers) return *this;
  Progress total;
  for (const Progress& trainer : trainers) {
    total.batches += trainer.batches;
    total.pass_batches += trainer.pass_batches;
  }
  // Returns the number of batches b in [0, batches) with b mod num_trainers == rank.
  auto share = [num_trainers](uint64_t batches, uint64_t rank) {
    return batches <= rank ? 0 : (batches - rank + num_trainers - 1) / num_trainers;
  };
  RunState dealt{clock, pass, {}};
  dealt.rest.begin_pass(num_trainers);
  for (uint64_t rank = 0; rank < num_trainers; ++rank) {
    dealt.trainers.push_back({share(total.batches, rank), share(total.pass_batches, rank)});
  }
  return dealt;
}

}  // namespace ps
