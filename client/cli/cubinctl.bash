# Bash completion for cubinctl. It asks the program itself for its commands and options, so it cannot go out of date.
_cubinctl() {
  local current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command='' word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      -*) ;;
      *) command=$word; break ;;
    esac
  done
  if [ -z "$command" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" --help 2>/dev/null |
      sed -nE 's/^  ([a-z]+) .*/\1/p; s/^  (-[a-z],)?(--[a-z-]+) .*/\2/p')" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$("$program" "$command" --help 2>/dev/null |
      sed -nE 's/^  (-[a-z],)?(--[a-z-]+) .*/\2/p')" -- "$current")
  fi
}
complete -o default -F _cubinctl cubinctl
