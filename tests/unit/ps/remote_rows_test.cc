// Rows that a trainer asks of shards which answer as the test says, and the files of their checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_file_writer.h"
#include "checkpoint/checkpoint_reader.h"
#include "fake_shards.h"
#include "optim/synthetic_parameter.h"
#include "ps/client/checkpoint_copier.h"
#include "ps/client/dense_link.h"
#include "ps/client/remote_model.h"
#include "ps/client/remote_pulls.h"
#include "ps/client/remote_pushes.h"
#include "ps/client/stored_row_pulls.h"
#include "ps/server/snapshot_fields.h"
#include "ps/wire/checkpoint_messages.h"
#include "support/scratch_folder.h"

namespace ps::remote_rows_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Shards whose rows hold their keys, in a table of width 2.
class RemoteRowsTest : public testing::Test {
 protected:
  RemoteRowsTest() {
    shards_.handlers[Message::kPull] = [this](size_t, std::string_view body) {
      std::string answer;
      for (const RowSlice& slice : decode_pull(bytes_of(body)).row_slices) {
        for (uint64_t key : slice.keys)
          put(answer, static_cast<float>(key)), put(answer, static_cast<float>(key) + 0.5f);
        answer.resize(padded(answer.size()), '\0');
      }
      return answer.substr(0, answer.size() - short_by_) + std::string(long_by_, '\0');
    };
  }

  // Runs body with what exchanges batches with these shards.
  template <class Body>
  void with_exchange(Body&& body) {
    shards_.run([&](ShardLinks& links) {
      RemotePulls pulls(links, specs_, RowTypes());
      Residuals residuals(specs_, RowTypes());
      TrainerStateLink states(links, residuals, nullptr, RowTypes(), 0);
      RemotePushes pushes({links, specs_, pulls, residuals, states}, {}, RowType::kF32,
                          [](int64_t) { return false; });
      body(links, pulls, pushes);
    });
  }

  // The same with a model.
  template <class Body>
  void with_model(Body&& body) {
    with_exchange([&](ShardLinks& links, RemotePulls&, RemotePushes& pushes) {
      RemoteModel model(links, specs_, pushes);
      body(model);
    });
  }
  PushRequest decoded_load(const std::string& bytes) {
    return decode_load(to_buffer(pool_, bytes), std::vector<int64_t>{2});
  }

  const std::vector<ParameterSpec> specs_ = {synthetic_parameter("table", ParameterKind::kRows, true, 0, 2)};
  FakeShards shards_{2};
  BufferPool pool_;
  size_t short_by_ = 0, long_by_ = 0;
};

TEST_F(RemoteRowsTest, RowsComeInTheOrderOfTheirKeysFromWhateverShardHasThem) {
  const std::vector<uint64_t> keys = {1, 2, 3, 50, 51, 1000};
  std::vector<float> weights(12), expected;
  for (uint64_t key : keys)
    expected.insert(expected.end(), {static_cast<float>(key), static_cast<float>(key) + 0.5f});
  with_model([&](RemoteModel& model) { model.read_rows(0, keys, weights.data()); });
  EXPECT_EQ(weights, expected);
  EXPECT_EQ(shards_.of_type(Message::kPull).size(), 2u) << "both have some";
  for (const auto& asked : shards_.of_type(Message::kPull)) {
    EXPECT_EQ(decode_pull(asked.body).mode, PullMode::kRead);
    EXPECT_EQ(decode_pull(asked.body).number, 0u) << "no push follows";
  }
}

TEST_F(RemoteRowsTest, AnAnswerWithTooFewOrTooManyRowsIsRefused) {
  const std::vector<uint64_t> keys = {1, 2, 3};
  std::vector<float> weights(6);
  auto read = [&] { with_model([&](RemoteModel& model) { model.read_rows(0, keys, weights.data()); }); };
  short_by_ = 64;
  EXPECT_THAT(error_of(read).message(), HasSubstr("too few rows"));
  short_by_ = 0;
  long_by_ = 64;
  EXPECT_THAT(error_of(read).message(), HasSubstr("too many rows"));
}

