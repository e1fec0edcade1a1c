package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
)

// Duration is the value of a duration flag, in Go's syntax: 90s, 5m, 1h30m.
type Duration = time.Duration

// version is set at link time from git; see the Makefile.
var version string

// Version returns the version of this build, from git.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

// flagsFirst moves flags before arguments, since urfave/cli v2 stops parsing flags at the first argument
// and would take later ones for file names. Everything after "--" is unchanged; "-" is an
// argument.
func flagsFirst(p Program, args []string) []string {
	if len(args) == 0 {
		return args
	}
	head := args[:1:1]
	rest := args[1:]
	flags := append(slices.Clone(p.Flags), commonFlags(p)...)
	var before []string
	for len(p.Commands) > 0 && len(rest) > 0 {
		if i := slices.IndexFunc(p.Commands, func(c Program) bool { return c.Name == rest[0] }); i >= 0 {
			head = append(append(head, before...), rest[0])
			return append(head, help(order(p.Commands[i].Flags, rest[1:]), false)...)
		}
		if len(rest[0]) < 2 || rest[0][0] != '-' || rest[0] == "--" {
			if p.PassArgs && rest[0] != "--" {
				return append(append(append(head, before...), "--"), rest...)
			}
			break
		}
		n := 1
		if takesValue(flags, rest[0]) && len(rest) > 1 {
			n = 2
		}
		before = append(before, rest[:n]...)
		rest = rest[n:]
	}
	return append(head, help(order(flags, append(before, rest...)), len(p.Commands) > 0)...)
}

// help makes -h take precedence over arguments, which urfave/cli takes for help topics. If a
// program has commands, an unknown argument is reported first.
func help(ordered []string, commands bool) []string {
	end := slices.Index(ordered, "--")
	if end < 0 {
		return ordered
	}
	asks := func(arg string) bool { return arg == "-h" || arg == "--h" || arg == "-help" || arg == "--help" }
	switch plain := ordered[end+1:]; {
	case len(plain) == 0 || !slices.ContainsFunc(ordered[:end], asks):
		return ordered
	case commands:
		return slices.DeleteFunc(ordered, asks)
	}
	return []string{"-h"}
}

// counted reports a missing argument or one too many. p.Args has a word for each argument; a word
// in brackets is optional, and "..." allows more.
func counted(name string, p Program, args []string) error {
	words := strings.Fields(strings.ReplaceAll(p.Args, " ...", "..."))
	hint := "usage: " + strings.TrimSpace(name+" [option ...] "+p.Args)
	if len(args) < len(words) && words[len(args)][0] != '[' {
		return sysexit.Hint(Usagef("%s: the %s is missing", p.Name, words[len(args)]), hint)
	}
	if len(args) <= len(words) || strings.Contains(p.Args, "...") {
		return nil
	}
	if len(words) > 0 {
		hint += "; put an argument of several words in 'quotes'"
	}
	return sysexit.Hint(Usagef("%s: %q is one argument too many", p.Name, args[len(words)]), hint)
}

// order returns args with the flags first.
func order(flags []Flag, args []string) []string {
	var opts, plain []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			plain = append(plain, args[i+1:]...)
			i = len(args)
		case len(a) < 2 || a[0] != '-':
			plain = append(plain, a)
		default:
			opts = append(opts, a)
			if !takesValue(flags, a) {
				continue
			}
			if i++; i == len(args) {
				return opts // its value is missing: the parser reports it
			}
			opts = append(opts, args[i])
		}
	}
	return append(append(opts, "--"), plain...)
}

func takesValue(flags []Flag, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			_, isOptional := f.(*optionalFlag)
			return !isBool && !isOptional
		}
	}
	return false
}

// asksWords is appended to a command line when a shell requests completions.
const asksWords = "--generate-bash-completion"

// completing returns the words to complete if a shell requests completions.
func completing(args []string) (words []string, asked bool) {
	n := len(args)
	if n < 2 || args[n-1] != asksWords {
		return nil, false
	}
	return args[1 : n-1], true
}

// complete writes the completions of words. An incomplete command line is never run: urfave/cli
// takes everything after "--", including asksWords, for arguments.
func complete(ctx context.Context, p Program, words []string, in io.Reader, out, errw io.Writer) error {
	words = slices.Clone(words)
	switch i := slices.Index(words, "--"); {
	case i < 0:
	case i < len(words)-1:
		return nil // an unknown argument: the shell offers files
	default:
		words[i] = "-" // the start of an option
	}
	if values, asked := valuesOf(p, words); asked {
		_, err := io.WriteString(out, strings.Join(append(values, ""), "\n"))
		return err
	}
	known := len(words) > 0 && (strings.HasPrefix(words[0], "-") ||
		slices.ContainsFunc(p.Commands, func(c Program) bool { return c.Name == words[0] }))
	if p.Complete != nil && !known {
		return p.Complete(&Call{Context: ctx, Args: words, In: in, Out: out, Err: errw})
	}
	if len(words) == 1 {
		for _, c := range p.Commands {
			if c.Name == words[0] && c.Complete != nil {
				return c.Complete(&Call{Context: ctx, In: in, Out: out, Err: errw})
			}
		}
	}
	line := slices.Concat([]string{p.Name}, words, []string{asksWords})
	defer func(was []string) { os.Args = was }(os.Args)
	os.Args = line // urfave/cli reads the word before asksWords from os.Args
	return app(p, in, out, errw).RunContext(ctx, line)
}

