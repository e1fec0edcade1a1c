package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
)

// Flags are the command line flags that apply to some sources only.
type Flags struct {
	Log, NoLog, After, Once, Text, Rejects bool
	Format, Poll                           bool
}

// Plan is a parsed command line.
type Plan struct {
	Source string   // Live, export, stdin, file
	Arg    string   // local: the folder, "" for the configured one; export: the path
	Files  []string // file, and tail: the files; for tail, none means the configured ones
	Log    bool     // keep events in the home
	Names  []string // live: the platforms; none: the configured ones
}

// Live is the source of a plan that connects to platforms.
const Live = "live"

// Name returns the name of the watch in its heartbeat.
func (p *Plan) Name() string {
	if len(p.Names) > 0 {
		return strings.Join(p.Names, " ")
	}
	return p.Source
}

// Chats returns the platforms of a live plan, and whether the sweeps are part of it.
func (p *Plan) Chats(cfg *config.Config) (names []string, sweeps bool) {
	if len(p.Names) == 0 {
		return cfg.On(), len(cfg.Sweep) > 0
	}
	names = slices.DeleteFunc(slices.Clone(p.Names), func(n string) bool { return n == config.PlatformSweep })
	return names, len(names) < len(p.Names)
}

// Read parses the arguments into a plan, or returns a usage error. platforms are the names of the
// platforms that can be watched.
func Read(args, platforms []string, f Flags) (Plan, error) {
	p := Plan{Source: Live}
	switch {
	case len(args) == 0:
	case args[0] == config.PlatformLocal && len(args) == 2 && !slices.Contains(platforms, args[1]):
		p.Names, p.Arg = args[:1], args[1]
	case args[0] == config.PlatformTail && len(args) > 1 && !slices.Contains(platforms, args[1]):
		p.Names, p.Files = args[:1], args[1:]
	case args[0] == "export":
		if len(args) != 2 {
			return p, usage("export takes one argument")
		}
		p.Source, p.Arg = "export", args[1]
	case args[0] == "stdin":
		if len(args) != 1 {
			return p, usage("stdin takes no argument")
		}
		p.Source = "stdin"
	case slices.Contains(platforms, args[0]):
		for _, name := range args {
			if !slices.Contains(platforms, name) {
				return p, sysexit.Hint(usage("%q is not a platform", name),
					"there are: "+strings.Join(platforms, ", "))
			}
		}
		p.Names = slices.Compact(slices.Sorted(slices.Values(args)))
	default:
		p.Source, p.Files = "file", args
		if err := checkMisspelt(args[0], platforms); err != nil {
			return p, err
		}
		if f.Text {
			return p, usage("--text reads stdin, not files: tri-watch stdin --text <file")
		}
	}
	p.Log = (p.Source == Live || f.Log) && !f.NoLog
	return p, p.check(f)
}

// checkMisspelt detects a misspelt platform name: there is no such file.
func checkMisspelt(arg string, platforms []string) error {
	if _, err := os.Stat(arg); !errors.Is(err, os.ErrNotExist) || strings.ContainsAny(arg, "./") {
		return nil
	}
	sources := append([]string{"export", "stdin"}, platforms...)
	err := sysexit.With(sysexit.NoInput, fmt.Errorf("%q is neither a source nor a file", arg))
	if near := sysexit.Nearest(arg, sources); near != "" {
		return sysexit.Hint(err, fmt.Sprintf("did you mean %q?", near))
	}
	return sysexit.Hint(err, "there are: "+strings.Join(sources, ", "))
}

func (p *Plan) check(f Flags) error {
	records := p.Source == "stdin" || p.Source == "file"
	switch {
	case f.Log && f.NoLog:
		return usage("--no-log excludes --log and --home")
	case f.After && !p.Log:
		return usage("--after needs a log: events that are only printed cannot be resumed")
	case f.Once && (len(p.Names) != 1 ||
		p.Names[0] != config.PlatformLocal && p.Names[0] != config.PlatformSweep):
		return usage("--once is for local and sweep; %s ends by itself or never", p.Name())
	case (f.Format || f.Poll) && !slices.Contains(p.Names, config.PlatformTail):
		return usage("--format and --poll are for tail")
	case f.Text && p.Source != "stdin":
		return usage("--text is for stdin")
	case f.Rejects && (!records || f.Text):
		return usage("--rejects is for records of stdin and files")
	}
	return nil
}

func usage(format string, args ...any) error {
	return sysexit.With(sysexit.Usage, fmt.Errorf(format, args...))
}

// Config reads the configuration at path, or if path is empty that of the home, or the default.
func Config(home, path string) (*config.Config, error) {
	if path == "" && home != "" {
		own := filepath.Join(home, "config.yaml")
		if _, err := os.Stat(own); !errors.Is(err, os.ErrNotExist) {
			path = own
		} else {
			return config.Default(), nil
		}
	}
	return config.Load(path)
}
