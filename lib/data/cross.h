// Crosses: slots whose ids stand for combinations of the ids of other slots.  Used by the transformations of
// parsed examples.
#ifndef PS_DATA_CROSS_H_
#define PS_DATA_CROSS_H_

#include <string>
#include <vector>

#include "data/batch.h"

namespace ps {

// The names of the slots that are crossed: two or more sparse slots.
using Cross = std::vector<std::string>;

// Appends a sparse slot with any ids for each cross.  Throws kUsage "data.cross: …" for a cross of one slot, a
// slot that is missing or dense, and a name that another slot has.
void add_cross_slots(const std::vector<Cross>& crosses, DataSchema& schema);

// Appends the data of these slots to a batch of `schema`, to which add_cross_slots has not been applied yet.
// The ids of an example are all combinations of one id of each slot, with those of the first slot outermost: h
// <- hash_key(h) + id, over the slots, starting with the hash of the name.  A combination's value is the
// product of the values of its ids.  Throws kData if an example has more than kMaxCombinations.
constexpr size_t kMaxCombinations = size_t{1} << 20;
void cross_slots(const std::vector<Cross>& crosses, const DataSchema& schema, Batch& batch);

}  // namespace ps

#endif  // PS_DATA_CROSS_H_