TEST_F(RemoteRowsTest, StoredRowsThatFitIntoNoMessageAreRefusedBeforeAnyIsAsked) {
  const TableLayout wide{.name = "deep.weight", .sparse = true, .width = 8 << 20, .state_arrays = 1};
  const Error error = error_of([&] {
    shards_.run([&](ShardLinks& links) { StoredRowPulls(links, specs_, {wide}, [](auto, auto, auto&) {}); });
  });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("a row of 'deep.weight'"));
  EXPECT_TRUE(shards_.of_type(Message::kStoredRows).empty());
}

// A shard whose index grows meanwhile gives a key twice.
TEST_F(RemoteRowsTest, KeysOfAllShardsComeOnceAndAscend) {
  int calls = 0;
  shards_.handlers[Message::kKeys] = [&calls](size_t shard, std::string_view) {
    if (shard == 1) return encode_found_keys(false, {}, std::vector<uint64_t>{4});
    const bool first = ++calls == 1;
    return encode_found_keys(first, {}, first ? std::vector<uint64_t>{3, 9} : std::vector<uint64_t>{9, 12});
  };
  std::vector<uint64_t> keys;
  with_model([&](RemoteModel& model) { keys = model.keys(0); });
  EXPECT_THAT(keys, ElementsAre(3, 4, 9, 12));
  EXPECT_EQ(calls, 2);
}

TEST_F(RemoteRowsTest, AShardThatGivesNoKeysAndPromisesMoreIsRefused) {
  shards_.handlers[Message::kKeys] = [](size_t, std::string_view) { return encode_found_keys(true, {}, {}); };
  EXPECT_EQ(error_of([this] { with_model([](RemoteModel& model) { model.keys(0); }); }).code(), Code::kData);
}

TEST_F(RemoteRowsTest, RowReportsOfShardsAreAddedUp) {
  shards_.handlers[Message::kRowReport] = [](size_t shard, std::string_view) {
    return encode_row_report({.rows = 10 + shard, .created = 3});
  };
  with_model(
      [](RemoteModel& model) { EXPECT_EQ(model.row_report(0), (RowReport{.rows = 21, .created = 6})); });
}

TEST_F(RemoteRowsTest, WeightsAreLoadedWhereTheirKeysBelong) {
  shards_.handlers[Message::kLoad] = [](size_t, std::string_view) { return ""; };
  const std::vector<uint64_t> keys = {1, 2, 3, 50};
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6, 7, 8};
  with_model([&](RemoteModel& model) { model.load_rows(0, keys, weights.data()); });
  std::map<uint64_t, float> loaded;
  for (const auto& asked : shards_.of_type(Message::kLoad)) {
    const PushRequest request = decoded_load(asked.body);
    for (const RowSlice& slice : request.row_slices) {
      for (size_t n = 0; n < slice.keys.size(); ++n) {
        EXPECT_EQ(shard_of_key(slice.keys[n], 2), static_cast<int>(asked.shard));
        loaded[slice.keys[n]] = request.floats(slice)[2 * n];
      }
    }
  }
  EXPECT_EQ(loaded, (std::map<uint64_t, float>{{1, 1}, {2, 3}, {3, 5}, {50, 7}}));
}

// A step whose gradients are of the rows that were pulled.
class RemoteStepTest : public RemoteRowsTest {
 protected:
  RemoteStepTest() {
    shards_.handlers[Message::kPush] = [](size_t, std::string_view) {
      return encode_done({.learning_rate = 0.5});
    };
  }

