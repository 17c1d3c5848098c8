#include "membership/etcd_election.h"

#include <algorithm>

#include "base/error.h"
#include "config/spec.h"
#include "membership/save_lease.h"

namespace ps {

namespace {

constexpr std::string_view kSaves = "saves/", kSignals = "signals/";
constexpr const char* kSignal = "signals/save";

struct RecordText {
  uint64_t run = 0, generation = 0;
  int rank = 0;
  bool saved = false;

  static const ObjectSpec<RecordText>& spec() {
    static const ObjectSpec<RecordText> spec = [] {
      ObjectSpec<RecordText> s;
      s.field("run", &RecordText::run, "of the job").must();
      s.field("rank", &RecordText::rank, "of the trainer").at_least(0).must();
      s.field("generation", &RecordText::generation, "of its process").must();
      s.field("saved", &RecordText::saved, "the model is whole");
      return s;
    }();
    return spec;
  }
};

std::string text_of(const Candidate& who, bool saved) {
  return RecordText::spec().to_json({who.run, who.generation, who.rank, saved}).dump();
}

int64_t lease_seconds(Duration length) {
  return std::chrono::ceil<std::chrono::seconds>(length).count();
}

}  // namespace

std::map<std::string, EtcdElection::Record> EtcdElection::records(std::string_view prefix) {
  std::map<std::string, Record> all;
  for (const EtcdEntry& entry : client_.list(prefix)) {
    try {
      const RecordText text = RecordText::spec().parse(parse_json(entry.value, "value"), "value");
      all[entry.key] = {{text.run, text.rank, text.generation}, text.saved, entry.mod_revision};
    } catch (const Error& error) {
      fail(Code::kData, "etcd: key ", quote(entry.key), ": ", error.message());
    }
  }
  return all;
}

// Returns false for a record of an earlier run, which does not count.  A process with the rank of the one
// that saved has replaced it: the earlier process has ended.
std::optional<Saver> EtcdElection::refusal(const Candidate& candidate, const std::string& name, bool asked,
                                           const std::map<std::string, Record>& saves,
                                           const std::map<std::string, Record>& signals) const {
  auto counts = [&](const Record& record) { return record.who.run == candidate.run; };
  auto other = [&](const Record& record) { return counts(record) && record.who.rank != candidate.rank; };
  auto same = saves.find(cat(kSaves, name));
  if (same != saves.end() && counts(same->second) && (same->second.saved || other(same->second))) {
    return Saver{false, same->second.who.rank};
  }
  if (!asked) return std::nullopt;
  for (const auto& [key, record] : signals) {
    if (other(record)) return Saver{false, record.who.rank};
  }
  for (const auto& [key, record] : saves) {
    if (other(record) && !record.saved) return Saver{false, record.who.rank};
  }
  return std::nullopt;
}

// Returns nothing if another process has changed what was read.
std::optional<Saver> EtcdElection::try_begin(const Candidate& candidate, const std::string& name,
                                             bool asked) {
  const std::string key = cat(kSaves, name);
  const auto saves = records(kSaves), signals = records(kSignals);
  if (auto refused = refusal(candidate, name, asked, saves, signals)) return refused;
  auto unchanged = [](const std::map<std::string, Record>& all, const std::string& at) {
    const auto found = all.find(at);
    return EtcdCondition{
        .key = at, .created = false, .revision = found == all.end() ? 0 : found->second.mod_revision};
  };
  const int64_t lease = client_.grant(lease_seconds(SaveLease::kLength));
  std::vector<EtcdCondition> conditions = {unchanged(saves, key)};
  std::vector<EtcdPut> puts = {{.key = key, .value = text_of(candidate, false), .lease = lease}};
  if (asked) {
    conditions.push_back(unchanged(signals, kSignal));
    puts.push_back({.key = kSignal,
                    .value = text_of(candidate, false),
                    .lease = client_.grant(lease_seconds(SaveLease::kOneSignal))});
  }
  if (!client_.put_if(conditions, puts)) return std::nullopt;
  leases_[name] = lease;
  return Saver{true, candidate.rank};
}

Saver EtcdElection::ask(const Candidate& candidate, SaveStage stage, const std::string& name) {
  constexpr int kMostTries = 10;
  if (stage == SaveStage::kBegin || stage == SaveStage::kAsked) {
    for (int i = 0; i < kMostTries; ++i) {
      if (auto saver = try_begin(candidate, name, stage == SaveStage::kAsked)) return *saver;
    }
    fail(Code::kUnavailable, "etcd: others change who saves ", quote(name), " again and again");
  }
  const auto saves = records(kSaves);
  const auto found = saves.find(cat(kSaves, name));
  if (found == saves.end()) return {false, candidate.rank};
  const Record& record = found->second;
  if (record.who != candidate) return {false, record.who.rank};
  if (record.saved) return {stage == SaveStage::kDone, candidate.rank};  // the request was repeated
  if (stage != SaveStage::kGoesOn) return end(candidate, name, record, stage == SaveStage::kDone);
  return {client_.keep_alive(leases_[name]), candidate.rank};
}

// A finished save stays recorded; after a failed one, another trainer may save.
Saver EtcdElection::end(const Candidate& candidate, const std::string& name, const Record& record,
                        bool saved) {
  const std::string key = cat(kSaves, name);
  const std::vector<EtcdCondition> unchanged = {
      {.key = key, .created = false, .revision = record.mod_revision}};
  const bool done =
      saved ? client_.put_if(unchanged, {{.key = key, .value = text_of(candidate, true)}}).has_value()
            : client_.erase_if(unchanged, key).has_value();
  leases_.erase(name);
  return {done, candidate.rank};
}

}  // namespace ps
