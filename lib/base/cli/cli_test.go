package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tri/lib/base/sysexit"
)

func program(got *[]string, words *[]string, err error) Program {
	return Program{
		Name: "tri-x", Usage: "does x", Args: "[file ...]", Schemas: []string{"event"},
		Flags: []Flag{
			&StringFlag{Name: "out", Usage: "write to `FILE`"},
			&BoolFlag{Name: "follow", Usage: "keep reading"},
			&StringSliceFlag{Name: "word", Usage: "look for `WORD`"},
		},
		Commands: []Program{{Name: "sub", Args: "[arg ...]", Usage: "does sub",
			Flags: []Flag{&StringFlag{Name: "note", Usage: "`TEXT`"}}, Run: func(c *Call) error {
				*got = append([]string{"sub", c.String("note")}, c.Args...)
				return err
			}}},
		Run: func(c *Call) error {
			*got = append([]string{c.String("out"), fmt.Sprint(c.Bool("follow"))}, c.Args...)
			*words = c.Strings("word")
			return err
		},
	}
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"", " false"},
		{"a b", " false a b"},
		{"a --out o b --follow", "o true a b"},
		{"--out=o a", "o false a"},
		{"a -- --out b", " false a --out b"},
		{"- --follow", " true -"},
		{"sub a --note n b", "sub n a b"},
		{"sub -- --note", "sub  --note"},
	} {
		var got, words []string
		var out, errw strings.Builder
		status := Run(program(&got, &words, nil), append([]string{"tri-x"}, strings.Fields(tt.line)...),
			nil, &out, &errw)
		if status != 0 || strings.Join(got, " ") != tt.want {
			t.Errorf("%q: status %d, got %q, want %q (%s)", tt.line, status, got, tt.want, errw.String())
		}
	}
}

func TestRestBelongsToTheFirstArgument(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"x --out o -h", " x --out o -h"},
		{"--out o x --version -- y", "o x --version -- y"},
		{"sub --note n", "sub n"},
	} {
		var got, words []string
		var out, errw strings.Builder
		p := program(&got, &words, nil)
		p.PassArgs = true
		p.Run = func(c *Call) error {
			got = append([]string{c.String("out")}, c.Args...)
			return nil
		}
		if status := Run(p, append([]string{"tri-x"}, strings.Fields(tt.line)...), nil, &out,
			&errw); status != 0 || strings.Join(got, " ") != tt.want {
			t.Errorf("%q: status %d, got %q, want %q (%s)", tt.line, status, got, tt.want, errw.String())
		}
	}
}

func TestListsAreNotSplitAtCommas(t *testing.T) {
	var got, words []string
	var out, errw strings.Builder
	Run(program(&got, &words, nil), []string{"tri-x", "--word", "a,b", "--word", "c"}, nil, &out, &errw)
	if !slices.Equal(words, []string{"a,b", "c"}) {
		t.Errorf("words %q", words)
	}
}

func TestUsageErrorsGoToStderr(t *testing.T) {
	for _, line := range []string{"--nope", "a --nope", "--out", "--completion tcsh", "sub --nope",
		"--schema nope"} {
		var got, words []string
		var out, errw strings.Builder
		status := Run(program(&got, &words, nil), append([]string{"tri-x"}, strings.Fields(line)...),
			nil, &out, &errw)
		if status != sysexit.Usage || out.Len() > 0 || !strings.HasPrefix(errw.String(), "tri-x: ") {
			t.Errorf("%q: status %d, stdout %q, stderr %q", line, status, out.String(), errw.String())
		}
	}
}

func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{ErrSilent, sysexit.No},
		{errors.New("x"), sysexit.Software},
		{fmt.Errorf("a: %w", &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}), sysexit.NoInput},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, sysexit.NoPerm},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, sysexit.IO},
		{sysexit.Hint(sysexit.Errorf(sysexit.Config, "x"), "do y"), sysexit.Config},
		{sysexit.With(sysexit.TempFail, fs.ErrNotExist), sysexit.TempFail},
	} {
		var got, words []string
		var out, errw strings.Builder
		if status := Run(program(&got, &words, tt.err), []string{"tri-x"}, nil, &out,
			&errw); status != tt.want {
			t.Errorf("%v: status %d, want %d", tt.err, status, tt.want)
		}
		if tt.want == sysexit.Config && errw.String() != "tri-x: x\ntri-x: hint: do y\n" {
			t.Errorf("stderr %q", errw.String())
		}
	}
}

func TestHelpFlagBesideHelpCommand(t *testing.T) {
	var got, words []string
	p := program(&got, &words, nil)
	p.Commands = append(p.Commands, Program{Name: "help", Usage: "lists", Run: func(*Call) error {
		return nil
	}})
	var out, errw strings.Builder
	if status := Run(p, []string{"tri-x", "-h"}, nil, &out, &errw); status != 0 ||
		!strings.Contains(out.String(), "--help, -h") {
		t.Errorf("status %d, stdout %q, stderr %q", status, out.String(), errw.String())
	}
}

