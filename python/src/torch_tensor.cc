// Alone in this file, because PyTorch's headers need more than the stable interface of Python.
#include "torch_tensor.h"

#include <torch/csrc/autograd/python_variable.h>

namespace tandem::python {

PyObject* WrapTensor(const at::Tensor& tensor) { return THPVariable_Wrap(tensor); }

const at::Tensor& UnwrapTensor(PyObject* object) { return THPVariable_Unpack(object); }

}  // namespace tandem::python
