// ResidualRows: what rounding has taken from the gradients of one parameter's rows, by key, until it goes out
// with the next gradient of the row.  Used by RemoteStore, for types of rows that round.
#ifndef PS_CODEC_RESIDUAL_ROWS_H_
#define PS_CODEC_RESIDUAL_ROWS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/keyed_rows.h"

namespace ps {

// Errors are exact while the rows in use fit in the limit.  Beyond, those of the rows that have not come for
// longest are dropped, many at a time: rows are in two generations, and come into the younger one when they
// are used; when it has half of the limit, the older one is dropped and the younger takes its place.  What is
// dropped depends on the keys of the steps alone, not on the servers.
//
// One owner thread.
class ResidualRows {
 public:
  // Rows take about `max_bytes`, and those of the running step on top.
  ResidualRows(int64_t width, uint64_t max_bytes);

  // errors[n] <- the error of keys[n], to be added to its gradient and set to what rounding takes this time;
  // zeros at first.  The keys, of one step, are unique.  Good until the next call.
  void find(std::span<const uint64_t> keys, std::vector<float*>& errors);

  // For checkpoints: calls body(key, error, young) for each row, of the younger generation or the older one.
  template <class Body>
  void for_each(Body&& body) const {
    for (size_t n = 0; n < young_->size(); ++n) body(young_->keys()[n], young_->row(n), /*young=*/true);
    for (size_t n = 0; n < old_->size(); ++n) {
      const uint64_t key = old_->keys()[n];
      if (young_->find(key) == nullptr) body(key, old_->row(n), /*young=*/false);
    }
  }

  // The error of a key, to be set to what for_each told; with those of all keys, what find gives and drops
  // from here on is the same as there.
  float* put_back(uint64_t key, bool young) { return (young ? young_ : old_)->find_or_add(key); }

  uint64_t rows() const { return young_->size() + old_->size() - num_moved_; }
  uint64_t dropped() const { return dropped_; }  // errors of rows, so far

 private:
  float* find(uint64_t key);

  const int64_t width_;
  const uint64_t max_young_;
  std::unique_ptr<KeyedRows> young_, old_;
  uint64_t num_moved_ = 0;  // rows of the old generation that are in the young one too
  uint64_t dropped_ = 0;
};

}  // namespace ps

#endif  // PS_CODEC_RESIDUAL_ROWS_H_