func TestAskedForTextGoesToStdout(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"-h", "usage: tri-x [option ...] [file ...]\n\ndoes x.\n"},
		{"sub --help", "usage: tri-x sub [option ...]"},
		{"--version", "tri-x version "},
		{"--schema", `{"$schema"`},
		{"--completion bash", "_tri_x()"},
		{"--completion zsh", "#compdef tri-x"},
		{"--completion fish", "complete -c tri-x"},
	} {
		var got, words []string
		var out, errw strings.Builder
		status := Run(program(&got, &words, nil), append([]string{"tri-x"}, strings.Fields(tt.line)...),
			nil, &out, &errw)
		if text := strings.ReplaceAll(strings.ReplaceAll(out.String(), " ", ""), "\n", ""); status != 0 ||
			errw.Len() > 0 ||
			!strings.HasPrefix(text, strings.ReplaceAll(strings.ReplaceAll(tt.want, " ", ""), "\n", "")) {
			t.Errorf("%q: status %d, stdout %q, stderr %q", tt.line, status, out.String(), errw.String())
		}
	}
}

// TestHelpWidth: paragraphs and descriptions are broken at words, examples are left alone.
func TestHelpWidth(t *testing.T) {
	long := strings.Repeat("words ", 20)
	p := Program{Name: "tri-x", Usage: "does x", Help: long + "\n" + long + "\n\n  " + long,
		Flags: []Flag{&StringFlag{Name: "flag", Usage: long}}, Run: func(*Call) error { return nil }}
	var out, errw strings.Builder
	if status := Run(p, []string{"tri-x", "-h"}, nil, &out, &errw); status != 0 {
		t.Fatal(status, errw.String())
	}
	over := 0
	for line := range strings.Lines(out.String()) {
		if len(line) > helpWidth+1 {
			over++
		}
	}
	if over != 1 || strings.Count(out.String(), "words") != 80 ||
		!strings.Contains(out.String(), "\n                      words") {
		t.Errorf("%d lines are over %d columns:\n%s", over, helpWidth, out.String())
	}
}

// TestCompletes: what a shell asks is answered, and a line that a person is still
// writing is never run.
func TestCompletes(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"", "sub\n"}, {"-", "--out\n"}, {"--", "--out\n"}, {"file", ""}, {"-- file", ""}, {"-- file --", ""},
		{"sub --", "--help\n"}, {"--completion", "bash\nzsh\nfish\n"}, {"--word", "word 1\nword 2\n"},
		{"file --word", "word 1\n"}, {"sub --note", "note 3\n"}, {"--out", ""},
	} {
		var got, words []string
		var out, errw strings.Builder
		values := program(&got, &words, nil)
		values.Values = func(flag string) []string {
			return map[string][]string{"word": {"word 1", "word 2"}}[flag]
		}
		values.Commands[0].Values = func(flag string) []string { return []string{flag + " 3"} }
		status := Run(values,
			slices.Concat([]string{"tri-x"}, strings.Fields(tt.line), []string{asksWords}), nil, &out, &errw)
		if status != 0 || len(got) > 0 || errw.Len() > 0 || !strings.Contains(out.String(), tt.want) ||
			tt.want == "" && strings.HasPrefix(tt.line, "--") && out.Len() > 0 {
			t.Errorf("%q: status %d, run with %q, stdout %q, stderr %q", tt.line, status, got, out.String(),
				errw.String())
		}
		p := values
		p.Complete = func(c *Call) error {
			_, err := io.WriteString(c.Out, "own "+strings.Join(c.Args, " "))
			return err
		}
		out.Reset()
		Run(p, slices.Concat([]string{"tri-x"}, strings.Fields(tt.line), []string{asksWords}),
			nil, &out, &errw)
		if own := tt.line == "" || tt.line == "file"; own != strings.HasPrefix(out.String(), "own "+tt.line) {
			t.Errorf("%q: %q", tt.line, out.String())
		}
	}
}

func TestMessagesSteerNoTerminal(t *testing.T) {
	var got, words []string
	var out, errw strings.Builder
	err := sysexit.Hint(errors.New("bad \x1b[31m\u009b \u202e é\n\tx"), "chmod 700 a\x1b[2J")
	Run(program(&got, &words, err), []string{"tri-x"}, nil, &out, &errw)
	if want := "tri-x: bad <U+001B>[31m<U+009B> <U+202E> é\n\tx\ntri-x: hint: chmod 700 a<U+001B>[2J\n"; errw.String() != want {
		t.Errorf("%q, want %q", errw.String(), want)
	}
}

// TestUsageHint: the hint of a usage error names the command that was run.
func TestUsageHint(t *testing.T) {
	for line, want := range map[string]string{"": "tri-x -h", "sub": "tri-x sub -h"} {
		var got, words []string
		var out, errw strings.Builder
		p := program(&got, &words, sysexit.Errorf(sysexit.Usage, "bad"))
		p.Commands[0].Run = p.Run
		Run(p, append([]string{"tri-x"}, strings.Fields(line)...), nil, &out, &errw)
		if want = "tri-x: bad\ntri-x: hint: " + want + " shows how it is used\n"; errw.String() != want {
			t.Errorf("%q: %q, want %q", line, errw.String(), want)
		}
	}
}

