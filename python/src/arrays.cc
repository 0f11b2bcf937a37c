#include "arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>

#include "tandem/error.h"

namespace tandem::python {
namespace {

using Contiguous = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

std::string ShapeText(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Shape FoundShape(nb::handle array) { return nb::cast<Shape>(array.attr("shape")); }

std::string TypeName(nb::handle array) {
  return nb::cast<std::string>(array.attr("dtype").attr("name"));
}

// The kind of numbers of an array: "u" for unsigned, "i" for signed whole numbers, "O" for objects.
std::string Kind(nb::handle array) {
  return nb::cast<std::string>(array.attr("dtype").attr("kind"));
}

// Returns `object` as a contiguous NumPy array, without a copy if it is one. `type` is the type to
// convert to; null: its own. Only arrays of numbers can be cast to Contiguous.
nb::object AsArray(nb::handle object, const char* type = nullptr) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("ascontiguousarray")(
      object, nb::arg("dtype") = type == nullptr ? nb::none() : nb::object(nb::str(type)));
}

}  // namespace

StateBatch::StateBatch(nb::handle states, std::size_t row_size, const char* what) {
  const nb::object object = AsArray(states);
  const Shape shape = FoundShape(object);
  const bool fits = TypeName(object) == "uint8" && (shape.size() == 1 || shape.size() == 2) &&
                    shape.back() == row_size;
  if (!fits) {
    throw InputError(fmt::format(
        "{}: found an array of {} with shape {}, expected uint8 with shape (n, {}) or ({},)", what,
        TypeName(object), ShapeText(shape), row_size, row_size));
  }
  array_ = nb::cast<Contiguous>(object);
  single_ = shape.size() == 1;
  rows_ =
      ConstRows(static_cast<const std::uint8_t*>(array_.data()), single_ ? 1 : shape[0], row_size);
}

Shape StateBatch::ShapeOf(const Shape& rest) const {
  Shape shape = single_ ? Shape() : Shape{size()};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

std::vector<std::int64_t> WholeNumbers(nb::handle array, std::size_t count, std::int64_t least,
                                       std::int64_t most, const char* what) {
  const nb::object given = AsArray(array);
  const Shape shape = FoundShape(given);
  const std::string kind = Kind(given);
  // NumPy gives an empty list the type float64.
  if (count == 0 && shape == Shape{0}) return {};
  // NumPy makes a single number an array of one.
  const bool fits =
      (kind == "i" || kind == "u") && shape.size() == 1 && (shape[0] == count || shape[0] == 1);
  if (!fits) {
    throw InputError(fmt::format(
        "{}: found an array of {} with shape {}, expected one whole number, or {} of them", what,
        TypeName(given), ShapeText(shape), count));
  }
  const auto found = nb::cast<Contiguous>(AsArray(given, "int64"));
  const auto* numbers = static_cast<const std::int64_t*>(found.data());
  std::vector<std::int64_t> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = numbers[shape[0] == 1 ? 0 : i];
    if (result[i] >= least && result[i] <= most) continue;
    // Numbers from 2^63 on have become negative.
    const std::string number = kind == "u" ? fmt::to_string(static_cast<std::uint64_t>(result[i]))
                                           : fmt::to_string(result[i]);
    throw InputError(
        fmt::format("{}: found {} at index {}, expected {} to {}", what, number, i, least, most));
  }
  return result;
}

std::size_t ElementCount(const Shape& shape, std::size_t element_size) {
  if (std::ranges::count(shape, 0U) > 0) return 0;
  std::size_t most = kMostBytes / element_size;  // elements that the remaining axes may have
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    if (extent > most) {
      throw InputError(
          fmt::format("an array of shape {} with {} bytes per element is larger than any memory",
                      ShapeText(shape), element_size));
    }
    most /= extent;
    count *= extent;
  }
  return count;
}

void FailForMemory(const Shape& shape, std::size_t element_size) {
  const std::string message =
      fmt::format("cannot allocate an array of shape {} with {} bytes per element",
                  ShapeText(shape), element_size);
  PyErr_SetString(PyExc_MemoryError, message.c_str());
  throw nb::python_error();
}

void CopyBytes(nb::handle array, const Shape& shape, std::span<std::uint8_t> to) {
  const nb::object object = AsArray(array);
  if (Kind(object) == "O") {  // NumPy makes any object an array
    throw WrongResult(
        fmt::format("an object of type {}, expected an array of bool or uint8 with shape {}",
                    nb::cast<std::string>(nb::inst_name(array)), ShapeText(shape)));
  }
  const bool bytes = TypeName(object) == "uint8" || TypeName(object) == "bool";
  if (!bytes || FoundShape(object) != shape) {
    throw WrongResult(
        fmt::format("an array of {} with shape {}, expected bool or uint8 with shape {}",
                    TypeName(object), ShapeText(FoundShape(object)), ShapeText(shape)));
  }
  const auto found = nb::cast<Contiguous>(object);
  const auto* data = static_cast<const std::uint8_t*>(found.data());
  std::copy_n(data, to.size(), to.begin());
}

}  // namespace tandem::python
