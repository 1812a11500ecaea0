# cubind_settings: what every target of ours is compiled with. Linked publicly by cubind_base, so by all.
add_library(cubind_settings INTERFACE)
target_compile_options(cubind_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -Werror -fno-plt -fvisibility=hidden)
if(CUBIND_FAULT_POINTS)
  target_compile_definitions(cubind_settings INTERFACE CUBIND_FAULT_POINTS)
endif()
