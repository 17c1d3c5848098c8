// Transformations of parsed examples that the job file asks for.  Used by BatchReader.
#ifndef PS_DATA_TRANSFORM_H_
#define PS_DATA_TRANSFORM_H_

#include "data/batch.h"
#include "data/options.h"

namespace ps {

// Returns the schema after the transformations: crosses are slots after the others, and hashed ids are below
// 2^hash_bits.  Throws kUsage for crosses that cannot be made.
DataSchema transformed_schema(const DataOptions& data, DataSchema schema);

// Makes the crosses, then applies log_counts, then unit_length, then hash_bits to all examples.  Each slot of
// an example is scaled to unit length by itself; rows of zeros stay zero.  A value depends on its example
// alone.  Slots of labels do not change.
//   parsed   the schema of the batch before the transformations
// Throws kData if an example has too many combinations.
void transform(const DataOptions& data, const DataSchema& parsed, Batch& batch);

}  // namespace ps

#endif  // PS_DATA_TRANSFORM_H_
