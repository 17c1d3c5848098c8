// A prepared batch as bytes, for a process that reads data to send to one that computes.
//
// Unique keys and, for each id of the batch, which of them it is, travel; ids are not sent a second time, and
// neither is what follows from these in linear time without a hash table: transposed uses, counts, and the
// samples that layers draw.
//
//   prepared := training:u8 step:i64 batch num_plans:u32 plan[num_plans]
//   batch    := B:u32 flags:u8 labels:f32[B] weights:f32[B]? groups:u64[B]? num_slots:u32 slot[num_slots]
//               (flags: 1 weights, 2 groups)
//   slot     := 0:u8 size:u32 values:f32[size]                                                      (dense)
//             | flags:u8 offsets:u32[B + 1] keys:u64[K]? values:f32[K]?
//               (flags: 1 always, 2 keys, which a plan gives otherwise, 4 values; K is the last offset)
//   plan     := N:u32 keys:u64[N] num_uses:u32 use[num_uses]
//   use      := list:u32 K:u32 index:u32[K]          (list: 0 of ids that a layer draws, else 1 + the slot)
#ifndef PS_FEED_PREPARED_BATCH_BYTES_H_
#define PS_FEED_PREPARED_BATCH_BYTES_H_

#include <string>
#include <string_view>

#include "model/network.h"

namespace ps {

// Appends the bytes of a prepared batch to `out`.
void encode_prepared(const PreparedBatch& prepared, std::string& out);

// Replaces `prepared` by the decoded batch, which has the bits that network.prepare() would give it.  `planners`
// belong to this network, and have the key order in which the batch was prepared.  Allocates at most a small
// multiple of the number of bytes.  Throws kData if the bytes are damaged, or if the batch is for another
// network or schema; `prepared` must not be used then.
void decode_prepared(std::string_view bytes, const Network<float>& network,
                     Network<float>::Planners& planners, PreparedBatch& prepared);

}  // namespace ps

#endif  // PS_FEED_PREPARED_BATCH_BYTES_H_
