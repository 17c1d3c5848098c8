#include "ps/server/checkpoint_shard_service.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/bytes.h"
#include "base/current_error.h"
#include "base/error.h"
#include "base/file.h"
#include "net/transport.h"

namespace ps {

namespace {

constexpr size_t kRemembered = 4;  // checkpoints

constexpr const char* kNotHere = "it is not here";

// Answers with the names of all files.  If there is no memory for the answer, it fails with that error.
void give(const CheckpointShardAnswer& answer, Reply& reply) {
  try {
    reply.answer(Payload(encode_shard_answer(answer)));
  } catch (...) {
    reply.fail(current_error());
  }
}

}  // namespace

void CheckpointShardService::ask(uint64_t step, bool come, ReplyPtr reply) {
  for (const Written& written : written_) {
    if (written.step != step) continue;
    return give(written.answer, *reply);
  }
  if (!come) return reply->answer(Payload(encode_shard_answer({std::nullopt, kNotHere})));
  waiting_.emplace(step, std::move(reply));
}

bool CheckpointShardService::knows(uint64_t step) const {
  return std::ranges::any_of(written_, [step](const Written& each) { return each.step == step; });
}

void CheckpointShardService::add(int64_t checkpoint_step, const CheckpointShardAnswer& answer,
                                 std::vector<std::string> folders) {
  const uint64_t step = static_cast<uint64_t>(checkpoint_step);
  auto [first, last] = waiting_.equal_range(step);
  for (auto each = first; each != last; ++each) give(answer, *each->second);
  waiting_.erase(first, last);
  std::erase_if(written_, [&](const Written& written) { return written.step == step; });
  if (written_.size() == kRemembered) written_.erase(written_.begin());
  written_.push_back({step, answer, std::move(folders)});
}

void CheckpointShardService::end_before(uint64_t step) {
  const auto end = waiting_.lower_bound(step);
  for (auto each = waiting_.begin(); each != end; ++each) give({std::nullopt, kNotHere}, *each->second);
  waiting_.erase(waiting_.begin(), end);
}

void CheckpointShardService::forget_unwanted() {
  std::erase_if(waiting_, [](const auto& each) { return is_unwanted(each.second); });
}

void CheckpointShardService::refuse(const Error& error) {
  for (auto& [step, reply] : std::exchange(waiting_, {})) reply->fail(error);
  written_.clear();
}

// The name of the file must be in the manifest, so that a peer cannot name any other file of this machine.
// The folder may be renamed at any time, so the file is looked for in each of them.
std::string CheckpointShardService::read(const CheckpointShardSlice& slice) const {
  if (slice.size > kShardSliceBytes) ps::fail(Code::kData, "checkpoint slice: ", slice.size, " bytes");
  auto written = std::ranges::find_if(
      written_, [&](const Written& each) { return each.step == slice.step && each.answer.manifest; });
  if (written == written_.end()) return encode_shard_bytes(false, "");
  const auto& files = written->answer.manifest->files;
  const auto named = [&](const FileEntry& file) { return file.path == slice.file; };
  if (std::ranges::none_of(files, named))
    ps::fail(Code::kData, "checkpoint slice: no file ", quote(slice.file));
  std::string bytes(slice.size, '\0');
  for (const std::string& folder : written->folders) {
    std::ifstream in(join_path(folder, slice.file), std::ios::binary);
    if (!in.is_open()) continue;
    in.seekg(static_cast<std::streamoff>(slice.offset));
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
    return encode_shard_bytes(true, bytes);
  }
  return encode_shard_bytes(false, "");
}

}  // namespace ps
