package setup

import (
	"bufio"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/chat/sources"
)

// Around is the environment from which defaults are taken.
type Around struct {
	Home string // the home's folder
	Dir  string // current folder; "": ask the system
	User string // the user running the program; "": ask the system

	Servers []Server // that run models on this machine, see Local
}

// question is a question of tri init.
type question struct {
	asks     string
	empty    string              // what no answer means, where there is no default
	choices  []string            // that are shown
	also     []string            // other valid answers
	when     func(*Answers) bool // whether it applies; nil: always
	standard func(*Answers, Around) string
	get      func(*Answers) string
	set      func(*Answers, string)
}

func one(field func(*Answers) *string) (func(*Answers) string, func(*Answers, string)) {
	return func(a *Answers) string { return *field(a) }, func(a *Answers, s string) { *field(a) = s }
}

func many(field func(*Answers) *[]string) (func(*Answers) string, func(*Answers, string)) {
	return func(a *Answers) string { return strings.Join(*field(a), " ") },
		func(a *Answers, s string) { *field(a) = strings.Fields(s) }
}

func fixed(s string) func(*Answers, Around) string {
	return func(*Answers, Around) string { return s }
}

func on(platform string) func(*Answers) bool {
	return func(a *Answers) bool { return a.Platform == platform }
}

func elsewhere(a *Answers) bool { return a.Platform != "local" }

func questions() []question {
	chats, agents := connected(), config.Values("investigator")("agent")
	qs := []question{
		{asks: "Chat platform; local is a folder of text files, to try tri with", choices: chats,
			standard: fixed(chats[0])},
		{asks: "Folder of the local chat", when: on("local"), standard: func(_ *Answers, at Around) string {
			return filepath.Join(at.Home, "chat")
		}},
		{asks: "Address of the Mattermost server (https://…)", when: on("mattermost"), standard: fixed("")},
		{asks: "Ids of the chats to watch, separated by spaces", empty: "all that the bot can see",
			when: elsewhere, standard: fixed("")},
		{asks: "Folder of the code that answers come from", empty: "no question is investigated",
			standard: codebase},
		{asks: "Agent that investigates; search needs no model and no key", choices: installed(agents),
			also: usable(agents), standard: fixed("search")},
		{asks: "People who may approve, separated by spaces", standard: func(_ *Answers, at Around) string {
			return at.User
		}},
		{asks: "Your language", standard: fixed("en")},
	}
	qs[0].get, qs[0].set = one(func(a *Answers) *string { return &a.Platform })
	qs[1].get, qs[1].set = one(func(a *Answers) *string { return &a.LocalDir })
	qs[2].get, qs[2].set = one(func(a *Answers) *string { return &a.MattermostURL })
	qs[3].get, qs[3].set = many(func(a *Answers) *[]string { return &a.Chats })
	qs[4].get = func(a *Answers) string { return strings.Join(a.Codebases, " ") }
	qs[4].set = func(a *Answers, s string) {
		a.Codebases = slices.DeleteFunc([]string{s}, func(s string) bool { return s == "" })
	}
	qs[5].get, qs[5].set = one(func(a *Answers) *string { return &a.Agent })
	qs[6].get, qs[6].set = many(func(a *Answers) *[]string { return &a.Approvers })
	qs[7].get, qs[7].set = one(func(a *Answers) *string { return &a.Language })
	return qs
}

// tokenEnv matches the variables of a platform's configuration.
var tokenEnv = lazyregexp.New(`_env: (\w+)`)

// connected returns the platforms, first those that have a token in the environment.
func connected() []string {
	names := sources.Names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(tokens(b), tokens(a)) })
	return names
}

// tokens returns 1 if a variable of a platform is set, else 0.
func tokens(platform string) int {
	guide, err := sources.Guide(platform)
	for _, m := range tokenEnv.FindAllStringSubmatch(guide.Config, -1) {
		if err == nil && os.Getenv(m[1]) != "" {
			return 1
		}
	}
	return 0
}

