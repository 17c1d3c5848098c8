#include "membership/save_election.h"

#include <optional>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

namespace {

constexpr const char* kSignalKey = "signals/save";

std::string save_key(const std::string& name) {
  return cat("saves/", name);
}

// A model that is saved within a pass is named after its batch, "pass-00003-batch-17"; one at the end of a pass
// is named after the pass alone.
bool is_of_batch(const std::string& name) {
  return name.find("-batch-") != std::string::npos;
}

// One attempt to answer a request.  It gives no answer if another process has changed the records at the same
// time; then the caller makes another attempt.  One owner thread.
class ElectionAttempt {
 public:
  ElectionAttempt(SaveRecords& records, const Candidate& candidate, SaveStage stage, const std::string& name)
      : records_(records),
        candidate_(candidate),
        stage_(stage),
        key_(save_key(name)),
        of_batch_(is_of_batch(name)),
        all_(records.list()),
        same_(find(key_)) {}

  // Answers by case, in this order.  A trainer that goes on with a save, or ends it, either has the record
  // of this model, or learns that another trainer has it.  If there is no record, a save that has failed
  // needs none.  In all other cases the candidate begins, or begins again because its record was lost: it
  // is refused if another trainer saves, and else gets a record.  A save that is complete gets its record
  // here, and is marked as saved in the next attempt.
  std::optional<Saver> answer() {
    const bool begins = stage_ == SaveStage::kBegin || stage_ == SaveStage::kAsked;
    if (!begins && same_ != nullptr) {
      return same_->who == candidate_ ? go_on() : Saver{false, same_->who.rank};
    }
    if (stage_ == SaveStage::kFailed) return Saver{true, candidate_.rank};  // it has no record any more
    if (auto refused = refusal()) return refused;
    const bool recorded = begin();
    return recorded && stage_ != SaveStage::kDone ? std::optional(Saver{true, candidate_.rank})
                                                  : std::nullopt;
  }

 private:
  // A record of another run does not count, and is replaced.
  const SaveRecord* find(const std::string& key) const {
    const auto found = all_.find(key);
    return found != all_.end() && found->second.who.run == candidate_.run ? &found->second : nullptr;
  }

  // Returns true if another trainer than the candidate saves.  A process with the same rank has replaced the
  // trainer of the record, which must have ended.
  bool is_of_other(const SaveRecord& record) const {
    return record.who.run == candidate_.run && record.who.rank != candidate_.rank;
  }

  // Changes the candidate's own record as the stage says: renews its lease, marks the model as saved, for
  // good, or removes the record.
  std::optional<Saver> go_on() {
    const Saver still{true, candidate_.rank};
    if (same_->saved) return Saver{stage_ == SaveStage::kDone, candidate_.rank};  // the request was repeated
    bool changed = false;
    if (stage_ == SaveStage::kGoesOn) {
      changed = records_.renew(key_);
    } else if (stage_ == SaveStage::kDone) {
      changed = records_.put({{key_, same_->version, {candidate_, same_->asked, true}, Duration()}});
    } else {
      changed = records_.erase(key_, same_->version);
    }
    return changed ? std::optional(still) : std::nullopt;
  }

  // A model that is saved, or that another trainer saves, is not begun again.  On a signal, every trainer
  // may ask, and each may name another batch: so any save of another trainer refuses the candidate, also
  // the record of the signal itself, which lasts until all trainers must have received it.
  std::optional<Saver> refusal() const {
    if (same_ != nullptr && (same_->saved || is_of_other(*same_))) return Saver{false, same_->who.rank};
    if (stage_ != SaveStage::kAsked) return std::nullopt;
    for (const auto& [key, record] : all_) {
      if (is_of_other(record) && !record.saved) return Saver{false, record.who.rank};
    }
    return std::nullopt;
  }

  // Writes a record for the candidate.  A record that was lost and is written again must keep the kind of its
  // save.  Servers begin no checkpoint while a model of a pass is saved, and a save on a signal waits for a
  // checkpoint: taken for one of a pass, it would wait for ever.
  bool begin() {
    auto version = [this](const std::string& key) {
      const auto found = all_.find(key);
      return found == all_.end() ? 0 : found->second.version;
    };
    const bool asks = stage_ == SaveStage::kAsked;
    const SaveRecord record{candidate_, asks || (stage_ != SaveStage::kBegin && of_batch_), false};
    std::vector<SaveChange> changes = {{key_, version(key_), record, kSaveLeaseLength}};
    if (asks) changes.push_back({kSignalKey, version(kSignalKey), record, kOneSignal});
    return records_.put(changes);
  }

  SaveRecords& records_;
  const Candidate& candidate_;
  const SaveStage stage_;
  const std::string key_;
  const bool of_batch_;
  const std::map<std::string, SaveRecord> all_;
  const SaveRecord* const same_;  // the record of this name and run; null: there is none
};

}  // namespace

Saver elect_saver(SaveRecords& records, const Candidate& candidate, SaveStage stage,
                  const std::string& name) {
  constexpr int kMostTries = 10;
  for (int i = 0; i < kMostTries; ++i) {
    if (auto saver = ElectionAttempt(records, candidate, stage, name).answer()) return *saver;
  }
  fail(Code::kUnavailable, "other trainers change the record of ", quote(name), " again and again");
}

std::string encode_save_request(const SaveRequest& request) {
  std::string out;
  put(out, request.run);
  put(out, static_cast<uint8_t>(request.stage));
  out += request.name;
  return out;
}

SaveRequest decode_save_request(std::span<const char> body) {
  ByteReader in({body.data(), body.size()});
  SaveRequest request;
  request.run = in.get<uint64_t>();
  const uint8_t stage = in.get<uint8_t>();
  request.name = in.get_bytes(in.remaining());
  if (!in.ok() || stage > static_cast<uint8_t>(SaveStage::kFailed)) {
    fail(Code::kData, "save lease: stage ", int{stage}, " in ", body.size(), " bytes");
  }
  request.stage = static_cast<SaveStage>(stage);
  return request;
}

std::string encode_saver(const Saver& saver) {
  std::string out;
  put(out, static_cast<uint8_t>(saver.elected));
  put(out, static_cast<uint32_t>(saver.rank));
  return out;
}

Saver decode_saver(std::span<const char> body) {
  ByteReader in({body.data(), body.size()});
  const bool elected = in.get<uint8_t>() != 0;
  const int rank = static_cast<int>(in.get<uint32_t>());
  if (!in.ok() || in.remaining() > 0) fail(Code::kData, "save lease: an answer of ", body.size(), " bytes");
  return {elected, rank};
}

}  // namespace ps
