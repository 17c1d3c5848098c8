#include "membership/server_save_records.h"

#include <algorithm>

namespace ps {

namespace {

constexpr size_t kMostRecords = 16;

}  // namespace

// Records whose lease is over disappear here, since nothing else runs when a lease ends.
std::map<std::string, SaveRecord> ServerSaveRecords::list() {
  std::erase_if(entries_, [this](const auto& each) { return is_over(each.second); });
  std::map<std::string, SaveRecord> all;
  for (const auto& [key, entry] : entries_) all.emplace(key, entry.record);
  return all;
}

int64_t ServerSaveRecords::version_of(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? 0 : found->second.record.version;
}

std::optional<Time> ServerSaveRecords::end_of(Duration lease) const {
  return lease == Duration() ? std::nullopt : std::optional(add_time(now_(), lease));
}

// All versions are compared before anything changes, so that the changes are made together or not at all.
bool ServerSaveRecords::put(const std::vector<SaveChange>& changes) {
  auto unchanged = [this](const SaveChange& change) { return version_of(change.key) == change.version; };
  if (!std::ranges::all_of(changes, unchanged)) return false;
  for (const SaveChange& change : changes) {
    Entry& entry = entries_[change.key];
    entry = {change.record, change.lease, end_of(change.lease)};
    entry.record.version = ++last_version_;
  }
  if (entries_.size() > kMostRecords) drop_oldest();
  return true;
}

void ServerSaveRecords::drop_oldest() {
  auto older = [](const auto& a, const auto& b) { return a.second.record.version < b.second.record.version; };
  entries_.erase(std::ranges::min_element(entries_, older));
}

bool ServerSaveRecords::erase(const std::string& key, int64_t version) {
  return version_of(key) == version && entries_.erase(key) > 0;
}

bool ServerSaveRecords::renew(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || is_over(found->second)) return false;
  found->second.until = end_of(found->second.lease);
  return true;
}

bool ServerSaveRecords::saves_pass() const {
  return std::ranges::any_of(entries_, [this](const auto& each) {
    const SaveRecord& record = each.second.record;
    return !record.asked && !record.saved && !is_over(each.second);
  });
}

}  // namespace ps
