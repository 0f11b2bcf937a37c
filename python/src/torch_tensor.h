#pragma once

#include <Python.h>

namespace at {
class Tensor;
}

namespace tandem::python {

/// The tensor as an object of PyTorch, which shares its memory and its gradient. A new reference.
PyObject* WrapTensor(const at::Tensor& tensor);

/// The tensor of an object of PyTorch. Valid while the object lives.
const at::Tensor& UnwrapTensor(PyObject* object);

}  // namespace tandem::python
