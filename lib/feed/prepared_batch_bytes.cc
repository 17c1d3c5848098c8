#include "feed/prepared_batch_bytes.h"

#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "data/batch_bytes.h"

namespace ps {

namespace {

constexpr uint32_t kDrawn = 0;  // the list of a use whose ids a layer draws

void put_size(std::string& out, size_t size) {
  put(out, static_cast<uint32_t>(size));
}

// Returns 1 + the slot that a use looks up, which is the one whose offsets it refers to; kDrawn if there is
// none.
uint32_t list_of(const KeyUse& use, const Batch& batch) {
  for (size_t s = 0; s < batch.slots.size(); ++s) {
    const std::vector<uint32_t>& offsets = batch.slots[s].offsets;
    if (!offsets.empty() && offsets.data() == use.offsets.data()) return static_cast<uint32_t>(s) + 1;
  }
  return kDrawn;
}

void encode_plan(const KeyPlan& plan, const Batch& batch, std::string& out) {
  put_size(out, plan.keys.size());
  put_array<uint64_t>(out, plan.keys);
  put_size(out, plan.uses.size());
  for (const KeyUse& use : plan.uses) {
    put(out, list_of(use, batch));
    put_size(out, use.index.size());
    put_array<uint32_t>(out, use.index);
  }
}

// Reads one prepared batch of a network.  Lengths are compared with what is left, and numbers of plans and uses with
// the network's, before anything is allocated for them.
class PreparedDecoder {
 public:
  PreparedDecoder(std::string_view bytes, const Network<float>& network, PreparedBatch& prepared)
      : in_(bytes), network_(network), prepared_(prepared) {}

  // Decodes in the order of the grammar.  Slots without ids wait for the first use that names them; none
  // may be left waiting at the end.
  void decode() {
    const uint8_t training = in_.get<uint8_t>();
    expect(training <= 1, "flag of training");
    prepared_.training = training == 1;
    prepared_.step = in_.get<int64_t>();
    waits_for_keys_ = decode_batch(in_, network_.schema().slots.size(), prepared_.batch);
    const uint32_t plans = in_.get<uint32_t>();
    expect(plans == network_.parameters().size(), "number of plans");
    prepared_.plans.resize(plans);
    for (size_t p = 0; p < plans; ++p) decode_plan(p);
    expect(in_.remaining() == 0, "end");
    for (bool waits : waits_for_keys_) expect(!waits, "keys of a slot");
  }

 private:
  void expect(bool good, const char* what) const {
    if (in_.ok() && good) return;
    fail(Code::kData, "prepared batch: its ", what, " makes no sense, with ", in_.remaining(), " bytes left");
  }

  template <class Scalar>
  void get(std::vector<Scalar>& out, size_t size, const char* what) {
    expect(in_.remaining() / sizeof(Scalar) >= size, what);
    out.resize(size);
    in_.get_array(std::span<Scalar>(out));
  }

  void decode_plan(size_t parameter) {
    KeyPlan& plan = prepared_.plans[parameter];
    plan.counts.clear();
    get(plan.keys, in_.get<uint32_t>(), "keys");
    const uint32_t uses = in_.get<uint32_t>();
    expect(uses <= network_.num_uses(parameter), "number of uses");
    plan.uses.resize(uses);
    for (KeyUse& use : plan.uses) {
      const uint32_t list = in_.get<uint32_t>();
      get(use.index, in_.get<uint32_t>(), "indices");
      expect(list <= waits_for_keys_.size(), "list of a use");
      if (list != kDrawn && waits_for_keys_[list - 1]) fill_slot_keys(plan, use, list - 1);
    }
  }

  // The ids of a slot are the keys that the first use of it names.
  void fill_slot_keys(const KeyPlan& plan, const KeyUse& use, size_t number) {
    SlotData& slot = prepared_.batch.slots[number];
    slot.keys.resize(use.index.size());
    for (size_t k = 0; k < use.index.size(); ++k) {
      expect(use.index[k] < plan.keys.size(), "index");
      slot.keys[k] = plan.keys[use.index[k]];
    }
    waits_for_keys_[number] = false;
  }

  ByteReader in_;
  const Network<float>& network_;
  PreparedBatch& prepared_;
  std::vector<bool> waits_for_keys_;  // by slot: its keys are still to come, with its first use
};

}  // namespace

// Slots that a use looks up are sent without their ids, because the plan's keys and the use's index have
// them already.
void encode_prepared(const PreparedBatch& prepared, std::string& out) {
  std::vector<bool> looked_up(prepared.batch.slots.size());
  for (const KeyPlan& plan : prepared.plans) {
    for (const KeyUse& use : plan.uses) {
      const uint32_t list = list_of(use, prepared.batch);
      if (list != kDrawn) looked_up[list - 1] = true;
    }
  }
  put(out, static_cast<uint8_t>(prepared.training));
  put(out, prepared.step);
  encode_batch(prepared.batch, looked_up, out);
  put_size(out, prepared.plans.size());
  for (const KeyPlan& plan : prepared.plans) encode_plan(plan, prepared.batch, out);
}

void decode_prepared(std::string_view bytes, const Network<float>& network,
                     Network<float>::Planners& planners, PreparedBatch& prepared) {
  PreparedDecoder(bytes, network, prepared).decode();
  network.adopt_received(planners, prepared);
}

}  // namespace ps
