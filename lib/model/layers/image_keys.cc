#include "model/layers/image_keys.h"

#include <algorithm>

#include "model/layers/layer_entry.h"

namespace ps {

constexpr int64_t kLargestSide = 1 << 20;  // the product of three sides is less than 2^63

const ObjectSpec<ImageKeys>& ImageKeys::spec() {
  static const ObjectSpec<ImageKeys> spec = [] {
    ObjectSpec<ImageKeys> s;
    const char* help[] = {"channels of the image read; 0: as the input layer says", "its rows, likewise",
                          "its columns, likewise"};
    s.field("channels", &ImageKeys::channels, help[0]).at_least(0).at_most(kLargestSide);
    s.field("height", &ImageKeys::height, help[1]).at_least(0).at_most(kLargestSide);
    s.field("width", &ImageKeys::width, help[2]).at_least(0).at_most(kLargestSide);
    s.check([](const ImageKeys& keys, std::string_view path) {
      const std::pair<const char*, int64_t> all[] = {
          {"channels", keys.channels}, {"height", keys.height}, {"width", keys.width}};
      const bool any = keys.channels > 0 || keys.height > 0 || keys.width > 0;
      for (const auto& [name, value] : all) {
        if (any && value == 0)
          fail(Code::kUsage, json_path(path, name), ": missing, since the image's other sizes are given");
      }
    });
    return s;
  }();
  return spec;
}

std::optional<ImageShape> find_image(const ImageKeys& keys, const InputInfo& input) {
  if (keys.channels == 0) return input.image;
  const ImageShape given{keys.channels, keys.height, keys.width};
  if (input.image && *input.image != given) {
    fail(Code::kUsage, "channels: ", to_string(given), " is not the image that layer ", quote(input.name),
         " gives, ", to_string(*input.image), " (leave channels, height and width out)");
  }
  if (given.size() != input.cols) {
    fail(Code::kUsage, "channels: an image of ", to_string(given), " has ", given.size(), " values, found ",
         quote(input.name), " with ", input.cols);
  }
  return given;
}

ImageShape require_image(const ImageKeys& keys, const LayerSetup& setup, std::string_view layer) {
  require_dense_inputs(setup, layer);
  require_one_input(setup, layer);
  const InputInfo& input = setup.inputs().front();
  const std::optional<ImageShape> image = find_image(keys, input);
  if (!image) {
    fail(Code::kUsage, "channels: missing, since input ", quote(input.name),
         " is no image (give channels, height and width)");
  }
  return *image;
}

std::optional<ImageShape> common_image(std::span<const InputInfo> inputs) {
  const std::optional<ImageShape>& first = inputs.front().image;
  const bool same =
      std::all_of(inputs.begin(), inputs.end(), [&](const InputInfo& input) { return input.image == first; });
  return same ? first : std::nullopt;
}

void set_output_like(const InputInfo& input, LayerSetup& setup) {
  input.image ? setup.set_image_output(*input.image) : setup.set_output(input.cols);
}

void check_window(const ImageShape& image, int64_t kernel, int64_t padding) {
  if (padding >= kernel) {
    fail(Code::kUsage, "padding: ", padding, " is too large, expected below kernel, ", kernel);
  }
  if (kernel > std::min(image.height, image.width) + 2 * padding) {
    fail(Code::kUsage, "kernel: ", kernel, " is larger than the image, ", to_string(image),
         ", with a padding of ", padding);
  }
}

}  // namespace ps
