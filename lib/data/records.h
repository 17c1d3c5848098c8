// `records`: the toolkit's own binary stream of examples, which needs no parsing.  Written by ps-datagen and
// by `ps-train --job convert`, read by BatchReader.  The bytes are described in ps-data(5) and above
// records.cc.
//
// Encoding is made of functions without state, so that many threads may encode the chunks of one stream:
//   encode_records_header(schema, out);         once
//   encode_records_chunk(schema, batch, out);   any number of times, in the order of the examples
//   encode_records_end(out);                    once; a stream without it was cut short
// Concatenated streams are a stream, so the header may be repeated with the same schema.
#ifndef PS_DATA_RECORDS_H_
#define PS_DATA_RECORDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "data/batch.h"

namespace ps {

// Appends to `out`.
void encode_records_header(const DataSchema& schema, std::string& out);

// Appends the examples of `batch`, in as many chunks as it takes to keep each near 1 MiB; none when it is
// empty.
void encode_records_chunk(const DataSchema& schema, const Batch& batch, std::string& out);

void encode_records_end(std::string& out);

// Sizes of the heads of fixed length, and the bounds that a reader holds lengths to before it allocates.
inline constexpr size_t kRecordsHeaderBytes = 24, kRecordsChunkHeadBytes = 24;
inline constexpr uint64_t kMaxRecordsSchemaBytes = uint64_t{1} << 20,
                          kMaxRecordsChunkBytes = uint64_t{1} << 28;

// Returns true if `head`, the first bytes of a file, begins a stream of this format.
bool is_records(std::string_view head);

// The first kRecordsHeaderBytes of the header, of a chunk or of the end of a stream, decoded.
struct RecordsHead {
  enum Kind { kHeader, kChunk, kEnd } kind;
  uint64_t size;      // bytes of the schema or the examples that follow
  uint64_t checksum;  // checksum of those bytes
};

// All functions below throw kCorrupt with the reason alone; the caller adds file and offset.
RecordsHead decode_records_head(std::string_view head);
DataSchema decode_records_schema(const RecordsHead& head, std::string_view bytes);

// Replaces `batch` by the examples of a chunk.  Checks all lengths and offsets as well as the checksum, so
// that hostile bytes never give an inconsistent batch.  Ids outside `schema` and values that are not finite
// throw kData.
void decode_records_chunk(const DataSchema& schema, const RecordsHead& head, std::string_view bytes,
                          Batch& batch);

}  // namespace ps

#endif  // PS_DATA_RECORDS_H_
