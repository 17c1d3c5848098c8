#include "checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "config/json.h"
#include "math/half.h"

namespace ps {

// file := header_bytes:u64 header[header_bytes] buffer             (huggingface/safetensors; ps-model(5))
// header is JSON: {"__metadata__": {string: string}, name: {"dtype", "shape", "data_offsets": [begin, end]},
// …}, padded with spaces so that the buffer is 8-aligned; tensors lie in the buffer without holes.

namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // what the format allows

uint64_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, uint64_t> kBytes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"U16", 2}, {"I16", 2}, {"F16", 2}, {"BF16", 2},
      {"U32", 4},  {"I32", 4}, {"F32", 4}, {"U64", 8}, {"I64", 8}, {"F64", 8}};
  auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

// Product of the shape and the element size, or nothing when it overflows.
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

std::string safetensors_header(std::vector<TensorInfo>& tensors, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t begin = 0;
  for (TensorInfo& tensor : tensors) {
    tensor.begin = begin;
    tensor.bytes = byte_count(tensor).value();
    begin += tensor.bytes;
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, begin}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string prefix;
  put(prefix, static_cast<uint64_t>(text.size()));
  return prefix + text;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorInfo> tensors,
                                     const Metadata& metadata)
    : file_(path) {
  file_.write(safetensors_header(tensors, metadata));
  for (const TensorInfo& tensor : tensors) expected_ += tensor.bytes;
}

void SafetensorsWriter::write(std::string_view bytes) {
  written_ += bytes.size();
  PS_CHECK(written_ <= expected_);
  file_.write(bytes);
}

void SafetensorsWriter::commit() {
  PS_CHECK(written_ == expected_);
  file_.commit();
}

SafetensorsReader::SafetensorsReader(std::string path) : path_(std::move(path)) {
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) fail_errno(Code::kUsage, "cannot open", path_, errno);
  struct stat status;
  if (fstat(file_, &status) != 0) fail_errno(Code::kUsage, "cannot read", path_, errno);
  uint64_t file_bytes = static_cast<uint64_t>(status.st_size), header_bytes = 0;
  if (file_bytes < 8 || pread(file_, &header_bytes, 8, 0) != 8)
    fail(Code::kCorrupt, path_, ": shorter than its header");
  if (header_bytes > kMaxHeaderBytes || header_bytes > file_bytes - 8) {
    fail(Code::kCorrupt, path_, ": header of ", header_bytes, " bytes in a file of ", file_bytes);
  }
  std::string header(header_bytes, '\0');
  if (pread(file_, header.data(), header.size(), 8) != static_cast<ssize_t>(header_bytes)) {
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
}

SafetensorsReader::~SafetensorsReader() {
  close(file_);
}

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

void SafetensorsReader::read_bytes(const TensorInfo& tensor, uint64_t offset, void* out,
                                   uint64_t bytes) const {
  PS_CHECK(offset + bytes <= tensor.bytes);
  char* next = static_cast<char*>(out);
  uint64_t position = buffer_start_ + tensor.begin + offset;
  while (bytes > 0) {
    ssize_t count = pread(file_, next, bytes, static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(Code::kCorrupt, path_, ": tensor ", quote(tensor.name), " is cut short");
    next += count;
    position += static_cast<uint64_t>(count);
    bytes -= static_cast<uint64_t>(count);
  }
}

void SafetensorsReader::read_floats(const TensorInfo& tensor, int64_t first, std::span<float> out) const {
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
