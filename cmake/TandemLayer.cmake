# tandem_layer(NAME [DEPENDS layer...] [LINKS library...] [RUNS_RARELY])
#
# Adds one layer of Tandem: every source in the folder NAME and below. Layers are object libraries, so a
# shared library contains all of their code and the linker does not drop static registrations.
#
# RUNS_RARELY says that no loop of the layer runs once per row, so it is compiled with -O1, which takes
# 70 % of the time.
function(tandem_layer name)
  cmake_parse_arguments(LAYER "RUNS_RARELY" "" "DEPENDS;LINKS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${name}/*.cc)
  list(TRANSFORM LAYER_DEPENDS PREPEND tandem_)
  add_library(tandem_${name} OBJECT ${sources})
  target_link_libraries(tandem_${name} PUBLIC tandem_options ${LAYER_DEPENDS} ${LAYER_LINKS})
  if(LAYER_RUNS_RARELY)
    target_compile_options(tandem_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()