  void train_a_batch() {
    with_exchange([&](ShardLinks&, RemotePulls& pulls, RemotePushes& pushes) {
      std::vector<ParameterView<float>> views;
      pulls.finish(pulls.begin(plans_, {PullMode::kTrain, 0}), plans_, views);
      for (size_t n = 0; n < plans_[0].keys.size(); ++n) {
        EXPECT_EQ(views[0].rows[n][0], static_cast<float>(plans_[0].keys[n]));
        views[0].row_gradients[2 * n] = static_cast<float>(n);
      }
      pushes.push(plans_, views, {4, 0});
      pushes.finish();
      EXPECT_EQ(pushes.learning_rate(), 0.5);
      EXPECT_EQ(pushes.next_step(), 1u);
    });
  }
  std::vector<PushRequest> pushed() {
    std::vector<PushRequest> all;
    for (const auto& asked : shards_.of_type(Message::kPush)) {
      all.push_back(decode_push(to_buffer(pool_, asked.body), std::vector<int64_t>{2}));
    }
    return all;
  }

  const std::vector<KeyPlan> plans_ =
      std::vector{KeyPlan{.keys = {1, 2, 3, 50, 51}, .uses = {}, .counts = {}}};
};

TEST_F(RemoteStepTest, APushNamesThePullThatHadItsKeys) {
  train_a_batch();
  const auto pulls = shards_.of_type(Message::kPull);
  const std::vector<PushRequest> pushes = pushed();
  ASSERT_EQ(pushes.size(), pulls.size());
  for (size_t n = 0; n < pushes.size(); ++n) {
    EXPECT_NE(pushes[n].pulled, 0u);
    EXPECT_EQ(pushes[n].info.samples, 4);
    auto is_named = [&](const FakeShards::Asked& pull) {
      return decode_pull(pull.body).number == pushes[n].pulled;
    };
    EXPECT_TRUE(std::ranges::any_of(pulls, is_named));
  }
}

TEST_F(RemoteStepTest, AShardWithALogGetsTheKeysWithEveryPush) {
  for (RunStatus& status : shards_.statuses) status.logged = true;
  train_a_batch();
  std::map<uint64_t, float> gradients;
  for (const PushRequest& request : pushed()) {
    EXPECT_EQ(request.pulled, 0u);
    for (const RowSlice& slice : request.row_slices) {
      for (size_t n = 0; n < slice.keys.size(); ++n) gradients[slice.keys[n]] = request.floats(slice)[2 * n];
    }
  }
  EXPECT_EQ(gradients, (std::map<uint64_t, float>{{1, 0}, {2, 1}, {3, 2}, {50, 3}, {51, 4}}));
}

// ---- files of checkpoints

// Shard s of two has a file of one state, of which its slices are asked.
class CheckpointCopierTest : public testing::Test {
 protected:
  CheckpointCopierTest() {
    for (size_t s : {0, 1}) {
      const CheckpointTarget target{folder_.path(cat("server", s)), {}, nullptr};
      make_directories(target.folder);
      CheckpointFileWriter writer(target, cat("state", s, ".psc"));
      writer.state(cat("state of ", s), std::string(kShardSliceBytes, static_cast<char>('a' + s)) + noise());
      manifests_[s] = {.step = 5, .generation = 7, .files = {writer.finish()}};
    }
    shards_.handlers[Message::kCheckpointShard] = [this](size_t shard, std::string_view body) {
      EXPECT_EQ(decode_shard_request(bytes_of(body)), 5u);
      return encode_shard_answer({manifests_[shard], why_});
    };
    shards_.handlers[Message::kCheckpointSlice] = [this](size_t shard, std::string_view body) {
      const CheckpointShardSlice slice = decode_shard_slice(bytes_of(body));
      EXPECT_LE(slice.size, kShardSliceBytes);
      const std::string file = read_file(folder_.path(cat("server", shard, "/", slice.file)));
      return encode_shard_bytes(there_, std::string_view(file).substr(slice.offset, slice.size - short_by_));
    };
  }

