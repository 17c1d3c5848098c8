#include "model/input_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/pattern.h"
#include "config/json.h"
#include "model/network.h"
#include "model/options.h"

namespace ps::input_patterns_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Patterns, StarStandsForAnyCharactersAndQuestionMarkForOne) {
  for (const char* name : {"slot", "slot1", "slot12"}) EXPECT_TRUE(matches_pattern("slot*", name)) << name;
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("a*b*c", "a_b_b_c"));
  EXPECT_TRUE(matches_pattern("C?", "C1"));
  EXPECT_FALSE(matches_pattern("C?", "C12"));
  EXPECT_FALSE(matches_pattern("slot*", "a_slot"));
  EXPECT_FALSE(matches_pattern("a*b", "a_b_c"));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_FALSE(is_pattern("sparse:age"));
}

TEST(Patterns, MatchInTimeThatDoesNotExplode) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  EXPECT_FALSE(matches_pattern(pattern + "b", std::string(3000, 'a')));
}

class InputPatterns : public testing::Test {
 protected:
  // A layer of each pair (name, inputs); those with sparse_update have a table.
  static LayerNode node(const std::string& name, std::vector<std::string> inputs) {
    LayerNode out;
    out.name = name;
    out.path = "model.layers." + name;
    out.input_names = std::move(inputs);
    out.object = {{"sparse_update", true}};
    return out;
  }

  void expand(std::vector<LayerNode> nodes) {
    nodes_ = std::move(nodes);
    expand_inputs(schema_, nodes_);
  }

  const DataSchema schema_{{{"age", true, 1}, {"slot1"}, {"slot2"}, {"hours", true, 1}, {"other"}}};
  std::vector<LayerNode> nodes_;
};

TEST_F(InputPatterns, StandForSlotsInTheOrderOfTheData) {
  expand({node("a", {"slot*"}), node("b", {"*"}), node("c", {"sparse:*"}), node("d", {"dense:*", "a"})});
  EXPECT_THAT(nodes_[0].input_names, ElementsAre("slot1", "slot2"));
  EXPECT_THAT(nodes_[1].input_names, ElementsAre("age", "slot1", "slot2", "hours", "other"));
  EXPECT_THAT(nodes_[2].input_names, ElementsAre("slot1", "slot2", "other"));
  EXPECT_THAT(nodes_[3].input_names, ElementsAre("age", "hours", "a"));
}

TEST_F(InputPatterns, GiveNoSlotTwice) {
  expand({node("a", {"other", "slot*", "*"})});
  EXPECT_THAT(nodes_[0].input_names, ElementsAre("other", "slot1", "slot2", "age", "hours"));
}

TEST_F(InputPatterns, ThatMatchNothingAreRefusedUnlessTheyAskForAType) {
  try {
    expand({node("a", {"slots*"})});
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_THAT(
        error.message(),
        HasSubstr("model.layers.a.input: no slot of the data matches 'slots*'; there are age, slot1"));
  }
  expand({node("a", {"dense:x*", "slot1"})});
  EXPECT_THAT(nodes_[0].input_names, ElementsAre("slot1"));
}

TEST_F(InputPatterns, LeaveOutLayersWithoutInputsWhereverTheyAreMentioned) {
  expand(
      {node("sum", {"none2", "a"}), node("none2", {"none"}), node("none", {"sparse:x*"}), node("a", {"*"})});
  ASSERT_EQ(nodes_.size(), 2u);
  EXPECT_THAT(nodes_[0].input_names, ElementsAre("a"));
  EXPECT_EQ(nodes_[1].name, "a");
}

TEST_F(InputPatterns, TakeTheTableFromALayerOfDenseSlotsAlone) {
  expand({node("a", {"dense:*"}), node("b", {"*"}), node("c", {"age"})});
  EXPECT_EQ(nodes_[0].object["sparse_update"], false);
  EXPECT_EQ(nodes_[1].object["sparse_update"], true);
  EXPECT_EQ(nodes_[2].object["sparse_update"], true) << "a name is no pattern: the layer refuses it";
}

TEST_F(InputPatterns, MakeTheNetworkThatNamesMake) {
  auto parameters = [&](const char* input) {
    std::string text =
        R"({"layers": [{"name": "score", "type": "fc", "input": INPUT, "size": 1, "sparse_update": true}],
                           "cost": {"type": "binary_cross_entropy", "input": "score"}})";
    text.replace(text.find("INPUT"), 5, input);
    const ModelOptions model = ModelOptions::spec().parse(parse_json(text, "model"), "model");
    const Network<float> network(model, schema_, 1);
    std::vector<std::string> names;
    for (const ParameterSpec& spec : network.parameters())
      names.push_back(cat(spec.name, " ", spec.rows, " ", spec.sparse));
    return names;
  };
  EXPECT_EQ(parameters(R"(["*"])"), parameters(R"(["age", "slot1", "slot2", "hours", "other"])"));
}

}  // namespace
}  // namespace ps::input_patterns_test
