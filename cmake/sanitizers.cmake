# CUBIND_SANITIZE=address,undefined or thread: over everything of ours, from the first object file on.
if(CUBIND_SANITIZE)
  target_compile_options(cubind_settings INTERFACE -fsanitize=${CUBIND_SANITIZE} -fno-omit-frame-pointer -Wno-error)
  target_link_options(cubind_settings INTERFACE -fsanitize=${CUBIND_SANITIZE})
  target_compile_definitions(cubind_settings INTERFACE CUBIND_SANITIZED)  # then no RLIMIT_AS: shadow memory needs the space
endif()
