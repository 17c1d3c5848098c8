#include "train/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "base/error.h"
#include "support/damage.h"
#include "support/scratch_folder.h"

namespace ps::model_file_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Holds what is loaded, and gives it back.
class FakeStore final : public ParameterStore {
 public:
  std::map<uint64_t, std::vector<float>> table;
  std::vector<float> matrix = {1, 2, 3, 4, 5, 6};

  void pull(std::span<const KeyPlan>, PullMode, std::vector<ParameterView<float>>&) override { FAIL(); }
  void push(std::span<const KeyPlan>, std::span<const ParameterView<float>>, const StepInfo&) override {
    FAIL();
  }
  double learning_rate() const override { return 0; }
  void end_pass(int64_t) override { FAIL(); }
  std::vector<uint64_t> keys(int) override {
    std::vector<uint64_t> keys;
    for (const auto& [key, row] : table) keys.push_back(key);
    return keys;
  }
  void read_rows(int, std::span<const uint64_t> keys, float* weights) override {
    for (uint64_t key : keys) weights = std::copy(table[key].begin(), table[key].end(), weights);
  }
  void read_all(int, float* weights) override { std::copy(matrix.begin(), matrix.end(), weights); }
  void load_rows(int, std::span<const uint64_t> keys, const float* weights) override {
    for (uint64_t key : keys) table[key].assign(weights, weights + 2), weights += 2;
  }
  void load_all(int, const float* weights) override { matrix.assign(weights, weights + 6); }
  RowReport row_report(int) override { return {}; }
};

ParameterSpec spec_of(const std::string& name, bool sparse, int64_t rows) {
  ParameterSpec spec;
  spec.name = name;
  spec.kind = sparse ? ParameterKind::kRows : ParameterKind::kMatrix;
  spec.sparse = sparse;
  spec.rows = rows;
  spec.cols = 2;
  return spec;
}

const float kNan = std::numeric_limits<float>::quiet_NaN();

class ModelFileTest : public testing::Test {
 protected:
  ModelFileTest() {
    saved_.table = {{2, {20, 21}}, {0, {1, 2}}};
    save_model(path_, {spec_of("table", true, 3), spec_of("matrix", false, 3)}, saved_, {{"job", "test"}});
  }

