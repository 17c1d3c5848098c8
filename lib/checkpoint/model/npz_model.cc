// npz, numpy's archive: an uncompressed ZIP file of arrays.  It is written in a single pass, so sizes and
// checksums follow each array (PKWARE, APPNOTE 6.3.10, 4.3.9 and 4.5.3); sizes have 64 bits, since arrays may
// be large.
//
//   file  := entry* directory
//   entry := local_header name.npy crc32:u32 size:u64 size:u64
//                                                             (the .npy of npy.h)
#include <zlib.h>

#include <iterator>

#include "base/bytes.h"
#include "base/error.h"
#include "checkpoint/model/model_format.h"
#include "checkpoint/model/npy.h"
#include "checkpoint/model/numbers.h"

namespace ps {

namespace {

constexpr uint16_t kZipVersion = 45;             // needed to read: ZIP64
constexpr uint16_t kSizesFollow = 1 << 3;        // flag
constexpr uint16_t kDosTime = 0, kDosDate = 33;  // the first of January 1980
constexpr uint32_t kIn64Bits = UINT32_MAX;

struct Entry {
  std::string name;
  uint64_t offset, bytes;
  uint32_t checksum;
};

// Writes the fields that a local header and an entry of the directory have in common.  Both sizes are
// kIn64Bits, which refers the reader to the ZIP64 field behind the name.
void put_fields(std::string& out, uint32_t checksum, const std::string& name) {
  put(out, kZipVersion);
  put(out, kSizesFollow);
  put(out, uint16_t{0});  // stored
  put(out, kDosTime);
  put(out, kDosDate);
  put(out, checksum);
  put(out, kIn64Bits);
  put(out, kIn64Bits);
  put(out, static_cast<uint16_t>(name.size()));
}

// Writes entries one after the other, and the directory that ends the file.
class ZipWriter final : public ByteSink {
 public:
  explicit ZipWriter(ByteSink& out) : out_(out) {}

  // local_header := 'PK' 3 4 fields extra_bytes:u16 name zip64
  // zip64        := 1:u16 16:u16 size:u64 size:u64        zeros here, since sizes follow the bytes
  void begin(const std::string& name) {
    entries_.push_back({name, bytes_, 0, static_cast<uint32_t>(crc32(0, nullptr, 0))});
    std::string head;
    put(head, uint32_t{0x04034b50});
    put_fields(head, 0, name);
    put(head, uint16_t{20});
    head += name;
    put(head, uint16_t{1});  // ZIP64: sizes, which follow
    put(head, uint16_t{16});
    put(head, uint64_t{0});
    put(head, uint64_t{0});
    put_out(head);
  }

