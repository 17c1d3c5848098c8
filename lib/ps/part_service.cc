#include "ps/part_service.h"

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

std::string encode_part_request(uint64_t step) {
  std::string out;
  put(out, step);
  return out;
}

uint64_t decode_part_request(std::span<const char> body) {
  if (body.size() != sizeof(uint64_t)) fail(Code::kData, "part: the body is not 8 bytes");
  return ByteReader(text_of(body)).get<uint64_t>();
}

std::string encode_part_answer(const PartAnswer& answer) {
  std::string out;
  put(out, static_cast<uint8_t>(answer.part.has_value()));
  return out + (answer.part ? encode_manifest(*answer.part) : answer.why);
}

PartAnswer decode_part_answer(std::span<const char> body) {
  ByteReader in(text_of(body));
  const bool there = in.get<uint8_t>() != 0;
  if (!in.ok()) fail(Code::kData, "part: an empty answer");
  const std::string_view text = in.get_bytes(in.remaining());
  if (!there) return {std::nullopt, std::string(text)};
  try {
    return {decode_manifest(text, "part"), ""};
  } catch (const Error& error) {
    throw Error(Code::kData, error.message());
  }
}

std::string encode_part_piece(const PartPiece& piece) {
  std::string out;
  put(out, piece.step);
  put(out, piece.offset);
  put(out, piece.size);
  return out + piece.file;
}

PartPiece decode_part_piece(std::span<const char> body) {
  ByteReader in(text_of(body));
  PartPiece piece;
  piece.step = in.get<uint64_t>();
  piece.offset = in.get<uint64_t>();
  piece.size = in.get<uint32_t>();
  if (!in.ok()) fail(Code::kData, "part piece: the body is cut short");
  piece.file = in.get_bytes(in.remaining());
  return piece;
}

std::string encode_part_bytes(bool there, std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 1);
  put(out, static_cast<uint8_t>(there));
  return out.append(bytes);
}

std::optional<std::string_view> decode_part_bytes(std::span<const char> body) {
  if (body.empty()) fail(Code::kData, "part piece: an empty answer");
  if (body[0] == 0) return std::nullopt;
  return text_of(body).substr(1);
}

void PartService::ask(uint64_t step, bool comes, ReplyPtr reply) {
  for (const Written& written : written_) {
    if (static_cast<uint64_t>(written.cut.step) != step) continue;
    return reply->answer(Payload(encode_part_answer(written.answer)));
  }
  if (!comes) return reply->answer(Payload(encode_part_answer({std::nullopt, "it is not here"})));
  waiting_.emplace(step, std::move(reply));
}

bool PartService::knows(uint64_t step) const {
  return std::ranges::any_of(
      written_, [step](const Written& each) { return static_cast<uint64_t>(each.cut.step) == step; });
}

void PartService::add(const Cut& cut, const PartAnswer& part) {
  const uint64_t step = static_cast<uint64_t>(cut.step);
  auto [first, last] = waiting_.equal_range(step);
  for (auto each = first; each != last; ++each) each->second->answer(Payload(encode_part_answer(part)));
  waiting_.erase(first, last);
  std::erase_if(written_, [&](const Written& written) { return written.cut.step == cut.step; });
  if (written_.size() == kRemembered) written_.erase(written_.begin());
  written_.push_back({cut, part});
}

void PartService::refuse(const Error& error) {
  for (auto& [step, reply] : std::exchange(waiting_, {})) reply->fail(error);
  written_.clear();
}

std::string PartService::read(const PartPiece& piece) const {
  if (piece.size > kPartPieceBytes) ps::fail(Code::kData, "part piece: ", piece.size, " bytes");
  auto written = std::ranges::find_if(written_, [&](const Written& each) {
    return static_cast<uint64_t>(each.cut.step) == piece.step && each.answer.part;
  });
  if (written == written_.end()) return encode_part_bytes(false, "");
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
    return encode_part_bytes(true, bytes);
  }
  return encode_part_bytes(false, "");
}

}  // namespace ps
