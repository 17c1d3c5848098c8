// The fields of a shard snapshot: texts, and requests with their keys and rows.  Used by the classes that
// make up a shard's run, each of which writes its own part of a snapshot, and by ShardReplay.
#ifndef PS_PS_SERVER_SNAPSHOT_FIELDS_H_
#define PS_PS_SERVER_SNAPSHOT_FIELDS_H_

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "ps/wire/protocol.h"

namespace ps {

// Returns the request as a trainer would send it, with its keys; a push, whose rows must be f32, also has its
// rows.
std::string encode_again(const PullRequest& request);
std::string encode_again(const PushRequest& request, Widths widths);

// text := size:u64 bytes[size].  read_text throws kCorrupt if it is cut short.
void put_text(std::string& out, std::string_view text);
std::string_view read_text(ByteReader& in);

inline std::span<const char> bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

// Returns a copy in the pool's memory, where the bodies of requests lie.
Buffer to_buffer(BufferPool& pool, std::string_view bytes);

}  // namespace ps

#endif  // PS_PS_SERVER_SNAPSHOT_FIELDS_H_
