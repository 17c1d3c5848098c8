// DataStrand: a part of the data of a pass: batches of a trainer's share at equal distances.  Lost trainers
// leave strands to the others; servers deal them out, and ps-train reads them.
#ifndef PS_STORE_DATA_STRAND_H_
#define PS_STORE_DATA_STRAND_H_

#include <cstdint>

namespace ps {

// The batches first, first + stride, first + 2 stride and so on of the share with number `share` among
// `shares`, up to its end, which the reader of the share finds.
struct DataStrand {
  uint32_t share = 0, shares = 1;
  uint64_t first = 0, stride = 1;

  bool operator==(const DataStrand&) const = default;
};

}  // namespace ps

#endif  // PS_STORE_DATA_STRAND_H_
