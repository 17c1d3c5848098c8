// Output of generated data to a file or to standard output, compressed if asked.  Used by ps-datagen.
#ifndef PS_DATA_OUTPUT_H_
#define PS_DATA_OUTPUT_H_

#include <memory>
#include <string>
#include <string_view>

namespace ps {

// Compresses one stream of bytes.  One owner thread.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual void write(std::string_view bytes, std::string& out) = 0;  // appends the bytes that are ready
  virtual void finish(std::string& out) = 0;                         // appends the rest
};

enum class Compression { kNone, kZstd, kGzip };

// One stream of bytes.  One owner thread.
class OutputStream {
 public:
  // `path` "-" is standard output; a file is replaced, and grows as it is written.  Throws kUsage when it
  // cannot be opened, and when `binary` or compressed bytes would go to a terminal.
  OutputStream(const std::string& path, Compression compression, bool binary);
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  // Returns false when the reading end of the pipe has been closed.  Throws kExhausted when the disk is full,
  // kUnavailable on other errors.
  bool write(std::string_view bytes);

  // Writes the bytes that the compressor still holds.  Returns false as write does.
  bool finish();

 private:
  bool write_raw(std::string_view bytes);

  const std::string name_;
  const int file_;
  const bool owned_;
  std::unique_ptr<Encoder> encoder_;
  std::string encoded_;
};

}  // namespace ps

#endif  // PS_DATA_OUTPUT_H_
