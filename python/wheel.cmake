# What a wheel contains besides the Python files: the extension, Tandem's libraries, and the libraries
# that these need, except those of LibTorch, CUDA and the C and C++ runtimes. `import torch` loads
# LibTorch's, which the wheel requires from PyPI, so no file names their folder.
set(wheel_targets tandem_python tandem_core tandem_torch)
if(TARGET tandem_cuda)
  list(APPEND wheel_targets tandem_cuda)
endif()
# Libraries from Debian do not say where to find each other. RPATH, unlike the newer RUNPATH, also counts
# for the libraries that a library needs.
set_target_properties(${wheel_targets} PROPERTIES INSTALL_RPATH "$ORIGIN"
                                                  INSTALL_RPATH_USE_LINK_PATH OFF)
foreach(target ${wheel_targets})
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endforeach()

install(TARGETS ${wheel_targets} RUNTIME_DEPENDENCY_SET wheel_libraries
        LIBRARY DESTINATION tandem COMPONENT python)
install(RUNTIME_DEPENDENCY_SET wheel_libraries
        PRE_EXCLUDE_REGEXES "^libtandem" "^ld-linux" "^lib(c|m|dl|rt|util|pthread|resolv|stdc\\+\\+|gcc_s)\\.so"
                            "^lib(torch|c10|shm|gomp|cud|cublas|cufft|cufile|curand|cusolver|cusparse|cupti)"
                            "^lib(nccl|nvrtc|nvshmem|nvJitLink|nvToolsExt|caffe2)"
        LIBRARY DESTINATION tandem COMPONENT python)
