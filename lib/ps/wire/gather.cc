#include "ps/wire/gather.h"

#include "base/error.h"
#include "ps/wire/message_body.h"

namespace ps {

// gather := number:u64 first:u64 rest:u64 bytes      (ps-wire(5))
std::string encode_gather_head(const GatherRequest& request) {
  std::string out;
  for (uint64_t number : {request.number, request.first, request.rest}) put(out, number);
  return out;
}

// `first` and `rest` are checked one by one before size() adds them, so that the sum cannot overflow.
GatherRequest decode_gather(std::string_view body) {
  ByteReader in(body);
  GatherRequest request;
  for (uint64_t* number : {&request.number, &request.first, &request.rest}) *number = in.get<uint64_t>();
  if (!in.ok()) cut_short("gather");
  request.bytes = in.get_bytes(in.remaining());
  const uint64_t most = kMostGivenBytes;
  if (request.first > most || request.rest > most || request.size() > most) {
    fail(Code::kData, "gather: ", request.bytes.size(), " bytes from ", request.first, " on and ",
         request.rest, " more, expected up to ", most);
  }
  if (request.bytes.empty() && request.rest > 0) fail(Code::kData, "gather: a slice without bytes");
  return request;
}

// gathered := number:u64 first:u64
std::string encode_gathered_request(const GatheredRequest& request) {
  std::string out;
  put(out, request.number);
  put(out, request.first);
  return out;
}

GatheredRequest decode_gathered_request(std::span<const char> body) {
  ByteReader in(std::string_view(body.data(), body.size()));
  GatheredRequest request;
  request.number = in.get<uint64_t>();
  request.first = in.get<uint64_t>();
  expect_end(in, "gathered");
  return request;
}

std::string encode_gathered_sizes(std::span<const std::string> all) {
  std::string out;
  put(out, static_cast<uint32_t>(all.size()));
  for (const std::string& bytes : all) put(out, static_cast<uint64_t>(bytes.size()));
  return out;
}

std::string encode_gathered(std::span<const std::string> all) {
  std::string out = encode_gathered_sizes(all);
  for (const std::string& bytes : all) out += bytes;
  return out;
}

// The list of sizes must be there before it is read.  Each size is limited, so that their sum cannot
// overflow.
GatheredLength gathered_length(std::span<const char> begin) {
  ByteReader in(std::string_view(begin.data(), begin.size()));
  const uint32_t count = in.get<uint32_t>();
  if (!in.ok() || !in.has(count * sizeof(uint64_t))) cut_short("gather");
  const uint64_t sizes = sizeof count + count * sizeof(uint64_t);
  GatheredLength length{.num = count, .sizes = sizes, .all = sizes};
  for (uint32_t rank = 0; rank < count; ++rank) {
    const uint64_t size = in.get<uint64_t>();
    if (size > kMostGivenBytes) fail(Code::kData, "gather: rank ", rank, " gave ", size, " bytes");
    length.all += size;
  }
  return length;
}

std::vector<std::string> decode_gathered(std::span<const char> body) {
  const GatheredLength length = gathered_length(body);
  if (length.all != body.size()) {
    fail(Code::kData, "gather: an answer of ", body.size(), " bytes, expected ", length.all);
  }
  ByteReader in(std::string_view(body.data(), body.size()));
  std::vector<uint64_t> sizes(in.get<uint32_t>());
  in.get_array(std::span<uint64_t>(sizes));
  std::vector<std::string> all;
  for (const uint64_t size : sizes) all.emplace_back(in.get_bytes(size));
  return all;
}

}  // namespace ps
