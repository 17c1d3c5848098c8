// Shared by the layers for images: the keys for the shape of an image and of a window moved over it.  Used by
// conv2d, the pools, local_response_norm and batch_norm.
#ifndef PS_MODEL_LAYERS_IMAGE_KEYS_H_
#define PS_MODEL_LAYERS_IMAGE_KEYS_H_

#include <optional>
#include <string_view>

#include "config/spec.h"
#include "model/layer.h"

namespace ps {

// The image that a layer reads; all 0: as the layer below says.  Options derive from it beside LayerOptions.
struct ImageKeys {
  int64_t channels = 0, height = 0, width = 0;

  static const ObjectSpec<ImageKeys>& spec();
};

// The shape of the image that `input` holds, from the keys or from the layer it is; none when neither says.
// Throws when they contradict each other or the input's width.
std::optional<ImageShape> find_image(const ImageKeys& keys, const InputInfo& input);

// The same for a layer that takes one input, an image: throws when there is none.
ImageShape require_image(const ImageKeys& keys, const LayerSetup& setup, std::string_view layer);

// The one image shape that all inputs have; none when they differ, or one has none.
std::optional<ImageShape> common_image(std::span<const InputInfo> inputs);

// set_output for a layer that keeps the width of its input and, when it has one, its image shape.
void set_output_like(const InputInfo& input, LayerSetup& setup);

// Throws unless a window of kernel x kernel values fits the image with its padding, and sees part of the
// image wherever it is.
void check_window(const ImageShape& image, int64_t kernel, int64_t padding);

}  // namespace ps

#endif  // PS_MODEL_LAYERS_IMAGE_KEYS_H_
