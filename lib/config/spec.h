// Typed structs from JSON: one list of fields gives parsing, defaults, errors with path, range and "did you
// mean", the JSON Schema, and the text of the manual.  Used by the job file and by every catalogue.
//
//   struct SgdOptions {
//     double learning_rate = 0.01;
//     static const ObjectSpec<SgdOptions>& spec() {
//       static const ObjectSpec<SgdOptions> spec = [] {
//         ObjectSpec<SgdOptions> s;
//         s.field("learning_rate", &SgdOptions::learning_rate, "step size").at_least(0);
//         return s;
//       }();
//       return spec;
//     }
//   };
//   SgdOptions options = SgdOptions::spec().parse(json, "optimizer");
//
// A member may be bool, int, int64_t, uint64_t, double, std::string, a struct with a spec() of its own, Json
// (taken as it is, checked by its owner), or std::vector, std::optional or std::map<std::string, …> of these.
#ifndef PS_CONFIG_SPEC_H_
#define PS_CONFIG_SPEC_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "config/json.h"

namespace ps {

// One key of an object, as the manual and the schema describe it.
struct FieldSpec {
  std::string name;
  std::string help;
  bool required = false;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;
  bool open = false;                 // the job file may leave it to the data: "auto"
  std::vector<std::string> choices;  // allowed values of a string; empty: any
  std::function<Json()> type;        // as in a JSON Schema, e.g. {"type": "integer"}
  Json default_value;                // null: none

  FieldSpec& at_least(double bound) { return minimum = bound, *this; }
  FieldSpec& above(double bound) { return minimum = bound, exclusive_minimum = true, *this; }
  FieldSpec& at_most(double bound) { return maximum = bound, *this; }
  FieldSpec& one_of(std::vector<std::string> names) { return choices = std::move(names), *this; }
  FieldSpec& must() { return required = true, *this; }
  FieldSpec& or_auto() { return open = true, *this; }

  Json schema() const;
};

// The part of an ObjectSpec that does not depend on the struct's type.  Constant after construction: any thread
// may use it.
class AnySpec {
 public:
  AnySpec() = default;
  AnySpec(AnySpec&&) = default;
  virtual ~AnySpec() = default;

  // Returns `value` with defaults filled in.  Throws kUsage "path.key: …" unless it is an object that parses.
  virtual Json complete(const Json& value, std::string_view path) const = 0;

  const std::vector<std::unique_ptr<FieldSpec>>& fields() const { return fields_; }
  Json schema() const;  // {"type": "object", "properties": …}

 protected:
  // Throws unless `value` is an object with all required keys and no unknown ones.
  void check_keys(const Json& value, std::string_view path) const;

  std::vector<std::unique_ptr<FieldSpec>> fields_;
};

namespace spec_internal {

// Each kind of member has an overload.  All throw kUsage with the path.
void read(const Json& value, const FieldSpec& field, std::string_view path, bool& out);
void read(const Json& value, const FieldSpec& field, std::string_view path, int& out);
void read(const Json& value, const FieldSpec& field, std::string_view path, int64_t& out);
void read(const Json& value, const FieldSpec& field, std::string_view path, uint64_t& out);
void read(const Json& value, const FieldSpec& field, std::string_view path, double& out);
void read(const Json& value, const FieldSpec& field, std::string_view path, std::string& out);
inline void read(const Json& value, const FieldSpec&, std::string_view, Json& out) {
  out = value;
}
void expect_array(const Json& value, std::string_view path);
void expect_object(const Json& value, std::string_view path);

template <class T>
concept HasSpec = requires {
  T::spec();
};

template <HasSpec T>
void read(const Json& value, const FieldSpec&, std::string_view path, T& out) {
  out = T::spec().parse(value, path);
}
template <class T>
void read(const Json& value, const FieldSpec& field, std::string_view path, std::optional<T>& out) {
  if (value.is_null()) {
    out.reset();
  } else {
    read(value, field, path, out.emplace());
  }
}
template <class T>
void read(const Json& value, const FieldSpec& field, std::string_view path, std::vector<T>& out) {
  expect_array(value, path);
  out.clear();
  for (const Json& element : value) {
    T item{};
    read(element, field, json_path(path, std::to_string(out.size())), item);
    out.push_back(std::move(item));
  }
}
template <class T>
void read(const Json& value, const FieldSpec& field, std::string_view path, std::map<std::string, T>& out) {
  expect_object(value, path);
  out.clear();
  for (const auto& [key, element] : value.items()) read(element, field, json_path(path, key), out[key]);
}

template <class T>
Json write(const T& value) {
  if constexpr (HasSpec<T>) {
    return T::spec().to_json(value);
  } else {
    return value;
  }
}
template <class T>
Json write(const std::optional<T>& value) {
  return value ? write(*value) : Json();
}
template <class T>
Json write(const std::vector<T>& value) {
  Json out = Json::array();
  for (const T& element : value) out.push_back(write(element));
  return out;
}
template <class T>
Json write(const std::map<std::string, T>& value) {
  Json out = Json::object();
  for (const auto& [key, element] : value) out[key] = write(element);
  return out;
}

template <class T>
struct TypeOf {
  static Json schema() {
    if constexpr (HasSpec<T>) {
      return T::spec().schema();
    } else if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<T>) {
      return {{"type", "integer"}};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {{"type", "number"}};
    } else if constexpr (std::is_same_v<T, std::string>) {
      return {{"type", "string"}};
    } else {
      return Json::object();
    }
  }
};
template <class T>
struct TypeOf<std::optional<T>> : TypeOf<T> {};
template <class T>
struct TypeOf<std::vector<T>> {
  static Json schema() { return {{"type", "array"}, {"items", TypeOf<T>::schema()}}; }
};
template <class T>
struct TypeOf<std::map<std::string, T>> {
  static Json schema() { return {{"type", "object"}, {"additionalProperties", TypeOf<T>::schema()}}; }
};

}  // namespace spec_internal

