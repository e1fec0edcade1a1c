// Package export reads chat exports as a source: Slack, DiscordChatExporter's JSON, Telegram
// Desktop's result.json and Mattermost's bulk export, as a folder, a zip or a file. The format is
// detected from the content. Files are read as streams and nothing is unpacked.
package export

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// Reader reads one export.
type Reader struct {
	path   string
	files  fs.FS
	names  []string
	close  func() error
	format string
	read   func(*pass) error
}

var _ chat.Source = (*Reader)(nil)

// Open opens the export at a path and detects its format.
func Open(name string) (*Reader, error) {
	r := &Reader{path: name}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, sysexit.Errorf(sysexit.NoInput, "export %q: neither a file nor a folder", name)
	}
	if err := r.open(info.IsDir()); err != nil {
		return nil, err
	}
	if err := r.detect(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open(dir bool) error {
	if dir {
		root, err := os.OpenRoot(r.path)
		if err != nil {
			return err
		}
		r.files, r.close = root.FS(), root.Close
		return r.list()
	}
	z, err := zip.OpenReader(r.path)
	if err == nil {
		r.files, r.close = z, z.Close
		return r.list()
	}
	if !errors.Is(err, zip.ErrFormat) {
		return sysexit.Errorf(sysexit.Data, "export %q: %w", r.path, err)
	}
	root, err := os.OpenRoot(filepath.Dir(r.path))
	if err != nil {
		return err
	}
	r.files, r.close, r.names = root.FS(), root.Close, []string{filepath.Base(r.path)}
	return nil
}

// Limits of detection, so that a hostile archive costs little.
const (
	maxDepth = 4
	maxFiles = 1 << 20
	maxTold  = 20       // refusals that are reported individually
	maxNames = 64 << 10 // bytes of the ids and names of a message
)

// list collects the JSON files that are not nested too deep.
func (r *Reader) list() error {
	err := fs.WalkDir(r.files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.Count(name, "/") >= maxDepth:
			return fs.SkipDir
		case d.Type().IsRegular() && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl")):
			r.names = append(r.names, name)
		}
		if len(r.names) > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		return nil
	})
	if err != nil {
		return errors.Join(sysexit.Errorf(sysexit.Data, "export %q: %w", r.path, err), r.close())
	}
	slices.Sort(r.names)
	return nil
}

// Format returns the detected format: slack, discord, telegram, mattermost.
func (r *Reader) Format() string { return r.format }

// Close closes the files.
func (r *Reader) Close() error { return r.close() }

// pass is one reading of an export.
type pass struct {
	*Reader
	ctx     context.Context
	say     func(format string, args ...any)
	order   *order
	refused int
	notices int // joins, topics, calls: notices of the platform
}

// Run emits every message in order of time and returns. An export has only the last text of each
// message, so there are no edits.
func (r *Reader) Run(ctx context.Context, _ chat.Resume, to chat.Handler) error {
	to.OnConnect(true)
	p := &pass{Reader: r, ctx: ctx, say: to.Logf, order: newOrder("")}
	defer p.order.close()
	if err := r.read(p); err != nil {
		return err
	}
	err := p.order.each(func(events []event.Event) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return to.OnEvents(events...)
	})
	if err != nil {
		return err
	}
	to.Logf("%s export: %d messages; notices of the platform left out: %d", r.format, p.order.n, p.notices)
	if p.refused > 0 {
		return sysexit.Errorf(sysexit.Data, "export %q: %d parts were refused", r.path, p.refused)
	}
	return nil
}

// add adds a message.
func (p *pass) add(e event.Event, at time.Time) error {
	if year := at.UTC().Year(); year < 1 || year > 9999 {
		return bad("id %.40q: the year %d", e.MessageID, year)
	}
	if len(e.ChatID)+len(e.ChatName)+len(e.MessageID)+len(e.Sender.ID)+len(e.Sender.Name) > maxNames {
		return bad("id %.40q: ids and names of over %d bytes", e.MessageID, maxNames)
	}
	switch {
	case e.MsgType != "":
	case e.ThreadID != nil:
		e.MsgType = "thread_reply"
	default:
		e.MsgType = "text"
	}
	if e.Content == "" && len(e.Attachments) > 0 {
		e.MsgType = "file"
		if strings.HasPrefix(e.Attachments[0].MIME, "image/") {
			e.MsgType = "image"
		}
	}
	if e.Sender.Type == "" {
		e.Sender.Type = "user"
	}
	if e.Mentions == nil {
		e.Mentions = []string{}
	}
	e.CreateTime = text.Timestamp(at)
	return p.order.add(e, at)
}

// refuse reports a part that does not match the format; reading continues.
func (p *pass) refuse(name string, err error) {
	if p.refused++; p.refused <= maxTold {
		p.say("%s: %v", name, err)
	}
	if p.refused == maxTold {
		p.say("more that is refused is only counted")
	}
}

// detect examines file names, then contents.
func (r *Reader) detect() error {
	if root, ok := slackRoot(r.names); ok {
		r.format, r.read = "slack", func(p *pass) error { return p.slack(root) }
		return nil
	}
	known := map[string]struct {
		platform string
		read     func(*pass, string) error
	}{
		"discord":    {"discord", (*pass).discord},
		"telegram":   {"telegram", (*pass).telegram},
		"mattermost": {"mattermost", (*pass).mattermost},
	}
	var names []string
	for _, name := range r.names {
		kind, err := r.sniff(name)
		if err != nil {
			return err
		}
		if kind == "" || r.format != "" && kind != r.format {
			continue
		}
		r.format = kind
		names = append(names, name)
	}
	if r.format == "" {
		err := sysexit.Errorf(sysexit.Data, "export %q: nothing in it is known", r.path)
		return sysexit.Hint(err,
			"it can be a Slack export, DiscordChatExporter's JSON, Telegram Desktop's result.json or a Mattermost bulk export")
	}
	read := known[r.format].read
	r.read = func(p *pass) error {
		for _, name := range names {
			if err := read(p, name); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// sniff detects the format from the first names in a file.
func (r *Reader) sniff(name string) (string, error) {
	d, err := r.doc(name)
	if err != nil {
		return "", err
	}
	defer d.Close()
	d.total = 1 << 20
	seen := map[string]bool{}
	_ = d.object(func(key string) error { // a damaged or truncated file: the names before the damage suffice
		seen[key] = true
		if key == "messages" || key == "chats" {
			return errEnough
		}
		if key == "type" && !seen["id"] && !seen["name"] {
			var kind string
			err := d.decode(&kind)
			seen["bulk"] = kind == "version"
			return err
		}
		return d.skip()
	})
	switch {
	case seen["bulk"]:
		return "mattermost", nil
	case seen["guild"] && seen["channel"]:
		return "discord", nil
	case seen["chats"] || seen["about"] || seen["type"] && seen["id"] && seen["messages"]:
		return "telegram", nil
	}
	return "", nil
}

var errEnough = errors.New("seen enough")

func base(name string) string { return path.Base(name) }
