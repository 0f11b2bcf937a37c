# Finds LibTorch: the folder in the environment variable LIBTORCH, or the PyPI wheel that
# scripts/setup installs into .venv. Defines
#
#   LibTorch::cpu   all that runs on a CPU
#   LibTorch::cuda  besides, where the wheel has CUDA and a toolkit is found
#
# The package's own TorchConfig.cmake would need a CUDA toolkit even for a CPU build.
if(DEFINED ENV{LIBTORCH})
  set(LIBTORCH $ENV{LIBTORCH})
else()
  file(GLOB LIBTORCH ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
endif()

# The file of a library, or nothing. Not find_library: its cache would keep an earlier LIBTORCH's.
function(libtorch_library variable name)
  set(file ${LIBTORCH}/lib/${name})
  if(EXISTS ${file})
    set(${variable} ${file} PARENT_SCOPE)
  endif()
endfunction()
libtorch_library(LIBTORCH_CPU libtorch_cpu.so)
libtorch_library(LIBTORCH_C10 libc10.so)
libtorch_library(LIBTORCH_GOMP libgomp.so.1)
libtorch_library(LIBTORCH_CUDA libtorch_cuda.so)
libtorch_library(LIBTORCH_C10_CUDA libc10_cuda.so)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LIBTORCH_CPU LIBTORCH_C10
  REASON_FAILURE_MESSAGE "run `make setup`, or set LIBTORCH to a folder with include/ and lib/")

if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  add_library(LibTorch::cpu INTERFACE IMPORTED)
  # LibTorch's headers include another version of fmt than the one that Tandem is linked with, so a
  # folder with nothing but a link to ours is searched first.
  find_path(FMT_INCLUDE fmt/format.h REQUIRED)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/fmt)
  file(CREATE_LINK ${FMT_INCLUDE}/fmt ${PROJECT_BINARY_DIR}/fmt/fmt SYMBOLIC)
  target_include_directories(LibTorch::cpu SYSTEM INTERFACE
    ${PROJECT_BINARY_DIR}/fmt ${LIBTORCH}/include ${LIBTORCH}/include/torch/csrc/api/include)
  target_link_libraries(LibTorch::cpu INTERFACE ${LIBTORCH_CPU} ${LIBTORCH_C10})
  target_link_options(LibTorch::cpu INTERFACE -Wl,-rpath,${LIBTORCH}/lib)
  # The OpenMP runtime whose threads LibTorch uses; another copy would count threads of its own.
  if(LIBTORCH_GOMP)
    target_link_libraries(LibTorch::cpu INTERFACE ${LIBTORCH_GOMP})
  else()
    target_link_libraries(LibTorch::cpu INTERFACE gomp)
  endif()

  find_package(CudaRuntime QUIET)
  # Two versions of the runtime in one program would be trouble: the wheel says which it was built for.
  if(CudaRuntime_FOUND AND EXISTS ${LIBTORCH}/version.py)
    file(STRINGS ${LIBTORCH}/version.py wheel_cuda REGEX "^cuda")
    string(REGEX MATCH "[0-9]+" wheel_cuda_major "${wheel_cuda}")
    string(REGEX MATCH "^[0-9]+" found_cuda_major "${CudaRuntime_VERSION}")
    if(NOT wheel_cuda_major EQUAL found_cuda_major)
      message(STATUS "CUDA ${CudaRuntime_VERSION} is found, but LibTorch was built for "
                     "${wheel_cuda_major}; `CUDA=pypi scripts/setup` installs that")
      set(CudaRuntime_FOUND FALSE)
    endif()
  endif()
  if(LIBTORCH_CUDA AND LIBTORCH_C10_CUDA AND CudaRuntime_FOUND)
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    # --no-as-needed: registration is all that we need of libtorch_cuda, so no symbol asks for it.
    target_link_libraries(LibTorch::cuda INTERFACE
      LibTorch::cpu -Wl,--no-as-needed ${LIBTORCH_CUDA} ${LIBTORCH_C10_CUDA} -Wl,--as-needed
      CUDA::runtime)
    target_link_options(LibTorch::cuda INTERFACE -Wl,--allow-shlib-undefined)
  endif()
endif()