  void write(std::string_view bytes) override {
    Entry& entry = entries_.back();
    entry.checksum = static_cast<uint32_t>(
        crc32_z(entry.checksum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    entry.bytes += bytes.size();
    put_out(bytes);
  }
  bool open() const override { return out_.open(); }

  // descriptor := 'PK' 7 8 crc32:u32 size:u64 size:u64    packed and unpacked, which are equal
  void end() {
    const Entry& entry = entries_.back();
    std::string tail;
    put(tail, uint32_t{0x08074b50});
    put(tail, entry.checksum);
    put(tail, entry.bytes);
    put(tail, entry.bytes);
    put_out(tail);
  }

  // The end of a ZIP file is read backwards: the last record, of 32 bits, says by its largest values that
  // the locator before it leads to the record of 64 bits, which tells where the directory begins and how
  // many entries it has.
  void finish() {
    const uint64_t directory = bytes_;
    for (const Entry& entry : entries_) put_directory(entry);
    const uint64_t size = bytes_ - directory, end = bytes_;
    std::string tail;
    put(tail, uint32_t{0x06064b50});  // end of the directory, in 64 bits
    put(tail, uint64_t{44});
    put(tail, kZipVersion);
    put(tail, kZipVersion);
    put(tail, uint32_t{0});
    put(tail, uint32_t{0});
    put(tail, static_cast<uint64_t>(entries_.size()));
    put(tail, static_cast<uint64_t>(entries_.size()));
    put(tail, size);
    put(tail, directory);
    put(tail, uint32_t{0x07064b50});  // locator of that record
    put(tail, uint32_t{0});
    put(tail, end);
    put(tail, uint32_t{1});
    put(tail, uint32_t{0x06054b50});  // end of the directory in 32 bits, which refers to the other one
    put(tail, uint32_t{0});
    put(tail, UINT16_MAX);
    put(tail, UINT16_MAX);
    put(tail, kIn64Bits);
    put(tail, kIn64Bits);
    put(tail, uint16_t{0});
    put_out(tail);
  }

 private:
  void put_out(std::string_view bytes) {
    bytes_ += bytes.size();
    out_.write(bytes);
  }

  // entry := 'PK' 1 2 writer:u16 fields extra_bytes:u16 comment_bytes:u16 disk:u16 attributes offset:u32
  //          name zip64
  // zip64 := 1:u16 24:u16 size:u64 size:u64 offset:u64            offset is that of the local header
  void put_directory(const Entry& entry) {
    std::string head;
    put(head, uint32_t{0x02014b50});
    put(head, kZipVersion);
    put_fields(head, entry.checksum, entry.name);
    put(head, uint16_t{28});
    put(head, uint16_t{0});  // no comment
    put(head, uint16_t{0});  // disk
    put(head, uint16_t{0});
    put(head, uint32_t{0});
    put(head, kIn64Bits);
    head += entry.name;
    put(head, uint16_t{1});
    put(head, uint16_t{24});
    put(head, entry.bytes);
    put(head, entry.bytes);
    put(head, entry.offset);
    put_out(head);
  }

  ByteSink& out_;
  std::vector<Entry> entries_;
  uint64_t bytes_ = 0;
};

template <class Body>
void write_array(ZipWriter& zip, const std::string& name, const char* type,
                 const std::vector<uint64_t>& shape, Body&& body) {
  zip.begin(name + ".npy");
  zip.write(npy_header(type, shape));
  body();
  zip.end();
}

void write_count_arrays(ModelSource& source, size_t t, ZipWriter& zip) {
  const ModelTable& table = source.tables()[t];
  for (size_t array = 0; array < std::size(kCountArrays); ++array) {
    const CountArray& counts = kCountArrays[array];
    write_array(zip, table.name + counts.suffix, counts.npy_type, {table.count},
                [&] { write_table_counts(source, t, array, zip); });
  }
}

//   NAME.keys       u64 [N]             unless the keys are 0, 1, …, N - 1
//   NAME.scales     f32 [N]             of int8
//   NAME.shows, …   counts [N]          where they are asked for
//   NAME, or NAME.rows with keys        weights [N, D]
//   NAME.state.0, …                     f32 [N, D], a state array of the optimizer each
void write_table(ModelSource& source, size_t t, const ModelSettings& settings, ZipWriter& zip) {
  const ModelTable& table = source.tables()[t];
  const NumberType type = settings.type;
  const uint64_t width = static_cast<uint64_t>(table.width);
  if (!table.whole()) {
    write_array(zip, table.name + ".keys", kNpyKeys, {table.count},
                [&] { write_table_keys(source, t, zip); });
  }
  if (type == NumberType::kI8) {
    write_array(zip, table.name + ".scales", kNpyFloats, {table.count},
                [&] { write_table_scales(source, t, zip); });
  }
  if (settings.counts && table.counted) write_count_arrays(source, t, zip);
  for (int array = 0; array <= table.state_arrays; ++array) {
    const std::string rows = table.whole() ? table.name : table.name + ".rows";
    const std::string name = array == 0 ? rows : cat(table.name, ".state.", array - 1);
    write_array(zip, name, array == 0 ? npy_type(type, "npz") : kNpyFloats, {table.count, width},
                [&] { write_table_array(source, t, array, type, zip); });
  }
}

void write_npz(ModelSource& source, const ModelSettings& settings, ByteSink& out) {
  npy_type(settings.type, "npz");  // before anything is written
  ZipWriter zip(out);
  for (size_t t = 0; t < source.tables().size(); ++t) write_table(source, t, settings, zip);
  zip.finish();
}

}  // namespace

constinit const ModelFormat kNpzModel = {.name = "npz",
                                         .help = "arrays by name, for numpy.load",
                                         .binary = true,
                                         .other_types = true,
                                         .holds_state = true,
                                         .holds_counts = true,
                                         .write = write_npz};

}  // namespace ps
