// The toolkit's own binary stream (data/records.h).
#include "data/records.h"
#include "data/writer.h"

namespace ps {
namespace {

class RecordsWriter : public Writer {
 public:
  using Writer::Writer;

  void begin(std::string& out) const override { encode_records_header(schema(), out); }
  void format(const Batch& batch, std::string& out) const override {
    encode_records_chunk(schema(), batch, out);
  }
  void end(std::string& out) const override { encode_records_end(out); }
};

void check_records(const DataTraits&) {}  // the format can express any batch

std::unique_ptr<Writer> make_records(const DataTraits& traits) {
  return std::make_unique<RecordsWriter>(traits.schema);
}

}  // namespace

extern const WriterEntry kRecordsWriter = {
    "records",   "pskit's checksummed binary stream, which needs no parsing", true, false, check_records,
    make_records};

}  // namespace ps
