// ServerSaveRecords: the records of saves in the memory of the job's first shard.  Used by ShardHost.
#ifndef PS_MEMBERSHIP_SERVER_SAVE_RECORDS_H_
#define PS_MEMBERSHIP_SERVER_SAVE_RECORDS_H_

#include <functional>
#include <optional>
#include <utility>

#include "membership/save_election.h"

namespace ps {

// Keeps the newest records only.  One owner thread.
class ServerSaveRecords final : public SaveRecords {
 public:
  explicit ServerSaveRecords(std::function<Time()> now) : now_(std::move(now)) {}

  std::map<std::string, SaveRecord> list() override;
  bool put(const std::vector<SaveChange>& changes) override;
  bool erase(const std::string& key, int64_t version) override;
  bool renew(const std::string& key) override;

  // Returns true if a trainer is saving the model at the end of a pass.
  bool saves_pass() const;

 private:
  struct Entry {
    SaveRecord record;
    Duration lease{};
    std::optional<Time> until;  // the end of the lease; none: the record stays
  };

  bool is_over(const Entry& entry) const { return entry.until && *entry.until <= now_(); }
  int64_t version_of(const std::string& key) const;
  std::optional<Time> end_of(Duration lease) const;
  void drop_oldest();

  const std::function<Time()> now_;
  int64_t last_version_ = 0;
  std::map<std::string, Entry> entries_;  // by key
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_SERVER_SAVE_RECORDS_H_
