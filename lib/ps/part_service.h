// PartService: gives out the files that a shard has written for a checkpoint, so that a trainer far away can
// make a model of them.  Used by ShardServer.
#ifndef PS_PS_PART_SERVICE_H_
#define PS_PS_PART_SERVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "ps/checkpoint_parts.h"
#include "ps/shard.h"

namespace ps {

// The answer to who asks for the part of the checkpoint at some step: the shard's own files and tables; or
// why there are none.
struct PartAnswer {
  std::optional<Manifest> part;
  std::string why;
};

// Some bytes of one of these files.
struct PartPiece {
  uint64_t step = 0, offset = 0;
  uint32_t size = 0;
  std::string file;
};

inline constexpr uint32_t kPartPieceBytes = 256 << 10;

std::string encode_part_request(uint64_t step);
std::string encode_part_answer(const PartAnswer& answer);
std::string encode_part_piece(const PartPiece& piece);
std::string encode_part_bytes(bool there, std::string_view bytes);

// Throw kData.
uint64_t decode_part_request(std::span<const char> body);
PartAnswer decode_part_answer(std::span<const char> body);
PartPiece decode_part_piece(std::span<const char> body);
std::optional<std::string_view> decode_part_bytes(std::span<const char> body);  // nothing: not there any more

// One owner thread.
class PartService {
 public:
  // `folders`: where the files of a cut may be, the first that is there counts.
  explicit PartService(std::function<std::vector<std::string>(const Cut&)> folders)
      : folders_(std::move(folders)) {}

  // Answered when the part is written, or will not be; at once unless it `comes`.
  void ask(uint64_t step, bool comes, ReplyPtr reply);

  // Whether it has been told of that part.
  bool knows(uint64_t step) const;

  // A part is written, or will not be.
  void add(const Cut& cut, const PartAnswer& part);

  // There will be none any more.
  void refuse(const Error& error);

  // The bytes, or the word that the file is not there any more.  Throws kData for one that never was.
  std::string read(const PartPiece& piece) const;

 private:
  struct Written {
    Cut cut;
    PartAnswer answer;
  };

  const std::function<std::vector<std::string>(const Cut&)> folders_;
  std::vector<Written> written_;               // the last few
  std::multimap<uint64_t, ReplyPtr> waiting_;  // by step
};

}  // namespace ps

#endif  // PS_PS_PART_SERVICE_H_
