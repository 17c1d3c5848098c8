// The bytes of a batch, for another process of the same job.  Used by MovedExamples and by prepared batches.
#ifndef PS_DATA_BATCH_BYTES_H_
#define PS_DATA_BATCH_BYTES_H_

#include <string>
#include <vector>

#include "base/bytes.h"
#include "data/batch.h"

namespace ps {

// Appends the batch to `out`. without_keys[s] leaves out the keys of slot s, which the reader then has from
// elsewhere.
void encode_batch(const Batch& batch, const std::vector<bool>& without_keys, std::string& out);

// Reads such a batch with this number of slots.  Returns the slots whose keys were left out.  Lengths are
// compared with the remaining bytes before memory is allocated for them; check_batch checks the rest.  Throws
// kData.
std::vector<bool> decode_batch(ByteReader& in, size_t num_slots, Batch& batch);

}  // namespace ps

#endif  // PS_DATA_BATCH_BYTES_H_
