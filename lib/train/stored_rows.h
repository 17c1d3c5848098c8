// StoredRows: the rows of one parameter in a model file, of this or another program, as floats.  Used to load
// models, and to convert them.
#ifndef PS_TRAIN_STORED_ROWS_H_
#define PS_TRAIN_STORED_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "checkpoint/safetensors.h"

namespace ps {

// Throws kData if a row has a weight that is infinite or NaN.
void check_finite_rows(const std::string& parameter, std::span<const uint64_t> keys,
                       std::span<const float> rows);

// One owner thread.  The model outlives it.
class StoredRows {
 public:
  // The expected shape of the parameter.  `rows` is the number of rows, or, for rows with keys, the bound of
  // the keys (0: any key).
  struct Shape {
    std::string name;
    int64_t rows = 0, cols = 1;
  };

  // Throws kUsage if the parameter is missing, or has another shape.
  StoredRows(SafetensorsReader& model, const Shape& shape);

  int64_t count() const { return count_; }

  // Reads rows [first, first + keys.size()); calls must be in order.  Throws kCorrupt if the bytes are damaged,
  // kUsage for a key outside the bound, kData for a weight that is not finite.
  void read(int64_t first, std::span<uint64_t> keys, std::span<float> rows);

 private:
  void check_key(uint64_t key);
  void check_finite(std::span<const uint64_t> keys, std::span<const float> rows);
  void read_scaled(int64_t first, size_t count, std::span<float> rows);

  SafetensorsReader& model_;
  const std::string name_;
  const int64_t cols_;
  const uint64_t bound_;
  const TensorInfo *keys_, *scales_, *rows_ = nullptr;  // keys and scales: null if the parameter has none
  int64_t count_ = 0;
  std::optional<uint64_t> last_key_;
};

}  // namespace ps

#endif  // PS_TRAIN_STORED_ROWS_H_
