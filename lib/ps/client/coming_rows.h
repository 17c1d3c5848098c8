// ComingRows: the list of rows of one sparse parameter that coming batches of a trainer use and that its device
// does not have.  Each row is here already, or on its way from the shards.  Used by RemoteLender.
#ifndef PS_PS_CLIENT_COMING_ROWS_H_
#define PS_PS_CLIENT_COMING_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ps/client/row_window.h"

namespace ps {

// One owner thread.  A row enters the list when the first batch of the window uses it.  It leaves when it goes to
// the device, or with the last batch that uses it.
class ComingRows {
 public:
  // Adds a batch that uses these keys, each once.  Returns the keys to ask for, in ascending order: those that
  // no earlier batch uses, and those that were put off and are still used and not on the list.
  std::vector<uint64_t> add(std::span<const uint64_t> keys) {
    std::vector<uint64_t> wanted;
    window_.add(keys, wanted);
    for (uint64_t key : put_off_) {
      if (is_used(key) && !request_of_.contains(key)) wanted.push_back(key);
    }
    put_off_.clear();
    std::ranges::sort(wanted);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    return wanted;
  }

  // To be called for a row that cannot be asked for yet: the next call of add returns it again.
  void put_off(uint64_t key) { put_off_.push_back(key); }

  // To be called when the rows have been asked for, with the number of the request; 0 means that the rows are
  // here.
  void expect(std::span<const uint64_t> keys, uint64_t request) {
    for (uint64_t key : keys) request_of_[key] = request;
  }

  // Return the number of the request that brings the row, or nothing if the row is not on the list. remove also
  // removes the row from the list.
  std::optional<uint64_t> find(uint64_t key) const {
    const auto found = request_of_.find(key);
    if (found == request_of_.end()) return std::nullopt;
    return found->second;
  }
  std::optional<uint64_t> remove(uint64_t key) {
    const std::optional<uint64_t> request = find(key);
    if (request) request_of_.erase(key);
    return request;
  }

  // Returns true if a batch of the window uses the row.
  bool is_used(uint64_t key) const { return window_.contains(key); }

  // Removes the oldest batch, which has been trained, if there is one.  Returns the keys of rows on the list
  // that no batch uses any more.
  std::vector<uint64_t> end_batch() {
    std::vector<uint64_t> leaving;
    if (window_.num_batches() > 0) window_.remove_first(leaving);
    std::erase_if(leaving, [this](uint64_t key) { return !remove(key); });
    return leaving;
  }

 private:
  RowWindow window_;
  std::vector<uint64_t> put_off_;
  std::unordered_map<uint64_t, uint64_t> request_of_;  // by key
};

}  // namespace ps

#endif  // PS_PS_CLIENT_COMING_ROWS_H_
