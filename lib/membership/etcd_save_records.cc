#include "membership/etcd_save_records.h"

#include "base/error.h"
#include "config/spec.h"

namespace ps {

namespace {

struct RecordText {
  uint64_t run = 0, generation = 0;
  int rank = 0;
  bool asked = false, saved = false;

  static const ObjectSpec<RecordText>& spec() {
    static const ObjectSpec<RecordText> spec = [] {
      ObjectSpec<RecordText> s;
      s.field("run", &RecordText::run, "of the job").must();
      s.field("rank", &RecordText::rank, "of the trainer").at_least(0).must();
      s.field("generation", &RecordText::generation, "of its process").must();
      s.field("asked", &RecordText::asked, "a signal has asked for the model");
      s.field("saved", &RecordText::saved, "the model is whole");
      return s;
    }();
    return spec;
  }
};

std::string text_of(const SaveRecord& record) {
  const auto& [run, rank, generation] = record.who;
  return RecordText::spec().to_json({run, generation, rank, record.asked, record.saved}).dump();
}

EtcdCondition has_version(const std::string& key, int64_t version) {
  return {.key = key, .created = false, .revision = version};
}

}  // namespace

std::map<std::string, SaveRecord> EtcdSaveRecords::list() {
  std::map<std::string, SaveRecord> all;
  for (std::string_view prefix : {"saves/", "signals/"}) {
    for (const EtcdEntry& entry : client_.list(prefix)) {
      try {
        const RecordText text = RecordText::spec().parse(parse_json(entry.value, "value"), "value");
        all[entry.key] = {{text.run, text.rank, text.generation}, text.asked, text.saved, entry.mod_revision};
      } catch (const Error& error) {
        fail(Code::kData, "etcd: key ", quote(entry.key), ": ", error.message());
      }
    }
  }
  return all;
}

// Each record with a lease gets a lease of its own, granted before the change; if the change is not made,
// these leases expire unused.  A record without a lease stays.
bool EtcdSaveRecords::put(const std::vector<SaveChange>& changes) {
  std::vector<EtcdCondition> conditions;
  std::vector<EtcdPut> puts;
  for (const SaveChange& change : changes) {
    const int64_t seconds = std::chrono::ceil<std::chrono::seconds>(change.lease).count();
    conditions.push_back(has_version(change.key, change.version));
    puts.push_back({change.key, text_of(change.record), seconds == 0 ? 0 : client_.grant(seconds)});
  }
  if (!client_.put_if(conditions, puts)) return false;
  for (const EtcdPut& each : puts) leases_[each.key] = each.lease;
  return true;
}

bool EtcdSaveRecords::erase(const std::string& key, int64_t version) {
  return client_.erase_if({has_version(key, version)}, key).has_value();
}

bool EtcdSaveRecords::renew(const std::string& key) {
  return client_.keep_alive(leases_[key]);
}

}  // namespace ps
