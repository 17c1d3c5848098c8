#include "checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "config/json.h"
#include "math/half.h"

namespace ps {

// file := header_bytes:u64 header[header_bytes] buffer             (huggingface/safetensors; ps-model(5))
// header is JSON: {"__metadata__": {string: string}, name: {"dtype", "shape", "data_offsets": [begin, end]},
// …}, padded with spaces so that the buffer is 8-aligned; tensors lie in the buffer without holes.
//
// Files of this toolkit also have these metadata:
//   "format_version": "2"
//   "checksum": header_sum { " " tensor_sum }      16 hexadecimal digits each: XXH3 of the header's bytes, with
//                                                  zeros for header_sum, and of the bytes of each tensor in
//                                                  their order in the buffer

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format

// Keys of the metadata.  The version was introduced together with the checksums: a file that has one key must
// have the other, so that damage to either is found.
constexpr const char *kChecksumKey = "checksum", *kVersionKey = "format_version", *kFormatVersion = "2";
constexpr size_t kSumDigits = 16;

std::string sum_text(uint64_t sum) {
  char text[kSumDigits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

// Returns the position of the header's own checksum in its text, in the form that the writer uses.
std::optional<size_t> find_header_sum(std::string_view header) {
  const std::string before = cat("\"", kChecksumKey, "\":\"");
  const size_t position = header.find(before);
  if (position == std::string_view::npos || header.size() < position + before.size() + kSumDigits)
    return std::nullopt;
  return position + before.size();
}

// Returns the bytes of an element, or 0 for an unknown type.
uint64_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, uint64_t> kBytes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"U16", 2}, {"I16", 2}, {"F16", 2}, {"BF16", 2},
      {"U32", 4},  {"I32", 4}, {"F32", 4}, {"U64", 8}, {"I64", 8}, {"F64", 8}};
  auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

// Returns the product of the shape and the element size; nullopt when it overflows.
std::optional<uint64_t> byte_count(const TensorInfo& tensor) {
  uint64_t bytes = element_bytes(tensor.dtype);
  for (int64_t extent : tensor.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return std::nullopt;
  }
  return bytes;
}

}  // namespace

int64_t TensorInfo::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

// Lays the tensors one behind the other into the buffer.  Empty tensors at the beginning end at once.
SafetensorsHeader::SafetensorsHeader(std::vector<TensorInfo> tensors, const Metadata& metadata)
    : tensors_(std::move(tensors)), metadata_(metadata) {
  uint64_t begin = 0;
  for (TensorInfo& tensor : tensors_) {
    tensor.begin = begin;
    tensor.bytes = byte_count(tensor).value();
    begin += tensor.bytes;
  }
  sums_.resize(tensors_.size());
  metadata_[kVersionKey] = kFormatVersion;
  end_tensors();
}

// The hasher has seen `passed_` bytes of the tensor `tensor_`.  A piece may end one tensor and begin the
// next, and is divided where they meet.
void SafetensorsHeader::add(std::string_view bytes) {
  while (!bytes.empty()) {
    PS_CHECK(!whole());
    const std::string_view part = bytes.substr(0, tensors_[tensor_].bytes - passed_);
    hasher_.update(part);
    passed_ += part.size();
    bytes.remove_prefix(part.size());
    end_tensors();
  }
}

// Moves past tensors of which all bytes were seen, empty ones included.
void SafetensorsHeader::end_tensors() {
  for (; !whole() && passed_ == tensors_[tensor_].bytes; ++tensor_) {
    sums_[tensor_] = hasher_.digest();
    hasher_.reset();
    passed_ = 0;
  }
}

// The place of header_sum is zeros while the sum of the header is computed, and is then filled in.  Zeros
// stand for tensors' sums too until all are known, so that the text has the same length at the beginning
// and at the end: the writer then overwrites it in place.
std::string SafetensorsHeader::text() const {
  std::string sums(kSumDigits, '0');
  for (uint64_t sum : sums_) sums += cat(" ", whole() ? sum_text(sum) : std::string(kSumDigits, '0'));
  Json header = Json::object();
  header["__metadata__"] = metadata_;
  header["__metadata__"][kChecksumKey] = sums;
  for (const TensorInfo& tensor : tensors_) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {tensor.begin, tensor.begin + tensor.bytes}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  if (whole()) text.replace(find_header_sum(text).value(), kSumDigits, sum_text(hash_bytes(text)));
  std::string prefix;
  put(prefix, static_cast<uint64_t>(text.size()));
  return prefix + text;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorInfo> tensors,
                                     const Metadata& metadata)
    : file_(path), header_(std::move(tensors), metadata) {
  file_.write(header_.text());
}

