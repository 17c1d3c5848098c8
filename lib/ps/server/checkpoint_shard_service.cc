#include "ps/server/checkpoint_shard_service.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "net/transport.h"

namespace ps {

namespace {

constexpr size_t kRemembered = 4;  // parts

}  // namespace

void CheckpointShardService::ask(uint64_t step, bool comes, ReplyPtr reply) {
  for (const Written& written : written_) {
    if (static_cast<uint64_t>(written.cut.step) != step) continue;
    return reply->answer(Payload(encode_shard_answer(written.answer)));
  }
  if (!comes) return reply->answer(Payload(encode_shard_answer({std::nullopt, "it is not here"})));
  waiting_.emplace(step, std::move(reply));
}

bool CheckpointShardService::knows(uint64_t step) const {
  return std::ranges::any_of(
      written_, [step](const Written& each) { return static_cast<uint64_t>(each.cut.step) == step; });
}

void CheckpointShardService::add(const CheckpointStep& cut, const CheckpointShardAnswer& part) {
  const uint64_t step = static_cast<uint64_t>(cut.step);
  auto [first, last] = waiting_.equal_range(step);
  for (auto each = first; each != last; ++each) each->second->answer(Payload(encode_shard_answer(part)));
  waiting_.erase(first, last);
  std::erase_if(written_, [&](const Written& written) { return written.cut.step == cut.step; });
  if (written_.size() == kRemembered) written_.erase(written_.begin());
  written_.push_back({cut, part});
}

void CheckpointShardService::refuse(const Error& error) {
  for (auto& [step, reply] : std::exchange(waiting_, {})) reply->fail(error);
  written_.clear();
}

std::string CheckpointShardService::read(const CheckpointShardSlice& piece) const {
  if (piece.size > kShardSliceBytes) ps::fail(Code::kData, "part piece: ", piece.size, " bytes");
  auto written = std::ranges::find_if(written_, [&](const Written& each) {
    return static_cast<uint64_t>(each.cut.step) == piece.step && each.answer.part;
  });
  if (written == written_.end()) return encode_shard_bytes(false, "");
  const auto& files = written->answer.part->files;
  const auto named = [&](const FileEntry& file) { return file.path == piece.file; };
  if (std::ranges::none_of(files, named)) ps::fail(Code::kData, "part piece: no file ", quote(piece.file));
  std::string bytes(piece.size, '\0');
  for (const std::string& folder : folders_(written->cut)) {
    std::ifstream in(join_path(folder, piece.file), std::ios::binary);
    if (!in.is_open()) continue;
    in.seekg(static_cast<std::streamoff>(piece.offset));
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
    return encode_shard_bytes(true, bytes);
  }
  return encode_shard_bytes(false, "");
}

}  // namespace ps
