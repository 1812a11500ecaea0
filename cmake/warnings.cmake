# cubind_settings: what every target of ours is compiled with. Linked publicly by cubind_base, so by all.
# Off: what GCC 12 reports wrongly once it inlines std::string operator+ (restrict, PR 105651) and vector::insert of bytes
# (array-bounds, stringop-overflow, stringop-overread, PR 107852).
add_library(cubind_settings INTERFACE)
target_compile_options(cubind_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -Wno-restrict -Wno-array-bounds
  -Wno-stringop-overflow -Wno-stringop-overread -Werror -fno-plt -fvisibility=hidden)
if(CUBIND_FAULT_POINTS)
  target_compile_definitions(cubind_settings INTERFACE CUBIND_FAULT_POINTS)
endif()
