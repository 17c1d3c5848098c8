// What a shard's image is made of: the grammar of what Shard::save_snapshot writes.  Used by Shard's own
// sources alone.
#ifndef PS_PS_SERVER_SHARD_SNAPSHOT_H_
#define PS_PS_SERVER_SHARD_SNAPSHOT_H_

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "ps/wire/protocol.h"

namespace ps {

// The request as a trainer would send it, with its keys; of a push, whose rows are f32, with these too.
std::string encode_again(const PullRequest& request);
std::string encode_again(const PushRequest& request, Widths widths);

// text := size:u64 bytes[size].  take_text throws kCorrupt when it is cut short.
void put_text(std::string& out, std::string_view text);
std::string_view take_text(ByteReader& in);

// A copy where requests lie.
Buffer to_buffer(BufferPool& pool, std::string_view bytes);

}  // namespace ps

#endif  // PS_PS_SERVER_SHARD_SNAPSHOT_H_
