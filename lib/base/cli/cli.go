// Package cli is the frame of every program: flags, statuses, messages, signals, logging, version,
// schemas and completion, on urfave/cli v2. It is the only package that exits, prints errors or
// reads the command line.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/schemas"
)

// Flag types of a program.
type (
	Flag            = cli.Flag
	StringFlag      = cli.StringFlag
	BoolFlag        = cli.BoolFlag
	IntFlag         = cli.IntFlag
	Int64Flag       = cli.Int64Flag
	DurationFlag    = cli.DurationFlag
	StringSliceFlag = cli.StringSliceFlag
)

// Program is a program or one of its commands.
type Program struct {
	Name  string // tri-classify; for a command its verb
	Usage string // one line without a full stop: what it does. Also the .Nd of its page.
	Args  string // in the synopsis: "[file ...]"
	// Help says what is read and written, with two or three examples.
	Help     string
	Flags    []Flag
	Commands []Program
	// Schemas are the records that --schema prints ("event"); the first is the default.
	Schemas []string
	// LongRunning is set for a program or command that runs until it is stopped: on SIGINT or SIGTERM
	// its context ends, it finishes the record in hand and exits 0. Others are killed by a signal
	// at once, as a filter should be.
	LongRunning bool
	// PassArgs is set for a program that runs others: everything after its first argument, including
	// flags, is passed to the other program.
	PassArgs bool
	// Run does the work. Nil: the program only has commands.
	Run func(*Call) error
	// Complete writes completions for Args, one word a line, if Args does not begin with a command
	// of Commands; of a command, for its first argument. Nil: the program's commands and options are offered.
	Complete func(*Call) error
	// Values returns the known values of a flag, for completion; it may be nil.
	Values func(flag string) []string
}

// Call is one invocation.
type Call struct {
	context.Context
	Args []string
	In   io.Reader
	Out  io.Writer
	Err  io.Writer
	c    *cli.Context
}

// String and the following methods return a flag's value.
func (c *Call) String(name string) string     { return c.c.String(name) }
func (c *Call) Bool(name string) bool         { return c.c.Bool(name) }
func (c *Call) Int(name string) int           { return c.c.Int(name) }
func (c *Call) Int64(name string) int64       { return c.c.Int64(name) }
func (c *Call) Strings(name string) []string  { return c.c.StringSlice(name) }
func (c *Call) IsSet(name string) bool        { return c.c.IsSet(name) }
func (c *Call) Duration(name string) Duration { return c.c.Duration(name) }

// IgnoreHangup keeps the program running when its terminal is closed, by ignoring SIGHUP. It returns
// the call's context.
func (c *Call) IgnoreHangup() context.Context {
	signal.Ignore(syscall.SIGHUP)
	return c.Context
}

// Notef prints a message on stderr.
func (c *Call) Notef(format string, args ...any) {
	fmt.Fprintf(c.Err, "%s: %s\n", c.c.App.Name, text.Visible(fmt.Sprintf(format, args...)))
}

// Usagef returns the error of a wrong command line.
func Usagef(format string, args ...any) error {
	return sysexit.Errorf(sysexit.Usage, format, args...)
}

// Main runs p with the process's arguments and exits.
func Main(p Program) {
	if os.Getenv("TRI_ONE_THREAD") != "" {
		// For fault injection: the main path makes its system calls on one thread, in a countable
		// order.
		runtime.LockOSThread()
	}
	os.Exit(Run(p, os.Args, os.Stdin, term.Screen(os.Stdout), os.Stderr))
}

// Run runs p and returns its exit status.
func Run(p Program, args []string, in io.Reader, out, errw io.Writer) int {
	ctx := context.Background()
	if longRunning(p, args) {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // a second signal kills the program
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(errw, &slog.HandlerOptions{Level: logLevel()})))
	if words, asked := completing(args); asked {
		return report(p.Name, complete(ctx, p, words, in, out, errw), errw)
	}
	err := app(p, in, out, errw).RunContext(ctx, flagsFirst(p, args))
	return report(p.Name, err, errw)
}

// longRunning reports whether the program, or the command being called, sets Stays.
func longRunning(p Program, args []string) bool {
	for _, arg := range args[min(1, len(args)):] {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		for _, c := range p.Commands {
			if c.Name == arg && c.LongRunning {
				return true
			}
		}
		break
	}
	return p.LongRunning
}

func logLevel() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(os.Getenv("TRI_LOG"))); err != nil {
		return slog.LevelWarn
	}
	return level
}

