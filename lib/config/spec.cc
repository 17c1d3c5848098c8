#include "config/spec.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace ps {

// Limits and choices of a list are those of its elements.  A field that may be left open takes either a
// value of its type or the word auto, and its description then stands beside both.
Json FieldSpec::schema() const {
  Json out = type();
  if (!open) out["description"] = help;
  Json& bounded = out.contains("items") ? out["items"] : out;  // bounds of a list are those of its elements
  if (std::isfinite(minimum)) bounded[exclusive_minimum ? "exclusiveMinimum" : "minimum"] = minimum;
  if (std::isfinite(maximum)) bounded["maximum"] = maximum;
  if (!choices.empty()) bounded["enum"] = choices;
  if (open) out = {{"description", help}, {"oneOf", Json::array({out, {{"const", "auto"}}})}};
  if (!required && !default_value.is_null()) out["default"] = default_value;
  return out;
}

Json AnySpec::schema() const {
  Json properties = Json::object(), required = Json::array();
  for (const auto& field : fields_) {
    properties[field->name] = field->schema();
    if (field->required) required.push_back(field->name);
  }
  Json out = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) out["required"] = required;
  return out;
}

void AnySpec::check_keys(const Json& value, std::string_view path) const {
  spec_internal::expect_object(value, path);
  std::vector<std::string> names;
  for (const auto& field : fields_) {
    names.push_back(field->name);
    if (field->required && !value.contains(field->name)) {
      fail(Code::kUsage, json_path(path, field->name), ": missing (", field->help, ")");
    }
  }
  for (const auto& [key, member] : value.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    fail(Code::kUsage, json_path(path, key), ": unknown key", did_you_mean(key, names));
  }
}

namespace spec_internal {

namespace {

[[noreturn]] void fail_type(const Json& value, std::string_view path, std::string_view expected) {
  fail(Code::kUsage, path, ": found ", json_kind(value), ", expected ", expected);
}

void check_range(double value, const FieldSpec& field, std::string_view path) {
  if (value < field.minimum || (field.exclusive_minimum && value <= field.minimum)) {
    fail(Code::kUsage, path, ": ", value, " is too small, expected ",
         field.exclusive_minimum ? "more than " : "at least ", field.minimum);
  }
  if (value > field.maximum)
    fail(Code::kUsage, path, ": ", value, " is too large, expected at most ", field.maximum);
}

// Accepts a number only if it is whole, within the range of the field, and within the range of the C++ type.
template <class Integer>
void read_integer(const Json& value, const FieldSpec& field, std::string_view path, Integer& out) {
  // People also write integers as 1e6 or 20.0.
  if (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>() &&
      std::fabs(value.get<double>()) < 0x1p53) {
    return read_integer(Json(static_cast<int64_t>(value.get<double>())), field, path, out);
  }
  if (!value.is_number_integer()) fail_type(value, path, "an integer");
  check_range(value.get<double>(), field, path);
  bool fits = value.is_number_unsigned() ? std::in_range<Integer>(value.get<uint64_t>())
                                         : std::in_range<Integer>(value.get<int64_t>());
  if (!fits) fail(Code::kUsage, path, ": ", value.dump(), " is out of range");
  out = value.get<Integer>();
}

}  // namespace

void expect_array(const Json& value, std::string_view path) {
  if (!value.is_array()) fail_type(value, path, "an array");
}

void expect_object(const Json& value, std::string_view path) {
  if (!value.is_object()) fail_type(value, path.empty() ? "job file" : path, "an object");
}

void read(const Json& value, const FieldSpec&, std::string_view path, bool& out) {
  if (!value.is_boolean()) fail_type(value, path, "true or false");
  out = value.get<bool>();
}

void read(const Json& value, const FieldSpec& field, std::string_view path, int& out) {
  read_integer(value, field, path, out);
}

void read(const Json& value, const FieldSpec& field, std::string_view path, int64_t& out) {
  read_integer(value, field, path, out);
}

void read(const Json& value, const FieldSpec& field, std::string_view path, uint64_t& out) {
  read_integer(value, field, path, out);
}

void read(const Json& value, const FieldSpec& field, std::string_view path, double& out) {
  if (!value.is_number()) fail_type(value, path, "a number");
  out = value.get<double>();
  check_range(out, field, path);
}

void read(const Json& value, const FieldSpec& field, std::string_view path, std::string& out) {
  if (!value.is_string()) fail_type(value, path, "a string");
  out = value.get<std::string>();
  if (field.choices.empty() ||
      std::find(field.choices.begin(), field.choices.end(), out) != field.choices.end())
    return;
  fail(Code::kUsage, path, ": unknown value ", quote(out), did_you_mean(out, field.choices),
       "; expected one of ", join(field.choices, ", "));
}

}  // namespace spec_internal

}  // namespace ps
