// Safetensors files: named arrays that many tools read; this toolkit adds checksums to their metadata.  The
// format of models, ps-model(5); used to save, load and convert models.
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

// The header of a file, with the checksums of header and tensors, which are known once all bytes of the
// tensors have been added.  One owner thread.
class SafetensorsHeader {
 public:
  // Tensors are laid out in the given order; tensors of the widest type should come first, so that all are
  // aligned.
  SafetensorsHeader(std::vector<TensorInfo> tensors, const Metadata& metadata);

  // Adds bytes of the tensors, one tensor after the other, in pieces of any size.
  void add(std::string_view bytes);
  bool whole() const { return tensor_ == tensors_.size(); }

  // Returns the header's text.  Its length never changes; checksums are zeros until whole().
  std::string text() const;

 private:
  void end_tensors();

  std::vector<TensorInfo> tensors_;  // constant after construction
  Metadata metadata_;
  size_t tensor_ = 0;    // the tensor of the next byte
  uint64_t passed_ = 0;  // bytes of that tensor so far
  ByteHasher hasher_;
  std::vector<uint64_t> sums_;
};

// Writes a file whose tensors are known, with their shapes, before their bytes.  The file appears at
// commit().
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, std::vector<TensorInfo> tensors, const Metadata& metadata);

  // See SafetensorsHeader::add.
  void write(std::string_view bytes);
  template <class Scalar>
  void write_array(std::span<const Scalar> values) {
    write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  // To be called after all bytes of all tensors were written.
  void commit();

 private:
  AtomicFile file_;
  SafetensorsHeader header_;
};

// Reads a file, and checks all rules of the format before it uses any data.  If the file has checksums, the
// header's is checked at once; a tensor's is checked when its last element is read, if the tensor is read in
// order from its first.  One owner thread.
class SafetensorsReader {
 public:
  // Throws kUsage when the file cannot be opened, kCorrupt "path: reason" when it is damaged.
  explicit SafetensorsReader(std::string path);
  SafetensorsReader(const SafetensorsReader&) = delete;
  SafetensorsReader& operator=(const SafetensorsReader&) = delete;

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }

  // Returns the tensor of this name, or null.
  const TensorInfo* find(const std::string& name) const;

  // Reads elements [first, first + out.size()) of a tensor of the type Scalar.
  template <class Scalar>
  void read(const TensorInfo& tensor, int64_t first, std::span<Scalar> out) {
    read_bytes(tensor, static_cast<uint64_t>(first) * sizeof(Scalar), out.data(), out.size_bytes());
  }

  // The same as floats, from a tensor of any floating-point type; throws kUsage for other types.
  void read_floats(const TensorInfo& tensor, int64_t first, std::span<float> out);

  // Reads a whole tensor.  Throws kCorrupt when the file has a checksum for it that does not match.
  void verify(const TensorInfo& tensor);

 private:
  struct Descriptor {
    int number = -1;
    ~Descriptor();
  };
  // The checksum so far of a tensor that is being read in order.
  struct Sum {
    uint64_t next = 0;  // offset of the next byte
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
  std::vector<uint64_t> sums_;  // checksums of the tensors from the file; empty: it has none
  std::map<const TensorInfo*, Sum> being_read_;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_SAFETENSORS_H_