func app(p Program, in io.Reader, out, errw io.Writer) *cli.App {
	cli.VersionFlag = &cli.BoolFlag{Name: "version", Usage: "print the version and exit",
		DisableDefaultText: true}
	cli.HelpPrinter = func(w io.Writer, template string, of any) {
		var help bytes.Buffer
		cli.HelpPrinterCustom(&help, template, of, nil)
		_, _ = io.WriteString(w, wrapHelp(help.String())) // as urfave/cli, which has no error here
	}
	cli.HelpFlag = &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "print this help and exit",
		DisableDefaultText: true}
	a := &cli.App{
		Name: p.Name, HelpName: p.Name, Usage: p.Usage, ArgsUsage: p.Args, Description: p.Help,
		Version: Version(), HideHelpCommand: true, EnableBashCompletion: true,
		Reader: in, Writer: out, ErrWriter: errw,
		UseShortOptionHandling: false, DisableSliceFlagSeparator: true,
		CustomAppHelpTemplate: helpTemplate, Suggest: false,
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   usageError(p, p.Name, flagNames(p.Flags, commonFlags(p))),
		Flags:          append(plain(p.Flags), commonFlags(p)...),
		Action:         action(p, in, out, errw),
	}
	for _, sub := range p.Commands {
		a.Commands = append(a.Commands, command(p, sub, in, out, errw))
		if sub.Name == "help" { // urfave/cli omits its help flag then
			a.Flags = append(a.Flags, cli.HelpFlag)
		}
	}
	return a
}

func command(of, p Program, in io.Reader, out, errw io.Writer) *cli.Command {
	return &cli.Command{
		Name: p.Name, Usage: p.Usage, ArgsUsage: p.Args, Description: p.Help,
		Flags: plain(p.Flags), HideHelpCommand: true, CustomHelpTemplate: helpTemplate,
		OnUsageError: usageError(of, of.Name+" "+p.Name, flagNames(p.Flags)),
		Action:       action(p, in, out, errw),
	}
}

// plain omits the default of switches, which is always off, from -h.
func plain(flags []Flag) []Flag {
	for _, f := range flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true
		}
	}
	return flags
}

func commonFlags(p Program) []Flag {
	flags := []Flag{&cli.StringFlag{Name: "completion",
		Usage: "print the completion script for `SHELL` (bash, zsh, fish) and exit"}}
	if len(p.Schemas) > 0 {
		flags = append(flags, &cli.BoolFlag{Name: "schema",
			Usage:              "print the JSON Schema of " + strings.Join(p.Schemas, ", ") + " and exit",
			DisableDefaultText: true})
	}
	return flags
}

func action(p Program, in io.Reader, out, errw io.Writer) cli.ActionFunc {
	return func(c *cli.Context) error {
		if shell := c.String("completion"); shell != "" {
			return completion(out, p, shell)
		}
		if len(p.Schemas) > 0 && c.Bool("schema") {
			return printSchemas(out, p.Schemas, c.Args().Slice())
		}
		if p.Run == nil {
			return wantCommand(p, c.Args().First())
		}
		if c.Command != nil && p.Commands == nil && c.Command.Name == p.Name && c.Command.HelpName != p.Name {
			if err := counted(c.Command.HelpName, p, c.Args().Slice()); err != nil {
				return err
			}
		}
		err := p.Run(&Call{Context: c.Context, Args: c.Args().Slice(), In: in, Out: out, Err: errw, c: c})
		if c.Command != nil && c.Command.HelpName != "" {
			err = howUsed(c.Command.HelpName, err)
		}
		return err
	}
}

func printSchemas(out io.Writer, known, asked []string) error {
	if len(asked) == 0 {
		asked = known[:1]
	}
	for _, name := range asked {
		text, err := schemas.Read(name)
		if err != nil {
			return Usagef("no schema %q; there are: %s", name, strings.Join(known, " "))
		}
		if _, err := out.Write(text); err != nil {
			return sysexit.With(sysexit.IO, err)
		}
	}
	return nil
}

// report prints err once and returns its exit status.
func report(name string, err error, errw io.Writer) int {
	if err == nil {
		return sysexit.OK
	}
	status := statusOf(err)
	if body := err.Error(); body != "" {
		fmt.Fprintf(errw, "%s: %s\n", name, text.Visible(body))
	}
	for _, hint := range sysexit.Hints(howUsed(name, err)) {
		fmt.Fprintf(errw, "%s: hint: %s\n", name, text.Visible(hint))
	}
	return status
}

// howUsed adds to an error of usage without a hint where the usage of a command is.
func howUsed(command string, err error) error {
	if status, _ := sysexit.Of(err); status == sysexit.Usage && len(sysexit.Hints(err)) == 0 {
		err = sysexit.Hint(err, command+" -h shows how it is used")
	}
	return err
}

func statusOf(err error) int {
	if status, ok := sysexit.Of(err); ok {
		return status
	}
	switch {
	case errors.Is(err, syscall.EPIPE):
		return sysexit.IO
	case errors.Is(err, fs.ErrNotExist):
		return sysexit.NoInput
	case errors.Is(err, fs.ErrPermission):
		return sysexit.NoPerm
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)):
		return sysexit.IO
	case errors.Is(err, context.Canceled):
		return sysexit.OK
	}
	return sysexit.Software
}

// ErrSilent is an answer of no (status 1) that has already been printed.
var ErrSilent = sysexit.Errorf(sysexit.No, "")
