// Shared by the tests of lib/data: small files, and batches as text.
#ifndef PS_TESTS_UNIT_DATA_DATA_TEST_H_
#define PS_TESTS_UNIT_DATA_DATA_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/options.h"
#include "data/reader.h"

namespace ps {

// A folder that goes with the test.
class DataTest : public testing::Test {
 protected:
  DataTest();
  ~DataTest() override;

  // Writes a file into the folder and returns its path.
  std::string put_file(const std::string& name, std::string_view bytes);

  // All examples of one pass over `bytes` in a file called "data", a line each: "label*weight@group
  // slot:key=value,…".
  std::vector<std::string> read(const DataOptions& options, std::string_view bytes,
                                ReaderSettings settings = {});

  // The same, one string a batch.
  std::vector<std::string> read_batches(BatchReader& reader, int pass = 0);

  // Returns the error of reading `bytes`: "code: message", with the folder left out of the message; empty if
  // there is none.
  std::string error_of(const DataOptions& options, std::string_view bytes, ReaderSettings settings = {});

  // Returns the error of running `body`, likewise.
  template <class Body>
  std::string error_from(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error_text(error);
    }
    return {};
  }

  std::string folder_;

 private:
  std::string error_text(const Error& error) const;
};

DataOptions options_for(const std::string& format, int64_t dim = 0);

// The bytes compressed by zlib or zstd.
std::string gzip(std::string_view bytes);
std::string zstd(std::string_view bytes);

// `lines` lines of libsvm with ids, values, weights that vary.
std::string sample_lines(int lines);

std::string describe(const DataSchema& schema, const Batch& batch, int64_t example);

// A pipe whose writing end is fed by a thread, one piece at a time, each after the reader took the one
// before.
class FedPipe {
 public:
  explicit FedPipe(std::vector<std::string> pieces);
  ~FedPipe();
  int descriptor() const { return ends_[0]; }

 private:
  struct Feeder;
  int ends_[2];
  std::unique_ptr<Feeder> feeder_;
};

}  // namespace ps

#endif  // PS_TESTS_UNIT_DATA_DATA_TEST_H_
