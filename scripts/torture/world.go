package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// question is a message that must be answered, unless it is deleted first.
type question struct {
	id      string
	asker   string
	tokens  []string // what it asked for, the last one last
	deleted bool
}

// world is a team: a chat, a home, and a codebase in which every question has
// exactly one right place.
type world struct {
	options
	dir, home, codebase string
	config              string   // the configuration; "": the home's
	gate                string   // more of the gate's configuration
	inbox               *inbox   // nil: there is none
	through             []string // a command that runs the programs; nil: nothing does
	slow                string   // the one program that runs so; "": all
	extra               []string // environment of the programs
	chat                chatServer
	rng                 *rand.Rand
	questions           []*question
	said                int
}

// chatServer is where people talk. Every message is said once and for all before
// the call returns.
type chatServer interface {
	// say posts a message and returns its id.
	say(who, text string) (string, error)
	edit(id, who, text string) error
	remove(id, who string) error
	// posts are the bot's messages that stand there.
	posts() ([]post, error)
	// config is the part of config.yaml that reaches this chat.
	config() string
	// watch and reply are the arguments of tri-watch and tri-reply.
	watch() []string
	env() []string
	stop()
}

type post struct{ thread, key, text string }

func newWorld(o options) (*world, error) {
	dir, err := os.MkdirTemp("", "torture")
	if err != nil {
		return nil, err
	}
	w := &world{options: o, dir: dir, home: filepath.Join(dir, "home"), codebase: filepath.Join(dir, "code"),
		rng: rand.New(rand.NewPCG(o.seed, o.seed))}
	if err := errors.Join(os.Mkdir(w.home, 0o700),
		os.MkdirAll(filepath.Join(w.codebase, "src"), 0o755)); err != nil {
		return nil, err
	}
	for n := range o.messages + 1 {
		src := fmt.Sprintf("package src\n\n// %[1]s is how often loader %03[2]d tries.\nconst %[1]s = %[2]d\n", token(n), n)
		if err := os.WriteFile(filepath.Join(w.codebase, "src", fmt.Sprintf("loader%03d.go", n)), []byte(src),
			0o644); err != nil {
			return nil, err
		}
	}
	if w.chat, err = newChat(w); err != nil {
		return nil, err
	}
	return w, w.configure()
}

func newChat(w *world) (chatServer, error) {
	if w.options.chat == "mattermost" {
		return newMattermost(w)
	}
	return newLocal(w)
}

func token(n int) string { return fmt.Sprintf("RetryLimit%03d", n) }

