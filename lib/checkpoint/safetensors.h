// Safetensors files: named arrays that other people's tools read, with checksums of our own in their metadata.
// The format of models, ps-model(5); used by whoever saves, loads and converts models.
#ifndef PS_CHECKPOINT_SAFETENSORS_H_
#define PS_CHECKPOINT_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

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

// What stands before the buffer of a file, with the checksums of header and tensors, which are known once all
// bytes of the tensors have been seen.  One owner thread.
class SafetensorsHeader {
 public:
  // Tensors are laid out in the order given; put those of the widest type first, so that all are aligned.
  SafetensorsHeader(std::vector<TensorInfo> tensors, const Metadata& metadata);

  // The bytes of the tensors one after the other, in any pieces.
  void add(std::string_view bytes);
  bool whole() const { return tensor_ == tensors_.size(); }

  // As many bytes at all times; with zeros for the checksums until whole().
  std::string text() const;

 private:
  void end_tensors();

  std::vector<TensorInfo> tensors_;  // constant after construction
  Metadata metadata_;
  size_t tensor_ = 0;   // that the next byte is of
  uint64_t taken_ = 0;  // bytes of it
  ByteHasher hasher_;
  std::vector<uint64_t> sums_;
};

// Writes a file whose tensors are known, with their shapes, before their bytes.  The file appears at
// commit().
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, std::vector<TensorInfo> tensors, const Metadata& metadata);

  // As SafetensorsHeader::add.
  void write(std::string_view bytes);
  template <class Scalar>
  void write_array(std::span<const Scalar> values) {
    write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  // All tensors must have been written whole.
  void commit();

 private:
  AtomicFile file_;
  SafetensorsHeader header_;
};

// Reads a file, checking everything that the format says before anything is believed.  Where the file has
// checksums, that of the header is checked at once, and that of a tensor once its last element is read, if it
// is read in order from its first.  One owner thread.
class SafetensorsReader {
 public:
  // Throws kUsage when the file cannot be opened, kCorrupt "path: what is wrong" when it is damaged.
  explicit SafetensorsReader(std::string path);
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }

  // The tensor of this name, or null.
  const TensorInfo* find(const std::string& name) const;

  // Elements [first, first + out.size()) of a tensor of that element type.
  template <class Scalar>
  void read(const TensorInfo& tensor, int64_t first, std::span<Scalar> out) {
    read_bytes(tensor, static_cast<uint64_t>(first) * sizeof(Scalar), out.data(), out.size_bytes());
  }

  // The same as floats, of a tensor of any floating type; throws kUsage for other types.
  void read_floats(const TensorInfo& tensor, int64_t first, std::span<float> out);

  // Reads all of a tensor.  Throws kCorrupt when its checksum is not that of the file, if there is one.
  void verify(const TensorInfo& tensor);

 private:
  struct Descriptor {
    int number = -1;
    ~Descriptor();
  };
  // Of a tensor that is being read in order.
  struct Sum {
    uint64_t next = 0;  // byte
    ByteHasher hasher;
  };

  [[noreturn]] void refuse_header(uint64_t header_bytes, uint64_t file_bytes) const;
  void parse_header(const std::string& header, uint64_t file_bytes);
  void check_header(const std::string& header);
  void check_bytes(const TensorInfo& tensor, uint64_t offset, std::string_view bytes);
  void read_bytes(const TensorInfo& tensor, uint64_t offset, void* out, uint64_t bytes);
  void read_stored(const TensorInfo& tensor, uint64_t offset, char* out, uint64_t bytes) const;

  std::string path_;
  Descriptor file_;
  uint64_t buffer_start_ = 0;
  std::vector<TensorInfo> tensors_;  // in the order of their bytes
  Metadata metadata_;
  std::vector<uint64_t> sums_;  // of the tensors, as the file says; empty: it has none
  std::map<const TensorInfo*, Sum> being_read_;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_SAFETENSORS_H_