void SafetensorsWriter::write(std::string_view bytes) {
  header_.add(bytes);
  file_.write(bytes);
}

void SafetensorsWriter::commit() {
  PS_CHECK(header_.whole());
  file_.overwrite(0, header_.text());
  file_.commit();
}

SafetensorsReader::Descriptor::~Descriptor() {
  if (number >= 0) close(number);
}

// The size of the header comes from the file, so it is bounded by the file and by the format before memory
// is allocated for it.  Any error of parsing is damage of the file, and gets the code kCorrupt.
SafetensorsReader::SafetensorsReader(std::string path) : path_(std::move(path)) {
  file_.number = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_.number < 0) fail_errno(Code::kUsage, "cannot open", path_, errno);
  struct stat status;
  if (fstat(file_.number, &status) != 0) fail_errno(Code::kUsage, "cannot read", path_, errno);
  if (!S_ISREG(status.st_mode)) fail(Code::kUsage, quote(path_), " is not a file");
  uint64_t file_bytes = static_cast<uint64_t>(status.st_size), header_bytes = 0;
  if (file_bytes < 8 || pread(file_.number, &header_bytes, 8, 0) != 8)
    fail(Code::kCorrupt, path_, ": shorter than its header");
  if (header_bytes > kMaxHeaderBytes || header_bytes > file_bytes - 8)
    refuse_header(header_bytes, file_bytes);
  std::string header(header_bytes, '\0');
  if (pread(file_.number, header.data(), header.size(), 8) != static_cast<ssize_t>(header_bytes)) {
    fail(Code::kCorrupt, path_, ": header is cut short");
  }
  buffer_start_ = 8 + header_bytes;
  try {
    parse_header(header, file_bytes - buffer_start_);
  } catch (const Json::exception& error) {
    fail(Code::kCorrupt, path_, ": header: ", error.what());
  } catch (const Error& error) {
    throw Error(Code::kCorrupt, error.message());
  }
  check_header(header);
}

// Throws an error for a wrong size of the header.  Files of other formats have a text or a signature in its
// position, which the message shows.
void SafetensorsReader::refuse_header(uint64_t header_bytes, uint64_t file_bytes) const {
  char head[9] = {};
  if (pread(file_.number, head, sizeof head, 0) < 8 || header_bytes <= kMaxHeaderBytes || head[8] == '{') {
    fail(Code::kCorrupt, path_, ": header of ", header_bytes, " bytes in a file of ", file_bytes);
  }
  const std::string_view text(head, 8);
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= ' ' && c < '\x7f') || c == '\n' || c == '\t' || c == '\r';
  });
  fail(Code::kCorrupt, quote(path_), " is not a safetensors file, as models are: it begins with ",
       quote(text),
       text.starts_with("PK") ? ", as npz and other ZIP files do"
       : printable            ? ", as a text does"
                              : "",
       " (a header of ", header_bytes, " bytes in a file of ", file_bytes, ")");
}

// Checks header_sum, which is the checksum of the header with zeros in place of header_sum.
void SafetensorsReader::check_header(const std::string& header) {
  const auto found = metadata_.find(kChecksumKey);
  if (found == metadata_.end()) {
    if (!metadata_.contains(kVersionKey)) return;  // written by another program or an earlier version
    fail(Code::kCorrupt, path_, ": header: the checksums are not there");
  }
  const std::vector<std::string_view> words = split(found->second, ' ');
  for (std::string_view word : words) {
    uint64_t sum = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), sum, 16);
    if (error != std::errc() || end != word.data() + word.size() || sum_text(sum) != word) {
      fail(Code::kCorrupt, path_, ": header: ", quote(word), " is not a checksum");
    }
    sums_.push_back(sum);
  }
  std::string zeroed = header;
  const std::optional<size_t> position = find_header_sum(header);
  if (position) zeroed.replace(*position, kSumDigits, std::string(kSumDigits, '0'));
  if (!position || sums_.size() != tensors_.size() + 1 || hash_bytes(zeroed) != sums_.front()) {
    fail(Code::kCorrupt, path_, ": header: its checksum is ", sum_text(hash_bytes(zeroed)), ", expected ",
         words.front());
  }
  sums_.erase(sums_.begin());
}

