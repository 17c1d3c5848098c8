// RowWindow: the rows of one sparse parameter that batches in flight use.  It tells a trainer which rows have no
// push on its way, or which rows will be used soon.  Used by AheadStore and ComingRows.
#ifndef PS_PS_CLIENT_ROW_WINDOW_H_
#define PS_PS_CLIENT_ROW_WINDOW_H_

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ps {

// One owner thread.  A row is in the window from the first batch that uses it until the last one has left.
// Batches leave in the order in which they came.
class RowWindow {
 public:
  // Adds a batch that uses these keys, each once.  Appends the keys that no other batch uses to `entering`, in
  // their order.
  void add(std::span<const uint64_t> keys, std::vector<uint64_t>& entering) {
    const uint64_t batch = first_ + batches_.size();
    for (uint64_t key : keys) {
      const auto [last, is_new] = last_use_.try_emplace(key, batch);
      last->second = batch;
      if (is_new) entering.push_back(key);
    }
    batches_.emplace_back(keys.begin(), keys.end());
  }

  // Removes the oldest batch.  Appends its keys that no other batch uses to `leaving`, in their order.
  void remove_first(std::vector<uint64_t>& leaving) {
    for (uint64_t key : batches_.front()) {
      const auto last = last_use_.find(key);
      if (last->second != first_) continue;
      leaving.push_back(key);
      last_use_.erase(last);
    }
    batches_.pop_front();
    ++first_;
  }

  bool contains(uint64_t key) const { return last_use_.contains(key); }

  size_t num_batches() const { return batches_.size(); }
  size_t num_rows() const { return last_use_.size(); }

 private:
  std::deque<std::vector<uint64_t>> batches_;        // by batch: its keys
  uint64_t first_ = 0;                               // number of the first batch
  std::unordered_map<uint64_t, uint64_t> last_use_;  // by key: number of the last batch that uses it
};

}  // namespace ps

#endif  // PS_PS_CLIENT_ROW_WINDOW_H_