// usable returns the agents that need no more than a name in the configuration.
func usable(agents []string) []string {
	return slices.DeleteFunc(slices.Clone(agents), func(name string) bool {
		return name != "search" && config.Agent{Agent: name}.Program() == nil
	})
}

// installed returns those of usable whose programs are on PATH.
func installed(agents []string) []string {
	return slices.DeleteFunc(usable(agents), func(name string) bool {
		_, err := exec.LookPath(append(config.Agent{Agent: name}.Program(), "")[0])
		return name != "search" && err != nil
	})
}

// codebase returns the repository that contains the current folder, else one in it, or "".
func codebase(_ *Answers, at Around) string {
	for dir := at.Dir; dir != ""; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if in, err := filepath.Glob(filepath.Join(at.Dir, "*", ".git")); err == nil && len(in) > 0 {
		return filepath.Dir(in[0])
	}
	return ""
}

// complete fills in missing answers: it asks a person if in is not nil, and uses the defaults otherwise.
// Folders become absolute.
func complete(a *Answers, at Around, in io.Reader, out io.Writer) error {
	var lines *bufio.Reader
	if in != nil {
		lines = bufio.NewReader(in)
	}
	qs := questions()
	if len(at.Servers) > 0 {
		qs = offer(qs, at.Servers)
	}
	for _, q := range qs {
		if q.when != nil && !q.when(a) {
			continue
		}
		if q.get(a) != "" {
			if err := q.fits(q.get(a)); err != nil {
				return sysexit.With(sysexit.Usage, err)
			}
			continue
		}
		answer := q.standard(a, at)
		if lines != nil {
			var err error
			if answer, err = q.ask(lines, out, answer); err != nil {
				return err
			}
		}
		q.set(a, answer)
	}
	if a.Platform == "mattermost" && a.MattermostURL == "" {
		return sysexit.With(sysexit.Usage,
			errors.New("mattermost needs the address of its server: --mattermost-url"))
	}
	return a.anchor(at.Dir)
}

func (q *question) fits(answer string) error {
	if len(q.choices) > 0 && !slices.Contains(q.choices, answer) && !slices.Contains(q.also, answer) {
		err := fmt.Errorf("%q is none of: %s", answer, strings.Join(q.choices, ", "))
		if near := sysexit.Nearest(answer, q.choices); near != "" {
			err = sysexit.Hint(err, fmt.Sprintf("did you mean %q?", near))
		}
		return err
	}
	return nil
}

// ask asks until the answer is valid. An empty line takes the default.
func (q *question) ask(in *bufio.Reader, out io.Writer, standard string) (string, error) {
	for {
		text := q.asks
		if len(q.choices) > 0 {
			text += " (" + strings.Join(q.choices, ", ") + ")"
		}
		if standard != "" {
			text += " [" + standard + "]"
		} else if q.empty != "" {
			text += " (empty: " + q.empty + ")"
		}
		if term.Is(out) {
			text = strings.Join(term.Wrap(text, term.Width(out)-2), "\n")
		}
		if _, err := fmt.Fprintf(out, "%s: ", text); err != nil {
			return "", sysexit.With(sysexit.IO, fmt.Errorf("ask: %w", err))
		}
		line, err := in.ReadString('\n')
		if err != nil && (!errors.Is(err, io.EOF) || line == "") {
			return "", sysexit.Hint(sysexit.With(sysexit.NoInput, fmt.Errorf("read answer: %w", err)),
				"nothing was written; --yes takes the defaults")
		}
		answer := strings.TrimSpace(line)
		if answer == "" {
			return standard, nil
		}
		err = q.fits(answer)
		if err == nil {
			return answer, nil
		}
		if _, err := fmt.Fprintln(out, err); err != nil {
			return "", sysexit.With(sysexit.IO, fmt.Errorf("ask: %w", err))
		}
	}
}