  // Bytes that no codec makes smaller: files of more than one slice.
  static std::string noise() {
    std::string bytes;
    for (uint64_t n = 0; n < kShardSliceBytes / 8; ++n) put(bytes, n * 0x9e3779b97f4a7c15 ^ n * n * n << 20);
    return bytes;
  }

  // The error of a copy, which ends once; nothing when there is none.
  std::optional<Error> copy(const std::string& name) {
    std::optional<std::optional<Error>> ended;
    int times = 0;
    shards_.run([&](ShardLinks& links) {
      CheckpointCopier copier(links);
      copier.copy({true, name, 7}, folder_.path("copy"), [&](const std::optional<Error>& error) {
        ended = error;
        ++times;
      });
      links.wait([&] { return ended.has_value(); });
      links.wait([] { return false; }, 1);
    });
    EXPECT_EQ(times, 1);
    return *ended;
  }
  int code_of_copy(const std::string& name = "step-5") {
    const std::optional<Error> error = copy(name);
    EXPECT_FALSE(exists(folder_.path("copy/step-5/MANIFEST.json"))) << "what is not whole is no checkpoint";
    return error ? static_cast<int>(error->code()) : 0;
  }

  ScratchFolder folder_;
  FakeShards shards_{2};
  std::optional<Manifest> manifests_[2];  // nothing: the shard has no files
  std::string why_;
  bool there_ = true;
  size_t short_by_ = 0;
};

TEST_F(CheckpointCopierTest, FilesOfAllShardsMakeACheckpointOfTheTrainers) {
  EXPECT_EQ(copy(step_folder(5)), std::nullopt);
  const CheckpointReader reader(folder_.path(join_path("copy", step_folder(5))));
  EXPECT_EQ(reader.manifest().step, 5);
  EXPECT_EQ(reader.manifest().generation, 7u);
  EXPECT_NO_THROW(reader.verify_states());
  EXPECT_EQ(reader.state("state of 1"), std::string(kShardSliceBytes, 'b') + noise());
  EXPECT_GT(shards_.of_type(Message::kCheckpointSlice).size(), 2u) << "in slices";
}

TEST_F(CheckpointCopierTest, AShardWithoutFilesEndsTheCopy) {
  manifests_[1].reset();
  why_ = "it was removed";
  const std::optional<Error> error = copy(step_folder(5));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kUnavailable);
  EXPECT_THAT(error->message(), HasSubstr("it was removed"));
}

TEST_F(CheckpointCopierTest, FilesThatGoWhileTheyAreCopiedEndTheCopy) {
  there_ = false;
  EXPECT_EQ(code_of_copy(step_folder(5)), static_cast<int>(Code::kUnavailable));
  there_ = true;
  short_by_ = 1;
  EXPECT_EQ(code_of_copy(step_folder(5)), static_cast<int>(Code::kUnavailable))
      << "a slice is shorter than its file says";
}

TEST_F(CheckpointCopierTest, FilesOutsideOfTheFolderAreRefused) {
  manifests_[0]->files[0].path = "../outside";
  EXPECT_EQ(code_of_copy(step_folder(5)), static_cast<int>(Code::kData));
  EXPECT_FALSE(exists(folder_.path("copy/outside")));
}

// The copy ends, and the trainer goes on.
TEST_F(CheckpointCopierTest, AnswersThatAreDamagedEndTheCopy) {
  const FakeShards::Handler whole = shards_.handlers[Message::kCheckpointSlice];
  shards_.handlers[Message::kCheckpointSlice] = [](size_t, std::string_view) { return std::string(); };
  EXPECT_EQ(code_of_copy(step_folder(5)), static_cast<int>(Code::kData));
  shards_.handlers[Message::kCheckpointSlice] = whole;
  shards_.handlers[Message::kCheckpointShard] = [](size_t, std::string_view) { return std::string("?"); };
  EXPECT_EQ(code_of_copy(step_folder(5)), static_cast<int>(Code::kData));
}