// Each tensor must lie in the buffer and have as many bytes as its shape says.  Then the tensors are sorted
// by place, which puts empty ones before the tensor that begins where they do, and must cover the buffer
// from 0 to its end without holes, as the format demands.
void SafetensorsReader::parse_header(const std::string& header, uint64_t buffer_bytes) {
  Json document = parse_json(header, path_);
  if (!document.is_object())
    fail(Code::kCorrupt, path_, ": header is ", json_kind(document), ", expected an object");
  for (const auto& [name, value] : document.items()) {
    if (name == "__metadata__") {
      metadata_ = value.get<Metadata>();
      continue;
    }
    TensorInfo tensor{name, value.at("dtype").get<std::string>(),
                      value.at("shape").get<std::vector<int64_t>>(), 0, 0};
    std::array<uint64_t, 2> offsets = value.at("data_offsets").get<std::array<uint64_t, 2>>();
    tensor.begin = offsets[0];
    tensor.bytes = offsets[1] - offsets[0];
    if (element_bytes(tensor.dtype) == 0)
      fail(Code::kCorrupt, path_, ": tensor ", quote(name), " has an unknown type");
    if (offsets[1] < offsets[0] || offsets[1] > buffer_bytes || byte_count(tensor) != tensor.bytes) {
      fail(Code::kCorrupt, path_, ": tensor ", quote(name), " lies at ", offsets[0], " to ", offsets[1],
           " of ", buffer_bytes, " bytes, against its shape");
    }
    tensors_.push_back(std::move(tensor));
  }
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
  });
  uint64_t end = 0;
  for (const TensorInfo& tensor : tensors_) {
    if (tensor.begin != end)
      fail(Code::kCorrupt, path_, ": a hole or overlap at offset ", end, " of the buffer");
    end = tensor.begin + tensor.bytes;
  }
  if (end != buffer_bytes)
    fail(Code::kCorrupt, path_, ": ", buffer_bytes - end, " bytes after the last tensor");
}

const TensorInfo* SafetensorsReader::find(const std::string& name) const {
  for (const TensorInfo& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

void SafetensorsReader::read_bytes(const TensorInfo& tensor, uint64_t offset, void* out, uint64_t bytes) {
  read_stored(tensor, offset, static_cast<char*>(out), bytes);
  if (!sums_.empty()) check_bytes(tensor, offset, {static_cast<const char*>(out), bytes});
}

// Reads without the checksum, in as many calls as the system takes.  A file that has become shorter since
// it was opened is damaged.
void SafetensorsReader::read_stored(const TensorInfo& tensor, uint64_t offset, char* out,
                                    uint64_t bytes) const {
  PS_CHECK(offset + bytes <= tensor.bytes);
  uint64_t position = buffer_start_ + tensor.begin + offset;
  while (bytes > 0) {
    ssize_t count = pread(file_.number, out, bytes, static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(Code::kCorrupt, path_, ": tensor ", quote(tensor.name), " is cut short");
    out += count;
    position += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
}

// Adds bytes to a tensor's checksum, which restarts whenever the tensor's first bytes are read.
void SafetensorsReader::check_bytes(const TensorInfo& tensor, uint64_t offset, std::string_view bytes) {
  Sum& sum = being_read_[&tensor];
  if (offset == 0) {
    sum.next = 0;
    sum.hasher.reset();
  }
  if (sum.next != offset) return;
  sum.hasher.update(bytes);
  sum.next += bytes.size();
  if (sum.next < tensor.bytes) return;
  const uint64_t expected = sums_[static_cast<size_t>(&tensor - tensors_.data())];
  if (sum.hasher.digest() == expected) return;
  fail(Code::kCorrupt, path_, ": tensor ", quote(tensor.name), ": its checksum is ",
       sum_text(sum.hasher.digest()), ", expected ", sum_text(expected));
}

// read_bytes compares the checksum when the last piece has been read.
void SafetensorsReader::verify(const TensorInfo& tensor) {
  constexpr uint64_t kPieceBytes = 1 << 20;
  std::string piece;
  for (uint64_t offset = 0; offset < tensor.bytes; offset += piece.size()) {
    piece.resize(std::min(kPieceBytes, tensor.bytes - offset));
    read_bytes(tensor, offset, piece.data(), piece.size());
  }
}

// Narrower and wider types are read into `stored` first and then converted value by value.
void SafetensorsReader::read_floats(const TensorInfo& tensor, int64_t first, std::span<float> out) {
  if (tensor.dtype == "F32") return read(tensor, first, out);
  auto convert = [&]<class Stored>(Stored, auto to_float) {
    std::vector<Stored> stored(out.size());
    read<Stored>(tensor, first, stored);
    std::transform(stored.begin(), stored.end(), out.begin(), to_float);
  };
  if (tensor.dtype == "F16") return convert(uint16_t{}, from_half);
  if (tensor.dtype == "BF16") return convert(uint16_t{}, from_bfloat16);
  if (tensor.dtype == "F64") return convert(double{}, [](double value) { return static_cast<float>(value); });
  fail(Code::kUsage, path_, ": tensor ", quote(tensor.name), " is ", tensor.dtype,
       ", expected F32, F16, BF16 or F64");
}

}  // namespace ps
