// Safetensors files: named arrays that other people's tools read.  The format of models, ps-model(5).
#ifndef PS_CHECKPOINT_SAFETENSORS_H_
#define PS_CHECKPOINT_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

namespace ps {

struct TensorInfo {
  std::string name;
  std::string dtype;           // "F32", "U64", …
  std::vector<int64_t> shape;  // row-major
  uint64_t begin = 0;          // offset of its bytes in the buffer; set by writer and reader
  uint64_t bytes = 0;

  int64_t elements() const;
};

using Metadata = std::map<std::string, std::string>;

// What stands before the buffer of a file with these tensors, in their order; sets their offsets.
std::string safetensors_header(std::vector<TensorInfo>& tensors, const Metadata& metadata);

// Writes a file whose tensors are known, with their shapes, before their bytes.  The file appears at
// commit().
class SafetensorsWriter {
 public:
  // Tensors are laid out in the order given; put those of the widest type first, so that all are aligned.
  SafetensorsWriter(const std::string& path, std::vector<TensorInfo> tensors, const Metadata& metadata);

  // The bytes of the tensors one after the other, in any pieces.
  void write(std::string_view bytes);
  template <class Scalar>
  void write_array(std::span<const Scalar> values) {
    write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  // All tensors must have been written whole.
  void commit();

 private:
  AtomicFile file_;
  uint64_t expected_ = 0, written_ = 0;
};

// Reads a file, checking everything that the format says before anything is believed.
class SafetensorsReader {
 public:
  // Throws kUsage when the file cannot be opened, kCorrupt "path: what is wrong" when it is damaged.
  explicit SafetensorsReader(std::string path);
  ~SafetensorsReader();
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }

  // The tensor of this name, or null.
  const TensorInfo* find(const std::string& name) const;

  // Elements [first, first + out.size()) of a tensor of that element type.
  template <class Scalar>
  void read(const TensorInfo& tensor, int64_t first, std::span<Scalar> out) const {
    read_bytes(tensor, static_cast<uint64_t>(first) * sizeof(Scalar), out.data(), out.size_bytes());
  }

  // The same as floats, of a tensor of any floating type; throws kUsage for other types.
  void read_floats(const TensorInfo& tensor, int64_t first, std::span<float> out) const;

 private:
  void parse_header(const std::string& header, uint64_t file_bytes);
  void read_bytes(const TensorInfo& tensor, uint64_t offset, void* out, uint64_t bytes) const;

  std::string path_;
  int file_ = -1;
  uint64_t buffer_start_ = 0;
  std::vector<TensorInfo> tensors_;
  Metadata metadata_;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_SAFETENSORS_H_