func TestOptionalFlag(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"", "[]"},
		{"--watch", "5[]"},
		{"a --watch b", "5[a b]"},
		{"--watch=2 a", "2[a]"},
		{"a --watch=", "[a]"},
	} {
		got := ""
		p := Program{Name: "tri-x", Flags: []Flag{OptionalFlag("watch", "look every `[=SECONDS]`", "5")},
			Run: func(c *Call) error {
				got = c.Optional("watch") + fmt.Sprint(c.Args)
				return nil
			}}
		var out, errw strings.Builder
		if status := Run(p, append([]string{"tri-x"}, strings.Fields(tt.line)...), nil, &out,
			&errw); status != 0 || got != tt.want {
			t.Errorf("%q: status %d, got %q, want %q (%s)", tt.line, status, got, tt.want, errw.String())
		}
	}
}

// -h takes precedence over everything beside it; a missing or surplus argument is named.
func TestFirstContact(t *testing.T) {
	run := func(*Call) error { return nil }
	one := Program{Name: "tri-x", Usage: "does x", Args: "[file ...]", Run: run}
	many := Program{Name: "tri-x", Usage: "does x", Args: "command", Commands: []Program{
		{Name: "ask", Usage: "asks", Args: "task", Run: run},
		{Name: "go", Usage: "goes", Args: "name [words]", Run: run},
		{Name: "all", Usage: "all", Run: run},
		{Name: "some", Usage: "some", Args: "first [more ...]", Run: run},
	}}
	for _, tt := range []struct {
		p            Program
		line         string
		status       int
		out, errWant string
	}{
		{one, "file -h", 0, "usage: tri-x [option ...] [file ...]", ""},
		{one, "--help file", 0, "usage: tri-x", ""},
		{one, "-- -h", 0, "", ""},
		{many, "ask what -h", 0, "usage: tri-x ask", ""},
		{many, "nonsense -h", 64, "", `unknown command "nonsense"`},
		{many, "-h", 0, "usage: tri-x", ""},
		{many, "", 64, "", "a command is missing; there are:\n  ask         asks\n  go          goes\n"},
		{many, "aks x", 64, "", `hint: did you mean "tri-x ask"?`},
		{many, "foo x", 64, "", "hint: tri-x -h lists the commands"},
		{many, "ask", 64, "", "ask: the task is missing\ntri-x: hint: usage: tri-x ask [option ...] task"},
		{many, "ask a b", 64, "", `ask: "b" is one argument too many`},
		{many, "ask a", 0, "", ""},
		{many, "go", 64, "", "the name is missing"},
		{many, "go a", 0, "", ""},
		{many, "go a b", 0, "", ""},
		{many, "go a b c", 64, "", `"c" is one argument too many`},
		{many, "all", 0, "", ""},
		{many, "all a", 64, "", `"a" is one argument too many`},
		{many, "some", 64, "", "the first is missing"},
		{many, "some a b c d", 0, "", ""},
	} {
		var out, errw strings.Builder
		status := Run(tt.p, append([]string{"tri-x"}, strings.Fields(tt.line)...), nil, &out, &errw)
		if status != tt.status || !strings.HasPrefix(out.String(), tt.out) ||
			!strings.Contains(errw.String(), tt.errWant) || tt.errWant == "" && errw.Len() > 0 {
			t.Errorf("%q: status %d, %q, %q", tt.line, status, out.String(), errw.String())
		}
	}
}

// TestUnknownOption: the hint names what was probably meant, or the command that has the option.
func TestUnknownOption(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"--folow a", "tri-x: unknown option --folow\ntri-x: hint: did you mean --follow?\n"},
		{"-hlep", "tri-x: unknown option --hlep\ntri-x: hint: did you mean --help?\n"},
		{"--note a", "tri-x: unknown option --note\ntri-x: hint: options follow the command: tri-x sub --note\n"},
		{"sub --ntoe a", "tri-x: sub: unknown option --ntoe\ntri-x: hint: did you mean --note?\n"},
		{"sub --yes", "tri-x: sub: unknown option --yes\ntri-x: hint: tri-x sub -h lists the options\n"},
		{"--out", "tri-x: option --out: its value is missing\ntri-x: hint: tri-x -h shows how it is used\n"},
	} {
		var got, words []string
		var out, errw strings.Builder
		status := Run(program(&got, &words, nil), append([]string{"tri-x"}, strings.Fields(tt.line)...),
			nil, &out, &errw)
		if status != sysexit.Usage || errw.String() != tt.want {
			t.Errorf("%q: status %d, %q, want %q", tt.line, status, errw.String(), tt.want)
		}
	}
}