  std::string refusal(const std::vector<ParameterSpec>& parameters) {
    try {
      load_model(path_, parameters, loaded_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      return error.message();
    }
    return "accepted";
  }

  const std::string path_ = testing::TempDir() + "model_file_test.safetensors";
  FakeStore saved_, loaded_;
};

TEST_F(ModelFileTest, LoadGivesWhatWasSaved) {
  loaded_.matrix.assign(6, 0);
  load_model(path_, {spec_of("table", true, 3), spec_of("matrix", false, 3)}, loaded_);
  EXPECT_EQ(loaded_.table, saved_.table);
  EXPECT_EQ(loaded_.matrix, saved_.matrix);
}

TEST_F(ModelFileTest, SparseAndWholeLoadIntoEachOther) {
  load_model(path_, {spec_of("matrix", true, 3)}, loaded_);
  EXPECT_THAT(loaded_.table,
              ElementsAre(testing::Pair(0, ElementsAre(1, 2)), testing::Pair(1, ElementsAre(3, 4)),
                          testing::Pair(2, ElementsAre(5, 6))));
  load_model(path_, {spec_of("table", false, 3)}, loaded_);
  EXPECT_THAT(loaded_.matrix, ElementsAre(1, 2, 3, 4, 20, 21)) << "the row that is not in the file stays";
}

TEST_F(ModelFileTest, ModelThatDoesNotSuitIsRefusedByName) {
  EXPECT_THAT(refusal({spec_of("other", true, 3)}), HasSubstr("no parameter 'other'"));
  ParameterSpec wide = spec_of("table", true, 3);
  wide.cols = 4;
  EXPECT_THAT(refusal({wide}), HasSubstr("'table.rows' is F32 [2, 2], the job expects [2, 4]"));
  EXPECT_THAT(refusal({spec_of("table", true, 2)}), HasSubstr("key 2 of 'table' is outside the job's 2"));
}

TEST_F(ModelFileTest, EveryFlippedBitIsFound) {
  with_each_bit_flipped(path_, [&](const std::string& what) {
    const std::vector<ParameterSpec> all = {spec_of("table", true, 3), spec_of("matrix", false, 3)};
    const Error error = error_of([&] { load_model(path_, all, loaded_); });
    EXPECT_EQ(error.code(), Code::kCorrupt) << what << ": " << error.message();
  });
}

TEST_F(ModelFileTest, WeightsThatAreNotFiniteAreNeitherSavedNorLoaded) {
  const std::vector<ParameterSpec> all = {spec_of("table", true, 3), spec_of("matrix", false, 3)};
  saved_.table[2][1] = kNan;
  Error error = error_of([&] { save_model(path_ + ".new", all, saved_, {}); });
  EXPECT_EQ(error.code(), Code::kData);
  EXPECT_THAT(error.message(), HasSubstr("a weight of 'table', row 2, is nan"));
  saved_.table[2][1] = 0;
  saved_.matrix[3] = std::numeric_limits<float>::infinity();
  error = error_of([&] { save_model(path_ + ".new", all, saved_, {}); });
  EXPECT_THAT(error.message(), HasSubstr("a weight of 'matrix', row 1, is inf"));
  EXPECT_FALSE(exists(path_ + ".new"));
  {
    SafetensorsWriter writer(path_, {{"matrix", "F32", {3, 2}, 0, 0}}, {});
    writer.write_array<float>(saved_.matrix);
    writer.commit();
  }
  error = error_of([&] { load_model(path_, {spec_of("matrix", false, 3)}, loaded_); });
  EXPECT_EQ(error.code(), Code::kData);
  EXPECT_THAT(error.message(), HasSubstr("model_file_test.safetensors: the model is not finite"));
}

// Tensors that others wrote, with the floats 1 and -2 in any type.
TEST_F(ModelFileTest, ModelsOfOthersAreReadInTheirTypesAndShapes) {
  const std::map<std::string, std::string> types = {
      {"F32", std::string("\0\0\x80\x3f\0\0\0\xc0", 8)},
      {"F16", std::string("\0\x3c\0\xc0", 4)},
      {"BF16", std::string("\x80\x3f\0\xc0", 4)},
      {"F64", std::string("\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16)}};
  for (const auto& [type, bytes] : types) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{1, 2}, {2}, {2, 1}}) {
      SafetensorsWriter writer(path_, {{"table", type, shape, 0, 0}}, {});
      writer.write(bytes);
      writer.commit();
      loaded_.table.clear();
      load_model(path_, {spec_of("table", true, 1)}, loaded_);
      EXPECT_THAT(loaded_.table, ElementsAre(testing::Pair(0, ElementsAre(1, -2)))) << type;
    }
  }
}

TEST_F(ModelFileTest, WeightsIn8BitsAreScaledByTheirRow) {
  SafetensorsWriter writer(path_,
                           {{"table.keys", "U64", {2}, 0, 0},
                            {"table.scales", "F32", {2}, 0, 0},
                            {"table.rows", "I8", {2, 2}, 0, 0}},
                           {});
  writer.write_array<uint64_t>(std::vector<uint64_t>{1, 2});
  writer.write_array<float>(std::vector<float>{0.5f, 2.0f});
  writer.write_array<int8_t>(std::vector<int8_t>{127, -2, 3, 0});
  writer.commit();
  load_model(path_, {spec_of("table", true, 3)}, loaded_);
  EXPECT_THAT(loaded_.table,
              ElementsAre(testing::Pair(1, ElementsAre(63.5f, -1)), testing::Pair(2, ElementsAre(6, 0))));
}

TEST_F(ModelFileTest, KeysThatDoNotAscendAndOtherTypesAreRefused) {
  auto write = [&](const std::string& keys, const std::string& rows, std::vector<uint64_t> numbers) {
    SafetensorsWriter writer(path_, {{"table.keys", keys, {2}, 0, 0}, {"table.rows", rows, {2, 2}, 0, 0}},
                             {});
    writer.write_array<uint64_t>(numbers);
    writer.write(std::string(rows == "F32" ? 16 : 4, '\0'));
    writer.commit();
  };
  auto load = [&] { load_model(path_, {spec_of("table", true, 0)}, loaded_); };
  for (const std::vector<uint64_t>& keys :
       std::vector<std::vector<uint64_t>>{{3, 3}, {5, 4}, {UINT64_MAX, 3}, {UINT64_MAX, UINT64_MAX}}) {
    write("U64", "F32", keys);
    try {
      load();
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt);
      EXPECT_THAT(error.message(), HasSubstr("keys of 'table' do not ascend"));
    }
  }
  write("I64", "F32", {1, 2});
  EXPECT_THAT(refusal({spec_of("table", true, 9)}), HasSubstr("expects U64 keys"));
  write("U64", "U8", {1, 2});
  EXPECT_THAT(refusal({spec_of("table", true, 9)}), HasSubstr("expected F32, F16, BF16 or F64"));
  write("U64", "I8", {1, 2});
  EXPECT_THAT(refusal({spec_of("table", true, 9)}), HasSubstr("a scale for each row"));
}

TEST_F(ModelFileTest, OneParameterCanBeTaken) {
  load_parameter(path_, {spec_of("other", false, 3), spec_of("table", true, 3)}, 1, loaded_);
  EXPECT_EQ(loaded_.table, saved_.table);
}

TEST(PassDirectoryTest, NumbersHaveFiveDigits) {
  EXPECT_EQ(pass_directory(0), "pass-00000");
  EXPECT_EQ(pass_directory(123456), "pass-123456");
}

}  // namespace
}  // namespace ps::model_file_test
