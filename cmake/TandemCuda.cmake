# Enables the language CUDA, for kernels, if LibTorch has CUDA and nvcc works. Otherwise Tandem is built
# without kernels. Defines TANDEM_CUDA_KERNELS.
set(TANDEM_CUDA_KERNELS OFF)
if(TANDEM_CUDA AND TARGET LibTorch::cuda AND CUDA_NVCC)
  # Code for A100 and H100, and PTX that newer GPUs compile when they first run it.
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPU architectures that kernels are compiled for")
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # LibTorch brings one, and a program must not have two
  set(ENV{CUDACXX} ${CUDA_NVCC})
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # CMake 3.25 does not know that nvcc supports C++20.
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(TANDEM_CUDA_KERNELS ON)
  endif()
endif()
