// DistinctCounter: estimates the number of distinct keys in a stream of any length, in 16 KiB. Used to predict
// the size of tables.
//
// HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, AofA 2007) over hash_key: each of m = 2^14 registers keeps the most
// leading zeros of the hashes that fall on it.  The estimate is the improved one of Ertl (arXiv:1702.01284, algorithm 6),
// which is without bias for few keys too.  The standard error is 1.04 / sqrt(m), 0.8 %.
#ifndef PS_BASE_DISTINCT_COUNTER_H_
#define PS_BASE_DISTINCT_COUNTER_H_

#include <cstdint>
#include <vector>

namespace ps {

// One owner thread.
class DistinctCounter {
 public:
  DistinctCounter();

  void add(uint64_t key);

  // Afterwards this counter estimates the union of both sets of keys.
  void merge(const DistinctCounter& other);

  double count() const;

 private:
  std::vector<uint8_t> registers_;  // [m]
};

}  // namespace ps

#endif  // PS_BASE_DISTINCT_COUNTER_H_
