# Enables the language CUDA, for kernels, if LibTorch has CUDA and nvcc works. Otherwise Tandem is built
# without kernels. Defines TANDEM_CUDA_KERNELS, and TANDEM_KERNEL_ARCHITECTURES as HasCodeFor reads them.
set(TANDEM_CUDA_KERNELS OFF)
if(TANDEM_CUDA AND TARGET LibTorch::cuda)
  # Code for all GPUs that LibTorch's wheel supports, from T4 and RTX 20 to RTX 50, and PTX that newer ones compile
  # when they first run it.
  set(architectures 75-real 80-real 90-real 100-real 120)
  if(CUDA_TOOLKIT_VERSION VERSION_LESS 12.8)
    set(architectures 75-real 80-real 90)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPU architectures that kernels are compiled for")
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # LibTorch brings one, and a program must not have two
  set(ENV{CUDACXX} ${CUDA_TOOLKIT}/bin/nvcc)
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
    # 80-real is binary code, 80-virtual PTX, and 80 is both. Names such as `native` are left out.
    string(REGEX REPLACE "([0-9]+)(;|$)" "\\1-real;\\1-virtual\\2" architectures "${CMAKE_CUDA_ARCHITECTURES}")
    list(TRANSFORM architectures REPLACE "(.*)-real" "sm_\\1")
    list(TRANSFORM architectures REPLACE "(.*)-virtual" "compute_\\1")
    list(FILTER architectures INCLUDE REGEX _)
    list(JOIN architectures " " TANDEM_KERNEL_ARCHITECTURES)
  endif()
endif()