// anchor makes folders absolute: a person means them relative to the current folder, while in the file
// they would be relative to the file's folder.
func (a *Answers) anchor(dir string) error {
	abs := func(p string) string {
		if p == "" || filepath.IsAbs(p) || p == "~" || strings.HasPrefix(p, "~/") {
			return p
		}
		return filepath.Join(dir, p)
	}
	a.LocalDir = abs(a.LocalDir)
	for i, folder := range a.Codebases {
		a.Codebases[i] = abs(folder)
	}
	names := map[string]string{}
	for _, folder := range a.Codebases {
		if other, taken := names[filepath.Base(folder)]; taken {
			return sysexit.Hint(sysexit.With(sysexit.Usage,
				fmt.Errorf("%q and %q would have the same name", other, folder)),
				"give one, and name the other in the file")
		}
		names[filepath.Base(folder)] = folder
	}
	return nil
}

// Begin completes the answers, writes the configuration and returns it. If there is a configuration
// already, that is reported before anything is asked.
func Begin(h *durable.Home, a Answers, at Around, force bool, in io.Reader,
	out io.Writer) (*config.Config, error) {
	if h.Exists(FileName) && !force {
		return nil, sysexit.Hint(sysexit.With(sysexit.NoPerm,
			fmt.Errorf("write %q: there is a configuration already", h.Path(FileName))), "--force replaces it")
	}
	at.User = cmp.Or(at.User, account())
	if at.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, sysexit.With(sysexit.IO, fmt.Errorf("find the current folder: %w", err))
		}
		at.Dir = dir
	}
	if err := complete(&a, at, in, out); err != nil {
		return nil, err
	}
	if a.Platform != config.PlatformLocal && a.Platform != config.PlatformMattermost {
		guide, err := sources.Guide(a.Platform)
		if err != nil {
			return nil, err
		}
		a.Section = strings.TrimRight(guide.Config, "\n")
	}
	b, cfg, err := render(h.Path(FileName), a)
	if err != nil {
		return nil, err
	}
	for _, c := range cfg.Codebases {
		if info, err := os.Stat(c.Path); err != nil || !info.IsDir() {
			return nil, sysexit.Hint(sysexit.With(sysexit.NoInput,
				fmt.Errorf("codebase %q: no such folder", c.Path)), "nothing was written")
		}
	}
	if err := h.Replace(FileName, b); err != nil {
		return nil, err
	}
	if a.Platform == config.PlatformLocal {
		if err := os.MkdirAll(cfg.Chat.Local.Dir, 0o700); err != nil {
			return nil, sysexit.With(sysexit.IO, fmt.Errorf("make local chat: %w", err))
		}
	}
	return config.Load(cfg.Path)
}

// account returns the name under which the person runs programs.
func account() string {
	name := cmp.Or(strings.TrimSpace(os.Getenv("TRI_USER")), strings.TrimSpace(os.Getenv("USER")))
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return cmp.Or(name, "operator")
}

// members is the page for the people in the chat.
//
//go:embed members.txt
var members string

// Steps writes the setup steps of the platform in args, if any, or the page for members. done is
// true if there is nothing else to do: a configuration exists and is not to be replaced.
func Steps(h *durable.Home, args []string, force bool, w io.Writer) (platform string, done bool, err error) {
	if len(args) == 0 {
		return "", false, nil
	}
	if len(args) > 1 {
		return "", false, sysexit.With(sysexit.Usage, errors.New("tri init takes one platform"))
	}
	if args[0] == "members" {
		_, err := io.WriteString(w, members)
		return "", true, sysexit.With(sysexit.IO, err)
	}
	guide, err := sources.Guide(args[0])
	if err != nil {
		return "", false, sysexit.With(sysexit.Usage, err)
	}
	text := guide.Steps
	if guide.Manifest != "" {
		text += "\nThe manifest, which tri-watch " + args[0] + " --print-manifest prints alone:\n\n" +
			guide.Manifest
	}
	text += "\nconfig.yaml, under chat:\n\n" + guide.Config
	if _, err := io.WriteString(w, text+"\n"); err != nil {
		return "", false, sysexit.With(sysexit.IO, fmt.Errorf("write steps: %w", err))
	}
	return args[0], h.Exists(FileName) && !force, nil
}
