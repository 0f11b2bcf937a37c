# Everything is compiled against the fmt that it is linked with. LibTorch's include folder holds
# another version, so a folder with nothing but a link to ours is searched first.
#
# The compiled library instead of the header-only one saves two to three seconds for each source.
find_path(FMT_INCLUDE fmt/format.h REQUIRED)
set(TANDEM_FMT_INCLUDE ${PROJECT_BINARY_DIR}/fmt)
file(MAKE_DIRECTORY ${TANDEM_FMT_INCLUDE})
file(CREATE_LINK ${FMT_INCLUDE}/fmt ${TANDEM_FMT_INCLUDE}/fmt SYMBOLIC)
