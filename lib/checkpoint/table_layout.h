// TableLayout: the description of a table in a checkpoint.
#ifndef PS_CHECKPOINT_TABLE_LAYOUT_H_
#define PS_CHECKPOINT_TABLE_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

// A dense parameter is a table whose keys are its row numbers.
struct TableLayout {
  std::string name;
  bool sparse = false;
  uint64_t rows = 0;  // keys are below it; 0: any key (sparse tables only)
  int64_t width = 1;
  int state_arrays = 0;                      // state arrays of `width` each behind the weights
  bool stamped = false;                      // rows store the number of steps that they have seen
  std::vector<std::string> statistics = {};  // names of the other numbers of each row

  int64_t values() const { return width * (1 + state_arrays); }  // floats of a row, statistics left out
  uint64_t row_bytes() const {
    return sizeof(uint64_t) + static_cast<uint64_t>(values()) * sizeof(float) +
           (stamped ? sizeof(uint32_t) : 0) + statistics.size() * sizeof(float);
  }

  bool operator==(const TableLayout&) const = default;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_TABLE_LAYOUT_H_