func (w *world) configure() error {
	faces := ""
	if w.faces {
		faces = ", web: {listen: '127.0.0.1:0'}, chat: {platform: local, chat_id: operators}"
	}
	text := fmt.Sprintf("team:\n  approvers: [operator]\ngate: {grace_s: 0%s%s}\nturn: {hold_s: 0.1}\ncodebases:\n  - name: src\n    path: %s\nbudget:\n  investigations_per_day: 0\n  investigations_per_person_per_day: 0\n%s", faces, w.gate, w.codebase, w.chat.config())
	for _, log := range []string{"events.ndjson"} {
		if err := os.WriteFile(filepath.Join(w.home, log), nil, 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(w.home, "config.yaml"), []byte(text), 0o600)
}

// talk says one more thing.
func (w *world) talk() error {
	chatter := []string{"good morning", "ok thanks", "👍", "the build is green again", "lunch at noon", "haha",
		"deploying the docs now", "merged, thanks all"}
	w.said++
	if w.inbox != nil && w.said%3 == 0 {
		return w.inbox.talk(w)
	}
	switch n := w.rng.IntN(20); {
	case n < 5:
		return w.ask()
	case n == 5 && len(w.questions) > 0:
		q := w.questions[w.rng.IntN(len(w.questions))]
		if q.deleted {
			return nil
		}
		q.tokens = append(q.tokens, token(w.rng.IntN(w.messages)))
		return w.chat.edit(q.id, q.asker, "where is "+q.tokens[len(q.tokens)-1]+" set?")
	case n == 6 && len(w.questions) > 0:
		q := w.questions[w.rng.IntN(len(w.questions))]
		if q.deleted {
			return nil
		}
		q.deleted = true
		return w.chat.remove(q.id, q.asker)
	}
	_, err := w.chat.say("ben", chatter[w.rng.IntN(len(chatter))])
	return err
}

func (w *world) ask() error {
	q := &question{asker: "ana", tokens: []string{token(len(w.questions))}}
	if w.options.chat == "local" {
		q.asker = fmt.Sprint("asker", len(w.questions))
	}
	id, err := w.chat.say(q.asker, "where is "+q.tokens[0]+" set?")
	q.id = id
	w.questions = append(w.questions, q)
	return err
}

// configFile is what the stages are configured by.
func (w *world) configFile() string { return cmp.Or(w.config, w.path("config.yaml")) }

func (w *world) path(name string) string { return filepath.Join(w.home, name) }

// lines are the whole lines of a log of the home.
func (w *world) lines(name string) ([][]byte, error) {
	b, err := os.ReadFile(w.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return bytes.Split(b[:i], []byte("\n")), err
	}
	return nil, err
}

// command is one of the programs, in this world.
func (w *world) command(args ...string) *exec.Cmd {
	full := append([]string{filepath.Join(w.bin, args[0])}, args[1:]...)
	if w.slow == "" || w.slow == args[0] {
		full = append(slices.Clone(w.through), full...)
	}
	cmd := exec.Command(full[0], full[1:]...)
	cmd.Dir = w.dir
	cmd.Env = append([]string{"PATH=" + w.bin + ":" + os.Getenv("PATH"), "HOME=" + w.dir,
		"TRI_HOME=" + w.home, "TRI_USER=operator", "NO_COLOR=1"}, slices.Concat(w.chat.env(), w.extra)...)
	return cmd
}

func (w *world) close() {
	w.chat.stop()
	if w.keep {
		fmt.Println("left behind:", w.dir)
		return
	}
	if err := os.RemoveAll(w.dir); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
}

// local is a chat in a folder.
type local struct{ dir, room string }

func newLocal(w *world) (chatServer, error) {
	l := &local{filepath.Join(w.dir, "chat"), "dev"}
	return l, os.Mkdir(l.dir, 0o755)
}

func (l *local) file() string { return filepath.Join(l.dir, l.room) }

func (l *local) append(line string) (string, error) {
	f, err := os.OpenFile(l.file(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return "", err
	}
	defer f.Close()
	// Others append too: the offset is known only afterwards.
	if _, err := f.WriteString(line); err != nil {
		return "", err
	}
	all, err := os.ReadFile(f.Name())
	return fmt.Sprint(bytes.LastIndex(all, []byte(line))), err
}

func (l *local) say(who, text string) (string, error) { return l.append(who + ": " + text + "\n") }

func (l *local) edit(id, who, text string) error {
	_, err := l.append(fmt.Sprintf("%s !%s: %s\n", who, id, text))
	return err
}

func (l *local) remove(id, who string) error { return l.edit(id, who, "") }

func (l *local) posts() ([]post, error) {
	b, err := os.ReadFile(l.file())
	var posts []post
	for _, line := range strings.Split(string(b), "\n") {
		if head, text, ok := strings.Cut(line, "]: "); ok && strings.HasPrefix(head, "tri >") {
			thread, key, _ := strings.Cut(strings.TrimPrefix(head, "tri >"), " [")
			posts = append(posts, post{thread, key, text})
		} else if strings.HasPrefix(line, "\t") && len(posts) > 0 {
			posts[len(posts)-1].text += "\n" + line
		}
	}
	return posts, err
}

func (l *local) config() string  { return "chat:\n  local:\n    dir: " + l.dir + "\n" }
func (l *local) watch() []string { return []string{"local", l.dir} }
func (l *local) env() []string   { return nil }
func (l *local) stop()           {}
