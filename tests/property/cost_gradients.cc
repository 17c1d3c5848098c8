// The gradient of every cost in the catalogue, and of the layers that are costs, against finite differences.
#include <map>

#include "config/json.h"
#include "gradient_check.h"

namespace ps {
namespace {

struct Case {
  Json last;  // the layer that the cost measures, on top of "hidden" (4 values)
  Json cost;
  BatchShape shape;
};

// The cases of each entry of cost_catalog().
std::map<std::string, std::vector<Case>> cases() {
  auto fc = [](int size, const char* activation) {
    return Json{{"type", "fc"}, {"size", size}, {"activation", activation}};
  };
  const BatchShape three{.classes = 3}, two{.classes = 2}, real{.classes = 0};
  return {
      {"cross_entropy",
       {{fc(3, "softmax"), {}, three},
        {fc(3, "sigmoid"), {}, three},
        {fc(2, "softmax"), {}, two},
        {fc(3, "softmax"), {{"label_smoothing", 0.2}}, three},
        {fc(3, "softmax"), {{"class_weights", {0.5, 0, 4}}}, three},
        {fc(3, "sigmoid"), {{"class_weights", {2, 1, 0.25}}}, three}}},
      {"binary_cross_entropy",
       {{fc(1, "linear"), {}, two},
        {fc(1, "sigmoid"), {}, two},
        {fc(1, "linear"), {{"label_smoothing", 0.2}, {"pos_weight", 3}}, two}}},
      {"focal", {{fc(1, "linear"), {}, two}, {fc(1, "sigmoid"), {{"gamma", 0.5}, {"alpha", 0.9}}, two}}},
      {"squared_error", {{fc(1, "linear"), {}, real}}},
      {"absolute_error", {{fc(1, "linear"), {}, real}}},
      {"huber", {{fc(1, "linear"), {{"delta", 0.5}}, real}, {fc(1, "tanh"), {{"delta", 3}}, real}}},
      {"ranking", {{fc(1, "linear"), {}, {.classes = 3, .grouped = true}}, {fc(1, "linear"), {}, three}}},
      {"bpr", {{fc(1, "linear"), {}, {.classes = 2, .grouped = true}}, {fc(1, "tanh"), {}, three}}},
      {"listwise_softmax",
       {{fc(1, "linear"), {}, {.classes = 3, .grouped = true}}, {fc(1, "tanh"), {}, real}}},
      {"multi_label_cross_entropy",
       {{fc(7, "linear"), {{"labels", "words"}}, two},
        {fc(8, "sigmoid"), {{"labels", "words"}, {"pos_weight", 2.5}}, two}}},
      {"sum",
       {{fc(2, "softplus"), {}, two},
        {{{"type", "nce"}, {"num_classes", 5}, {"num_neg_samples", 3}}, {}, {.classes = 5}},
        {{{"type", "nce"}, {"num_classes", 5}, {"noise", "log_uniform"}, {"sparse_update", true}},
         {},
         {.classes = 5}},
        {{{"type", "nce"}, {"num_classes", 3}, {"bias", false}}, {}, three},
        {{{"type", "hsigmoid"}, {"num_classes", 6}, {"sparse_update", true}}, {}, {.classes = 6}},
        {{{"type", "hsigmoid"}, {"num_classes", 2}, {"bias", false}}, {}, two}}},
  };
}

TEST(EveryCost, HasTheGradientOfItsValue) {
  const std::map<std::string, std::vector<Case>> by_name = cases();
  for (const CostEntry* entry : cost_catalog()) {
    auto found = by_name.find(std::string(entry->name));
    ASSERT_NE(found, by_name.end()) << "no case for " << entry->name;
    for (const Case& c : found->second) {
      Json hidden = {
          {"name", "hidden"}, {"type", "fc"}, {"input", {"ids", "x"}}, {"size", 4}, {"activation", "tanh"}};
      Json last = {{"name", "last"}, {"input", "hidden"}}, cost = {{"type", entry->name}, {"input", "last"}};
      last.update(c.last);
      if (!c.cost.is_null()) cost.update(c.cost);
      expect_gradients_match({{"layers", {hidden, last}}, {"cost", cost}}, c.shape);
    }
  }
}

}  // namespace
}  // namespace ps
