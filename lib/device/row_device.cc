#include "device/row_device.h"

#include "base/error.h"
#include "base/text.h"

namespace ps {

std::optional<int> cuda_number(std::string_view type) {
  constexpr std::string_view kCuda = "cuda:";
  constexpr int64_t kMost = 1023;
  if (!type.starts_with(kCuda)) return std::nullopt;
  const std::optional<int64_t> number = parse_int(type.substr(kCuda.size()));
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  return static_cast<int>(*number);
}

void check_device_type(std::string_view type) {
  if (type == "cpu" || type == "emulated" || cuda_number(type)) return;
  fail(Code::kUsage, "device.type: found ", quote(type),
       ", expected 'cpu', 'emulated', or a GPU, as 'cuda:0'");
}

std::unique_ptr<RowDevice> open_row_device(std::string_view type) {
  check_device_type(type);
  if (const std::optional<int> number = cuda_number(type)) return make_cuda_device(*number);
  PS_CHECK(type == "emulated");
  return make_emulated_device();
}

}  // namespace ps
