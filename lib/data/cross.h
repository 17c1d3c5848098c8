// Crosses: slots whose ids stand for combinations of the ids of other slots.  Used by the transformations of parsed
// examples.
#ifndef PS_DATA_CROSS_H_
#define PS_DATA_CROSS_H_

#include <string>
#include <vector>

#include "data/batch.h"

namespace ps {

// The slots that are crossed, by name: two or more, each of them sparse.
using Cross = std::vector<std::string>;

// "a^b", the name of the slot that the cross of a and b makes.
std::string cross_name(const Cross& cross);

// Appends a sparse slot of any ids for each cross.  Throws kUsage "data.cross: …" for a cross of one slot, a slot that is
// not there or is dense, and a name that is taken.
void add_cross_slots(const std::vector<Cross>& crosses, DataSchema& schema);

// Appends the data of these slots to a batch of `schema`, which add_cross_slots has not changed yet.  The ids of an
// example are all combinations of one id of each slot, those of the first slot outermost: h <- hash_key(h) + id, over
// the slots, from the hash of the name on.  Its value is the product of theirs.  Throws kData when an example has more
// than kMaxCombinations.
constexpr size_t kMaxCombinations = size_t{1} << 20;
void cross_slots(const std::vector<Cross>& crosses, const DataSchema& schema, Batch& batch);

}  // namespace ps

#endif  // PS_DATA_CROSS_H_