TEST_F(CheckpointCopierTest, AFolderThatIsNoCheckpointsIsRefused) {
  for (const char* name : {"../step-5", "", "other"})
    EXPECT_EQ(code_of_copy(name), static_cast<int>(Code::kData)) << name;
}

// ---- dense parameters that another process computes

class DenseLinkTest : public testing::Test {
 protected:
  DenseLinkTest() {
    shards_.handlers[Message::kPull] = [](size_t, std::string_view body) {
      std::string answer;
      for (const RowSlice& slice : decode_pull(bytes_of(body)).row_slices) {
        EXPECT_FALSE(slice.by_keys);
        for (uint64_t n = 0; n < slice.rows() * 2; ++n) put(answer, 1.5f);
        answer.resize(padded(answer.size()), '\0');
      }
      return answer;
    };
    shards_.handlers[Message::kPush] = [](size_t, std::string_view) { return ""; };
  }

  // Runs body with a link of this process, which is one of the rank in run 7.
  void with_link(const std::function<void(DenseLink&, ShardLinks&)>& body) {
    shards_.run_process([&](Transport& host, RemoteOptions options) {
      options.in_run = 7;
      options.link = 3;
      ShardLinks links(host, options);
      DenseLink dense(host, options, specs_);
      body(dense, links);
    });
  }

  const std::vector<ParameterSpec> specs_ = {
      synthetic_parameter("table", ParameterKind::kRows, true, 0, 2),
      synthetic_parameter("first", ParameterKind::kMatrix, false, 2, 2),
      synthetic_parameter("second", ParameterKind::kMatrix, false, 2, 2)};
  const std::vector<KeyPlan> plans_ = std::vector<KeyPlan>(3);
  FakeShards shards_{2};
};

TEST_F(DenseLinkTest, AStepIsAskedForOnceAndGivesAllDenseWeights) {
  with_link([this](DenseLink& dense, ShardLinks&) {
    std::vector<ParameterView<float>> views;
    dense.begin_pull(4);
    dense.begin_pull(4);
    dense.finish_pull(plans_, views);
    for (size_t p : {1, 2})
      EXPECT_EQ(std::vector<float>(views[p].value, views[p].value + 4), std::vector<float>(4, 1.5f));
  });
  const auto asked = shards_.of_type(Message::kPull);
  ASSERT_EQ(asked.size(), 2u) << "one message a shard, since each has one of the parameters";
  EXPECT_GE(decode_pull(asked[0].body).number, uint64_t{1} << 63) << "far from the numbers of the trainer";
  EXPECT_EQ(decode_pull(asked[0].body).step, 4u);
}

TEST_F(DenseLinkTest, APushIsHeldWhenAllShardsHaveAnswered) {
  int held = 0;
  with_link([&](DenseLink& dense, ShardLinks& links) {
    std::vector<ParameterView<float>> views;
    dense.begin_pull(4);
    dense.finish_pull(plans_, views);
    for (size_t p : {1, 2}) std::fill_n(views[p].gradient, 4, static_cast<float>(p));
    dense.push(views, [&held] { ++held; });
    EXPECT_EQ(held, 0);
    links.wait([&held] { return held > 0; }, 10);
    dense.check();
  });
  EXPECT_EQ(held, 1);
  BufferPool pool;
  std::vector<float> sent;
  for (const auto& asked : shards_.of_type(Message::kPush)) {
    const PushRequest request = decode_push(to_buffer(pool, asked.body), std::vector<int64_t>{2, 2, 2});
    EXPECT_EQ(request.step, 4u);
    EXPECT_EQ(request.num_slices, 0u) << "the trainer tells how many there are";
    for (const RowSlice& slice : request.row_slices) {
      EXPECT_EQ(*request.floats(slice), static_cast<float>(slice.parameter));
      sent.push_back(*request.floats(slice));
    }
  }
  EXPECT_THAT(sent, testing::UnorderedElementsAre(1, 2));
}

}  // namespace
}  // namespace ps::remote_rows_test
