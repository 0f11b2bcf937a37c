#include "arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "tandem/error.h"

namespace tandem::python {
namespace {

using Contiguous = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

std::string ShapeText(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

Shape FoundShape(const Contiguous& array) {
  Shape shape;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) shape.push_back(array.shape(axis));
  return shape;
}

std::string TypeName(nb::handle array) {
  return nb::cast<std::string>(array.attr("dtype").attr("name"));
}

// Returns `object` as a contiguous NumPy array, without a copy if it is one. `type` is the type to
// convert to; null: its own.
nb::object AsArray(nb::handle object, const char* type = nullptr) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("ascontiguousarray")(
      object, nb::arg("dtype") = type == nullptr ? nb::none() : nb::object(nb::str(type)));
}

}  // namespace

StateBatch::StateBatch(nb::handle states, std::size_t row_size, const char* what) {
  const nb::object object = AsArray(states);
  array_ = nb::cast<Contiguous>(object);
  const std::size_t ndim = array_.ndim();
  const bool fits = array_.dtype() == nb::dtype<std::uint8_t>() && (ndim == 1 || ndim == 2) &&
                    array_.shape(ndim - 1) == row_size;
  if (!fits) {
    throw InputError(fmt::format(
        "{}: found an array of {} with shape {}, expected uint8 with shape (n, {}) or ({},)", what,
        TypeName(object), ShapeText(FoundShape(array_)), row_size, row_size));
  }
  single_ = ndim == 1;
  rows_ = ConstRows(static_cast<const std::uint8_t*>(array_.data()), single_ ? 1 : array_.shape(0),
                    row_size);
}

Shape StateBatch::ShapeOf(const Shape& rest) const {
  Shape shape = single_ ? Shape() : Shape{size()};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

std::vector<std::int64_t> WholeNumbers(nb::handle array, std::size_t count, std::int64_t least,
                                       std::int64_t most, const char* what) {
  const nb::object given = AsArray(array);
  const auto kind = nb::cast<std::string>(given.attr("dtype").attr("kind"));
  const auto found =
      nb::cast<Contiguous>(AsArray(array, kind == "i" || kind == "u" ? "int64" : nullptr));
  // NumPy makes a single number an array of one.
  const bool fits = (kind == "i" || kind == "u") && found.ndim() == 1 &&
                    (found.shape(0) == count || found.shape(0) == 1);
  if (!fits) {
    throw InputError(fmt::format(
        "{}: found an array of {} with shape {}, expected one whole number, or {} of them", what,
        TypeName(given), ShapeText(FoundShape(found)), count));
  }
  const auto* numbers = static_cast<const std::int64_t*>(found.data());
  std::vector<std::int64_t> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = numbers[found.shape(0) == 1 ? 0 : i];
    if (result[i] >= least && result[i] <= most) continue;
    throw InputError(fmt::format("{}: found {} at index {}, expected {} to {}", what, result[i], i,
                                 least, most));
  }
  return result;
}

void CopyBytes(nb::handle array, const Shape& shape, std::span<std::uint8_t> to) {
  const nb::object object = AsArray(array);
  const auto found = nb::cast<Contiguous>(object);
  const bool bytes =
      found.dtype() == nb::dtype<std::uint8_t>() || found.dtype() == nb::dtype<bool>();
  if (!bytes || FoundShape(found) != shape) {
    throw WrongResult(fmt::format("an array of {} with shape {}, expected uint8 with shape {}",
                                  TypeName(object), ShapeText(FoundShape(found)),
                                  ShapeText(shape)));
  }
  const auto* data = static_cast<const std::uint8_t*>(found.data());
  std::copy_n(data, to.size(), to.begin());
}

}  // namespace tandem::python
