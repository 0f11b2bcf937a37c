# Finds the CUDA runtime, which is the only part of a toolkit that Tandem's CUDA device needs. Searches
# CUDA_HOME, the folder of nvcc, /usr/local/cuda, and .venv, where `CUDA=pypi scripts/setup` installs a
# toolkit. Defines CUDA::runtime and CudaRuntime_VERSION (such as 13.0), and CUDA_NVCC if there is a
# compiler for kernels.
#
# CMake 3.25's own FindCUDAToolkit is not used, because it fails on the toolkit from PyPI.
file(GLOB cuda_from_pypi ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13)
if(NOT EXISTS "${cuda_from_pypi}/bin/nvcc")
  unset(cuda_from_pypi)  # torch's wheel brings only parts of a toolkit, without the compiler
endif()
find_program(CUDA_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin
             PATHS /usr/local/cuda/bin ${cuda_from_pypi}/bin)
get_filename_component(cuda_bin "${CUDA_NVCC}" DIRECTORY)
set(cuda_roots $ENV{CUDA_HOME} ${cuda_bin}/.. /usr/local/cuda ${cuda_from_pypi})

find_path(CUDA_RUNTIME_INCLUDE cuda_runtime_api.h PATHS ${cuda_roots} PATH_SUFFIXES include
          NO_DEFAULT_PATH)
find_library(CUDA_RUNTIME_LIBRARY cudart PATHS ${cuda_roots} PATH_SUFFIXES lib64 lib
             NO_DEFAULT_PATH)
if(CUDA_RUNTIME_INCLUDE)
  file(STRINGS ${CUDA_RUNTIME_INCLUDE}/cuda_runtime_api.h cuda_version_line
       REGEX "^#define CUDART_VERSION")
  string(REGEX MATCH "[0-9]+" cuda_version "${cuda_version_line}")
  math(EXPR cuda_major "${cuda_version} / 1000")
  math(EXPR cuda_minor "${cuda_version} % 1000 / 10")
  set(CudaRuntime_VERSION ${cuda_major}.${cuda_minor})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudaRuntime
  REQUIRED_VARS CUDA_RUNTIME_LIBRARY CUDA_RUNTIME_INCLUDE
  VERSION_VAR CudaRuntime_VERSION)

if(CudaRuntime_FOUND AND NOT TARGET CUDA::runtime)
  add_library(CUDA::runtime INTERFACE IMPORTED)
  target_include_directories(CUDA::runtime SYSTEM INTERFACE ${CUDA_RUNTIME_INCLUDE})
  target_link_libraries(CUDA::runtime INTERFACE ${CUDA_RUNTIME_LIBRARY})
endif()
mark_as_advanced(CUDA_NVCC CUDA_RUNTIME_INCLUDE CUDA_RUNTIME_LIBRARY)
