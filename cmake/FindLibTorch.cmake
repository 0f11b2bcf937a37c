# Finds LibTorch: the folder in the environment variable LIBTORCH, or else the PyPI wheel that
# scripts/setup installs into .venv or, in a build of the Python package by pip, the one that pip has
# installed. Defines
#
#   LibTorch::cpu   the libraries for a CPU
#   LibTorch::cuda  also those for a GPU; only if LibTorch has CUDA and a toolkit of its version is found
#
# LibTorch's own TorchConfig.cmake is not used, because it needs a CUDA toolkit even for a CPU build.
if(NOT "$ENV{LIBTORCH}" STREQUAL "")
  set(LIBTORCH $ENV{LIBTORCH})
elseif(SKBUILD)
  # pip has installed torch for the build.
  find_package(Python REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
            "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE LIBTORCH OUTPUT_STRIP_TRAILING_WHITESPACE)
else()
  file(GLOB LIBTORCH ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
endif()

# Sets `variable` to the file of a library if it exists. find_library is not used, because its cache
# would keep the files of an earlier LIBTORCH.
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
  # LibTorch's include folder contains another version of fmt than the one that Tandem links. A folder
  # that contains only a link to ours is therefore searched first.
  find_path(FMT_INCLUDE fmt/format.h REQUIRED)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/fmt)
  file(CREATE_LINK ${FMT_INCLUDE}/fmt ${PROJECT_BINARY_DIR}/fmt/fmt SYMBOLIC)
  target_include_directories(LibTorch::cpu SYSTEM INTERFACE
    ${PROJECT_BINARY_DIR}/fmt ${LIBTORCH}/include ${LIBTORCH}/include/torch/csrc/api/include)
  target_link_libraries(LibTorch::cpu INTERFACE ${LIBTORCH_CPU} ${LIBTORCH_C10})
  # Makes LibTorch's headers include only the operators that they use, instead of all of them.
  target_compile_definitions(LibTorch::cpu INTERFACE AT_PER_OPERATOR_HEADERS)
  if(NOT SKBUILD)  # pip removes that folder after the build
    target_link_options(LibTorch::cpu INTERFACE -Wl,-rpath,${LIBTORCH}/lib)
  endif()
  # Links the OpenMP runtime that LibTorch uses; another copy would have its own thread settings.
  if(LIBTORCH_GOMP)
    target_link_libraries(LibTorch::cpu INTERFACE ${LIBTORCH_GOMP})
  else()
    target_link_libraries(LibTorch::cpu INTERFACE gomp)
  endif()

  include(CudaToolkit)
  if(LIBTORCH_CUDA AND LIBTORCH_C10_CUDA AND CUDA_TOOLKIT)
    # For tests, which check where headers come from. An INTERNAL variable is written each time.
    set(CUDA_TOOLKIT_USED ${CUDA_TOOLKIT} CACHE INTERNAL "")
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    target_include_directories(LibTorch::cuda SYSTEM INTERFACE ${CUDA_TOOLKIT}/include)
    # --no-as-needed, because Tandem uses no symbol of libtorch_cuda but needs it to register itself.
    target_link_libraries(LibTorch::cuda INTERFACE
      LibTorch::cpu -Wl,--no-as-needed ${LIBTORCH_CUDA} ${LIBTORCH_C10_CUDA} -Wl,--as-needed
      ${CUDA_RUNTIME_LIBRARY})
    target_link_options(LibTorch::cuda INTERFACE -Wl,--allow-shlib-undefined)
  endif()
endif()