// valuesOf returns the known values of the flag that the last word is, and whether it is one that takes
// a value. Of a flag whose values are unknown, there are none: the shell offers files.
func valuesOf(p Program, words []string) (values []string, asked bool) {
	if len(words) == 0 || !strings.HasPrefix(words[len(words)-1], "-") {
		return nil, false
	}
	flags, known := append(slices.Clone(p.Flags), commonFlags(p)...), p.Values
	if i := slices.IndexFunc(p.Commands, func(c Program) bool { return c.Name == words[0] }); i >= 0 {
		flags, known = p.Commands[i].Flags, p.Commands[i].Values
	}
	switch last := words[len(words)-1]; {
	case last == "--schema":
		return p.Schemas, true
	case !takesValue(flags, last):
		return nil, false
	case last == "--completion":
		return shells, true
	case known != nil:
		return known(strings.TrimLeft(last, "-")), true
	}
	return nil, true
}

// shells are those for which completion prints a script.
var shells = []string{"bash", "zsh", "fish"}

// completion prints a shell script that requests completions from the program itself.
func completion(out io.Writer, p Program, shell string) error {
	fn := "_" + strings.ReplaceAll(p.Name, "-", "_")
	switch shell {
	case "bash":
		_, err := fmt.Fprintf(out, bashCompletion, fn, fn, p.Name)
		return err
	case "zsh":
		_, err := fmt.Fprintf(out, zshCompletion, p.Name, fn)
		return err
	case "fish":
		_, err := fmt.Fprintf(out, fishCompletion, p.Name)
		return err
	}
	return Usagef("no completion for %q; there is: %s", shell, strings.Join(shells, " "))
}

const bashCompletion = `%s() {
  local cur="${COMP_WORDS[COMP_CWORD]}" words
  words=$("${COMP_WORDS[@]:0:COMP_CWORD}" $([[ $cur == -* ]] && printf %%s "$cur") --generate-bash-completion 2>/dev/null)
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  [[ ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
complete -F %s %s
`

// Installed as a file in the fpath this is the function _NAME itself, which zsh loads on first
// use. When sourced, it only registers itself.
const zshCompletion = `#compdef %[1]s
%[2]s() {
  local -a opts
  opts=("${(@f)$(${words[@]:0:#words[@]-1} ${${(M)words[-1]:#-*}} --generate-bash-completion 2>/dev/null)}")
  compadd -- ${opts%%%%:*} || _files
}
if [[ ${funcstack[1]} == _%[1]s ]]; then %[2]s; else compdef %[2]s %[1]s; fi
`

// Files are offered where no word fits.
const fishCompletion = `complete -c %[1]s -f -a '(
  set -l cur (commandline -ct)
  set -l t (commandline -opc) (string match -- "-*" $cur)
  set -l words ($t --generate-bash-completion 2>/dev/null | string replace -r ":.*" "")
  if set -q words[1]; and string match -q -- "$cur*" $words; printf "%%s\n" $words; else; __fish_complete_path $cur; end)'
`

const helpTemplate = `usage: {{.HelpName}}{{if .VisibleFlags}} [option ...]{{end}}{{if .ArgsUsage}} {{.ArgsUsage}}{{end}}

{{.Usage}}.
{{if .Description}}
{{trim .Description}}
{{end}}{{if .VisibleCommands}}
Commands:{{range .VisibleCommands}}
  {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}
{{end}}{{if .VisibleFlags}}
Options:{{range .VisibleFlags}}
  {{.}}{{end}}
{{end}}`

// helpWidth is the number of columns of a line of -h.
const helpWidth = 80

// item is a line of a list: a name, and its description after two spaces or more.
var item = lazyregexp.New(`^(  \S(?: ?\S)* {2,})(\S.*)$`)

// wrapHelp breaks paragraphs and the descriptions of options and commands at words. Indented lines
// of a program's own text are examples, and stay.
func wrapHelp(help string) string {
	var out, paragraph []string
	lists := false
	for line := range strings.SplitSeq(help, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			lists = lists || line == "Commands:" || line == "Options:"
			continue
		}
		out = append(out, fill(strings.Join(paragraph, " "), helpWidth)...)
		paragraph = nil
		m := item.FindStringSubmatch(line)
		if !lists || m == nil || utf8.RuneCountInString(line) <= helpWidth {
			out = append(out, line)
			continue
		}
		indent := utf8.RuneCountInString(m[1])
		broken := fill(m[2], helpWidth-indent)
		out = append(out, m[1]+strings.Join(broken, "\n"+strings.Repeat(" ", indent)))
	}
	return strings.Join(append(out, paragraph...), "\n")
}

// fill breaks a text at spaces into lines of at most width characters. term.Wrap counts columns of any
// script, for which each program would hold 400 KB of tables.
func fill(text string, width int) (lines []string) {
	for utf8.RuneCountInString(text) > width {
		at := strings.LastIndexByte(text[:width+1], ' ')
		if at <= 0 {
			break
		}
		lines = append(lines, text[:at])
		text = strings.TrimLeft(text[at:], " ")
	}
	if text == "" {
		return lines
	}
	return append(lines, text)
}
