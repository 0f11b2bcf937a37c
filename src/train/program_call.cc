#include "train/program_call.h"

#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>

#include "tandem/error.h"

namespace tandem {

void CheckDefaultType() {
  const c10::ScalarType type = c10::get_default_dtype_as_scalartype();
  if (type == c10::ScalarType::Float) return;
  throw InputError(
      fmt::format("LibTorch's default type of tensors is {} in this program, expected Float. Set "
                  "it back before "
                  "Tandem is called: torch.set_default_dtype(torch.float32) in Python.",
                  c10::toString(type)));
}

}  // namespace tandem
