// The log of a shard and its replay.  The first byte says what the rest is: the events of a segment, the snapshot of
// the shard before them, or a segment of which a byte is another; then the first two of the rest say which, and
// what it is.
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "fuzz/honest_job.h"
#include "ps/log/push_log_reader.h"
#include "ps/server/shard.h"
#include "ps/server/shard_replay.h"

namespace {

std::string segment(std::string_view snapshot, std::string_view events) {
  ps::SegmentHeader header;
  header.is_base = true;
  header.has_snapshot = !snapshot.empty();
  if (header.has_snapshot) header.checkpoint.emplace();
  header.owner.job = header.owner.schema = header.owner.place = ps::Json::object();
  return ps::encode_segment(header, snapshot, events);
}

void replay(const std::string& folder, bool has_snapshot) {
  ps::Shard shard(ps::peer_parameters(), ps::make_optimizer_plan({{"type", "momentum"}}, "sum"),
                  {.num_dense = 2}, {}, {});
  std::string why;
  const auto checkpoint = has_snapshot ? std::optional(ps::CheckpointStep()) : std::nullopt;
  std::optional<ps::PushLogReader> log = ps::PushLogReader::open(folder, checkpoint, why);
  if (!log) return;
  ps::ShardReplay replay(shard);
  if (has_snapshot) replay.load_snapshot(log->snapshot());
  log->read([&](ps::ShardEvent event, int rank, std::string_view body) {
    replay.add(event, rank, body, ps::Time());
  });
  replay.end(ps::Time());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ps::TemporaryFolder folder(ps::default_temporary_parent());
  if (size < 3) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool has_snapshot = data[0] % 3 == 1;
  std::string file = has_snapshot ? segment(rest, "") : segment("", data[0] % 3 == 0 ? rest : rest.substr(2));
  if (data[0] % 3 == 2) file[(data[1] * 4) % file.size()] = static_cast<char>(data[2]);
  try {
    ps::write_file(folder.path(ps::segment_file(1)), file, ps::unsynced_files());
    replay(folder.path(), has_snapshot);
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() != ps::Code::kInternal);
  }
  return 0;
}
