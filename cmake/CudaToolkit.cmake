# Chooses the CUDA toolkit: the first one whose major version is the one that LibTorch was built for, because a
# program must not contain two versions of the CUDA runtime. A toolkit is a folder with bin/nvcc, the header
# cuda_runtime_api.h and the library libcudart.so. Searches CUDA_HOME, the folders of PATH, /usr/local/cuda,
# /usr/local/cuda-VERSION, and .venv, where `CUDA=pypi scripts/setup` installs a toolkit.
#
# Reads LIBTORCH, a folder with include/ and lib/, or CUDA_MAJOR, the version to find. Without LibTorch's
# version.py, any toolkit is right. Sets
#
#   CUDA_TOOLKIT           the toolkit's folder, or nothing
#   CUDA_TOOLKIT_VERSION   its version, such as 13.0
#   CUDA_RUNTIME_LIBRARY   its libcudart.so
#   OTHER_CUDA_TOOLKITS    those of other versions, as a text: "CUDA 12.4 in /usr/local/cuda-12.4"
#   CUDA_TOOLKIT_MISSING   if there is no toolkit: why, and what to do
#
# CMake caches none of them, since a cache would keep a toolkit that was chosen when the right one was missing.
# Set-up makes the same choice: `cmake -D LIBTORCH=FOLDER -P cmake/CudaToolkit.cmake` prints FOUND or MISSING, and
# then the version and folder, or the sentence. CMake 3.25's own FindCUDAToolkit fails on the toolkit from PyPI.
if(NOT DEFINED CUDA_LOCAL)
  set(CUDA_LOCAL /usr/local)  # tests have a folder of their own
endif()
set(libtorch_cuda_major "${CUDA_MAJOR}")
if(libtorch_cuda_major STREQUAL "" AND EXISTS "${LIBTORCH}/version.py")
  file(STRINGS ${LIBTORCH}/version.py libtorch_cuda REGEX "^cuda")
  string(REGEX MATCH "[0-9]+" libtorch_cuda_major "${libtorch_cuda}")
endif()

string(REPLACE ":" ";" path_folders "$ENV{PATH}")
list(FILTER path_folders INCLUDE REGEX "^/")
file(GLOB local_toolkits ${CUDA_LOCAL}/cuda-*)
file(GLOB pypi_toolkits ${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages/nvidia/cu*)
list(TRANSFORM path_folders APPEND /nvcc)
set(compilers ${path_folders})
foreach(folder ${CUDA_LOCAL}/cuda ${local_toolkits} ${pypi_toolkits})
  list(APPEND compilers ${folder}/bin/nvcc)
endforeach()
if(NOT "$ENV{CUDA_HOME}" STREQUAL "")
  list(PREPEND compilers $ENV{CUDA_HOME}/bin/nvcc)
endif()

set(CUDA_TOOLKIT "")
set(other_toolkits "")
foreach(compiler ${compilers})
  if(NOT EXISTS ${compiler} OR IS_DIRECTORY ${compiler})
    continue()
  endif()
  file(REAL_PATH ${compiler} compiler)  # a link in /usr/bin, say
  cmake_path(GET compiler PARENT_PATH folder)
  cmake_path(GET folder PARENT_PATH folder)
  set(header ${folder}/include/cuda_runtime_api.h)
  file(GLOB libraries ${folder}/lib64/libcudart.so ${folder}/lib/libcudart.so)
  if(NOT EXISTS ${header} OR NOT libraries)
    continue()
  endif()
  file(STRINGS ${header} version REGEX "^#define CUDART_VERSION")
  string(REGEX MATCH "[0-9]+" version "${version}")
  math(EXPR major "0${version} / 1000" OUTPUT_FORMAT DECIMAL)
  math(EXPR minor "0${version} % 1000 / 10" OUTPUT_FORMAT DECIMAL)
  if(libtorch_cuda_major STREQUAL "" OR libtorch_cuda_major EQUAL major)
    set(CUDA_TOOLKIT ${folder})
    set(CUDA_TOOLKIT_VERSION ${major}.${minor})
    list(GET libraries 0 CUDA_RUNTIME_LIBRARY)
    break()
  endif()
  list(APPEND other_toolkits "CUDA ${major}.${minor} in ${folder}")
endforeach()

list(REMOVE_DUPLICATES other_toolkits)
list(JOIN other_toolkits ", " OTHER_CUDA_TOOLKITS)
set(CUDA_TOOLKIT_MISSING "no toolkit was found")
if(OTHER_CUDA_TOOLKITS)
  set(CUDA_TOOLKIT_MISSING "LibTorch needs CUDA ${libtorch_cuda_major}, but only ${OTHER_CUDA_TOOLKITS} was found")
endif()
string(APPEND CUDA_TOOLKIT_MISSING ", so only the CPU will be used. ")
if(NOT libtorch_cuda_major STREQUAL "12")  # PyPI has no compiler of CUDA 12
  string(APPEND CUDA_TOOLKIT_MISSING "`CUDA=pypi scripts/setup` installs CUDA 13 into .venv; ")
endif()
string(APPEND CUDA_TOOLKIT_MISSING "the variable CUDA_HOME names another toolkit.")

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(CUDA_TOOLKIT)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "FOUND CUDA ${CUDA_TOOLKIT_VERSION} in ${CUDA_TOOLKIT}")
  else()
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "MISSING ${CUDA_TOOLKIT_MISSING}")
  endif()
endif()
