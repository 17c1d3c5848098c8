// ResidualRows: the residuals of one parameter's rows by key, until each is sent with the next gradient of
// its row.  Used by RemoteStore, for types of rows that round, and by Codec.
#ifndef PS_CODEC_RESIDUAL_ROWS_H_
#define PS_CODEC_RESIDUAL_ROWS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/keyed_rows.h"

namespace ps {

// No residual is dropped while all rows fit in the limit.  Beyond it, residuals of the least recently used
// rows are dropped, many at a time.  Rows are in two generations; a row moves to the younger one when it is
// used.  When the younger generation takes half of the limit, the older one is dropped, and the younger
// becomes the older one.  The dropped rows depend on the keys of the steps alone, not on the servers.
//
// One owner thread.
class ResidualRows {
 public:
  // Rows take about `max_bytes`, plus the rows of the running step.
  ResidualRows(int64_t width, uint64_t max_bytes);

  // errors[n] <- pointer to the residual of keys[n], zero at first.  The caller adds the residual to the
  // gradient, and sets it to the new rounding error.  The keys of one step must be unique.  Pointers are valid
  // until the next call.
  void find(std::span<const uint64_t> keys, std::vector<float*>& errors);

  // For checkpoints: calls body(key, error, young) for each row; `young` tells its generation.
  template <class Body>
  void for_each(Body&& body) const {
    for (size_t n = 0; n < young_->size(); ++n) body(young_->keys()[n], young_->row(n), /*young=*/true);
    for (size_t n = 0; n < old_->size(); ++n) {
      const uint64_t key = old_->keys()[n];
      if (young_->find(key) == nullptr) body(key, old_->row(n), /*young=*/false);
    }
  }

  // Restores a row that for_each has given: returns its residual, to be set by the caller.  Once all rows are
  // restored, find gives and drops the same residuals as the saved object.
  float* put_back(uint64_t key, bool young) { return (young ? young_ : old_)->find_or_add(key); }

  uint64_t rows() const { return young_->size() + old_->size() - num_moved_; }
  uint64_t dropped() const { return dropped_; }  // number of rows whose residuals were dropped so far

 private:
  float* find(uint64_t key);

  const int64_t width_;
  const uint64_t max_young_;
  std::unique_ptr<KeyedRows> young_, old_;
  uint64_t num_moved_ = 0;  // rows of the old generation that have moved to the young one
  uint64_t dropped_ = 0;
};

}  // namespace ps

#endif  // PS_CODEC_RESIDUAL_ROWS_H_
