// Draws from any distribution over [0, n) in constant time: Walker's alias method, with Vose's tables (IEEE
// Trans. Software Eng. 17(9), 1991).  Used by the Zipf law, the law of the number of ids in a row, and the
// language.
#ifndef PS_DATA_SYNTH_ALIAS_TABLE_H_
#define PS_DATA_SYNTH_ALIAS_TABLE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace ps {

class AliasTable {
 public:
  AliasTable() = default;

  // Index i is drawn with probability weights[i] / sum; weights [n], n in [1, 2^32), none negative, sum > 0.
  explicit AliasTable(std::span<const double> weights);

  // `bits`: 64 random ones.  The high half chooses a column, the low half tosses its coin.
  uint32_t draw(uint64_t bits) const {
    uint32_t column = static_cast<uint32_t>(((bits >> 32) * columns_.size()) >> 32);
    const Column& chosen = columns_[column];
    // Without a branch, since no branch predictor can guess the coin.
    uint32_t toss = static_cast<uint32_t>(bits) < chosen.keep;
    return chosen.other ^ ((column ^ chosen.other) & (0 - toss));
  }

 private:
  struct Column {
    uint32_t keep;   // probability of the column's own index, times 2^32
    uint32_t other;  // the index drawn otherwise; the column's own if it is always kept
  };
  std::vector<Column> columns_;
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_ALIAS_TABLE_H_
