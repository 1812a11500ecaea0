# cubind_embed_device_headers(OUT): a C++ file that holds every device header as a string, under the name by which they include
# each other (the path from the project's root). Made at build time, again whenever a header changes, comes or goes. Needs CMake only:
# this file is also the script that writes it (cmake -P).
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(CUBIND_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

  function(cubind_embed_device_headers out)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/codegen/device/*.cuh)
    list(APPEND headers protocol/dtype.hpp protocol/kernel_abi.hpp)
    list(SORT headers)
    set(file ${PROJECT_BINARY_DIR}/generated/embedded_headers_data.cpp)
    list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
    add_custom_command(OUTPUT ${file}
      COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DHEADERS=${headers}" -DFILE=${file} -P ${CUBIND_EMBED_SCRIPT}
      DEPENDS ${paths} ${CUBIND_EMBED_SCRIPT}
      COMMENT "Embedding the device headers"
      VERBATIM)
    set(${out} ${file} PARENT_SCOPE)
  endfunction()
  return()
endif()

set(text "// Written by cmake/embed_device_headers.cmake.
#include \"codegen/embedded_headers.hpp\"

namespace cubind {
namespace {
constexpr EmbeddedHeader kHeaders[] = {
")
foreach(header IN LISTS HEADERS)
  file(READ ${ROOT}/${header} content)
  string(FIND "${content}" ")CUBIND_TEXT\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${header} holds the delimiter that embeds it")
  endif()
  string(APPEND text "    {\"${header}\", R\"CUBIND_TEXT(${content})CUBIND_TEXT\"},\n")
endforeach()
string(APPEND text "};
}  // namespace

std::span<const EmbeddedHeader> embedded_headers() { return kHeaders; }

}  // namespace cubind
")
file(WRITE ${FILE} "${text}")