// The fields and checks of a struct T. One thread builds it; constant afterwards: any thread may parse with it.
template <class T>
class ObjectSpec : public AnySpec {
 public:
  // Adds a key that sets a member; its default is the member's value in T{}.  Chain at_least, one_of, must …
  // on the result.
  template <class M, class Owner>
  FieldSpec& field(std::string name, M Owner::*member, std::string help) {
    auto spec = std::make_unique<FieldSpec>();
    FieldSpec& added = *spec;
    added.name = std::move(name);
    added.help = std::move(help);
    added.type = spec_internal::TypeOf<M>::schema;
    const auto defaults = std::make_unique<T>();
    added.default_value = spec_internal::write((*defaults).*member);
    fields_.push_back(std::move(spec));
    readers_.push_back([&added, member](T& out, const Json& value, std::string_view path) {
      spec_internal::read(value, added, path, out.*member);
    });
    writers_.push_back([member](const T& in) { return spec_internal::write(in.*member); });
    return added;
  }

  // Adds the fields and checks of a base class of T.  `base` must outlive this: pass the static one of its
  // spec().
  template <class Base>
  void include(const ObjectSpec<Base>& base) {
    for (size_t i = 0; i < base.fields_.size(); ++i) {
      fields_.push_back(std::make_unique<FieldSpec>(*base.fields_[i]));
      readers_.push_back([&base, i](T& out, const Json& value, std::string_view path) {
        base.readers_[i](out, value, path);
      });
      writers_.push_back([&base, i](const T& in) { return base.writers_[i](in); });
    }
    for (const auto& validate : base.checks_) checks_.push_back(validate);
  }

  // Adds a check over all fields, which runs last.  It throws kUsage, and begins its message with the path
  // that it is given.
  void check(std::function<void(const T&, std::string_view path)> validate) {
    checks_.push_back(std::move(validate));
  }

  // Throws kUsage.
  T parse(const Json& value, std::string_view path) const {
    check_keys(value, path);
    T out{};
    for (size_t i = 0; i < fields_.size(); ++i) {
      auto found = value.find(fields_[i]->name);
      if (found != value.end()) readers_[i](out, *found, json_path(path, fields_[i]->name));
    }
    for (const auto& validate : checks_) validate(out, path);
    return out;
  }

  Json to_json(const T& value) const {
    Json out = Json::object();
    for (size_t i = 0; i < fields_.size(); ++i) {
      Json member = writers_[i](value);
      if (!member.is_null()) out[fields_[i]->name] = std::move(member);
    }
    return out;
  }

  Json complete(const Json& value, std::string_view path) const override {
    return to_json(parse(value, path));
  }

 private:
  template <class Derived>
  friend class ObjectSpec;

  std::vector<std::function<void(T&, const Json&, std::string_view)>> readers_;
  std::vector<std::function<Json(const T&)>> writers_;
  std::vector<std::function<void(const T&, std::string_view)>> checks_;
};

}  // namespace ps

#endif  // PS_CONFIG_SPEC_H_
