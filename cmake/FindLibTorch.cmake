# Finds LibTorch: the folder LIBTORCH (a cache entry or an environment variable), or the PyPI wheel
# that scripts/setup installs into .venv. Defines
#
#   LibTorch::cpu   all that runs on a CPU
#   LibTorch::cuda  besides, where the wheel has CUDA and a toolkit is found
#
# The package's own TorchConfig.cmake would need a CUDA toolkit even for a CPU build.
if(NOT LIBTORCH)
  if(DEFINED ENV{LIBTORCH})
    set(LIBTORCH $ENV{LIBTORCH})
  else()
    file(GLOB LIBTORCH ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  endif()
endif()
set(LIBTORCH "${LIBTORCH}" CACHE PATH "LibTorch: a folder with include/ and lib/")

find_library(LIBTORCH_CPU_LIBRARY torch_cpu PATHS ${LIBTORCH}/lib NO_DEFAULT_PATH)
find_library(LIBTORCH_C10_LIBRARY c10 PATHS ${LIBTORCH}/lib NO_DEFAULT_PATH)
find_path(LIBTORCH_INCLUDE_DIR torch/csrc/api/include/torch/torch.h
          PATHS ${LIBTORCH}/include NO_DEFAULT_PATH)
find_file(LIBTORCH_GOMP libgomp.so.1 PATHS ${LIBTORCH}/lib NO_DEFAULT_PATH)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY LIBTORCH_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run `make setup`, or set LIBTORCH to a folder with include/ and lib/")

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  add_library(LibTorch::cpu INTERFACE IMPORTED)
  target_include_directories(LibTorch::cpu SYSTEM INTERFACE
    ${LIBTORCH_INCLUDE_DIR} ${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(LibTorch::cpu INTERFACE ${LIBTORCH_CPU_LIBRARY} ${LIBTORCH_C10_LIBRARY})
  target_link_options(LibTorch::cpu INTERFACE -Wl,-rpath,${LIBTORCH}/lib)
  # The OpenMP runtime whose threads LibTorch uses; another copy would count threads of its own.
  if(LIBTORCH_GOMP)
    target_link_libraries(LibTorch::cpu INTERFACE ${LIBTORCH_GOMP})
  else()
    target_link_libraries(LibTorch::cpu INTERFACE gomp)
  endif()

  find_library(LIBTORCH_CUDA_LIBRARY torch_cuda PATHS ${LIBTORCH}/lib NO_DEFAULT_PATH)
  find_library(LIBTORCH_C10_CUDA_LIBRARY c10_cuda PATHS ${LIBTORCH}/lib NO_DEFAULT_PATH)
  if(NOT CUDAToolkit_ROOT)  # the toolkit that `CUDA=pypi scripts/setup` installs
    file(GLOB CUDAToolkit_ROOT ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13)
    if(NOT EXISTS "${CUDAToolkit_ROOT}/bin/nvcc")
      unset(CUDAToolkit_ROOT)
    endif()
  endif()
  find_package(CUDAToolkit QUIET)
  if(LIBTORCH_CUDA_LIBRARY AND LIBTORCH_C10_CUDA_LIBRARY AND CUDAToolkit_FOUND)
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    # --no-as-needed: registration is all that we need of libtorch_cuda, so no symbol asks for it.
    target_link_libraries(LibTorch::cuda INTERFACE
      LibTorch::cpu -Wl,--no-as-needed ${LIBTORCH_CUDA_LIBRARY} ${LIBTORCH_C10_CUDA_LIBRARY}
      -Wl,--as-needed CUDA::cudart)
    target_link_options(LibTorch::cuda INTERFACE -Wl,--allow-shlib-undefined)
  endif()
endif()
