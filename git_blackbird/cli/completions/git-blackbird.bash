# bash completion for git-blackbird, through git's own: it calls _git_blackbird for `git blackbird`.

# Put what a WORD of the line stands for, without its quotes, into dequoted_word.
__git_blackbird_plain ()
{
	local home=""
	[[ $1 = "~" || $1 = "~/"* ]] && home=$HOME
	__git_dequote "${1#${home:+\~}}"
	dequoted_word=$home$dequoted_word
}

# Ask the program where the line tells git to run: git's own completion passes places on with their quotes,
# and not all. It answers in lines of a type, a comma and a value.
__git_blackbird_ask ()
{
	local i dequoted_word
	local -a at=()
	for ((i = 1; i < ${__git_cmd_idx:-0}; i++)); do
		__git_blackbird_plain "${words[i]}"
		case "$dequoted_word" in
		--git-dir=* | --work-tree=* | --bare) at+=("$dequoted_word") ;;
		-C | --git-dir | --work-tree)
			at+=("$dequoted_word")
			__git_blackbird_plain "${words[++i]-}"
			at+=("$dequoted_word")
			;;
		-c | --namespace | --config-env) ((++i)) ;;
		esac
	done
	i=${__git_cmd_idx:-0}
	COMP_WORDS="git-blackbird ${words[*]:i+1:cword-i-1} $cur" COMP_CWORD=$((cword - i)) \
		_GIT_BLACKBIRD_COMPLETE=bash_complete git ${at[@]+"${at[@]}"} blackbird 2>/dev/null
}

_git_blackbird ()
{
	local ahead="" IFS=$' \t\n' type value word
	# Of a word with these, readline takes what is behind the last of them for the word.
	[[ $cur == *[:=]* ]] && ahead=${cur%"${cur##*[:=]}"}
	[[ $cur == --*=* ]] && ahead=${ahead#--*=}
	COMPREPLY=()
	while IFS=, read -r type value; do
		case "$type" in
		plain)
			printf -v word '%q' "$value"
			COMPREPLY+=("${word#"$ahead"} ")
			;;
		dir) compopt +o nospace -o dirnames 2>/dev/null ;;
		file) compopt +o nospace 2>/dev/null && return ;;
		esac
	done < <(__git_blackbird_ask)
	# Where nothing fits, the shell must not fall back on names of files.
	compopt +o default +o bashdefault 2>/dev/null
}

# For the program under its own name; git's completion may not be loaded yet.
if ! declare -F __git_complete >/dev/null; then
	if declare -F _comp_load >/dev/null; then
		_comp_load git
	elif declare -F _completion_loader >/dev/null; then
		_completion_loader git
	fi
fi
if declare -F __git_complete >/dev/null; then
	__git_complete git-blackbird _git_blackbird
fi
